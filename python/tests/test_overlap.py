# SPDX-License-Identifier: Apache-2.0
"""A test set in documents: the same rows as the program's, whatever the data is."""

import copy
import csv
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import bandmill

COLUMNS = ["id", "item", "coverage", "hits", "longest", "from", "to"]


@pytest.fixture(scope="module")
def questions(rows):
    """Parts of documents, one of them twice, one in no document, one of few words."""
    long = [row["text"].split() for row in rows if len(row["text"].split()) >= 30]
    parts = [" ".join(words[5:25]) for words in long[:6]]
    return [*parts, "What of " + parts[0], " ".join(f"other{i}" for i in range(20)), "a few words"]


@pytest.fixture(scope="module")
def places(jsonl, questions, tmp_path_factory):
    """The test set as a file, and what the program finds."""
    folder = tmp_path_factory.mktemp("overlap")
    with (folder / "test.jsonl").open("w") as file:
        for i, question in enumerate(questions):
            file.write(json.dumps({"qid": i, "question": question}) + "\n")
    return folder


@pytest.fixture(scope="module")
def theirs(program, jsonl, places):
    fields = ("--against-text-field", "question", "--against-id-field", "qid")
    program("overlap", jsonl, "--against", places / "test.jsonl", *fields, "-o", places / "found")
    return places / "found"


def lines(path):
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]


def test_items_are_files_of_several_formats(jsonl, questions, theirs, tmp_path):
    rows = [{"qid": i, "question": question} for i, question in enumerate(questions)]
    with (tmp_path / "some.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows[:3])
    with (tmp_path / "more.csv").open("w", newline="") as file:
        csv.DictWriter(file, ["qid", "question"]).writerows([{"qid": "qid", "question": "question"}, *rows[3:6]])
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows[6:]), tmp_path / "rest.parquet")
    files = [tmp_path / name for name in ("some.jsonl", "more.csv", "rest.parquet")]
    r = bandmill.overlap(jsonl, files, against_text="question", against_id="qid")
    found = [[str(row["id"]), str(row["item"])] for row in r.overlap.to_pylist()]
    assert found == [row[:2] for row in lines(theirs / "overlap.tsv")]
    assert r.items["file"].to_pylist() == [str(files[i // 3]) for i in range(len(questions))]


def test_tables_and_lists_are_read_like_files(table, rows, questions, theirs):
    wanted = [row[:7] for row in lines(theirs / "overlap.tsv")]
    assert len(wanted) >= 7 and len({row[1] for row in wanted}) == 7
    items = pa.table({"qid": pa.array(range(len(questions)), pa.int64()), "question": questions})
    of_table = bandmill.overlap(table, items, id="id", against_text="question", against_id="qid")
    of_lists = bandmill.overlap([row["text"] for row in rows], np.array(questions, dtype=object))
    of_frame = bandmill.overlap(table.to_pandas(), items.to_pandas(), id="id", against_text="question", against_id="qid")
    named = {f"doc-{i}": i for i in range(len(rows))}
    for r, own in ((of_table, str), (of_lists, lambda name: str(named[name])), (of_frame, str)):
        found = r.overlap.select(COLUMNS).to_pylist()
        assert [
            [str(row["id"]), str(row["item"]), f"{row['coverage']:.6f}"] + [str(row[c]) for c in COLUMNS[3:]] for row in found
        ] == [[own(row[0]), *row[1:]] for row in wanted]
        assert r.overlap["item"].type == pa.int64() and r.items["item"].to_pylist() == list(range(len(questions)))
        assert [[str(row["item"]), str(row["shingles"]), str(row["documents"])] for row in r.items.to_pylist()] == [
            row[:3] for row in lines(theirs / "items.tsv")
        ]
        assert r.items["coverage"].to_pylist()[-2:] == [0.0, None]
        assert r.removed["kept"].type == pa.int64() and set(r.removed["reason"].to_pylist()) == {"overlap"}
    assert of_lists.overlap["id"].type == pa.int64() and of_table.overlap["id"].type == pa.string()


def test_files_and_what_the_program_wrote(jsonl, places, theirs, tmp_path):
    how = {"against_text": "question", "against_id": "qid"}
    r = bandmill.overlap(jsonl, places / "test.jsonl", output=tmp_path / "out", **how)
    for name in ("overlap.tsv", "items.tsv", "removed.tsv", "kept.jsonl"):
        assert (r.path / name).read_bytes() == (theirs / name).read_bytes()
    again = bandmill.load(theirs)
    assert isinstance(again, bandmill.Overlap) and again.overlap.equals(r.overlap) and again.items.equals(r.items)
    assert repr(again) == repr(r) == f"<bandmill.Overlap: 400 documents, {r.removed.num_rows} removed, 7 of 9 items found>"
    several = bandmill.overlap(paths=[str(jsonl)], items=[places / "test.jsonl"], **how)
    assert several.overlap.equals(r.overlap)
    assert (bandmill.filter(theirs, tmp_path / "clean") / "kept.jsonl").read_bytes() == (theirs / "kept.jsonl").read_bytes()
    with pytest.raises(bandmill.Error, match="for rows of a table"):
        _ = r.kept


def test_keywords_are_the_options(table, questions):
    texts = table["text"].to_pylist()
    usual = bandmill.overlap(texts, questions)
    assert usual.report["provenance"]["shingle"] == "word:13" and usual.report["parameters"]["threshold"] == 0.5
    few = bandmill.overlap(texts, questions, min_words=3, shingle="word:5", threshold=0.3, words="space", cpu="scalar")
    assert few.report["provenance"]["shingle"] == "word:5" and few.report["parameters"]["min_words"] == 3
    assert few.report["counts"]["items_too_short"] == 0 < usual.report["counts"]["items_too_short"]
    assert few.overlap.num_rows >= usual.overlap.num_rows
    for keyword in ({"perms": 64}, {"verify": "exact"}, {"device": "cpu"}):
        with pytest.raises(TypeError, match=r"overlap\(\) got an unexpected keyword"):
            bandmill.overlap(texts, questions, **keyword)
    for wrong in ({"threshold": 0}, {"min_words": 0}, {"shingle": "stopword:3"}):
        with pytest.raises(bandmill.Error) as e:
            bandmill.overlap(texts, questions, **wrong)
        assert e.value.status == "usage" and e.value.field == next(iter(wrong))
    with pytest.raises(bandmill.Error, match="no items given") as e:
        bandmill.overlap(texts)
    assert e.value.field == "items"
    with pytest.raises(bandmill.Error, match="signatures"):
        bandmill.overlap(texts, bandmill.sign(questions, device="cpu"))
    for name, value in (("kept", "gz"), ("force", True), ("resume", True)):
        with pytest.raises(bandmill.Error, match="output="):
            bandmill.overlap(texts, questions, **{name: value})


def test_rows_that_hold_no_item_are_taken(table, questions, tmp_path):
    items = pa.table({"text": questions})
    r = bandmill.overlap(table, items, id="id", against_id="none")
    removed = set(r.removed["id"].to_pylist())
    assert r.take(table)["id"].to_pylist() == [name for name in table["id"].to_pylist() if name not in removed]
    assert r.take(table.to_pandas()).equals(r.take(table).to_pandas().set_axis(np.flatnonzero(r.kept)))
    assert r.take(table.take(list(range(399, -1, -1)))).num_rows == 400 - len(removed)
    with pytest.raises(bandmill.Error, match="399 rows, where overlap read 400"):
        r.take(table.slice(1))
    for again in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert (
            isinstance(again, bandmill.Overlap) and again.overlap.equals(r.overlap) and again.kept.tolist() == r.kept.tolist()
        )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    of_file = bandmill.overlap(tmp_path / "t.parquet", questions)
    assert of_file.take(tmp_path / "t.parquet")["id"].to_pylist() == r.take(table)["id"].to_pylist()


def test_an_item_is_explained(table, questions, theirs, program):
    row = lines(theirs / "overlap.tsv")[0]
    said = bandmill.explain(theirs, row[1], row[0])
    assert str(said) == program("explain", theirs, row[1], row[0]).decode()
    r = bandmill.overlap(table, questions, id="id")
    ours = r.explain(int(row[1]), row[0])
    assert {**ours.data, "item": "0"} == {**said.data, "item": "0"} and ours.data["hits"] == int(row[3])
    begin, end = ours.data["run"]
    assert f"[[{ours.data['document_text'][begin:end]}]]" in str(ours)
    with pytest.raises(bandmill.Error, match=r"does not hold item '7': it has 0 of 8 shingles, a coverage of 0\.0") as e:
        r.explain(7, row[0])
    assert e.value.status == "not_found"
    with pytest.raises(bandmill.Error, match="no document 'nobody'"):
        r.explain(7, "nobody")
    with pytest.raises(bandmill.Error, match="an item and a document"):
        bandmill.explain(theirs, "0")


def test_a_page_shows_texts_of_tables_too(table, questions, theirs, program, tmp_path):
    assert bandmill.report(theirs, pairs=3) == program("report", theirs, "--pairs", 3).decode()
    r = bandmill.overlap(table, questions, id="id")
    page = r.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert page.count(f"<mark>{questions[1]}</mark>") >= 2 and repr(page).startswith("<bandmill.Page 'Overlap: 7 items found'")
    assert "<mark>" + questions[1] not in r.to_html(texts=False)
    assert "<td>items_found</td><td>7</td>" in r._repr_html_()
    with pytest.raises(bandmill.Error, match="sample_labels"):
        bandmill.report(theirs, sample_labels=tmp_path / "labels.tsv")
