# SPDX-License-Identifier: Apache-2.0
"""Records as Python's own parsers see them: arrays of JSON in any layout, whole and damaged, against json.loads; paths through
arrays against a few lines of Python; files of WET as they were written; tables of any delimiter against csv.writer. Texts are compared by their signatures beside
those of the same texts a line each, byte shingles longer than any of them, so that one byte more or less tells."""
import csv
import gzip
import io
import json
import os
import random
import re
import zlib

import harness
import text_model

np = harness.need_modules("numpy")


class Runs:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def sign(self, *arguments, expect=0):
        """(ids, signatures, skipped lines), or the last line of stderr where that was expected to fail."""
        self.n += 1
        target = os.path.join(self.folder, f"out-{self.n}")
        done = self.bandmill.run("sign", "--perms", 8, "--shingle", "byte:1000", "--normalize", "none", "-o", target,
                                 *arguments, expect=expect)
        if expect != 0:
            return done.stderr.decode().splitlines()[-1]
        ids = [row[0] for row in harness.read_rows(harness.read_file(target, "ids.txt"))]
        skipped = []
        if os.path.exists(os.path.join(target, "skipped.tsv")):
            skipped = [int(row[1]) for row in harness.read_rows(harness.read_file(target, "skipped.tsv"))[1:]]
        return ids, np.load(os.path.join(target, "signatures.npy")).tolist(), skipped

    def sign_texts(self, texts):
        lines = "".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts))
        return self.sign(self.put("texts.jsonl", lines.encode()))[1]


def strict(text):
    """json.loads to the letter of RFC 8259; None where it is broken."""
    def no(name):
        raise ValueError(name)
    try:
        return json.loads(text, parse_constant=no)
    except ValueError:
        return None


def random_value(rng, depth):
    kind = rng.randrange(9 if depth < 4 else 5)
    if kind < 2:
        return "".join(rng.choice(["a", "b", "[", "]", "{", "}", ",", ":", '"', "\\", "\n", "\u00e9", "\U0001f600", " "])
                       for _ in range(rng.randrange(12)))
    if kind < 5:
        return rng.choice([None, True, False, 0, -1.5e300, 12345678901234567890123, rng.randrange(1000)])
    if kind < 7:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abc\u00e9"): random_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def space(rng):
    return "".join(rng.choice(" \n\r\t") for _ in range(rng.choice((0, 0, 0, 1, 1, 5, 200 if rng.random() < 0.02 else 2))))


def layout(rng, elements):
    """The array as text; the line on which each element begins."""
    text, lines = space(rng) + "[" + space(rng), []
    for i, element in enumerate(elements):
        text += (space(rng) + "," + space(rng)) if i else ""
        lines.append(text.count("\n") + 1)
        text += json.dumps(element, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 0, 1, "\t")))
    return text + space(rng) + "]" + space(rng), lines


def is_document(element):
    return isinstance(element, dict) and "text" in element and (element["text"] is None or isinstance(element["text"], str)) \
        and (element.get("id") is None or (isinstance(element["id"], (str, int, float)) and not isinstance(element["id"], bool)))


def check_array(runs, rng, name):
    elements = []
    for i in range(rng.randrange(40)):
        element = random_value(rng, 0)
        if rng.random() < 0.8:
            element = {"x": element, "text": rng.choice(["", None, f"text {i}", random_value(rng, 3)]), "id": f"id {i}", "y": []}
        elements.append(element)
    text, lines = layout(rng, elements)
    assert strict(text) == elements
    path = runs.put(name, text.encode())
    ids, words, skipped = runs.sign(path, "--format", "json", "--on-error", "skip", "--duplicate-ids", "number", "--batch-docs",
                                    rng.choice((1, 2, 7, 1000)))
    documents = [(e, line) for e, line in zip(elements, lines) if is_document(e)]
    if skipped != [line for e, line in zip(elements, lines) if not is_document(e)]:
        return f"{name}: skipped {skipped}"
    wanted = [e["id"] if e.get("id") is not None else None for e, _ in documents]
    if len(ids) != len(wanted) or any(w is not None and w != i for w, i in zip(wanted, ids)):
        return f"{name}: ids {ids}, expected {wanted}"
    return "" if words == runs.sign_texts([e["text"] or "" for e, _ in documents]) else f"{name}: other texts"


def damaged(rng, text):
    for _ in range(rng.randrange(1, 3)):
        at, byte = rng.randrange(len(text)), rng.choice('"\\{}[]:,0e-.t \x01x')
        text = text[:at] + rng.choice((byte + text[at + 1:], text[at + 1:], byte + text[at:]))
    return text


def check_damage(runs, rng, name):
    """What Python takes is taken; what it refuses, and what is no document, is refused with a line."""
    elements = [{"id": str(i), "text": f"text {i}", "x": random_value(rng, 1)} for i in range(rng.randrange(1, 5))]
    text = damaged(rng, layout(rng, elements)[0])
    path = runs.put(name, text.encode())
    value = strict(text)
    if isinstance(value, list) and all(is_document(element) for element in value):
        ids, _, _ = runs.sign(path, "--format", "json", "--duplicate-ids", "number")
        return "" if len(ids) == len(value) else f"{name}: {len(ids)} documents of {len(value)}"
    error = runs.sign(path, "--format", "json", "--duplicate-ids", "number", expect=3)
    return "" if re.match(re.escape(f"bandmill: {path}:") + "[0-9]+: ", error) else f"{name}: {error}"


class Missing(Exception):
    pass


def reach(value, parts, element=False):
    """All texts at the end of a path, by the rule of docs/inputs.md; `element`: the value is one of an array, by the last part."""
    if not parts:
        if value is None or isinstance(value, str):
            return [value or ""]
        if element and isinstance(value, (int, float)) and not isinstance(value, bool):
            return [json.dumps(value)]
        raise Missing
    name, rest = parts[0], parts[1:]
    if name == "[]":
        if not isinstance(value, list):
            raise Missing
        return [text for part in value for text in reach(part, rest, True)]
    if not isinstance(value, dict) or name not in value:
        raise Missing
    return reach(value[name], rest)


def check_path(runs, rng, path):
    parts = [p for step in path.split(".") for p in ([step[:step.index("[]")]] + ["[]"] * step.count("[]") if "[]" in step else [step])]

    def build(parts):
        if rng.random() < 0.04:
            return random_value(rng, 2)
        if not parts:
            return rng.choice(["", "text", "two\nlines", "\u00e9", None, *([7, -3.5] if path.endswith("[]") else [])])
        if parts[0] == "[]":
            return [build(parts[1:]) for _ in range(rng.randrange(4))]
        pairs = {"other": 5, parts[0]: build(parts[1:])}
        return dict(reversed(pairs.items())) if rng.random() < 0.5 else pairs

    documents = [{"id": str(i), **(b if isinstance(b, dict) else {})} for i, b in enumerate(build(parts) for _ in range(300))]
    texts, bad = [], []
    for i, document in enumerate(documents):
        try:
            texts.append("\n".join(reach(document, parts)))
        except Missing:
            bad.append(i + 1)
    for wide in ("", " " * 300000):
        some = documents[:20] if wide else documents
        data = "".join(json.dumps(d)[:-1] + wide + "}\n" for d in some)
        _, words, skipped = runs.sign(runs.put("path.jsonl", data.encode()), "--text-field", path, "--on-error", "skip")
        n_bad = [line for line in bad if line <= len(some)]
        if skipped != n_bad:
            return f"skipped {skipped}, expected {n_bad}"
        if words != runs.sign_texts(texts[:len(some) - len(n_bad)]):
            return "other texts"
    return "" if bad and texts else "the documents are all alike"


def check_table(runs, rng, delimiter):
    rows = [[str(i), "".join(rng.choice(['a', '"', delimiter, "\n", "b c", ",", ";", "\u00e9"]) for _ in range(rng.randrange(8))),
             "x" * rng.randrange(3)] for i in range(200)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=rng.choice(("\n", "\r\n")))
    writer.writerow(["id", "text", "more"])
    writer.writerows(rows)
    path = runs.put("table.csv", out.getvalue().encode())
    ids, words, _ = runs.sign(path, "--delimiter", delimiter, "--batch-docs", rng.choice((1, 7, 1000)))
    return "" if ids == [row[0] for row in rows] and words == runs.sign_texts([row[1] for row in rows]) else "other rows"


def wet_record(rng, kind, i, body):
    """A record of WARC in one of the layouts that its writers have; its fields in any order but the first line."""
    end = rng.choice(("\r\n", "\r\n", "\n"))
    fields = [f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{i}>", f"WARC-Target-URI: http://example.org/{i}?a=b:c",
              f"{rng.choice(('Content-Length', 'content-length'))}:{rng.choice((' ', '', '  '))}{len(body)}", "Content-Type: text/plain", "X-Long: " + "y" * rng.randrange(90)]
    rng.shuffle(fields)
    return (end.join(["WARC/1.0", *fields]) + end * 2).encode() + body + (end * 2).encode()


def gzip_members(data):
    members = []
    while data:
        stream = zlib.decompressobj(31)
        members.append(stream.decompress(data))
        data = stream.unused_data
    return members


def check_wet(runs, rng, name):
    """Documents are the records of type conversion; what dedup keeps are their bytes, behind those of the warcinfo record, a member each."""
    pieces = ["WARC/1.0\r\n", "Content-Length: 3\r\n", "\r\n\r\n", "\n\n", "a ", "\u00e9 ", "words of it ", "\r", "\x00"]
    records, texts = [], []
    for i in range(rng.randrange(1, 40)):
        kind = "warcinfo" if i == 0 else rng.choice(("conversion", "conversion", "conversion", "metadata", "request", "warcinfo"))
        text = rng.choice(texts) if texts and rng.random() < 0.2 else "".join(rng.choice(pieces) for _ in range(rng.randrange(9))) + str(i) * (rng.random() < 0.7)
        texts += [text] if kind == "conversion" else []
        records.append((kind, i, wet_record(rng, kind, i, text.encode()), text))
    data, lines, line = b"".join(r[2] for r in records), {}, 1
    for kind, i, raw, _ in records:
        lines[i], line = line, line + raw.count(b"\n")
    documents = [r for r in records if r[0] == "conversion"]
    if rng.random() < 0.5:
        data = b"".join(gzip.compress(r[2]) for r in records)
        name += ".gz"
    path = runs.put(name, data)
    batches = ("--batch-docs", rng.choice((1, 2, 7, 1000)))
    others = [r for r in records if r[0] not in ("conversion", "warcinfo")]
    if others and not documents:
        said = runs.sign(path, *batches, expect=3)
        return "" if "no record of type conversion" in said else f"{name}: {said}"
    for asked, wanted in ((), [f"<urn:uuid:{r[1]}>" for r in documents]), (("--id-field", "uri"), [f"http://example.org/{r[1]}?a=b:c" for r in documents]), (
            ("--id-field", "none"), [f"{path}:{lines[r[1]]}" for r in documents]):
        ids, words, _ = runs.sign(path, *asked, *batches)
        if ids != wanted or words != runs.sign_texts([r[3] for r in documents]):
            return f"{name}: {ids}, expected {wanted}, or other texts"
    seen, kept = set(), [records[0][2]]
    for r in documents:
        if r[3] not in seen or not r[3] or text_model.unreadable(r[3]):
            kept.append(r[2])
        seen.add(r[3])
    cut = ("--shingle", "byte:1000", "--normalize", "none", "--threshold", "1", *batches)
    stays = runs.bandmill.run("dedup", path, *cut, "-o", "-", "--kept", "none").stdout
    if stays != b"".join(kept):
        return f"{name}: other bytes are kept"
    return "" if gzip_members(runs.bandmill.run("dedup", path, *cut, "-o", "-", "--kept", "gz").stdout) == kept else f"{name}: other members"


def main():
    args = harness.arguments(__doc__)
    claims, rng = harness.Claims(), random.Random(7)
    n = {"small": 10, "normal": 40, "full": 1000}[args.size]
    with harness.scratch() as folder:
        runs = Runs(harness.Program(args.program, args.server), folder)
        claims.attempt(f"{n} arrays in any layout are what Python reads",
                       lambda: next(filter(None, (check_array(runs, rng, f"array-{i}.json") for i in range(n))), ""))
        claims.attempt(f"{4 * n} damaged arrays are refused where Python refuses them",
                       lambda: next(filter(None, (check_damage(runs, rng, f"damage-{i}.json") for i in range(4 * n))), ""))
        for path in ("messages[].content", "tags[]", "a[][]", "a.b[].c[]", "a[].b.c", "a.b"):
            claims.attempt(f"--text-field {path} brings together what Python does", lambda: check_path(runs, rng, path))
        claims.attempt(f"{n} files of WET: ids, texts, and the bytes that are kept",
                       lambda: next(filter(None, (check_wet(runs, rng, f"x-{i}.warc.wet") for i in range(n))), ""))
        for delimiter in ",;|\t :~x":
            claims.attempt(f"csv of {delimiter!r} is read as csv.writer wrote it", lambda: check_table(runs, rng, delimiter))
    claims.end()


if __name__ == "__main__":
    main()
