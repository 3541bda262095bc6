# SPDX-License-Identifier: Apache-2.0
"""On an executor: pairs to similarities, and pairs to groups, by the library.

Pairs come in cells. A cell is two blocks of documents (one block twice, too); it holds each of their sets that some pair needs
once, then the pairs. So a set travels at most once for each block, however many pairs it is in.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pyarrow as pa

from bandmill._apart import owned
from bandmill._call import Call
from bandmill._native import ffi, lib
from bandmill._options import new
from bandmill.spark._cut import bytes_of, offsets_of
from bandmill.spark._runs import Array, Batches, batch_of, begins_of, numbers

SET, PAIR = 0, 1
COMPARED_SCHEMA = "a long, b long, similarity double"
FOREST_SCHEMA = "num long, label long"
PAIR_TYPE = np.dtype([("a", "<u4"), ("b", "<u4"), ("similarity", "<f8")])
FOREST_EDGES = 1 << 22  # edges that are held before they are joined


class Cell:
    """The sets of a cell, and what they are compared by."""

    def __init__(self, threshold: float, words: int) -> None:
        """``words``: sets are signatures of so many words; 0: sorted hashes."""
        self.threshold, self.words = threshold, words
        self._nums: list[Array] = []
        self._data: list[Array] = []
        self._sizes: list[Array] = []
        self._ended = False

    def add(self, num: Array, column: pa.Array) -> None:
        """Documents and their sets."""
        offsets = offsets_of(column)
        self._nums.append(num)
        self._sizes.append(np.diff(offsets))
        self._data.append(bytes_of(column)[offsets[0] : offsets[-1]])

    def _end(self) -> None:
        num = np.concatenate(self._nums) if self._nums else np.zeros(0, np.int64)
        self._ended = True
        self._order = np.argsort(num, kind="stable")
        self._sorted = num[self._order]
        sizes = np.concatenate(self._sizes) if self._sizes else np.zeros(0, np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(sizes // 8)]).astype(np.uint64)
        data = np.concatenate(self._data) if self._data else np.zeros(0, np.uint8)
        self._hashes = data.view(np.uint32).reshape(-1, self.words) if self.words else data.view(np.uint64)
        self._nums, self._data, self._sizes = [], [], []

    def _place(self, num: Array) -> Array:
        at = np.minimum(np.searchsorted(self._sorted, num), max(len(self._sorted) - 1, 0))
        if len(num) and not np.array_equal(self._sorted[at], num):
            raise RuntimeError("a pair of a document whose set is not there")
        places: Array = self._order[at]
        return places

    def compare(self, a: Array, b: Array) -> Array:
        """Similarities; -1: below the threshold."""
        if not self._ended:
            self._end()
        pairs = np.zeros(len(a), dtype=PAIR_TYPE)
        pairs["a"], pairs["b"] = self._place(a), self._place(b)
        if self.words:
            for at in range(0, len(pairs), 4096):
                part = pairs[at : at + 4096]
                same = (self._hashes[part["a"]] == self._hashes[part["b"]]).sum(axis=1)
                part["similarity"] = same / self.words
            pairs["similarity"][pairs["similarity"] < self.threshold] = -1
            words: Array = pairs["similarity"]
            return words
        documents = ffi.new("bm_documents *")
        documents.struct_size, documents.n_docs = ffi.sizeof(documents[0]), len(self._offsets) - 1
        documents.offsets = ffi.cast("uint64_t *", ffi.from_buffer(self._offsets))
        documents.hashes = ffi.cast("uint64_t *", ffi.from_buffer(self._hashes)) if len(self._hashes) else ffi.NULL
        o = new("compare")
        o.threshold, o.resources.threads = self.threshold, 1
        Call().run(lib.bm_compare_pairs, o, documents, ffi.cast("bm_pair *", ffi.from_buffer(pairs)), len(pairs))
        found: Array = pairs["similarity"]
        return found


def compare(threshold: float, words: int, forest: bool) -> Callable[[Batches], Batches]:
    """(cell, kind, a, b, sets), sorted by cell and kind -> COMPARED_SCHEMA, the pairs that reach the threshold.

    ``forest``: FOREST_SCHEMA instead, as few of them as join the same documents.
    """

    def compared(batches: Batches) -> Batches:
        cell, at = Cell(threshold, words), None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            of, kind = numbers(batch, "cell"), numbers(batch, "kind")
            a, b, sets = numbers(batch, "a"), numbers(batch, "b"), batch.column("sets")
            begins = begins_of([of, kind])
            for i, j in zip(begins[:-1], begins[1:]):
                if of[i] != at:
                    cell, at = Cell(threshold, words), of[i]
                if kind[i] == SET:
                    cell.add(a[i:j], sets.slice(i, j - i))
                    continue
                similarity = cell.compare(a[i:j], b[i:j])
                found = similarity >= 0
                yield batch_of(a=a[i:j][found], b=b[i:j][found], similarity=similarity[found])

    def joined(batches: Batches) -> Batches:
        return join("a", "b")(compared(batches))

    return joined if forest else compared


def forest_of(a: Array, b: Array) -> tuple[Array, Array]:
    """Documents and the least of their component: (num, label)."""
    nodes, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    pairs = np.zeros(len(a), dtype=PAIR_TYPE)
    pairs["a"], pairs["b"] = places[: len(a)], places[len(a) :]
    return nodes, nodes[group(len(nodes), pairs, star=False)]


def group(n: int, pairs: Array, star: bool) -> Array:
    """bm_group_pairs: the document that stands for each."""
    o = new("group")
    o.n_docs, o.cluster = n, lib.BM_CLUSTER_STAR if star else lib.BM_CLUSTER_COMPONENTS
    out = owned("groups")
    Call().run(lib.bm_group_pairs, o, ffi.cast("bm_pair *", ffi.from_buffer(pairs)), len(pairs), out)
    kept: Any = ffi.buffer(lib.bm_groups_kept(out[0]), 4 * n)
    found: Array = np.frombuffer(kept, dtype=np.uint32).copy()
    return found


def join(a: str, b: str, also: str = "") -> Callable[[Batches], Batches]:
    """Edges of one partition -> FOREST_SCHEMA: its components, each a star around its least document.

    ``also``: "roots", the least document with itself; "back", each edge the other way round.
    """

    def run(batches: Batches) -> Batches:
        held: list[tuple[Array, Array]] = []
        n, base = 0, 0
        for batch in batches:
            if batch.num_rows:
                held.append((numbers(batch, a), numbers(batch, b)))
                n += batch.num_rows
            if n - base > FOREST_EDGES:
                held = [_forest_of_all(held)]
                n = base = len(held[0][0])
        if held:
            num, label = _forest_of_all(held)
            if also != "roots":
                moved = num != label
                num, label = num[moved], label[moved]
            yield batch_of(num=num, label=label)
            if also == "back":
                yield batch_of(num=label, label=num)

    return run


def _forest_of_all(held: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return forest_of(np.concatenate([x for x, _ in held]), np.concatenate([y for _, y in held]))


def stars(batches: Batches) -> Batches:
    """(label, kind, turn, a, b), sorted by label, kind and turn -> FOREST_SCHEMA: documents and the one each star is around.

    Of each component first its documents in the order of their turns (kind 0, a), then its pairs (kind 1).
    """
    at: int | None = None
    docs: list[Array] = []
    edges: list[tuple[Array, Array]] = []

    def end() -> Batches:
        if not docs:
            return
        num = np.concatenate(docs)
        order = np.argsort(num, kind="stable")
        pairs = np.zeros(sum(len(x) for x, _ in edges), dtype=PAIR_TYPE)
        if edges:
            for name, k in (("a", 0), ("b", 1)):
                values = np.concatenate([e[k] for e in edges])
                pairs[name] = order[np.searchsorted(num[order], values)]
        yield batch_of(num=num, label=num[group(len(num), pairs, star=True)])

    for batch in batches:
        if batch.num_rows == 0:
            continue
        label, kind, a, b = (numbers(batch, name) for name in ("label", "kind", "a", "b"))
        begins = begins_of([label, kind])
        for i, j in zip(begins[:-1], begins[1:]):
            if label[i] != at:
                yield from end()
                at, docs, edges = int(label[i]), [], []
            if kind[i] == 0:
                docs.append(a[i:j])
            else:
                edges.append((a[i:j], b[i:j]))
    yield from end()
