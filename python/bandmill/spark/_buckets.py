# SPDX-License-Identifier: Apache-2.0
"""On an executor: identical documents, buckets, candidate pairs.

Documents are numbers here, 64 bits of a hash of their ids. A bucket of up to FEW documents gives all of its pairs at once. Of a
larger one, where only components are wanted, first its star (one document with every other) is compared, then, round by round,
the pairs of it that lie across groups, within the program's bound (docs/pairing.md): max(64 n, 523,776) pairs after the star.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pyarrow as pa

from bandmill.spark._cut import bytes_of, offsets_of
from bandmill.spark._runs import Array, Batches, batch_of, begins_of, numbers, whole_runs

FEW = 32  # documents of a bucket that gives all of its pairs at once
EXACT_DOCS, PAIRS_A_DOC = 1024, 64
FIRST_SHARE = 8  # of its bound a bucket may spend so much, 1/8, in the first round; later ones spend as much as all before
OUT_ROWS = 1 << 16  # pairs of a batch that goes out
COPY, ENTRY = 0, 1
PAIR, STATE, CUT = 0, 1, 2
SPREAD_SCHEMA = "kind int, band int, key long, num long"
BUCKET_SCHEMA = "kind int, band int, key long, a long, b long"
ROUND_SCHEMA = "kind int, band int, key long, a long, b long, had boolean, pairs_left long"


def budget(n: int) -> int:
    """Pairs that a bucket of n documents may look at after its star."""
    return max(n * PAIRS_A_DOC, EXACT_DOCS * (EXACT_DOCS - 1) // 2)


def spread(bands: int) -> Callable[[Batches], Batches]:
    """(content, num, keys), sorted by content, then by id -> SPREAD_SCHEMA.

    COPY: document `num` is identical with `key`, the first of its kind; where it has copies, that one too. ENTRY: the first is
    in this bucket.
    """

    def run(batches: Batches) -> Batches:
        last: bytes | None = None
        rep, told = 0, False  # the first of the kind that the last batch ended in, and whether it was said that it has copies
        for batch in batches:
            if batch.num_rows == 0:
                continue
            num = numbers(batch, "num")
            at = int(offsets_of(batch.column("content"))[0])
            content = bytes_of(batch.column("content"))[at : at + 16 * len(num)].reshape(-1, 16)
            begins = begins_of([np.ascontiguousarray(content).view("V16").reshape(-1)])
            goes_on = last == content[0].tobytes()
            firsts, sizes = num[begins[:-1]].copy(), np.diff(begins)
            is_first = np.zeros(len(num), dtype=bool)
            is_first[begins[:-1]] = True
            has_copies = sizes > 1
            if goes_on:
                is_first[0], firsts[0], has_copies[0] = False, rep, not told
            copies = ~is_first
            if copies.any():
                of = np.concatenate([np.repeat(firsts, sizes)[copies], firsts[has_copies]])
                them = np.concatenate([num[copies], firsts[has_copies]])
                yield _spread_rows(COPY, np.full(len(them), -1, dtype=np.int32), of, them)
            told = bool(sizes[-1] > 1) or (goes_on and len(sizes) == 1)
            last, rep = content[-1].tobytes(), int(firsts[-1])
            keys = batch.column("keys")
            at = int(offsets_of(keys)[0])
            words = np.ascontiguousarray(bytes_of(keys)[at : at + 8 * bands * len(num)]).view(np.int64).reshape(-1, bands)
            band = np.tile(np.arange(bands, dtype=np.int32), int(is_first.sum()))
            yield _spread_rows(ENTRY, band, words[is_first].reshape(-1), np.repeat(num[is_first], bands))

    return run


def _spread_rows(kind: int, band: Array, key: Array, num: Array) -> pa.RecordBatch:
    return batch_of(kind=np.full(len(num), kind, dtype=np.int32), band=band, key=key, num=num)


def first_pairs(stars: bool) -> Callable[[Batches], Batches]:
    """(band, key, num), sorted by these -> BUCKET_SCHEMA: PAIR (a < b); with ``stars`` larger buckets also give STATE rows."""

    def run(batches: Batches) -> Batches:
        for piece in whole_runs(batches, ("key", "band"), ("key", "band", "num")):
            begins = begins_of([piece["key"], piece["band"]])
            sizes = np.diff(begins)
            run_of = np.repeat(np.arange(len(sizes)), sizes)
            yield from _small_pairs(piece["num"], run_of, (sizes > 1) & (sizes <= FEW))
            for i in np.flatnonzero(sizes > FEW):
                num = piece["num"][begins[i] : begins[i + 1]]
                if not stars:
                    yield from _rows_of_pairs(num)
                    continue
                yield from _pair_rows(np.full(len(num) - 1, num[0]), num[1:])
                yield _bucket_rows(STATE, num, num, int(piece["band"][begins[i]]), int(piece["key"][begins[i]]))

    return run


def _small_pairs(num: Array, run_of: Array, small: Array) -> Iterator[pa.RecordBatch]:
    """All pairs of the runs that are small."""
    wanted = small[run_of]
    num, run_of = num[wanted], run_of[wanted]
    for apart in range(1, FEW):
        same = run_of[apart:] == run_of[:-apart]
        if not same.any():
            return
        yield from _pair_rows(num[:-apart][same], num[apart:][same])


def _rows_of_pairs(num: Array) -> Iterator[pa.RecordBatch]:
    """All pairs of one run."""
    parts: list[tuple[Array, Array]] = []
    held = 0
    for i in range(len(num) - 1):
        parts.append((np.full(len(num) - 1 - i, num[i]), num[i + 1 :]))
        held += len(num) - 1 - i
        if held >= OUT_ROWS or i == len(num) - 2:
            yield from _pair_rows(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
            parts, held = [], 0


def _pair_rows(a: Array, b: Array) -> Iterator[pa.RecordBatch]:
    for at in range(0, len(a), OUT_ROWS):
        x, y = a[at : at + OUT_ROWS], b[at : at + OUT_ROWS]
        yield _bucket_rows(PAIR, np.minimum(x, y), np.maximum(x, y), 0, 0)


def _bucket_rows(kind: int, a: Array, b: Array, band: int, key: int) -> pa.RecordBatch:
    n = len(a)
    return batch_of(
        kind=np.full(n, kind, dtype=np.int32),
        band=np.full(n, band, dtype=np.int32),
        key=np.full(n, key, dtype=np.int64),
        a=a,
        b=b,
    )


class Bucket:
    """One crowded bucket between two looks at the groups: which pairs come next, and what is left of its bound."""

    def __init__(self, num: Array, label: Array, had: Array, left: int) -> None:
        """Documents in order of their groups. ``had``: compared with all others. ``left`` -1: only the star was."""
        self.n, self.had = len(num), had.copy()
        if left < 0:
            self.had[np.argmin(num)] = True
            left = budget(self.n)
        self.num, self.label, self.left = num, label, left

    def across(self) -> int:
        """Pairs of documents whose row is to come, in different groups."""
        sizes = np.unique(self.label[~self.had], return_counts=True)[1].astype(object)
        live = int((~self.had).sum())
        return (live * live - int((sizes * sizes).sum())) // 2 if live else 0

    def all_across(self) -> Iterator[tuple[Array, Array]]:
        """These pairs, a document's at a time."""
        num, label = self.num[~self.had], self.label[~self.had]
        begins = begins_of([label])
        ends = np.repeat(begins[1:], np.diff(begins))
        for i in range(len(num)):
            if ends[i] < len(num):
                yield np.full(len(num) - ends[i], num[i]), num[ends[i] :]

    def representatives(self) -> Iterator[tuple[Array, Array]]:
        """Some documents, each with all of other groups: first those whose group had none."""
        groups, group = np.unique(self.label, return_inverse=True)
        had_one = np.zeros(len(groups), dtype=bool)
        had_one[group[self.had]] = True
        order = np.lexsort((self.num, had_one[group]))
        order = order[~self.had[order]]
        _, firsts = np.unique(group[order], return_index=True)
        turns = np.concatenate([order[np.sort(firsts)], np.delete(order, firsts)])
        whole = budget(self.n)
        stop = self.left - max(whole // FIRST_SHARE, whole - self.left)
        for x in turns:
            if self.left <= max(stop, 0):
                return
            self.had[x] = True
            others = self.num[(group != group[x]) & ~self.had]
            self.left = max(self.left - len(others), 0)
            yield np.full(len(others), self.num[x]), others


def next_pairs() -> Callable[[Batches], Batches]:
    """(band, key, num, label, had, pairs_left), sorted by band, key, label, num -> ROUND_SCHEMA.

    PAIR: to be compared. STATE: the bucket wants another round. CUT: a = pairs across groups that are left out for good.
    """

    def run(batches: Batches) -> Batches:
        names = ("band", "key", "num", "label", "had", "pairs_left")
        for piece in whole_runs(batches, ("key", "band"), names):
            begins = begins_of([piece["key"], piece["band"]])
            for i, j in zip(begins[:-1], begins[1:]):
                one = {name: values[i:j] for name, values in piece.items()}
                bucket = Bucket(one["num"], one["label"], one["had"].astype(bool), int(one["pairs_left"][0]))
                yield from _round(bucket, one)

    return run


def _round(bucket: Bucket, one: dict[str, Array]) -> Iterator[pa.RecordBatch]:
    band, key, across = int(one["band"][0]), int(one["key"][0]), bucket.across()
    if across == 0:
        return
    if across > bucket.left and bucket.left <= 0:
        yield _with_state(_bucket_rows(CUT, np.array([across]), np.array([0]), band, key), False, 0)
        return
    fits = across <= bucket.left
    pairs = bucket.all_across() if fits else bucket.representatives()
    held: list[tuple[Array, Array]] = []
    for pair in pairs:
        held.append(pair)
        if sum(len(a) for a, _ in held) >= OUT_ROWS:
            yield from _flush(held)
            held = []
    yield from _flush(held)
    if not fits:
        yield _with_state(_bucket_rows(STATE, bucket.num, bucket.num, band, key), bucket.had, bucket.left)


def _flush(held: list[tuple[Array, Array]]) -> Iterator[pa.RecordBatch]:
    if held:
        for batch in _pair_rows(np.concatenate([a for a, _ in held]), np.concatenate([b for _, b in held])):
            yield _with_state(batch, False, 0)


def _with_state(batch: pa.RecordBatch, had: Any, left: int) -> pa.RecordBatch:
    n = batch.num_rows
    more = [pa.array(np.broadcast_to(np.asarray(had, dtype=bool), n)), pa.array(np.full(n, left, dtype=np.int64))]
    return pa.RecordBatch.from_arrays([*batch.columns, *more], names=[*batch.schema.names, "had", "pairs_left"])
