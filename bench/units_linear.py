#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""units_linear.py -- is the work of `dedup --unit line` and `--unit span:50` linear, from a hundred megabytes to some gigabytes?

Each size is run once for each unit, on one thread and with `--kept no`: processor seconds, peak memory, how much of it is no part of a
file, and the bytes that temporary files (both looked at 20 times a second) and the output took. From the runs of 1 and 4 million lines a
straight line is laid through each figure. It must foretell the runs of 16 million lines and more, and then tells of a billion. Up to 16
million lines are also run under a 32nd of the memory, which makes as many sorted runs as 32 times the lines: what they write must grow
like a logarithm, a line. One text of 50 and of 100 MB is run too.

The text is drawn by a counter, so that nothing is remembered and the same bytes come everywhere: lines of 5 to 20 words, 200,000
different words as frequent as those of a language (Zipf, Mandelbrot), 8 lines a passage, 5 passages a document on average. A tenth of
the passages is an earlier one again. Of the other lines a twentieth is an earlier line, another is one of 1,000 notices.

    bench/units_linear.py --program build/release/bandmill --folder /tmp --out units-linear.json

Needs numpy."""
import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

import measure
import numpy

MILLION = 10**6
UNITS = ("line", "span:50")
WORDS, DRAWS, PASSAGE = 200_000, 1 << 21, 8
FIGURES = ("cpu_seconds", "temporary_bytes", "written_bytes", "output_bytes")


# --- the text ---

def mixed(numbers, salt):
    """splitmix64 of each number."""
    x = (numbers.astype(numpy.uint64) + numpy.uint64(salt << 56)) * numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def vocabulary():
    """The words, the same with an escaped line feed, and which of them each draw means. Frequent words are short."""
    syllables = [a + b for a in "bdfghklmnprstv" for b in "aeiou"]
    words = []
    for rank in range(WORDS):
        word, left = "", rank
        while not word or left > 0:
            word += syllables[left % 70]
            left //= 70
        words.append(word + ("", "n", "r", "s", "t")[rank % 5])
    share = numpy.cumsum(1 / (numpy.arange(WORDS) + 2.7))
    drawn = numpy.searchsorted(share / share[-1], (numpy.arange(DRAWS) + .5) / DRAWS)
    inner = numpy.array([word.encode() + b" " for word in words], dtype=object)
    last = numpy.array([word.encode() + rb"\n" for word in words], dtype=object)
    return inner, last, drawn


def content(lines):
    """Which line's words stand in each of these lines: mostly its own."""
    passages = lines // PASSAGE
    again = (mixed(passages, 1) % 100 < 10) & (passages > 0)
    earlier = (mixed(passages, 2) % numpy.maximum(passages, 1).astype(numpy.uint64)).astype(numpy.int64)
    what = numpy.where(again, earlier * PASSAGE + lines % PASSAGE, lines)
    kind = mixed(lines, 3) % 100
    before = (mixed(lines, 4) % numpy.maximum(lines, 1).astype(numpy.uint64)).astype(numpy.int64)
    what = numpy.where(~again & (kind < 5) & (lines > 0), before, what)
    notice = (1000 * ((mixed(lines, 5) % 4096) / 4096) ** 3).astype(numpy.int64) + (1 << 40)
    return numpy.where(~again & (kind >= 5) & (kind < 10), notice, what)


def batches(n, tables, step=100_000):
    """The n lines in batches: the number of the first, and the words of all, with how many there are before each line."""
    inner, last, drawn = tables
    for first in range(0, n, step):
        what = content(numpy.arange(first, min(first + step, n)))
        count = 5 + (mixed(what, 6) % 16).astype(numpy.int64)
        bits = mixed((what[:, None] * 8 + numpy.arange(7)).ravel(), 7).reshape(-1, 7)
        draws = numpy.stack([bits >> numpy.uint64(43), bits >> numpy.uint64(22), bits], axis=2) & numpy.uint64(DRAWS - 1)
        used = numpy.arange(21) < count[:, None]
        ranks = drawn[draws.reshape(-1, 21)[used].astype(numpy.int64)]
        ends = numpy.cumsum(count)
        words = inner[ranks]
        words[ends - 1] = last[ranks[ends - 1]]
        yield first, words.tolist(), [0, *ends.tolist()]


def write_documents(path, n):
    """n lines in documents of a few passages."""
    tables = vocabulary()
    with open(path, "wb") as file:
        documents = 0
        for first, words, ends in batches(n, tables):
            passages = numpy.arange(first // PASSAGE, (first + len(ends) - 1) // PASSAGE)
            starts = [int(p) * PASSAGE - first for p in passages[(mixed(passages, 8) % 5 == 0) | (passages == first // PASSAGE)]]
            for begin, end in zip(starts, [*starts[1:], len(ends) - 1]):
                file.write(b'{"id":"d%d","text":"%s"}\n' % (documents, b"".join(words[ends[begin]:ends[end]])))
                documents += 1


def write_one_text(path, size):
    """One document of about so many bytes; how many words."""
    tables, total = vocabulary(), 0
    with open(path, "wb") as file:
        file.write(b'{"id":"long","text":"')
        for _, words, _ in batches(1 << 40, tables, 1000):
            file.write(b"".join(words))
            total += len(words)
            if file.tell() > size:
                break
        file.write(b'"}\n')
    return total


def in_a_process(function, *arguments):
    """The call in a process that ends with it: the peak memory of a child begins with that of its parent."""
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


# --- the runs ---

def bytes_in(folder):
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                pass  # gone meanwhile
    return total


def unlinked_bytes(pid):
    """Of the files that a process has open and nobody can find any more."""
    sizes = {}
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            status = os.stat(f"/proc/{pid}/fd/{name}")
            if status.st_nlink == 0:
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    except OSError:
        pass  # it ends
    return sum(sizes.values())


def written_by(pid):
    """The bytes that a process has written, which may have ended but has not been waited for."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["wchar"])


def anonymous_kb(pid):
    """Resident memory that is no part of a file."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("RssAnon:")), 0)
    except OSError:
        return 0  # it ends


def run(args, path, unit, memory, folder):
    out, scratch = (os.path.join(folder, name) for name in ("out", "scratch"))
    measure.remove(out)()
    os.makedirs(scratch, exist_ok=True)
    command = [args.program, "dedup", path, "--unit", unit, "--threads", "1", "--memory", memory, "--kept", "no", "--temp-dir", scratch, "-q", "-o", out]
    start, most, anonymous = time.monotonic(), 0, 0
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        most = max(most, bytes_in(scratch) + unlinked_bytes(child.pid))
        anonymous = max(anonymous, anonymous_kb(child.pid))
        time.sleep(.05)
    written, said = written_by(child.pid), child.stderr.read().decode(errors="replace")
    child.stderr.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        return {"exit": child.returncode, "said": said.replace(path, os.path.basename(path)).strip()}
    with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    output = bytes_in(out)
    measure.remove(out)()
    return {"cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2), "seconds": round(time.monotonic() - start, 1),
            "peak_mb": round(usage.ru_maxrss / 1024), "anonymous_mb": round(anonymous / 1024),
            "temporary_bytes": most, "written_bytes": written, "output_bytes": output,
            **{name: n for name, n in report["counts"].items() if name in ("units", "cuts", "cut_bytes", "documents")}}


def model(small, large, n):
    """Of a straight line through two runs, each figure for n lines."""
    share = (n - small["lines"]) / (large["lines"] - small["lines"])
    return {figure: round(small[figure] + share * (large[figure] - small[figure]), 2) for figure in FIGURES}


def ratio(a, b):
    return round(a / b, 3) if b > 0 else None


def summary(rows):
    """What a straight line through the first two runs of a unit foretells of the others, and of a billion lines."""
    least = rows[0]["ns_a_byte"]
    foretold = {row["lines"]: model(rows[0], rows[1], row["lines"]) for row in rows[2:]}
    return {"ns_a_byte_beside_the_smallest": [round(row["ns_a_byte"] / least, 3) for row in rows], "foretold": foretold,
            "measured_beside_foretold": {row["lines"]: {figure: ratio(row[figure], foretold[row["lines"]][figure]) for figure in FIGURES}
                                         for row in rows[2:]},
            "a_billion_lines": model(rows[0], rows[1], 1000 * MILLION)}


def written_beside_one_run(rows):
    """How often records were written under little memory, beside as many runs as one merge takes."""
    return {row["lines"]: ratio(row["written_bytes"] / row["lines"], rows[0]["written_bytes"] / rows[0]["lines"]) for row in rows[1:]}


def models(result):
    little = result["many_runs"]
    return {**{unit: summary(rows) for unit, rows in result["runs"].items()},
            **({"written_bytes_a_line_beside_the_smallest": written_beside_one_run(little)} if len(little) > 1 else {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--lines", type=float, nargs="+", default=[1, 4, 16, 36], help="in millions; two at least")
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--texts", type=int, nargs="*", default=[50, 100], help="MB of one text")
    parser.add_argument("--text-memory", nargs="*", default=["256M", "512M"])
    parser.add_argument("--little-memory", default="32M", help="for many sorted runs, lines only, up to 16 million of them")
    parser.add_argument("--folder", help="where the text goes, 6 GB at most")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    result = {"question": "is the work of dedup --unit linear?", **measure.provenance(args.program), "memory": args.memory,
              "runs": {unit: [] for unit in UNITS}, "one_text": [], "many_runs": []}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = os.path.join(folder, "text.jsonl")
        for mb in args.texts:
            words = in_a_process(write_one_text, path, mb * MILLION)
            for unit, memory in itertools.product(UNITS, args.text_memory):
                row = {"unit": unit, "bytes": os.path.getsize(path), "words": words, "memory": memory, **run(args, path, unit, memory, folder)}
                result["one_text"].append(row)
                print(json.dumps(row), flush=True)
        for lines in (int(millions * MILLION) for millions in args.lines):
            in_a_process(write_documents, path, lines)
            size = os.path.getsize(path)
            little = [("line", args.little_memory)] if lines <= 16 * MILLION else []
            for unit, memory in [("line", args.memory), ("span:50", args.memory), *little]:
                row = {"lines": lines, "bytes": size, **run(args, path, unit, memory, folder)}
                if "exit" in row:
                    sys.exit(f"{unit}, {lines} lines: {row['said']}")
                row["ns_a_byte"] = round(row["cpu_seconds"] / size * 1e9, 2)
                if memory == args.memory:
                    result["runs"][unit].append(row)
                else:
                    result["many_runs"].append({"unit": unit, "memory": memory, **row})
                print(unit, memory, json.dumps(row), flush=True)
            measure.write(args.out, result)
    result["model"] = models(result)
    measure.write(args.out, result)


if __name__ == "__main__":
    main()
