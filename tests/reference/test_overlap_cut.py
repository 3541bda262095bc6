# SPDX-License-Identifier: Apache-2.0
"""overlap --cut against the model of overlap_model.py: cuts.tsv, removed.tsv and every kept record, read back by Python's own readers.

The worlds are those of test_overlap.py, as JSON lines, as csv and with texts in two fields. Bytes that are not cut are compared with those
of the input: all of a record but its text, and of the text what is before, between and after the ranges. The same for threads, batches and memory,
after a kill, and repeated by `filter`."""
import collections
import csv
import io
import json
import os
import random

import harness
import overlap_model
import test_overlap
import text_model

CUTS_HEADER = ["id", "from", "to", "kept", "kept_from", "jaccard", "reason", "file", "line"]
OPTIONS = [dict(k=5), dict(k=13), dict(kind="char", k=20), dict(k=8, words="space", normalize=("lower",))]


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


def without(data, cuts):
    out, at = b"", 0
    for begin, end in cuts:
        out += data[at:begin]
        at = end
    return out + data[at:]


def is_blank(data):
    return all(ord(c) in text_model.WHITE_SPACE for c in data.decode("utf-8", "surrogatepass"))


def divided(cuts, lengths):
    """Ranges of texts of such lengths that are joined by newlines: (begin, end, item) of each in one of them."""
    out = []
    for begin, end, item in cuts:
        at = 0
        for length in lengths:
            low, high = max(begin, at), min(end, at + length)
            if low < high:
                out.append((low, high, item))
            at += length + 1
    return out


def wrong_files(out, world, found, fields):
    """`fields`: of each document, its fields. Checks the two tables; returns what is wrong, and what must be kept."""
    rows, removed, kept = [], [], []
    for number, text in enumerate(world.train):
        lengths = [len(encoded(field)) for field in fields[number]]
        cuts = divided(found.cuts.get(number, []), lengths)
        rows += [[text.id, str(b), str(e), world.tests[item].id, "", "", "overlap", text.file, text.line] for b, e, item in cuts]
        left, at = [], 0
        for field, length in zip(fields[number], lengths):
            left.append(without(encoded(field), [(max(b - at, 0), e - at) for b, e, _ in cuts if at <= b < at + length]))
            at += length + 1
        if cuts and all(map(is_blank, left)):
            removed.append([text.id, "", "", "empty", text.file, text.line, ""])
        else:
            kept.append((text.id, left))
    for name, header, wanted in (("cuts.tsv", CUTS_HEADER, rows), ("removed.tsv", test_overlap.REMOVED_HEADER, removed),
                                 ("overlap.tsv", overlap_model.OVERLAP_HEADER, found.overlap)):
        got = harness.read_rows(harness.read_file(out, name), header)
        for i in range(max(len(got), len(wanted))):
            if got[i:i + 1] != wanted[i:i + 1]:
                return f"{name}, row {i}: {got[i:i + 1]}, expected {wanted[i:i + 1]}", kept
    return "", kept


def wrong_records(out, path, names, kept):
    """Of JSON lines: the texts, and every other member."""
    before = {json.loads(line)["id"]: line for line in harness.read_file(path).splitlines(True)}
    lines = harness.read_file(out, "kept.jsonl").splitlines(True)
    if len(lines) != len(kept):
        return f"{len(lines)} records are kept, expected {len(kept)}"
    for line, (name, left) in zip(lines, kept):
        record, was = json.loads(line), json.loads(before[name])
        if [encoded(record.pop(field)) for field in names] != left:
            return f"another text of {name}"
        uncut = [encoded(was.pop(field)) for field in names] == left
        if record != was or (uncut and line != before[name]):
            return f"{name} has other bytes beside its text"
    return ""


def fields_of(rng, text, n):
    if n == 1:
        return [text]
    at = rng.randint(0, len(text))
    return [text[:at], text[at:]]


def compare(bandmill, world, rng, options, threshold, more, n_fields):
    """One run; with two fields the texts are divided anywhere, and so one is their first, a newline, and their second."""
    names = ["text"] if n_fields == 1 else ["title", "text"]
    fields = [fields_of(rng, t.text, n_fields) for t in world.train]
    path = os.path.join(world.folder, f"cut-{world.runs}.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i, (text, of) in enumerate(zip(world.train, fields)):
            extra = {"n": i, "say": 'a "quote" \\ and a \t'}
            file.write(json.dumps({"id": text.id, **dict(zip(names, of)), **extra}) + "\n")
    train = [t._replace(text="\n".join(of), file=path) for t, of in zip(world.train, fields)]
    at = World(world, train)
    found = overlap_model.find(overlap_model.Cut(train, options), overlap_model.Cut(world.tests, options), options, threshold)
    arguments = ["--normalize", ",".join(sorted(options["normalize"])) or "none", "--words", options["words"], "--shingle",
                 f"{options['kind']}:{options['k']}", "--threshold", threshold, "--cut",
                 *(["--text-field", "title", "--text-field", "text"] if n_fields > 1 else []), *more]
    out = world.run(bandmill, *arguments, inputs=[path])
    wrong, kept = wrong_files(out, at, found, fields)
    wrong = wrong or wrong_records(out, path, names, kept)
    if wrong:
        raise ValueError(f"{' '.join(map(str, arguments))}: {wrong}")
    again = out + "-filter"
    bandmill.run("filter", out, "-o", again)
    if harness.read_file(again, "kept.jsonl") != harness.read_file(out, "kept.jsonl"):
        raise ValueError("filter cuts otherwise")
    return len(harness.read_file(out, "cuts.tsv").splitlines()) - 1


World = collections.namedtuple("World", "of train")
World.tests = property(lambda self: self.of.tests)


def as_csv(bandmill, world):
    """Quotes that are doubled, and fields of several lines."""
    options = text_model.text_options(normalize=text_model.DEFAULT, k=8)
    path = os.path.join(world.folder, "train.csv")
    train = [t._replace(file=path, text=overlap_model.repaired(t.text).replace("\r", "") + ' "and" so') for t in world.train]
    data = io.StringIO()
    writer = csv.writer(data, lineterminator="\n")
    writer.writerows([["id", "text", "n"], *([t.id, t.text, i] for i, t in enumerate(train))])
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(data.getvalue())
    at = 2
    for i, t in enumerate(train):
        train[i] = t._replace(line=str(at))
        at += 1 + t.text.count("\n")
    found = overlap_model.find(overlap_model.Cut(train, options), overlap_model.Cut(world.tests, options), options, 0.5)
    out = world.run(bandmill, "--shingle", "word:8", "--cut", inputs=[path])
    wrong, kept = wrong_files(out, World(world, train), found, [[t.text] for t in train])
    rows = list(csv.reader(io.StringIO(harness.read_file(out, "kept.csv").decode(), newline="")))
    return wrong or ("" if [(r[0], [encoded(r[1])]) for r in rows[1:]] == kept else "kept.csv has other rows")


def same(bandmill, world):
    """Whatever the threads, the batches and the memory, and of a job that was killed and goes on."""
    path, words = os.path.join(world.folder, "long.jsonl"), ["--shingle", "word:8", "--duplicate-ids", "number", "--cut"]
    with open(path, "wb") as file:
        file.write(30 * harness.read_file(world.train_path))
    plain = world.run(bandmill, *words, inputs=[path])
    names = ("overlap.tsv", "items.tsv", "removed.tsv", "cuts.tsv", "kept.jsonl")
    for more in (["--threads", 1, "--batch-docs", 1], ["--threads", 8, "--batch-docs", 7], ["--threads", 2, "--memory", "64M"]):
        out = world.run(bandmill, *words, *more, inputs=[path])
        for name in names:
            if harness.read_file(out, name) != harness.read_file(plain, name):
                return f"{more}: {name} is another"
    out, killed = os.path.join(world.folder, "killed"), 0
    words += ["--threads", "2", "--batch-docs", "5"]
    for kill in range(2):
        killed += bandmill.kill(out, ["overlap", path, *world.against, *words, *["--resume"] * kill, "-o", out],
                                lambda journal, lines=8 + 8 * kill: journal.count(b"documents\t") >= lines)
    said = bandmill.run("overlap", path, *world.against, *words, "-o", out, "--resume").stderr
    if killed != 2 or b"resuming after" not in said:
        return f"killed {killed} times: {said}"
    for name in names:
        if harness.read_file(out, name) != harness.read_file(plain, name):
            return f"killed: {name} is another"
    return ""


def main():
    args = harness.arguments("overlap --cut against a model in Python", ("--seed", {"type": int, "default": 20261129}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    total = 0
    for corpus, texts in list(test_overlap.corpora())[-2:]:
        for kind in ("questions", "passages"):
            rng = random.Random(f"{args.seed} {corpus} {kind} cut")
            with harness.scratch() as folder:
                world = test_overlap.World(rng, folder, texts, kind)

                def work(world=world, rng=rng):
                    cuts = 0
                    for given in OPTIONS if args.size != "small" else rng.sample(OPTIONS, 2):
                        options = text_model.text_options(**{"normalize": text_model.DEFAULT, **given})
                        cuts += compare(bandmill, world, rng, options, 0.5, [], 1)
                        cuts += compare(bandmill, world, rng, options, rng.choice((0.01, 0.3, 1)), ["--threads", 2], 2)
                    work.cuts = cuts
                    return "" if cuts > 50 else f"only {cuts} cuts were there to compare"

                claims.attempt(f"{corpus}, {kind}: every cut and every kept record", work)
                total += getattr(work, "cuts", 0)
                claims.attempt(f"{corpus}, {kind}: csv", lambda world=world: as_csv(bandmill, world))
        with harness.scratch() as folder:
            world = test_overlap.World(random.Random(f"{args.seed} {corpus}"), folder, texts, "passages")
            claims.attempt(f"{corpus}: the same bytes for threads, memory and kills", lambda world=world: same(bandmill, world))
    claims.check(f"{total} cuts were compared", total > 300)
    claims.end()


if __name__ == "__main__":
    main()
