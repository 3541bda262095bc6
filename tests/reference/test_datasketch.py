# SPDX-License-Identifier: Apache-2.0
"""Every word of `bandmill sign` equals datasketch 2, and every coefficient and band key an independent computation.

datasketch: MinHash(num_perm, seed, scheme="affine32", hashfunc=low 32 bits of XXH3_64bits) over the 5-grams, joined by one
space, of str.split(), for `--words space --normalize none --shingle word:5`, on real corpora through three readers: JSON
Lines (scancode_rules, a sample), TSV under zstd (spdx_texts), files (udhr2, all scripts).

str.split() also parts at U+001C to U+001F, which are not White_Space: a document that holds one is not compared with
datasketch (how many is said), but with the model of text_model.py, whose white space is Unicode's."""
import importlib.util
import io
import contextlib
import json
import os

import harness

np, xxhash, datasketch = harness.need_modules("numpy", "xxhash", "datasketch")
import minhash_model
import text_model

SPACE5 = text_model.text_options(words="space")
TEXT = text_model.option_arguments(SPACE5)


def low32(data):
    return xxhash.xxh3_64_intdigest(data) & 0xFFFFFFFF


def five_grams(text):
    words = text.split()
    if 1 <= len(words) < 5:
        return [" ".join(words).encode()]
    return [" ".join(words[i:i + 5]).encode() for i in range(len(words) - 4)]


def datasketch_words(texts, k, seed):
    """(N, k) words; one MinHash is cleared and used again, since drawing permutations costs more than signing."""
    sketch = datasketch.MinHash(num_perm=k, seed=seed, scheme="affine32", hashfunc=low32)
    rows = np.empty((len(texts), k), dtype=np.uint32)
    for i, text in enumerate(texts):
        sketch.clear()
        sketch.update_batch(set(five_grams(text)))
        rows[i] = sketch.digest()
    return rows


class Case:
    """A corpus as the program reads it, and its texts in that order."""

    def __init__(self, name, ids, texts, arguments):
        self.name, self.ids, self.texts, self.arguments = name, ids, texts, arguments
        self.plain = [i for i, text in enumerate(texts) if not any(c in text for c in "\x1c\x1d\x1e\x1f")]


def scancode(folder, step):
    path = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    if not path:
        return None
    lines = [line for line in harness.unzstd(path).split(b"\n") if line][::step]
    target = os.path.join(folder, "scancode.jsonl")
    with open(target, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")
    rows = [json.loads(line) for line in lines]
    return Case(f"scancode_rules, every {step}th", [row["id"] for row in rows], [row["text"] for row in rows], [target])


def spdx():
    path = harness.corpus_file("spdx_texts", "docs.tsv.zst")
    if not path:
        return None
    rows = [line.split("\t") for line in harness.unzstd(path).decode().split("\n") if line]
    return Case("spdx_texts", [row[0] for row in rows], [row[2] for row in rows],
                ["--id-field", "1", "--text-field", "3", path])


def udhr2(folder):
    path = harness.corpus_file("udhr2", "udhr2.zip")
    if not path:
        return None
    harness.unzip(path, folder)
    root = os.path.join(folder, "udhr2")
    names = sorted((name for name in os.listdir(root) if name[0] not in "._"), key=os.fsencode)
    texts = [harness.read_file(root, name).decode("utf-8-sig", "replace") for name in names]
    return Case("udhr2", [os.path.join(root, name) for name in names], texts, ["--format", "files", root])


def sign(bandmill, folder, case, k, seed, *more):
    target = os.path.join(folder, f"out-{len(os.listdir(folder))}")
    bandmill.run("sign", *TEXT, "--perms", k, "--seed", seed, *more, "-o", target, *case.arguments)
    ids = [harness.unescape(line) for line in harness.read_file(target, "ids.txt").decode().split("\n")[:-1]]
    return {"ids": ids, **{name: np.load(os.path.join(target, name + ".npy")) for name in
                           ["signatures", "n_shingles"] + ["band_keys"] * ("--band-keys" in more)}}


def differs(got, wanted):
    """Empty, or where the first difference is."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
    at = np.argwhere(got != wanted)
    return "" if not len(at) else f"{len(at)} differ, first at {at[0].tolist()}: {got[tuple(at[0])]}, " \
                                  f"expected {wanted[tuple(at[0])]}"


def compare(claims, bandmill, folder, case, k, seed):
    got = sign(bandmill, folder, case, k, seed)
    what = f"{case.name}: K={k} seed={seed}"
    claims.check(f"{what}: {len(case.ids)} ids in order", got["ids"] == case.ids)
    counts = np.array([len(set(text_model.sequence(text, SPACE5))) for text in case.texts], dtype=np.uint32)
    if not claims.check(f"{what}: n_shingles", not differs(got["n_shingles"], counts), differs(got["n_shingles"], counts)):
        return
    words = datasketch_words([case.texts[i] for i in case.plain], k, seed)
    wrong = differs(got["signatures"][case.plain], words)
    claims.check(f"{what}: {words.size} words equal datasketch's ({len(case.ids) - len(case.plain)} documents left out)",
                 not wrong, wrong)


def compare_keys(claims, bandmill, folder, case):
    got = sign(bandmill, folder, case, 128, 1, "--band-keys", "--bands", "20", "--rows", "5")
    with np.errstate(over="ignore"):
        keys = minhash_model.band_keys(got["signatures"], 20, 5, got["n_shingles"])
    wrong = differs(got["band_keys"], keys)
    claims.check(f"{case.name}: {keys.size} band keys, 20 x 5", not wrong, wrong)


def compare_small(claims, bandmill, folder):
    """Documents of no, one, few and many words, among them the separators that Python alone calls white space; against the
    NumPy model, K and seeds at their ends."""
    texts = ["", " \t\u3000 ", "one", "two words", "a b c d", "a b c d e", "a b c d e f " * 40, "x\x1cy z\x1dq r s t u v",
             "nbsp\u00a0nel\u0085ls\u2028ogham\u1680 zwsp\u200bnot mongolian\u180enot a b c", "\u00e9 e\u0301 \U00010400 " * 3,
             " ".join(map(str, range(20000)))]
    path = os.path.join(folder, "small.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts))
    case = Case("small documents", [str(i) for i in range(len(texts))], texts, [path])
    sets = [sorted({xxhash.xxh3_64_intdigest(s) for s in text_model.sequence(text, SPACE5)}) for text in texts]
    for k, seed in [(1, 1), (2, 0), (15, 1), (16, 42), (17, 777), (100, 1), (127, 2**31), (128, 2**32 - 1), (256, 42),
                    (1024, 1)]:
        got = sign(bandmill, folder, case, k, seed)
        with np.errstate(over="ignore"):
            a, b = minhash_model.coefficients(seed, k)
            wanted = np.array([minhash_model.signature(hashes, a, b) for hashes in sets])
        wrong = differs(got["signatures"], wanted) or differs(got["n_shingles"], np.array(list(map(len, sets)), "<u4"))
        claims.check(f"small documents: K={k} seed={seed} equals the model", not wrong, wrong)


def check_vectors(claims):
    """The model used here, against the golden vectors of reference/vectors.py (standard library only)."""
    path = harness.corpus_file(os.pardir, "reference", "vectors.py")
    if not path:
        return
    spec = importlib.util.spec_from_file_location("vectors", path)
    vectors = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(vectors)
    with np.errstate(over="ignore"):
        for seed, k in [(0, 5), (1, 128), (42, 256), (777, 16), (2**32 - 1, 1024)]:
            a, b = minhash_model.coefficients(seed, k)
            claims.check(f"model: coefficients of seed {seed} are those of vectors.py",
                         (a.tolist(), b.tolist()) == tuple(vectors.affine_perm(k, seed, 32)))
        words = np.array([[3231258861, 1388533999, 831950533, 1845606703]], dtype=np.uint32)
        claims.check("model: band keys are those of vectors.py",
                     minhash_model.band_keys(words, 2, 2, [1])[0].tolist() == vectors.BAND_KEYS)


def main():
    args = harness.arguments("words, counts and band keys against datasketch 2 and NumPy")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    claims.check("datasketch is version 2", datasketch.__version__.startswith("2."), datasketch.__version__)
    check_vectors(claims)
    with harness.scratch() as folder:
        compare_small(claims, bandmill, folder)
        step = {"small": 97, "normal": 7, "full": 1}[args.size]
        cases = [case for case in (scancode(folder, step), spdx(), udhr2(folder)) if case]
        for case in cases:
            compare(claims, bandmill, folder, case, 128, 1)
            compare_keys(claims, bandmill, folder, case)
        if cases:
            tiny = scancode(folder, 97)
            for k, seed in [(1, 1), (16, 42), (100, 777), (256, 2**32 - 1), (128, 0)]:
                compare(claims, bandmill, folder, tiny, k, seed)
        elif os.environ.get("BANDMILL_REQUIRE_CORPORA") == "1":
            claims.check("corpora beside the repository", False, "missing")
    claims.end()


if __name__ == "__main__":
    main()
