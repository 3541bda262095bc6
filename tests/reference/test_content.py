# SPDX-License-Identifier: Apache-2.0
"""n_bytes.npy and content_hash.npy of `sign` against content_model.py and text_model.py: documents of every size from none to
some thousand shingles, in every kind of shingle and on every instruction set that the processor has; texts of every format
(several fields, escapes, bytes that are no UTF-8, CR LF); arrays of hashes. And the theorem on which the hash of low-entropy
documents rests: the subsets of its keys have different sums."""
import json
import os
import random

import harness

np, _ = harness.need_modules("numpy", "xxhash")
import content_model
import text_model


def sums_differ(keys):
    sums = np.zeros(1, dtype=np.uint64)
    for key in keys:
        sums = np.concatenate([sums, sums + np.uint64(key)])
    return len(np.unique(sums % np.uint64(1 << 33))) == 1 << len(keys)


class Runs:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def sign(self, *arguments, env=None):
        """(n_bytes, content_hash) as lists."""
        self.n += 1
        target = os.path.join(self.folder, f"out-{self.n}")
        self.bandmill.run("sign", "--perms", 8, "-o", target, *arguments, env=env)
        arrays = [np.load(os.path.join(target, name)) for name in ("n_bytes.npy", "content_hash.npy")]
        if [array.dtype.str for array in arrays] != ["<u8", "<u8"]:
            raise ValueError(f"types {[array.dtype.str for array in arrays]}")
        return arrays[0].tolist(), [tuple(row) for row in arrays[1].tolist()]

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


def first_difference(what, got, wanted):
    for i, (g, w) in enumerate(zip(got, wanted)):
        if g != w:
            return f"{what} of document {i} is {g}, expected {w}"
    return "" if len(got) == len(wanted) else f"{len(got)} rows of {what}, expected {len(wanted)}"


def model(texts, options):
    return [content_model.text_content(text, options) for text in texts]


def check_texts(runs, texts, options, wanted, isa):
    path = runs.put("in.jsonl", b"".join(json.dumps({"text": text}, ensure_ascii=i % 2 == 0).encode() + b"\n"
                                         for i, text in enumerate(texts)))
    n_bytes, content = runs.sign(path, *text_model.option_arguments(options), env={"BANDMILL_CPU": isa})
    return first_difference("n_bytes", n_bytes, [len(text.encode()) for text in texts]) or \
        first_difference("content_hash", content, wanted)


def make_texts(rng, n):
    """Documents of few different words, so that shingles repeat, and of many; ASCII and not."""
    letters = ["a", "b", "c", " ", " ", "d", "\u00e9", "\u4e2d", "\u6587", "\U0001f600", "\u0301", ".", "\n"]
    texts = ["", " ", "x", "one two", "a " * 5000, "ab" * 3000]
    for size in [*range(1, 40), *range(60, 70), *range(124, 140), *(rng.randrange(2000) for _ in range(n))]:
        some = letters[:rng.choice((2, 4, 6, len(letters)))]
        texts.append("".join(rng.choice(some) for _ in range(size)))
        texts.append(" ".join(f"w{rng.randrange(rng.choice((2, 30, 10000)))}" for _ in range(size)))
    return texts


def usable(runs, isa):
    path = runs.put("one.txt", b"one")
    return runs.bandmill.run("pairs", "--format", "lines", path, env={"BANDMILL_CPU": isa}, expect=None).returncode == 0


def check_formats(runs):
    invalid = b"one \xff\xfe two three\n\xe2\x82\r\n\nlast line"
    n_bytes, _ = runs.sign("--format", "lines", runs.put("in.txt", invalid))
    wrong = first_difference("n_bytes of lines", n_bytes, [16, 2, 0, 9])
    rows = b'id\ttitle\tbody\n1\tone\ttwo three\n2\t\t\n'
    if not wrong:
        n_bytes, content = runs.sign("--text-field", "title", "--text-field", "body", runs.put("in.tsv", rows))
        wrong = first_difference("n_bytes of fields", n_bytes, [13, 1]) or \
            first_difference("content of fields", content[:1],
                             [content_model.text_content("one two three", text_model.text_options())])
    if not wrong: # an escape counts as what it stands for, a lone surrogate as its three bytes
        record = b'{"text":"\\u00e9\\n\\ud83d\\ude00\\ud800"}\n{"text":null}\n'
        n_bytes, _ = runs.sign(runs.put("escapes.jsonl", record))
        wrong = first_difference("n_bytes of escapes", n_bytes, [2 + 1 + 4 + 3, 0])
    return wrong


def check_hashes(runs, rng, dtype, limit):
    sizes = [0, 1, 2, 7, 8, 9, 127, 128, 129, 1000, 0, 5]
    hashes = np.array([rng.randrange(limit) for _ in range(sum(sizes))], dtype=dtype)
    offsets = np.cumsum([0, *sizes]).astype("<i8")
    np.save(os.path.join(runs.folder, "h.npy"), hashes)
    np.save(os.path.join(runs.folder, "o.npy"), offsets)
    _, content = runs.sign("--format", "hashes", os.path.join(runs.folder, "h.npy"), "--offsets",
                           os.path.join(runs.folder, "o.npy"))
    wanted = [content_model.content_hash(hashes[a:b].tolist()) for a, b in zip(offsets[:-1], offsets[1:])]
    return first_difference("content_hash", content, wanted)


def main():
    args = harness.arguments("content hashes and bytes against a model", ("--seed", {"type": int, "default": 7}))
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(args.seed)
    a, b = content_model.keys()
    claims.check("the sums of all subsets of a are distinct modulo 2^33", sums_differ(a))
    claims.check("the sums of all subsets of b are distinct modulo 2^33", sums_differ(b))
    kinds = [("word", 1), ("word", 5), ("char", 1), ("char", 5), ("byte", 1), ("byte", 8), ("stopword", 1)]
    with harness.scratch() as folder:
        runs = Runs(bandmill, folder)
        texts = make_texts(rng, {"small": 10, "normal": 60, "full": 600}[args.size])
        sets = [isa for isa in ("scalar", "avx2", "avx512", "neon") if usable(runs, isa)]
        for kind, k in kinds:
            for words, short in (("alnum", "whole"), ("space", "skip")):
                options = text_model.text_options(text_model.DEFAULT, words, kind, k, short)
                wanted = model(texts, options)
                for isa in sets:
                    claims.attempt(f"{isa}, {kind}:{k}, words {words}, short {short}",
                                   lambda: check_texts(runs, texts, options, wanted, isa))
        claims.attempt("bytes of the text as read", lambda: check_formats(runs))
        claims.attempt("arrays of 64-bit hashes", lambda: check_hashes(runs, rng, "<u8", 1 << 64))
        claims.attempt("arrays of 32-bit hashes", lambda: check_hashes(runs, rng, "<u4", 1 << 32))
        claims.attempt("arrays of small numbers", lambda: check_hashes(runs, rng, "<u4", 1000))
    claims.end()


if __name__ == "__main__":
    main()
