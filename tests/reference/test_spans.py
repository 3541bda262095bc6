#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup --unit span:K against a dictionary of tuples in Python: every cut, and every kept record read back by Python's own readers, over
shingles, K, languages, formats, fields, threads and memory."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import overlap_model
import test_units as files

DEFAULT = frozenset(("invisible", "lower"))
CASES = [
    # kind, K, --words, keep_count, min_words, within
    ("word", 5, "alnum", 1, 8, None),
    ("word", 5, "alnum", 1, 1, None),
    ("word", 1, "alnum", 3, 1, "site"),
    ("word", 2, "space", 2, 4, None),
    ("word", 50, "alnum", 1, 8, "n"),
    ("char", 20, "alnum", 1, 3, None),
    ("char", 100, "alnum", 1, 8, "site"),
    ("byte", 16, "alnum", 1, 2, "n"),
]


def make_texts(rng, n, wild):
    """Texts of sentences, of which passages are copied into later ones and into themselves."""
    words = [f"w{i}" for i in range(60)]
    if wild:
        words += ["größe", "naïve", "e\u0301te", "\ufb01n", "数据", "漢字かな", "ДОМ", "x\u00ady", "\ud83d", "😀"]
    gaps = [" ", " ", " ", "\n", ", ", "  ", "-", "\r\n\r\n"] + (["\u3000", "\u00a0"] if wild else [])
    texts = []
    for _ in range(n):
        text = "".join(rng.choice(words) + rng.choice(gaps) for _ in range(rng.randrange(90)))
        for _ in range(rng.randrange(4)):
            source = rng.choice(texts) if texts and rng.random() < 0.8 else text
            begin = rng.randrange(len(source) + 1)
            passage = source[begin : begin + rng.choice([40, 200, 900])]
            at = rng.randrange(len(text) + 1)
            text = text[:at] + (passage.upper() if rng.random() < 0.1 else passage) * rng.choice([1, 1, 1, 3]) + text[at:]
        texts.append("" if rng.random() < 0.05 else text)
        if rng.random() < 0.1 and texts:
            texts.append(rng.choice(texts))
    return texts


def to_bytes(text):
    return text.encode("utf-8", "surrogatepass")


def model(docs, kind, k, words, keep_count, min_words, within, cells=False):
    """Cuts of each document, (from, to, kept document, kept from), and the documents that are left empty. A document is a list of texts,
    which stand in its text with one byte between them."""
    options = {"normalize": DEFAULT, "kind": kind, "words": words}
    met, cuts, empty = {}, {}, set()
    for doc, parts in enumerate(docs):
        begin = 0
        value = within and files.value_of(doc, within, cells)
        for part in parts if value is not None or not within else []:
            units = overlap_model.units_of(part, options)
            plain = units if kind == "word" else overlap_model.units_of(part, {**options, "kind": "word"})
            runs = []
            for i in range(len(units) - k + 1):
                before = met.setdefault((value, *(u[0] for u in units[i : i + k])), [])
                if len(before) >= keep_count:
                    if runs and runs[-1][1] == i - 1:
                        runs[-1][1] = i
                    else:
                        runs.append([i, i, before[0]])
                before.append((doc, begin + units[i][1]))
            for first, last, kept in runs:
                span = (units[first][1], units[last + k - 1][2])
                if sum(w[1] < span[1] and w[2] > span[0] for w in plain) >= min_words:
                    cuts.setdefault(doc, []).append((begin + span[0], begin + span[1], *kept))
            begin += len(to_bytes(part)) + 1
        left = cut_parts(parts, cuts.get(doc, []))
        if doc in cuts and not "".join(left).strip():
            empty.add(doc)
    return cuts, empty


def cut_parts(parts, cuts):
    left, begin = [], 0
    for part in parts:
        data = to_bytes(part)
        out = bytes(b for i, b in enumerate(data, begin) if not any(c[0] <= i < c[1] for c in cuts))
        left.append(out.decode("utf-8", "surrogatepass"))
        begin += len(data) + 1
    return left


def as_jsonl(texts):
    """Escapes in every other record; an unpaired surrogate has to be one."""
    return "".join(
        json.dumps({"id": f"d{i}", "text": t, "more": [t], **files.values(i)}, ensure_ascii=i % 2 == 0 or "\ud83d" in t) + "\n" for i, t in enumerate(texts)
    )


def read_rows(path):
    return [line.split("\t") for line in path.read_text().split("\n")[1:-1]]


def check(program, folder, name, bytes_, read, docs, case, more=()):
    kind, k, words, keep_count, min_words, within = case
    cuts, empty = model(docs, *case, name == "in.csv")
    (folder / name).write_bytes(bytes_)
    unit = "span" if k == 50 else f"span:{k}"
    options = ["--unit", unit, "--shingle", f"{kind}:7", "--words", words, "--min-words", str(min_words), "-q", *more]
    options += ["--within", within] if within else []
    options += ["--keep-count", str(keep_count)] if keep_count > 1 else []
    first = None
    for i, how in enumerate((["--threads", "1"], ["--threads", "4", "--memory", "64M"])):
        out = folder / f"{name}.{kind}{k}.{keep_count}.{min_words}.{i}"
        subprocess.run([program, "dedup", folder / name, *options, *how, "-o", out], check=True)
        written = {f.name: f.read_bytes() for f in out.iterdir() if f.name != "report.json"}
        assert first is None or first == written, (case, name, how)
        first = written
    assert "groups.jsonl" not in written and "pairs.tsv" not in written
    rows = [[*r[:5], *r[5:7]] for r in read_rows(out / "cuts.tsv")]
    expected = [
        [f"d{d}", str(c[0]), str(c[1]), f"d{c[2]}", str(c[3]), "1.000000", "equal"] for d in sorted(cuts) for c in cuts[d]
    ]
    for got, wanted in zip(rows, expected):
        assert got == wanted, (case, name, got, wanted)
    assert len(rows) == len(expected), (case, name, len(rows), len(expected))
    kept = read(written["kept" + Path(name).suffix])
    assert kept == [(f"d{i}", cut_parts(parts, cuts.get(i, []))) for i, parts in enumerate(docs) if i not in empty], (case, name)
    removed = read_rows(out / "removed.tsv")
    assert [(r[0], r[3]) for r in removed] == [(f"d{i}", "empty") for i in sorted(empty)], (case, name)
    again = folder / f"{out.name}.filter"
    subprocess.run([program, "filter", out, "-q", "-o", again], check=True)
    assert (again / f"kept{Path(name).suffix}").read_bytes() == written[f"kept{Path(name).suffix}"], (case, name, "filter")
    return len(expected), len(empty)


def check_long(program, folder, rng):
    """Texts with so many repeated K-grams that they go to a file, between short ones."""
    words = [f"w{i}" for i in range(5000)]
    long = " ".join(rng.choice(words) for _ in range(60000))
    pieces = [f" {i} " + long[20000 * i : 20000 * i + 12000] for i in range(10)]
    texts = [long, "x" + pieces[3], "".join(pieces) + long[5000:], "", *pieces, long]
    for case in (("word", 5, "alnum", 1, 8, None), ("char", 30, "alnum", 1, 8, "site"), ("word", 2, "space", 2, 4, None)):
        docs = [[t] for t in texts]
        read = lambda b: [(i, [t]) for i, t in files.read_jsonl(b)]  # noqa: E731
        assert check(program, folder, "long.jsonl", as_jsonl(texts).encode(), read, docs, case)[0] > 10, case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()  # the size is one
    n_cuts = n_empty = 0
    one = [
        ("in.jsonl", as_jsonl, files.read_jsonl),
        ("in.json", files.as_json, files.read_json),
        ("in.csv", files.as_csv, files.read_csv),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, case in enumerate(CASES):
            rng = random.Random(options.seed * 100 + i)
            texts = make_texts(rng, 50, case[0] != "byte")
            file, make, read = one[i % 3]
            if file == "in.csv":
                texts = [t.replace("\ud83d", "") for t in texts]
            docs = [[t] for t in texts]
            found = check(
                options.program, folder, file, make(texts).encode(), lambda b, read=read: [(i, [t]) for i, t in read(b)], docs, case
            )
            n_cuts, n_empty = n_cuts + found[0], n_empty + found[1]
            # Several fields, one of which is a list: no span crosses them.
            lists = [[t[: len(t) // 3], *t[len(t) // 3 :].split("w7", 2)] for t in texts]
            lines = "".join(json.dumps({"id": f"d{i}", "title": p[0], "body": p[1:], **files.values(i)}) + "\n" for i, p in enumerate(lists))
            found = check(
                options.program,
                folder,
                "parts.jsonl",
                lines.encode(),
                lambda b: [(r["id"], [r["title"], *r["body"]]) for r in map(json.loads, b.decode().split("\n")[:-1])],
                lists,
                case,
                ["--text-field", "title", "--text-field", "body[]"],
            )
            n_cuts, n_empty = n_cuts + found[0], n_empty + found[1]
        check_long(options.program, folder, random.Random(options.seed))
    assert n_cuts > 500 and n_empty > 10, (n_cuts, n_empty)
    print(f"{n_cuts} cuts and {n_empty} emptied documents as the model has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
