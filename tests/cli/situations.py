#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Situations that people bring to the program, as tables: what lies there, what is run, what must follow.

    situations.py PROGRAM situations/KIND.txt [--each-fails] [--only NAME] [--keep]

A file of `situations/` holds one kind of situation, and is one test of ctest: `cli_situations_KIND`. A new file needs no other
line. Lines are words; empty lines and lines that begin with # say nothing. A situation begins with its name, and gets an empty
directory of its own:

    situation NAME              a name of its own in the file
    file PATH BYTES             PATH holds these bytes; again: they follow. Escapes as in Python: \\n \\t \\r \\0 \\xHH \\\\ ; an end of line
                                is written out, and so is a blank at either end (\\x20). Other characters are UTF-8.
    given KIND/PATH             PATH of the inputs of others, inputs_that_fail/KIND of the corpora (tests/reference/corpora.py);
                                where they are not there, the situation is skipped with a message
    sh COMMAND                  what else makes inputs; must end with 0
    needs COMMAND               where it does not end with 0, the situation is skipped: needs "$PYTHON" -c "import pyarrow" && bandmill --version | grep -q "^tables *Arrow"
    run COMMAND                 what is tested, a line for sh(1) in which `bandmill` is the program: pipes and `VAR=… bandmill …` work
    exit CODE                   of that command; a must behind each `run`
    stderr ERE, stdout ERE      some line of it matches (re.search)
    stderr! ERE, stdout! ERE    none does
    in PATH ERE, in! PATH ERE   the same of the lines of a file
    holds PATH BYTES            the file, `stdout` or `stderr` is exactly this
    count N WHERE ERE           exactly N lines of WHERE (a path, `stdout` or `stderr`) match
    there PATH, absent PATH     there is such a path, or none (a glob may match)

Checks belong to the last `run`; `file`, `given` and `sh` may stand between two. Devices are not looked for (BANDMILL_DEVICE=cpu);
$PYTHON is that of the virtual environment (.venv), where there is one.

--each-fails turns the test round: each situation must fail (situations/false_claims.txt, of which each says what is not so).
Exit codes: 0 all hold, 1 some do not, 77 all were skipped.
"""
import argparse
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import corpora


class Skipped(Exception):
    pass


class Wrong(Exception):
    """A line of the table that has no meaning."""


def unescape(text):
    """The bytes that `text` stands for."""
    escapes = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}
    return re.sub(rb"\\(?:x([0-9a-fA-F]{2})|(.))", lambda m: bytes([int(m[1], 16)]) if m[1] else escapes[m[2]], text.encode())


def parse(path):
    """[(name, [(line number, word, rest)])]"""
    situations = []
    names = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        line = line.strip(" ")
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        rest = rest.lstrip(" ")
        if word == "situation":
            if not rest or rest in names:
                raise Wrong(f"{path.name}:{number}: a name of its own is expected")
            names.add(rest)
            situations.append((rest, []))
        elif not situations:
            raise Wrong(f"{path.name}:{number}: no situation has begun")
        else:
            situations[-1][1].append((number, word, rest))
    if not situations:
        raise Wrong(f"{path.name}: no situation")
    for name, lines in situations:
        words = [word for _, word, _ in lines]
        if "run" not in words:
            raise Wrong(f"{path.name}: {name} runs nothing")
        for at, word in enumerate(words):
            behind = words[at + 1:]
            until = behind.index("run") if "run" in behind else len(behind)
            if word == "run" and "exit" not in behind[:until]:
                raise Wrong(f"{path.name}:{lines[at][0]}: no exit code is expected of this command")
    return situations


class Situation:
    def __init__(self, top, program):
        self.here = top / "here"
        self.here.mkdir()
        self.inputs = pathlib.Path(corpora.FOLDER).resolve() / "inputs_that_fail"
        (top / "bin").mkdir()
        (top / "bin" / "bandmill").symlink_to(program)
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("BANDMILL_CPU", "BANDMILL_CACHE_DIR", "BANDMILL_PROBE")}
        own = pathlib.Path(__file__).resolve().parents[2] / ".venv/bin/python"
        self.environment.update(BANDMILL_DEVICE="cpu", LC_ALL="C.UTF-8", PYTHON=str(own) if own.exists() else sys.executable,
                                PATH=f"{top / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}")
        self.environment.setdefault("BANDMILL_PROBE_SECONDS", "300")
        self.code = None
        self.said = {"stdout": b"", "stderr": b""}

    def sh(self, command):
        done = subprocess.run(["sh", "-c", command], cwd=self.here, env=self.environment, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    def content(self, where):
        if where in self.said:
            return self.said[where]
        return (self.here / where).read_bytes()

    def matching(self, where, pattern):
        text = self.content(where).decode("utf-8", "backslashreplace").removesuffix("\n")
        return sum(re.search(pattern, line) is not None for line in text.split("\n")) if text else 0

    def make(self, word, rest):
        if word == "file":
            path, _, text = rest.partition(" ")
            (self.here / path).parent.mkdir(parents=True, exist_ok=True)
            with open(self.here / path, "ab") as file:
                file.write(unescape(text))
        elif word == "given":
            kind, _, path = rest.partition("/")
            source = self.inputs / kind / path
            if not source.exists():
                raise Skipped(f"{source} is not there")
            (self.here / path).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, self.here / path)
        elif word == "needs":
            if self.sh(rest)[0] != 0:
                raise Skipped(f"needs {rest}")
        elif word == "sh":
            code, out, err = self.sh(rest)
            if code != 0:
                return f"sh: exit code {code}: {(out + err).decode(errors='replace')}"
        else:
            self.code, self.said["stdout"], self.said["stderr"] = self.sh(rest)
        return None

    def check(self, word, rest):
        """None, or what does not hold."""
        if word == "exit":
            return None if self.code == int(rest) else f"exit code {self.code}, expected {rest}"
        if word in ("there", "absent"):
            found = glob.glob(str(self.here / rest))
            return None if bool(found) == (word == "there") else f"{word}: {rest}"
        if word == "holds":
            where, _, text = rest.partition(" ")
            got, wanted = self.content(where), unescape(text)
            return None if got == wanted else f"{where} is {got[:600]!r}, expected {wanted[:600]!r}"
        if word == "count":
            number, where, pattern = rest.split(" ", 2)
            n = self.matching(where, pattern)
            return None if n == int(number) else f"{n} lines of {where} match {pattern}, expected {number}"
        never = word.endswith("!")
        where = word.rstrip("!")
        if where == "in":
            where, _, rest = rest.partition(" ")
        if (self.matching(where, rest) > 0) == never:
            return f"{where} {'matches' if never else 'does not match'}: {rest}\n    it is: " + self.content(where)[:1200].decode(
                errors="backslashreplace").replace("\n", "\n    ")
        return None


MAKES = {"file", "given", "needs", "sh", "run"}
CHECKS = {"exit", "there", "absent", "holds", "count", "in", "in!", "stdout", "stdout!", "stderr", "stderr!"}


def try_one(lines, program, keep):
    """What does not hold, as lines for people."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="situation."))
    try:
        situation = Situation(top, program)
        wrong = []
        command = ""
        for number, word, rest in lines:
            if word in MAKES:
                if word == "run":
                    command = rest
                failed = situation.make(word, rest)
                if failed:
                    return wrong + [f"line {number}: {failed}"]
            elif word in CHECKS:
                try:
                    failed = situation.check(word, rest)
                except OSError as error: # whatever was to be in it, or not
                    failed = str(error)
                if failed:
                    said = situation.said["stderr"][:800].decode(errors="backslashreplace").strip()
                    wrong.append(f"line {number}: {failed}\n    command: {command}\n    stderr: {said}")
            else:
                raise Wrong(f"line {number}: no such word: {word}")
        return wrong
    finally:
        if keep:
            print(f"kept: {top}")
        else:
            subprocess.run(["chmod", "-R", "u+rwx", str(top)], stderr=subprocess.DEVNULL, check=False)
            shutil.rmtree(top, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--each-fails", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    program, failed, skipped, tried = args.program.resolve(), 0, 0, 0
    for name, lines in parse(args.table):
        if args.only not in (None, name):
            continue
        tried += 1
        try:
            wrong = try_one(lines, program, args.keep)
        except Skipped as why:
            skipped += 1
            print(f"SKIPPED: {name}: {why}")
            continue
        if args.each_fails:
            wrong = [] if wrong else ["it holds, and claims what is not so"]
        failed += bool(wrong)
        for line in wrong:
            print(f"FAILED: {name}: {line}")
    print(f"{args.table.name}: {tried} situations, {failed} failed, {skipped} skipped")
    if failed or not tried:
        return 1
    return 77 if skipped == tried else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        sys.exit(f"situations.py: {error}")
