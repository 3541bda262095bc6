# SPDX-License-Identifier: Apache-2.0
"""dedup --verify contained against a model in Python: who goes, to whom, and why; and that nothing is removed of which the kept one has not enough.

The model makes sets, signatures and bands itself, walks the documents in the order of keeping and takes of those before one, kept, and
proposed by a band, the one that shares most; C times a number of shingles is a fraction. Random corpora in which texts are cropped, joined,
changed, copied and written on one template; C of 1 and less, every order of keeping, with and without known documents; the same bytes
from signatures, with other threads, batches and --memory, and of jobs that are killed twice. Of a bucket with more pairs than are looked
at: what the model would have found among its documents is no more than what is counted as not compared."""
import fractions
import json
import os
import random

import harness

np, xxhash = harness.need_modules("numpy", "xxhash")
import minhash_model
import test_lost
import text_model

HEADER = test_lost.HEADER
SHARES = ("1", "1", ".9", ".5", "0.75", "0.99", "0.333333333333333", "0.1")


def make_texts(rng, n, template):
    texts = [t.split() for t in test_lost.make_texts(rng, n)]
    base = [f"t{i}" for i in range(rng.randint(20, 60))]
    for i in range(n if template else 0):
        if rng.random() < 0.7:
            words = [w for w in base if rng.random() < 0.97]
            texts[i] = words + [f"u{rng.randrange(20)}" for _ in range(rng.randrange(6))]
    return [" ".join(words) for words in texts]


class World:
    def __init__(self, rng, folder, n):
        self.options = text_model.text_options(["lower"], kind=rng.choice(("word", "word", "char")), k=rng.choice((1, 2, 3)),
                                               bag=rng.random() < 0.2)
        self.rng = rng
        self.share = rng.choice(SHARES)
        self.exact_share = fractions.Fraction(self.share)
        texts = make_texts(rng, n + n // 2, rng.random() < 0.6)
        rng.shuffle(texts)
        self.names = [f"n{i}" for i in range(n)]
        self.known_names = [f"k{i}" for i in range(n // 2)]
        self.texts = dict(zip(self.names + self.known_names, texts))
        self.sequences = {name: tuple(text_model.sequence(text, self.options)) for name, text in self.texts.items()}
        self.sets = {name: text_model.elements(sequence, self.options) for name, sequence in self.sequences.items()}
        self.bands, self.rows = rng.choice(((64, 1), (32, 2), (16, 4), (20, 1)))
        a, b = minhash_model.coefficients(1, self.bands * self.rows)
        self.keys = {name: self.bands_of(elements, a, b) for name, elements in self.sets.items() if elements}
        self.new = test_lost.write(folder, "new.jsonl", "n", texts[:n])
        self.known = test_lost.write(folder, "known.jsonl", "k", texts[n:])
        self.keep = rng.choice((None, None, "first", "last", "longest", "shortest"))
        self.text = text_model.option_arguments(self.options)
        self.plan = ["--perms", self.bands * self.rows, "--bands", self.bands, "--rows", self.rows]
        self.how = ["--verify", "contained" if self.share == "1" and rng.random() < 0.5 else f"contained={self.share}",
                    *(["--keep", self.keep] if self.keep else [])]

    def bands_of(self, elements, a, b):
        words = minhash_model.signature([text_model.element_hash(e, xxhash.xxh3_64_intdigest) for e in elements], a, b).tolist()
        return {(band, *words[band * self.rows:(band + 1) * self.rows]) for band in range(self.bands)}

    def are_candidates(self, x, y):
        return not self.keys[x].isdisjoint(self.keys[y])

    def rank(self, name):
        place, length = self.names.index(name), len(self.texts[name].encode())
        return {None: (-len(self.sets[name]), -length, place), "first": (place,), "last": (-place,), "longest": (-length, place),
                "shortest": (length, place)}[self.keep]

    def holds(self, x, shared):
        return shared >= self.exact_share * len(self.sets[x])

    def walk(self, known_names):
        """{removed: (kept, reason)}, {known ones: their members}"""
        copies = {}
        for name in self.names:
            if self.sets[name]:
                copies.setdefault(self.sequences[name], []).append(name)
        order = sorted((min(group, key=self.rank) for group in copies.values()), key=self.rank)
        kept, removed = [], {}
        for name in order:
            best = (0, None)
            for other in known_names + kept:
                if not self.sets[other] or not self.are_candidates(name, other):
                    continue
                shared = len(self.sets[name] & self.sets[other])
                if self.holds(name, shared) and shared > best[0]:
                    best = (shared, other)
            group = copies[self.sequences[name]]
            if best[1] is None:
                kept.append(name)
                removed.update({copy: (name, "identical") for copy in group if copy != name})
            else:
                reason = "known" if best[1] in known_names else "contained"
                removed.update({copy: (best[1], reason) for copy in group})
        return removed

    def expected(self, known_names):
        removed = self.walk(known_names)
        rows, members = [], {}
        for line, name in enumerate(self.names, 1):
            if name not in removed:
                members.setdefault(name, []).append(name)
                continue
            kept, reason = removed[name]
            members.setdefault(kept, []).append(name)
            rows.append([name, kept, f"{text_model.jaccard(self.sets[name], self.sets[kept]):.6f}", reason, self.new, str(line),
                         str(len(self.sets[name] - self.sets[kept]))])
        groups = [{"kept": kept, "size": len(group), "members": group, **({"known": [kept]} if kept in known_names else {})}
                  for kept, group in members.items() if len(group) > 1 or kept in known_names]
        groups.sort(key=lambda group: self.names.index(group["members"][0]))
        return rows, [{"group": number, **group} for number, group in enumerate(groups, 1)]

    def pairs(self):
        """Rows of pairs.tsv."""
        rows, first, reps = [], {}, []
        for name in self.names:
            if not self.sets[name]:
                continue
            rep = first.setdefault(self.sequences[name], name)
            if rep != name:
                rows.append((rep, name, 1.0))
            else:
                reps.append(name)
        for i, x in enumerate(reps):
            for y in reps[i + 1:]:
                shared = len(self.sets[x] & self.sets[y])
                if (self.holds(x, shared) or self.holds(y, shared)) and self.are_candidates(x, y):
                    rows.append((x, y, text_model.jaccard(self.sets[x], self.sets[y])))
        place = {name: i for i, name in enumerate(self.names)}
        rows.sort(key=lambda row: (place[row[0]], place[row[1]]))
        return [[a, b, f"{j:.6f}"] for a, b, j in rows]


def first_difference(got, wanted):
    for i, (g, w) in enumerate(zip(got, wanted)):
        if g != w:
            return f"row {i}: {g}, expected {w}"
    return "" if len(got) == len(wanted) else f"{len(got)} rows, expected {len(wanted)}"


def check(bandmill, world, folder, more_devices):
    n, seen = [0], {"contained": 0, "identical": 0, "known": 0, "killed": 0}
    files = ("removed.tsv", "groups.jsonl", "sources.tsv", "kept.jsonl")

    def dedup(inputs, *more, known=False, like=None, kills=0):
        n[0] += 1
        out = os.path.join(folder, f"out-{n[0]}")
        for kill in range(kills):  # an untouched journal has 40 lines and more
            lines = world.rng.randint(40, 60 + len(world.names))
            words = ["dedup", *world.plan, *world.how, *more, "-o", out, inputs, "--device", "cpu", "--batch-docs", world.rng.randint(1, 9)]
            seen["killed"] += bandmill.kill(out, words + ["--resume"] * kill, lambda journal, most=lines: journal.count(b"\n") >= most)
        more = [*more, *["--resume"] * (kills > 0)]
        bandmill.run("dedup", *world.plan, *world.how, *more, "-o", out, inputs)
        rows, groups = world.expected(world.known_names if known else [])
        gone = [row[0] for row in rows]
        counts = {"removed": len(gone), "kept": len(world.names) - len(gone), "groups": len(groups), "known": [row[3] for row in rows].count("known"),
                  "removed_bytes": sum(len(world.texts[name].encode()) for name in gone),
                  "removed_shingles": sum(len(world.sets[name]) for name in gone), "lost_shingles": sum(int(row[6]) for row in rows)}
        got = harness.read_rows(harness.read_file(out, "removed.tsv"), HEADER)
        wrong = first_difference(got, rows) or first_difference(
            [json.loads(line) for line in harness.read_file(out, "groups.jsonl").splitlines()], groups) or harness.wrong_sources(
            out, [[world.new, len(world.names), len(gone)]])
        said = json.loads(harness.read_file(out, "report.json"))["counts"]
        if not wrong and {name: said.get(name, 0) for name in counts} != counts:
            wrong = f"{said}, expected {counts}"
        lines = dict(zip(world.names, harness.read_file(world.new).splitlines(True)))
        if not wrong and harness.read_file(out, "kept.jsonl") != b"".join(line for name, line in lines.items() if name not in gone):
            wrong = "kept.jsonl has not what was not removed"
        for name in files if like and not wrong else ():
            if harness.read_file(out, name) != harness.read_file(like, name):
                wrong = f"{name} is another than that of {like}"
        if not wrong and "--pairs" in more:
            wrong = first_difference(harness.read_rows(harness.read_file(out, "pairs.tsv"), ["id_a", "id_b", "jaccard"]), world.pairs())
        if wrong:
            raise ValueError(f"{' '.join(map(str, [*world.text, *world.plan, *world.how, *more]))}: {wrong}")
        for row in got:
            seen[row[3]] += 1
        return out

    plain = dedup(world.new, *world.text)
    dedup(world.new, *world.text, "--threads", 1, "--batch-docs", 7, like=plain)
    dedup(world.new, *world.text, "--threads", 8, "--pairs", like=plain)
    dedup(world.new, *world.text, "--threads", 2, "--memory", "24M", "--pairs", like=plain)
    dedup(world.new, *world.text, "--threads", 2, "--memory", "24M", like=plain)
    threads = world.rng.sample((1, 2, 8), 2)
    memory = world.rng.sample(([], ["--memory", "64M"]), 2)
    dedup(world.new, *world.text, "--threads", threads[0], *memory[0], like=plain, kills=2)
    for device in more_devices:
        dedup(world.new, *world.text, "--device", device, like=plain)
    signed, known, index = (os.path.join(folder, name) for name in ("signed", "known", "index"))
    for out, path in ((signed, world.new), (known, world.known)):
        bandmill.run("sign", *world.text, "--perms", world.bands * world.rows, "-o", out, path)
    bandmill.run("index", "build", index, *world.text, *world.plan, "--device", "cpu", world.known)
    dedup(signed, like=plain)
    against = dedup(world.new, *world.text, "--against", index, known=True)
    dedup(world.new, *world.text, "--against", index, "--threads", 2, "--memory", "24M", "--pairs", known=True, like=against)
    dedup(world.new, *world.text, "--against", known, known=True, like=against)
    dedup(world.new, *world.text, "--against", index, "--threads", threads[1], *memory[1], known=True, like=against, kills=2)
    dedup(signed, "--against", known, "--threads", 1, known=True, like=against)
    return seen


def crowded(bandmill, folder, rng):
    """1,500 documents in one bucket, few of which hold another: not all of its pairs are looked at."""
    options = text_model.text_options(["lower"], k=1)
    a, b = minhash_model.coefficients(1, 2)
    words = [f"w{i}" for i in range(60)]
    words.sort(key=lambda w: int(minhash_model.signature([text_model.element_hash(w.encode(), xxhash.xxh3_64_intdigest)], a, b)[0]))
    sets = set()
    while len(sets) < 1500:
        sets.add(frozenset([0, *rng.sample(range(1, 60), rng.randint(3, 9))]))  # the first word is the least of band 0
    sets = [sorted(s) for s in sorted(sets, key=sorted)]
    rng.shuffle(sets)
    path = test_lost.write(folder, "crowd.jsonl", "c", [" ".join(words[w] for w in s) for s in sets])
    matrix = np.zeros((len(sets), 60), dtype=np.int64)
    for i, s in enumerate(sets):
        matrix[i, s] = 1
    shared, sizes = matrix @ matrix.T, [len(s) for s in sets]
    lengths = [sum(len(words[w]) + 1 for w in s) for s in sets]
    order = sorted(range(len(sets)), key=lambda d: (-sizes[d], -lengths[d], d))
    place = {d: i for i, d in enumerate(order)}

    def wrong(rows, report):
        holder = {int(row[0][1:]): int(row[1][1:]) for row in rows}
        for row, (doc, kept) in zip(rows, holder.items()):
            if kept in holder or place[kept] > place[doc] or shared[doc, kept] * 4 < 3 * sizes[doc] or row[3] != "contained" or \
                    row[6] != str(sizes[doc] - shared[doc, kept]):
                return f"{row}"
        missed, kept = 0, []
        for doc in order:  # kept documents in their order: who holds more, or as much and comes before
            of = shared[doc, kept]
            had = shared[doc, holder[doc]] if doc in holder else 0
            before = kept.index(holder[doc]) if doc in holder else 0
            missed += int(((of > had) & (of * 4 >= 3 * sizes[doc])).sum() + (of[:before] == had).sum())
            if doc not in holder:
                kept.append(doc)
        counted = report["counts"]["not_compared"]
        return "" if 0 < missed <= counted else f"{missed} were missed, {counted} counted"

    def work():
        signed, first = os.path.join(folder, "signed"), None
        text = text_model.option_arguments(options)
        bandmill.run("sign", *text, "--perms", 2, "--device", "cpu", path, "-o", signed)
        for number, (inputs, more) in enumerate((([path, *text], ["--threads", 1]), ([path, *text], ["--threads", 8, "--batch-docs", 7]),
                                                 ([path, *text], ["--threads", 2, "--memory", "24M"]), ([signed], ["--threads", 2]))):
            out = os.path.join(folder, f"crowd-{number}")
            done = bandmill.run("dedup", *inputs, *more, "--perms", 2, "--bands", 2, "--rows", 1, "--verify", "contained=.75", "-o", out)
            report = json.loads(harness.read_file(out, "report.json"))
            got = harness.read_file(out, "removed.tsv"), report["counts"]["not_compared"]
            first = first or got
            if got != first or f"up to {got[1]} pairs in them were not compared" not in done.stderr.decode():
                return f"{more}: {got[1]} pairs, {done.stderr.decode()}"
        return wrong(harness.read_rows(first[0], HEADER), report)

    return work


def main():
    args = harness.arguments("dedup --verify contained against a model", ("--seed", {"type": int, "default": 20261124}),
                             ("--more-devices", {"default": "", "help": "devices beside the native CPU, by commas"}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    total = {"contained": 0, "identical": 0, "known": 0, "killed": 0}
    with np.errstate(over="ignore"):
        for number in range({"small": 4, "normal": 8, "full": 200}[args.size]):
            rng = random.Random(args.seed + number)
            with harness.scratch() as folder:
                world = World(rng, folder, rng.randint(20, 160))

                def work(world=world, folder=folder):
                    for name, more in check(bandmill, world, folder, [d for d in args.more_devices.split(",") if d]).items():
                        total[name] += more

                claims.attempt(f"{args.seed + number}: {' '.join(map(str, world.text + world.plan + world.how))}", work)
        with harness.scratch() as folder:
            claims.attempt("a bucket past its budget: what is missed is counted", crowded(bandmill, folder, random.Random(args.seed)))
    killed = total.pop("killed")
    claims.check(f"{total}, {killed} killed: all that there is was seen", min(total.values()) > 50 and killed > 3)
    claims.end()


if __name__ == "__main__":
    main()
