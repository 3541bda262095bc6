# SPDX-License-Identifier: Apache-2.0
"""bandmill, the Python package: bandmill.dedup of a list of texts, which verifies each pair exactly and forms groups, which count
as all their pairs; signatures by bandmill.sign. Words at single blanks, nothing normalised, as the others have them."""
import json

import adapter
import bandmill

SAME = {"words": "space", "normalize": "none", "shingle": f"word:{adapter.WORDS}", "device": "cpu"}


def sign(texts, job):
    with job.stage("sign"):  # shingles within
        return bandmill.sign(texts, perms=job.perms, threads=job.threads, **SAME).signatures


def pairs(job):
    texts = job.read()
    with job.stage("all"):
        found = bandmill.dedup(texts, threshold=job.threshold, perms=job.perms, bands=job.bands, rows=job.rows,
                               threads=job.threads, **SAME)
        kept = found.kept
    with open(found.path / "groups.jsonl", encoding="utf-8") as file:
        groups = [[int(name.rpartition(":")[2]) - 1 for name in json.loads(line)["members"]] for line in file]
    assert len(kept) == len(texts)
    return adapter.pairs_of_groups(groups)


if __name__ == "__main__":
    adapter.main("bandmill", sign, pairs)
