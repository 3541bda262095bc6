#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""two_builds.py BANDMILL BASE DOCUMENTS.jsonl OUT.json [UDHR.zip] -- what does a build cost beside an earlier one?

`sign` and `dedup` of DOCUMENTS, on one thread and on two, and, where the archive of the Universal Declaration of Human Rights is named, `sign`
of 30 MB of six sorts of text that are not ASCII (make_foreign.py). The two programs take turns; a ratio is BANDMILL's processor seconds by
BASE's, of the medians and of the best rounds. A change that costs less than two rounds differ is not seen: the same build named twice says how
much that is."""

import json
import os
import subprocess
import sys
import tempfile

import measure

ROUNDS = 9
SORTS = {"accents": "fra,ces,vie", "greek": "ell_monotonic", "cyrillic": "rus,ukr", "chinese": "cmn_hans", "arabic": "arb,pes_1", "thai": "tha"}


def main():
    program, base, documents, out = sys.argv[1:5]
    with tempfile.TemporaryDirectory(dir=measure.scratch_folder()) as folder:
        target = os.path.join(folder, "out")
        jobs = {f"{command}_{threads}": [command, documents, "--threads", threads] for command in ("sign", "dedup") for threads in ("1", "2")}
        for sort, languages in SORTS.items() if len(sys.argv) > 5 else ():
            texts = os.path.join(folder, f"{sort}.tsv")
            subprocess.run([sys.executable, os.path.join(measure.ROOT, "bench/make_foreign.py"), sys.argv[5], texts, "--bytes", "30000000",
                            "--languages", languages], check=True, stdout=subprocess.DEVNULL)
            jobs[f"sign_{sort}"] = ["sign", texts, "--id-field", "1", "--text-field", "2", "--threads", "1"]
        runs = measure.alternate({f"{job} {name}": ([path, *options, "--device", "cpu", "-q", "-o", target], measure.remove(target))
                                  for job, options in jobs.items() for name, path in (("bandmill", program), ("base", base))}, ROUNDS)
    result = {"question": "what does a build cost beside an earlier one?", **measure.provenance(program),
              "base": measure.output_of([base, "--version"]).splitlines()[:6],
              "cpu_seconds": {name: measure.summary(of, "cpu_seconds") for name, of in runs.items()}}
    of = result["cpu_seconds"]
    result["ratio"] = {job: {which: round(of[f"{job} bandmill"][which] / of[f"{job} base"][which], 3) for which in ("median", "min")} for job in jobs}
    measure.write(out, result)
    print(json.dumps(result["ratio"], indent=2))


if __name__ == "__main__":
    main()
