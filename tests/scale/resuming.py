# SPDX-License-Identifier: Apache-2.0
"""resuming.py -- jobs that are interrupted and gone on with: their corpora, their options, and how far one has come.

How far is read from the work directory, OUTPUT.partial, while its job stands still or is dead:

    opening     the directory is not there yet
    unsealed    nothing is sealed: the journal has no line of documents
    taking up   a job that was resumed has not added anything of its own
    sealing     a file of state holds more than the journal says
    reading     some documents are sealed
    matching    all documents are, no matches
    grouping    matches too, no output file is begun (sign: all documents)
    writing     an output file lies there
    ending      they are whole, state is being removed
    done        the output is there

Python's standard library only."""
import array
import csv
import gzip
import os
import random
import shutil
import signal
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "reference"), os.path.join(HERE, "..", "identity")]
import harness

STAGES = ("opening", "unsealed", "taking up", "sealing", "reading", "matching", "grouping", "writing", "ending", "done")
STATE = ".bandmill-"
GROWING = ("signatures.npy", "band_keys.npy")  # of sign, from its first batch on


# --- corpora ---

def planted(program, n, mode="clusters", prefix=""):
    """Lines of bench/planted.c, their ids with a prefix."""
    lines = subprocess.run([program, str(n), "--mode", mode], stdout=subprocess.PIPE, check=True).stdout
    return lines.replace(b'{"id":"', b'{"id":"' + prefix.encode()).splitlines(keepends=True)


def put(folder, name, lines):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wb", compresslevel=1) if name.endswith(".gz") else open(path, "wb") as file:
        file.writelines(lines)
    return path


def put_csv(folder, name, lines):
    """The same as rows; every 50th is bad (one field), every 40th has the id of another, some texts have line breaks."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        for i, line in enumerate(lines):
            text = line.split(b'"')[7].decode()
            if i % 50 == 49:
                rows.writerow(["bad"])
            rows.writerow([f"d{i // 40 * 40 if i % 40 == 1 else i}", text.replace(" ", "\n", i % 3)])
    return path


def put_hashes(folder, name, n):
    """n documents as shingle hashes made elsewhere: NAME.npy and NAME-offsets.npy. Every seventh is nearly the one before."""
    draw, values, offsets = random.Random(n), array.array("Q"), array.array("q", [0])
    for i in range(n):
        again = i % 7 == 6
        values.extend([values[j] for j in range(offsets[-2], offsets[-1])][1:] if again else [])
        values.extend(draw.getrandbits(64) for _ in range(2 if again else draw.randrange(0, 60)))
        offsets.append(len(values))
    paths = []
    for suffix, kind, data in (("", "<u8", values), ("-offsets", "<i8", offsets)):
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(data)},), }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        paths.append(put(folder, name + suffix + ".npy", [b"\x93NUMPY\x01\x00", struct.pack("<H", len(header)), header.encode(),
                                                        data.tobytes()]))
    return paths


def put_files(folder, name, lines):
    for i, line in enumerate(lines):
        put(folder, os.path.join(name, f"{i // 20:02}", f"{i:04}.txt"), [line.split(b'"')[7]])
    return os.path.join(folder, name)


# --- jobs ---

class Job:
    """A command with its options and inputs; `temporary`: directories that must be empty when it is done."""

    def __init__(self, name, command, inputs, output, temporary=()):
        self.name, self.command, self.inputs, self.output = name, command, inputs, output
        self.temporary = temporary

    @property
    def work(self):
        return self.output + ".partial"

    def arguments(self, *more, output=None):
        device = [] if "--device" in more else ["--device", "cpu"]
        return [*map(str, self.command), *device, "-o", output or self.output, *map(str, more), *self.inputs]

    def left(self):
        """What lies there that should not, once the job is done."""
        found = [self.work] if os.path.lexists(self.work) else []
        return found + [os.path.join(folder, name) for folder in self.temporary if os.path.isdir(folder)
                        for name in os.listdir(folder)]


# --- how far ---

class Seals:
    """What the journal of a work directory says."""

    def __init__(self, work):
        self.docs, self.docs_bytes, self.size = 0, 0, 0
        self.complete = self.matched = self.torn = self.ending = False
        try:
            data = harness.read_file(work, STATE + "journal")
        except FileNotFoundError:
            return
        self.size, self.torn = len(data), not data.endswith(b"\n")
        for line in data.split(b"\n")[:-1]:
            fields = line.split(b"\t")
            if fields[0] == b"documents":
                self.docs, self.complete, self.docs_bytes = int(fields[1]), fields[3] == b"1", int(fields[4])
            self.matched = self.matched or fields[0] == b"matched"
            if fields[0] == b"ending":  # nothing to go on from any more
                self.docs, self.ending = 0, True


def size_of(*path):
    try:
        return os.path.getsize(os.path.join(*path))
    except FileNotFoundError:
        return None


def outputs_of(work):
    try:
        return os.listdir(os.path.join(work, "output"))
    except FileNotFoundError:
        return []


def stage(job, before):
    """How far it has come; `before`: the journal's bytes when it was started."""
    try:
        names = os.listdir(job.work)
    except FileNotFoundError:
        return "done" if os.path.exists(os.path.join(job.output, "sources.tsv")) else "opening"
    seals = Seals(job.work)
    outputs = [name for name in outputs_of(job.work) if name not in GROWING]
    if seals.ending:
        return "ending"
    if not seals.docs:
        return "unsealed"
    if before and seals.size == before and not outputs:
        return "taking up"
    unsaid = not seals.matched and STATE + "matches" in names
    if seals.torn or unsaid or size_of(job.work, STATE + "documents") != seals.docs_bytes:
        return "sealing"
    if outputs:
        return "writing"
    if not seals.complete:
        return "reading"
    return "grouping" if seals.matched or job.command[0] == "sign" else "matching"


# --- processes ---

def at_call(n, log="", stop=False, torn=False):
    """What fault/kill_shim.c is told: to end the job right before its call N that changes the disk, or to stop it there."""
    return {"BANDMILL_SEAL_SECONDS": "0", "KILL_SHIM": str(n), "KILL_SHIM_LOG": log, "KILL_SHIM_STOP": str(int(stop)),
            "KILL_SHIM_TORN": str(int(torn))}


def preloaded(shim):
    """The shim before the C library, of a process that is started; under AddressSanitizer too."""
    return {"LD_PRELOAD": os.path.abspath(shim), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


class Child:
    """The program as a child that can be stopped, looked at, and killed. Its stderr lies in a file."""

    def __init__(self, program, arguments, env=None, folder=None):
        self.errors = os.path.join(folder or ".", "stderr")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=errors, env={**os.environ, **(env or {})})
        self.code = None

    def _wait(self, flags):
        if self.code is not None:
            return True
        pid, status = os.waitpid(self.process.pid, flags)
        if pid == 0 or os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            return False
        self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        return True

    def ended(self):
        return self._wait(os.WNOHANG)

    def stop(self):
        """Stand still. True: it has ended instead."""
        if not self.ended():
            self.send(signal.SIGSTOP)
            self._wait(os.WUNTRACED)
        return self.code is not None

    def stand(self):
        """Until it stands still of itself. True: it has ended instead."""
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def send(self, number):
        if self.code is None:
            os.kill(self.process.pid, number)

    def wait(self):
        while not self._wait(0):
            pass
        return self.code

    def said(self):
        return harness.read_file(self.errors).decode(errors="replace")


def empty(*folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
