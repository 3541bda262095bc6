# SPDX-License-Identifier: Apache-2.0
"""index.py -- what do `index build`, `index add` and `query` take, beside `sign`, a hash table in memory and datasketch?

The corpus are DOCUMENTS planted documents (planted.c), or real text (--corpus FILE.jsonl, repeated with changed words until it
has as many). The queries: one half documents of it, one half of another seed, of which none is there. Everything lies in
memory where there is room; the index is in the page cache. Shown, each with the goal that it has:

  build       seconds of `index build` by those of `sign` of the same file, all threads               at most 3
  add         seconds a document of `index add` of a tenth more, by those of `index build`            at most 1.5
  search      seconds of plain_index.c by those of `query` less those of `sign` of the queries        at least .3
  from_text   the same with cutting, hashing and signing of the queries in both
  datasketch  queries a second of `query` by those of MinHashLSH from text, shingle by shingle (MinHash.update), as its
              documentation shows                                                                     at least 20
  in bulk     the same with MinHash.update_batch, which is its fastest. It holds as many documents as --datasketch says, of the same
              signatures
  bytes       of the index by those of ids, sets and band keys as plain arrays                        at most 1.35

Queries are asked by one thread, and their seconds are the processor's.
Writes JSON, and ends with 1 where --check is given and a goal is missed."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import measure

THRESHOLD = 0.8


# --- documents ---

def planted(program, n, seed, path, prefix):
    """Documents of planted.c with ids of their own, as JSON Lines and as TSV (`path` with .tsv)."""
    child = subprocess.Popen([program, str(n), "--seed", str(seed)], stdout=subprocess.PIPE)
    with open(path, "wb") as lines, open(path + ".tsv", "wb") as rows:
        for line in child.stdout:
            name, text = line[7:-3].split(b'","text":"', 1)
            lines.write(b'{"id":"%s%s","text":"%s"}\n' % (prefix, name, text))
            rows.write(b"%s%s\t%s\n" % (prefix, name, text))
    if child.wait() != 0:
        sys.exit("index.py: the generator failed")


def repeated(source, n, path, prefix):
    """The texts of `source` again and again, each time with one word in ten changed; ASCII words only, so that TSV holds them."""
    rng = random.Random(1)
    with open(source, encoding="utf-8") as file:
        texts = [" ".join("".join(c if c.isascii() and c.isalnum() else " " for c in json.loads(line)["text"]).split()) for line in file]
    with open(path, "w", encoding="ascii") as lines, open(path + ".tsv", "w", encoding="ascii") as rows:
        for i in range(n):
            words = texts[i % len(texts)].split(" ")
            for _ in range(len(words) // 10 if i >= len(texts) else 0):
                words[rng.randrange(len(words))] = f"w{rng.randrange(1 << 30):x}"
            text = " ".join(words)
            lines.write(f'{{"id":"{prefix}{i}","text":"{text}"}}\n')
            rows.write(f"{prefix}{i}\t{text}\n")


def make_queries(corpus, other, n, path):
    """One half documents of the corpus, drawn, one half of the other."""
    for ending in ("", ".tsv"):
        with open(path + ending, "wb") as out:
            for source in (corpus, other):
                with open(source + ending, "rb") as file:
                    size = sum(1 for _ in file)
                    chosen = set(random.Random(5).sample(range(size), min(size, n // 2)))
                    file.seek(0)
                    out.writelines(line for i, line in enumerate(file) if i in chosen)


# --- contenders ---

def datasketch_rate(corpus_dir, queries, plan, most):
    """Queries a second from text; the index is filled with the signatures that `sign` made."""
    import numpy
    import xxhash
    from datasketch import MinHash, MinHashLSH

    def low32(data):
        return xxhash.xxh3_64_intdigest(data) & 0xFFFFFFFF

    words = numpy.load(os.path.join(corpus_dir, "signatures.npy"), mmap_mode="r")[:most]
    first = MinHash(num_perm=128, scheme="affine32", hashfunc=low32)
    index = MinHashLSH(num_perm=128, params=(plan["bands"], plan["rows"]))
    with index.insertion_session() as session:
        for row in range(len(words)):
            session.insert(row, MinHash(hashvalues=words[row], permutations=first.permutations, scheme="affine32"), check_duplication=False)
    with open(queries + ".tsv", encoding="ascii") as file:
        texts = [line.rstrip("\n").split("\t", 1)[1] for line in file][::10]
    result = {"documents": len(words), "queries": len(texts)}
    for name, bulk in (("queries_per_second", False), ("queries_per_second_in_bulk", True)):
        began, found = time.process_time(), 0
        for text in texts:
            parts = text.lower().split(" ")
            grams = {" ".join(parts[i:i + 5]).encode() for i in range(max(1, len(parts) - 4))}
            first.clear()
            if bulk:
                first.update_batch(grams)
            else:
                for gram in grams:
                    first.update(gram)
            found += len(index.query(first))
        result[name] = round(len(texts) / (time.process_time() - began))
    return {**result, "candidates": found}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.path = lambda name: os.path.join(folder, name)
        self.docs = lambda name: os.path.join(folder, name + ".jsonl")
        self.program, self.common = options.program, ["--device", "cpu", "-q"]

    def command(self, words, *more):
        return [self.program, *words, *more, *self.common]

    def timed(self, contenders, cpus=None, repeats=None, key="seconds"):
        runs = measure.alternate(contenders, repeats or self.options.repeats, cpus, warm_up=False)
        return {name: measure.summary(taken, key) for name, taken in runs.items()}

    def signed(self, name, *more):
        out = self.path(name + ".signed")
        measure.run_once(self.command(["sign", self.docs(name), "--band-keys", "--threshold", str(THRESHOLD), "-o", out], *more))
        return out

    def documents(self):
        o = self.options
        if o.corpus:
            repeated(o.corpus, o.documents, self.docs("corpus"), "d")
        else:
            planted(o.planted, o.documents, 1, self.docs("corpus"), b"d")
        planted(o.planted, max(20, o.documents // 10), 2, self.docs("more"), b"m")
        planted(o.planted, max(20, o.queries), 3, self.docs("other"), b"q")
        make_queries(self.docs("corpus"), self.docs("other"), o.queries, self.docs("queries"))

    def build(self):
        index, signed = self.path("index"), self.path("signed")
        times = self.timed({"sign": (self.command(["sign", self.docs("corpus"), "-o", signed]), measure.remove(signed)),
                            "index build": (self.command(["index", "build", index, self.docs("corpus")]), measure.remove(index))})
        copy = self.path("copy")

        def again():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(index, copy)
        times.update(self.timed({"index add": (self.command(["index", "add", copy, self.docs("more")]), again)}, repeats=5))
        shutil.rmtree(copy)
        n, added = self.options.documents, max(20, self.options.documents // 10)
        return {"times": times, "build_by_sign": round(times["index build"]["median"] / times["sign"]["median"], 3),
                "add_by_build": round(times["index add"]["median"] / added / (times["index build"]["median"] / n), 3)}

    def plain(self, corpus_dir, queries_dir):
        command = [self.options.plain, self.docs("corpus") + ".tsv", os.path.join(corpus_dir, "band_keys.npy"), self.docs("queries") + ".tsv",
                   os.path.join(queries_dir, "band_keys.npy"), str(THRESHOLD), "--repeat", "5"]
        return json.loads(measure.run_once(command, [self.options.core])["stdout"])

    def query(self):
        signed, rows = self.path("queries.out"), self.path("rows.tsv")
        queries = ["query", self.path("index"), self.docs("queries"), "--threads", "1", "-o", rows, "--force"]
        sign = ["sign", self.docs("queries"), "--threads", "1", "-o", signed]
        measure.run_once(self.command(queries), [self.options.core])  # brings the index into the page cache
        times = self.timed({"query": (self.command(queries), None), "sign queries": (self.command(sign), measure.remove(signed))},
                           [self.options.core], 5, "cpu_seconds")
        corpus_dir, queries_dir = self.signed("corpus"), self.signed("queries")
        with open(os.path.join(corpus_dir, "manifest.json"), encoding="utf-8") as file:
            plan = json.load(file)["plan"]
        plain = self.plain(corpus_dir, queries_dir)
        with open(rows, "rb") as file:
            answers = sum(1 for _ in file) - 1
        if answers != plain["answers"]:
            sys.exit(f"index.py: query has {answers} answers, plain_index {plain['answers']}")
        n, took, signing = plain["queries"], times["query"]["median"], times["sign queries"]["median"]
        alone = n / plain["queries_per_second"]
        result = {"times": times, "plan": plan, "plain_index": plain, "answers": answers, "queries_per_second": round(n / took),
                  "search": round(alone / (took - signing), 3), "from_text": round((alone + signing) / took, 3)}
        if self.options.datasketch:
            result["datasketch"] = datasketch_rate(corpus_dir, self.docs("queries"), plan, self.options.datasketch)
            for name, rate in (("by_datasketch", "queries_per_second"), ("by_datasketch_in_bulk", "queries_per_second_in_bulk")):
                result[name] = round(result["queries_per_second"] / result["datasketch"][rate], 1)
        held = sum(os.path.getsize(os.path.join(self.path("index"), name)) for name in os.listdir(self.path("index")))
        result["index_bytes"] = held
        result["bytes_by_plain"] = round(held / sum(plain["plain_bytes"].values()), 3)
        return result


GOALS = {"build_by_sign": (None, 3), "add_by_build": (None, 1.5), "search": (.3, None), "by_datasketch": (20, None),
         "bytes_by_plain": (None, 1.35)}


def missed(result):
    return [f"{name} is {result[name]}" for name, (least, most) in GOALS.items() if name in result
            and not (result[name] >= least if least is not None else result[name] <= most)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--planted", required=True, help="the generator (planted.c)")
    parser.add_argument("--plain", required=True, help="the yardstick (plain_index.c)")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--corpus", help="JSON Lines with `text`, to be repeated, instead of planted documents")
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--datasketch", type=int, default=100_000, help="documents in MinHashLSH; 0: not measured")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=0, help="that what runs on one core is bound to")
    parser.add_argument("--folder", default=measure.scratch_folder(), help="where files lie")
    parser.add_argument("--check", action="store_true", help="end with 1 where a goal is missed")
    parser.add_argument("--out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bandmill_index.", dir=options.folder) as folder:
        bench = Bench(options, folder)
        bench.documents()
        result = {"question": "index build, index add and query beside sign, a hash table in memory and datasketch",
                  **measure.provenance(options.program), "documents": options.documents, "input_bytes": os.path.getsize(bench.docs("corpus")),
                  **bench.build()}
        times = result.pop("times")
        result.update(bench.query())
        result["times"] = {**times, **result["times"]}
    print(json.dumps(result, indent=1))
    if options.out:
        measure.write(options.out, result)
    if missed(result):
        print(f"index.py: missed: {', '.join(missed(result))}", file=sys.stderr)
        sys.exit(1 if options.check else 0)


main()
