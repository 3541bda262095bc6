# SPDX-License-Identifier: Apache-2.0
"""One text in every form in which people have it: what is missing, and what is no UTF-8, is treated alike in all of them."""

import contextlib
import io
import uuid

import numpy as np
import pyarrow as pa
import pytest

import bandmill

pd = pytest.importorskip("pandas")
HALF = "\ud83d"  # of an emoji, as json.loads gives it
BAD = f"x {HALF} one two three four five"
REPAIRED = "x \ufffd one two three four five"
HOW = {"device": "cpu", "shingle": "char:3"}


def objects(values):
    return pd.Series(values, dtype=object)


def frame(values):
    return pd.DataFrame({"text": objects(values)})


def array(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def polars(values):
    return pytest.importorskip("polars").DataFrame({"text": values})


# What is handed in, what the texts are, how many of them were repaired.
FORMS = {
    "list, None": (lambda: ["one two", None], ["one two", ""], 0),
    "list, nan": (lambda: ["one two", float("nan")], ["one two", ""], 0),
    "list, numpy's nan": (lambda: [np.float32("nan"), "one two", np.float64("nan")], ["", "one two", ""], 0),
    "list, pd.NA": (lambda: ["one two", pd.NA], ["one two", ""], 0),
    "list, pd.NaT": (lambda: ["one two", pd.NaT], ["one two", ""], 0),
    "list, masked": (lambda: list(np.ma.array(["one two", "b"], mask=[0, 1])), ["one two", ""], 0),
    "list of a column": (lambda: pd.DataFrame({"text": ["one two", None]})["text"].tolist(), ["one two", ""], 0),
    "tuple, all": (
        lambda: ("one two", b"three", None, float("nan"), pd.NA, BAD),
        ["one two", "three", "", "", "", REPAIRED],
        1,
    ),
    "list, surrogate": (lambda: [BAD, "b"], [REPAIRED, "b"], 1),
    "list, surrogates": (lambda: [f"{HALF}{HALF} and \udcff", "b"], ["\ufffd\ufffd and \ufffd", "b"], 3),
    "list, only missing": (lambda: [None, float("nan")], ["", ""], 0),
    "array, nan": (lambda: array(["one two", np.nan]), ["one two", ""], 0),
    "array, pd.NA": (lambda: array(["one two", pd.NA]), ["one two", ""], 0),
    "array, surrogate": (lambda: array([BAD, "b"]), [REPAIRED, "b"], 1),
    "array of U": (lambda: np.array(["one two", "b"]), ["one two", "b"], 0),
    "frame, nan": (lambda: frame(["one two", np.nan]), ["one two", ""], 0),
    "frame, None": (lambda: frame([None, "one two"]), ["", "one two"], 0),
    "frame, pd.NA": (lambda: frame(["one two", pd.NA]), ["one two", ""], 0),
    "frame, surrogate": (lambda: frame([BAD, "b"]), [REPAIRED, "b"], 1),
    "frame, surrogate and nan": (lambda: frame([np.nan, BAD, pd.NA, None, b"b"]), ["", REPAIRED, "", "", "b"], 1),
    "frame, surrogate elsewhere": (lambda: frame(["one two"]).assign(more=objects([HALF]), n=[1]), ["one two"], 0),
    "frame of pandas' strings": (lambda: pd.DataFrame({"text": pd.array(["one two", pd.NA], "string")}), ["one two", ""], 0),
    "column, nan": (lambda: frame(["one two", np.nan])["text"], ["one two", ""], 0),
    "column, surrogate": (lambda: objects([BAD, None]), [REPAIRED, ""], 1),
    "polars, null": (lambda: polars(["one two", None]), ["one two", ""], 0),
    "pyarrow, null": (lambda: pa.table({"text": ["one two", None]}), ["one two", ""], 0),
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_alike_in_every_form(form, tmp_path):
    make, texts, repaired = FORMS[form]
    signed, plain = bandmill.sign(make(), **HOW), bandmill.sign(texts, **HOW)
    assert np.array_equal(signed.signatures, plain.signatures)
    assert (signed.manifest["counts"]["invalid_utf8"], plain.manifest["counts"]["invalid_utf8"]) == (repaired, 0)
    report = bandmill.dedup(make(), **HOW).report["counts"]
    assert (report["documents"], report["empty"]) == (len(texts), texts.count(""))
    with contextlib.nullcontext() if not repaired else pytest.raises(bandmill.Error, match="UTF-8"):
        bandmill.sign(make(), invalid_utf8="error", **HOW)
    if not isinstance(make(), (pd.Series, np.ndarray)):
        with bandmill.Index.build(tmp_path / "ix", texts, **HOW) as index:
            assert index.query(make()).equals(index.query(texts))
    cut, same = (bandmill.hash_shingles(data, shingle="char:3") for data in (make(), texts))
    assert np.array_equal(cut[0], same[0]) and np.array_equal(cut[1], same[1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: bandmill.sign(["a", 1.5]),
        lambda: bandmill.sign([{"text": BAD}]),
        lambda: bandmill.sign(frame([BAD, 2])),
        lambda: bandmill.sign(frame([BAD]), text=HALF),
        lambda: bandmill.dedup(f"{HALF}.jsonl"),
        lambda: bandmill.sign(["a"], normalize=HALF),
        lambda: bandmill.Index.open(f"no{HALF}where"),
        lambda: bandmill.sign(pa.table({"x": ["a"]}), text=BAD),
    ],
)
def test_every_message_can_be_printed(call):
    with pytest.raises(bandmill.Error) as e:
        call()
    for said in (str(e.value), repr(e.value)):
        print(said, file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), flush=True)
    assert len(str(e.value)) < 500


def test_ids_that_were_not_asked_for_are_none():
    texts = ["one two three", "one two three", "four five six"]
    for ids in ([1.5, 2.5, 3.5], [True, False, True], [[1], [2], [3]]):
        removed = bandmill.dedup(pa.table({"id": ids, "text": texts}), device="cpu").removed
        assert removed.column("id").to_pylist() == bandmill.dedup(texts, device="cpu").removed.column("id").to_pylist()
    names = [uuid.UUID(int=i) for i in range(3)]
    data = pd.DataFrame({"id": objects(names), "text": texts})
    try:
        pa.array(names)
    except pa.ArrowInvalid:  # an older pyarrow has no type for them, and the message says what helps
        with pytest.raises(bandmill.Error, match=r"astype\(str\)"):
            bandmill.dedup(data, device="cpu")
        data = data.astype(str)
    found = bandmill.dedup(data, device="cpu").removed
    assert found.column("id").to_pylist() == [str(names[1])]
