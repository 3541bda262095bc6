#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forests.py -- what the steps of a job on many machines need: bytes of memory at the peak, and CPU seconds. The driver turns forests
into tasks; before, tasks sign documents, and join the keys of a part.

    bench/forests.py [--edges N,N,…] [--shapes random,pairs] [--documents N,N,…] [--steps sign,join]

The package is that of PYTHONPATH (build/release/python). random: both ends of an edge are drawn from as many documents as there are
edges. pairs: each edge joins two documents of its own, so that there are twice as many documents as edges. Blocks come one after another,
as from a socket, and each shape has a process of its own. "bytes_an_edge" is the peak of what the process has itself (RssAnon) beyond what
it had before, "blocks_bytes_an_edge" what of this the blocks were at the start.

sign: documents of 12 words, all different, are signed and their keys divided into 8 parts. join: the keys of all of them are one part.
Blocks are in a mapped file, as if they came from a socket. "mib" is the peak of RssAnon beyond what the process had before.

Prints one JSON object.
"""
import argparse
import itertools
import json
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import xxhash

PARTS, BLOCK_EDGES = 8, 24_000


def block(edges):
    """A block of a forest, as include/bandmill/distributed.h describes it."""
    body = edges.tobytes()
    head = b"BMBK" + bytes([1, 1, 0, 0]) + struct.pack("<II6Q", len(edges), 0, 1, 0, 0, 0, 0, 0)
    return head + struct.pack("<Q", xxhash.xxh3_64_intdigest(body, xxhash.xxh3_64_intdigest(head))) + body


def mixed(numbers):
    """Hashes of numbers: a bijection of 64 bits, the lowest bit 0."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    return (x ^ x >> np.uint64(27)) << np.uint64(1)


def blocks_of(shape, n):
    draw = np.random.default_rng(1)
    for at in range(0, n, BLOCK_EDGES):
        size = min(BLOCK_EDGES, n - at)
        ends = draw.integers(0, n, (size, 2)) if shape == "random" else np.arange(2 * at, 2 * (at + size)).reshape(size, 2)
        ends = mixed(ends)
        yield block(np.stack([ends.max(axis=1), ends.min(axis=1)], axis=1))


def anonymous():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) << 10


def peak_of(run):
    """What `run` returns, the peak of anonymous bytes while it runs, and its CPU seconds."""
    peak, ended = [anonymous()], threading.Event()

    def look():
        while not ended.wait(0.01):
            peak[0] = max(peak[0], anonymous())

    thread = threading.Thread(target=look)
    thread.start()
    began = time.process_time()
    found = run()
    seconds = time.process_time() - began
    ended.set()
    thread.join()
    return found, peak[0], seconds


def texts(n):
    import pyarrow as pa

    for at in range(0, n, 10_000):
        ids = range(at, min(at + 10_000, n))
        words = (np.array(ids)[:, None] * 7919 + np.arange(12) * 104729).tolist()
        rows = {"id": [f"{i:010}" for i in ids], "text": [" ".join(f"w{w}" for w in line) for line in words]}
        yield pa.record_batch(rows)


def step(name, n):
    import bandmill.distributed
    import pyarrow as pa

    plan = bandmill.distributed.Plan(parts=8 if name == "sign" else 1)
    list(bandmill.distributed.join(bandmill.distributed.Plan(parts=1).split(texts(100))))  # what is loaded once
    with tempfile.TemporaryFile() as file:
        if name == "join":
            blocks = plan.split(texts(n))
            first = next(blocks)
            with pa.ipc.new_file(file, first.schema) as sink:
                for block in (first, *blocks):
                    sink.write_batch(block)
            file.flush()
            with pa.ipc.open_file(pa.memory_map(f"/proc/self/fd/{file.fileno()}")) as kept:
                batches = (kept.get_batch(i) for i in range(kept.num_record_batches))
                before = anonymous()
                _, peak, seconds = peak_of(lambda: sum(b.nbytes for b in bandmill.distributed.join(batches)))
        else:
            before = anonymous()
            _, peak, seconds = peak_of(lambda: sum(b.nbytes for b in plan.split(texts(n))))
    return {"step": name, "documents": n, "bands": plan.bands, "mib": round((peak - before) / (1 << 20)), "cpu_seconds": round(seconds, 1)}


def measured(shape, n):
    import bandmill.distributed
    import pyarrow as pa

    plan = bandmill.distributed.Plan("text", "id", parts=PARTS)
    plan.components([block(mixed(np.arange(2)).reshape(1, 2))])  # what is loaded once
    before = anonymous()
    batches = [pa.record_batch({"block": pa.array([b], pa.binary())}) for b in blocks_of(shape, n)]
    held = anonymous() - before
    batches.reverse()
    found, peak, seconds = peak_of(lambda: plan.components(batches.pop() for _ in range(len(batches))))
    return {"shape": shape, "edges": n, "documents": len(found.id_hashes), "largest": found.largest, "tasks": found.n_tasks,
            "bytes_an_edge": round((peak - before) / n, 1), "blocks_bytes_an_edge": round(held / n, 1), "cpu_seconds": round(seconds, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", default="20000000")
    parser.add_argument("--shapes", default="random,pairs")
    parser.add_argument("--documents", default="65536,300000")
    parser.add_argument("--steps", default="sign,join")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        print(json.dumps((step if a.one[0] in ("sign", "join") else measured)(a.one[0], int(a.one[1]))))
        return
    rows = []
    for kinds, numbers in (a.shapes, a.edges), (a.steps, a.documents):
        for shape, n in itertools.product(filter(None, kinds.split(",")), numbers.split(",")):
            done = subprocess.run([sys.executable, __file__, "--one", shape, n], check=True, stdout=subprocess.PIPE, text=True)
            rows.append(json.loads(done.stdout))
            print(json.dumps(rows[-1]), file=sys.stderr)
    print(json.dumps({"question": "memory and time of the steps of a job on many machines", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
