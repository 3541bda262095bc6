#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_first_screen.py -- what a visitor sees first stays true: the first screen of README.md, and the script that it names first.

    test_first_screen.py --program BANDMILL

README.md names its three uses, then the two commands that set everything up, in this order and before any other command, each with the
minutes that it takes; then how to sign on a GPU. Both scripts can be run, and continuous integration runs the second. quickstart.sh is run in
a tree of its own, where installing and building are done already: it removes near-duplicates from texts of this machine, writes a report and
prints its path."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import doc_pages

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCREEN = 40  # lines: what GitHub shows of a README on a laptop
SETUP = ("scripts/quickstart.sh", "scripts/test.sh")
USES = (r"\*\*Sign\*\*.*GPU.*CPU", r"\*\*Find, verify, explain and remove\*\*", r"\*\*Hand signatures to other tools\*\*")


def of_readme(text):
    failures, lines = [], text.split("\n")
    screen = "\n".join(lines[:SCREEN])
    places = [re.search(use, screen, re.S) for use in USES]
    failures += [f"the first {SCREEN} lines do not say /{use}/" for use, place in zip(USES, places) if not place]
    examples = list(doc_pages.examples("README.md", text))
    commands = [line.split() for line in examples[0].lines]
    if [words[0] for words in commands] != list(SETUP):
        failures.append(f"the first block of commands is {[words[0] for words in commands]}, not {list(SETUP)}")
    if examples[0].line + len(SETUP) > SCREEN:
        failures.append(f"the two commands stand in line {examples[0].line}, below the first screen of {SCREEN}")
    failures += [f"{line}: how many minutes does it take?" for line in examples[0].lines if not re.search(r"# .*\d+ minutes", line)]
    if all(places) and max(place.start() for place in places) > text.index(SETUP[0]):
        failures.append("the two commands stand before the uses")
    for what in ("bandmill sign .*--device gpu", "bandmill bench ", r"np\.load\(\"signed/signatures\.npy\""):
        place = re.search(what, text)
        if not place or place.start() > text.index("## Remove near-duplicates"):
            failures.append(f"nothing about signing before what removes duplicates: /{what}/")
    return failures


def of_scripts():
    failures = [f"{script} cannot be run" for script in SETUP if not os.access(os.path.join(ROOT, script), os.X_OK)]
    with open(os.path.join(ROOT, ".ci", "run"), encoding="utf-8") as file:
        if SETUP[1] not in file.read():
            failures.append(f".ci/run does not run {SETUP[1]}")
    return failures


def write_script(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/usr/bin/env bash\n" + text + "\n")
    os.chmod(path, 0o755)


def of_quickstart(program, folder):
    """quickstart.sh beside scripts that install nothing and whose build is `program`."""
    scripts = os.path.join(folder, "scripts")
    os.makedirs(scripts)
    shutil.copy(os.path.join(ROOT, SETUP[0]), scripts)
    write_script(os.path.join(scripts, "install-deps.sh"), "true")
    write_script(os.path.join(scripts, "build.sh"), f'mkdir -p "$1" && ln -sf {program} "$1/bandmill"')
    if not glob.glob("/usr/share/doc/*/copyright"):
        print("no copyright files on this machine: quickstart.sh is not run")
        return []
    failures = []

    def run(*words):
        return subprocess.run([os.path.join(scripts, "quickstart.sh"), *words], cwd=folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "BANDMILL_DEVICE": "cpu"})

    for _ in range(2):  # what is there of the first run is replaced
        done = run()
        report = re.search(r"Open the report in a browser: (/.*\.html)$", done.stdout, re.M)
        if done.returncode or not report:
            return [f"quickstart.sh: exit code {done.returncode}\n{done.stdout}{done.stderr}"]
        if os.path.getsize(report[1]) < 10000:
            failures.append(f"{report[1]} is no report")
    if not os.path.getsize(os.path.join(folder, "build", "quickstart", "removed.tsv")):
        failures.append("nothing was removed")
    other = os.path.join(folder, "other")
    if run("-o", other).returncode or not run("-o", other).returncode or run("-o", other, "--force").returncode:
        failures.append("a result in a place of its own is to be replaced with --force alone")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    failures = of_readme(text) + of_scripts()
    moved = text.replace("    scripts/quickstart.sh", "    bandmill help\n    scripts/quickstart.sh", 1)
    if moved == text or not of_readme(moved):
        failures.append("a command before quickstart.sh is not found")
    if not of_readme(text.replace("scripts/test.sh ", "ctest ", 1)):
        failures.append("a README without test.sh is not found")
    with tempfile.TemporaryDirectory(prefix="bm-first-") as folder:
        failures += of_quickstart(os.path.realpath(args.program), folder)
    for failure in failures:
        print("FAILED: " + failure)
    print(f"first screen: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
