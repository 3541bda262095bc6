# SPDX-License-Identifier: Apache-2.0
"""dolma_job.py -- dolma's Bloom filter over paragraphs, as the comparisons of this folder run it: the command `dolma dedupe`.

`dolma` must be on PATH (pip install dolma lxml_html_clean). Paragraphs are lines, as its default has them. A span is [from, to, share] in code
points of the text, where `share` is the part of the line's n-grams that the filter had seen.
"""
import gzip
import json
import os
import shutil

import measure


def there():
    return shutil.which("dolma") is not None


def write(folder, name, rows):
    """The rows (id, text) as dolma reads them."""
    os.makedirs(os.path.join(folder, "documents"), exist_ok=True)
    with gzip.open(os.path.join(folder, "documents", name + ".jsonl.gz"), "wt", encoding="utf-8", compresslevel=1) as file:
        for id_, text in rows:
            file.write(json.dumps({"id": id_, "text": text, "source": "bench"}) + "\n")


def run(folder, name, *, units, read_only, ngram=None, threshold=1.0):
    """Passes `documents/NAME.jsonl.gz` over the filter of the folder: ({id: [span]}, the run as measure has it)."""
    paragraphs = {"attribute_name": "seen"}
    if ngram:
        paragraphs["by_ngram"] = {"ngram_length": ngram, "stride": 0, "overlap_threshold": threshold, "skip_short_paragraphs": False}
    config = {"documents": [os.path.join(folder, "documents", name + ".jsonl.gz")], "processes": 1,
              "dedupe": {"name": name, "paragraphs": paragraphs, "skip_empty": True},
              "bloom_filter": {"file": os.path.join(folder, "filter.bin"), "read_only": read_only, "estimated_doc_count": max(units, 1000),
                               "desired_false_positive_rate": 1e-5},
              "work_dir": {"input": os.path.join(folder, "in"), "output": os.path.join(folder, "out")}}
    path = os.path.join(folder, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    result = measure.run_once(["dolma", "-c", path, "dedupe"])
    with gzip.open(os.path.join(folder, "attributes", name, name + ".jsonl.gz"), "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["id"]: row["attributes"].get("seen", []) for row in rows}, result
