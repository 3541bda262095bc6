"""What is refused says what and where; nothing hangs, nothing stays behind."""

import gc
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import bandmill

REFUSED = {
    "shingle without length": (lambda t: bandmill.sign(t, shingle="word"), "usage", "shingle"),
    "shingle of another kind": (lambda t: bandmill.sign(t, shingle="words:3"), "usage", "shingle"),
    "normalize": (lambda t: bandmill.sign(t, normalize="upper"), "usage", "normalize"),
    "keep": (lambda t: bandmill.dedup(t, keep="best"), "usage", "keep"),
    "device": (lambda t: bandmill.sign(t, device="opencl:99.0"), "device", None),
    "threads": (lambda t: bandmill.sign(t, threads=-1), "usage", "threads"),
    "memory": (lambda t: bandmill.sign(t, memory="lots"), "usage", "memory"),
    "too little memory": (lambda t: bandmill.sign(t, memory="1M", device="cpu"), "nomem", None),
    "perms": (lambda t: bandmill.sign(t, perms=5000), "usage", "perms"),
    "format": (lambda t: bandmill.sign(t, format="csv"), "usage", "format"),
    "no such column": (lambda t: bandmill.sign(t, text="body"), "input", None),
    "no such id": (lambda t: bandmill.sign(t, id="key"), "input", None),
    "a column of numbers": (lambda t: bandmill.sign(pa.table({"text": [1.5]})), "input", None),
    "a stream of numbers": (lambda t: bandmill.sign(pa.array([1, 2])), "input", None),
    "repeated ids": (lambda t: bandmill.sign(pa.table({"id": ["a", "a"], "text": ["x", "y"]}), id="id"), "input", None),
    "a number among texts": (lambda t: bandmill.sign(["a", 3]), "input", "data"),
    "what is no data": (lambda t: bandmill.sign(5), "usage", "data"),
    "no such path": (lambda t: bandmill.sign("no/such/path"), "io", None),
    "no such index": (lambda t: bandmill.Index.open("no/such/index"), "io", None),
    "no signatures": (lambda t: bandmill.load("no/such/place"), "format", None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, table):
    call, status, field = REFUSED[name]
    with pytest.raises(bandmill.Error) as e:
        call(table)
    assert (e.value.status, e.value.field) == (status, field), str(e.value)
    assert str(e.value)


def test_nothing_stays_behind(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other process has anything

    def left():
        return set(tmp_path.iterdir())

    before = left()
    with pytest.raises(bandmill.Error):
        bandmill.sign(table, text="nope")
    s = bandmill.sign(table, device="cpu")
    words = s.signatures
    r = bandmill.dedup(table, device="cpu")
    assert left() != before
    total = int(np.asarray(words, dtype=np.uint64).sum())
    del s, r
    gc.collect()
    assert left() == before
    assert int(np.asarray(words, dtype=np.uint64).sum()) == total  # the map outlives its file


def test_a_stream_that_fails():
    def batches():
        yield pa.record_batch({"text": ["a"]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), batches())
    with pytest.raises(bandmill.Error, match="the disk is gone") as e:
        bandmill.sign(reader, device="cpu")
    assert e.value.status == "input" and "Traceback" not in str(e.value)


def test_eight_threads_give_what_one_gives(table):
    whole = bandmill.sign(table, id="id", device="cpu").signatures
    found = [None] * 8

    def work(i):
        found[i] = bandmill.sign(table, id="id", device="cpu", threads=1 + i % 3).signatures

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(whole, f) for f in found)


def test_ctrl_c_ends_a_job():
    script = textwrap.dedent("""
        import sys, time, bandmill
        texts = [" ".join(str(i * j) for j in range(2000)) for i in range(400)] * 40
        try:
            print("ready", flush=True)
            while True:
                bandmill.sign(texts, device="cpu", perms=1024, threads=1)
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        time.sleep(1)
        sent = time.monotonic()
        p.send_signal(signal.SIGINT)
        ended = float(p.stdout.readline())
        assert p.wait() == 0
    print(f"ended after {ended - sent:.3f} s")  # told, not judged: a machine may be busy


def test_no_leak():
    texts = ["one two three four five six"] * 20

    def once():
        bandmill.sign(texts, device="cpu", threads=1)
        with pytest.raises(bandmill.Error):
            bandmill.sign(texts, shingle="word:0", device="cpu")
        bandmill.hash_shingles(texts)

    for _ in range(20):
        once()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(150):
        once()
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB
