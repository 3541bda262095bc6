#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup --unit line and paragraph against a dictionary in Python: cuts, groups, and every kept record read back by Python's own
readers, over formats, threads, memory and settings. Words and normalising are those of plain ASCII texts."""

import argparse
import csv
import io
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = re.compile(r"[a-z0-9]+")
CASES = [
    # unit, keep_count, min_words, keep, within
    ("line", 1, 3, "first", None),
    ("line", 2, 1, "first", "site"),
    ("line", 1, 3, "last", "site"),
    ("paragraph", 1, 4, "first", None),
    ("paragraph", 3, 2, "first", "n"),
]
# of documents, in turn: what `within` compares, and their JSON; no value, a number as it is spelled, another type
SITES = {"site": ["a", "b", "a", 7, "7", None, 7.0, True], "n": [1, 2, 1]}


def make_texts(rng, n):
    lines = [" ".join(f"w{rng.randrange(40)}" for _ in range(rng.randrange(1, 9))) for _ in range(30)]
    texts = []
    for _ in range(n):
        out = []
        for _ in range(rng.randrange(8)):
            line = rng.choice(lines)
            if rng.random() < 0.2:
                line = line.upper() + "!"
            if rng.random() < 0.1:
                line = 'say "' + line + '"\t\\ '
            if rng.random() < 0.1:
                line = "  " + line
            out.append(line + rng.choice(["\n", "\n", "\n\n", "\r\n", " \n \n", "\n\n\n"]))
        texts.append("".join(out)[: None if rng.random() < 0.5 else -1])
    return texts


def units_of(text, unit):
    """(from, to, filled) of each unit."""
    lines, at = [], 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        lines.append((at, at + len(line), bool(line.strip())))
        at += len(line)
    if unit == "line":
        return lines
    out = []
    for begin, end, filled in lines:
        closed = out and out[-1][2] and out[-1][3]
        if out and not (filled and closed):
            out[-1][1] = end
            out[-1][3] = not filled and (out[-1][2] or False)
            out[-1][2] = out[-1][2] or filled
        else:
            out.append([begin, end, filled, False])
    return [tuple(u[:3]) for u in out]


def value_of(doc, field, cells):
    """What divides documents: its text, or None where the document is compared with no other; a cell of csv always has a text."""
    value = SITES[field][doc % len(SITES[field])]
    return str(value) if cells or (value is not None and value is not True) else None


def model(texts, unit, keep_count, min_words, keep, within, cells=False):
    """cuts by document, and groups, as the documentation has them."""
    met, filled = {}, []
    for doc, text in enumerate(texts):
        units = units_of(text, unit)
        filled.append(sum(u[2] for u in units))
        for begin, end, _ in units:
            words = WORDS.findall(text[begin:end].lower())
            value = within and value_of(doc, within, cells)
            if len(words) >= min_words and not (within and value is None):
                met.setdefault((value, *words), []).append((doc, begin, end))
    cuts = {}
    groups = []
    for members in met.values():
        if len(members) < 2:
            continue
        kept = members[-1] if keep == "last" else members[0]
        stay = members[-1:] if keep == "last" else members[:keep_count]
        groups.append((members, kept))
        for m in members:
            if m in stay:
                continue
            same = texts[m[0]][m[1] : m[2]] == texts[kept[0]][kept[1] : kept[2]]
            cuts.setdefault(m[0], []).append((m[1], m[2], kept[0], kept[1], "identical" if same else "equal"))
    for of in cuts.values():
        of.sort()
    groups.sort(key=lambda g: g[0][0])
    empty = {doc for doc, of in cuts.items() if len(of) == filled[doc]}
    return cuts, groups, empty


def without(text, cuts):
    out, at = "", 0
    for begin, end, *_ in cuts:
        out += text[at:begin]
        at = end
    return out + text[at:]


def values(i):
    return {field: of[i % len(of)] for field, of in SITES.items()}


def as_jsonl(texts):
    return "".join(
        json.dumps({"id": f"d{i}", "i": i, "text": t, "more": [t], **values(i)}, ensure_ascii=i % 2 == 0) + "\n" for i, t in enumerate(texts)
    )


def as_json(texts):
    return "[" + ",\n".join(json.dumps({"text": t, "id": f"d{i}", **values(i)}) for i, t in enumerate(texts)) + "]"


def as_csv(texts):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["id", "text", *SITES])
    writer.writerows([f"d{i}", t, *(value_of(i, field, True) for field in SITES)] for i, t in enumerate(texts))
    return out.getvalue()


def read_jsonl(bytes_):
    return [(r["id"], r["text"]) for r in map(json.loads, bytes_.decode().split("\n")[:-1])]


def read_json(bytes_):
    return [(r["id"], r["text"]) for r in json.loads(bytes_)]


def read_csv(bytes_):
    return [(r["id"], r["text"]) for r in csv.DictReader(io.StringIO(bytes_.decode(), newline=""))]


def check(program, folder, name, bytes_, read, texts, case):
    unit, keep_count, min_words, keep, within = case
    cuts, groups, empty = model(texts, *case, name == "in.csv")
    (folder / name).write_bytes(bytes_)
    options = ["--unit", unit, "--min-words", str(min_words), "-q", *(["--within", within] if within else [])]
    options += ["--keep", keep] if keep != "first" else ["--keep-count", str(keep_count)]
    first = None
    for i, more in enumerate((["--threads", "1"], ["--threads", "4", "--memory", "64M"])):
        out = folder / f"{name}.{unit}.{keep_count}.{keep}.{i}"
        subprocess.run([program, "dedup", folder / name, *options, *more, "-o", out], check=True)
        files = {f.name: f.read_bytes() for f in out.iterdir() if f.name != "report.json"}
        assert first is None or first == files, (case, name, more)
        first = files
    again = folder / f"{out.name}.filter"
    subprocess.run([program, "filter", out, "-q", "-o", again], check=True)
    kept_name = "kept" + Path(name).suffix
    assert (again / kept_name).read_bytes() == files[kept_name], (case, name, "filter")
    rows = [line.split("\t") for line in files["cuts.tsv"].decode().split("\n")[1:-1]]
    expected = [
        [f"d{d}", str(c[0]), str(c[1]), f"d{c[2]}", str(c[3]), "1.000000", c[4]] for d in sorted(cuts) for c in cuts[d]
    ]
    assert [r[:7] for r in rows] == expected, (case, name)
    got = [json.loads(line) for line in files["groups.jsonl"].decode().split("\n")[:-1]]
    assert got == [
        {"group": i + 1, "kept": [f"d{k[0]}", k[1]], "size": len(m), "members": [[f"d{d}", b] for d, b, _ in m]}
        for i, (m, k) in enumerate(groups)
    ], (case, name)
    kept = read(files["kept" + Path(name).suffix])
    assert kept == [(f"d{i}", without(t, cuts.get(i, []))) for i, t in enumerate(texts) if i not in empty], (case, name)
    removed = [line.split("\t") for line in files["removed.tsv"].decode().split("\n")[1:-1]]
    assert [(r[0], r[1], r[2], r[3]) for r in removed] == [(f"d{i}", "", "", "empty") for i in sorted(empty)], (case, name)
    if name.endswith(".jsonl"):  # all bytes but those of the text are those of the input
        lines = bytes_.decode().split("\n")[:-1]
        for line in files["kept.jsonl"].decode().split("\n")[:-1]:
            record = json.loads(line)
            before = json.loads(lines[record["i"]])
            assert {**record, "text": 0} == {**before, "text": 0}
            if record == before:
                assert line == lines[record["i"]]
    return len(expected), len(empty)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()  # the size is one
    n_cuts = n_empty = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, case in enumerate(CASES):
            texts = make_texts(random.Random(options.seed + i), 60)
            for file, make, read in (("in.jsonl", as_jsonl, read_jsonl), ("in.json", as_json, read_json), ("in.csv", as_csv, read_csv)):
                cuts, empty = check(options.program, folder, file, make(texts).encode(), read, texts, case)
                n_cuts += cuts
                n_empty += empty
    assert n_cuts > 500 and n_empty > 10, (n_cuts, n_empty)
    print(f"{n_cuts} cuts and {n_empty} emptied documents as the model has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
