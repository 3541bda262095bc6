# SPDX-License-Identifier: Apache-2.0
"""Files of tables through pyarrow: by the package, and by the command, which is the program."""

import functools
import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from bandmill._native import ffi, lib

import bandmill
from bandmill import _ipc, _tables

PACKAGE = pathlib.Path(bandmill.__file__).parents[1]


def command(*arguments, **options):
    """The command, as its entry point starts it."""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "BANDMILL_PROBE": "", **options.pop("env", {})}
    words = [sys.executable, "-m", "bandmill", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, check=False, env=env, **options)


def write_ipc(table, path, stream=False):
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)


@pytest.fixture(scope="module")
def wide(table):
    """With columns that nobody asks for, metadata, and names that dots lead to."""
    n = len(table)
    more = {
        "in": pa.array([{"text": t, "more": i} for i, t in enumerate(table["text"].to_pylist())]),
        "kind": pa.array(["a", None, "b", "a"] * (n // 4)).dictionary_encode(),
        "list": pa.array([[i, None] if i % 3 else None for i in range(n)]),
        "when": pa.array(range(n), pa.timestamp("ms")),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    return table.replace_schema_metadata({"made by": "a test"})


@pytest.fixture(scope="module")
def files(wide, tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    pq.write_table(wide, place / "a.parquet", compression={"id": "zstd", "text": "gzip"}, row_group_size=90)
    write_ipc(wide, place / "a.arrow")
    write_ipc(wide, place / "a.arrows", stream=True)
    return {p.name: p for p in place.iterdir()}


@pytest.fixture(scope="module")
def deduped(files, tmp_path_factory):
    """The directory that the command's `dedup` makes of a file: once for all tests."""

    @functools.cache
    def directory(name):
        out = tmp_path_factory.mktemp("deduped") / "out"
        done = command("dedup", files[name], "-o", out, "--device", "cpu", "-q")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return out

    return directory


def test_shares_are_cut_at_row_groups(files):
    path = str(files["a.parquet"])
    whole = bandmill.sign(path, id="id", device="cpu")
    shares = [bandmill.sign(path, id="id", device="cpu", shard=f"{i}/3") for i in (1, 2, 3)]
    assert all(len(s.ids) > 0 for s in shares)
    assert [i for s in shares for i in s.ids] == list(whole.ids)
    assert np.array_equal(np.concatenate([s.signatures for s in shares]), whole.signatures)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_the_package_reads_files(name, files, table):
    whole = bandmill.sign(table, id="id", device="cpu")
    for text in ("text", "in.text"):
        s = bandmill.sign(files[name], text=text, device="cpu")
        assert np.array_equal(s.signatures, whole.signatures) and s.ids == whole.ids


def test_several_files(files, table):
    halves = bandmill.sign([files["a.parquet"]] * 2, device="cpu", duplicate_ids="number")
    whole = bandmill.sign(table, device="cpu").signatures
    assert np.array_equal(halves.signatures, np.concatenate([whole, whole]))


def test_kept_rows_of_one_file(files, table):
    by_file, by_table = (bandmill.dedup(d, id="id", device="cpu") for d in (files["a.parquet"], table))
    assert np.array_equal(by_file.kept, by_table.kept) and not by_file.kept.all()
    pairs = [bandmill.pairs(d, id="id", weights=w, device="cpu", threshold=0.5) for d, w in ((files["a.parquet"], "tfidf"),)]
    assert pairs[0].num_rows > 0  # read twice


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_the_command_keeps_rows(name, files, wide, deduped):
    out = deduped(name)
    removed = [line.split("\t")[0] for line in (out / "removed.tsv").read_text().split("\n")[1:-1]]
    rest = wide.filter(pa.compute.invert(pa.compute.is_in(wide["id"], pa.array(removed))))
    assert removed
    if name != "a.parquet":
        kept = pa.ipc.open_file(out / f"kept.{name.split('.')[1]}").read_all()
        assert kept.equals(rest, check_metadata=True)
        return
    ours, theirs = pq.ParquetFile(out / "kept.parquet"), pq.ParquetFile(files[name])
    assert ours.read().equals(rest.combine_chunks().cast(ours.schema_arrow)) and ours.schema.equals(theirs.schema)
    assert ours.schema_arrow.equals(theirs.schema_arrow, check_metadata=True)
    assert ours.num_row_groups == theirs.num_row_groups
    for i in range(theirs.metadata.num_columns):
        a, b = (f.metadata.row_group(0).column(i) for f in (ours, theirs))
        assert a.compression == b.compression and set(a.encodings) == set(b.encodings), a.path_in_schema


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_the_command_writes_each_row_with_its_group(name, wide, deduped, tmp_path):
    done = command("filter", deduped(name), "--annotate", "-o", tmp_path / "all", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    path = tmp_path / "all" / f"annotated.{name.split('.')[1]}"
    got = pq.read_table(path) if name == "a.parquet" else pa.ipc.open_file(path).read_all()
    removed = {line.split("\t")[0] for line in (deduped(name) / "removed.tsv").read_text().split("\n")[1:-1]}
    labels = got["bandmill"].to_pylist()
    assert [not label["kept"] for label in labels] == [i in removed for i in wide["id"].to_pylist()] and removed
    assert all((label["group"] is None) == (label["jaccard"] is None) for label in labels)
    assert got.drop_columns(["bandmill"]).column_names == wide.column_names


@pytest.mark.parametrize("store", [True, False])
def test_spark_is_told_of_the_column(store, files, wide, tmp_path):
    """Spark reads the columns that its own word in the metadata names. One that is not as Spark writes it is dropped."""
    key = b"org.apache.spark.sql.parquet.row.metadata"
    fields = [("group", "long", True), ("size", "long", True), ("kept", "boolean", False), ("jaccard", "double", True)]
    fields = [{"name": name, "type": kind, "nullable": null, "metadata": {}} for name, kind, null in fields]
    label = {"name": "bandmill", "type": {"type": "struct", "fields": fields}, "nullable": False, "metadata": {}}
    column = {"name": "text", "type": "string", "nullable": True, "metadata": {"comment": "]}", "n": 1.5}}
    good = [json.dumps({"type": "struct", "fields": own}, separators=(",", ":")) for own in ([], [column], [column, column])]
    bad = ["", "StructType(List())", good[1] + " ", good[1][:-1] + ',"more":[]}', '{"type":"struct","fields":[{]}', "\udcff"]
    path = tmp_path / "spark.parquet"
    for word in good + bad:
        told = wide.replace_schema_metadata({key: word.encode("utf-8", "surrogateescape")})
        with pq.ParquetWriter(path, told.schema, store_schema=store) as writer:
            writer.write_table(told)
            writer.add_key_value_metadata({key: told.schema.metadata[key], b"ours": b"kept"})
        status, written = keep(path, len(wide))
        assert status == lib.BM_OK
        found = pq.ParquetFile(written)
        own, within = found.metadata.metadata, found.schema_arrow.metadata
        wanted = {**json.loads(word), "fields": json.loads(word)["fields"] + [label]} if word in good else None
        assert own[b"ours"] == b"kept" and json.loads(own.get(key, "null")) == wanted, word
        assert not store or within.get(key) == own.get(key)


def keep(file, n):
    """All rows of a table, each with a label: as the library asks for it. Its status, and what was written or its words."""
    labels = [
        {"group": i % 3, "size": i % 3 * 7, "millionths": [2**32 - 1, 1000000, 875000][i % 3], "kept": i & 1} for i in range(n)
    ]
    parts, words = [], ffi.new("bm_table_words *")
    write = ffi.callback("bm_write_fn", lambda ctx, data, size: parts.append(bytes(ffi.buffer(data, size))) or 0)
    path, bits, labels = (
        ffi.new("char[]", bytes(file)),
        ffi.new("uint8_t[]", b"\xff" * -(-n // 8)),
        ffi.new("bm_table_label[]", labels),
    )
    kept = {"path": path, "parquet": file.suffix == ".parquet", "rows": bits, "n_rows": n, "write": write}
    kept = ffi.new("bm_table_kept *", {**kept, "labels": labels, "n_labels": n})
    status = _tables.bm_py_table_keep(kept, words)
    return status, pa.BufferReader(b"".join(parts)) if status == lib.BM_OK else ffi.string(words.text)


def test_labels(files, wide):
    """What is kept may have a column more."""
    n = len(wide)
    assert lib.BM_TABLE_MODULE_ABI == 9  # what bandmill/_tables.py was written for
    for name in ("a.parquet", "a.arrow"):
        status, data = keep(files[name], n)
        assert status == lib.BM_OK, data
        table = pq.read_table(data) if name == "a.parquet" else pa.ipc.open_file(data).read_all()
        assert table.drop(["bandmill"]).equals(wide)
        rows = table["bandmill"].to_pylist()
        assert rows[:3] == [
            {"group": None, "size": None, "kept": False, "jaccard": None},
            {"group": 1, "size": 7, "kept": True, "jaccard": 1.0},
            {"group": 2, "size": 14, "kept": False, "jaccard": 0.875},
        ]
        assert len(rows) == n and rows[399] == {"group": None, "size": None, "kept": True, "jaccard": None}
    taken = files["a.parquet"].with_name("taken.parquet")
    pq.write_table(wide.append_column("bandmill", wide["id"]), taken)
    status, said = keep(taken, n)
    assert status == lib.BM_ERR_INPUT and b"already" in said


def sizes(data):
    """Of the bodies of the messages of an IPC file."""
    reader, found = pa.ipc.MessageReader.open_stream(pa.py_buffer(data)[8:]), []
    while True:
        try:
            found.append(reader.read_next_message().body.size)
        except StopIteration:
            return found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_kept_ipc_is_compressed_as_it_was(codec, stream, wide, tmp_path):
    path, options = tmp_path / "a.arrow", pa.ipc.IpcWriteOptions(compression=codec)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, wide.schema, options=options) as writer:
        writer.write_table(wide, max_chunksize=70)
    status, data = keep(path, len(wide))
    assert status == lib.BM_OK
    reader, again = pa.ipc.open_file(data), pa.BufferOutputStream()
    assert reader.read_all().drop(["bandmill"]).equals(wide)
    with pa.ipc.new_file(again, reader.schema, options=options) as writer:
        for i in range(reader.num_record_batches):
            writer.write_batch(reader.get_batch(i))
    data.seek(0)
    assert sizes(data.read()) == sizes(again.getvalue())


def test_codecs_of_files_that_are_none(tmp_path):
    """Nothing is said of a file that is broken: whoever reads it says what is wrong."""
    path = tmp_path / "a.arrow"
    write_ipc(pa.table({"text": ["a", "b"]}), path)
    data = path.read_bytes()
    for at in range(8, len(data), 3):
        for bad in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            path.write_bytes(bad)
            with pa.OSFile(str(path)) as file:
                assert _ipc.codec(file) in (None, "lz4", "zstd") and file.tell() == 0


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_the_command_reads_a_table_on_standard_input(name, files, deduped, tmp_path):
    """And keeps its rows: what it keeps of the file, byte for byte."""
    rest = ("--id-field", "id", "--device", "cpu", "-q")
    done = command("dedup", "-", "-o", tmp_path / "piped", *rest, input=files[name].read_bytes())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    kept = f"kept{'.parquet' if name == 'a.parquet' else '.arrow'}"
    assert (tmp_path / "piped" / kept).read_bytes() == next(deduped(name).glob("kept.*")).read_bytes()
    for other in ("removed.tsv", "groups.jsonl"):
        first = (deduped(name) / other).read_text().replace(str(files[name]), "-")
        assert (tmp_path / "piped" / other).read_text() == first


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_export(form, table, jsonl, program, tmp_path):
    program("sign", jsonl, "-o", tmp_path / "s", "--device", "cpu")
    done = command("export", tmp_path / "s", "--to", form, "-o", tmp_path / "out", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    path = next((tmp_path / "out").glob(f"*.{form}")) if (tmp_path / "out").is_dir() else tmp_path / "out"
    found = pq.read_table(path) if form == "parquet" else pa.ipc.open_file(path).read_all()
    assert found["id"].to_pylist() == table["id"].to_pylist()
    words = np.stack(found["signature"].to_numpy())
    assert np.array_equal(words.astype(np.uint32), np.load(tmp_path / "s" / "signatures.npy"))


def test_no_rows(wide, tmp_path):
    pq.write_table(wide.slice(0, 0), tmp_path / "none.parquet")
    assert len(bandmill.sign(tmp_path / "none.parquet", device="cpu")) == 0
    done = command("dedup", tmp_path / "none.parquet", "-o", tmp_path / "out", "--device", "cpu", "-q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert pq.read_table(tmp_path / "out" / "kept.parquet").equals(wide.slice(0, 0))


def test_broken_files(files, tmp_path):
    data = files["a.parquet"].read_bytes()
    for name, bad in {"short": data[:-9], "middle": data[:900] + bytes(4000) + data[4900:], "text": b"PAR1 no table"}.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(bad)
        with pytest.raises(bandmill.Error) as e:
            bandmill.sign(path, device="cpu")
        assert e.value.status == "input" and e.value.file == str(path), name
        done = command("sign", path, "-o", tmp_path / "out", "--device", "cpu")
        assert done.returncode == 3 and str(path).encode() in done.stderr, (name, done.stderr)
        assert b"Traceback" not in done.stderr and not (tmp_path / "out").exists()


def test_without_pyarrow(files, tmp_path):
    """A module of its name that cannot be imported stands before it."""
    (tmp_path / "pyarrow.py").write_text("raise ImportError('there is no pyarrow')")
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE}"}
    done = command("sign", files["a.parquet"], "-o", tmp_path / "out", "--device", "cpu", env=env)
    assert done.returncode == 3 and b"pip install './python[parquet]'" in done.stderr and b"no pyarrow" in done.stderr
    done = command("tune", "--threshold", "0.8", env=env)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [["--version"], [], ["help", "dedup"], ["nope"], ["sign", "no/such/file", "-o", "x"], ["sign", "--json", "-o"], ["-h"]],
    ids=str,
)
def test_the_command_is_the_program(arguments, program, tmp_path):
    theirs = subprocess.run([program.path.absolute(), *arguments], capture_output=True, check=False, cwd=tmp_path)
    ours = command(*arguments, cwd=tmp_path)
    said = [  # each but what reads its tables
        (done.returncode, [line for line in done.stdout.splitlines() if not line.startswith(b"tables ")], done.stderr)
        for done in (ours, theirs)
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_the_command_writes_several_tables_as_one(ending, table, tmp_path):
    def write(name, rows):
        if ending == "parquet":
            pq.write_table(rows, tmp_path / name, compression="zstd")
        else:
            with pa.ipc.new_file(tmp_path / name, rows.schema) as file:
                file.write_table(rows, 61)
        return tmp_path / name

    read = pq.read_table if ending == "parquet" else lambda file: pa.ipc.open_file(file).read_all()
    half = len(table) // 2
    a, b = write(f"a.{ending}", table.slice(0, half)), write(f"b.{ending}", table.slice(half))
    how = ("--threshold", "0.6", "--device", "cpu", "-q")
    assert command("dedup", a, b, "-o", tmp_path / "d", *how).returncode == 0
    kept = pa.concat_tables([read(tmp_path / "d" / "kept" / name.name) for name in (a, b)])
    assert read(pa.BufferReader(command("dedup", a, b, "-o", "-", *how).stdout)).equals(kept) and len(kept) < len(table)
    other = write(f"c.{ending}", table.slice(0, 5).append_column("n", pa.array(range(5))))
    done = command("dedup", a, other, "-o", "-", *how)
    said = f"{other}: the schema is not that of {a}: 'n: int64' in place of 'no column'"
    assert done.returncode == 2 and said in done.stderr.decode()


def test_the_command_reads_and_writes_streams(jsonl, program, tmp_path):
    name = os.fsdecode(b"not utf-8 \xff.tsv")
    ours = command("pairs", "-", "--device", "cpu", "-q", stdin=jsonl.open("rb"))
    assert ours.returncode == 0 and ours.stdout == program("pairs", jsonl, "--device", "cpu")
    done = command("pairs", jsonl, "--device", "cpu", "-q", "-o", name, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / name).read_bytes() == ours.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(number):
    """It waits for its input, which does not end."""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "BANDMILL_PROBE": ""}
    words = [sys.executable, "-m", "bandmill", "pairs", "-", "--device", "cpu", "--format", "jsonl"]
    with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        while not caught(p.pid) >> (signal.SIGTERM - 1) & 1:  # of the two it takes this one last
            assert p.poll() is None
        p.send_signal(number)
        said = p.stderr.read()
        assert p.wait() == 128 + number, said


def caught(pid):
    """The signals that a process has handlers for: a bit each."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().split("\n")
    return next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")), 0)
