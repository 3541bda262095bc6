# SPDX-License-Identifier: Apache-2.0
"""dedup --verify contained on real texts: nothing is removed of which the kept one has not enough; and what could have gone and stayed.

The check has a shingler of its own, few lines of Python that share nothing with the program or the models here: words are what white space
parts (`--words space --normalize none`), a shingle is five of them. Every row of removed.tsv is counted again: with C = 1 the kept one has
every shingle of the removed one, else at least C of them; `lost` is what it lacks, and the kept one is kept. Brute force over all pairs (by
the rarest shingle of each document where C = 1) counts the kept documents that another kept one holds wholly: those that no band proposed.

`--corpus NAME` runs one of spdx_texts, scancode_rules and oeb_us_uk."""
import collections
import fractions
import json
import os

import harness

PLAN = ["--words", "space", "--normalize", "none", "--shingle", "word:5", "--threshold", "0.5"]


def read_jsonl(data):
    for line in filter(None, data.decode("utf-8").split("\n")):
        record = json.loads(line)
        yield record["id"], record["text"]


def read_tsv(data):
    for line in data.decode("utf-8").split("\n"):
        fields = line.rstrip("\r").split("\t")
        if len(fields) >= 3:
            yield fields[0], fields[2]


CORPORA = {"spdx_texts": ("docs.tsv.zst", read_tsv, ["--id-field", "1", "--text-field", "3"]),
           "scancode_rules": ("docs.jsonl.zst", read_jsonl, []),
           "oeb_us_uk": ("docs.tsv.zst", read_tsv, ["--id-field", "1", "--text-field", "3"])}


def shingles(text):
    words = text.split()
    return {" ".join(words[i:i + 5]) for i in range(max(len(words) - 4, 1))} if words else set()


def read_removed(out):
    for line in harness.read_file(out, "removed.tsv").decode("utf-8").split("\n")[1:-1]:
        fields = [harness.unescape(field) for field in line.split("\t")]
        yield fields[0], fields[1], fields[3], int(fields[6])


def audit(out, sets, share):
    share, gone = fractions.Fraction(share), set()
    rows = list(read_removed(out))
    gone = {row[0] for row in rows}
    for name, kept, reason, lost in rows:
        has = len(sets[name] & sets[kept])
        if has < share * len(sets[name]) or lost != len(sets[name]) - has or kept in gone or reason not in ("contained", "identical", "equal"):
            return f"{name} went for {kept} ({reason}), which has {has} of its {len(sets[name])} shingles; lost {lost}"
    return "" if rows else "nothing was removed"


def wholly_held(names, sets):
    """How many of these are wholly held by another of them, of equals all but one."""
    documents = collections.defaultdict(list)
    for name in names:
        for shingle in sets[name]:
            documents[shingle].append(name)
    held = 0
    place = {name: i for i, name in enumerate(names)}
    for name in names:
        if not sets[name]:
            continue
        rarest = min(sets[name], key=lambda s: len(documents[s]))
        held += any(other != name and sets[name] <= sets[other] and (len(sets[name]) < len(sets[other]) or place[other] < place[name])
                    for other in documents[rarest])
    return held


def check(bandmill, claims, corpus, shares, folder):
    file, read, fields = CORPORA[corpus]
    path = harness.corpus_file(corpus, file)
    if not path:
        return
    texts = dict(read(harness.unzstd(path)))
    sets = {name: shingles(text) for name, text in texts.items()}
    for share in shares:
        out = os.path.join(folder, f"{corpus} {share}")
        bandmill.run("dedup", *PLAN, *fields, "--verify", f"contained={share}", "--kept", "no", "-o", out, path)
        n = sum(1 for _ in read_removed(out))
        claims.attempt(f"{corpus}: C = {share}: {n} of {len(sets)} documents go, and each kept one has enough of them",
                       lambda out=out, share=share: audit(out, sets, share))
        if share == "1":
            gone = {row[0] for row in read_removed(out)}
            left = wholly_held([name for name in sets if name not in gone], sets)
            could = wholly_held(list(sets), sets)
            claims.check(f"{corpus}: {len(gone)} went of {could} that another one holds wholly; {left} that a kept one holds stayed",
                         len(gone) + left >= could, f"{len(gone)} + {left} < {could}")


def main():
    args = harness.arguments("what dedup --verify contained removes", ("--corpus", {"choices": sorted(CORPORA), "default": None}))
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    # That of the most crowded buckets alone, where a job takes ten times as long.
    shares = (".75",) if args.size == "small" else ("1", ".9", ".75")
    with harness.scratch() as folder:
        for corpus in [args.corpus] if args.corpus else CORPORA:
            check(bandmill, claims, corpus, shares, folder)
    claims.end()


if __name__ == "__main__":
    main()
