# SPDX-License-Identifier: Apache-2.0
"""A job stands still before each call that changes the disk, in turn, while another one has its way with the same output.

For N = 1, 2, 3 … a job is stopped right before the N-th of its calls that write, create, cut, link, rename, remove or sync
(tests/fault/kill_shim.c). Then, while it stands still,

  second   the same job is started a second time and runs to its end
  taken    its work directory is moved away, and then the same
  removed  its work directory is removed, and then the same

and the first one goes on. Exactly one of the two ends with 0 and leaves a whole output, whose bytes are those of a job alone;
the other ends with 9, or with 2 where it came after, or with 4 where its work was taken away; and the one that lost has touched
nothing of the other's. In the size small N goes up by 7, in normal by 4, in full by 1. Python's standard library only."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import differing, digests
from resuming import Job, at_call, empty, planted, preloaded, put


class Stopped:
    """A job that stands still before its call N, or that ended before."""

    def __init__(self, args, job, n, folder):
        self.log = os.path.join(folder, "calls")
        if os.path.exists(self.log):
            os.remove(self.log)
        env = {**os.environ, **preloaded(args.shim), **at_call(n, self.log, stop=True)}
        self.process = subprocess.Popen([args.program, *job.arguments()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=env)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        self.stopped = os.WIFSTOPPED(status)
        if not self.stopped:
            self.process.returncode = os.waitstatus_to_exitcode(status)

    def go_on(self):
        """(exit code, stderr)"""
        os.kill(self.process.pid, signal.SIGCONT)
        said = self.process.stderr.read().decode(errors="replace")
        return self.process.wait(), said

    def call(self):
        rows = harness.read_file(self.log).decode().split()
        return rows[0] if rows else ""


class Way:
    def __init__(self, args, job, folder, wanted):
        self.args, self.job, self.folder, self.wanted = args, job, folder, wanted

    def second(self):
        done = subprocess.run([self.args.program, *self.job.arguments()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stderr.decode(errors="replace")

    def wrong(self, way, n):
        """What is wrong where the first job stands still before call n; None: nothing; False: it makes no such call."""
        aside = os.path.join(self.folder, "aside")
        empty(self.job.output, self.job.work, aside)
        first = Stopped(self.args, self.job, n, self.folder)
        if not first.stopped:
            first.process.stderr.close()
            return False
        at = f"{way}, call {n}, {first.call()}: "
        taken = way != "second" and os.path.isdir(self.job.work)
        if taken and way == "taken":
            os.rename(self.job.work, aside)
        elif taken:
            shutil.rmtree(self.job.work)
        before = os.path.isdir(self.job.output)  # the first has its output in place already
        second = self.second()
        now = digests(self.job.output)
        code, said = first.go_on()
        first.process.stderr.close()
        codes = sorted((code, second[0]))
        told = f"{at}first {code} {said!r}, second {second}"
        if codes.count(0) != 1 and not (before and codes[0] == 0 and taken):
            return told
        if any(c not in (0, 2, 4, 9) for c in codes) or (4 in codes and not taken):
            return told
        if second[0] == 0 and differing(digests(self.job.output), now):
            return f"{told}: the second's output was touched"
        files = differing(digests(self.job.output), self.wanted)
        if files:
            return f"{told}: differ: {files}"
        return f"{told}: left: {self.job.left()}" if self.job.left() else None

    def check(self, claims, way, step):
        began, found, n = time.monotonic(), [], 1
        while True:
            wrong = self.wrong(way, n)
            if wrong is False:
                break
            if wrong:
                found.append(wrong)
            n += step
        claims.check(f"{self.job.name}, {way}: stopped at {(n - 1) // step} calls, {time.monotonic() - began:.1f} s",
                     not found and n > 30, found[:3])


def main():
    args = harness.arguments("stopped at each call", ("--planted", {"required": True}), ("--shim", {"required": True}))
    claims, step = harness.Claims(), {"small": 7, "normal": 4, "full": 1}[args.size]
    with harness.scratch() as folder:
        at = lambda name: os.path.join(folder, name)
        one = put(folder, "one.jsonl", planted(os.path.abspath(args.planted), 100))
        options = ["--batch-docs", "40", "--threads", "1", "-q"]
        for name, command in (("dedup", ["dedup", "--pairs"]), ("sign", ["sign"])):
            job = Job(name, [*command, *options], [one], at(name))
            harness.Program(args.program).run(*job.arguments(output=at("alone")), "-q")
            way = Way(args, job, folder, digests(at("alone")))
            empty(at("alone"))
            for how in ("second", "taken", "removed") if name == "dedup" else ("second",):
                way.check(claims, how, step)
    claims.end()


if __name__ == "__main__":
    main()
