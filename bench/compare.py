#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py -- Bandmill beside other MinHash tools: the same documents, shingles, permutations and bands, in one run.

Two questions, each on one core (taskset) and on all of them:

  signatures  texts in memory to 128 words each. Reading and start-up are not counted; `bandmill` is `bandmill bench`,
              `bandmill sign` the whole process from file to files.
  pairs       the whole process, from the JSON Lines file to pairs or groups, 16 bands of 8 rows, threshold 0.7.

A document's words have one blank between two, so that tools that split at blanks, at white space or in Python see the same
words. Contenders take turns, round after round; a figure is the median. A tool that takes over --slow seconds has one run, and so
have all once --budget is used up; one that takes over --limit is ended and reported so. Pairs are judged by truth.py. A
tool that cannot be installed or fails is listed with the reason. Tools and versions: requirements-compare.txt; how
each is called: compare/tool_*.py; what each leaves out: LEAVES_OUT below, in the result and in docs/comparison.md.

    bench/compare.py --out bench/results/compare-NAME.json --plot docs/comparison.svg --markdown docs/comparison.md
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "compare"))
import report  # noqa: E402  (bench/compare)
import tool_venv  # noqa: E402
import truth  # noqa: E402
import watched  # noqa: E402

QUESTIONS, MODES = ("signatures", "pairs"), ("one", "all")
STARS = "bandmill dedup --cluster star"
SAME_TEXT = ["--words", "space", "--normalize", "none"]
# name: adapter. The package is called as the tool is.
TOOLS = {"datasketch": "datasketch", "rensa": "rensa", "gaoya": "gaoya", "Daft": "daft",
         "FastSketchLSH": "fastsketchlsh", "stringzillas-cpus": "stringzillas", "text-dedup": "text_dedup"}
LEAVES_OUT = {
    "datasketch": "verifies nothing, forms no groups, writes nothing; no threads (all cores: one process a core)",
    "rensa": "verifies nothing, forms no groups, writes nothing; shingles are cut in Python, on one core; its sketch is "
             "not classic MinHash",
    "gaoya": "compares signatures, not texts; forms no groups, writes nothing; its word analyser drops punctuation, so "
             "its shingles are others",
    "Daft": "signatures only: bands and pairs are this benchmark's, in NumPy; verifies nothing, forms no groups",
    "FastSketchLSH": "verifies nothing, forms no groups, writes nothing; shingles are cut in Python, on one core; its "
                     "sketch is not classic MinHash",
    "stringzillas-cpus": "signatures only, of windows of 24 bytes instead of 5 words; bands and pairs are this "
                         "benchmark's, in NumPy; verifies nothing, forms no groups",
    "text-dedup": "verifies nothing and gives no pairs, but groups (which count as all their pairs); lower case, words "
                  "cut at each character that is no letter or digit, so its shingles are others; writes what it keeps",
    "bandmill": "`bandmill bench`: nothing is read or written, so neither processor time nor memory is that of the question",
    "bandmill sign": "leaves nothing out: reads the file, writes signatures, ids and digests, with fsync",
    "bandmill pairs": "forms no groups; verifies each candidate by its exact Jaccard similarity, writes pairs.tsv",
    "bandmill dedup": "leaves nothing out: verifies, groups, writes what it keeps, what it removed, groups and digests, "
                      "with fsync; its groups count as all their pairs",
}
LEAVES_OUT[STARS] = LEAVES_OUT["bandmill dedup"]


class Run:
    """Parameters of one comparison, and the command of each contender."""

    def __init__(self, args, python, missing, scratch):
        self.args, self.python, self.scratch, self.missing = args, python, scratch, missing
        self.documents = os.path.join(scratch, "documents.jsonl")
        self.cpus = {"one": args.cpus[:1], "all": args.cpus}

    def tools(self):
        return [name for name in TOOLS if name.lower() not in self.missing]

    def names(self, question):
        own = ["bandmill", "bandmill sign"] if question == "signatures" else ["bandmill pairs", "bandmill dedup", STARS]
        return self.tools() + own

    def folder(self, name):
        return os.path.join(self.scratch, "work-" + name.replace(" ", "-"))

    def found(self, name, mode):
        """Where the pairs or groups of a contender's last run lie."""
        return os.path.join(self.scratch, f"found-{name.replace(' ', '-')}-{mode}")

    def command(self, name, question, mode, documents):
        args, n = self.args, str(len(self.cpus[mode]))
        if not name.startswith("bandmill"):
            return [self.python, "-B", os.path.join(HERE, "compare", f"tool_{TOOLS[name]}.py"), question, documents,
                    "--threads", n, "--scratch", self.folder(name), "--pairs-to", self.found(name, mode), "--perms",
                    str(args.perms), "--bands", str(args.bands), "--rows", str(args.rows), "--threshold",
                    str(args.threshold)]
        what, *options = name.split()[1:] or ["bench"]
        command = [args.program, what, *options, "-q", "--device", "cpu", "--threads", n, "--perms", str(args.perms), *SAME_TEXT]
        if what == "bench":
            return [*command, "--json", "--repeats", "1", documents]
        if what != "sign":
            command += ["--threshold", str(args.threshold), "--bands", str(args.bands), "--rows", str(args.rows)]
        return [*command, "-o", os.path.join(self.folder(name), "out"), documents]


def seconds_of(name, question, taken):
    """The wall and processor seconds that answer the question, and what else the tool said."""
    if question == "pairs" and name.startswith("bandmill"):
        return taken["seconds"], taken["cpu_seconds"], {}
    if name == "bandmill sign":
        return taken["seconds"], taken["cpu_seconds"], {}
    said = json.loads(taken["stdout"].splitlines()[-1] if name != "bandmill" else taken["stdout"])
    if name == "bandmill":
        row = next(row for row in said["rows"] if row["what"] == "text word:5")
        return said["settings"]["text_bytes"] / row["median"] * 1e-6, None, {}
    more = {"stages": said["stages"], "stages_cpu": said["stages_cpu"]}
    if question == "pairs":
        return taken["seconds"], taken["cpu_seconds"], more
    return tuple(sum(said[kind].get(stage, 0.0) for stage in ("shingles", "sign"))
                 for kind in ("stages", "stages_cpu")) + (more,)


def run_one(run, name, question, mode, documents):
    shutil.rmtree(run.folder(name), ignore_errors=True)
    os.makedirs(run.folder(name))
    command = run.command(name, question, mode, documents)
    taken = watched.run(command, run.cpus[mode], run.args.limit, run.folder(name))
    result = {"status": taken["status"], "process_seconds": taken["seconds"], "peak_mb": taken["peak_mb"],
              "command": command}
    if name == "bandmill":
        result["peak_mb"] = None  # of all its measurements, not of this question
    if taken["status"] == "done":
        try:
            result["seconds"], result["cpu_seconds"], result["more"] = seconds_of(name, question, taken)
        except (ValueError, KeyError, IndexError, StopIteration) as problem:
            result.update(status="failed", why=f"its answer cannot be read: {problem!r}")
    elif taken["status"] == "failed":
        result["why"] = (taken["stderr"].strip().splitlines() or ["it said nothing"])[-1]
    made = {"bandmill pairs": "out", "bandmill dedup": "out/groups.jsonl", STARS: "out/groups.jsonl"}.get(name)
    if made and result["status"] == "done":
        os.replace(os.path.join(run.folder(name), made), run.found(name, mode))
    shutil.rmtree(run.folder(name), ignore_errors=True)
    return result


def smoke(run):
    """Each tool once over the first 1,000 documents: caches are warm then, and what cannot work here is known."""
    small = os.path.join(run.scratch, "few.jsonl")
    with open(run.documents, encoding="utf-8") as source, open(small, "w", encoding="utf-8") as target:
        target.writelines(line for _, line in zip(range(1000), source))
    for name in run.tools():
        result = run_one(run, name, "pairs", "all", small)
        if result["status"] != "done":
            run.missing[name.lower()] = f"does not run here: {result.get('why', result['status'])}"
            print(f"compare: {name} is left out: {run.missing[name.lower()]}", file=sys.stderr)


def skip_repeat(run, runs, start):
    """Whether a further run of this contender is not worth its time."""
    took = statistics.median(one["process_seconds"] for one in runs)
    spent = time.monotonic() - start
    return runs[-1]["status"] != "done" or took > run.args.slow or spent + took > run.args.budget


def take_turns(run):
    """{(question, mode): {name: [runs]}}, rounds outermost, so that a slow minute falls on all of them."""
    sections = {(q, m): {name: [] for name in run.names(q)} for q in QUESTIONS for m in MODES}
    start = time.monotonic()
    for turn in range(run.args.repeats):
        for (question, mode), table in sections.items():
            for name, runs in table.items():
                if turn > 0 and skip_repeat(run, runs, start):
                    continue
                runs.append(run_one(run, name, question, mode, run.documents))
                shown = runs[-1].get("seconds", runs[-1]["process_seconds"])
                print(f"  {turn + 1} {question:<11}{mode:<4}{name:<20}{shown:9.3f} s  {runs[-1]['status']}",
                      file=sys.stderr, flush=True)
    return sections


def tidy(run, command):
    """The command as it goes into the result: without the folders of this machine."""
    names = {run.scratch: "SCRATCH", run.args.venv: "VENV", run.args.program: "bandmill",
             measure.ROOT + os.sep: ""}
    words = []
    for word in command:
        for path, name in names.items():
            word = word.replace(path, name)
        words.append(os.path.basename(word) if word.startswith(os.sep) else word)
    return words


def rounded(values, digits=4):
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {"median": round(statistics.median(values), digits), "min": round(min(values), digits),
            "max": round(max(values), digits), "runs": len(values)}


def summary(run, runs):
    done = [one for one in runs if one["status"] == "done"]
    row = {"status": runs[-1]["status"], "command": tidy(run, runs[-1]["command"]), "why": runs[-1].get("why"),
           "seconds": rounded([one["seconds"] for one in done]),
           "cpu_seconds": rounded([one["cpu_seconds"] for one in done]),
           "process_seconds": rounded([one["process_seconds"] for one in done]),
           "peak_mb": rounded([one["peak_mb"] for one in done], 1), **(done[-1]["more"] if done else {})}
    return {key: value for key, value in row.items() if value is not None}


def judge(run, sections, planted):
    """Recall and precision of each contender of "pairs", and the check of the truth itself."""
    path = os.path.join(run.scratch, "truth.tsv")
    command = [run.args.program, "pairs", "-q", "--device", "cpu", "--candidates", "all", *SAME_TEXT, "--threshold",
               str(run.args.threshold), "-o", path, run.documents]
    start = time.monotonic()
    subprocess.run(command, check=True)
    seconds = time.monotonic() - start
    true, others = truth.pairs_of_tsv(path), set()
    for mode in MODES:
        for name, row in sections[f"pairs/{mode}"].items():
            if row["status"] != "done":
                continue
            reader = {"bandmill pairs": truth.pairs_of_tsv, "bandmill dedup": truth.pairs_of_groups,
                      STARS: truth.pairs_of_groups}
            found = reader.get(name, truth.pairs_of_array)(run.found(name, mode))
            row.update(truth.quality(found, true))
            others |= found - true
    result = truth.check(run.documents, planted, true, others, run.args.threshold)
    return {"command": tidy(run, command), "seconds": round(seconds, 3), "pairs": len(true), **result}


def corpus(args):
    """The corpus file: --corpus, or make_corpus.py's, made once for each number of documents."""
    if args.corpus:
        return args.corpus
    folder = os.environ.get("BANDMILL_BENCH_DIR", os.path.join(measure.ROOT, "build", "bench-corpus"))
    path = os.path.join(folder, "corpus.jsonl" if args.documents == 150000 else f"corpus-{args.documents}.jsonl")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([sys.executable, os.path.join(HERE, "make_corpus.py"), path + ".part", "--documents",
                        str(args.documents)], check=True, stdout=sys.stderr)
        os.replace(path + ".part.planted.tsv", path + ".planted.tsv")
        os.replace(path + ".part", path)
    return path


def prepare_documents(path, target):
    """Write the documents as rows with one blank between two words; (what they are, planted pairs as row numbers)."""
    rows, text_bytes = {}, 0
    with open(path, encoding="utf-8") as source, open(target, "w", encoding="utf-8") as out:
        for row, line in enumerate(source):
            document = json.loads(line)
            rows[document["id"]] = row
            text = " ".join(document["text"].split())
            text_bytes += len(text.encode())
            out.write(json.dumps({"id": row, "text": text}, ensure_ascii=False) + "\n")
    planted = []
    if os.path.exists(path + ".planted.tsv"):
        with open(path + ".planted.tsv", encoding="utf-8") as file:
            planted = [tuple(rows[name] for name in line.split("\t")[:2]) for line in file]
    return {"documents": len(rows), "text_bytes": text_bytes, "file_bytes": os.path.getsize(target)}, planted


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default=os.path.join(measure.ROOT, "build", "release", "bandmill"))
    parser.add_argument("--documents", type=int, default=150000)
    parser.add_argument("--corpus", help="JSON Lines with id and text, instead of one that is made")
    parser.add_argument("--venv", default=os.path.join(measure.ROOT, "build", "compare-venv"))
    parser.add_argument("--perms", type=int, default=128)
    parser.add_argument("--bands", type=int, default=16)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--slow", type=float, default=10, help="over so many seconds: one run")
    parser.add_argument("--limit", type=float, default=150, help="over so many seconds: ended")
    parser.add_argument("--budget", type=float, default=540, help="no repeats after so many seconds of measuring")
    parser.add_argument("--cpus", type=lambda text: [int(cpu) for cpu in text.split(",")],
                        default=sorted(os.sched_getaffinity(0)))
    parser.add_argument("--out", help="write the result here, as JSON")
    parser.add_argument("--plot", help="write a picture here (SVG)")
    parser.add_argument("--markdown", help="replace the tables between the marks of this file")
    return parser.parse_args()


def main():
    args = options()
    args.program, args.venv = os.path.abspath(args.program), os.path.abspath(args.venv)
    load = [round(value, 2) for value in os.getloadavg()]  # of others: before anything of ours runs
    result = measure.provenance(args.program)
    python, versions, missing = tool_venv.prepare(args.venv, os.path.join(HERE, "requirements-compare.txt"))
    with tempfile.TemporaryDirectory(prefix="bandmill-compare-", dir=measure.scratch_folder()) as scratch:
        run = Run(args, python, missing, scratch)
        documents, planted = prepare_documents(corpus(args), run.documents)
        smoke(run)
        sections = {"/".join(key): {name: summary(run, runs) for name, runs in table.items()}
                    for key, table in take_turns(run).items()}
        judged = judge(run, sections, planted)
    result["command"] = tidy(run, result["command"])
    named = {name.lower(): name for name in TOOLS}
    result.update({
        "what": "MinHash tools compared", "load_average_at_start": load, "quiet": load[0] < 0.5, "cpus": args.cpus,
        "load_average_at_end": [round(value, 2) for value in os.getloadavg()], "documents": documents,
        "parameters": {key: getattr(args, key) for key in ("perms", "bands", "rows", "threshold", "repeats", "slow",
                                                          "limit", "budget")},
        "python": sys.version.split()[0], "versions": {name: versions.get(name.lower()) for name in TOOLS},
        "missing": {named.get(name, name): why for name, why in missing.items()},
        "leaves_out": LEAVES_OUT, "truth": judged, "sections": sections})
    print(report.tables(result))
    if args.out:
        measure.write(args.out, result)
    if args.markdown:
        report.replace(args.markdown, result)
    if args.plot and args.out:
        subprocess.run([python, "-B", os.path.join(HERE, "compare", "plot.py"), args.out, args.plot], check=True)
    if judged["wrong"]:
        print(f"compare: {judged['wrong']} of the pairs of the truth are wrong", file=sys.stderr)
    return 1 if judged["wrong"] or missing else 0


if __name__ == "__main__":
    sys.exit(main())
