# SPDX-License-Identifier: Apache-2.0
"""sentences.py BANDMILL FOLDER NAME QUERIES TARGETS -- which targets each query finds, against exact similarities computed here. Prints the numbers
as lines of `what, work, here, within`, tab-separated; ends with 1 where an answer is not what it should be."""
import math
import os
import sys
from fractions import Fraction

import program

LENGTH, BANDS, ROWS, THRESHOLD = 9, 50, 2, Fraction(1, 4)
OPTIONS = ["--format", "lines", "--normalize", "lower", "--shingle", f"char:{LENGTH}", "--perms", "100", "--bands", str(BANDS),
           "--rows", str(ROWS), "--threshold", str(float(THRESHOLD)), "-q"]
OF_WORK = {"the study case": {(1, 6): ".535714", (1, 11): ".491803", (1, 1): ".474576"}}  # all that its script printed


def without_commas(path, folder, name):
    """The sentences of a file; and the file that has them, a line each."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace(",", "")
    copy = os.path.join(folder, name)
    with open(copy, "w", encoding="utf-8") as file:
        file.write(text)
    return text.splitlines(), copy


def shingles(sentence):
    text = " ".join(sentence.lower().split())
    return {text[i:i + LENGTH] for i in range(max(1, len(text) - LENGTH + 1))}


def number_of(place):
    return int(place.rpartition(":")[2])


def main():
    bandmill, folder, name, queries, targets = sys.argv[1:]
    queries, asked_file = without_commas(queries, folder, "queries.txt")
    targets, known_file = without_commas(targets, folder, "targets.txt")
    asked, known = ([shingles(sentence) for sentence in some] for some in (queries, targets))
    exact = {}  # by (query, target), from 1
    for q, query in enumerate(asked, 1):
        for t, target in enumerate(known, 1):
            exact[q, t] = Fraction(len(query & target), len(query | target))
    rows = program.output(bandmill, "query", "--targets", known_file, *OPTIONS, asked_file).decode().splitlines()
    found = {}
    for line in rows[1:]:
        query, target, jaccard = line.split("\t")
        found[number_of(query), number_of(target)] = jaccard
    wanted = {pair: f"{float(j):.6f}" for pair, j in exact.items() if j >= THRESHOLD}
    if found != wanted:
        sys.exit(f"sentences.py: {name}: found {found}, exactly {wanted}")
    print(f"{name}: pairs of .25 or more\tnone\t{len(found)}\tnone")
    for (q, target), of_work in OF_WORK.get(name, {}).items():
        print(f"{name}, query {q}: similarity of target {target}\t{of_work}\t{found[q, target].lstrip('0')}\texact")
    for q in range(1, len(asked) + 1):
        own = [f"{target} ({float(jaccard):.3f})".replace("(0", "(") for (query, target), jaccard in found.items() if query == q]
        print(f"{name}, query {q}: its targets, best first\tnone\t{', '.join(own)}\tnone")
    others = sum((target - query) % len(asked) != 0 for query, target in found)
    print(f"{name}: targets of another query among them\tnone\t{others}\tnone")
    all_found = math.prod(1 - (1 - float(exact[pair]) ** ROWS) ** BANDS for pair in wanted)
    print(f"{name}: chance that a seed finds all\tnone\t{all_found:.2f}\tnone".replace("\t0.", "\t."))


if __name__ == "__main__":
    main()
