# SPDX-License-Identifier: Apache-2.0
"""python_endurance.py [--calls N] [--json FILE]: what the Python package costs over time, on a small corpus.

    leaks      resident memory before and after N calls (1,000) of each kind, N / 2 having gone before, and what one has left, in bytes
    interrupt  milliseconds from SIGINT to KeyboardInterrupt in a job of many seconds: the median and the worst of ten
    threads    eight threads that sign at once, each with its own number of threads: as one alone

The package on PYTHONPATH (build/release/python) is measured. Exit code 1: a call leaves more than 512 bytes, an interrupt takes more than
200 ms, or threads differ.
"""

import argparse
import ctypes
import gc
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bandmill
from bandmill.compat.datasketch import MinHash, MinHashLSH

TRIM = ctypes.CDLL(None).malloc_trim
LEFT_BYTES, INTERRUPT_MS, TRIALS = 512, 200, 10
JOBS = {
    "sign of texts": "bandmill.sign(texts, device='cpu', perms=1024, threads=1)",
    "sign of a table": "bandmill.sign(table, device='cpu', perms=1024, threads=1)",
    "dedup of a table": "bandmill.dedup(table, device='cpu', perms=1024, threads=1)",
    "dedup of Parquet": "bandmill.dedup(path, device='cpu', perms=1024, threads=1)",
    "pairs, all": "bandmill.pairs(texts[:20000], device='cpu', candidates='all', threshold=0.5, threads=1)",
}


def corpus(n):
    draw = random.Random(1)
    words = [f"w{i}" for i in range(3000)]
    texts = [" ".join(draw.choices(words, k=draw.randrange(5, 40))) for _ in range(n)]
    return pa.table({"id": [f"d{i}" for i in range(n)], "text": [t if i % 5 else texts[i // 2] for i, t in enumerate(texts)]})


def resident():
    gc.collect()
    TRIM(0)
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def kinds(table, place):
    texts = table["text"].to_pylist()
    pq.write_table(table, place / "t.parquet")
    index = bandmill.Index.build(place / "index", table, id="id", threshold=0.6, device="cpu")
    jsonl = place / "t.jsonl"
    jsonl.write_text("".join(json.dumps({"id": r["id"], "text": r["text"]}) + "\n" for r in table.to_pylist()))
    options = {"device": "cpu", "threads": 1}

    def refused():
        try:
            bandmill.sign(texts, shingle="word:0", **options)
        except bandmill.Error:
            return
        raise AssertionError

    sets = [text.encode().split() for text in texts]

    def session():
        lsh = MinHashLSH(threshold=0.5, num_perm=128)
        with lsh.insertion_session() as entries:
            for key, sketch in enumerate(MinHash.bulk(sets)):
                entries.insert(key, sketch)
        lsh.query(MinHash.bulk(sets[:1])[0])
        lsh.get_counts()
        lsh.remove(0)

    return {
        "MinHash.bulk": lambda: MinHash.bulk(sets, scheme="affine64"),
        "insertion_session": session,
        "sign": lambda: bandmill.sign(texts, **options),
        "sign of a table": lambda: bandmill.sign(table, id="id", **options).to_arrow(),
        "an error": refused,
        "hash_shingles": lambda: bandmill.hash_shingles(texts),
        "pairs": lambda: bandmill.pairs(table, id="id", **options),
        "dedup": lambda: (lambda r: (r.take(table), r.removed, r.groups))(bandmill.dedup(table, id="id", **options)),
        "dedup of Parquet": lambda: bandmill.dedup(place / "t.parquet", **options).kept,
        "dedup of files": lambda: bandmill.dedup(jsonl, **options).report,
        "query": lambda: index.query(texts[:20]),
    }


def leaks(calls):
    rows = {}
    with tempfile.TemporaryDirectory() as place:
        for name, call in kinds(corpus(60), pathlib.Path(place)).items():
            for _ in range(calls // 2):
                call()
            before = resident()
            for _ in range(calls):
                call()
            after = resident()
            rows[name] = {"before": before, "after": after, "bytes_a_call": (after - before) / calls}
            print(f"{name:18} {before >> 10:8} KiB, {after >> 10:8} KiB after {calls} calls: {(after - before) / calls:8.1f} B a call")
    return rows


def interrupts():
    script = textwrap.dedent("""
        import sys, threading, time
        import pyarrow.parquet as pq
        import bandmill
        path = sys.argv[1]
        table = pq.read_table(path)
        texts = table["text"].to_pylist()
        began = threading.Event()
        def say(*progress):
            if not began.is_set():
                began.set()
                print("at work", flush=True)
        try:
            if %r.startswith("sign"):
                print("at work", flush=True)
            while True:
                %s
        except KeyboardInterrupt:
            print(time.monotonic_ns(), flush=True)
    """)
    rows = {}
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "t.parquet"
        table = corpus(60000)
        pq.write_table(pa.concat_tables([table] * 10).drop(["id"]), path)
        for name, job in JOBS.items():
            times = []
            for trial in range(TRIALS):
                call = job if name.startswith("sign") else job[:-1] + ", progress=say)"
                with subprocess.Popen([sys.executable, "-c", script % (name, call), path], stdout=subprocess.PIPE, text=True) as p:
                    p.stdout.readline()
                    threading.Event().wait(0.1 + 0.05 * trial)
                    sent = time.monotonic_ns()
                    p.send_signal(signal.SIGINT)
                    times.append((int(p.stdout.readline()) - sent) / 1e6)
            rows[name] = {"median_ms": statistics.median(times), "worst_ms": max(times)}
            print(f"{name:18} KeyboardInterrupt after {statistics.median(times):6.1f} ms, at worst {max(times):6.1f}")
    return rows


def threads():
    table = corpus(4000)
    alone = bandmill.sign(table, id="id", device="cpu").signatures
    found = [None] * 8

    def work(i):
        found[i] = [bandmill.sign(table, id="id", device="cpu", threads=1 + i % 3).signatures for _ in range(5)]

    several = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in several:
        t.start()
    for t in several:
        t.join()
    same = sum(np.array_equal(alone, s) for some in found for s in some)
    print(f"eight threads: {same} of 40 tables of signatures are those of one")
    return {"same": same, "of": 40}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["leaks", "interrupts", "threads"])
    options = parser.parse_args()
    parts = {"leaks": lambda: leaks(options.calls), "interrupts": interrupts, "threads": threads}
    found = {name: part() for name, part in parts.items() if options.only in (None, name)}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    bad = [n for n, r in found.get("leaks", {}).items() if r["bytes_a_call"] > LEFT_BYTES]
    bad += [n for n, r in found.get("interrupts", {}).items() if r["worst_ms"] > INTERRUPT_MS]
    bad += ["threads"] if found.get("threads", {"same": 40})["same"] != 40 else []
    if bad:
        sys.exit(f"python_endurance.py: more than is right: {', '.join(bad)}")


main()
