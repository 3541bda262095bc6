#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""units_compare.py -- repeated lines: `dedup --unit line` beside dolma's Bloom filter and datatrove's sentence deduplication.

Of each corpus (JSON Lines, plain or .zst, with `text`) a dictionary of lines tells the truth: a line of at least 8 words is *repeated* where the same
bytes have stood before. For each tool:

    missed      repeated lines that it does not cut
    wrong       lines that it cuts though no earlier line has the same words without case, punctuation and values of numbers
    seconds     processor seconds of the whole command; of datatrove those of its three steps

Rules differ: bandmill compares words without case and punctuation, datatrove also takes numbers for equal, dolma compares
the bytes of a line. dolma cuts lines of any length, for its `min_words` of 8 cuts none of 9 words (1.2.1); only lines of 8 words are counted
here. dolma needs its command on PATH, datatrove its module; each is left out where it is not installed. datatrove keeps lines apart with
split_sentences=False and n_sentences=1, and its other settings allow documents of any length.

    bench/units_compare.py --program build/release/bandmill --out units-compare.json corpus.jsonl
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time

import dolma_job
import measure

MIN_WORDS = 8
WORD = r"[^\W_]+"


def read(path):
    data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout if path.endswith(".zst") else open(path, "rb").read()
    return [(f"d{number}", json.loads(line)["text"]) for number, line in enumerate(data.splitlines())]


def lines_of(text):
    """[(from, to)] of each line in code points, without its line end."""
    at, found = 0, []
    for line in text.split("\n"):
        found.append((at, at + len(line)))
        at += len(line) + 1
    return found


def truth(documents):
    """Lines that are repeated, and lines of which no earlier one has the same words; each as (id, number)."""
    bytes_seen, words_seen, numbers_seen, repeated, new = set(), set(), set(), set(), set()
    for id_, text in documents:
        for number, (begin, end) in enumerate(lines_of(text)):
            line = text[begin:end]
            words = tuple(re.findall(WORD, line.lower()))
            numbers = tuple(re.findall(WORD, re.sub(r"\d+(?:[.,]\d+)*", "0", line.lower())))
            if len(words) >= MIN_WORDS:
                if line in bytes_seen:
                    repeated.add((id_, number))
                bytes_seen.add(line)
            if words not in words_seen and numbers not in numbers_seen:
                new.add((id_, number))
            words_seen.add(words)
            numbers_seen.add(numbers)
    return repeated, new


def cut_lines(documents, spans):
    """Lines of MIN_WORDS words whose every character but white space lies in a span of code points of its document."""
    found = set()
    for id_, text in documents:
        mine = spans.get(id_, [])
        if mine:
            for number, (begin, end) in enumerate(lines_of(text)):
                line = text[begin:end]
                first, last = begin + len(line) - len(line.lstrip()), begin + len(line.rstrip())
                if len(re.findall(WORD, line)) >= MIN_WORDS and any(low <= first and last <= high for low, high in mine):
                    found.add((id_, number))
    return found


def with_bandmill(args, folder, documents):
    path, out = os.path.join(folder, "corpus.jsonl"), os.path.join(folder, "out")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": id_, "text": text}, ensure_ascii=False) + "\n" for id_, text in documents)
    run = measure.run_once([args.program, "dedup", path, "--unit", "line", "--min-words", str(MIN_WORDS), "--threads", "1", "-q", "-o", out])
    texts, spans = dict(documents), {}
    with open(os.path.join(out, "cuts.tsv"), encoding="utf-8") as file:
        for row in file.read().splitlines()[1:]:
            id_, begin, end = row.split("\t")[:3]
            data = texts[id_].encode("utf-8", "surrogatepass")
            low = len(data[:int(begin)].decode("utf-8", "surrogatepass"))
            spans.setdefault(id_, []).append((low, low + len(data[int(begin):int(end)].decode("utf-8", "surrogatepass"))))
    return spans, run["cpu_seconds"]


def with_dolma(folder, documents):
    dolma_job.write(folder, "corpus", documents)
    spans, run = dolma_job.run(folder, "corpus", units=sum(text.count("\n") + 1 for _, text in documents), read_only=False)
    return {id_: [(low, high) for low, high, _ in found] for id_, found in spans.items()}, run["cpu_seconds"]


def with_datatrove(folder, documents):
    from datatrove.data import Document
    from datatrove.pipeline.dedup import SentDedupConfig, SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
    from datatrove.utils.hashing import HashConfig

    config = SentDedupConfig(n_sentences=1, split_sentences=False, min_doc_words=0, min_num_sentences=0,
                             hash_config=HashConfig(hash_fc="sha1"))  # its xxhash takes no str
    signatures, found = os.path.join(folder, "signatures"), os.path.join(folder, "found")
    begin = time.process_time()
    SentenceDedupSignature(output_folder=signatures, config=config, finder_workers=1).run((Document(text=t, id=i) for i, t in documents), 0, 1)
    SentenceFindDedups(data_folder=signatures, output_folder=found, config=config).run(None, 0, 1)
    cut = {}

    class Recording(SentenceDedupFilter):
        def remove_dup_sentences(self, doc, du_lines):
            cut[doc.id] = {int(number) for number in du_lines}
            return super().remove_dup_sentences(doc, du_lines)

    for _ in Recording(data_folder=found, config=config).run((Document(text=t, id=i) for i, t in documents), 0, 1):
        pass
    seconds, spans = time.process_time() - begin, {}
    for id_, text in documents:
        at, spans[id_] = 0, []
        for number, line in enumerate(text.splitlines(keepends=True)):  # as datatrove counts lines
            if number in cut.get(id_, ()):
                spans[id_].append((at, at + len(line)))
            at += len(line)
    return spans, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("corpora", nargs="+")
    args = parser.parse_args()
    result = {**measure.provenance(args.program), "corpora": {}}
    for path in args.corpora:
        documents = read(path)
        repeated, new = truth(documents)
        figures = {"documents": len(documents), "bytes": sum(len(text.encode("utf-8", "surrogatepass")) for _, text in documents),
                   "repeated_lines": len(repeated), "tools": {}}
        result["corpora"][os.path.basename(path)] = figures
        with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
            tools = {"bandmill": lambda: with_bandmill(args, folder, documents)}
            if dolma_job.there():
                tools["dolma"] = lambda: with_dolma(folder, documents)
            try:
                import datatrove  # noqa: F401
                tools["datatrove"] = lambda: with_datatrove(folder, documents)
            except ImportError:
                print("without datatrove: not installed")
            for name, work in tools.items():
                spans, seconds = work()
                cut = cut_lines(documents, spans)
                figures["tools"][name] = {"cut": len(cut), "missed": len(repeated - cut), "wrong": len(cut & new), "cpu_seconds": round(seconds, 3)}
                print(os.path.basename(path), name, figures["tools"][name], flush=True)
    measure.write(args.out, result)


if __name__ == "__main__":
    main()
