# SPDX-License-Identifier: Apache-2.0
"""parquet.py BANDMILL DOCUMENTS.jsonl OUT.json -- `dedup` of Parquet (zstd) beside `dedup` of the same JSON Lines; see parquet.sh.

pyarrow writes the documents as it does by itself: row groups of a million rows, pages of 1 MiB, zstd at its own level. The two
formats take turns, with one thread and with two; the kept documents are written. Says what the median of processor seconds, and of
seconds, of Parquet is, divided by that of JSON Lines."""

import json
import os
import subprocess
import sys
import tempfile

import measure

ROUNDS = 7
# In a process of its own: what this one has held would count as the peak of those that it starts.
WRITE = """
import sys, pyarrow.json, pyarrow.parquet
table = pyarrow.json.read_json(sys.argv[1])
pyarrow.parquet.write_table(table, sys.argv[2], compression="zstd")
print(table.num_rows, pyarrow.__version__)
"""


def main():
    bandmill, documents, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        files = {"jsonl": documents, "parquet": os.path.join(folder, "documents.parquet")}
        rows, version = subprocess.run([sys.executable, "-c", WRITE, documents, files["parquet"]], check=True,
                                       stdout=subprocess.PIPE).stdout.decode().split()
        target = os.path.join(folder, "out")
        contenders = {f"{name}_{threads}": ([bandmill, "dedup", path, "--device", "cpu", "--threads", str(threads), "-q", "-o", target],
                                            measure.remove(target)) for threads in (1, 2) for name, path in files.items()}
        runs = measure.alternate(contenders, ROUNDS)
        bytes_of = {name: os.path.getsize(path) for name, path in files.items()}
    result = {"question": "dedup: Parquet (zstd) beside the same JSON Lines", **measure.provenance(bandmill)}
    result["documents"], result["bytes"], result["pyarrow"] = int(rows), bytes_of, version
    for key in ("seconds", "cpu_seconds", "peak_mb"):
        result[key] = {name: measure.summary(of, key) for name, of in runs.items()}
    result["ratio"] = {f"{key}_{threads}": round(result[key][f"parquet_{threads}"]["median"] / result[key][f"jsonl_{threads}"]["median"], 3)
                       for key in ("seconds", "cpu_seconds") for threads in (1, 2)}
    measure.write(out, result)
    print(json.dumps(result["ratio"], indent=2))


if __name__ == "__main__":
    main()
