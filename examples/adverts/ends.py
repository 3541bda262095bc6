# SPDX-License-Identifier: Apache-2.0
"""ends.py CORPUS.jsonl RESULT K -- documents of the largest group that share no word K-shingle with its first one.

RESULT is what `bandmill dedup --pairs` wrote of CORPUS. Prints tab-separated: the group's first document; how many of its members share
nothing with that; of these the one that the fewest links lead to, and the one that the most lead to (the first in the input of several; empty: there is none)."""

import collections
import json
import os
import re
import sys

WORD = re.compile(r"[^\W_]+")


def shingles(text, k):
    words = WORD.findall(text.lower())
    return {tuple(words[i : i + k]) for i in range(len(words) - k + 1)}


def links_from(first, pairs):
    """How many links lead from `first` to each document that any chain leads to."""
    beside = collections.defaultdict(list)
    with open(pairs, encoding="utf-8") as file:
        next(file)
        for line in file:
            a, b, _ = line.split("\t")
            beside[a].append(b)
            beside[b].append(a)
    links, queue = {first: 0}, [first]
    for document in queue:
        for other in beside[document]:
            if other not in links:
                links[other] = links[document] + 1
                queue.append(other)
    return links


def main():
    corpus, result, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(os.path.join(result, "groups.jsonl"), encoding="utf-8") as file:
        members = max((json.loads(line)["members"] for line in file), key=len)
    first, wanted, sets = members[0], set(members), {}
    with open(corpus, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            if document["id"] in wanted:
                sets[document["id"]] = shingles(document["text"], k)
    links = links_from(first, os.path.join(result, "pairs.tsv"))
    apart = [document for document in members if not sets[document] & sets[first]]
    print(first, len(apart), min(apart, key=links.get, default=""), max(apart, key=links.get, default=""), sep="\t")


if __name__ == "__main__":
    main()
