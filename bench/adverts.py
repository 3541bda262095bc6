#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adverts.py N SENTENCES OUT.jsonl [--seed S] -- N documents of about 1 kB made of real sentences, a fifth of them edited copies.

The job of a corpus of classified adverts: short texts that repeat each other's sentences, so that under 42 bands of 3 rows millions
of pairs are candidates that share a sentence or two, and some are copies with words changed. SENTENCES is a file of a document a
line, an id first (`articles_1000.train` of the minhash articles); its sentences are cut at . ? ! and each counts once.

A base document draws sentences until it has 1,000 bytes. Every fifth document is a copy of the base before it with 1 to 24 words
replaced by words that stand nowhere else; OUT.jsonl.planted.tsv lists both ids and the exact Jaccard similarity of their word
5-shingles (lower case, runs of letters and digits), computed here with Python's sets. OUT.jsonl.tsv has the same documents as rows. Seeded; the same bytes for the same seed.
"""

import argparse
import json
import random
import re

EDITS = (1, 2, 4, 8, 12, 16, 24)
WORD = re.compile(r"[^\W_]+")


def read_sentences(path):
    """The distinct sentences of a file, in its order."""
    seen = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            _, _, text = line.strip().partition(" ")
            for sentence in re.split(r"(?<=[.?!]) +", text):
                if len(sentence) > 20:
                    seen.setdefault(sentence)
    return list(seen)


def shingles(text):
    words = WORD.findall(text.lower())
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def base_text(rng, sentences):
    parts, length = [], 0
    while length < 1000:
        parts.append(sentences[rng.randrange(len(sentences))])
        length += len(parts[-1]) + 1
    return " ".join(parts)


def edited(rng, text, number):
    words = text.split(" ")
    for i in rng.sample(range(len(words)), min(rng.choice(EDITS), len(words))):
        words[i] = f"edit{number}x{i}"
    return " ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int)
    parser.add_argument("sentences")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    sentences = read_sentences(args.sentences)
    n_bytes = n_planted = 0
    base = ""
    with (
        open(args.out, "w", encoding="utf-8") as out,
        open(args.out + ".tsv", "w", encoding="utf-8") as rows,
        open(args.out + ".planted.tsv", "w", encoding="utf-8") as truth,
    ):
        for i in range(args.n):
            if i % 5 == 4:
                text = edited(rng, base, i)
                x, y = shingles(base), shingles(text)
                truth.write(f"ad{i - 1}\tad{i}\t{len(x & y) / len(x | y):.6f}\n")
                n_planted += 1
            else:
                text = base = base_text(rng, sentences)
            n_bytes += len(text)
            out.write(json.dumps({"id": f"ad{i}", "text": text}, ensure_ascii=False) + "\n")
            rows.write(f"ad{i}\t{text}\n")
    print(json.dumps({"documents": args.n, "sentences": len(sentences), "planted": n_planted, "text_bytes": n_bytes, "seed": args.seed}))


if __name__ == "__main__":
    main()
