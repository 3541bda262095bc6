# SPDX-License-Identifier: Apache-2.0
"""Indexes with one bit changed, or with pages zeroed, exchanged, or cut off, asked by `query` and `dedup --against`: the same answer as of the
sound one, or 7; no signal, no other answer. Of `index add`: 7, or an index that is sound and has what was there and what was added.

Four indexes: one of a build, one with runs, removed documents and free pages, one of signatures, one with a filter, which is asked for documents
that contain a query. --size full: 6,000 bits and 1,000 pages of
each, and of each third an add; else a sample. Python's standard library only."""
import argparse
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PAGE = 4096


def run(program, *args, cwd):
    child = subprocess.run([program, *args, "-q"], cwd=cwd, capture_output=True)
    return child.returncode, child.stdout


def write_long(folder, rng):
    """Documents with shingles enough for a filter, and parts of three of them."""
    texts = [[f"l{rng.randrange(3000)}" for _ in range(2200)] for _ in range(140)]
    for name, parts in (("long", texts), ("parts", [text[50:150] for text in texts[:3]])):
        with open(os.path.join(folder, f"{name}.jsonl"), "w") as file:
            file.writelines('{"id":"%s%d","text":"%s"}\n' % (name, i, " ".join(words)) for i, words in enumerate(parts))


def write_documents(path, rng, first, n):
    words = [f"w{i}" for i in range(3000)]
    with open(path, "w") as file:
        for i in range(first, first + n):
            base = random.Random(i // 2)
            text = [base.choice(words) for _ in range(40)]
            if i % 2:
                text[rng.randrange(40)] = "changed"
            file.write('{"id":"d%d","text":"%s"}\n' % (i, " ".join(text)))


def make_indexes(program, folder):
    rng = random.Random(5)
    write_documents(os.path.join(folder, "a.jsonl"), rng, 0, 700)
    write_documents(os.path.join(folder, "b.jsonl"), rng, 701, 90)
    write_documents(os.path.join(folder, "new.jsonl"), rng, 5001, 20)
    with open(os.path.join(folder, "a.jsonl")) as a, open(os.path.join(folder, "q.jsonl"), "w") as q:
        for line in a:
            q.write(line.replace('"id":"d', '"id":"q'))

    def must(*args):
        code, _ = run(program, *args, cwd=folder)
        assert code == 0, args

    must("index", "build", "built", "a.jsonl")
    must("index", "build", "grown", "a.jsonl")
    for _ in range(3):
        must("index", "add", "grown", "b.jsonl", "--duplicate-ids", "number")
        must("index", "remove", "grown", "d5", "d6") if _ == 0 else must("index", "remove", "grown", f"d{40 + _}")
    must("index", "build", "signatures", "a.jsonl", "--store", "signatures")
    write_long(folder, rng)
    must("index", "build", "filtered", "long.jsonl")
    return ["built", "grown", "signatures", "filtered"]


class Case:
    """A copy of an index for one worker."""

    def __init__(self, program, folder, name, worker):
        self.program, self.folder, self.name = program, folder, name
        self.dir = os.path.join(folder, f"{name}.{worker}")
        self.files = {}
        for file in ("data.mdb", "last_commit"):
            with open(os.path.join(folder, name, file), "rb") as source:
                self.files[file] = source.read()
        self.sound = self.put() and [self.query(), self.dedup()]
        assert [code for code, _ in self.sound] == [0, 0], self.sound

    def put(self, changed=None):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.mkdir(self.dir)
        for file, data in {**self.files, **(changed or {})}.items():
            with open(os.path.join(self.dir, file), "wb") as out:
                out.write(data)
        return True

    def query(self):
        asked = ["parts.jsonl", "--measure", "containment"] if self.name == "filtered" else ["q.jsonl"]
        return run(self.program, "query", self.dir, *asked, "--threads", "1", cwd=self.folder)

    def dedup(self):
        out = self.dir + ".out"
        code, _ = run(self.program, "dedup", "q.jsonl", "--against", self.dir, "-o", out, "--threads", "1", cwd=self.folder)
        rows = b""
        if code == 0:
            with open(os.path.join(out, "removed.tsv"), "rb") as file:
                rows = file.read()
        shutil.rmtree(out, ignore_errors=True)
        return code, rows

    def ask(self, what, changed, add):
        """'' where all is as it must be; else what is not. And how many refused."""
        self.put(changed)
        refused = 0
        for name, asked, sound in (("query", self.query, self.sound[0]), ("dedup", self.dedup, self.sound[1])):
            answer = asked()
            refused += answer[0] == 7
            if answer[0] != 7 and answer != sound:
                return f"{self.name}: {what}: {name} ended with {answer[0]} and another answer", refused
        if add:
            code, _ = run(self.program, "index", "add", self.dir, "new.jsonl", cwd=self.folder)
            if code not in (0, 7):
                return f"{self.name}: {what}: add ended with {code}", refused
            if code == 0 and (run(self.program, "index", "check", self.dir, cwd=self.folder)[0] != 0 or self.query() != self.sound[0]):
                # damage in documents that nothing has read is there afterwards as it was before
                if run(self.program, "index", "check", self.dir, cwd=self.folder)[0] != 7 or self.query() not in ((7, b""), self.sound[0]):
                    return f"{self.name}: {what}: add went on, and what it made is not sound", refused
            refused += code == 7
        return "", refused


def bit(case, rng):
    file = "last_commit" if rng.randrange(40) == 0 else "data.mdb"
    data = bytearray(case.files[file])
    at = rng.randrange(8 * len(data) if file == "data.mdb" else 8 * 400)
    data[at // 8] ^= 1 << at % 8
    return f"bit {at} of {file}", {file: bytes(data)}


def page(case, rng):
    data = bytearray(case.files["data.mdb"])
    a, b, kind = rng.randrange(len(data) // PAGE), rng.randrange(len(data) // PAGE), rng.randrange(3)
    if kind == 0:
        data[a * PAGE:(a + 1) * PAGE] = bytes(PAGE)
    elif kind == 1:
        data[a * PAGE:(a + 1) * PAGE], data[b * PAGE:(b + 1) * PAGE] = data[b * PAGE:(b + 1) * PAGE], data[a * PAGE:(a + 1) * PAGE]
    else:
        del data[a * PAGE + rng.randrange(PAGE):]
    return (f"page {a} zeroed", f"pages {a} and {b} exchanged", f"cut off in page {a}")[kind], {"data.mdb": bytes(data)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--size", default="normal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bits", type=int, help="other than the size says")
    o = parser.parse_args()
    bits, pages, adds = (6000, 1000, 3) if o.size == "full" else (60, 45, 3)
    bits, pages = (o.bits, o.bits // 6) if o.bits else (bits, pages)
    folder = os.path.abspath(o.folder)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    wrong = []
    for name in make_indexes(os.path.abspath(o.program), folder):
        def work(worker):
            case, rng, found, refused = Case(os.path.abspath(o.program), folder, name, worker), random.Random(o.seed * 100 + worker), [], 0
            for i in range(worker, bits + pages, o.workers):
                text, n = case.ask(*(bit if i < bits else page)(case, rng), add=i % adds == 0)
                found += [text] if text else []
                refused += n
            return found, refused
        with ThreadPoolExecutor(o.workers) as pool:
            results = list(pool.map(work, range(o.workers)))
        wrong += [text for found, _ in results for text in found]
        print(f"{name}: {bits} bits, {pages} pages: {sum(n for _, n in results)} refusals, {sum(len(f) for f, _ in results)} wrong", flush=True)
    shutil.rmtree(folder)
    for text in wrong[:20]:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
