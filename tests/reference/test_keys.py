# SPDX-License-Identifier: Apache-2.0
"""`pairs --format keys`: band keys made elsewhere, against a plain model: two rows are a pair where a key of one band is the same
and is not all one bits.

Random keys from few values, so that buckets are crowded or small, with the key that means none among them, for 1 to 128 bands and
0 to thousands of rows, on 1, 2 and 8 threads and within a --memory that leaves the keys to a file. And the keys that `sign
--band-keys` writes: the pairs are those that `pairs --verify none` finds among the documents."""
import itertools
import json
import os

import harness

np = harness.need_modules("numpy")
NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
KEYS = ["--format", "keys", "--verify", "none"]


def model(keys):
    pairs = set()
    for band in range(keys.shape[1]):
        buckets = {}
        for row, key in enumerate(keys[:, band].tolist()):
            if key != int(NONE):
                buckets.setdefault(key, []).append(row)
        for rows in buckets.values():
            pairs.update(itertools.combinations(rows, 2))
    return "id_a\tid_b\tjaccard\n" + "".join(f"{a}\t{b}\t\n" for a, b in sorted(pairs))


def draw(rng, n, bands, values, none):
    """Few values of all kinds, the greatest but one and 0 among them; a share of `none`."""
    some = np.concatenate([np.array([0, 2**64 - 2, 2**63], dtype=np.uint64),
                           rng.integers(0, 2**63, size=max(values - 3, 1), dtype=np.uint64)])
    keys = some[rng.integers(0, len(some), size=(n, bands))]
    keys[rng.random((n, bands)) < none] = NONE
    return keys


def run(bandmill, folder, keys, *more):
    path = os.path.join(folder, "keys.npy")
    np.save(path, keys)
    return bandmill.run("pairs", "-q", *KEYS, path, *more).stdout.decode()


def check_random(claims, bandmill, folder):
    rng = np.random.default_rng(3)
    shapes = [(0, 1, 4, 0), (0, 7, 4, 0), (1, 1, 4, 0), (1, 20, 4, .5), (2, 1, 1, 0), (50, 3, 10, 1), (400, 2, 3, .3), (300, 128, 9000, .2),
              (2000, 1, 500, .1), (3000, 20, 40000, .4), (900, 64, 20000, 0), (1200, 5, 6, .9), (700, 1, 1, 0)]
    for n, bands, values, none in shapes:
        keys = draw(rng, n, bands, values, none)
        wanted = model(keys)
        for more in (["--threads", "1"], ["--threads", "8", "--batch-docs", "77"]):
            claims.check(f"{n} rows of {bands} keys of {values} values, {none:.0%} none: {wanted.count(chr(10)) - 1} pairs, {more[1]} threads",
                         run(bandmill, folder, keys, *more) == wanted)


def check_memory(claims, bandmill, folder):
    """Distinct keys, but for some rows that are written twice; the same rows and counts in memory and in files."""
    rng = np.random.default_rng(4)
    n, bands = 60000, 40
    keys = rng.integers(0, 2**63, size=(n, bands), dtype=np.uint64)
    keys[rng.random((n, bands)) < .5] = NONE
    copies = rng.integers(0, n, size=300)
    keys[(copies + 1) % n, :4] = keys[copies, :4]
    wanted, report = model(keys), os.path.join(folder, "r.json")
    for memory, place in (("2G", 0), ("32M", 1)):
        got = run(bandmill, folder, keys, "--threads", "2", "--memory", memory, "--temp-dir", folder, "--report", report, "--force")
        with open(report, encoding="utf-8") as file:
            files = json.load(file)["run"]["temporary_files"]
        claims.check(f"{n} rows within {memory}: {wanted.count(chr(10)) - 1} pairs", got == wanted)
        claims.check(f"their keys lay in {'a file' if place else 'memory'}", (files["key_bytes"] > 0) == bool(place), files)


def check_signed(claims, bandmill, folder):
    docs = os.path.join(folder, "docs.jsonl")
    rng = np.random.default_rng(5)
    with open(docs, "w", encoding="utf-8") as file:
        words = [rng.integers(0, 40, size=rng.integers(0, 7)) for _ in range(1500)]
        for i, some in enumerate(words):
            file.write(json.dumps({"id": str(i), "text": " ".join(f"w{w}" for w in some)}) + "\n")
    plan = ["--bands", "12", "--rows", "2", "--shingle", "word:2"]
    out = os.path.join(folder, "signed")
    bandmill.run("sign", "-q", "--band-keys", *plan, "-o", out, docs)
    wanted = bandmill.run("pairs", "-q", "--verify", "none", *plan, docs).stdout.decode()
    wanted = [line.split("\t")[:2] for line in wanted.splitlines()]
    got = bandmill.run("pairs", "-q", *KEYS, os.path.join(out, "band_keys.npy")).stdout.decode()
    got = [line.split("\t")[:2] for line in got.splitlines()]
    claims.check(f"keys that sign wrote give the pairs of the documents, {len(wanted) - 1} of them", got == wanted and len(wanted) > 100)


def main():
    args = harness.arguments("pairs of band keys made elsewhere against a model")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        check_random(claims, bandmill, folder)
        check_memory(claims, bandmill, folder)
        check_signed(claims, bandmill, folder)
    claims.end()


if __name__ == "__main__":
    main()
