# SPDX-License-Identifier: Apache-2.0
"""Insertion sessions of bandmill.compat.datasketch beside datasketch 2, and the batches that the library signs.

python/bandmill/compat/_lsh.py and _schemes.py, python/tools/buckets.c. An insertion fills the tables late: each sequence looks
at them, or changes them, at another time.
"""

import copy
import importlib
import inspect
import pickle
import random
import sys
import threading

import numpy as np
import pytest
from beside_datasketch import outcome, plain, same

import bandmill.compat.datasketch as ours

SCHEMES = ("affine32", "affine64", "legacy")
BUFFERS = (1, 7, 50000, 0, -1, None, "x")


class Bench:
    """Indexes, sketches, open sessions and views of tables, of one package."""

    def __init__(self, package, draw):
        self.package = package
        scheme, other = draw.sample(SCHEMES, 2)
        words = [[b"%d" % draw.randrange(20) for _ in range(draw.randrange(1, 12))] for _ in range(40)]
        self.sketches = package.MinHash.bulk(words, num_perm=24, scheme=scheme)
        self.sketches += [package.LeanMinHash(m) for m in self.sketches[:10]]
        self.odd = [
            package.MinHash(24, scheme=other),
            package.MinHash(9, scheme=scheme),
            None,
            5,
            package.MinHash(24, scheme=scheme),
        ]
        self.odd[-1].hashvalues = [1, 2, 3] * 8
        usual = {"threshold": draw.choice((0.3, 0.5, 0.8)), "num_perm": 24, "prepickle": draw.random() < 0.3}
        hashed = first_bytes if draw.random() < 0.2 else None
        self.indexes = [package.MinHashLSH(**usual) for _ in range(2)] + [package.MinHashLSH(**usual, hashfunc=hashed)]
        self.sessions = [index.insertion_session() for index in self.indexes]
        self.views = []

    def state(self):
        return [
            (
                index.get_counts(),
                [(key, index.keys[key]) for key in index.keys],
                [{band: sorted(table[band], key=repr) for band in table} for table in index.hashtables],
                index.buffer_size,
            )
            for index in self.indexes
        ]

    def seen(self):
        return [[(key, sorted(view[key], key=repr)) for key in view] for view in self.views]


def first_bytes(data):
    return data[:2]


class OfTheBlock(Exception):
    """What a block raises by itself."""


def insert_block(bench, i, entries, size, stop):
    """A with-statement of insertions; it raises after `stop` of them."""
    index = bench.indexes[i]
    with index.insertion_session(buffer_size=size) as session:
        for at, (key, n, check) in enumerate(entries):
            if at == stop:
                raise OfTheBlock
            session.insert(key, bench.sketches[n], check_duplication=check)


def insert_odd(bench, i, key, n, check):
    try:
        bench.sessions[i].insert(key, bench.odd[n], check_duplication=check)
    finally:
        bench.sessions[i].insert(("after", key), bench.sketches[n])


def new_session(bench, i, size):
    bench.sessions[i] = bench.indexes[i].insertion_session(buffer_size=size)
    assert bench.sessions[i].__enter__() is bench.sessions[i]
    return [storage.buffer_size for storage in (bench.indexes[i], *bench.views)]


def swap_index(bench, i, made):
    bench.indexes[i] = made
    bench.sessions[i] = made.insertion_session(buffer_size=3)


def remove_block(bench, i, keys):
    with bench.indexes[i].deletion_session(buffer_size=2) as session:
        for key in keys:
            session.remove(key)


def look_at(bench, i, which):
    if len(bench.views) < 4:
        bench.views.append(bench.indexes[i].keys if which < 0 else bench.indexes[i].hashtables[which])


def session_call(draw, looks):
    """A random call on a bench. `looks`: how likely one is that shows the tables."""
    i, j, n = draw.randrange(3), draw.randrange(3), draw.randrange(50)
    key = draw.choice((draw.randrange(60), draw.randrange(60), "k", ("t", 1), 2.0, True, None, b"b"))
    entries = [(draw.randrange(400), draw.randrange(50), draw.random() < 0.9) for _ in range(draw.randrange(30))]
    stop, size = draw.choice((-1, draw.randrange(30))), draw.choice(BUFFERS)
    check, odd = draw.random() < 0.9, draw.randrange(5)
    usual = [
        *[lambda b: insert_block(b, i, entries, size, stop)] * 6,
        *[lambda b: b.sessions[i].insert(key, b.sketches[n], check)] * 3,
        *[lambda b: answered(b.indexes[i], b.sketches[n])] * 4,
        lambda b: insert_odd(b, i, key, odd, check),
        lambda b: b.sessions[i].insert([], b.sketches[n], check_duplication=check),
        lambda b: b.sessions[i].insert([], b.odd[odd], check_duplication=check),
        lambda b: new_session(b, i, size),
        lambda b: b.sessions[i].close(),
        lambda b: b.sessions[i].__exit__(None, None, None),
        lambda b: (key in b.indexes[i], b.indexes[i].is_empty(), b.indexes[i].buffer_size),
        lambda b: answered(b.indexes[i], b.odd[odd]),
        lambda b: remove_block(b, i, [k for k, _, _ in entries[:3]]),
        lambda b: b.indexes[i].remove(key),
        lambda b: b.indexes[i].merge(b.indexes[j], check_overlap=check),
        *[lambda b: b.indexes[i].add_to_query_buffer(b.sketches[n])] * 2,
        lambda b: sorted(b.indexes[i].collect_query_buffer(), key=repr),
        lambda b: swap_index(b, i, pickle.loads(pickle.dumps(b.indexes[j]))),
        lambda b: swap_index(b, i, copy.deepcopy(b.indexes[j])),
    ]
    shows = [
        lambda b: b.indexes[i].get_counts(),
        lambda b: b.indexes[i].get_subset_counts(*[k for k, _, _ in entries]),
        lambda b: look_at(b, i, n % 3 - 1),
        lambda b: swap_index(b, i, copy.copy(b.indexes[j])),
    ]
    return draw.choice(shows) if draw.random() < looks else draw.choice(usual)


def test_random_sessions(theirs):
    late = raised = 0
    for run in range(60):
        draw, looks = random.Random(run), (0, 0.02, 0.1)[run % 3]
        mine, other = (Bench(package, random.Random(run)) for package in (ours, theirs))
        for _ in range(30):
            call = session_call(draw, looks)
            got, wanted = outcome(lambda c=call, b=mine: c(b)), outcome(lambda c=call, b=other: c(b))
            assert got == wanted
            assert mine.seen() == other.seen()
            late += sum(bool(index._late) for index in mine.indexes)
            raised += got[0] == "raised"
        assert mine.state() == other.state()
        for m, o in zip(mine.sketches, other.sketches):
            for one, two in zip(mine.indexes, other.indexes):
                assert outcome(lambda i=one, m=m: answered(i, m)) == outcome(lambda i=two, o=o: answered(i, o))
    assert late > 500 and raised > 200


def answered(index, sketch):
    return sorted(index.query(sketch), key=repr)


def test_values_are_those_of_the_insertion(theirs):
    """A sketch that changes after it was inserted is found by what it was."""

    def answers(package):
        lsh = package.MinHashLSH(threshold=0.5, num_perm=32)
        sketch, was = package.MinHash(32), package.MinHash(32)
        for m in (sketch, was):
            m.update_batch([b"first", b"second"])
        with lsh.insertion_session() as session:
            session.insert("one", sketch)
            sketch.update_batch([b"%d" % i for i in range(50)])
            sketch.hashvalues[:5] = 0
            session.insert("two", sketch)
        return answered(lsh, was), answered(lsh, sketch), lsh.get_counts()

    same(answers, theirs)


def test_columns_of_values(theirs):
    """Values that are rows of two are kept and found as such, however the halves differ."""

    def answers(package):
        lsh = package.MinHashLSH(num_perm=8, params=(2, 4))
        rows = [np.arange(16, dtype=np.uint32).reshape(8, 2) * k for k in (1, 3)]
        sketches = [package.MinHash(8) for _ in range(4)]
        for sketch, values in zip(sketches, (*rows, rows[0][:, ::-1], rows[0].reshape(16)[:8])):
            sketch.hashvalues = values
        for key, sketch in enumerate(sketches):
            lsh.insert(key, sketch)
        return [answered(lsh, s) for s in sketches], lsh.get_counts()

    same(answers, theirs)


def test_bands_without_rows(theirs):
    for params in ((3, 0), (3, -1), (2, -2), (2, 4), (8, 1), (4, True)):
        same(lambda p, b=params: banded(p, b), theirs)


def banded(package, params):
    lsh = package.MinHashLSH(num_perm=8, params=params)
    sketches = package.MinHash.bulk([[b"a"], [b"b"], [b"a", b"b"]], num_perm=8)
    with lsh.insertion_session() as session:
        for key, sketch in enumerate(sketches):
            session.insert(key, sketch)
    return [answered(lsh, s) for s in sketches], lsh.get_counts(), lsh.is_empty()


def test_queries_of_threads_after_removals():
    """Buckets are made again while others ask: each answer is whole."""
    lsh = ours.MinHashLSH(threshold=0.5, num_perm=32)
    sketches = ours.MinHash.bulk([[b"%d" % (i // 3), b"%d" % (i // 3 + 1)] for i in range(300)], num_perm=32)
    with lsh.insertion_session() as session:
        for key, sketch in enumerate(sketches):
            session.insert(key, sketch)
    lsh.remove(299)
    wanted = [answered(pickle.loads(pickle.dumps(lsh)), s) for s in sketches[:40]]
    found = []

    def ask():
        found.extend([answered(lsh, s) for s in sketches[:40]] == wanted for _ in range(10))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert found == [True] * 40


def test_late_insertions_are_in_buckets_looked_up_before(theirs):
    """What a query buffer has looked up grows with later insertions, as long as the bucket was there."""

    def answers(package):
        lsh = package.MinHashLSH(threshold=0.5, num_perm=16)
        sketches = package.MinHash.bulk([[b"a"], [b"b"]], num_perm=16)
        lsh.insert(0, sketches[0])
        for sketch in sketches[:1] * 2:
            lsh.add_to_query_buffer(sketch)
        with lsh.insertion_session() as session:
            session.insert(1, sketches[0])
            session.insert(2, sketches[1])
        return answered_by(lsh.collect_query_buffer()), answered_by(lsh.collect_query_buffer())

    assert same(answers, theirs) == ("gave", [[0, 1], []])


def answered_by(keys):
    return sorted(keys, key=repr)


def test_weighted_sketches(theirs):
    """Sketches without a scheme, of two values a row."""
    generator = theirs.WeightedMinHashGenerator(6, sample_size=20, seed=3)
    draw = random.Random(2)
    weighted = [generator.minhash([draw.choice((1, 2, 9)) for _ in range(6)]) for _ in range(30)]

    def answers(package):
        lsh = package.MinHashLSH(num_perm=20, params=(10, 2))
        with lsh.insertion_session() as session:
            for key, sketch in enumerate(weighted):
                session.insert(key, sketch)
        lsh.remove(3)
        return [answered(lsh, sketch) for sketch in weighted], lsh.get_counts()

    same(answers, theirs)


def test_other_classes_of_datasketch_take_ours(theirs):
    sets = [[b"a", b"b", b"c"], [b"a", b"b"], [b"x"]]

    def answers(package):
        sketches = package.MinHash.bulk(sets)
        forest = theirs.MinHashLSHForest()
        for key, sketch in enumerate(sketches):
            forest.add(key, sketch)
        forest.index()
        return [sorted(forest.query(s, 2)) for s in sketches], [
            bytes(theirs.bBitMinHash(s, 4).__getstate__()) for s in sketches
        ]

    assert same(answers, theirs)[0] == "gave"


# --- the interface ---


@pytest.mark.parametrize(
    "name", ["MinHash", "LeanMinHash", "MinHashLSH", "MinHashLSHInsertionSession", "MinHashLSHDeletionSession"]
)
def test_interface(theirs, name):
    """Every public name is there, and callables have the same parameters with the same defaults."""
    mine, other = getattr(ours, name), getattr(importlib.import_module("datasketch.lsh"), name, None) or getattr(theirs, name)
    for public in (n for n in dir(other) if not n.startswith("_") or n == "__init__"):
        given = getattr(other, public)
        assert callable(given) == callable(getattr(mine, public))
        if callable(given):
            assert parameters(getattr(mine, public)) == parameters(given), public
    if not name.endswith("Session"):
        made = [getattr(p, name)(*([p.MinHash(4)] if name == "LeanMinHash" else [])) for p in (ours, theirs)]
        assert {n for n in vars(made[1]) if not n.startswith("_")} <= {n for n in dir(made[0]) if not n.startswith("_")}


def parameters(call):
    return [(p.name, p.kind, p.default) for p in inspect.signature(call).parameters.values()]


def test_pickles_of_all_protocols(theirs):
    def answers(package, protocol):
        sketches = package.MinHash.bulk([[b"a", b"b"], [b"a"]], num_perm=16, scheme="affine64")
        sketches.append(package.LeanMinHash(sketches[0]))
        lsh = package.MinHashLSH(threshold=0.5, num_perm=16)
        for key, sketch in enumerate(sketches):
            lsh.insert(key, sketch)
        lsh, *sketches = pickle.loads(pickle.dumps([lsh, *sketches], protocol))
        lsh.insert("more", sketches[0])
        sketches[1].update(b"c")
        return sketches, [answered(lsh, sketch) for sketch in sketches], lsh.get_counts()

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        same(lambda p, n=protocol: answers(p, n), theirs)


# --- batches that the library signs ---

BORDERS = (0, 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**33 + 7, 2**63, 2**64 - 2, 2**64 - 1)


def border_hash(item):
    return BORDERS[item] if item < len(BORDERS) else item * 0x9E3779B97F4A7C15 % 2**64


def low_border_hash(item):
    return border_hash(item) % 2**32


def test_batches_of_any_size(theirs):
    """bulk, generator and update_batch of hash values up to the widest, past what is done item by item."""
    for scheme in SCHEMES:
        draw = random.Random(scheme)
        for size, seed in ((1, 1), (5, 0), (128, 2**32 - 1), (300, 7)):
            sets = [[draw.randrange(40) for _ in range(draw.choice((0, 1, 15, 16, 17, 100)))] for _ in range(12)]
            for hashed in (border_hash, low_border_hash, None):
                items = sets if hashed else [[b"%d" % i for i in one] for one in sets]
                usual = {"num_perm": size, "seed": seed, "scheme": scheme, "hashfunc": hashed}
                same(lambda p, k=usual, s=items: p.MinHash.bulk(s, **k), theirs)
                same(lambda p, k=usual, s=items: list(p.MinHash.generator(iter(s), **k)), theirs)
                same(lambda p, k=usual, s=items: one_after_the_other(p, s, k), theirs)


def one_after_the_other(package, sets, keywords):
    m = package.MinHash(**keywords)
    m.update_batch(sets[0])
    begun = package.MinHash.bulk(sets, hashvalues=m.hashvalues, permutations=m.permutations, **{**keywords, "seed": 3})
    for items in sets:
        m.update_batch(items)
        for item in items[:3]:
            m.update(item)
    return m, begun


# --- objects of both packages beside each other ---


def test_each_takes_the_state_of_the_other(theirs):
    """What either's sketch is pickled as makes the other's."""
    for scheme in SCHEMES:
        made = [package.MinHash.bulk([[b"a", b"b"]], num_perm=9, seed=4, scheme=scheme)[0] for package in (ours, theirs)]
        for sketch, own, package in zip(made, (ours, theirs), (theirs, ours)):
            whole = package.MinHash.__new__(package.MinHash)
            whole.__setstate__(sketch.__getstate__())
            lean = package.LeanMinHash.__new__(package.LeanMinHash)
            lean.__setstate__(own.LeanMinHash(sketch).__getstate__())
            assert plain(whole) == plain(sketch) and plain(lean)[1:] == plain(sketch)[1:]
            whole.update_batch([b"c"])
            sketch.update_batch([b"c"])
            assert plain(whole) == plain(sketch) == plain(whole.copy())


def test_sketches_of_datasketch_are_taken(theirs):
    """Ours takes theirs wherever it takes a sketch."""
    sets = [[b"a", b"b", b"c"], [b"a", b"b"], [b"x"]]
    mine, other = ours.MinHash.bulk(sets), theirs.MinHash.bulk(sets)
    assert [m.jaccard(o) for m, o in zip(mine, other)] == [1.0] * 3
    assert plain(ours.MinHash.union(mine[0], other[2])) == plain(theirs.MinHash.union(other[0], mine[2]))
    assert plain(ours.LeanMinHash(other[1])) == plain(theirs.LeanMinHash(mine[1]))
    lsh = ours.MinHashLSH(threshold=0.5)
    with lsh.insertion_session() as session:
        for key, (m, o) in enumerate(zip(mine, other)):
            session.insert(key, o if key % 2 else m)
    assert [answered(lsh, o) for o in other] == [answered(lsh, m) for m in mine] == [[0, 1], [0, 1], [2]]
    with pytest.raises(ValueError, match="does not merge"):
        lsh.merge(theirs.MinHashLSH(threshold=0.5))
