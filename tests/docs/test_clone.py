#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_clone.py -- the commands of README.md, pasted in a clone, leave nothing there that git would list.

    test_clone.py --program BANDMILL

Every example that is run (test_examples.py) runs in a clone; what a set-up script lays out for it is the reader's own, everything else must be
ignored by .gitignore. Exit code 77: this tree is no clone, or something that an example needs is missing."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import test_examples

ROOT = test_examples.ROOT


def git(folder, *words):
    command = ["git", "-c", "safe.directory=*", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", folder, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class InClone(test_examples.Page):
    """README.md, whose examples run in the clone."""

    def __init__(self, program, folder, clone):
        super().__init__("README.md", program, folder)
        self.here, self.own = clone, set()

    def listed(self):
        return set(git(self.here, "status", "--porcelain", "--untracked-files=all").stdout.splitlines())

    def set_up(self, name):
        before = self.listed()
        super().set_up(name)
        if name == "use":  # files of the reader; the other set-up scripts run commands of the page
            self.own |= self.listed() - before

    def left(self):
        return sorted(self.listed() - self.own)


def cloned(folder):
    """A clone of this tree as it is; None where there is no git, or this is no clone."""
    clone = os.path.join(folder, "clone")
    if shutil.which("git") is None or git(folder, "clone", "-q", "--shared", ROOT, clone).returncode:
        return None
    shutil.copy(os.path.join(ROOT, ".gitignore"), clone)
    git(clone, "commit", "-q", "-a", "-m", "ignore")
    return clone


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    program = os.path.realpath(parser.parse_args().program)
    with tempfile.TemporaryDirectory(prefix="bm-clone-") as folder:
        clone = cloned(folder)
        if clone is None:
            print("skipped: no git, or this tree is not a clone")
            return 77
        page = InClone(program, os.path.join(folder, "run"), clone)
        page.run()
        left, failures = page.left(), page.failures
        with open(os.path.join(clone, "stray"), "w", encoding="utf-8"):
            pass
        if "?? stray" not in page.left():
            failures.append("a file that git would list is not noticed")
    for line in left:
        print(f"FAILED: the commands of README.md leave {line}")
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"README in a clone: {page.ran} examples run, {len(left)} files left")
    if left or failures or not page.ran:
        return 1
    for what in sorted(page.missing):
        print(f"missing: {what}")
    return 77 if page.missing else 0


if __name__ == "__main__":
    sys.exit(main())
