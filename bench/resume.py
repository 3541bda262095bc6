# SPDX-License-Identifier: Apache-2.0
"""resume.py -- what does sealing cost a long job, and what does an interruption cost with it?

`dedup` of DOCUMENTS planted documents in a file, with --memory small enough that sets go to a file (spilled) and with
enough for all (in memory), each: never sealed; sealed every EVERY seconds of work; sealed so, killed (kill -9) after half
the time of the first, and gone on with. They take turns; outputs are compared byte for byte. Writes JSON."""
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
    return [float(seconds) for seconds in re.findall(r"saved \d+ documents?.* in ([0-9.]+) s", stderr)]


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


def kill_and_go_on(job, every, after):
    """One job killed after so many seconds, and the next, which takes up what it left."""
    before = job.run("resumed", every, kill_after=after)
    partial = before["out"] + ".partial"
    journal = os.path.join(partial, ".bandmill-journal")
    if not os.path.exists(journal):
        sys.exit(f"resume.py: killed after {after:.2f} s, before the first seal (more --documents, less --every)")
    with open(journal, encoding="utf-8") as file:
        lines = [line.split("\t") for line in file if line.startswith("documents\t")]
    state = sum(os.path.getsize(os.path.join(partial, name)) for name in os.listdir(partial))
    return {**job.run("resumed", every, resume=True), "documents": int(lines[-1][1]), "state": state, "killed_after": before["seconds"]}


def measure_at(job, every, repeats):
    shutil.rmtree(job.run("never", 1e9)["out"])  # warms caches, dropped
    rounds = []
    same_bytes = True
    for _ in range(repeats):
        never = job.run("never", 1e9)
        sealed = job.run("sealed", every)
        resumed = kill_and_go_on(job, every, never["seconds"] / 2)
        same_bytes = same_bytes and same(never["out"], sealed["out"]) and same(never["out"], resumed["out"])
        for run in (never, sealed, resumed):
            shutil.rmtree(run["out"])
        rounds.append((never, sealed, resumed))
    never, sealed, resumed = ([one[i] for one in rounds] for i in range(3))
    result = {"memory": job.memory, "never_sealed_seconds": measure.summary(never), "sealed_seconds": measure.summary(sealed),
              "seals": len(sealed[-1]["seals"]), "sealing_seconds": round(sum(sealed[-1]["seals"]), 2),
              "resumed_seconds": measure.summary(resumed), "killed_after_seconds": round(resumed[-1]["killed_after"], 2),
              "documents_sealed_then": resumed[-1]["documents"], "state_bytes_then": resumed[-1]["state"], "same_bytes": same_bytes}
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
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where files lie (default: the temporary folder)")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bandmill_resume.", dir=options.folder) as folder:
        options.corpus = os.path.join(folder, "corpus.jsonl")
        with open(options.corpus, "wb") as file:
            subprocess.run([options.planted, str(options.documents)], stdout=file, check=True)
        result = {"question": "dedup: what sealing costs, and an interruption", **measure.provenance(options.program),
                  "documents": options.documents, "input_bytes": os.path.getsize(options.corpus), "every_seconds": options.every,
                  "runs": [measure_at(Job(options, memory, folder), options.every, options.repeats) for memory in options.memory]}
    print(json.dumps(result, indent=1))
    if options.out:
        measure.write(options.out, result)
    if not all(run["same_bytes"] for run in result["runs"]):
        sys.exit("resume.py: the outputs differ")


main()
