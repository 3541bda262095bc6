#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unpacking.py BANDMILL DOCUMENTS.jsonl OUT.json [BASE] -- `sign` and `dedup` of 16 compressed files: what does a second thread bring?

The documents are cut into 16 files, compressed as `gzip` and `zstd` do it by themselves: one member, one frame a file. BANDMILL, and BASE
where it is named, take turns, with one thread and with two. Says the seconds of one thread divided by those of two, and, with BASE, the
processor seconds of BANDMILL divided by its. Where others have the processors, the first says little."""

import json
import os
import subprocess
import sys
import tempfile

import measure

FILES, ROUNDS = 16, 5
PACK = {"gz": ["gzip", "-c"], "zst": ["zstd", "-qc"]}


def shards(documents, folder):
    """The documents in FILES files of each compression: {ending: paths}."""
    with open(documents, "rb") as file:
        lines = file.readlines()
    paths = {ending: [] for ending in PACK}
    for i in range(FILES):
        part = b"".join(lines[i * len(lines) // FILES:(i + 1) * len(lines) // FILES])
        for ending, command in PACK.items():
            paths[ending].append(os.path.join(folder, f"{i:02}.jsonl.{ending}"))
            with open(paths[ending][-1], "wb") as out:
                subprocess.run(command, input=part, stdout=out, check=True)
    return paths


def main():
    program, documents, out = sys.argv[1:4]
    programs = {"bandmill": program, **({"base": sys.argv[4]} if len(sys.argv) > 4 else {})}
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        target = os.path.join(folder, "out")
        paths = shards(documents, folder)
        runs = measure.alternate({
            f"{command}_{ending}_{threads}_{name}":
                ([path, command, *paths[ending], "--device", "cpu", "--threads", str(threads), "-q", "-o", target], measure.remove(target))
            for command in ("sign", "dedup") for ending in PACK for threads in (1, 2) for name, path in programs.items()}, ROUNDS)
    result = {"question": "several compressed files: what does a second thread bring?", **measure.provenance(program), "files": FILES}
    for key in ("seconds", "cpu_seconds", "peak_mb"):
        result[key] = {name: measure.summary(of, key) for name, of in runs.items()}
    median = {key: {name: of["median"] for name, of in result[key].items()} for key in ("seconds", "cpu_seconds")}
    for command in ("sign", "dedup"):
        for ending in PACK:
            one, two = (f"{command}_{ending}_{threads}_" for threads in (1, 2))
            ratio = result.setdefault("ratio", {})
            for name in programs:
                ratio[f"{command}_{ending}_{name}"] = round(median["seconds"][one + name] / median["seconds"][two + name], 2)
            if "base" in programs:
                ratio[f"{command}_{ending}_cpu_of_base"] = round(median["cpu_seconds"][two + "bandmill"] / median["cpu_seconds"][two + "base"], 3)
    measure.write(out, result)
    print(json.dumps(result["ratio"], indent=2))


if __name__ == "__main__":
    main()
