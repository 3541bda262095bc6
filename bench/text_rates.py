#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text_rates.py -- text in memory to signatures, one core, every ratio of one run, as JSON on stdout.

Systems take turns on one processor, round after round; a figure is the median of the rounds, in bytes of text (ids and line
ends do not count). The ratios of the best rounds stand beside: on a machine with other work they differ less from run to run.

    limit               bench/limit.c: words between white space, word:5, nothing of the library; repeats are signed too
    limit --distinct    likewise, each shingle of a document once, and their number: the work that `bandmill` does
    bandmill bench      rows `text word:5, plain` (the same text rules as limit.c), `text word:5` (the default normaliser),
                        `text char:5`, `text byte:8`; the first two of --foreign too (bench/make_foreign.py)
    daft                its expression minhash, word:5, 128 hashes, where --daft names a Python that has it

What each leaves out: limit.c has no normaliser, no other shingles and no checks of UTF-8. `limit` without --distinct keeps no
set. Daft splits at every blank, keeps no set and makes no 64-bit hashes. `bandmill bench` does all that `sign` does between a
parsed record and its signature, the hash of the shingle sequence included.

    bench/text_rates.py --program bandmill --limit bench/limit --documents FILE.tsv [--foreign FILE.tsv] [--daft PYTHON]
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = {"text word:5, plain": "plain", "text word:5": "default", "text char:5": "char:5", "text byte:8": "byte:8"}


def to_jsonl(source, target):
    """Bytes of text of a TSV, written as JSON Lines with row numbers for ids, which Daft's adapter wants."""
    size = 0
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for row, line in enumerate(lines):
            text = line.rstrip("\r\n").split("\t", 1)[1]
            size += len(text.encode())
            out.write(json.dumps({"id": row, "text": text}, ensure_ascii=False) + "\n")
    return size


def rates_of(report, name):
    rows = {row["what"]: row["median"] for row in json.loads(report)["rows"] if row["device"] == "cpu"}
    return {f"{name} {short}": rows[what] for what, short in ROWS.items()}


class Rounds:
    def __init__(self, cpu, prefix):
        self.cpu, self.prefix, self.rates, self.seen = cpu, prefix, {}, {}

    def run(self, command):
        return measure.run_once(self.prefix + ["taskset", "-c", str(self.cpu)] + command)["stdout"]

    def add(self, rates):
        for name, rate in rates.items():
            self.rates.setdefault(name, []).append(rate)

    def limit(self, name, command):
        said = json.loads(self.run(command))
        self.seen.setdefault("checksums", set()).add(said["checksum"])
        self.add({name: said["text_bytes"] / said["sign_s"] / 1e6})

    def median(self, name):
        return statistics.median(self.rates[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--limit", required=True)
    parser.add_argument("--documents", required=True, help="TSV: id, text")
    parser.add_argument("--foreign", help="TSV of text that is not ASCII")
    parser.add_argument("--daft", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--prefix", default="", help="a command to put before each, such as nice")
    parser.add_argument("--out")
    args = parser.parse_args()
    result = measure.provenance(args.program)
    rounds = Rounds(args.cpu, args.prefix.split())
    with tempfile.TemporaryDirectory(prefix="bandmill-bench-", dir=measure.scratch_folder()) as scratch:
        texts = {"bandmill": os.path.join(scratch, "documents.jsonl")}
        sizes = {"bandmill": to_jsonl(args.documents, texts["bandmill"])}
        if args.foreign:
            texts["foreign"] = os.path.join(scratch, "foreign.jsonl")
            sizes["foreign"] = to_jsonl(args.foreign, texts["foreign"])
        for _ in range(args.rounds):
            rounds.limit("limit", [args.limit, "--repeat", "3", args.documents])
            rounds.limit("limit --distinct", [args.limit, "--repeat", "3", "--distinct", args.documents])
            for name, path in texts.items():
                rounds.add(rates_of(rounds.run([args.program, "bench", "-q", "--json", "--device", "cpu", "--threads", "1",
                                                "--repeats", "3", "--seconds", "600", path]), name))
            if args.daft:
                said = json.loads(rounds.run([args.daft, os.path.join(HERE, "compare", "tool_daft.py"), "signatures",
                                              texts["bandmill"], "--threads", "1", "--scratch", scratch]))
                rounds.add({"daft": sizes["bandmill"] / said["stages"]["sign"] / 1e6})
                result["daft_version"] = said["version"]
    if len(rounds.seen["checksums"]) != 1:
        sys.exit("limit: signatures with and without --distinct differ")
    ratios = {"plain / limit --distinct": ("bandmill plain", "limit --distinct"),
              "plain / limit": ("bandmill plain", "limit"),
              "default / plain": ("bandmill default", "bandmill plain"),
              "char:5 / plain": ("bandmill char:5", "bandmill plain"),
              "byte:8 / plain": ("bandmill byte:8", "bandmill plain"),
              "foreign plain / plain": ("foreign plain", "bandmill plain"),
              "foreign default / default": ("foreign default", "bandmill default"),
              "plain / daft": ("bandmill plain", "daft")}
    result.update({"what": "text in memory to signatures, one core, MB of text a second", "rounds": args.rounds,
                   "text_bytes": sizes, "cpu": args.cpu,
                   "mb_per_s": {name: {"median": round(statistics.median(rates), 1), "min": round(min(rates), 1),
                                       "max": round(max(rates), 1)} for name, rates in rounds.rates.items()},
                   "ratios": {name: round(rounds.median(a) / rounds.median(b), 3) for name, (a, b) in ratios.items()
                              if a in rounds.rates and b in rounds.rates},
                   "ratios_of_best_rounds": {name: round(max(rounds.rates[a]) / max(rounds.rates[b]), 3)
                                             for name, (a, b) in ratios.items()
                                             if a in rounds.rates and b in rounds.rates}})
    text = json.dumps(result, indent=1)
    print(text)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
