# SPDX-License-Identifier: Apache-2.0
"""differential.py --program RECORD_ANSWERS [--target json|csv] [--records N] [--seed S] -- many made up and damaged records,
read by us (one process, record_answers.c) and by a second reader: for JSON Lines Python's json, for CSV a model written from
RFC 4180 and docs/inputs.md, which is itself held against Python's csv where both mean the same. Compared are the records there
are, their lines, which are bad, ids, texts, what was replaced for not being UTF-8, and which files are refused whole. The first
difference ends it with 1, the file that showed it written beside the program as differential-TARGET.bin."""
import argparse
import codecs
import csv
import io
import json
import os
import random
import subprocess
import sys

MARK = "\ud800"  # stands for a replaced sequence until it is counted


def replace_invalid(error):
    """One mark for each maximal invalid subpart, which is what Python's decoder hands over."""
    return MARK, error.end


codecs.register_error("mark", replace_invalid)


def repaired(text):
    """The text as it is handed out, and how much was replaced: marks, and surrogates that were escaped alone."""
    n = sum(0xD800 <= ord(c) <= 0xDFFF for c in text)
    return ("".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text) if n else text), n


class Ours:
    """The process that answers."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, form, data):
        out, answer = self.process.stdin, self.process.stdout
        out.write(f"{form.name}\t{form.header}\t{form.delimiter}\t{form.id_field}\t{','.join(form.fields)}\t{len(data)}\n".encode())
        out.write(data)
        out.flush()
        records = []
        while True:
            parts = answer.readline().decode().rstrip("\n").split("\t")
            if parts[0] == "good":
                line, invalid, n_id, n_text = map(int, parts[1:])
                body = answer.read(n_id + n_text + 1)
                records.append((line, body[:n_id].decode(), body[n_id:-1].decode(), invalid))
            elif parts[0] == "bad":
                answer.read(int(parts[3]) + 1)
                records.append((int(parts[1]), None, None, int(parts[2])))
            elif parts[0] == "end":
                return records, int(parts[1])
            else:
                raise SystemExit(f"the program ended ({self.process.wait()})")


class Form:
    def __init__(self, name, fields=(), id_field="", header="auto", delimiter=0):
        self.name, self.fields, self.id_field, self.header, self.delimiter = name, fields, id_field, header, delimiter

    def __repr__(self):
        return f"{self.name} fields={self.fields} id={self.id_field!r} header={self.header} delimiter={self.delimiter}"


BAD = (None, None, 0)


# --- JSON Lines ---

class Number(str):
    """The source text of a number."""


def refuse(name):
    raise ValueError(name)


def load(text):
    return json.loads(text, parse_constant=refuse, parse_int=Number, parse_float=Number)


def reach(value, parts):
    """All texts at the end of a path; None: one of them is missing or of another type."""
    if not parts:
        return [value or ""] if value is None or type(value) is str else None
    if parts[0] == "[]":
        found = [reach(element, parts[1:]) for element in value] if isinstance(value, list) else [None]
        return None if None in found else [text for texts in found for text in texts]
    if not isinstance(value, dict) or parts[0] not in value:
        return None
    return reach(value[parts[0]], parts[1:])


def parts_of(field):
    return [p for step in field.split(".") for p in ([step.split("[")[0]] + ["[]"] * step.count("[]"))]


def json_record(form, line):
    try:
        value = load(line.decode("utf-8", "mark"))
    except (ValueError, RecursionError):
        return BAD
    if not isinstance(value, dict):
        return BAD
    found = value
    if form.id_field:
        for part in parts_of(form.id_field):
            found = found.get(part) if isinstance(found, dict) else None
        if found is None:
            return BAD
    else:
        found = value.get("id")
        if type(found) not in (str, Number): # which was not asked for
            found = None
    if found is not None and type(found) not in (str, Number):
        return BAD
    texts = [reach(value, parts_of(field)) for field in form.fields or ("text",)]
    if None in texts:
        return BAD
    text, n_text = repaired("\n".join("\n".join(t) for t in texts))
    shown, n_id = repaired(found) if found is not None else (None, 0)
    return (shown, text, n_text + n_id)


def json_lines(form, data):
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    lines = data.split(b"\n")
    last = lines.pop()
    for number, line in enumerate([line[:-1] if line.endswith(b"\r") else line for line in lines] + [last], 1):
        if line.strip(b" \t\r\n"):
            shown, text, n = json_record(form, line)
            yield number, shown, text, n


TOKENS = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"E+1", b"00", b"true", b"tru", b"null", b"NaN",
          b"Infinity", b"\\u", b"\\ud83d", b"\\ude00", b"\\u0000", b"\\u00e9", b"\\/", b"\\x", b"\x00", b"\x1f", b"\x7f", b" ", b"\t",
          b"\r", b"\n", b"\x0b", b"\xa0", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98",
          b"\xf4\x90\x80\x80", b"\xc0\xaf", b'"id":', b'"text":', b'"id":1.50', b'"t":["a",null]', b'{"a":{"b":"c"}}', b"/*", b"'"]
CHARS = ["a", "b", " ", "\n", '"', "\\", "/", "\u00e9", "\u4e2d", "\U0001f600", "\ud83d", "\ude00", "\x00", "\x1f", "\x7f", "\ufeff", "\u2028"]


def some_text(rng):
    return "".join(rng.choice(CHARS) for _ in range(rng.randrange(9 if rng.random() < 0.97 else 300)))


def some_value(rng, depth):
    kind = rng.randrange(8 if depth < 5 else 5)
    if kind < 3:
        return some_text(rng)
    if kind < 5:
        return rng.choice([None, True, False, 0, -0.0, 1e300, 1.5, -12345678901234567890123, rng.randrange(100)])
    if kind == 5:
        return [some_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "t", "id", "text", "\u00e9", ""]): some_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def some_object(rng):
    pairs = [("id", rng.choice([some_text(rng), rng.randrange(1000), 1.0, None])), ("text", some_text(rng)),
             ("a", {"b": some_text(rng), "c": some_value(rng, 3)}), ("t", [some_text(rng) for _ in range(rng.randrange(3))]),
             ("x", some_value(rng, 0)), ("text", some_value(rng, 4)), ("id", some_value(rng, 4))]
    if rng.random() < 0.7: # no key twice
        del pairs[5:]
    rng.shuffle(pairs)
    chosen = pairs[:rng.choice((2, 4, 5, 5, 7))]
    ascii_only = rng.random() < 0.5
    comma, colon = rng.choice([(",", ":"), (", ", ": "), (" ,\t", " : ")])
    body = comma.join(json.dumps(k, ensure_ascii=ascii_only) + colon + json.dumps(v, ensure_ascii=ascii_only) for k, v in chosen)
    return ("{" + body + "}").encode("utf-8", "surrogatepass")


def damaged(rng, data, tokens):
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2, 5))):
        at, token = rng.randrange(len(data) + 1), rng.choice(tokens)
        kind = rng.randrange(4)
        if kind == 0:
            data = data[:at] + token + data[at:]
        elif kind == 1:
            data = data[:at] + token + data[at + len(token):]
        elif kind == 2:
            data = data[:at] + data[at + rng.randrange(1, 4):]
        elif data:
            flipped = at % len(data)
            data = data[:flipped] + bytes([data[flipped] ^ 1 << rng.randrange(8)]) + data[flipped + 1:]
    return data


def json_file(rng):
    form = Form("jsonl", rng.choice([(), (), ("text",), ("a.b",), ("t[]",), ("text", "a.b"), ("a.b", "t[]")]), rng.choice(["", "", "id", "a.b"]))
    lines = [damaged(rng, some_object(rng), TOKENS) for _ in range(rng.randrange(1, 40))]
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice([b"", b" \t", b"\r", b"[]", b"1", b'"x"', b"{}{}", b"{} "]))
    ending = rng.choice((b"\n", b"\n", b"\r\n"))
    return form, rng.choice((b"", b"", b"", b"\xef\xbb\xbf")) + ending.join(lines) + rng.choice((b"", ending, ending))


# --- CSV ---

def csv_rows(data, delimiter):
    """RFC 4180 by its grammar, byte by byte: (line, lines that went with a quote, cells or None where the row is broken)."""
    state, cell, cells, broken = "begin", bytearray(), [], ""
    line, at, begun = 1, 1, False
    for i, byte in enumerate(data):
        c = bytes([byte])
        begun = True
        if c == b"\n" and state != "quoted":
            if cell.endswith(b"\r") and state == "plain":
                del cell[-1:]
            yield line, at - line if broken == "quote" else 0, None if broken else cells + [bytes(cell)]
            state, cell, cells, broken, begun = "begin", bytearray(), [], "", False
            at += 1
            line = at
            continue
        at += c == b"\n"
        if state == "quoted":
            if c == b'"':
                state = "closed"
            else:
                cell += c
        elif state == "closed" and c == b'"':
            cell += c
            state = "quoted"
        elif c == delimiter:
            cells.append(bytes(cell))
            state, cell = "begin", bytearray()
        elif state == "begin" and c == b'"':
            state = "quoted"
        elif state == "closed" and c == b"\r" and data[i + 1:i + 2] == b"\n":
            pass
        else: # the first cell that is broken decides
            broken = broken or ("quote" if state == "closed" else "stray" if c == b'"' else "")
            cell += c
            state = "plain"
    if begun: # the last row; what ends with a newline in quotes has no line behind that
        broken = broken or ("quote" if state == "quoted" else "")
        behind = at - line - (state == "quoted" and data.endswith(b"\n"))
        yield line, behind if broken == "quote" else 0, None if broken else cells + [bytes(cell)]


def csv_records(form, data):
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    rows = list(csv_rows(data, bytes([form.delimiter or ord(",")])))
    first = rows[0][2] if rows else None # no row has more cells
    if form.header == "yes":
        rows = rows[1:]
        id_column, text_column, has_id = 0, 1, True
    else:
        text_column, has_id = int(form.fields[0]) - 1, bool(form.id_field)
        id_column = int(form.id_field) - 1 if has_id else 0
    for line, behind, cells in rows:
        if cells is None:
            yield line, None, None, behind
        elif first is not None and len(cells) > len(first):
            yield line, None, None, 0
        elif len(cells) <= text_column or (form.id_field and len(cells) <= id_column):
            yield line, None, None, 0
        else:
            text, n_text = repaired(cells[text_column].decode("utf-8", "mark"))
            shown, n_id = (repaired(cells[id_column].decode("utf-8", "mark"))
                           if has_id and len(cells) > id_column else (None, 0))
            yield line, shown, text, n_text + n_id


def python_agrees(data, delimiter):
    """The model against Python's csv, where no byte means one thing to one and another to the other."""
    if b"\r" in data or b"\0" in data or b'"' in delimiter:
        return True
    ours = list(csv_rows(data, delimiter))
    if any(cells is None for _, _, cells in ours):
        return True
    theirs = list(csv.reader(io.StringIO(data.decode("latin-1"), newline=""), delimiter=delimiter.decode(), strict=True))
    return [[c.decode("latin-1") for c in cells] for _, _, cells in ours] == [row or [""] for row in theirs]


def csv_file(rng):
    delimiter = rng.choice((b",", b",", b";", b"|", b"\t"))
    header = rng.choice(("no", "no", "yes"))
    form = Form("csv", ("text",) if header == "yes" else (rng.choice("123"),),
                "id" if header == "yes" and rng.random() < 0.5 else rng.choice(("", "1", "2")) if header == "no" else "", header,
                0 if delimiter == b"," else delimiter[0])
    alphabet = [b"a", b"b", b" ", b"", b"1", delimiter, b'"', b'""', b"\n", b"\r", b"\r\n", b"\xc3\xa9", b"\xff", b"\x00"]
    ending = rng.choice((b"\n", b"\r\n"))
    rows = []
    for _ in range(rng.randrange(1, 30)):
        cells = []
        for _ in range(rng.choice((1, 2, 3, 3, 3, 4))):
            cell = b"".join(rng.choice(alphabet) for _ in range(rng.randrange(6)))
            plain = not any(c in cell for c in (delimiter, b'"', b"\n", b"\r"))
            cells.append(cell if plain and rng.random() < 0.8 else b'"' + cell.replace(b'"', b'""') + b'"')
        rows.append(delimiter.join(cells))
    if rng.random() < 0.4:
        at = rng.randrange(len(rows))
        rows[at] = damaged(rng, rows[at], alphabet)
    head = b"id" + delimiter + b"text" + delimiter + b"x" + ending if header == "yes" else b""
    return form, rng.choice((b"", b"", b"\xef\xbb\xbf")) + head + ending.join(rows) + rng.choice((b"", ending))


MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
PLAIN = {*map(chr, range(0x20, 0x7f)), *"\t\n\r"}
ENCODINGS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32")
REFUSED = 3  # BM_ERR_INPUT


def is_wide(data):
    """Text in UTF-16 or UTF-32, which is refused (docs/inputs.md): by its mark, or by its first eight units, all of a shorter file."""
    if data.startswith(MARKS):
        return True
    for width, encoding in ((4, "utf-32-le"), (4, "utf-32-be"), (2, "utf-16-le"), (2, "utf-16-be")):
        head = data[:8 * width]
        if len(head) >= 8 and len(head) % width == 0 and PLAIN.issuperset(head.decode(encoding, "replace")):
            return True
    return False


TARGETS = {"json": (json_file, json_lines), "csv": (csv_file, csv_records)}


def differs(ours, theirs):
    """The first record that is another: ids without a field end in the line."""
    for a, b in zip(ours, theirs):
        line, shown, text, n = b
        if shown is None and text is not None:
            if a[1] is None or not a[1].endswith(f":{line}"):
                return f"record {a}, expected one named by its line, {b}"
            shown = a[1]
        if a != (line, shown, text, n):
            return f"record {a!r}, expected {(line, shown, text, n)!r}"
    return "" if len(ours) == len(theirs) else f"{len(ours)} records, expected {len(theirs)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--target", choices=sorted(TARGETS), required=True)
    parser.add_argument("--records", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    make, model = TARGETS[args.target]
    ours, rng = Ours(args.program), random.Random(args.seed)
    n_records = n_good = n_files = 0
    while n_records < args.records:
        form, data = make(rng)
        if form.header != "yes" and rng.random() < 0.01: # a name that is not there refuses a file too
            data = data.decode("latin-1").encode(rng.choice(ENCODINGS))
        refused = is_wide(data)
        expected = [] if refused else list(model(form, data))
        records, status = ours.ask(form, data)
        wrong = f"status {status}" if status != (REFUSED if refused else 0) else differs(records, expected)
        if args.target == "csv" and not python_agrees(data, bytes([form.delimiter or ord(",")])):
            wrong = "the model is not what Python's csv reads"
        if wrong:
            path = os.path.join(os.path.dirname(os.path.abspath(args.program)), f"differential-{args.target}.bin")
            with open(path, "wb") as file:
                file.write(data)
            sys.exit(f"{args.target}, seed {args.seed}, file {n_files}, {form}: {wrong}\n(the file is {path})")
        n_records, n_files = n_records + len(records), n_files + 1
        n_good += sum(record[1] is not None for record in records)
    print(f"{args.target}: {n_records} records of {n_files} files are the same, {n_good} of them documents")
    if not 0.2 < n_good / n_records < 0.98:
        sys.exit("too few of them are documents, or too few are not")


if __name__ == "__main__":
    main()
