# SPDX-License-Identifier: Apache-2.0
"""`--hash xxh3|xxh64|sha1|murmur3`: n_shingles, every signature word, and pairs, against hashlib, xxhash and a MurmurHash3 in plain
Python; and under `sha1` the very words of datasketch 2, whose default hash that is.

The 64-bit hash of a shingle is XXH3_64bits, XXH64, the first 8 bytes of the SHA-1 (little-endian), or MurmurHash3_x86_32 below and
the high half of XXH3_64bits above. Signatures take the low 32 bits. Texts are of all scripts; shingles of words, characters, bytes and
stop words, sets and bags."""
import hashlib
import json
import os
import random

import harness

np, xxhash = harness.need_modules("numpy", "xxhash")
import minhash_model
import text_model

HEADER = ["id_a", "id_b", "jaccard"]


def murmur3(data):
    def turn(x, n):
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF
    h, whole = 0, len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = turn(int.from_bytes(data[at:at + 4], "little") * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        h = (turn(h ^ k, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if data[whole:]:
        h ^= turn(int.from_bytes(data[whole:], "little") * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


HASHES = {"xxh3": xxhash.xxh3_64_intdigest, "xxh64": xxhash.xxh64_intdigest,
          "sha1": lambda data: int.from_bytes(hashlib.sha1(data).digest()[:8], "little"),
          "murmur3": lambda data: xxhash.xxh3_64_intdigest(data) & 0xFFFFFFFF00000000 | murmur3(data)}
ALPHABETS = ["abcde the of and", "αβγδε ΑΒΓ", "中文字符 、。", "\U0001f600é\u0301ßİ \u3000"]


def make_docs(path):
    rng, texts = random.Random(9), ["", "Hello", "one two"]
    for i in range(160):
        letters = ALPHABETS[i % 4]
        words = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 30))) for _ in range(rng.choice((2, 9, 60)))]
        texts.append(" ".join(words))
        if i % 3 == 0:
            texts.append(" ".join(words[: -1] + ["and more"]))
    texts.append("long " * 20 + "x" * 9000)
    with open(path, "w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"id": str(i), "text": text}) + "\n")
    return texts


def wanted(texts, options, shingle_hash):
    return [{text_model.element_hash(e, shingle_hash) for e in text_model.elements(text_model.sequence(text, options), options)}
            for text in texts]


def check_hash(claims, bandmill, folder, docs, texts, name, options):
    sets = wanted(texts, options, HASHES[name])
    arguments = ["--hash", name, *text_model.option_arguments(options)]
    what = f"{name}, {options['kind']}:{options['k']}{' bag' if options['bag'] else ''}"
    out = os.path.join(folder, "sig")
    bandmill.run("sign", "-q", "--force", "--perms", 24, "-o", out, *arguments, docs)
    sizes = np.load(os.path.join(out, "n_shingles.npy"))
    claims.check(f"{what}: n_shingles", sizes.tolist() == [len(s) for s in sets])
    a, b = minhash_model.coefficients(1, 24)
    words = np.stack([minhash_model.signature(sorted(s), a, b) for s in sets])
    claims.check(f"{what}: words", (np.load(os.path.join(out, "signatures.npy")) == words).all())
    rows = []
    for i, x in enumerate(sets):
        for j in range(i + 1, len(sets)):
            similarity = text_model.jaccard(x, sets[j]) if x and sets[j] else 0
            if similarity >= 0.3:
                rows.append([str(i), str(j), f"{similarity:.6f}"])
    got = bandmill.run("pairs", "-q", "--candidates", "all", "--threshold", 0.3, *arguments, docs).stdout
    claims.check(f"{what}: {len(rows)} pairs", harness.read_rows(got, HEADER) == rows)


def check_recorded(claims, bandmill, folder, docs, name):
    """What was signed by a hash is read again by it, and by no other."""
    out, other, index = (os.path.join(folder, part) for part in ("sig", "other", "index"))
    bandmill.run("sign", "-q", "--force", "--hash", name, "--shingle", "word:2", "-o", out, docs)
    with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
        claims.check(f"{name}: stands in the provenance", json.load(file)["provenance"]["hash"] == name)
    plain = bandmill.run("pairs", "-q", "--threshold", 0.5, "--hash", name, "--shingle", "word:2", docs).stdout
    claims.check(f"{name}: signatures give the pairs of their documents",
                 bandmill.run("pairs", "-q", "--threshold", 0.5, out).stdout == plain and plain.count(b"\n") > 9)
    said = bandmill.run("pairs", "--hash", "xxh3", out, expect=2).stderr
    claims.check(f"{name}: another hash contradicts them", b"--hash" in said, said)
    bandmill.run("sign", "-q", "--force", "--shingle", "word:2", "-o", other, docs)
    said = bandmill.run("pairs", out, other, expect=7).stderr
    claims.check(f"{name}: signatures by two hashes are refused together", b"provenance.hash" in said, said)
    kept = os.path.join(folder, "kept")
    bandmill.run("dedup", "-q", "--force", "--against", out, "--threshold", 0.5, "-o", kept, docs)
    with open(os.path.join(kept, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    claims.check(f"{name}: documents against their own signatures are all known but the empty one",
                 report["provenance"]["hash"] == name and report["counts"]["kept"] == 1, report["counts"])
    bandmill.run("index", "build", index, "-q", "--threshold", 0.5, "--hash", name, "--shingle", "word:2", "--force", docs)
    found = bandmill.run("query", "-q", index, docs, "--threshold", 0.5, "--skip-same-id").stdout
    both = {tuple(sorted(row[:2])) for row in harness.read_rows(found)[1:]}
    claims.check(f"{name}: an index answers by it", both == {tuple(sorted(row[:2])) for row in harness.read_rows(plain, HEADER)})


def check_datasketch(claims, bandmill, folder):
    path = os.path.join(folder, "hello.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("Hello\n")
    out = os.path.join(folder, "hello")
    bandmill.run("sign", "-q", "--format", "lines", "--hash", "sha1", "--perms", 4, "--normalize", "none", "-o", out, path)
    claims.check("sha1: the golden words of datasketch 2 for Hello",
                 np.load(os.path.join(out, "signatures.npy")).tolist() == [[3231258861, 1388533999, 831950533, 1845606703]])


def check_refused(claims, bandmill, docs):
    for name in ("xxh64", "sha1", "murmur3"):
        for more in (["--scheme", "oph"], ["--weights", "tfidf"]):
            said = bandmill.run("pairs", "--hash", name, *more, docs, expect=2).stderr
            claims.check(f"{name} with {' '.join(more)} is refused", b"--hash" in said, said)


def main():
    args = harness.arguments("hashes of shingles against others' implementations")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        docs = os.path.join(folder, "docs.jsonl")
        texts = make_docs(docs)
        for name in HASHES:
            for kind, k, bag in (("word", 2, False), ("char", 5, True), ("byte", 7, False), ("stopword", 2, False)):
                options = text_model.text_options(normalize=("lower",), kind=kind, k=k, bag=bag)
                check_hash(claims, bandmill, folder, docs, texts, name, options)
        for name in ("xxh64", "sha1", "murmur3"):
            check_recorded(claims, bandmill, folder, docs, name)
        check_datasketch(claims, bandmill, folder)
        check_refused(claims, bandmill, docs)
    claims.end()


if __name__ == "__main__":
    main()
