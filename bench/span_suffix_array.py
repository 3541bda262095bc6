#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""span_suffix_array.py -- the cuts of `dedup --unit span:K` against a suffix array of all units, which pydivsufsort makes.

Words or characters are those of tests/reference/overlap_model.py. Places whose K units are equal lie side by side in the suffix array,
divided where the longest common prefix is shorter than K; all of them but the first in the text are repeated. The documents are those of
JSON Lines files; --udhr adds the declarations of an archive of texts, one document each.

    bench/span_suffix_array.py --program build/release/bandmill --out span-suffix-array.json --udhr udhr2.zip corpus.jsonl
"""
import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy
from pydivsufsort import divsufsort, kasai

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "reference"))
import overlap_model  # noqa: E402

PLANS = ["word:50", "word:5", "char:100"]
DEFAULT = frozenset(("invisible", "lower"))


def texts_of(paths, udhr, megabytes):
    texts, left = [], megabytes * 1e6
    if udhr:
        with zipfile.ZipFile(udhr) as archive:
            texts = [archive.read(n).decode("utf-8-sig") for n in sorted(archive.namelist()) if n.endswith(".txt")]
    left -= sum(len(t.encode()) for t in texts)
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                text = json.loads(line)["text"]
                left -= len(text.encode())
                if left < 0:
                    return texts
                texts.append(text)
    return texts


def repeated_places(sequence, k):
    """For each place the first place of the same K units if that comes before it, else -1. The units of a document end with a separator
    of its own, so that no equal ones cross it."""
    array = divsufsort(sequence).astype(numpy.int64)
    prefix = kasai(sequence, array.astype(numpy.int32)).astype(numpy.int64)
    starts = numpy.flatnonzero(numpy.concatenate(([True], prefix[: len(array) - 1] < k)))
    first = numpy.minimum.reduceat(array, starts)
    sizes = numpy.diff(numpy.append(starts, len(array)))
    found = numpy.full(len(array), -1, dtype=numpy.int64)
    found[array] = numpy.repeat(first, sizes)
    found[found == numpy.arange(len(array))] = -1
    return found


def cuts_of(texts, kind, k, min_words):
    numbers, sequence, owner, places = {}, [], [], []
    for doc, text in enumerate(texts):
        units = overlap_model.cut_units(text, DEFAULT, kind, "alnum")
        words = units if kind == "word" else overlap_model.cut_units(text, DEFAULT, "word", "alnum")
        places.append((len(sequence), units, words))
        sequence += [numbers.setdefault(u[0], len(numbers)) for u in units]
        sequence.append(-1 - doc)
        owner += [doc] * (len(units) + 1)
    array = numpy.array(sequence, dtype=numpy.int64)
    array += len(texts)  # separators are numbers too, each once
    began = time.process_time()
    found = repeated_places(array.astype(numpy.uint32), k)
    seconds = time.process_time() - began
    cuts = []
    for doc, (begin, units, words) in enumerate(places):
        run = None
        for i in range(len(units) + 1):
            repeated = i + k <= len(units) and found[begin + i] >= 0
            if repeated and run is None:
                run = i
            if not repeated and run is not None:
                span = (units[run][1], units[i - 1 + k - 1][2])
                if sum(w[1] < span[1] and w[2] > span[0] for w in words) >= min_words:
                    kept = int(found[begin + run])
                    other = owner[kept]
                    cuts.append((doc, *span, other, places[other][1][kept - places[other][0]][1]))
                run = None
    return cuts, seconds, len(sequence)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--udhr")
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    texts = texts_of(options.files, options.udhr, options.megabytes)
    size = sum(len(t.encode()) for t in texts)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in enumerate(texts))
        for plan in PLANS:
            kind, k = plan.split(":")
            out = os.path.join(folder, plan.replace(":", "-"))
            command = [options.program, "dedup", path, "--unit", f"span:{k}", "--shingle", f"{kind}:9", "--threads", "1", "-q"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, "--kept", "no", "-o", out], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            ours = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            with open(os.path.join(out, "cuts.tsv"), encoding="utf-8") as file:
                lines = [line.split("\t") for line in file.read().split("\n")[1:-1]]
            got = [tuple(int(line[i]) for i in range(5)) for line in lines]
            expected, seconds, units = cuts_of(texts, kind, int(k), 8)
            row = {
                "plan": plan,
                "units": units,
                "cuts": len(got),
                "equal": got == expected,
                "cpu_seconds": round(ours, 2),
                "suffix_array_cpu_seconds": round(seconds, 2),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    result = {
        "command": "bench/span_suffix_array.py",
        "commit": commit,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "documents": len(texts),
        "bytes": size,
        "plans": rows,
    }
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
