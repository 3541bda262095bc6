# SPDX-License-Identifier: Apache-2.0
"""Finds near-duplicates on many machines, in steps. Between the steps, an engine moves rows of Arrow.

    plan = bandmill.distributed.Plan(parts=64, text="text", id="id", threshold=0.8)

    plan.split(batches)          rows (part, block): on each worker, over its documents
    join(blocks)                 rows (block): for each part, over all of its blocks
    plan.components(forests)     once: which documents are candidates, and which task compares them
    plan.select(batches, found)  these documents with the task: on each worker again
    plan.dedup(table)            for each task, over all of its documents: groups, as `bandmill.dedup` finds them

If there are known documents (``known=``), `split` and `select` run over these too, and `dedup` gets the known documents of the
task.

The groups are those of one `bandmill.dedup` over all documents, however the documents are divided. docs/distributed.md shows
how engines call the steps.
"""

from __future__ import annotations

import inspect
import pathlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import Call
from bandmill._columns import array, flags, numbers, table
from bandmill._data import _capsule
from bandmill._dedup import dedup
from bandmill._errors import Error
from bandmill._jobs import pairs
from bandmill._kinds import Names
from bandmill._native import ffi, lib
from bandmill._options import OF_RECORDS, fill_device, fill_hash, fill_part, fill_preset, fill_sketch, fill_text, new, number

__all__ = ["Components", "Plan", "join", "text_digests"]

Array = np.ndarray[Any, Any]
ALL_DECIMALS = 20  # decimals of similarities; the exact double can be read back
BLOCK_DOCS = 1 << 16  # number of documents whose keys become blocks together
TASK_SHINGLES = 1 << 25  # most shingles of a task on average, about those of 256 MiB of prose; a component stays whole
RELEASE_BYTES = 1 << 24  # bytes of added blocks, after which freed blocks are returned to the system
_TEXT = ("shingle", "words", "normalize", "short", "stopwords", "bag", "hash", "seed", "scheme", "perms", "preset")
ABSENT = {
    "weights": "they depend on all documents",
    **dict.fromkeys(("unit", "keep_count", "within"), "documents are compared as a whole"),
    "candidates": "documents that share a band meet",
    "pairs": "groups are returned",
    "progress": "the engine shows it",
    "threads": "a worker has one",
    "batch_docs": "batches are the engine's",
    **dict.fromkeys(("against", "against_text", "against_id"), "the steps take known documents, known="),
    **dict.fromkeys(("data", "paths", "format", "header", "delimiter"), "rows come in"),
    **dict.fromkeys(("include", "exclude", "offsets", "sources"), "rows come in"),
    **dict.fromkeys(("output", "kept", "removed", "force", "resume"), "no file is written"),
}


def refuse_numbers(options: dict[str, Any]) -> None:
    """Refuse to number repeated ids, because rows on many machines have no order."""
    if options.get("duplicate_ids") not in (None, "error"):
        raise Error(f"duplicate_ids {options['duplicate_ids']!r} (error: rows have no order)", field="duplicate_ids")


def _address(struct: Any) -> int:
    return int(ffi.cast("uintptr_t", struct))


def _made(call: Call, function: Any, handle: Any) -> Any:
    """Call a function of the library that makes rows, and return them as a RecordBatch."""
    pa = _files.arrow()
    schema, array = ffi.new("struct ArrowSchema *"), ffi.new("struct ArrowArray *")
    call.run(function, handle, schema, array)
    return pa.RecordBatch._import_from_c(_address(array), _address(schema))


def _lent(batch: Any) -> tuple[Any, Any, Any]:
    """Return the schema and the array of a RecordBatch for C, and the object that keeps them alive."""
    capsules = batch.__arrow_c_array__()
    schema, array = capsules
    names = ("struct ArrowSchema *", b"arrow_schema"), ("struct ArrowArray *", b"arrow_array")
    pointers = [ffi.cast(kind, _capsule(capsule, name)) for (kind, name), capsule in zip(names, (schema, array))]
    return pointers[0], pointers[1], capsules


class Plan:
    """How documents are read, cut, signed, divided and compared. It can be pickled, and is the same on all workers."""

    def __init__(
        self, text: Names = "text", id: str = "id", *, parts: int, like: Any = None, known: bool = False, **options: Any
    ) -> None:
        """Check the options. They are those of `bandmill.dedup`, without those that make no sense on many machines.

        ``text``, ``id``: columns of the batches. ``parts``: into how many parts keys are divided, about one for 300,000
        documents; each part is joined by one worker. ``like``: a table, which may be empty, with the types of the columns.
        ``known``: there will be known documents, with the same columns. Raises Error.
        """
        pa = _files.arrow()
        there = inspect.signature(dedup).parameters
        for name in options:
            if name in ABSENT:
                raise Error(f"{name} is not for documents on many machines ({ABSENT[name]})", field=name)
            if name not in there:
                raise TypeError(f"Plan() got an unexpected keyword argument {name!r}")
        refuse_numbers(options)
        self.text: tuple[str, ...] = (text,) if isinstance(text, str) else tuple(text or ("text",))
        self.id, self.parts = id, number(parts, "parts", 1 << 16, 1)
        self.options = {"device": "cpu", **{name: value for name, value in options.items() if value is not None}}
        texts = pa.schema([(name, pa.string()) for name in (*self.text, id)])
        empty = like.slice(0, 0) if like is not None else texts.empty_table()
        against = {"against": texts.empty_table(), "against_text": list(self.text), "against_id": id} if known else {}
        found = dedup(empty, list(self.text), id, **self.options, **against).report
        self.bands, self.rows = int(found["plan"]["bands"]), int(found["plan"]["rows"])
        self.perms = int(found["provenance"]["perms"])
        words = self.options.get("stopwords")
        self.stopwords = None if words in (None, "en") else pathlib.Path(words).read_bytes()

    def _with_stopwords(self, options: dict[str, Any], call: Call) -> dict[str, Any]:
        """Write the stop words, if there are some, to a file that exists as long as the call. Returns the options with its
        path.
        """
        if self.stopwords is None:
            return options
        file = call.keep(tempfile.NamedTemporaryFile(prefix="bandmill-"))  # noqa: SIM115
        file.write(self.stopwords)
        file.flush()
        return {**options, "stopwords": file.name}

    def _open(self, call: Call, known: bool) -> Any:
        k = {name: self.options.get(name) for name in (*_TEXT, "threshold", "recall", "bands", "rows")}
        fill_preset(k)
        k = self._with_stopwords(k, call)
        o = new("splitter")
        fill_text(o.text, call, k)
        fill_sketch(o.sketch, k)
        fill_hash(o.text, o.sketch, k)
        fill_device(o.device, call, self.options)
        o.sketch.perms, o.bands, o.rows, o.parts = self.perms, self.bands, self.rows, self.parts
        fill_part(o, None, {name: self.options.get(name) for name in OF_RECORDS})
        o.resources.threads, o.known = 1, known
        out = owned("splitter")
        call.run(lib.bm_splitter_open, o, out)
        return out

    def _documents(self, batch: Any) -> Any:
        """Return the columns id and text. Several text columns are joined by a newline, with a null as an empty text."""
        pa = _files.arrow()
        import pyarrow.compute as pc

        columns = [_column(batch, name) for name in self.text]
        if len(columns) > 1:
            kinds = {pa.string(), pa.large_string()}
            kind = pa.large_string() if all(c.type in kinds for c in columns) else pa.large_binary()
            columns = [pc.fill_null(c.cast(kind), "") for c in columns]
            columns = [pc.binary_join_element_wise(*columns, pa.scalar("\n", kind))]
        return pa.RecordBatch.from_arrays([_column(batch, self.id), columns[0]], names=["id", "text"])

    def split(self, batches: Iterable[Any], *, known: bool = False) -> Iterator[Any]:
        """Sign documents, and yield rows (part int32, block large_binary). The engine passes each row to the worker that joins
        its part.

        ``known``: these are known documents. Their ids may equal ids of other documents, and no count includes them.
        """
        call, splitter = Call(), None
        for batch in batches:
            splitter = splitter or self._open(call, known)
            schema, array, keep = _lent(self._documents(batch))
            call.run(lib.bm_splitter_add, splitter[0], schema, array)
            del keep
            if lib.bm_splitter_waiting(splitter[0]) >= BLOCK_DOCS:
                yield _made(call, lib.bm_splitter_take, splitter[0])
        if splitter is not None:
            yield _made(call, lib.bm_splitter_take, splitter[0])

    def id_hashes(self, batch: Any, *, known: bool = False) -> Array:
        """Return a hash of each id (uint64): Spark's xxhash64, except for the lowest bit, which is 1 if ``known``, else 0."""
        pa = _files.arrow()
        found = np.empty(batch.num_rows, dtype=np.uint64)
        ids = pa.RecordBatch.from_arrays([_column(batch, self.id)], names=["id"])
        schema, array, keep = _lent(ids)
        Call().run(lib.bm_hash_ids, schema, array, ffi.cast("uint64_t *", ffi.from_buffer(found)))
        del keep
        found |= np.uint64(known)
        return found

    def components(self, forests: Iterable[Any], docs_a_task: int = 50_000) -> Components:
        """Find the candidates from the forests of all parts, which `join` made. A task gets whole components, with about
        ``docs_a_task`` documents together. If documents are long, there are more tasks.

        Raises Error: the documents have more bad records than ``max_errors``.
        """
        found = Components(forests, docs_a_task)
        most = self.options.get("max_errors")
        if most is not None and found.counts["skipped"] > most:
            raise Error(f"{found.counts['skipped']} bad records (at most {most}, max_errors)", "input", field="max_errors")
        return found

    def select(self, batches: Iterable[Any], components: Components, *, known: bool = False) -> Iterator[Any]:
        """Yield the rows that are candidates, with a last column ``task`` (int32). Rows with a null id are left out."""
        pa = _files.arrow()
        for batch in batches:
            if _column(batch, self.id).null_count:
                batch = batch.filter(_column(batch, self.id).is_valid())
            task = components.task_of(self.id_hashes(batch, known=known))
            chosen = array(task >= 0)
            columns = [*batch.columns, array(task)]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "task"]).filter(chosen)

    def dedup(self, documents: Any, known: Any = None, **options: Any) -> tuple[Any, dict[str, int]]:
        """Group the documents of one task. Returns a table of members of groups, and the counts of the report.

        ``documents`` has all documents of the task, in the order of all documents; ``known`` has its known documents, in their
        order. The table has a row for each document in a group, which has two or more documents, or a known one. Columns:

            row      row of the document in ``documents``
            first    row of the first document of its group
            kept     true if the document is kept
            jaccard  similarity to the kept or known document because of which it is removed; 1 if it is kept; null: not known
            reason   why it is removed, as in removed.tsv; null if it is kept
            known    row in ``known`` of the known document because of which it is removed; null: there is none

        ``options``: ``memory`` and ``temp_dir`` of this worker. Raises Error, also if an id is in several rows.
        """
        documents = table(documents)
        rest = documents.drop_columns([self.id]) if self.id in documents.column_names else documents
        call = Call()
        own = {**self._with_stopwords(self.options, call), **options, "decimals": ALL_DECIMALS}
        own.pop("max_errors", None)  # max_errors limits the bad records of all documents together (`components`)
        if known is not None:
            known = table(known)
            self._refuse_repeats(_column(known, self.id), [])
            own.update(against=known, against_text=list(self.text), against_id="none")
        own["about"] = f"among the {len(documents)} candidates of a task: "
        found = dedup(rest, list(self.text), "none", threads=1, **own)
        counts = {name: n for name, n in found.report["counts"].items() if isinstance(n, int)}
        counts["found"] = int(found.report.get("against", {}).get("found", 0))
        bad = found.path / "skipped.tsv"
        lines = [int(line.split(b"\t")[1]) - 1 for line in bad.read_bytes().split(b"\n")[1:-1]] if bad.exists() else []
        self._refuse_repeats(_column(documents, self.id), lines)
        return _members(found), counts

    def pairs(self, documents: Any, **options: Any) -> Any:
        """Find the pairs of one task. Returns a table of ``a`` and ``b``, the rows of two documents, and ``jaccard``.

        ``documents`` has all documents of the task, in the order of all documents. ``a`` is the earlier row. ``jaccard`` is
        null with verify="none". ``options``: the options of `bandmill.pairs` that the plan does not have, such as
        ``identical``, and ``memory`` and ``temp_dir``. Raises Error, also if an id is in several rows.
        """
        pa = _files.arrow()
        documents = table(documents)
        rest = documents.drop_columns([self.id]) if self.id in documents.column_names else documents
        call = Call()
        own = {**self._with_stopwords(self.options, call), **options, "decimals": ALL_DECIMALS}
        own.pop("max_errors", None)
        found = pairs(rest, list(self.text), "none", threads=1, **own)
        self._refuse_repeats(_column(documents, self.id), [])
        return pa.table({"a": found.column("id_a"), "b": found.column("id_b"), "jaccard": found.column("jaccard")})

    def _refuse_repeats(self, ids: Any, skipped: list[int]) -> None:
        import pyarrow.compute as pc

        if skipped:
            ids = ids.filter(array(~np.isin(np.arange(len(ids)), skipped)))
        if pc.count_distinct(ids).as_py() == len(ids):
            return
        counts = ids.value_counts()
        again = min(x["values"] for x in counts.to_pylist() if x["counts"] > 1)
        raise Error(f"id {again!r} stands in several rows (ids are unique)", "input", field=self.id)


def _members(found: Any) -> Any:
    """Return the table of `Plan.dedup` for a result of `bandmill.dedup`."""
    pa = _files.arrow()
    groups, removed = _groups(found.path / "groups.jsonl"), found.removed
    members = groups.column("members").combine_chunks()
    sizes = numbers(members.value_lengths()).astype(np.int64)
    row = numbers(members.flatten().cast(pa.int64()))
    firsts = np.minimum.reduceat(row, np.cumsum(sizes) - sizes) if len(row) else row
    kept = np.repeat(numbers(groups.column("kept").cast(pa.int64()), -1), sizes)
    # In a group with known documents, no other document is kept.
    outside = np.repeat(flags(groups.column("known").is_valid()), sizes)
    jaccard, known = np.ones(len(row)), np.ones(len(row), dtype=bool)
    reasons = pa.nulls(len(row), pa.string())
    if len(removed):
        gone = numbers(removed.column("id"))
        order = np.argsort(gone, kind="stable")
        goes = (row != kept) | outside
        place = order[np.searchsorted(gone[order], row[goes])]
        kept[goes] = numbers(removed.column("kept"), -1)[place]
        values = removed.column("jaccard")
        known[goes] = flags(values.is_valid())[place]
        jaccard[goes] = numbers(values, 0.0)[place]
        at = np.zeros(len(row), dtype=np.int64)
        at[goes] = place
        reasons = removed.column("reason").take(array(at, ~goes))
    return pa.table(
        {
            "row": array(row),
            "first": array(np.repeat(firsts, sizes)),
            "kept": array((row == kept) & ~outside),
            "jaccard": array(jaccard, ~known),
            "reason": reasons,
            "known": array(kept, ~outside),
        }
    )


def _groups(path: pathlib.Path) -> Any:
    """Read the columns kept, members and known of groups.jsonl. Arrow reads a group of millions without an object for each."""
    pa = _files.arrow()
    from pyarrow import json

    schema = pa.schema([("kept", pa.string()), ("members", pa.list_(pa.string())), ("known", pa.list_(pa.string()))])
    size = path.stat().st_size
    if size == 0:
        return schema.empty_table()
    read = json.ReadOptions(use_threads=False, block_size=min(size + 1, (1 << 31) - 1))
    parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return json.read_json(path, read, parse)


def _column(batch: Any, name: str) -> Any:
    """Return the column with this name. If there is none, a name with dots selects a member of structs. Raises Error."""
    import pyarrow.compute as pc

    if name in batch.schema.names:
        found = batch.column(name)
    else:
        first, *rest = name.split(".")
        if first not in batch.schema.names or not rest:
            raise Error(f"no column {name!r} ({', '.join(batch.schema.names)})", "input", field=name)
        found = pc.struct_field(batch.column(first), rest)
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def text_digests(texts: Any) -> Any:
    """Return a digest of 16 bytes for each text of an array. Equal texts have equal digests. Null counts as an empty text.

    With digests, an engine that moves documents to their tasks can send only one of equal texts.
    """
    pa = _files.arrow()
    found = np.empty((len(texts), 2), dtype=np.uint64)
    schema, array, keep = _lent(pa.RecordBatch.from_arrays([texts], names=["text"]))
    Call().run(lib.bm_hash_texts, schema, array, ffi.cast("uint64_t *", ffi.from_buffer(found)))
    del keep
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(found), [None, pa.py_buffer(found)])


class _Joiner:
    """The library's joiner, with all blocks added."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self.call, self.handle, self._added = Call(), owned("joiner"), 0
        self.call.run(lib.bm_joiner_open, self.handle)
        for one in blocks:
            if hasattr(one, "schema"):
                for block in one.column("block"):
                    self._add(block.as_buffer())
            else:
                self._add(one)
        self._release()

    def _add(self, block: Any) -> None:
        data = ffi.from_buffer("char[]", block)
        self.call.run(lib.bm_joiner_add, self.handle[0], data, len(data))
        self._added += len(data)
        if self._added >= RELEASE_BYTES:
            self._release()

    def _release(self) -> None:
        """Return freed blocks to the system. Arrow's allocator returns them only when this is called."""
        self._added = 0
        _files.arrow().default_memory_pool().release_unused()


def join(blocks: Iterable[Any]) -> Iterator[Any]:
    """Join the blocks of one part, or several forests. Yields rows (block large_binary): the forest of the documents that share
    a key.

    ``blocks``: batches with a column ``block``, or bytes of one or more blocks one after another, in any order. Raises Error: a
    block is damaged, or its documents were cut or signed in another way than those of the first block.
    """
    joiner = _Joiner(blocks)
    yield _made(joiner.call, lib.bm_joiner_forest, joiner.handle[0])


class Components:
    """The candidates, and the task that compares each of them. The object can be pickled."""

    def __init__(self, forests: Iterable[Any], docs_a_task: int = 50_000) -> None:
        """Find the candidates, as `Plan.components` does, but without a limit of bad records."""
        joiner = _Joiner(forests)
        rows = _made(joiner.call, lib.bm_joiner_components, joiner.handle[0])
        counts = lib.bm_joiner_count(joiner.handle[0])
        names = ("documents", "empty", "unreadable", "skipped", "shingles")
        self.counts = {name: int(getattr(counts, name)) for name in names}
        del joiner
        self.id_hashes: Array = numbers(rows.column("id_hash")).view(np.uint64)
        of = _component_numbers(self.id_hashes, numbers(rows.column("component")))
        known = self.id_hashes.view(np.uint8)[::8] & np.uint8(lib.BM_ID_HASH_KNOWN) != 0
        if known.any():  # components that have only known documents are dropped
            wanted = (np.bincount(of, weights=~known) > 0)[of]
            self.id_hashes, of = self.id_hashes[wanted], np.unique(of[wanted], return_inverse=True)[1].astype(np.int32)
        del known
        sizes = count_each(of, int(of.max()) + 1 if len(of) else 0)
        shingles = len(of) * self.counts["shingles"] // max(1, self.counts["documents"])  # as if documents were equally long
        self.n_tasks = max(1, -(-len(of) // docs_a_task), min(len(sizes), -(-shingles // TASK_SHINGLES)))
        self.largest = int(sizes.max()) if len(sizes) else 0
        tasks = _dealt_out(sizes, self.n_tasks)
        del sizes
        self.tasks: Array = look_up(tasks, of)

    def task_of(self, id_hashes: Array) -> Array:
        """Return the task of each document (int32); -1: the document is no candidate, and so in no group."""
        found: Array = np.full(len(id_hashes), -1, dtype=np.int32)
        if len(self.id_hashes):
            at = np.minimum(np.searchsorted(self.id_hashes, id_hashes), len(self.id_hashes) - 1)
            there = self.id_hashes[at] == id_hashes
            found[there] = self.tasks[at[there]]
        return found


def _component_numbers(id_hashes: Array, least: Array) -> Array:
    """Return the number of each row's component (int32), from 0. ``least`` has the least hash of each row's component. The
    result overwrites the memory of ``least``.

    ``id_hashes`` must ascend. Only few entries at a time are copied to other memory.
    """
    names = np.concatenate([id_hashes[at][id_hashes[at] == least.view(np.uint64)[at]] for at in _blocks(len(least))])
    memory = ffi.buffer(ffi.cast("char *", least.ctypes.data), least.nbytes)
    found: Array = np.frombuffer(memory, dtype=np.int32)[: len(least)]
    for at in _blocks(len(least)):
        found[at] = np.searchsorted(names, least.view(np.uint64)[at])
    return found


# NumPy converts indexes to 8 bytes each, so the functions below pass it only few indexes at a time.


def _blocks(n: int) -> Iterator[slice]:
    return (slice(at, at + BLOCK_DOCS) for at in range(0, max(n, 1), BLOCK_DOCS))


def count_each(numbers: Array, n: int) -> Array:
    """Return how often each number below n occurs (int32)."""
    found = np.zeros(n, dtype=np.int32)
    for at in _blocks(len(numbers)):
        np.add.at(found, numbers[at].astype(np.intp), np.int32(1))
    return found


def look_up(values: Array, places: Array) -> Array:
    """Return the value at each position."""
    found = np.empty(len(places), dtype=values.dtype)
    for at in _blocks(len(places)):
        found[at] = values[places[at]]
    return found


def _dealt_out(sizes: Array, n_tasks: int) -> Array:
    """Return the task of each component (int32). A component of at least the mean size of a task gets a task of its own. All
    other components are dealt out to the remaining tasks one after another, the largest first.

    The entries of ``sizes`` are negated.
    """
    tasks = np.zeros(len(sizes), dtype=np.int32)
    if n_tasks == 1:
        return tasks
    n = int(sizes.sum(dtype=np.int64))
    alone = int(np.count_nonzero(sizes >= n // n_tasks))
    order = np.argsort(np.negative(sizes, out=sizes), kind="stable")
    tasks[order[:alone]] = np.arange(alone) % n_tasks
    rest = np.setdiff1d(np.arange(n_tasks), tasks[order[:alone]])
    rest = rest if len(rest) else np.arange(n_tasks)
    for at in range(alone, len(sizes), BLOCK_DOCS):
        these = order[at : at + BLOCK_DOCS]
        tasks[these] = rest[np.arange(at - alone, at - alone + len(these)) % len(rest)]
    return tasks
