# SPDX-License-Identifier: Apache-2.0
"""sign --shard I/N: the shares one after another are the bytes of the whole, and `dedup` of their directories gives the whole's groups.

For N of 1, 2 and 7, over JSON Lines with blank lines, bad records and a byte order mark, TSV, CSV with newlines in quotes, lines, one long
record, a JSON array, documents that are files, a directory of plain, empty, gzip and Zstandard files, Parquet of several row groups and of
none, and several inputs. Each share is signed
by itself; arrays without their headers, ids and skipped records are put together, and from_record must count what the shares before it have.
Directories are given to `dedup` in any order, with exact and with estimated similarities, and `filter` takes what it wrote."""
import gzip
import json
import os
import random
import shutil
import subprocess

import harness

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

ARRAYS = ("signatures.npy", "n_shingles.npy", "n_bytes.npy", "content_hash.npy", "band_keys.npy")
SOURCES = ["file", "first_row", "documents", "skipped", "removed", "kept"]


class Corpus:
    def __init__(self, rng):
        self.rng = rng
        self.pool = [self.fresh() for _ in range(20)]

    def fresh(self):
        return " ".join(f"w{self.rng.randrange(300)}" for _ in range(self.rng.choice((1, 3, 8, 30, 200))))

    def text(self):
        """One in two stands elsewhere too."""
        return self.rng.choice(self.pool) if self.rng.random() < .5 else self.fresh()

    def jsonl(self, n, mark=False, end="\n"):
        lines = []
        for _ in range(n):
            x = self.rng.random()
            lines.append(self.rng.choice(("", " ", "\t", "\r")) if x < .1 else '{"text":7}' if x < .15 else json.dumps({"text": self.text()}))
        return (b"\xef\xbb\xbf" if mark else b"") + ("\n".join(lines) + end).encode()


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def tables(c):
    """Parquet, where that can be written and read: row groups of any size, more and fewer than shares; Arrow IPC is not cut."""
    if not PARQUET:
        return {}
    schema = pa.schema({"key": pa.string(), "text": pa.string()})

    def table(n):  # without a key: a bad record
        return pa.table({"key": [f"k{c.rng.random()}" if c.rng.random() < .9 else None for _ in range(n)], "text": [c.text() for _ in range(n)]}, schema)
    os.mkdir("tables")
    for name, sizes in {"a": (90, 1, 200, 40, 7, 120), "b": (60,), "c": (), "d": (5, 0, 300, 2)}.items():
        with pq.ParquetWriter(f"tables/{name}.parquet", schema, compression="zstd") as file:
            for n in sizes:
                file.write_table(table(n), row_group_size=max(n, 1))
    with pq.ParquetWriter("many.parquet", schema, compression="zstd") as file:
        for n in (1, 5000, 5000):
            file.write_table(pa.table({"key": [None] * n, "text": ["the same words in each row"] * n}, schema), row_group_size=n)
    with pa.ipc.new_file("a.arrow", schema) as file:
        file.write_table(table(200), max_chunksize=20)
    return {"Parquet": ["tables/a.parquet"], "Parquet, ids": ["tables/a.parquet", "--id-field", "key", "--threads", 1],
            "Parquet, a directory": ["tables"], "Parquet of no row": ["tables/c.parquet"], "IPC": ["a.arrow"],
            "Parquet of more rows than bytes": ["many.parquet", "--id-field", "none"]}


def make_inputs(c):
    """Name and arguments of each leg."""
    write("a.jsonl", c.jsonl(400))
    write("mark.jsonl", c.jsonl(50, mark=True, end=""))
    write("dir/1.jsonl", c.jsonl(100))
    write("dir/2.jsonl", b"")
    write("dir/3.jsonl", c.jsonl(5))
    write("dir/4.jsonl", c.jsonl(200, mark=True))
    write("dir/5.jsonl.gz", gzip.compress(c.jsonl(150)))
    write("dir/6.jsonl", b"")
    write("dir/7.jsonl", c.jsonl(150))
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "--rm", "dir/7.jsonl"], check=True)
    write("a.tsv", b"\xef\xbb\xbfid\ttext\n" + "".join(f"x{i}\t{c.text()}\n" for i in range(300)).encode())
    rows = (f'y{i},"{c.text()}"\n'.replace(" ", "\n", 2) for i in range(300))
    write("a.csv", ("id,text\n" + "".join(rows)).encode())
    write("lines.txt", "\n".join(c.text() if c.rng.random() < .8 else "" for _ in range(200)).encode())
    write("one.jsonl", (json.dumps({"text": " ".join(c.fresh() for _ in range(300))}) + "\n").encode())
    write("array.json", ("[" + ",\n".join(json.dumps({"text": c.text()}) for _ in range(50)) + "]").encode())
    for i in range(9):
        write(f"files/{i}.txt", c.text().encode())
    return {**tables(c), "jsonl": ["a.jsonl"], "a mark, no end": ["mark.jsonl"], "a directory": ["dir"], "tsv": ["a.tsv", "--id-field", "id"],
            "tsv, ids by line": ["a.tsv", "--id-field", "none"], "csv": ["a.csv", "--id-field", "id"],
            "csv, ids by line": ["a.csv", "--id-field", "none"], "lines": ["lines.txt", "--format", "lines"], "one long record": ["one.jsonl"],
            "an array": ["array.json"], "files": ["files"], "several inputs": ["a.jsonl", "one.jsonl", "mark.jsonl"]}


def array(directory, name):
    data = harness.read_file(directory, name)
    return data[10 + int.from_bytes(data[8:10], "little"):]


def remove(*paths):
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


def sign(program, args, directory, *more):
    remove(directory)
    program.run("sign", *args, "-o", directory, "--on-error", "skip", "--perms", 32, "--bands", 4, "--rows", 4, "--band-keys", "-q", *more)


def differs_from_whole(shares):
    """What the shares put together have other than `whole`; nothing, where that is the same."""
    for name in ARRAYS:
        if array("whole", name) != b"".join(array(d, name) for d in shares):
            return name
    if harness.read_file("whole", "ids.txt") != b"".join(harness.read_file(d, "ids.txt") for d in shares):
        return "ids.txt"
    skipped = ["file", "line", "reason"]
    if harness.read_rows(harness.read_file("whole", "skipped.tsv"), skipped) != \
            [row for d in shares for row in harness.read_rows(harness.read_file(d, "skipped.tsv"), skipped)]:
        return "skipped.tsv"
    seen = {}
    for d in shares:
        for file, _, documents, bad, _, _, before in harness.read_rows(harness.read_file(d, "sources.tsv"), [*SOURCES, "from_record"]):
            if int(before) != seen.get(file, 0):
                return f"{d}: {before} records of {file} before it, not {seen.get(file, 0)}"
            seen[file] = int(before) + int(documents) + int(bad)
    whole = {row[0]: int(row[2]) + int(row[3]) for row in harness.read_rows(harness.read_file("whole", "sources.tsv"), SOURCES)}
    return None if seen == whole else f"{seen} of {whole} records"


def same_tree(a, b, but):
    """The first file that differs, of two directories."""
    names = [{os.path.relpath(os.path.join(at, name), top) for at, _, files in os.walk(top) for name in files} for top in (a, b)]
    if names[0] != names[1]:
        return f"{names[0] ^ names[1]}"
    return next((name for name in sorted(names[0]) if name not in but and harness.read_file(a, name) != harness.read_file(b, name)), None)


def dedup_differs(program, rng, shares, verify):
    order = rng.sample(shares, len(shares))
    remove("of_whole", "of_shares", "kept_whole", "kept_shares")
    for out, inputs in (("of_whole", ["whole"]), ("of_shares", order)):
        program.run("dedup", *inputs, "-o", out, "--threshold", .7, "--verify", verify, "--pairs", "-q")
        program.run("filter", out, "-o", out.replace("of", "kept"), "-q")
    reports = [json.loads(harness.read_file(d, "report.json")) for d in ("of_whole", "of_shares")]
    for report in reports:
        del report["run"]
        if verify == "signature":  # of the parts of a file no digest of the whole is known
            report["inputs"] = [[i["file"], i["bytes"]] for i in report["inputs"]]
    if reports[0] != reports[1]:
        return f"report.json: {[key for key in reports[0] if reports[0][key] != reports[1].get(key)]}"
    return same_tree("of_whole", "of_shares", {"report.json"}) or same_tree("kept_whole", "kept_shares", {"report.json"})


def main():
    args = harness.arguments(__doc__)
    global PARQUET
    PARQUET = pa and os.path.exists(os.path.join(os.path.dirname(args.program), "libbandmill_parquet.so"))
    program, claims, rng = harness.Program(args.program, args.server), harness.Claims(), random.Random(5)
    with harness.scratch() as folder:
        os.chdir(folder)
        legs = make_inputs(Corpus(rng))
        for name, inputs in legs.items():
            sign(program, inputs, "whole")
            for n in (1, 2, 7) if args.size != "small" else (3,):
                shares = [f"share.{i}" for i in range(1, n + 1)]
                for i, directory in enumerate(shares):
                    sign(program, inputs, directory, "--shard", f"{i + 1}/{n}")
                claims.attempt(f"{name}: {n} shares are the whole", lambda: differs_from_whole(shares))
                if name == "Parquet" and n in (2, 3):
                    claims.check(f"{name}: each of {n} shares has some of it", all(harness.read_file(d, "ids.txt") for d in shares))
                for verify in ("exact", "signature"):
                    claims.attempt(f"{name}: dedup of {n} shares, {verify}", lambda: dedup_differs(program, rng, shares, verify))
        os.chdir("/")
    claims.end()


if __name__ == "__main__":
    main()
