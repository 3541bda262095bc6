"""resume.py -- what does sealing cost a long job, and what does an interruption cost with it?

`dedup` of DOCUMENTS planted documents in a file, with --memory small enough that sets go to a file (spilled) and with
enough for all (in memory), each: never sealed; sealed every EVERY seconds of work; sealed so, killed (kill -9) after half
the time of the first, and gone on with. Contenders take turns; outputs are compared byte for byte. Writes JSON."""
import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import measure

OUTPUTS = ("groups.jsonl", "removed.tsv", "kept_ids.txt", "kept.jsonl", "sources.tsv")


def seals(stderr):
    """Seconds of the seals that -v tells of."""
    return [float(seconds) for seconds in re.findall(r"sealed \d+ documents.* in ([0-9.]+) s", stderr)]


class Job:
    def __init__(self, options, memory, folder):
        self.folder, self.memory = folder, memory
        self.command = [options.program, "dedup", options.corpus, "--device", "cpu", "--threads", str(options.threads), "--kept", "no",
                        "--memory", memory, "-v", "--progress", "never"]

    def run(self, name, every, resume=False, kill_after=None):
        out = os.path.join(self.folder, name)
        env = dict(os.environ, BANDMILL_SEAL_SECONDS=str(every))
        began = time.monotonic()
        child = subprocess.Popen(self.command + ["-o", out] + (["--resume"] if resume else []), stderr=subprocess.PIPE, env=env)
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()
        stderr = child.stderr.read().decode()
        code = child.wait()
        if code != (0 if kill_after is None else -9):
            sys.exit(f"resume.py: {' '.join(self.command)}: exit {code}\n{stderr[-2000:]}")
        return {"seconds": time.monotonic() - began, "seals": seals(stderr), "out": out}


def same(one, other):
    return all(filecmp.cmp(os.path.join(one, name), os.path.join(other, name), shallow=False)
               for name in OUTPUTS if os.path.exists(os.path.join(one, name)))


def measure_at(job, every):
    never = job.run("never", 1e9)
    sealed = job.run("sealed", every)
    before = job.run("resumed", every, kill_after=never["seconds"] / 2)
    partial = before["out"] + ".partial"
    with open(os.path.join(partial, ".bandmill-journal"), encoding="utf-8") as file:
        lines = [line.split("\t") for line in file if line.startswith("documents\t")]
    state = sum(os.path.getsize(os.path.join(partial, name)) for name in os.listdir(partial))
    after = job.run("resumed", every, resume=True)
    result = {"memory": job.memory, "never_sealed_seconds": round(never["seconds"], 2), "sealed_seconds": round(sealed["seconds"], 2),
              "seals": len(sealed["seals"]), "sealing_seconds": round(sum(sealed["seals"]), 2),
              "killed_after_seconds": round(before["seconds"], 2), "documents_sealed_then": int(lines[-1][1]) if lines else 0,
              "state_bytes_then": state, "resumed_seconds": round(after["seconds"], 2),
              "same_bytes": same(never["out"], sealed["out"]) and same(never["out"], after["out"])}
    for run in (never, sealed, after):
        shutil.rmtree(run["out"])
    print(json.dumps(result), file=sys.stderr, flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--planted", required=True, help="the generator (planted.c)")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--every", type=float, default=1.0, help="seconds of work between two seals")
    parser.add_argument("--memory", nargs="+", default=["512M", "8G"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="where files lie (default: the temporary folder)")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bandmill_resume.", dir=options.folder) as folder:
        options.corpus = os.path.join(folder, "corpus.jsonl")
        with open(options.corpus, "wb") as file:
            subprocess.run([options.planted, str(options.documents)], stdout=file, check=True)
        result = {"question": "dedup: what sealing costs, and an interruption", **measure.provenance(options.program),
                  "documents": options.documents, "input_bytes": os.path.getsize(options.corpus), "every_seconds": options.every,
                  "runs": [measure_at(Job(options, memory, folder), options.every) for memory in options.memory]}
    print(json.dumps(result, indent=1))
    if options.out:
        measure.write(options.out, result)
    if not all(run["same_bytes"] for run in result["runs"]):
        sys.exit("resume.py: the outputs differ")


main()
