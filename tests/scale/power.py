# SPDX-License-Identifier: Apache-2.0
"""What a loss of power leaves: a job is recorded (tests/fault/power_shim.c), and every state that the disk may be in is made of it.

After each call of the record the power goes, and the disk holds

  lost    what was synced, and nothing else
  kept    all of it
  names   what is in folders, synced or not; of files the bytes that were synced
  data    of folders what was synced; of the files that are in them all bytes
  torn    all of it, but the first half of the last write

A file's name is on the disk when its folder was synced, its bytes when it was; a rename between two folders is one step. States that
are the same are one. In each of them

  - what stood at the output is as it was, or the new output is whole, to the byte;
  - the same command with --resume ends with 0 and the output of a job that nothing interrupted, or with 2 or 7 and a message
    that names --force, and with --force it ends so always; nothing is left beside the output then;
  - an index that is added to passes `index check`, holds a beginning of the documents, never fewer than were acknowledged, and
    `index add --resume` adds the rest.

In the sizes small and normal some of the states, at a fixed step; in full all of them. Python's standard library only."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", part) for part in ("reference", "identity")]
import harness
from outputs import differing, digests
from resuming import planted, preloaded, put

MODELS = ("lost", "kept", "names", "data", "torn")
STEP = ["--batch-docs", "20", "--threads", "1", "--device", "cpu", "-q"]
UNSEEN = "lock.mdb"  # is written through a map, and means nothing to the next process


# --- the disk ---

class File:
    def __init__(self, data=b"", synced=b""):
        self.data, self.synced = bytearray(data), bytearray(synced)


class Folder:
    def __init__(self):
        self.entries, self.first = {}, {}  # now; before the record


def patch(data, at, written):
    if len(data) < at:
        data.extend(bytes(at - len(data)))
    data[at:at + len(written)] = written


def resize(data, size):
    if len(data) > size:
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))


class Disk:
    """A folder, and what the calls of a record make of it, one by one."""

    def __init__(self, root):
        self.root, self.nodes, self.changes, self.last = os.path.realpath(root), {}, [], None
        self.top = self.load(self.root)

    def load(self, path):
        folder = self.nodes[os.stat(path).st_ino] = Folder()
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                node = self.load(entry.path)
            else:
                data = harness.read_file(entry.path)
                node = self.nodes[entry.stat(follow_symlinks=False).st_ino] = File(data, data)
            folder.entries[entry.name] = folder.first[entry.name] = node
        return folder

    def place(self, path):
        """(folder, name) of a path; the folder is None outside of the root."""
        steps = os.path.relpath(path, self.root).split("/")
        folder = None if steps[0] == ".." else self.top
        for step in steps[:-1]:
            folder = folder and folder.entries.get(step)
        return folder, steps[-1]

    def change(self, *entries):
        """(folder, name, what stands there from now on) each; one step, not synced."""
        entries = [entry for entry in entries if entry[0] is not None]
        for folder, name, node in entries:
            folder.entries.pop(name, None)
            if node is not None:
                folder.entries[name] = node
        self.changes.append([False, entries])

    def name(self, path, inode, node):
        folder, name = self.place(path)
        if folder is None:
            self.nodes.pop(inode, None)
        elif inode not in self.nodes or folder.entries.get(name) is not self.nodes[inode]:
            self.nodes[inode] = node
            self.change((folder, name, node))

    def sync(self, node):
        if isinstance(node, File):
            node.synced = bytearray(node.data)
        for change in self.changes:
            change[0] = change[0] or any(folder is node for folder, _, _ in change[1])

    def step(self, words, data):
        call, args, self.last = words[0], words[1:], None
        node = self.nodes.get(int(args[0])) if call in ("write", "synced", "cut", "sync") else None
        if call in ("write", "synced") and node:
            self.last = (node, bytes(node.data), int(args[1]), data)
            patch(node.data, int(args[1]), data)
            if call == "synced":
                patch(node.synced, int(args[1]), data)
        elif call == "cut" and isinstance(node, File):
            resize(node.data, int(args[1]))
        elif call == "sync" and node:
            self.sync(node)
        elif call == "syncfs":
            for node in self.nodes.values():
                self.sync(node)
        elif call == "unnamed":
            self.nodes[int(args[0])] = File()
        elif call == "make":
            self.name(args[0], int(args[1]), File())
        elif call == "mkdir":
            self.name(args[0], int(args[1]), Folder())
        elif call == "link":
            self.change((*self.place(args[0]), self.nodes.get(int(args[1]))))
        elif call in ("unlink", "rmdir"):
            self.change((*self.place(args[0]), None))
        elif call in ("rename", "exchange"):
            (a, b), (c, d) = self.place(args[0]), self.place(args[1])
            there = c.entries.get(d) if call == "exchange" else None
            self.change((a, b, there), (c, d, a.entries.get(b)))

    def state(self, model):
        """{path: bytes; None for a folder} as the model has it."""
        entries = {}
        if model in ("lost", "data"):
            entries = {node: dict(node.first) for node in self.nodes.values() if isinstance(node, Folder)}
            for synced, change in self.changes:
                for folder, name, node in change if synced else ():
                    table = entries.setdefault(folder, dict(folder.first))
                    table.pop(name, None)
                    if node is not None:
                        table[name] = node
        found = {}

        def walk(folder, path):
            for name, node in entries.get(folder, {} if entries else folder.entries).items():
                if isinstance(node, Folder):
                    found[path + name] = None
                    walk(node, path + name + "/")
                else:
                    found[path + name] = bytes(node.synced if model in ("lost", "names") else node.data)
                    if model == "torn" and self.last and self.last[0] is node:
                        half = bytearray(self.last[1])
                        patch(half, self.last[2], self.last[3][:len(self.last[3]) // 2])
                        found[path + name] = bytes(half)

        walk(self.top, "")
        return found


def recorded(path):
    """(words, bytes) of each call."""
    calls = []
    with open(path, "rb") as log:
        while line := log.readline():
            words = line.decode().rstrip("\n").split("\t")
            calls.append((words, log.read(int(words[3])) if words[0] in ("write", "synced") else b""))
    return calls


def lay(root, state):
    """The folder holds that state, and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    for path, data in sorted(state.items()):
        if data is None:
            os.mkdir(os.path.join(root, path))
        else:
            with open(os.path.join(root, path), "wb") as file:
                file.write(data)


def below(state, folder):
    """What a state has in a folder, by the names there; None: there is no such folder, or an empty one."""
    return {path[len(folder) + 1:]: data for path, data in state.items()
            if path.startswith(folder + "/") and os.path.basename(path) != UNSEEN} or None


# --- jobs ---

class Job:
    """A command that writes ROOT/out: `prepare`, what is run before; `more`, what the recorded one has beside `inputs`."""

    resumes, again = True, ("--force",)

    def __init__(self, name, place, command, inputs, prepare=(), more=()):
        self.name, self.place, self.command, self.inputs, self.prepare, self.more = name, place, command, inputs, prepare, more
        self.earlier = self.wanted = None

    def words(self, *more):
        return [*self.command, *STEP, "-o", self.place.out, *more, *self.inputs]

    def begin(self):
        self.place.fresh(self.prepare)

    def record(self):
        """Run it; the disk as it was before, and the calls."""
        self.begin()
        before, disk = Disk(self.place.root), Disk(self.place.root)
        calls = self.place.record(self.words(*self.more))
        self.earlier, self.wanted = below(disk.state("kept"), "out"), self.result()
        for words, data in calls:
            disk.step(words, data)
        self.new = below(disk.state("kept"), "out")
        there = Disk(self.place.root).state("kept")
        if below(there, "out") != self.new or set(there) - {"out"} - {"out/" + path for path in self.new} - {"out/" + UNSEEN}:
            raise SystemExit(f"{self.name}: what the record makes is not what the job made: {sorted(there)}")
        return before, calls

    def states(self, disk, calls):
        """(where, is it done, state) of all that differ."""
        seen = set()
        for n in range(len(calls) + 1):
            if n:
                disk.step(*calls[n - 1])
            for model in MODELS:
                state = disk.state(model)
                mark = hashlib.sha256(repr(sorted(state.items())).encode()).digest()
                # What was acknowledged is asked of the last states, whether or not they are new.
                if mark not in seen or n == len(calls):
                    seen.add(mark)
                    yield f"{model} behind call {n}{', ' + calls[n - 1][0][0] if n else ''}", n == len(calls), state

    def result(self):
        return digests(self.place.out)

    def whole(self):
        """What is wrong with the output of a job that says it is done, or nothing."""
        left = [name for name in os.listdir(self.place.root) if name != "out"]
        return differing(self.result(), self.wanted) or (f"left: {left}" if left else None)

    def wrong(self, state, done, torn):
        """What is wrong in a state, or nothing."""
        there = below(state, "out")
        if there not in ((self.new,) if done else (self.earlier, self.new)):
            return f"neither the earlier output nor the new one: {sorted(there or ())}"
        if self.resumes:
            lay(self.place.root, state)
            code, said = self.place.run(self.words(*[word for word in self.more if word != "--resume"], "--resume"))
            if not (code in (2, 7) and "--force" in said or code == 0 and not self.whole()):
                return f"--resume: exit {code}: {said or self.whole()}"
        lay(self.place.root, state)
        code, said = self.place.run(self.words(*self.again))
        return f"{' '.join(self.again) or 'again'}: exit {code}: {said or self.whole()}" if code or self.whole() else None


class Again(Job):
    """A job that finds what the same job left, killed when it had sealed something."""

    def begin(self):
        first = Job(self.name, self.place, self.command, self.inputs)
        disk, calls = first.record()
        for words, data in calls[:len(calls) * 2 // 3]:
            disk.step(words, data)
        lay(self.place.root, disk.state("kept"))


class Build(Job):
    """An index, made beside its place."""

    resumes = False

    def words(self, *more):
        return [*self.command, *STEP, *more, self.place.out, *self.inputs]

    def result(self):
        self.place.run(["index", "check", self.place.out], must=True)
        return self.found()

    def found(self):
        """The ids of documents that it finds, of all that there are."""
        said = self.place.run(["query", self.place.out, *self.place.documents, "--threads", "1", "--device", "cpu", "-q"], must=True)
        rows = [line.split("\t") for line in said.splitlines()[1:]]
        return {row[0]: 1 for row in rows if row[0] == row[1]}


class Compact(Build):
    again = ()

    def words(self, *more):
        return [*self.command, "-q", *more, self.place.out]


class Add(Build):
    """An index that is there is added to, a commit a batch. `index check` says of a first page that is torn that it is: what the
    other one names is whole, is what is read, and the next commit writes over the torn one."""

    least = 0

    def wrong(self, state, done, torn):
        lay(self.place.root, state)
        ids = sorted(self.place.ids)
        code, said = self.place.run(["index", "check", self.place.out])
        if code and not (torn and "the next commit mends it" in said):
            return f"check: exit {code}: {said}"
        n = json.loads(self.place.run(["index", "info", self.place.out, "--json"], must=True))["counts"]["documents"]
        found = self.found()
        if n < self.least or sorted(found) != sorted(self.place.ids[:n]) or (done and n < len(ids)):
            return f"{n} documents, {len(found)} of them found; acknowledged were {self.least}"
        self.least = max(self.least, n if done else len(self.place.ids) // 2)
        code, said = self.place.run(self.words("--resume"))
        return f"--resume: exit {code}: {said or self.whole()}" if code or self.whole() else None


class Place:
    """Where jobs work, and the program."""

    def __init__(self, args, folder):
        self.args, self.root, self.log = args, os.path.join(folder, "disk"), os.path.join(folder, "log")
        self.out = os.path.join(self.root, "out")
        self.env = {"BANDMILL_SEAL_SECONDS": "0", "OCL_ICD_VENDORS": ""}
        self.program = harness.Program(os.path.abspath(args.program), args.server)
        docs = planted(os.path.abspath(args.planted), 100)
        self.ids = [json.loads(line)["id"] for line in docs]
        self.documents = [put(folder, "one.jsonl", docs[:50]), put(folder, "two.jsonl", docs[50:])]

    def run(self, words, must=False):
        """(exit code, all that it said), or stdout of what must end with 0."""
        done = self.program.execute([self.program.path, *words], None, {**os.environ, **self.env})
        if must and done.returncode:
            raise ValueError(f"{' '.join(words[:2])}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode() if must else (done.returncode, (done.stdout + done.stderr).decode(errors="replace"))

    def fresh(self, prepare):
        lay(self.root, {})
        for words in prepare:
            self.run([*words, "--device", "cpu", "-q"] if words[1] != "remove" else words, must=True)

    def record(self, words):
        if os.path.exists(self.log):
            os.remove(self.log)
        env = {**os.environ, **self.env, **preloaded(self.args.shim), "POWER_SHIM_LOG": self.log}
        subprocess.run([self.program.path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env, check=True)
        return recorded(self.log)


def check(claims, job, step):
    disk, calls = job.record()
    states, found, n = list(job.states(disk, calls)), [], 0
    for i, (where, done, state) in enumerate(states):
        if i % step and not done:
            continue
        n += 1
        try:
            wrong = job.wrong(state, done, where.startswith("torn"))
        except ValueError as error:
            wrong = str(error)
        if wrong:
            found.append(f"{where}: {wrong}")
    claims.check(f"{job.name}: {n} of {len(states)} states that {len(calls)} calls may leave", not found and n > 5,
                 f"{len(found)} are wrong: " + "\n    ".join(["", *found[:int(os.environ.get("BANDMILL_TEST_SHOWN", "3"))]]))


def main():
    args = harness.arguments("states that a loss of power leaves", ("--planted", {"required": True}), ("--shim", {"required": True}),
                             ("--only", {}))
    claims, step = harness.Claims(), {"small": 29, "normal": 11, "full": 1}[args.size]
    with harness.scratch() as folder:
        place = Place(args, folder)
        one, both = place.documents[:1], place.documents
        build = ["index", "build", place.out, *both]
        jobs = [Job("sign", place, ["sign", "--band-keys"], both),
                Job("dedup", place, ["dedup", "--pairs"], both),
                Again("sign --resume", place, ["sign", "--band-keys"], both, (), ["--resume"]),
                Again("sign --force", place, ["sign", "--band-keys"], both, (), ["--force"]),
                Job("dedup --force", place, ["dedup", "--cluster", "star"], both, [["dedup", "-o", place.out, *one]], ["--force"]),
                Build("index build", place, ["index", "build"], both),
                Build("index build --force", place, ["index", "build"], both, [["index", "build", place.out, *one]], ["--force"]),
                Add("index add", place, ["index", "add"], both[1:], [["index", "build", place.out, *one]]),
                Compact("index compact", place, ["index", "compact"], [], [build, ["index", "remove", place.out, *place.ids[:1]]])]
        for job in jobs:
            if args.only in (None, job.name):
                check(claims, job, step)
    claims.end()


if __name__ == "__main__":
    main()
