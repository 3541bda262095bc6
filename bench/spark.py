#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spark.py -- bandmill.spark beside the program, the package, pyspark.ml's MinHashLSH and text-dedup: seconds, CPU seconds, and are the
groups the same?

    bench/spark.py FILE.jsonl|random|by-word|copies|template|long [--tools program,python,spark,mllib,text-dedup] [--cores 1,2] [--documents N,N,…] [--partitions N] [--driver-memory 4g] [--batch-rows N]
                   [--conf NAME=VALUE]...
                   [--program build/release/bandmill] [--text-dedup PYTHON]

The package is that of PYTHONPATH (build/release/python). FILE.jsonl has the fields id and text; its first N documents are taken. Ids
must ascend, for order is by id in Spark. Each tool runs in a process of its own, bound to so many processors, over the same documents (Spark and the package: Parquet): "seconds" are those of
the job, in Spark those of a running session ("start_seconds" are told apart), "cpu_seconds" those of all its processes with their start: they
are what counts on a machine that others use too. Of Spark also the CPU seconds of the driver, the JVM and the workers for a first job of
the session ("cold") and a second ("warm"), split by step and by what spent them; and jobs, tasks and bytes exchanged of each, by the
event log. "driver_mib", "jvm_mib" and "worker_mib" are the peaks of the driver's Python, the JVM and the largest worker. Prints one JSON object.

random, by-word: documents of 110 words are made instead, in which 6 % are an earlier one with a word more at random, or 34 % an earlier one
with a word more behind each of some words. copies: all are one text. template: 110 words of which 8 are filled in. long: texts of 50 MB,
every second of which is the one before it with a word more. text-dedup wants a Python that has text-dedup 0.4.0.

MLlib's is the recipe of its documentation: words, 5-grams, hashed into 2^20 places, 3 tables (recall .992 at .8), pairs at a distance of .2
at most; its time is for candidates and their distances, without groups. text-dedup verifies nothing.
"""
import argparse
import ctypes
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

THRESHOLD, BANDS, ROWS, PERMS = 0.8, 13, 7, 128
MADE = {"random": 0.06, "by-word": 0.34, "copies": 1, "template": 0, "long": 0}  # which share of the documents are edits
LONG_BYTES = 50_000_000
SUBREAPER = 36  # prctl: children of children that are left become ours, so that their time is counted


def digest(groups):
    """Of {id: group}: the same for the same groups with the same numbers."""
    lines = sorted(f"{i}\t{g}" for i, g in groups)
    return {"groups": len({g for _, g in groups}), "in_groups": len(lines), "digest": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]}


def run_program(a):
    out = os.path.join(a.scratch, "out")
    began = time.monotonic()
    subprocess.run([a.program, "dedup", a.jsonl, "-o", out, "--kept", "no", "--device", "cpu", "--threads", str(a.cores), "-q"], check=True)
    seconds = time.monotonic() - began
    with open(os.path.join(out, "groups.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {"seconds": seconds, **digest([(i, r["group"]) for r in rows for i in r["members"]])}


def run_python(a):
    import bandmill
    import pyarrow.parquet as pq

    began = time.monotonic()
    r = bandmill.dedup(pq.read_table(a.parquet), id="id", device="cpu", threads=a.cores)
    seconds = time.monotonic() - began
    rows = zip(r.groups["group"].to_pylist(), r.groups["members"].to_pylist())
    return {"seconds": seconds, **digest([(i, g) for g, members in rows for i in members])}


def session(a):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    began = time.monotonic()
    builder = SparkSession.builder.master(f"local[{a.cores}]")
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": a.driver_memory,
               "spark.local.dir": a.scratch, "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": str(4 * a.cores),
               "spark.sql.files.maxPartitionBytes": "16m", "spark.sql.execution.arrow.maxRecordsPerBatch": str(a.batch_rows)}
    events = os.path.join(a.scratch, "events")
    os.mkdir(events)
    options.update({"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}", "spark.eventLog.compress": "false",
                    "spark.eventLog.rolling.enabled": "false"})
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
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                total += sum(cpu_of(child) for child in file.read().split())
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
    for thread in os.listdir(f"/proc/{me}/task"):
        with open(f"/proc/{me}/task/{thread}/children", encoding="ascii") as file:
            for jvm in file.read().split():
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
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
            found += file.read().split()
    return found


def peaks():
    """MiB at the peak: of the driver's Python, the JVM, and the largest worker that is still there."""
    jvms = children_of(os.getpid())
    daemons = [child for jvm in jvms for child in children_of(jvm)]
    workers = daemons + [child for daemon in daemons for child in children_of(daemon)]
    return {"driver_mib": peak_mib("self"), "jvm_mib": max(map(peak_mib, jvms)), "worker_mib": max(map(peak_mib, workers), default=0)}


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
    for _ in ("cold", "warm"):
        if found is not None:
            found.unpersist()
        began, cpu, report = time.monotonic(), cpu_of(os.getpid()), {}
        marks.append(cpu_parts())
        found = bandmill.spark.dedup(spark.read.parquet(a.parquet), report=report, partitions=a.partitions)
        marks.append(cpu_parts())
        times.append((time.monotonic() - began, cpu_of(os.getpid()) - cpu))
    table = found.toArrow()
    most = peaks()
    spark.stop()
    rows = list(zip(table["id"].to_pylist(), table["group"].to_pylist()))
    more = {"warm_seconds": times[1][0], "cold_cpu_seconds": times[0][1], "warm_cpu_seconds": times[1][1]}
    for i, run in enumerate(("cold", "warm")):
        more[f"{run}_sign_cpu"], more[f"{run}_compare_cpu"] = (less(marks[3 * i + k + 1], marks[3 * i + k]) for k in (0, 1))
    events = events_of(os.path.join(a.scratch, "events"))  # of both
    more.update({name: n // 2 for name, n in events.items()})
    more.update(most)
    return {"seconds": times[0][0], "start_seconds": started, **more, "not_compared": report["not_compared"], **digest(rows)}


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


def made_documents(kind, n):
    """Texts of 110 words of 2,000, some of which are earlier ones with words more."""
    draw = random.Random(1)
    words = [f"{a}{b}{c}" for a in ("ar", "be", "co", "du", "el", "fi", "go", "hu", "in", "jo") for b in ("ba", "ce", "di", "fo", "gu")
             for c in ("ha", "ki", "lo", "my", "ne", "pa", "ri", "so", "tu", "we")]
    words = [w + end for w in words for end in ("", "n", "r", "s")]
    marked = set(words[::29])
    texts = []
    if kind == "long":
        for i in range(n):
            texts.append(f"{texts[-1]} more" if i % 2 else " ".join(draw.choices(words, k=LONG_BYTES // 8)))
    for i in range(n if not texts else 0):
        if i > 0 and draw.random() < MADE[kind]:
            text = texts[draw.randrange(i)].split(" ")
            if kind == "copies":
                pass
            elif kind == "random":
                text.insert(draw.randrange(len(text)), "inserted")
            else:
                text = [x for w in text for x in ((w, "inserted") if w in marked else (w,))]
        elif kind == "template":
            text = [draw.choice(words) if place % 14 == 7 else words[place] for place in range(110)]
        else:
            text = draw.choices(words, k=110)
        texts.append(" ".join(text))
    return [{"id": f"{i:010}", "text": text} for i, text in enumerate(texts)]


def first_documents(path, n, folder):
    """The first n documents as JSON Lines and as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = made_documents(path, n) if path in MADE else []
    with open(os.devnull if path in MADE else path, encoding="utf-8") as file:
        for line in file:
            if len(rows) == n:
                break
            record = json.loads(line)
            rows.append({"id": str(record["id"]), "text": record["text"]})
    if any(x["id"] >= y["id"] for x, y in zip(rows, rows[1:])):  # order is by id in Spark
        rows = [{"id": f"{i:010}", "text": r["text"]} for i, r in enumerate(rows)]
    names = [os.path.join(folder, f"{len(rows)}.{kind}") for kind in ("jsonl", "parquet")]
    with open(names[0], "w", encoding="utf-8") as file:
        file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    pq.write_table(pa.Table.from_pylist(rows), names[1], row_group_size=1 if path == "long" else 10_000)
    return len(rows), *names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jsonl")
    parser.add_argument("--tools", default="program,python,spark,mllib,text-dedup")
    parser.add_argument("--cores", default="1,2")
    parser.add_argument("--documents", default="150000")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--batch-rows", type=int, default=10_000)
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
            n, jsonl, parquet = first_documents(a.jsonl, int(wanted), folder)
            for cores in a.cores.split(","):
                for tool in a.tools.split(","):
                    rows.append({"tool": tool, "documents": n, "cores": int(cores), **measured(a, tool, int(cores), jsonl, parquet)})
                    print(json.dumps(rows[-1]), file=sys.stderr)
    print(json.dumps({"question": "groups and time of bandmill.spark beside others", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
