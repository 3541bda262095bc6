#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""components.py -- how large the largest candidate component of growing text is, and what the task costs that compares it.

    bench/components.py FILE.jsonl|licences|statutes|template... [--documents N,N,…] [--thresholds T,T,…] [--memory SIZE]

The package is that of PYTHONPATH (build/release/python). FILE.jsonl has the fields id and text; N documents are drawn at random, the
same smaller ones among the larger. licences, statutes: those of legal_texts.py, which grow by versions of real texts. template: contracts of one template, 200 words of which 12 are filled in. The component is found as
bandmill.spark finds it, by bandmill.distributed; then one process compares it with --memory, its texts in a mapped file, and tells its CPU
seconds and the most memory that it had beside the file. Prints one JSON object.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bandmill
import bandmill.distributed
import legal_texts


def read(name, most):
    if name in legal_texts.CORPORA:
        return list(itertools.islice(legal_texts.CORPORA[name](), most))
    if name != "template":
        with open(name, encoding="utf-8") as file:
            rows = [json.loads(line)["text"] for line in file]
        random.Random(1).shuffle(rows)
        return rows[:most]
    draw = random.Random(2)
    words = [f"term{i}" for i in range(200)]
    rows = []
    for _ in range(most):
        text = list(words)
        for place in range(8, 200, 16):
            text[place] = f"party{draw.randrange(10_000)}"
        rows.append(" ".join(text))
    return rows


def component(texts, threshold):
    """The documents of the largest candidate component."""
    table = pa.table({"id": [f"{i:09}" for i in range(len(texts))], "text": texts})
    plan = bandmill.distributed.Plan(parts=8, threshold=threshold)
    blocks = list(plan.split(table.to_batches(max_chunksize=10_000)))
    found = plan.components(bandmill.distributed.join(blocks), docs_a_task=1)
    if not len(found.id_hashes):
        return table.slice(0, 0)
    largest = int(np.argmax(np.bincount(found.tasks)))
    task = found.task_of(np.concatenate([plan.id_hashes(b) for b in table.to_batches()]))
    return table.filter(pa.array(task == largest))


def compare(path, threshold, memory):
    """In a process of its own: texts are mapped, as a task of Spark's that has too many of them maps them."""
    table = pa.ipc.open_file(pa.memory_map(path)).read_all()
    plan = bandmill.distributed.Plan(parts=1, threshold=threshold, memory=memory)
    before = anonymous_peak()
    began = time.process_time()
    members, counts = plan.dedup(table)
    found = {"cpu_seconds": round(time.process_time() - began, 2), "removed": counts["removed"], "not_compared": counts["not_compared"]}
    print(json.dumps({**found, "groups": counts["groups"], "anonymous_mib": round(anonymous_peak() - before)}))


def anonymous_peak():
    """MiB that were ours alone when this is asked."""
    for line in pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--documents", default="8000,16000,35324")
    parser.add_argument("--thresholds", default="0.8,0.5")
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        compare(a.one[0], float(a.one[1]), a.memory)
        return
    sizes, rows = [int(n) for n in a.documents.split(",")], []
    for name in a.files:
        texts = read(name, max(sizes))
        for n in sizes:
            for threshold in (float(t) for t in a.thresholds.split(",")):
                table = component(texts[:n], threshold)
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "texts.arrow")
                    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                        writer.write_table(table)
                    words = [sys.executable, os.path.abspath(__file__), "-", "--memory", a.memory, "--one", path, str(threshold)]
                    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
                size = int(pc.sum(pc.binary_length(table["text"])).as_py() or 0)
                of = {"text": os.path.basename(name), "documents": min(n, len(texts)), "threshold": threshold}
                rows.append({**of, "component": len(table), "component_bytes": size, **json.loads(done.stdout)})
                print(json.dumps(rows[-1]), file=sys.stderr)
    print(json.dumps({"question": "the largest candidate component of growing text", "memory": a.memory, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
