#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_completions.py -- the tab key in bash, fish and zsh offers what the table of options has.

    test_completions.py --program BANDMILL --completions DIR (packaging/completions)

All options of each command are those of its `help`; commands, values, devices and files are offered where they belong. Exit code 77: a
shell is missing, all else held; a failure where CI=true."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("a.jsonl", "b.jsonl.gz", "c.tsv", "notes.txt", "plot.svg")
# What `bandmill devices` says on this machine of ours: other machines have other devices.
DEVICES = "DEVICE       KIND    UNITS    MEMORY  NAME\ncpu          native      2   25.3 GB  One\nopencl:0.0   cpu         2   25.3 GB  Two\n"
INDEX = {"add", "build", "check", "compact", "info", "remove"}
# Of `line` the answers are exactly these; "..." among them: at least these.
CASES = [
    ("bandmill ded", {"dedup"}),
    ("bandmill ", {"sign", "dedup", "index", "help", "..."}),
    ("bandmill index ", INDEX),
    ("bandmill index b", {"build"}),
    ("bandmill index build --sto", {"--store", "--stopwords"}),
    ("bandmill index build --store ", {"sets", "signatures"}),
    ("bandmill help ind", {"index"}),
    ("bandmill completions ", {"install", "bash", "zsh", "fish"}),
    ("bandmill dedup --kept ", {"same", "none", "gz", "zst", "no"}),
    ("bandmill dedup --kept=g", {"gz"}),
    ("bandmill -q dedup --thr", {"--threshold", "--threads"}),
    ("bandmill --threads 2 dedup --ke", {"--kept", "--keep", "--keep-count"}),
    ("bandmill dedup -o ", {"sub"}),
    ("bandmill dedup ", {"a.jsonl", "b.jsonl.gz", "c.tsv", "sub"}),
    ("bandmill dedup a.jsonl no", {"notes.txt"}),
    ("bandmill dedup --threshold 0.7 a", {"a.jsonl"}),
    ("bandmill cluster ", {"c.tsv", "sub"}),
    ("bandmill pairs --histogram-svg ", {"plot.svg", "sub"}),
    ("bandmill pairs --histogram-svg=p", {"plot.svg"}),
    ("bandmill sign --stopwords e", {"en"}),
    ("bandmill sign --stopwords ", {"en", "sub", *FILES}),
    ("bandmill inspect ", {"sub", *FILES}),
    ("bandmill dedup --preset sl", {"slimpajama"}),
    ("bandmill sign --shingle w", {"word:"}),
    ("bandmill sign --normalize n", {"none", "nfc", "nfkc"}),
    ("bandmill sign --normalize lower,nf", {"lower,nfc", "lower,nfkc"}),
    ("bandmill sign --device ", {"auto", "cpu", "gpu", "opencl", "all", "opencl:0.0"}),
    ("bandmill sign --device cpu,op", {"cpu,opencl", "cpu,opencl:0.0"}),
    ("bandmill sign --device opencl:", {"opencl:0.0"}),
    ("bandmill sign --device=opencl:", {"opencl:0.0"}),
]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def options_of(program, command):
    """Names with two dashes in the head of each option of `help COMMAND`."""
    text = run(program, "help", *command.split(" ")).stdout.split("\nExamples:")[0]
    return {found.group(1) for line in text.splitlines() if (found := re.match(r"  (?:-., |    )(--[a-z0-9-]+)", line))}


def commands_of(program):
    names = [line[2:15].strip() for line in run(program, "help").stdout.splitlines() if re.match(r"  [a-z]", line)]
    return [name for name in names if not name.startswith("bandmill")]


def whole(shell, line, word):
    """The word as it stands on the line then: shells answer with what follows some character of it only."""
    typed = line.rpartition(" ")[2]
    value = typed.partition("=")[2] if typed.startswith("--") else typed
    if word.startswith("--"):
        word = word.partition("=")[2] or word.rstrip("=")
    if shell == "bash" and ":" in value:
        word = value[:value.rindex(":") + 1] + word
    if shell == "zsh" and "," in value and not word.startswith(value[:value.rindex(",")]):
        word = value[:value.rindex(",") + 1] + word
    return word.replace("\\:", ":").rstrip("/")


def answers(shell, script, lines):
    """For each line the set of words."""
    with tempfile.TemporaryDirectory(prefix="bm-complete-") as folder:
        here = os.path.join(folder, "here")
        os.makedirs(os.path.join(here, "sub"))
        for name in FILES:
            with open(os.path.join(here, name), "w", encoding="utf-8"):
                pass
        program = os.path.join(folder, "bandmill")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ \"$1\" = devices ] && cat <<'END'\n{DEVICES}END\n")
        os.chmod(program, 0o755)
        with open(os.path.join(folder, "lines"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        env = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder,
               "LC_ALL": "C.UTF-8"}
        ending = {"bash": "sh"}.get(shell, shell)
        flags = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
        driver = os.path.join(HERE, f"complete_in_{shell}.{ending}")
        done = run(shell, *flags, driver, script, os.path.join(folder, "lines"), cwd=here, env=env, stdin=subprocess.DEVNULL, timeout=900)
    found = [set() for _ in lines]
    for row in done.stdout.splitlines():
        number, _, word = row.partition("\t")
        if number.isdigit() and word:
            found[int(number) - 1].add(whole(shell, lines[int(number) - 1], word))
    return found, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--completions", required=True)
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    cases = CASES + [(f"bandmill {command} --", options_of(program, command)) for command in commands_of(program)]
    checks, failures, missing = 0, [], []
    for shell, file in (("bash", "bandmill.bash"), ("fish", "bandmill.fish"), ("zsh", "_bandmill")):
        if not shutil.which(shell):
            missing.append(shell)
            continue
        found, said = answers(shell, os.path.join(os.path.abspath(args.completions), file), [line for line, _ in cases])
        if said:
            failures.append(f"{shell} says: {said[:1000]}")
        for (line, expected), got in zip(cases, found):
            checks += 1
            least = expected - {"..."}
            if not (least <= got if "..." in expected else least == got) or not least:
                failures.append(f"{shell}: {line!r}: lacks {sorted(least - got)}, has more: {sorted(got - least)}")
    for failure in failures:
        print("FAILED: " + failure)
    for shell in missing:
        print(f"missing: {shell} (scripts/install-deps.sh --tests)")
    print(f"completions: {checks} checks, {len(failures)} failed")
    if failures:
        return 1
    return (1 if os.environ.get("CI") == "true" else 77) if missing else 0


if __name__ == "__main__":
    sys.exit(main())
