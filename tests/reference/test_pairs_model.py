# SPDX-License-Identifier: Apache-2.0
"""Small random corpora under all text options against a model of cli.md in plain Python: sets, pairs, groups, what is kept.

For each combination of normaliser, word rule, shingle and short rule: n_shingles, every signature word and content hash (`sign`), every
pair in order with its six decimals (`pairs --candidates all`, `--identical all` and `chain`). For each combination of
threshold, keep rule and clustering: groups.jsonl, removed.tsv with its reasons, pairs.tsv, the kept files byte for byte, the
counts of the report (`dedup`, with bands of one row, so that a missed pair has a probability below 1e-6 a run).

The documents are made to meet every rule: characters of all kinds and scripts, all white space, invalid bytes and lone
surrogates, copies that differ in what words are parted by, in case, in accents; none, one and few words; ids that need
escapes, ids that are numbers, none at all. A seed is printed; --seed gives it back."""
import itertools
import json
import os
import random
import time
import unicodedata

import harness

np, xxhash = harness.need_modules("numpy", "xxhash")
import content_model
import minhash_model
import text_model

PAIRS_HEADER = ["id_a", "id_b", "jaccard"]
REMOVED_HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]


# --- documents ---

class Alphabet:
    """Characters by what they do to words, from those that every Unicode version here knows."""

    def __init__(self):
        points = text_model.common_code_points()
        self.known = set(map(chr, points))
        kind = {cp: unicodedata.category(chr(cp)) for cp in points}
        self.letters = [chr(cp) for cp in points if kind[cp][0] == "L" and cp < 0x3000]
        self.cased = [c for c in self.letters if c.lower() != c or c.upper() != c] + ["\u0130", "\u03a3", "\u1e9e"]
        self.marks = [chr(cp) for cp in points if kind[cp][0] == "M"]
        self.numbers = [chr(cp) for cp in points if kind[cp][0] == "N"]
        self.split = [chr(cp) for cp in points if text_model.in_split_script(chr(cp))]
        self.composed = [chr(cp) for cp in points if unicodedata.decomposition(chr(cp))]
        self.white = [chr(cp) for cp in text_model.WHITE_SPACE]
        self.any = [chr(cp) for cp in points if cp]
        self.parting = list(".,;:!?-_'\"()/\\\u2019\u00ad\u200b\u200d\ufeff\ufffd\x1c\x1f\x00\u2014\u3001\U0001f600")

    def word(self, rng):
        draw = rng.random()
        if draw < 0.6:
            return "".join(rng.choice("abcdeABCDE") for _ in range(rng.randint(1, 5)))
        if draw < 0.75:
            return "".join(rng.choice(rng.choice((self.letters, self.cased, self.numbers))) for _ in range(rng.randint(1, 4)))
        if draw < 0.85:
            return "".join(rng.choice(self.split) + rng.choice(("", rng.choice(self.marks))) for _ in range(rng.randint(1, 4)))
        if draw < 0.93:
            return rng.choice("aeiouAEIOU" + "\u03b9\u05d0") + "".join(rng.choice(self.marks) for _ in range(rng.randint(1, 3)))
        return "".join(rng.choice(rng.choice((self.composed, self.any))) for _ in range(rng.randint(1, 3)))

    def gap(self, rng):
        draw = rng.random()
        if draw < 0.7:
            return " "
        if draw < 0.85:
            return "".join(rng.choice(self.white) for _ in range(rng.randint(1, 3)))
        return "".join(rng.choice(self.parting) for _ in range(rng.randint(1, 2))) + rng.choice(("", " "))


def copy_of(words, alphabet, rng):
    """A relative of a document: the same, reordered, repeated, in another case or normal form, or with words changed."""
    words = list(words)
    kind = rng.randrange(8)
    if kind == 0 and words:
        return words[1:] + words[:1]
    if kind == 1:
        return words + words
    if kind == 2:
        return [text_model.lower(w[0]) + w[1:] if w else w for w in words]
    if kind == 3:
        return [unicodedata.normalize(rng.choice(("NFC", "NFD", "NFKC", "NFKD")), w) for w in words]
    for _ in range(rng.randint(0, 3)):
        if words:
            words[rng.randrange(len(words))] = alphabet.word(rng)
    return words


def make_texts(alphabet, rng, n):
    pool = [alphabet.word(rng) for _ in range(40)]
    runs = [[], ["one"], ["one", "two"], [rng.choice(alphabet.split)] * 4]
    texts = ["", " ", "\t\n\u3000", "...", "\u0e31\u0301 a\u0e31b \u304b\u3099\u30fc x\u0301"]
    while len(texts) + len(runs) < n:
        runs.append([rng.choice(pool) for _ in range(rng.randint(3, 30))] if rng.random() < 0.4
                    else copy_of(rng.choice(runs), alphabet, rng))
    for words in runs:
        gaps = [" "] * len(words) if rng.random() < 0.6 else [alphabet.gap(rng) for _ in words]
        texts.append(rng.choice(("", "", " ", "\u2003.")) + "".join(w + g for w, g in zip(words, gaps)))
    rng.shuffle(texts)
    return texts


class Corpus:
    """Files and what is in them: ids, texts, bytes of each text, raw records, file and line, in input order."""

    def __init__(self):
        self.ids, self.texts, self.sizes, self.raws, self.places, self.paths, self.arguments = [], [], [], [], [], [], []

    def add(self, id_, text, size, raw, path, line):
        self.ids.append(id_)
        self.texts.append(text)
        self.sizes.append(size)
        self.raws.append(raw)
        self.places.append((path, line))


def json_record(rng, number, text, path, line):
    """(id, text, raw line): an object with its keys in some order, escaped or not, with or without an id."""
    kind, value = rng.randrange(6), None
    id_ = f"{path}:{line}"
    if kind == 0:
        id_ = value = f"{number}\\\t\n\r\"'/..\u00e9\U0001f600 x"
    elif kind < 5:
        id_ = value = f"doc-{number}"
    if rng.random() < 0.1:
        text += "\ud83d "  # a surrogate without its other half
    fields = [("text", text), ("more", {"text": "not this", "n": [1, None, True]})]
    if value is not None:
        fields.append(("id", value))
    elif rng.random() < 0.5:
        fields.append(("id", None))
    rng.shuffle(fields)
    ascii_only = rng.random() < 0.5 or "\ud83d" in text
    raw = json.dumps(dict(fields), ensure_ascii=ascii_only, separators=rng.choice(((",", ":"), (", ", ": "))))
    if value is None and rng.random() < 0.3 and '"id"' not in raw:
        raw, id_ = '{"id":%d.50,%s' % (number, raw[1:]), f"{number}.50"
    return id_, text.replace("\ud83d", "\ufffd"), raw.encode("utf-8")


def make_jsonl(folder, alphabet, rng, n):
    """Two files in two folders, with blank lines, CRLF, and no newline at the end of one."""
    corpus, texts = Corpus(), make_texts(alphabet, rng, n)
    for name, part in (("a.jsonl", texts[:n // 2]), (os.path.join("sub", "b.jsonl"), texts[n // 2:])):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        line, data = 1, b""
        for i, text in enumerate(part):
            if rng.random() < 0.05:
                data += b"\n"
                line += 1
            id_, text, raw = json_record(rng, len(corpus.ids), text, path, line)
            raw += b"" if i + 1 == len(part) and name == "a.jsonl" else rng.choice((b"\n", b"\n", b"\n", b"\r\n"))
            corpus.add(id_, text, len(text.encode("utf-8")), raw, path, line)
            data += raw
            line += 1
        with open(path, "wb") as file:
            file.write(data)
        corpus.paths.append((path, os.path.join("kept", name)))
        corpus.arguments.append(path)
    return corpus


def make_lines(folder, alphabet, rng, n):
    """One file of lines, a third of them with bytes that are no UTF-8."""
    corpus, path, data = Corpus(), os.path.join(folder, "c.txt"), b""
    bad = [b"\xff", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\x80", b"\xf8\x88"]
    for line, text in enumerate(make_texts(alphabet, rng, n), 1):
        raw = text.encode("utf-8").replace(b"\n", b" ").replace(b"\r", b" ")
        for _ in range(rng.randint(1, 3) if raw and rng.random() < 0.33 else 0):
            at = rng.randrange(len(raw) + 1)
            spoilt = raw[:at] + rng.choice(bad) + raw[at:]
            if alphabet.known.issuperset(spoilt.decode("utf-8", "replace")):  # bytes may join to a character that is new
                raw = spoilt
        if line == 1 and raw.startswith(b"\xef\xbb\xbf"):
            raw = b"x" + raw
        corpus.add(f"{path}:{line}", raw.decode("utf-8", "replace"), len(raw), raw + b"\n", path, line)
        data += raw + b"\n"
    with open(path, "wb") as file:
        file.write(data)
    corpus.paths.append((path, "kept.txt"))
    corpus.arguments += ["--format", "lines", path]
    return corpus


# --- the model ---

class Model:
    """Sets, copies and similarities of a corpus under text options."""

    def __init__(self, corpus, options):
        self.corpus, self.options, self.n = corpus, options, len(corpus.ids)
        self.sequences = [tuple(text_model.sequence(text, options)) for text in corpus.texts]
        self.units = [len(text_model.units(text, options)[0]) for text in corpus.texts]
        self.sets = [text_model.elements(sequence, options) for sequence in self.sequences]
        first = {}
        self.rep = [first.setdefault(sequence, i) if sequence else i for i, sequence in enumerate(self.sequences)]
        full = [i for i in range(self.n) if self.sets[i]]
        self.similarities = [(a, b, self.jaccard(a, b)) for a, b in itertools.combinations(full, 2)]

    def jaccard(self, a, b):
        return text_model.jaccard(self.sets[a], self.sets[b])

    def pairs(self, threshold, chain):
        """(a, b, J) in order of a, then b."""
        return [(a, b, similarity) for a, b, similarity in self.similarities if similarity >= threshold and
                not (chain and (self.rep[a] != a or (self.rep[b] != b and self.rep[b] != a)))]

    def pair_rows(self, threshold, chain):
        return [[self.corpus.ids[a], self.corpus.ids[b], f"{j:.6f}"] for a, b, j in self.pairs(threshold, chain)]

    def preference(self, keep):
        """A sort key: the smallest is kept; ties to the first."""
        sizes = self.corpus.sizes
        return {"first": lambda i: i, "last": lambda i: -i, "longest": lambda i: (-sizes[i], i),
                "shortest": lambda i: (sizes[i], i)}[keep]

    def kept_of(self, threshold, cluster, keep):
        """For each document, the one that is kept of its group."""
        near = [set() for _ in range(self.n)]
        for a, b, _ in self.pairs(threshold, False):
            near[a].add(b)
            near[b].add(a)
        kept, rank = [None] * self.n, self.preference(keep)
        for start in sorted(range(self.n), key=rank):
            if kept[start] is not None:
                continue
            kept[start] = start  # the most preferred that is left: of its component, or centre of a star
            front = [start]
            while front:
                for other in near[front.pop()]:
                    if kept[other] is None:
                        kept[other] = start
                        if cluster == "components":
                            front.append(other)
        return kept

    def groups(self, kept):
        members = {}
        for i, centre in enumerate(kept):
            members.setdefault(centre, []).append(i)
        ids = self.corpus.ids
        real = sorted((group, centre) for centre, group in members.items() if len(group) > 1)
        return [{"group": number, "kept": ids[centre], "size": len(group), "members": [ids[i] for i in group]}
                for number, (group, centre) in enumerate(real, 1)]

    def removed(self, kept, threshold):
        rows = []
        for i, centre in enumerate(kept):
            if i == centre:
                continue
            similarity = self.jaccard(i, centre)
            copy = "identical" if self.corpus.texts[i] == self.corpus.texts[centre] else "equal"
            reason = copy if self.rep[i] == self.rep[centre] else "near" if similarity >= threshold else "chained"
            path, line = self.corpus.places[i]
            rows.append([self.corpus.ids[i], self.corpus.ids[centre], f"{similarity:.6f}", reason, path, str(line),
                         str(len(self.sets[i] - self.sets[centre]))])
        return rows

    def counts(self, kept, removed, options):
        short = [1 <= units < text_model.units_of(options) for units in self.units]
        unreadable = [text_model.unreadable(text) for text in self.corpus.texts]
        empty = sum(1 for i, sequence in enumerate(self.sequences) if not sequence and not short[i] and not unreadable[i])
        return {"documents": self.n, "empty": empty, "short": sum(short), "unreadable": sum(unreadable),
                "shingles": sum(map(len, self.sets)), "removed": len(removed), "kept": self.n - len(removed),
                "removed_bytes": sum(self.corpus.sizes[i] for i, centre in enumerate(kept) if i != centre),
                "removed_shingles": sum(len(self.sets[i]) for i, centre in enumerate(kept) if i != centre),
                "lost_shingles": sum(int(row[6]) for row in removed),
                "groups": len(self.groups(kept)), "chained": sum(1 for row in removed if row[3] == "chained"), "skipped": 0}


# --- comparing ---

def first_difference(got, wanted):
    if got == wanted:
        return ""
    for i, (g, w) in enumerate(itertools.zip_longest(got, wanted)):
        if g != w:
            return f"{len(got)} rows, expected {len(wanted)}; row {i}: {g!r}, expected {w!r}"
    return "differ"


class Runs:
    """Runs commands into fresh folders; each check answers what differs from the model, or nothing."""

    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def target(self):
        self.n += 1
        return os.path.join(self.folder, f"out-{self.n}")

    def check_sign(self, corpus, model, arguments):
        target = self.target()
        self.bandmill.run("sign", *arguments, "--perms", 16, "-o", target, *corpus.arguments)
        ids = [harness.unescape(line) for line in harness.read_file(target, "ids.txt").decode().split("\n")[:-1]]
        a, b = minhash_model.coefficients(1, 16)
        hashes = [[text_model.element_hash(element, xxhash.xxh3_64_intdigest) for element in elements] for elements in model.sets]
        words = np.array([minhash_model.signature(h, a, b) for h in hashes])
        got_counts = np.load(os.path.join(target, "n_shingles.npy")).tolist()
        got_words = np.load(os.path.join(target, "signatures.npy"))
        wrong = first_difference(ids, corpus.ids) or self.document(
            corpus, [i for i in range(model.n) if got_counts[i] != len(model.sets[i])], "n_shingles", got_counts) or \
            self.document(corpus, np.flatnonzero((got_words != words).any(axis=1)).tolist(), "words", got_counts) or \
            self.document(corpus, self.other_contents(model, target), "content_hash", got_counts)
        return wrong and f"sign: {wrong}"

    @staticmethod
    def other_contents(model, target):
        """The documents whose row of content_hash.npy is not the model's."""
        rows = np.load(os.path.join(target, "content_hash.npy")).tolist()
        wanted = [content_model.text_content(text, model.options) for text in model.corpus.texts]
        texts = np.load(os.path.join(target, "text_hash.npy")).tolist()
        return [i for i, text in enumerate(model.corpus.texts)
                if tuple(rows[i]) != wanted[i] or ("\ufffd" not in text and texts[i] != xxhash.xxh3_64_intdigest(text.encode()))]

    @staticmethod
    def document(corpus, rows, what, counts):
        """Empty, or the shortest document that differs, as Python writes it."""
        if not rows:
            return ""
        row = min(rows, key=lambda i: len(corpus.texts[i]))
        return f"{what} of {len(rows)} documents, the shortest {corpus.texts[row]!a} ({counts[row]} shingles)"

    def check_pairs(self, corpus, model, arguments, threshold):
        for identical in ("all", "chain"):
            done = self.bandmill.run("pairs", *arguments, "--candidates", "all", "--identical", identical, "--threshold",
                                     threshold, *corpus.arguments)
            rows = harness.read_rows(done.stdout, PAIRS_HEADER)
            wrong = first_difference(rows, model.pair_rows(threshold, identical == "chain"))
            if wrong:
                return f"pairs --threshold {threshold} --identical {identical}: {wrong}"
        return ""

    def check_dedup(self, corpus, model, options, job):
        threshold, cluster, keep = job
        target = self.target()
        self.bandmill.run("dedup", *text_model.option_arguments(options), "--threshold", threshold, "--cluster", cluster,
                          "--keep", keep, "--perms", 64, "--bands", 64, "--rows", 1, "--pairs", "-o", target,
                          *corpus.arguments)
        kept = model.kept_of(threshold, cluster, keep)
        removed = model.removed(kept, threshold)
        groups = [json.loads(line) for line in harness.read_file(target, "groups.jsonl").decode().splitlines()]
        wrong = first_difference(groups, model.groups(kept)) or \
            first_difference(harness.read_rows(harness.read_file(target, "removed.tsv"), REMOVED_HEADER), removed) or \
            first_difference(harness.read_rows(harness.read_file(target, "pairs.tsv"), PAIRS_HEADER),
                             model.pair_rows(threshold, True)) or self.kept_files(corpus, kept, target) or \
            self.report(target, model.counts(kept, removed, options))
        if not wrong and cluster == "star" and any(row[3] == "chained" for row in removed):
            wrong = "the model itself chains under star"
        return wrong

    @staticmethod
    def kept_files(corpus, kept, target):
        for path, name in corpus.paths:
            wanted = b"".join(corpus.raws[i] for i, centre in enumerate(kept) if i == centre and corpus.places[i][0] == path)
            if harness.read_file(target, name) != wanted:
                return f"{name} is not the kept records of {path}"
        return ""

    @staticmethod
    def report(target, wanted):
        with open(os.path.join(target, "report.json"), encoding="utf-8") as file:
            counts = json.load(file)["counts"]
        wrong = {key: (counts.get(key), value) for key, value in wanted.items() if counts.get(key) != value}
        return f"counts (reported, expected): {wrong}" if wrong else ""


def all_options():
    kinds = [("word", k, words) for k in (1, 2, 3, 5) for words in ("alnum", "space")] + \
        [("char", k, "alnum") for k in (1, 3, 5, 9)] + [("byte", k, "alnum") for k in (1, 4, 8)] + \
        [("stopword", k, words) for k in (1, 2) for words in ("alnum", "space")]
    forms = [(), ("nfc",), ("nfkc",)]
    rest = [c for n in range(6) for c in
            itertools.combinations(("invisible", "lower", "strip-accents", "digits", "punct"), n)]
    return [text_model.text_options(form + more, words, kind, k, short, bag) for (kind, k, words), form, more, short, bag in
            itertools.product(kinds, forms, rest, ("whole", "skip"), (False, True))]


def main():
    args = harness.arguments("random corpora against a model", ("--seed", {"type": int, "default": 20240601}),
                             ("--keep-inputs", {"help": "make the corpora here and leave them there"}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    rng, alphabet, started = random.Random(args.seed), Alphabet(), time.monotonic()
    n_text, n_dedup = {"small": (24, 12), "normal": (160, 80), "full": (None, 1440)}[args.size]
    combinations = all_options()
    chosen = combinations if n_text is None else [text_model.text_options(text_model.DEFAULT)] + rng.sample(combinations, n_text)
    print(f"seed {args.seed}, Unicode {unicodedata.unidata_version} in Python, {len(chosen)} of {len(combinations)} option sets")
    with harness.scratch() as folder, np.errstate(over="ignore"):
        runs = Runs(bandmill, folder)
        for i, options in enumerate(chosen):
            base = os.path.join(args.keep_inputs or folder, f"in-{i}")
            os.makedirs(base)
            corpus = (make_lines if i % 4 == 3 else make_jsonl)(base, alphabet, rng, 60)
            model, arguments = Model(corpus, options), text_model.option_arguments(options)
            name = f"{i}: {' '.join(arguments)}"
            threshold = rng.choice((0.3, 0.5, 0.75, 0.8, 1.0))
            claims.attempt(f"{name}: {model.n} documents", lambda: runs.check_sign(corpus, model, arguments) or
                           runs.check_pairs(corpus, model, arguments, threshold))
            for _ in range(n_dedup // len(chosen) + (rng.random() < n_dedup % len(chosen) / len(chosen))):
                job = rng.choice((0.5, 0.6, 0.75, 1.0)), rng.choice(("components", "star")), rng.choice(
                    ("first", "last", "longest", "shortest"))
                claims.attempt(f"{name}: dedup {job}", lambda: runs.check_dedup(corpus, model, options, job))
    print(f"{time.monotonic() - started:.0f} s")
    claims.end()


if __name__ == "__main__":
    main()
