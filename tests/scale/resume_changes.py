# SPDX-License-Identifier: Apache-2.0
"""What may change between a job and its --resume, what may not, and what signals leave.

  signals   SIGINT and SIGTERM in the middle of dedup and sign: 130 and 143, a line that says how to go on, and the same bytes
            when one does; under the usual rule of when to seal, by which a job this short seals only for the signal
  inputs    one byte more; the same size and time, but another head, or tail; another time only; one input less, one more,
            another order: refused with 7, naming the file; and nothing of the work is touched
  options   each that decides a result: refused with 7, naming what it was and what it is; another command too
  allowed   --threads --memory --device --temp-dir --progress, and what only says how: the same bytes
  state     a changed byte, a file cut short or taken away: 7, or the same bytes, and never another result
  other     standard input and pipes (2), nothing to go on from, an output that is there (2), a start without --resume

Work to go on from is made by kill -9 at a stage (resuming.py), right before a call that changes the disk (tests/fault/kill_shim.c).
Python's standard library only."""
import os
import re
import resource
import shutil
import signal
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import devices, differing, digests, opencl_environment
from resuming import STAGES, STATE, Child, Job, Seals, at_call, empty, planted, preloaded, put, stage

SEAL = {"BANDMILL_SEAL_SECONDS": "0"}

REFUSED = [  # options, what the error must say
    (["--threshold", "0.9"], '"threshold": 0.8, this one has "threshold": 0.9'),
    (["--recall", "0.99"], '"recall": 0.95, .*"recall": 0.99'),
    (["--seed", "2"], '"seed": 1, .*"seed": 2'),
    (["--perms", "256"], '"perms": 128, .*"perms": 256'),
    (["--shingle", "word:4"], '"shingle": "word:5", .*"shingle": "word:4"'),
    (["--normalize", "none"], '"normalize": "invisible,lower", .*"normalize": "none"'),
    (["--words", "space"], '"words": "alnum", .*"words": "space"'),
    (["--short", "skip"], '"short": "whole", .*"short": "skip"'),
    (["--bands", "20", "--rows", "5"], "had .*, this one has"),
    (["--verify", "none"], '"verify": "exact", .*"verify": "none"'),
    (["--cluster", "star"], '"cluster": "components", .*"cluster": "star"'),
    (["--keep", "last"], '"keep": "first", .*"keep": "last"'),
    (["--kept", "none"], '"kept": "same", .*"kept": "none"'),
    (["--pairs"], '"pairs": 0, .*"pairs": 1'),
    (["--text-field", "id"], r'"text_fields": \["text"\], .*\["id"\]'),
    (["--id-field", "id"], '"id_field": null, .*"id_field": "id"'),
    (["--duplicate-ids", "number"], '"duplicate_ids": "error", .*"number"'),
    (["--on-error", "skip"], '"on_error": "fail", .*"skip"'),
    (["--invalid-utf8", "error"], '"invalid_utf8": "replace", .*"error"'),
    (["--max-doc-bytes", "1M"], '"max_doc_bytes": 1073741824, .*1048576'),
    (["--format", "lines"], '"input_format": "jsonl", .*"lines"'),
]
ALLOWED = [["--threads", 1], ["--threads", 5], ["--memory", "48M"], ["--memory", "8G"], ["--progress", "always"], ["-q"], ["-v"],
           ["--batch-docs", 3], ["--batch-docs", 100000], ["--json"], ["--force"]]
MATCHED = ("grouping", "writing")  # the matches are sealed


class Bench:
    """A folder with a job's corpora, and the program."""

    def __init__(self, claims, args, folder):
        self.claims, self.program, self.folder, self.size = claims, args.program, folder, args.size
        self.env, self.shim = opencl_environment(), args.shim
        docs = planted(os.path.abspath(args.planted), 1500)
        self.docs = docs
        self.a, self.b = put(folder, "a.jsonl", docs[:900]), put(folder, "b.jsonl", docs[900:])
        self.peace = {}

    def at(self, name):
        return os.path.join(self.folder, name)

    def job(self, command="dedup", *options, inputs=None):
        return Job(command, [command, *options], inputs or [self.a, self.b], self.at("out"))

    def wanted(self, job):
        """The digests of a job that nobody interrupted."""
        key = repr((job.command, job.inputs))
        if key not in self.peace:
            where = self.at("peace")
            empty(where)
            harness.Program(self.program).run(*job.arguments(output=where), "-q", env=self.env)
            self.peace[key] = digests(where)
        return self.peace[key]

    def run(self, job, *more, env=None, stdin=None):
        return harness.Program(self.program).run(*job.arguments(*more), env={**self.env, **(env or {})}, stdin=stdin, expect=None)

    def same(self, job, code, said=""):
        """What is wrong with a job that should be as if nobody had interrupted it, or nothing."""
        wrong = differing(digests(job.output), self.wanted(job)) if code == 0 else f"exit {code}: {said}"
        return wrong or job.left()

    def at_call(self, job, n, more, log="", stop=False):
        """Killed before its call N that changes the disk, or stopped there, or not (0)."""
        empty(job.output, job.work)
        shim = {**preloaded(self.shim), **at_call(n, log, stop)}
        return Child(self.program, job.arguments("--threads", 1, *more), {**self.env, **shim}, self.folder)

    def killed_at(self, job, *wanted, more=("--batch-docs", 20)):
        """Leave work that was killed at one of these stages; the number of the call. Found by bisection: a stage follows the other."""
        def left_by(n):
            self.at_call(job, n, more).wait()
            return stage(job, 0)

        log = self.at("calls")
        child = self.at_call(job, 0, more, log)
        if child.wait() != 0:
            raise harness.ProgramFailed(f"exit {child.code}: {child.said()}")
        below, above = 0, int(harness.read_file(log).split()[-1])
        os.remove(log)
        while above - below > 1:
            middle = (below + above) // 2
            if STAGES.index(left_by(middle)) < min(map(STAGES.index, wanted)):
                below = middle
            else:
                above = middle
        for n in (above + way * step for step in range(20) for way in (1, -1)):
            if left_by(n) in wanted:
                return n
        raise ValueError(f"no call at {wanted}")


# --- signals ---

def cpu_seconds(pid):
    """Of a process, so far."""
    fields = harness.read_file(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(bench, job, number, whole):
    """Send a signal in the middle of reading; what it said. `whole`: the processor seconds of the job. One that was not met there begins
    anew."""
    share = 0.5
    for _ in range(20):
        empty(job.output, job.work)
        child = Child(bench.program, job.arguments(), bench.env, bench.folder)
        while not child.ended() and cpu_seconds(child.process.pid) < share * whole:
            time.sleep(0.002)
        child.send(number)
        if child.wait() != 0 and Seals(job.work).docs and not Seals(job.work).complete:
            break
        share *= 0.8 if child.code == 0 or Seals(job.work).complete else 1.2
    return child.code, child.said()


def check_signals(bench):
    slow = ["--bands", "128", "--rows", "8", "--perms", "1024", "--threads", "1", "--batch-docs", "50"]  # and scalar code
    bench.env = {**bench.env, "BANDMILL_CPU": "scalar"}
    docs = bench.docs[:700] if bench.size == "small" else bench.docs + planted_again(bench.docs)
    path = put(bench.folder, "slow.jsonl", docs)
    commands = (("dedup", slow), ("sign", [*slow, "--band-keys"]))
    whole = {}  # processor seconds of each command, of the one run that makes what is wanted
    for turn, (number, code) in enumerate(((signal.SIGINT, 130), (signal.SIGTERM, 143))):
        for command, options in commands[turn:turn + 1] if bench.size == "small" else commands:
            job = bench.job(command, *options, inputs=[path])
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            wanted = bench.wanted(job)
            whole.setdefault(command, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
            got, said = interrupted(bench, job, number, whole[command])
            name, lines = f"{signal.Signals(number).name}, {command}", said.splitlines()
            sealed = Seals(job.work).docs
            bench.claims.check(f"{name}: exit {code}, {sealed} documents sealed", got == code and 0 < sealed < len(docs), (got, said))
            bench.claims.check(f"{name}: says how to go on, and ends with what happened",
                               any(f"{job.work}: " in line and "--resume" in line for line in lines) and
                               lines and "interrupted" in lines[-1] and not os.path.exists(job.output), said)
            done = bench.run(job, "--resume")
            message = done.stderr.decode()
            wrong = bench.same(job, done.returncode, message) or (
                f"resuming after {sealed} documents" not in message and message)
            bench.claims.check(f"{name}: goes on to the same bytes ({len(wanted)} files)", not wrong, wrong)
            empty(job.output)
    del bench.env["BANDMILL_CPU"]


def planted_again(docs):
    return [line.replace(b'{"id":"', b'{"id":"again-') for line in docs]


# --- what may not change ---

def refused(bench, job, claim, says, more=(), inputs=None, code=7):
    """The same job but for something: one line, that exit code, and the work stays as it was."""
    other = Job(job.name, job.command, inputs or job.inputs, job.output)
    before = digests(job.work)
    done = bench.run(other, "--resume", *more)
    said = done.stderr.decode()
    wrong = None
    if done.returncode != code or said.count("\n") != 1 or not re.search(says, said):
        wrong = f"exit {done.returncode}: {said}"
    elif differing(digests(job.work), before) or os.path.exists(job.output):
        wrong = f"touched: {differing(digests(job.work), before)}"
    bench.claims.check(f"refused: {claim}", not wrong, wrong)


def write(path, data, times):
    with open(path, "wb") as file:
        file.write(data)
    if times:
        os.utime(path, ns=times)


def some_of(bench, options):
    """In the size small every third, since each is a start of the program: what reads them is the same."""
    return options[::3] if bench.size == "small" else options


def check_inputs(bench):
    job = bench.job()
    bench.killed_at(job, "reading")
    info, data = os.stat(bench.b), harness.read_file(bench.b)
    times = (info.st_atime_ns, info.st_mtime_ns)
    head, tail = data.replace(b"a", b"e", 1), data[:-20] + data[-20:].replace(data[-10:-9], b"#", 1)
    assert head != data and tail != data and len(head) == len(tail) == len(data)
    changed = "b.jsonl has changed"
    for claim, new, when in (("an input with one byte more", data + b"\n", times), ("another head, same size and time", head, times),
                             ("another tail, same size and time", tail, times), ("another time only", data, (0, 10 ** 18))):
        write(bench.b, new, when)
        refused(bench, job, claim, changed)
    write(bench.b, data, times)
    more = put(bench.folder, "c.jsonl", [b'{"id":"c","text":"one more"}\n'])
    refused(bench, job, "one input less", r"b\.jsonl", inputs=[bench.a])
    refused(bench, job, "one input more", r"c\.jsonl", inputs=[bench.a, bench.b, more])
    refused(bench, job, "another order", r"b\.jsonl", inputs=[bench.b, bench.a])
    refused(bench, job, "another file of the same name elsewhere", r"a\.jsonl",
            inputs=[put(bench.folder, "elsewhere/a.jsonl", bench.docs[:900]), bench.b])
    for options, says in some_of(bench, REFUSED):
        refused(bench, job, " ".join(options), says, more=options)
    other = bench.job("sign")
    refused(bench, other, "another command", '"command": "dedup", .*"command": "signatures"')
    done = bench.run(job, "--resume")
    wrong = bench.same(job, done.returncode, done.stderr)
    bench.claims.check("after all that, the job that it was goes on to the same bytes", not wrong, wrong)
    empty(job.output)


# --- what may ---

def check_allowed(bench):
    env = bench.env
    found = [spec for spec, _, _ in devices(harness.Program(bench.program), env)]
    if not found:
        print("SKIPPED: going on with another --device, none is here")
    temporary = bench.at("temporary")
    os.mkdir(temporary)
    for killed, stages in (("reading", ["reading"]), ("matches", MATCHED)):
        job = bench.job("dedup", "--pairs")
        bench.killed_at(job, *stages)
        shutil.copytree(job.work, bench.at("saved"))
        for more in some_of(bench, ALLOWED) + [["--device", spec] for spec in found] + [["--temp-dir", temporary], ["--report", bench.at(killed + ".json")]]:
            done = bench.run(job, "--resume", *more)
            wrong = bench.same(job, done.returncode, done.stderr) or os.listdir(temporary)
            bench.claims.check(f"goes on from {killed} with {' '.join(map(str, more))}", not wrong, wrong)
            empty(job.output, job.work)
            shutil.copytree(bench.at("saved"), job.work)
        refused = bench.run(job)
        wrong = refused.returncode != 2 or not re.search(rb"saved there .*--resume.*--force", refused.stderr) or differing(digests(job.work), digests(bench.at("saved")))
        bench.claims.check(f"without --resume the work of {killed} is refused with 2, and stays", not wrong, refused.stderr)
        done = bench.run(job, "--force")
        wrong = bench.same(job, done.returncode, done.stderr) or (b"starts again" not in done.stderr and done.stderr)
        bench.claims.check(f"with --force the work of {killed} starts again, and that is said", not wrong, wrong)
        empty(job.output, bench.at("saved"))


# --- state that is damaged ---

def harmed(data):
    """(what, bytes) of a file."""
    middle = len(data) // 2
    flip = lambda at: data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1:]
    return [("its first byte changed", flip(0)), ("a byte changed", flip(middle)), ("its last byte changed", flip(len(data) - 1)),
            ("cut in the middle", data[:middle]), ("cut by a byte", data[:-1]), ("empty", b""), ("gone", None)]


def check_state(bench):
    job = bench.job("dedup", "--pairs")
    bench.killed_at(job, *MATCHED)
    saved = bench.at("saved")
    shutil.copytree(job.work, saved)
    empty(job.work)
    for name in ("journal", "documents", "sets", "matches"):
        data, told = harness.read_file(saved, STATE + name), 0
        damages = harmed(data)
        if name == "journal":
            line = data.index(b"\n") + 1
            damages += [("only its first line", data[:line]), ("a piece of its second", data[:line + 9]),
                        ("without its first line", data[line:])]
        for what, new in damages:
            shutil.copytree(saved, job.work)
            os.remove(os.path.join(job.work, STATE + name))
            if new is not None:
                write(os.path.join(job.work, STATE + name), new, None)
            done = bench.run(job, "--resume")
            if done.returncode == 7:
                wrong = None if job.work.encode() in done.stderr.splitlines()[-1] else done.stderr
                told += 1
                again = bench.run(job, "--force")
                wrong = wrong or bench.same(job, again.returncode, again.stderr)
            else:
                wrong = bench.same(job, done.returncode, done.stderr)
            bench.claims.check(f"{STATE}{name}, {what}: exit {done.returncode}, never another result", not wrong, wrong)
            empty(job.output, job.work)
        bench.claims.check(f"{STATE}{name}: {told} of {len(damages)} damages are told", told >= (3 if name == "journal" else 4))
    empty(saved)


# --- the rest ---

def check_other(bench):
    job = bench.job()
    done = bench.run(job, "--resume")
    wrong = bench.same(job, done.returncode, done.stderr)
    bench.claims.check("--resume with nothing to go on from is a job like others", not wrong, wrong)
    done = bench.run(job, "--resume")
    wrong = bench.same(job, done.returncode, done.stderr) or (None if b"it is done" in done.stderr else done.stderr)
    bench.claims.check("--resume of a job that is done says so", not wrong, wrong)
    done = bench.run(bench.job("dedup", "--threshold", "0.9"), "--resume")
    bench.claims.check("the output of another job is refused", done.returncode == 2 and b"--force" in done.stderr, done.stderr)
    empty(job.output)
    done = bench.run(bench.job(inputs=["-"]), "--resume", stdin=b"".join(bench.docs))
    bench.claims.check("--resume of standard input is refused", done.returncode == 2 and b"--resume" in done.stderr, done.stderr)
    done = bench.run(bench.job(inputs=["-"]), "-q", stdin=harness.read_file(bench.a) + harness.read_file(bench.b), env=SEAL)
    bench.claims.check("a job of standard input is not sealed, and works", done.returncode == 0 and not job.left(), done.stderr)
    empty(job.output)
    # While a job lives nobody goes on with its work.
    child = bench.at_call(job, bench.killed_at(job, "reading", more=("--batch-docs", 100)), ("--batch-docs", 100), stop=True)
    if child.stand():
        raise harness.ProgramFailed(f"exit {child.code}: {child.said()}")
    done = bench.run(job, "--resume")
    child.send(signal.SIGCONT)
    wrong = bench.same(job, child.wait(), child.said())
    bench.claims.check("the work of a living job: 9, and that job ends well", done.returncode == 9 and not wrong,
                       (done.returncode, done.stderr, wrong))
    empty(job.output)


def main():
    args = harness.arguments("what may change before --resume", ("--planted", {"required": True}), ("--shim", {"required": True}))
    claims = harness.Claims()
    with harness.scratch() as folder:
        bench = Bench(claims, args, folder)
        for check in (check_signals, check_inputs, check_allowed, check_state, check_other):
            began = time.monotonic()
            check(bench)
            print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    claims.end()


if __name__ == "__main__":
    main()
