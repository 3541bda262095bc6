# SPDX-License-Identifier: Apache-2.0
"""The same groups from the program and from Python, whatever the documents come as: of scancode_rules, or of another file.

By hand, of 150,000 documents: BANDMILL_GROUPS_OF=FILE.jsonl.
"""

import json
import os
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.json
import pytest

import bandmill

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "reference"))
import corpora

RULES = pathlib.Path(corpora.FOLDER) / "scancode_rules/docs.jsonl.zst"
OPTIONS = {"threshold": 0.7, "device": "cpu"}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A file of JSON Lines, and its columns id and text."""
    given = os.environ.get("BANDMILL_GROUPS_OF")
    path = pathlib.Path(given) if given else tmp_path_factory.mktemp("groups") / "docs.jsonl"
    if not given:
        if not RULES.exists():
            pytest.skip(f"no corpus at {RULES}")
        with pa.input_stream(str(RULES), compression="zstd") as file:
            lines = file.read().split(b"\n")[:8000]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    table = pyarrow.json.read_json(path, read_options=pyarrow.json.ReadOptions(block_size=16 << 20))
    return path, pa.table({"id": table["id"].cast(pa.string()), "text": table["text"]})


@pytest.fixture(scope="module")
def by_program(documents, program, tmp_path_factory):
    """What the program says: lines of groups.jsonl, and ids of what stays."""
    out = tmp_path_factory.mktemp("groups") / "out"
    program("dedup", documents[0], "-o", out, "--threshold", 0.7, "--device", "cpu")
    groups = [json.loads(line) for line in (out / "groups.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    kept = [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(groups) > 100
    return groups, [str(i) for i in kept]


def polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def pandas(table):
    pytest.importorskip("pandas")
    return table.to_pandas()


def relation(documents):
    return pytest.importorskip("duckdb").sql("select * from documents")


FORMS = {
    "pyarrow": lambda t: t,
    "chunks of a reader": lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=777)),
    "polars": polars,
    "pandas": pandas,
    "DuckDB": relation,
}


def ids_of(data):
    """The column id of whatever a form takes."""
    column = data["id"] if not hasattr(data, "fetchall") else data.fetchall()
    return [str(row[0]) for row in column] if isinstance(column, list) else [str(i) for i in pa.array(column).to_pylist()]


@pytest.mark.parametrize("form", FORMS)
def test_tables(form, documents, by_program):
    if form == "DuckDB" and len(documents[1]) > 100_000:
        pytest.importorskip("duckdb").sql("set preserve_insertion_order = true")
    data = FORMS[form](documents[1])
    r = bandmill.dedup(data, id="id", threads=2, **OPTIONS)
    assert r.groups.to_pylist() == by_program[0]
    if form != "chunks of a reader":
        assert ids_of(r.take(data)) == by_program[1]


def test_a_list(documents, by_program):
    ids = documents[1]["id"].to_pylist()
    texts = documents[1]["text"].to_pylist()
    for data in (texts, np.array(texts, dtype=object)):
        r = bandmill.dedup(data, **OPTIONS)
        rows = [[ids[m] for m in group["members"]] for group in r.groups.to_pylist()]
        assert rows == [group["members"] for group in by_program[0]]
        assert [i for i, stays in zip(ids, r.kept) if stays] == by_program[1]


def test_pairs(documents, program):
    theirs = program("pairs", documents[0], "--threshold", 0.7, "--device", "cpu").decode().split("\n")[1:-1]
    found = bandmill.pairs(documents[1], id="id", **OPTIONS)
    columns = (found[name].to_pylist() for name in found.column_names)
    assert [f"{a}\t{b}\t{j:.6f}" for a, b, j in zip(*columns)] == theirs and theirs
