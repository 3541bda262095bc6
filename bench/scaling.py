# SPDX-License-Identifier: Apache-2.0
"""scaling.py BANDMILL PLANTED OUT.json [DOCUMENTS] -- is the time per document the same for 1, 2, 4 and 8 times the documents?

DOCUMENTS (100,000 unless told) of about 1 kB with planted near-duplicates (planted.c), and 2, 4 and 8 times as many; `dedup --device
cpu` from file to groups, the kept documents written. The sizes take turns, five rounds. Says the greatest deviation of a size's
median time per document from that of the smallest. Files lie in /dev/shm where there is one."""

import json
import os
import subprocess
import sys
import tempfile

import measure

FACTORS = (1, 2, 4, 8)
ROUNDS = 5


def main():
    bandmill, planted, out = sys.argv[1:4]
    n = int(sys.argv[4]) if len(sys.argv) > 4 else 100_000
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        contenders = {}
        for factor in FACTORS:
            corpus, target = os.path.join(folder, f"{factor}.jsonl"), os.path.join(folder, f"out{factor}")
            with open(corpus, "wb") as file:
                subprocess.run([planted, str(n * factor)], check=True, stdout=file)
            command = [bandmill, "dedup", corpus, "--device", "cpu", "-q", "-o", target]
            contenders[str(n * factor)] = (command, measure.remove(target))
        runs = measure.alternate(contenders, ROUNDS)
    rows = {name: measure.summary(of) for name, of in runs.items()}
    per_document = {name: row["median"] / int(name) * 1e6 for name, row in rows.items()}
    base = per_document[str(n)]
    result = {"question": "dedup: time per document as documents grow", **measure.provenance(bandmill)}
    result["seconds"] = rows
    result["microseconds_per_document"] = {name: round(value, 4) for name, value in per_document.items()}
    result["peak_mb"] = {name: round(max(run["peak_mb"] for run in of)) for name, of in runs.items()}
    result["greatest_deviation"] = round(max(abs(value / base - 1) for value in per_document.values()), 4)
    measure.write(out, result)
    print(json.dumps({key: result[key] for key in ("microseconds_per_document", "greatest_deviation")}, indent=2))


if __name__ == "__main__":
    main()
