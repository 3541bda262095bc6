#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cells.py -- each row of each table in the Markdown of the tree has as many cells as its head, as GitHub counts them: a `|` that is not
written `\\|` ends a cell in a span of code too, and what comes behind the last column is not shown."""
import argparse
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
LEFT_OUT = {".git", ".venv", "build", "node_modules"}
RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
BLOCK = re.compile(r"^ {0,3}(```|~~~|<|>|#{1,6} )")  # which ends a table
WRONG = {
    "a cell too many": "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n",
    "a pipe in a span of code": "| a | b |\n|---|---|\n| 1 | `x|y` |\n",
    "a cell too few": "| a | b |\n|---|---|\n| 1 |\n",
    "a head of another width": "| a | b |\n|---|\n| 1 |\n",
    "no line below the head": "| a | b |\n| 1 | 2 |\n",
}
RIGHT = {
    "escaped pipes": "| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n| | 2 \\| 3 |\n",
    "no pipes at the ends": "a | b\n--|--\n1 | 2\n\ntext | text | text\n",
    "code": "```\n| a | b | c |\n```\n\n    | a |\n",
}


def cells(line):
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return len(re.findall(r"(?<!\\)\|", line)) + 1


def faults(text):
    """(number from 1, what is wrong, or None) of each row of a table."""
    lines, at, fence = text.split("\n"), 0, None
    while at < len(lines):
        line = lines[at]
        mark = FENCE.match(line)
        if fence or mark:
            if mark and (not fence or (mark[1].startswith(fence) and not line.strip().strip(fence[0]))):
                fence = None if fence else mark[1]
        elif not line.startswith("    ") and "|" in line:
            ruled = at + 1 < len(lines) and "|" in lines[at + 1] and RULE.match(lines[at + 1])
            if ruled and cells(lines[at + 1]) == cells(line):
                wanted, at = cells(line), at + 2
                while at < len(lines) and lines[at].strip() and not BLOCK.match(lines[at]):
                    found = cells(lines[at])
                    yield at + 1, None if found == wanted else f"{found} cells, the head has {wanted}: {lines[at]}"
                    at += 1
                continue
            if line.lstrip().startswith("|"):
                yield at + 1, f"a row of no table: {line}"
        at += 1


def main():
    argparse.ArgumentParser(description=__doc__.split("\n\n")[0]).parse_known_args()
    failed = rows = 0
    for texts, wrong in ((WRONG, True), (RIGHT, False)):
        for name, text in texts.items():
            if any(what for _, what in faults(text)) != wrong:
                failed += 1
                print(f"FAILED: {name}: {'not found' if wrong else 'no fault'}")
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith("build")]
        for name in files:
            path = os.path.join(folder, name)
            if not name.endswith(".md") or os.path.islink(path):
                continue
            with open(path, encoding="utf-8") as file:
                for number, what in faults(file.read()):
                    rows += 1
                    if what:
                        failed += 1
                        print(f"FAILED: {os.path.relpath(path, ROOT)}:{number}: {what}")
    print(f"cells: {rows} rows, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
