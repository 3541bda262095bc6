# SPDX-License-Identifier: Apache-2.0
"""`--weights tfidf` against a plain Python program: document frequencies by Counter, weights tf * ln(N/df), every two documents
compared by the sum of the smaller weights over that of the greater ones.

  pairs     `--candidates all` has exactly the pairs of the model, `lsh` none but these; each similarity to the sixth decimal. Where
            the model's similarity is within 1e-9 of the threshold either may have the pair.
  sign      n_shingles (elements that weigh more than nothing) and every word, by cws_model.py.
  memory    the same bytes for 1, 2, 8 threads, for batches of 7 documents, and with so little memory that frequencies and sets
            go to files; the log says that they did.
  dedup     with the inputs, from signatures and from signatures whose inputs are read again: the same pairs.

On slices of four corpora and on generated text, among which documents are copies, share every word, or are empty."""
import collections
import json
import math
import os
import random

import harness

np, xxhash = harness.need_modules("numpy", "xxhash")
import cws_model
import text_model

PAIRS_HEADER = ["id_a", "id_b", "jaccard"]
NEAR = 1e-9


class Corpus:
    def __init__(self, folder, name, texts, threshold, options):
        self.name, self.texts, self.threshold = name, texts, threshold
        self.path = os.path.join(folder, name + ".jsonl")
        with open(self.path, "w", encoding="utf-8") as file:
            for i, text in enumerate(texts):
                file.write(json.dumps({"id": f"d{i}", "text": text}) + "\n")
        self.cut = text_model.option_arguments(options)
        self.arguments = [*self.cut, "--weights", "tfidf", "--threshold", threshold]
        self.tf = [collections.Counter(text_model.sequence(text, options)) for text in texts]
        self.df = collections.Counter(shingle for tf in self.tf for shingle in tf)
        n = len(texts)
        # Logarithms of a library's own, but for signatures, whose words hang on the last bit.
        self.weights = [{s: c * math.log(n / self.df[s]) for s, c in tf.items() if self.df[s] < n} for tf in self.tf]

    def pairs(self):
        """{(i, j): similarity} of all pairs near the threshold or above it."""
        postings = collections.defaultdict(lambda: ([], []))
        for i, weights in enumerate(self.weights):
            for shingle, weight in weights.items():
                postings[shingle][0].append(i)
                postings[shingle][1].append(weight)
        postings = {shingle: (np.array(docs), np.array(ws)) for shingle, (docs, ws) in postings.items()}
        sums = np.array([sum(weights.values()) for weights in self.weights])
        found = {}
        for i, weights in enumerate(self.weights):
            both = np.zeros(len(self.texts))
            for shingle, weight in weights.items():
                docs, ws = postings[shingle]
                both[docs] += np.minimum(ws, weight)
            either = sums + sums[i] - both
            similar = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
            for j in np.flatnonzero(similar >= self.threshold - NEAR):
                if j > i:
                    found[i, int(j)] = float(similar[j])
        return found


def lines_of(path, first, n):
    data = harness.unzstd(path) if path.endswith(".zst") else harness.read_file(path)
    return data.decode("utf-8", "replace").split("\n")[first:first + n]


def corpora(folder, size):
    """Slices that the model takes seconds for; `full`: ten times as much."""
    many = {"small": 1, "normal": 2, "full": 30}[size]
    for name, file, field, first, n, threshold, options in (
            ("spdx_texts", "docs.tsv.zst", 2, 100, 60 * many, 0.3, text_model.text_options(["lower"], k=3)),
            ("oeb_us_uk", "docs.tsv.zst", 2, 5000, 500 * many, 0.5, text_model.text_options(["lower"], k=1)),
            ("febrl_dataset1", "docs.tsv", 2, 0, 300 * many, 0.4, text_model.text_options(kind="char", k=3)),
            ("minhash_articles", "articles_1000.train", None, 0, 70 * many, 0.1, text_model.text_options(k=2))):
        path = harness.corpus_file(name, file)
        if path:
            rows = [line for line in lines_of(path, first, n) if line]
            yield Corpus(folder, name, [row.split("\t")[field] if field else row for row in rows], threshold, options)


def generated(folder):
    rng = random.Random(11)
    vocabulary = [f"w{i}" for i in range(300)]
    texts = ["", "a", "...", "every"]
    for i in range(240):
        if i % 3 == 2:
            words = rng.choice(texts).split() or ["a"]
            for _ in range(rng.randrange(6)):
                words[rng.randrange(len(words))] = rng.choice(vocabulary)
        else:
            words = [rng.choice(vocabulary[:rng.choice((10, 50, 300))]) for _ in range(rng.randrange(1, 60))]
        texts.append(" ".join(words))
    for k in (1, 2):
        # One word that every document with words has weighs nothing; so do documents of it alone.
        yield Corpus(folder, f"generated_{k}", [("every " if k == 1 and text else "") + text for text in texts], 0.4,
                     text_model.text_options(["lower"], k=k))
    yield Corpus(folder, "all_alike", ["one and the same"] * 3, 0.1, text_model.text_options(k=2))


def read_pairs(data):
    rows = harness.read_rows(data, PAIRS_HEADER)
    pairs = {(int(a[1:]), int(b[1:])): similarity for a, b, similarity in rows}
    if len(pairs) < len(rows):
        raise ValueError("a pair stands twice")
    return pairs


def differs(found, corpus, wanted, exactly):
    """What is wrong with the pairs; empty: nothing."""
    for pair, similarity in found.items():
        if pair not in wanted:
            return f"{pair} with {similarity} is none"
        if abs(float(similarity) - wanted[pair]) > 5e-7 + NEAR:
            return f"{pair}: {similarity}, expected {wanted[pair]:.9f}"
    missing = [pair for pair, similarity in wanted.items() if pair not in found and similarity > corpus.threshold + NEAR]
    return f"{len(missing)} of {len(wanted)} are missing, {missing[0]}" if exactly and missing else ""


def check_pairs(bandmill, corpus):
    wanted = corpus.pairs()
    all_of = bandmill.run("pairs", *corpus.arguments, "--candidates", "all", corpus.path).stdout
    wrong = differs(read_pairs(all_of), corpus, wanted, True)
    if wrong:
        return f"all: {wrong}"
    lsh = bandmill.run("pairs", *corpus.arguments, "--bands", 32, "--rows", 2, corpus.path).stdout
    wrong = differs(read_pairs(lsh), corpus, wanted, False)
    if wrong or len(read_pairs(lsh)) < 0.5 * len(wanted):
        return f"lsh: {wrong or 'few are found'}"
    for threads, memory, kind in ((2, "22M", "all"), (8, "64M", "lsh"), (1, "20M", "lsh")):
        how = ["--candidates", "all"] if kind == "all" else ["--bands", 32, "--rows", 2]
        again = bandmill.run("pairs", *corpus.arguments, *how, "--threads", threads, "--memory", memory, "--batch-docs", 7,
                             corpus.path).stdout
        if again != (all_of if kind == "all" else lsh):
            return f"{kind} with {threads} threads and {memory}: other bytes"
    return ""


def check_sign(bandmill, corpus, folder, perms=8, most=30):
    target = os.path.join(folder, "sign-" + corpus.name)
    bandmill.run("sign", *corpus.cut, "--weights", "tfidf", "--perms", perms, "-o", target, corpus.path)
    counts = np.load(os.path.join(target, "n_shingles.npy")).tolist()
    wanted = [len(weights) for weights in corpus.weights]
    if counts != wanted:
        return f"n_shingles: {next((i, g, w) for i, (g, w) in enumerate(zip(counts, wanted)) if g != w)}"
    words = np.load(os.path.join(target, "signatures.npy")).tolist()
    rows, n = cws_model.coefficients(1, perms), len(corpus.texts)
    for i, tf in enumerate(corpus.tf[:most]):
        shared = [(s, c, n / corpus.df[s]) for s, c in tf.items() if corpus.df[s] < n]
        logs = cws_model.log([rarity for _, _, rarity in shared]).tolist()
        if words[i] != cws_model.signature([(xxhash.xxh3_64_intdigest(s), c * ln) for (s, c, _), ln in zip(shared, logs)], rows):
            return f"words of document {i}"
    with open(os.path.join(target, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    empty = sum(1 for tf, weights in zip(corpus.tf, corpus.weights) if tf and not weights)
    told = manifest["provenance"]["weights"], manifest["provenance"]["weights_documents"], manifest["provenance"]["scheme"]
    if told != ("tfidf", n, "cws") or manifest["counts"].get("weightless", 0) != empty:
        return f"the manifest says {told}, {manifest['counts'].get('weightless')} without weight (expected {empty})"
    return ""


def check_dedup(bandmill, corpus, folder):
    """dedup, and from signatures, with texts and without: one and the same plan, so the same candidates."""
    signed, pairs = os.path.join(folder, "signed-" + corpus.name), []
    plan = ["--bands", 32, "--rows", 2]
    bandmill.run("sign", *corpus.cut, "--weights", "tfidf", "--perms", 64, "-o", signed, corpus.path)
    for number, (arguments, source) in enumerate(((corpus.arguments, corpus.path), (["--threshold", corpus.threshold], signed))):
        target = os.path.join(folder, f"dedup-{corpus.name}-{number}")
        bandmill.run("dedup", *arguments, *plan, "--pairs", "-o", target, source)
        pairs.append(harness.read_file(target, "pairs.tsv"))
    wanted = bandmill.run("pairs", *corpus.arguments, *plan, "--identical", "chain", corpus.path).stdout
    if pairs[0] != wanted or pairs[1] != wanted:
        return "other pairs than `pairs` has"
    by_words = bandmill.run("pairs", "--threshold", corpus.threshold, *plan, "--verify", "signature", signed).stdout
    return "" if len(by_words) > len("\t".join(PAIRS_HEADER)) + 1 else "no pair by signatures"


def check_spill(bandmill, folder):
    """Enough text that nothing fits."""
    rng = random.Random(3)
    path = os.path.join(folder, "many.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        texts = []
        for i in range(3000):
            words = [f"w{rng.randrange(20000)}" for _ in range(120)]
            if i % 5 == 4:
                words = texts[rng.randrange(len(texts))][:100] + words[:10]
            texts.append(words)
            file.write(json.dumps({"id": i, "text": " ".join(words)}) + "\n")
    common = ["pairs", "--weights", "tfidf", "--shingle", "word:2", "--threshold", 0.5, path]
    for how in (["--candidates", "all"], ["--bands", 32, "--rows", 2]):
        wanted = bandmill.run(*common, *how, "--memory", "1G").stdout
        little = bandmill.run(*common, *how, "--memory", "23M", "--threads", 2, "-v")
        if little.stdout != wanted or wanted.count(b"\n") < 400:
            return f"{how}: other bytes, or few pairs ({wanted.count(10)})"
        if b"0 MiB of temporary files" in little.stderr or b"MiB of temporary files" not in little.stderr:
            return f"{how}: the frequencies did not go to files: {little.stderr[-600:]}"
    return ""


def main():
    args = harness.arguments("weights against a model")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        every = [*generated(folder), *corpora(folder, args.size)]
        for corpus in every:
            name = f"{corpus.name}: {len(corpus.texts)} documents"
            claims.attempt(f"{name}, pairs", lambda: check_pairs(bandmill, corpus))
            claims.attempt(f"{name}, signatures", lambda: check_sign(bandmill, corpus, folder))
        claims.attempt("dedup, from documents and from signatures", lambda: check_dedup(bandmill, every[0], folder))
        claims.attempt("little memory", lambda: check_spill(bandmill, folder))
    claims.end()


if __name__ == "__main__":
    main()
