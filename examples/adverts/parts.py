# SPDX-License-Identifier: Apache-2.0
"""parts.py CORPUS.jsonl TUNE.tsv -- from which similarity on copies are the most, for each length of shingle.

The corpus is that of bench/adverts.py, which lists its copies in CORPUS.jsonl.planted.tsv; TUNE.tsv is what `bandmill tune` printed of it,
with the pairs of the whole corpus for each hundredth of similarity. For each word:K prints tab-separated: its name; the hundredth in which
most pairs are; the least similarity at or above which at least half of all pairs are copies; the share of all copies that are there."""

import collections
import json
import re
import sys

WORD = re.compile(r"[^\W_]+")


def shingles(text, k):
    """The bag of them: how often each occurs."""
    words = WORD.findall(text.lower())
    return collections.Counter(tuple(words[i : i + k]) for i in range(len(words) - k + 1))


def read_histograms(path):
    """For each length of shingle the pairs in each hundredth."""
    found, inside = {}, False
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[:2] == ["shingle", "low"]:
                inside = True
            elif inside and len(fields) > 4:
                found.setdefault(fields[0], [0.0] * 100)[round(float(fields[1]) * 100)] = float(fields[4])
    return found


def copies(corpus):
    """The texts of each copy and of what it is a copy of."""
    with open(corpus + ".planted.tsv", encoding="utf-8") as file:
        pairs = [line.split("\t")[:2] for line in file]
    wanted, texts = {name for pair in pairs for name in pair}, {}
    with open(corpus, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            if document["id"] in wanted:
                texts[document["id"]] = document["text"]
    return [(texts[a], texts[b]) for a, b in pairs]


def main():
    corpus, tune = sys.argv[1:]
    planted = copies(corpus)
    for name, pairs in read_histograms(tune).items():
        k = int(name.split(":")[1])
        bins = collections.Counter()
        for a, b in planted:
            x, y = shingles(a, k), shingles(b, k)
            bins[min(99, sum((x & y).values()) * 100 // sum((x | y).values()))] += 1
        parted, all_pairs, all_copies, there = 100, 0.0, 0, 0
        for low in reversed(range(100)):
            all_pairs += pairs[low]
            all_copies += bins[low]
            if all_copies and all_copies * 2 >= all_pairs:
                parted, there = low, all_copies
        print(name, f"{pairs.index(max(pairs)) / 100:.2f}", f"{parted / 100:.2f}", f"{there / len(planted):.2f}", sep="\t")


if __name__ == "__main__":
    main()
