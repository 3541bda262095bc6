#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python.py -- near-duplicates of documents that Python has in memory: bandmill.dedup beside gaoya, rensa, datasketch and text-dedup.

The same documents (words with one blank between two), 5-shingles of words, 128 words a signature, 16 bands of 8 rows,
threshold 0.7; a process a run, in turns. A figure is what the tool took once the texts were read (of text-dedup, which
reads by itself, all of it): "seconds". What each does beside that, or leaves out:

  bandmill    cuts, signs, verifies every candidate by its exact Jaccard similarity, forms groups
  gaoya       cuts in Rust, compares signatures; no groups, nothing verified
  rensa       shingles are cut in Python; nothing verified, no groups; its sketch is not classic MinHash
  datasketch  shingles are cut in Python, signed in one process a core; nothing verified, no groups
  text-dedup  lower case, words cut at each character that is no letter or digit; groups, nothing verified; reads the
              file and writes what it keeps

A tool that cannot be imported is listed with the reason.

    PYTHONPATH=build/release/python bench/python.py DOCUMENTS.jsonl --python text-dedup=VENV/bin/python --out FILE.json
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = {"bandmill": "bandmill", "gaoya": "gaoya", "rensa": "rensa", "datasketch": "datasketch", "text-dedup": "text_dedup"}


def run(tool, args):
    """One run: {"seconds", "whole", "pairs", "stages", "version"}, or why there is none."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        command = [args.python.get(tool, sys.executable), os.path.join(HERE, "compare", f"tool_{TOOLS[tool]}.py"), "pairs",
                   args.documents, "--threads", str(args.threads), "--scratch", scratch]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        whole = time.monotonic() - start
    if done.returncode != 0:
        return {"missing": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    told = json.loads(done.stdout.splitlines()[-1])
    told["seconds"] = sum(seconds for stage, seconds in told["stages"].items() if stage != "read")
    return {**told, "whole": whole}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("documents")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--slow", type=float, default=10, help="a tool that takes longer has one run")
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=INTERPRETER")
    parser.add_argument("--out")
    args = parser.parse_args()
    args.python = dict(pair.split("=", 1) for pair in args.python)
    runs = {tool: [] for tool in TOOLS}
    for turn in range(args.repeats):
        for tool, own in runs.items():
            if turn == 0 or ("missing" not in own[0] and own[0]["whole"] <= args.slow):
                own.append(run(tool, args))
                print(tool, own[-1].get("missing", f"{own[-1].get('seconds', 0):.2f} s"), file=sys.stderr, flush=True)
    rows = {}
    for tool, own in runs.items():
        rows[tool] = own[0] if "missing" in own[0] else {
            "version": own[0]["version"], "pairs": own[0]["pairs"], "runs": len(own), "stages": own[0]["stages"],
            **{name: round(statistics.median(one[name] for one in own), 3) for name in ("seconds", "whole")}}
    ours = rows["bandmill"].get("seconds")
    for row in rows.values():
        if ours and "seconds" in row:
            row["times"] = round(row["seconds"] / ours, 1)
    with open(args.documents, "rb") as file:
        n = sum(1 for _ in file)
    result = {"documents": n, "threads": args.threads, "machine": measure.machine(), "tools": rows, "differs": __doc__.split("\n\n")[2]}
    text = json.dumps(result, indent=1)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
