# SPDX-License-Identifier: Apache-2.0
"""bandmill.compat.datasketch beside datasketch 2: the same calls give the same results and the same kinds of errors.

python/tools/tokens.c, python/tools/buckets.c and python/bandmill/compat; test_compat_sessions.py has the sessions of an index.
Where datasketch is not installed, the known answers and the examples alone.
"""

import copy
import hashlib
import pickle
import random
import struct

import numpy as np
import pytest
from beside_datasketch import outcome, plain, same

import bandmill.compat.datasketch as ours

SCHEMES = ("affine32", "affine64", "legacy")


def weak_hash(item):
    return sum(item) * 2654435761 % 2**32


def wide_hash(item):
    return sum(item) * 0x9E3779B97F4A7C15 % 2**64


def token(draw):
    return draw.randbytes(draw.choice((0, 1, 3, 8, 20, 55, 56, 63, 64, 65, 119, 120, 200)))


# --- known answers ---


def test_known_answers():
    m = ours.MinHash(4)
    assert m.permutations.tolist() == [
        [3582191691, 4270784983, 1892572953, 3715639441],
        [491263, 550290313, 1298508491, 4290846341],
    ]
    m.update(b"Hello")
    assert m.hashvalues.tolist() == [3231258861, 1388533999, 831950533, 1845606703]
    m = ours.MinHash(4, scheme="affine64")
    m.update(b"Hello")
    assert m.hashvalues.tolist() == [17263807126536662982, 6203611050164820875, 4141308390362884389, 4915270424612038026]
    m = ours.MinHash(8, seed=42, scheme="legacy")
    m.update_batch(b"datasketch minhash affine legacy fixture".split())
    lean = ours.LeanMinHash(m)
    buf = bytearray(lean.bytesize("<"))
    lean.serialize(buf, "<")
    assert buf.hex() == "2a000000000000000800000093cfb424441c1318d9f50f8030edf5037be01a6e2c3d22432e12f7122468c930"
    words = ours.MinHash.bulk([[b"hello", b"world", b"minhash"]], scheme="legacy")[0].hashvalues.astype("<u4")
    assert hashlib.sha1(words.tobytes()).hexdigest() == "91d0d75fd54040c836d8193b0584053fde5cf599"


def test_sha1_of_many():
    """hashlib's, whatever lengths lie beside each other."""
    tokens = [bytes([n % 251]) * n for n in range(300)]
    tokens += [*tokens[::-1], b"x" * 5000, b"", b"y"]
    for scheme, width, letter in (("affine32", 4, "I"), ("affine64", 8, "Q"), ("legacy", 4, "I")):
        own = ours.MinHash.bulk([[t] for t in tokens], num_perm=3, scheme=scheme)
        at_once = ours.MinHash(3, scheme=scheme)
        at_once.update_batch(tokens)
        for t, m in zip(tokens, own):
            (value,) = struct.unpack("<" + letter, hashlib.sha1(t).digest()[:width])
            known = ours.MinHash(3, scheme=scheme, hashfunc=lambda _, value=value: value)
            known.update(None)
            assert known.hashvalues.tolist() == m.hashvalues.tolist()
        assert at_once == ours.MinHash.union(*own)


# --- examples in the style of datasketch's ---


def test_examples():
    from bandmill.compat.datasketch import LeanMinHash, MinHash, MinHashLSH

    first = ["the", "river", "rose", "by", "a", "metre", "in", "one", "night"]
    second = ["the", "river", "fell", "by", "a", "metre", "in", "one", "week"]
    m1, m2 = MinHash(num_perm=256), MinHash(num_perm=256)
    for word in first:
        m1.update(word.encode("utf8"))
    m2.update_batch([word.encode("utf8") for word in second])
    true = len(set(first) & set(second)) / len(set(first) | set(second))
    assert abs(m1.jaccard(m2) - true) < 0.15
    lean = LeanMinHash(m1)
    buf = bytearray(lean.bytesize())
    lean.serialize(buf)
    assert LeanMinHash.deserialize(buf) == lean and {lean: 1}[LeanMinHash(m1)] == 1
    assert pickle.loads(pickle.dumps(m2)) == m2
    assert abs(MinHash.union(m1, m2).count() - len(set(first) | set(second))) < 4
    lsh = MinHashLSH(threshold=0.5, num_perm=256)
    with lsh.insertion_session() as session:
        for key, m in (("rose", m1), ("fell", m2)):
            session.insert(key, m)
    assert sorted(lsh.query(m1)) == ["fell", "rose"] and "rose" in lsh
    lsh.remove("fell")
    assert lsh.query(m2) == ["rose"] and not lsh.is_empty()
    bulk = MinHash.bulk([[w.encode() for w in first], [w.encode() for w in second]], num_perm=256)
    assert bulk == [m1, m2] and list(MinHash.generator([[w.encode() for w in first]], num_perm=256)) == [m1]


# --- beside datasketch ---

CONSTRUCTORS = [
    {"num_perm": 0},
    {"num_perm": -3},
    {"num_perm": "a"},
    {"num_perm": 2.5},
    {"num_perm": 2**32 + 1},
    {"num_perm": np.int64(3)},
    {"seed": -1},
    {"seed": 2**32},
    {"seed": 2.0},
    {"seed": np.uint32(5)},
    {"seed": True},
    {"seed": 2**32 - 1},
    {"hashfunc": 1},
    {"gpu_mode": "detect"},
    {"gpu_mode": "always"},
    {"nope": 1},
]
VALUES = [
    [1, 2, 3],
    [1.5, 2.0],
    [2**32, 1],
    [-1, 2],
    [2**64, 1],
    ["a", "b"],
    [],
    [[1, 2], [3, 4]],
    [None, 1],
    np.array([1, 2]),
    np.array([-1, 2]),
    np.array([1.5, 2]),
    np.array([2**32, 2], np.uint64),
    np.array([1, 2], np.uint32),
    {3, 4},
    5,
    "12",
    range(2),
    np.array([True, False]),
]
COEFFICIENTS = [
    ([1, 3], [5, 6]),
    ([1, 3, 5], [5, 6, 7]),
    ([2, 3], [5, 6]),
    ([1, 3], [5]),
    np.array([[1, 3], [5, 6]]),
    np.array([[1, 3], [5, 6]], np.uint32),
    np.array([[1, 3], [5, 6]], np.uint64),
    ([1, 2**32 + 1], [0, 1]),
    ([1, -3], [5, 6]),
    ((1,), (2,)),
    ([1, 3], [5, 6], [7, 8]),
    ([1, 3],),
    5,
    ("a", "b"),
    ([], []),
]
HASHES = [5, -1, 2**32, 2**64, 1.5, "x", None, np.uint32(7), np.int64(-1), True, np.uint64(2**33), 2**63, b"a"]
ITEMS = ["text", None, 5, np.int64(5), bytearray(b"a"), memoryview(b"a"), 1.5, np.array([1, 2, 3]), b"bytes"]


def test_constructors(theirs):
    raised = 0
    for scheme in (*SCHEMES, "other", None):
        for keywords in CONSTRUCTORS:
            raised += (
                same(lambda p, k=keywords, s=scheme: p.MinHash(**{"num_perm": 4, **k, "scheme": s}), theirs)[0] == "raised"
            )
        for values in VALUES:
            same(lambda p, v=values, s=scheme: p.MinHash(hashvalues=v, scheme=s), theirs)
            same(lambda p, v=values, s=scheme: p.LeanMinHash(seed=3, hashvalues=v, scheme=s), theirs)
        for given in COEFFICIENTS:
            same(lambda p, g=given, s=scheme: plain(p.MinHash(2, permutations=g, scheme=s).permutations), theirs)
            same(lambda p, g=given, s=scheme: p.MinHash.bulk([[b"a", b"b"], []], num_perm=2, permutations=g, scheme=s), theirs)
    assert raised > 30
    for package in (ours, theirs):
        with pytest.warns(DeprecationWarning):
            package.MinHash(4, hashobj=hashlib.sha1)


def test_items_and_hash_functions(theirs):
    for scheme in SCHEMES:
        for item in ITEMS:
            for call in (one_update, one_batch, one_bulk):
                same(lambda p, i=item, c=call, s=scheme: c(p, i, scheme=s), theirs)
        for value in HASHES:
            for call in (one_update, one_batch, one_bulk):
                same(lambda p, v=value, c=call, s=scheme: c(p, b"a", scheme=s, hashfunc=lambda _: v), theirs)
        for batch in (None, 5, ["a"], b"ab", {b"ab"}, (b"a", b"b"), [b"a", None], []):
            same(lambda p, b=batch, s=scheme: p.MinHash.bulk([b], num_perm=4, scheme=s), theirs)
            same(lambda p, b=batch, s=scheme: p.MinHash.bulk(b, num_perm=4, scheme=s), theirs)
            same(lambda p, b=batch, s=scheme: p.MinHash.bulk([b], hashvalues=[9, 8], scheme=s), theirs)
            same(lambda p, b=batch, s=scheme: p.MinHash.bulk([b], num_perm=4, scheme=s, gpu_mode="always"), theirs)
            same(lambda p, b=batch, s=scheme: p.LeanMinHash.bulk([b], minhash=p.MinHash(4, scheme=s)), theirs)
        same(lambda p, s=scheme: p.MinHash.bulk(np.arange(60).reshape(6, 10), num_perm=8, scheme=s), theirs)
        same(lambda p, s=scheme: p.MinHash.bulk([[b"a"]] * 3, num_perm=2000, scheme=s), theirs)
        same(lambda p, s=scheme: p.MinHash.bulk((iter(x) for x in ([b"a"], [], [b"b", b"a"])), scheme=s), theirs)
    same(lambda p: p.MinHash.bulk([], nope=1), theirs)


def one_update(package, item, **keywords):
    m = package.MinHash(4, **keywords)
    m.update(item)
    return m


def one_batch(package, item, **keywords):
    m = package.MinHash(4, **keywords)
    m.update_batch([b"first", item])
    return m


def one_bulk(package, item, **keywords):
    return package.MinHash.bulk([[b"first", b"b"], [item], []], num_perm=4, **keywords)


def make_call(draw):
    """A random call on two of the sketches: a name, and a function of (package, sketches)."""
    i, j = draw.randrange(6), draw.randrange(6)
    item, items = token(draw), [token(draw) for _ in range(draw.randrange(12))]
    order = draw.choice("@=<>!")
    return draw.choice(
        [
            lambda p, m: m[i].update(item),
            lambda p, m: m[i].update(item),
            lambda p, m: m[i].update_batch(items),
            lambda p, m: m[i].update_batch(x for x in items),
            lambda p, m: m[i].merge(m[j]),
            lambda p, m: m[i].jaccard(m[j]),
            lambda p, m: (len(m[i]), m[i].count(), m[i].is_empty(), m[i].digest()),
            lambda p, m: (m[i] == m[j], m[i] != m[j], m[i] == 5),
            lambda p, m: p.MinHash.union(m[i], m[j]),
            lambda p, m: p.LeanMinHash.union(m[i], m[j], m[i]),
            lambda p, m: type(m[i]).union(m[i]),
            lambda p, m: m[i].clear() if len(items) == 1 else None,
            lambda p, m: m.__setitem__(i, m[j].copy()),
            lambda p, m: m.__setitem__(i, copy.copy(m[j])),
            lambda p, m: m.__setitem__(i, copy.deepcopy(m[j])),
            lambda p, m: m.__setitem__(i, pickle.loads(pickle.dumps(m[j]))),
            lambda p, m: m.__setitem__(5, p.LeanMinHash(m[j])),
            lambda p, m: p.LeanMinHash(m[i], scheme=m[j].scheme),
            lambda p, m: p.MinHash(seed=m[i].seed, hashvalues=m[i].digest(), scheme=m[i].scheme),
            lambda p, m: m[i].bytesize(order),
            lambda p, m: serialized(p.LeanMinHash(m[i]), order, len(items) - 2),
            lambda p, m: hash(m[i]) and 0,
            lambda p, m: (m[i].num_perm, m[i].permutations),
            lambda p, m: sorted(vars(m[i]).keys() - {"_a_gpu", "_b_gpu"}),
            lambda p, m: p.MinHash.bulk([items, [item], []], num_perm=len(m[i]), seed=m[i].seed, scheme=m[i].scheme),
            lambda p, m: list(p.MinHash.generator([items], num_perm=8, scheme=m[i].scheme, hashfunc=m[j].hashfunc)),
        ]
    )


def serialized(lean, order, extra):
    buf = bytearray(lean.bytesize(order) + extra)
    lean.serialize(buf, order)
    return bytes(buf)


def starting(package, draw):
    scheme = draw.choice(SCHEMES)
    size = draw.choice((1, 4, 17, 128))
    hashfunc = draw.choice((None, None, wide_hash if scheme == "affine64" else weak_hash))
    usual = [package.MinHash(size, scheme=scheme, hashfunc=hashfunc) for _ in range(3)]
    odd = [
        package.MinHash(size, seed=draw.randrange(2), scheme=scheme),
        package.MinHash(draw.choice((size, 5)), scheme=draw.choice(SCHEMES)),
    ]
    return [*usual, *odd, package.LeanMinHash(usual[0])]


def test_random_calls_of_sketches(theirs):
    raised = 0
    for run in range(40):
        draw = random.Random(run)
        mine, other = starting(ours, random.Random(run)), starting(theirs, random.Random(run))
        for _ in range(60):
            call = make_call(draw)
            got, wanted = outcome(lambda c=call, m=mine: c(ours, m)), outcome(lambda c=call, m=other: c(theirs, m))
            assert got == wanted
            raised += got[0] == "raised"
            assert plain(mine) == plain(other)
    assert raised > 100


def test_lean_bytes_both_ways(theirs):
    draw = random.Random(5)
    for scheme in SCHEMES:
        m = ours.MinHash(9, seed=11, scheme=scheme)
        m.update_batch([token(draw) for _ in range(20)])
        for order in "@=<>!":
            for extra in (0, 3):
                mine = serialized(ours.LeanMinHash(m), order, extra)
                read = theirs.LeanMinHash.deserialize(mine, order)
                assert plain(read) == plain(ours.LeanMinHash(m)) and hash(read) == hash(ours.LeanMinHash(m))
                assert serialized(read, order, extra) == mine
                assert ours.LeanMinHash.deserialize(serialized(read, order, extra), order) == ours.LeanMinHash(m)
            for size in range(len(mine)):
                same(lambda p, b=mine[:size], o=order: p.LeanMinHash.deserialize(b, o), theirs)
        assert (
            ours.LeanMinHash(m).__getstate__()
            == theirs.LeanMinHash.deserialize(serialized(ours.LeanMinHash(m), "@", 0)).__getstate__()
        )
        same(lambda p, s=scheme: serialized(p.LeanMinHash(seed=2**64, hashvalues=[1], scheme=s), "<", 0), theirs)
        same(lambda p, s=scheme: serialized(p.LeanMinHash(seed=1, hashvalues=[2**40], scheme=s), "<", 0), theirs)
    for data in (struct.pack("<qiB", 1, -2, 9) + b"12345678", struct.pack("<qi", 1, 0), None, "text", struct.pack("<qi", 1, 5)):
        same(lambda p, d=data: p.LeanMinHash.deserialize(d, "<"), theirs)
    for keywords in ({}, {"seed": 1}, {"hashvalues": [1]}, {"minhash": 5}, {"seed": 1, "hashvalues": [1]}):
        same(lambda p, k=keywords: p.LeanMinHash(**k), theirs)


# --- MinHashLSH beside datasketch's ---

INDEXES = [
    {"threshold": 1.1},
    {"threshold": -0.1},
    {"threshold": 0},
    {"threshold": 1},
    {"threshold": None},
    {"num_perm": 0},
    {"num_perm": 1},
    {"num_perm": 2},
    {"num_perm": 3, "threshold": 0.3},
    {"num_perm": 2.5},
    {"weights": (0.6, 0.6)},
    {"weights": (-1, 2)},
    {"weights": (0.5, 0.5, 0)},
    {"weights": (1, 0)},
    {"weights": (0, 1)},
    {"weights": (0.3, 0.7)},
    {"weights": None},
    {"params": (3, 3), "num_perm": 8},
    {"params": (3, 3), "num_perm": 9},
    {"params": (1, 5)},
    {"params": (0, 1)},
    {"params": (-1, 3)},
    {"params": (3,)},
    {"params": (1, 2, 3)},
    {"params": (2.0, 3)},
    {"params": 5},
    {"storage_config": {"type": "dict"}},
    {"storage_config": {"type": "other"}},
    {"storage_config": {"basename": b"name"}},
    {"storage_config": {}},
    {"storage_config": "dict"},
    {"storage_config": {"type": "dict", "basename": b"name"}},
    {"storage_config": {"type": "dict", "basename": "name"}},
    {"prepickle": True},
    {"prepickle": False},
    {"hashfunc": 5},
    {"other": 1},
]


def shape(lsh):
    return (
        lsh.b,
        lsh.r,
        lsh.h,
        lsh.prepickle,
        lsh.hashfunc,
        lsh.buffer_size,
        len(lsh.hashtables),
        lsh.hashranges,
        lsh.is_empty(),
    )


def test_index_constructors(theirs):
    for keywords in INDEXES:
        same(lambda p, k=keywords: shape(p.MinHashLSH(**k)), theirs)
    with pytest.raises(NotImplementedError, match="redis"):
        ours.MinHashLSH(storage_config={"type": "redis", "redis": {"host": "localhost"}})


def test_bands_of_thresholds(theirs):
    draw = random.Random(9)
    for _ in range(120):
        threshold = draw.choice((draw.random(), round(draw.random(), 1), round(draw.random(), 2)))
        size = draw.choice((2, 3, 5, 10, 16, 32, 64, 100, 128))
        weights = draw.choice(((0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.9, 0.1), (0.25, 0.75), (0, 1)))
        same(lambda p, a=(threshold, size, weights): shape(p.MinHashLSH(*a)), theirs)


def first_bytes(data):
    return data[:2]


def make_index_call(draw):
    """A random call on two indexes: a function of (package, indexes, sketches)."""
    i, j, key, n = draw.randrange(4), draw.randrange(4), draw.randrange(12), draw.randrange(30)
    keys = [draw.randrange(14) for _ in range(draw.randrange(4))]
    check = draw.random() < 0.8
    rare = draw.random() < 0.2
    return draw.choice(
        [
            *[lambda p, ix, m: ix[i].insert(key, m[n], check_duplication=check)] * 4,
            lambda p, ix, m: ix[i].insert(("pair", key), m[n]),
            lambda p, ix, m: ix[i].insert([key] if rare else str(key), m[n]),
            *[lambda p, ix, m: sorted(ix[i].query(m[n]), key=repr)] * 4,
            lambda p, ix, m: sorted(ix[i].query(p.LeanMinHash(m[n])), key=repr),
            *[lambda p, ix, m: ix[i].remove(key)] * 2,
            lambda p, ix, m: (key in ix[i], ix[i].is_empty()),
            lambda p, ix, m: ix[i].get_counts(),
            lambda p, ix, m: ix[i].get_subset_counts(*keys),
            lambda p, ix, m: [inserting(ix[i], k, m[n]) for k in keys],
            lambda p, ix, m: [removing(ix[i], k) for k in keys],
            lambda p, ix, m: ix[i].merge(ix[j], check_overlap=check) if rare else None,
            lambda p, ix, m: ix[i].merge(5),
            lambda p, ix, m: [ix[i].add_to_query_buffer(m[(n + k) % 30]) for k in keys],
            lambda p, ix, m: sorted(ix[i].collect_query_buffer(), key=repr),
            lambda p, ix, m: ix.__setitem__(i, pickle.loads(pickle.dumps(ix[i]))),
            lambda p, ix, m: ix.__setitem__(i, copy.deepcopy(ix[j])) if rare else None,
            lambda p, ix, m: (sorted(ix[i].keys, key=repr), ix[i].keys[key], ix[i].keys.get(key), ix[i].keys.size()),
            lambda p, ix, m: (ix[i].hashtables[0].status(), ix[i].hashtables[0].itemcounts(), len(ix[i].hashtables[1])),
        ]
    )


def inserting(index, key, sketch):
    with index.insertion_session(buffer_size=7) as session:
        session.insert(key, sketch)
    return index.buffer_size


def removing(index, key):
    with index.deletion_session() as session:
        session.remove(key)
    return index.buffer_size


def indexes(package, draw):
    scheme = draw.choice(SCHEMES)
    sketches = package.MinHash.bulk(
        [[b"%d" % draw.randrange(12) for _ in range(draw.randrange(14))] for _ in range(28)], num_perm=24, scheme=scheme
    )
    sketches += [package.MinHash(24, scheme=draw.choice(SCHEMES)), package.MinHash(9)]
    usual = {"threshold": draw.choice((0.3, 0.5, 0.7)), "num_perm": 24, "prepickle": draw.random() < 0.3}
    hashed = first_bytes if draw.random() < 0.3 else None
    return [
        package.MinHashLSH(**usual),
        package.MinHashLSH(**usual),
        package.MinHashLSH(**usual, hashfunc=hashed),
        package.MinHashLSH(num_perm=24, params=(4, 5)),
    ], sketches


def test_random_calls_of_indexes(theirs):
    raised = 0
    for run in range(40):
        draw = random.Random(run)
        mine, other = indexes(ours, random.Random(run)), indexes(theirs, random.Random(run))
        for _ in range(60):
            call = make_index_call(draw)
            got, wanted = outcome(lambda c=call, m=mine: c(ours, *m)), outcome(lambda c=call, m=other: c(theirs, *m))
            assert got == wanted
            raised += got[0] == "raised"
        for one, two in zip(mine[0], other[0]):
            assert one.get_counts() == two.get_counts()
            assert {k: one.keys[k] for k in one.keys} == {k: two.keys[k] for k in two.keys}
    assert raised > 100


def test_tables_of_an_index(theirs):
    for name in ("keys", "tables"):
        for calls in range(200):
            draw = random.Random(calls)
            pair = [p.MinHashLSH(num_perm=8, params=(2, 4)) for p in (ours, theirs)]
            mine, other = [lsh.keys if name == "keys" else lsh.hashtables[0] for lsh in pair]
            for _ in range(8):
                call = make_table_call(draw)
                assert outcome(lambda c=call, t=mine: c(t)) == outcome(lambda c=call, t=other: c(t))
                assert {k: mine[k] for k in mine} == {k: other[k] for k in other}


def make_table_call(draw):
    key, value = draw.randrange(3), draw.randrange(3)
    return draw.choice(
        [
            lambda t: t.insert(key, value, value),
            lambda t: t.insert(key),
            lambda t: t.insert(key, value, buffer=True),
            lambda t: (t.get(key), t[key], t.getmany(0, 1, 2)),
            lambda t: (key in t, t.has_key(key), len(t), t.size(), t.status(), t.itemcounts(), list(t), list(t.keys())),
            lambda t: t.remove(key),
            lambda t: t.__delitem__(key),
            lambda t: t.remove_val(key, value),
            lambda t: t.add_to_select_buffer([key, value]),
            lambda t: t.collect_select_buffer(),
            lambda t: (t.empty_buffer(), t.buffer_size),
        ]
    )


def make_query_call(draw):
    """As make_index_call, but nothing that shows the tables: queries are answered from the buckets beside them."""
    i, j, key, n = draw.randrange(3), draw.randrange(3), draw.randrange(400), draw.randrange(60)
    lean, many = draw.random() < 0.3, [draw.randrange(60) for _ in range(draw.randrange(40))]
    return draw.choice(
        [
            *[lambda p, ix, m: ix[i].insert(key, m[n])] * 4,
            *[lambda p, ix, m: sorted(ix[i].query(p.LeanMinHash(m[n]) if lean else m[n]), key=repr)] * 6,
            lambda p, ix, m: [sorted(ix[i].query(m[k]), key=repr) for k in many],
            lambda p, ix, m: [ix[i].insert(("more", key, k), m[k], check_duplication=False) for k in many],
            *[lambda p, ix, m: ix[i].remove(key)] * 2,
            lambda p, ix, m: ix[i].insert((key,), m[n], check_duplication=False) if lean else None,
            lambda p, ix, m: ix[i].merge(ix[j], check_overlap=True),
            lambda p, ix, m: ix.__setitem__(i, pickle.loads(pickle.dumps(ix[j]))),
            lambda p, ix, m: ix.__setitem__(i, copy.deepcopy(ix[j])),
            lambda p, ix, m: ix.__setitem__(i, copy.copy(ix[j])) if lean and key < 40 else None,
            lambda p, ix, m: (key in ix[i], ix[i].is_empty(), ix[i].get_counts()),
        ]
    )


def test_random_queries(theirs):
    answered = 0
    for run in range(24):
        draw, pairs = random.Random(run), []
        for package in (ours, theirs):
            same_draw = random.Random(run + 100)
            scheme, other = same_draw.sample(SCHEMES, 2)
            sets = [[b"%d" % same_draw.randrange(20) for _ in range(same_draw.randrange(1, 12))] for _ in range(58)]
            sketches = package.MinHash.bulk(sets, num_perm=24, scheme=scheme)
            sketches += [package.MinHash(24, scheme=other), package.MinHash(9, scheme=scheme)]
            usual = {"threshold": same_draw.choice((0.3, 0.5, 0.8)), "num_perm": 24, "prepickle": run % 3 == 0}
            pairs.append(([package.MinHashLSH(**usual) for _ in range(3)], sketches))
        for _ in range(80):
            call = make_query_call(draw)
            got = outcome(lambda c=call, m=pairs[0]: c(ours, *m))
            assert got == outcome(lambda c=call, m=pairs[1]: c(theirs, *m))
            answered += sum(index._buckets is not None for index in pairs[0][0])
    assert answered > 1000


def test_other_values_of_a_sketch(theirs):
    """What is no array of the scheme's type is found as datasketch finds it, or raises as there."""
    values = np.arange(8, dtype=np.uint32) * 77
    kinds = [
        values,
        values[::-1],
        values.astype(np.uint64),
        values.astype(">u4"),
        values.astype(np.float64),
        np.stack([values, values], axis=1),
        np.stack([values, values], axis=1)[:, 0],
        values[:7],
        list(values),
    ]
    for first in kinds:
        for second in kinds:

            def answers(package, first=first, second=second):
                lsh = package.MinHashLSH(num_perm=8, params=(2, 4))
                sketches = [package.MinHash(8) for _ in range(2)]
                for sketch, given in zip(sketches, (first, second)):
                    sketch.hashvalues = given
                lsh.insert("first", sketches[0])
                found = [lsh.query(sketches[1])]
                lsh.insert("second", sketches[1])
                return [*found, *[sorted(lsh.query(s)) for s in sketches]]

            same(answers, theirs)
