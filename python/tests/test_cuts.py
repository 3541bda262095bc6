# SPDX-License-Identifier: Apache-2.0
"""Parts of documents: the same cuts as the program's, and rows without them, whatever the data is."""

import copy
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import bandmill

LINES = ["Cookies are kept here for the weather and the tides.", "ünïcode 漢字 — a banner of nine words or more 😀 …"]
UNITS = [{"unit": "line"}, {"unit": "paragraph", "keep_count": 2}, {"unit": "span:9", "min_words": 9}]


@pytest.fixture(scope="module")
def pages(rows):
    """Documents of several lines, among them two banners; one has nothing else, one has no text."""
    texts = []
    for i, row in enumerate(rows[:120]):
        own = [row["text"][:90], *(LINES[: i % 3]), row["text"][90:]]
        texts.append("\r\n".join(own) if i % 5 else "\n\n".join(own))
    texts[50:52] = [f"{LINES[1]}\n \n", None]
    return pa.table({"id": [f"p{i}" for i in range(120)], "text": texts, "n": range(120)})


@pytest.fixture(scope="module")
def written(pages, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in pages.to_pylist()))
    return path


def options_of(how):
    return [word for name, value in how.items() for word in (f"--{name.replace('_', '-')}", value)]


@pytest.mark.parametrize("how", UNITS, ids=lambda how: how["unit"])
def test_rows_have_what_the_program_leaves(pages, written, program, tmp_path, how):
    program("dedup", written, *options_of(how), "-o", tmp_path / "out")
    wanted = [json.loads(line) for line in (tmp_path / "out" / "kept.jsonl").read_text().splitlines()]
    lines = [line.split("\t") for line in (tmp_path / "out" / "cuts.tsv").read_text().splitlines()[1:]]
    r = bandmill.dedup(pages, **how)
    assert len(lines) >= 20 and [
        [str(row[c]) for c in ("id", "from", "to", "kept", "kept_from")] for row in r.cuts.to_pylist()
    ] == [line[:5] for line in lines]
    taken = r.take(pages)
    assert taken.to_pylist() == wanted and taken.schema == pages.schema
    assert 0 < pages.num_rows - taken.num_rows == r.report["counts"]["removed"] or how["unit"] == "span:9"
    turned = pages.take(list(range(119, -1, -1)))
    assert r.take(turned).to_pylist() == wanted[::-1]
    assert r.take(pages.to_pandas()).astype(object).where(lambda f: f.notna(), None).to_dict("records") == wanted
    texts = pages["text"].to_pylist()
    of_list = bandmill.dedup(texts, **how)
    left = [row["text"] for row in wanted]
    assert of_list.take(texts) == left and of_list.take(tuple(texts)) == tuple(left)
    assert of_list.take(np.array(texts, dtype=object)).tolist() == left
    as_bytes = [t if t is None else t.encode() for t in texts]
    assert of_list.take(as_bytes) == [t if t is None else t.encode() for t in left]
    pa.parquet.write_table(pages, tmp_path / "p.parquet")
    of_file = bandmill.dedup(tmp_path / "p.parquet", **how)
    assert of_file.take(tmp_path / "p.parquet").to_pylist() == wanted
    with pa.ipc.new_file(tmp_path / "p.arrow", pages.schema) as file:
        file.write_table(pages, max_chunksize=17)
    for name, read in (("p.parquet", pa.parquet.read_table), ("p.arrow", lambda path: pa.ipc.open_file(path).read_all())):
        cut = bandmill.dedup(tmp_path / name, **how, output=tmp_path / f"cut {name}")
        kept = read(cut.path / f"kept.{name[2:]}")
        assert kept.to_pylist() == wanted and kept.schema == pages.schema
    again = bandmill.load(tmp_path / "out")
    assert again.cuts.drop(["file", "line"]).equals(r.cuts.drop(["file", "line"]))
    whole = bandmill.dedup(written, **how, output=tmp_path / "ours")
    assert (whole.path / "kept.jsonl").read_bytes() == (tmp_path / "out" / "kept.jsonl").read_bytes()
    if how["unit"] == "span:9":
        with pytest.raises(bandmill.Error, match="no groups"):
            _ = r.groups
        return
    groups = [json.loads(line) for line in (tmp_path / "out" / "groups.jsonl").read_text().splitlines()]
    found = r.groups.to_pylist()
    assert [[g["kept"]["id"], g["kept"]["from"]] for g in found] == [g["kept"] for g in groups]
    assert [[[m["id"], m["from"]] for m in g["members"]] for g in found] == [g["members"] for g in groups]


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int16(), pa.string()), pa.large_binary()],
    ids=str,
)
def test_a_column_keeps_its_type(pages, kind):
    text = pages["text"].combine_chunks()
    text = text.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else text.cast(kind)
    chunks = pa.chunked_array([text.slice(0, 7), text.slice(7, 0), text.slice(7, 60), text.slice(67)])
    data = pages.set_column(1, "text", chunks)
    r, wanted = bandmill.dedup(data, unit="line"), bandmill.dedup(pages, unit="line").take(pages)["text"].to_pylist()
    taken = r.take(data)
    assert taken.schema == data.schema
    assert [t.decode() if isinstance(t, bytes) else t for t in taken["text"].to_pylist()] == wanted
    column = bandmill.dedup(chunks, unit="line").take(chunks)
    assert column.type == kind and column.to_pylist() == taken["text"].to_pylist()


def test_frames_keep_their_types(pages):
    polars = pytest.importorskip("polars")
    datasets = pytest.importorskip("datasets")
    wanted = bandmill.dedup(pages, unit="line").take(pages)["text"].to_pylist()
    for kind in (polars.String, polars.Categorical):
        frame = polars.from_arrow(pages).with_columns(polars.col("text").cast(kind))
        taken = bandmill.dedup(frame, unit="line").take(frame)
        assert taken.schema == frame.schema and taken["text"].to_list() == wanted
        assert bandmill.dedup(frame["text"], unit="line").take(frame["text"]).to_list() == wanted
    of_words = pages.to_pandas().astype({"text": "category"})
    taken = bandmill.dedup(of_words, unit="line").take(of_words)
    assert str(taken["text"].dtype) == "category" and [None if t != t else t for t in taken["text"].tolist()] == wanted
    series = pages.to_pandas()["text"]
    assert [None if t != t else t for t in bandmill.dedup(series, unit="line").take(series)] == wanted
    rows = datasets.Dataset(pages)
    taken = bandmill.dedup(rows, unit="line").take(rows)
    assert taken.features == rows.features and list(taken["text"]) == wanted
    assert bandmill.dedup(rows, unit="line").take(rows["text"]) == wanted


def test_cuts_stay_in_their_fields():
    banner = LINES[0]
    data = pa.table({"id": [1, 2], "a": ["x", banner], "b": [f"{banner}\ny", f"z\n{banner}"]})
    for rows in (data, data.to_pandas()):
        r = bandmill.dedup(rows, text=["a", "b"], unit="line")
        taken = r.take(rows)
        assert list(taken["a"].tolist() if hasattr(taken, "iloc") else taken["a"].to_pylist()) == ["x", ""]
        assert list(taken["b"].tolist() if hasattr(taken, "iloc") else taken["b"].to_pylist()) == [f"{banner}\ny", "z\n"]
    # A line of one element is not continued in the next; without the elements' ends it would be another line.
    lists = pa.table({"t": pa.array([[banner, "x"], None, [], ["y", None, banner + "\n"]])})
    r = bandmill.dedup(lists, text="t[]", unit="paragraph")
    assert [(row["id"], row["from"], row["to"]) for row in r.cuts.to_pylist()] == [(3, 3, 4 + len(banner))]
    with pytest.raises(bandmill.Error, match=r"not fields or lists in them \(t\[\]"):
        r.take(lists)


def test_texts_that_are_no_utf8_are_cut_where_they_should():
    texts = [LINES[1], f"\ud800é\n{LINES[1]}\nrest \udfff", "x\n" + LINES[1]]
    r = bandmill.dedup(texts, unit="line")
    assert r.take(texts) == [texts[0], "\ud800é\nrest \udfff", "x\n"]
    raw = [LINES[1].encode(), b"\xff\xfe\n" + LINES[1].encode() + b"\n\xff"]
    assert bandmill.dedup(raw, unit="line").take(raw) == [raw[0], b"\xff\xfe\n\xff"]


def test_near_parts_are_cut_and_paired():
    texts = [LINES[0], f"mine\n{LINES[0]} And more.", "Cookies are kept here for the weather and the tides"]
    r = bandmill.dedup(texts, unit="line", threshold=0.5, shingle="word:2", pairs=True)
    assert r.take(texts) == [texts[0], "mine\n"] and r.cuts["reason"].to_pylist() == ["near", "equal"]
    assert [(p["id_a"], p["from_a"], p["id_b"], p["from_b"]) for p in r.pairs.to_pylist()] == [(0, 0, 1, 5), (0, 0, 2, 0)]
    assert r.explain(1, 5).data["kept_to"] == len(texts[0]) and bandmill.dedup(texts, unit="line").cuts.num_rows == 1
    with pytest.raises(bandmill.Error, match="threshold"):
        bandmill.dedup(texts, unit="span", threshold=0.5)


def test_parts_are_compared_within_a_column():
    data = pa.table({"text": [LINES[0], LINES[0], LINES[0], f"{LINES[0]}\nmine"], "host": ["a", None, "b", "a"]})
    r = bandmill.dedup(data, unit="line", within="host")
    assert r.take(data)["text"].to_pylist() == [LINES[0]] * 3 + ["mine"]
    assert r.kept.tolist() == [True] * 4


def test_a_cut_is_explained(pages, written, program, tmp_path):
    program("dedup", written, "--unit", "line", "-o", tmp_path / "out")
    r = bandmill.dedup(pages, unit="line")
    row = next(row for row in r.cuts.to_pylist() if row["reason"] == "identical")
    said = program("explain", tmp_path / "out", row["id"], row["from"]).decode()
    ours = r.explain(row["id"], row["from"])
    assert str(ours) == said.replace(str(written), "table")
    text = pages["text"].to_pylist()[row["line"] - 1].encode()
    cut, kept = text[row["from"] : row["to"]], ours.data["kept_text"].encode()[row["kept_from"] : ours.data["kept_to"]]
    assert ours.data["cut"] == [row["from"], row["to"]] and cut == kept and ours.data["in_common"] >= 9
    with pytest.raises(bandmill.Error, match=r"was (not )?cut") as e:
        r.explain(row["kept"], row["kept_from"])
    assert e.value.status == "not_found"


def test_a_page_shows_cuts_of_tables_too(pages, written, program, tmp_path):
    program("dedup", written, "--unit", "line", "-o", tmp_path / "out")
    assert bandmill.report(tmp_path / "out") == program("report", tmp_path / "out").decode()
    page = bandmill.dedup(pages, unit="line").to_html()
    assert repr(page).startswith("<bandmill.Page 'Parts of documents: 148 cuts'") and page.count(f"<mark>{LINES[0]}") >= 3
    assert "<mark>Cookies" not in bandmill.dedup(pages, unit="line").to_html(texts=False)


def test_other_rows_are_refused(pages):
    r = bandmill.dedup(pages, unit="line")
    changed = pages["text"].to_pylist()
    changed[20] = "quite another text"
    with pytest.raises(bandmill.Error, match="row 20 has another text"):
        r.take(pages.set_column(1, "text", pa.array(changed)))
    of_list = bandmill.dedup(pages["text"].to_pylist(), unit="line")
    with pytest.raises(bandmill.Error, match="other texts"):
        of_list.take(changed)
    for again in (copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert again.take(pages).equals(r.take(pages)) and again.cuts.equals(r.cuts)
        with pytest.raises(bandmill.Error, match="row 20 has another text"):
            again.take(pages.set_column(1, "text", pa.array(changed)))


def test_words_of_a_unit(pages):
    usual = bandmill.dedup(pages, unit="span")
    assert usual.report["provenance"]["shingle"] == "word:50" and usual.report["parameters"]["min_words"] == 8
    assert repr(bandmill.dedup(pages, unit="line")) == "<bandmill.Dedup: 120 documents, 148 cuts, 14 removed>"
    assert "cuts in 120 documents, of which 14 " in bandmill.dedup(pages, unit="line")._repr_html_()
    for wrong in ("word", "line:5", "span:0", "span:x", "", 5):
        with pytest.raises(bandmill.Error) as e:
            bandmill.dedup(pages, unit=wrong)
        assert e.value.status == "usage" and e.value.field == "unit"
    for name, value in (("min_words", 5), ("keep_count", 2)):
        with pytest.raises(bandmill.Error, match="without `unit`"):
            bandmill.dedup(pages, **{name: value})
    with pytest.raises(bandmill.Error, match="unit="):
        _ = bandmill.dedup(pages).cuts
    with pytest.raises(bandmill.Error, match="cut=True"):
        _ = bandmill.overlap(pages, LINES).cuts


def test_items_are_cut_out_of_rows(pages, written, program, tmp_path):
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps({"id": i, "text": line}) + "\n" for i, line in enumerate(LINES)))
    how = ["--shingle", "word:5", "--against", items, "--cut"]
    program("overlap", written, *how, "-o", tmp_path / "out")
    wanted = [json.loads(line) for line in (tmp_path / "out" / "kept.jsonl").read_text().splitlines()]
    r = bandmill.overlap(pages, LINES, shingle="word:5", cut=True)
    assert r.take(pages).to_pylist() == wanted and r.cuts.num_rows >= 119
    assert r.cuts["kept"].type == pa.int64() and set(r.cuts["reason"].to_pylist()) == {"overlap"}
    assert "cuts in 120 documents" in r._repr_html_()
