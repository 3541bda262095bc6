# SPDX-License-Identifier: Apache-2.0
"""What people look at: pages, heads, explanations; those of the program."""

import html
import pickle
import re

import pyarrow as pa
import pytest

import bandmill

HOW = {"threshold": 0.6, "device": "cpu"}


def shown(page):
    """The texts that stand in a page, as far as both of a pair have them."""
    return [
        html.unescape(re.sub("<[^>]*>", "", side)) for side in re.findall(r'<div class="side"[^>]*>(.*?)</div>', page, re.S)
    ]


@pytest.fixture(scope="module")
def of_files(jsonl, tmp_path_factory):
    return bandmill.dedup(jsonl, output=tmp_path_factory.mktemp("page") / "d", pairs=True, **HOW)


def test_a_page_is_the_programs(of_files, program, tmp_path):
    theirs = program("report", of_files.path).decode()
    page = of_files.to_html(tmp_path / "page.html")
    assert page == theirs == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "iframe" in page._repr_html_() and html.escape("<!DOCTYPE html>") in page._repr_html_()
    assert not any(re.search("[a-z]", text.split("[")[0]) for text in shown(of_files.to_html(texts=False)))
    assert of_files.to_html(groups=3, pairs=1, text_bytes=10, sample=0).count('class="pair"') == 5
    assert of_files.to_html(groups=3, pairs=1, text_bytes=10, sample=4).count('class="pair"') == 9
    drawn = of_files.removed["id"].to_pylist()[:2]  # of a sample of all
    (tmp_path / "labels").write_text(f"{drawn[0]}\tright\n{drawn[1]}\twrong\n")
    page = of_files.to_html(sample=1000, sample_seed=7, sample_labels=tmp_path / "labels")
    how = ("--sample", 1000, "--sample-seed", 7, "--sample-labels", tmp_path / "labels")
    assert page == program("report", of_files.path, *how).decode() != of_files.to_html(sample=1000, sample_seed=7)


@pytest.mark.parametrize("kind", ["table", "list", "pandas", "polars", "dictionary"])
def test_texts_of_a_table_in_memory_are_there(of_files, table, rows, kind):
    if kind in ("pandas", "polars"):
        pytest.importorskip(kind)
    texts = table["text"]
    data = {
        "table": lambda: table,
        "list": lambda: texts.to_pylist(),
        "pandas": lambda: table.to_pandas(),
        "polars": lambda: __import__("polars").from_arrow(table),
        "dictionary": lambda: table.set_column(1, "text", texts.dictionary_encode()),
    }[kind]()
    r = bandmill.dedup(data, pairs=True, **HOW)
    ours, theirs = shown(r.to_html()), shown(of_files.to_html())
    assert (
        ours == theirs
        and len(ours) > 20
        and all(any(text[:40] in row["text"] for row in rows) for text in ours if "[" not in text)
    )
    assert not shown(r.to_html(texts=False))
    assert not [text for text in shown(pickle.loads(pickle.dumps(r)).to_html()) if text]


def test_another_table_gives_no_texts(table):
    data = table["text"].to_pylist()
    r = bandmill.dedup(data, pairs=True, **HOW)
    data[0] = "another"
    with pytest.raises(bandmill.Error, match="other texts"):
        r.to_html()
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert not shown(bandmill.dedup(reader, pairs=True, **HOW).to_html())


def test_a_head_has_counts_and_escapes(of_files):
    head = of_files._repr_html_()
    counts = of_files.report["counts"]
    assert f"<b>{counts['removed']:,} of {counts['documents']:,} documents" in head
    same = "one two three four five six seven"
    hostile = bandmill.dedup(pa.table({"id": ["<script>1</script>", "<b>" * 60], "text": [same, same]}), **HOW)
    assert (
        "<script" not in hostile._repr_html_()
        and "<b><b>" not in hostile._repr_html_()
        and "&lt;script" in hostile._repr_html_()
    )
    assert "0 of 1 documents" in bandmill.dedup([same], **HOW)._repr_html_()


def test_an_explanation_is_the_programs(of_files, table, program, caplog):
    group = max(of_files.groups.to_pylist(), key=lambda g: g["size"])
    a, b = group["members"][0], group["members"][-1]
    said = of_files.explain(a, b)
    assert str(said) == repr(said) == program("explain", of_files.path, a, b).decode()
    assert said.data["group"] == group["group"] and said.dot == program("explain", of_files.path, a, b, "--dot").decode()
    assert str(of_files.explain(group=group["group"])) == program("explain", of_files.path, "--group", group["group"]).decode()
    for data, more in ((table, {"pairs": True}), (table, {}), (table.to_pandas(), {})):
        in_memory = bandmill.dedup(data, **HOW, **more)
        with caplog.at_level("WARNING", "bandmill"):
            again = in_memory.explain(a, b)
        assert not caplog.records and again.data == said.data and again.data["similarity"] is not None
        assert in_memory.explain(group=group["group"]).data == of_files.explain(group=group["group"]).data
    texts = table["text"].to_pylist()
    listed = bandmill.dedup(texts, **HOW)
    places = [table["id"].to_pylist().index(a), table["id"].to_pylist().index(b)]
    assert listed.explain(*places).data["similarity"] == said.data["similarity"]
    texts[0] += " and more"
    with pytest.raises(bandmill.Error, match="other texts"):
        listed.explain(*places)
    removed = of_files.removed.to_pylist()[0]
    assert of_files.explain(removed["id"]).data == of_files.explain(removed["id"], removed["kept"]).data
    for wrong in ((), (None, b), (a, b)):
        with pytest.raises(bandmill.Error, match="two ids") as e:
            of_files.explain(*wrong, **({"group": 1} if None not in wrong and wrong else {}))
        assert e.value.status == "usage"
    alone = next(i for i in table["id"].to_pylist() if not any(i in g["members"] for g in of_files.groups.to_pylist()))
    with pytest.raises(bandmill.Error) as e:
        of_files.explain(a, alone)
    assert e.value.status == "not_found"
