# SPDX-License-Identifier: Apache-2.0
"""What the host does beside a device that costs nothing: CPU seconds a GB of JSON Lines, against signing on the CPU in the same run.

    bench/host_beside_device.py [--program build/release/bench/double/bandmill] [--megabytes 200] [--runs 5] [--threads 2] [--gpus 1]
                                [--link GB/S] [--json] [--opening] [--check] [--auto [--before PROGRAM] [--out FILE]] [--bounds]

The program is the one that stands beside the double of the OpenCL library (bench/double/cl_double.c): copies and kernels take no time, so what
is left is reading, parsing, cutting or packing texts, enqueuing and writing. `sign`, `dedup` and `dedup --verify none`, whose devices can be
given texts, with word:5 and char:5, native and beside the double in turns; a figure is the least of the runs, and that of one document is
taken off, which is what opening costs. Documents have 30 to 400 words, none is like another, so that the double's keys, no two of which are
equal, lose nothing.

--check measures, instead, what the sample check of a device's answers costs in documents of 100 B, 2 kB, 100 kB and 10 MB, given as hashes
and as texts: the CPU seconds of the program that stands in comparing/, which checks and believes all the same, less those of the one that does
not check, in per cent of native signing. Less than two runs differ is not seen: the figure is that of the least of the runs.

--auto measures, instead, what `--device auto` does with devices that need ten times as long as native code for all of `sign`,
as long, and a tenth (CL_DOUBLE_HASHES, by the CPU seconds of native code), with documents of the same four sizes: seconds and CPU seconds, as
multiples of those of native code in the same turns, and who signed; and the same with word:5, and with the sample check; however small the job
is (BANDMILL_CL_TEXT=trial). --before names an earlier program that stands beside its own double, to be asked in turns; --out FILE keeps all.

--opening measures, instead, how long one and eight devices take to open whose contexts take half a second. --bounds holds what CI holds:
bounds that do not depend on the machine, wide enough for one that is crowded; 1 where one is passed. Standard library only."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import measure

JOBS = {"sign word:5": ["sign", "--shingle", "word:5"], "sign char:5": ["sign", "--shingle", "char:5"],
        "dedup word:5": ["dedup", "--shingle", "word:5", "--kept", "no"], "dedup char:5": ["dedup", "--shingle", "char:5", "--kept", "no"],
        "none word:5": ["dedup", "--shingle", "word:5", "--kept", "no", "--verify", "none"],
        "none char:5": ["dedup", "--shingle", "char:5", "--kept", "no", "--verify", "none"]}
SHAPES = ("char:5", "word:5")
# Of the host beside the double to native signing; and of eight devices to one.
BOUNDS = {"sign word:5": 2, "sign char:5": 0.6, "dedup word:5": 2, "dedup char:5": 1.6, "none word:5": 2, "none char:5": 0.6}
OPENING = 2.5


def write_documents(path, megabytes):
    """Returns their bytes."""
    rng, words = random.Random(11), [f"{i:x}word"[:2 + i % 9] + format(i, "x") for i in range(50000)]
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < megabytes * 1e6:
            file.write("".join('{"text":"%s"}\n' % " ".join(rng.choices(words, k=rng.randint(30, 400))) for _ in range(200)))
        return file.tell()


def write_sized(path, megabytes, size):
    """Returns how many shingles they have."""
    rng, words = random.Random(11), [f"{i:x}word" for i in range(50000)]
    shingles = dict.fromkeys(SHAPES, 0)
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < megabytes * 1e6:
            chosen = rng.choices(words, k=max(6, size // 9))
            text = " ".join(chosen)
            shingles["char:5"] += len(text) - 4
            shingles["word:5"] += len(chosen) - 4
            file.write('{"text":"%s"}\n' % text)
    return shingles


def run(program, job, source, folder, env):
    """CPU seconds, and seconds, of a job and of its children."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    begin = time.monotonic()
    child = subprocess.Popen([program, *job, source, "-o", out, "-q"], env={**os.environ, **env, "LD_LIBRARY_PATH": f"{os.path.dirname(program)}:{os.path.dirname(os.path.dirname(program))}"})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join([program, *job, source])} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def measure_opening(args, folder, one):
    def seconds(gpus):
        env = {"CL_DOUBLE_GPUS": str(gpus), "CL_DOUBLE_OPEN": "0.5", "BANDMILL_CACHE_DIR": os.path.join(folder, "cache")}
        return min(run(args.program, ["sign", "--device", "gpu"], one, folder, env)[1] for _ in range(args.runs))

    alone, eight = seconds(1), seconds(8)
    return {"one": alone, "eight": eight, "ratio": eight / alone}


SIZES = {"100 B": 100, "2 kB": 2000, "100 kB": 100_000, "10 MB": 10_000_000}


def measure_check(args, folder):
    """Per cent of native signing, by size of document and way to the device."""
    comparing = os.path.join(os.path.dirname(args.program), "comparing", "bandmill")
    found = {}
    for name, size in SIZES.items():
        documents = os.path.join(folder, "documents.jsonl")
        write_sized(documents, args.megabytes, size)
        for way in ("hashes", "texts"):
            env = {"CL_DOUBLE_GPUS": str(args.gpus), "CL_DOUBLE_LINK": str(args.link), "BANDMILL_CACHE_DIR": os.path.join(folder, "cache"),
                   "BANDMILL_CL_TEXT": "1" if way == "texts" else "0"}
            spent = {"native": [], "believing": [], "comparing": []}
            for _ in range(args.runs):
                for kind, of in spent.items():
                    job = ["sign", "--device", "cpu" if kind == "native" else "gpu", "--threads", str(args.threads)]
                    of.append(run(comparing if kind == "comparing" else args.program, job, documents, folder, env)[0])
            least = {kind: min(of) for kind, of in spent.items()}
            found[f"{name}, {way}"] = (least["comparing"] - least["believing"]) / least["native"] * 100
    return found


SPEEDS = {"a tenth as fast": 0.1, "as fast": 1, "ten times as fast": 10}
NOTHING_YET = {"cpu_seconds": float("inf"), "seconds": float("inf")}


def keep_least(row, spent):
    row["cpu_seconds"], row["seconds"] = min(row["cpu_seconds"], spent[0]), min(row["seconds"], spent[1])


def measure_auto(args, folder):
    """What native code and `auto` take, and who signed, by shingles, size of document and speed of the device."""
    documents, found = os.path.join(folder, "documents.jsonl"), {}
    checked = os.path.join(os.path.dirname(args.program), "comparing", "bandmill")
    programs = {**({"before": os.path.abspath(args.before)} if args.before else {}), "now": args.program, "now, checked": checked}

    def job(shape, device, program=args.program, **env):
        env = {"BANDMILL_CACHE_DIR": os.path.join(folder, "cache"), "CL_DOUBLE_GPUS": str(args.gpus), "CL_DOUBLE_LINK": str(args.link), **env}
        return run(program, ["sign", "--shingle", shape, "--device", device, "--threads", str(args.threads)], documents, folder, env)

    def signed_by():
        with open(os.path.join(folder, "out", "manifest.json"), encoding="utf-8") as file:
            return "CPU" if [d["device"] for d in json.load(file)["run"]["devices"]] == ["cpu"] else "device"

    for name, size in SIZES.items():
        for shape, n_shingles in write_sized(documents, args.megabytes, size).items():
            native = dict(NOTHING_YET)
            for _ in range(args.runs):
                keep_least(native, job(shape, "cpu"))
            as_fast = n_shingles / (native["cpu_seconds"] / args.threads)  # on an idle machine
            for speed, factor in SPEEDS.items():
                row = found[f"{shape}, {name}, {speed}"] = {"native": dict(native), **{when: {**NOTHING_YET, "signed": []} for when in programs}}
                for _ in range(args.runs):
                    keep_least(row["native"], job(shape, "cpu"))
                    for when, program in programs.items():
                        keep_least(row[when], job(shape, "auto", program, BANDMILL_CL_TEXT="trial", CL_DOUBLE_HASHES=f"{as_fast * factor:g}"))
                        row[when]["signed"].append(signed_by())
    return found


def auto_result(args, found):
    """In the form of bench/results."""
    for row in found.values():
        for of in row.values():
            of.update(seconds=round(of["seconds"], 3), cpu_seconds=round(of["cpu_seconds"], 3))
            if "signed" in of:
                of["signed"] = of["signed"][0] if len(set(of["signed"])) == 1 else ", ".join(of["signed"])
    return {"question": "what does --device auto take, and what does that cost beside native code?", **measure.provenance(args.program),
            "megabytes": args.megabytes, "runs": args.runs, "threads": args.threads, "rows": found}


def measure_host(args, folder, one):
    documents = os.path.join(folder, "documents.jsonl")
    n_bytes = write_documents(documents, args.megabytes)
    env = {"CL_DOUBLE_GPUS": str(args.gpus), "CL_DOUBLE_LINK": str(args.link), "BANDMILL_CACHE_DIR": os.path.join(folder, "cache")}
    found = {}
    for name, words in JOBS.items():
        least = {}
        for _ in range(args.runs):
            for device in ("cpu", "gpu"):
                for source in (one, documents):
                    job = [*words, "--device", device, "--threads", str(args.threads)]
                    spent = run(args.program, job, source, folder, env)[0]
                    least[device, source] = min(spent, least.get((device, source), spent))
        native, beside = ((least[device, documents] - least[device, one]) / n_bytes * 1e9 for device in ("cpu", "gpu"))
        found[name] = {"native": native, "beside": beside, "ratio": beside / native}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bench/double/bandmill")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--link", type=float, default=0)
    parser.add_argument("--before")
    parser.add_argument("--out")
    for flag in ("--json", "--opening", "--check", "--auto", "--bounds"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    with tempfile.TemporaryDirectory(prefix="bandmill-beside-") as folder:
        one = os.path.join(folder, "one.jsonl")
        with open(one, "w", encoding="ascii") as file:
            file.write('{"text":"a few words of one text"}\n')
        found = measure_opening(args, folder, one) if args.opening else measure_check(args, folder) if args.check \
            else measure_auto(args, folder) if args.auto else measure_host(args, folder, one)
    if args.auto:
        result = auto_result(args, found)
        if args.out:
            measure.write(args.out, result)
    if args.json:
        print(json.dumps(found, indent=2))
    elif args.check:
        for name, cost in found.items():
            print(f"{name:<16} {cost:6.2f} % of native signing")
    elif args.auto:
        print(f"{'':<36}" + "".join(f"{when:>28}" for when in next(iter(found.values())) if when != "native"))
        for name, row in found.items():
            times = {when: f"{of['seconds'] / row['native']['seconds']:.2f}, CPU {of['cpu_seconds'] / row['native']['cpu_seconds']:.2f}"
                     for when, of in row.items() if when != "native"}
            print(f"{name:<36}" + "".join(f"{row[when]['signed'] + ' ' + ratios:>28}" for when, ratios in times.items()))
    elif args.opening:
        print(f"one device {found['one']:.2f} s, eight {found['eight']:.2f} s: {found['ratio']:.2f} times as long")
    else:
        print(f"{'CPU seconds a GB':<16} {'native':>8} {'beside':>8} {'ratio':>8}")
        for name, f in found.items():
            print(f"{name:<16} {f['native']:8.2f} {f['beside']:8.2f} {f['ratio']:8.2f}")
    if args.check or args.auto:
        return
    ratios = {"opening": (found["ratio"], OPENING)} if args.opening else {name: (f["ratio"], BOUNDS[name]) for name, f in found.items()}
    passed = [f"{name}: {ratio:.2f}, at most {most}" for name, (ratio, most) in ratios.items() if ratio > most]
    if args.bounds and passed:
        sys.exit("\n".join(passed))


if __name__ == "__main__":
    main()
