# SPDX-License-Identifier: Apache-2.0
"""The calls of bandmill.spark, from DataFrames to DataFrames."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

import bandmill
from bandmill import Error
from bandmill._kinds import Names
from bandmill.spark import _tasks
from bandmill.spark._progress import shown, wanted
from bandmill.spark._settings import INTEGERS, Settings, check, documents, id_type, sign_recipe
from bandmill.spark._sign import sign as sign_batches

LOG = logging.getLogger("bandmill")
FOREST_BYTES = 320_000_000  # most bytes of forests that the driver joins, 16 for an edge; if there are more, a task does it
FEW_PARTS = 16  # with at most this many parts, forests are not persisted; if a task joins them, they are made again
BROADCAST_DOCS = 4_000_000  # most candidates whose labels are sent to all executors; if there are more, a shuffle joins them
TASK_DOCS = 50_000  # candidates that a task compares; also candidates of a range of ids, whose groups a task numbers
MOST_RANGES = 1 << 12


def sign(df: DataFrame, text: Names = "text", id: str | None = None, **options: Any) -> DataFrame:
    """Sign documents. Returns a DataFrame of id, signature (array of K words, 0 to 2^32 - 1), n_shingles and, if ``bands`` and
    ``rows`` are given, band_keys.

    Options are as in `bandmill.sign`. A band key has 64 bits without a sign; Spark's BIGINT has the same bits. If a row has a
    null id, or a text that is longer than ``max_doc_bytes`` or has bytes that the options refuse, the task fails; with
    on_error="skip" the row is left out. This call itself reads the ids and looks for repeated ones. Everything else is done
    when rows of the result are needed.

    Raises bandmill.Error: an option is wrong, or an id is in several rows.
    """
    settings, recipe = sign_recipe(df, {"text": text, "id": id, **options})
    base = documents(df, settings.columns)
    again = base.where("id is not null").groupBy("id").count().where("count > 1")
    found: Any = again.agg(F.min("id").alias("id")).first()
    repeated = found["id"]
    if repeated is not None:
        raise Error(f"id {repeated!r} stands in several rows (ids are unique)", "input", field=settings.columns.id)
    kind = id_type(df, settings.columns.id).simpleString()
    keys = ", band_keys array<bigint>" if recipe.bands else ""
    return base.mapInArrow(sign_batches(recipe), f"id {kind}, signature array<bigint>, n_shingles long{keys}")


def pairs(
    df: DataFrame,
    text: Names = "text",
    id: str | None = None,
    *,
    identical: str = "all",
    partitions: int | None = None,
    report: dict[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> DataFrame:
    """Find pairs of near-duplicates. Returns a DataFrame of id_a, id_b (the smaller id first), jaccard.

    Options are as in `bandmill.pairs`. ``partitions``: into how many parts keys are divided (spark.sql.shuffle.partitions).
    ``report``: a dict, to which counts are added. ``progress``: print lines to standard error; None: only in a shell or
    notebook. This call itself finds the candidates. They are compared when rows of the result are needed.

    Raises bandmill.Error; if an option is wrong, before a job is started.
    """
    settings = check(df, bandmill.pairs, {"text": text, "id": id, "identical": identical, **options}, partitions)
    job = Job(df, settings, shown=wanted(progress))
    with job.errors():
        job.find()
    if report is not None:
        report.update(job.counts())
    schema = f"id_a {job.kind}, id_b {job.kind}, jaccard double"
    assert job.found is not None
    return job.candidates().mapInArrow(_tasks.pairs(settings.plan, job.found.sizes, {"identical": identical}), schema)


def dedup(
    df: DataFrame,
    text: Names = "text",
    id: str | None = None,
    *,
    cluster: str = "components",
    keep: str = "first",
    against: DataFrame | None = None,
    against_text: Names | None = None,
    against_id: str | None = None,
    partitions: int | None = None,
    report: dict[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> DataFrame:
    """Group near-duplicates. Returns a DataFrame with a row for each document of a group of two or more:

        id       id of the document
        group    number of the group, from 1, in the order of the groups' first ids
        kept     true for the document that is kept
        jaccard  similarity to the kept document; null: not known (verify="none")
        reason   why the document is removed: identical (it has the text of the kept document), equal (its shingles, but another
                 text), near, or chained (it does not reach the threshold with the kept document)

    ``against``: a DataFrame of known documents; ``against_text``, ``against_id``: its columns. In a group with known documents,
    all other documents are removed. The reason is then known or chained, a further column ``known`` has the id of the known
    document, and jaccard is the similarity to it.

    Other options are as in `bandmill.dedup`; documents are ordered by id. ``partitions``: into how many parts keys are divided
    (spark.sql.shuffle.partitions). ``report``: a dict, to which counts are added. ``progress``: print lines to standard error;
    None: only in a shell or notebook.

    The DataFrame is computed and persisted; its unpersist() frees it. Raises bandmill.Error; if an option is wrong, before a
    job is started.
    """
    given = {"text": text, "id": id, "cluster": cluster, "keep": keep, **options}
    if against is None and (against_text is not None or against_id is not None):
        field = "against_text" if against_text is not None else "against_id"
        raise Error(f"{field} is for against=", field=field)
    given.update(against_text=against_text, against_id=against_id)
    settings = check(df, bandmill.dedup, given, partitions, against)
    job = Job(df, settings, against, wanted(progress))
    with job.errors():
        job.find()
        found, counts = _numbered(job)
    counts = {**job.counts(), **counts}
    if counts["not_compared"]:
        LOG.warning("%d pairs of crowded buckets were not compared", counts["not_compared"])
    if report is not None:
        report.update(counts)
    return found


@dataclass(frozen=True)
class Found:
    """The candidates, and facts about them that the driver needs."""

    labels: DataFrame  # columns id_hash, task
    sieve: DataFrame | None  # one row, which most documents that are no candidates do not pass; None: labels are broadcast
    counts: dict[str, int]  # counts of all documents
    sizes: list[int]  # number of documents of each task
    ids: pa.Array  # some of the ids of all documents, sorted

    @property
    def n(self) -> int:
        """Return the number of candidates."""
        return sum(self.sizes)

    def cuts(self) -> pa.Array:
        """Return the first ids of ranges of ids, without that of the first range. A range has about TASK_DOCS candidates."""
        n = min(MOST_RANGES, -(-self.n // TASK_DOCS))
        at = np.arange(1, n) * len(self.ids) // max(n, 1)
        return self.ids.take(pa.array(at)).unique()


class Job:
    """The work of a call in two Spark jobs. The first finds candidates, the second compares them."""

    def __init__(self, df: DataFrame, settings: Settings, against: DataFrame | None = None, shown: bool = False) -> None:
        """Prepare the jobs without reading rows. ``shown``: print lines of progress."""
        self._shown = shown
        self.settings, self.plan = settings, settings.plan
        self.spark = df.sparkSession
        self.kind = id_type(df, settings.columns.id).simpleString()
        self._documents = documents(df, settings.columns)
        self._known: DataFrame | None = None
        self.held: list[DataFrame] = []
        self.known_kind, self._n_known = self.kind, Observation()
        if against is not None and settings.known is not None:
            self.known_kind = id_type(against, settings.known.id).simpleString()
            counted = documents(against, settings.known)
            self._known = counted
        self.found: Found | None = None

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """If a Spark job fails because of an Error in a task, raise this Error. Its field is the caller's name of a column."""
        try:
            yield
        except Error:
            raise
        except Exception as e:
            told = re.search("(.*?)".join(map(re.escape, _tasks.MARKS)), str(e))
            if told is None:
                raise
            message, status, field = json.loads(told[1])
            raise Error(message, status, field=field and self._own_name(field)) from None

    def _own_name(self, field: str) -> str:
        columns = self.settings.columns
        return {"id": columns.id, "text": columns.text[0]}.get(field, field)

    @contextlib.contextmanager
    def described(self, what: str) -> Iterator[list[str]]:
        """Give the Spark jobs in a with-statement this description. Spark Connect has no descriptions.

        Yields a list. If the caller puts a text into it, the text is shown at the end as a line of progress.
        """
        context, before = None, None
        with contextlib.suppress(Exception):
            context = self.spark.sparkContext
            before = context.getLocalProperty("spark.job.description")
            context.setJobDescription(what)
        try:
            with shown(context, what, self._shown) as said:
                yield said
        finally:
            if context is not None:
                context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    def find(self) -> None:
        """Do the first job: find out which documents are candidates."""
        parts = self.plan.parts
        salts = _tasks.salts(parts)
        schema = f"part int, block binary, id {self.kind}"
        rows = self._documents.select("id", "text").mapInArrow(_tasks.split(self.plan, salts), schema)
        if self._known is not None:
            known = self._known.observe(self._n_known, F.count(F.lit(1)).alias("documents"))
            rows = rows.unionAll(known.mapInArrow(_tasks.split(self.plan, salts, known=True), schema))
        forests = rows.repartition(parts, "part").mapInArrow(_tasks.forests, f"block binary, bytes long, id {self.kind}")
        if parts > FEW_PARTS:
            self.held.append(forests.persist())
        few = F.when(F.col("bytes") <= FOREST_BYTES // parts, F.col("block")).alias("block")
        with self.described("bandmill: sign") as said:
            rows = forests.select(few, "bytes", "id").toArrow()
            ids = rows.column("id").drop_null().combine_chunks()
            ids = ids.take(pc.array_sort_indices(ids))
            if rows.column("block").null_count == len(ids):
                task_docs, batches = self._task_docs(int(rows.nbytes)), rows.select(["block"]).to_batches()
                del rows
                batches.reverse()
                # so that each forest is freed after it was added
                blocks = (batch.filter(batch["block"].is_valid()) for batch in (batches.pop() for _ in range(len(batches))))
                found = self.plan.components(blocks, task_docs)
                labels, sieve = self.spark.createDataFrame(_tasks.label_table(found)), None
                if len(found.id_hashes) > BROADCAST_DOCS:
                    sieve = self.spark.createDataFrame(pa.table({"sieve": _tasks.sieve(found.id_hashes)}))
                self.found = Found(labels, sieve, found.counts, _tasks.task_sizes(found), ids)
            else:
                del rows
                self.found = self._found_by_a_task(forests, self._task_docs(FOREST_BYTES), ids)
            n_tasks = len(self.found.sizes)
            said.append(f"{self.found.counts['documents']:,} documents, {self.found.n:,} candidates for {n_tasks:,} tasks")
        if parts > FEW_PARTS:
            self.held.pop(0).unpersist()

    def _found_by_a_task(self, forests: DataFrame, task_docs: int, ids: pa.Array) -> Found:
        """Join the forests and make the labels in a task. The driver gets only counts and sizes."""
        blocks = forests.where("block is not null").select("block").repartition(1)
        rows = blocks.mapInArrow(_tasks.labels(self.plan, task_docs, BROADCAST_DOCS), _tasks.LABEL_SCHEMA)
        self.held.append(rows.persist())
        (about,) = rows.where("about is not null").select("about").collect()
        counts, sizes = pickle.loads(about["about"])
        labels = rows.where("about is null").select("id_hash", "task")
        sieve = rows.where("about is not null").select("sieve") if sum(sizes) > BROADCAST_DOCS else None
        return Found(labels, sieve, counts, sizes, ids)

    def _task_docs(self, forest_bytes: int) -> int:
        """Return about how many documents a task gets: so few that every task of a shuffle has some, but 1,000 to TASK_DOCS."""
        return max(1000, min(TASK_DOCS, math.ceil(forest_bytes / 16 / self.plan.parts)))

    def free(self) -> None:
        """Free the DataFrames that this job persisted."""
        for rows in self.held:
            rows.unpersist()
        self.held.clear()

    def counts(self) -> dict[str, int]:
        """Return the counts of the first job, over all documents."""
        assert self.found is not None
        counts = {**self.found.counts, "records": self.found.counts["documents"] + self.found.counts["skipped"]}
        return counts if self._known is None else {**counts, "against": int(self._n_known.get["documents"])}

    def candidates(self) -> DataFrame:
        """Return the rows for the second job: the candidates, with all candidates of a task in one partition."""
        assert self.found is not None
        found = self.found

        def labelled(rows: DataFrame, kind: str, known: bool) -> DataFrame:
            hashed = F.xxhash64(F.col("id").cast("bigint") if kind in INTEGERS else F.col("id"))
            id_hash = hashed.bitwiseOR(F.lit(1)) if known else hashed.bitwiseAND(F.lit(-2))
            named = rows.where("id is not null").withColumn("id_hash", id_hash)
            if found.sieve is None:
                return named.join(F.broadcast(found.labels), "id_hash").drop("id_hash")
            # Without the sieve, the shuffle would move the texts of all documents.
            named = named.join(F.broadcast(found.sieve), _passes(F.col("id_hash"), F.col("sieve"), found.n)).drop("sieve")
            return named.join(found.labels.hint("shuffle_hash"), "id_hash").drop("id_hash")

        chosen = labelled(self._documents, self.kind, known=False)
        if self._known is not None:
            others = labelled(self._known, self.known_kind, known=True).withColumnRenamed("id", "known")
            chosen = chosen.unionByName(others, allowMissingColumns=True)
        fields = "".join(f", `{f.name}` {f.dataType.simpleString()}" for f in chosen.schema.fields)[2:]
        return chosen.mapInArrow(_tasks.thin, f"{fields}, digest binary").repartition(len(found.sizes), "task")


def _passes(id_hash: Column, sieve: Column, n: int) -> Column:
    """Does a hash pass the sieve of n hashes?"""
    found = F.lit(True)
    for shift in _tasks.SIEVE_SHIFTS:
        place = F.shiftrightunsigned(id_hash, shift).bitwiseAND(F.lit(_tasks.sieve_bits(n) - 1).cast("bigint"))
        word = F.get(sieve, F.shiftright(place, 6).cast("int"))
        found = found & (F.getbit(word, place.bitwiseAND(F.lit(63).cast("bigint")).cast("int")) == 1)
    return found


def _numbered(job: Job) -> tuple[DataFrame, dict[str, int]]:
    """Run the second job of `dedup`. Returns the members of groups with the numbers of their groups, and the counts."""
    assert job.found is not None
    known = f", known {job.known_kind}" if job.settings.known is not None else ""
    member = f"kept boolean, jaccard double, reason string{known}"
    seen = Observation()
    cuts = job.found.cuts()
    counted = job.candidates().mapInArrow(
        _tasks.dedup(job.plan, job.found.sizes, cuts),
        f"first {job.kind}, id {job.kind}, {member}, range int, counts array<long>",
    )
    sums = {name: F.sum(F.get("counts", F.lit(i))) for i, name in enumerate(_tasks.COUNTS)}
    counted = counted.observe(seen, *(F.coalesce(n, F.lit(0)).alias(name) for name, n in sums.items()))
    # The rows with counts pass this exchange too. Without any rows, adaptive execution would remove the exchange from the plan,
    # and the observed counts with it.
    members = counted.drop("counts").repartition(len(cuts) + 1, "range").sortWithinPartitions("first", "id")
    offsets: dict[int, int] = {}
    out_schema = f"id {job.kind}, group long, {member}"
    with job.described("bandmill: compare") as said:
        if len(cuts):
            members = members.persist()
            job.held.append(members)
            sizes = members.select("first", "id").mapInArrow(_tasks.count_groups, "part int, n long").toArrow()
            order = np.argsort(np.asarray(sizes["part"]))
            part, n = (np.asarray(sizes[name])[order] for name in ("part", "n"))
            offsets = dict(zip(part.tolist(), (np.cumsum(n) - n).tolist()))
        found = members.mapInArrow(_tasks.number(offsets), out_schema).persist()
        found.where("group < 1").collect()  # no rows; takes fewer jobs than count()
        counts = {name: int(n) for name, n in seen.get.items()} if job.found.n else dict.fromkeys(_tasks.COUNTS, 0)
        said.append(f"{counts['groups']:,} groups, {counts['removed']:,} documents removed")
    job.free()
    return found, counts
