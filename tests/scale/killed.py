# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random, --resume, again and again: the same bytes as of a job that nobody killed.

A job of each kind below is started, killed after a time drawn from how long it takes (or as soon as it reaches a stage that is
drawn), and started again with --resume, which is killed too; until one ends before it is killed, and is compared, file by
file, with the job that ran in peace. Then the next one begins, until the kills are used up. BANDMILL_SEAL_SECONDS=0 makes a
job seal its work after each batch of 50 documents, so that small corpora are enough.

  pairs     dedup --pairs of a JSONL file, sets in memory
  spilled   dedup --pairs with so little --memory that sets, band keys and pairs lie in files under --temp-dir
  sign      sign --band-keys of three files, two of them gz
  csv       dedup of two CSV files with bad records skipped and ids numbered, components only
  settings  dedup --cluster star --force over an earlier output, which must stay as it is until the end; with each --resume
            other --threads, --memory, --device, --temp-dir, --batch-docs and --progress
  files     dedup of 300 files
  lines     dedup --unit line --pairs, hashes of lines in files under --temp-dir
  spans     dedup --unit span:4
  near      dedup --unit line of near lines: each document is a line

Every kill is counted by the stage that it hit (resuming.py). It is claimed that kills hit jobs that had sealed nothing, were
sealing, reading, matching and writing, and that many jobs went on from sealed work, whose documents they name. After a
job is done nothing is left of its work, nor in its --temp-dir.

    killed.py --program build/bandmill --planted build/bench/planted [--kills 32] [--seed 1]

The seed draws the same plan again, but no plan decides when a process is scheduled. By hand: --kills 1000 --seed $RANDOM.
Python's standard library only."""
import collections
import json
import os
import random
import shutil
import signal
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import devices, differing, digests, opencl_environment
from resuming import Child, Job, Seals, empty, planted, put, put_csv, put_files, stage

SEAL = {"BANDMILL_SEAL_SECONDS": "0"}
BATCH = ["--batch-docs", "50"]
SPILL = ["--bands", "300", "--rows", "1", "--threshold", "0.7", "--threads", "2", "--memory", "24M"]
MUST = ("unsealed", "sealing", "reading", "matching", "writing")  # the first kills of `spilled`, then any
SHARES = {"pairs": 5, "spilled": 12, "sign": 4, "csv": 4, "settings": 4, "files": 3, "lines": 4, "spans": 3, "near": 3}


# --- the jobs ---

def make_jobs(folder, generator):
    docs = planted(generator, 4000)
    at = lambda name: os.path.join(folder, name)
    yield Job("pairs", ["dedup", "--pairs", "--threads", 2, *BATCH], [put(folder, "pairs.jsonl", docs)], at("pairs"))
    many = planted(generator, 2600) + planted(generator, 560, "one-word", "w")
    yield Job("spilled", ["dedup", "--pairs", *SPILL, *BATCH, "--temp-dir", at("temporary")],
              [put(folder, "spilled.jsonl", many)], at("spilled"), [at("temporary")])
    parts = [put(folder, "parts/a.jsonl.gz", docs[:1500]), put(folder, "parts/b.jsonl", docs[1500:1530]),
             put(folder, "parts/c.jsonl.gz", docs[1530:])]
    yield Job("sign", ["sign", "--band-keys", "--threads", 2, *BATCH], parts, at("sign"))
    tables = [put_csv(folder, "tables/x.csv", docs[:1800]), put_csv(folder, "tables/y.csv", docs[1000:3000])]
    yield Job("csv", ["dedup", "--on-error", "skip", "--duplicate-ids", "number", "--id-field", "id", "--threads", 2, *BATCH],
              tables, at("csv"))
    yield Job("settings", ["dedup", "--cluster", "star", "--keep", "longest", "--force"],
              [put(folder, "settings.jsonl.gz", docs)], at("settings"), [at("t1"), at("t2")])
    yield Job("files", ["dedup", "--format", "files", "--batch-docs", "20"], [put_files(folder, "texts", docs[:300])], at("files"))
    unit = ["dedup", "--threads", 2, *BATCH, "--unit"]
    yield Job("lines", [*unit, "line", "--pairs", "--memory", "24M", "--temp-dir", at("temporary")],
              [put(folder, "lines.jsonl", many)], at("lines"), [at("temporary")])
    yield Job("spans", [*unit, "span:4"], [put(folder, "spans.jsonl", docs[:2000])], at("spans"))
    yield Job("near", [*unit, "line", "--threshold", "0.7"], [put(folder, "near.jsonl", docs[:2000])], at("near"))


class Settings:
    """What may differ from one run of a job to the next."""

    def __init__(self, draw, job, found):
        self.draw, self.job, self.devices = draw, job, ["cpu", "cpu", "cpu", "cpu"] + found

    def next(self):
        if not self.job.name == "settings":
            return []
        draw = self.draw
        chosen = ["--threads", draw.choice((1, 2, 5)), "--memory", draw.choice(("40M", "64M", "8G")), "--device",
                  draw.choice(self.devices), "--batch-docs", draw.choice((20, 50, 300)), "--progress",
                  draw.choice(("auto", "always", "never"))]
        where = draw.choice((None, *self.job.temporary))
        return chosen + (["--temp-dir", where] if where else [])


# --- one run that is to be killed ---

class Plan:
    """When: after some seconds, or in a stage (None: after the seconds). `due`: the stage that must be hit now."""

    def __init__(self, draw, seconds, command, due):
        wanted = ["unsealed", "reading", "reading", "sealing", "grouping", "writing"] + ["matching"] * (command == "dedup")
        self.stage = draw.choice(wanted) if draw.random() < 0.7 else None
        self.seconds = draw.uniform(0, seconds * (0.3 if self.stage else 1))
        if due:
            self.stage, self.seconds = due, 0

    def carry_out(self, child, job, before):
        """Kill it. The stage that was hit; None: it ended before."""
        until = time.monotonic() + self.seconds
        while time.monotonic() < until and not child.ended():
            time.sleep(min(0.001, max(0, until - time.monotonic())))
        while not child.stop():
            found = stage(job, before)
            if self.stage in (None, found):
                child.send(signal.SIGKILL)
                child.wait()
                return found
            child.send(signal.SIGCONT)
            time.sleep(0.0005)
        return None


def fresh(job):
    """No output, and empty directories for temporary files."""
    empty(job.output, *job.temporary)
    for folder in job.temporary:
        os.mkdir(folder)


class Killer:
    def __init__(self, claims, program, folder, draw, env):
        self.claims, self.program, self.folder, self.draw, self.env = claims, program, folder, draw, env
        self.hits, self.jobs, self.went_on, self.compared = collections.Counter(), 0, 0, 0

    def peace(self, job, more):
        """Digests and seconds of a job that nobody kills: without sealing, then with it."""
        harness.Program(self.program).run(*job.arguments(*more, output=job.output + "-peace"), "-q", env=self.env)
        wanted = digests(job.output + "-peace")
        began = time.monotonic()
        harness.Program(self.program).run(*job.arguments(*more, output=job.output + "-sealed"), "-q", env={**self.env, **SEAL})
        seconds = time.monotonic() - began
        wrong = differing(digests(job.output + "-sealed"), wanted)
        self.claims.check(f"{job.name}: sealing after each batch changes nothing", not wrong, wrong)
        return wanted, seconds

    def start(self, job, resume, more):
        before = Seals(job.work)
        child = Child(self.program, job.arguments(*(["--resume"] if resume else []), *more), {**self.env, **SEAL}, self.folder)
        self.jobs += 1
        return child, before

    def finished(self, job, child, before, wanted):
        """A job that was not killed: what is wrong with it."""
        said = child.said()
        if child.code != 0:
            return f"exit {child.code}: {said}"
        noun = "parts" if job.name == "near" else "documents"
        if before.docs and f"resuming after {before.docs} {noun}" not in said:
            return f"{before.docs} {noun} were sealed, but: {said}"
        wrong = differing(digests(job.output), wanted)
        return f"differ: {wrong}" if wrong else job.left() and f"left: {job.left()}"

    def judge(self, job, child, before, wanted):
        wrong = self.finished(job, child, before, wanted)
        self.compared += 1
        return self.claims.check(f"{job.name}: job {self.compared} that ended is as one that nobody killed", not wrong, wrong)

    def in_place(self, job, wanted):
        """Killed behind its rename (then the earlier output may still be in the way as its work, which the next job clears)."""
        if differing(digests(job.output), wanted):
            return False
        left = [name for folder in job.temporary for name in os.listdir(folder)]
        if left:
            self.claims.check(f"{job.name}: killed at its very end, nothing is left under --temp-dir", False, left)
        return True

    def torture(self, job, n_kills, found):
        """n_kills, and as many jobs brought to their end as that takes."""
        settings = Settings(self.draw, job, found)
        fresh(job)
        wanted, seconds = self.peace(job, settings.next())
        earlier = job.output + "-earlier"
        if "--force" in job.command:
            harness.Program(self.program).run("sign", "-o", earlier, "-q", *job.inputs)
        kills, resume, child, tries = 0, False, None, 0
        due = list(MUST) if job.name == "spilled" else []
        while kills < n_kills and tries < 20 * n_kills:
            tries += 1
            if not resume:
                fresh(job)
                if os.path.isdir(earlier):
                    shutil.copytree(earlier, job.output)
            began, anew = time.monotonic(), not resume
            child, before = self.start(job, resume, settings.next())
            hit = Plan(self.draw, seconds, job.command[0], due[0] if due else None).carry_out(child, job, before.size)
            resume = hit is not None and not self.in_place(job, wanted)
            if hit is None and not self.judge(job, child, before, wanted):
                return
            if hit is None and anew:  # the first may have been measured on a busy machine
                seconds = min(seconds, time.monotonic() - began)
            if not resume:
                continue
            self.hits[hit] += 1
            kills += hit != "opening"  # which is most of a job where the machine is busy
            due = [name for name in due if name != hit]
            self.went_on += bool(Seals(job.work).docs)
            if os.path.isdir(earlier) and differing(digests(job.output), digests(earlier)):
                self.claims.check(f"{job.name}: the earlier output stays", False, hit)
                return
        child, before = self.start(job, True, settings.next())
        child.wait()
        self.judge(job, child, before, wanted)
        empty(job.output)


def check_spilled(claims, folder):
    """That job was meant to have everything in files."""
    used = json.loads(harness.read_file(folder, "spilled-peace", "report.json"))["run"]["temporary_files"]
    claims.check("spilled: sets, band keys and pairs lay in files",
                 min(used["set_bytes"], used["key_bytes"], used["edge_bytes"]) > 0, used)


def main():
    args = harness.arguments("kill -9 and --resume", ("--planted", {"required": True}), ("--seed", {"type": int, "default": 1}),
                             ("--kills", {"type": int, "default": 0}))
    small = args.size == "small"
    shares = {"pairs": 6, "spilled": 6} if small else SHARES
    wanted = args.kills or sum(shares.values())
    claims, env = harness.Claims(), opencl_environment()
    print(f"{wanted} kills, seed {args.seed}", flush=True)
    found = [] if small else [spec for spec, _, _ in devices(harness.Program(args.program), env)]
    if not found:
        print("SKIPPED: going on with another device: sanitizers, or no OpenCL device is here")
    with harness.scratch() as folder:
        killer = Killer(claims, args.program, folder, random.Random(args.seed), env)
        for job in make_jobs(folder, os.path.abspath(args.planted)):
            if job.name in shares:
                began, jobs = time.monotonic(), killer.jobs
                killer.torture(job, -(-wanted * shares[job.name] // sum(shares.values())), found)
                print(f"{job.name}: {killer.jobs - jobs} jobs, {time.monotonic() - began:.1f} s", flush=True)
        check_spilled(claims, folder)
    hits = killer.hits
    print("kills by stage:", ", ".join(f"{name} {n}" for name, n in hits.most_common()))
    print(f"{sum(hits.values())} kills, {killer.went_on} of them left sealed work, {killer.compared} jobs compared")
    claims.check(f"{wanted} jobs that were under way were killed", sum(hits.values()) - hits["opening"] >= wanted)
    claims.check("a third of them at least left sealed work", killer.went_on >= wanted / 3)
    for name in MUST:
        claims.check(f"{name}: hit {hits[name]} times", hits[name] > 0)
    claims.end()


if __name__ == "__main__":
    main()
