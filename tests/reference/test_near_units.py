#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup --unit line and paragraph at a lower threshold, and with --keep by length or field: cuts, groups, pairs and kept texts against
brute force in Python over what the bands propose, on every device. Band keys, shingles and similarities are the model's own."""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))
import harness
from outputs import devices, opencl_environment

np, xxhash = harness.need_modules("numpy", "xxhash")
import minhash_model
import test_units as files

PERMS, SEED, MIN_WORDS = 64, 1, 3
CASES = [
    # unit, threshold, (bands, rows) or all pairs, keep, keep_count, within
    ("line", 0.5, (16, 3), "first", 1, None),
    ("line", 0.7, (8, 8), "last", 1, "site"),
    ("paragraph", 0.6, (16, 4), "longest", 1, None),
    ("paragraph", 0.4, None, "first", 2, "n"),
    ("line", 0.5, (16, 3), "max:n", 1, None),
    ("line", 1, None, "shortest,last", 1, None),
    ("line", 1, None, "min:n", 1, None),
    ("line", 1, None, "max:kind,longest", 1, None),
    ("line", 0.5, (16, 3), "min:kind,shortest,last", 1, None),
    ("paragraph", 0.6, (16, 4), "longest,min:kind", 1, "site"),
    ("line", 1, None, "min:kind,longest", 1, "n"),
    ("line", 0.7, (8, 8), "max:n,shortest,last", 1, "kind"),
]
# of documents, in turn: numbers and texts that a key of `keep` writes in every way it has
files.SITES["kind"] = [3, "b", 2.5, 2**60 + 1, "a\0b", None, -(2**60) - 1, "a", True, 2**60, "a\0\0", 0, "", 1e300]


def make_texts(rng, n):
    """Lines of which some are copies of earlier ones with a few words changed."""
    texts, lines = [], []
    for _ in range(n):
        out = []
        for _ in range(rng.randrange(8)):
            words = [f"w{rng.randrange(99)}" for _ in range(rng.randrange(1, 14))]
            if lines and rng.random() < 0.6:
                words = rng.choice(lines).copy()
                for _ in range(rng.choice([0, 0, 1, 1, 2])):
                    words[rng.randrange(len(words))] = f"w{rng.randrange(99)}"
            lines.append(words)
            line = rng.choice([" ", " ", "  ", ", "]).join(words)
            out.append((line.upper() if rng.random() < 0.1 else line) + rng.choice(["\n", "\n\n", "\r\n"]))
        texts.append("".join(out))
    return texts


def shingles_of(words):
    """--shingle word:2, --short whole."""
    return frozenset(" ".join(words[i : i + 2]) for i in range(max(1, len(words) - 1)))


def jaccard(a, b):
    return len(a & b) / len(a | b)


class Unit:
    def __init__(self, doc, begin, end, text, words, value):
        self.doc, self.begin, self.end, self.bytes, self.words = doc, begin, end, text[begin:end], tuple(words)
        self.set, self.value = shingles_of(words), value


def find_units(texts, unit, within):
    units, filled = [], []
    for doc, text in enumerate(texts):
        found = files.units_of(text, unit)
        filled.append(sum(u[2] for u in found))
        value = within and files.value_of(doc, within, False)
        for begin, end, _ in found:
            words = files.WORDS.findall(text[begin:end].lower())
            if len(words) >= MIN_WORDS and not (within and value is None):
                units.append(Unit(doc, begin, end, text, words, value))
    return units, filled


def hashes_of(unit):
    """The value that divides documents is part of each hash."""
    within = xxhash.xxh3_128_intdigest(unit.value.encode()) & 2**64 - 1 if unit.value is not None else 0
    return [minhash_model.token_hash(s.encode()) ^ within for s in unit.set]


def proposed(units, plan):
    """Pairs of units that share a key of a band."""
    if plan is None:
        return itertools.combinations(range(len(units)), 2)
    a, b = minhash_model.coefficients(SEED, PERMS)
    words = np.array([minhash_model.signature(hashes_of(u), a, b) for u in units])
    keys = minhash_model.band_keys(words, *plan, [len(u.set) for u in units])
    buckets = {}
    for i, row in enumerate(keys):
        for band, key in enumerate(row):
            buckets.setdefault((units[i].value, band, int(key)), []).append(i)
    return sorted({pair for members in buckets.values() for pair in itertools.combinations(members, 2)})


def value_rank(value, greatest):
    """Numbers come before texts, and these before what has no order."""
    if value is None or value is True:
        return (3,)
    if isinstance(value, str):
        return (2, tuple(255 - b for b in value.encode()) + (256,) if greatest else tuple(value.encode()))
    return (1, -value if greatest else value)


def rank_of(unit, number, keep):
    """What is least is kept."""
    out = []
    for rule in keep.split(","):
        if rule in ("first", "last"):
            return (*out, number if rule == "first" else -number)
        if rule in ("longest", "shortest"):
            out.append(-len(unit.bytes) if rule == "longest" else len(unit.bytes))
        else:
            values = files.SITES[rule[4:]]
            out.append(value_rank(values[unit.doc % len(values)], rule.startswith("max")))
    return (*out, number)


def model(texts, unit, threshold, plan, keep, keep_count, within):
    units, filled = find_units(texts, unit, within)
    first = {}
    rep = [first.setdefault((u.value, u.words), i) for i, u in enumerate(units)]
    joined = list(rep)

    def root(i):
        while joined[i] != i:
            i = joined[i]
        return i

    pairs = {(rep[i], i): 1.0 for i in range(len(units)) if rep[i] != i}
    for i, j in proposed(units, plan) if threshold < 1 else []:
        similarity = jaccard(units[i].set, units[j].set)
        if rep[i] != i or rep[j] != j or units[i].value != units[j].value or similarity < threshold:
            continue
        pairs[(i, j)] = similarity
        low, high = sorted((root(i), root(j)))
        joined[high] = low
    groups = {}
    for i in range(len(units)):
        groups.setdefault(root(rep[i]), []).append(i)
    cuts, listed = {}, []
    for _, members in sorted(groups.items()):
        if len(members) == 1:
            continue
        kept = min(members, key=lambda i: rank_of(units[i], i, keep))
        listed.append((members, kept))
        for i in members:
            u, k = units[i], units[kept]
            if i == kept or (keep_count > 1 and i in members[:keep_count]):
                continue
            similarity = jaccard(u.set, k.set)
            reason = "identical" if u.bytes == k.bytes else "equal" if u.words == k.words else "near" if similarity >= threshold else "chained"
            cuts.setdefault(u.doc, []).append((u.begin, u.end, k.doc, k.begin, f"{similarity:.6f}", reason))
    empty = {doc for doc, of in cuts.items() if len(of) == filled[doc]}
    name = lambda i: [f"d{units[i].doc}", units[i].begin]
    return {
        "cuts": cuts,
        "empty": empty,
        "groups": [
            {"group": n, "kept": name(kept), "size": len(m), "members": [name(i) for i in m]} for n, (m, kept) in enumerate(listed, 1)
        ],
        "pairs": [[*map(str, name(i) + name(j)), f"{s:.6f}"] for (i, j), s in sorted(pairs.items())],
    }


def read_rows(path):
    return [line.split("\t") for line in path.read_text().split("\n")[:-1]]


def check(program, folder, texts, case, specs):
    unit, threshold, plan, keep, keep_count, within = case
    expected = model(texts, *case)
    (folder / "in.jsonl").write_text(files.as_jsonl(texts))
    options = ["--unit", unit, "--min-words", MIN_WORDS, "--threshold", threshold, "--keep", keep, "-q", "--shingle", "word:2"]
    options += ["--within", within] if within else []
    options += ["--keep-count", keep_count] if keep_count > 1 else []
    if threshold < 1:
        options += ["--candidates", "all"] if plan is None else ["--bands", plan[0], "--rows", plan[1], "--perms", PERMS]
    first = None
    runs = [["--pairs"], ["--pairs", "--threads", 1], ["--threads", 4, "--memory", "64M"]]
    runs += [["--device", spec] for spec in specs if threshold < 1 and plan is not None]
    for i, more in enumerate(runs):
        out = folder / f"out{i}"
        device = [] if "--device" in more else ["--device", "cpu"]
        command = [program, "dedup", folder / "in.jsonl", *map(str, options + more + device), "--force", "-o", out]
        subprocess.run(command, check=True, env={**os.environ, **opencl_environment()})
        written = {f.name: f.read_bytes() for f in out.iterdir() if f.name not in ("report.json", "pairs.tsv")}
        assert first is None or first == written, (case, more)
        first = written
    cuts = expected["cuts"]
    rows = [[f"d{d}", str(c[0]), str(c[1]), f"d{c[2]}", str(c[3]), *c[4:]] for d in sorted(cuts) for c in sorted(cuts[d])]
    for got, wanted in itertools.zip_longest([r[:7] for r in read_rows(out / "cuts.tsv")[1:]], rows):
        assert got == wanted, (case, got, wanted)
    assert [json.loads(line) for line in written["groups.jsonl"].splitlines()] == expected["groups"], case
    assert read_rows(folder / "out0" / "pairs.tsv") == [["id_a", "from_a", "id_b", "from_b", "jaccard"], *expected["pairs"]], case
    kept = files.read_jsonl(written["kept.jsonl"])
    empty = expected["empty"]
    assert kept == [(f"d{i}", files.without(t, sorted(cuts.get(i, [])))) for i, t in enumerate(texts) if i not in empty], case
    assert [r[0] for r in read_rows(out / "removed.tsv")[1:]] == [f"d{i}" for i in sorted(empty)], case
    again = folder / "again"
    subprocess.run([program, "filter", out, "-q", "--force", "-o", again], check=True)
    assert (again / "kept.jsonl").read_bytes() == written["kept.jsonl"], (case, "filter")
    return [c[5] for of in cuts.values() for c in of]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()  # the size is one
    reasons = []
    specs = [spec for spec, _, _ in devices(harness.Program(options.program), opencl_environment())]
    with tempfile.TemporaryDirectory() as name:
        for i, case in enumerate(CASES):
            reasons += check(options.program, Path(name), make_texts(random.Random(options.seed * 100 + i), 60), case, specs)
    counts = {reason: reasons.count(reason) for reason in ("identical", "equal", "near", "chained")}
    assert min(counts.values()) > 10, counts
    print("cuts as the model has them: " + ", ".join(f"{n} {reason}" for reason, n in counts.items()) + f"; {len(specs)} OpenCL devices")
    return 0


if __name__ == "__main__":
    sys.exit(main())
