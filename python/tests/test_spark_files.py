# SPDX-License-Identifier: Apache-2.0
"""Parquet that Spark writes, read by the program (its module) and by this package (pyarrow): the signatures of the same texts
as JSON Lines, byte for byte; kept rows as pyarrow filters them, which Spark reads again with the schema that it wrote."""

import decimal
import json
import pathlib

import numpy as np
import pytest
from spark_session import start  # noqa: F401  (it skips this file where Spark cannot run)

import bandmill

import pyarrow as pa  # isort: skip
import pyarrow.parquet as pq  # isort: skip
from conftest import make_rows  # isort: skip

N, KEY = 240, b"org.apache.spark.sql.parquet.row.metadata"
FIELDS = ("text", "raw", "doc.text", "doc.part.text", "words[]", "talk[].content")
SCHEMA = """id string, text string, raw binary, doc struct<text: string, part: struct<text: binary, n: tinyint>>,
    words array<string>, talk array<struct<role: string, content: string>>, facts map<string, string>, lang string,
    n int, day date, at timestamp, local timestamp_ntz, price decimal(9, 2), large decimal(30, 4), share float, good boolean"""
NO_STRUCT = "doc-11"
ROWS = make_rows(N, seed=4)
ROWS[5]["text"] = ROWS[N - 1]["text"] = None
for at, row in enumerate(ROWS):
    row["lang"] = ("de", "en", "fr")[at % 3]


def as_json(row):
    """A row as a line has it."""
    text = row["text"]
    words = [w if i != 2 else None for i, w in enumerate((text or "").split())]
    talk = [{"role": "user", "content": " ".join((text or "").split()[i : i + 9])} for i in range(0, len(words), 9)]
    inner = None if row["id"] == NO_STRUCT else text  # a null struct has null texts
    doc = {"text": inner, "part": {"text": inner}}
    return {"id": row["id"], "text": text, "raw": text, "doc": doc, "words": words, "talk": talk}


def as_tuple(row, i):
    """A row of SCHEMA."""
    import datetime

    line = as_json(row)
    raw = None if row["text"] is None else row["text"].encode()
    doc = None if row["id"] == NO_STRUCT else (row["text"], (raw, i % 100))
    talk = [(t["role"], t["content"]) for t in line["talk"]]
    facts = None if i % 5 == 1 else {f"k{k}": None if k == 2 else row["text"] for k in range(i % 4)}
    at = datetime.datetime(2024, 1, 1 + i % 28, i % 24, tzinfo=datetime.timezone.utc)
    numbers = (i, at.date(), at, at.replace(tzinfo=None), decimal.Decimal(i) / 4, decimal.Decimal(i) / 8, i / 3, i % 2 == 0)
    return (
        row["id"],
        row["text"],
        raw,
        doc,
        line["words"],
        talk,
        facts,
        row["lang"],
        *(None if i % 9 == 4 else v for v in numbers),
    )


PLAIN = {"parquet.enable.dictionary": "false"}
VERSION_2 = {"parquet.writer.version": "PARQUET_2_0"}
FORMS = {  # name -> options of the writer, settings of the session
    "snappy": ({"compression": "snappy"}, {}),
    "gzip, version 2": ({"compression": "gzip", **VERSION_2}, {}),
    "zstd, version 2 without dictionaries": ({"compression": "zstd", **VERSION_2, **PLAIN}, {}),
    "lz4, small pages without dictionaries": ({"compression": "lz4", "parquet.page.size": "300", **PLAIN}, {}),
    "lz4_raw, row groups of 50": ({"compression": "lz4_raw", "parquet.block.row.count.limit": "50"}, {}),
    "uncompressed, legacy": ({"compression": "uncompressed"}, {"spark.sql.parquet.writeLegacyFormat": "true"}),
    "times of 64 bits": ({"compression": "zstd"}, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}),
}
# pyarrow writes all times of a file alike, of 64 bits or of 96, and names of lists as the format has them: other files that the
# package keeps rows of have the same rows, but not the same types to the letter.
TO_THE_LETTER = ("times of 64 bits",)
CODECS = {"lz4": "UNKNOWN", "lz4_raw": "LZ4"}  # as pyarrow calls them


@pytest.fixture(scope="module")
def frame(spark):
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return spark.createDataFrame([as_tuple(r, i) for i, r in enumerate(ROWS)], SCHEMA).coalesce(1).localCheckpoint()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def lines_of(folder, rows, name):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(as_json(r)) + "\n" for r in rows), encoding="utf-8")
    return path


class Signing:
    """Signatures by both readers of Parquet, beside those of the same rows as lines."""

    def __init__(self, program, folder):
        self.program, self.folder, self.n = program, folder, 0

    def by_program(self, path, field):
        self.n += 1
        out = self.folder / f"signed-{self.n}"
        self.program("sign", path, "-o", out, "--text-field", field, "--id-field", "id", "--perms", 16, "--device", "cpu")
        return [(out / name).read_bytes() for name in ("signatures.npy", "n_shingles.npy", "ids.txt", "content_hash.npy")]

    def by_package(self, path, field):
        s = bandmill.sign(path, field, "id", perms=16, device="cpu")
        return [np.asarray(s.signatures).tolist(), np.asarray(s.n_shingles).tolist(), list(s.ids)]

    def expect_same(self, path, lines, field):
        assert self.by_program(path, field) == self.by_program(lines, field), f"{field} by the program"
        assert self.by_package(path, field) == self.by_package(lines, field), f"{field} by the package"


@pytest.fixture(scope="module")
def signing(folder):
    import os
    import subprocess

    path = os.environ.get("BANDMILL_PROGRAM")
    if not path or not (pathlib.Path(path).parent / "libbandmill_parquet.so").exists():
        pytest.skip("BANDMILL_PROGRAM names no program with bandmill-parquet beside it")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments), "-q"], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    return Signing(run, folder)


def place_of(folder, name):
    return folder / name.replace(", ", "-").replace(" ", "-")


def parts_of(path):
    return sorted(path.rglob("*.parquet"))


@pytest.mark.parametrize("name", FORMS)
def test_each_form_has_the_signatures_of_lines(spark, frame, folder, signing, name):
    options, settings = FORMS[name]
    path, lines = place_of(folder, name), lines_of(folder, ROWS, "all")
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        frame.write.options(**options).parquet(str(path))
    finally:
        for key in settings:
            spark.conf.unset(key)
    (part,) = parts_of(path)
    meta = pq.ParquetFile(part).metadata
    codec = options["compression"]
    assert meta.row_group(0).column(1).compression == CODECS.get(codec, codec.upper())
    assert (meta.num_row_groups > 4) == ("row groups" in name)
    for field in FIELDS:
        signing.expect_same(part, lines, field)
    expect_kept(spark, folder, signing, part, lines, name)


def removed_by(out):
    return {line.split("\t")[0] for line in (out / "removed.tsv").read_text(encoding="utf-8").splitlines()[1:]}


def expect_kept(spark, folder, signing, part, lines, name):
    """What stays of a file by the program and by the package: pyarrow's rows, schema and metadata, and Spark's schema."""
    plain, out, ours = (place_of(folder, f"{what} {name}") for what in ("plain", "out", "ours"))
    rest = ("--threshold", 0.6, "--id-field", "id", "--device", "cpu")
    signing.program("dedup", lines, "-o", plain, *rest)
    signing.program("dedup", part, "-o", out, *rest)
    bandmill.dedup(part, id="id", threshold=0.6, device="cpu", output=ours)
    table = pq.read_table(part)
    for found in (out, ours):
        assert (found / "groups.jsonl").read_bytes() == (plain / "groups.jsonl").read_bytes()
        gone = removed_by(found)
        wanted = table.filter(pa.array([i not in gone for i in table["id"].to_pylist()]))
        was, now = pq.ParquetFile(part), pq.ParquetFile(found / "kept.parquet")
        assert gone and now.read().to_pylist() == wanted.to_pylist()
        assert KEY in now.metadata.metadata and now.metadata.metadata == was.metadata.metadata
        if found == out:
            assert now.read().equals(wanted) and now.schema.equals(was.schema)
        if found == out or name in TO_THE_LETTER:
            assert now.schema_arrow.equals(was.schema_arrow, check_metadata=True)
        again, first = spark.read.parquet(str(found / "kept.parquet")), spark.read.parquet(str(part))
        assert again.schema == first.schema
        assert again.collect() == [r for r in first.collect() if r["id"] not in gone]


@pytest.mark.parametrize("n", [0, 1])
def test_files_of_no_row_and_of_one(spark, frame, folder, signing, n):
    path = folder / f"few-{n}"
    frame.where(f"n < {n}").write.parquet(str(path))
    part = parts_of(path)[0]
    if n:
        signing.expect_same(part, lines_of(folder, ROWS[:1], "one"), "text")
    out = folder / f"few-out-{n}"
    signing.program("dedup", part, "-o", out, "--device", "cpu")
    assert pq.read_table(out / "kept.parquet").equals(pq.read_table(part))
    assert spark.read.parquet(str(out / "kept.parquet")).schema == spark.read.parquet(str(part)).schema


def test_folders_of_several_parts(spark, frame, folder, signing):
    """A folder as Spark leaves it, with what marks its end and checksums; and one with a folder for each value of a column."""
    path = folder / "parts"
    frame.repartitionByRange(3, "n").sortWithinPartitions("n").write.parquet(str(path))
    assert len(parts_of(path)) == 3 and (path / "_SUCCESS").exists()
    ids = [i for part in parts_of(path) for i in pq.read_table(part, columns=["id"])["id"].to_pylist()]
    rows = {r["id"]: r for r in ROWS}
    signing.expect_same(path, lines_of(folder, [rows[i] for i in ids], "parts"), "text")
    path = folder / "by-language"
    frame.write.partitionBy("lang").parquet(str(path))
    by_language = sorted(ROWS, key=lambda r: r["lang"])
    signing.expect_same(path, lines_of(folder, by_language, "by-language"), "text")
    out = folder / "by-language-out"
    signing.program("dedup", path, "-o", out, "--threshold", 0.6, "--device", "cpu")
    gone = removed_by(out)
    kept = spark.read.parquet(str(out / "kept"))
    assert kept.schema == spark.read.parquet(str(path)).schema
    assert sorted(r["id"] for r in kept.select("id").collect()) == sorted(r["id"] for r in ROWS if r["id"] not in gone)
    assert {r["lang"] for r in kept.select("lang").distinct().collect()} == {"de", "en", "fr"}


def test_spark_reads_each_row_with_its_group(spark, folder, signing):
    """`filter --annotate` by the program and by the package's command."""
    import os
    import subprocess
    import sys

    part = parts_of(folder / "snappy")[0]
    out = place_of(folder, "out snappy")  # the test of that form found it
    if not out.exists():
        signing.program("dedup", part, "-o", out, "--threshold", 0.6, "--id-field", "id", "--device", "cpu")
    signing.program("filter", out, "--annotate", "-o", folder / "noted")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(bandmill.__file__).parents[1]), "BANDMILL_PROBE": ""}
    words = [sys.executable, "-m", "bandmill", "filter", out, "--annotate", "-o", folder / "noted-too", "-q"]
    done = subprocess.run(words, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    first, gone = spark.read.parquet(str(part)), removed_by(out)
    for noted in ("noted", "noted-too"):
        found = spark.read.parquet(str(folder / noted / "annotated.parquet"))
        assert found.columns == [*first.columns, "bandmill"] and found.drop("bandmill").schema == first.schema
        assert (
            found.schema["bandmill"].dataType.simpleString() == "struct<group:bigint,size:bigint,kept:boolean,jaccard:double>"
        )
        rows = found.collect()
        assert [r[: len(first.columns)] for r in rows] == [tuple(r) for r in first.collect()]
        assert {r["id"] for r in rows if not r["bandmill"]["kept"]} == gone
        assert all(r["bandmill"]["group"] >= 1 and r["bandmill"]["jaccard"] >= 0 for r in rows if r["id"] in gone)
        assert any(r["bandmill"]["group"] is None and r["bandmill"]["jaccard"] is None for r in rows)


def test_values_of_maps_are_no_text(frame, folder, signing):
    part = parts_of(folder / "snappy")[0]
    with pytest.raises(bandmill.Error, match="map"):
        bandmill.sign(part, "facts", "id", device="cpu")
