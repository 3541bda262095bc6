# SPDX-License-Identifier: Apache-2.0
"""bandmill.spark through Spark Connect: a server of its own in this machine, and a client that has no JVM."""

import os
import sys

import pyarrow as pa
import pytest

import bandmill

from spark_session import FAST_START  # isort: skip (it skips this file where Spark cannot run)
import bandmill.spark

if os.environ.get("CI") != "true":
    pytest.importorskip("grpc_status")


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
    os.environ["SPARK_TESTING"] = "1"  # the server takes a free port, so that two runs of the tests can be side by side
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": FAST_START,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(tmp_path_factory.mktemp("connect")),
        "spark.python.authenticate.socketTimeout": "600s",
    }
    builder = SparkSession.builder.remote("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_groups_pairs_and_signatures_are_the_programs(connected):
    base = " ".join(f"word{i}" for i in range(60))
    texts = [base.replace("word30", f"other{i}") for i in range(12)] + [base, base, "", "a text alone in this corpus"]
    table = pa.table({"id": [f"{i:03}" for i in range(len(texts))], "text": texts})
    df, counts = connected.createDataFrame(table), {}
    theirs = bandmill.dedup(table, id="id", device="cpu")
    found = bandmill.spark.dedup(df, report=counts)
    rows = sorted(found.collect(), key=lambda r: (r["group"], r["id"]))
    groups = [(g["group"], i, i == g["kept"]) for g in theirs.groups.to_pylist() for i in g["members"]]
    assert [(r["group"], r["id"], r["kept"]) for r in rows] == groups and len(groups) >= 14
    assert {name: counts[name] for name in ("documents", "groups", "removed")} == {
        name: theirs.report["counts"][name] for name in ("documents", "groups", "removed")
    }
    found.unpersist()
    near = bandmill.spark.pairs(df).collect()
    assert sorted((r["id_a"], r["id_b"], round(r["jaccard"], 6)) for r in near) == sorted(
        (r["id_a"], r["id_b"], r["jaccard"]) for r in bandmill.pairs(table, id="id", device="cpu").to_pylist()
    )
    signed = {r["id"]: list(r["signature"]) for r in bandmill.spark.sign(df, perms=16).collect()}
    words = bandmill.sign(table, id="id", perms=16, device="cpu").signatures.tolist()
    assert [signed[i] for i in table["id"].to_pylist()] == words
    with pytest.raises(bandmill.Error, match="id '000' stands in several rows") as e:
        bandmill.spark.dedup(df.union(df))
    assert e.value.field == "id"


@pytest.mark.parametrize("framed", [True, False], ids=["dataframe", "table"])
def test_items_of_a_test_set_are_found_as_the_program_finds_them(connected, framed):
    words = [f"word{i}" for i in range(90)]
    texts = [" ".join(words[i : i + 40]) for i in range(0, 60, 5)] + ["", None, "a text that holds no item"]
    table = pa.table({"id": [f"{i:03}" for i in range(len(texts))], "text": texts})
    items = pa.table(
        {"key": [7, 9, 11], "question": [" ".join(words[20:40]), " ".join(words[70:88]), "no document has these words"]}
    )
    names = ["id", "item", "coverage", "hits", "longest", "from", "to"]
    options = {"threshold": 0.5, "shingle": "word:5"}
    wanted = bandmill.overlap(table, items, id="id", against_text="question", against_id="key", **options).overlap
    test_set = connected.createDataFrame(items) if framed else items
    df = connected.createDataFrame(table).repartition(3)
    found = bandmill.spark.overlap(df, test_set, items_text="question", items_id="key", **options)
    assert found.columns == names
    rows = sorted(tuple(r) for r in found.collect())
    assert rows == sorted(tuple(r.values()) for r in wanted.select(names).to_pylist())
    assert {r[1] for r in rows} == {7, 9} and len(rows) > 5
    with pytest.raises(bandmill.Error, match="items: no column 'nothing'"):
        bandmill.spark.overlap(df, connected.createDataFrame(items), items_text="nothing")
