#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compat.py [SETS] -- bandmill.compat.datasketch beside datasketch 2 on the same calls: seconds of each, and how many times as fast.

Wants both packages (PYTHONPATH=build/release/python .venv/bin/python bench/compat.py). Each figure is the median of five rounds, in
which the packages take turns; the results are compared as well. What is put off at an insertion is counted: the rows of insertions end
with a first query, and one of them with the counts of the tables.
"""

import random
import statistics
import sys
import time

import datasketch

import bandmill.compat.datasketch as ours

ROUNDS = 5


def make_sets(n):
    """Sets of 5 words beside each other, some 100 each; every fourth is an edit of the one before."""
    draw = random.Random(1)
    words = [f"{draw.randrange(10**6):x}" for _ in range(20000)]
    sets, text = [], []
    for i in range(n):
        if i % 4 != 3:
            text = [draw.choice(words) for _ in range(draw.randrange(60, 150))]
        else:
            text[draw.randrange(len(text))] = draw.choice(words)
        sets.append([" ".join(text[j : j + 5]).encode() for j in range(len(text) - 4)])
    return sets


def seconds(call):
    """Of one round, and what the call gave."""
    start = time.perf_counter()
    given = call()
    return time.perf_counter() - start, given


def compare(name, make_call, form):
    """One line; the packages must agree."""
    calls = [make_call(package) for package in (ours, datasketch)]
    times = ([], [])
    for _ in range(ROUNDS):
        given = []
        for call, own in zip(calls, times):
            took, what = seconds(call)
            own.append(took)
            given.append(form(what))
            del what
        if given[0] != given[1]:
            sys.exit(f"{name}: the results differ")
    mine, other = map(statistics.median, times)
    print(f"{name:38} {other:9.4f} s {mine:9.4f} s {other / mine:7.1f} times", flush=True)


def values(sketches):
    """Hash values, to be compared."""
    return [m.hashvalues.tobytes() for m in sketches]


def main():
    sets = make_sets(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
    print(f"{len(sets)} sets, {sum(map(len, sets))} items{'':15} datasketch   bandmill")
    for scheme in ("affine32", "affine64", "legacy"):
        compare(f"MinHash.bulk {scheme}", lambda p, s=scheme: lambda: p.MinHash.bulk(sets, scheme=s), values)
    compare("MinHash.generator", lambda p: lambda: list(p.MinHash.generator(sets)), values)
    compare("MinHash.update_batch", lambda p: lambda: batched(p, sets), values)
    compare("MinHash.update", lambda p: lambda: updated(p, sets[:60]), values)
    for threshold in (0.5, 0.8):
        bands_of(sets, threshold)


def bands_of(sets, threshold):
    """The lines of an index."""
    sketches = {p: p.MinHash.bulk(sets) for p in (ours, datasketch)}

    def built(package):
        return inserted(package, sketches[package], threshold)

    def session(package):
        return in_session(package, sketches[package], threshold)

    compare(f"MinHashLSH.insert {threshold}", lambda p: lambda: built(p), counts)
    compare(f"insertion_session {threshold}", lambda p: lambda: session(p), counts)
    compare(f"insertion_session {threshold}, get_counts", lambda p: lambda: session(p).get_counts(), lambda x: x)
    indexes = {p: built(p) for p in sketches}
    compare(f"MinHashLSH.query {threshold}", lambda p: lambda: [indexes[p].query(m) for m in sketches[p]], ordered)


def batched(package, sets):
    """Each set at once, by itself."""
    made = [package.MinHash() for _ in sets]
    for m, items in zip(made, sets):
        m.update_batch(items)
    return made


def updated(package, sets):
    """Each set item by item."""
    made = [package.MinHash() for _ in sets]
    for m, items in zip(made, sets):
        for item in items:
            m.update(item)
    return made


def inserted(package, sketches, threshold):
    """An index of all, one after the other."""
    lsh = package.MinHashLSH(threshold=threshold)
    for key, m in enumerate(sketches):
        lsh.insert(key, m)
    lsh.query(sketches[0])
    return lsh


def in_session(package, sketches, threshold):
    """The same by a session."""
    lsh = package.MinHashLSH(threshold=threshold)
    with lsh.insertion_session() as session:
        for key, m in enumerate(sketches):
            session.insert(key, m)
    lsh.query(sketches[0])
    return lsh


def counts(lsh):
    """What an index holds."""
    return lsh.get_counts()


def ordered(found):
    """Answers, whose order is no promise."""
    return [sorted(keys) for keys in found]


if __name__ == "__main__":
    main()
