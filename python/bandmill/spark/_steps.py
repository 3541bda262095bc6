# SPDX-License-Identifier: Apache-2.0
"""On the driver: the steps of a job as DataFrames. Nothing of the data comes here but single counts."""

from __future__ import annotations

import contextlib
import math
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from bandmill import Error
from bandmill.spark import _buckets, _compare, _cut
from bandmill.spark._settings import Settings, documents, id_type

TASK_BYTES = 32 << 20  # of sets, about, that a task holds
ONE_CELL_BYTES = TASK_BYTES // 4  # sets of all documents that one task compares by itself
TASK_EDGES = 1 << 21  # edges that one task joins by itself
LEAST_SHARE = 64  # a task has at least so small a part, 1/64, of what it may have, before another is started


def one(df: DataFrame, *counts: Column) -> Any:
    """A row of counts: all that ever comes to the driver."""
    return df.agg(*counts).first()


def settle(df: DataFrame, eager: bool = True) -> DataFrame:
    """Computed once, with no lineage before it: reliably where Spark has a checkpoint directory, else on the executors.

    Not ``eager``: by the first job that reads it, where that costs no second computation.
    """
    try:
        directory = df.sparkSession.sparkContext.getCheckpointDir()
    except Exception:  # a session of Spark Connect has no context here
        directory = None
    return df.checkpoint() if directory else df.localCheckpoint(eager=eager)


def release(df: DataFrame) -> None:
    """Frees what `settle` left on the executors, which else goes with Java's next collection of garbage."""
    with contextlib.suppress(Exception):  # not there in Spark Connect
        df._jdf.queryExecution().analyzed().rdd().unpersist(False)


def joined(big: DataFrame, small: DataFrame, on: str | list[str], how: str = "inner") -> DataFrame:
    """A join by shuffle, never by sending a table to all through the driver."""
    return big.join(small.hint("shuffle_hash"), on, how)


class Job:
    """One job: its DataFrames that are kept while it runs, and its counts."""

    def __init__(self, df: DataFrame, settings: Settings, partitions: int | None, task_edges: int | None) -> None:
        """``partitions``: of each shuffle; None: by the size of what is shuffled."""
        self.settings, self.recipe = settings, settings.recipe
        self.spark = df.sparkSession
        self.task_edges = task_edges or TASK_EDGES
        self._wanted = partitions
        self._kept: list[DataFrame] = []
        self.counts: dict[str, int] = {"not_compared": 0}
        self.parallel = self._parallel()
        self._df = df
        self.seed = 0

    def _parallel(self) -> int:
        try:
            return max(1, int(self.spark.sparkContext.defaultParallelism))
        except Exception:  # Spark Connect
            return max(1, int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1))

    def keep(self, df: DataFrame) -> DataFrame:
        """Held until the job is done."""
        held = settle(df, eager=False)
        self._kept.append(held)
        return held

    def close(self) -> None:
        """Lets go of what was held."""
        for df in self._kept:
            release(df)
        self._kept = []

    def tasks(self, size: float, each: float) -> int:
        """How many tasks so much work is for."""
        return self._wanted or max(math.ceil(size / each), min(self.parallel, math.ceil(size * LEAST_SHARE / each)), 1)

    def all_tasks(self) -> int:
        """Where work is not known by its size."""
        return self._wanted or self.parallel

    # --- documents ---

    def read(self) -> None:
        """Cuts and signs every document; refuses what is none, and repeated ids."""
        base = documents(self._df, self.settings)
        kind = id_type(self._df, self.settings.id).simpleString()
        schema = f"num long, id {kind}, bytes long, text_hash long, n_shingles long, "
        schema += "content binary, keys binary, sets binary, bad string"
        while True:
            numbered = base.select(F.xxhash64("id", F.lit(self.seed)).alias("num"), "id", "text")
            self.signed = self.keep(numbered.mapInArrow(_cut.cut(self.recipe), schema))
            self.docs = self.signed.where("bad is null")
            if self._count() == 0 or self._ids_are_distinct():
                return
            self.close()
            self.seed += 1

    def _count(self) -> int:
        """Counts; the numbers that several documents have."""
        good, unreadable = F.col("bad").isNull(), F.col("content") == F.lit(bytearray(_cut.UNREADABLE))
        empty = (F.col("n_shingles") == 0) & ~unreadable
        names = ("records", "documents", "empty", "unreadable", "shingles")
        of_number = self.signed.groupBy("num").agg(
            F.count("*").alias("records"),
            F.count(F.when(good, 1)).alias("documents"),
            F.count(F.when(good & empty, 1)).alias("empty"),
            F.count(F.when(good & unreadable, 1)).alias("unreadable"),
            F.sum("n_shingles").alias("shingles"),
        )
        sums = [F.sum(name).alias(name) for name in names]
        found = one(of_number, *sums, F.count(F.when(F.col("documents") > 1, 1)).alias("shared"))
        for name in names:
            self.counts[name] = int(found[name] or 0)
        self.counts["skipped"] = self.counts["records"] - self.counts["documents"]
        if self.counts["skipped"]:
            self._refuse_bad(self.counts["skipped"])
        return int(found["shared"])

    def _refuse_bad(self, skipped: int) -> None:
        if self.settings.on_error == "fail":
            bad = self.signed.where("bad is not null").select(F.col("id").cast("string").alias("id"), "bad")
            first = one(bad, F.min(F.struct("id", "bad")).alias("first"))["first"]
            raise Error(f"document {first['id']}: {first['bad']}", "input", field=self.settings.id)
        most = self.settings.max_errors
        if most is not None and skipped > most:
            raise Error(f"{skipped} bad records (at most {most}, max_errors)", "input", field="max_errors")

    def _ids_are_distinct(self) -> bool:
        """False: two ids have the same number, so that another seed is wanted."""
        again = self.docs.groupBy("num").agg(F.count("*").alias("n"), F.min("id").alias("least"), F.max("id").alias("most"))
        same = again.where((F.col("n") > 1) & (F.col("least") == F.col("most")))
        repeated = one(same, F.min("least").alias("id"))["id"]
        if repeated is not None:
            raise Error(f"id {repeated!r} stands in several rows (ids are unique)", "input", field=self.settings.id)
        return False

    def spread(self) -> None:
        """Identical documents become one; the others get their buckets."""
        n = self.tasks(self.counts["documents"], 1 << 18)
        rows = self.docs.where("n_shingles > 0").select("content", "id", "num", "keys")
        rows = rows.repartition(n, "content").sortWithinPartitions("content", "id").select("content", "num", "keys")
        spread = self.keep(rows.mapInArrow(_buckets.spread(self.recipe.bands), _buckets.SPREAD_SCHEMA))
        self.copies = spread.where(F.col("kind") == _buckets.COPY).select("num", F.col("key").alias("rep"))
        self.entries = spread.where(F.col("kind") == _buckets.ENTRY).select("band", "key", "num")

    # --- candidates ---

    def candidates(self, stars: bool) -> DataFrame:
        """Pairs of the first round; ``stars``: of a crowded bucket one document with every other."""
        n = self.tasks(self.counts["documents"] * max(1, self.recipe.bands), 1 << 21)
        rows = self.entries.repartition(n, "key").sortWithinPartitions("key", "band", "num")
        found = self.keep(rows.mapInArrow(_buckets.first_pairs(stars), _buckets.BUCKET_SCHEMA))
        self.n_crowded = int(one(found, F.count(F.when(F.col("kind") == _buckets.STATE, 1)).alias("n"))["n"])
        self.crowded = found.where(F.col("kind") == _buckets.STATE).select(
            "band", "key", F.col("a").alias("num"), F.lit(False).alias("had"), F.lit(-1).cast("long").alias("pairs_left")
        )
        return self.keep(found.where(F.col("kind") == _buckets.PAIR).select("a", "b").distinct())

    def hold_sets(self, pairs: DataFrame) -> None:
        """The sets of documents that are in a pair, by their numbers: what every comparison takes."""
        size = self.counts["documents"] * self.recipe.perms * 4 if self.recipe.words else self.counts["shingles"] * 8
        self._blocks = 1
        if size <= ONE_CELL_BYTES:
            self.sets = self.docs.select("num", "sets")
            return
        wanted = pairs.select(F.col("a").alias("num")).union(pairs.select(F.col("b").alias("num"))).distinct()
        sets = joined(self.docs.select("num", "sets"), wanted, "num", "left_semi")
        self._set_tasks = self.tasks(size, TASK_BYTES)
        self.sets = self.keep(sets.repartition(self._set_tasks, "num"))
        found = one(self.sets, F.sum(F.length("sets")).alias("bytes"))
        self._blocks = self._how_many_blocks(int(found["bytes"] or 0))

    def _how_many_blocks(self, size: int) -> int:
        """So many that a cell of two fits into a task, and that all tasks have some."""
        blocks = max(2, math.ceil(2 * size / TASK_BYTES))
        while blocks * (blocks + 1) // 2 < 4 * self.parallel:
            blocks += 1
        return blocks

    def compare(self, pairs: DataFrame, threshold: float, forest: bool) -> DataFrame:
        """(a, b, similarity) of the pairs that reach the threshold; ``forest``: (num, label), what joins the same documents."""
        sets, celled = self._in_cells(pairs)
        rows = sets.select(
            "cell", F.lit(_compare.SET).alias("kind"), F.col("num").alias("a"), F.col("num").alias("b"), "sets"
        ).union(celled.select("cell", F.lit(_compare.PAIR).alias("kind"), "a", "b", F.lit(None).cast("binary").alias("sets")))
        n = min(self._blocks * (self._blocks + 1) // 2, self.tasks(self._blocks**2, 4))
        rows = rows.repartition(n, "cell").sortWithinPartitions("cell", "kind")
        words = self.recipe.perms if self.recipe.words else 0
        schema = _compare.FOREST_SCHEMA if forest else _compare.COMPARED_SCHEMA
        return rows.mapInArrow(_compare.compare(threshold, words, forest), schema)

    def _in_cells(self, pairs: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The sets (cell, num, sets) and the pairs (cell, a, b) of each cell."""
        if self._blocks == 1:
            zero = F.lit(0).cast("long")
            return self.sets.withColumn("cell", zero), pairs.withColumn("cell", zero)
        blocks = F.lit(self._blocks).cast("long")
        x, y = F.pmod(F.col("a"), blocks), F.pmod(F.col("b"), blocks)
        celled = pairs.select((F.least(x, y) * blocks + F.greatest(x, y)).alias("cell"), "a", "b")
        wanted = celled.select("cell", F.col("a").alias("num")).union(celled.select("cell", F.col("b").alias("num"))).distinct()
        return joined(self.sets, wanted.repartition(self._set_tasks, "num"), "num"), celled

    def edges(self, pairs: DataFrame) -> DataFrame:
        """What joins the documents that pairs join: (num, label)."""
        if self.settings.verify == "none":
            return pairs.select(F.col("b").alias("num"), F.col("a").alias("label"))
        return self.compare(pairs, self.settings.threshold, forest=True)

    def components(self, edges: DataFrame) -> DataFrame:
        """`components` of what `edges` gives, with labels or without."""
        few = self.settings.verify != "none" and self._blocks == 1  # a forest of one task then, and labels, at most
        return components(edges, self.task_edges, 2 * self.counts["documents"] if few else None)

    def crowded_rounds(self, labels: DataFrame) -> DataFrame:
        """Labels after the pairs of crowded buckets that lie across groups."""
        state, n = self.crowded, self.n_crowded
        while n > 0:
            known = joined(state, labels, "num", "left").withColumn("label", F.coalesce("label", "num"))
            rows = known.repartition(self.all_tasks(), "key").sortWithinPartitions("key", "band", "label", "num")
            rows = rows.select("band", "key", "num", "label", "had", "pairs_left")
            found = settle(rows.mapInArrow(_buckets.next_pairs(), _buckets.ROUND_SCHEMA), eager=False)
            kind = F.col("kind")
            counted = one(
                found,
                F.count(F.when(kind == _buckets.PAIR, 1)).alias("pairs"),
                F.count(F.when(kind == _buckets.STATE, 1)).alias("state"),
                F.sum(F.when(kind == _buckets.CUT, F.col("a"))).alias("cut"),
            )
            self.counts["not_compared"] += int(counted["cut"] or 0)
            if counted["pairs"]:
                pairs = found.where(kind == _buckets.PAIR).select("a", "b").distinct()
                labels = self.components(self.edges(pairs).union(labels.where("num <> label")))
            state = found.where(kind == _buckets.STATE).select("band", "key", F.col("a").alias("num"), "had", "pairs_left")
            n = int(counted["state"])
        return labels


def large_star(both: DataFrame, tasks: int) -> DataFrame:
    """Each document hands its larger neighbours to the least that it knows. ``both``: edges in both directions."""
    least = F.least(F.min("label").over(Window.partitionBy("num")), "num")
    found = both.repartition(tasks, "num").withColumn("least", least).where("label > num")
    return found.select(
        F.col("label").alias("num"), F.col("least").alias("label"), (F.col("least") < F.col("num")).alias("moved")
    )


def small_star(edges: DataFrame, tasks: int) -> DataFrame:
    """Each document hands its smaller neighbours, and itself, to the least of them."""
    found = edges.repartition(tasks, "num").withColumn("least", F.min("label").over(Window.partitionBy("num")))
    passed = found.where("label > least").select(
        F.col("label").alias("num"), F.col("least").alias("label"), F.lit(True).alias("moved")
    )
    own = found.select("num", F.col("least").alias("label"), "moved")
    return passed.union(own).groupBy("num", "label").agg(F.max("moved").alias("moved"))


def components(edges: DataFrame, task_edges: int, at_most: int | None = None) -> DataFrame:
    """Edges (num, label) to (num, label) of every document in one; the label is the least number of its component.

    What one task holds, one task joins. While there is more, each task first joins what it has; then large star and small star
    (Kiveris and others, Connected Components in MapReduce and Beyond, 2014) follow in turns, until neither moves an edge.
    ``at_most``: edges, where that is known.
    """
    if at_most is None or at_most > task_edges:
        edges = settle(edges, eager=False)
        n = edges.count()
        while n > task_edges:
            tasks = math.ceil(n / task_edges)
            both = edges.mapInArrow(_compare.join("num", "label", also="back"), _compare.FOREST_SCHEMA)
            moved = settle(small_star(large_star(both, tasks), tasks), eager=False)
            counted = one(moved, F.count("*").alias("n"), F.count(F.when(F.col("moved"), 1)).alias("moved"))
            n, edges = int(counted["n"]), moved.select("num", "label")
            if counted["moved"] == 0:
                return edges.union(edges.select("label", "label").distinct())
            edges = edges.repartition(tasks, "label")
    whole = _compare.join("num", "label", also="roots")
    return settle(edges.repartition(1).mapInArrow(whole, _compare.FOREST_SCHEMA), eager=False)
