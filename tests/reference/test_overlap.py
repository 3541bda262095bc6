# SPDX-License-Identifier: Apache-2.0
"""overlap against the model of overlap_model.py: every row of overlap.tsv, items.tsv, removed.tsv and what is kept.

Three test sets (short questions, passages, code) are planted in three corpora and in Chinese text: verbatim, wrapped at other places, twice
in one document, inside another text, cropped, with changed words, and with characters that are not seen. K is 5, 8, 13 and 50 words and 20
characters or bytes; thresholds, --min-words and --stop-shingles vary. The bytes that a row names are cut again, and must be the run. The files
are the same for any number of threads, for --memory 64M, from compressed files, tables and shards, and of jobs that are killed twice."""
import glob
import gzip
import json
import os
import random

import harness
import overlap_model
import test_contained_corpora
import text_model

OPTIONS = [dict(k=5), dict(k=8), dict(k=13), dict(k=50), dict(kind="char", k=20), dict(k=8, words="space", normalize=("lower",)),
           dict(k=13, normalize=("invisible", "lower", "digits", "punct"))]
FILES = ("overlap.tsv", "items.tsv", "removed.tsv")
REMOVED_HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]
HAN = [chr(0x4E00 + 7 * i) for i in range(300)]


def wrapped(rng, text):
    """The same words, with other white space."""
    return "".join(word + rng.choice((" ", " ", " ", "\n", "\n\n", "\t", "\u3000", " \r\n")) for word in text.split()).rstrip()


def veiled(rng, text):
    """Characters that are not seen, upper case, and a surrogate that has no other half."""
    text = list(text)
    for _ in range(1 + len(text) // 60):
        at = rng.randrange(len(text))
        text[at] = rng.choice((text[at] + "\u00ad", text[at] + "\u200b ", text[at].upper(), text[at] + "\u0301", text[at] + " \ud800 "))
    return "".join(text)


def changed(rng, text, share):
    return " ".join("changed" if rng.random() < share else word for word in text.split())


def cropped(rng, text, share):
    parts, glue = parts_of(text)
    n = int(len(parts) * share)
    at = rng.randint(0, len(parts) - n)
    return glue.join(parts[at:at + n])


def planted(rng, item, host):
    """A document that has something of an item."""
    words = host.split(" ")
    at = rng.randrange(len(words))
    form = rng.choice((lambda t: t, lambda t: wrapped(rng, t), lambda t: veiled(rng, t), lambda t: t + " and again " + t,
                       lambda t: cropped(rng, t, 0.6), lambda t: changed(rng, t, 0.1)))(item)
    return rng.choice((form, form, " ".join([*words[:at], form, *words[at:]])))


def parts_of(text):
    """Words and what joins them, or the characters of a text that has hardly any white space."""
    words = text.split()
    return (words, " ") if 20 * len(words) > len(text) else (list(text), "")


def windows(rng, texts, n, least, most):
    long = [(parts, glue) for parts, glue in map(parts_of, texts) if len(parts) >= least]
    found = []
    for _ in range(n):
        parts, glue = rng.choice(long)
        length = rng.randint(least, min(most, len(parts)))
        at = rng.randint(0, len(parts) - length)
        found.append(glue.join(parts[at:at + length]))
    return found


def code(rng, n):
    lines = [line for path in sorted(glob.glob(os.path.join(harness.ROOT, "src", "base", "*.c")))[:12]
             for line in harness.read_file(path).decode().splitlines()]
    starts = [rng.randrange(len(lines) - 20) for _ in range(n)]
    return ["\n".join(lines[at:at + rng.randint(3, 20)]) for at in starts]


def test_set(rng, kind, texts):
    if kind == "questions":
        items = windows(rng, texts, 30, 4, 20)
    elif kind == "passages":
        items = windows(rng, texts, 20, 60, 120)
    else:
        items = code(rng, 25)
    foreign = [" ".join(rng.choice(("zeta", "eta", "theta", "iota")) + str(rng.randrange(90)) for _ in range(25)) for _ in range(3)]
    return [*items, *items[:2], changed(rng, items[2], 0.1), *foreign, "", "too few"]


def chinese(rng):
    phrases = ["".join(rng.choices(HAN, k=rng.randint(3, 12))) for _ in range(60)]
    return ["".join(rng.choice(phrases) + rng.choice(("，", "。", "", "\n", " abc ", "\u3099")) for _ in range(rng.randint(5, 60)))
            for _ in range(60)]


class World:
    """A corpus with a test set in it, as files and as texts."""

    def __init__(self, rng, folder, corpus, kind):
        self.rng, self.folder = rng, folder
        items = test_set(rng, kind, corpus)
        texts = rng.sample(corpus, min(len(corpus), 25))
        texts += [planted(rng, rng.choice(items[:-6]), rng.choice(texts)) for _ in range(30)] + ["", items[0]]
        rng.shuffle(texts)
        self.train_path = self.write_jsonl("train.jsonl", "text", "id", texts)
        self.train = self.texts(self.train_path, texts)
        half = len(items) // 2
        paths = [self.write_jsonl(name, "question", "qid", part)
                 for name, part in (("questions.jsonl", items[:half]), ("more.jsonl", items[half:]))]
        self.tests = self.texts(paths[0], items[:half]) + self.texts(paths[1], items[half:])
        self.against = ["--against", paths[0], "--against", paths[1], "--against-text-field", "question",
                        "--against-id-field", "qid"]
        self.runs = 0

    def write_jsonl(self, name, text_field, id_field, texts):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            for i, text in enumerate(texts):
                file.write(json.dumps({id_field: f"{name[0]}{i}", text_field: text}) + "\n")
        return path

    def texts(self, path, texts):
        return [overlap_model.Text(f"{os.path.basename(path)[0]}{i}", text, path, str(i + 1)) for i, text in enumerate(texts)]

    def cut(self, options):
        return overlap_model.Cut(self.train, options), overlap_model.Cut(self.tests, options)

    def run(self, bandmill, *more, inputs=None, against=None, expect=0):
        self.runs += 1
        out = os.path.join(self.folder, f"out-{self.runs}")
        bandmill.run("overlap", *(inputs or [self.train_path]), *(against or self.against), *more, "-o", out, expect=expect)
        return out


def wrong_rows(out, found):
    for name, header, wanted in (("overlap.tsv", overlap_model.OVERLAP_HEADER, found.overlap),
                                 ("items.tsv", overlap_model.ITEMS_HEADER, found.items), ("removed.tsv", REMOVED_HEADER, found.removed)):
        got = harness.read_rows(harness.read_file(out, name), header)
        for i in range(max(len(got), len(wanted))):
            if got[i:i + 1] != wanted[i:i + 1]:
                return f"{name}, row {i}: {got[i:i + 1]}, expected {wanted[i:i + 1]}"
    return ""


def wrong_kept(out, world, found):
    lines = dict(zip((t.id for t in world.train), harness.read_file(world.train_path).splitlines(True)))
    return "" if harness.read_file(out, "kept.jsonl") == b"".join(lines[name] for name in found.kept) else "kept.jsonl is another"


def wrong_places(train, options, found):
    """The bytes of each row, cut as a text of their own, are the units of the run, or more of a character at its ends."""
    for row in found.rows:
        data = train.texts[row.doc].text.encode("utf-8", "surrogatepass")[row.begin:row.end]
        part = overlap_model.units_of(data.decode("utf-8", "surrogatepass"), options)
        if options["kind"] == "word" and len(part) != row.longest:
            return f"{row}: {len(part)} units stand there"
    return ""


def compare(bandmill, world, options, cuts, more, threshold, min_words=8, stop=None):
    found = overlap_model.find(*cuts, options, threshold, min_words, stop)
    arguments = ["--normalize", ",".join(sorted(options["normalize"])) or "none", "--words", options["words"], "--shingle",
                 f"{options['kind']}:{options['k']}", "--threshold", threshold, "--min-words", min_words,
                 *(["--stop-shingles", stop] if stop else [])]
    out = world.run(bandmill, *arguments, *more)
    wrong = wrong_rows(out, found) or wrong_kept(out, world, found) or wrong_places(cuts[0], options, found)
    if wrong:
        raise ValueError(f"{' '.join(map(str, arguments))}: {wrong}")
    return len(found.overlap)


def corpora():
    for name, (file, read, _) in test_contained_corpora.CORPORA.items():
        path = harness.corpus_file(name, file)
        if path:
            texts = [text[:1200] for _, text in list(read(harness.unzstd(path)))[:400]]
            yield name, texts if max(map(len, texts)) > 1000 else [" ".join(texts[i:i + 4]) for i in range(0, len(texts), 4)]
    yield "chinese", chinese(random.Random(7))


def rows_against_model(bandmill, claims, corpus, texts, seed, size):
    total = 0
    for kind in ("questions", "passages", "code"):
        rng = random.Random(f"{seed} {corpus} {kind}")
        with harness.scratch() as folder:
            world = World(rng, folder, texts, kind)

            def work(world=world, rng=rng, kind=kind):
                rows = 0
                for given in OPTIONS if size != "small" else rng.sample(OPTIONS, 2):
                    options = text_model.text_options(**{"normalize": text_model.DEFAULT, **given})
                    cuts = world.cut(options)
                    rows += compare(bandmill, world, options, cuts, [], 0.5)
                    rows += compare(bandmill, world, options, cuts, ["--threads", 2], rng.choice((0.01, 0.3, 0.8, 1)),
                                    rng.choice((1, 3, 8, 20)), rng.choice((None, 1, 2, 5)))
                work.rows = rows
                return "" if rows > 50 else f"only {rows} rows were there to compare"

            claims.attempt(f"{corpus}, {kind}: every row of every file", work)
            total += getattr(work, "rows", 0)
    return total


def shared_by_many(bandmill, seed):
    """300 items that have one phrase, half of them another one too, so that shingles stand in more items than are listed for each: items of
    phrases alone, with a few words of their own or many; and documents that have a phrase, or what is an item's own, or both."""
    rng = random.Random(f"{seed} many")
    phrase = [[f"p{n}w{i}" for i in range(length)] for n, length in ((1, 26), (2, 14))]
    starts = [phrase[0], phrase[0] + phrase[1] + phrase[0][:20]]
    own = [[f"o{i}w{k}" for k in range(rng.choice((0, 1, 4, 15, 40)))] for i in range(300)]
    items = [rng.choice((start + words, words[:2] + start + words[2:])) for start, words in zip(starts * 150, own)]
    texts = [phrase[0], phrase[1], phrase[1] + phrase[0], phrase[0][:20] + ["z"] + phrase[0][5:], ["z"] * 30, *rng.sample(own, 5), *rng.sample(items, 8),
             phrase[0] + ["z"] + own[0] + own[1], sum(rng.sample(items, 6), []), items[5] + items[5][:20], items[7][:-9], items[8][10:],
             *[phrase[0] + phrase[1] + words[-20:] for words in rng.sample(own, 4)], phrase[0][3:] + phrase[1] + phrase[0]]
    with harness.scratch() as folder:
        world = World(rng, folder, [" ".join(text) for text in texts if text], "passages")
        items = [" ".join(words) for words in items]
        path = world.write_jsonl("many.jsonl", "question", "qid", items)
        world.tests = world.texts(path, items)
        world.against = ["--against", path, "--against-text-field", "question", "--against-id-field", "qid"]
        rows = 0
        for k, threshold, stop in ((13, 0.5, None), (5, 0.9, 6), (8, 0.35, 9)):
            options = text_model.text_options(normalize=text_model.DEFAULT, k=k)
            rows += compare(bandmill, world, options, world.cut(options), [], threshold, stop=stop)
        return "" if rows > 1000 else f"only {rows} rows"


def bytes_against_model(bandmill, seed):
    """Bytes as units, of ASCII text, whose places are known."""
    rng = random.Random(seed)
    texts = [" ".join(rng.choice(("alpha", "Beta", "gamma,", "delta", "(epsilon)")) + str(rng.randrange(40)) for _ in range(80)) for _ in range(50)]
    with harness.scratch() as folder:
        world = World(rng, folder, texts, "passages")
        plain = lambda t: t._replace(text="".join(c for c in t.text if c.isascii()))
        world.train, world.tests = [plain(t) for t in world.train], [plain(t) for t in world.tests]
        world.train_path = world.write_jsonl("train.jsonl", "text", "id", [t.text for t in world.train])
        options = text_model.text_options(normalize=("lower",), kind="byte", k=20)
        rows = compare(bandmill, world, options, world.cut(options), [], 0.3)
        return "" if rows > 20 else f"only {rows} rows"


def same(bandmill, world, seed):
    """Whatever the threads, the memory and the form of the input: the same bytes, but for names of files and numbers of lines."""
    options = text_model.text_options(normalize=text_model.DEFAULT, k=13)
    text = ["--threshold", "0.3", "--stop-shingles", "9"]
    plain = world.run(bandmill, *text)
    wrong = wrong_rows(plain, overlap_model.find(*world.cut(options), options, 0.3, stop=9))
    if wrong:
        return wrong

    def without_place(out):
        return [[row[:-2] if name != "removed.tsv" else row[:4] for row in harness.read_rows(harness.read_file(out, name))] for name in FILES]

    def other(out, kept="kept.jsonl"):
        if without_place(out) != without_place(plain):
            return f"{out} has other rows"
        return "" if not kept or harness.read_file(out, kept) == harness.read_file(plain, "kept.jsonl") else f"{out}: another kept"

    for more in (["--threads", 1, "--batch-docs", 1], ["--threads", 8, "--batch-docs", 7], ["--threads", 2, "--memory", "64M"]):
        out = world.run(bandmill, *text, *more)
        for name in (*FILES, "kept.jsonl"):
            if harness.read_file(out, name) != harness.read_file(plain, name):
                return f"{more}: {name} is another"
    data = harness.read_file(world.train_path)
    packed = os.path.join(world.folder, "train.jsonl.gz")
    with gzip.open(packed, "wb") as file:
        file.write(data)
    wrong = other(world.run(bandmill, *text, inputs=[packed]), None)
    lines = data.splitlines(True)
    shards = []
    for i in range(3):
        shards.append(os.path.join(world.folder, "shards", f"part-{i}.jsonl"))
        os.makedirs(os.path.dirname(shards[-1]), exist_ok=True)
        with open(shards[-1], "wb") as file:
            file.write(b"".join(lines[len(lines) * i // 3:len(lines) * (i + 1) // 3]))
    out = world.run(bandmill, *text, inputs=[os.path.join(world.folder, "shards")])
    wrong = wrong or other(out, None)
    joined = b"".join(harness.read_file(out, "kept", f"part-{i}.jsonl") for i in range(3))
    return wrong or ("" if joined == harness.read_file(plain, "kept.jsonl") else "the kept shards are not what is kept of the whole")


def tables(bandmill, world):
    """Parquet, where this build can read it; surrogates have no place in a table."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return ""
    world.train = [t._replace(text=overlap_model.repaired(t.text)) for t in world.train]
    path = os.path.join(world.folder, "train.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [t.id for t in world.train], "text": [t.text for t in world.train]}), path, row_group_size=7)
    options = text_model.text_options(normalize=text_model.DEFAULT, k=8)
    found = overlap_model.find(*[overlap_model.Cut([t._replace(file=path) for t in world.train], options), world.cut(options)[1]], options, 0.5)
    out = world.run(bandmill, "--shingle", "word:8", inputs=[path])
    kept = pyarrow.parquet.read_table(os.path.join(out, "kept.parquet")).column("id").to_pylist()
    return wrong_rows(out, found) or ("" if kept == found.kept else "kept.parquet has other rows")


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_rows(path, items, quoted):
    """csv, or tsv, which has no quoting. The line of each row."""
    lines, out = [], "qid,question\n" if quoted else "qid\tquestion\n"
    for t in items:
        lines.append(1 + out.count("\n"))
        out += f'{t.id},"{t.text.replace(chr(34), 2 * chr(34))}"\n' if quoted else f"{t.id}\t{' '.join(t.text.split())}\n"
    write_file(path, out.encode())
    return lines


def items_of_many_formats(bandmill, world, with_tables):
    """Items in files of many formats, whose names tell them, as one folder, and one by one with a plain text among them."""
    if with_tables:
        import pyarrow
        import pyarrow.parquet
    tests = [t for t in world.tests if t.text.strip()]
    folder = os.path.join(world.folder, "of-many")
    os.mkdir(folder)
    tests = [t._replace(text=overlap_model.repaired(t.text).replace("\r", " ")) for t in tests]
    names = ["a.jsonl", "b.csv", "c.json", "d.jsonl.gz", "e.tsv", *(["f.parquet", "g.arrow"] if with_tables else []), "h.csv"]
    parts = {name: tests[i + 1::len(names)] for i, name in enumerate(names)}
    found = {}
    for name in names:
        part, path = parts[name], os.path.join(folder, name)
        objects = [json.dumps({"qid": t.id, "question": t.text}) for t in part]
        lines = range(1, len(part) + 1)
        if name.endswith((".csv", ".tsv")):
            lines = write_rows(path, part, name.endswith(".csv"))
        elif name.endswith(".json"):
            lines = range(2, len(part) + 2)
            write_file(path, ("[\n" + ",\n".join(objects) + "\n]\n").encode())
        elif name.endswith((".parquet", ".arrow")):
            table = pyarrow.table({"qid": [t.id for t in part], "question": [t.text for t in part]})
            if name.endswith(".parquet"):
                pyarrow.parquet.write_table(table, path, row_group_size=3)
            else:
                with pyarrow.ipc.new_file(path, table.schema) as file:
                    file.write_table(table)
        else:
            data = ("\n".join(objects) + "\n").encode()
            write_file(path, gzip.compress(data) if name.endswith(".gz") else data)
        found[name] = [t._replace(file=path, line=str(line)) for t, line in zip(part, lines)]
    plain = os.path.join(world.folder, "passage.txt")
    write_file(plain, tests[0].text.encode())
    whole = [overlap_model.Text(plain, tests[0].text, plain, "1")]
    options = text_model.text_options(normalize=text_model.DEFAULT, k=8)
    fields = ["--against-text-field", "question", "--against-id-field", "qid"]
    train = overlap_model.Cut(world.train, options)
    one_by_one = [word for name in names for word in ("--against", os.path.join(folder, name))]
    listed = [found[name] for name in names]
    for against, items in ((["--against", folder], sum(listed, [])),
                           ([*one_by_one[:6], "--against", plain, *one_by_one[6:]], sum([*listed[:3], whole, *listed[3:]], []))):
        wanted = overlap_model.find(train, overlap_model.Cut(items, options), options, 0.5)
        if len({row[1] for row in wanted.overlap}) < len(items) // 3:
            return f"only {len(wanted.overlap)} rows are expected"
        for more in ([], ["--threads", 1, "--batch-docs", 2], ["--threads", 8, "--batch-docs", 1], ["--memory", "64M"]):
            wrong = wrong_rows(world.run(bandmill, "--shingle", "word:8", *more, against=[*against, *fields]), wanted)
            if wrong:
                return f"{' '.join(map(str, [*against, *more]))}: {wrong}"
    return ""


def resumed(bandmill, world):
    """Of a corpus in thirty copies, so that a job is not done before it can be killed."""
    path, words = os.path.join(world.folder, "long.jsonl"), ["--shingle", "word:8", "--threads", "2", "--batch-docs", "5", "--duplicate-ids", "number"]
    with open(path, "wb") as file:
        file.write(30 * harness.read_file(world.train_path))
    plain, killed = world.run(bandmill, *words, inputs=[path]), 0
    out = os.path.join(world.folder, "killed")
    for kill in range(2):
        lines = 8 + 8 * kill
        killed += bandmill.kill(out, ["overlap", path, *world.against, *words, *["--resume"] * kill, "-o", out],
                                lambda journal, lines=lines: journal.count(b"documents\t") >= lines)
    said = bandmill.run("overlap", path, *world.against, *words, "-o", out, "--resume").stderr
    if b"resuming after" not in said:
        return f"killed {killed} times, and it began again: {said}"
    for name in (*FILES, "kept.jsonl"):
        if harness.read_file(out, name) != harness.read_file(plain, name):
            return f"{name} is another"
    return "" if killed == 2 else f"{killed} jobs were killed"


def main():
    args = harness.arguments("overlap against a model in Python", ("--seed", {"type": int, "default": 20261129}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    rows = 0
    for corpus, texts in corpora():
        rows += rows_against_model(bandmill, claims, corpus, texts, args.seed, args.size)
        with harness.scratch() as folder:
            world = World(random.Random(f"{args.seed} {corpus}"), folder, texts, "passages")
            claims.attempt(f"{corpus}: the same bytes for threads, memory and forms of input", lambda: same(bandmill, world, args.seed))
            claims.attempt(f"{corpus}: killed twice, the same bytes", lambda: resumed(bandmill, world))
            claims.attempt(f"{corpus}: items of many formats", lambda: items_of_many_formats(bandmill, world, args.size != "small"))
            if args.size != "small":
                claims.attempt(f"{corpus}: Parquet", lambda: tables(bandmill, world))
    claims.attempt("shingles that many items have", lambda: shared_by_many(bandmill, args.seed))
    claims.attempt("bytes as units", lambda: bytes_against_model(bandmill, args.seed))
    claims.check(f"{rows} rows of overlap.tsv were compared", rows > 500)
    claims.end()


if __name__ == "__main__":
    main()
