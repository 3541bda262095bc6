# SPDX-License-Identifier: Apache-2.0
"""The scheme cws against a model in Python (cws_model.py), logarithms of 50 digits, and datasketch's WeightedMinHash.

- The golden vectors of the unit tests are those that the model makes.
- bm_portable_log, which the model repeats operation by operation, is off by less than 5.5 * 2^-53 of ln x, as its proof says, of
  many sizes and closest where it is worst: around sqrt(1/2) and 1.
- Words of the library (bench/weighted_signer.c, by its public calls) are those of the model, for 1 to 1,024 permutations, weights
  from 1e-300 to 1e300, no element and one.
- Over 100 seeds, at eight similarities, the share of words that agree lies within 3 standard errors of the weighted Jaccard
  similarity, and of the share that datasketch finds on the same vectors: of documents whose weights are tf * ln(N/df), where what
  they share has mostly the same tf. Where shared elements weigh differently, a word agrees more often than that, since it forgets
  t (0-bit): as often as datasketch's elements do without theirs.

Seeds are fixed: a result is always the same."""
import array
import decimal

import math
import os
import struct
import subprocess

import harness

np, datasketch = harness.need_modules("numpy", "datasketch")
import cws_model

SEEDS, PERMS, DIMENSIONS = 100, 64, 60


def signer_words(signer, folder, documents, perms, first_seed, n_seeds=1, cpu=""):
    """(n_seeds, documents, perms); a document is a list of (hash, weight)."""
    path, words = os.path.join(folder, "documents"), os.path.join(folder, "words")
    offsets, elements = [0], [element for document in documents for element in document]
    for document in documents:
        offsets.append(offsets[-1] + len(document))
    with open(path, "wb") as file:
        file.write(struct.pack("<QQ", len(documents), len(elements)))
        for kind, values in (("Q", offsets), ("Q", [x for x, _ in elements]), ("d", [weight for _, weight in elements])):
            file.write(array.array(kind, values).tobytes())
    subprocess.run([signer, "--perms", str(perms), "--seeds", f"{first_seed}:{n_seeds}", "--words", words, path], check=True,
                   stdout=subprocess.PIPE, env={**os.environ, "BANDMILL_CPU": cpu})
    return np.fromfile(words, dtype="<u4").reshape(n_seeds, len(documents), perms)


def check_vectors(claims):
    path = os.path.join(harness.ROOT, "tests", "unit", "sketch", "cws_vectors.h")
    made = cws_model.vectors()
    claims.check("the golden vectors are those of the model", harness.read_file(path).decode() == made, path)


def check_logarithm(claims):
    """In units of 2^-53 |ln x|."""
    decimal.getcontext().prec = 50
    generator = np.random.RandomState(5)
    numbers = [*cws_model.log_arguments(), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308]
    root = math.sqrt(0.5)
    for size in 2.0 ** -np.arange(2, 53):
        numbers += [1 + size, 1 - size / 2, *((root * (1 + size * generator.uniform(-1, 1, 4))).tolist())]
    numbers += generator.uniform(0.5, 2, 1500).tolist()
    worst, at = 0, 1.0
    for x, ln in zip(numbers, cws_model.log(numbers).tolist()):
        exact = decimal.Decimal(x).ln()
        error = float(abs(decimal.Decimal(ln) - exact) / abs(exact) * 2**53) if x != 1 else ln
        worst, at = max((worst, at), (error, x))
    claims.check(f"{len(numbers)} logarithms are off by {worst:.2f} * 2^-53 at most, at {at!r}", worst < 5.5)


def check_words(claims, signer, folder):
    generator = np.random.RandomState(11)

    def document(n, low, high):
        return [(int(x), float(10.0**weight)) for x, weight in
                zip(generator.randint(0, 2**63, n, dtype=np.uint64) * 2 + 1, generator.uniform(low, high, n))]

    documents = [[], document(1, 0, 0), document(1, -300, -300), document(2, -1, 1), document(30, 0, 2), document(30, -300, 300),
                 document(17, 299, 300), document(17, -300, -299), [(5, 1.0)] * 3 + [(6, 2.0)], document(100, 0, 1)]
    for perms, seed in [(1, 1), (2, 2**32 - 1), (64, 42), (1024, 7)]:
        chosen = documents if perms < 1024 else documents[:5]
        rows = cws_model.coefficients(seed, perms)
        wanted = np.array([cws_model.signature(one, rows) for one in chosen], dtype=np.uint32)
        got = signer_words(signer, folder, chosen, perms, seed)[0]
        claims.check(f"words of {len(chosen)} documents equal the model, K={perms} seed={seed}", (got == wanted).all(),
                     np.argwhere(got != wanted)[:3].tolist())


def pairs_of_vectors(differ):
    """Eight pairs of vectors of tf * ln(N/df): a share of elements in both, of which the share `differ` has another tf in the second."""
    generator = np.random.RandomState(17)
    for i in range(8):
        tf = generator.choice([1, 2, 3], DIMENSIONS, p=[.8, .15, .05])
        idf = np.log(1000 / generator.randint(1, 300, DIMENSIONS))
        other = np.where(generator.uniform(size=DIMENSIONS) < differ, tf + generator.randint(1, 4, DIMENSIONS), tf)
        where = np.where(generator.uniform(size=DIMENSIONS) < (i + .7) / 8, 2, generator.randint(0, 2, DIMENSIONS))
        yield np.where(where != 1, tf * idf, 0.0), np.where(where != 0, other * idf, 0.0)


def weighted_jaccard(x, y):
    return np.minimum(x, y).sum() / np.maximum(x, y).sum()


def check_agreement(claims, signer, folder, differ):
    pairs = list(pairs_of_vectors(differ))
    hashes = [cws_model.fmix64(i + 1) for i in range(DIMENSIONS)]
    documents = [[(hashes[i], float(x[i])) for i in np.flatnonzero(x)] for pair in pairs for x in pair]
    words = signer_words(signer, folder, documents, PERMS, 1, SEEDS)
    ours = (words[:, 0::2] == words[:, 1::2]).mean(axis=(0, 2))
    theirs = np.zeros((8, 2))
    vectors = np.array(pairs).reshape(16, DIMENSIONS)
    for seed in range(1, SEEDS + 1):
        sketches = datasketch.WeightedMinHashGenerator(DIMENSIONS, PERMS, seed).minhash_many(vectors)
        for i, (one, two) in enumerate(zip(sketches[::2], sketches[1::2])):
            x, y = one.hashvalues, two.hashvalues
            theirs[i] += (x == y).all(axis=1).mean() / SEEDS, (x[:, 0] == y[:, 0]).mean() / SEEDS
    for i, pair in enumerate(pairs):
        exact = weighted_jaccard(*pair)
        error = math.sqrt(exact * (1 - exact) / (SEEDS * PERMS))
        what = f"weighted Jaccard {exact:.4f}: {ours[i]:.4f} agree, of datasketch {theirs[i][0]:.4f}, {theirs[i][1]:.4f} without t"
        both = 3 * error * math.sqrt(2)
        if differ > .5:
            claims.check(f"{what}; all tf differ", ours[i] > exact - 3 * error and abs(ours[i] - theirs[i][1]) < both)
        else:
            claims.check(what, abs(ours[i] - exact) < 3 * error and abs(ours[i] - theirs[i][0]) < both and
                         abs(ours[i] - theirs[i][1]) < both, f"standard error {error:.4f}")


def main():
    args = harness.arguments("scheme cws against a model and datasketch", ("--signer", {"required": True}))
    claims = harness.Claims()
    check_vectors(claims)
    check_logarithm(claims)
    with harness.scratch() as folder:
        check_words(claims, args.signer, folder)
        if args.size != "small":
            check_agreement(claims, args.signer, folder, .05)
            check_agreement(claims, args.signer, folder, 1)
    claims.end()


if __name__ == "__main__":
    main()
