# SPDX-License-Identifier: Apache-2.0
"""A whole index against docs/formats.md: index_model.py reads what `index` has written, after that page alone, and finds the
documents, sets, words, keys and ids that text_model.py, content_model.py and minhash_model.py make of the same texts: built at
once, in several adds, with removals and after compact."""
import json
import os
import random

import harness

np, xxhash = harness.need_modules("numpy", "xxhash")
import content_model
import index_model
import minhash_model
import text_model

OPTIONS = text_model.text_options(["lower"], "alnum", "word", 2, "whole")
PERMS, BANDS, ROWS, SEED = 24, 6, 4, 11
LARGE = (8160, 8161, 8162, 9000)


def make_texts(rng, n, large=()):
    """None, few, many shingles; with LARGE sets of every kind of code but the rarest."""
    sizes = [0, 1, 2, 36, 37, 38, 39, 40, *large, *(rng.choice((5, 60, 300, 1500)) for _ in range(n))]
    return [" ".join(f"{rng.choice('aBc')}{rng.randrange(50 + size * 20)}" for _ in range(size)) for size in sizes]


class Expected:
    """What the models make of one text."""

    def __init__(self, text, line, source):
        sequence = [xxhash.xxh3_64_intdigest(s) for s in text_model.sequence(text, OPTIONS)]
        self.hashes = sorted(set(sequence))
        self.content = content_model.text_content(text, OPTIONS)
        self.text_bytes, self.line, self.source = len(text.encode()), line, source
        self.words = minhash_model.signature(self.hashes, *minhash_model.coefficients(SEED, PERMS)).tolist()


class Run:
    def __init__(self, bandmill, folder, store):
        self.bandmill, self.folder, self.store = bandmill, folder, store
        self.path = os.path.join(folder, f"index-{store}")
        self.expected, self.there, self.n = [], {}, 0 # by number: (id, Expected); numbers by id

    def put(self, texts):
        self.n += 1
        path = os.path.join(self.folder, f"{self.store}-{self.n}.jsonl")
        with open(path, "w") as file:
            for i, text in enumerate(texts):
                name = f"{self.n}/\u00e9{i}"
                file.write(json.dumps({"id": name, "text": text}) + "\n")
                self.there[name.encode()] = len(self.expected)
                self.expected.append((name.encode(), Expected(text, i + 1, path)))
        return path

    def build(self, texts):
        self.bandmill.run("index", "build", self.path, self.put(texts), "--store", self.store, "--perms", PERMS, "--bands", BANDS,
                          "--rows", ROWS, "--threshold", .5, "--seed", SEED, *text_model.option_arguments(OPTIONS), "-q")

    def add(self, texts):
        self.bandmill.run("index", "add", self.path, self.put(texts), "-q")

    def remove(self, names):
        self.bandmill.run("index", "remove", self.path, *(name.decode() for name in names), "-q")
        for name in names:
            del self.there[name]

    def compact(self):
        self.bandmill.run("index", "compact", self.path, "-q")
        self.expected = [self.expected[number] for number in sorted(self.there.values())]
        self.there = {name: number for number, (name, _) in enumerate(self.expected)}

    def difference(self):
        index = index_model.Index(self.path)
        return self.documents_differ(index) or self.tables_differ(index) or self.counts_differ(index)

    def documents_differ(self, index):
        if {doc.id: number for number, doc in index.documents.items()} != self.there:
            return "other documents are there"
        inputs = index.notes["inputs"].decode().splitlines()
        for number, doc in index.all.items():
            name, wanted = self.expected[number]
            got = (doc.id, doc.content, doc.text_bytes, doc.line, doc.n_shingles, inputs[doc.input])
            if got != (name, wanted.content, wanted.text_bytes, wanted.line, len(wanted.hashes), wanted.source):
                return f"document {number} is {got}"
            if self.store == "sets" and doc.set() != wanted.hashes:
                return f"the set of document {number}"
            if self.store == "signatures" and doc.words() != wanted.words:
                return f"the words of document {number}"
        return ""

    def tables_differ(self, index):
        n_shingles = [len(wanted.hashes) for _, wanted in self.expected]
        words = np.array([wanted.words for _, wanted in self.expected], dtype=np.uint32)
        keys = minhash_model.band_keys(words, BANDS, ROWS, n_shingles).tolist()
        for band in range(BANDS):
            if index.tables[band] != sorted((row[band], number) for number, row in enumerate(keys) if n_shingles[number]):
                return f"table {band}"
        ids = sorted((xxhash.xxh3_64_intdigest(name), number) for number, (name, _) in enumerate(self.expected))
        if index.tables[BANDS] != ids:
            return "the table of ids"
        if any(index.number_of(name) != number for name, number in self.there.items()) or index.number_of(b"nobody") is not None:
            return "an id is not found"
        return ""

    def counts_differ(self, index):
        there = [self.expected[number][1] for number in self.there.values()]
        wanted = {"documents": len(there), "removed": len(self.expected) - len(there), "next_number": len(self.expected),
                  "empty": sum(not e.hashes for e in there), "shingles": sum(len(e.hashes) for e in there),
                  "text_bytes": sum(e.text_bytes for e in there)}
        if index.counts != wanted:
            return f"{index.counts}, expected {wanted}"
        if (index.kind, index.bands, index.words) != (self.store == "signatures", BANDS, PERMS if self.store == "signatures" else 0):
            return "kind, bands or words"
        return "leavings" if index.leavings else ""


def main():
    args = harness.arguments("an index against its documentation", ("--seed", {"type": int, "default": 3}))
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(args.seed)
    n = {"small": 30, "normal": 120, "full": 4000}[args.size]
    with harness.scratch() as folder:
        for store in ("sets", "signatures"):
            run = Run(bandmill, folder, store)

            def step(claim, work):
                def attempt():
                    work()
                    return run.difference()
                claims.attempt(f"{store}: {claim}", attempt)
            step("built", lambda: run.build(make_texts(rng, n, LARGE)))
            step("a small add", lambda: run.add(make_texts(rng, 3)))
            for i in range(3):
                step(f"add {i}", lambda: run.add(make_texts(rng, n // 4)))
                step(f"removals {i}", lambda: run.remove(rng.sample(sorted(run.there), len(run.there) // 9)))
            if store == "sets":  # more than 2^18 shingles make a filter
                step("an add of long documents", lambda: run.add([" ".join(f"x{rng.randrange(9999)}" for _ in range(6000)) for _ in range(45)]))
                claims.check("sets: a filter is there", len(index_model.Index(run.path).filtered) > n)
            step("compact", run.compact)
            step("an add to that", lambda: run.add(make_texts(rng, 5)))
    claims.end()


if __name__ == "__main__":
    main()
