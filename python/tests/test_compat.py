"""bandmill.compat.datasketch beside datasketch 2: the same calls give the same results and the same kinds of errors.

python/tools/tokens.c and python/bandmill/compat. Where datasketch is not installed, the known answers and the examples alone.
"""

import copy
import hashlib
import pickle
import random
import struct

import numpy as np
import pytest

import bandmill.compat.datasketch as ours

SCHEMES = ("affine32", "affine64", "legacy")


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("datasketch", minversion="2")


def outcome(call):
    """What a call gives, or the kind of its error."""
    try:
        return "gave", plain(call())
    except Exception as e:
        return "raised", type(e).__name__


def plain(value):
    """A result as what can be compared whichever package made it."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if hasattr(value, "hashvalues"):
        return type(value).__name__, value.scheme, value.seed, plain(value.hashvalues)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value


def same(call, theirs):
    """`call` of either package comes to the same; what it came to."""
    mine, other = outcome(lambda: call(ours)), outcome(lambda: call(theirs))
    assert mine == other
    return mine


def weak_hash(item):
    return sum(item) * 2654435761 % 2**32


def wide_hash(item):
    return sum(item) * 0x9E3779B97F4A7C15 % 2**64


def token(draw):
    return bytes(draw.randrange(256) for _ in range(draw.choice((0, 1, 3, 8, 20, 55, 56, 63, 64, 65, 119, 120, 200))))


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
    from bandmill.compat.datasketch import LeanMinHash, MinHash

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
