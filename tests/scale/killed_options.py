# SPDX-License-Identifier: Apache-2.0
"""Jobs whose options add a column or an order to what is known of a document, ended in each stage, --resume: the same bytes.

A job is started, ended by SIGKILL or SIGTERM as soon as its meter names the stage that was drawn, or after a time that was
drawn, started again with --resume, and ended again, one to four times in all; then it runs to its end and is compared, file by
file, with the job that nobody ended. How often work is saved is drawn for each start too: after each batch, after some of
them, or never but at a signal. So columns are met in every state: not saved yet, saved in part, all saved, matches too.

  fields      dedup --pairs --keep by a number, an order of words, and the last
  star        dedup --cluster star --keep by a number, with so little --memory that sets, keys and pairs lie in --temp-dir
  contained   dedup --verify contained=0.9 --keep by a number
  weights     dedup --weights tfidf --keep by length, then a number
  against     dedup --against what sign wrote --removed gz --keep by a number
  groups      dedup --max-group-size 3 --keep by words of two fields
  texts       dedup of two text fields, with ids that repeat and are numbered
  unordered   dedup --pairs, which has none of them

A job that was ended by SIGTERM says how many documents are saved, and the next one goes on behind these, or behind more.

    killed_options.py --program build/bandmill [--kills 24] [--seed 1]

By hand: --kills 300 --seed $RANDOM. Python's standard library only."""
import collections
import json
import os
import random
import re
import shutil
import signal
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import differing, digests
from resuming import Child, Job, empty, put

SAVED_EVERY = ("0", "0.05", "3600")  # seconds
STAGES = ("sign", "match", "group", "write", "seal")
SIGNALS = {signal.SIGKILL: -9, signal.SIGTERM: 143}


def documents(n, seed):
    """Some are copies, some nearly; a score is a number, a word or missing."""
    draw, text = random.Random(seed), ""
    for i in range(n):
        if i % 4 != 3:
            text = " ".join(f"w{draw.randrange(9000)}" for _ in range(draw.randrange(10, 60)))
        found = {"id": f"d{i}", "twice": f"t{i % (n // 2)}", "title": text[:9], "text": text + (f" more{i}" if i % 8 == 3 else ""),
                 "label": draw.choice(("gold", "silver", "iron"))}
        if i % 11:
            found["score"] = draw.randrange(500) if i % 13 else "high"
        yield json.dumps(found).encode() + b"\n"


def make_jobs(program, folder, n):
    at = lambda name: os.path.join(folder, name)
    docs = list(documents(n, 5))
    one = put(folder, "one.jsonl", docs)
    two = [put(folder, "two/a.jsonl.gz", docs[:n // 3]), put(folder, "two/b.jsonl", docs[n // 3:])]
    harness.Program(program).run("sign", "-q", "-o", at("known"), put(folder, "known.jsonl", docs[:n // 8]))
    step = ["--batch-docs", "100", "--threads", 2]

    def job(name, inputs, *options, temporary=()):
        return Job(name, ["dedup", *options, *step], inputs, at(name), temporary)

    return [job("fields", [one], "--pairs", "--keep", "max:score,order:label=silver|gold,last"),
            job("star", two, "--cluster", "star", "--keep", "min:score", "--memory", "24M", "--bands", 60, "--rows", 2,
                "--temp-dir", at("temporary"), temporary=[at("temporary")]),
            job("contained", [one], "--verify", "contained=0.9", "--keep", "max:score"),
            job("weights", [one], "--weights", "tfidf", "--keep", "longest,max:score", "--bands", 8, "--rows", 2),
            job("against", two, "--against", at("known"), "--removed", "gz", "--keep", "min:score"),
            job("groups", [one], "--max-group-size", 3, "--keep", "max:label,min:title"),
            job("texts", two, "--id-field", "twice", "--duplicate-ids", "number", "--text-field", "title", "--text-field", "text"),
            job("unordered", [one], "--pairs")]


def stage_of(child):
    """The one that the meter named last; None: none yet."""
    named = re.findall(r"(?:^|[\r\n])(?:\x1b\[K)?([a-z]+) \d+ of \d+", child.said())
    return named[-1] if named else None


class Ender:
    def __init__(self, claims, program, folder, draw):
        self.claims, self.program, self.folder, self.draw = claims, program, folder, draw
        self.hits, self.compared, self.went_on, self.by_signal = collections.Counter(), 0, 0, collections.Counter()

    def start(self, job, resume):
        env = {"BANDMILL_SEAL_SECONDS": self.draw.choice(SAVED_EVERY)}
        return Child(self.program, job.arguments("--progress", "always", *(["--resume"] if resume else [])), env, self.folder)

    def end(self, job, child, seconds):
        """End it: (how, stage); None: it was done before."""
        number, wanted = self.draw.choice(list(SIGNALS)), self.draw.choice((None, *STAGES))
        until = time.monotonic() + self.draw.uniform(0, seconds)
        while not child.ended():
            if wanted is None and time.monotonic() >= until or wanted is not None and stage_of(child) == wanted:
                break
            time.sleep(0.0005)
        child.send(number)
        if child.wait() == SIGNALS[number] or child.code == -number:
            return number, stage_of(child) or "opening"
        return None

    def judge(self, job, child, promised, wanted):
        """What is wrong with a job that was not ended."""
        said = child.said()
        if child.code != 0:
            return f"exit {child.code}: {said[-600:]}"
        behind = re.findall(r"resuming after (\d+) documents", said)
        if promised and not re.search("is done", said) and (not behind or int(behind[0]) < promised):
            return f"{promised} documents were saved, but: {said[-600:]}"
        self.went_on += bool(behind)
        files = differing(digests(job.output), wanted)
        return f"differ: {files}" if files else job.left() and f"left: {job.left()}"

    def one(self, job, wanted, seconds, times):
        """Ended so many times, at most, and then compared. How often it was ended."""
        empty(job.output, job.work, *job.temporary)
        for folder in job.temporary:
            os.mkdir(folder)
        promised, trail = 0, []
        for i in range(times):
            child = self.start(job, i > 0)
            hit = self.end(job, child, seconds)
            if hit is None:
                break
            self.hits[hit[1]] += 1
            self.by_signal[hit[0].name] += 1
            said = re.findall(r"(\d+) documents (?:are|is) saved", child.said()) if hit[0] == signal.SIGTERM else []
            promised = max([promised, *map(int, said)])
            trail.append(f"{hit[0].name} in {hit[1]}")
        else:
            child = self.start(job, True)
            child.wait()
        wrong = self.judge(job, child, promised, wanted)
        self.compared += 1
        if wrong:
            self.claims.check(f"{job.name}: ended by {', '.join(trail)}", False, wrong)
        return len(trail)

    def torture(self, job, n):
        for folder in job.temporary:
            os.makedirs(folder)
        harness.Program(self.program).run(*job.arguments(output=job.output + "-peace"), "-q")
        wanted = digests(job.output + "-peace")
        began = time.monotonic()
        self.start(job, False).wait()
        seconds, failed, ended, tries = time.monotonic() - began, self.claims.failed, 0, 0
        while ended < n and tries < 5 * n:
            ended, tries = ended + self.one(job, wanted, seconds, min(self.draw.randint(1, 4), n - ended)), tries + 1
        shutil.rmtree(job.output, ignore_errors=True)
        self.claims.check(f"{job.name}: ended {ended} times, {tries} jobs compared", ended >= n and failed == self.claims.failed)


def main():
    args = harness.arguments("ended and --resume, with options", ("--seed", {"type": int, "default": 1}),
                             ("--kills", {"type": int, "default": 0}), ("--planted", {}))
    wanted = args.kills or {"small": 8, "normal": 24, "full": 300}[args.size]
    claims = harness.Claims()
    print(f"{wanted} kills, seed {args.seed}", flush=True)
    with harness.scratch() as folder:
        jobs = make_jobs(args.program, folder, 3000 if args.size == "small" else 6000)
        ender = Ender(claims, args.program, folder, random.Random(args.seed))
        for i, job in enumerate(jobs):
            ender.torture(job, (wanted + i) // len(jobs))
    print("by stage:", ", ".join(f"{name} {n}" for name, n in ender.hits.most_common()))
    print("by signal:", ", ".join(f"{name} {n}" for name, n in ender.by_signal.most_common()))
    print(f"{sum(ender.hits.values())} ended, {ender.compared} jobs compared, {ender.went_on} of them had gone on from saved work")
    claims.check("some went on from saved work", ender.went_on > 0)
    if wanted >= 100:
        for name in STAGES:
            claims.check(f"{name}: hit {ender.hits[name]} times", ender.hits[name] > 0)
    claims.end()


if __name__ == "__main__":
    main()
