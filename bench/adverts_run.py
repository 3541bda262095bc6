# SPDX-License-Identifier: Apache-2.0
"""adverts_run.py BANDMILL INTERSECT CORPUS.jsonl OUT.json -- see adverts.sh."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import measure

RUNS = 3
PLAN = ["--bands", "42", "--rows", "3", "--threshold", "0.5"]


def run_json(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def dedup(bandmill, corpus, folder, *options):
    out = os.path.join(folder, "out")
    report = run_json([bandmill, "dedup", corpus, "--device", "cpu", *PLAN, *options, "-q", "--json", "-o", out])
    return report, out


def planted_recall(corpus, groups_file):
    """Of the planted pairs at or above the threshold, the share whose documents are in one group."""
    group = {}
    with open(groups_file, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            group.update(dict.fromkeys(row["members"], row["group"]))
    found = total = 0
    with open(corpus + ".planted.tsv", encoding="utf-8") as file:
        for line in file:
            a, b, similarity = line.split("\t")
            if float(similarity) >= 0.5:
                total += 1
                found += a in group and group[a] == group.get(b)
    return found / total


def whole_job(bandmill, corpus, folder):
    reports = []
    for _ in range(RUNS):
        report, out = dedup(bandmill, corpus, folder)
        reports.append(report)
        recall = planted_recall(corpus, os.path.join(out, "groups.jsonl"))
        shutil.rmtree(out)
    runs = [report["run"] for report in reports]
    best = sorted(runs, key=lambda run: run["seconds"])[RUNS // 2]
    return {
        "command": "bandmill dedup CORPUS --device cpu " + " ".join(PLAN),
        "threads": best["threads"],
        "seconds": [round(run["seconds"], 3) for run in runs],
        "median_seconds": round(best["seconds"], 3),
        "peak_resident_bytes": max(run["peak_resident_bytes"] for run in runs),
        "stages": best["stages"],
        "counts": reports[0]["counts"],
        "planted_pairs_in_one_group": round(recall, 6),
    }


def verification(bandmill, intersect, corpus, folder):
    """One core, the same candidates: pairs a second of both."""
    pairs = os.path.join(folder, "candidates.tsv")
    subprocess.run([bandmill, "pairs", corpus, "--device", "cpu", *PLAN, "--verify", "none", "-q", "-o", pairs], check=True)
    plain = run_json([intersect, corpus + ".tsv", pairs, "0.5", "--repeat", "1"])
    os.remove(pairs)
    report, out = dedup(bandmill, corpus, folder, "--threads", "1", "--pairs", "--kept", "no")
    shutil.rmtree(out)
    rate = report["counts"]["verified"] / report["run"]["verify_seconds"]
    if report["counts"]["edges"] != plain["edges"]:
        sys.exit(f"bandmill found {report['counts']['edges']} edges, the plain merge {plain['edges']}")
    return {
        "bandmill_pairs_per_second": round(rate),
        "plain_merge_pairs_per_second": round(plain["merge_pairs_per_second"]),
        "plain_merge_with_bound_pairs_per_second": round(plain["bounded_pairs_per_second"]),
        "ratio_to_merge": round(rate / plain["merge_pairs_per_second"], 3),
        "ratio_to_merge_with_bound": round(rate / plain["bounded_pairs_per_second"], 3),
        "pairs": plain["pairs"],
        "edges": plain["edges"],
        "note": "bandmill's seconds include sorting each set once; the plain program's do not",
    }


def main():
    bandmill, intersect, corpus, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        result = {
            "question": "adverts: file to verified groups, and verification against a plain merge",
            **measure.provenance(bandmill),
            "whole_job": whole_job(bandmill, corpus, folder),
            "verification_one_core": verification(bandmill, intersect, corpus, folder),
        }
    measure.write(out, result)
    print(json.dumps({k: result[k] for k in ("whole_job", "verification_one_core")}, indent=2))


if __name__ == "__main__":
    main()
