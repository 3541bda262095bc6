# SPDX-License-Identifier: Apache-2.0
"""cws_model.py -- the scheme cws from its definition (docs/schemes.md), in NumPy: a float64 is an IEEE 754 double, and + - * /
of arrays round one by one as they do in C. It shares nothing with the library under test.

    python cws_model.py > tests/unit/sketch/cws_vectors.h

writes the golden vectors; the test reference_cws holds them against what this file makes."""
import random
import struct

import numpy as np

M32, M64, GOLDEN = 2**32 - 1, 2**64 - 1, 0x9E3779B97F4A7C15
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")


def outputs(seed):
    """MT19937, init_genrand(seed): its 32-bit outputs. Python's generator, begun in the state of NumPy's RandomState(seed)."""
    state = [seed & M32]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & M32)
    generator = random.Random()
    generator.setstate((3, tuple(state) + (624,), None))
    while True:
        yield generator.getrandbits(32)


def coefficients(seed, perms):
    """A row of five (a, b) for each permutation: the axes are permutations, five, two."""
    draw = outputs(seed)
    a = [2 * (next(draw) & 0x7FFFFFFF) + 1 for _ in range(5 * perms)]
    b = [next(draw) for _ in range(5 * perms)]
    return np.stack([np.array(numbers, np.uint64).reshape(perms, 5) for numbers in (a, b)], axis=-1)


def fmix64(k):
    """Of an int, or of an array of uint64."""
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & M64
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return k ^ k >> 33


def mixed(x):
    """e_0 … e_4 of each hash, as the last axis."""
    first, second, third = (fmix64(np.asarray(x, np.uint64) + np.uint64(n * GOLDEN & M64)) for n in range(3))
    return np.stack([first & M32, first >> 32, second & M32, second >> 32, third & M32], axis=-1)


def log(x):
    """Step by step what docs/schemes.md says; not math.log."""
    bits = np.asarray(x, np.float64).view(np.int64)
    tiny = bits < 2**52
    above = np.where(tiny, bits.astype(np.float64).view(np.int64), bits) - 0x3FE6A09E00000000
    k = (above >> 52) + np.where(tiny, -1074, 0)
    m = ((above & 2**52 - 1) + 0x3FE6A09E00000000).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 2.0 / 19
    for n in (17, 15, 13, 11, 9, 7, 5, 3):
        p = p * z + 2.0 / n
    ln_m = (s + s) + (s * z) * p
    return k * LN2_HIGH + (ln_m + k * LN2_LOW)


def value(e, row, ln_weight):
    """ln a of elements in permutations: of any axes, the last of `e` and the last two of `row` apart."""
    u = (row[..., 0] * e + row[..., 1] & M32) + 0.5
    r = -log(u[..., 0] * u[..., 1] * 2.0**-64)
    c = -log(u[..., 2] * u[..., 3] * 2.0**-64)
    beta = u[..., 4] * 2.0**-32
    t = np.floor(ln_weight / r + beta)
    return log(c) - r * ((t - beta) + 1.0)


def signature(elements, rows):
    """Words of a document: pairs of a 64-bit hash and a weight; rows as `coefficients` has them. Of equal values the lesser hash."""
    if not elements:
        return [M32] * len(rows)
    hashes, weights = np.array([x for x, _ in elements], np.uint64), np.array([weight for _, weight in elements])
    values = value(mixed(hashes)[:, None], rows, log(weights)[:, None])
    return (np.where(values == values.min(axis=0), hashes[:, None], np.uint64(M64)).min(axis=0) & M32).tolist()


# --- golden vectors: documents, and some of their words ---

def documents():
    """(name, seed, perms, elements): weights of every size, elements that are numbers in a row, and one that repeats."""
    hashes = [fmix64(i) for i in range(1, 121)]
    yield "one element", 1, 4, [(hashes[0], 1.0)]
    yield "two elements", 1, 16, [(hashes[0], 1.0), (hashes[1], 2.5)]
    yield "tf times ln(N/df)", 42, 128, [(x, (1 + i % 3) * log(1000.0 / (1 + i))) for i, x in enumerate(hashes[:40])]
    yield "from 1e-300 to 1e300", 7, 64, [(x, 10.0**(i * 50 - 300)) for i, x in enumerate(hashes[:13])]
    yield "all tiny", 7, 64, [(x, 5e-324 * (1 + i)) for i, x in enumerate(hashes[:16])]
    yield "all huge", 7, 64, [(x, 1.7976931348623157e308 / (1 + i)) for i, x in enumerate(hashes[:16])]
    yield "hashes in a row", 2**32 - 1, 100, [(i, 1.0 + i / 16) for i in range(20)]
    yield "given twice", 0, 32, [(hashes[i % 10], 1.0 + i) for i in range(20)]
    yield "long", 1, 8, [(x, 1.0 / (1 + i)) for i, x in enumerate(hashes)]


def crc(words):
    """Of words as little-endian bytes, one number for many: the band key of them all (band 0)."""
    k = 1
    for word in words:
        k = (k * GOLDEN + word) & M64
    return fmix64(k)


def packed(items, a_line):
    return ["    " + " ".join(items[i:i + a_line]) for i in range(0, len(items), a_line)]


def log_arguments():
    """2,000 numbers whose bits are those of fmix64: of every size, subnormal ones, and some between 1/2 and 2."""
    for i in range(2000):
        bits = fmix64(i + 1) & 2**63 - 1
        if i % 5 == 0:
            bits &= 2**52 - 1
        elif i % 5 == 1:
            bits = 0x3FE0000000000000 + (bits >> 10)
        if 0 < bits < 0x7FF0000000000000:
            yield struct.unpack("<d", struct.pack("<Q", bits))[0]


def values():
    """ln a of 2,000 elements of weights .5, 1, 1.5 …, in eight permutations in turn."""
    i = np.arange(2000)
    return value(mixed([fmix64(n + 1) for n in i.tolist()]), coefficients(1, 8)[i % 8], log((i + 1) * 0.5))


def bits_key(numbers):
    """All bits of doubles, as one number."""
    words = []
    for x in numbers:
        bits, = struct.unpack("<Q", struct.pack("<d", x))
        words += [bits & M32, bits >> 32]
    return crc(words)


def vectors():
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */",
             "/* clang-format off */",
             "/* Made by tests/reference/cws_model.py, which shares no code with this library: the element hashes",
             " * and weights of documents, the first words of each signature, and the key of a band of all words.",
             " */", "",
             "static const uint64_t hashes[] = {"]
    docs, offsets = list(documents()), [0]
    elements = []
    for _, _, _, doc in docs:
        elements += doc
        offsets.append(len(elements))
    lines += packed([f"UINT64_C({x:#x})," for x, _ in elements], 3) + ["};", "static const double weights[] = {"]
    lines += packed([weight.hex() + "," for _, weight in elements], 3) + ["};"]
    lines += ["static const struct {", "    const char *what;", "    uint32_t seed, perms;", "    size_t begin, n;",
              "    uint32_t words[4];", "    uint64_t key;", "} documents[] = {"]
    for (name, seed, perms, doc), begin in zip(docs, offsets):
        words = signature(doc, coefficients(seed, perms))
        first = ", ".join(f"{word}u" for word in words[:4])
        lines += [f'    {{"{name}", {seed}u, {perms}u, {begin}, {len(doc)},', f"     {{{first}}}, UINT64_C({crc(words):#x})}},"]
    lines += ["};", "/* Keys of the bits of 2,000 logarithms and of 2,000 values: see log_arguments and values in the",
              " * model. */",
              f"static const uint64_t log_key = UINT64_C({bits_key(log(list(log_arguments()))):#x});",
              f"static const uint64_t value_key = UINT64_C({bits_key(values()):#x});"]
    return "\n".join(lines + [""])


if __name__ == "__main__":
    print(vectors(), end="")
