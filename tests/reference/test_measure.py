# SPDX-License-Identifier: Apache-2.0
"""Measures beside Jaccard against plain counting in Python.

  every pair    pairs --candidates all --threshold 0: every two documents that have shingles, zeros too, on random corpora
  contained     pairs --measure containment on five corpora, T from .1 to 1: what two sets share, by a product of sparse
                matrices (scipy), divided by the smaller one; who stands first, and the order of rows; the same bytes on 1, 2
                and 8 threads, with --memory 64M, and as JSON Lines
  query         query --measure containment between the even and the odd documents of these, from an index and from --targets:
                best first, then in order of insertion; --top, --skip-same-id, threads and memory; of an index that lost some
                documents; a line at a time
  filtered      the same of an index that has filters, built, added to, with removed documents, compacted: parts of its documents, all at
                once and a line at a time, at random thresholds
  edited        pairs --edit: a column of Levenshtein distances against the recurrence that defines them, of verses and of
                random texts of up to 2,000 different characters; standard input, a sample, memory, `cluster` of such a file
  runs          explain A B: the longest run of words, characters or bytes that two texts share, against the table of all places;
                its bytes, cut out of both texts, are these units

Shingles are made by text_model.py."""
import json
import os
import random

import harness

np, _ = harness.need_modules("numpy", "scipy")
from scipy import sparse

import text_model

TEXT = text_model.text_options(words="space", k=3)
OPTIONS = text_model.option_arguments(TEXT)
THRESHOLDS = [.1, .2, .3, .4, .5, .6, .7, .8, .9, 1]
DOCUMENTS = {"small": 150, "normal": 700, "full": None}


class Corpus:
    """Ids and texts, in a file of JSON Lines."""

    def __init__(self, name, folder, documents):
        self.name, self.path = name, os.path.join(folder, f"{name}.jsonl")
        self.ids, self.texts = [id_ for id_, _ in documents], [text for _, text in documents]
        with open(self.path, "w", encoding="utf-8") as file:
            for id_, text in documents:
                file.write(json.dumps({"id": id_, "text": text}) + "\n")
        self.sets = [text_model.elements(text_model.sequence(text, TEXT), TEXT) for text in self.texts]
        self.sizes = [len(s) for s in self.sets]

    def shared(self, rows, columns):
        """How many shingles documents `rows` and `columns` share: a sparse matrix."""
        numbers = {}
        matrices = []
        for chosen in (rows, columns):
            at = [numbers.setdefault(e, len(numbers)) for d in chosen for e in self.sets[d]]
            begins = np.cumsum([0] + [self.sizes[d] for d in chosen])
            matrices.append((np.ones(len(at), dtype=np.int32), at, begins))
        a, b = (sparse.csr_matrix(m, shape=(len(m[2]) - 1, max(1, len(numbers)))) for m in matrices)
        return (a @ b.T).tocoo()


def tsv(name, id_, text):
    path = harness.corpus_file(name, "docs.tsv.zst")
    lines = harness.unzstd(path).decode().split("\n") if path else []
    return [(line.split("\t")[id_], line.split("\t")[text]) for line in lines if line]


def jsonl(name):
    path = harness.corpus_file(name, "docs.jsonl.zst")
    return [(r["id"], r["text"]) for r in map(json.loads, harness.unzstd(path).splitlines())] if path else []


def articles():
    path = harness.corpus_file("minhash_articles", "articles_1000.train")
    lines = harness.read_file(path).decode().split("\n") if path else []
    return [tuple(line.split(" ", 1)) for line in lines if line]


def corpora(folder, size):
    """Five of them; as many documents of each as the size asks for, from all over it."""
    for name, documents in (("spdx_texts", tsv("spdx_texts", 0, 2)), ("scancode_rules", jsonl("scancode_rules")),
                            ("er_cddb", tsv("er_cddb", 0, 2)), ("oeb_us_uk", tsv("oeb_us_uk", 0, 2)),
                            ("minhash_articles", articles())):
        most = DOCUMENTS[size] or (6000 if name == "scancode_rules" else None)  # all of its pairs take Python more than 17 GB
        if most is not None and len(documents) > most:
            half = len(documents) // 2  # neighbours, which are alike in some, and documents that lie far apart
            documents = documents[:most // 2] + documents[half::(len(documents) - half) * 2 // most]
        yield Corpus(name, folder, documents)


# --- every pair ---

def random_documents(rng):
    pool = [f"w{i}" for i in range(rng.randint(3, 60))]
    documents = [(f"d{i}", " ".join(rng.choice(pool) for _ in range(rng.choice((0, 1, 2, 5, 30))))) for i in range(rng.randint(0, 40))]
    return documents + [(f"copy{i}", rng.choice(documents)[1]) for i in range(5) if documents]


def every_pair(claims, bandmill, folder, rng, rounds):
    def check():
        for number in range(rounds):
            c = Corpus(f"every{number}", folder, random_documents(rng))
            wanted = [[c.ids[a], c.ids[b], f"{text_model.jaccard(c.sets[a], c.sets[b]):.6f}"]
                      for a in range(len(c.ids)) for b in range(a + 1, len(c.ids)) if c.sets[a] and c.sets[b]]
            more = rng.choice(([], ["--threads", 2], ["--memory", "64M", "--threads", 8]))
            done = bandmill.run("pairs", c.path, *OPTIONS, "--candidates", "all", "--threshold", 0, *more)
            if harness.read_rows(done.stdout, ["id_a", "id_b", "jaccard"]) != wanted:
                return f"corpus {number}: {c.path}"
        return ""
    claims.attempt(f"threshold 0 lists every two documents that have shingles: {rounds} random corpora", check)


# --- containment ---

def contained_pairs(c, coo):
    """(contained, other, share) of every two of the least threshold, in the order of rows."""
    sizes = np.array(c.sizes)
    a, b = sizes[coo.row], sizes[coo.col]
    shares = coo.data / np.maximum(a, 1)
    some = ((a < b) | ((a == b) & (coo.row < coo.col))) & (shares >= THRESHOLDS[0])
    return sorted(zip(*(column[some].tolist() for column in (coo.row, coo.col, shares))))


def contained(claims, bandmill, c, all_shared):
    rows = contained_pairs(c, all_shared)
    header = ["id_a", "id_b", "containment"]

    def run(threshold, *more):
        return bandmill.run("pairs", c.path, *OPTIONS, "--measure", "containment", "--threshold", threshold, *more).stdout

    def check():
        for threshold in THRESHOLDS:
            wanted = [[c.ids[a], c.ids[b], f"{share:.6f}"] for a, b, share in rows if share >= threshold]
            if harness.read_rows(run(threshold), header) != wanted:
                return f"threshold {threshold}: {len(wanted)} rows are wanted"
        return ""

    def check_ways():
        first = run(.5, "--threads", 1)
        for more in (["--threads", 2], ["--threads", 8, "--memory", "64M"], ["--threads", 2, "--batch-docs", 7]):
            if run(.5, *more) != first:
                return " ".join(map(str, more))
        lines = [json.loads(line) for line in run(.5, "--json").splitlines()]
        if [[r["id_a"], r["id_b"], f"{r['containment']:.6f}"] for r in lines] != harness.read_rows(first, header):
            return "--json"
        return ""
    claims.attempt(f"{c.name}: pairs by containment, {len(rows)} of which one holds a tenth of the other, T from .1 to 1", check)
    claims.attempt(f"{c.name}: the same rows on other threads, within 64M, as JSON Lines", check_ways)


# --- queries ---

def wanted_answers(c, asked, targets, threshold, top, skip=()):
    """Rows for the documents of `asked`, which ask for those of `targets`."""
    rows = {}
    coo = c.shared(asked, targets)
    shares = coo.data / np.array([c.sizes[d] for d in asked])[coo.row]
    for q, t, share in zip(*(column[shares >= threshold].tolist() for column in (coo.row, coo.col, shares))):
        if targets[t] not in skip:
            rows.setdefault(q, []).append((-share, t))
    return [[c.ids[asked[q]], c.ids[targets[t]], f"{-share:.6f}"] for q in sorted(rows) for share, t in sorted(rows[q])[:top]]


def queries(claims, bandmill, c, folder):
    header = ["query", "target", "containment"]
    even, odd = list(range(0, len(c.ids), 2)), list(range(1, len(c.ids), 2))
    lines = harness.read_file(c.path).splitlines(True)
    paths = []
    for name, chosen in (("even", even), ("odd", odd)):
        paths.append(os.path.join(folder, f"{c.name}-{name}.jsonl"))
        with open(paths[-1], "wb") as file:
            file.writelines(lines[d] for d in chosen)
    targets, asked = paths
    index = os.path.join(folder, f"{c.name}-index")
    bandmill.run("index", "build", index, targets, *OPTIONS, "--device", "cpu")

    def run(threshold, *more):
        return bandmill.run("query", *more, asked, "--measure", "containment", "--threshold", threshold, expect=None).stdout

    def check():
        for threshold in THRESHOLDS:
            wanted = wanted_answers(c, odd, even, threshold, None)
            for more in ([index], ["--targets", targets, *OPTIONS, "--threads", 2]):
                if harness.read_rows(run(threshold, *more), header) != wanted:
                    return f"threshold {threshold} {more[0]}: {len(wanted)} rows are wanted"
        return ""

    def check_ways():
        wanted = wanted_answers(c, odd, even, .2, 3)
        for more in ([], ["--threads", 1], ["--threads", 8, "--memory", "64M"]):
            if harness.read_rows(run(.2, index, "--top", 3, *more), header) != wanted:
                return " ".join(map(str, ["--top", 3, *more]))
        follow = bandmill.run("query", index, "--follow", "--top", 3, "--measure", "containment", "--threshold", .2,
                              stdin=harness.read_file(asked), expect=None).stdout
        if [row for row in harness.read_rows(follow) if row != [""]] != wanted:
            return "--follow"
        own = bandmill.run("query", index, targets, "--measure", "containment", "--threshold", .3, "--skip-same-id", expect=None)
        if harness.read_rows(own.stdout, header) != [r for r in wanted_answers(c, even, even, .3, None) if r[0] != r[1]]:
            return "--skip-same-id"
        gone = even[::3]
        bandmill.run("index", "remove", index, *(c.ids[d] for d in gone))
        if harness.read_rows(run(.2, index), header) != wanted_answers(c, odd, even, .2, None, set(gone)):
            return "after some were removed"
        return ""
    claims.attempt(f"{c.name}: queries by containment, from an index and from --targets, T from .1 to 1", check)
    claims.attempt(f"{c.name}: the best of them on other threads, within 64M, a line at a time, without the own id", check_ways)


def filtered(claims, bandmill, folder, rng, rounds):
    vocabulary = [f"v{i}" for i in range(3000)]
    documents = [(f"d{i}", rng.choices(vocabulary, k=rng.choice((0, 5, 60, 400, 1500, 3000)))) for i in range(500)]
    n_targets = len(documents)
    for i in range(40):  # parts, some with other words among them, and some of which nobody has one
        words = rng.choice(documents[:n_targets])[1]
        begin = rng.randrange(len(words) + 1)
        part = [rng.choice(vocabulary) if rng.random() < .02 * (i % 5) else w for w in words[begin:begin + rng.choice((8, 30, 200, 2000))]]
        documents.append((f"q{i}", part if i % 10 else rng.choices(vocabulary, k=50)))
    c = Corpus("filtered", folder, [(id_, " ".join(words)) for id_, words in documents])
    lines = harness.read_file(c.path).splitlines(True)
    index, asked, first = os.path.join(folder, "filtered"), list(range(n_targets, len(documents))), list(range(330))
    there, gone = list(first), set()

    def part_of(name, numbers):
        path = os.path.join(folder, f"filtered-{name}.jsonl")
        with open(path, "wb") as file:
            file.writelines(lines[d] for d in numbers)
        return path
    questions = part_of("asked", asked)

    def add(begin, end):
        bandmill.run("index", "add", index, part_of(f"{begin}", range(begin, end)), "--device", "cpu")
        there.extend(range(begin, end))

    def remove(numbers):
        bandmill.run("index", "remove", index, *(c.ids[d] for d in numbers))
        gone.update(numbers)

    def step(claim, work):
        def check():
            work()
            for _ in range(rounds):
                threshold, top = round(rng.uniform(.1, 1), 2), rng.choice((0, 0, 1, 3))
                wanted = wanted_answers(c, asked, there, threshold, top or None, gone)
                options = ["--measure", "containment", "--threshold", threshold, *(["--top", top] if top else [])]
                together = bandmill.run("query", index, questions, *options, *rng.choice(([], ["--threads", 8, "--memory", "64M"])), expect=None)
                alone = bandmill.run("query", index, "--follow", *options, stdin=harness.read_file(questions), expect=None)
                for way, done in (("together", together), ("alone", alone)):
                    if [row for row in harness.read_rows(done.stdout) if row != [""]][way == "together":] != wanted:
                        return f"{way}: threshold {threshold}, top {top}: {len(wanted)} rows are wanted"
            few = bandmill.run("query", index, part_of("one", asked[1:2]), "--measure", "containment", "--threshold", .9, expect=None)
            if b"scanned" in few.stderr:
                return "the filters were not asked"
            return "" if bandmill.run("index", "check", index, expect=None).returncode == 0 else "index check"
        claims.attempt(f"filters, {claim}: {rounds} random thresholds", check)
    step("built", lambda: bandmill.run("index", "build", index, part_of("first", first), *OPTIONS, "--device", "cpu"))
    step("some removed", lambda: remove(rng.sample(first, 60)))
    step("a few added", lambda: add(330, 333))
    step("many added", lambda: add(333, n_targets))
    step("more removed", lambda: remove(range(400, 440)))
    step("compacted", lambda: bandmill.run("index", "compact", index))


# --- edit distances ---

def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


def random_texts(rng, n):
    texts = []
    for _ in range(n):
        symbols = [chr(c) for c in range(0x61, 0x7b)] + [" "] * 5 if rng.random() < .5 else [chr(0x4e00 + c) for c in range(2000)]
        text = [rng.choice(symbols) for _ in range(rng.choice((5, 80, 300)))]
        if texts and rng.random() < .7:
            text = list(rng.choice(texts))
            for _ in range(rng.choice((1, 5, 60))):
                at = rng.randrange(len(text) + 1)
                text[at:at + rng.randint(0, 3)] = rng.choice((["\U0001f600"], ["\n", "\t"], ["\u0301"], [rng.choice(symbols)] * 3))
        texts.append("".join(text))
    return texts


def edited(claims, bandmill, folder, rng, verses, size):
    n = {"small": 20, "normal": 60, "full": 300}[size]
    documents = [(f"r{i}", text) for i, text in enumerate(random_texts(rng, n))]
    documents += list(zip(verses.ids, verses.texts))[:3 * n] if verses else []
    c = Corpus("edited", folder, documents)
    texts = dict(documents)
    header = ["id_a", "id_b", "jaccard", "edit"]
    known = {}

    def wrong(rows):
        for a, b, _, distance in rows:
            wanted = known.setdefault((a, b), levenshtein(texts[a], texts[b]))
            if distance != str(wanted):
                return f"{a} {b}: {distance}, {wanted} is wanted"
        return ""

    def check():
        options = ["--shingle", "char:3", "--candidates", "all", "--threshold", .3]
        plain = bandmill.run("pairs", c.path, *options).stdout
        done = bandmill.run("pairs", c.path, *options, "--edit").stdout
        rows = harness.read_rows(done, header)
        if [row[:3] for row in rows] != harness.read_rows(plain)[1:] or len(rows) < n / 2:
            return f"{len(rows)} rows"
        for more in (["--threads", 1], ["--threads", 8, "--memory", "64M"]):
            if bandmill.run("pairs", c.path, *options, "--edit", *more).stdout != done:
                return " ".join(map(str, more))
        stdin = bandmill.run("pairs", "-", *options, "--edit", stdin=harness.read_file(c.path)).stdout
        sample = harness.read_rows(bandmill.run("pairs", c.path, *options, "--edit", "--sample", n).stdout, header)
        path = os.path.join(folder, "edited.tsv")
        with open(path, "wb") as file:
            file.write(done)
        groups = bandmill.run("cluster", path).stdout
        with open(path, "wb") as file:
            file.write(plain)
        return wrong(rows) or wrong(sample) or ("" if stdin == done else "standard input") or (
            "" if groups == bandmill.run("cluster", path).stdout else "cluster")
    claims.attempt(f"edit distances of {len(c.ids)} texts are those of the recurrence", check)


# --- the longest common run ---

def longest_run(a, b):
    """(length, first place in a, first in b)."""
    best, row = (0, 0, 0), [0] * (len(b) + 1)
    for i in range(len(a) - 1, -1, -1):
        corner = 0
        for j in range(len(b)):
            corner = row[j + 1]
            row[j] = corner + 1 if a[i] == b[j] else 0
        best = max(best, max(((row[j], -i, -j) for j in range(len(b))), default=best))
    return best[0], -best[1], -best[2]


def runs(claims, bandmill, folder, rng, rounds):
    forms = [text_model.text_options({"lower"}, k=2), text_model.text_options({"lower", "nfc", "strip-accents"}, k=2),
             text_model.text_options({"nfkc", "punct"}, kind="char", k=3), text_model.text_options(words="space", k=2),
             text_model.text_options({"nfc"}, kind="byte", k=4), text_model.text_options({"digits", "nfkc", "lower"}, words="space", k=1)]
    pool = ["one", "Two", "\u00e9t\u00e9", "e\u0301te\u0301", "\u65e5\u672c", "\ufb01n", "\u1100\u1161\u11a8", "\u0441\u043b\u043e\u0432\u043e", "4\u0662", "a-b", "q\u0323\u0301"]

    def check():
        for number in range(rounds):
            options = forms[number % len(forms)]
            base = [rng.choice(pool) for _ in range(rng.randint(8, 30))]
            other = list(base)
            for _ in range(rng.randint(1, 5)):
                other[rng.randrange(len(other))] = rng.choice(pool)
            texts = [" ".join(base), "  ".join(other[rng.randint(0, 3):])]
            path, out = os.path.join(folder, f"run{number}.jsonl"), os.path.join(folder, f"run{number}")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in zip("ab", texts))
            arguments = text_model.option_arguments(options)
            bandmill.run("dedup", path, *arguments, "--threshold", .01, "--bands", 128, "--rows", 1, "-o", out)
            done = bandmill.run("explain", out, "a", "b", "--json", expect=None)
            if done.returncode != 0:
                continue  # nothing in common
            run = json.loads(done.stdout)["run"]
            units = [text_model.units(text, options)[0] for text in texts]
            n, at_a, at_b = longest_run(*units)
            if run["units"] != n:
                return f"{number}: {run['units']} units, {n} are wanted"
            data = texts[0].encode()[slice(*run["a"])]
            if run["text"].encode() != data:
                return f"{number}: the text is not that of its bytes"
            if options["kind"] == "byte":
                continue
            for text, place, at, all_units in zip(texts, (run["a"], run["b"]), (at_a, at_b), units):
                before = text_model.units(text.encode()[:place[0]].decode(), options)[0]
                inside = text_model.units(text.encode()[slice(*place)].decode(), options)[0]
                if options["kind"] == "word" and (inside != all_units[at:at + n] or len(before) != at):
                    return f"{number}: {place} of {text!r} are other units"
        return ""
    claims.attempt(f"the longest common run of two texts and its bytes: {rounds} pairs", check)


def main():
    args = harness.arguments(__doc__, ("--seed", {"type": int, "default": 20261124}))
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    rng = random.Random(args.seed)
    print(f"seed {args.seed}")
    verses = None
    with harness.scratch() as folder:
        every_pair(claims, bandmill, folder, rng, {"small": 10, "normal": 40, "full": 200}[args.size])
        for c in corpora(folder, args.size):
            if not c.ids:
                continue
            everything = range(len(c.ids))
            contained(claims, bandmill, c, c.shared(everything, everything))
            queries(claims, bandmill, c, folder)
            verses = c if c.name == "oeb_us_uk" else verses
        filtered(claims, bandmill, folder, rng, {"small": 2, "normal": 5, "full": 60}[args.size])
        edited(claims, bandmill, folder, rng, verses, args.size)
        runs(claims, bandmill, folder, rng, {"small": 30, "normal": 120, "full": 600}[args.size])
    claims.end()


main()
