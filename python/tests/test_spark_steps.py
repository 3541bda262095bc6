# SPDX-License-Identifier: Apache-2.0
"""What executors do, without Spark: runs over batches, the bound of a crowded bucket, cells."""

import itertools
import os
import random

import numpy as np
import pyarrow as pa
import pytest

import bandmill

if os.environ.get("CI") != "true":
    pytest.importorskip("pyspark")
from bandmill.spark import _buckets, _compare, _cut, _runs


def batches_of(columns, sizes):
    table = pa.table(columns)
    at = 0
    for size in itertools.cycle(sizes):
        if at >= len(table):
            return
        yield from table.slice(at, size).combine_chunks().to_batches()
        at += size


@pytest.mark.parametrize("sizes", [[1], [2, 3], [7], [1000]])
def test_runs_are_whole_whatever_the_batches(sizes):
    draw = random.Random(3)
    key = sorted(draw.randrange(40) for _ in range(300))
    columns = {"key": np.array(key), "num": np.arange(300)}
    pieces = list(_runs.whole_runs(batches_of(columns, sizes), ("key",), ("key", "num")))
    assert np.array_equal(np.concatenate([p["num"] for p in pieces]), np.arange(300))
    seen = [set(p["key"].tolist()) for p in pieces]
    assert all(not a & b for a, b in itertools.combinations(seen, 2))


def pairs_of(batches):
    found = pa.Table.from_batches(batches)
    found = found.filter(pa.compute.equal(found["kind"], _buckets.PAIR))
    return [tuple(p) for p in zip(found["a"].to_pylist(), found["b"].to_pylist())]


def test_small_buckets_give_all_pairs_and_large_ones_a_star_or_all():
    draw = random.Random(5)
    sizes = [1, 2, 3, 1, _buckets.FEW, _buckets.FEW + 1, 50]
    nums = draw.sample(range(-(10**15), 10**15), sum(sizes))
    key = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((nums, key))
    columns = {"key": key, "band": np.zeros(len(key), np.int32), "num": np.array(nums)[order]}
    buckets = [sorted(columns["num"][key == i].tolist()) for i in range(len(sizes))]
    every = [p for b in buckets for p in itertools.combinations(b, 2)]
    stars = [p for b in buckets for p in itertools.combinations(b, 2) if len(b) <= _buckets.FEW or p[0] == b[0]]
    for batch_sizes in ([10], [1000]):
        assert sorted(pairs_of(_buckets.first_pairs(False)(batches_of(columns, batch_sizes)))) == sorted(every)
        assert sorted(pairs_of(_buckets.first_pairs(True)(batches_of(columns, batch_sizes)))) == sorted(stars)


NEXT = {"kind": pa.int32(), "band": pa.int32(), "key": pa.int64(), "a": pa.int64(), "b": pa.int64()}
NEXT = pa.schema({**NEXT, "had": pa.bool_(), "pairs_left": pa.int64()})


def join_bucket(n, same):
    """Rounds of one bucket whose documents are joined where ``same`` says so: (pairs looked at, groups, pairs cut, rounds)."""
    num = np.random.RandomState(n).permutation(n).astype(np.int64)
    label = {int(x): int(x) for x in num}

    def root(x):
        while label[x] != x:
            label[x] = label[label[x]]
            x = label[x]
        return x

    def look(a, b):
        seen = 0
        for x, y in zip(a.tolist(), b.tolist()):
            seen += 1
            if same(x, y) and root(x) != root(y):
                label[max(root(x), root(y))] = min(root(x), root(y))
        return seen

    looked = look(np.full(n - 1, 0), np.delete(num, np.argmin(num)))
    had, left, cut = np.zeros(n, bool), -1, 0
    state, rounds = np.ones(1, bool), -1
    while state.any():
        rounds += 1
        labels = np.array([root(int(x)) for x in num])
        order = np.lexsort((num, labels))
        num, had = num[order], had[order]
        same_for_all = {"band": np.zeros(n, np.int32), "key": np.zeros(n, np.int64), "pairs_left": np.full(n, left)}
        columns = {"num": num, "label": labels[order], "had": had, **same_for_all}
        table = pa.Table.from_batches(_buckets.next_pairs()(batches_of(columns, [700])), NEXT)
        kind, a = np.asarray(table["kind"]), np.asarray(table["a"])
        looked += look(a[kind == _buckets.PAIR], np.asarray(table["b"])[kind == _buckets.PAIR])
        cut += int(a[kind == _buckets.CUT].sum())
        state = kind == _buckets.STATE
        if state.any():
            num, had, left = a[state], np.asarray(table["had"])[state], int(np.asarray(table["pairs_left"])[state][0])
    return looked, len({root(int(x)) for x in num}), cut, rounds


def test_a_bucket_of_copies_costs_its_star():
    assert join_bucket(3000, lambda x, y: True)[:3] == (2999, 1, 0)


def test_pairs_that_fit_the_bound_are_all_compared():
    n = 900
    looked, groups, cut, rounds = join_bucket(n, lambda x, y: False)
    assert (groups, cut, rounds) == (n, 0, 0) and looked == n * (n - 1) // 2


def test_clusters_of_a_crowded_bucket_are_found():
    looked, groups, cut, _ = join_bucket(2000, lambda x, y: x % 9 == y % 9)
    assert groups == 9 and cut > 0 and looked <= 2 * 1999 + _buckets.budget(2000)


def test_what_is_beyond_the_bound_is_counted():
    n = 1200
    looked, groups, cut, rounds = join_bucket(n, lambda x, y: False)
    assert groups == n and looked + cut == n * (n - 1) // 2 and cut > 0
    assert looked <= n - 1 + _buckets.budget(n) + n and rounds <= 6


def test_cells_compare_as_the_library_does():
    texts = [" ".join(f"w{(i * 7 + j) % 23}" for j in range(30)) for i in range(40)]
    offsets, hashes = bandmill.hash_shingles(texts, shingle="word:2", sorted=True)
    sets = _cut.binary(hashes, offsets=offsets * 8)
    nums = np.array(random.Random(1).sample(range(-(10**9), 10**9), len(texts)))
    a, b = (np.array(x) for x in zip(*itertools.combinations(range(len(texts)), 2)))
    found = {
        (r["id_a"], r["id_b"]): r["jaccard"]
        for r in bandmill.pairs(texts, shingle="word:2", threshold=0.3, candidates="all").to_pylist()
    }
    cell = _compare.Cell(0.3, 0)
    for part in (slice(0, 13), slice(13, 40)):
        cell.add(nums[part], sets.slice(part.start, part.stop - part.start))
    similarity = cell.compare(nums[a], nums[b])
    ours = {(i, j): round(s, 6) for i, j, s in zip(a, b, similarity) if s >= 0}
    assert ours == found and found
    with pytest.raises(RuntimeError, match="not there"):
        cell.compare(nums[:1], nums[:1] + 1)


def test_forests_join_what_edges_join():
    draw = random.Random(2)
    edges = [(draw.randrange(300), draw.randrange(300)) for _ in range(200)]
    columns = {"num": np.array([x for x, _ in edges]), "label": np.array([y for _, y in edges])}
    found = pa.Table.from_batches(_compare.join("num", "label")(batches_of(columns, [9])))
    least = {x: x for e in edges for x in e}
    while any(least[x] != least[y] for x, y in edges):
        for x, y in edges:
            least[x] = least[y] = min(least[x], least[y])
    expected = {x: label for x, label in least.items() if x != label}
    assert dict(zip(found["num"].to_pylist(), found["label"].to_pylist())) == expected


@pytest.mark.parametrize("sizes", [[1], [2, 1], [3], [1000]])
def test_identical_documents_are_told_whatever_the_batches(sizes):
    draw = random.Random(6)
    kinds = sorted(draw.randrange(30) for _ in range(60))
    nums = draw.sample(range(-(10**12), 10**12), len(kinds))
    content = np.repeat(np.array(kinds, dtype=np.uint64), 2)
    keys = np.array([[k * 10 + band for band in range(3)] for k in kinds], dtype=np.uint64)
    columns = {"content": _cut.binary(content, 16), "num": np.array(nums), "keys": _cut.binary(keys, 24)}
    found = pa.Table.from_batches(_buckets.spread(3)(batches_of(columns, sizes))).to_pylist()
    same = {}
    for num, kind in zip(nums, kinds):
        same.setdefault(kind, []).append(num)
    copies = [(num, of[0]) for of in same.values() if len(of) > 1 for num in of]
    assert sorted((r["num"], r["key"]) for r in found if r["kind"] == _buckets.COPY) == sorted(copies)
    entries = [(band, k * 10 + band, of[0]) for k, of in same.items() for band in range(3)]
    assert sorted((r["band"], r["key"], r["num"]) for r in found if r["kind"] == _buckets.ENTRY) == sorted(entries)
