# SPDX-License-Identifier: Apache-2.0
"""bandmill.spark gives what the program gives, in a process (local[2]) and on executors of their own (local-cluster)."""

import contextlib
import json
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import bandmill

from spark_session import start  # isort: skip (it skips this file where Spark cannot run)
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import bandmill.spark
from bandmill.spark import _frames, _progress, _settings, _tasks

CHAIN, COPIES = 1000, 60


def corpus():
    """Edits, copies, nulls and empty texts; a chain in which each is near the next alone; a crowd of near-copies; all by id."""
    draw = random.Random(11)
    texts = [
        " ".join(f"{draw.choice('abcdefgh')}{draw.randrange(90)}" for _ in range(draw.randrange(5, 60))) for _ in range(150)
    ]
    for _ in range(150):
        words = draw.choice(texts).split()
        for _ in range(draw.randrange(3)):
            words[draw.randrange(len(words))] = "edited"
        texts.append(" ".join(words))
    texts += [None, "", "  ", None, "short", "short", "Ünïcode — 漢字かな 한국어", "ünïcode 漢字かな 한국어"]
    texts += [" ".join(f"chain{j}" for j in range(i, i + 40)) for i in range(CHAIN)]
    licence = [f"licence{j}" for j in range(80)]
    for i in range(COPIES):
        at = draw.randrange(80)
        texts.append(" ".join([*licence[:at], f"holder{i}", *licence[at + 1 :]]))
    draw.shuffle(texts)
    return texts


TEXTS = corpus()
IDS = sorted(f"doc-{i * 7919 % 9973}" for i in range(len(TEXTS)))
ROWS = [{"id": i, "text": t} for i, t in zip(IDS, TEXTS)]
TABLE = pa.Table.from_pylist(ROWS)


def frame(spark, table, partitions, seed=None):
    """The rows in as many partitions; with ``seed`` shuffled."""
    if seed is not None:
        table = table.take(np.random.RandomState(seed).permutation(len(table)))
    return spark.createDataFrame(table).repartition(partitions)


def groups_of(found):
    rows = sorted(found.toArrow().to_pylist(), key=lambda r: (r["group"], r["id"]))
    groups = {}
    for r in rows:
        groups.setdefault(r["group"], []).append(r)
    return groups


def expect_same(found, theirs):
    """Groups, their numbers, who is kept, and similarities, as the program's package gives them."""
    ours = groups_of(found)
    expected = theirs.groups.to_pylist()
    assert list(ours) == [g["group"] for g in expected] == list(range(1, len(expected) + 1))
    assert [[str(r["id"]) for r in group] for group in ours.values()] == [[str(i) for i in g["members"]] for g in expected]
    assert [[str(r["id"]) for r in group if r["kept"]] for group in ours.values()] == [[str(g["kept"])] for g in expected]
    why = {str(r["id"]): r for r in theirs.removed.to_pylist()}
    for group in ours.values():
        for r in group:
            assert r["jaccard"] == (1.0 if r["kept"] else pytest.approx(why[str(r["id"])]["jaccard"], abs=6e-7))
            assert r["reason"] == (None if r["kept"] else why[str(r["id"])]["reason"])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """These tables are not too small for spark.sql.shuffle.partitions."""
    monkeypatch.setattr(_settings, "PART_BYTES", (1, 1 << 40))


@pytest.fixture(scope="module")
def theirs():
    return bandmill.dedup(TABLE, id="id", device="cpu")


def test_the_corpus_has_what_it_should(theirs):
    sizes = sorted(theirs.groups["size"].to_pylist())
    assert sizes[-1] == CHAIN and sizes[-2] == COPIES and len(sizes) > 50


def test_the_package_gives_the_programs_groups(theirs, program, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in ROWS), encoding="utf-8")
    program("dedup", path, "-o", tmp_path / "out", "--device", "cpu")
    assert (theirs.path / "groups.jsonl").read_bytes() == (tmp_path / "out" / "groups.jsonl").read_bytes()


@pytest.mark.parametrize("shared", [0, 20])
def test_no_groups_are_found_and_counted(spark, shared, request):
    """Adaptive execution, which is on by default, drops what no row passes, and a count that was taken there."""
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    request.addfinalizer(lambda: spark.conf.set("spark.sql.adaptive.enabled", "false"))
    texts = [" ".join([f"all{i}" for i in range(shared)] + [f"own{n}x{i}" for i in range(20)]) for n in range(40)]
    table = pa.table({"id": [f"{n:02}" for n in range(40)], "text": texts})
    options, counts = {"bands": 32, "rows": 1}, {}
    found = bandmill.spark.dedup(frame(spark, table, 3), report=counts, **options)
    assert found.count() == 0
    report = bandmill.dedup(table, id="id", device="cpu", **options).report["counts"]
    names = ("documents", "candidates", "verified", "edges", "groups", "removed")
    assert {name: counts[name] for name in names} == {name: report[name] for name in names}
    assert (counts["candidates"] > 100) == (shared > 0)


def test_groups_are_the_programs(spark, theirs):
    counts = {}
    expect_same(bandmill.spark.dedup(frame(spark, TABLE, 1), report=counts), theirs)
    report = theirs.report["counts"]
    assert {name: counts[name] for name in ("documents", "empty", "groups", "removed", "not_compared")} == {
        name: report[name] for name in ("documents", "empty", "groups", "removed", "not_compared")
    }
    assert report["not_compared"] == 0


def test_copies_with_another_text_and_texts_in_another_encoding(spark):
    base = "the harbour was full of small boats that had come in before the storm"
    ship = "\u043a\u043e\u0440\u0430\u0431\u043b\u044c \u043d\u043e\u043c\u0435\u0440"
    russian = [f"{ship} {i}".encode("cp1251") for i in range(3)]
    texts = [t.encode() for t in (base, base, base.upper() + "!", base + " came", "", "  ")] + russian
    table = pa.table({"id": [f"{i}" for i in range(len(texts))], "text": pa.array(texts, pa.binary())})
    theirs, counts = bandmill.dedup(table, id="id", device="cpu"), {}
    expect_same(bandmill.spark.dedup(frame(spark, table, 3), report=counts), theirs)
    report = theirs.report["counts"]
    names = ("documents", "empty", "unreadable", "groups", "removed", "removed_identical", "removed_equal")
    assert {name: counts[name] for name in names} == {name: report[name] for name in names}
    assert (counts["empty"], counts["unreadable"], counts["removed_identical"], counts["removed_equal"]) == (2, 3, 1, 1)


def test_many_partitions_integer_ids_and_stars(spark):
    few = pa.table({"n": np.arange(40, dtype=np.int64) * 10 - 100, "body": TABLE["text"][:40]})
    few = pa.concat_tables([few, pa.table({"n": np.arange(900, 920, dtype=np.int64), "body": few["body"][:20]})])
    options = {"cluster": "star", "keep": "longest", "threshold": 0.5, "shingle": "word:1"}
    expected = bandmill.dedup(few, "body", "n", device="cpu", **options)
    found = bandmill.spark.dedup(frame(spark, few, 64, seed=5), "body", "n", **options)
    assert dict(found.dtypes) == {"id": "bigint", "group": "bigint", "kept": "boolean", "jaccard": "double", "reason": "string"}
    expect_same(found, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"verify": "contained", "threshold": 0.6},
        {"keep": "max:score,first", "threshold": 0.6},
        {"max_group_size": 5},
        {"verify": "signature", "cluster": "star"},
        {"verify": "none", "preset": "datatrove"},
    ],
    ids=lambda o: ",".join(map(str, o.values())),
)
def test_what_the_program_can_spark_can(spark, options):
    table = TABLE.append_column("score", pa.array([i * 7919 % 101 for i in range(len(TABLE))]))
    expect_same(bandmill.spark.dedup(frame(spark, table, 5, seed=3), **options), bandmill.dedup(table, id="id", **options))


@pytest.mark.parametrize("options", [{}, {"cluster": "star", "threshold": 0.6}], ids=["default", "star"])
def test_known_documents_remove_what_is_near_them(spark, options):
    """Their columns have other names and types, their ids are those of others, and all of it is as in the program."""
    known = pa.table({"n": pa.array(range(400), pa.int32()), "body": TABLE["text"].slice(100, 400)})
    df, counts = frame(spark, TABLE, 5, seed=3), {}
    found = bandmill.spark.dedup(
        df, against=frame(spark, known, 2), against_text="body", against_id="n", report=counts, **options
    )
    assert found.columns == ["id", "group", "kept", "jaccard", "reason", "known"]
    theirs = bandmill.dedup(TABLE, id="id", against=known, against_text="body", against_id="n", device="cpu", **options)
    why = {r["id"]: r for r in theirs.removed.to_pylist()}
    wanted = []
    for group in theirs.groups.to_pylist():
        for id in group["members"]:
            gone = why.get(id, {"reason": None, "jaccard": 1.0, "kept": None})
            name = int(gone["kept"]) if group["known"] and gone["kept"] else None
            wanted.append((id, group["group"], id not in why, gone["reason"], name, pytest.approx(gone["jaccard"], abs=6e-7)))
    rows = sorted(found.collect(), key=lambda r: (r["group"], r["id"]))
    assert [(r["id"], r["group"], r["kept"], r["reason"], r["known"], r["jaccard"]) for r in rows] == wanted
    report = theirs.report["counts"]
    assert {name: counts[name] for name in counts if name in report} == {
        name: report[name] for name in counts if name in report
    }
    assert (counts["against"], counts["found"]) == (400, theirs.report["against"]["found"]) and counts["known"] > 100


@pytest.mark.parametrize("framed", [True, False], ids=["dataframe", "table"])
def test_items_of_a_test_set_are_found_as_the_program_finds_them(spark, monkeypatch, framed):
    items = pa.table({"key": list(range(100, 140)), "question": TABLE["text"].slice(30, 40)})
    options = {"threshold": 0.4, "shingle": "word:5"}
    wanted = bandmill.overlap(TABLE, items, id="id", against_text="question", against_id="key", **options).overlap
    test_set = spark.createDataFrame(items) if framed else items
    found = bandmill.spark.overlap(frame(spark, TABLE, 5, seed=4), test_set, items_text="question", items_id="key", **options)
    names = ["id", "item", "coverage", "hits", "longest", "from", "to"]
    assert found.columns == names
    rows = [tuple(r) for r in found.collect()]
    assert sorted(rows) == sorted(tuple(r.values()) for r in wanted.select(names).to_pylist()) and len(rows) > 40


def test_items_and_options_of_overlap_that_are_refused(spark):
    df = frame(spark, TABLE.slice(0, 4), 1)
    for options, field in (
        ({"stop_shingles": 4}, "stop_shingles"),
        ({"threshold": 2}, "threshold"),
        ({"cut": True}, "cut"),
        ({"items_text": "q"}, "items"),
    ):
        with pytest.raises(bandmill.Error) as e:
            bandmill.spark.overlap(df, df, **options)
        assert e.value.field == field


def test_progress_is_a_line_for_each_job(spark, theirs, capsys, monkeypatch):
    class Stage:
        numTasks, numCompletedTasks = 5000, 1200

    class Tracker:
        getActiveStageIds, getStageInfo = staticmethod(lambda: [3, 4, 7]), staticmethod({3: Stage, 4: None, 7: Stage}.get)

    assert _progress.tasks_of(Tracker) == "2,400 of 10,000 tasks"
    df = frame(spark, TABLE, 2)
    for progress in (True, None, False):
        bandmill.spark.dedup(df, progress=progress).unpersist()
        lines = [line.rpartition("\r")[2].rstrip() for line in capsys.readouterr().err.split("\n")]
        sign, compare = ([line for line in lines if line.startswith(f"bandmill: {what}: ")] for what in ("sign", "compare"))
        c = theirs.report["counts"]
        assert compare == [f"bandmill: compare: {c['groups']:,} groups, {c['removed']:,} documents removed"] * bool(progress)
        assert [line.partition(" documents")[0] for line in sign] == [f"bandmill: sign: {c['documents']:,}"] * bool(progress)
        monkeypatch.setattr(_progress, "EACH", 1e-3)  # lines of tasks too


def test_known_documents_that_are_no_dataframe_or_have_no_such_column(spark):
    df = frame(spark, TABLE.slice(0, 4), 1)
    with pytest.raises(bandmill.Error, match="against of type Table") as e:
        bandmill.spark.dedup(df, against=TABLE)
    assert e.value.field == "against"
    with pytest.raises(bandmill.Error, match=r"^against: .*body") as e:
        bandmill.spark.dedup(df, against=df, against_text="body")
    assert e.value.field == "against"
    with pytest.raises(bandmill.Error, match="against_id is for against=") as e:
        bandmill.spark.dedup(df, against_id="n")
    assert e.value.field == "against_id"
    with pytest.raises(bandmill.Error, match="id 'doc-0' stands in several rows") as e:
        bandmill.spark.dedup(df, against=df.union(df).where("id = 'doc-0'"))
    assert e.value.field == "id"


def test_many_candidates_are_joined_by_a_shuffle_and_numbered_by_many_tasks(spark, theirs, monkeypatch):
    monkeypatch.setattr(_frames, "BROADCAST_DOCS", 0)
    monkeypatch.setattr(_frames, "TASK_DOCS", 50)
    cuts, own = [], _frames.Found.cuts
    monkeypatch.setattr(_frames.Found, "cuts", lambda found: cuts.append(own(found)) or cuts[-1])
    numbered = TABLE.set_column(0, "id", pa.array(range(-20, len(TABLE) - 20), pa.int32()))
    for table in TABLE, numbered:
        their = theirs if table is TABLE else bandmill.dedup(table)
        expect_same(bandmill.spark.dedup(frame(spark, table, 6, seed=1), partitions=5), their)
    assert all(len(c) >= 4 and c.to_pylist() == sorted(set(c.to_pylist())) for c in cuts) and len(cuts) == 2


@pytest.mark.parametrize("few_parts", [5, 4], ids=["again", "persisted"])
def test_forests_beyond_what_the_driver_takes(spark, theirs, monkeypatch, few_parts):
    """Labels are made by a task, and what it held for them is freed."""
    monkeypatch.setattr(_frames, "FEW_PARTS", few_parts)
    monkeypatch.setattr(_frames, "BROADCAST_DOCS", 0 if few_parts == 4 else len(TABLE))
    by_a_task, own = [], _frames.Job._found_by_a_task
    monkeypatch.setattr(_frames, "FOREST_BYTES", 0)
    monkeypatch.setattr(_frames.Job, "_found_by_a_task", lambda *given: by_a_task.append(own(*given)) or by_a_task[-1])
    counts, before = {}, len(spark.sparkContext._jsc.getPersistentRDDs())
    found = bandmill.spark.dedup(frame(spark, TABLE, 3, seed=1), partitions=5, memory="64M", report=counts)
    expect_same(found, theirs)
    assert counts["documents"] == len(TABLE) and len(by_a_task) == 1
    found.unpersist()
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == before


def test_a_sieve_lets_candidates_pass_and_few_others(spark):
    draw = np.random.RandomState(7)
    hashes = draw.randint(-(1 << 63), (1 << 63) - 1, 60_000, np.int64)
    for n in (1, 8, 9, 20_000):
        df = spark.createDataFrame(pa.table({"row": pa.array(np.arange(60_000)), "id_hash": pa.array(hashes)}))
        sieve = spark.createDataFrame(pa.table({"sieve": _tasks.sieve(hashes[:n].view(np.uint64))}))
        passed = df.join(sieve, _frames._passes(df["id_hash"], sieve["sieve"], n)).select("row").toArrow()["row"].to_numpy()
        assert np.isin(np.arange(n), passed).all() and len(passed) - n < 0.06 * (60_000 - n)
    assert [_tasks.sieve_bits(n) for n in (0, 8, 9, 1 << 27, 1 << 28, 1 << 31)] == [64, 64, 128, 1 << 30, 1 << 31, 1 << 31]


def test_copies_are_sent_once_and_stand_once_in_a_task():
    rows = pa.table(
        {"task": [0] * 600, "id": [f"{i:04}" for i in range(600)], "text": [f"text {i % 3}".encode() for i in range(600)]}
    )
    thin = list(_tasks.thin(iter(rows.to_batches(max_chunksize=70))))
    assert sum(len(b) - b.column("text").null_count for b in thin) == 3
    other = list(_tasks.thin(iter(rows.slice(0, 2).to_batches())))  # of another partition: texts that come again
    for most in (1 << 20, 8):  # in memory, and in a file
        expect_whole(_tasks._whole(iter([*thin[::-1], *other]), [600], most).sort_by("id"), rows)


def expect_whole(whole, rows):
    assert whole.column_names == ["id", "text"] and len(whole) == 602
    texts = whole.column("text").chunk(0).dictionary_decode().to_pylist()
    assert list(zip(whole["id"].to_pylist(), texts))[4:] == list(zip(rows["id"].to_pylist(), rows["text"].to_pylist()))[2:]
    assert texts[:4] == [b"text 0", b"text 0", b"text 1", b"text 1"]
    assert len(whole.column("text").chunk(0).dictionary) == 3


STEPS = """
import pickle, sys
plan, blocks = pickle.load(sys.stdin.buffer)
import pyarrow as pa
from bandmill.distributed import join
from bandmill.spark import _tasks
rows = list(pa.ipc.open_stream(blocks))
split = list(_tasks.split(plan, _tasks.salts(plan.parts))(iter(rows)))
assert len(list(_tasks.forests(iter(split)))) == 2 and split[-1].column("id").null_count == 0
found = plan.components(join(split[:-1]))
chosen = list(_tasks.thin(plan.select(rows, found)))
sizes = _tasks.task_sizes(found)
for task in _tasks.dedup(plan, sizes, split[-1].column("id")), _tasks.pairs(plan, sizes, {}):
    assert pa.Table.from_batches(task(iter(chosen))).num_rows > 10
assert "pandas" not in sys.modules
"""


def test_a_worker_does_without_pandas():
    plan = bandmill.distributed.Plan(parts=1)
    sink = pa.BufferOutputStream()
    rows = TABLE.filter(TABLE["text"].is_valid()).cast(pa.schema([("id", pa.string()), ("text", pa.binary())]))
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows)
    given = pickle.dumps((plan, sink.getvalue().to_pybytes()))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", STEPS], input=given, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()


def test_thousands_of_copies(spark):
    texts = ["one text that is there very often in this corpus"] * 3000 + [None, "", "a text alone in the whole corpus"]
    table = pa.table({"id": np.random.RandomState(1).permutation(len(texts)), "text": texts}).sort_by("id")
    expect_same(bandmill.spark.dedup(frame(spark, table, 4)), bandmill.dedup(table, id="id", device="cpu"))


def test_similarities_have_all_digits(spark):
    texts = ["a b c d e f g", "a b c d e f h", "a b c"]
    found = bandmill.spark.dedup(frame(spark, pa.table({"id": [1, 2, 3], "text": texts}), 2), threshold=0.5, shingle="word:1")
    assert {r["id"]: r["jaccard"] for r in found.collect()} == {1: 1.0, 2: 6 / 8}
    near = bandmill.spark.pairs(frame(spark, pa.table({"id": [1, 3], "text": texts[::2]}), 2), threshold=0.4, shingle="word:1")
    assert [tuple(r) for r in near.collect()] == [(1, 3, 3 / 7)]


def test_a_dataframe_that_changes_between_its_scans_is_refused(spark, tmp_path):
    mark = tmp_path / "scanned"

    def fewer(batches):
        for batch in batches:
            yield batch.slice(0, 20) if mark.exists() else batch
        mark.touch()

    texts = [f"one two three four five six seven {i // 2}" for i in range(40)]
    df = spark.createDataFrame(pa.table({"id": list(range(40)), "text": texts})).coalesce(1)
    with pytest.raises(bandmill.Error, match=r"a second scan gave 20 of 40 documents of a task: .* \(persist it first\)") as e:
        bandmill.spark.dedup(df.mapInArrow(fewer, df.schema))
    assert (e.value.status, e.value.field) == ("input", "data")


def test_parts_follow_the_bytes(spark, tmp_path, monkeypatch):
    path = str(tmp_path / "rows")
    spark.createDataFrame(TABLE).write.parquet(path)
    rows = spark.read.parquet(path)
    size = sum(p.stat().st_size for p in (tmp_path / "rows").glob("*.parquet"))
    for bounds, wanted in (((1 << 22, 1 << 26), 1), ((1 << 10, 1 << 26), 2), ((1, 1 << 12), -(-size // (1 << 12)))):
        monkeypatch.setattr(_settings, "PART_BYTES", bounds)
        assert _settings._parts(rows) == wanted
    unknown = spark.createDataFrame(spark.sparkContext.parallelize([("a", "b")]), "id string, text string")
    assert _settings._parts(unknown) == 2  # spark.sql.shuffle.partitions


def test_what_is_persisted_can_be_freed(spark):
    found = bandmill.spark.dedup(frame(spark, TABLE.slice(0, 100), 2))
    assert found.is_cached
    found.unpersist()
    assert not found.is_cached


def test_no_documents_and_no_groups(spark):
    counts = {}
    alone = pa.table({"id": ["a", "b"], "text": ["one two three four five", "six seven eight nine ten"]})
    for n in (0, 2):
        found = bandmill.spark.dedup(frame(spark, alone.slice(0, n), 2), report=counts)
        assert found.collect() == [] and (counts["documents"], counts["groups"], counts["removed"]) == (n, 0, 0)


def test_ids_are_sent_where_spark_sends_them(spark):
    """The hash of an id is xxhash64 of Spark, and a salt leads to its partition."""
    kinds = {"tinyint": 3, "int": -7, "bigint": 1 << 40, "string": "'Ünï'"}
    for kind, value in kinds.items():
        df = spark.sql(f"SELECT CAST({value} AS {kind}) AS id, 'one text' AS text")
        twice = df.union(df)
        with pytest.raises(bandmill.Error, match="stands in several rows"):
            bandmill.spark.dedup(twice)
    for n in (1, 7, 40):
        salts = _tasks.salts(n).tolist()
        df = spark.createDataFrame(pa.table({"salt": pa.array(salts, pa.int32()), "part": list(range(n))}))
        rows = df.repartition(n, "salt").withColumn("where", F.spark_partition_id()).collect()
        assert all(r["where"] == r["part"] for r in rows)


def jobs_of(spark):
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"threshold": 2}, "threshold"),
        ({"shingle": "word"}, "shingle"),
        ({"cluster": "spectral"}, "cluster"),
        ({"bands": 99, "rows": 9, "perms": 128}, None),
        ({"threshold": 0.1, "recall": 0.999999, "perms": 4}, None),
        ({"text": "body"}, None),
        ({"id": "key"}, None),
        ({"id": "none"}, "id"),
        ({"against": "known"}, "against"),
        ({"weights": "tfidf"}, "weights"),
        ({"unit": "line"}, "unit"),
        ({"verify": "close"}, "verify"),
        ({"keep": "max:"}, None),
        ({"duplicate_ids": "number"}, "duplicate_ids"),
        ({"candidates": "all"}, "candidates"),
    ],
)
def test_options_are_refused_before_a_job(spark, options, field):
    df = spark.createDataFrame(TABLE.slice(0, 3))
    before = jobs_of(spark)
    with pytest.raises(bandmill.Error) as e:
        bandmill.spark.dedup(df, **{"id": "id", **options})
    assert jobs_of(spark) == before
    assert field is None or e.value.field == field


def test_bad_records_are_refused_or_left_out(spark):
    rows = pa.table({"id": ["a", "b", "b", None], "text": ["one two", "three", "four", "five"]})
    with pytest.raises(bandmill.Error, match="id 'b' stands in several rows") as e:
        bandmill.spark.dedup(frame(spark, rows.slice(0, 3), 2))
    assert (e.value.status, e.value.field) == ("input", "id")
    with pytest.raises(bandmill.Error, match="id is null"):
        bandmill.spark.dedup(frame(spark, rows, 2))
    with pytest.raises(bandmill.Error, match="2 bad records"):
        bandmill.spark.dedup(frame(spark, rows, 2), on_error="skip", max_errors=1, max_doc_bytes=5)


def test_pairs_are_the_programs(spark):
    some = TABLE.slice(0, 60)
    some = pa.concat_tables([some, pa.table({"id": ["zz1", "zz2"], "text": some["text"][:1].to_pylist() * 2})])
    for identical in ("all", "chain"):
        options = {"threshold": 0.4, "shingle": "word:1", "identical": identical}
        found = bandmill.spark.pairs(frame(spark, some, 3), partitions=3, **options).toArrow().to_pylist()
        expected = bandmill.pairs(some, id="id", device="cpu", **options).to_pylist()
        assert sorted((r["id_a"], r["id_b"], round(r["jaccard"], 6)) for r in found) == [
            (r["id_a"], r["id_b"], r["jaccard"]) for r in sorted(expected, key=lambda r: (r["id_a"], r["id_b"]))
        ]
        assert found


def test_signatures_are_the_programs(spark):
    found = bandmill.spark.sign(frame(spark, TABLE, 3), bands=4, rows=5, perms=30, seed=3).toArrow().sort_by("id")
    s = bandmill.sign(TABLE, id="id", bands=4, rows=5, perms=30, seed=3, device="cpu")
    words = np.array(found["signature"].to_pylist(), dtype=np.uint64)
    assert np.array_equal(words.astype(np.uint32), s.signatures)
    assert np.array_equal(np.array(found["band_keys"].to_pylist()).view(np.uint64), s.band_keys)
    assert found["n_shingles"].to_pylist() == s.n_shingles.tolist()


def test_on_executors_of_their_own(tmp_path, theirs):
    """In a process that has no other session, or after the others."""
    place = tmp_path / "cluster"
    place.mkdir()
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    session = start("local-cluster[2,1,2048]", place)
    try:
        df = frame(session, TABLE, 7, seed=2)
        session.sparkContext.setJobGroup("found", "what the call does itself")
        found = bandmill.spark.dedup(df)
        session.sparkContext.setJobGroup("shown", "what the test does with it")
        expect_same(found, theirs)
        lost = executors_of(os.getpid())
        assert len(lost) == 2
        os.kill(lost[0], signal.SIGKILL)  # with its part of what is persisted, and of both exchanges
        expect_same(found, theirs)
        found.unpersist()
        session.sparkContext.setJobGroup("lost", "an executor is lost in each job")
        lossy = df.mapInArrow(killing(tmp_path), df.schema)
        expect_same(bandmill.spark.dedup(lossy), theirs)
        assert sorted(p.name for p in tmp_path.glob("bandmill*")) == ["bandmill: compare", "bandmill: sign"]
        assert session.sparkContext.getLocalProperty("spark.job.description") == "an executor is lost in each job"
    finally:
        application = session.sparkContext.applicationId
        session.stop()
        shutil.rmtree(os.path.join(_find_spark_home(), "work", application), ignore_errors=True)
    expect_little_at_the_driver(place)


def killing(place):
    """Rows as they come; the first task of each job that gets so far kills its executor, with what others left there."""

    def run(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        mark = place / context.getLocalProperty("spark.job.description")
        if context.partitionId() == 5 and not mark.exists():
            mark.touch()
            process = os.getpid()
            while b"CoarseGrainedExecutorBackend" not in pathlib.Path(f"/proc/{process}/cmdline").read_bytes():
                process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(process, signal.SIGKILL)
        yield from batches

    return run


def executors_of(process):
    """The executors among a process and all below it."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
        words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
        found = [process] if b"CoarseGrainedExecutorBackend" in words and b"java" in words.split(b"\0")[0] else []
        for thread in pathlib.Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                for child in (thread / "children").read_text().split():
                    found += executors_of(int(child))
    return found


def expect_little_at_the_driver(place):
    """The log of the session: few jobs, and tasks sent forests and counts."""
    results, jobs, stages = [], 0, set()
    for path in [p for p in place.iterdir() if p.is_file() and not p.name.endswith(".crc")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart" and event["Properties"].get("spark.jobGroup.id") == "found":
                jobs += 1
                stages.update(event["Stage IDs"])
            if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages and event.get("Task Metrics"):
                results.append(event["Task Metrics"]["Result Size"])
    assert len(results) > 10 and 0 < jobs <= 9
    assert max(results) < 65536 < TABLE.nbytes / 4
