# SPDX-License-Identifier: Apache-2.0
"""Kept rows are taken of the rows that were looked at, whatever order they have come to have, and of no others."""

import os
import pathlib
import pickle
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bandmill

random.seed(7)
WORDS = [f"w{i}" for i in range(400)]
TEXTS = [" ".join(random.choices(WORDS, k=12)) for _ in range(60)]
TEXTS += TEXTS[:20]  # copies of the first twenty
IDS = [f"d{i}" for i in range(len(TEXTS))]
N = len(TEXTS)
SHUFFLED = random.sample(range(N), N)
TABLE = pa.table({"id": IDS, "text": TEXTS, "n": list(range(N))})


def dedup(data=None, **options):
    return bandmill.dedup(data, device="cpu", **options)


def pandas(table):
    return pytest.importorskip("pandas") and table.to_pandas()


def polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def duckdb(kept_alive):
    return pytest.importorskip("duckdb").sql("select * from kept_alive")


def dataset(table):
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset(table)


def chunks(table):
    return pa.concat_tables([table.slice(i, 7) for i in range(0, len(table), 7)])


def recast(change):
    return lambda t: t.set_column(t.column_names.index("text"), "text", change(t["text"]))


TABLES = {
    "pyarrow": lambda t: t,
    "chunks": chunks,
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "views": recast(lambda c: c.cast(pa.string_view())),
    "dictionary": recast(lambda c: c.dictionary_encode()),
    "large": recast(lambda c: c.cast(pa.large_string())),
    "pandas": pandas,
    "polars": polars,
    "duckdb": duckdb,
    "datasets": dataset,
}
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "bytes": lambda texts: [t.encode() for t in texts],
    "objects": lambda texts: np.array(texts, dtype=object),
    "array": np.array,
    "column": pa.array,
    "chunked": lambda texts: pa.chunked_array([texts[:9], texts[9:]]),
}


def numbers(table):
    """The column n of whatever it is."""
    column = table["n"] if not hasattr(table, "fetchall") else pa.table(table)["n"]
    return [int(i) for i in (column.to_pylist() if hasattr(column, "to_pylist") else list(column))]


def texts_of(data):
    found = data.to_pylist() if hasattr(data, "to_pylist") else list(data)
    return [t.decode() if isinstance(t, bytes) else str(t) for t in found]


@pytest.mark.parametrize("form", TABLES)
def test_rows_with_ids_are_found_in_any_order(form):
    r = dedup(TABLES[form](TABLE), id="id")
    assert numbers(r.take(TABLES[form](TABLE))) == list(range(60))
    taken = r.take(TABLES[form](TABLE.take(SHUFFLED)))
    assert numbers(taken) == [i for i in SHUFFLED if i < 60]
    assert numbers(r.take(TABLE.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]  # another type than was looked at


@pytest.mark.parametrize("form", TABLES)
def test_rows_without_ids_are_those_in_their_order(form):
    table = TABLE.select(["text", "n"])
    r = dedup(TABLES[form](table))
    assert numbers(r.take(TABLES[form](table))) == list(range(60)) and numbers(r.take(table)) == list(range(60))
    for other in (table.take(SHUFFLED), table.slice(1), table.set_column(0, "text", pa.array([*TEXTS[:-1], "another"]))):
        with pytest.raises(bandmill.Error, match="the same data"):
            r.take(TABLES[form](other))


@pytest.mark.parametrize("form", COLUMNS)
def test_texts_are_those_in_their_order(form):
    r = dedup(COLUMNS[form](TEXTS))
    assert texts_of(r.take(COLUMNS[form](TEXTS))) == TEXTS[:60]
    assert r.take(TEXTS) == TEXTS[:60]
    for other in ([TEXTS[i] for i in SHUFFLED], TEXTS[1:], [*TEXTS[:-1], TEXTS[0]], [*TEXTS[:5], TEXTS[5] + " ", *TEXTS[6:]]):
        with pytest.raises(bandmill.Error, match="the same data"):
            r.take(COLUMNS[form](other))


def test_what_is_sorted_loses_no_row():
    """As data frames are sorted: both copies would be kept, and a row that has none would go."""
    frame = pandas(TABLE).sort_values("text")
    r = dedup(pandas(TABLE), id="id")
    assert sorted(r.take(frame)["text"]) == sorted(TEXTS[:60]) and r.take(frame).index.tolist() == [
        i for i in frame.index if i < 60
    ]
    with pytest.raises(bandmill.Error, match="in another order"):
        dedup(pandas(TABLE.select(["text"]))).take(frame)


def test_ids_that_are_others_or_of_several():
    r = dedup(TABLE, id="id")
    others = TABLE.set_column(0, "id", pa.array([*IDS[:-1], "other"]))
    with pytest.raises(bandmill.Error, match="row 79 has an id that dedup did not read"):
        r.take(others)
    with pytest.raises(bandmill.Error, match="row 0 has an id"):
        r.take(others.take(list(reversed(range(N)))))
    with pytest.raises(bandmill.Error, match="several have one id"):
        r.take(TABLE.take([1, 1, *range(2, N)]))
    twice = TABLE.set_column(0, "id", pa.array(["d1", *IDS[1:]]))
    r = dedup(twice, id="id", duplicate_ids="number")
    assert numbers(r.take(twice)) == list(range(60))
    with pytest.raises(bandmill.Error, match="several have one id"):
        r.take(twice.take(SHUFFLED))
    whole = TABLE.set_column(0, "id", pa.array(range(1000, 1000 + N)))
    assert numbers(dedup(whole, id="id").take(whole.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]
    as_text = whole.set_column(0, "id", whole["id"].cast(pa.string()))
    assert numbers(dedup(whole, id="id").take(as_text.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]


def test_rows_of_which_some_were_skipped():
    nulls = TABLE.set_column(0, "id", pa.array([None, *IDS[1:]]))
    r = dedup(nulls, id="id", on_error="skip")
    kept = set(numbers(r.take(nulls)))
    assert 0 not in kept and 60 in kept
    assert numbers(r.take(nulls.take(SHUFFLED))) == [i for i in SHUFFLED if i in kept]


def test_several_columns_and_columns_inside():
    table = pa.table({"doc": pa.array([{"a": t, "b": "x"} for t in TEXTS]), "n": list(range(N))})
    r = dedup(table, text=["doc.a", "doc.b"])
    assert numbers(r.take(table)) == list(range(60))
    with pytest.raises(bandmill.Error, match="the same data"):
        r.take(table.take(SHUFFLED))
    with pytest.raises(bandmill.Error, match=r"no column 'doc\.a'"):
        r.take(TABLE)


def test_a_stream_that_is_read_once():
    r = dedup(TABLE.to_reader(max_chunksize=9), id="id")
    assert numbers(r.take(TABLE.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]


def test_a_parquet_file_by_its_path(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=11)
    for data in (path, str(path)):
        r = dedup(data)
        assert numbers(r.take(path)) == numbers(r.take(str(path))) == numbers(r.take(TABLE)) == list(range(60))
        assert numbers(r.take(TABLE.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]
    assert numbers(dedup(paths=[path]).take(path)) == list(range(60))
    assert dedup(TABLE, id="id").take(path).num_rows == 60
    pq.write_table(TABLE.slice(1), path)
    for other in (path, TABLE):
        with pytest.raises(bandmill.Error, match=r"dedup (did not )?read"):
            r.take(other)


@pytest.mark.parametrize("saved", [False, True])
def test_rows_of_signatures(saved, tmp_path):
    s = bandmill.sign(TABLE, id="id", shingle="word:3", device="cpu")
    bare = bandmill.sign(TEXTS, shingle="word:3", device="cpu")
    if saved:
        s, bare = s.save(tmp_path / "s"), bare.save(tmp_path / "bare")
    r = dedup(s)
    assert numbers(r.take(TABLE.take(SHUFFLED))) == [i for i in SHUFFLED if i < 60]
    assert r.take(TEXTS) == TEXTS[:60] == dedup(bare).take(TEXTS)
    for found in (r, dedup(bare)):
        with pytest.raises(bandmill.Error, match="the same data"):
            found.take([TEXTS[i] for i in SHUFFLED])
    with pytest.raises(bandmill.Error, match="has an id that dedup did not read"):
        r.take(TABLE.set_column(0, "id", pa.array([*IDS[:-1], "other"])))


def test_what_gives_no_rows_is_refused():
    r = dedup(["a b c", "d e f", "g h i", "j k l"])
    with pytest.raises(bandmill.Error, match="nothing: rows are taken of"):
        r.take("nothing")
    for wrong in ("abcd", b"abcd", None, 4, 4.5, object(), iter("abcd"), {"text": 1}, pathlib.Path("abcd")):
        with pytest.raises(bandmill.Error):
            r.take(wrong)
    for wrong in (None, 4, 4.5, b"abcd", object(), iter("abcd"), [1, 2], [None, 3.5], [pathlib.Path("a"), "b"], np.arange(3)):
        for call in (bandmill.sign, dedup, bandmill.pairs, bandmill.hash_shingles):
            with pytest.raises(bandmill.Error):
                call(wrong)
    assert bandmill.sign([None, "a b"], device="cpu").n_shingles.tolist() == [0, 1]


class Place(os.PathLike):
    """A path of somebody else's."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)


def test_paths_are_read_and_texts_that_are_paths_are_warned_of(tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file, texts in zip(files, (TEXTS[:40], TEXTS[40:])):
        file.write_text("".join(f'{{"text":"{t}"}}\n' for t in texts))
    names = [str(f) for f in files]
    wanted = bandmill.sign(TEXTS, device="cpu").signatures
    for given in (
        {"data": files},
        {"data": [Place(f) for f in files]},
        {"paths": names},
        {"paths": files},
        {"paths": tmp_path},
    ):
        assert np.array_equal(bandmill.sign(device="cpu", **given).signatures, wanted)
    assert len(bandmill.sign(Place(files[0]), device="cpu")) == len(bandmill.sign(names[0], device="cpu")) == 40
    assert dedup(paths=names).report["counts"]["removed"] == bandmill.pairs(paths=names, device="cpu").num_rows == 20
    assert bandmill.tune(paths=names)["samples"]
    with pytest.warns(UserWarning, match="paths= reads files") as told:
        assert len(bandmill.sign(names, device="cpu")) == 2
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="paths= reads files"):
        bandmill.hash_shingles(names)
    with bandmill.Index.build(tmp_path / "index", paths=names[:1], device="cpu") as index:
        with pytest.warns(UserWarning, match="paths= reads files"):
            index.query(names)
        index.add(paths=names[1])
        assert len(index) == N and index.query(paths=names, top=1).num_rows == N
    with pytest.raises(bandmill.Error, match="data and paths"):
        bandmill.sign(TEXTS, paths=names)
    for wrong in ([], [1], 5, {"a": 1}):
        with pytest.raises(bandmill.Error, match="a path, or a list of them"):
            bandmill.sign(paths=wrong)
    bandmill.sign([*names, "a text"], device="cpu")  # not all are


def same(a, b):
    """Two results, whose values are read."""
    if isinstance(a, bandmill.Signatures):
        return (
            a.manifest["provenance"] == b.manifest["provenance"]
            and a.ids == b.ids
            and np.array_equal(a.signatures, b.signatures)
            and np.array_equal(a.n_shingles, b.n_shingles)
            and np.array_equal(a.band_keys, b.band_keys)
        )
    return (
        a.report == b.report
        and np.array_equal(a.kept, b.kept)
        and all(getattr(a, name).equals(getattr(b, name)) for name in ("groups", "removed", "pairs"))
        and b.take(TABLE).equals(a.take(TABLE))
    )


@pytest.mark.parametrize("kind", ["signatures", "dedup", "dedup of signatures", "dedup with a place"])
def test_a_pickle_with_a_bit_that_changed_is_refused_or_the_same(kind, tmp_path):
    signed = bandmill.sign(TABLE, id="id", bands=4, rows=4, perms=16, device="cpu")
    made = {
        "signatures": lambda: signed,
        "dedup": lambda: dedup(TABLE, id="id", pairs=True),
        "dedup of signatures": lambda: dedup(signed, pairs=True),
        "dedup with a place": lambda: dedup(TABLE, id="id", pairs=True, output=tmp_path / "out"),
    }[kind]()
    data = pickle.dumps(made)
    assert same(made, pickle.loads(data))
    draw = random.Random(3)
    refused = 0
    for place in [*draw.sample(range(8 * len(data)), 150), *range(0, 8 * 40, 8), *range(8 * len(data) - 200, 8 * len(data))]:
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        try:
            found = pickle.loads(bytes(flipped))
        except MemoryError:
            continue
        except Exception:
            refused += 1
            continue
        if not isinstance(found, type(made).__mro__[-2]):  # not what was pickled, to be seen at once
            refused += 1
            continue
        assert same(made, found), place
    assert refused > 100


def test_a_pickle_writes_no_file_elsewhere(tmp_path):
    function, (files, said, digest) = bandmill.sign(TEXTS, device="cpu").__reduce__()
    assert len(function(files, said, digest)) == N
    outside = tmp_path / "outside"
    for name in (
        str(outside),
        "../outside",
        "../../outside",
        "kept/../../outside",
        "kept.x/../outside",
        "other",
        "",
        ".",
        "..",
    ):
        more = {**files, name: b"x"}
        from bandmill._workplace import digest_of_parcel

        with pytest.raises(bandmill.Error, match="damaged"):
            function(more, said, digest_of_parcel(more, said))
    assert not outside.exists()
    for wrong in (
        (),
        (files,),
        (None, said, digest),
        (files, 5, digest),
        ({"ids.txt": "x"}, said, digest),
        (files, said, (0, 0)),
    ):
        with pytest.raises(bandmill.Error, match="damaged") as e:
            function(*wrong)
        assert e.value.status == "format"


class Counted:
    """A table that counts how often it is read."""

    def __init__(self, table):
        self.table, self.times = table, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.times += 1
        return self.table.__arrow_c_stream__(requested_schema)


def test_a_table_is_read_once():
    for call in (bandmill.sign, bandmill.pairs, bandmill.dedup):
        data = Counted(TABLE)
        found = call(data, id="id", device="cpu")
        assert data.times == 1, call
    assert found.take(data).num_rows == 60 and data.times == 2


@pytest.mark.parametrize("form", ["pyarrow", "chunks", "large", "views", "pandas", "polars"])
def test_a_table_is_read_where_it_lies(form):
    """What pyarrow allocates meanwhile is less than a tenth of the texts. (pandas and polars lend their own memory.)"""
    table = pa.table({"id": [str(i) for i in range(3000)], "text": [" ".join(WORDS[i % 97 :][:200]) for i in range(3000)]})
    data, texts = TABLES[form](table), table["text"].nbytes
    if form == "pandas":
        data = data.astype("string[pyarrow]")  # an older pyarrow makes objects of texts, which are copied
    before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    try:
        bandmill.sign(data, id="id", device="cpu")
        assert counted.max_memory() < texts // 10
        dedup(data, id="id")
    finally:
        pa.set_memory_pool(before)
    assert counted.max_memory() < texts // 10 and texts > 1 << 21


def test_arrow_copies_texts_that_are_objects_once(monkeypatch):
    pd = pytest.importorskip("pandas")
    given, stream = [], pd.DataFrame.__arrow_c_stream__

    def counted(frame, *more):
        given.append(int(frame["text"].str.len().sum()))
        return stream(frame, *more)

    monkeypatch.setattr(pd.DataFrame, "__arrow_c_stream__", counted)
    frame = pd.DataFrame({"id": IDS, "text": pd.Series(TEXTS, dtype=object), "n": range(N)})
    r = dedup(frame)
    assert r.take(frame.iloc[SHUFFLED])["n"].to_list() == [i for i in SHUFFLED if i < 60]
    assert given == [sum(map(len, TEXTS)), 0]


def test_an_arrow_table_is_not_copied():
    table = pa.table({"id": IDS, "text": [text * 300 for text in TEXTS]})
    before = pa.total_allocated_bytes()
    r = dedup(table, verify="none")
    assert pa.total_allocated_bytes() - before < table.nbytes / 4
    kept = r.take(table)
    assert pa.total_allocated_bytes() - before < kept.nbytes + table.nbytes / 4
