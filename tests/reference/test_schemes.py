# SPDX-License-Identifier: Apache-2.0
"""`--scheme affine64|legacy|datatrove|nemo|text-dedup|lance`: words, band keys and pairs against the tools that the schemes are of,
where PyPI has them (datasketch 2, datatrove), and against models of their published definitions (nemo, text-dedup, lance).

The sets of shingles are those of text_model.py; words are compared one by one, band keys with a formula of its own, and pairs
that are verified by signature with the agreement of the words."""
import hashlib
import json
import os
import random
import struct

import harness

np, xxhash, datasketch = harness.need_modules("numpy", "xxhash", "datasketch")
import minhash_model
import text_model
from test_hashes import ALPHABETS

PRIME, M32, M64 = 2**61 - 1, 2**32 - 1, 2**64 - 1
OPTIONS = text_model.text_options(normalize=text_model.DEFAULT, kind="word", k=3)


def make_texts():
    """Texts of all scripts and lengths, near-duplicates among them; one is empty, some have fewer words than a shingle."""
    rng, texts = random.Random(3), ["", "Hello", "two words", "one two three"]
    for i in range(60):
        letters = ALPHABETS[i % 4]
        words = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 9))) for _ in range(rng.choice((5, 40, 400)))]
        texts.append(" ".join(words))
        if i % 3 == 0:
            texts.append(" ".join(words[:-1] + ["and", "more"]))
    return texts


# --- the schemes, from their definitions: sets of shingle bytes to words ---

def murmur3(data, seed):
    def turn(x, n):
        return (x << n | x >> (32 - n)) & M32

    def mix(k):
        return turn(k * 0xCC9E2D51 & M32, 15) * 0x1B873593 & M32
    h, whole = seed, len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = (turn(h ^ mix(int.from_bytes(data[at:at + 4], "little")), 13) * 5 + 0xE6546B64) & M32
    h ^= mix(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & M32
    h = (h ^ h >> 13) * 0xC2B2AE35 & M32
    return h ^ h >> 16


def draws(seed, ranges):
    """NumPy's own randint, one number after the other."""
    state = np.random.RandomState(seed)
    return [int(state.randint(low, high, dtype=kind)) for low, high, kind in ranges]


def least(values, word, none):
    """The least of each row of `values`; `none` where there are no columns."""
    return np.array([none] * values.shape[0], dtype=word) if values.shape[1] == 0 else values.min(axis=1).astype(word)


def wrapped(a, b, x):
    with np.errstate(over="ignore"):
        return np.array(a, dtype=np.uint64)[:, None] * np.array(x, dtype=np.uint64)[None, :] + np.array(b, dtype=np.uint64)[:, None]


def text_dedup(hash32):
    def sign(shingles, k, seed):
        numbers = draws(seed, [(1, PRIME, np.uint64)] * k + [(0, PRIME, np.uint64)] * k)
        values = wrapped(numbers[:k], numbers[k:], [hash32(s) for s in shingles])
        return least(values % np.uint64(PRIME) & np.uint64(M32), np.uint32, M32)
    return sign


def nemo(shingles, k, seed):
    numbers = draws(seed, [(1, 2**31 - 1, np.uint32), (0, 2**31 - 1, np.uint32)] * k)
    a, b = numbers[0::2], numbers[1::2]
    hashes = [max(murmur3(s, a[0]), 1) for s in shingles]
    return least(wrapped(a, b, hashes) & np.uint64(M32), np.uint32, M32)


def lance(shingles, k, seed):
    state = seed

    def draw():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & M64
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
        return z ^ z >> 31
    ab = [(draw() | 1, draw()) for _ in range(k)]
    c = [draw() | 1 for _ in range(k)]
    hashes = [xxhash.xxh64_intdigest(s.replace(b" ", b"\x1f"), seed) for s in shingles]
    minima = least(wrapped([a for a, _ in ab], [b for _, b in ab], hashes), np.uint64, M64)
    words = [(x * int(m) & M64) >> 48 for x, m in zip(c, minima)]
    return np.array(words if shingles else [M32] * k, dtype=np.uint32)


def of_datasketch(scheme):
    def sign(shingles, k, seed):
        sketch = datasketch.MinHash(num_perm=k, seed=seed, scheme=scheme)
        sketch.update_batch(shingles)
        word = np.uint64 if scheme == "affine64" else np.uint32
        return sketch.digest().astype(word) if shingles else np.full(k, np.iinfo(word).max, word)
    return sign


def of_datatrove():
    """datatrove's own words of hashed shingles; None where it is not there."""
    try:
        from datatrove.pipeline.dedup import minhash
        from datatrove.utils.hashing import HashConfig
    except ImportError:
        if os.environ.get("BANDMILL_REQUIRE_PYTHON") == "1":
            raise
        return None
    minhash.load_word_tokenizer = lambda language: None  # it is given shingles, and need not have spaCy
    made = {}

    def sign(shingles, k, seed):
        if (k, seed) not in made:
            config = minhash.MinhashConfig(num_buckets=1, hashes_per_bucket=k, seed=seed,
                                           hash_config=HashConfig(hash_fc="xxhash", precision=64))
            made[k, seed] = minhash.MinhashDedupSignature(output_folder="unused", config=config)
        if not shingles:
            return np.full(k, M64, np.uint64)
        step = made[k, seed]
        hashes = np.fromiter((xxhash.xxh64_intdigest(s) for s in shingles), dtype=np.uint64,
                             count=len(shingles)).reshape(-1, 1)
        return np.array([w for bucket in step.get_signature(hashes) for w in bucket], dtype=np.uint64)
    return sign


SCHEMES = {  # scheme, hash: words of a set of shingles, the scheme's seed
    ("affine64", "sha1"): (of_datasketch("affine64"), 1), ("legacy", "sha1"): (of_datasketch("legacy"), 1),
    ("datatrove", "xxh64"): (of_datatrove(), 1), ("nemo", "murmur3"): (nemo, 42), ("lance", "xxh64"): (lance, 42),
    ("text-dedup", "xxh3"): (text_dedup(lambda s: xxhash.xxh3_64_intdigest(s) & M32), 42),
    ("text-dedup", "sha1"): (text_dedup(lambda s: struct.unpack("<I", hashlib.sha1(s).digest()[:4])[0]), 42)}


def band_keys(words, rows):
    keys = []
    for band in range(len(words) // rows):
        k = band + 1
        for w in words[band * rows:(band + 1) * rows]:
            k = (k * 0x9E3779B97F4A7C15 + int(w)) & M64
        k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & M64
        k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & M64
        keys.append(k ^ k >> 33)
    return keys


def check_words(claims, bandmill, folder, docs, sets, name):
    scheme, hash_name = name
    sign, own_seed = SCHEMES[name]
    for k, seed in ((24, None), (130, 7)):
        out = os.path.join(folder, f"{scheme}-{hash_name}-{k}")
        more = [] if seed is None else ["--seed", seed]
        bandmill.run("sign", "-q", "--shingle", "word:3", "--scheme", scheme, "--hash", hash_name, "--perms", k, "--bands", k // 3,
                     "--rows", 3, "--band-keys", *more, "-o", out, docs)
        got, keys = (np.load(os.path.join(out, part + ".npy")) for part in ("signatures", "band_keys"))
        wanted = np.stack([sign(s, k, own_seed if seed is None else seed) for s in sets])
        what = f"{scheme} {hash_name}, K={k}, seed {'its own' if seed is None else seed}"
        claims.check(f"{what}: {wanted.dtype} words", got.dtype == wanted.dtype and (got == wanted).all(),
                     (got.dtype, np.argwhere(got != wanted)[:3].tolist()))
        empty = [i for i, s in enumerate(sets) if not s]
        right = [[M64] * (k // 3) if i in empty else band_keys(row, 3) for i, row in enumerate(wanted)]
        claims.check(f"{what}: band keys", keys.tolist() == right)
    return os.path.join(folder, f"{scheme}-{hash_name}-130"), wanted


def check_pairs(claims, bandmill, folder, signed, wanted, sets, name):
    """From signatures, by signature: pairs by lists, against an index and among known documents have the share of equal words."""
    agrees = {}
    for i in range(len(sets)):
        for j in range(i):
            share = (wanted[i] == wanted[j]).mean()
            if sets[i] and sets[j] and share >= 0.5:
                agrees[str(j), str(i)] = f"{share:.6f}"
    plan = ["--bands", 65, "--rows", 2, "--threshold", 0.5]
    got = bandmill.run("pairs", "-q", *plan, "--verify", "signature", signed).stdout
    rows = {(a, b): s for a, b, s in harness.read_rows(got)[1:]}
    claims.check(f"{name[0]} {name[1]}: {len(agrees)} pairs by signature have the share of equal words",
                 {p: s for p, s in rows.items() if s != "1.000000"} == {p: s for p, s in agrees.items() if s != "1.000000"})
    index = os.path.join(folder, "index")
    bandmill.run("index", "build", index, "-q", "--force", "--store", "signatures", *plan, signed)
    found = {tuple(sorted(row[:2], key=int)): row[2] for row in
             harness.read_rows(bandmill.run("query", "-q", index, "--skip-same-id", os.path.join(folder, "docs.jsonl")).stdout)[1:]}
    claims.check(f"{name[0]} {name[1]}: so have the answers of an index",
                 {p: s for p, s in found.items() if s != "1.000000"} == {p: s for p, s in agrees.items() if s != "1.000000"})
    out = os.path.join(folder, "against")
    bandmill.run("dedup", "-q", "--force", "--against", signed, *plan, "--verify", "signature", "-o", out,
                 os.path.join(folder, "docs.jsonl"))
    with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
        kept = json.load(file)["counts"]["kept"]
    claims.check(f"{name[0]} {name[1]}: documents against their own signatures are known", kept == sum(not s for s in sets), kept)


def check_char(claims, bandmill, folder, docs, texts):
    """nemo as its preset cuts texts: characters."""
    options = text_model.text_options(normalize=text_model.DEFAULT, kind="char", k=24)
    out = os.path.join(folder, "nemo-char")
    bandmill.run("sign", "-q", "--scheme", "nemo", "--shingle", "char:24", "--perms", 20, "-o", out, docs)
    wanted = np.stack([nemo(sorted(set(text_model.sequence(text, options))), 20, 42) for text in texts])
    claims.check("nemo of 24 characters: words", (np.load(os.path.join(out, "signatures.npy")) == wanted).all())


def check_refused(claims, bandmill, docs):
    known = {scheme: {h for s, h in SCHEMES if s == scheme} for scheme, _ in SCHEMES}
    for scheme, hashes in known.items():
        for name in {"xxh3", "xxh64", "sha1", "murmur3"} - hashes:
            said = bandmill.run("pairs", "--scheme", scheme, "--hash", name, docs, expect=2).stderr
            claims.check(f"{scheme} with {name} is refused", b"--hash" in said and b"it goes with" in said, said)


def main():
    args = harness.arguments("the schemes of others against them")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    texts = make_texts()
    with harness.scratch() as folder:
        docs = os.path.join(folder, "docs.jsonl")
        with open(docs, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts))
        sets = [sorted(set(text_model.sequence(text, OPTIONS))) for text in texts]
        for name, (sign, _) in SCHEMES.items():
            if sign is None:
                print("note: datatrove is not there, its words are not compared")
                continue
            signed, wanted = check_words(claims, bandmill, folder, docs, sets, name)
            check_pairs(claims, bandmill, folder, signed, wanted, sets, name)
        check_char(claims, bandmill, folder, docs, texts)
        check_refused(claims, bandmill, docs)
    claims.end()


if __name__ == "__main__":
    main()
