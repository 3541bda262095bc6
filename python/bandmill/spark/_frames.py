# SPDX-License-Identifier: Apache-2.0
"""The calls: DataFrames to DataFrames."""

from __future__ import annotations

import logging
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

import bandmill
from bandmill import Error
from bandmill._keywords import Names
from bandmill.spark import _compare, _cut
from bandmill.spark._settings import Settings, check, documents, id_type
from bandmill.spark._steps import Job, components, joined, one, settle

LOG = logging.getLogger("bandmill")
GROUPED = ("num", "rep", "label")


def sign(df: DataFrame, text: Names = "text", id: str | None = None, **options: Any) -> DataFrame:
    """Signatures: id, signature (array of K words, 0 to 2^32 - 1), n_shingles, and with ``bands`` and ``rows`` band_keys.

    Options as in `bandmill.sign`. Band keys are 64 bits without a sign; a BIGINT of Spark's has the same bits. A row with a
    null id, or a text longer than ``max_doc_bytes``, ends the task, or is left out with on_error="skip". Repeated ids are
    looked for at once, which reads the column of ids; all else is done when the result is asked for.

    Returns a DataFrame. Raises bandmill.Error before a job is started.
    """
    settings = check(df, bandmill.sign, {"text": text, "id": id, **options})
    base = documents(df, settings)
    _refuse_repeats(base, settings)
    kind = id_type(df, settings.id).simpleString()
    keys = ", band_keys array<bigint>" if settings.recipe.bands else ""
    return base.mapInArrow(_cut.sign(settings.recipe), f"id {kind}, signature array<bigint>, n_shingles long{keys}")


def _refuse_repeats(base: DataFrame, settings: Settings) -> None:
    again = base.where("id is not null").groupBy("id").count().where("count > 1")
    repeated = one(again, F.min("id").alias("id"))["id"]
    if repeated is not None:
        raise Error(f"id {repeated!r} stands in several rows (ids are unique)", "input", field=settings.id)


def pairs(
    df: DataFrame,
    text: Names = "text",
    id: str | None = None,
    *,
    identical: str = "all",
    partitions: int | None = None,
    report: dict[str, Any] | None = None,
    **options: Any,
) -> DataFrame:
    """Pairs of near-duplicates: id_a, id_b (the smaller id first), jaccard. Options as in `bandmill.pairs`.

    ``partitions``: of each shuffle, instead of what the sizes ask for. ``report``: a dict that counts are put into.

    Returns a DataFrame that is computed. Raises bandmill.Error, of options before a job is started.
    """
    settings = check(df, bandmill.pairs, {"text": text, "id": id, "identical": identical, **options})
    if options.get("candidates", "lsh") != "lsh":
        raise Error(f"candidates {options['candidates']!r} is not for a job of Spark's (lsh)", field="candidates")
    job = Job(df, settings, partitions, None)
    try:
        job.read()
        job.spread()
        near = job.candidates(stars=False)
        if settings.verify == "none":
            near = near.withColumn("similarity", F.lit(None).cast("double"))
        else:
            job.hold_sets(near)
            near = job.compare(near, settings.threshold, forest=False)
        ids = job.docs.select("num", "id")
        return settle(_named(_with_copies(near, job.copies, identical), ids))
    finally:
        if report is not None:
            report.update(job.counts)
        job.close()


def _with_copies(near: DataFrame, copies: DataFrame, identical: str) -> DataFrame:
    """(a, b, similarity) with the pairs of identical documents."""
    if identical == "chain":
        found = copies.where("num <> rep").select(F.col("rep").alias("a"), F.col("num").alias("b"))
        return near.union(found.withColumn("similarity", F.lit(1.0)))
    x, y = copies.alias("x"), copies.alias("y")
    among = x.join(y.hint("shuffle_hash"), (F.col("x.rep") == F.col("y.rep")) & (F.col("x.num") < F.col("y.num")))
    found = among.select(F.col("x.num").alias("a"), F.col("y.num").alias("b"), F.lit(1.0).alias("similarity"))
    for end in ("a", "b"):
        member = copies.select(F.col("rep").alias(end), F.col("num").alias("member"))
        near = joined(near, member, end, "left").withColumn(end, F.coalesce("member", end)).drop("member")
    return near.select("a", "b", "similarity").union(found)


def _named(found: DataFrame, ids: DataFrame) -> DataFrame:
    """Ids in place of numbers, the smaller first."""
    for end in ("a", "b"):
        found = found.join(ids.select(F.col("num").alias(end), F.col("id").alias(f"id_{end}")).hint("merge"), end)
    x, y = F.least("id_a", "id_b"), F.greatest("id_a", "id_b")
    return found.select(x.alias("id_a"), y.alias("id_b"), F.col("similarity").alias("jaccard"))


def dedup(
    df: DataFrame,
    text: Names = "text",
    id: str | None = None,
    *,
    cluster: str = "components",
    keep: str = "first",
    partitions: int | None = None,
    report: dict[str, Any] | None = None,
    _task_edges: int | None = None,
    **options: Any,
) -> DataFrame:
    """Near-duplicates, grouped: one row for each document of a group of two or more.

    id; group, numbered from 1 in the order of the groups' first ids; kept, true for the one that stays; jaccard, its similarity
    to that one (null where it is not known, under verify="none"); reason, why it goes: identical (the text of the kept one),
    equal (its shingles, another text), near, or chained (below the threshold to the kept one). Options as in `bandmill.dedup`;
    order is by id. ``partitions``: of each shuffle, instead of what the sizes ask for. ``report``: a dict that counts are put
    into.

    Returns a DataFrame that is computed. Raises bandmill.Error, of options before a job is started.
    """
    settings = check(df, bandmill.dedup, {"text": text, "id": id, "cluster": cluster, "keep": keep, **options})
    if keep not in ("first", "last", "longest", "shortest"):
        raise Error(f"keep {keep!r} is not for a job of Spark's (first, last, longest or shortest)", field="keep")
    job = Job(df, settings, partitions, _task_edges)
    try:
        found = _dedup(job, cluster, keep)
        if job.counts["not_compared"]:
            LOG.warning("%d pairs of crowded buckets were not compared", job.counts["not_compared"])
        return found
    finally:
        if report is not None:
            report.update(job.counts)
        job.close()


def _dedup(job: Job, cluster: str, keep: str) -> DataFrame:
    job.read()
    job.spread()
    near = job.candidates(stars=cluster != "star")
    verified = job.settings.verify != "none"
    if verified:
        job.hold_sets(near)
    ids = job.docs.select("num", "id", "bytes", "text_hash")
    labels = _stars(job, near, ids, keep) if cluster == "star" else job.crowded_rounds(job.components(job.edges(near)))
    members = job.keep(_kept(_members(labels, job.copies), ids, keep))
    counted = one(
        members,
        F.count("*").alias("members"),
        F.count(F.when(F.col("stays"), 1)).alias("groups"),
        *(F.count(F.when(_copy(reason), 1)).alias(f"removed_{reason}") for reason in ("identical", "equal")),
    )
    job.counts["groups"] = int(counted["groups"])
    job.counts["removed"] = int(counted["members"]) - job.counts["groups"]
    for name in ("removed_identical", "removed_equal"):
        job.counts[name] = int(counted[name])
    known = _compared(job, members) if verified else members.withColumn("similarity", _certain())
    numbered = joined(known, _numbered(job, members), "label")
    columns = ("id", F.col("group"), F.col("stays").alias("kept"), F.col("similarity").alias("jaccard"))
    return settle(numbered.select(*columns, _reason(job.settings.threshold).alias("reason")))


def _copy(reason: str) -> Column:
    """Whether a member goes as a copy of the kept one, "identical" or "equal"."""
    same = F.col("same_text") if reason == "identical" else ~F.col("same_text")
    return ~F.col("stays") & (F.col("rep") == F.col("kept_rep")) & same


def _reason(threshold: float) -> Column:
    """Why a member goes; null: it stays."""
    copies = F.when(F.col("stays"), None).when(_copy("identical"), "identical").when(_copy("equal"), "equal")
    return copies.when(F.col("similarity") < threshold, "chained").otherwise("near")


def _preference(keep: str) -> Column:
    """Sorts first who is kept."""
    size = {"longest": -F.col("bytes"), "shortest": F.col("bytes")}.get(keep, F.lit(0).cast("long"))
    return size.alias("size")


def _members(labels: DataFrame, copies: DataFrame) -> DataFrame:
    """(num, rep, label) of every document in a group of two or more: those in an edge, their copies, and copies alone."""
    near = labels.select(F.col("num").alias("rep"), "label")
    whole = joined(copies, near, "rep", "full")
    return whole.select(F.coalesce("num", "rep").alias("num"), "rep", F.coalesce("label", "rep").alias("label"))


def _kept(members: DataFrame, ids: DataFrame, keep: str) -> DataFrame:
    """Members with their ids, the first id of their group, and who is kept of it."""
    named = joined(ids, members, "num")
    whole = Window.partitionBy("label")
    order = F.struct(_preference(keep), F.col("id"), F.col("num"), F.col("rep"), F.col("text_hash"))
    best = (F.max(order) if keep == "last" else F.min(order)).over(whole)
    found = (
        named.withColumn("first", F.min("id").over(whole)).withColumn("best", best).withColumn("size", F.count("*").over(whole))
    )
    return found.where("size > 1").select(
        "num",
        "rep",
        "label",
        "id",
        "first",
        (F.col("best.num") == F.col("num")).alias("stays"),
        F.col("best.rep").alias("kept_rep"),
        (F.col("best.text_hash") == F.col("text_hash")).alias("same_text"),
    )


def _certain() -> Column:
    """The similarity that needs no comparison; else null."""
    return F.when(F.col("rep") == F.col("kept_rep"), 1.0)


def _compared(job: Job, members: DataFrame) -> DataFrame:
    """Members with their similarity to the one that is kept."""
    asked = members.where("rep <> kept_rep").select(F.col("rep").alias("a"), F.col("kept_rep").alias("b")).distinct()
    found = job.compare(asked, 0.0, forest=False).select(F.col("a").alias("rep"), F.col("b").alias("kept_rep"), "similarity")
    return joined(members, found, ["rep", "kept_rep"], "left").withColumn("similarity", F.coalesce("similarity", _certain()))


def _numbered(job: Job, members: DataFrame) -> DataFrame:
    """(label, group): groups numbered from 1 in the order of their first ids."""
    groups = members.where("stays").select("label", "first")
    place = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1))
    if job.counts["groups"] <= job.task_edges:
        return groups.repartition(1).sortWithinPartitions("first").select("label", (place + 1).alias("group"))
    parts = groups.repartitionByRange(job.all_tasks(), "first").sortWithinPartitions("first")
    ranked = settle(parts.withColumn("part", F.spark_partition_id()).withColumn("place", place))
    sizes = ranked.groupBy("part").agg(F.count("*").alias("n"))
    before = Window.orderBy("part").rowsBetween(Window.unboundedPreceding, -1)
    begins = sizes.select("part", F.coalesce(F.sum("n").over(before), F.lit(0)).alias("begin"))
    return joined(ranked, begins, "part").select("label", (F.col("begin") + F.col("place") + 1).alias("group"))


def _stars(job: Job, near: DataFrame, ids: DataFrame, keep: str) -> DataFrame:
    """(num, label): each component's documents take their turns in one task; a label is a star's centre."""
    if job.settings.verify == "none":
        found = near.select("a", "b")
    else:
        found = settle(job.compare(near, job.settings.threshold, forest=False)).select("a", "b")
    labels = components(found.select(F.col("b").alias("num"), F.col("a").alias("label")), job.task_edges)
    edges = joined(found.withColumn("num", F.col("a")), labels, "num").select("label", F.lit(1).alias("kind"), "a", "b")
    # A document's turn is that of the one that would be kept of it and its copies.
    whole = joined(labels.select(F.col("num").alias("rep")), job.copies, "rep", "left").withColumn(
        "num", F.coalesce("num", "rep")
    )
    order = F.struct(_preference(keep), "id")
    best = joined(ids, whole, "num").groupBy("rep").agg((F.max(order) if keep == "last" else F.min(order)).alias("best"))
    turns = joined(labels, best.withColumnRenamed("rep", "num"), "num")
    docs = turns.select("label", F.lit(0).alias("kind"), F.col("num").alias("a"), F.col("num").alias("b"), "best")
    edges = edges.withColumn("best", F.lit(None).cast(docs.schema["best"].dataType))
    down = F.col("best").desc() if keep == "last" else F.col("best").asc()
    rows = docs.unionByName(edges).repartition(job.all_tasks(), "label").sortWithinPartitions("label", "kind", down)
    return settle(rows.select("label", "kind", "a", "b").mapInArrow(_compare.stars, _compare.FOREST_SCHEMA))
