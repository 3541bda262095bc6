#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_examples.py -- every example of README.md and docs/ is run, and prints what the page says.

A page's examples run one after another in one folder, which holds a copy of docs/examples/. Numbers that differ from run to run (seconds,
rates, bytes of memory) and the name of the processor are written alike on both sides before they are compared; nothing else is.

    test_examples.py --program BANDMILL [--page docs/formats.md]... [--write]

--write puts what was printed into the pages in place of what stands there (to be read before it is committed). Languages: `sh` sessions,
`python` (pandas, polars), `sql` (DuckDB), `sql postgresql` (a server of its own, below the folder). Exit code 77: something that is needed
to run an example is missing, all else held; a failure where BANDMILL_REQUIRE_PYTHON=1."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import doc_pages
import sql_engines

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = re.compile(r"\b\d+\.\d\d s\b")
RATE = re.compile(r"\b[\d.,]+ (k|M|G)?(B|documents|shingles|pairs)/s\b")
PROCESSOR = re.compile(r"( on )[^,]+(, written to )")
DEVICE_LINE = re.compile(r"^bandmill: using the CPU ")


def alike(lines):
    kept = [line.rstrip() for line in lines if not DEVICE_LINE.match(line)]
    while kept and not kept[-1]:
        kept.pop()
    return [PROCESSOR.sub(r"\1PROCESSOR\2", RATE.sub("RATE", SECONDS.sub("TIME", line))) for line in kept]


class Missing(Exception):
    """Something that is needed to run an example is not on this machine."""


class Page:
    """One page, its folder, and what was found wrong."""

    def __init__(self, path, program, folder):
        self.path, self.folder = path, folder
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            self.text = file.read()
        self.failures, self.missing, self.left_out, self.ran = [], set(), 0, 0
        self.changes = []  # (first line from 1, how many lines, new lines), of the page
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(program, os.path.join(folder, "bin", "bandmill"))
        self.here = os.path.join(folder, "here")
        os.makedirs(self.here)
        os.makedirs(os.path.join(self.here, "docs"))
        shutil.copytree(os.path.join(ROOT, "docs", "examples"), os.path.join(self.here, "docs", "examples"))
        no_devices = os.path.join(folder, "vendors")
        os.makedirs(no_devices)
        self.env = {**os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8",
                    "OCL_ICD_VENDORS": no_devices, "TMPDIR": folder, "COLUMNS": "120"}
        for name in [name for name in self.env if name.startswith("BANDMILL_")]:
            del self.env[name]
        self.env["PYTHONPATH"] = os.path.join(os.path.dirname(program), "python")  # the package of the same build, if it was built

    def shell(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.here, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, check=False)

    def set_up(self, name):
        script = os.path.join(HERE, "setup", name + ".sh")
        done = subprocess.run(["bash", "-eu", script], cwd=self.here, env=self.env, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"setup/{name}.sh: {done.stderr.decode()}")

    def compare(self, example, what, printed, expected, first):
        self.ran += 1
        printed = [line for line in printed if not DEVICE_LINE.match(line)]
        if alike(printed) == alike(expected) or doc_pages.same(alike(printed), alike(expected)):
            return
        self.failures.append(f"{self.path}:{first}: {what}\n" + "".join(f"    page  {line}\n" for line in expected)
                             + "".join(f"    here  {line}\n" for line in printed))
        if "..." not in [line.strip() for line in expected]:
            self.changes.append((first, len(expected), printed, example.kind == "session"))

    def session(self, example):
        for command, expected, start in doc_pages.steps(example.lines):
            done = self.shell(command)
            while expected and not expected[-1]:
                expected = expected[:-1]
            self.compare(example, command, done.stdout.decode().splitlines(), expected, example.line + start)

    def commands(self, example):
        script = "\n".join(example.lines)
        done = self.shell("set -e\n" + script)
        self.ran += 1
        if done.returncode:
            self.failures.append(f"{self.path}:{example.line}: exit code {done.returncode}\n{done.stdout.decode()}")

    def code(self, example):
        script, words = "\n".join(example.lines), example.kind.split(" ")
        if words[0] == "python":
            done = subprocess.run([sys.executable, "-c", script], cwd=self.here, env=self.env, capture_output=True, check=False)
            if done.returncode and b"ModuleNotFoundError" in done.stderr:
                raise Missing(done.stderr.decode().strip().splitlines()[-1])
            printed = (done.stdout + done.stderr).decode()
        elif "postgresql" in words:
            printed = sql_engines.postgresql(script, self.here, self.folder)
        elif words[0] == "sql":
            printed = sql_engines.duckdb(script, self.here)
        else:
            raise RuntimeError(f"{self.path}:{example.line}: {example.kind} is not run; a session has lines that begin with `$ `")
        if example.expected is None:
            raise RuntimeError(f"{self.path}:{example.line}: no block ```text says what it prints")
        self.compare(example, words[-1], printed.splitlines(), example.expected, example.expected_line)

    def run(self):
        for example in doc_pages.examples(self.path, self.text):
            kind, words = example.mark
            if kind == "not run":
                self.left_out += 1
                continue
            if kind == "run":
                self.set_up(words)
            try:
                {"session": self.session, "commands": self.commands}.get(example.kind, self.code)(example)
            except (Missing, sql_engines.Missing) as error:
                self.missing.add(str(error))

    def write(self):
        lines = self.text.split("\n")
        for first, count, new, indented in sorted(self.changes, reverse=True):
            lines[first - 1:first - 1 + count] = [("    " + line if indented else line).rstrip() for line in new]
        with open(os.path.join(ROOT, self.path), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--page", action="append", help="as in docs/formats.md; all without it")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    pages = args.page or ["README.md", "CONTRIBUTING.md"] + sorted(
        os.path.relpath(path, ROOT) for folder in ("docs", "docs/stories")
        for path in glob.glob(os.path.join(ROOT, folder, "*.md")))
    failures, missing, ran, left_out = [], set(), 0, 0
    for path in pages:
        with tempfile.TemporaryDirectory(prefix="bm-docs-") as folder:
            page = Page(path, os.path.realpath(args.program), folder)
            page.run()
        if args.write and page.changes:
            page.write()
        failures += page.failures
        missing |= page.missing
        ran, left_out = ran + page.ran, left_out + page.left_out
    for failure in failures:
        print("FAILED: " + failure)
    for what in sorted(missing):
        print("missing: " + what)
    print(f"examples: {ran} run, {left_out} left out with a reason, {len(failures)} failed")
    if failures or not ran:
        return 1
    return (1 if os.environ.get("BANDMILL_REQUIRE_PYTHON") == "1" else 77) if missing else 0


if __name__ == "__main__":
    sys.exit(main())
