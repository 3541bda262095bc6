# SPDX-License-Identifier: Apache-2.0
"""The steps of bandmill.distributed on an executor, over Spark's batches, and the partition numbers for Spark's exchange."""

from __future__ import annotations

import bisect
import gc
import itertools
import json
import mmap
import os
import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bandmill._columns import array, flags, numbers, one_chunk
from bandmill._errors import Error
from bandmill._options import size
from bandmill.distributed import Components, Plan, count_each, join, look_up, text_digests

Array = np.ndarray[Any, Any]
Batches = Iterator[pa.RecordBatch]
MARKS = ("<bandmill.Error ", " bandmill.Error>")  # around the Error of a task, as JSON, in Spark's message
LABEL_SCHEMA = "id_hash long, task int, about binary, sieve array<long>"
SIEVE_BITS, SIEVE_SHIFTS = 1 << 31, (1, 33)  # most bits of a sieve; from which bits of a hash a place in it begins
PAIR_BATCH = 1 << 16  # rows of an output batch
ID_ROWS, MOST_IDS = 512, 64  # of each task that signs, every 512th id is sampled; of these at most 64 are sent
TEXT_BYTES = 1 << 28  # most bytes of texts that a task keeps in memory; if there are more, the texts are in a file
# Counts of the program's report whose values for all documents are the sums over all tasks.
COUNTS = (
    "identical",
    "equal",
    "candidates",
    "verified",
    "edges",
    "groups",
    "removed",
    "chained",
    "not_compared",
    "removed_identical",
    "removed_equal",
    "known",
    "found",
)


def salts(n: int) -> Array:
    """For each of n partitions, return an int that Spark's ``repartition(n, column)`` sends to the partition."""
    found: dict[int, int] = {}
    x = 0
    while len(found) < n:
        found.setdefault(_murmur3(x) % n, x)
        x += 1
    return np.array([found[p] for p in range(n)], dtype=np.int32)


def _murmur3(x: int) -> int:
    """Compute Spark's hash of an int: MurmurHash3 of 32 bits with the seed 42, signed."""
    full = 0xFFFFFFFF
    k = (x & full) * 0xCC9E2D51 & full
    k = (k << 15 | k >> 17) & full
    h = 42 ^ k * 0x1B873593 & full
    h = (h << 13 | h >> 19) & full
    h = (h * 5 + 0xE6546B64) & full ^ 4
    h = (h ^ h >> 16) * 0x85EBCA6B & full
    h = (h ^ h >> 13) * 0xC2B2AE35 & full
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def told(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Wrap a step so that its Error reaches the driver with its status and field."""

    def wrapped(batches: Batches) -> Batches:
        if gc.get_freeze_count() == 0:  # without a freeze, a worker collects garbage after every task, which takes 40 ms
            gc.freeze()
        try:
            yield from run(b for b in batches if b.num_rows)
        except Error as e:
            raise RuntimeError(json.dumps([str(e), e.status, e.field]).join(MARKS)) from None

    return wrapped


def split(plan: Plan, salt: Array, known: bool = False) -> Callable[[Batches], Batches]:
    """Map (id, text) to (part, block, id): first rows with blocks, then rows with a sample of the ids instead; known documents
    have no sample.
    """

    def run(batches: Batches) -> Batches:
        ids: list[pa.Array] = []

        def sampled() -> Batches:
            for batch in batches:
                ids.append(batch.column("id").take(array(np.arange(0, len(batch), ID_ROWS))))
                yield batch

        for rows in plan.split(sampled(), known=known):
            part = salt[numbers(rows.column("part"))]
            nothing = pa.nulls(len(rows), ids[0].type)
            yield pa.RecordBatch.from_arrays([array(part), rows.column("block"), nothing], names=["part", "block", "id"])
        if ids and not known:
            sample = pa.concat_arrays(ids).drop_null()
            sample = sample.take(array(np.arange(0, len(sample), -(-len(sample) // MOST_IDS) or 1)))
            columns = [array(np.full(len(sample), salt[0])), pa.nulls(len(sample), pa.large_binary()), sample]
            yield pa.RecordBatch.from_arrays(columns, names=["part", "block", "id"])

    return told(run)


def forests(batches: Batches) -> Batches:
    """Map the rows of one part that `split` made to (block, bytes, id): the blocks of its forest with the size of the forest,
    then the sampled ids.
    """
    ids: list[pa.Array] = []

    def blocks() -> Batches:
        for batch in batches:
            id = batch.column("id")
            if id.null_count < len(id):
                batch = batch.filter(id.is_null())
            ids.append(id.drop_null())
            if batch.num_rows:
                yield batch

    def rows(block: pa.Array, size: int, id: pa.Array) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([block, array(np.full(len(id), size)), id], names=["block", "bytes", "id"])

    left = blocks()
    first = next(left, None)
    if first is not None:
        for found in join(itertools.chain([first], left)):
            yield rows(found.column("block"), found.nbytes, pa.nulls(len(found), ids[0].type))
    for id in filter(len, ids):
        yield rows(pa.nulls(len(id), pa.large_binary()), 0, id)


def labels(plan: Plan, docs_a_task: int, most_broadcast: int) -> Callable[[Batches], Batches]:
    """Map all forests (block) to LABEL_SCHEMA: the rows of `label_table`, and a row without a hash, which has counts and sizes
    for the driver, and a sieve if there are more than ``most_broadcast`` candidates.
    """

    def run(batches: Batches) -> Batches:
        found = plan.components(batches, docs_a_task)
        about = pickle.dumps((found.counts, task_sizes(found)))
        names = ["id_hash", "task", "about", "sieve"]
        bits = sieve(found.id_hashes) if len(found.id_hashes) > most_broadcast else pa.nulls(1, pa.list_(pa.int64()))
        first = [pa.nulls(1, pa.int64()), pa.nulls(1, pa.int32()), pa.array([about], pa.binary()), bits]
        yield pa.RecordBatch.from_arrays(first, names=names)
        for rows in label_table(found).to_batches(max_chunksize=PAIR_BATCH):
            nothing = pa.nulls(len(rows), pa.binary()), pa.nulls(len(rows), bits.type)
            yield pa.RecordBatch.from_arrays([*rows.columns, *nothing], names=names)

    return told(run)


def label_table(found: Components) -> pa.Table:
    """Return a table of the candidates: id_hash, and task. The numbers of tasks are `salts`, so that Spark sends all candidates
    of a task to one partition.
    """
    salt = salts(found.n_tasks)
    return pa.table({"id_hash": array(found.id_hashes.view(np.int64)), "task": array(look_up(salt, found.tasks))})


def sieve_bits(n: int) -> int:
    """Return the number of bits of a sieve of n hashes: a power of two, and 8 to 16 bits for each hash as long as it is not
    more than SIEVE_BITS.
    """
    return min(SIEVE_BITS, max(64, 1 << (8 * n - 1).bit_length()))


def sieve(id_hashes: Array) -> pa.Array:
    """Return one row: a Bloom filter of the hashes, as an array of words. Of other hashes 1 to 5 % pass it.

    Each hash sets the two bits whose places are its bits from 1 on and its bits from 33 on. Bit 0 of a hash only tells
    whether the document is known.
    """
    last = np.uint64(sieve_bits(len(id_hashes)) - 1)
    words = np.zeros((int(last) + 1) // 64, dtype=np.uint64)
    for at in range(0, len(id_hashes), PAIR_BATCH):
        for shift in SIEVE_SHIFTS:
            place = id_hashes[at : at + PAIR_BATCH] >> np.uint64(shift) & last
            np.bitwise_or.at(words, place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63)))
    return pa.ListArray.from_arrays(array(np.array([0, len(words)], dtype=np.int32)), array(words.view(np.int64)))


def task_sizes(found: Components) -> list[int]:
    """Return the number of hashes of ids that each task has. If hashes collide, the task has more documents."""
    sizes: list[int] = count_each(found.tasks, found.n_tasks).tolist()
    return sizes


def thin(batches: Batches) -> Batches:
    """Map (…, text) to (…, text, digest). Of the copies in a partition, only the first has its text; the texts of the
    others are null.

    So a document with a million copies costs its tasks and the exchange little more than its ids.
    """
    seen: set[bytes] = set()
    for batch in batches:
        if batch.num_rows == 0:
            continue
        place = batch.schema.get_field_index("text")
        texts = batch.column(place)
        if texts.null_count:
            texts = texts.fill_null(b"")
        digests = text_digests(texts)
        n, again = len(seen), np.zeros(len(texts), dtype=bool)
        for row, digest in enumerate(digests.to_pylist()):
            seen.add(digest)
            again[row] = len(seen) == n
            n = len(seen)
        if again.any():
            texts = texts.take(array(np.arange(len(texts)), again))
        columns = [*batch.columns, digests.cast(pa.binary())]
        columns[place] = texts
        yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "digest"])


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


class _Texts:
    """The different texts of a task, one after another, in memory or, if they have more than ``most`` bytes, in a file."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._held: list[pa.Buffer] = []
        self._file: IO[bytes] | None = None
        self._ends: list[Array] = [np.zeros(1, dtype=np.int64)]
        self._place: dict[bytes, int] = {}

    def add(self, texts: pa.Array, digests: pa.Array) -> None:
        """Add the texts with new digests. A null stands for a text that another row has."""
        there, new = np.flatnonzero(flags(texts.is_valid())), list[int]()
        for row, digest in zip(there.tolist(), digests.take(array(there)).to_pylist()):
            if digest not in self._place:
                self._place[digest] = len(self._place)
                new.append(row)
        if not new:
            return
        values = texts.take(array(np.array(new))).cast(pa.large_binary())
        ends = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset : values.offset + len(values) + 1]
        data = values.buffers()[2].slice(int(ends[0]), int(ends[-1] - ends[0]))
        self._ends.append(ends[1:] - ends[0] + self._bytes)
        self._bytes += len(data)
        self._held.append(data)
        if self._file is None and self._bytes > self._most:
            self._file = tempfile.TemporaryFile(prefix="bandmill-", **folder("dir"))  # noqa: SIM115
        if self._file is not None:
            for held in self._held:
                self._file.write(held)
            self._held.clear()

    def column(self, digests: pa.Array) -> pa.Array:
        """Return the text of each digest, as a dictionary array with all texts. A file of texts is mapped, not read."""
        ends = np.concatenate(self._ends)
        if self._file is None:
            data = pa.py_buffer(b"".join(self._held))
        else:
            self._file.flush()
            data = pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
        texts = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), data])
        coded = digests.dictionary_encode()
        place = np.array([self._place[digest] for digest in coded.dictionary.to_pylist()], dtype=np.int64)
        return pa.DictionaryArray.from_arrays(array(place[numbers(coded.indices)]), texts)


def _most(plan: Plan) -> int:
    """Return how many bytes of texts a task may keep in memory: a quarter of ``memory``, at most TEXT_BYTES."""
    return min(TEXT_BYTES, (size(plan.options.get("memory"), "memory") or 4 * TEXT_BYTES) // 4)


def _whole(batches: Batches, sizes: list[int], most: int) -> pa.Table | None:
    """Return the documents of a task; None: the partition has no task. Copies of a text share one entry of a dictionary.
    ``sizes``: the least size of each task. Raises Error if there are fewer documents.
    """
    texts, rows = _Texts(most), []
    for batch in batches:
        digests = batch.column("digest")
        texts.add(batch.column("text"), digests)
        rest = batch.select([name for name in batch.schema.names if name not in ("text", "task")])
        rows.append(rest.take(array(np.arange(len(rest)))))  # a copy, so that the texts of the batch can be freed
    n, wanted = sum(len(b) for b in rows), sizes[_partition()]
    if n < wanted:
        raise Error(
            f"a second scan gave {n} of {wanted} documents of a task: the DataFrame changes between scans (persist it first)",
            "input",
            field="data",
        )
    if not rows:
        return None
    table = pa.Table.from_batches(rows)
    column = texts.column(one_chunk(table.column("digest")))
    return table.append_column("text", column).drop_columns(["digest"])


def folder(name: str = "temp_dir") -> dict[str, Any]:
    """Return the folder of Spark's temporary files as a keyword ``name``, or no keyword if there is no such folder."""
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return {name: place} if place and os.path.isdir(place) else {}


def dedup(plan: Plan, sizes: list[int], cuts: pa.Array) -> Callable[[Batches], Batches]:
    """Map all documents of a task, (task, id, text, …), to (first, id, kept, jaccard, reason, range, counts).

    If there is a column ``known``, rows with an id in it are known documents, and the result has a column ``known`` after
    ``reason``. ``range`` is the salt of the range of ids in which ``first`` is; ``cuts`` has the first ids of all ranges but
    the first. The last row has no id, but the counts of the task (COUNTS).
    """
    salt, least = salts(len(cuts) + 1), cuts.to_pylist()

    def run(batches: Batches) -> Batches:
        rows = _whole(batches, sizes, _most(plan))
        if rows is None:
            return
        documents, others = _apart(rows)
        found, counts = plan.dedup(documents, others if others is not None and len(others) else None, **folder())
        ids = documents.column("id").combine_chunks()
        columns = {"first": ids.take(found["first"].combine_chunks()), "id": ids.take(found["row"].combine_chunks())}
        columns.update({name: found[name] for name in ("kept", "jaccard", "reason")})
        if others is not None:
            columns["known"] = others.column("id").combine_chunks().take(found["known"].combine_chunks())
        starts = [bisect.bisect_left(range(len(ids)), cut, key=lambda row: ids[row].as_py()) for cut in least]
        columns["range"] = array(salt[np.searchsorted(starts, numbers(found["first"].combine_chunks()), side="right")])
        of_task = pa.nulls(len(found), pa.list_(pa.int64()))
        yield from pa.table({**columns, "counts": of_task}).to_batches(max_chunksize=PAIR_BATCH)
        nothing = {name: pa.nulls(1, column.type) for name, column in columns.items()}
        nothing["range"] = array(salt[:1])
        own = np.array([counts.get(name, 0) for name in COUNTS])
        row = pa.ListArray.from_arrays(array(np.array([0, len(own)], dtype=np.int32)), array(own))
        yield from pa.table({**nothing, "counts": row}).to_batches()

    return told(run)


def _apart(rows: pa.Table) -> tuple[pa.Table, pa.Table | None]:
    """Separate documents and known documents, both with a column ``id`` and ordered by it. None: no column ``known``."""
    if "known" not in rows.column_names:
        return rows.sort_by("id"), None
    known = rows.column("known").is_valid()
    others = rows.filter(known).drop_columns(["id"]).rename_columns({"known": "id"})
    return rows.filter(pc.invert(known)).drop_columns(["known"]).sort_by("id"), others.sort_by("id")


def pairs(plan: Plan, sizes: list[int], options: dict[str, Any]) -> Callable[[Batches], Batches]:
    """Map all documents of a task to (id_a, id_b, jaccard)."""

    def run(batches: Batches) -> Batches:
        documents = _whole(batches, sizes, _most(plan))
        if documents is None:
            return
        documents = documents.sort_by("id")
        found = plan.pairs(documents, **options, **folder())
        ids = documents.column("id").combine_chunks()
        columns = {f"id_{x}": ids.take(found[x].combine_chunks()) for x in ("a", "b")}
        yield from pa.table({**columns, "jaccard": found["jaccard"]}).to_batches(max_chunksize=PAIR_BATCH)

    return told(run)


def _starts(batch: pa.RecordBatch, last: Any) -> tuple[Array, Any]:
    """Return which rows of a batch begin a group, and the first id of the last group. ``last``: the first id of the last group
    in the batch before. Rows are sorted by the groups' first ids.
    """
    first = batch.column("first")
    begins = np.ones(len(first), dtype=bool)
    begins[1:] = flags(pc.not_equal(first.slice(1), first.slice(0, len(first) - 1)))
    begins[0] = first[0].as_py() != last
    return begins, first[len(first) - 1].as_py()


def _members(batches: Batches) -> Batches:
    """Drop the rows of counts, which have no id."""
    for batch in batches:
        if batch.column("id").null_count:
            batch = batch.filter(batch.column("id").is_valid())
        if batch.num_rows:
            yield batch


def count_groups(batches: Batches) -> Batches:
    """Map the sorted members of one partition to (part, n): the number of the partition, and how many groups it has."""
    n, last = 0, None
    for batch in _members(batches):
        begins, last = _starts(batch, last)
        n += int(begins.sum())
    yield pa.RecordBatch.from_arrays(
        [array(np.array([_partition()], dtype=np.int32)), array(np.array([n]))], names=["part", "n"]
    )


def number(offsets: dict[int, int]) -> Callable[[Batches], Batches]:
    """Map the sorted members of one partition to (id, group, kept, jaccard, reason). ``offsets``: for each partition, the
    number of groups in earlier partitions.
    """

    def run(batches: Batches) -> Batches:
        n = offsets.get(_partition(), 0)
        last = None
        for batch in _members(batches):
            begins, last = _starts(batch, last)
            group = n + np.cumsum(begins)
            n = int(group[-1])
            columns = {"id": batch.column("id"), "group": array(group)}
            columns.update({name: batch.column(name) for name in batch.schema.names if name not in ("first", "id", "range")})
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return run
