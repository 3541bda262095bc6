# SPDX-License-Identifier: Apache-2.0
"""Directories that the commands wrote, opened by functions: the same answers."""

import json

import pyarrow as pa
import pytest

import bandmill

HOW = {"threshold": 0.6, "device": "cpu"}


@pytest.fixture(scope="module")
def found(jsonl, program, tmp_path_factory):
    place = tmp_path_factory.mktemp("found") / "d"
    program("dedup", jsonl, "-o", place, "--threshold", "0.6", "--pairs", "--device", "cpu")
    return place


def test_a_result_is_loaded(found, jsonl, table, tmp_path):
    theirs = bandmill.dedup(jsonl, output=tmp_path / "again", pairs=True, **HOW)
    r = bandmill.load(found)
    assert isinstance(r, bandmill.Dedup) and r.groups.equals(theirs.groups) and r.removed.equals(theirs.removed)
    assert r.pairs.equals(theirs.pairs) and r.report["counts"] == theirs.report["counts"]
    in_memory = bandmill.dedup(table["text"].to_pylist(), output=tmp_path / "rows", **HOW)
    again = bandmill.load(tmp_path / "rows")
    assert again.kept.tolist() == in_memory.kept.tolist() and again.groups.equals(in_memory.groups)
    assert again.groups["kept"].type == pa.int64() and again.removed["id"].to_pylist()[0] in range(400)
    with pytest.raises(bandmill.Error, match="take is for the result that dedup returned"):
        again.take(table["text"].to_pylist())


def test_signatures_and_an_index_are_loaded(table, program, jsonl, tmp_path):
    program("sign", jsonl, "-o", tmp_path / "s", "--device", "cpu")
    signed = bandmill.load(tmp_path / "s")
    assert isinstance(signed, bandmill.Signatures) and signed.ids == table["id"].to_pylist()
    program("index", "build", tmp_path / "i", jsonl, "--device", "cpu")
    with bandmill.load(str(tmp_path / "i")) as index:
        assert isinstance(index, bandmill.Index) and len(index) == 400
    saved = bandmill.sign(pa.table({"id": pa.array([2**64 - 1, 5], pa.uint64()), "text": ["one two", "three"]})).save(
        tmp_path / "n"
    )
    assert saved.ids == bandmill.load(tmp_path / "n").ids == [2**64 - 1, 5]
    assert bandmill.load(tmp_path / "n").to_arrow()["id"].type == pa.uint64()


def test_explain_report_and_filter_are_the_programs(found, program, tmp_path):
    group = bandmill.load(found).groups.to_pylist()[0]
    a, b = group["members"][:2]
    assert str(bandmill.explain(found, a, b)) == program("explain", found, a, b).decode()
    assert bandmill.explain(found, group=1).data == json.loads(program("explain", found, "--group", 1, "--json"))
    page = bandmill.report(found, tmp_path / "page.html", groups=3, sample=4)
    assert (
        page == program("report", found, "--groups", 3, "--sample", 4).decode() == (tmp_path / "page.html").read_text("utf-8")
    )
    assert repr(page).startswith("<bandmill.Page ") and "\n" not in repr(page) and len(repr(page)) < 200
    out = bandmill.filter(found, tmp_path / "clean")
    assert (out / "kept.jsonl").read_bytes() == (found / "kept.jsonl").read_bytes()


def test_what_is_no_result(tmp_path):
    (tmp_path / "report.json").write_text('{"kind": "pairs"}')
    (tmp_path / "empty").mkdir()
    for call in (bandmill.load, bandmill.report, lambda path: bandmill.explain(path, "a", "b")):
        for wrong in (tmp_path, tmp_path / "empty"):
            with pytest.raises(bandmill.Error, match="no result of dedup") as e:
                call(wrong)
            assert (e.value.status, e.value.field) == ("format", "path")
