# SPDX-License-Identifier: Apache-2.0
"""Who stays: --keep with lists of rules, and --max-group-size, against a model written from the contract.

Random corpora whose documents have fields of every type, as JSON Lines, a JSON array, CSV, TSV, Parquet and Arrow; random lists of rules, components
and stars; from documents and from signatures; against known documents of an index or a directory, and none; threads, --memory, a device,
and jobs that are killed and resumed. The model compares every pair by its set of words, orders documents rule by rule with Python's exact
comparison of integers and floats, and makes the groups anew;
groups.jsonl, removed.tsv, sources.tsv, the kept records and the counts of the report must be its own."""
import csv
import datetime
import decimal
import io
import json
import os
import random
import re
import subprocess

import harness

HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
MISSING, OTHER = object(), object()


class Literal(float):
    """A number that stands in JSON as these digits."""

    def __new__(cls, text):
        self = super().__new__(cls, float(text))
        self.text = text
        return self


def number(text):
    """The value of a number of JSON: integers of 64 bits exactly, others as double."""
    if INTEGER.fullmatch(text) and -2**63 <= int(text) < 2**64:
        return int(text)
    return float(text)


# --- corpora ---

NUMBERS = ["0", "-0", "-0.0", "1", "1.0", "10e-1", "2", "-3", "7.5", "7.25", "1e300", "-1e300", "1e999", "-1e999", "1e-400", "9007199254740992",
           "9007199254740993", "9007199254740992.0", "9007199254740993.0", "-9007199254740993", "9223372036854775807", "9223372036854775808",
           "18446744073709551615", "18446744073709551616", "1.8446744073709552e19", "-9223372036854775808", "-9223372036854775809", "0.1", "0.30000000000000004"]
STRINGS = ["", "a", "ab", "b", "A", "\u00e9", "\U0001f600", "10", "9", "a\x00b", "a\x00", "x,y", "p|q", "a|b,c", "wiki", "web"]


def random_value(rng):
    kind = rng.randrange(10)
    if kind < 5:
        return Literal(rng.choice(NUMBERS))
    if kind < 8:
        return rng.choice(STRINGS)
    return rng.choice([None, True, False, [1], {"a": 1}, MISSING])


def to_json(value):
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + to_json(v) for k, v in value.items() if v is not MISSING) + "}"
    return json.dumps(value)


def make_texts(rng, n, spread, earlier):
    """Word lists, most of them relatives of one before, or of an earlier one."""
    texts = rng.sample(earlier, min(n, len(earlier)))
    n += len(texts)
    first = len(texts)
    while len(texts) < n:
        if texts and rng.random() < 0.75:
            words = list(rng.choice(texts[-spread:]))
            for _ in range(rng.randrange(4)):
                if words:
                    words[rng.randrange(len(words))] = f"y{rng.randrange(12)}"
            if rng.random() < 0.2:
                words = words[:rng.randint(0, len(words))]
        else:
            words = [rng.choice("abcdefgh") + str(rng.randrange(40)) for _ in range(rng.randint(0, 24))]
        texts.append(words)
    return [" ".join(words) for words in texts[first:]]


class Document:
    def __init__(self, name, text, fields, file, line, raw):
        self.id, self.text, self.fields, self.file, self.line, self.raw = name, text, fields, file, line, raw
        self.words = text.split(" ") if text else []
        self.set = set(self.words)


class Corpus:
    """Files of one format, and their documents. `fields` of a document: what the model sees, by the name that a rule has."""

    def __init__(self, rng, folder, n, form, like=None):
        self.form, self.docs, self.files, self.header, self.letter = form, [], [], b"", "k" if like else "d"
        texts = make_texts(rng, n, rng.choice((8, 30, n)), [doc.words for doc in like.docs] if like else [])
        cuts = sorted(rng.sample(range(1, n), rng.choice((0, 1, 2)))) if form not in ("parquet", "arrow") or rng.random() < 0.5 else []
        for at, (begin, end) in enumerate(zip([0] + cuts, cuts + [n])):
            name = os.path.join(folder, f"{self.letter}{at}.{form}")
            self.files.append(name)
            getattr(self, "write_" + ("rows" if form in ("csv", "tsv") else "table" if form in ("parquet", "arrow") else "json"))(
                rng, name, texts[begin:end], begin)

    def write_json(self, rng, name, texts, first):
        lines = []
        for i, text in enumerate(texts):
            record = {"id": f"{self.letter}{first + i}", "score": random_value(rng), "text": text, "lang": random_value(rng),
                      "m": rng.choice([MISSING, 5, {"q": random_value(rng)}, {"q": random_value(rng)}])}
            if record["score"] is MISSING or rng.random() < 0.1:  # the last of equal keys counts
                raw = '{"score":17,' + to_json(record)[1:] if record["score"] is not MISSING else to_json(record)
            else:
                raw = to_json(record)
            inner = record["m"]
            fields = {"score": record["score"], "lang": record["lang"], "m.q": inner.get("q", MISSING) if isinstance(inner, dict) else MISSING}
            lines.append(raw.encode())
            line = i + 1 if self.form == "jsonl" else i + 2
            self.docs.append(Document(record["id"], text, {k: self.of_json(v) for k, v in fields.items()}, name, line, raw.encode()))
        with open(name, "wb") as file:
            file.write(b"".join(x + b"\n" for x in lines) if self.form == "jsonl" else b"[\n" + b",\n".join(lines) + b"\n]\n")

    @staticmethod
    def of_json(value):
        if value is MISSING or value is None:
            return MISSING
        if isinstance(value, Literal):
            return ("number", number(value.text), value.text)
        return ("string", value.encode()) if isinstance(value, str) else OTHER

    def write_rows(self, rng, name, texts, first):
        names = ["id", "lang", "text", "score", "m.q"]
        rows = [names]
        for i, text in enumerate(texts):
            cells = [rng.choice(NUMBERS + [s for s in STRINGS if "\x00" not in s] + ["007", " 5", "+1", "1.", ".5", "nan"]) for _ in range(3)]
            rows.append([f"{self.letter}{first + i}", cells[0], text, cells[1], cells[2]])
        out = io.StringIO(newline="")
        if self.form == "csv":
            csv.writer(out, lineterminator="\n").writerows(rows)
            data = out.getvalue().encode()
        else:
            data = "".join("\t".join(row) + "\n" for row in rows).encode()
        raws = data.split(b"\n")
        self.header = raws[0]
        for i, row in enumerate(rows[1:]):
            fields = {key: ("number", number(cell), cell) if NUMBER.fullmatch(cell) else ("string", cell.encode())
                      for key, cell in (("lang", row[1]), ("score", row[3]), ("m.q", row[4]))}
            self.docs.append(Document(row[0], row[2], fields, name, i + 2, raws[i + 1]))
        with open(name, "wb") as file:
            file.write(data)

    def write_table(self, rng, name, texts, first):
        import pyarrow
        import pyarrow.parquet
        n = len(texts)

        def column(kind):
            some = lambda make: [None if rng.random() < 0.15 else make() for _ in range(n)]
            if kind == "int":
                values = some(lambda: rng.choice([0, 1, -5, 2**53, 2**53 + 1, 2**62, -2**62 - 1]))
                return pyarrow.array(values, pyarrow.int64()), [MISSING if v is None else ("number", v, str(v)) for v in values]
            if kind == "double":
                values = some(lambda: rng.choice([0.5, -0.0, 0.0, float("nan"), float("inf"), float("-inf"), 2.0**53, 1e-300]))
                return pyarrow.array(values, pyarrow.float64()), [MISSING if v is None else OTHER if v != v else ("number", v, None) for v in values]
            if kind == "float":
                values = some(lambda: rng.choice([0.5, 1.25, -3.0, 16777216.0]))
                return pyarrow.array(values, pyarrow.float32()), [MISSING if v is None else ("number", v, None) for v in values]
            if kind == "decimal":
                values = some(lambda: decimal.Decimal(rng.choice(["0.10", "0.1", "9007199254740993.05", "9007199254740993.01", "-1.50", "12345678901234567890.12"])))
                return pyarrow.array(values, pyarrow.decimal128(30, 2)), [
                    MISSING if v is None else ("number", v, str(v.quantize(decimal.Decimal("0.01")))) for v in values]
            if kind == "date":
                values = some(lambda: datetime.date(1969, 12, 25) + datetime.timedelta(days=rng.randrange(12)))
                return pyarrow.array(values, pyarrow.date32()), [
                    MISSING if v is None else ("number", (v - datetime.date(1970, 1, 1)).days * 86400, v.isoformat()) for v in values]
            if kind == "timestamp":
                unit, fold = rng.choice([("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
                values = some(lambda: rng.choice([0, -1, 1, 1700000000123456789 // (10**9 // fold), 1700000000123456789 // (10**9 // fold) + 1]))
                return pyarrow.array(values, pyarrow.timestamp(unit)), [
                    MISSING if v is None else ("number", decimal.Decimal(v) / fold, None) for v in values]
            if kind == "bool":
                values = some(lambda: rng.random() < 0.5)
                return pyarrow.array(values, pyarrow.bool_()), [MISSING if v is None else OTHER for v in values]
            if kind == "list":
                values = some(lambda: [1, 2])
                return pyarrow.array(values, pyarrow.list_(pyarrow.int64())), [OTHER] * n
            values = some(lambda: rng.choice(STRINGS))
            array = pyarrow.array(values, pyarrow.string() if kind == "string" else pyarrow.large_string())
            return array.dictionary_encode() if kind == "dictionary" else array, [MISSING if v is None else ("string", v.encode()) for v in values]

        kinds = ("int", "double", "float", "decimal", "date", "timestamp", "bool", "list", "string", "large", "dictionary")
        made = {key: column(rng.choice(kinds)) for key in ("score", "lang")}
        inner, inner_fields = column(rng.choice(("int", "double", "string", "decimal")))
        table = {"id": [f"{self.letter}{first + i}" for i in range(n)], "text": texts, "score": made["score"][0], "lang": made["lang"][0],
                 "m": pyarrow.StructArray.from_arrays([inner], ["q"])}
        if rng.random() < 0.1:
            del table["lang"]
            made["lang"] = (None, [MISSING] * n)
        table = pyarrow.table(table)
        if self.form == "parquet":
            pyarrow.parquet.write_table(table, name, row_group_size=rng.choice((5, 1000)))
        else:
            with pyarrow.ipc.new_file(name, table.schema) as out:
                out.write_table(table, max_chunksize=rng.choice((7, 1000)))
        for i, text in enumerate(texts):
            fields = {"score": made["score"][1][i], "lang": made["lang"][1][i], "m.q": inner_fields[i]}
            self.docs.append(Document(f"{self.letter}{first + i}", text, fields, name, i + 1, None))


# --- rules ---

def escaped(text):
    return text.replace(",", "\\,").replace("|", "\\|")


def random_rules(rng, corpus):
    """A list, and its rules as (kind, field, values)."""
    if rng.random() < 0.08:
        return "none", [("none", None, None)]
    rules, words = [], []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        kind = rng.choice(("max", "max", "min", "min", "order", "sources", "longest", "shortest", "first", "last"))
        field = rng.choice(("score", "lang", "m.q"))
        values = rng.sample([s for s in STRINGS if s and "\x00" not in s] + NUMBERS, rng.randint(1, 6)) if kind == "order" else \
            rng.sample(corpus.files, rng.randint(1, len(corpus.files))) if kind == "sources" else None
        rules.append((kind, field, values))
        words.append({"max": f"max:{field}", "min": f"min:{field}", "order": f"order:{field}=" + "|".join(map(escaped, values or [])),
                      "sources": "sources:" + "|".join(map(escaped, values or []))}.get(kind, kind))
    return ",".join(words), rules


def is_value(value):
    return value is not MISSING and value is not OTHER


def ordered(docs, rules):
    """Numbers of documents, the one that is rather kept first; and what each rule that looks at a field could not compare."""
    order = list(range(len(docs)))
    decided = next((i for i, rule in enumerate(rules) if rule[0] in ("first", "last")), None)
    used = rules[:decided] if decided is not None else rules
    if decided is not None and rules[decided][0] == "last":
        order.reverse()
    counts = []
    for kind, field, values in reversed(used):
        if kind in ("longest", "shortest"):
            order.sort(key=lambda d: len(docs[d].text.encode()), reverse=kind == "longest")
        elif kind == "sources":
            order.sort(key=lambda d: values.index(docs[d].file) if docs[d].file in values else len(values))
        elif kind == "order":
            listed = [v.encode() for v in values]
            seen = {d: (docs[d].fields[field][1] if docs[d].fields[field][0] == "string" else
                        docs[d].fields[field][2].encode() if docs[d].fields[field][2] is not None else b"?") if is_value(docs[d].fields[field]) else None
                    for d in order}
            order.sort(key=lambda d: len(values) + 1 if seen[d] is None else listed.index(seen[d]) if seen[d] in listed else len(values))
        elif kind in ("max", "min"):
            of = lambda name: [d for d in order if is_value(docs[d].fields[field]) and docs[d].fields[field][0] == name]
            rest = [d for d in order if not is_value(docs[d].fields[field])]
            parts = [sorted(of(name), key=lambda d: docs[d].fields[field][1], reverse=kind == "max") for name in ("number", "string")]
            order = parts[0] + parts[1] + rest
        if kind in ("order", "max", "min"):
            values_of = [d.fields[field] for d in docs]
            counts.insert(0, (sum(v is MISSING for v in values_of), sum(v is OTHER for v in values_of)))
    return order, counts


# --- groups ---

class Model:
    """Known documents come behind those of the corpus; no two of them are joined."""

    def __init__(self, corpus, known, threshold):
        self.docs, self.n, self.threshold = corpus.docs + known, len(corpus.docs), threshold
        self.near = [[] for _ in self.docs]
        for a in range(self.n):
            for b in range(a + 1, len(self.docs)):
                if self.jaccard(a, b) >= threshold:
                    self.near[a].append(b)
                    self.near[b].append(a)

    def jaccard(self, a, b):
        x, y = self.docs[a].set, self.docs[b].set
        return len(x & y) / len(x | y) if x and y else 0.0

    def same(self, a, b):
        return self.docs[a].words == self.docs[b].words

    def copied(self, d, others):
        return "identical" if any(self.docs[d].text == self.docs[other].text for other in others) else "equal"

    def best_known(self, d):
        """The known document most like it, the first of equals; None: none is near."""
        return max((k for k in self.near[d] if k >= self.n), key=lambda k: (self.jaccard(d, k), -k), default=None)

    def components(self, order):
        of, groups = {}, []
        for d in range(self.n):
            if d in of:
                continue
            of[d], members, todo = d, [], [d]
            while todo:
                x = todo.pop()
                members.append(x)
                for y in self.near[x]:
                    if y not in of:
                        of[y] = d
                        todo.append(y)
            groups.append(members)
        place = {d: i for i, d in enumerate(order)}
        return [(min(g, key=lambda d: (-1, d) if d >= self.n else (place[d], d)), [d for d in sorted(g) if d < self.n],
                 [d for d in sorted(g) if d >= self.n]) for g in groups]

    def stars(self, order, among=None):
        """Known documents have their turns before all others, and each document goes to the best of them."""
        centre = {d: self.best_known(d) for d in (order if among is None else among) if self.best_known(d) is not None}
        for d in order:
            if d in centre or (among is not None and d not in among):
                continue
            centre[d] = d
            for y in self.near[d]:
                centre.setdefault(y, d)
        groups = {}
        for d in sorted(d for d in centre if d < self.n):
            groups.setdefault(centre[d], []).append(d)
        return [(kept, members, [kept] if kept >= self.n else []) for kept, members in groups.items()]

    def groups(self, order, cluster, most):
        """(kept, members, known ones), by their first members; how many components were divided."""
        if cluster == "star":
            found, divided = self.stars(order), 0
        else:
            found, divided = [], 0
            for kept, members, known in self.components(order):
                if most is not None and len(members) > most:
                    divided += 1
                    found += self.stars(order, set(members))
                else:
                    found.append((kept, members, known))
        return sorted((g for g in found if len(g[1]) > 1 or g[2]), key=lambda g: g[1][0]), divided

    def removed(self, groups, none):
        """Rows of removed.tsv."""
        rows = {}
        for first, members, known in groups:
            for d in members:
                doc = self.docs[d]
                best = self.best_known(d) if known else None
                kept = first if best is None else best
                if none and not known:
                    copy = any(self.same(d, other) for other in members if other != d)
                    rows[d] = [doc.id, "", "", self.copied(d, (other for other in members if other != d)) if copy else "near", doc.file, str(doc.line), str(len(doc.set))]
                elif d != kept:
                    likeness = self.jaccard(d, kept)
                    reason = "chained" if likeness < self.threshold else "known" if known else self.copied(d, [kept]) if self.same(d, kept) else "near"
                    rows[d] = [doc.id, self.docs[kept].id, f"{likeness:.6f}", reason, doc.file, str(doc.line),
                               str(len(doc.set - self.docs[kept].set))]
        return rows


# --- the program ---

class Round:
    def __init__(self, program, rng, folder, form, device, most):
        self.program, self.rng, self.folder = program, rng, folder
        self.corpus = Corpus(rng, folder, rng.randint(12, 70), form)
        self.threshold = rng.choice((0.4, 0.5, 0.6, 0.8))
        self.words, self.rules = random_rules(rng, self.corpus)
        self.cluster = rng.choice(("components", "components", "star")) if most is None else "components"
        self.most = most
        known = self.known = rng.choice((None, None, "index", "signatures"))
        if known:
            known = Corpus(rng, folder, rng.randint(4, 30), "jsonl", self.corpus)
            self.known_files = known.files
        self.model = Model(self.corpus, known.docs if known else [], self.threshold)
        self.way = rng.choice(("documents", "documents", "documents", "signatures", "killed"))
        self.arguments = ["--threshold", self.threshold, "--keep", self.words, "--cluster", self.cluster, "--threads", rng.choice((1, 2, 8))]
        if most is not None:
            self.arguments += ["--max-group-size", most]
        if rng.random() < 0.3:
            self.arguments += ["--memory", "64M"]
        if rng.random() < 0.2:
            self.arguments.append("--pairs")
        self.signing = ["--shingle", "word:1", "--words", "space", "--normalize", "none"]
        self.plan = ["--bands", 64, "--rows", 1]
        self.device = ["--device", device if device and rng.random() < 0.3 else "cpu"]

    def __str__(self):
        return f"{self.corpus.form} {self.words} {self.cluster} {self.way} {self.threshold} {self.most} {self.known}"

    def run(self):
        out = os.path.join(self.folder, "out")
        files, known = self.corpus.files, os.path.join(self.folder, "known")
        if self.known:
            self.arguments += ["--against", known]
            self.program.run(*(["index", "build", known, *self.plan] if self.known == "index" else ["sign", "-o", known]), *self.known_files,
                             *self.signing, "--perms", 64, "--device", "cpu")
        if self.way == "signatures":
            signed = os.path.join(self.folder, "signed")
            self.program.run("sign", *files, "-o", signed, *self.signing, "--perms", 64, *self.device)
            self.program.run("dedup", signed, "-o", out, *self.arguments, *self.plan, *self.device)
            return out
        words = ["dedup", *files, "-o", out, *self.arguments, *self.signing, *self.plan, *self.device]
        if self.way == "killed":
            self.program.kill(out, [*words, "--batch-docs", 1], lambda journal: b"\ndocuments" in journal)
            words.append("--resume")
        self.program.run(*words)
        return out

    def wrong(self, out):
        """What is not the model's; empty: nothing."""
        docs, none = self.corpus.docs, self.words == "none"
        order, counts = ordered(docs, self.rules)
        groups, divided = self.model.groups(order, self.cluster, self.most)
        rows, every = self.model.removed(groups, none), self.model.docs
        wanted = [{"group": i + 1, "kept": None if none and not known else every[kept].id, "size": len(members),
                   "members": [docs[d].id for d in members], **({"known": [every[k].id for k in known]} if known else {})}
                  for i, (kept, members, known) in enumerate(groups)]
        got = [json.loads(line) for line in harness.read_file(out, "groups.jsonl").splitlines()]
        if got != wanted:
            return next(f"group {a}, expected {b}" for a, b in zip(got + [None], wanted + [None]) if a != b)
        got = harness.read_rows(harness.read_file(out, "removed.tsv"), HEADER)
        wanted = [rows[d] for d in sorted(rows)]
        if got != wanted:
            return next(f"row {a}, expected {b}" for a, b in zip(got + [None], wanted + [None]) if a != b)
        of = [[d in rows for d, doc in enumerate(docs) if doc.file == name] for name in self.corpus.files]
        return self.wrong_report(json.loads(harness.read_file(out, "report.json")), rows, counts, divided) or self.wrong_kept(out, rows) or \
            harness.wrong_sources(out, [[name, len(removed), sum(removed)] for name, removed in zip(self.corpus.files, of)])

    def wrong_report(self, report, rows, counts, divided):
        wanted = {"removed": len(rows), "kept": len(self.corpus.docs) - len(rows)}
        if self.most is not None:
            wanted["divided"] = divided
        if self.known:
            wanted["known"] = sum(row[3] == "known" for row in rows.values())
        got = {name: report["counts"].get(name, 0) for name in wanted}
        if got != wanted or report["parameters"]["keep"] != self.words:
            return f"{got}, {report['parameters']['keep']}, expected {wanted}, {self.words}"
        got = [(r["missing"], r["other"]) for r in report.get("keep_not_ranked", [])]
        return "" if got == counts else f"not ranked {got}, expected {counts}"

    def wrong_kept(self, out, rows):
        """The records that stay, file by file; of tables their ids."""
        for at, name in enumerate(self.corpus.files):
            docs = [d for i, d in enumerate(self.corpus.docs) if d.file == name and i not in rows]
            path = os.path.join(out, f"kept.{self.corpus.form}") if len(self.corpus.files) == 1 else os.path.join(out, "kept", os.path.basename(name))
            if self.corpus.form in ("parquet", "arrow"):
                import pyarrow.parquet
                table = pyarrow.parquet.read_table(path) if self.corpus.form == "parquet" else pyarrow.ipc.open_file(path).read_all()
                if table.column("id").to_pylist() != [d.id for d in docs]:
                    return f"other rows in {path}"
                continue
            data = harness.read_file(path)
            if self.corpus.form == "json":
                if [r["id"] for r in json.loads(data)] != [d.id for d in docs] or any(d.raw not in data for d in docs):
                    return f"other elements in {path}"
            elif data != b"".join(x + b"\n" for x in ([self.corpus.header] if self.corpus.header else []) + [d.raw for d in docs]):
                return f"other records in {path}"
        return ""


def main():
    args = harness.arguments(__doc__, ("--seed", {"type": int, "default": 30}), ("--only", {"choices": ("keep", "size")}),
                             ("--device", {"help": "an OpenCL device for some of the rounds"}))
    claims, program = harness.Claims(), harness.Program(args.program, args.server)
    rounds = {"small": 12, "normal": 48, "full": 200}[args.size]
    forms = ["jsonl", "jsonl", "json", "csv", "tsv"]
    try:
        import pyarrow  # noqa: F401
        if json.loads(subprocess.run([args.program, "--version", "--json"], stdout=subprocess.PIPE, check=True).stdout)["tables"]:
            forms += ["parquet", "arrow"]
    except ImportError:
        print("no tables: pyarrow is not there")
    for kind in ("keep", "size"):
        if args.only not in (None, kind):
            continue
        for i in range(rounds):
            rng = random.Random(f"{kind} {args.seed} {i}")
            with harness.scratch() as folder:
                one = Round(program, rng, folder, forms[i % len(forms)], args.device, rng.randint(2, 8) if kind == "size" else None)
                claims.attempt(f"{kind} {i}: {one}", lambda: one.wrong(one.run()))
    claims.end()


if __name__ == "__main__":
    main()
