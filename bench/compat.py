#!/usr/bin/env python3
"""compat.py [SETS] -- bandmill.compat.datasketch beside datasketch 2 on the same calls: seconds of each, and how many times as fast.

Wants both packages (PYTHONPATH=build/release/python .venv/bin/python bench/compat.py). Each figure is the best of three; the results
are compared as well.
"""

import random
import sys
import time

import datasketch

import bandmill.compat.datasketch as ours

ROUNDS = 3


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
    """The least of some rounds, and what the call gave."""
    best, given = float("inf"), None
    for _ in range(ROUNDS):
        start = time.perf_counter()
        given = call()
        best = min(best, time.perf_counter() - start)
    return best, given


def compare(name, make_call, form):
    """One line; the packages must agree."""
    (mine, got), (other, wanted) = (seconds(make_call(package)) for package in (ours, datasketch))
    if form(got) != form(wanted):
        sys.exit(f"{name}: the results differ")
    print(f"{name:34} {other:9.4f} s {mine:9.4f} s {other / mine:7.1f} times", flush=True)


def values(sketches):
    """Hash values, to be compared."""
    return [m.hashvalues.tobytes() for m in sketches]


def main():
    sets = make_sets(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
    print(f"{len(sets)} sets, {sum(map(len, sets))} items{'':11} datasketch   bandmill")
    for scheme in ("affine32", "affine64", "legacy"):
        compare(f"MinHash.bulk {scheme}", lambda p, s=scheme: lambda: p.MinHash.bulk(sets, scheme=s), values)
    compare("MinHash.generator", lambda p: lambda: list(p.MinHash.generator(sets)), values)
    compare("MinHash.update", lambda p: lambda: updated(p, sets[:60]), values)
    for threshold in (0.5, 0.8):
        built = {p: (p.MinHashLSH(threshold=threshold), p.MinHash.bulk(sets)) for p in (ours, datasketch)}
        compare(f"MinHashLSH.insert {threshold}", lambda p, b=built, t=threshold: lambda: inserted(p, b[p][1], t), lambda x: x)
        for lsh, sketches in built.values():
            for key, m in enumerate(sketches):
                lsh.insert(key, m)
        compare(f"MinHashLSH.query {threshold}", lambda p, b=built: lambda: [b[p][0].query(m) for m in b[p][1]], ordered)


def updated(package, sets):
    """Each set item by item."""
    made = [package.MinHash() for _ in sets]
    for m, items in zip(made, sets):
        for item in items:
            m.update(item)
    return made


def inserted(package, sketches, threshold):
    """An index of all."""
    lsh = package.MinHashLSH(threshold=threshold)
    for key, m in enumerate(sketches):
        lsh.insert(key, m)
    return lsh.get_counts()


def ordered(found):
    """Answers, whose order is no promise."""
    return [sorted(keys) for keys in found]


if __name__ == "__main__":
    main()
