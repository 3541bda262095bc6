# SPDX-License-Identifier: Apache-2.0
"""What else people do with it: processes that fork, results that go to others, streams, wrong types, functions that raise."""

import copy
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import bandmill

TEXTS = [
    "one two three four five six seven eight nine",
    "one two three four five six seven eight nine",
    "ten eleven twelve",
    None,
]


def dedup(data=TEXTS, **k):
    return bandmill.dedup(data, device="cpu", **k)


def sign(data=TEXTS, **k):
    return bandmill.sign(data, device="cpu", perms=16, **k)


FORKS = """
import os, sys
import bandmill
texts = ["one two three four five six seven", "one two three four five six seven", "eight nine ten"]
found, signed = bandmill.dedup(texts, device="cpu"), bandmill.sign(texts, device="cpu", perms=16)
place, index = signed.path, bandmill.Index.build(sys.argv[1], texts, device="cpu", threshold=0.5)
for ends in (sys.exit, None):
    child = os.fork()
    if child == 0:
        if ends:
            assert index.query(texts[2:]).num_rows == 1 and len(bandmill.sign(texts, device="cpu")) == 3
            ends(0)
        del found, signed, index
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert found.groups.num_rows == 1 and found.removed.num_rows == 1 and os.path.isdir(place)
assert index.query(texts[2:]).num_rows == 1 and index.remove([0]) == 1 and len(index) == 2
print("done")
"""


def test_a_forked_process_takes_nothing_away(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(bandmill.__file__).parents[1])}
    words = [sys.executable, "-X", "dev", "-W", "error", "-c", FORKS, str(tmp_path / "index")]
    done = subprocess.run(words, capture_output=True, check=False, env=env, timeout=900)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr.decode()


def words_of(texts):
    return sign(texts)


def test_a_pool_gives_signatures_back():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(words_of, [TEXTS, TEXTS[:2]])
    assert np.array_equal(found[0].signatures, sign().signatures) and found[0].ids == [0, 1, 2, 3]
    assert np.array_equal(found[1].signatures, found[0].signatures[:2])


def test_results_are_copied_and_pickled(tmp_path):
    for make in (copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))):
        s, r = make(sign(bands=4, rows=4)), make(dedup(pairs=True))  # the first ones are gone
        assert np.array_equal(s.band_keys, sign(bands=4, rows=4).band_keys) and s.ids == sign().ids and len(s) == 4
        assert r.kept.tolist() == [True, False, True, True] and r.groups.num_rows == r.removed.num_rows == r.pairs.num_rows == 1
        s.save(tmp_path / "s")
        loaded = make(bandmill.load(tmp_path / "s"))
        assert np.array_equal(loaded.signatures, s.signatures)
        (tmp_path / "s").rename(tmp_path / "gone")
        for file in (tmp_path / "gone").iterdir():
            file.unlink()
        (tmp_path / "gone").rmdir()
    with bandmill.Index.build(tmp_path / "index", TEXTS, device="cpu", threshold=0.5) as index:
        first, data = index.query(TEXTS[2:3]), pickle.dumps(index)
    with pickle.loads(data) as again:
        assert again.query(TEXTS[2:3]).equals(first) and "index" in repr(again)
    with pytest.raises(bandmill.Error, match="closed"):
        pickle.loads(pickle.dumps(index)).query(TEXTS)
    with pytest.raises(bandmill.Error) as e:
        sign(seed=-1)
    again = pickle.loads(pickle.dumps(e.value))
    assert (str(again), again.status, again.field) == (str(e.value), "usage", "seed")


@pytest.mark.parametrize("saved", [False, True])
def test_signatures_are_documents_too(saved, tmp_path):
    """As the directories that the program writes, with or without the texts; whatever these were called."""
    s = sign(pa.table({"body": TEXTS, "id": ["a", "b", "c", "d"]}), text="body")
    if saved:
        s.save(tmp_path / "s")
        s = bandmill.load(tmp_path / "s")
    r = dedup(s)
    assert r.take(TEXTS) == [TEXTS[0], *TEXTS[2:]] and r.removed["id"].to_pylist() == ["b"]
    assert bandmill.pairs(s, device="cpu").to_pylist() == [{"id_a": "a", "id_b": "b", "jaccard": 1.0}]
    assert dedup(str(s.path)).groups.equals(r.groups)


def test_rows_are_taken_of_the_same_data():
    table = pa.table({"text": TEXTS})
    r = dedup(table.to_reader())
    assert r.take(table)["text"].to_pylist() == [TEXTS[0], *TEXTS[2:]]
    for other in (TEXTS[:3], table.slice(1), np.array(TEXTS[:2], dtype=object), table.to_reader()):
        with pytest.raises(bandmill.Error, match=r"the same data|gives its rows once"):
            r.take(other)


@pytest.mark.parametrize(
    ("name", "value"),
    [("perms", 1.5), ("perms", 0), ("perms", True), ("seed", 1.7), ("threads", 0.5), ("threads", -1), ("bands", 0)]
    + [("memory", v) for v in (-5, 1.5, 1 << 70, "1.5G", True)]
    + [("shingle", "word:²"), ("shingle", "word: 3"), ("normalize", 5), ("max_doc_bytes", -3), ("progress", 5), ("text", [])],
)
def test_numbers_are_not_rounded(name, value):
    with pytest.raises(bandmill.Error) as e:
        bandmill.sign(pa.table({"text": TEXTS}), **{"device": "cpu", name: value})
    assert e.value.status == "usage" and (name in str(e.value) or name == "text")


def test_other_wrong_values(tmp_path):
    for call in (
        lambda: bandmill.pairs(TEXTS, sample=-1),
        lambda: bandmill.pairs(TEXTS, sample=1.5),
        lambda: dedup(threshold="high"),
        lambda: bandmill.tune(ceiling=0.1),
        lambda: bandmill.tune(perms="x"),
        lambda: bandmill.hash_shingles(TEXTS, threads=-1),
        lambda: bandmill.hash_shingles("texts.jsonl"),
        lambda: dedup(x for x in TEXTS),
    ):
        with pytest.raises(bandmill.Error) as e:
            call()
        assert e.value.status == "usage"
    for data, text in (([1, 2], "text"), (pa.table({"n": [1]}), "n"), (pa.table({"n": ["a"]}), "text")):
        with pytest.raises(bandmill.Error) as e:
            bandmill.hash_shingles(data, text)
        assert e.value.status == "input"
    with bandmill.Index.build(tmp_path / "index", pa.table({"id": [1, 2, 3, 4], "text": TEXTS}), device="cpu") as index:
        for wrong in ({"top": -1}, {"top": 1.5}, {"threshold": "x"}, {"threshold": 2}):
            with pytest.raises(bandmill.Error):
                index.query(TEXTS, **wrong)
        with pytest.raises(bandmill.Error, match="item 0 is of type int"):
            index.query([1])
        with pytest.raises(bandmill.Error, match="float"):
            index.remove([1.0])
        assert index.remove([]) == 0 and index.remove([1, "2", b"3"]) == 3 and len(index) == 1


def test_columns_alone_are_cut_as_texts_are():
    offsets, hashes = bandmill.hash_shingles(TEXTS)
    array = pa.array(TEXTS)
    views = array.cast(pa.string_view())
    for data in (array, pa.chunked_array([array]), Alone(array), Alone(views), array.dictionary_encode()):
        found = bandmill.hash_shingles(data)
        assert np.array_equal(found[0], offsets) and np.array_equal(found[1], hashes)


class Alone:
    """A column of somebody else's."""

    def __init__(self, array):
        self.column = pa.chunked_array([array])

    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_progress_function_that_raises_ends_the_job(error):
    def show(*arguments):
        raise error

    with pytest.raises(error):
        dedup(progress=show)


def test_columns_without_a_value():
    """As they come where nobody says their type: of no rows, or of nulls alone."""
    for data, n in ((pa.table({"text": []}), 0), (pa.table({"text": [None, None], "id": [None, None]}), 2), (pa.nulls(3), 3)):
        s = sign(data)
        assert s.ids == list(range(n)) and not s.n_shingles.any()
        assert len(dedup(data).take(data)) == n
        assert bandmill.hash_shingles(data)[0].tolist() == [0] * (n + 1)


def test_a_query_leaves_no_directory(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with bandmill.Index.build(tmp_path / "index", TEXTS, device="cpu") as index:
        (tmp_path / "q.jsonl").write_text('{"text":"ten eleven twelve"}\n')
        for _ in range(2):
            assert index.query(tmp_path / "q.jsonl").num_rows == 1
        with pytest.raises(bandmill.Error):
            index.query(tmp_path / "none.jsonl")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index", "q.jsonl"]


def test_datasets_of_hugging_face(monkeypatch):
    """As they are, in another order, of another format, as a stream, one column of them, and none at all."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    talk = [[{"role": "user", "content": text}] for text in TEXTS]
    whole = datasets.Dataset.from_dict({"id": ["a", "b", "c", "d"], "text": TEXTS, "talk": talk})
    other = whole.select([3, 1, 0])
    for data, ids in ((whole, "acd"), (whole.with_format("numpy"), "acd"), (other, "db")):
        r = dedup(data, id="id")
        assert list(r.take(data)["id"]) == list(ids) and isinstance(r.take(data), datasets.Dataset)
        assert np.array_equal(sign(data).signatures, sign(list(data["text"])).signatures)
        assert np.array_equal(bandmill.hash_shingles(data)[1], bandmill.hash_shingles(list(data["text"]))[1])
    assert np.array_equal(sign(whole, text="talk[].content").signatures, sign().signatures)
    assert dedup(whole["text"]).take(whole["text"]) == [TEXTS[0], *TEXTS[2:]]
    r = dedup(whole.to_iterable_dataset(), id="id")
    assert r.removed["id"].to_pylist() == ["b"]
    with pytest.raises(bandmill.Error, match="gives its rows once"):
        r.take(whole.to_iterable_dataset())
    assert len(sign(whole.select([]))) == 0
    with pytest.raises(bandmill.Error, match="data of type DatasetDict"):
        sign(datasets.DatasetDict({"train": whole}))
