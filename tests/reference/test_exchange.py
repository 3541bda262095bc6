# SPDX-License-Identifier: Apache-2.0
"""What `bandmill export` writes, read by the tools it is for: datasketch's LeanMinHash, NumPy, pyarrow, polars, DuckDB; and against the words that
datasketch itself makes of the same shingles. What `import` makes of files that datasketch, pyarrow and polars wrote. Files of our own (signatures.npy, ids.txt) are only the way there: the expected
values are datasketch's."""
import csv
import json
import os
import random
import re

import harness

np, datasketch = harness.need_modules("numpy", "datasketch")

PERMS, BANDS, ROWS = 32, 8, 4
ODD = ["plain", "tab\there", "back\\slash", "ünï", "new\nline"]


def make_documents(rng, n):
    """Texts of words, every third near an earlier one; some empty, one a copy."""
    words = [a + b for a in ("ka", "lo", "mi", "nu", "pe", "ri") for b in ("sta", "der", "fon", "gul", "hem")]
    texts = []
    for i in range(n):
        if i % 3 == 2:
            text = texts[rng.randrange(len(texts))].split() or ["one"]
            text[rng.randrange(len(text))] = rng.choice(words)
            texts.append(" ".join(text))
        else:
            texts.append(" ".join(rng.choice(words) for _ in range(rng.randrange(3, 40))))
    texts[4] = texts[n // 2] = ""
    texts[7] = texts[0]
    return [{"id": ODD[i] if i < len(ODD) else f"doc {i}", "text": text} for i, text in enumerate(texts)]


def shingles(text):
    words = text.split()
    if 1 <= len(words) < 3:
        return [" ".join(words).encode()]
    return [" ".join(words[i:i + 3]).encode() for i in range(len(words) - 2)]


def minhash(text, scheme, seed):
    sketch = datasketch.MinHash(num_perm=PERMS, seed=seed, scheme=scheme)
    sketch.update_batch(set(shingles(text)))
    return sketch


class Exports:
    def __init__(self, program, folder, documents):
        self.program, self.folder, self.documents, self.n = program, folder, documents, 0
        self.input = os.path.join(folder, "documents.jsonl")
        with open(self.input, "w") as file:
            file.writelines(json.dumps(d) + "\n" for d in documents)
        self.signed = {}

    def place(self):
        self.n += 1
        return os.path.join(self.folder, f"out-{self.n}")

    def sign(self, scheme="affine32"):
        if scheme not in self.signed:
            self.signed[scheme] = self.place()
            self.program.run("sign", self.input, "-o", self.signed[scheme], "--hash", "sha1", "--words", "space", "--normalize",
                             "none", "--shingle", "word:3", "--perms", PERMS, "--scheme", scheme, "--seed", 7)
        return self.signed[scheme]

    def export(self, to, *more, scheme="affine32"):
        out = self.place()
        self.program.run("export", self.sign(scheme), "--to", to, "-o", out, *more)
        return out

    def words(self, scheme="affine32"):
        """As datasketch makes them; a document without shingles keeps the words that its MinHash begins with."""
        return np.array([minhash(d["text"], scheme, 7).hashvalues for d in self.documents])

    def sizes(self):
        return [len(set(shingles(d["text"]))) for d in self.documents]

    def ids(self):
        return [d["id"] for d in self.documents]


def band_keys(words, empty):
    """docs/formats.md: one multiplication and addition a word, then fmix64."""
    mask = (1 << 64) - 1
    rows = []
    for row, none in zip(words.tolist(), empty):
        keys = []
        for band in range(BANDS):
            key = band + 1
            for word in row[band * ROWS:(band + 1) * ROWS]:
                key = (key * 0x9E3779B97F4A7C15 + word) & mask
            for step in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
                key = ((key ^ key >> 33) * step) & mask
            keys.append(mask if none else key ^ key >> 33)
        rows.append(keys)
    return np.array(rows, dtype=np.uint64)


def check_lean(claims, exports, scheme):
    data = harness.read_file(exports.export("leanminhash", scheme=scheme), "signatures.leanminhash")
    at, wrong = 0, []
    for i, document in enumerate(exports.documents):
        expected = datasketch.LeanMinHash(minhash(document["text"], scheme, 7))
        record = data[at:at + expected.bytesize("<")]
        at += len(record)
        buffer = bytearray(expected.bytesize("<"))
        expected.serialize(buffer, "<")
        if record != bytes(buffer) or datasketch.LeanMinHash.deserialize(record, "<") != expected:
            wrong.append(i)
    claims.check(f"leanminhash, {scheme}: each record is what datasketch writes, and reads", not wrong and at == len(data), wrong[:5])


def check_beside(claims, exports, to, out):
    ids = [row[0] for row in harness.read_rows(harness.read_file(out, "ids.txt"))]
    sizes = np.load(os.path.join(out, "n_shingles.npy"))
    claims.check(f"{to}: ids and numbers of shingles lie beside", ids == exports.ids() and sizes.tolist() == exports.sizes())


def check_arrays(claims, exports):
    words = exports.words()
    out = exports.export("npy")
    claims.check("npy: NumPy reads datasketch's words", np.array_equal(np.load(os.path.join(out, "signatures.npy")), words))
    check_beside(claims, exports, "npy", out)
    empty = [n == 0 for n in exports.sizes()]
    keys = np.load(os.path.join(exports.export("npy", "--what", "bands", "--bands", BANDS, "--rows", ROWS), "band_keys.npy"))
    claims.check("npy: keys of bands by their formula", np.array_equal(keys, band_keys(words, empty)))
    out = exports.export("milvus")
    vectors, numbers = (np.load(os.path.join(out, name)) for name in ("signature.npy", "id.npy"))
    claims.check("milvus: the bytes of the words, and numbers of rows",
                 vectors.dtype == np.uint8 and vectors.tobytes() == words.astype("<u4").tobytes()
                 and vectors.shape == (len(words), 4 * PERMS) and numbers.tolist() == list(range(len(words))))
    check_beside(claims, exports, "milvus", out)


def check_table(claims, exports):
    words = exports.words().tolist()
    for what, name, columns, cells in (
            ("signatures", "signatures.tsv", [f"w{i + 1}" for i in range(PERMS)], words),
            ("bands", "band_keys.tsv", [f"band_{i + 1}" for i in range(BANDS)],
             band_keys(exports.words(), [n == 0 for n in exports.sizes()]).tolist())):
        more = ["--bands", BANDS, "--rows", ROWS] if what == "bands" else []
        out = exports.export("tsv", "--what", what, *more)
        rows = harness.read_rows(harness.read_file(out, name), ["id", "n_shingles", *columns])
        expected = [[i, str(n), *map(str, row)] for i, n, row in zip(exports.ids(), exports.sizes(), cells)]
        claims.check(f"tsv: a table of {what}", rows == expected)
        with open(os.path.join(out, name), newline="") as file:
            read = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        claims.check(f"tsv: {what} as Python's csv reads them", [row[1:] for row in read[1:]] == [row[1:] for row in expected])


def as_lists(column):
    return [list(row) for row in column]


def check_arrow_tables(claims, exports):
    """Arrow and Parquet, of signatures and of keys, by three readers; the provenance stands in the schema."""
    pa, pl, duckdb = harness.need_modules("pyarrow", "polars", "duckdb")
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq
    words, sizes, ids = exports.words().tolist(), exports.sizes(), exports.ids()
    keys = band_keys(exports.words(), [n == 0 for n in sizes]).tolist()
    plan = ["--bands", BANDS, "--rows", ROWS]
    for to, what, column, cells in (("arrow", "signatures", "signature", words), ("parquet", "signatures", "signature", words),
                                    ("arrow", "bands", "band_keys", keys), ("parquet", "bands", "band_keys", keys)):
        out = exports.export(to, "--what", what, *(plan if what == "bands" else []))
        path = os.path.join(out, f"{'signatures' if what == 'signatures' else 'band_keys'}.{to}")
        table = ipc.open_file(path).read_all() if to == "arrow" else pq.read_table(path)
        table.validate(full=True)
        claims.check(f"{to}: {what} as pyarrow reads them", as_lists(table[column].to_pylist()) == cells
                     and table["id"].to_pylist() == ids and table["n_shingles"].to_pylist() == sizes)
        item = pa.uint32() if what == "signatures" else pa.uint64()
        kind = table.schema.field(column).type
        claims.check(f"{to}: {what} have the type of the contract", kind.value_type == item and table.schema.names == ["id", column, "n_shingles"]
                     and (kind.list_size == len(cells[0]) if to == "arrow" else pa.types.is_list(kind)), kind)
        told = json.loads(table.schema.metadata[b"bandmill"])
        manifest = json.loads(harness.read_file(exports.sign(), "manifest.json"))
        claims.check(f"{to}: the schema has the provenance of {what}", told["provenance"] == manifest["provenance"])
        frame = pl.read_ipc(path) if to == "arrow" else pl.read_parquet(path)
        claims.check(f"{to}: {what} as polars reads them",
                     as_lists(frame[column].to_list()) == cells and frame["id"].to_list() == ids)
        if to == "parquet":
            rows = duckdb.sql(f"SELECT id, {column}, n_shingles FROM read_parquet('{path}')").fetchall()
            claims.check(f"parquet: {what} as DuckDB reads them", [list(r) for r in rows] == [list(r) for r in zip(ids, cells, sizes)])


def check_tools_tables(claims, exports):
    harness.need_modules("pyarrow")
    import pyarrow.parquet as pq
    words = exports.words()
    out = exports.export("nemo")
    table = pq.read_table(os.path.join(out, "MinHashStage", "part.0.parquet"))
    claims.check("nemo: numbers of rows and lists of words", table.schema.names == ["_curator_dedup_id", "_minhash_signature"]
                 and table["_curator_dedup_id"].to_pylist() == list(range(len(words)))
                 and table["_minhash_signature"].to_pylist() == words.tolist())
    check_beside(claims, exports, "nemo", out)
    out = exports.export("text-dedup", "--bands", BANDS, "--rows", ROWS)
    table = pq.read_table(os.path.join(out, "signatures.parquet"))
    bands = [[row[b * ROWS:(b + 1) * ROWS].astype(">u8").tobytes() for b in range(BANDS)] for row in words]
    claims.check("text-dedup: the bytes of bands, eight a word, the high one first", table["__signatures__"].to_pylist() == bands
                 and table["__id__"].to_pylist() == list(range(len(words))))
    check_beside(claims, exports, "text-dedup", out)


def trove_records(rows, number):
    return sorted((*words, n) for words, n in zip(rows, number) if n is not None)


def check_datatrove(claims, exports, memory=None):
    out = exports.export("datatrove", "--bands", BANDS, "--rows", ROWS, *(["--memory", memory] if memory else []))
    words, n = exports.words(), 0
    numbers = []  # datatrove's readers pass over documents without text
    for document in exports.documents:
        numbers.append(n if document["text"] else None)
        n += bool(document["text"])
    wrong = []
    for band in range(BANDS):
        data = harness.read_file(out, "signatures", f"bucket_{band:03d}", "00000.minhash.sig")
        read = np.frombuffer(data, dtype="<u4").reshape(-1, ROWS + 1).tolist()
        if list(map(tuple, read)) != trove_records(words[:, band * ROWS:(band + 1) * ROWS].tolist(), numbers):
            wrong.append(band)
    claims.check("datatrove: sorted records of each band", not wrong, wrong)
    listed = harness.read_rows(harness.read_file(out, "documents.tsv"), ["rank", "number", "id"])
    claims.check("datatrove: documents.tsv has each number", listed ==
                 [["0", "" if k is None else str(k), i] for k, i in zip(numbers, exports.ids())])


class Imports:
    """Files that others wrote, imported; and what came of them."""

    def __init__(self, exports):
        self.exports, self.program = exports, exports.program

    def put(self, name, data):
        path = os.path.join(self.exports.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def take(self, path, form, *more, expect=0):
        out = self.exports.place()
        done = self.program.run("import", path, "--from", form, "-o", out, *more, expect=expect)
        if expect:
            return done.stderr.decode() if not os.path.exists(out) else "it left an output"
        ids = [row[0] for row in harness.read_rows(harness.read_file(out, "ids.txt"))]
        words, sizes = (np.load(os.path.join(out, name)) for name in ("signatures.npy", "n_shingles.npy"))
        return words, ids, sizes.tolist(), out

    def groups(self, folder):
        out = self.exports.place()
        self.program.run("dedup", folder, "-o", out, "--verify", "signature", "--threshold", "0.6")
        return harness.read_file(out, "groups.jsonl")


TOLD = ["--scheme", "affine32", "--seed", 7, "--hash", "sha1"]
# interop's known answer: the five tokens of datasketch's own tests, seed 42, 8 permutations, of its format before 2.0
LEGACY = bytes.fromhex("2a000000000000000800000093cfb424441c1318d9f50f8030edf5037be01a6e2c3d22432e12f7122468c930")
LEGACY_WORDS = [615829395, 403905604, 2148529625, 66448688, 1847255163, 1126317356, 318181934, 818505764]


def check_import_lean(claims, imports, scheme):
    exports = imports.exports
    data = b""
    for document in exports.documents:
        lean = datasketch.LeanMinHash(minhash(document["text"], scheme, 7))
        buffer = bytearray(lean.bytesize("<"))
        lean.serialize(buffer, "<")
        data += bytes(buffer)
    path = imports.put(f"{scheme}.lean", data)
    words, ids, sizes, out = imports.take(path, "leanminhash", "--hash", "sha1")
    told = json.loads(harness.read_file(out, "manifest.json"))["provenance"]
    claims.check(f"import: what datasketch serializes, {scheme}", np.array_equal(words, exports.words(scheme))
                 and ids == [str(i) for i in range(len(words))] and sizes == [int(n > 0) for n in exports.sizes()])
    claims.check(f"import: scheme and seed of the records, {scheme}", (told["scheme"], told["seed"], told["perms"]) == (scheme, 7, PERMS))


def check_import_known(claims, imports):
    words, _, _, out = imports.take(imports.put("known.lean", LEGACY), "leanminhash", "--hash", "sha1")
    claims.check("import: the known answer of LeanMinHash before 2.0", words.tolist() == [LEGACY_WORDS])
    again = imports.exports.place()
    imports.program.run("export", out, "--to", "leanminhash", "-o", again)
    claims.check("and its bytes come out again", harness.read_file(again, "signatures.leanminhash") == LEGACY)


def check_import_tables(claims, imports):
    pa, _ = harness.need_modules("pyarrow", "polars")
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq
    import polars as pl
    words, ids = imports.exports.words().tolist(), imports.exports.ids()
    kinds = {"list": pa.list_(pa.uint32()), "large_list": pa.large_list(pa.uint32()), "fixed_size_list": pa.list_(pa.uint32(), PERMS)}
    for name, kind in kinds.items():
        table = pa.table({"sig": pa.array(words, kind), "name": ids, "extra": range(len(ids))})
        sliced = pa.concat_tables([table.slice(0, 5), table.slice(5, 0), table.slice(5)])
        path = os.path.join(imports.exports.folder, name)
        pq.write_table(table, path + ".parquet", row_group_size=7)
        with ipc.new_stream(path + ".arrow", table.schema) as out:
            for batch in sliced.to_batches():
                out.write_batch(batch)
        for form in ("parquet", "arrow"):
            got = imports.take(f"{path}.{form}", form, "--id-field", "name", "--signature-field", "sig", *TOLD)
            claims.check(f"import: {form} by pyarrow, {name}", got[0].tolist() == words and got[1] == ids)
    path = os.path.join(imports.exports.folder, "polars.parquet")
    pl.DataFrame({"id": ids, "signature": words}, schema={"id": pl.String, "signature": pl.List(pl.UInt32)}).write_parquet(path)
    got = imports.take(path, "parquet", *TOLD)
    claims.check("import: parquet by polars", got[0].tolist() == words and got[1] == ids)
    got = imports.take(path, "parquet", "--id-field", "none", *TOLD)
    claims.check("import: ids are not asked for", got[1] == [f"{path}:{i + 1}" for i in range(len(ids))], got[1])
    said = imports.take(path, "parquet", "--id-field", "key", *TOLD, expect=3)
    claims.check("import: no column of ids", re.search("no column 'key' .it has: id, signature", said), said)
    path = os.path.join(imports.exports.folder, "curator.parquet")
    pq.write_table(pa.table({"_curator_dedup_id": pa.array(range(100, 100 + len(ids)), pa.int64()),
                             "_minhash_signature": pa.array(words, pa.list_(pa.uint32()))}), path)
    got = imports.take(path, "nemo", *TOLD)
    claims.check("import: nemo", got[0].tolist() == words and got[1] == [str(100 + i) for i in range(len(ids))])


def check_import_hostile(claims, imports):
    pa = harness.need_modules("pyarrow")
    import pyarrow.parquet as pq
    good = [[1] * 4, [2] * 4, [3] * 4]
    cases = [("a null signature", {"signature": pa.array([*good, None], pa.list_(pa.uint32()))}, ":4: its signature is null"),
             ("a null word", {"signature": pa.array([*good, [1, None, 3, 4]], pa.list_(pa.uint32()))}, ":4: .*null"),
             ("another length", {"signature": pa.array([*good, [1, 2, 3]], pa.list_(pa.uint32()))}, ":4: its signature has 3 words .expected 4"),
             ("no words", {"signature": pa.array([[]], pa.list_(pa.uint32()))}, ":1: signatures of 0 words"),
             ("too many words", {"signature": pa.array([[1] * 1025], pa.list_(pa.uint32()))}, ":1: signatures of 1025 words"),
             ("another type", {"signature": pa.array(good, pa.list_(pa.int32()))}, "column 'signature' has the type"),
             ("lists of no words", {"signature": pa.array([[], []], pa.list_(pa.uint32(), 0))}, "column 'signature' has the type fixed_size_list.0. of uint32"),
             ("no list", {"signature": ["a"]}, "column 'signature' has the type u"),
             ("numbers of another width", {"signature": pa.array(good, pa.list_(pa.int32()))}, "has the type list of int32"),
             ("an id that is a time", {"id": pa.array([1, 2, 3], pa.timestamp("us")), "signature": pa.array(good, pa.list_(pa.uint32()))},
              "column 'id' has the type timestamp"),
             ("no such column", {"words": [1]}, "no column 'signature' .it has: words"),
             ("wide words", {"signature": pa.array(good, pa.list_(pa.uint64()))}, "words of 8 bytes"),
             ("a null id", {"id": ["a", "b", None], "signature": pa.array(good, pa.list_(pa.uint32()))}, ":3: its id is null"),
             ("a repeated id", {"id": ["a", "b", "a"], "signature": pa.array(good, pa.list_(pa.uint32()))}, ":3: .*a"),
             ("an id of another type", {"id": [1.5, 2, 3], "signature": pa.array(good, pa.list_(pa.uint32()))}, "column 'id' has the type"),
             ("no shingles and words", {"n_shingles": pa.array([1, 0, 1], pa.uint32()), "signature": pa.array(good, pa.list_(pa.uint32()))},
              ":2: it has words, and no shingles")]
    for name, columns, words in cases:
        path = os.path.join(imports.exports.folder, "hostile.parquet")
        pq.write_table(pa.table(columns), path)
        said = imports.take(path, "parquet", *TOLD, expect=3)
        claims.check(f"import: {name} is told", re.search("hostile.parquet" + (words if words[0] == ":" else ".*" + words), said), said)
    numbers = pa.ListArray.from_arrays(pa.array([0, 4, 8, 12], pa.int32()), pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 1] * 3, pa.uint32()), pa.array([7, 8, 9], pa.uint32())))
    indexed = os.path.join(imports.exports.folder, "indexed.arrow")
    with pa.ipc.new_file(indexed, pa.schema([("signature", numbers.type)])) as writer:
        writer.write_table(pa.table({"signature": numbers}))
    said = imports.take(indexed, "arrow", *TOLD, expect=3)
    claims.check("import: words of a dictionary are told", "column 'signature' has the type" in said, said)
    empty = os.path.join(imports.exports.folder, "empty.arrow")
    with pa.ipc.new_file(empty, pa.schema([("signature", pa.list_(pa.uint32()))])):
        pass
    with pa.ipc.new_file(indexed, pa.schema([("signature", pa.list_(pa.uint32()))])) as writer:
        writer.write_table(pa.table({"signature": pa.array(good, pa.list_(pa.uint32()))}))
    out = imports.exports.place()
    done = imports.program.run("import", empty, indexed, "--from", "arrow", "-o", out, *TOLD, "--duplicate-ids", "number", expect=7)
    claims.check("import: words behind a file of no rows, whose number nobody said", b"signatures of 4 words" in done.stderr, done.stderr)
    imports.program.run("import", empty, indexed, "--from", "arrow", "-o", out, *TOLD, "--perms", 4)
    for text in (b"{", b'{"schema":1,"tool":"bandmill"}', b'{"schema":1,"tool":"other","kind":"export","version":"1"}', b"[1]", b"\xff"):
        table = pa.table({"signature": pa.array(good, pa.list_(pa.uint32()))}).replace_schema_metadata({b"bandmill": text})
        pq.write_table(table, path)
        out = imports.exports.place()
        done = imports.program.run("import", path, "--from", "parquet", "-o", out, *TOLD, expect=None)
        claims.check(f"import: broken provenance {text[:12]!r}", done.returncode in (3, 7) and not os.path.exists(out), done.stderr)


def check_round_trips(claims, imports):
    exports = imports.exports
    wanted = imports.groups(exports.sign())
    for form in ("leanminhash", "npy", "arrow", "parquet", "nemo"):
        words, ids, sizes, out = imports.take(exports.export(form), form)
        claims.check(f"{form}: there and back", np.array_equal(words, exports.words()) and ids == exports.ids()
                     and sizes == exports.sizes() and len(wanted.splitlines()) > 3 and imports.groups(out) == wanted)
        a, b = (json.loads(harness.read_file(f, "manifest.json"))["provenance"] for f in (exports.sign(), out))
        claims.check(f"{form}: with the same provenance", {k: v for k, v in a.items() if k != "input_format"} ==
                     {k: v for k, v in b.items() if k != "input_format"})
    for form in ("arrow", "parquet"):
        path = os.path.join(exports.export(form), f"signatures.{form}")
        words, ids, _, _ = imports.take(path, form)
        claims.check(f"{form}: the file alone says how it was made", np.array_equal(words, exports.words()) and ids == exports.ids())


def check_report(claims, exports):
    out = exports.export("leanminhash")
    report, manifest = (json.loads(harness.read_file(folder, name)) for folder, name in
                        ((out, "report.json"), (exports.sign(), "manifest.json")))
    claims.check("report.json: kind, form and the provenance of the signatures",
                 report["kind"] == "export" and report["parameters"] == {"to": "leanminhash", "what": "signatures"}
                 and report["provenance"] == manifest["provenance"] and report["inputs"] == manifest["inputs"]
                 and report["counts"] == manifest["counts"])
    claims.check("report.json: the files that lie there", sorted(report["outputs"]) ==
                 sorted(set(os.listdir(out)) - {"report.json"}))


def main():
    args = harness.arguments(__doc__)
    claims = harness.Claims()
    documents = make_documents(random.Random(20), 60 if args.size == "small" else 400)
    with harness.scratch() as folder:
        exports = Exports(harness.Program(args.program, args.server), folder, documents)
        check_lean(claims, exports, "affine32")
        check_lean(claims, exports, "legacy")
        check_lean(claims, exports, "affine64")
        check_arrays(claims, exports)
        check_table(claims, exports)
        check_arrow_tables(claims, exports)
        check_tools_tables(claims, exports)
        check_datatrove(claims, exports)
        check_report(claims, exports)
        imports = Imports(exports)
        check_import_lean(claims, imports, "affine32")
        check_import_lean(claims, imports, "legacy")
        check_import_lean(claims, imports, "affine64")
        check_import_known(claims, imports)
        check_import_tables(claims, imports)
        check_import_hostile(claims, imports)
        check_round_trips(claims, imports)
    claims.end()


if __name__ == "__main__":
    main()
