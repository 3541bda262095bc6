# SPDX-License-Identifier: Apache-2.0
"""Files that lie elsewhere, by the library and by fsspec: servers of HTTP and S3 on the loopback, and fsspec's memory."""

import gzip
import http.server
import json
import tempfile
import threading

import numpy as np
import pytest
from bandmill._native import ffi, lib

import bandmill
from bandmill import _data, _remote
from bandmill._call import Call
from bandmill._options import new

fsspec = pytest.importorskip("fsspec")
HOW = {"threshold": 0.6, "device": "cpu"}


@pytest.fixture(autouse=True)
def in_a_place_of_its_own(tmp_path, monkeypatch):
    """Which is empty afterwards; and nobody waits."""
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    monkeypatch.setattr(_remote, "_WAIT_S", 0)
    yield
    assert not list((tmp_path / "temp").iterdir())


@pytest.fixture(params=["library", "fsspec"])
def way(request, monkeypatch):
    """Who reads: the library, where nothing is copied, or fsspec, as where libcurl is missing."""
    if request.param == "fsspec":
        monkeypatch.setattr(_data, "reads_address", lambda address: False)
    elif not lib.bm_version_reads_address(b"https://a/b"):
        pytest.skip("there is no libcurl")
    else:
        monkeypatch.setattr(_remote, "copy", None)
    return request.param


class Handler(http.server.BaseHTTPRequestHandler):
    files, broken, asked = {}, {}, []  # broken: bytes after which a file breaks off, each time it is asked for

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        name = self.path.split("?")[0]
        type(self).asked.append(self.path)
        data = self.files.get(name)
        if data is None:
            self.send_error(403 if name == "/secret" else 404)
            return
        start, end = 0, len(data)
        given = self.headers.get("Range") if not name.startswith("/whole") else None
        if given:
            first, last = given.removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last) + 1, len(data))
        self.send_response(206 if given else 200)
        if not name.startswith("/whole"):
            self.send_header("Accept-Ranges", "bytes")
        if given:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        breaks = self.broken.get(name, [])
        if body and breaks:
            self.wfile.write(data[start : start + breaks.pop()])
            self.close_connection = True
        elif body:
            self.wfile.write(data[start:end])


@pytest.fixture(scope="module")
def server(jsonl):
    pytest.importorskip("aiohttp")
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    data = jsonl.read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    Handler.files = {"/d/a.jsonl": data, "/whole/a.jsonl.gz": gzip.compress(data), "/one": data[:half], "/two": data[half:]}
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def local(jsonl):
    return bandmill.dedup(jsonl, **HOW)


def same(found, local):
    return found.groups.equals(local.groups) and found.removed["id"].equals(local.removed["id"])


def test_a_file_of_a_server_is_read(way, server, local, jsonl, tmp_path):
    for path in ("/d/a.jsonl", "/d/a.jsonl?token=secret", "/whole/a.jsonl.gz"):
        found = bandmill.dedup(server + path, output=tmp_path / path.replace("/", "-"), **HOW)
        assert same(found, local)
        assert set(found.removed["file"].to_pylist()) == {server + path.split("?")[0]}
        written = [p for p in found.path.rglob("*") if p.is_file()]
        assert not any(b"secret" in p.read_bytes() for p in written) and "token=secret" not in repr(found.report)
        kept = next(p for p in written if p.name.startswith("kept"))
        text = gzip.decompress(kept.read_bytes()) if kept.suffix == ".gz" else kept.read_bytes()
        removed = set(local.removed["id"].to_pylist())
        assert text.splitlines() == [r for r in jsonl.read_bytes().splitlines() if json.loads(r)["id"] not in removed]
    assert any("token=secret" in path for path in Handler.asked)
    with pytest.raises(bandmill.Error, match="rows of a table or list"):
        _ = found.kept


def test_several_files_of_several_places(way, server, local, jsonl, tmp_path):
    (tmp_path / "two").write_bytes(Handler.files["/two"])
    how = {"format": "jsonl", **HOW}
    found = bandmill.dedup(paths=[f"{server}/one", tmp_path / "two"], output=tmp_path / "out", **how)
    assert same(found, local)
    assert set(found.removed["file"].to_pylist()) == {f"{server}/one", str(tmp_path / "two")}
    ids = bandmill.sign(paths=[f"{server}/one", f"{server}/two"], id="none", **{**how, "threshold": None}).ids
    assert ids[0] == f"{server}/one:1" and ids[-1].startswith(f"{server}/two:")
    (tmp_path / "below").mkdir()
    (tmp_path / "two").rename(tmp_path / "below" / "two")
    both = [f"{server}/one", tmp_path / "below"]
    if way == "library":
        assert same(bandmill.dedup(paths=both, **how), local)
    else:
        with pytest.raises(bandmill.Error, match="a directory beside"):
            bandmill.sign(paths=both)


@pytest.mark.parametrize("name", ["/d/a.jsonl", "/whole/a.jsonl.gz"])
def test_what_breaks_off_is_taken_up(way, name, server, local):
    Handler.broken = {name: [5000, 3000, 0]}
    assert same(bandmill.dedup(server + name, **HOW), local)
    assert Handler.broken[name] == []


def test_what_cannot_be_read(way, server):
    answers = "the server answers " if way == "library" else ""
    for address, status, code, words in (
        (f"{server}/none.jsonl?a=b", "io", 4, f"{server}/none.jsonl: cannot read: {answers}404"),
        (f"{server}/secret?key=hidden", "io", 4, f"{server}/secret: cannot read: {answers}403"),
        ("http://127.0.0.1:1/a.jsonl", "io", 4, "http://127.0.0.1:1/a.jsonl: cannot read: "),
        ("nowhere://a/b.jsonl", "io", 4, "nowhere://a/b.jsonl: cannot read: Protocol not known: nowhere"),
        ("memory://there/is/none*", "input", 3, "memory://there/is/none*: no file matches"),
    ):
        with pytest.raises(bandmill.Error) as e:
            bandmill.sign(address)
        assert str(e.value).startswith(words) and (e.value.status, e.value.exit_code) == (status, code), str(e.value)
        assert "hidden" not in str(e.value)
    Handler.broken = {"/d/a.jsonl": [0] * 9 + [4000]}
    with pytest.raises(bandmill.Error) as e:
        bandmill.sign(f"{server}/d/a.jsonl")
    assert e.value.exit_code in (3, 4) and len(Handler.broken["/d/a.jsonl"]) > 4
    Handler.broken = {}


def test_bad_records_are_named_by_their_address(way, server):
    Handler.files["/bad.jsonl"] = b'{"text":"a"}\n{"text":\n'
    with pytest.raises(bandmill.Error) as e:
        bandmill.sign(f"{server}/bad.jsonl?x=y")
    assert (e.value.file, e.value.line) == (f"{server}/bad.jsonl", 2)


def test_directories_and_patterns(jsonl, local, table):
    memory = fsspec.filesystem("memory")
    for name, data in (
        ("/c/b.jsonl", Handler.files.get("/two", b"")),
        ("/c/a.jsonl", Handler.files.get("/one", jsonl.read_bytes())),
        ("/c/_log.jsonl", b"no record"),
        ("/c/x/.hidden", b"no record"),
    ):
        memory.pipe(name, data)
    for address in ("memory://c", "memory://c/", "memory://c/[ab].jsonl"):
        assert same(bandmill.dedup(address, **HOW), local), address
    memory.rm("/c", recursive=True)


def test_buckets_of_s3(way, jsonl, local, table, tmp_path, monkeypatch):
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    import pyarrow.parquet as pq

    made = moto.ThreadedMotoServer(port=0, verbose=False)
    made.start()
    try:
        host, port = made.get_host_and_port()
        own = {"endpoint_url": f"http://{host}:{port}", "key": "a", "secret": "b"}
        monkeypatch.setitem(fsspec.config.conf, "s3", {**own, "client_kwargs": {"region_name": "us-east-1"}})
        for name, value in (("ENDPOINT_URL", own["endpoint_url"]), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
            monkeypatch.setenv(f"AWS_{name}", value)
        fs = fsspec.filesystem("s3")
        fs.call_s3("create_bucket", Bucket="bucket")
        lines = jsonl.read_bytes().splitlines(True)
        fs.pipe("bucket/c/b.jsonl", b"".join(lines[200:]))
        fs.pipe("bucket/c/a.jsonl", b"".join(lines[:200]))
        pq.write_table(table, tmp_path / "t.parquet")
        fs.put(str(tmp_path / "t.parquet"), "bucket/t.parquet")
        for address in ("s3://bucket/c/", "s3://bucket/c/*.jsonl"):
            found = bandmill.dedup(address, output=tmp_path / address.replace("/", "-"), **HOW)
            assert same(found, local)
            assert sorted(p.name for p in found.path.glob("kept/*")) == ["a.jsonl", "b.jsonl"]
            assert "s3://bucket/c/b.jsonl" in found.removed["file"].to_pylist()
        whole = bandmill.sign(jsonl, device="cpu").signatures
        assert np.array_equal(bandmill.sign("s3://bucket/t.parquet", device="cpu").signatures, whole)
        with pytest.raises(bandmill.Error, match=r"^s3://nowhere/x.jsonl: cannot read: ") as e:
            bandmill.sign("s3://nowhere/x.jsonl")
        assert e.value.exit_code == 4
    finally:
        made.stop()


def test_a_name_is_of_a_file(jsonl, tmp_path):
    """In the library's interface: a directory with more files than names."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl.read_bytes())
    call, o = Call(), new("sign")
    o.input.paths, o.input.names, o.input.n_paths = call.texts([tmp_path]), call.texts(["one"]), 1
    o.input.duplicate_ids, o.output.path = lib.BM_DUPLICATE_IDS_NUMBER, call.text(tmp_path.parent / "never")
    with pytest.raises(bandmill.Error, match="names for other files") as e:
        call.run(lib.bm_job_sign, o, ffi.new("bm_summary **"))
    assert (e.value.status, e.value.field) == ("usage", "names")


def test_names_without_what_is_secret():
    for address, name in (
        ("https://a:b@host/p/x.jsonl?y#z", "https://host/p/x.jsonl"),
        ("hf://datasets/me/it@main/x.parquet", "hf://datasets/me/it@main/x.parquet"),
        ("s3://b/k?versionId=3", "s3://b/k"),
        ("https://host", "https://host"),
        ("ftp://me:PASSWORD@host/x?y", "ftp://host/x"),
    ):
        assert _remote.name_of(address) == name
    words = str(_remote._failed("n", OSError("cannot reach http://me:PASSWORD@host/x?SECRET of me")))
    assert words == "n: cannot read: cannot reach http://host/x"
