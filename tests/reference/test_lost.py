# SPDX-License-Identifier: Apache-2.0
"""What is lost with the removed documents: `lost` of removed.tsv against a count of sets in Python, and its sums in the report.

Random corpora in which texts are cropped, joined, changed and copied, under random text options and both ways to cluster; the same rows from
documents, from signatures, with other threads, batches and --memory, and with known documents of an index or a directory, whose sets are
counted as well. Where no sets are compared, or their elements have weights, the column is empty and the sum is not there."""
import json
import os
import random

import harness

harness.need_modules("numpy", "xxhash")
import text_model

HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]
SUMS = ("removed_bytes", "removed_shingles", "lost_shingles")


def make_texts(rng, n):
    """Texts of words of a few letters; most are a relative of an earlier one."""
    texts = []
    while len(texts) < n:
        words = list(rng.choice(texts)) if texts and rng.random() < 0.7 else \
            [rng.choice("abcdefgh") + str(rng.randrange(30)) for _ in range(rng.randint(1, 60))]
        kind = rng.randrange(5)
        if kind == 0:
            words = words[:rng.randint(len(words) // 2, len(words))]
        elif kind == 1:
            words = words + [f"x{rng.randrange(30)}" for _ in range(rng.randint(1, 8))]
        elif kind == 2:
            words = words + words[:rng.randint(0, len(words))]
        elif kind == 3:
            for _ in range(rng.randint(1, 3)):
                if words:
                    words[rng.randrange(len(words))] = f"y{rng.randrange(9)}"
        texts.append(words)
    return [" ".join(words) for words in texts]


def write(folder, name, prefix, texts):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"id": f"{prefix}{i}", "text": text}) + "\n")
    return path


class World:
    """New documents and known ones, and the set of each."""

    def __init__(self, rng, folder, n):
        self.options = text_model.text_options(["lower"], kind=rng.choice(("word", "word", "char")), k=rng.choice((1, 2, 3, 5)),
                                               bag=rng.random() < 0.3)
        texts = make_texts(rng, 2 * n)
        rng.shuffle(texts)
        self.texts = dict([(f"n{i}", t) for i, t in enumerate(texts[:n])] + [(f"k{i}", t) for i, t in enumerate(texts[n:])])
        self.sets = {name: text_model.elements(text_model.sequence(text, self.options), self.options) for name, text in self.texts.items()}
        self.new, self.known = write(folder, "new.jsonl", "n", texts[:n]), write(folder, "known.jsonl", "k", texts[n:])
        self.arguments = text_model.option_arguments(self.options)
        self.plan = ["--threshold", rng.choice((0.4, 0.6, 0.8)), "--bands", 32, "--rows", rng.choice((1, 2))]
        self.cluster = rng.choice(("components", "star"))

    def wrong(self, out, sets_were_read=True):
        """What is wrong with the rows and the report of a result; empty: nothing."""
        rows = harness.read_rows(harness.read_file(out, "removed.tsv"), HEADER)
        for row in rows:
            lost = str(len(self.sets[row[0]] - self.sets[row[1]])) if sets_were_read else ""
            if row[6] != lost:
                return f"{row}, expected {lost!r}"
        counts = json.loads(harness.read_file(out, "report.json"))["counts"]
        wanted = {"removed_bytes": sum(len(self.texts[row[0]].encode()) for row in rows)}
        if sets_were_read:
            wanted["removed_shingles"] = sum(len(self.sets[row[0]]) for row in rows)
            wanted["lost_shingles"] = sum(int(row[6]) for row in rows)
        elif "lost_shingles" in counts:
            return "lost_shingles is there"
        got = {name: counts.get(name) for name in wanted}
        return "" if got == wanted else f"{got}, expected {wanted}"


def check(bandmill, world, folder):
    n, done = [0], {"rows": 0, "chained": 0}

    def dedup(inputs, *more, like=None, **how):
        n[0] += 1
        out = os.path.join(folder, f"out-{n[0]}")
        bandmill.run("dedup", *more, "--cluster", world.cluster, "-o", out, inputs)
        wrong = world.wrong(out, **how)
        if not wrong and like and harness.read_file(out, "removed.tsv") != harness.read_file(like, "removed.tsv"):
            wrong = f"other rows than {like}"
        if wrong:
            raise ValueError(f"dedup {' '.join(map(str, more))} {inputs}: {wrong}")
        for row in harness.read_rows(harness.read_file(out, "removed.tsv"), HEADER):
            done["rows"] += 1
            done["chained"] += row[3] == "chained"
        return out

    text, plan = world.arguments, world.plan
    plain = dedup(world.new, *text, *plan)
    dedup(world.new, *text, *plan, "--threads", 1, "--batch-docs", 7, like=plain)
    dedup(world.new, *text, *plan, "--threads", 8, like=plain)
    dedup(world.new, *text, *plan, "--threads", 2, "--memory", "24M", like=plain)
    dedup(world.new, *text, *plan, "--pairs", "--keep", "longest")
    signed, known, index = (os.path.join(folder, name) for name in ("signed", "known", "index"))
    for out, path in ((signed, world.new), (known, world.known)):
        bandmill.run("sign", *text, "--perms", 64, "-o", out, path)
    bandmill.run("index", "build", index, *text, *plan, "--perms", 64, "--device", "cpu", world.known)
    dedup(signed, *plan, "--verify", "exact", like=plain)
    against = dedup(world.new, *text, *plan, "--perms", 64, "--against", index)
    dedup(world.new, *text, *plan, "--perms", 64, "--against", known, "--verify", "exact", like=against)
    dedup(signed, *plan, "--against", known, "--verify", "exact", "--threads", 2, "--memory", "24M", like=against)
    for verify in ("signature", "none"):
        dedup(world.new, *text, *plan, "--perms", 64, "--verify", verify, sets_were_read=False)
        dedup(signed, *plan, "--verify", verify, sets_were_read=False)
    if not world.options["bag"]:
        dedup(world.new, *text, *plan, "--weights", "tfidf", sets_were_read=False)
    return done


def main():
    args = harness.arguments("lost shingles against sets in Python", ("--seed", {"type": int, "default": 20261124}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    total = {"rows": 0, "chained": 0}
    for number in range({"small": 2, "normal": 6, "full": 200}[args.size]):
        rng = random.Random(args.seed + number)
        with harness.scratch() as folder:
            world = World(rng, folder, rng.randint(30, 150))

            def work(world=world, folder=folder):
                for name, more in check(bandmill, world, folder).items():
                    total[name] += more

            claims.attempt(f"{args.seed + number}: {' '.join(map(str, world.arguments + world.plan))} {world.cluster}", work)
    claims.check(f"{total['rows']} rows, {total['chained']} of them chained: all that there is was seen", min(total.values()) > 100)
    claims.end()


if __name__ == "__main__":
    main()
