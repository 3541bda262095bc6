#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""units_real.py -- what `dedup --unit` cuts out of real text, and what it breaks. Prints a table.

    bench/units_real.py --program build/release/bandmill --data ../shared/data

Corpora: notices and texts of licences (scancode_rules), books of the 19th century by OCR, two of them editions of one tract (textreuse), modules of
Python's standard library, and the tables of docs/. Of each unit: how many cuts, the share of text that goes, documents left empty; and

    modules     that Python's parser reads before, and no more afterwards
    rows        of tables of Markdown that go
    edition     share of the second edition of the tract that goes, since the first has it
"""
import argparse
import ast
import json
import pathlib
import subprocess
import sys
import sysconfig
import tarfile
import tempfile

RUNS = [("line", 8), ("line", 1), ("paragraph", 8), ("span:50", 8), ("span:20", 8)]
TRACT = "remember"


def unpacked(path):
    return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout


def licences(data):
    return [(row["id"], row["text"]) for row in map(json.loads, unpacked(data / "scancode_rules" / "docs.jsonl.zst").splitlines())]


def books(data):
    with tempfile.TemporaryFile() as file:
        file.write(unpacked(data / "textreuse" / "ats.tar.zst"))
        file.seek(0)
        with tarfile.open(fileobj=file) as tar:
            members = sorted((m for m in tar if m.isfile()), key=lambda m: m.name)
            return [(pathlib.PurePath(m.name).name, tar.extractfile(m).read().decode("utf-8", "replace")) for m in members]


def modules(_):
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    found = [(str(path.relative_to(folder)), path.read_bytes()) for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts]
    return [(name, text.decode()) for name, text in found if parses(text)]


def pages(_):
    folder = pathlib.Path(__file__).resolve().parent.parent / "docs"
    return [(path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.md"))]


def parses(text):
    try:
        ast.parse(text.decode("utf-8") if isinstance(text, bytes) else text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def tables(text):
    """Rows of each table of a page."""
    found, rows = [], 0
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            rows += 1
        elif rows > 0:
            found.append(rows)
            rows = 0
    return found


def broken(name, before, after):
    """What has no meaning any more."""
    if name == "modules":
        return f"{sum(not parses(after.get(id_, '')) for id_ in before):,} of {len(before):,} modules"
    if name == "tables":
        rows, left = (sum(sum(tables(of.get(id_, ""))) for id_ in before) for of in (before, after))
        return f"{rows - left:,} of {rows:,} rows"
    if name == "books":
        second = [id_ for id_ in before if id_.startswith(TRACT)][-1]
        return f"{1 - len(after.get(second, '')) / len(before[second]):.0%} of the second edition"
    return ""


def run(program, folder, name, documents, unit, min_words):
    source, out = folder / f"{name}.jsonl", folder / f"{name}.{unit.replace(':', '')}.{min_words}"
    source.write_text("".join(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in documents), encoding="utf-8")
    command = [program, "dedup", source, "--unit", unit, "--min-words", min_words, "-o", out, "-q"]
    subprocess.run([str(word) for word in command], check=True)
    counts = json.loads((out / "report.json").read_text())["counts"]
    after = {row["id"]: row["text"] for row in map(json.loads, (out / "kept.jsonl").read_text(encoding="utf-8").splitlines())}
    before = dict(documents)
    share = 1 - sum(map(len, after.values())) / sum(map(len, before.values()))
    what = broken(name, before, after)
    print(f"| {name} | `{unit}` | {min_words} | {counts['cuts']:,} | {share:.1%} | {counts['removed']:,} of {len(before):,} | {what} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder with scancode_rules and textreuse")
    given = parser.parse_args()
    print(f"Python {sys.version.split()[0]}; {subprocess.run([given.program, '--version'], capture_output=True, text=True).stdout.splitlines()[0]}\n")
    print("| text | `--unit` | `--min-words` | cuts | text cut | left empty | broken, or found |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, read in (("licences", licences), ("books", books), ("modules", modules), ("tables", pages)):
            documents = read(given.data)
            for unit, min_words in RUNS:
                run(given.program, pathlib.Path(folder), name, documents, unit, min_words)


if __name__ == "__main__":
    main()
