# SPDX-License-Identifier: Apache-2.0
"""What a document is does not depend on what else is read with it: texts of bytes that are no UTF-8, and of characters that are cut where
a line, a cell, a string or a record ends, in every format.

Each is read one by one, in batches of a few, all at once, with threads, from members of gzip and in shares. The texts are those that
Python's own decoder makes of the same bytes (each maximal invalid subpart one U+FFFD), compared by n_bytes and by signatures of byte
shingles longer than any of them; U+FFFD are counted as Python counts them. Under --invalid-utf8 error exactly those documents are bad."""
import gzip
import io
import itertools
import json
import os
import random

import harness

np = harness.need_modules("numpy")
try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

WORDS = ("plain", "na\u00efve", "\u4e2d\u6587", "\u20ac5", "\U0001f600", "\u0416\u0443\u043a", "x")
BROKEN = (b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80")


def broken_text(rng, share):
    """Bytes of some words; of `share` one is broken: at either end a character is cut, or something stands within."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(12, 30))).encode()
    if rng.random() >= share:
        return text
    kind = rng.randrange(4)
    if kind == 0:
        whole = rng.choice(WORDS[1:6]).encode()
        return text + b" " + whole[:rng.randrange(1, len(whole))]
    if kind == 1:
        return rng.choice(WORDS[2:5]).encode()[1:] + b" " + text
    at = text.index(b" ") + 1
    return text[:at] + rng.choice(BROKEN) + b" " + text[at:]


def string(data):
    """As a JSON string, its bytes beyond ASCII as they are."""
    return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def decoded(texts):
    """What is read of each, and its U+FFFD."""
    read = [text.decode("utf-8", "replace") for text in texts]
    return read, [text.count("\ufffd") for text in read]


class Format:
    """`texts`: the bytes of each document; `data`: of one file of them all."""

    def __init__(self, name, texts, data, options=(), bad=0, fields=None):
        self.name, self.texts, self.data, self.options, self.bad = name, texts, data, options, bad
        self.fields = fields or [[text] for text in texts]  # which are made valid apart, and joined by newlines


def wet_record(number, text, length):
    return b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <r%d>\r\nContent-Length: %d\r\n\r\n" % (number, length) + text + b"\r\n\r\n"


def wet(rng, texts):
    """Some lengths end within the last character of a text that is valid: what is left of it is a bad record."""
    data, read, bad = [], [], 0
    for i, text in enumerate(texts):
        cut = 0
        if rng.random() < .4:
            last = rng.choice(WORDS[2:5]).encode()
            text += b" " + last
            cut = rng.randrange(1, len(last) - (last[-1:] == b"5"))
            cut += last[-1:] == b"5"  # not a byte that can begin something else
            bad += 1
        data.append(wet_record(i, text, len(text) - cut))
        read.append(text[:len(text) - cut])
    return Format("wet", read, b"".join(data), ("--format", "wet"), bad)


def make_formats(rng, n, share):
    def texts():
        return [broken_text(rng, share) for _ in range(n)]
    one, two = texts(), texts()
    pairs = [a + b"\n" + b for a, b in zip(one, two)]
    apart = [list(pair) for pair in zip(one, two)]
    yield Format("lines", one, b"".join(text + b"\n" for text in one), ("--format", "lines"))
    yield Format("jsonl", one, b"".join(b'{"text":%s}\n' % string(text) for text in one))
    yield Format("jsonl of two fields", pairs, b"".join(b'{"a":%s,"b":%s}\n' % tuple(map(string, pair)) for pair in apart),
                 ("--text-field", "a", "--text-field", "b"), fields=apart)
    yield Format("jsonl joined by []", pairs, b"".join(b'{"m":[{"c":%s},{"c":%s}]}\n' % tuple(map(string, pair)) for pair in apart),
                 ("--text-field", "m[].c"), fields=apart)
    yield Format("json", one, b"[" + b",\n".join(b'{"text":%s}' % string(text) for text in one) + b"]")
    yield Format("tsv", pairs, b"a\tb\n" + b"".join(b"%s\t%s\n" % (a, b) for a, b in apart), ("--text-field", "a", "--text-field", "b"),
                 fields=apart)
    quoted = [text.replace(b" ", b'"', 1).replace(b" ", b"\n", 1) for text in one]
    yield Format("csv", quoted, b"id,text\n" + b"".join(b'%d,"%s"\n' % (i, text.replace(b'"', b'""')) for i, text in enumerate(quoted)))
    yield wet(rng, one)


def check(runs, form):
    n_invalid = sum(sum(decoded(fields)[1]) for fields in form.fields)
    ending = {"jsonl": ".jsonl", "json": ".json", "tsv": ".tsv", "csv": ".csv", "wet": ".warc.wet"}.get(form.name.split(" ")[0], ".txt")
    path = runs.put("in" + ending, form.data)
    packed = runs.put("in" + ending + ".gz", b"".join(gzip.compress(form.data[i:i + 3000], mtime=0) for i in range(0, len(form.data), 3000)))
    wanted = runs.model(form.texts)
    for options in (("--batch-docs", 1, "--threads", 1), ("--batch-docs", 3, "--threads", 2), ("--threads", 1), ("--threads", 2, packed)):
        given = options if options[-1] == packed else (*options, path)
        got = runs.sign(*form.options, *given)
        if got[:2] != wanted:
            return f"{options}: document {next(i for i, (g, w) in enumerate(itertools.zip_longest(zip(*got[:2]), zip(*wanted))) if g != w)} differs"
        if got[2:] != (n_invalid, form.bad):
            return f"{options}: {got[2:]} replaced and skipped, expected {(n_invalid, form.bad)}"
    shares = [runs.sign(*form.options, "--shard", f"{i}/3", path) for i in (1, 2, 3)]
    joined = tuple(sum((share[k] for share in shares), [] if k < 2 else 0) for k in range(4))
    if joined != (*wanted, n_invalid, form.bad):
        return "the shares are not the whole"
    broken = [any(decoded(fields)[1]) for fields in form.fields]
    for options in (("--batch-docs", 1), ("--threads", 2)):
        got = runs.sign(*form.options, *options, "--invalid-utf8", "error", path)
        if got[:2] != tuple([x for x, bad in zip(column, broken) if not bad] for column in wanted) or got[3] != form.bad + sum(broken):
            return f"{options}: other documents than those that are no UTF-8 are bad"
    return ""


def check_files(runs, rng, share):
    """Each document a file."""
    texts = [broken_text(rng, share) for _ in range(20)]
    paths = [runs.put(f"file{i:02}", text) for i, text in enumerate(texts)]
    counts = decoded(texts)[1]
    wanted = (*runs.model(texts), sum(counts), 0)
    for options in (("--batch-docs", 1), ("--threads", 2)):
        if runs.sign("--format", "files", *options, *paths) != wanted:
            return f"{options} give other texts"
    return ""


def check_tables(runs, rng, share):
    """Columns of bytes, and of a dictionary of them."""
    texts = [broken_text(rng, share) for _ in range(40)]
    counts = decoded(texts)[1]
    wanted = (*runs.model(texts), sum(counts), 0)
    column = pa.array(texts, pa.binary())
    for array in (column, column.dictionary_encode()):
        sink = io.BytesIO()
        table = pa.table({"text": array})
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table, max_chunksize=7)
        path = runs.put("in.arrows", sink.getvalue())
        for options in (("--batch-docs", 1), ("--threads", 2)):
            if runs.sign(*options, path) != wanted:
                return f"{options} give other texts"
    return ""


class Runs:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def sign(self, *arguments):
        """n_bytes, signatures, how many U+FFFD were made, and how many records were skipped."""
        self.n += 1
        target = os.path.join(self.folder, f"out-{self.n}")
        self.bandmill.run("sign", "--perms", 8, "--shingle", "byte:1000", "--normalize", "none", "--on-error", "skip", "-o", target, *arguments)
        manifest = json.loads(harness.read_file(target, "manifest.json"))
        skipped = os.path.join(target, "skipped.tsv")
        return (np.load(os.path.join(target, "n_bytes.npy")).tolist(), np.load(os.path.join(target, "signatures.npy")).tolist(),
                manifest["counts"]["invalid_utf8"], len(harness.read_rows(harness.read_file(skipped))) - 1 if os.path.exists(skipped) else 0)

    def model(self, texts):
        """Bytes of these texts, and signatures of what is read of them, one by one."""
        lines = "".join(json.dumps({"text": text}) + "\n" for text in decoded(texts)[0])
        return [len(text) for text in texts], self.sign("--batch-docs", 1, self.put("model.jsonl", lines.encode()))[1]


def main():
    args = harness.arguments(__doc__, ("--seed", {"type": int, "default": 1}))
    claims, rng = harness.Claims(), random.Random(args.seed)
    with harness.scratch() as folder:
        runs = Runs(harness.Program(args.program, args.server), folder)
        # Of files in which nothing is broken but where records end, of few broken texts, and of many.
        for share in {"small": (0, .3), "normal": (0, .1), "full": (0, .01, .05, .2, .5, 1)}[args.size]:
            for form in make_formats(rng, 60, share):
                claims.attempt(f"{form.name}, {share:.0%} broken", lambda form=form: check(runs, form))
            claims.attempt(f"files, {share:.0%} broken", lambda share=share: check_files(runs, rng, share))
            if pa is not None and os.path.exists(os.path.join(os.path.dirname(args.program), "libbandmill_parquet.so")):
                claims.attempt(f"tables, {share:.0%} broken", lambda share=share: check_tables(runs, rng, share))
    claims.end()


if __name__ == "__main__":
    main()
