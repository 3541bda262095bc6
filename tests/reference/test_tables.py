# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files against the same documents as JSON Lines: written by pyarrow, polars and DuckDB, with every logical type
of text, nulls, dictionaries, structs, no row, one row, many row groups, every codec and both versions of pages. Kept rows against
a filter by pyarrow, schema and metadata too. Files that are cut short, changed byte by byte, encrypted: an error with the file, or
the same result; no crash and no output."""
import base64
import json
import os
import random
import re
import resource
import subprocess

import harness

np, pa = harness.need_modules("numpy", "pyarrow")
import pyarrow.ipc as ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

WORDS = [a + b for a in ("ka", "lo", "mi", "nu", "pe", "ri") for b in ("sta", "der", "fon", "gul", "hem")]


def make_rows(rng, n):
    """Texts with near-copies, copies, empty ones and nulls."""
    texts = []
    for i in range(n):
        if i % 3 == 2 and texts[-1]:
            words = texts[rng.randrange(len(texts))] or "one"
            words = words.split()
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            texts.append(" ".join(words))
        else:
            texts.append(" ".join(rng.choice(WORDS) for _ in range(rng.randrange(6, 40))))
    for i in (3, n // 2):
        texts[i] = ""
    for i in (5, n - 1):
        texts[i] = None
    texts[9] = "Ünïcode — 漢字かな 한국어 " * 4
    return [{"id": f"row {i}", "text": t, "n": i} for i, t in enumerate(texts)]


class Runs:
    def __init__(self, program, folder, rows):
        self.program, self.folder, self.rows, self.n = program, folder, rows, 0
        self.jsonl = self.put("rows.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
        self.base = pa.table({"id": [r["id"] for r in rows], "text": [r["text"] for r in rows],
                              "n": pa.array([r["n"] for r in rows], pa.int16()),
                              "more": [[r["n"], -r["n"]] for r in rows]}, metadata={"ours": "kept"})
        self.whole = self.sign(self.jsonl)

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def place(self, name="out"):
        self.n += 1
        return os.path.join(self.folder, f"{name}-{self.n}")

    def sign(self, *arguments):
        out = self.place()
        self.program.run("sign", *arguments, "-o", out, "--perms", 16, "--device", "cpu")
        return [harness.read_file(out, name) for name in ("signatures.npy", "n_shingles.npy", "ids.txt", "content_hash.npy")]

    def same(self, path, *arguments):
        """Nothing wrong where the file is signed as the JSON Lines are."""
        return "" if self.sign(path, *arguments) == self.whole else "other signatures, sizes or ids"


def write(table, path, **options):
    pq.write_table(table, path, **options)
    return path


def text_as(kind):
    return lambda t: t.set_column(1, "text", t["text"].cast(kind))


def forms():
    """name -> table, options of write_table, arguments of the program."""
    found = {name: (lambda t: t, {"compression": name}, ()) for name in ("none", "snappy", "gzip", "zstd", "brotli", "lz4")}
    found["pages of version 2"] = (lambda t: t, {"data_page_version": "2.0"}, ())
    found["pages of version 1"] = (lambda t: t, {"data_page_version": "1.0", "version": "1.0"}, ())
    found["no dictionary"] = (lambda t: t, {"use_dictionary": False}, ())
    found["many row groups"] = (lambda t: t, {"row_group_size": 7}, ())
    found["small pages"] = (lambda t: t, {"data_page_size": 64, "write_batch_size": 8}, ())
    found["byte stream split"] = (lambda t: t, {"use_dictionary": False, "column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY"}}, ())
    found["without Arrow's schema"] = (lambda t: t, {"store_schema": False}, ())
    for kind in ("string", "large_string", "binary", "large_binary", "string_view", "binary_view"):
        found[kind] = (text_as(getattr(pa, kind)()), {}, ())
    found["dictionary"] = (lambda t: t.set_column(1, "text", t["text"].dictionary_encode()), {}, ())
    found["in a struct"] = (lambda t: pa.table({"id": t["id"], "doc": pa.StructArray.from_arrays(
        [t["text"].combine_chunks(), t["n"].combine_chunks()], ["text", "n"])}), {}, ("--text-field", "doc.text"))
    found["integers as ids"] = (lambda t: t.set_column(0, "id", t["n"]), {}, ())
    return found


def by_others(runs):
    """Files that other programs write: name -> path."""
    found = {}
    try:
        import polars
        frame = polars.from_arrow(runs.base.select(["id", "text", "n"]))
        found["polars, Parquet"] = os.path.join(runs.folder, "polars.parquet")
        frame.write_parquet(found["polars, Parquet"], row_group_size=50)
        found["polars, IPC"] = os.path.join(runs.folder, "polars.arrow")
        frame.write_ipc(found["polars, IPC"], compression="zstd")
    except ImportError:
        harness.skip("polars is not there", "BANDMILL_REQUIRE_PYTHON")
    try:
        import duckdb
        path = os.path.join(runs.folder, "duckdb.parquet")
        base = runs.base.select(["id", "text", "n"])  # noqa: F841
        duckdb.sql(f"copy (select * from base order by n) to '{path}' (format parquet, codec 'zstd', row_group_size 2048)")
        found["DuckDB, Parquet"] = path
    except ImportError:
        harness.skip("duckdb is not there", "BANDMILL_REQUIRE_PYTHON")
    return found


def write_ipc(table, path, stream=False, rows=61, **options):
    make = ipc.new_stream if stream else ipc.new_file
    with make(path, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def check_kept(runs, path, read):
    """`dedup`, `filter`, `--kept` and `--removed` of a file of tables: the rows that JSON Lines keep, and the others, as pyarrow filters them."""
    plain, out, again = runs.place(), runs.place(), runs.place()
    runs.program.run("dedup", runs.jsonl, "-o", plain, "--threshold", "0.6", "--pairs", "--device", "cpu")
    runs.program.run("dedup", path, "-o", out, "--threshold", "0.6", "--pairs", "--removed", "same", "--device", "cpu")
    for name in ("groups.jsonl", "pairs.tsv"):
        if harness.read_file(plain, name) != harness.read_file(out, name):
            return f"another {name}"
    stay = {json.loads(line)["id"] for line in harness.read_file(plain, "kept.jsonl").decode().splitlines()}
    table = read(path)
    wanted = table.filter(pa.array([i in stay for i in table["id"].to_pylist()]))
    kept = os.path.join(out, "kept" + os.path.splitext(path)[1])
    got = read(kept)
    if not got.equals(wanted) or not got.schema.equals(table.schema, check_metadata=True):
        return f"{got.num_rows} rows, {wanted.num_rows} wanted, or another schema"
    gone = read(os.path.join(out, "removed" + os.path.splitext(path)[1]))
    others = table.filter(pa.array([i not in stay for i in table["id"].to_pylist()]))
    if not gone.equals(others) or not gone.schema.equals(table.schema, check_metadata=True):
        return f"{gone.num_rows} removed rows, {others.num_rows} wanted, or another schema"
    runs.program.run("filter", out, "-o", again)
    if harness.read_file(again, os.path.basename(kept)) != harness.read_file(out, os.path.basename(kept)):
        return "filter writes another file"
    removed = harness.read_rows(harness.read_file(out, "removed.tsv"))[1:]
    ids = table["id"].to_pylist()
    return "" if removed and all(ids[int(row[5]) - 1] == row[0] for row in removed) else "lines that are no rows"


def all_types(runs):
    """The rows with a column of each type that Parquet can hold, and nulls in each."""
    n = runs.base.num_rows
    numbers = [None if i % 7 == 3 else i for i in range(n)]
    kinds = [pa.bool_(), pa.int8(), pa.uint8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
             pa.float64(), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("ns"), pa.null(),
             pa.decimal128(5), pa.decimal128(15, 2), pa.decimal128(30, 4), pa.decimal256(60, 3)]
    kinds += [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Europe/Berlin")]
    made = {"flag": pa.array([None if v is None else v % 2 == 0 for v in numbers])}
    for kind in kinds[1:]:
        if kind == pa.null():
            made["nothing"] = pa.nulls(n)
        elif pa.types.is_float16(kind):
            made[str(kind)] = pa.array([None if v is None else np.float16(v) for v in numbers], kind)
        elif pa.types.is_decimal(kind):
            made[str(kind)] = pa.array(numbers, pa.int32()).cast(pa.decimal128(12)).cast(kind)
        else:
            wide = kind.bit_width == 64  # versions before 2.6 have no nanoseconds
            made[str(kind)] = pa.array([None if v is None else v % 100 * (1000 if wide else 1) for v in numbers],
                                       pa.int64() if wide else pa.int32()).cast(kind)
    for kind in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"):
        made[kind] = runs.base["text"].combine_chunks().cast(getattr(pa, kind)())
    made["words"] = pa.array([None if v is None else f"w{v % 9}" for v in numbers]).dictionary_encode()
    made["fixed"] = pa.array([None if v is None else b"%04d" % v for v in numbers], pa.binary(4))
    lists = [None if i % 5 == 1 else [None if k == 2 else k * i for k in range(i % 4)] for i in range(n)]
    made["list"], made["large_list"] = pa.array(lists, pa.list_(pa.int16())), pa.array(lists, pa.large_list(pa.int64()))
    made["pairs"] = pa.array([None if v is None else [v, v] for v in numbers], pa.list_(pa.float32(), 2))
    made["map"] = pa.array([None if v is None else [(f"k{v % 3}", v)] for v in numbers], pa.map_(pa.string(), pa.int32()))
    made["nested"] = pa.array([None if v is None else {"a": {"b": [{"c": str(v), "d": None}] * (v % 3)}, "e": v} for v in numbers], pa.struct(
        [("a", pa.struct([("b", pa.list_(pa.struct([("c", pa.string()), ("d", pa.int8())])))])), pa.field("e", pa.int64())]))
    table = runs.base.append_column(pa.field("must", pa.int32(), nullable=False), pa.array(range(n), pa.int32()))
    for name, column in made.items():
        table = table.append_column(pa.field(name, column.type, metadata={"of": name}), column)
    return table.replace_schema_metadata({"ours": "kept", "more": "ü"})


def filtered(table, mask):
    """The rows of the mask. What pyarrow cannot filter, texts as views, is made of their rows."""
    views = {name for name in table.column_names if "view" in str(table[name].type)}
    columns = [pa.chunked_array([pa.array([v for v, stays in zip(table[name].to_pylist(), mask) if stays], table[name].type)])
               if name in views else table[name].filter(pa.array(mask)) for name in table.column_names]
    return pa.Table.from_arrays(columns, schema=table.schema)


def check_like(runs, table, **options):
    """Rows are those that pyarrow keeps; schema, metadata, codecs, encodings' versions and row groups are those of the file."""
    path, out = os.path.join(runs.folder, "like.parquet"), runs.place()
    pq.write_table(table, path, **options)
    runs.program.run("dedup", path, "-o", out, "--threshold", "0.6", "--device", "cpu")
    was, now = pq.ParquetFile(path), pq.ParquetFile(os.path.join(out, "kept.parquet"))
    lost = {row[0] for row in harness.read_rows(harness.read_file(out, "removed.tsv"))[1:]}
    wanted = filtered(was.read(), [i not in lost for i in table["id"].to_pylist()])
    got = now.read()
    if not got.schema.equals(wanted.schema, check_metadata=True):
        return "another schema of Arrow"
    wanted, got = (t.set_column(t.schema.get_field_index("words"), "words", t["words"].cast(pa.string())) for t in (wanted, got))  # whatever their dictionaries
    codecs = [{m.row_group(0).column(c).compression for c in range(m.num_columns)} for m in (was.metadata, now.metadata)]
    if not now.schema.equals(was.schema) or now.metadata.metadata != was.metadata.metadata:
        return "another schema of Parquet, or other metadata"
    if not got.equals(wanted):
        return "other rows: " + ", ".join(f"{name}" for name in got.column_names if not got[name].equals(wanted[name]))
    if now.metadata.format_version != was.metadata.format_version and "ns" not in str(table.schema):
        return f"version {now.metadata.format_version}"
    return "" if codecs[0] == codecs[1] and now.metadata.num_row_groups == was.metadata.num_row_groups else f"{codecs}"


def check_threads(runs):
    """Columns that are worth a thread, one of few long values that come again and again: the same file with any number of threads."""
    rng, n = random.Random(12), 600
    texts = [" ".join(rng.choice(WORDS) for _ in range(40)) for _ in range(n)]
    for i in range(0, n, 3):
        texts[i + 1] = texts[i]
    long = pa.DictionaryArray.from_arrays(pa.array([None if i % 5 == 2 else i % 3 for i in range(n)], pa.int32()),
                                          pa.array([rng.choice(WORDS) * 30000 for _ in range(3)]))
    lists = [None if i % 7 == 1 else [None if k == 3 else rng.choice(WORDS) * k for k in range(i % 23)] for i in range(n)]
    table = pa.table({"id": [f"row {i}" for i in range(n)], "text": texts, "long": long, "lists": pa.array(lists, pa.list_(pa.string())),
                      "fixed": pa.array([b"%04d" % i * 40 for i in range(n)], pa.binary(160))})
    path = os.path.join(runs.folder, "threads.parquet")
    pq.write_table(table, path, compression="zstd", row_group_size=250, data_page_version="2.0", write_page_index=True)
    files = []
    for threads in (1, 2, 8):
        out = runs.place()
        runs.program.run("dedup", path, "-o", out, "--device", "cpu", "--threads", threads)
        files.append(harness.read_file(out, "kept.parquet"))
    lost = {row[0] for row in harness.read_rows(harness.read_file(out, "removed.tsv"))[1:]}
    mask = pa.array([i not in lost for i in table["id"].to_pylist()])
    got, wanted = pq.read_table(os.path.join(out, "kept.parquet")), pq.read_table(path).filter(mask)
    if files[1:] != files[:1] * 2:
        return "another file with more threads"
    return "" if 150 < len(lost) < 300 and got.to_pylist() == wanted.to_pylist() else f"{got.num_rows} rows, {len(lost)} removed"


def paged_table(rng, word):
    """A table of texts of many a word(), some of them twice, and columns of other kinds beside them."""
    n = 700
    texts = [" ".join(word() for _ in range(rng.randrange(20, 200))) for _ in range(n)]
    for i in range(0, n - 1, 3):
        texts[i + 1] = texts[i]
    lists = [None if i % 7 == 1 else [None if k == 3 else texts[i][:k * 9] for k in range(i % 23)] for i in range(n)]
    table = pa.table({"text": texts, "lists": pa.array(lists, pa.list_(pa.string())), "n": range(n),
                      "nulls": [t if i % 4 else None for i, t in enumerate(texts)], "kind": [f"kind {i % 9}" * 40 for i in range(n)]})
    return table.replace_schema_metadata({"key": "value"})


def paged_files(runs):
    """Files of one row group whose pages are worth threads: name -> (place, options of the job)."""
    rng = random.Random(13)
    table = paged_table(rng, lambda: rng.choice(WORDS))
    rare = paged_table(rng, lambda: f"{rng.getrandbits(24):06x}")  # gzip is slow where words come again
    giant = pa.table({"text": [rng.choice(WORDS) + " " + " ".join(rng.choices(WORDS, k=50)) * (15000 if i == 3 else 900) for i in range(9)]})
    small = {"data_page_size": 9000, "use_dictionary": ["kind"]}
    ways = {"zstd": (table, {"compression": "zstd", "write_page_index": True, "sorting_columns": [pq.SortingColumn(2)], **small}),
            "gzip, version 2": (rare, {"compression": "gzip", "data_page_version": "2.0", **small}),
            "lz4, a dictionary that is given up": (table, {"compression": "lz4", "data_page_size": 9000, "dictionary_pagesize_limit": 30000}),
            "snappy, a page larger than the room": (giant, {"compression": "snappy", "use_dictionary": False, "data_page_size": 1 << 20})}
    files = {}
    for name, (content, options) in ways.items():
        files[name] = os.path.join(runs.folder, f"paged{len(files)}.parquet")
        pq.write_table(content, files[name], **options)
    return files


def check_paged(runs, path):
    """Large pages, with threads and without, also where memory is short: the same groups, the same file."""
    wanted = None
    for threads, *more in ((1,), (2,), (3,), (8,), (2, "--memory", "64M"), (8, "--memory", "64M")):
        out = runs.place()
        runs.program.run("dedup", path, "-o", out, "--device", "cpu", "--threads", threads, *more)
        got = [harness.read_file(out, name) for name in ("kept.parquet", "groups.jsonl", "removed.tsv")]
        wanted = wanted or got
        if got != wanted:
            return f"--threads {threads} {more}: another result"
    lost = {int(row[0].rpartition(":")[2]) for row in harness.read_rows(harness.read_file(out, "removed.tsv"))[1:]}
    read = pq.read_table(path)
    mask = pa.array([i + 1 not in lost for i in range(len(read))])
    return "" if pq.read_table(os.path.join(out, "kept.parquet")).equals(read.filter(mask)) else "other rows"


def check_paged_damage(runs, path, column, job):
    """A page in the midst of a column is damaged: with eight threads the same words as with one, and no output."""
    chunk, said = pq.read_metadata(path).row_group(0).column(column), []
    data = bytearray(harness.read_file(path))
    at = chunk.data_page_offset + chunk.total_compressed_size // 2
    data[at:at + 600] = bytes(600)
    broken = runs.put("paged.parquet", data)
    for threads in (1, 8):
        out = runs.place()
        done = runs.program.run("dedup", broken, "-o", out, "--device", "cpu", "--threads", threads, *job, expect=3)
        said.append(done.stderr.decode().replace(out, "OUT"))
        if os.path.exists(out) or os.path.exists(out + ".partial"):
            return "an output was left"
    return "" if said[0] == said[1] and "paged.parquet" in said[0] and "row group 0" in said[0] else f"{said}"


def ranged_files(runs):
    """Files whose row groups are cut, or are not: row groups of very different sizes and without rows, texts of a few words and of
    megabytes, pages of few rows and of many: name -> (rows, place)."""
    rng, found = random.Random(15), {}
    ways = {"pages of two kB": {"data_page_size": 2000, "use_dictionary": False, "write_batch_size": 7},
            "a dictionary that is given up": {"data_page_size": 3000, "dictionary_pagesize_limit": 9000, "write_batch_size": 10},
            "as pyarrow does": {"compression": "zstd", "data_page_version": "2.0"},
            "what texts begin with once": {"use_dictionary": False, "data_page_size": 1 << 16,
                                           "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}}
    for name, options in ways.items():
        rows, path = [], os.path.join(runs.folder, f"ranged{len(found)}.parquet")
        schema = pa.schema([("id", pa.string()), ("text", pa.large_string()), ("n", pa.int64())])
        with pq.ParquetWriter(path, schema, **options) as writer:
            for n in (0, 400, 1, 0, 30, 5, 2000, 0, 2, 500):
                group = [{"id": f"{name} {len(rows) + i}", "text": " ".join(rng.choices(WORDS, k=rng.randrange(0, 90))), "n": i}
                         for i in range(n)]
                for i in range(300, n, 597):
                    group[i]["text"] = " ".join(rng.choices(WORDS, k=rng.choice((9000, 300000))))
                rows += group
                writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=max(n, 1))
        found[name] = (rows, path)
    return found


def check_ranges(runs, rows, path):
    """As JSON Lines for any number of threads, memory and size of batches, with ids, without them, and by a field that ranks."""
    lines, wrong = runs.put("ranged.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode()), []
    some = (("--threads", 1), ("--threads", 2), ("--threads", 2, "--memory", "96M"), ("--threads", 3, "--batch-docs", 50), ("--threads", 8))
    for fields, ways in (((), some), (("--text-field", "text", "--text-field", "id"), some[-1:]),
                         (("--id-field", "n", "--duplicate-ids", "number"), some[-1:])):
        wanted = runs.sign(lines, *fields)
        wrong += [f"{fields} {more}" for more in ways if runs.sign(path, *fields, *more) != wanted]
    kept = []
    for threads in (1, 8):
        out = runs.place()
        runs.program.run("dedup", path, "-o", out, "--device", "cpu", "--keep", "max:n", "--threads", threads)
        kept.append([harness.read_file(out, name) for name in ("kept.parquet", "groups.jsonl", "removed.tsv")])
    return ", ".join(wrong + ([] if kept[0] == kept[1] else ["other rows are kept"]))


def check_ranges_damage(runs, rows, path):
    """A page in the midst of the largest row group is damaged: the same words with any number of threads, of the row group and a row before
    the damage."""
    meta = pq.read_metadata(path)
    chunk, first = meta.row_group(6).column(1), sum(meta.row_group(g).num_rows for g in range(6))
    data = bytearray(harness.read_file(path))
    at = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size * 3 // 4
    broken = runs.put("ranged.parquet", data[:at] + bytes(60) + data[at + 60:])
    said = [runs.program.run("sign", broken, "-o", runs.place(), "--device", "cpu", "--threads", threads, expect=3) for threads in (1, 2, 8)]
    words = [done.stderr.decode().splitlines()[-1] for done in said]
    named = re.search(r"ranged.parquet: .*row group 6, after row (\d+): ", words[0])
    right = len(set(words)) == 1 and named and first <= int(named[1]) < first + 2000
    return "" if right else f"{words}"


def check_entries(runs, **options):
    """Texts that come again and again, of which a column chunk is nothing but indices: as the same rows in JSON Lines, with words of each kind,
    in short and in long texts, for any number of threads and little memory."""
    rng = random.Random(14)
    long = [" ".join(rng.choices(WORDS, k=n)) for n in (1, 2, 9, 300, 9000, 60000)]
    texts = [None, "", "ka", "\u00df " * 5, *long, *(f"row {i} of a few rows with words" for i in range(30))]
    rows = [{"id": f"row {i}", "text": rng.choice(texts)} for i in range(600)]
    table = pa.table({name: [r[name] for r in rows] for name in ("id", "text")})
    path = os.path.join(runs.folder, "entries.parquet")
    lines = runs.put("entries.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
    pq.write_table(table, path, row_group_size=250, dictionary_pagesize_limit=1 << 24, **options)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    if chunk.total_uncompressed_size > 1 << 20:
        return f"not written as a dictionary: {chunk.total_uncompressed_size} bytes"
    wrong = []
    for more in (("--threads", 1), ("--threads", 8), ("--memory", "64M"), ("--batch-docs", 3), ("--bag",)):
        found = [runs.place(), runs.place()]
        for source, out in zip((lines, path), found):
            runs.program.run("dedup", source, "-o", out, "--device", "cpu", "--pairs", *more)
        if any(harness.read_file(found[0], name) != harness.read_file(found[1], name) for name in ("groups.jsonl", "pairs.tsv")):
            wrong.append(f"{more}: other groups")
        counts = [json.loads(harness.read_file(out, "report.json"))["counts"] for out in found]
        wrong += [] if counts[0] == counts[1] else [f"{more}: {counts}"]
        if runs.sign(lines, *more) != runs.sign(path, *more):
            wrong.append(f"{more}: other signatures")
    return ", ".join(wrong)


def check_bomb(runs):
    """A few kB, of which each of 3,000 rows is one text of 4 MB: it is cut and hashed once."""
    text = ("the quick brown fox jumps over the lazy dog and then runs away from here " * 60000)[:4 << 20]
    table = pa.table({"id": [f"row {i}" for i in range(3000)], "text": pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), [text])})
    path, out = os.path.join(runs.folder, "bomb.parquet"), runs.place()
    write(table, path, compression="zstd", store_schema=False)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([runs.program.path, "dedup", path, "-o", out, "--device", "cpu", "--threads", "2", "-q"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    removed = harness.read_file(out, "removed.tsv").count(b"\n") - 1
    return "" if os.path.getsize(path) < 9000 and removed == 2999 and seconds < 8 else f"{seconds:.1f} s, {removed} removed"


def likes():
    """Ways to write a file whose kept rows are to be written the same way: name -> options of write_table."""
    return {"zstd, row groups of 40": {"compression": "zstd", "row_group_size": 40},
            "snappy, version 2.4": {"version": "2.4"}, "gzip, version 1.0": {"compression": "gzip", "version": "1.0"},
            "uncompressed, without Arrow's schema": {"compression": "none", "store_schema": False},
            "as Spark wants it": {"flavor": "spark"}, "times of 96 bits": {"use_deprecated_int96_timestamps": True},
            "pages of version 2, an index, checksums": {"data_page_version": "2.0", "write_page_index": True, "write_page_checksum": True},
            "lists' old names, no dictionaries": {"use_compliant_nested_type": False, "use_dictionary": False},
            "codecs by column": {"compression": {"text": "zstd", "id": "none", "n": "gzip"}}}


def check_exact_again(runs, path):
    """Signatures of a table, verified by its texts, and explained, as those of JSON Lines."""
    groups = []
    for source in (runs.jsonl, path):
        signed, out = runs.place(), runs.place()
        runs.program.run("sign", source, "-o", signed, "--device", "cpu")
        runs.program.run("dedup", signed, "-o", out, "--threshold", "0.6", "--verify", "exact")
        groups.append([harness.read_file(out, "groups.jsonl"),
                       runs.program.run("explain", out, "--group", "1", "--json").stdout])
    return "" if groups[0] == groups[1] else "another result"


def check_annotated(runs, path, read):
    """`filter --annotate`: every row, as it was, with the group that JSON Lines have for it."""
    plain, out, noted, rows = (runs.place() for _ in range(4))
    for source, found, written in ((runs.jsonl, plain, rows), (path, out, noted)):
        runs.program.run("dedup", source, "-o", found, "--threshold", "0.6", "--device", "cpu")
        runs.program.run("filter", found, "--annotate", "-o", written)
    table = read(path)
    got = read(os.path.join(noted, "annotated" + os.path.splitext(path)[1]))
    wanted = [json.loads(line)["bandmill"] for line in harness.read_file(rows, "annotated.jsonl").decode().splitlines()]
    kind = pa.struct([("group", pa.int64()), ("size", pa.int64()), pa.field("kept", pa.bool_(), False), ("jaccard", pa.float64())])
    if got.column_names[-1] != "bandmill" or got["bandmill"].type != kind or got["bandmill"].to_pylist() != wanted:
        return "other groups"
    rest = got.drop_columns(["bandmill"])
    if not rest.equals(table) or not rest.schema.equals(table.schema, check_metadata=True):
        return "other rows, or another schema"
    return "" if any(w["group"] and not w["kept"] for w in wanted) and any(w["group"] is None for w in wanted) else "nothing was removed"


def check_spark(runs):
    """Spark reads the columns that its own word in the metadata names: so the column of groups is there too; a word that is not as Spark
    writes it is dropped, as Spark then reads what is there."""
    key, wrong = b"org.apache.spark.sql.parquet.row.metadata", []
    column = {"name": "text", "type": "string", "nullable": True, "metadata": {"comment": 'a "]}" \\', "n": 1.5}}
    label = {"name": "bandmill", "nullable": False, "metadata": {}, "type": {"type": "struct", "fields": [
        {"name": name, "type": kind, "nullable": name != "kept", "metadata": {}} for name, kind in (("group", "long"), ("size", "long"), ("kept", "boolean"), ("jaccard", "double"))]}}
    good = [json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"), ensure_ascii=False) for fields in (
        [], [column], [column, {**column, "name": "ü[", "type": {"type": "array", "elementType": label["type"], "containsNull": True}}])]
    bad = ["", "StructType(List(StructField(text,StringType,true)))", good[1] + "]}", good[1][:-2] + ',"]}', good[1][:-1] + ',"more":[]}',
           '{"type":"struct","fields":[}]}', '{"type":"struct","fields":[{]}', json.dumps({"fields": [], "type": "struct"}), good[0] + good[0]]
    for i, word in enumerate(good + bad):
        for store in (True, False):
            path, out, noted = os.path.join(runs.folder, "spark.parquet"), runs.place(), runs.place()
            few = runs.base.slice(0, 9).replace_schema_metadata({key: word} if i % 2 else None)
            with pq.ParquetWriter(path, few.schema, store_schema=store) as writer:
                writer.write_table(few)
                writer.add_key_value_metadata({key: word, "ours": "kept"})
            runs.program.run("dedup", path, "-o", out, "--threshold", "0.6", "--kept", "no", "--device", "cpu")
            runs.program.run("filter", out, "--annotate", "-o", noted)
            file = pq.ParquetFile(os.path.join(noted, "annotated.parquet"))
            found, within = file.metadata.metadata, file.schema_arrow.metadata or {}  # of a file; as Arrow's own word has it
            own, wanted = json.loads(found.get(key, "null")), None
            if i < len(good):
                wanted = {**json.loads(word), "fields": json.loads(word)["fields"] + [label]}
            if own != wanted or found[b"ours"] != b"kept" or (i % 2 and store and within.get(key) != found.get(key)):
                wrong.append(f"{word}: {found}, {within}")
    return "\n".join(wrong)


def list_rows(runs):
    """The texts as lists: of messages, of words, in lists of lists; the same as JSON Lines."""
    rows = []
    for r in runs.rows:
        words = (r["text"] or "").split()
        cut = [" ".join(words[i:i + 7]) for i in range(0, len(words), 7)]
        rows.append({"id": r["id"], "words": [w if i != 4 else None for i, w in enumerate(words)], "turns": [cut[:1], cut[1:]],
                     "talk": [{"role": "user", "content": c, "parts": [{"t": c}, {"t": None}]} for c in cut]})
    return rows


def check_lists(runs):
    """Lists of texts, of structs and of lists, of either width and of a fixed size, as `jsonl` has arrays."""
    rows, wrong = list_rows(runs), []
    lines = runs.put("lists.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
    part = pa.struct([("t", pa.string())])
    kinds = {"words": pa.list_(pa.string()), "turns": pa.list_(pa.large_list(pa.string())),
             "talk": pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("parts", pa.large_list(part))]))}
    table = pa.table({"id": [r["id"] for r in rows], **{name: pa.array([r[name] for r in rows], kind) for name, kind in kinds.items()}})
    pairs = pa.table({"id": [r["id"] for r in rows], "two": pa.array([[r["id"], None] for r in rows], pa.list_(pa.string(), 2))})
    files = [write(table, os.path.join(runs.folder, "lists.parquet"), row_group_size=40), write_ipc(table, os.path.join(runs.folder, "lists.arrow"))]
    for fields in (["words[]"], ["turns[][]"], ["talk[].content"], ["talk[].parts[].t"], ["words[]", "id"]):
        arguments = [a for field in fields for a in ("--text-field", field)]
        wanted = runs.sign(lines, *arguments)
        wrong += [f"{path}: {fields}" for path in files if runs.sign(path, *arguments) != wanted]
    fixed = runs.put("two.jsonl", "".join(json.dumps({"id": r["id"], "two": [r["id"], None]}) + "\n" for r in rows).encode())
    if runs.sign(write(pairs, os.path.join(runs.folder, "two.parquet")), "--text-field", "two[]") != runs.sign(fixed, "--text-field", "two[]"):
        wrong.append("a fixed size")
    for field, words in (("words", "words[] has the texts"), ("id[]", "no column 'id[]'"), ("talk.content", "no column 'talk.content'")):
        wrong.append(refused(runs, files[0], [words], "--text-field", field))
    return ", ".join(filter(None, wrong))


def check_nulls(runs):
    """A text that is null is empty, in rows and in lines. Above it, all rows have all columns: what stands in a null is null; a line whose
    text is missing, as all of a null's are, is a bad record."""
    kinds = {"text": pa.string(), "doc": pa.struct([("text", pa.string())]), "talk": pa.list_(pa.struct([("text", pa.string())]))}
    rows = {"text": ["one two", None], "doc": [{"text": "one two"}, {"text": None}], "talk": [[{"text": "one two"}], [{"text": None}]]}
    gone = {"doc": [{"text": "one two"}, None], "talk": [[{"text": "one two"}], None], "talk ": [[{"text": "one two"}], [None]]}
    wrong = []
    nothing = pa.table({"id": ["a", "b"], "text": pa.nulls(2), "no": [[None], None]})  # of the type null
    for path in (write(nothing, os.path.join(runs.folder, "nulls.parquet")), write_ipc(nothing, os.path.join(runs.folder, "nulls.arrow"))):
        for field in ("text", "no[]"):
            wrong += [] if runs.sign(path, "--text-field", field)[2] == b"a\nb\n" else [f"{field} of {path}"]
    for name, values in [*rows.items(), *gone.items()]:
        column, missing = name.strip(), rows.get(name) is not values
        field = {"text": "text", "doc": "doc.text", "talk": "talk[].text"}[column]
        table = pa.table({column: pa.array(values, kinds[column])})
        lines = runs.put("nulls.jsonl", "".join(json.dumps({column: v}) + "\n" for v in values).encode())
        empty = runs.put("empty.txt", b"one two\n\n")
        wanted = runs.sign(empty, "--format", "lines")[:2]
        for path in (write(table, os.path.join(runs.folder, "nulls.parquet")), write_ipc(table, os.path.join(runs.folder, "nulls.arrow"))):
            if runs.sign(path, "--text-field", field)[:2] != wanted:
                wrong.append(f"{name} of {path}")
        if missing:
            wrong.append(refused(runs, lines, ["nulls.jsonl:2", field.split("[")[0]], "--text-field", field))
        elif runs.sign(lines, "--text-field", field)[:2] != wanted:
            wrong.append(f"{name} of lines")
    return ", ".join(filter(None, wrong))


def check_sizes(runs, make, ending):
    for n in (0, 1):
        table = runs.base.slice(0, n)
        out = runs.place()
        runs.program.run("dedup", make(table, os.path.join(runs.folder, f"few{n}{ending}")), "-o", out, "--device", "cpu")
        read = pq.read_table if ending == ".parquet" else lambda p: ipc.open_file(p).read_all()
        if not read(os.path.join(out, "kept" + ending)).equals(table):
            return f"{n} rows are kept as others"
    return ""


def check_piped(runs, path):
    """On standard input: signed as the JSON Lines are, and what `dedup` keeps is what it keeps of the file, byte for byte."""
    data, wrong = harness.read_file(path), []
    signed, whole, piped = runs.place(), runs.place(), runs.place()
    runs.program.run("sign", "-", "-o", signed, "--perms", 16, "--device", "cpu", stdin=data)
    if [harness.read_file(signed, n) for n in ("signatures.npy", "n_shingles.npy", "ids.txt", "content_hash.npy")] != runs.whole:
        wrong.append("other signatures, sizes or ids")
    runs.program.run("dedup", path, "-o", whole, "--threshold", "0.6", "--device", "cpu")
    runs.program.run("dedup", "-", "-o", piped, "--threshold", "0.6", "--device", "cpu", stdin=data)
    kept = "kept" + (".parquet" if data[:4] == b"PAR1" else ".arrow")
    if harness.read_file(whole, "kept" + os.path.splitext(path)[1]) != harness.read_file(piped, kept):
        wrong.append("other rows are kept")
    if runs.program.run("dedup", path, "-o", "-", "--threshold", "0.6", "--device", "cpu").stdout != harness.read_file(piped, kept):
        wrong.append("other rows on stdout")
    return ", ".join(wrong)


def check_one_stream(runs, make, read, ending):
    """Several tables on stdout: the rows that kept/ has otherwise, as one table; of one nothing stays, one cannot be read. Another schema is refused."""
    folder, out, wrong = runs.place("parts"), runs.place(), []
    os.mkdir(folder)
    names = ["a", "again", "b"]
    paths = [make(runs.base.slice(at, 75), os.path.join(folder, name + ending)) for name, at in zip(names, (0, 0, 75))]
    how = ["--threshold", "0.6", "--device", "cpu", "--duplicate-ids", "number"]
    runs.program.run("dedup", *paths, "-o", out, *how)
    kept = [read(os.path.join(out, "kept", name + ending)) for name in names]
    if kept[1].num_rows != sum(not text for text in kept[1]["text"].to_pylist()) or not kept[2].num_rows:
        return f"kept/ has {[t.num_rows for t in kept]} rows"
    broken = runs.put(os.path.join(folder, "broken" + ending), harness.read_file(paths[0])[:12])
    for inputs, more in ((paths, ["--memory", "64M"]), (paths, ["--threads", 1]), ([*paths[:2], broken, paths[2]], ["--on-error", "skip"])):
        got = runs.program.run("dedup", *inputs, "-o", "-", *how, *more).stdout
        if not read(pa.BufferReader(got)).equals(pa.concat_tables(kept)):
            wrong.append(f"other rows on stdout: {more}")
    for table, words in ((runs.base.set_column(2, "n", runs.base["n"].cast(pa.string())), "'n: string' in place of 'n: int16'"),
                         (runs.base.select(["id", "text"]), "'no column' in place of 'n: int16'")):
        other = make(table, os.path.join(folder, "other" + ending))
        done = runs.program.run("dedup", paths[0], other, "-o", "-", *how, expect=2)
        if done.stdout or f"{other}: the schema is not that of {paths[0]}: {words}" not in done.stderr.decode():
            wrong.append(f"another schema: {done.stderr}")
    return ", ".join(wrong)


def check_several(runs):
    """Two files of a directory: kept/ has both, of one nothing but its schema."""
    folder, out = runs.place("many"), runs.place()
    os.mkdir(folder)
    write(runs.base.slice(0, 20), os.path.join(folder, "a.parquet"))
    write(runs.base.slice(0, 20).set_column(0, "id", pa.array([f"again {i}" for i in range(20)])), os.path.join(folder, "b.parquet"))
    runs.program.run("dedup", folder, "-o", out, "--device", "cpu", "--keep", "first", "--threshold", "1")
    a, b = (pq.read_table(os.path.join(out, "kept", f"{name}.parquet")) for name in "ab")
    stays = [i for i, t in enumerate(runs.base.slice(0, 20)["text"].to_pylist()) if not t]
    return "" if b["id"].to_pylist() == [f"again {i}" for i in stays] and a.num_rows >= 18 else f"{a.num_rows}, {b['id'].to_pylist()}"


def check_lanes(runs):
    """Five files that are kept by one thread and by several: the same bytes, also where one table needs more than a thread's share of the memory. The first that cannot be copied is named."""
    folder, wrong, outs = runs.place("lanes"), [], []
    os.mkdir(folder)
    for i in range(5):
        table = runs.base.slice(i * 20, 20).append_column("blob", pa.array(["x" * (1 << 20 if i == 2 else 9)] * 20))
        write(table, os.path.join(folder, f"{i}.parquet"), compression="zstd", use_dictionary=False, data_page_size=1 << 30,
              row_group_size=10 if i % 2 else 20, write_batch_size=1 << 20)
    job = ("dedup", folder, "--threshold", "0.6", "--device", "cpu")
    for threads in (1, 2, 4):
        outs.append(runs.place())
        runs.program.run(*job, "-o", outs[-1], "--removed", "same", "--threads", threads, "--memory", "80M")
        for name in (f"{side}/{i}.parquet" for side in ("kept", "removed") for i in range(5)):
            if harness.read_file(outs[0], name) != harness.read_file(outs[-1], name):
                wrong.append(f"{threads} threads: other bytes in {name}")
    for i in (2, 4):  # the pages of a column that only the copy reads
        path = os.path.join(folder, f"{i}.parquet")
        chunk, data = pq.ParquetFile(path).metadata.row_group(0).column(2), bytearray(harness.read_file(path))
        end = chunk.data_page_offset + chunk.total_compressed_size
        data[end - 12:end] = b"\xff" * 12
        runs.put(path, data)
    for threads in (1, 4):
        out = runs.place()
        done = runs.program.run(*job, "-o", out, "--threads", threads, expect=3)
        if b"2.parquet" not in done.stderr or b"row group 0, column 'n'" not in done.stderr or os.path.exists(out):
            wrong.append(f"{threads} threads: {done.stderr.decode()}")
    return "\n".join(wrong)


def check_skipped(runs, whole, ending):
    """Files that cannot be opened are a bad record each: the other one is kept as it is alone, by filter and from signatures too."""
    folder, alone, out, again, signed, late = (runs.place() for _ in range(6))
    os.mkdir(folder)
    good, skip = os.path.join(folder, "b" + ending), ["--on-error", "skip", "--device", "cpu"]
    data = harness.read_file(whole)
    for name, content in (("a", data[:len(data) // 2] if ending == ".parquet" else data[:12]), ("b", data), ("c", data[:9])):
        runs.put(os.path.join(folder, name + ending), content)
    gone = os.path.join(folder, "d" + ending)
    runs.program.run("dedup", good, "-o", alone, "--device", "cpu")
    runs.program.run("dedup", folder, gone, "-o", out, *skip)
    runs.program.run("filter", out, "-o", again)
    runs.program.run("sign", folder, gone, "-o", signed, *skip)
    runs.program.run("dedup", signed, "-o", late)
    listed = [line.split(b"\t")[:2] for line in harness.read_file(out, "skipped.tsv").splitlines()[1:]]
    if listed != [[os.path.join(folder, name + ending).encode(), b"1"] for name in "acd"]:
        return f"skipped: {listed}"
    kept = harness.read_file(alone, "kept" + ending)
    for place in (out, again, late):
        if os.listdir(os.path.join(place, "kept")) != ["b" + ending] or harness.read_file(place, "kept", "b" + ending) != kept:
            return f"other kept rows: {place}"
    return "" if harness.read_file(out, "groups.jsonl") == harness.read_file(alone, "groups.jsonl") else "other groups"


def refused(runs, path, words, *arguments, code=3, command=("sign",)):
    out = runs.place()
    done = runs.program.run(*command, path, "-o", out, "--device", "cpu", *arguments, expect=code)
    line = done.stderr.decode().splitlines()[-1]
    if os.path.exists(out) or os.path.exists(out + ".partial"):
        return "an output was left"
    return "" if all(w in line for w in words) else line


def encrypt_column(table, path):
    """Parquet whose footer is plain and whose column "text" is encrypted."""
    import pyarrow.parquet.encryption as pe

    class Keys(pe.KmsClient):
        def wrap_key(self, key, master):
            return base64.b64encode(key)

        def unwrap_key(self, wrapped, master):
            return base64.b64decode(wrapped)

    asked = pe.EncryptionConfiguration(footer_key="f", column_keys={"t": ["text"]}, plaintext_footer=True)
    keys = pe.CryptoFactory(lambda config: Keys()).file_encryption_properties(pe.KmsConnectionConfig(), asked)
    with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    return path


def bodies(data):
    """The sizes of the messages of an IPC file."""
    reader, sizes = ipc.MessageReader.open_stream(data.slice(8)), []
    while True:
        try:
            sizes.append(reader.read_next_message().body.size)
        except StopIteration:
            return sizes


def codec_of(path):
    """How the batches of an IPC file are compressed: PyArrow writes them again in each way."""
    reader = ipc.open_file(path)
    for codec in ("zstd", "lz4", None):
        sink = pa.BufferOutputStream()
        with ipc.new_file(sink, reader.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            for i in range(reader.num_record_batches):
                writer.write_batch(reader.get_batch(i))
        if bodies(sink.getvalue()) == bodies(pa.py_buffer(harness.read_file(path))):
            return codec
    return "none of these"


def check_compressed(runs, codec, stream):
    """What is kept of IPC is compressed as it is."""
    long = runs.base.set_column(1, "text", pa.array([(t or "") * 20 for t in runs.base["text"].to_pylist()]))
    indexed = long.append_column("kind", pa.array([f"kind {i % 3}" for i in range(len(long))]).dictionary_encode())
    path, out = write_ipc(indexed, os.path.join(runs.folder, "packed.arrow"), stream=stream, compression=codec), runs.place()
    runs.program.run("dedup", path, "-o", out, "--device", "cpu")
    found = codec_of(os.path.join(out, "kept.arrow"))
    return "" if found == codec else f"{found} instead of {codec}"


def check_memory(runs):
    """Two batches of IPC, of the columns that are asked for, may not be larger than `--memory`, compressed or not; what is named is enough.
    Nothing of them is read before."""
    text, wrong, path = "a few words of one long text " * 40000, [], os.path.join(runs.folder, "large.arrow")
    plain = pa.table({"text": [text] * 18})
    packed = plain.set_column(0, "text", plain["text"].dictionary_encode())
    views = pa.table({"fat": plain["text"].cast(pa.string_view()), "text": ["few words"] * 18})
    fat = pa.table({"fat": [[{"a": text, "b": None}]] * 18, "text": views["text"], "more": plain["text"]})
    forms = [(plain, codec, stream) for codec in (None, "zstd", "lz4") for stream in (False, True)]
    for table, codec, stream in [*forms, (packed, None, False), (packed, "lz4", True)]:
        write_ipc(table, path, stream=stream, rows=18, compression=codec)
        out = runs.place()
        done = runs.program.run("sign", path, "-o", out, "--device", "cpu", "--memory", "32M", "--perms", 16, expect=None)
        if table is packed:  # a text once
            wrong += [] if done.returncode == 0 else [f"a dictionary: {done.stderr}"]
            continue
        line = done.stderr.decode().splitlines()[-1]
        named = re.search(r"large.arrow: .*: two batches of up to (\d+) bytes do not fit into --memory of 32M \(at least (\d+)M\)", line)
        if done.returncode != 6 or os.path.exists(out) or not named or not 18 * len(text) <= int(named[1]) <= 18.5 * len(text):
            wrong.append(f"{codec}, {stream}: {line}")
        else:
            for command in ("sign", "dedup"):
                runs.program.run(command, path, "-o", runs.place(), "--memory", f"{named[2]}M", "--device", "cpu")
    for table in (views, fat):  # columns that nobody asks for
        runs.program.run("sign", write_ipc(table, path, rows=18), "-o", runs.place(), "--memory", "32M", "--device", "cpu")
        wrong.append(refused(runs, write_ipc(table, path, stream=True, rows=18), ["two batches", "at least"], "--memory", "32M", code=6))
    for lie in (1 << 40, 1 << 62, -2):
        data = bytearray(harness.read_file(write_ipc(plain, path, rows=18, compression="lz4")))
        at = data.rindex((18 * len(text)).to_bytes(8, "little"))  # what the texts say to be without compression
        data[at:at + 8] = lie.to_bytes(8, "little", signed=True)
        wrong.append(refused(runs, runs.put("large.arrow", data), ["large.arrow"], "--memory", "1G", code=3 if lie < 0 else 6))
    return "\n".join(filter(None, wrong))


def check_resumed(runs, path):
    """A job that is ended in its midst, or just before or behind it, and gone on with."""
    whole, out = runs.place(), runs.place()
    runs.program.run("dedup", path, "-o", whole)
    words = [runs.program.path, "dedup", path, "-o", out, "--device", "cpu", "-q"]
    with subprocess.Popen(words, env={**os.environ, "BANDMILL_SEAL_SECONDS": "0.0001"}, stderr=subprocess.DEVNULL) as job:
        job.terminate()
    runs.program.run("dedup", path, "-o", out, "--resume")
    names = ("kept.parquet", "groups.jsonl", "removed.tsv")
    return "" if all(harness.read_file(whole, n) == harness.read_file(out, n) for n in names) else "other outputs"


def check_named(runs, path):
    out, noted = runs.place(), runs.place()
    runs.program.run("dedup", path, "-o", out, "--kept", "no", "--device", "cpu")
    done = runs.program.run("filter", out, "--annotate", "-o", noted, expect=3)
    return "" if b"named.parquet" in done.stderr and b"a column 'bandmill' already" in done.stderr and not os.path.exists(noted) else "another error"


def check_damage(runs, name, data, places, job=("sign", "--perms", 16)):
    """The byte at each of these places changed: refused with the file's name, or the same result."""
    path = os.path.join(runs.folder, name)
    for at in places:
        changed = bytearray(data)
        changed[at] ^= 0x55
        runs.put(name, changed)
        out = runs.place()
        done = runs.program.run(job[0], path, "-o", out, *job[1:], "--device", "cpu", "--memory", "1G", expect=None)
        if done.returncode == 0:
            continue  # what no checksum covers: a text that is another one, a statistic
        line = done.stderr.decode().splitlines()[-1]
        if done.returncode not in (3, 6, 7) or name not in line or os.path.exists(out):
            return f"byte {at}: exit {done.returncode}: {line}"
    return ""


def main():
    args = harness.arguments(__doc__)
    claims, rng = harness.Claims(), random.Random(11)
    module = os.path.join(os.path.dirname(args.program), "libbandmill_parquet.so")
    if not os.path.exists(module):
        harness.skip("bandmill-parquet was not built (cmake -DBM_PARQUET=ON)", "BANDMILL_REQUIRE_PYTHON")
    step = {"small": 97, "normal": 41, "full": 1}[args.size]
    with harness.scratch() as folder:
        runs = Runs(harness.Program(args.program, args.server, [module]), folder, make_rows(rng, 150))
        for name, (form, options, arguments) in forms().items():
            path = os.path.join(folder, "form.parquet")
            table = form(runs.base)
            if name == "integers as ids":
                claims.attempt(f"Parquet, {name}", lambda: "" if runs.sign(write(table, path))[2] == b"".join(
                    b"%d\n" % i for i in range(150)) else "other ids")
                continue
            claims.attempt(f"Parquet, {name}: as JSON Lines", lambda: runs.same(write(table, path, **options), *arguments))
        for name, path in by_others(runs).items():
            claims.attempt(f"{name}: as JSON Lines", lambda: runs.same(path))
        files = {"a file": ("f.arrow", {}), "a stream": ("s.arrow", {"stream": True}), "zstd": ("z.arrow", {"compression": "zstd"}),
                 "lz4": ("l.feather", {"compression": "lz4"})}
        for name, (path, options) in files.items():
            claims.attempt(f"IPC, {name}: as JSON Lines", lambda: runs.same(
                write_ipc(runs.base, os.path.join(folder, path), **options)))
        claims.attempt("IPC, dictionaries: as JSON Lines", lambda: runs.same(write_ipc(
            runs.base.set_column(1, "text", runs.base["text"].dictionary_encode()), os.path.join(folder, "d.arrow"))))
        parquet = write(runs.base, os.path.join(folder, "kept.parquet"), compression="zstd", row_group_size=40)
        arrow = write_ipc(runs.base, os.path.join(folder, "kept.arrow"))
        claims.attempt("Parquet: kept rows as pyarrow filters them", lambda: check_kept(runs, parquet, pq.read_table))
        claims.attempt("IPC: kept rows as pyarrow filters them", lambda: check_kept(
            runs, arrow, lambda p: ipc.open_file(p).read_all()))
        for name, path in (("Parquet", parquet), ("IPC, a file", arrow), ("IPC, a stream", os.path.join(folder, "s.arrow"))):
            claims.attempt(f"{name}, on standard input: as the file", lambda: check_piped(runs, path))
        for name, make, read, ending in (("Parquet", write, pq.read_table, ".parquet"),
                                         ("IPC", write_ipc, lambda p: ipc.open_file(p).read_all(), ".arrow")):
            claims.attempt(f"{name}: several files as one on stdout", lambda: check_one_stream(runs, make, read, ending))
        for codec in ("zstd", "lz4", None):
            for stream in (False, True):
                claims.attempt(f"IPC, {'a stream' if stream else 'a file'}, {codec}: kept rows compressed as they were",
                               lambda: check_compressed(runs, codec, stream))
        types = all_types(runs)
        for name, options in likes().items():
            claims.attempt(f"Parquet, {name}: kept rows of each type, in a file like it", lambda: check_like(runs, types, **options))
        claims.attempt("lists, as arrays of JSON Lines", lambda: check_lists(runs))
        claims.attempt("nulls, and what stands in them: rows and lines", lambda: check_nulls(runs))
        claims.attempt("Parquet: each row with its group", lambda: check_annotated(runs, parquet, pq.read_table))
        claims.attempt("IPC: each row with its group", lambda: check_annotated(runs, arrow, lambda p: ipc.open_file(p).read_all()))
        claims.attempt("Parquet: the column of groups is one for Spark too", lambda: check_spark(runs))
        named = write(runs.base.append_column("bandmill", runs.base["n"]), os.path.join(folder, "named.parquet"))
        claims.attempt("--resume", lambda: check_resumed(runs, parquet))
        claims.attempt("a table that has the column already", lambda: check_named(runs, named))
        for name, options in {"zstd": {"compression": "zstd"}, "version 2, without Arrow's schema": {"data_page_version": "2.0", "store_schema": False}}.items():
            claims.attempt(f"Parquet, {name}: entries of a dictionary, as JSON Lines", lambda: check_entries(runs, **options))
        claims.attempt("Parquet: an entry of a dictionary is cut once", lambda: check_bomb(runs))
        claims.attempt("Parquet: verified and explained by its texts", lambda: check_exact_again(runs, parquet))
        claims.attempt("Parquet of no row and of one", lambda: check_sizes(runs, write, ".parquet"))
        claims.attempt("IPC of no row and of one", lambda: check_sizes(runs, write_ipc, ".arrow"))
        claims.attempt("two files: kept/ has both", lambda: check_several(runs))
        claims.attempt("five files: kept/ is the same for any number of threads", lambda: check_lanes(runs))
        claims.attempt("Parquet that cannot be opened: skipped", lambda: check_skipped(runs, parquet, ".parquet"))
        claims.attempt("IPC that cannot be opened: skipped", lambda: check_skipped(runs, arrow, ".arrow"))
        data = harness.read_file(parquet)
        claims.attempt("no such id column: named, with those that there are", lambda: refused(
            runs, parquet, ["kept.parquet", "no column 'key'", "id, text, n, more"], "--id-field", "key"))
        claims.attempt("no such column: named, with those that there are", lambda: refused(
            runs, parquet, ["kept.parquet", "no column 'body'", "id, text, n, more"], "--text-field", "body"))
        claims.attempt("a column of numbers: named, with its type", lambda: refused(
            runs, parquet, ["column 'n'", "int16"], "--text-field", "n"))
        claims.attempt("cut short", lambda: next(filter(None, (refused(
            runs, runs.put("cut.parquet", data[:n]), ["cut.parquet"]) for n in (4, 11, 12, 100, len(data) // 2, len(data) - 1))), ""))
        claims.attempt("encrypted footer", lambda: refused(
            runs, runs.put("secret.parquet", b"PARE" + data[4:-4] + b"PARE"), ["secret.parquet", "ncrypt"]))
        secret = encrypt_column(runs.base, os.path.join(folder, "column.parquet"))
        for command in (["sign"], ["dedup", "--threshold", "0.6"]):
            claims.attempt(f"an encrypted column under a plain footer: {command[0]}", lambda: refused(
                runs, secret, ["column.parquet", "column 'text' is encrypted"], command=command))
        claims.attempt("an encrypted column that nobody asks for", lambda: refused(
            runs, secret, ["column.parquet", "column 'text' is encrypted"], "--text-field", "id"))
        claims.attempt("batches larger than the memory", lambda: check_memory(runs))
        claims.attempt("another format than its name says", lambda: refused(
            runs, runs.put("text.parquet", b'{"text":"a"}\n'), ["text.parquet", "parquet"]))
        claims.attempt("another format than asked for", lambda: refused(runs, parquet, ["parquet", "jsonl"], "--format", "jsonl"))
        claims.attempt("a bad record is named by its row", lambda: refused(
            runs, write(runs.base.set_column(0, "id", pa.array([None, *range(149)])), os.path.join(folder, "null.parquet")),
            ["null.parquet:1"], "--id-field", "id"))
        small = write(runs.base.slice(0, 30), os.path.join(folder, "small.parquet"), compression="zstd", row_group_size=10)
        data = harness.read_file(small)
        begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        claims.attempt("each byte of the footer changed in turn", lambda: check_damage(
            runs, "damaged.parquet", data, range(begin, len(data), step)))
        claims.attempt("bytes of pages changed", lambda: check_damage(runs, "damaged.parquet", data, range(4, begin, 3 * step)))
        claims.attempt("Parquet: the same file with any number of threads", lambda: check_threads(runs))
        paged = paged_files(runs)
        for name, path in paged.items():
            claims.attempt(f"{name}: the same with any number of threads and little memory", lambda path=path: check_paged(runs, path))
        for column, name in ((0, "zstd"), (0, "gzip, version 2"), (2, "zstd")):
            claims.attempt(f"a damaged page, {name}, column {column}",
                           lambda path=paged[name], column=column: check_paged_damage(runs, path, column, ("--text-field", "text")))
        for name, (rows, path) in ranged_files(runs).items():
            claims.attempt(f"row groups of all sizes, {name}: as JSON Lines, with any number of threads", lambda: check_ranges(runs, rows, path))
            claims.attempt(f"row groups of all sizes, {name}: a damaged page", lambda: check_ranges_damage(runs, rows, path))
        other = runs.base.slice(0, 30).select(["id", "n", "more", "text"])
        data = harness.read_file(write(other, small, compression="none", row_group_size=10))
        begin = pq.read_metadata(small).row_group(0).column(3).dictionary_page_offset
        claims.attempt("bytes of pages changed, of columns that are only copied", lambda: check_damage(
            runs, "damaged.parquet", data, range(4, begin, step // 3 or 1), ("dedup", "--text-field", "text", "--threads", 2)))
        stream = harness.read_file(write_ipc(runs.base.slice(0, 30), os.path.join(folder, "small.arrow"), rows=10))
        claims.attempt("bytes of an IPC file changed", lambda: check_damage(
            runs, "damaged.arrow", stream, range(8, len(stream), 5 * step)))
    claims.end()


if __name__ == "__main__":
    main()
