# SPDX-License-Identifier: Apache-2.0
"""bombs.py PROGRAM [--gib N] [--line-mb N] [--lines N] [--manifest-mb N] [--removed-gb N] [--memory MIB] [--dir DIR] [--device WORD] [--only WORD,…] [--kinds WORD,…]

What holds much in little, in full size: one endless line of zeros, of text and of JSON behind every compression, lines of two bytes, a long line and several
such at once, a manifest and a removed.tsv of ours. Each job ends within --memory and 64 MiB, with 0, 3, 6 or 7; where it names a --memory that is enough and
that fits here (--most MIB), it does with that one. Prints what each took; the exit code counts. By hand: an hour, and as much disk as the largest file. --only: parts of it, of
zst gz xz bz2 lz4 (bombs behind these, of --kinds zeros text json array short blank), lines, ours.
"""

import argparse
import bz2
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
COMPRESSIONS = ("zst", "gz", "xz", "bz2", "lz4")
KINDS = {"zeros": "zeros.txt", "text": "text.txt", "json": "one.jsonl", "array": "array.json", "short": "short.txt", "blank": "blank.jsonl"}


def pieces(kind, size):
    """About `size` bytes of a kind, a MiB at a time."""
    begin, unit, end = {
        "zeros": (b"", b"\0", b""),
        "text": (b"", b"some words that never end ", b""),
        "json": (b'{"id":"a","text":"', b"some words that never end ", b'"}\n'),
        "array": (b'[{"id":"a","text":"', b"words with \\n escapes ", b'"}]'),
        "short": (b"", b"x\n", b""),
        "blank": (b"", b"\n", b""),
    }[kind]
    block = unit * (MIB // len(unit))
    yield begin
    for _ in range(max(1, size // MIB)):
        yield block
    yield end


def pack(kind, compression, size, path):
    """Compress; runs of one unit are repeated as members, of 64 MiB each, where the format allows it."""
    if compression == "zst":
        with open(path, "wb") as out:
            zstd = subprocess.Popen(["zstd", "-q", "-3", "--long=27"], stdin=subprocess.PIPE, stdout=out)
            for piece in pieces(kind, size):
                zstd.stdin.write(piece)
            zstd.stdin.close()
            zstd.wait()
        return
    if compression == "lz4":
        with open(path, "wb") as out:
            lz4 = subprocess.Popen(["lz4", "-q", "-1"], stdin=subprocess.PIPE, stdout=out)
            for piece in pieces(kind, size):
                lz4.stdin.write(piece)
            lz4.stdin.close()
            lz4.wait()
        return
    press = {"gz": lambda b: gzip.compress(b, 1), "bz2": bz2.compress, "xz": lambda b: lzma.compress(b, preset=0)}[compression]
    parts = list(pieces(kind, 64 * MIB))
    with open(path, "wb") as out:
        out.write(press(parts[0]))
        middle = press(b"".join(parts[1:-1]))
        for _ in range(max(1, size // (64 * MIB))):
            out.write(middle)
        out.write(press(parts[-1]))


class Runs:
    def __init__(self, program, most, device):
        self.program, self.most, self.device, self.bad = program, most, device, 0

    def run(self, what, memory, arguments):
        """One job; returns the --memory that it names, or None."""
        code = ("import resource, subprocess, sys\nrc = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(rc if rc >= 0 else 99)")
        began = time.monotonic()
        job = [self.program, *arguments, "--memory", f"{memory}M", "--threads", "2", "-q", "-o", "out"]
        done = subprocess.run([sys.executable, "-c", code, *job], capture_output=True, text=True,
                              env={**os.environ, "BANDMILL_DEVICE": self.device})
        peak = int(done.stdout.split()[-1]) // 1024
        good = peak <= memory + 64 and done.returncode in (0, 3, 6, 7)
        self.bad += not good
        print(f"{'' if good else 'FAILED '}{what}: --memory {memory}M, exit code {done.returncode}, {peak} MiB, "
              f"{time.monotonic() - began:.1f} s: {done.stderr.strip()[:160]}", flush=True)
        shutil.rmtree("out", ignore_errors=True)
        shutil.rmtree("out.partial", ignore_errors=True)
        named = re.search(r"at least (\d+)M", done.stderr)
        return int(named[1]) if done.returncode == 6 and named else None

    def both(self, what, memory, arguments):
        """The job, and again with what it names: that is enough for what was refused, though another thing may then be too much."""
        named = self.run(what, memory, arguments)
        if named is not None and named <= self.most:
            again = self.run("  as named", named, arguments)
            if again is not None and again <= named:
                self.bad += 1
                print("FAILED: what was named was not enough", flush=True)


def bombs(runs, o):
    for compression in sorted(o.only & {*COMPRESSIONS}):
        for kind, name in KINDS.items():
            if kind not in o.kinds:
                continue
            path = f"{name}.{compression}"
            pack(kind, compression, int(o.gib * 1024) * MIB, path)
            form = [] if name.endswith((".jsonl", ".json")) else ["--format", "lines"]
            runs.both(f"{path} of {os.path.getsize(path)} bytes", o.memory, ["sign", path, *form])
            os.remove(path)


def long_lines(runs, o):
    unit = " ".join(f"word{i * 7919 % 100003}" for i in range(100000))
    for n in (1, o.lines):
        with open("long.jsonl", "w", encoding="utf-8") as out:
            for i in range(n):
                out.write(f'{{"id":"{i}","text":"{i}')
                for _ in range(o.line_mb * 1000000 // len(unit)):
                    out.write(unit)
                out.write('"}\n')
        for command in (["sign"], ["dedup"], ["sign", "--shingle", "byte:9"]):
            runs.both(f"{n} of {o.line_mb} MB, {' '.join(command)}", o.memory, [*command, "long.jsonl"])
        os.remove("long.jsonl")


def relist(folder):
    """The report lists the files as they are now, as an earlier version would have written it: without second digests."""
    with open(f"{folder}/report.json", encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'\n[^\n]*"outputs_xxh3_128"[^\n]*', "", text).replace('"report_xxh3_128"', '"was"')
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", "rb") as file:
            digest = hashlib.sha256()
            while block := file.read(MIB):
                digest.update(block)
        text = re.sub(rf'("{re.escape(name)}": *")[0-9a-f]{{64}}"', rf'\g<1>{digest.hexdigest()}"', text)
    with open(f"{folder}/report.json", "w", encoding="utf-8") as out:
        out.write(text)


def ours(runs, o):
    with open("docs.jsonl", "w", encoding="utf-8") as out:
        out.write('{"id":"a","text":"one two"}\n{"id":"b","text":"one two"}\n')
    for command, folder in (("dedup", "found"), ("sign", "signed")):
        subprocess.run([runs.program, command, "docs.jsonl", "-q", "--device", "cpu", "-o", folder], check=True)
    for folder, name, arguments in (("found", "report.json", ["filter", "found", "docs.jsonl"]), ("signed", "manifest.json", ["dedup", "signed"])):
        path = f"{folder}/{name}"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.rstrip()[:-1] + ',"more":[')
            for _ in range(o.manifest_mb):
                out.write("0," * 500000)
            out.write("0]}\n")
        runs.both(f"{path} of {o.manifest_mb} MB", o.memory, arguments)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    os.truncate("found/removed.tsv", o.removed_gb * 10**9)
    relist("found")
    runs.both(f"found/removed.tsv of {o.removed_gb} GB, one row", o.memory, ["filter", "found", "docs.jsonl"])
    with open("found/sources.tsv", encoding="utf-8") as file:
        head = file.readline()
    rows = o.removed_gb * 10**9 // 50
    with open("found/sources.tsv", "w", encoding="utf-8") as out:
        out.write(f"{head}docs.jsonl\t0\t{rows + 2}\t0\t{rows}\t2\n")
    with open("found/removed.tsv", "w", encoding="utf-8") as out:
        out.write("id\tkept\tjaccard\treason\tfile\tline\n")
        for first in range(0, rows, 100000):
            out.write("".join(f"b{i:09}\ta\t1.000000\tidentical\tdocs.jsonl\t{i:09}\n" for i in range(first, min(rows, first + 100000))))
    relist("found")
    runs.both(f"found/removed.tsv of {os.path.getsize('found/removed.tsv')} bytes, {rows} rows", o.memory, ["filter", "found", "docs.jsonl"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for name, default in (("--line-mb", 447), ("--lines", 8), ("--manifest-mb", 240), ("--removed-gb", 3), ("--memory", 128), ("--most", 4096)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--gib", type=float, default=12)
    parser.add_argument("--dir")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), default={*COMPRESSIONS, "lines", "ours"})
    parser.add_argument("--kinds", type=lambda text: set(text.split(",")), default={*KINDS})
    o = parser.parse_args()
    runs = Runs(os.path.abspath(o.program), o.most, o.device)
    with tempfile.TemporaryDirectory(dir=o.dir) as folder:
        os.chdir(folder)
        if "ours" in o.only:
            ours(runs, o)
        if "lines" in o.only:
            long_lines(runs, o)
        bombs(runs, o)
        os.chdir("/")
    return 1 if runs.bad else 0


if __name__ == "__main__":
    sys.exit(main())
