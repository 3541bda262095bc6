#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spark.py -- bandmill.spark beside the program, the package, pyspark.ml's MinHashLSH and text-dedup: seconds, CPU seconds, and are the
groups the same?

    bench/spark.py FILE.jsonl|random|by-word|copies|template|long|licences|statutes [--tools program,python,spark,mllib,text-dedup]
                   [--cores 1,2] [--documents N,N,…] [--threshold T] [--partitions N] [--driver-memory 4g] [--batch-rows N] [--runs N]
                   [--master MASTER] [--conf NAME=VALUE]... [--text-bytes N] [--program build/release/bandmill] [--text-dedup PYTHON]

The package is that of PYTHONPATH (build/release/python). FILE.jsonl has the fields id and text; its first N documents are taken. Ids
must ascend, for order is by id in Spark. Each tool runs in a process of its own, bound to so many processors, over the same documents
(Spark and the package: Parquet): "seconds" are those of the job, in Spark those of a running session ("start_seconds" are told apart),
"cpu_seconds" those of all its processes with their start: they are what counts on a machine that others use too. Of Spark also the CPU
seconds of the driver, the JVM and the workers for the first of --runs jobs of the session ("cold") and later ones ("warm", "warm_2"), split by
step and by what spent them; and jobs, tasks and bytes exchanged of each, by the event log. "driver_mib", "jvm_mib" and "worker_mib" are
the peaks of the driver's Python, the JVM and the largest worker. With --master local-cluster[1,2,3072] the executors have JVMs of their own
("executor_mib"), and that of the driver runs no tasks. Prints one JSON object.

random, by-word: documents of 110 words are made instead, in which 6 % are an earlier one with a word more at random, or 34 % an earlier one
with a word more behind each of some words. copies: all are one text. template: 110 words of which 8 are filled in. long: texts of
--text-bytes (50 MB), every second of which is the one before it with a word more. licences, statutes: those of legal_texts.py. text-dedup
wants a Python that has text-dedup 0.4.0.

MLlib's is the recipe of its documentation: words, 5-grams, hashed into 2^20 places, 3 tables (recall .992 at .8), pairs at a distance of .2
at most; its time is for candidates and their distances, without groups. text-dedup verifies nothing.
"""
import argparse
import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

import legal_texts

THRESHOLD, BANDS, ROWS, PERMS = 0.8, 13, 7, 128
RUNS = ("cold", "warm", "warm_2", "warm_3", "warm_4")
MADE = {"random": 0.06, "by-word": 0.34, "copies": 1, "template": 0, "long": 0}  # which share of the documents are edits
MADE.update(dict.fromkeys(legal_texts.CORPORA, 0))
SUBREAPER = 36  # prctl: children of children that are left become ours, so that their time is counted


def digest(groups):
    """Of {id: group}: the same for the same groups with the same numbers."""
    lines = sorted(f"{i}\t{g}" for i, g in groups)
    return {"groups": len({g for _, g in groups}), "in_groups": len(lines), "digest": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]}


def run_program(a):
    out = os.path.join(a.scratch, "out")
    began = time.monotonic()
    command = [a.program, "dedup", a.jsonl, "-o", out, "--kept", "no", "--device", "cpu", "--threads", str(a.cores), "-q"]
    subprocess.run([*command, "--threshold", str(a.threshold)], check=True)
    seconds = time.monotonic() - began
    with open(os.path.join(out, "groups.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {"seconds": seconds, **digest([(i, r["group"]) for r in rows for i in r["members"]])}


def run_python(a):
    import bandmill
    import pyarrow.parquet as pq

    began = time.monotonic()
    r = bandmill.dedup(pq.read_table(a.parquet), id="id", device="cpu", threads=a.cores, threshold=a.threshold)
    seconds = time.monotonic() - began
    rows = zip(r.groups["group"].to_pylist(), r.groups["members"].to_pylist())
    return {"seconds": seconds, **digest([(i, g) for g, members in rows for i in members])}


def session(a):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    began = time.monotonic()
    builder = SparkSession.builder.master(a.master or f"local[{a.cores}]")
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": a.driver_memory,
               "spark.local.dir": a.scratch, "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": str(4 * a.cores),
               "spark.sql.files.maxPartitionBytes": "16m", "spark.sql.execution.arrow.maxRecordsPerBatch": str(a.batch_rows)}
    events = os.path.join(a.scratch, "events")
    os.mkdir(events)
    options.update({"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}", "spark.eventLog.compress": "false",
                    "spark.eventLog.rolling.enabled": "false"})
    if a.master:
        place = os.pathsep.join(map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
        options.update({"spark.executorEnv.PYTHONPATH": place, "spark.network.timeout": "600s", "spark.worker.timeout": "600",
                        "spark.python.authenticate.socketTimeout": "600s"})  # on a machine that is in use
    options.update(one.split("=", 1) for one in a.conf)
    for name, value in options.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found, time.monotonic() - began


def cpu_of(process):
    """CPU seconds of a process and all below it, those that ended too."""
    total = 0
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            total = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:15])) / os.sysconf("SC_CLK_TCK")
        total += sum(map(cpu_of, children_of(process)))
    except FileNotFoundError:
        pass
    return total


def own_cpu(place):
    """The name of a process or thread, and its CPU seconds."""
    with open(f"{place}/stat", encoding="ascii", errors="replace") as file:
        name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
    return name, sum(map(int, rest.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def cpu_parts():
    """CPU seconds of the JVM's executor threads, compilers and garbage collection, of the workers, and of the rest."""
    me, parts = os.getpid(), dict.fromkeys(("executors", "compilers", "collection", "workers", "rest"), 0.0)
    kinds = {"C1": "compilers", "C2": "compilers", "GC": "collection", "G1": "collection", "Ex": "executors"}
    for jvm in children_of(me):
        parts["rest"] += own_cpu(f"/proc/{jvm}")[1]
        parts["workers"] += cpu_of(jvm) - own_cpu(f"/proc/{jvm}")[1]
        for one in os.listdir(f"/proc/{jvm}/task"):
            try:
                name, seconds = own_cpu(f"/proc/{jvm}/task/{one}")
            except FileNotFoundError:
                continue
            if name[:2] in kinds:
                parts[kinds[name[:2]]] += seconds
                parts["rest"] -= seconds
    parts["rest"] += own_cpu(f"/proc/{me}")[1]
    return parts


def less(after, before):
    return {name: round(after[name] - before[name], 2) for name in after}


def peak_mib(process):
    """The most memory that a process had."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0) >> 10


def children_of(process):
    found = []
    with contextlib.suppress(FileNotFoundError):  # the process has ended
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                found += file.read().split()
    return found


def below(process):
    """All processes below it."""
    return [x for child in children_of(process) for x in (child, *below(child))]


def is_java(process):
    with open(f"/proc/{process}/comm", encoding="ascii", errors="replace") as file:
        return file.read() == "java\n"


def peaks():
    """MiB at the peak: of the driver's Python, its JVM, those of executors that are apart, and the largest worker that is there."""
    (jvm,) = filter(is_java, children_of(os.getpid()))
    rest = below(jvm)
    found = {"driver_mib": peak_mib("self"), "jvm_mib": peak_mib(jvm), "worker_mib": max((peak_mib(x) for x in rest if not is_java(x)), default=0)}
    executors = [peak_mib(x) for x in rest if is_java(x)]
    return {**found, "executor_mib": max(executors)} if executors else found


def events_of(folder):
    """What the event log has of jobs that bandmill described: how many, and bytes and rows that were exchanged."""
    (log,) = os.listdir(folder)
    found, ours = {"jobs": 0, "tasks": 0, "shuffled_bytes": 0}, set()
    with open(os.path.join(folder, log), encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart" and str(event["Properties"].get("spark.job.description")).startswith("bandmill"):
                found["jobs"] += 1
                ours.update(event["Stage IDs"])
            elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in ours:
                found["tasks"] += 1
                found["shuffled_bytes"] += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return found


def run_spark(a):
    spark, started = session(a)
    import bandmill.spark
    from bandmill.spark import _frames

    found, times, marks, find = None, [], [], _frames.Job.find

    def marked(job):
        find(job)
        marks.append(cpu_parts())

    _frames.Job.find = marked
    for _ in RUNS[: a.runs]:
        if found is not None:
            found.unpersist()
        began, cpu, report = time.monotonic(), cpu_of(os.getpid()), {}
        marks.append(cpu_parts())
        found = bandmill.spark.dedup(spark.read.parquet(a.parquet), report=report, partitions=a.partitions, threshold=a.threshold)
        marks.append(cpu_parts())
        times.append((time.monotonic() - began, cpu_of(os.getpid()) - cpu))
    most = peaks()
    table = found.toArrow()
    spark.stop()
    rows = list(zip(table["id"].to_pylist(), table["group"].to_pylist()))
    more = {}
    for i, run in enumerate(RUNS[: a.runs]):
        more[f"{run}_seconds"], more[f"{run}_cpu_seconds"] = times[i]
        more[f"{run}_sign_cpu"], more[f"{run}_compare_cpu"] = (less(marks[3 * i + k + 1], marks[3 * i + k]) for k in (0, 1))
    events = events_of(os.path.join(a.scratch, "events"))  # of all runs
    more.update({name: n // a.runs for name, n in events.items()})
    more.update(most)
    return {"seconds": more.pop("cold_seconds"), "start_seconds": started, **more, "not_compared": report["not_compared"], **digest(rows)}


def run_mllib(a):
    spark, started = session(a)
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import functions as F

    began = time.monotonic()
    df = spark.read.parquet(a.parquet)
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern="[^\\p{L}\\p{N}\\p{M}]+").transform(df)
    grams = NGram(n=5, inputCol="words", outputCol="grams").transform(words).where(F.size("grams") > 0)
    hashed = HashingTF(inputCol="grams", outputCol="features", numFeatures=1 << 20, binary=True).transform(grams).select("id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=3, seed=1).fit(hashed)
    pairs = model.approxSimilarityJoin(hashed, hashed, 1 - THRESHOLD, "distance").where("datasetA.id < datasetB.id")
    n = pairs.count()
    return {"seconds": time.monotonic() - began, "start_seconds": started, "pairs": n}


def run_text_dedup(a):
    out = os.path.join(a.scratch, "out")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HOME": os.path.join(a.scratch, "hf")}
    command = [a.text_dedup, "-m", "text_dedup.minhash", "--path", "json", "--data_files", a.jsonl, "--split", "train", "--cache_dir",
               os.path.join(a.scratch, "cache"), "--output", out, "--column", "text", "--ngram", "5", "--min_length", "5", "--num_perm",
               str(PERMS), "--b", str(BANDS), "--r", str(ROWS), "--threshold", str(THRESHOLD), "--hash_func", "xxh3", "--num_proc", str(a.cores)]
    began = time.monotonic()
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"seconds": time.monotonic() - began}


TOOLS = {"program": run_program, "python": run_python, "spark": run_spark, "mllib": run_mllib, "text-dedup": run_text_dedup}


def measured(a, tool, cores, jsonl, parquet):
    """One tool in a process of its own; with the CPU time of all that it started."""
    with tempfile.TemporaryDirectory() as scratch:
        command = ["taskset", "-c", ",".join(map(str, range(cores))), sys.executable, os.path.abspath(__file__), jsonl, "--one", tool,
                   "--parquet", parquet, "--scratch", scratch, "--cores", str(cores), "--program", a.program, "--text-dedup", a.text_dedup]
        command += ["--driver-memory", a.driver_memory, "--batch-rows", str(a.batch_rows)]
        command += ["--threshold", str(a.threshold), "--runs", str(a.runs), "--master", a.master]
        for one in a.conf:
            command += ["--conf", one]
        if a.partitions:
            command += ["--partitions", str(a.partitions)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout.splitlines()[-1])
    found["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in found.items()}


def made_texts(kind, n, text_bytes):
    """Texts of 110 words of 2,000, some of which are earlier ones with words more; or those of legal_texts.py."""
    if kind in legal_texts.CORPORA:
        yield from itertools.islice(legal_texts.CORPORA[kind](), n)
        return
    draw = random.Random(1)
    words = [f"{a}{b}{c}" for a in ("ar", "be", "co", "du", "el", "fi", "go", "hu", "in", "jo") for b in ("ba", "ce", "di", "fo", "gu")
             for c in ("ha", "ki", "lo", "my", "ne", "pa", "ri", "so", "tu", "we")]
    words = [w + end for w in words for end in ("", "n", "r", "s")]
    marked = set(words[::29])
    if kind == "copies":
        yield from itertools.repeat(" ".join(draw.choices(words, k=110)), n)
        return
    if kind == "long":
        for i in range(n):
            text = f"{text} more" if i % 2 else " ".join(draw.choices(words, k=text_bytes // 8))
            yield text
        return
    texts = []
    for i in range(n):
        if i > 0 and draw.random() < MADE[kind]:
            text = texts[draw.randrange(i)].split(" ")
            if kind == "random":
                text.insert(draw.randrange(len(text)), "inserted")
            else:
                text = [x for w in text for x in ((w, "inserted") if w in marked else (w,))]
        elif kind == "template":
            text = [draw.choice(words) if place % 14 == 7 else words[place] for place in range(110)]
        else:
            text = draw.choices(words, k=110)
        texts.append(" ".join(text))
        yield texts[-1]


def documents_of(path, n, text_bytes):
    """The first n documents, whose ids ascend."""
    if path in MADE:
        yield from ({"id": f"{i:010}", "text": text} for i, text in enumerate(made_texts(path, n, text_bytes)))
        return
    with open(path, encoding="utf-8") as file:
        rows = [{"id": str(record["id"]), "text": record["text"]} for record in map(json.loads, itertools.islice(file, n))]
    if any(x["id"] >= y["id"] for x, y in zip(rows, rows[1:])):  # order is by id in Spark
        rows = [{"id": f"{i:010}", "text": r["text"]} for i, r in enumerate(rows)]
    yield from rows


def first_documents(path, n, folder, text_bytes):
    """The first n documents as JSON Lines and as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, found = [os.path.join(folder, f"{n}.{kind}") for kind in ("jsonl", "parquet")], 0
    documents, a_group = documents_of(path, n, text_bytes), 1 if path == "long" else 10_000
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with open(names[0], "w", encoding="utf-8") as file, pq.ParquetWriter(names[1], schema) as table:
        while rows := list(itertools.islice(documents, a_group)):
            file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
            table.write_table(pa.Table.from_pylist(rows, schema))
            found += len(rows)
    return found, *names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jsonl")
    parser.add_argument("--tools", default="program,python,spark,mllib,text-dedup")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--documents", default="150000")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--batch-rows", type=int, default=10_000)
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--runs", type=int, choices=range(1, len(RUNS) + 1), default=2)
    parser.add_argument("--master", default="")
    parser.add_argument("--text-bytes", type=int, default=50_000_000)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--program", default="build/release/bandmill")
    parser.add_argument("--text-dedup", default=sys.executable)
    for name in ("--one", "--parquet", "--scratch"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one:
        a.cores = int(a.cores)
        print(json.dumps(TOOLS[a.one](a)))
        return
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    a.program = os.path.abspath(a.program)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for wanted in a.documents.split(","):
            n, jsonl, parquet = first_documents(a.jsonl, int(wanted), folder, a.text_bytes)
            for cores in a.cores.split(","):
                for tool in a.tools.split(","):
                    rows.append({"tool": tool, "documents": n, "cores": int(cores), **measured(a, tool, int(cores), jsonl, parquet)})
                    print(json.dumps(rows[-1]), file=sys.stderr)
    print(json.dumps({"question": "groups and time of bandmill.spark beside others", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
