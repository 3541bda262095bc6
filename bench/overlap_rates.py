#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap_rates.py -- what `overlap` costs beside `sign` of the same text, for test sets of three sizes and for short items.

Items are of random words of the corpus, so that documents have the words and no shingle: what is measured is the passing over. `table` is the same
command with a single document as TRAIN: reading the items and making the table, which is taken off `text`. A rate is that of `sign --shingle
word:13 --scheme oph` by the same processor seconds: 1 is as fast, more is faster. The jobs take turns, `--kept no`, all on the CPU.

    bench/make_corpus.py corpus.jsonl; bench/overlap_rates.py --program build/release/bandmill --out overlap-rates.json corpus.jsonl
"""
import argparse
import json
import os
import random
import tempfile

import measure

K = 13
SETS = {"20,000 shingles": (20_000, 60, 60), "2 million shingles": (2_000_000, 60, 60), "10 million shingles": (10_000_000, 60, 60),
        "2,000 items of 8 to 12 words": (2_000, 8, 12)}


def vocabulary(path):
    words = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words += [word for word in json.loads(line)["text"].split() if word.isalnum()]
            if len(words) > 300_000:
                return words
    return words


def write_items(path, rng, pool, shingles, least, most):
    n = shingles // max(1, most - K + 1)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(n):
            file.write(json.dumps({"id": f"q{i}", "text": " ".join(rng.choices(pool, k=rng.randint(least, most)))}) + "\n")
    return {"items": n, "bytes": os.path.getsize(path)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--out", required=True)
    parser.add_argument("corpus")
    args = parser.parse_args()
    pool, rng, sets = vocabulary(args.corpus), random.Random(5), {}
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        out, one = os.path.join(folder, "out"), os.path.join(folder, "one.jsonl")
        with open(args.corpus, encoding="utf-8") as file, open(one, "w", encoding="utf-8") as first:
            first.write(file.readline())
        usual = ["--threads", args.threads, "-q", "-o", out]
        jobs = {"sign": [args.program, "sign", args.corpus, "--shingle", f"word:{K}", "--scheme", "oph", "--device", "cpu", *usual]}
        for number, (name, (shingles, least, most)) in enumerate(SETS.items()):
            items = os.path.join(folder, f"items-{number}.jsonl")
            sets[name] = write_items(items, rng, pool, shingles, least, most)
            for part, train in (("whole", args.corpus), ("table", one)):
                jobs[f"{name}, {part}"] = [args.program, "overlap", train, "--against", items, "--kept", "no", *usual]
        runs = measure.alternate({job: (command, measure.remove(out)) for job, command in jobs.items()}, args.rounds)
    seconds = {job: measure.summary(of, "cpu_seconds")["median"] for job, of in runs.items()}
    for name in SETS:
        text = seconds[f"{name}, whole"] - seconds[f"{name}, table"]
        sets[name].update(whole=round(seconds[f"{name}, whole"], 3), table=round(seconds[f"{name}, table"], 3), text=round(text, 3),
                          rate=round(seconds["sign"] / text, 2), rate_of_whole=round(seconds["sign"] / seconds[f"{name}, whole"], 2))
    result = {"question": "what does overlap cost beside sign?", **measure.provenance(args.program), "corpus_bytes": os.path.getsize(args.corpus),
              "threads": args.threads, "sign": round(seconds["sign"], 3), "sets": sets}
    measure.write(args.out, result)
    print(json.dumps({"sign": result["sign"], **sets}, indent=1))


if __name__ == "__main__":
    main()
