#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_pages.py -- the manual pages say what the program and the headers say, and the examples of `help COMMAND` run.

    test_pages.py --program BANDMILL --pages DIR (packaging/man) --root SOURCES

Each command's page names every option of its `help`, and no other; bandmill(3) every function that the headers export. mandoc and lexgrog
have nothing to say. The examples are run one after another over the files of tests/docs/setup/use.sh. Exit code 77: man or mandoc is
missing, all else held; a failure where CI=true."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HEADER_CALL = re.compile(r"BM_API [^;(]*?(bm_[a-z0-9_]+)\(")
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z0-9][a-z0-9-]*)")
# What a machine with other devices, or with much time, would answer: these are read, not run.
PARSED_ONLY = ("bench", "devices")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Pages:
    def __init__(self, args):
        self.program, self.dir, self.root = map(os.path.abspath, (args.program, args.pages, args.root))
        self.failures, self.checks = [], 0

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            self.failures.append(what)

    def help(self, *command):
        done = run(self.program, "help", *command)
        self.check(done.returncode == 0, f"help {command}: {done.stderr}")
        return done.stdout

    def commands(self):
        """As `bandmill help` lists them: two blanks, the name, which may be two words, and what it does."""
        names = [line[2:15].strip() for line in self.help().splitlines() if re.match(r"  [a-z]", line)]
        return [name for name in names if not name.startswith("bandmill")]

    def shown(self, page):
        """The page as man shows it, 200 columns wide."""
        path = os.path.join(self.dir, page)
        self.check(os.path.exists(path), f"there is no page {page}")
        if shutil.which("man") and shutil.which("lexgrog"): # man-db; other systems' has no -l
            env = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}
            env.pop("MAN_KEEP_FORMATTING", None)
            done = run("man", "--no-hyphenation", "-E", "UTF-8", "-l", path, env=env)
        else:
            done = run("mandoc", "-Tutf8", "-Owidth=200", path)
        self.check(done.returncode == 0 and not done.stderr, f"{page}: {done.stderr}")
        return re.sub(".\b", "", done.stdout)

    def section(self, text, name):
        found = re.search(rf"^{name}\n(.*?)(?=^\S|\Z)", text, re.S | re.M)
        self.check(found is not None, f"there is no section {name}")
        return found.group(1) if found else ""

    def options_agree(self, command):
        text = self.help(*command.split(" "))
        heads = [line[:line.find("  ", 8) if line.find("  ", 8) > 0 else None] for line in text.split("\nExamples:")[0].splitlines()
                 if re.match(r"  (-.,|   ) --", line)]
        said = {word for head in heads for word in OPTION.findall(head.split("  ")[1] if head.startswith("  -") else head)}
        page = self.shown(f"bandmill-{command.replace(' ', '-')}.1")
        tags = [line for line in self.section(page, "OPTIONS").splitlines() if re.match(r"     -", line)]
        shown = {word for tag in tags for word in OPTION.findall(re.split(r"  +", tag.strip())[0])}
        self.check("--help" in said and said == shown, f"{command}: help has {sorted(said - shown)}, the page {sorted(shown - said)}")
        return page

    def examples(self, command):
        text = self.help(*command.split(" "))
        self.check("\nExamples:\n" in text, f"help {command} has no examples")
        lines = [line[2:] for line in text.partition("\nExamples:\n")[2].splitlines() if re.match(r"  \S", line)]
        self.check(len(lines) == 3, f"help {command} ends in {len(lines)} examples")
        return lines

    def run_examples(self, examples):
        """All of them, in order, in one folder."""
        with tempfile.TemporaryDirectory(prefix="bm-pages-") as folder:
            os.makedirs(os.path.join(folder, "bin"))
            os.symlink(self.program, os.path.join(folder, "bin", "bandmill"))
            here = os.path.join(folder, "here")
            os.makedirs(os.path.join(here, "docs"))
            shutil.copytree(os.path.join(self.root, "docs", "examples"), os.path.join(here, "docs", "examples"))
            env = {**os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "BANDMILL_DEVICE": "cpu", "LC_ALL": "C.UTF-8",
                   "HOME": folder, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "SHELL": "/bin/bash"}
            setup = os.path.join(self.root, "tests", "docs", "setup", "use.sh")
            more = "jq -c '.id = \"new-\" + .id' articles.jsonl > new.jsonl; echo swifts > gone.txt; head -n 2 new.jsonl > questions.jsonl"
            done = run("bash", "-euc", f". {setup}; {more}", cwd=here, env=env)
            self.check(done.returncode == 0, f"the files could not be laid out: {done.stderr}")
            for command, line in examples:
                if command in PARSED_ONLY:
                    line += " --help > /dev/null"
                done = run("bash", "-c", "set -o pipefail; " + line, cwd=here, env=env)
                self.check(done.returncode == 0, f"{line}\n    exit code {done.returncode}: {done.stderr}")

    def calls_agree(self):
        headers = ""
        for path in sorted(glob.glob(os.path.join(self.root, "include", "bandmill", "*.h"))):
            with open(path, encoding="utf-8") as file:
                headers += file.read()
        promised = set(HEADER_CALL.findall(re.sub(r"/\*.*?\*/", "", headers, flags=re.S).replace("\n", " ")))
        page = self.shown("bandmill.3")
        declared = set(re.findall(r"^ +(?:[a-z][\w *]*?[ *])?(bm_[a-z0-9_]+)\((?=[a-z])", page, re.M))
        self.check(len(promised) > 100, "the headers could not be read")
        self.check(promised <= declared, f"bandmill(3) lacks {sorted(promised - declared)}")
        inline = set(re.findall(r"static inline [^;{(]*?(bm_[a-z0-9_]+)\(", headers))
        self.check(declared <= promised | inline, f"bandmill(3) has more: {sorted(declared - promised - inline)}")

    def program_page(self, commands):
        page = self.shown("bandmill.1")
        for command in commands:
            self.check(f"bandmill-{command.replace(' ', '-')}(1)" in page, f"bandmill(1) does not name {command}")
        with open(os.path.join(self.root, "include", "bandmill", "status.h"), encoding="utf-8") as file:
            codes = set(re.findall(r"X\(BM_\w+, \d+, (\d+),", file.read())) | {"143"}
        tags = [line.strip() for line in self.section(page, "EXIT STATUS").splitlines() if re.match(r"     \d", line)]
        shown = {code for tag in tags for code in re.findall(r"\d+", re.split(r"  +", tag)[0])}
        self.check(codes == shown, f"bandmill(1) has the exit codes {sorted(shown)}, the library {sorted(codes)}")

    def clean(self):
        """What mandoc and lexgrog say. Returns the tools that are missing."""
        missing = []
        pages = sorted(os.path.basename(path) for path in glob.glob(os.path.join(self.dir, "*.[135]")))
        if shutil.which("mandoc"):
            done = run("mandoc", "-Tlint", *pages, cwd=self.dir)
            self.check(done.returncode == 0 and not done.stdout, f"mandoc -Tlint: {done.stdout}")
        else:
            missing.append("mandoc")
        if shutil.which("lexgrog"):
            done = run("lexgrog", *pages, cwd=self.dir)
            self.check(done.returncode == 0 and len(done.stdout.splitlines()) == len(pages), f"lexgrog: {done.stdout}{done.stderr}")
        else:
            missing.append("lexgrog (man-db)")
        return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("program", "pages", "root"):
        parser.add_argument("--" + name, required=True)
    pages = Pages(parser.parse_args())
    if not shutil.which("man") and not shutil.which("mandoc"):
        print("SKIPPED: neither man nor mandoc (scripts/install-deps.sh --tests)")
        return 1 if os.environ.get("CI") == "true" else 77
    missing = pages.clean() + [tool for tool in ("jq", "zstd") if not shutil.which(tool)]
    commands, examples = pages.commands(), []
    pages.check(len(commands) > 10, f"help lists {commands}")
    for command in commands:
        page = pages.options_agree(command)
        lines = pages.examples(command)
        for line in lines:
            pages.check(line in page, f"the page of {command} lacks the example {line}")
        examples += [(command, line) for line in lines]
    if not {"jq", "zstd"} & set(missing):
        pages.run_examples(examples)
    pages.calls_agree()
    pages.program_page(commands)
    for failure in pages.failures:
        print("FAILED: " + failure)
    for tool in missing:
        print("missing: " + tool)
    print(f"pages: {pages.checks} checks, {len(pages.failures)} failed")
    if pages.failures:
        return 1
    return (1 if os.environ.get("CI") == "true" else 77) if missing else 0


if __name__ == "__main__":
    sys.exit(main())
