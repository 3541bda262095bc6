#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""containment.py -- `pairs --measure containment` and `query --measure containment` of the same documents, beside a plain scan of all pairs
(plain_containment.c): CPU seconds of whole processes that take turns, on one core, and ratios.

Documents are evenly spaced among those of a JSON Lines file (.zst or not), their texts brought to words of ASCII letters and digits in
lower case, so that all three cut the same shingles of 5 words. `query` asks an index of the documents for each of them; the index is built before,
once, and its seconds stand beside. That `pairs` writes the very rows of the plain scan, and that `query` finds the same pairs (it lists a pair
that holds both ways twice), is checked. The plain scan is quadratic: more than --plain-up-to documents are left to the two others.

Then few queries, 60 words out of planted documents (planted.c), of an index of --planted-documents of them: by its filters, and at a threshold of
0.01, at which filters do not pay, so that the index is scanned; which of both it was is read from what the program says. Those rows of the scan
that reach the threshold must be the rows by filters.

    bench/containment.py --program build/release/bandmill --plain build/release/bench/plain_containment --planted build/release/bench/planted \
        --out containment.json docs.jsonl.zst
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import measure

TEXT = ["--words", "space", "--normalize", "none", "--shingle", "word:5"]
COLUMNS = ["--format", "tsv", "--header", "no", "--id-field", "1", "--text-field", "2"]
WORD = re.compile(rb"[0-9A-Za-z]+")


def plain_documents(path):
    """[id TAB words LF] of a JSON Lines file; what has no word is left out."""
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    else:
        with open(path, "rb") as file:
            data = file.read()
    rows = []
    for i, line in enumerate(data.splitlines()):
        words = WORD.findall(json.loads(line)["text"].encode())
        if words:
            rows.append(b"%d\t%s\n" % (i, b" ".join(words).lower()))
    return rows


def rows_of(path, header=True):
    with open(path, "rb") as file:
        return file.read().splitlines()[1 if header else 0:]


def check(plain, pairs, query):
    """Ends the program where the files of rows do not agree; `plain` may be None."""
    rows = rows_of(pairs)
    if plain and rows_of(plain, header=False) != rows:
        sys.exit("pairs and the plain scan do not write the same rows")
    asked = rows_of(query)
    unordered = {frozenset(row.split(b"\t")[:2]) for row in rows}
    if not set(rows) <= set(asked) or {frozenset(row.split(b"\t")[:2]) for row in asked} != unordered:
        sys.exit("pairs and query do not find the same pairs")
    return len(rows), len(asked)


def compare(args, scratch, documents, threshold, with_plain):
    """{name: figures} of one threshold."""
    def target(name):
        return os.path.join(scratch, name + ".tsv")
    containment = ["-q", "--measure", "containment", "--threshold", repr(threshold), "--threads", "1", "--force"]
    jobs = {"pairs": ([args.program, "pairs", *containment, *TEXT, *COLUMNS, "-o", target("pairs"), documents], None),
            "query": ([args.program, "query", *containment, "--skip-same-id", *COLUMNS, "-o", target("query"),
                       os.path.join(scratch, "index"), documents], None)}
    if with_plain:
        jobs["plain scan"] = (["sh", "-c", 'exec "$0" "$1" "$2" >"$3"', args.plain, documents, repr(threshold), target("plain")], None)
    runs = measure.alternate(jobs, args.repeats, [args.core])
    n_pairs, n_answers = check(target("plain") if with_plain else None, target("pairs"), target("query"))
    figures = {"threshold": threshold, "n_pairs": n_pairs, "n_answers": n_answers}
    for name, taken in runs.items():
        figures[name] = {"cpu_seconds": measure.summary(taken, "cpu_seconds")}
    for name in ("pairs", "query") if with_plain else ():
        figures[name]["of_plain"] = round(figures[name]["cpu_seconds"]["median"] / figures["plain scan"]["cpu_seconds"]["median"], 4)
    figures["query_of_pairs"] = round(figures["query"]["cpu_seconds"]["median"] / figures["pairs"]["cpu_seconds"]["median"], 3)
    return figures


def crops(path, n_asked, asked):
    """Writes 60 words of each of n_asked documents, evenly spaced among those of a file."""
    with open(path, "rb") as file:
        lines = file.readlines()
    with open(asked, "w", encoding="utf-8") as file:
        for i in range(n_asked):
            record = json.loads(lines[i * len(lines) // n_asked])
            file.write(json.dumps({"id": record["id"], "text": " ".join(record["text"].split()[20:80])}) + "\n")


def few(args, n, thresholds):
    """[figures] of few queries of an index of n planted documents."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        documents, asked, index = (os.path.join(scratch, name) for name in ("documents.jsonl", "asked.jsonl", "index"))
        with open(documents, "wb") as file:
            subprocess.run([args.planted, str(n)], stdout=file, check=True)
        built = measure.run_once([args.program, "index", "build", index, documents, *TEXT, "-q", "--device", "cpu", "--threads", "1"], [args.core])
        for n_asked in (1, 10, 100):
            crops(documents, n_asked, asked)
            jobs = {t: ([args.program, "query", "--measure", "containment", "--threads", "1", "--force", "--threshold", repr(t), "-o",
                         os.path.join(scratch, f"{t}.tsv"), index, asked], None) for t in (0.01, *thresholds)}
            runs = measure.alternate(jobs, args.repeats, [args.core])
            scan = rows_of(os.path.join(scratch, "0.01.tsv"))
            seconds = {t: measure.summary(taken, "cpu_seconds") for t, taken in runs.items()}
            if any(("were scanned" in run["stderr"]) != (t == 0.01) for t, taken in runs.items() for run in taken):
                sys.exit("the index was asked in another way than it should be")
            for t in thresholds:
                found = rows_of(os.path.join(scratch, f"{t}.tsv"))
                if found != [row for row in scan if float(row.split(b"\t")[2]) >= t] or len(found) < n_asked:
                    sys.exit("filters and scan do not find the same")
                rows.append({"planted_documents": n, "index_build_cpu_seconds": round(built["cpu_seconds"], 4),
                             "index_bytes": os.path.getsize(os.path.join(index, "data.mdb")), "queries": n_asked, "threshold": t, "n_answers": len(found),
                             "filters": {"cpu_seconds": seconds[t]}, "scan": {"cpu_seconds": seconds[0.01]},
                             "of_scan": round(seconds[t]["median"] / seconds[0.01]["median"], 4)})
                print(f"{n} planted documents, {n_asked} queries at {t}: {len(found)} answers, CPU s: filters {seconds[t]['median']:.3f}"
                      f" ({rows[-1]['of_scan']:.4f})  scan {seconds[0.01]['median']:.3f}", flush=True)
    return rows


def show(size, figures):
    seconds = "  ".join(f"{name} {figures[name]['cpu_seconds']['median']:.3f}" +
                        (f" ({figures[name]['of_plain']:.4f})" if "of_plain" in figures[name] else "")
                        for name in ("plain scan", "pairs", "query") if name in figures)
    print(f"{size} documents at {figures['threshold']}: {figures['n_pairs']} pairs, CPU s: {seconds}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--plain", required=True)
    parser.add_argument("--planted", help="the program of planted.c; without it no index is asked few queries")
    parser.add_argument("--planted-documents", default="100000,1000000", help="parted by commas")
    parser.add_argument("--sizes", default="4000,0", help="numbers of documents, parted by commas; 0 is all")
    parser.add_argument("--plain-up-to", type=int, default=10000, metavar="N")
    parser.add_argument("--thresholds", default="0.8,0.95", help="parted by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("documents")
    args = parser.parse_args()
    rows = plain_documents(args.documents)
    result = measure.provenance(args.program)
    result.update({"what": "containment by pairs, by query and by a plain scan, whole processes on one core", "options": TEXT,
                   "corpus": os.path.basename(os.path.dirname(os.path.abspath(args.documents))), "rows": []})
    for size in map(int, args.sizes.split(",")):
        size = min(size or len(rows), len(rows))
        with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
            documents = os.path.join(scratch, "documents.tsv")
            with open(documents, "wb") as file:
                file.writelines(rows[i * len(rows) // size] for i in range(size))
            index = os.path.join(scratch, "index")
            built = measure.run_once([args.program, "index", "build", index, documents, *TEXT, *COLUMNS, "-q", "--device", "cpu",
                                      "--threads", "1"], [args.core])
            for threshold in map(float, args.thresholds.split(",")):
                figures = compare(args, scratch, documents, threshold, size <= args.plain_up_to)
                figures = {"documents": size, "index_build_cpu_seconds": round(built["cpu_seconds"], 4), **figures}
                result["rows"].append(figures)
                show(size, figures)
    for size in map(int, args.planted_documents.split(",") if args.planted else ()):
        result["rows"] += few(args, size, [float(t) for t in args.thresholds.split(",")])
    if args.out:
        measure.write(args.out, result)


if __name__ == "__main__":
    main()
