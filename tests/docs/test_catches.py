#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_catches.py -- an example that prints something else than its page says, fails, or is in no known form, is found: test_examples.py itself."""
import argparse
import os
import sys
import tempfile

import test_examples

TICKS = "```"
RIGHT = {
    "a session": "    $ echo one; echo two\n    one\n    two\n",
    "a command that goes on in the next line": "    $ echo \\\n    one\n    one\n",
    "lines that may be anything": "    $ seq 5\n    1\n    ...\n    5\n",
    "seconds that differ": "    $ echo 'bandmill: done in 0.31 s on Some CPU, written to x'\n    bandmill: done in 2.07 s on Another, written to x\n",
    "a command of ours": "    bandmill --version\n",
    "a block of another kind": "    bytes -> reader -> documents\n",
    "code": f"{TICKS}python\nprint(1 + 1)\n{TICKS}\n{TICKS}text\n2\n{TICKS}\n",
    "left out": "<!-- not run: a reason -->\n\n    bandmill nonsense\n",
}
WRONG = {
    "another line": "    $ echo one\n    two\n",
    "a line too many here": "    $ echo one; echo two\n    one\n",
    "a line too many on the page": "    $ echo one\n    one\n    two\n",
    "a number that is no time": "    $ echo '3 documents'\n    4 documents\n",
    "lines that may be anything, and the last is not there": "    $ seq 5\n    1\n    ...\n    6\n",
    "a message on stderr that the page leaves out": "    $ bandmill nonsense\n",
    "a command that fails": "    bandmill nonsense\n",
    "code that prints something else": f"{TICKS}python\nprint(1 + 1)\n{TICKS}\n{TICKS}text\n3\n{TICKS}\n",
    "code that fails": f"{TICKS}python\nraise ValueError\n{TICKS}\n{TICKS}text\n{TICKS}\n",
}


def failures_of(text, program):
    with tempfile.TemporaryDirectory(prefix="bm-docs-") as folder:
        path = os.path.join(folder, "page.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# Page\n\n" + text)
        page = test_examples.Page(path, program, os.path.join(folder, "run"))
        page.run()
        return len(page.failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    program = os.path.realpath(parser.parse_args().program)
    failed = 0
    for wanted, texts in ((0, RIGHT), (1, WRONG)):
        for name, text in texts.items():
            found = failures_of(text, program)
            if found != wanted:
                failed += 1
                print(f"FAILED: {name}: {found} failures, expected {wanted}")
    print(f"docs_catches: {len(RIGHT) + len(WRONG)} pages, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
