# SPDX-License-Identifier: Apache-2.0
"""datatrove itself over `bandmill export --to datatrove`: its stages 2 to 4 make the same groups as `dedup --verify none` with
the same bands, and remove exactly the same documents wherever datatrove keeps a group's first.

Which of a group datatrove keeps is the root of its union by size, whatever the order: where all members of a group share one
band (copies; pairs) that is the first, as for us; in a chain it may be another one. So one corpus of copies and pairs is
compared document for document, and one with chains group for group.

--documents N: a larger corpus, by hand."""
import contextlib
import json
import os
import random
import struct

import harness

harness.need_modules("datatrove", "regex", "tokenizers")
os.environ.setdefault("LOGURU_LEVEL", "ERROR")
from loguru import logger  # noqa: E402

logger.remove()
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter  # noqa: E402
from datatrove.pipeline.dedup.minhash import MinhashConfig  # noqa: E402
from datatrove.pipeline.readers import JsonlReader  # noqa: E402
from datatrove.utils.hashing import HashConfig  # noqa: E402

BANDS, ROWS, FILES = 5, 4, 3


def make_text(rng, n):
    return [rng.choice("abcdefghijklmnopqrstuvwxyz") + str(rng.randrange(1000)) for _ in range(n)]


def make_corpus(rng, n, chains):
    """Texts: alone, copies, near pairs; with `chains`, also members that are each near the one before. Some are empty."""
    texts = []
    while len(texts) < n:
        words = make_text(rng, rng.randrange(30, 80))
        kind = rng.randrange(5)
        texts.append(" ".join(words))
        if kind == 0:
            texts += [" ".join(words)] * rng.randrange(1, 5)
        elif kind == 1 or kind == 2 and chains:
            for _ in range(1 if kind == 1 else rng.randrange(2, 8)):
                words = list(words)
                words[rng.randrange(len(words))] = rng.choice(make_text(rng, 1))
                texts.append(" ".join(words))
        elif kind == 3 and rng.randrange(4) == 0:
            texts.append("")
    rng.shuffle(texts)
    return texts


class Corpus:
    """Files of JSON Lines, and each document as (file, number of the document in datatrove's counting)."""

    def __init__(self, folder, texts):
        self.folder = os.path.join(folder, "input")
        os.makedirs(self.folder)
        self.numbers, self.ids = {}, {}
        for file in range(FILES):
            with open(os.path.join(self.folder, f"{file}.jsonl"), "w") as out:
                number = 0
                for i in range(file, len(texts), FILES):
                    out.write(json.dumps({"id": f"d{i}", "text": texts[i]}) + "\n")
                    if texts[i]:
                        self.numbers[f"d{i}"] = (file, number)
                        self.ids[file, number] = f"d{i}"
                        number += 1


def run_datatrove(corpus, signatures, folder, precision):
    """(groups as sets of ids, the ids that stage 4 leaves)."""
    config = MinhashConfig(num_buckets=BANDS, hashes_per_bucket=ROWS, hash_config=HashConfig(precision=precision))
    buckets, removed = os.path.join(folder, "buckets"), os.path.join(folder, "remove_ids")
    stage2 = MinhashDedupBuckets(signatures, buckets, config=config, lines_to_buffer=1000)
    for rank in range(BANDS):
        stage2.run(None, rank, BANDS)
    MinhashDedupCluster(buckets, removed, config=config, save_cluster_id=True).run(None, 0, 1)
    groups, kept = {}, set()
    for rank in range(FILES):
        path = os.path.join(removed, f"{rank:06d}.clusters")
        data = harness.read_file(path) if os.path.exists(path) else b""
        for number, group in struct.iter_unpack("<2I", data):
            groups.setdefault(group, set()).add(corpus.ids[rank, number])
        reader = JsonlReader(corpus.folder)
        kept |= {d.id for d in MinhashDedupFilter(removed).run(reader.run(None, rank, FILES), rank, FILES)}
    return {frozenset(g) for g in groups.values()}, kept


def compare(claims, program, texts, what, exact, scheme=None, precision=32):
    with harness.scratch() as folder:
        corpus = Corpus(folder, texts)
        signed, exported, ours = (os.path.join(folder, name) for name in ("signed", "exported", "ours"))
        plan = ["--bands", BANDS, "--rows", ROWS]
        program.run("sign", corpus.folder, "-o", signed, *plan, *(scheme or []))
        program.run("export", signed, "--to", "datatrove", "-o", exported)
        program.run("dedup", signed, "-o", ours, "--verify", "none", *plan)
        groups = {frozenset(json.loads(line)["members"]) for line in harness.read_file(ours, "groups.jsonl").splitlines()}
        removed = {row[0] for row in harness.read_rows(harness.read_file(ours, "removed.tsv"))[1:]}
        with open(os.devnull, "w") as null, contextlib.redirect_stderr(null):
            theirs, kept = run_datatrove(corpus, os.path.join(exported, "signatures"), folder, precision)
        gone = set(corpus.numbers) - kept
        claims.check(f"{what}: the same {len(groups)} groups", groups == theirs and len(groups) > 3,
                     f"{len(groups - theirs)} are ours alone, {len(theirs - groups)} datatrove's")
        claims.check(f"{what}: one of each group is kept", len(gone) == len(removed)
                     and all(len(g - gone) == 1 for g in groups) and gone <= set().union(*groups))
        if exact:
            claims.check(f"{what}: exactly the same {len(removed)} documents are removed", gone == removed,
                         sorted(gone ^ removed)[:6])


def main():
    args = harness.arguments(__doc__, ("--documents", {"type": int, "default": 600}))
    claims, rng = harness.Claims(), random.Random(5)
    program = harness.Program(args.program, args.server)
    compare(claims, program, make_corpus(rng, args.documents, False), "copies and pairs", True)
    compare(claims, program, make_corpus(rng, args.documents, True), "chains", False)
    compare(claims, program, make_corpus(rng, args.documents, False), "words of 64 bits", True,
            ["--scheme", "datatrove", "--hash", "xxh64"], 64)
    claims.end()


if __name__ == "__main__":
    main()
