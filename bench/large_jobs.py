#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What large jobs take on boxes that are not here, computed from what is measured here, and a thousandth of each run beside it.

    bench/large_jobs.py --out bench/results/large-jobs-NAME.json --page docs/large-jobs.md     measure, compute, and write the page
    bench/large_jobs.py --from bench/results/large-jobs-NAME.json --page docs/large-jobs.md    compute and write the page again
                        --check                                                                1 where the page says something else

Measured: `sign` and `dedup` of --documents made documents (planted.c) with one thread and with two, in turns, --rounds times, medians; the
same beside a device that costs nothing (double/), CPU seconds; and a thousandth of each large job with all processors, once.

The model: T(n) = C (s + (1 - s) / n). C: CPU seconds a GB, with one thread. s: the share of what one thread at a time can do: reading and
the ordered end of the ingest, by the clocks of the run with one thread; and of each later stage, in CPU seconds with two threads, what the
busiest thread does more than the second, the least over the rounds (two that share their work are as busy as each other, also on a crowded
machine). How well the model fits is seen on an idle one alone. Beside devices C is what the host still does, the serial seconds stay, and
the devices' arithmetic may take longer.
Standard library only, and half an hour of an idle machine with 20 GB of disk below $TMPDIR."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measure

JOBS, CORES = ("sign", "dedup"), (1, 2, 16, 64, 128)
TOKENS, TOKEN_BYTES, BILLION, BOX = 1.2e12, 4, 1e9, 64
GPU = {"name": "H100 or H200", "multiply_adds_s": 132 * 1.98e9 * 64, "share": .7}  # at 91 permutations .7 by the model of the kernels
BEGIN, END = "<!-- computed: begin (written by bench/large_jobs.py) -->\n", "<!-- computed: end -->\n"


# --- the model ---

def serial_share(one, two):
    """Of the ingest by a run with one thread, of what is later by one with two."""
    return (one["read"] + one["deliver"]) / one["clocks"] + sum(two["alone"].values()) / two["cpu_seconds"]


def seconds_of(job, cores):
    """Seconds a GB."""
    share = serial_share(job["1"], job["2"])
    return job["1"]["cpu_seconds"] / job["gb"] * (share + (1 - share) / cores)


def beside_devices(job, cores, gpus):
    """Seconds a GB of the host, and of the devices' arithmetic."""
    cpu = job["1"]["cpu_seconds"] / job["gb"]
    serial = serial_share(job["1"], job["2"]) * cpu
    host = job["double_cpu_seconds"] / job["gb"]
    rate = GPU["multiply_adds_s"] * GPU["share"] / job["perms"] * gpus
    return min(serial, host) + max(host - serial, 0) / cores, job["shingles"] / job["gb"] / rate


# --- measuring ---

def report_of(folder):
    for name in ("report.json", "manifest.json"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
    sys.exit(f"{folder} has no report")


def thread_clocks(pid):
    """CPU seconds of each thread; {}: it has ended."""
    clocks = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                clocks[thread] = int(file.read().split()[0]) * 1e-9
    except (OSError, IndexError):
        return {}
    return clocks


def watched(command, env):
    """Runs it: seconds, CPU seconds, and the clocks of its threads every 10 ms."""
    samples, begin = [], time.monotonic()
    child = subprocess.Popen(command, env=env)
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            break
        samples.append((time.monotonic() - begin, thread_clocks(child.pid)))
        time.sleep(.01)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    return {"seconds": time.monotonic() - begin, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}, samples


def alone(samples, stages):
    """Of each stage but the ingest, CPU seconds that the busiest thread has more than the second."""
    found, begin, clocks = {}, 0, [(at, threads) for at, threads in samples if threads]
    for name, seconds in stages.items():
        first = [threads for at, threads in clocks if at <= begin]
        last = [threads for at, threads in clocks if at <= begin + seconds]
        begin += seconds
        if name != "sign" and first and last:
            busy = sorted((used - first[-1].get(thread, 0) for thread, used in last[-1].items()), reverse=True)
            found[name] = busy[0] - (busy[1] if len(busy) > 1 else 0)
    return found


def run(command, target, env=None):
    """Seconds, CPU seconds and the clocks of a job, whose output is removed."""
    spent, samples = watched([*command, "-q", "-o", target], {**os.environ, **(env or {})})
    report = report_of(target)
    measure.remove(target)()
    flow, counts = report["run"]["flow"]["thread_seconds"], report["counts"]
    stages = {stage["stage"]: stage["seconds"] for stage in report["run"]["stages"]}
    plan = report.get("plan") or {}
    return {"seconds": spent["seconds"], "cpu_seconds": spent["cpu_seconds"], "clocks": report["run"]["seconds"], "read": flow["read"],
            "deliver": flow["deliver"], "stages": stages, "alone": alone(samples, stages), "documents": counts["documents"], "shingles": counts["shingles"],
            "perms": plan["bands"] * plan["rows"] if plan else report["provenance"]["perms"], "peak_mb": round(spent["peak_mb"])}


def median(runs):
    first = runs[0]
    if isinstance(first, dict):
        return {key: median([one[key] for one in runs if key in one]) for key in first}
    return first if isinstance(first, int) else round(statistics.median(runs), 4)


def documents(planted, folder, n):
    path = os.path.join(folder, f"{n}.jsonl")
    with open(path, "wb") as file:
        subprocess.run([planted, str(n)], check=True, stdout=file)
    return path, os.path.getsize(path) / 1e9


def measure_all(args):
    result = {"question": "what do large jobs take?", **measure.provenance(args.program), "jobs": {}, "thousandths": {}}
    program = [os.path.abspath(args.program)]
    with tempfile.TemporaryDirectory(prefix="bandmill-large-") as folder:
        target = os.path.join(folder, "out")
        path, gb = documents(args.planted, folder, args.documents)
        runs = {}
        for _ in range(args.rounds):
            for job in JOBS:
                for threads in "12":
                    runs.setdefault((job, threads), []).append(
                        run(program + [job, path, "--device", "cpu", "--threads", threads], target))
                double = run([os.path.abspath(args.double), job, path, "--device", "gpu", "--threads", "2"], target,
                             {"LD_LIBRARY_PATH": os.path.dirname(os.path.abspath(args.double)), "BANDMILL_CACHE_DIR": folder})
                runs.setdefault((job, "double"), []).append(double)
        for job in JOBS:
            one, two = median(runs[job, "1"]), median(runs[job, "2"])
            two["alone"] = {name: round(min(one["alone"].get(name, 0) for one in runs[job, "2"]), 4) for name in two["alone"]}
            result["jobs"][job] = {"gb": gb, "perms": one["perms"], "shingles": one["shingles"], "documents": one["documents"], "1": one,
                                   "2": two, "double_cpu_seconds": median(runs[job, "double"])["cpu_seconds"]}
        os.remove(path)
        for name, n in (("billion", BILLION / 1000), ("tokens", TOKENS / 1000 * TOKEN_BYTES / (gb * 1e9 / args.documents))):
            path, big = documents(args.planted, folder, round(n))
            for job in JOBS:
                result["thousandths"][f"{name} {job}"] = {
                    "gb": big, **run(program + [job, path, "--device", "cpu", "--threads", "2"], target)}
                print(f"  {name} {job}: {result['thousandths'][f'{name} {job}']['seconds']:.1f} s", file=sys.stderr, flush=True)
            os.remove(path)
    return result


# --- the page ---

def hours(seconds):
    if seconds < 60:
        return f"{seconds:.2g} s"
    return f"{seconds / 3600:.2g} h" if seconds >= 3600 else f"{seconds / 60:.2g} min"


def page(result, source):
    jobs, machine, thousandths = result["jobs"], result["machine"], result["thousandths"]
    gb_billion = BILLION / jobs["dedup"]["documents"] * jobs["dedup"]["gb"]
    gb_tokens = TOKENS * TOKEN_BYTES / 1e9
    crowd = jobs["sign"]["1"]["seconds"] / jobs["sign"]["1"]["cpu_seconds"]
    about = (f"Computed from [{source}](../{source}): {jobs['dedup']['documents']:,} documents of {jobs['dedup']['gb'] * 1e9 / jobs['dedup']['documents']:.0f} bytes "
             f"on {machine['cores']} cores of an {machine['processor']}, commit {result['commit']}, by `{' '.join(result['command'])}`.")
    if crowd > 1.1:
        about += f" The machine was busy: a job of one thread took {crowd:.1f} times its CPU seconds. So only CPU seconds and shares are meaningful, and the share of later stages is an upper bound."
    out = [measure.wrapped(about), "", "| | serial share | CPU s/GB | of the host beside a device | 16 cores | 64 | 128 |", "|---|---|---|---|---|---|---|"]
    for job in JOBS:
        it = jobs[job]
        ratios = " | ".join(f"{seconds_of(it, 1) / seconds_of(it, n):.1f}" for n in CORES[2:])
        out.append(f"| `{job}` | {serial_share(it['1'], it['2']):.3f} | {it['1']['cpu_seconds'] / it['gb']:.2f} | "
                   f"{it['double_cpu_seconds'] / it['gb']:.2f} | {ratios} |")
    out += ["", measure.wrapped("The last three columns are computed speed-ups over one core. The model against measurements:"), "",
            "| | model | measured | model / measured | CPU s, model | CPU s, measured |", "|---|---|---|---|---|---|"]
    for job in JOBS:
        for threads in (1, 2):
            it, model = jobs[job][str(threads)], seconds_of(jobs[job], threads) * jobs[job]["gb"]
            out.append(f"| `{job}`, {threads} thread{'s' * (threads > 1)} | {model:.2f} s | {it['seconds']:.2f} s | {model / it['seconds']:.2f} | "
                       f"{seconds_of(jobs[job], 1) * jobs[job]['gb']:.2f} | {it['cpu_seconds']:.2f} |")
    for name, it in thousandths.items():
        what, job = name.split()
        model = seconds_of(jobs[job], 2) * it["gb"]
        what = "a billion documents" if what == "billion" else "1.2 T tokens"
        out.append(f"| a thousandth of {what}, `{job}`, {it['gb']:.1f} GB, 2 threads | {model:.1f} s | {it['seconds']:.1f} s | {model / it['seconds']:.2f} | "
                   f"{seconds_of(jobs[job], 1) * it['gb']:.1f} | {it['cpu_seconds']:.1f} |")
    out += ["", "Computed, not measured; `8 GPUs` are " + GPU["name"] + ", with links that keep up:", "",
            f"| | {' | '.join(f'{n} cores' for n in CORES[1:])} | {BOX} cores, 8 GPUs | bottleneck | published |", "|---|" + "---|" * (len(CORES) + 2)]
    for what, gb, published in (("a billion documents", gb_billion, "–"), ("1.2 T tokens", gb_tokens, "3 h on 32 V100 (SEDD)")):
        for job in JOBS:
            host, device = beside_devices(jobs[job], BOX, 8)
            out.append(f"| {what}, `{job}`, {gb / 1000:.1f} TB | " + " | ".join(hours(gb * seconds_of(jobs[job], n)) for n in CORES[1:]) +
                       f" | {hours(gb * max(host, device))} | {'host' if host > device else 'devices'} | {published if job == 'dedup' else '–'} |")
    return BEGIN + "\n" + "\n".join(out) + "\n\n" + END


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bandmill")
    parser.add_argument("--double", default="build/release/bench/double/bandmill")
    parser.add_argument("--planted", default="build/release/bench/planted")
    parser.add_argument("--documents", type=int, default=500000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--page", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if (args.out is None) == (args.source is None):
        parser.error("one of --out and --from")
    if args.out:
        measure.write(args.out, measure_all(args))
    source = args.out or args.source
    with open(source, encoding="utf-8") as file:
        made = page(json.load(file), measure.short(source))
    with open(args.page, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    text, now = before + made + rest.split(END)[1], text
    if args.check:
        sys.exit(0 if text == now else f"{args.page} is not what {source} gives: bench/large_jobs.py --from {source} --page {args.page}")
    with open(args.page, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
