# SPDX-License-Identifier: Apache-2.0
"""truth.py -- the true pairs, and how many of them a tool found.

The truth is `bandmill pairs --candidates all`. As it judges its own author too, it is checked here against sets of Python:
each planted pair must be in it exactly when its Jaccard similarity reaches the threshold, a sample of its pairs must reach
it, and so must none of a sample of pairs that other tools returned and it does not hold."""
import array
import json
import random

WORDS = 5


def pairs_of_tsv(path):
    with open(path, encoding="utf-8") as file:
        next(file)
        return {tuple(sorted(map(int, line.split("\t")[:2]))) for line in file}


def pairs_of_array(path):
    numbers = array.array("I")
    assert numbers.itemsize == 4
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
    return set(zip(numbers[0::2], numbers[1::2]))


def pairs_of_groups(path):
    found = set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            members = sorted(int(member) for member in json.loads(line)["members"])
            found.update((a, b) for i, a in enumerate(members) for b in members[i + 1:])
    return found


def quality(found, true):
    hits = len(found & true)
    return {"pairs": len(found), "true_pairs": len(true), "recall": round(hits / len(true), 4) if true else None,
            "precision": round(hits / len(found), 4) if found else None}


def jaccard(a, b):
    def cut(text):
        words = text.split(" ")
        if len(words) < WORDS:
            return {tuple(words)} if text else set()
        return set(zip(*(words[i:] for i in range(WORDS))))

    a, b = cut(a), cut(b)
    return len(a & b) / len(a | b) if a or b else 0.0


def check(documents, planted, true, others, threshold):
    """{"checked": n, "wrong": n}: none may be wrong. `others` is what some tool found and the truth does not hold."""
    draw = random.Random(1)
    wanted = [tuple(sorted(pair)) for pair in planted]
    wanted += draw.sample(sorted(true), min(2000, len(true))) + draw.sample(sorted(others), min(2000, len(others)))
    with open(documents, encoding="utf-8") as file:
        needed = {row for pair in wanted for row in pair}
        texts = {row: json.loads(line)["text"] for row, line in enumerate(file) if row in needed}
    wrong = sum((jaccard(texts[a], texts[b]) >= threshold) != ((a, b) in true) for a, b in set(wanted))
    return {"checked_pairs": len(set(wanted)), "planted_pairs": len(planted), "wrong": wrong}
