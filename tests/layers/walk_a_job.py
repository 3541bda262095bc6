#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""walk_a_job.py [BUILD] [--list] -- how far a reader walks to follow one job: what a plain `dedup a.jsonl --pairs` enters, and what each
document passes; with --overlap the files that `overlap` enters and `sign` does not.

BUILD (build/walk) is a build of the program without optimisation that counts how often each function is called (gcov), made or brought up to date
here, which takes minutes of processor time the first time. The job runs on one thread of the native CPU with its scalar loops, over made
documents of which some are near-duplicates, so that the counts are the same on every machine. By hand: docs/plan.md has the figures.

    entered      files of which a function was called, and their rooms (src/rooms.tsv)
    a document   functions that were called at least once for each document, their files and rooms

--list names them. Files are sources and headers, whose inline functions count where they stand. Python's standard library is enough."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = 1000


def make_documents(path):
    """Of each five one is near to an earlier one, or the same."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choice(letters) for _ in range(chance.randint(2, 9))) for _ in range(3000)]
    texts = []
    with open(path, "w", encoding="utf-8") as file:
        for number in range(DOCUMENTS):
            if texts and chance.random() < 0.2:
                text = list(chance.choice(texts))
                if chance.random() < 0.7:
                    text[chance.randrange(len(text))] = chance.choice(words)
            else:
                text = [chance.choice(words) for _ in range(chance.randint(30, 150))]
            texts.append(text)
            file.write(json.dumps({"id": f"d{number}", "text": " ".join(text)}) + "\n")


def build(folder):
    flags = "--coverage -O0 -fno-inline"
    subprocess.run([os.path.join(ROOT, "scripts", "build.sh"), folder, "-DCMAKE_BUILD_TYPE=Debug", "-DBM_TESTS=OFF", "-DBM_BENCH=OFF",
                    f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_EXE_LINKER_FLAGS=--coverage",
                    "-DCMAKE_SHARED_LINKER_FLAGS=--coverage", "--", "bandmill"], check=True)


def counters(folder):
    return [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".gcda")]


def calls(folder):
    """How often each function was called, by file and name."""
    found, files = {}, counters(folder)
    for at in range(0, len(files), 64):
        told = subprocess.run(["gcov", "--json-format", "--stdout", *files[at:at + 64]], check=True, capture_output=True, text=True, cwd=folder).stdout
        for line in filter(None, told.splitlines()):
            unit = json.loads(line)
            for file in unit["files"]:
                path = os.path.relpath(os.path.join(unit["current_working_directory"], file["file"]), ROOT)
                if path.startswith(("src/", "kernels/", "include/")):
                    for function in file["functions"]:
                        key = path, function["name"]
                        found[key] = found.get(key, 0) + function["execution_count"]
    return found


def rooms():
    with open(os.path.join(ROOT, "src", "rooms.tsv"), encoding="utf-8") as file:
        return {row.split("\t")[1].strip(): row.split("\t")[0] for row in file if row.strip() and not row.startswith("#")}


def tell(what, functions, of_folder, names):
    files = sorted({path for path, _ in functions})
    entered = {of_folder[os.path.dirname(path)] for path in files}
    print(f"{what}: {len(functions)} functions, {len(files)} files, {len(entered)} rooms")
    if names:
        for path in files:
            print(f"  {path}: {' '.join(sorted(name for where, name in functions if where == path))}")


def run(folder, *arguments):
    """The functions that a job calls, and how often."""
    for path in counters(folder):
        os.remove(path)
    subprocess.run([os.path.join(folder, "bandmill"), *arguments, "--threads", "1", "-q"], check=True, env={**os.environ, "BANDMILL_CPU": "scalar"})
    return {function: n for function, n in calls(folder).items() if n > 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build", "walk"))
    parser.add_argument("--list", action="store_true", help="name files and functions")
    parser.add_argument("--overlap", action="store_true", help="`overlap` beside `sign`, not `dedup`")
    args = parser.parse_args()
    folder, of_folder = os.path.abspath(args.build), rooms()
    build(folder)
    with tempfile.TemporaryDirectory(prefix="bm-walk-") as work:
        path, out = os.path.join(work, "a.jsonl"), os.path.join(work, "out")
        make_documents(path)
        if args.overlap:
            signed = {path for path, _ in run(folder, "sign", path, "-o", out + "-signed", "--device", "cpu")}
            found = run(folder, "overlap", path, "--against", path, "-o", out)
            tell("entered by overlap, not by sign", {function for function in found if function[0] not in signed}, of_folder, args.list)
            return 0
        found = run(folder, "dedup", path, "--pairs", "-o", out, "--device", "cpu")
    tell("entered", set(found), of_folder, args.list)
    tell("a document", {function for function, n in found.items() if n >= DOCUMENTS}, of_folder, args.list)
    return 0


if __name__ == "__main__":
    sys.exit(main())
