# SPDX-License-Identifier: Apache-2.0
"""The interpreter ends while daemon threads are in calls: no crash, no hang, no word, and the index is sound."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest

import bandmill

ENDS = """
import itertools, sys, threading
import bandmill
how, ending, place = sys.argv[1:]
if how in ("stream", "add"):
    import pyarrow as pa
    pa.table({"id": ["x"]})
texts = [f"{i} {i + 1} {i % 7} some words of a text {i * 3} and {i // 3}" for i in range(400)]
one = {"device": "cpu", "threads": 2}
index = bandmill.Index.open(place) if how in ("add", "query") else None
inside = threading.Event()
told = lambda *of: inside.set()

def stream():
    parts = [pa.RecordBatch.from_pydict({"text": texts[i : i + 20]}) for i in range(0, 400, 20)]
    inside.set()
    bandmill.dedup(pa.RecordBatchReader.from_batches(parts[0].schema, iter(parts)), **one)

names = itertools.count()

def add():
    ids = [f"{ending}-{next(names)}" for text in texts[:20]]
    inside.set()
    index.add(pa.table({"id": ids, "text": texts[:20]}), id="id", device="cpu", threads=1)

def query():
    inside.set()
    index.query(texts[:50])

work = {
    "dedup": lambda: bandmill.dedup(texts, progress=told, **one),
    "pairs": lambda: bandmill.pairs(texts, progress=told, **one),
    "sign": lambda: bandmill.sign(texts, progress=told, **one),
    "stream": stream,
    "add": add,
    "query": query,
}[how]

def forever():
    while True:
        work()

for i in range(2):
    threading.Thread(target=forever, daemon=True).start()
inside.wait()
inside.clear()
inside.wait()
if ending == "exit":
    sys.exit(3)
if ending == "raise":
    sys.excepthook = lambda *of: None
    raise ValueError
"""
CODES = {"end": 0, "exit": 3, "raise": 1}


@pytest.mark.parametrize(
    ("how", "ending"),
    [("dedup", "end"), ("pairs", "exit"), ("sign", "raise"), ("stream", "end"), ("add", "exit"), ("query", "raise")],
)
def test_daemon_threads_at_the_end(how, ending, program, tmp_path):
    place = tmp_path / "known"
    known = pa.table({"id": [f"known-{i}" for i in range(50)], "text": [f"some words of text {i}" for i in range(50)]})
    bandmill.Index.build(place, known, id="id", device="cpu", threads=1).close()
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p), TMPDIR=str(tmp_path))
    for turn in range(int(os.environ.get("BANDMILL_TEST_ROUNDS", "1"))):
        command = [sys.executable, "-c", ENDS.replace("{ending}-", f"{{ending}}-{turn}-"), how, ending, str(place)]
        child = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
        assert (child.returncode, child.stderr.decode()) == (CODES[ending], "")
    program("index", "check", place)
    assert [p.name for p in tmp_path.iterdir()] == ["known"]


def test_a_pool_ends_its_calls_first(tmp_path):
    code = """
import concurrent.futures, sys, bandmill
texts = [f"{i} {i + 1} some words of a text {i // 3}" for i in range(2000)]
pool = concurrent.futures.ThreadPoolExecutor(2)
def told(done):
    sys.stdout.write(f"{len(done.result().kept)}\\n")
for i in range(4):
    pool.submit(bandmill.dedup, texts, device="cpu", threads=1).add_done_callback(told)
sys.exit(0)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=300, check=False)
    assert child.returncode == 0 and child.stderr == b""
    assert len(set(child.stdout.split())) == 1 and len(child.stdout.split()) == 4
