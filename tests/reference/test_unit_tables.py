#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dedup --unit and overlap --cut of Parquet and Arrow files: the texts that are left are those of the same documents as JSON Lines, read
back by pyarrow; every other column, the schema, its metadata and the types stay. Types of text, lists, structs, nulls, row groups,
codecs; filter makes the same file."""
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import harness

pa = harness.need_modules("pyarrow")
import pyarrow.ipc as ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import test_units as files  # noqa: E402

FORMS = [
    # file, type of the text, options of writing
    ("string.parquet", "string", {"row_group_size": 7, "compression": "zstd"}),
    ("large.parquet", "large_string", {"compression": "snappy", "use_dictionary": False}),
    ("binary.parquet", "binary", {"data_page_size": 64, "write_batch_size": 8, "compression": "none"}),
    ("list.parquet", "list", {"row_group_size": 9}),
    ("struct.parquet", "struct", {}),
    ("string.arrow", "string", {}),
    ("large.arrow", "large_string", {}),
    ("view.arrow", "string_view", {}),
    ("list.arrow", "list", {}),
    ("struct.arrow", "struct", {}),
]
JOBS = [["--unit", "line"], ["--unit", "paragraph", "--keep-count", "2"], ["--unit", "span:4"], ["--unit", "line", "--threshold", "0.5"]]


def pieces(text):
    """The elements of a list, with a null among them."""
    return [text[: len(text) // 2], None, text[len(text) // 2 :]] if text is not None and len(text) > 40 else text and [text]


def column(kind, texts):
    """The texts as a column, and the name by which they are asked for."""
    if kind == "list":
        return pa.array([pieces(t) for t in texts], pa.list_(pa.string())), "t[]"
    if kind == "struct":
        return pa.array([{"n": i, "in": t} for i, t in enumerate(texts)]), "t.in"
    return pa.array([t and (t.encode() if kind == "binary" else t) for t in texts], getattr(pa, kind)()), "t"


def write(path, table, options):
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
        return
    with ipc.new_file(path, table.schema) as out:
        for batch in table.to_batches(max_chunksize=11):
            out.write_batch(batch)


def read(path):
    return pq.read_table(path) if path.suffix == ".parquet" else ipc.open_file(path).read_all()


def plain(value):
    """A cell as JSON has it; null has no text."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return plain(value["in"])
    return value


def check(program, folder, name, kind, options, texts, job, more):
    cells, field = column(kind, texts)
    ids = [f"d{i}" for i in range(len(texts))]
    table = pa.table({"id": ids, "n": pa.array(range(len(texts)), pa.int16()), "t": cells, "more": [[t] for t in texts]})
    table = table.replace_schema_metadata({"ours": "kept"})
    path = folder / name
    write(path, table, options)
    values = [plain(v) or ([] if kind == "list" else "") for v in cells.to_pylist()]
    rows = [{"id": i, "t": {"in": v} if kind == "struct" else v} for i, v in zip(ids, values)]
    (folder / "same.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    results = []
    for source in (folder / "same.jsonl", path):
        out = folder / "out"
        subprocess.run([program, *job, source, *more, "--text-field", field, "--force", "-q", "-o", out], check=True)
        cuts = [line.split("\t")[:7] for line in (out / "cuts.tsv").read_text().split("\n")[1:-1]]
        results.append(cuts)
        if source.suffix == ".jsonl":
            left = {r["id"]: plain(r["t"]) for r in map(json.loads, (out / "kept.jsonl").read_text().split("\n")[:-1])}
    assert results[0] == results[1], (name, job)
    kept = read(out / f"kept{path.suffix}")
    kept.validate(full=True)
    assert kept.schema.equals(read(path).schema, check_metadata=True), (name, job, kept.schema)
    got = [(i, plain(v) or values[ids.index(i)]) for i, v in zip(kept["id"].to_pylist(), kept["t"].to_pylist())]
    for x, y in itertools.zip_longest(got, left.items()):
        assert x == y, (name, job, x, y)
    numbers = [ids.index(i) for i in kept["id"].to_pylist()]
    for other in ("n", "more"):
        assert kept[other].to_pylist() == [table[other][i].as_py() for i in numbers], (name, job, other)
    if kind == "struct":
        assert [v["n"] for v in kept["t"].to_pylist()] == numbers, (name, job)
    again = folder / "again"
    subprocess.run([program, "filter", out, "--force", "-q", "-o", again], check=True)
    assert (again / f"kept{path.suffix}").read_bytes() == (out / f"kept{path.suffix}").read_bytes(), (name, job, "filter")
    return len(results[0])


def main():
    arguments = harness.arguments(__doc__.split(":")[0])
    program = arguments.program
    n_cuts = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for i, (name, kind, options) in enumerate(FORMS):
            texts = files.make_texts(random.Random(i + 1), 40)
            texts[3] = texts[20] = None
            job = JOBS[i % len(JOBS)]
            n_cuts += check(program, folder, name, kind, options, texts, ["dedup", *job, "--min-words", "3", "--shingle", "word:2"], [])
            items = folder / "items.jsonl"
            items.write_text("".join(json.dumps({"id": f"i{k}", "text": t}) + "\n" for k, t in enumerate(texts[:4]) if t))
            n_cuts += check(program, folder, name, kind, options, texts, ["overlap"],
                            ["--against", items, "--against-text-field", "text", "--cut", "--shingle", "word:3", "--threshold", "0.1"])
        two = folder / "two.parquet"
        pq.write_table(pa.table({"id": ["a"], "t": ["x"], "u": ["y"]}), two)
        got = subprocess.run([program, "dedup", two, "--unit", "line", "--text-field", "t", "--text-field", "u", "-o", folder / "never"],
                             capture_output=True, text=True)
        assert got.returncode == 2 and "--unit with several text fields of tables" in got.stderr, got
    assert n_cuts > 300, n_cuts
    print(f"{n_cuts} cuts of tables as those of JSON Lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
