# SPDX-License-Identifier: Apache-2.0
"""The other classes of bandmill.compat.datasketch beside datasketch 2: weighted and b-bit sketches, forest, ensemble.

python/bandmill/compat/_weighted.py, _forest.py, and bBitMinHash of _lean.py.
"""

import copy
import pickle
import random

import numpy as np
import pytest
from beside_datasketch import outcome, plain, same

import bandmill.compat.datasketch as ours

SCHEMES = ("affine32", "affine64", "legacy")


def sketches(of, n, seed=1, num_perm=64, scheme="affine32"):
    """Sets of 5 to 90 of a few words, so that many are alike; with their sizes."""
    draw = random.Random(seed)
    sets = [[b"%d" % i for i in draw.sample(range(120), draw.randrange(5, 90))] for _ in range(n)]
    return of.MinHash.bulk(sets, num_perm=num_perm, scheme=scheme), [len(s) for s in sets]


def test_every_name_is_here_or_says_where(theirs):
    for name in theirs.__all__:
        if hasattr(type(ours), name) or name in ours.__all__:
            assert getattr(ours, name)
            continue
        with pytest.raises(ImportError, match=f"from datasketch import {name}$"):
            exec(f"from bandmill.compat.datasketch import {name}")
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from bandmill.compat.datasketch import MinHashes")
    assert (ours.WeightedMinHashLSH, ours.WeightedMinHashLSHForest) == (ours.MinHashLSH, ours.MinHashLSHForest)


def test_names_of_elsewhere_are_not_there():
    for name in ("HyperLogLog", "HyperLogLogPlusPlus", "HNSW", "MinHashLSHBloom", "AsyncMinHashLSH"):
        assert not hasattr(ours, name) and getattr(ours, name, None) is None
    with pytest.raises(AttributeError, match=r"from datasketch import HNSW$"):
        _ = ours.HNSW


# --- b-bit ---


@pytest.mark.parametrize("scheme", SCHEMES)
def test_b_bits_of_a_sketch(scheme, theirs):
    pairs = [sketches(of, 6, num_perm=37, scheme=scheme)[0] for of in (ours, theirs)]
    for b in range(33):
        for r in (0.0, 0.3, 1.0):
            made = [[of.bBitMinHash(m, b, r) for m in own] for of, own in zip((ours, theirs), pairs)]
            for mine, other in zip(*made):
                assert plain(mine) == plain(other) and (mine.b, mine.r) == (other.b, other.r)
                state = mine.__getstate__()
                assert state == other.__getstate__() and len(state) == mine.bytesize() == other.bytesize()
                assert pickle.loads(pickle.dumps(mine)) == mine == copy.deepcopy(mine)
            calls = (lambda own: own[0].jaccard(own[1]), lambda own: own[0].jaccard(own[0]), lambda own: own[0] == own[1])
            for call in calls:
                assert outcome(lambda call=call, own=made[0]: call(own)) == outcome(lambda call=call, own=made[1]: call(own)), (
                    b,
                    r,
                )


def test_b_bits_that_are_refused(theirs):
    for b, r in ((-1, 0), (33, 0), (1, 1.5), ("x", 0), (1, "y"), (2.9, -1.0)):
        same(lambda of, b=b, r=r: of.bBitMinHash(of.MinHash(8), b, r), theirs)
    same(lambda of: of.bBitMinHash(of.WeightedMinHashGenerator(3, 4).minhash([1, 2, 3])), theirs)
    for other in ({"seed": 2}, {"scheme": "legacy"}):
        same(lambda of, other=other: of.bBitMinHash(of.MinHash(8)).jaccard(of.bBitMinHash(of.MinHash(8, **other))), theirs)
    same(lambda of: of.bBitMinHash(of.MinHash(8), 1).jaccard(of.bBitMinHash(of.MinHash(8), 2)), theirs)
    bad = bytearray(ours.bBitMinHash(ours.MinHash(8)).__getstate__())
    bad[21] = 9
    same(lambda of: of.bBitMinHash(of.MinHash(8)).__setstate__(bad), theirs)


# --- weighted ---


def vectors(n, dim, seed=3):
    draw = np.random.default_rng(seed)
    rows = np.where(draw.random((n, dim)) < 0.3, draw.integers(0, 50, (n, dim)) + draw.random((n, dim)), 0).astype(np.float32)
    rows[2] = 0
    rows[3, 0] = 1e-30
    rows[4, -1] = 3e38
    return rows


@pytest.mark.filterwarnings("ignore:invalid value")  # of weights below 0, in either
@pytest.mark.parametrize("dim", [1, 40, 300])
def test_weighted_sketches(dim, theirs):
    rows = vectors(12, dim)
    for seed, size in ((1, 128), (9, 5)):
        for row in (*rows, rows[5].astype(np.float64), rows[6].tolist(), -rows[7]):
            same(lambda of, row=row, how=(dim, size, seed): of.WeightedMinHashGenerator(*how).minhash(row).hashvalues, theirs)
        many = [of.WeightedMinHashGenerator(dim, size, seed).minhash_many(rows) for of in (ours, theirs)]
        assert [None if m is None else plain(m.hashvalues) for m in many[0]] == [
            None if m is None else plain(m.hashvalues) for m in many[1]
        ]


def test_weighted_sketches_of_a_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    rows = vectors(9, 60)
    for made in (ours.WeightedMinHashGenerator(60).minhash_many(form(rows)) for form in (sparse.csr_matrix, sparse.coo_matrix)):
        assert made == ours.WeightedMinHashGenerator(60).minhash_many(rows) and made[2] is None
    twice = sparse.coo_matrix(([1, 2, 0, 5], ([0, 0, 0, 1], [3, 3, 4, 7])), shape=(2, 60))  # repeats are sums, a zero is none
    assert ours.WeightedMinHashGenerator(60).minhash_many(twice) == ours.WeightedMinHashGenerator(60).minhash_many(
        twice.toarray()
    )


@pytest.mark.filterwarnings("ignore:invalid value")
def test_weighted_sketches_and_what_they_do(theirs):
    def pair(of, other=(1, 0, 2, 3), **more):
        make = of.WeightedMinHashGenerator(4, 32)
        return make.minhash([1, 2, 3, 4]), of.WeightedMinHashGenerator(4, **{"sample_size": 32, **more}).minhash(other)

    calls = (
        lambda of: pair(of)[0].jaccard(pair(of)[1]),
        lambda of: pair(of)[0].jaccard(pair(of, seed=2)[1]),
        lambda of: pair(of)[0].jaccard(pair(of, sample_size=31)[1]),
        lambda of: pair(of)[0] == pair(of)[1],
        lambda of: pair(of)[0] == pair(of)[0].copy(),
        lambda of: pair(of)[0] == 3,
        lambda of: hash(pair(of)[0]),
        lambda of: len(pair(of)[0]),
        lambda of: pickle.loads(pickle.dumps(pair(of)[0])) == pair(of)[0],
        lambda of: pair(of)[0].digest() is pair(of)[0].hashvalues,
        lambda of: of.WeightedMinHash(5, np.array([[1, 2]])).jaccard(of.WeightedMinHash(5, [[1, 2]])),
        *(
            lambda of, v=v: of.WeightedMinHashGenerator(4).minhash(v).hashvalues
            for v in (5, iter("abcd"), [1, 2, 3], [0, 0, 0, 0], [-1, -2, 0, 0], [1, np.inf, 0, 2], [1, np.nan, 0, 2], "abcd")
        ),
        *(
            lambda of, X=X: of.WeightedMinHashGenerator(4).minhash_many(X)
            for X in ([[1, 2, 3, 4]], np.zeros(4), np.zeros((2, 3)))
        ),
    )
    for call in calls:
        same(call, theirs)
    for n in (0, 2):  # of datasketch an AttributeError
        assert ours.WeightedMinHashGenerator(4).minhash_many(np.zeros((n, 4))) == [None] * n


def test_weighted_sketches_in_an_index(theirs):
    rows = np.maximum(vectors(40, 30), 0.01)
    rows[20:] = rows[:20] * 1.02

    def found(of, index):
        for i, m in enumerate(map(of.WeightedMinHashGenerator(30, 64).minhash, rows)):
            index(i, m)
        return map(of.WeightedMinHashGenerator(30, 64).minhash, rows)

    def lsh(of):
        made = of.WeightedMinHashLSH(0.6, 64)
        return [sorted(made.query(m)) for m in found(of, made.insert)]

    def forest(of):
        made = of.WeightedMinHashLSHForest(64)
        asked = list(found(of, made.add))
        made.index()
        return [sorted(made.query(m, 3)) for m in asked], outcome(lambda: made.get_minhash_hashvalues(3))

    assert any(len(row) > 1 for row in same(lsh, theirs)[1])
    same(forest, theirs)


# --- forest ---


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_forest(scheme, theirs):
    def run(of, num_perm, trees):
        forest = of.MinHashLSHForest(num_perm, trees)
        made, _ = sketches(of, 60, num_perm=64, scheme=scheme)
        for i, m in enumerate(made[:50]):
            forest.add(f"k{i}", m)
        before = [forest.query(made[0], 3), forest.is_empty(), "k3" in forest, "k55" in forest]
        forest.index()
        answers = [forest.query(m, k) for m in made for k in (1, 4, 60)]
        values = [plain(forest.get_minhash_hashvalues(f"k{i}")) for i in range(50)]
        again = pickle.loads(pickle.dumps(forest))
        return before, answers, values, [again.query(m, 4) for m in made], (forest.l, forest.k, forest.is_empty())

    for num_perm, trees in ((64, 8), (64, 64), (64, 1), (60, 7), (8, 3)):
        assert same(lambda of, n=num_perm, t=trees: run(of, n, t), theirs)[0] == "gave"


def test_a_forest_refuses(theirs):
    def forest(of, *added):
        made = of.MinHashLSHForest(16, 4)
        for key, m in added:
            made.add(key, m)
        made.index()
        return made

    some = {"num_perm": 16}
    calls = (
        *(lambda of, n=n, t=t: of.MinHashLSHForest(n, t).k for n, t in ((0, 1), (4, 0), (4, 5), (4, -1), (4, 4))),
        lambda of: forest(of, ("a", of.MinHash(15))),
        lambda of: forest(of, ("a", of.MinHash(16)), ("a", of.MinHash(16))),
        lambda of: forest(of, ("a", of.MinHash(16)), ("b", of.MinHash(16, scheme="legacy"))),
        lambda of: forest(of, ([], of.MinHash(16))),
        lambda of: forest(of).query(of.MinHash(16), 0),
        lambda of: forest(of).query(of.MinHash(15), 1),
        lambda of: forest(of).query(of.MinHash(16), 1),
        lambda of: forest(of, ("a", of.MinHash(**some))).query(of.MinHash(**some, scheme="affine64"), 1),
        lambda of: forest(of, ("a", of.MinHash(**some))).query(of.MinHash(17), 1),
        lambda of: forest(of).get_minhash_hashvalues("a"),
        lambda of: list(forest(of)._query(of.MinHash(16), 5, 4)),
    )
    for call in calls:
        same(call, theirs)


# --- ensemble ---


def test_plans_of_an_ensemble(theirs):
    for threshold in (0.0, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0):
        for num_perm, m, weights in ((16, 4, (0.5, 0.5)), (37, 8, (0.1, 0.9))):
            made = [of.MinHashLSHEnsemble(threshold, num_perm, 2, m, weights=weights) for of in (ours, theirs)]
            assert made[0].params.tolist() == made[1].params.tolist(), threshold
            assert [set(i) for i in made[0].indexes] == [{int(r) for r in i} for i in made[1].indexes]


def test_partitions_of_an_ensemble(theirs):
    from datasketch.lshensemble_partition import optimal_partitions

    from bandmill.compat._forest import _partitions

    draw = random.Random(5)
    for n in (1, 2, 3, 7, 30, 60):
        for kind in (lambda i: i + 1, lambda i: 3 * i * i + 1, lambda i: 2**i if i < 40 else 2**40 + i):
            sizes = np.array([kind(i) for i in range(n)])
            for counts in (np.ones(n, dtype=int), np.array([draw.randrange(1, 200) for _ in range(n)])):
                for parts in (1, 2, 3, 4, 9, 32):
                    assert _partitions(sizes, counts, parts) == optimal_partitions(sizes, counts, parts), (n, parts)


@pytest.mark.parametrize("scheme", ["affine32", "legacy"])
def test_an_ensemble(scheme, theirs):
    def run(of, parts):
        ensemble = of.MinHashLSHEnsemble(0.6, 64, parts, 4)
        made, sizes = sketches(of, 90, scheme=scheme)
        before = ensemble.is_empty(), list(ensemble.query(made[0], 10))
        ensemble.index((i, m, n) for i, (m, n) in enumerate(zip(made[:70], sizes)))
        again = pickle.loads(pickle.dumps(ensemble))
        answers = [sorted(e.query(m, n)) for e in (ensemble, again) for m, n in zip(made, sizes)]
        return before, answers, plain([int(u) for u in ensemble.uppers if u is not None]), 3 in ensemble, 80 in ensemble

    for parts in (4, 99) if scheme == "legacy" else (1, 16):
        assert sum(map(len, same(lambda of, parts=parts: run(of, parts), theirs)[1][1])) > 100


def test_an_ensemble_refuses(theirs):
    def made(of, **more):
        return of.MinHashLSHEnsemble(**{"num_perm": 8, "m": 2, "num_part": 2, **more})

    for more in (
        {"threshold": 1.1},
        {"threshold": -0.1},
        {"num_perm": 1},
        {"num_part": 0},
        {"m": 1},
        {"m": 9},
        {"weights": (0.5, 0.6)},
        {"weights": (1.5, -0.5)},
        {"storage_config": {"type": "nowhere"}},
        {"prepickle": True},
    ):
        same(lambda of, more=more: made(of, **more).h, theirs)

    def index(of, *entries):
        ensemble = made(of)
        for some in entries:
            ensemble.index(some(of))
        return sorted(ensemble.query(of.MinHash(8), 1))

    one = lambda of: [("a", of.MinHash(8), 1)]  # noqa: E731
    for entries in (
        (lambda of: [],),
        (lambda of: iter([("a", of.MinHash(8), 0)]),),
        (lambda of: [("a", of.MinHash(9), 1)],),
        (lambda of: [("a", of.MinHash(8), 1)] * 2,),
        (lambda of: [("a", of.MinHash(8), 1), ("b", of.MinHash(8, scheme="legacy"), 1)],),
        (one, one),
        (one,),
    ):
        same(lambda of, entries=entries: index(of, *entries), theirs)
    same(lambda of: list(made(of).query(of.MinHash(9), 1)), theirs)
