# SPDX-License-Identifier: Apache-2.0
"""process_pool.py FILE.parquet... --out FOLDER [--workers N] [--threshold T]

Near-duplicates of Parquet files with the columns id and text, by processes that meet only in files below FOLDER. The result is
FOLDER/groups.parquet: id, group, kept, jaccard, reason, as bandmill.dedup has them of all files in this order.

Each step is one function for one file, part or task, which reads files and leaves one. A step that is repeated leaves its file
again, so a run that was interrupted goes on where it was. As an array of jobs (Slurm): one array a step, a job for each number.
"""

import argparse
import concurrent.futures
import functools
import multiprocessing
import pathlib
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bandmill.distributed


def write(path, data):
    """A file that is there whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    if isinstance(data, pa.Table):
        pq.write_table(data, partial)
    else:
        partial.write_bytes(data)
    partial.rename(path)


def batches(path, number):
    """Documents with their place among all: the order in which they are compared, kept and numbered."""
    row = number << 40
    for batch in pq.ParquetFile(path).iter_batches(10_000, columns=["id", "text"]):
        place = pa.array(np.arange(row, row + batch.num_rows))
        row += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, place], names=["id", "text", "place"])


def split(out, plan, paths, number):
    done = out / "split" / str(number)
    if not done.exists():
        parts = [[] for _ in range(plan.parts)]
        for rows in plan.split(batches(paths[number], number)):
            for part, block in zip(rows.column("part").to_pylist(), rows.column("block")):
                parts[part].append(block.as_buffer())
        for part, blocks in enumerate(parts):
            write(out / "blocks" / str(part) / str(number), b"".join(blocks))
        write(done, b"")


def join(out, part):
    if not (out / "forests" / str(part)).exists():
        files = sorted((out / "blocks" / str(part)).iterdir())
        rows = bandmill.distributed.join(path.read_bytes() for path in files)
        write(out / "forests" / str(part), b"".join(b.as_py() for r in rows for b in r.column("block")))


def components(out, plan):
    if not (out / "components").exists():
        forests = [path.read_bytes() for path in sorted((out / "forests").iterdir())]
        write(out / "components", pickle.dumps(plan.components(forests)))
    return pickle.loads((out / "components").read_bytes())


def select(out, plan, paths, number):
    done, found = out / "selected" / str(number), pickle.loads((out / "components").read_bytes())
    if not done.exists():
        rows = pa.Table.from_batches(plan.select(batches(paths[number], number), found))
        for task in np.unique(np.asarray(rows["task"])).tolist():
            mine = rows.filter(pa.array(np.asarray(rows["task"]) == task))
            write(out / "tasks" / str(task) / f"{number}.parquet", mine.drop_columns(["task"]))
        write(done, b"")


def dedup(out, plan, task):
    if not (out / "found" / str(task)).exists():
        rows = pa.concat_tables(pq.read_table(path) for path in (out / "tasks" / str(task)).iterdir()).sort_by("place")
        members, _ = plan.dedup(rows)
        first, row = (rows.take(members[name]) for name in ("first", "row"))
        columns = {"first": first["place"], "place": row["place"], "id": row["id"]}
        write(out / "found" / str(task), pa.table({**columns, **{n: members[n] for n in ("kept", "jaccard", "reason")}}))


def number(out):
    """Groups numbered from 1 in the order of their first documents."""
    files = sorted((out / "found").iterdir()) if (out / "found").exists() else []
    if not files:
        write(out / "groups.parquet", pa.table({"id": [], "group": [], "kept": [], "jaccard": [], "reason": []}))
        return
    rows = pa.concat_tables(map(pq.read_table, files)).sort_by([("first", "ascending"), ("place", "ascending")])
    groups = np.unique(np.asarray(rows["first"]), return_inverse=True)[1] + 1
    columns = {"id": rows["id"], "group": pa.array(groups)}
    write(out / "groups.parquet", pa.table({**columns, **{n: rows[n] for n in ("kept", "jaccard", "reason")}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--threshold", type=float, default=0.8)
    a = parser.parse_args()
    like = pq.ParquetFile(a.files[0]).schema_arrow.empty_table()
    plan = bandmill.distributed.Plan("text", "id", parts=a.parts, like=like, threshold=a.threshold)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(a.workers, mp_context=context) as pool:

        def each(step, numbers):
            list(pool.map(step, numbers))

        each(functools.partial(split, a.out, plan, a.files), range(len(a.files)))
        each(functools.partial(join, a.out), range(a.parts))
        components(a.out, plan)
        each(functools.partial(select, a.out, plan, a.files), range(len(a.files)))
        tasks = sorted(int(path.name) for path in (a.out / "tasks").iterdir()) if (a.out / "tasks").exists() else []
        each(functools.partial(dedup, a.out, plan), tasks)
    number(a.out)


if __name__ == "__main__":
    main()
