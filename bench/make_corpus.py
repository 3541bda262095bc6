#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py -- a corpus of real text for the benchmarks: JSON Lines, and the same as TSV.

What: N documents (150,000) of 200 to 2,000 bytes, about 100 MB and 118 distinct word 5-shingles a document, from the
text that a machine has at hand: the corpora beside the repository where they are there, documentation, manual pages,
Perl's and Python's libraries, C headers. Not one text repeated: a paragraph that was seen before (white space aside)
is passed over, so that what is alike is either alike by nature (licences, changelogs) or was planted here.

How: a document is a run of whole paragraphs or lines of one file. The sources take turns, one document each, until
there are enough. Then a share of the documents (20 %) are edited copies of another, with words substituted, deleted or
inserted at a rate that gives a Jaccard similarity of 0.5 to 1.0 of word 5-shingles, and 3 % are exact copies; what was
planted stands in OUT.planted.tsv. Order is shuffled.

The same seed over the same files gives the same bytes. Needs nothing but Python 3.9's standard library (and the
program `zstd` for the corpora beside the repository).

    bench/make_corpus.py OUT.jsonl [--tsv OUT.tsv] [--documents N] [--seed S]
"""
import argparse
import bz2
import gzip
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
MIN_BYTES, MAX_BYTES = 200, 2000
MAX_BYTES_A_WORD = 7.0  # more: code, tables of numbers, or a script without blanks; prose has about 6
MAX_FILE_BYTES = 4 << 20  # of one file, so that no single changelog fills the corpus
SPACES = re.compile(r"\s+")
BLANKS = re.compile(r"[ \t\f\v]+")
LINE_ENDS = re.compile(r" ?\n ?")
ROFF_REQUEST = re.compile(r"^['.][ \t]*[A-Za-z\\][A-Za-z\"\\]*[ \t]*", re.M)
ROFF_ESCAPE = re.compile(r"\\(?:f[A-Z]|f\([A-Z]{2}|s[-+]?\d|&|\||\^|/|,)")
NOT_TEXT = (".png .gif .jpg .jpeg .svg .svgz .pdf .ps .dvi .eps .ico .html .htm .xml .css .js .json .map .o .a .so .pyc "
            ".zip .tar .tgz .xz .jar .mo .gmo .db .bin .dat .woff .woff2 .ttf").split()


def decompress(path, data):
    """The bytes of a file without its compression; empty where it is broken."""
    try:
        if path.endswith(".gz"):
            return gzip.decompress(data)
        if path.endswith(".bz2"):
            return bz2.decompress(data)
    except (OSError, EOFError, ValueError, zlib.error):
        return b""
    return data


def unzstd(path):
    program = shutil.which("zstd")
    if program is None:
        return b""
    return subprocess.run([program, "-dcq", path], stdout=subprocess.PIPE, check=True).stdout


def read_text(path):
    """The text of one file, or None: not text, or not UTF-8."""
    name = path[:-3] if path.endswith(".gz") else path
    if os.path.splitext(name)[1].lower() in NOT_TEXT:
        return None
    try:
        with open(path, "rb") as file:
            data = decompress(path, file.read(MAX_FILE_BYTES))
        if b"\0" in data[:4096]:
            return None
        return data[:MAX_FILE_BYTES].decode("utf-8", "strict" if len(data) <= MAX_FILE_BYTES else "ignore")
    except (OSError, UnicodeDecodeError):
        return None


def walk(root, keep=lambda path: True):
    """Regular files below root, in the order of their paths; links are not followed."""
    found = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in names:
            path = os.path.join(folder, name)
            if keep(path) and os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
    found.sort()
    return found


def from_files(paths, rng, clean=None):
    """Texts of files, in seeded order: neighbours in a folder are alike."""
    rng.shuffle(paths)
    for path in paths:
        text = read_text(path)
        if text:
            yield clean(text) if clean else text


def clean_roff(text):
    return ROFF_ESCAPE.sub("", ROFF_REQUEST.sub("", text)).replace("\\-", "-")


def from_corpora(data):
    """The corpora beside the repository (unpacked in memory)."""
    def column(path, field):
        return (row.split("\t")[field] for row in unzstd(path).decode("utf-8").split("\n") if "\t" in row)

    path = os.path.join(data, "scancode_rules", "docs.jsonl.zst")
    if os.path.exists(path):
        for line in unzstd(path).decode("utf-8").split("\n"):
            if line:
                yield json.loads(line)["text"]
    path = os.path.join(data, "spdx_texts", "docs.tsv.zst")
    if os.path.exists(path):
        yield from column(path, 2)
    for name in ("oeb_us_uk", "er_cddb"):
        path = os.path.join(data, name, "docs.tsv.zst")
        if os.path.exists(path):
            yield "\n".join(column(path, 2))
    path = os.path.join(data, "minhash_articles", "articles_1000.train")
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (line.split(" ", 1)[-1] for line in file)
    path = os.path.join(data, "udhr2", "udhr2.zip")
    if os.path.exists(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".txt"):
                    yield archive.read(name).decode("utf-8", "replace")


def sources(rng):
    """(name, iterator of texts) for each kind of text that is there."""
    data = os.path.normpath(os.path.join(HERE, "..", "..", "shared", "data"))
    if os.path.isdir(data) and shutil.which("zstd"):
        yield "corpora", from_corpora(data)
    perl = [p for root in ("/usr/share/perl", "/usr/share/perl5", "/usr/lib/x86_64-linux-gnu/perl-base") for p in
            walk(root, lambda p: p.endswith((".pod", ".pm", ".pl")))]
    python = [p for root in sorted({os.path.dirname(os.__file__), "/usr/lib/python3"}) for p in
              walk(root, lambda p: p.endswith((".py", ".txt", ".rst", "METADATA")))]
    headers = walk("/usr/include", lambda p: p.endswith((".h", ".hpp", ".hh"))) + \
        walk("/usr/local/cuda/include", lambda p: p.endswith((".h", ".hpp", ".cuh")))
    kinds = [
        ("documentation", walk("/usr/share/doc") + walk("/usr/share/common-licenses"), None),
        ("manuals", walk("/usr/share/man", lambda p: "/man/man" in p), clean_roff),
        ("manuals, translated", walk("/usr/share/man", lambda p: "/man/man" not in p), clean_roff),
        ("info", walk("/usr/share/info"), None),
        ("perl", perl, None),
        ("python", python, None),
        ("headers", headers, None),
    ]
    for name, paths, clean in kinds:
        if paths:
            yield name, from_files(paths, rng, clean)


def pieces(text):
    """Paragraphs without indentation, each run of blanks as one; a long one is cut at lines, a longer line at blanks."""
    for paragraph in re.split(r"\n\n+", LINE_ENDS.sub("\n", BLANKS.sub(" ", text)).strip()):
        if len(paragraph) <= MAX_BYTES // 2:
            yield paragraph
            continue
        for line in paragraph.split("\n"):
            while len(line) > MAX_BYTES // 2:
                cut = line.rfind(" ", 0, MAX_BYTES // 2)
                cut = cut if cut > 0 else MAX_BYTES // 2
                yield line[:cut]
                line = line[cut:].lstrip(" ")
            yield line


def is_prose(run):
    text = "\n".join(run)
    return len(text.encode("utf-8")) <= MAX_BYTES_A_WORD * len(text.split())


def documents_of(texts, rng, seen):
    """Documents of 200 to 2,000 bytes; a piece that any source had before is passed over."""
    for text in texts:
        run, size = [], 0
        target = MIN_BYTES + 1800 * rng.betavariate(1.0, 3.6)
        for piece in pieces(text.replace("\r\n", "\n").replace("\r", "\n")):
            plain = SPACES.sub(" ", piece).strip()
            if len(plain) < 3:
                continue
            key = hashlib.blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest()
            if key in seen:
                continue
            seen.add(key)
            length = len(piece.encode("utf-8", "replace")) + 1
            if run and size + length > MAX_BYTES:
                if size > MIN_BYTES and is_prose(run):
                    yield "\n".join(run)
                run, size = [], 0
            run.append(piece)
            size += length
            if target <= size:
                if size - 1 <= MAX_BYTES and is_prose(run):
                    yield "\n".join(run)
                run, size = [], 0
                target = MIN_BYTES + 1800 * rng.betavariate(1.0, 3.6)


def take_turns(kinds, count, rng):
    """`count` documents, one of each kind in turn; (texts, how many of each kind)."""
    seen, texts, used = set(), [], {}
    streams = [(name, documents_of(stream, rng, seen)) for name, stream in kinds]
    while streams and len(texts) < count:
        for item in list(streams):
            document = next(item[1], None)
            if document is None:
                streams.remove(item)
                continue
            texts.append(document)
            used[item[0]] = used.get(item[0], 0) + 1
            if len(texts) == count:
                break
    return texts, used


def edit(text, jaccard, vocabulary, rng):
    """A copy whose word 5-shingles have about this Jaccard similarity with the original's. An edit of one word spoils
    five shingles, so a share p of edited words leaves (1-p)^5 = q of them, and J = q / (2 - q)."""
    parts = re.split(r"(\s+)", text)  # words at even places
    q = 2 * jaccard / (1 + jaccard)
    p = 1 - q ** 0.2
    words = range(0, len(parts), 2)
    expected = p * len(words)
    n = min(len(words), int(expected) + (rng.random() < expected - int(expected)))
    for at in rng.sample(words, n):
        kind = rng.random()
        if kind < 0.5:
            parts[at] = rng.choice(vocabulary)
        elif kind < 0.75:
            parts[at:at + 2] = [""] * len(parts[at:at + 2])  # with the blank behind it
        else:
            parts[at] = parts[at] + " " + rng.choice(vocabulary)
    return "".join(parts).strip() or text


def plant(texts, n_near, n_exact, rng):
    """Append edited and exact copies of documents drawn at random; list of (copy, original, what, wanted Jaccard)."""
    vocabulary = [word for text in rng.sample(texts, min(2000, len(texts))) for word in text.split()]
    planted, n_originals = [], len(texts)
    for i in range(n_near + n_exact):
        original = rng.randrange(n_originals)
        wanted = rng.uniform(0.5, 1.0) if i < n_near else 1.0
        copy = edit(texts[original], wanted, vocabulary, rng) if i < n_near else texts[original]
        planted.append((len(texts), original, "near" if i < n_near else "identical", wanted))
        texts.append(copy)
    return planted


def shingles(text):
    words = text.split()
    if len(words) < 5:
        return {tuple(words)} if words else set()
    return set(zip(words, words[1:], words[2:], words[3:], words[4:]))


def write(args, texts, order, planted):
    place = [0] * len(texts)
    for new, old in enumerate(order):
        place[old] = new
    flat = str.maketrans("\t\n\r", "   ")
    rows = open(args.tsv, "w", encoding="utf-8", newline="\n") if args.tsv else None
    with open(args.out, "w", encoding="utf-8", newline="\n") as lines:
        for new, old in enumerate(order):
            lines.write(json.dumps({"id": f"d{new:06d}", "text": texts[old]}, ensure_ascii=False) + "\n")
            if rows:
                rows.write(f"d{new:06d}\t{texts[old].translate(flat)}\n")
    if rows:
        rows.close()
    with open(args.out + ".planted.tsv", "w", encoding="utf-8", newline="\n") as file:
        for copy, original, what, wanted in sorted(planted, key=lambda row: place[row[0]]):
            file.write(f"d{place[copy]:06d}\td{place[original]:06d}\t{what}\t{wanted:.3f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out")
    parser.add_argument("--tsv", help="the same documents as id, tab, text (white space within becomes a blank)")
    parser.add_argument("--documents", type=int, default=150000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--near", type=float, default=0.20, help="share of edited copies")
    parser.add_argument("--exact", type=float, default=0.03, help="share of exact copies")
    args = parser.parse_args()
    start, rng = time.monotonic(), random.Random(args.seed)
    n_near, n_exact = int(args.documents * args.near), int(args.documents * args.exact)
    texts, used = take_turns(list(sources(rng)), args.documents - n_near - n_exact, rng)
    if not texts:
        sys.exit("make_corpus: no text found on this machine")
    if len(texts) + n_near + n_exact < args.documents:  # keep the shares
        scale = len(texts) / (args.documents - n_near - n_exact)
        n_near, n_exact = math.floor(n_near * scale), math.floor(n_exact * scale)
        print(f"make_corpus: text for {len(texts) + n_near + n_exact} of {args.documents} documents only", file=sys.stderr)
    planted = plant(texts, n_near, n_exact, rng)
    order = list(range(len(texts)))
    rng.shuffle(order)
    write(args, texts, order, planted)
    sample = rng.sample(texts, min(5000, len(texts)))
    per_document = sum(len(shingles(text)) for text in sample) / len(sample)
    print(json.dumps({
        "documents": len(texts), "near_copies": n_near, "exact_copies": n_exact, "sources": used,
        "text_bytes": sum(len(text.encode("utf-8")) for text in texts), "file_bytes": os.path.getsize(args.out),
        "word5_shingles_a_document": round(per_document, 1), "word5_shingles": round(per_document * len(texts)),
        "seed": args.seed, "seconds": round(time.monotonic() - start, 1)}))


if __name__ == "__main__":
    main()
