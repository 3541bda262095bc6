"""content_model.py -- the content hash of kernels/content_hash.h again, from its head comment alone, in Python's integers.

As a program it prints the known answers of tests/unit/model/test_content_sums.c: of sequences of n numbers of SplitMix64 from
state 1."""
MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def split_mix(state):
    while True:
        state = (state + STEP) & MASK
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        yield z ^ z >> 31


def fmix64(k):
    k = ((k ^ k >> 33) * 0xFF51AFD7ED558CCD) & MASK
    k = ((k ^ k >> 33) * 0xC4CEB9FE1A85EC53) & MASK
    return k ^ k >> 33


def keys():
    """(a, b): the factors of the 16 rows."""
    numbers = [z for z, _ in zip(split_mix(0), range(16))]
    return [z & 0xFFFFFFFF | 1 for z in numbers], [z >> 32 | 1 for z in numbers]


def content_hash(hashes):
    """(lo, hi) of a document's shingle hashes, in order, with repeats."""
    a_keys, b_keys = keys()
    blocks = {}
    for p, h in enumerate(hashes):
        stretch, inside = divmod(p, 128)
        r, lane = divmod(inside, 8)
        block = blocks.setdefault(8 * stretch + lane, [0, 0])
        x = h & 0xFFFFFFFF
        block[0] += x * a_keys[r]
        block[1] += (x ^ h >> 32) * b_keys[r]
    c = d = 0
    for j, (a, b) in blocks.items():
        v = fmix64((b + (j + 1) * STEP) & MASK)
        u = fmix64((a + v) & MASK)
        c += u
        d += v ^ (u << 32 & MASK | u >> 32)
    lo = fmix64((c + len(hashes) * STEP) & MASK)
    return lo, fmix64((d + lo) & MASK)


if __name__ == "__main__":
    for n in (0, 1, 2, 7, 8, 9, 16, 100, 127, 128, 129, 1000, 5000):
        lo, hi = content_hash([z for z, _ in zip(split_mix(1), range(n))])
        print(f"    {{{n}, {{UINT64_C(0x{lo:016X}), UINT64_C(0x{hi:016X})}}}},")
