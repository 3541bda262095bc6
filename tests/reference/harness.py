# SPDX-License-Identifier: Apache-2.0
"""harness.py -- what the tests in Python share: the program under test, the claims, the corpora beside the repository.

A test prints a line a claim and ends with 'N passed, N failed'; it exits 1 when one failed or when nothing was checked that
it should have been, 77 (skipped, with the reason) when what it needs is missing. BANDMILL_REQUIRE_PYTHON=1 makes a missing
Python module a failure, BANDMILL_REQUIRE_CORPORA=1 missing corpora. Standard library only."""
import argparse
import atexit
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

import corpora

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DATA = corpora.FOLDER
gc.disable()  # of large tables that live to the end it finds nothing, and takes a fifth of the time to look


def skip(reason, required_by):
    print(f"skipped: {reason}")
    sys.exit(1 if os.environ.get(required_by) == "1" else 77)


def need_modules(*names):
    """Import these modules or skip; a tuple of them."""
    found = []
    for name in names:
        try:
            found.append(__import__(name))
        except ImportError:
            skip(f"Python module {name} is not there (scripts/test.sh installs it)", "BANDMILL_REQUIRE_PYTHON")
    return found[0] if len(found) == 1 else tuple(found)


class ProgramFailed(SystemExit):
    """Another exit code than expected; what nobody catches ends the test with the command and its stderr."""


class Claims:
    """Counts what was checked; a claim that fails says why and the test goes on."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, claim, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
        print(f"{'ok    ' if holds else 'FAILED'} {claim}{'' if holds or not detail else ': ' + str(detail)}", flush=True)
        return holds

    def attempt(self, claim, work):
        """`work` answers what is wrong, or nothing; output that cannot be read and failed commands are wrong too."""
        try:
            wrong = work()
        except (ProgramFailed, ValueError, LookupError, OSError) as error:
            wrong = f"{type(error).__name__}: {error}"
        return self.check(claim, not wrong, wrong)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(0 if self.passed and not self.failed else 1)


def arguments(description, *more):
    """--program, --server (Program), --size (small: under sanitizers; normal; full) and `more`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True)
    parser.add_argument("--server")
    parser.add_argument("--size", choices=("small", "normal", "full"),
                        default=os.environ.get("BANDMILL_TEST_SIZE", "normal"))
    for name, options in more:
        parser.add_argument(name, **options)
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    if not os.access(args.program, os.X_OK):
        sys.exit(f"no program at {args.program}")
    args.size = os.environ.get("BANDMILL_TEST_SIZE", args.size)
    return args


def scratch():
    return tempfile.TemporaryDirectory(prefix="bandmill-test-")


class ForkServer:
    """Runs jobs in children of one process that has the drivers of an OCL_ICD_VENDORS mapped, and `loads` (fault/fork_server.c);
    `preloaded`: more libraries that go before the C library."""

    def __init__(self, library, path, env, *preloaded, loads=()):
        vendors = env.get("OCL_ICD_VENDORS", "")
        drivers = [read_file(vendors, name).decode().strip() for name in sorted(os.listdir(vendors))
                   if name.endswith(".icd")] if os.path.isdir(vendors) else []
        self.env, self.folder = env, tempfile.TemporaryDirectory(prefix="bandmill-jobs-")
        preload = {"LD_PRELOAD": " ".join((library, *preloaded)), "FORK_SERVER_LOAD": " ".join((*drivers, *loads)),
                   "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**env, **preload})

    def run(self, command, env):
        changes = [f"{name}={value}" for name, value in env.items() if self.env.get(name) != value]
        changes += [name for name in self.env if name not in env]
        said = [os.path.join(self.folder.name, name) for name in ("stdout", "stderr")]
        words = [os.getcwd(), *said, "1800", *changes, "--", *command[1:]]
        if any(c in word for word in words for c in "\t\n"):
            raise ValueError(f"a job of words with tabs or ends of lines: {words}")
        self.process.stdin.write("\t".join(words).encode() + b"\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        code = 128 - code if code > 128 else code  # signals as subprocess gives them
        return subprocess.CompletedProcess(command, code, *map(read_file, said))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


class Program:
    """bandmill with the native CPU unless the arguments or `env` say otherwise. With `server`, the library of
    fault/fork_server.c, jobs with the same drivers share what loading these, and `loads`, costs: they are forked."""

    def __init__(self, path, server=None, loads=()):
        self.path, self.server, self.loads, self.servers, self.lock = path, server, loads, {}, threading.Lock()
        atexit.register(self.close)

    def execute(self, command, stdin, env):
        if not self.server or stdin is not None or any(c in word for word in command for c in "\t\n"):
            return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=1800)
        # Jobs on the native CPU load no driver, and of those without a device only the list of devices does.
        native = command[command.index("--device") + 1] == "cpu" if "--device" in command else command[1] != "devices"
        key = "" if native else env.get("OCL_ICD_VENDORS", ""), env.get("LD_LIBRARY_PATH", "")
        with self.lock:
            if key not in self.servers:
                begin = {**env, "OCL_ICD_VENDORS": ""} if native else env
                self.servers[key] = ForkServer(os.path.abspath(self.server), self.path, begin, loads=self.loads)
            return self.servers[key].run(command, env)

    def close(self):
        while self.servers:
            self.servers.popitem()[1].close()

    def run(self, *args, env=None, stdin=None, expect=0):
        """CompletedProcess with bytes; ProgramFailed on another exit code than `expect`."""
        command = [self.path, *map(str, args)]
        if "--device" not in args and args[0] in ("sign", "dedup", "pairs", "query") and "keys" not in args:
            command += ["--device", "cpu"]
        done = self.execute(command, stdin, {**os.environ, **(env or {})})
        if expect is not None and done.returncode != expect:
            raise ProgramFailed(f"FAILED {' '.join(command)}\n  exit {done.returncode}, expected {expect}\n  "
                                f"{done.stderr.decode(errors='replace')[-2000:]}")
        return done


    def kill(self, out, words, enough):
        """Run a job that is saved at each step, and kill it once `enough` of its journal's bytes; False: it was done before."""
        journal = os.path.join(out + ".partial", ".bandmill-journal")
        with subprocess.Popen([self.path, *map(str, words)], env={**os.environ, "BANDMILL_SEAL_SECONDS": "0"},
                              stderr=subprocess.DEVNULL) as job:
            while job.poll() is None:
                try:
                    if enough(read_file(journal)):
                        job.send_signal(signal.SIGKILL)
                        break
                except OSError:
                    time.sleep(0.0005)
        return job.returncode == -signal.SIGKILL


UNESCAPES = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def unescape(field):
    return re.sub(r"\\(.)", lambda m: UNESCAPES[m.group(1)], field) if "\\" in field else field


def read_rows(data, header=None):
    """Rows of a text file of ours as lists of unescaped fields; with `header`, the first line must be it."""
    text = data.decode("utf-8", "surrogateescape")
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no newline")
    rows = [line.split("\t") for line in text.split("\n")[:-1]]
    if "\\" in text:
        rows = [[unescape(field) for field in row] for row in rows]
    if header is not None:
        if not rows or rows[0] != header:
            raise ValueError(f"header {rows[0] if rows else None}, expected {header}")
        rows = rows[1:]
    return rows


def wrong_sources(out, files):
    """What sources.tsv says of inputs [name, documents, how many of them are removed], none of which was skipped; empty: as it should be."""
    wanted, first = [], 0
    for name, n, removed in files:
        wanted.append([name, *map(str, (first, n, 0, removed, n - removed))])
        first += n
    got = read_rows(read_file(out, "sources.tsv"), ["file", "first_row", "documents", "skipped", "removed", "kept"])
    return "" if got == wanted else f"sources.tsv has {got}, expected {wanted}"


def read_file(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def unzstd(path):
    """The bytes of a .zst file, by the program zstd or the module zstandard."""
    program = shutil.which("zstd")
    if program:
        return subprocess.run([program, "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    try:
        import zstandard
    except ImportError:
        skip("neither the program zstd nor the Python module zstandard is there", "BANDMILL_REQUIRE_CORPORA")
    with open(path, "rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def corpus_file(*path):
    """The path of a file of the corpora beside the repository; None (said) where it is missing."""
    full = os.path.normpath(os.path.join(DATA, *path))
    if os.path.exists(full):
        return full
    print(f"not here: {full}")
    return None


def need_corpora():
    if not os.path.isdir(DATA):
        skip(f"no corpora at {DATA}", "BANDMILL_REQUIRE_CORPORA")


def unzip(path, folder):
    """Unpack beneath `folder` (members are checked to stay in it by zipfile)."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)


def articles_as_tsv(path):
    """minhash_articles: 'id text' a line, as TSV."""
    return b"".join(b"\t".join(line.split(b" ", 1)) + b"\n" for line in read_file(path).split(b"\n") if line)
