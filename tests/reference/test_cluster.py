# SPDX-License-Identifier: Apache-2.0
"""`cluster` beside the report of the `dedup --pairs` that wrote its file, against `dedup` itself.

Random corpora of families: each document a copy of another with a few words changed, in another order (the same set, another
document), or the very same; in any order of the input. For each verification, threshold and clustering of the job:

  jobs of components  at every threshold from the job's on, components and stars, first and last: `cluster` writes the bytes
                      of the groups.jsonl that `dedup` writes there; its table has the counts of those.
  jobs of stars       the first is kept: the same groups with the same kept document. The last: refused.
  without a report    a warning, and groups of documents in the order of their first appearance.
  --against           refused: pairs with known documents are not in the file.

And licence texts (scancode_rules), where a tenth of the documents are copies. A seed is printed; --seed gives it back."""
import itertools
import json
import os
import random
import shutil

import harness

OPTIONS = ["--shingle", "word:1", "--perms", 64, "--bands", 64, "--rows", 1]
JOBS = [(verify, cluster) for verify in ("exact", "signature", "none") for cluster in ("components", "star")]
WAYS = list(itertools.product(("components", "star"), ("first", "last")))
THRESHOLDS = (0.3, 0.5, 0.6, 0.75, 0.9, 1)


def make_corpus(path, rng):
    docs = []
    for family in range(rng.randint(3, 8)):
        words, mine = [f"{family}.{i}" for i in range(rng.randint(4, 16))], []
        for i in range(rng.randint(1, 14)):
            doc = list(rng.choice(mine)) if mine else words
            kind = rng.randrange(4) if mine else 0
            if kind == 1:
                rng.shuffle(doc)
            elif kind > 1:
                for at in rng.sample(range(len(doc)), min(len(doc), rng.randint(1, 4))):
                    doc[at] = f"{family}.{i}.{at}"
            mine.append(doc)
        docs += mine
    rng.shuffle(docs)
    names = rng.sample(range(1000), len(docs))
    with open(path, "w", encoding="utf-8") as file:
        for name, words in zip(names, docs):
            file.write(json.dumps({"id": f"n\t{name}", "text": " ".join(words)}) + "\n")


def groups_of(data):
    return {(group["kept"], frozenset(group["members"])) for group in map(json.loads, data.decode().splitlines())}


class Truth:
    """What `dedup` makes of a corpus, asked once for each way."""

    def __init__(self, bandmill, folder, path, options):
        self.bandmill, self.folder, self.path, self.options, self.found = bandmill, folder, path, options, {}

    def dedup(self, out, *more):
        target = os.path.join(self.folder, out)
        shutil.rmtree(target, ignore_errors=True)
        self.bandmill.run("dedup", *self.options, *more, "--kept", "no", "-q", "-o", target, self.path)
        return target

    def groups(self, verify, threshold, cluster, keep):
        way = verify, threshold, cluster, keep
        if way not in self.found:
            target = self.dedup("truth", "--verify", verify, "--threshold", threshold, "--cluster", cluster, "--keep", keep)
            self.found[way] = harness.read_file(target, "groups.jsonl")
        return self.found[way]


def counts_of(groups):
    sizes = [group["size"] for group in map(json.loads, groups.decode().splitlines())]
    return [str(len(sizes)), str(max(sizes, default=0)), str(sum(sizes) - len(sizes))]


def wrong_ways(bandmill, truth, pairs, job, thresholds):
    """Ways in which `cluster` differs from `dedup`, of the pairs of a job."""
    verify, job_cluster = job
    wrong = []
    for cluster, keep in WAYS:
        ask = ["cluster", "--cluster", cluster, "--keep", keep, "-q"]
        if job_cluster == "star" and keep == "last":
            if b"which document is the last" not in bandmill.run(*ask, pairs, expect=2).stderr:
                wrong.append((cluster, keep, "not refused"))
            continue
        wanted = [truth.groups(verify, threshold, cluster, keep) for threshold in thresholds]
        for threshold, groups in zip(thresholds, wanted):
            done = bandmill.run(*ask, "--threshold", threshold, pairs)
            same = done.stdout == groups if job_cluster == "components" else groups_of(done.stdout) == groups_of(groups)
            if not same or done.stderr:
                wrong.append((cluster, keep, threshold, done.stderr))
        table = bandmill.run(*ask, "--threshold", ",".join(map(str, thresholds)), pairs).stdout
        if [row[2:] for row in harness.read_rows(table)[1:]] != list(map(counts_of, wanted)):
            wrong.append((cluster, keep, "table"))
    return wrong[:3]


def check_corpus(claims, bandmill, folder, number, rng):
    path = os.path.join(folder, "corpus.jsonl")
    make_corpus(path, rng)
    truth = Truth(bandmill, folder, path, OPTIONS)
    for verify, cluster in JOBS:
        low = rng.choice(THRESHOLDS[:2])
        keep = rng.choice(("first", "last", "longest"))
        target = truth.dedup("job", "--pairs", "--verify", verify, "--threshold", low, "--cluster", cluster, "--keep", keep)
        thresholds = [t for t in THRESHOLDS if t >= low]
        claims.attempt(f"corpus {number}: --verify {verify} --cluster {cluster} --keep {keep} from {low} on", lambda:
                       wrong_ways(bandmill, truth, os.path.join(target, "pairs.tsv"), (verify, cluster), thresholds))


def check_licences(claims, bandmill, folder):
    docs = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    if not docs:
        return
    path = os.path.join(folder, "licences.jsonl")
    with open(path, "wb") as file:
        file.write(harness.unzstd(docs))
    truth = Truth(bandmill, folder, path, ["--bands", 25, "--rows", 5, "--perms", 128])
    for cluster in ("components", "star"):
        target = truth.dedup("job", "--pairs", "--threshold", 0.7, "--cluster", cluster)
        claims.attempt(f"scancode_rules: pairs of --cluster {cluster} from 0.7 on", lambda: wrong_ways(
            bandmill, truth, os.path.join(target, "pairs.tsv"), ("exact", cluster), [0.7, 0.85]))


def wrong_by_hand(bandmill, folder):
    """Five documents, of which 1 and 2 are alike to 5 and not to each other; 3 and 4 copies of 2."""
    path = os.path.join(folder, "hand.jsonl")
    texts = {"1": "a b c d x y z", "2": "c d x y z p q", "3": "c d x y z p q", "4": "c d x y z p q", "5": "b c d x y z p"}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    truth = Truth(bandmill, folder, path, OPTIONS + ["--threshold", 0.7])
    pairs = os.path.join(truth.dedup("hand", "--pairs"), "pairs.tsv")
    said = harness.read_rows(harness.read_file(pairs))[1:]
    if said != [["1", "5", "0.750000"], ["2", "3", "1.000000"], ["2", "4", "1.000000"], ["2", "5", "0.750000"]]:
        return said
    ask = ["cluster", "--cluster", "star", "--keep", "last"]
    if groups_of(bandmill.run(*ask, pairs).stdout) != {("5", frozenset("12345"))}:
        return "beside its report the last of the five is not the centre"
    alone = shutil.copy(pairs, os.path.join(folder, "alone.tsv"))
    done = bandmill.run(*ask, alone)
    if b"no report of dedup beside it" not in done.stderr:
        return "no warning without a report"
    if groups_of(done.stdout) != {("4", frozenset("24")), ("5", frozenset("15"))}:
        return done.stdout
    if b"no report" in bandmill.run("cluster", "--threshold", ".7,.8", alone).stderr:
        return "a warning where the order makes no difference"
    if b"no pairs below 0.7 were written" not in bandmill.run("cluster", "--threshold", ".6", pairs).stderr:
        return "no warning below the threshold of the job"
    known = os.path.join(folder, "known")
    bandmill.run("sign", *OPTIONS, "-q", "-o", known, path)
    new = os.path.join(folder, "new.jsonl")
    with open(new, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": "n" + name, "text": text}) + "\n" for name, text in texts.items())
    against = os.path.join(folder, "against")
    bandmill.run("dedup", *OPTIONS, "--threshold", 0.7, "--against", known, "--pairs", "-q", "-o", against, new)
    done = bandmill.run("cluster", os.path.join(against, "pairs.tsv"), expect=2)
    return "" if b"known documents" in done.stderr else done.stderr


def main():
    args = harness.arguments("cluster against dedup", ("--seed", {"type": int, "default": None}))
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(seed)
    with harness.scratch() as folder:
        claims.attempt("five documents by hand", lambda: wrong_by_hand(bandmill, folder))
        for number in range({"small": 1, "normal": 6, "full": 100}[args.size]):
            check_corpus(claims, bandmill, folder, number, rng)
        if args.size != "small":
            check_licences(claims, bandmill, folder)
    claims.end()


if __name__ == "__main__":
    main()
