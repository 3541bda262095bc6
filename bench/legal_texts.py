# SPDX-License-Identifier: Apache-2.0
"""legal_texts.py -- real licences and statutes, and as many further versions of them as are wanted: used by spark.py and components.py.

Text of law is copied with small changes, so that its candidate components are large. Both corpora begin with real texts and grow with
versions of these; a smaller corpus is the beginning of a larger one.

licences   35,324 rules and 819 licence texts in random order. Each further text is one of these with other fields: numbers, e-mail
           addresses, links, placeholders in brackets, and names (capitalised words within a sentence), each the same wherever it occurs
           in the text.
statutes   sections of two codes of 1850 and 1851, and passages of 8 books of that time, of 60 to 400 words. Each further section is
           copied from any earlier version of a section, as one state's code was from another's: numbers are replaced, one word in 50
           too, and every eighth version has a proviso more.

The data is that of SOURCE.txt in the folders scancode_rules, spdx_texts and textreuse. Needs the programs zstd and tar.
"""
import io
import itertools
import json
import os
import random
import re
import subprocess
import tarfile

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data")
FIELD = re.compile(r"\S+@\S+|https?://\S+|<[^>]{1,60}>|\[[^\]]{1,60}\]|\{\{[^}]{1,60}\}\}|\d[\d.,-]*\d|\d|(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
SECTION_WORDS = 60, 400
EDITED_WORDS = 50  # one of so many is replaced


def _unpacked(*names):
    return subprocess.run(["zstd", "-dcq", os.path.join(DATA, *names)], check=True, stdout=subprocess.PIPE).stdout


def _licences():
    rules = [json.loads(line)["text"] for line in _unpacked("scancode_rules", "docs.jsonl.zst").splitlines()]
    texts = [line.split("\t", 2)[2] for line in _unpacked("spdx_texts", "docs.tsv.zst").decode().split("\n") if line]
    return rules + texts


def licences():
    draw, texts = random.Random(3), _licences()
    draw.shuffle(texts)
    yield from texts
    while True:
        fields = {}
        yield FIELD.sub(lambda found: fields.setdefault(found[0], f"{draw.randrange(1 << 20):x}"), draw.choice(texts))


def _sections():
    """The real ones: what stands between the signs of sections, or paragraphs of books."""
    for name in ("ca1851-match.txt", "ca1851-nomatch.txt", "ny1850-match.txt"):
        with open(os.path.join(DATA, "textreuse", name), encoding="utf-8") as file:
            yield from file.read().split("§")
    with tarfile.open(fileobj=io.BytesIO(_unpacked("textreuse", "ats.tar.zst"))) as books:
        for book in books:
            if book.isfile():
                yield from books.extractfile(book).read().decode("utf-8", "replace").split("\n\n")


def statutes():
    draw, least, most = random.Random(4), *SECTION_WORDS
    sections = [words[:most] for words in (text.split() for text in _sections()) if len(words) >= least]
    vocabulary = list(itertools.chain.from_iterable(sections))
    yield from map(" ".join, sections)
    while True:
        words = list(draw.choice(sections))
        for place, word in enumerate(words):
            if word[:1].isdigit():
                words[place] = str(draw.randrange(1000))
        for _ in range(len(words) // EDITED_WORDS):
            words[draw.randrange(len(words))] = draw.choice(vocabulary)
        if draw.randrange(8) == 0:
            words += ["Provided,", *draw.choices(vocabulary, k=12)]
        sections.append(words)
        yield " ".join(words)


CORPORA = {"licences": licences, "statutes": statutes}
