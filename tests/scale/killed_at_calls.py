# SPDX-License-Identifier: Apache-2.0
"""Killed before each call that changes the disk, in turn, and gone on with: the same bytes, and nothing left.

For N = 1, 2, 3 … a job is killed right before the N-th of its calls that write, create, cut, link, rename, remove or sync
(tests/fault/kill_shim.c), until one runs past them all. After each kill the earlier output is as it was, or the new one is
whole; where a file that no job put there lies beside its work the command is refused (plain, with --force and with --resume in
turn) and not a byte is changed; without that file the command with --resume ends with 0 and with the bytes of a job that nobody
killed; and nothing is left beside the output or under --temp-dir, of this job or the one before. Work is sealed after each batch
of 40 documents. In the size small N goes up by 7, in normal by 5, in full by 1:
each batch makes the calls of the one before again, so that each kind of call is met.

  pairs    dedup --pairs with --temp-dir; it is another one when the job goes on
  force    dedup --cluster star over an earlier output
  sign     sign --band-keys of two files
  hashes   dedup of shingle hashes made elsewhere, identical documents and pairs among them
  torn     pairs and sign again: of the bytes that the last call was to write the first half is written
  once     one job, killed 50 times before it ends, after a number of calls that is drawn each time
  twice    a job of pairs that was killed in its middle goes on and is killed at each of its calls, then goes on again

Python's standard library only."""
import os
import random
import shutil
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import differing, digests
from resuming import Job, Seals, at_call, empty, planted, preloaded, put, put_hashes

STEP = ["--batch-docs", "40", "--threads", "1", "-q"]
SIGKILL = -9


class Calls:
    """Runs a job under the shim: with `--server` in a process that is forked, else in one that is started."""

    def __init__(self, args, folder, torn):
        self.program, self.shim, self.torn = args.program, os.path.abspath(args.shim), torn
        self.log, env = os.path.join(folder, "calls"), {**os.environ, "OCL_ICD_VENDORS": ""}
        self.server = harness.ForkServer(os.path.abspath(args.server), args.program, env, self.shim) if args.server else None

    def run(self, job, n, *more):
        """Killed at call n, or not (0). (exit code, stderr, calls made)"""
        if os.path.exists(self.log):
            os.remove(self.log)
        env = {**os.environ, **at_call(n, self.log, torn=self.torn)}
        command = [self.program, *job.arguments(*more)]
        if self.server:
            done = self.server.run(command, env)
        else:
            env.update(preloaded(self.shim))
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                                  check=False)
        rows = dict(line.split() for line in harness.read_file(self.log).decode().splitlines())
        return done.returncode, done.stderr.decode(errors="replace"), int(rows.get("calls", 0)), " ".join(rows)

    def close(self):
        if self.server:
            self.server.close()


class Case:
    """A job, what differs when it goes on, and how its place looks before it begins."""

    def __init__(self, calls, job, first=(), then=(), earlier=None, saved=None):
        self.calls, self.job, self.first, self.then, self.earlier, self.saved = calls, job, first, then, earlier, saved
        self.wanted = None

    def prepare(self):
        empty(self.job.output, self.job.work, *self.job.temporary)
        for folder in self.job.temporary:
            os.mkdir(folder)
        if self.earlier:
            shutil.copytree(self.earlier, self.job.output)
        if self.saved:
            shutil.copytree(self.saved, self.job.work)

    def peace(self):
        """Without a kill; how many calls that is."""
        self.prepare()
        code, said, n, _ = self.calls.run(self.job, 0, *self.first)
        if code != 0:
            raise harness.ProgramFailed(said)
        self.wanted = digests(self.job.output)
        return n

    def left(self):
        return [name for folder in self.job.temporary for name in os.listdir(folder)]

    def touched(self, n):
        """What is wrong where somebody else's file lies beside what the killed job left, or nothing."""
        before = contents(self.job.work)
        put(self.job.work, "thesis.tex", [b"mine"])
        more = "--force" if "--force" in self.job.command else ("--quiet", "--force", "--resume")[n % 3]
        code, said, _, _ = self.calls.run(self.job, 0, more, *self.first)
        os.remove(os.path.join(self.job.work, "thesis.tex"))
        changed = differing(contents(self.job.work), before)
        if code == 2 and "thesis.tex" in said and not changed:
            return None
        return f"{more} beside thesis.tex: exit {code}, changed {changed}: {said}"

    def wrong(self, n):
        """Killed at call n and gone on with: what is wrong, or nothing."""
        self.prepare()
        code, said, _, name = self.calls.run(self.job, n, *self.first)
        at = f"call {n}, {name}: "
        if code != SIGKILL:
            return f"{at}exit {code}: {said}"
        now = digests(self.job.output)
        in_place = not differing(now, self.wanted)
        if in_place and self.left():
            return f"{at}done, and left under --temp-dir: {self.left()}"
        if in_place and not self.earlier:
            return None
        if not in_place and differing(now, digests(self.earlier) if self.earlier else {}):
            return f"{at}neither the earlier output nor the new one: {sorted(now)}"
        touched = os.path.isdir(self.job.work) and self.touched(n)
        if touched:
            return at + touched
        code, said, _, _ = self.calls.run(self.job, 0, "--resume", *self.then)
        if code != 0:
            return f"{at}then exit {code}: {said}"
        files = differing(digests(self.job.output), self.wanted)
        return f"{at}differ: {files}" if files else self.job.left() and f"{at}left: {self.job.left()}"

    def check(self, claims, name, step):
        began, n_calls = time.monotonic(), self.peace()
        found = [wrong for wrong in map(self.wrong, range(1, n_calls + 1, step)) if wrong]
        claims.check(f"{name}: killed at {len(range(1, n_calls + 1, step))} of {n_calls} calls, {time.monotonic() - began:.1f} s",
                     not found and n_calls > 30, found[:3])


def contents(folder):
    """{path: bytes} of all below a folder; of a folder None."""
    found = {}
    for base, folders, names in os.walk(folder):
        found.update((os.path.join(base, name), None) for name in folders)
        found.update((os.path.join(base, name), harness.read_file(base, name)) for name in names)
    return found


def check_once(claims, calls, job, n_kills):
    """One job that is killed n_kills times, each time a little further on."""
    case, draw, sealed, wrong = Case(calls, job), random.Random(5), [], None
    case.peace()
    case.prepare()
    for i in range(n_kills):
        code, said, _, name = calls.run(job, draw.randint(10, 70), *(["--resume"] if i else []))
        if code != SIGKILL:
            wrong = f"kill {i + 1}: exit {code}, {name}: {said}"
            break
        sealed.append(Seals(job.work).docs)
    if not wrong:
        code, said, _, _ = calls.run(job, 0, "--resume")
        wrong = f"exit {code}: {said}" if code else differing(digests(job.output), case.wanted) or job.left()
    claims.check(f"once: one job, killed {len(sealed)} times, with {sealed[0]} … {sealed[-1]} documents sealed",
                 not wrong and sealed == sorted(sealed) and len(set(sealed)) > n_kills * 0.8, (wrong, sealed))


def main():
    args = harness.arguments("killed at each call", ("--planted", {"required": True}), ("--shim", {"required": True}))
    claims, step = harness.Claims(), {"small": 7, "normal": 5, "full": 1}[args.size]
    with harness.scratch() as folder:
        at = lambda name: os.path.join(folder, name)
        docs = planted(os.path.abspath(args.planted), 160)
        one, two = put(folder, "one.jsonl", docs[:90]), put(folder, "two.jsonl.gz", docs[90:])
        temporary = [at("t1"), at("t2")]
        first, then = ["--temp-dir", temporary[0]], ["--temp-dir", temporary[1]]
        earlier = at("earlier")
        harness.Program(args.program).run("dedup", "-o", earlier, "-q", one)
        pairs = Job("pairs", ["dedup", "--pairs", *STEP], [one, two], at("pairs"), temporary)
        sign = Job("sign", ["sign", "--band-keys", *STEP], [one, two], at("sign"))
        star = Job("force", ["dedup", "--cluster", "star", "--force", *STEP], [two], at("force"))
        whole, torn = Calls(args, folder, False), Calls(args, folder, True)
        Case(whole, pairs, first, then).check(claims, "pairs", step)
        Case(whole, star, earlier=earlier).check(claims, "force", step)
        Case(whole, sign).check(claims, "sign", step)
        hashes, offsets = put_hashes(folder, "hashes", 300)
        made = Job("hashes", ["dedup", "--pairs", "--format", "hashes", "--offsets", offsets, *STEP], [hashes], at("hashes"))
        Case(whole, made).check(claims, "hashes", step)
        Case(torn, pairs, first, then).check(claims, "torn, pairs", 2 * step)
        Case(torn, sign).check(claims, "torn, sign", 2 * step)
        # Killed after half its calls, with some documents sealed.
        plain = Case(whole, Job("twice", ["dedup", "--pairs", *STEP], [one, two], at("twice")))
        n = plain.peace()
        plain.prepare()
        whole.run(plain.job, n // 2)
        shutil.copytree(plain.job.work, at("saved"))
        claims.check("twice: some work is there to go on from", os.path.exists(os.path.join(at("saved"), ".bandmill-journal")))
        Case(whole, plain.job, ["--resume"], saved=at("saved")).check(claims, "twice", step)
        Case(whole, plain.job, ["--quiet", "--force"], saved=at("saved")).check(claims, "begun anew over sealed work", step)
        many = Job("once", ["dedup", "--cluster", "star", "--threads", "1", "--batch-docs", "10", "-q"],
                   [put(folder, "many.jsonl", planted(os.path.abspath(args.planted), 8000))], at("once"))
        check_once(claims, whole, many, 50)
        for calls in (whole, torn):
            calls.close()
    claims.end()


if __name__ == "__main__":
    main()
