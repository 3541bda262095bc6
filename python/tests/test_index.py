# SPDX-License-Identifier: Apache-2.0
"""An index in Python answers as the program's."""

import json
import threading

import pyarrow as pa
import pytest

import bandmill


@pytest.fixture()
def index(table, tmp_path):
    with bandmill.Index.build(tmp_path / "ix", table.slice(0, 300), id="id", threshold=0.6, device="cpu") as ix:
        yield ix


def rows_of(found):
    return list(zip(*(found[c].to_pylist() for c in found.column_names)))


def test_queries_equal_the_program(index, table, jsonl, program, tmp_path):
    late = table.slice(300)
    path = tmp_path / "late.jsonl"
    path.write_bytes(b"".join(jsonl.read_bytes().splitlines(keepends=True)[300:]))
    index.close()
    theirs = [line.split("\t") for line in program("query", index.path, path).decode().split("\n")[1:-1]]
    with bandmill.Index.open(index.path) as again:
        assert len(again) == 300
        ours = rows_of(again.query(late, id="id"))
        assert [[q, t, f"{j:.6f}"] for q, t, j in ours] == theirs and len(theirs) > 10
        texts = rows_of(again.query(late["text"].to_pylist()))
        names = late["id"].to_pylist()
        assert [(names[q], t, j) for q, t, j in texts] == [(q, t, pytest.approx(j, abs=1e-6)) for q, t, j in ours]
        best = rows_of(again.query(late, id="id", top=1))
        assert len(best) == len({q for q, _, _ in ours})


def test_add_remove_compact(index, table):
    assert index.add(table.slice(300, 50), id="id") is None
    assert len(index) == 350
    added = index.add(table.slice(350), id="id", unique=True, threshold=0.6)
    assert len(index) == 400 - added.num_rows and added.column_names == ["query", "target", "jaccard"]
    assert index.remove(["doc-0", "doc-1", "nobody"]) == 2
    assert not [t for _, t, _ in rows_of(index.query(table["text"].to_pylist())) if t in ("doc-0", "doc-1")]
    index.compact()
    assert index.info()["documents"]["documents"] == len(index) if "documents" in index.info() else True
    with pytest.raises(bandmill.Error) as e:
        index.add(table.slice(300, 1), id="id")
    assert e.value.status == "input"


def test_threads_beside_a_writer(index, table):
    texts = table.slice(0, 40)["text"].to_pylist()
    whole = rows_of(index.query(texts))
    failed = []

    def ask():
        for _ in range(20):
            found = rows_of(index.query(texts))
            if [r for r in found if not r[1].startswith("new")] != whole:
                failed.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(5):
        index.add(pa.table({"id": [f"new-{i}"], "text": [f"quite another text number {i} of its own words"]}), id="id")
    for t in threads:
        t.join()
    assert not failed
    assert len(index) == 305


def test_dedup_against(index, table):
    r = bandmill.dedup(table, id="id", threshold=0.6, against=index.path, device="cpu")
    assert int(r.kept.sum()) < 100


def test_dedup_against_documents(index, table, tmp_path):
    by_index = bandmill.dedup(table, id="id", threshold=0.6, against=index.path, device="cpu")
    known = table.slice(0, 300)
    file = tmp_path / "known.jsonl"
    file.write_text("".join(json.dumps({"name": row["id"], "words": row["text"]}) + "\n" for row in known.to_pylist()))
    for against, more in (
        (known, {}),
        (str(file), {"against_text": "words", "against_id": "name"}),
        ([file], {"against_text": "words", "against_id": "name"}),
    ):
        r = bandmill.dedup(table, id="id", threshold=0.6, against=against, **more, device="cpu")
        assert r.removed.equals(by_index.removed)
    texts = known["text"].to_pylist()
    r = bandmill.dedup(table, id="id", threshold=0.6, against=texts, device="cpu")
    assert r.kept.tolist() == by_index.kept.tolist()
    r = bandmill.dedup(table, id="id", threshold=0.6, against=texts, verify="signature", device="cpu")
    assert r.kept[:300].tolist() == by_index.kept[:300].tolist()
    with pytest.raises(bandmill.Error, match="against_id"):
        bandmill.dedup(table, id="id", against=index.path, against_id="name", device="cpu")


def test_closed(index):
    index.close()
    index.close()
    with pytest.raises(bandmill.Error, match="closed"):
        index.query(["a"])


def test_tables_are_asked_of_the_open_index(index, table, monkeypatch):
    late = table.slice(290, 40)
    by_job = index.query(late, id="id", skip_same_id=True)
    first_ten = set(late["id"].to_pylist()[:10])

    def closed(self, call, job):
        raise AssertionError("the index was closed")

    monkeypatch.setattr(bandmill.Index, "_alone", closed)
    forms = {
        "table": late,
        "batch": late.combine_chunks().to_batches()[0],
        "large": late.set_column(1, "text", late["text"].cast(pa.large_string())),
    }
    for name in ("polars", "pandas"):
        try:
            __import__(name)
        except ImportError:
            continue
        forms[name] = late.to_pandas() if name == "pandas" else __import__(name).from_arrow(late)
    for form, data in forms.items():
        found = index.query(data, id="id")
        assert {q for q, t, _ in rows_of(found) if q == t} == first_ten, form
        assert [(q, t, round(j, 6)) for q, t, j in rows_of(found) if q != t] == rows_of(by_job), form
    numbered = pa.table({"n": range(40), "text": late["text"]})
    assert [row[1:] for row in rows_of(index.query(numbered, id="n"))] == [row[1:] for row in rows_of(index.query(late))]
    assert index.query(late["text"].to_pylist()).num_rows == index.query(numbered).num_rows


def test_wrong_tables_are_told_by_the_job(index, table):
    twice = pa.concat_tables([table.slice(0, 2), table.slice(0, 2)])
    with pytest.raises(bandmill.Error, match="doc-0"):
        index.query(twice, id="id")
    for wrong in (pa.table({"text": [1.5]}), pa.table({"other": ["a"]})):
        with pytest.raises(bandmill.Error, match="column"):
            index.query(wrong)


def test_a_part_is_contained_where_it_is_not_alike(index, table):
    words = table.slice(0, 1)["text"].to_pylist()[0].split()
    part = " ".join(words[: max(6, len(words) // 4)])
    found = index.query([part], measure="containment", threshold=1.0)
    assert found.column_names == ["query", "target", "containment"] and set(found["containment"].to_pylist()) == {1.0}
    assert table.slice(0, 1)["id"].to_pylist()[0] in found["target"].to_pylist()
    by_job = index.query(
        pa.table({"id": ["part"], "text": [part]}), id="id", measure="containment", threshold=1.0, skip_same_id=True
    )
    assert by_job.column(1).to_pylist() == found.column(1).to_pylist()
    with pytest.raises(bandmill.Error, match="measure"):
        index.query([part], measure="overlap")


def test_texts_without_ids_never_meet_ids_that_are_there(tmp_path):
    texts = [f"{w} one two three four five six {w}" for w in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")]

    def ids_of(index):
        found = index.query(texts, threshold=1.0)
        return dict(zip(found["query"].to_pylist(), found["target"].to_pylist()))

    with bandmill.Index.build(tmp_path / "ix", texts[:2], device="cpu") as index:
        assert index.info()["ids"] == "int64"
        index.add(texts[2:4], device="cpu")
        index.add(pa.table({"text": texts[4:6]}), device="cpu")
        index.add(pa.table({"id": [0.5], "text": texts[6:7]}), device="cpu")  # which counts as none
        index.add(pa.array(texts[7:8]), device="cpu")
        index.add(pa.RecordBatchReader.from_batches(*_batches(texts[8:9])), device="cpu")
        assert ids_of(index) == {i: i for i in range(9)}
        assert index.remove([8]) == 1
        index.add(texts[8:10], device="cpu")  # not 8 again
        assert ids_of(index) == {i: i if i < 8 else i + 1 for i in range(10)}
        index.add(pa.table({"id": [11], "text": ["named by hand, one two three four"]}), device="cpu")
        index.remove([1, 2, 9, 10, 11])  # the last ones, and what was named by hand
        index.compact()
        index.add(texts[1:3], device="cpu")
        assert ids_of(index) == {0: 0, 1: 12, 2: 13, **{i: i for i in range(3, 8)}} and len(index) == 8
        index.remove(range(14))
        index.compact()
        assert len(index) == 0
        index.add(texts, device="cpu")  # whatever was there before
        assert ids_of(index) == {i: i + 14 for i in range(10)}
        assert index.add(["new one two three four five"], unique=True, device="cpu").num_rows == 0 and len(index) == 11
        found = index.add(texts[:1], unique=True, device="cpu").to_pylist()
        assert found == [{"query": 25, "target": 14, "jaccard": 1.0}]


def test_an_index_has_ids_of_one_type(tmp_path):
    text = "one two three four five six seven"
    other = "quite another text that nobody else has written"
    kinds = {
        "int64": (pa.array([3], pa.int16()), pa.array([2], pa.int64()), pa.array(["4"]), pa.array([5], pa.uint64())),
        "uint64": (pa.array([2**64 - 1], pa.uint64()), pa.array([4], pa.uint64()), pa.array([5], pa.int64())),
        "text": (pa.array(["3"]), pa.array(["b"], pa.large_string()), pa.array([4], pa.int64())),
    }
    for kind, (first, same, *others) in kinds.items():
        with bandmill.Index.build(tmp_path / kind, pa.table({"id": first, "text": [text]}), device="cpu") as index:
            index.add(pa.table({"id": same, "text": [other]}), device="cpu")
            assert index.info()["ids"] == kind
            for wrong in others:
                with pytest.raises(bandmill.Error, match=f"those of the index are {kind}") as e:
                    index.add(pa.table({"id": wrong, "text": ["some more words of its own here"]}), device="cpu")
                assert e.value.status == "input" and len(index) == 2
            index.add(["a text that has no id at all"], device="cpu")
            found = index.query([text, other, "a text that has no id at all"], threshold=1.0)
            new = {"int64": 4, "uint64": 5, "text": "4"}[kind]
            assert found["target"].to_pylist() == [first[0].as_py(), same[0].as_py(), new]
            assert str(found["target"].type) == ("string" if kind == "text" else kind)
            assert index.remove([new]) == 1


def test_ids_of_files_go_with_integers_where_they_are_some(tmp_path, program):
    with bandmill.Index.build(tmp_path / "ix", ["one two three four five six"], device="cpu") as index:
        lines = ['{"id": 7, "text": "from a file come other words than these"}', '{"id": "x", "text": "no"}']
        for i, line in enumerate(lines):
            (tmp_path / f"{i}.jsonl").write_text(line + "\n")
        index.add(str(tmp_path / "0.jsonl"), device="cpu")
        with pytest.raises(bandmill.Error, match=r"the id 'x' is no int64, as those of the index are"):
            index.add(str(tmp_path / "1.jsonl"), device="cpu")
        assert index.query(["from a file come other words than these"])["target"].to_pylist() == [7]
        index.add(["a text without an id"], device="cpu")
        assert index.query(["a text without an id"], threshold=1.0)["target"].to_pylist() == [8]
    program("index", "build", tmp_path / "of-files", tmp_path / "0.jsonl")
    with bandmill.Index.open(tmp_path / "of-files") as index:
        assert index.query(["from a file come other words than these"])["target"].to_pylist() == ["7"]
        with pytest.raises(bandmill.Error, match="the ids are int64, where those of the index are text"):
            index.add(pa.table({"id": [8], "text": ["other"]}))


def _batches(texts):
    batch = pa.record_batch({"text": texts})
    return batch.schema, [batch]
