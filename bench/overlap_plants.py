#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap_plants.py -- what `overlap` finds of items that are planted in training text, damaged in known ways; beside datatrove and dolma.

Items are windows of --words words of every other document of a corpus (JSON Lines in .zst, or a .train of an id and a text on each line). The text of the remaining documents is the training text, into which
each item is planted once, in one of these forms:

    verbatim        the item is a document
    wrapped         its words, with a new line behind every ninth and another case
    embedded        amid twenty times as many words
    cropped         60 % of its words, one after another
    changed         one word in ten is another
    paraphrase      every third word is another: no run of three words is left

An item is found where a row of overlap.tsv names it and the document in which it stands. datatrove's class NGramsDecontFilter, with its own defaults but for n and the hash (sha1: its xxhash refuses the str that it is given), removes a document for one
n-gram, and says neither which item nor where; an item counts as found where its document goes. `word:12` at 0.001 is the same rule of this
program. dolma's Bloom filter of n-grams (dolma_job.py) flags lines of which enough n-grams are in the filter; a document with a flagged line
goes. Documents that go without a plant are not all mistakes: texts of the corpus share passages. Figures are counts, and the same on every machine.

    bench/overlap_plants.py --program build/release/bandmill --out overlap-plants.json articles_1000.train
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import dolma_job
import measure

FORMS = ("verbatim", "wrapped", "embedded", "cropped", "changed", "paraphrase")
PLANS = [("word:13", 0.5), ("word:8", 0.5), ("word:5", 0.5), ("word:5", 0.3), ("char:20", 0.5), ("word:12", 0.001)]


def texts_of(path):
    if path.endswith(".train"):  # an id and a text on each line
        with open(path, encoding="utf-8") as file:
            return [line.split(" ", 1)[1].strip() for line in file if " " in line]
    data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line)["text"] for line in data.splitlines()]


def damaged(rng, item, form, filler):
    words = item.split()
    if form == "wrapped":
        return "".join(w.capitalize() + ("\n" if i % 9 == 8 else " ") for i, w in enumerate(words))
    if form == "embedded":
        before = filler(10 * len(words))
        return before + " " + item + " " + filler(10 * len(words))
    if form == "cropped":
        n = len(words) * 6 // 10
        at = rng.randint(0, len(words) - n)
        return " ".join(words[at:at + n])
    if form == "changed":
        for i in rng.sample(range(len(words)), len(words) // 10):
            words[i] = "another"
    if form == "paraphrase":
        words[::3] = ["another"] * len(words[::3])
    return " ".join(words)


def plant(rng, texts, n, length):
    """([(id, text, item or None)], [item]): documents with and without a plant."""
    own, other = texts[::2], texts[1::2]
    items = []
    for text in own:
        words = text.split()
        if len(words) >= length and len(items) < n:
            at = rng.randint(0, len(words) - length)
            items.append(" ".join(words[at:at + length]))
    pool = [word for text in other for word in text.split()]

    def filler(n_words):
        at = rng.randrange(len(pool) - n_words)
        return " ".join(pool[at:at + n_words])

    documents = [(f"plain{i}", text, None) for i, text in enumerate(other)]
    documents += [(f"plant{i}", damaged(rng, item, FORMS[i % len(FORMS)], filler), i) for i, item in enumerate(items)]
    rng.shuffle(documents)
    return documents, items


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for id_, text in rows:
            file.write(json.dumps({"id": id_, "text": text}) + "\n")


def summary(found, gone, documents):
    """Recall by form; and how many of the documents that go hold no plant."""
    planted = {name: item for name, _, item in documents if item is not None}
    figures = {}
    for number, form in enumerate(FORMS):
        items = [item for item in planted.values() if item % len(FORMS) == number]
        figures[form] = {"items": len(items), "found": sum(item in found for item in items)}
    figures["removed"], figures["removed_without_plant"] = len(gone), sum(name not in planted for name in gone)
    return figures


def with_bandmill(args, folder, documents, shingle, threshold):
    out = os.path.join(folder, "out")
    subprocess.run([args.program, "overlap", os.path.join(folder, "train.jsonl"), "--against", os.path.join(folder, "items.jsonl"), "--shingle",
                    shingle, "--threshold", str(threshold), "--force", "-q", "-o", out], check=True)
    with open(os.path.join(out, "overlap.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t")[:2] for line in file.read().splitlines()[1:]]
    found = {int(item[1:]) for name, item in rows if name == "plant" + item[1:]}
    return summary(found, {name for name, _ in rows}, documents)


def with_datatrove(folder, documents, items, n):
    import numpy as np
    from datatrove.data import Document
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
    from datatrove.utils.hashing import HashConfig

    config = NGramsDecontConfig(n_grams=n, hash_config=HashConfig(hash_fc="sha1"))  # its xxhash takes no str
    indexer = object.__new__(NGramsDecontIndexer)  # its __init__ wants lighteval, which only downloads test sets
    scan = NGramsDecontFilter(folder, config=config)
    indexer.config, indexer.tokenizer, indexer.hash_func = config, scan.tokenizer, scan.hash_func
    hashes = sorted({h for item in items for h in indexer.compute_hashes(item)})
    np.array(hashes, dtype=config.hash_config.np_descr).tofile(os.path.join(folder, "items.index.hashes"))
    scan.load_index_hashes()
    begin = time.process_time()
    gone = {name for name, text, _ in documents if scan.filter(Document(text=text, id=name)) is not True}
    seconds = time.process_time() - begin
    return {**summary({int(name[5:]) for name in gone if name.startswith("plant")}, gone, documents), "cpu_seconds": round(seconds, 3)}


def with_dolma(folder, documents, items, n, threshold):
    folder = os.path.join(folder, f"dolma-{n}")
    dolma_job.write(folder, "items", [(f"q{i}", item) for i, item in enumerate(items)])
    dolma_job.write(folder, "train", [(name, text) for name, text, _ in documents])
    dolma_job.run(folder, "items", units=sum(len(item.split()) for item in items), read_only=False, ngram=n)
    spans, run = dolma_job.run(folder, "train", units=1000, read_only=True, ngram=n, threshold=threshold)
    gone = {name for name, found in spans.items() if found}
    return {**summary({int(name[5:]) for name in gone if name.startswith("plant")}, gone, documents), "cpu_seconds": round(run["cpu_seconds"], 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    parser.add_argument("corpus")
    args = parser.parse_args()
    documents, items = plant(random.Random(args.seed), texts_of(args.corpus), args.items, args.words)
    bytes_ = sum(len(text.encode()) for _, text, _ in documents)
    result = {**measure.provenance(args.program), "corpus": os.path.basename(args.corpus), "documents": len(documents), "bytes": bytes_,
              "items": len(items), "item_words": args.words, "tools": {}}
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "train.jsonl"), [(name, text) for name, text, _ in documents])
        write(os.path.join(folder, "items.jsonl"), [(f"q{i}", item) for i, item in enumerate(items)])
        for shingle, threshold in PLANS:
            result["tools"][f"bandmill {shingle} {threshold}"] = with_bandmill(args, folder, documents, shingle, threshold)
        for n in (12, 5):
            try:
                result["tools"][f"datatrove n_grams {n}"] = with_datatrove(folder, documents, items, n)
            except ImportError as error:
                print(f"without datatrove: {error}")
        for n, threshold in ((13, 0.5), (5, 0.3)):
            if dolma_job.there():
                result["tools"][f"dolma Bloom n-grams {n} {threshold}"] = with_dolma(folder, documents, items, n, threshold)
            else:
                print("without dolma: not on PATH")
    measure.write(args.out, result)
    for name, figures in result["tools"].items():
        share = " ".join(f"{form} {figures[form]['found']}/{figures[form]['items']}" for form in FORMS)
        print(f"{name}: {share}; {figures['removed_without_plant']} of {figures['removed']} removed hold no plant")


if __name__ == "__main__":
    main()
