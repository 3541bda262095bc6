#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_foreign.py -- a corpus of text that is not ASCII: TSV of the Universal Declaration of Human Rights in Greek, Chinese
and languages with accents, repeated with other words swapped in.

What: documents of about 730 bytes, as many as make BYTES (50,000,000), in turn from each of the languages named with
--languages. A document is a run of the language's own words from a random place, a fifth of them replaced by words drawn
from the whole text, so that no two are alike; Chinese, which has no blanks, is cut into pieces of 2 to 12 characters only
to swap them, and these are put together again without blanks. The same seed over the same archive gives the same bytes.

    bench/make_foreign.py ../shared/data/udhr2/udhr2.zip OUT.tsv [--bytes N] [--languages ell_monotonic,cmn_hans,fra]
"""
import argparse
import json
import random
import sys
import zipfile

DOCUMENT_BYTES = 730
SWAPPED = 0.2
WITHOUT_BLANKS = ("cmn_", "jpn", "tha", "lao", "khm", "mya")


def pieces(text, language, rng):
    """(words, what goes between them)."""
    if not language.startswith(WITHOUT_BLANKS):
        return text.split(), " "
    text, out = "".join(text.split()), []
    while text:
        n = rng.randint(2, 12)
        out.append(text[:n])
        text = text[n:]
    return out, ""


def document(words, between, rng):
    at, size, out = rng.randrange(len(words)), 0, []
    while size < DOCUMENT_BYTES:
        word = rng.choice(words) if rng.random() < SWAPPED else words[at % len(words)]
        out.append(word)
        size += len((word + between).encode())
        at += 1
    return between.join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("archive")
    parser.add_argument("out")
    parser.add_argument("--bytes", type=int, default=50_000_000)
    parser.add_argument("--languages", default="ell_monotonic,ell_polytonic,cmn_hans,fra,ces,vie")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    sources = []
    with zipfile.ZipFile(args.archive) as archive:
        for language in args.languages.split(","):
            text = archive.read(f"udhr2/{language}.txt").decode("utf-8")
            sources.append(pieces(text, language, rng))
    size = high = n = 0
    with open(args.out, "wb") as out:
        while size < args.bytes:
            words, between = sources[n % len(sources)]
            line = document(words, between, rng).encode()
            out.write(b"f%06d\t%s\n" % (n, line))
            size, n = size + len(line), n + 1
            high += sum(byte >= 0x80 for byte in line)
    json.dump({"documents": n, "text_bytes": size, "not_ascii": round(high / size, 3), "languages": args.languages,
               "seed": args.seed}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
