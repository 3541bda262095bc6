# SPDX-License-Identifier: Apache-2.0
"""The page of `report` against the files that it speaks of, counted here, and against what a browser would make of it.

  numbers    every count on the page is that of report.json, and those that the files beside it give; the histogram is that of
             pairs.tsv, the largest groups those of groups.jsonl and removed.tsv; --json says the same
  pairs      the pairs just above the threshold and the most chained are those that sorting the files gives; shared shingles over all
             is the similarity that dedup has written; what stands in a text's box is the text, and what is not marked in two
             boxes is the same words
  choices    other thresholds: groups of the pairs that reach them, joined here; stars: what `dedup --cluster star` does
  graph      bridges and weakest links are those of `explain` (which test_groups.py holds against SciPy) and of pairs.tsv
  sample     rows of the sample are those of a generator written here; precision and Wilson's interval are those of the labels; bytes
             of text removed from each input
  keeping    what rules of keep could not compare, components that were divided and a group that joins too much are those counted here
  parts      of --unit: the parts cut most often, their files, and the documents that lost most are those of cuts.tsv, also where its
             rows do not fit into --memory
  hostile    markup, scripts, control and bidirectional characters in texts, ids and file names: the page parses without an error
             (html5lib, strict), has the elements and attributes that a harmless corpus has, and no such character
  gone       without its inputs the page says so, and shows no text; a changed input is as good as gone
  contrast   each colour of writing stands against its ground by 4.5, each of a picture by 3 (WCAG 2, 1.4.3 and 1.4.11)

--corpora: by hand, the numbers of four corpora beside the repository."""
import collections
import decimal
import json
import os
import random
import re

import harness

html5lib = harness.need_modules("html5lib")

SAFE_VALUE = re.compile(r"[\w \-.,:;#%()/='+&]*$", re.ASCII)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]")
OPTIONS = ["--shingle", "word:1", "--threshold", "0.7", "--perms", "64", "--bands", "64", "--rows", "1"]


# --- the page ---

class Page:
    def __init__(self, data):
        self.data = data
        parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        self.root = parser.parse(data.decode())
        self.counts = {e.get("data-count"): number(e) for e in self.root.iter("dd")}

    def by_id(self, name):
        return next(e for e in self.root.iter() if e.get("id") == name)

    def table(self, name):
        table = next((t for t in self.root.iter("table") if name in t.get("class").split()), None)
        return [["".join(cell.itertext()) for cell in row] for row in table.find("tbody")] if table is not None else []

    def pairs(self, section):
        """Of each: similarity, the two ids, shared and all shingles, the two boxes."""
        found = []
        for pair in self.by_id(section).iter("details"):
            summary = pair.find("summary")
            ids = ["".join(e.itertext()) for e in summary.iter("span") if e.get("class") == "name"]
            note = next((e for e in pair.iter("p") if e.get("class") == "note"), None)
            shared = [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", "".join(note.itertext()))] if note is not None else None
            boxes = [e for e in pair.iter("div") if e.get("class") == "side"]
            found.append(("".join(summary[0].itertext()), *ids, shared, boxes))
        return found

    def shape(self):
        """Elements with their attributes."""
        return {(e.tag, name) for e in self.root.iter() if isinstance(e.tag, str) for name in (*map(str, e.keys()), "")}

    def values(self):
        return {value for e in self.root.iter() for name, value in e.items() if name not in ("content", "id")}


def number(element):
    return int("".join(element.itertext()).replace(",", ""))


# --- the files ---

def rows(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    return [line.split("\t") for line in lines[1:-1]]


def components(pairs):
    parent = {}

    def root(x):
        while parent.setdefault(x, x) != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for a, b in pairs:
        parent[root(a)] = root(b)
    return collections.Counter(root(x) for x in list(parent))


class Folder:
    """What dedup wrote, read here."""

    def __init__(self, path):
        self.path = path
        self.report = json.loads(harness.read_file(path, "report.json"))
        self.groups = [json.loads(line) for line in harness.read_file(path, "groups.jsonl").decode().splitlines()]
        self.removed = rows(path, "removed.tsv")
        self.pairs = rows(path, "pairs.tsv") if os.path.exists(os.path.join(path, "pairs.tsv")) else None

    def histogram(self):
        similarities = [p[2] for p in self.pairs] if self.pairs is not None else [r[2] for r in self.removed]
        return collections.Counter(min(int(decimal.Decimal(s) * 100), 99) for s in similarities)


# --- claims ---

def numbers(page, folder):
    wrong = []
    counts = folder.report["counts"]
    wrong += [f"{name}: {n} on the page, {counts[name]} in report.json" for name, n in page.counts.items() if n != counts[name]]
    missing = {"records", "documents", "empty", "identical", "candidates", "verified", "edges", "groups", "removed", "chained", "kept"} - set(page.counts)
    reasons = collections.Counter(r[3] for r in folder.removed)
    counted = {"removed": len(folder.removed), "groups": len(folder.groups), "chained": reasons["chained"],
               "kept": counts["documents"] - len(folder.removed)}
    wrong += [f"{name}: {page.counts[name]} on the page, {n} counted" for name, n in counted.items() if page.counts[name] != n]
    bins = {int(row[0][2:]): int(row[2].replace(",", "")) for row in page.table("bins")}
    if bins != folder.histogram():
        wrong.append(f"histogram: {bins}, counted {folder.histogram()}")
    sources = rows(folder.path, "sources.tsv")
    table = [[cell.replace(",", "") for cell in row[1:5]] for row in page.table("inputs")]
    if len(sources) <= 50 and table != [[r[2], r[3], r[4], r[5]] for r in sources]:
        wrong.append(f"inputs: {table}")
    return wrong + [f"no {name}" for name in missing]


def groups(page, folder):
    of = collections.defaultdict(list)
    for row in folder.removed:
        of[row[1]].append(row)
    order = sorted(folder.groups, key=lambda g: (-g["size"], g["group"]))[:20]
    wanted = []
    for group in order:
        rows_of = of[group["kept"]]
        least = min(rows_of, key=lambda r: decimal.Decimal(r[2]))
        reasons = collections.Counter(r[3] for r in rows_of)
        wanted.append([str(group["group"]), str(group["size"]), group["kept"], least[2], least[0], str(reasons["identical"]), str(reasons["equal"]),
                       str(reasons["chained"])])
    got = [[cell.replace(",", "") if i in (1, 5, 6, 7) else cell for i, cell in enumerate(row[:8])] for row in page.table("groups")]
    return "" if got == wanted else f"{got}\n  wanted {wanted}"


def listed_pairs(page, folder):
    threshold = decimal.Decimal(str(folder.report["parameters"]["threshold"]))
    if folder.pairs is not None:
        near = sorted((p for p in folder.pairs if p[2] != "1.000000"), key=lambda p: decimal.Decimal(p[2]))
        near = [(p[2], p[0], p[1]) for p in near[:20]]
    else:
        near = sorted((r for r in folder.removed if r[2] != "1.000000" and decimal.Decimal(r[2]) >= threshold),
                      key=lambda r: decimal.Decimal(r[2]))
        near = [(r[2], r[1], r[0]) for r in near[:20]]
    chained = sorted((r for r in folder.removed if r[3] == "chained"), key=lambda r: decimal.Decimal(r[2]))
    chained = [(r[2], r[1], r[0]) for r in chained[:20]]
    for section, wanted in (("near", near), ("chained", chained)):
        got = [pair[:3] for pair in page.pairs(section)]
        if got != wanted:
            return f"{section}: {got[:3]} ..., wanted {wanted[:3]} ..."
    return ""


def shared(page, exact):
    """The shingles that two share, over all they have, give the similarity that dedup wrote."""
    n = 0
    for section in ("near", "chained", "of-groups"):
        if not any(e.get("id") == section for e in page.root.iter()):
            continue
        for similarity, _, _, counted, _ in page.pairs(section):
            n += 1
            if exact and f"{counted[0] / counted[1]:.6f}" != similarity:
                return f"{counted[0]} of {counted[1]} is not {similarity}"
    return "" if n else "no pairs"


def boxes(page, texts):
    """A text that is shown whole stands in its box; what is not marked is the same in two boxes."""
    n = 0
    for _, a, b, _, sides in page.pairs("near") + page.pairs("chained"):
        plain = []
        for who, side in zip((a, b), sides):
            gaps = [e for e in side.iter("span") if e.get("class") == "gap"]
            text = "".join(side.itertext())
            if not gaps and text != texts[who]:
                return f"the text of {who}: {text[:80]!r}"
            unmarked = (side.text or "") + "".join(e.tail or "" for e in side)
            plain.append(unmarked.split())
            n += not gaps
        if plain[0] != plain[1]:
            return f"not the same words: {a} {b} {plain}"
    return "" if n else "no text is whole"


def choices(program, page, folder, source, options):
    table = {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in page.table("choices")}
    documents = folder.report["counts"]["documents"]
    threshold = folder.report["parameters"]["threshold"]
    wanted = {f"this run, at {threshold:g}": sizes_of([g["size"] for g in folder.groups], documents)}
    if folder.pairs is not None:
        with harness.scratch() as scratch:
            star = os.path.join(scratch, "star")
            program.run("dedup", source, "-o", star, "--cluster", "star", "--kept", "no", "-q", *options)
            wanted[f"--cluster star, at {threshold:g}"] = sizes_of([g["size"] for g in Folder(star).groups], documents)
        step = next((s for s in (decimal.Decimal("0.05"), decimal.Decimal("0.02")) if decimal.Decimal(str(threshold)) + 3 * s <= 1), decimal.Decimal("0.01"))
        for i in (1, 2, 3):
            at = decimal.Decimal(str(threshold)) + i * step
            parts = components((p[0], p[1]) for p in folder.pairs if decimal.Decimal(p[2]) >= at)
            wanted[f"--threshold {at.normalize():f}"] = sizes_of([n for n in parts.values() if n > 1], documents)
    return "" if table == wanted else f"{table}\n  wanted {wanted}"


def sizes_of(sizes, documents):
    removed = sum(sizes) - len(sizes)
    return [len(sizes), max(sizes, default=0), removed, documents - removed]


def graph(program, page, folder):
    chained = {r[1] for r in folder.removed if r[3] == "chained"}
    group = max((g for g in folder.groups if g["kept"] in chained), key=lambda g: g["size"])
    explained = json.loads(program.run("explain", folder.path, "--group", group["group"], "--json").stdout)
    links = sorted(explained["links"], key=lambda link: link["jaccard"])[:10]
    weakest = [(row[0], row[1], row[2]) for row in page.table("weakest")]
    if [w[2] for w in weakest] != [f"{link['jaccard']:.6f}" for link in links]:
        return f"weakest: {weakest}"
    drawn = list(page.by_id("chain").find("figure")[0])
    lines = sum(e.get("d", "").count("L") + e.tag.endswith("line") for e in drawn)
    nodes = len(explained["members"]) - len(explained["copies"])
    if sum(e.tag.endswith("circle") for e in drawn) == nodes and lines != len(explained["links"]):
        return f"{lines} links are drawn of {len(explained['links'])}"
    bridges = [[b["id_a"], b["id_b"], f"{b['jaccard']:.6f}", str(b["with_a"]), str(b["with_b"])] for b in
               sorted(explained["bridges"], key=lambda b: -min(b["with_a"], b["with_b"]))[:10]]
    got = [[cell.replace(",", "") if i > 2 else cell for i, cell in enumerate(row)] for row in page.table("bridges")]
    if got != bridges:
        return f"bridges: {got}, wanted {bridges}"
    points = [[p["id"], str(p["parts"])] for p in sorted(explained["articulation_points"], key=lambda p: -p["parts"])[:10]]
    return "" if page.table("points") == points else f"points: {page.table('points')}, wanted {points}"


def same_as_json(program, page, folder):
    data = json.loads(program.run("report", folder.path, "--json", "-q").stdout)
    for name, n in page.counts.items():
        if data["counts"][name] != n:
            return f"counts.{name}"
    bins = {round(b["low"] * 100): b["n"] for b in data["similarities"]["bins"]}
    if bins != folder.histogram():
        return f"bins {bins}"
    for section, member in (("near", "just_above"), ("chained", "most_chained")):
        got = [(f"{p['jaccard']:.6f}", p["a"], p["b"]) for p in data[member]]
        if got != [pair[:3] for pair in page.pairs(section)]:
            return member
    return ""


# --- corpora ---

def chain(seed=5, n=60):
    """Families whose members follow each other: each has the words of the one before but for a few."""
    random_words = random.Random(seed)
    docs, texts = [], {}
    for family in range(6):
        words = [f"w{family}q{i}" for i in range(40)]
        for member in range(n // 6):
            name = f"f{family}m{member}"
            docs.append({"id": name, "text": " ".join(words)})
            if member % 4 == 3:
                docs.append({"id": name + "copy", "text": " ".join(words) + " ." * (family % 3)})  # longer, with the same words
            for place in random_words.sample(range(40), 3 + family % 3):
                words[place] = f"x{family}q{member}q{place}"
    random_words.shuffle(docs)
    return docs, {doc["id"]: doc["text"] for doc in docs}


HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)><style>*{display:none}</style>",
           "\"'><b onclick=\"alert(1)\">&lt;&#60;&amp", "</title></style></textarea><!-- --><![CDATA[", "\u202egnp.exe\u2066x\u2069\u200f",
           "a\x00b\x01\x1b[31m\x7f\x85\x9b", "line\nline\ttab\rreturn\r\nend\u2028x\u2029y", "\ufffe\uffff\ufdd0\U0001fffe\ufeff\u200b\U000e0041",
           "{{constructor}} ${7*7} <%= 1 %>", "{{raw style}}{{/each}}{{else}}", "javascript:alert(1)", "\\u003cscript\\u003e", "' onmouseover='alert(1)", "-->", "e\u0301\u0301" * 50]


def hostile_documents(strings):
    """Pairs and a chain, of texts with such a string among their words, and with ids that are one."""
    docs = []
    for i, string in enumerate(strings):
        words = [f"v{i}q{k}" for k in range(40)]
        for member in range(4):
            docs.append({"id": f"{string} {i} {member}", "text": " ".join(words[:20] + [string] + words[20:])})
            for place in range(5 * member, 5 * member + 5):
                words[place] = f"z{i}q{member}q{place}"
    long = "y" * 10_000_000
    docs += [{"id": f"long {k}", "text": " ".join([f"l{i}" for i in range(30)] + [long, f"end{k}"])} for k in range(2)]
    docs += [{"id": "i" * 100_000 + str(k), "text": " ".join(f"n{i}" for i in range(40)) + f" end{k}"} for k in range(2)]
    return docs


def write_jsonl(path, docs):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(doc) + "\n" for doc in docs)


def make_page(program, source, folder, options, *more):
    program.run("dedup", source, "-o", folder, "-q", *more, *options)
    return Page(program.run("report", folder, "-q").stdout)


# --- tests ---

def all_numbers(claims, program, page, folder, name):
    claims.attempt(f"{name}: counts, inputs and histogram are those of the files", lambda: numbers(page, folder))
    claims.attempt(f"{name}: the largest groups are those of the files", lambda: groups(page, folder))
    claims.attempt(f"{name}: pairs just above and most chained are those of the files", lambda: listed_pairs(page, folder))
    claims.attempt(f"{name}: shared shingles give the similarity", lambda: shared(page, True))
    claims.attempt(f"{name}: --json says the same", lambda: same_as_json(program, page, folder))


def test_chain(claims, program):
    docs, texts = chain()
    with harness.scratch() as scratch:
        source = os.path.join(scratch, "in.jsonl")
        write_jsonl(source, docs)
        for name, more in (("with pairs.tsv", ["--pairs"]), ("without", []), ("keep last", ["--pairs", "--keep", "last"]),
                           ("keep shortest", ["--pairs", "--keep", "shortest"]), ("keep longest", ["--pairs", "--keep", "longest"])):
            path = os.path.join(scratch, name.replace(" ", "-"))
            page = make_page(program, source, path, OPTIONS, *more)
            folder = Folder(path)
            all_numbers(claims, program, page, folder, name)
            claims.attempt(f"{name}: boxes hold the texts", lambda: boxes(page, texts))
            claims.attempt(f"{name}: other choices", lambda: choices(program, page, folder, source, OPTIONS + more[1:]))
            claims.attempt(f"{name}: the graph", lambda: graph(program, page, folder))
        before = program.run("report", path, "-q").stdout
        claims.check("the same bytes again, on one thread", before == program.run("report", path, "-q", "--threads", 1).stdout == page.data)
        with open(source, "a", encoding="utf-8") as file:
            file.write("\n")
        for name, reason in (("changed", "size"), ("gone", "No such file")):
            done = program.run("report", path)
            page = Page(done.stdout)
            claims.check(f"a {name} input: said, and no text is shown",
                         "gone" in "".join(page.by_id("texts").itertext()) and not any(e.get("class") == "side" for e in page.root.iter("div"))
                         and b"texts are missing" in done.stderr, done.stderr)
            claims.check(f"a {name} input: the counts stand", page.counts["removed"] == len(folder.removed))
            rows_of = [row[0].split(",")[0] for row in page.table("choices")]
            claims.check(f"a {name} input: other thresholds are known, stars that begin with the longest are not",
                         "--cluster star" not in rows_of and rows_of.count("--threshold 0.75") == 1
                         and "not all of the inputs are there" in "".join(page.by_id("choices").itertext()), rows_of)
            if name == "changed":
                os.remove(source)


def test_keeping(claims, program):
    """A chain that is larger than allowed, and a template that joins more than 1,000 documents; fields of any type."""
    docs, _ = chain()
    values = {"score": [7, "high", None, True], "lang": ["en", "de", 3, "<b>"]}
    for i, doc in enumerate(docs):
        doc.update({field: of[i % 4] for field, of in values.items() if i % 7})
    docs += [{"id": f"t{i}", "text": f"our terms of use of this page number {i}", "score": i, "lang": "en"} for i in range(1001)]
    of = {field: [doc.get(field) for doc in docs] for field in values}
    wanted = [{"rule": "max:score", "missing": of["score"].count(None), "other": sum(v is True for v in of["score"])},
              {"rule": "order:lang=en", "missing": of["lang"].count(None), "other": 0,
               "unlisted": sum(v not in ("en", None) for v in of["lang"])}]
    with harness.scratch() as scratch:
        source = os.path.join(scratch, "in.jsonl")
        write_jsonl(source, docs)
        path = os.path.join(scratch, "plain")
        whole = make_page(program, source, path, OPTIONS, "--keep", "max:score,order:lang=en", "--pairs")
        largest = max(len(g["members"]) for g in Folder(path).groups)
        table = whole.table("unranked")
        claims.check("what rules could not compare is counted", table == [[w["rule"], *(str(w.get(n, "")) for n in ("missing", "other", "unlisted"))]
                                                                          for w in wanted], table)
        claims.check("nothing was divided, and nothing is said of it", "divided" not in whole.counts and b'id="divided"' not in whole.data)
        said = "".join(whole.by_id("dominant").itertext())
        claims.check("the dominant group is said, with what helps", largest == 1001 and f"has 1,001 of {len(docs):,} documents" in said
                     and said.endswith("What helps: --cluster star, --max-group-size, --weights tfidf."), said)
        data = json.loads(program.run("report", path, "--json", "-q").stdout)
        claims.check("--json says the same", data["keep_not_ranked"] == wanted and data["dominant_group"]["size"] == largest, data.get("dominant_group"))
        too_large = sum(n > 9 for n in components((p[0], p[1]) for p in Folder(path).pairs).values())
        path = os.path.join(scratch, "divided")
        parts = make_page(program, source, path, OPTIONS, "--max-group-size", "9")
        claims.attempt("divided: counts are those of the files", lambda: numbers(parts, Folder(path)))
        said = "".join(parts.by_id("divided").itertext())
        claims.check("how many components were divided is said", parts.counts["divided"] == too_large > 1
                     and said.startswith(f"{too_large} components of more than 9 documents were divided into stars"), said)
        claims.check("no field of a rule: no table of them", not parts.table("unranked"))


def parts_of(folder, n):
    """What --json has of cuts.tsv: the number of parts, the N cut most often, the three documents that lost most."""
    cuts = rows(folder, "cuts.tsv")
    names = [source["file"] for source in json.loads(harness.read_file(folder, "report.json"))["inputs"]]
    empty = {row[0] for row in rows(folder, "removed.tsv")}
    parts, lost = {}, collections.Counter()
    for row in cuts:
        parts.setdefault((row[3], int(row[4])), []).append(row)
        if row[0] not in empty:
            lost[row[0]] += int(row[2]) - int(row[1])
    most = []
    for (kept, at), of in sorted(parts.items(), key=lambda part: -len(part[1]))[:n]:
        files = collections.Counter(row[7] for row in of)
        there = max(files, key=lambda name: (files[name], -names.index(name)))
        most.append({"cuts": len(of), "kept": kept, "kept_from": at, "files": len(files), "most_in": there, "cuts_there": files[there],
                     "document": of[0][0], "from": int(of[0][1]), "to": int(of[0][2])})
    order = {row[0]: i for i, row in reversed(list(enumerate(cuts)))}
    shortened = sorted(lost, key=lambda doc: (-lost[doc], order[doc]))[:3]
    return len(parts), most, [(doc, lost[doc]) for doc in shortened]


def parts_said(program, folder, n, *more):
    data = json.loads(program.run("report", folder, "--json", "--pairs", n, *more).stdout)
    most = [{key: value for key, value in unit.items() if key != "document_text"} for unit in data["most_repeated"]]
    return data["repeated_units"], most, [(doc["document"], doc["cut_bytes"]) for doc in data["before_and_after"]]


def test_parts(claims, program):
    draw = random.Random(11)
    with harness.scratch() as scratch:
        sources = [os.path.join(scratch, name) for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
        lines = [" ".join(f"w{draw.randrange(500)}" for _ in range(9)) for _ in range(400)]
        for k, source in enumerate(sources):
            text = lambda: "\n".join(draw.choice(lines[: 40 * 3 ** draw.randrange(3)]) for _ in range(draw.randrange(9)))
            write_jsonl(source, [{"id": f"{k}.{i}", "text": text() + f"\nno line like {i}" * (i % 3)} for i in range(300)])
        path = os.path.join(scratch, "parts")
        program.run("dedup", *sources, "--unit", "line", "-o", path, "-q")
        for n in (0, 1, 20, 1000):
            claims.check(f"parts: --pairs {n}", parts_said(program, path, n) == parts_of(path, n))
        many = os.path.join(scratch, "many.jsonl")
        write_jsonl(many, [{"id": i, "text": "\n".join(f"line {k}" for k in range(200 * (i % 1000), 200 * (i % 1000) + 200))}
                           for i in range(2100)])
        path = os.path.join(scratch, "many")
        program.run("dedup", many, "--unit", "line", "--min-words", 2, "--kept", "no", "-o", path, "-q")
        number, most, _ = parts_said(program, path, 50, "--memory", "20M")
        claims.check("parts: more rows than --memory has room for", (number, most) == parts_of(path, 50)[:2], number)


def test_hostile(claims, program):
    pages = {}
    with harness.scratch() as scratch:
        for name, strings, file in (("harmless", [f"plain {i}" for i in range(len(HOSTILE))], "in.jsonl"),
                                    ("hostile", HOSTILE, "<img src=x onerror=alert(1)>\n'\"&.jsonl")):
            folder = os.path.join(scratch, name)
            os.mkdir(folder)
            source = os.path.join(folder, file)
            write_jsonl(source, hostile_documents(strings))
            write_jsonl(os.path.join(folder, "b.jsonl"), [{"id": "other", "text": "other words"}])
            out = os.path.join(scratch, name + ".out")
            program.run("dedup", folder, "-o", out, "-q", "--pairs", *OPTIONS)
            pages[name] = program.run("report", out, "-q", "--text-bytes", 1000).stdout
    parsed = {}
    for name, data in pages.items():
        claims.attempt(f"{name}: html5lib reads it without an error", lambda: parsed.update({name: Page(data)}))
    if len(parsed) < 2:
        return
    extra = parsed["hostile"].shape() ^ parsed["harmless"].shape()
    claims.check("the elements and attributes are those of a harmless corpus", not extra, extra)
    bad = [v for v in parsed["hostile"].values() if not SAFE_VALUE.match(v)]
    claims.check("no attribute has anything of a text", not bad, bad[:3])
    unseen = UNSEEN.search(pages["hostile"].decode())
    claims.check("no hidden character stands in it", unseen is None, unseen)
    claims.check("hidden characters are shown", all(f">{c}<".encode() in pages["hostile"] or c.encode() in pages["hostile"]
                                                    for c in ("U+202E", "U+0000", "U+009B", "U+FFFE", "U+E0041")))
    claims.check("a page of long words and ids stays small", len(pages["hostile"]) < 3_000_000, len(pages["hostile"]))
    scripts = ["".join(e.itertext()) for e in parsed["hostile"].root.iter("script")]
    claims.check("there is one script", len(scripts) == 1, len(scripts))


def splitmix64(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def wilson(right, n, z=1.959963984540054):
    """The two p at which right/n lies z standard deviations from p: the roots of (right/n - p)^2 = z^2 p (1 - p) / n."""
    a, b, c = 1 + z * z / n, -(2 * right / n + z * z / n), (right / n) ** 2
    root = (b * b - 4 * a * c) ** .5
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def sampled(program, scratch, n, seed, labels):
    """The rows of the sample are those of the least outputs of the generator, in their order; labels give precision and interval."""
    path = os.path.join(scratch, "out")
    removed = rows(path, "removed.tsv")
    wanted = [(r[1], r[0]) for _, r in sorted(zip(splitmix64(seed), removed), key=lambda x: x[0])[:n]]
    file = os.path.join(scratch, "labels.tsv")
    judged = wanted[:len(labels)]
    with open(file, "w") as out:
        out.write("id\tjudgement\n" * (seed % 2) + "".join(f"{b}\t{'right' if x else 'wrong'}\n" for (_, b), x in zip(judged, labels)))
    said = json.loads(program.run("report", path, "--json", "--sample", n, "--sample-seed", seed, *(["--sample-labels", file] if labels else [])).stdout)
    if [(p["a"], p["b"]) for p in said["sample_pairs"]] != wanted or said["sample"]["of"] != len(removed):
        return f"{said['sample_pairs']}, expected {wanted}"
    s, n_labels = said["sample"], len(judged)
    if (s["labelled"], s["right"], s["wrong"]) != (n_labels, sum(labels[:n_labels]), n_labels - sum(labels[:n_labels])):
        return f"{s}"
    low, high = wilson(s["right"], n_labels) if labels else (0, 0)
    return "" if not labels or (abs(s["low"] - low) < 1e-9 and abs(s["high"] - high) < 1e-9 and s["precision"] == s["right"] / n_labels) else f"{s}: {low}, {high}"


def test_sample(claims, program):
    with harness.scratch() as scratch:
        (docs, _), path = chain(), os.path.join(scratch, "out")
        files = [os.path.join(scratch, f"{i}.jsonl") for i in range(2)]
        for i, file in enumerate(files):
            write_jsonl(file, docs[i::2])
        program.run("dedup", *files, "-o", path, *OPTIONS)
        for n, seed, labels in ((5, 1, []), (7, 2, [1, 0, 1, 1]), (1000, 3, [1] * 9), (4, 4294967295, [0, 0]), (0, 1, [])):
            claims.attempt(f"sample of {n} by seed {seed}, {len(labels)} labels", lambda: sampled(program, scratch, n, seed, labels))
        gone, texts = {r[0] for r in rows(path, "removed.tsv")}, [json.loads(line) for file in files for line in harness.read_file(file).splitlines()]
        sums = [sum(len(t["text"].encode()) for t in texts[i * len(docs[::2]):][:len(docs[i::2])] if t["id"] in gone) for i in range(2)]
        said = json.loads(program.run("report", path, "--json").stdout)
        claims.check("bytes of text removed, by input and in all", [x["removed_bytes"] for x in said["inputs"]] == sums and said["counts"]["removed_bytes"] == sum(sums), sums)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    x, y = sorted((luminance(a), luminance(b)), reverse=True)
    return (x + 0.05) / (y + 0.05)


def test_contrast(claims):
    folder = os.path.join(harness.ROOT, "src")
    css = harness.read_file(folder, "job", "figure.css").decode() + harness.read_file(folder, "report", "page.css").decode()
    schemes = {"light": {}, "dark": {}, "print": {}}
    for match in re.finditer(r"(@media \(prefers-color-scheme: dark\) \{\s*|@media print \{\s*)?:root \{([^}]*)\}", css):
        kind = "dark" if "dark" in (match[1] or "") else "print" if match[1] else "light"
        schemes[kind].update(re.findall(r"--([\w-]+): (#\w{6})", match[2]))
    for kind, colours in schemes.items():
        wrong = [f"{ink} on {ground}: {contrast(colours[ink], colours[ground]):.2f}"
                 for ink, ground in [("ink", "paper"), ("soft", "paper"), ("blue", "paper"), ("red", "paper"), ("ink", "panel"), ("soft", "panel"),
                                     ("red", "panel"), ("ink", "only-a"), ("ink", "only-b")] if contrast(colours[ink], colours[ground]) < 4.5]
        wrong += [f"{name}: {contrast(colours[name], colours['paper']):.2f}" for name in ("blue", "amber", "red", "violet", "grey", "pale")
                  if contrast(colours[name], colours["paper"]) < 3]
        claims.check(f"contrast, {kind}", not wrong, wrong)


def test_corpora(claims, program):
    """By hand: four corpora beside the repository."""

    for name, file, options in (("scancode_rules", "docs.jsonl.zst", []), ("spdx_texts", "docs.tsv.zst", ["--threshold", "0.5"]),
                                ("oeb_us_uk", "docs.tsv.zst", ["--shingle", "word:2", "--threshold", "0.6"]),
                                ("er_cddb", "docs.tsv.zst", ["--shingle", "char:4", "--threshold", "0.5"])):
        source = os.path.join(harness.DATA, name, file)
        fields = ["--text-field", "3", "--id-field", "1"] if ".tsv" in file else []
        with harness.scratch() as scratch:
            path = os.path.join(scratch, "out")
            page = make_page(program, source, path, options + fields, "--pairs")
            folder = Folder(path)
            all_numbers(claims, program, page, folder, name)
            claims.attempt(f"{name}: other choices", lambda: choices(program, page, folder, source, options + fields))
            if any(r[3] == "chained" for r in folder.removed):
                claims.attempt(f"{name}: the graph", lambda: graph(program, page, folder))


def main():
    args = harness.arguments(__doc__, ("--corpora", {"action": "store_true"}))
    claims, program = harness.Claims(), harness.Program(args.program, args.server)
    if args.corpora:
        test_corpora(claims, program)
    else:
        test_chain(claims, program)
        test_sample(claims, program)
        test_keeping(claims, program)
        test_parts(claims, program)
        test_hostile(claims, program)
        test_contrast(claims)
    claims.end()


if __name__ == "__main__":
    main()
