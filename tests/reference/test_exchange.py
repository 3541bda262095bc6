"""What `bandmill export` writes, read by the tools it is for: datasketch's LeanMinHash, NumPy, pyarrow, polars, DuckDB; and against the words that
datasketch itself makes of the same shingles. Files of our own (signatures.npy, ids.txt) are only the way there: the expected
values are datasketch's."""
import csv
import json
import os
import random

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
    bands = [[row[b * ROWS:(b + 1) * ROWS].byteswap().tobytes() for b in range(BANDS)] for row in words.astype(np.uint32)]
    claims.check("text-dedup: the bytes of bands, the high one first", table["__signatures__"].to_pylist() == bands
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
        exports = Exports(harness.Program(args.program), folder, documents)
        check_lean(claims, exports, "affine32")
        check_lean(claims, exports, "legacy")
        check_arrays(claims, exports)
        check_table(claims, exports)
        check_arrow_tables(claims, exports)
        check_tools_tables(claims, exports)
        check_datatrove(claims, exports)
        check_report(claims, exports)
    claims.end()


if __name__ == "__main__":
    main()
