# SPDX-License-Identifier: Apache-2.0
"""The package gives what the program gives, whatever the documents come as."""

import json
import pathlib
import pickle
import sys

import numpy as np
import pyarrow as pa
import pytest

import bandmill


def as_polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def as_pandas(table):
    pytest.importorskip("pandas")
    return table.to_pandas()


def as_duckdb(documents):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql("select * from documents order by cast(substr(id, 5) as int)")


def cast(kind):
    return lambda t: t.set_column(1, "text", t["text"].cast(kind))


def chunked(t):
    return pa.concat_tables([t.slice(i, 37) for i in range(0, len(t), 37)] + [t.slice(0, 0)])


def nested(t):
    return pa.table({"id": t["id"], "doc": pa.StructArray.from_arrays([t["text"].combine_chunks()], ["text"])})


FORMS = {
    "table": lambda t: t,
    "chunks": chunked,
    "large": cast(pa.large_string()),
    "binary": cast(pa.binary()),
    "large_binary": cast(pa.large_binary()),
    "view": cast(pa.string_view()),
    "binary_view": cast(pa.binary_view()),
    "dictionary": lambda t: t.set_column(1, "text", t["text"].dictionary_encode()),
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "reader": lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=50)),
    "sliced": lambda t: pa.concat_tables([t.slice(0, 50), t]).slice(50),
    "polars": as_polars,
    "pandas": as_pandas,
    "duckdb": as_duckdb,
}


@pytest.mark.parametrize("scheme, kind", [("affine64", "<u8"), ("datatrove", "<u8"), ("legacy", "<u4"), ("lance", "<u4")])
def test_words_have_the_type_of_their_scheme(scheme, kind, table, jsonl, program, tmp_path):
    program("sign", jsonl, "-o", tmp_path / "s", "--scheme", scheme, "--device", "cpu")
    wanted = np.load(tmp_path / "s" / "signatures.npy")
    assert wanted.dtype == np.dtype(kind)
    made = bandmill.sign(table, scheme=scheme)
    assert made.signatures.dtype == wanted.dtype
    assert (made.signatures == wanted).all()
    assert (bandmill.sign(jsonl, scheme=scheme).signatures == wanted).all()
    with pytest.raises(bandmill.Error):
        bandmill.sign(table, scheme=scheme, hash="xxh3")


@pytest.fixture(scope="session")
def signed(jsonl, program, tmp_path_factory):
    out = tmp_path_factory.mktemp("signed") / "s"
    program("sign", jsonl, "-o", out, "--bands", 16, "--rows", 8, "--band-keys", "--device", "cpu")
    return out


@pytest.mark.parametrize("form", FORMS)
def test_sign_equals_the_program(form, table, signed):
    s = bandmill.sign(FORMS[form](table), id="id", bands=16, rows=8, device="cpu")
    for name in ("signatures", "n_shingles", "band_keys"):
        assert np.array_equal(getattr(s, name), np.load(signed / f"{name}.npy")), name
    assert s.ids == (signed / "ids.txt").read_text().split("\n")[:-1]


def test_sign_of_a_nested_column(table, signed):
    s = bandmill.sign(nested(table), text="doc.text", id="id", device="cpu")
    assert np.array_equal(s.signatures, np.load(signed / "signatures.npy"))


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "bytes", "column", "path", "paths"])
def test_sign_of_texts_and_paths(kind, rows, table, jsonl, signed):
    texts = [r["text"] for r in rows]
    data = {
        "list": texts,
        "tuple": tuple(texts),
        "array": np.array(texts, dtype=object),
        "bytes": [t.encode() for t in texts],
        "column": table["text"],
        "path": str(jsonl),
        "paths": [jsonl],
    }[kind]
    s = bandmill.sign(data, device="cpu", threads=2)
    assert np.array_equal(s.signatures, np.load(signed / "signatures.npy"))


def test_nulls_and_bad_utf8():
    s = bandmill.sign([None, b"a \xff b", "lone \ud800 surrogate"], device="cpu", shingle="word:1", words="space")
    assert list(s.n_shingles) == [0, 3, 3]
    t = pa.table({"text": pa.array([None, "x y"])})
    assert list(bandmill.sign(t, device="cpu", shingle="word:1").n_shingles) == [0, 2]


def test_signatures_are_saved_and_loaded(table, tmp_path, program):
    s = bandmill.sign(table, id="id", device="cpu")
    s.save(tmp_path / "s")
    with pytest.raises(bandmill.Error, match="exists already"):
        s.save(tmp_path / "s")
    again = bandmill.load(tmp_path / "s")
    assert np.array_equal(again.signatures, s.signatures) and again.ids == s.ids
    assert json.loads(program("inspect", tmp_path / "s", "--json"))
    arrow = again.to_arrow()
    assert arrow.column_names == ["id", "signature", "n_shingles"]
    assert arrow["signature"].type == pa.list_(pa.uint32(), 128)
    assert json.loads(arrow.schema.metadata[b"bandmill"])["tool"] == "bandmill"
    assert np.array_equal(np.array(arrow["signature"].to_pylist(), dtype=np.uint32), s.signatures)


def test_shares_of_a_file_are_the_whole(jsonl):
    whole = bandmill.sign(jsonl, id="id", device="cpu")
    shares = [bandmill.sign(jsonl, id="id", device="cpu", shard=f"{i}/3") for i in (1, 2, 3)]
    assert all(len(s.ids) > 0 for s in shares)
    assert [i for s in shares for i in s.ids] == whole.ids
    assert np.array_equal(np.concatenate([s.signatures for s in shares]), whole.signatures)
    for bad in ("0/3", "4/3", "3", "1/0", "a/b", 2):
        with pytest.raises(bandmill.Error, match="shard"):
            bandmill.sign(jsonl, id="id", device="cpu", shard=bad)
    with pytest.raises(bandmill.Error, match="shard"):
        bandmill.sign(["a text"], device="cpu", shard="1/2")


def test_dedup_equals_the_program(table, jsonl, program, tmp_path):
    for more in ({}, {"cluster": "star"}, {"keep": "longest"}, {"threshold": 0.5}, {"verify": "signature"}):
        r = bandmill.dedup(table, id="id", device="cpu", pairs=True, **more)
        out = tmp_path / ("-".join(map(str, more.values())) or "plain")
        arguments = [x for name, value in more.items() for x in (f"--{name}", value)]
        program("dedup", jsonl, "-o", out, "--pairs", "--device", "cpu", *arguments)
        for name in ("groups.jsonl", "pairs.tsv"):
            assert (r.path / name).read_bytes() == (out / name).read_bytes(), (name, more)
        theirs = [line.split("\t") for line in (out / "removed.tsv").read_text().split("\n")[1:-1]]
        ours = r.removed
        assert [ours[c].to_pylist() for c in ("id", "kept", "reason", "line")] == [
            [row[i] if i != 5 else int(row[i]) for row in theirs] for i in (0, 1, 3, 5)
        ]
        assert ours["lost"].to_pylist() == [int(row[6]) if row[6] else None for row in theirs], more
        kept = [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text().split("\n")[:-1]]
        assert r.take(table)["id"].to_pylist() == kept
        counts = json.loads((out / "report.json").read_text())["counts"]
        assert {k: v for k, v in r.report["counts"].items() if k != "hidden_files"} == {
            k: v for k, v in counts.items() if k != "hidden_files"
        }


def test_take_gives_its_own_type(rows, table):
    texts = [r["text"] for r in rows]
    r = bandmill.dedup(texts, device="cpu")
    n = int(r.kept.sum())
    assert len(r.kept) == len(texts) and 0 < n < len(texts)
    assert r.take(texts) == [t for t, k in zip(texts, r.kept) if k]
    assert isinstance(r.take(tuple(texts)), tuple)
    assert r.take(np.array(texts, dtype=object)).shape == (n,)
    assert r.take(table).num_rows == n
    assert as_polars(table).pipe(r.take).height == n
    assert len(r.take(as_pandas(table))) == n
    assert r.take(as_duckdb(table)).num_rows == n


def test_skipped_records_are_not_kept():
    t = pa.table({"id": ["a", None, "c"], "text": ["one two", "three four", "one two"]})
    with pytest.raises(bandmill.Error) as e:
        bandmill.dedup(t, id="id", device="cpu")
    assert (e.value.status, e.value.file, e.value.line) == ("input", "table", 2)
    r = bandmill.dedup(t, id="id", on_error="skip", device="cpu")
    assert list(r.kept) == [True, False, False]


def test_dedup_writes_where_it_is_told(jsonl, tmp_path):
    r = bandmill.dedup(jsonl, output=tmp_path / "out", device="cpu")
    assert (tmp_path / "out" / "kept.jsonl").exists()
    with pytest.raises(bandmill.Error, match="rows of a table or list"):
        _ = r.kept
    with pytest.raises(bandmill.Error, match="exists already") as e:
        bandmill.dedup(jsonl, output=tmp_path / "out", device="cpu")
    assert e.value.exit_code == 2


def test_dedup_writes_the_removed_records(table, jsonl, tmp_path):
    bandmill.dedup(jsonl, output=tmp_path / "out", removed="same", device="cpu")
    kept, removed = ((tmp_path / "out" / f"{side}.jsonl").read_bytes().splitlines(True) for side in ("kept", "removed"))
    assert removed and sorted(kept + removed) == sorted(pathlib.Path(jsonl).read_bytes().splitlines(True))
    with pytest.raises(bandmill.Error, match="output"):
        bandmill.dedup(jsonl, removed="same", device="cpu")
    with pytest.raises(bandmill.Error, match="table in memory"):
        bandmill.dedup(table, id="id", output=tmp_path / "other", removed="same", device="cpu")
    with pytest.raises(bandmill.Error, match="removed 'xz'"):
        bandmill.dedup(jsonl, output=tmp_path / "other", removed="xz", device="cpu")


def test_pairs_equal_the_program(table, jsonl, program):
    for candidates in ("lsh", "all"):
        found = bandmill.pairs(table, id="id", threshold=0.6, candidates=candidates, device="cpu")
        theirs = program("pairs", jsonl, "--threshold", 0.6, "--candidates", candidates, "--device", "cpu").decode()
        lines = ["\t".join(("id_a", "id_b", "jaccard"))]
        lines += [f"{a}\t{b}\t{j:.6f}" for a, b, j in zip(*(found[c].to_pylist() for c in found.column_names))]
        assert "\n".join(lines) + "\n" == theirs


def test_dedup_of_every_pair_is_that_of_the_program(table, jsonl, program, tmp_path):
    r = bandmill.dedup(table, id="id", threshold=0.4, candidates="all", device="cpu")
    program("dedup", jsonl, "--threshold", 0.4, "--candidates", "all", "--device", "cpu", "-o", tmp_path / "out")
    rows = (tmp_path / "out" / "removed.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [r["id"] for r in r.removed.to_pylist()] == [row.split("\t")[0] for row in rows] and len(rows) > 10
    with pytest.raises(bandmill.Error, match="`candidates` all compares exactly") as e:
        bandmill.dedup(table, id="id", candidates="all", verify="signature", device="cpu")
    assert (e.value.status, e.value.field) == ("usage", "verify")


def test_pairs_by_containment_are_those_of_the_program(table, jsonl, program):
    found = bandmill.pairs(table, id="id", threshold=0.6, measure="containment", device="cpu")
    theirs = [
        line.split("\t")
        for line in program("pairs", jsonl, "--measure", "containment", "--threshold", "0.6").decode().split("\n")[1:-1]
    ]
    ours = zip(*(found[c].to_pylist() for c in ("id_a", "id_b", "containment")))
    assert [[a, b, f"{c:.6f}"] for a, b, c in ours] == theirs and len(theirs) > 10
    with pytest.raises(bandmill.Error) as e:
        bandmill.pairs(table, measure="containment", candidates="lsh", device="cpu")
    assert e.value.status == "usage"
    some = table.slice(0, 20)
    n = sum(1 for text in some["text"].to_pylist() if text and text.strip())
    assert len(bandmill.pairs(some, id="id", threshold=0.0, candidates="all", device="cpu")) == n * (n - 1) // 2 > 100


def test_pairs_with_edit_distances_are_those_of_the_program(table, jsonl, program):
    found = bandmill.pairs(jsonl, threshold=0.6, edit=True, device="cpu")
    theirs = [
        line.split("\t")[3] for line in program("pairs", jsonl, "--edit", "--threshold", "0.6").decode().split("\n")[1:-1]
    ]
    assert [str(n) for n in found["edit"].to_pylist()] == theirs and len(theirs) > 10
    for data in (table, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=17))):
        assert bandmill.pairs(data, id="id", threshold=0.6, edit=True, device="cpu").equals(found)
    texts = bandmill.pairs([t or "" for t in table["text"].to_pylist()], threshold=0.6, edit=True, device="cpu")
    assert texts["edit"].equals(found["edit"])
    with pytest.raises(bandmill.Error, match="needs texts"):
        bandmill.pairs(bandmill.sign(table, id="id", device="cpu"), edit=True, verify="signature", device="cpu")


def test_pairs_without_similarity_are_null(table):
    found = bandmill.pairs(table, verify="none", device="cpu")
    assert found["jaccard"].null_count > 0


def test_hash_shingles_are_those_of_the_signatures(table, rows):
    offsets, hashes = bandmill.hash_shingles(table)
    again = bandmill.hash_shingles([r["text"] for r in rows], threads=2)
    assert np.array_equal(offsets, again[0]) and np.array_equal(hashes, again[1])
    assert offsets.dtype == np.int64 and hashes.dtype == np.uint64
    assert np.array_equal(np.diff(offsets), bandmill.sign(table, id="id", device="cpu").n_shingles)
    xxhash = pytest.importorskip("xxhash")
    one = bandmill.hash_shingles(["Hello there World"], shingle="word:2")[1]
    assert [int(h) for h in one] == [xxhash.xxh3_64_intdigest(w) for w in (b"hello there", b"there world")]


def test_hashes_made_elsewhere_equal_the_program(rows, program, tmp_path):
    texts = [r["text"] for r in rows]
    offsets, hashes = bandmill.hash_shingles(texts)
    np.save(tmp_path / "hashes.npy", hashes)
    np.save(tmp_path / "offsets.npy", offsets)
    given = {"format": "hashes", "offsets": tmp_path / "offsets.npy"}
    command = [tmp_path / "hashes.npy", "--format", "hashes", "--offsets", tmp_path / "offsets.npy"]
    signed = bandmill.sign(tmp_path / "hashes.npy", **given)
    program("sign", *command, "-o", tmp_path / "signed")
    assert np.array_equal(signed.signatures, bandmill.load(tmp_path / "signed").signatures)
    assert np.array_equal(signed.signatures, bandmill.sign(texts).signatures)
    pairs = bandmill.pairs(tmp_path / "hashes.npy", **given)
    assert len(pairs) > 10
    assert pairs.column(2).equals(bandmill.pairs(texts).column(2))


@pytest.mark.parametrize("call", ["sign", "pairs", "dedup", "index"])
def test_hashes_whose_low_halves_are_the_same_are_refused(call, tmp_path):
    np.save(tmp_path / "hashes.npy", np.arange(1, 6001, dtype=np.uint64) << np.uint64(32))
    np.save(tmp_path / "offsets.npy", np.arange(0, 6001, 3, dtype=np.int64))
    given = {"format": "hashes", "offsets": tmp_path / "offsets.npy"}
    calls = {
        "sign": lambda: bandmill.sign(tmp_path / "hashes.npy", **given),
        "pairs": lambda: bandmill.pairs(tmp_path / "hashes.npy", verify="signature", **given),
        "dedup": lambda: bandmill.dedup(tmp_path / "hashes.npy", verify="signature", **given),
        "index": lambda: bandmill.Index.build(tmp_path / "index", tmp_path / "hashes.npy", **given),
    }
    with pytest.raises(bandmill.Error, match=r"about 1 distinct low halves, .*affine32.*affine64") as refused:
        calls[call]()
    assert refused.value.status == "input"
    assert not (tmp_path / "index").exists()


def test_tune():
    plans = bandmill.tune(threshold=0.5, recall=0.99, ceiling={0.05: 0.006}, perms=128)["plans"]
    one = next(p for p in plans if (p["bands"], p["rows"]) == (42, 3))
    assert f"{one['recall']:.4f} {one['at_ceiling']:.4f}" == "0.9963 0.0052"
    steps = bandmill.tune(bands=9000, rows=7)["chosen"]["steps"]
    assert [step["probability"] for step in steps] == [0.001, 0.01, 0.5, 0.99, 0.999]
    assert all(abs(1 - (1 - step["similarity"] ** 7) ** 9000 - step["probability"]) < 1e-9 for step in steps)
    with pytest.raises(bandmill.Error) as e:
        bandmill.tune(perms=65537)
    assert e.value.field == "perms"
    with pytest.raises(bandmill.Error) as e:
        bandmill.tune(threshold=0.9, recall=0.99999, ceiling={0.89: 0.0001}, perms=8)
    assert e.value.status == "not_found"


def test_tune_of_documents(jsonl, table):
    by_path = bandmill.tune(jsonl, shingle=["word:1", "word:3"])
    assert len(by_path["samples"]) == 2
    assert bandmill.tune(table, shingle="word:3")["samples"][0] == by_path["samples"][1]


@pytest.mark.parametrize("name", ["bag", "stop words"])
def test_special_shingles_equal_the_program(name, table, jsonl, program, tmp_path):
    stops = tmp_path / "stops"
    stops.write_text("arba\nbece\ncodi\n")
    options, arguments = {
        "bag": ({"bag": True, "shingle": "word:1"}, ["--bag", "--shingle", "word:1"]),
        "stop words": ({"shingle": "stopword:2", "stopwords": stops}, ["--shingle", "stopword:2", "--stopwords", stops]),
    }[name]
    program("sign", jsonl, "-o", tmp_path / "s", "--device", "cpu", *arguments)
    s = bandmill.sign(table, id="id", device="cpu", **options)
    assert np.array_equal(s.signatures, np.load(tmp_path / "s" / "signatures.npy"))
    assert s.n_shingles.any()


def test_weighted_pairs_equal_the_program(table, jsonl, program):
    arguments = ["--weights", "tfidf", "--threshold", 0.5, "--candidates", "all", "--device", "cpu"]
    found = bandmill.pairs(jsonl, weights="tfidf", threshold=0.5, candidates="all", device="cpu")
    theirs = program("pairs", jsonl, *arguments).decode().split("\n")[1:-1]
    assert [f"{a}\t{b}\t{j:.6f}" for a, b, j in zip(*(found[c].to_pylist() for c in found.column_names))] == theirs and theirs
    for data in (table, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=17))):
        assert bandmill.pairs(data, id="id", weights="tfidf", threshold=0.5, candidates="all", device="cpu").equals(found)
    signed = bandmill.sign(table, id="id", weights="tfidf", device="cpu")
    assert np.array_equal(signed.signatures, bandmill.sign(jsonl, weights="tfidf", device="cpu").signatures)
    assert bandmill.dedup(table, id="id", weights="tfidf", device="cpu").groups.equals(
        bandmill.dedup(jsonl, weights="tfidf", device="cpu").groups
    )


def test_progress_without_tqdm_names_it(table, caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert bandmill.dedup(table, device="cpu", progress=True).report["counts"]["documents"] == len(table)
    assert [r for r in caplog.records if "needs tqdm" in r.getMessage()]


def test_progress_shows_percent_and_time_left(table, tmp_path, capsys):
    pytest.importorskip("tqdm")
    path = tmp_path / "many.jsonl"
    lines = [json.dumps({"text": text}) + "\n" for text in table["text"].to_pylist()]
    path.write_text("".join(lines * 100))
    for data, said in ((path, "s left"), (pa.concat_tables([table.select(["text"])] * 100), "bytes")):
        bandmill.dedup(data, device="cpu", progress=True)
        shown = capsys.readouterr().err.split("\r")
        assert any(said in line for line in shown) and any("%|" in line and not line.strip().startswith("0%") for line in shown)


def test_patterns_stand_for_files(tmp_path):
    for name in ("b-2.jsonl", "b-10.jsonl", "c.jsonl", "deep/b-3.jsonl", "[x].jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"id": name, "text": name}) + "\n")
    ids = lambda *a, **k: bandmill.sign(*a, **k, device="cpu").ids  # noqa: E731
    assert ids(f"{tmp_path}/b-*.jsonl") == ids(paths=f"{tmp_path}/b-*.jsonl") == ["b-10.jsonl", "b-2.jsonl"]
    assert ids(paths=[f"{tmp_path}/c.jsonl", f"{tmp_path}/**/b-3.jsonl"]) == ["c.jsonl", "deep/b-3.jsonl"]
    assert ids(tmp_path / "[x].jsonl") == ["[x].jsonl"]
    with pytest.raises(bandmill.Error, match="no file matches") as e:
        bandmill.sign(f"{tmp_path}/d*.jsonl")
    assert e.value.status == "input"


def test_parquet_by_path(table, tmp_path):
    import pyarrow.parquet as pq

    whole = bandmill.sign(table, id="id", device="cpu").signatures
    pq.write_table(table, tmp_path / "a.parquet")
    assert np.array_equal(bandmill.sign(tmp_path / "a.parquet", device="cpu").signatures, whole)


def test_tune_prints_its_answer_and_draws_its_curves(jsonl, tmp_path):
    found = bandmill.tune(
        jsonl, threshold=0.5, ceiling={0.05: 0.006}, shingle=["word:1", "word:3"], svg=tmp_path / "curves.svg"
    )
    plan, *samples = str(found).splitlines()
    chosen = found["chosen"]
    assert plan.startswith(f"{chosen['bands']} bands of {chosen['rows']} rows: find ") and " of those at 0.05; " in plan
    assert [line.split(":")[0] for line in samples] == ["word", "word"] and "400 documents" in samples[0]
    assert repr(found) == str(found) and found.svg == (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert found._repr_html_().endswith(found.svg) and "<svg" in found.svg
    again = pickle.loads(pickle.dumps(found))
    assert again == found == json.loads(json.dumps(found)) and again.svg == found.svg
    assert "<svg" in bandmill.tune()._repr_html_()
