# SPDX-License-Identifier: Apache-2.0
"""The options on the driver. The library itself checks them before any Spark job is started."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

import bandmill
from bandmill import Error
from bandmill._native import lib
from bandmill._options import OF_RECORDS, fill_preset, word
from bandmill.distributed import ABSENT, Plan, refuse_numbers
from bandmill.spark._sign import Recipe

MOST_PARTS = 1 << 16
INTEGERS = ("tinyint", "smallint", "int", "bigint")
UNKNOWN_BYTES = 1 << 50  # if Spark does not know the size of an RDD, it reports more
PART_BYTES = 1 << 22, 1 << 26  # least and most bytes of a part, of files that are mostly compressed
_OF_PAIRS = ("measure", "identical", "edit")  # of these, `edit` and a measure other than the default are refused
_ABSENT = {
    **ABSENT,
    "measure": "pairs of documents that share a band",
    "edit": "texts stay with their tasks",
    "sample": "df.sample draws documents",
    **dict.fromkeys(("histogram", "histogram_svg"), "no file is written"),
    "temp_dir": "files are where Spark has its own",
}
del _ABSENT["candidates"]  # lsh exists here


@dataclass(frozen=True)
class Columns:
    """The columns of a DataFrame that are read."""

    text: tuple[str, ...]
    id: str
    fields: tuple[str, ...] = ()  # further columns, which keep= reads


@dataclass(frozen=True)
class Settings:
    """Which columns are read, and how documents are compared."""

    columns: Columns
    plan: Plan
    known: Columns | None = None  # columns of the known documents; None: there are none


def check(df: DataFrame, call: Any, k: dict[str, Any], parts: int | None, against: DataFrame | None = None) -> Settings:
    """Check the options of ``call`` (bandmill.dedup or pairs), and make a plan. Raises Error. No job is started."""
    known = None
    if against is not None:
        known = _known(against, k)
    k = {name: value for name, value in k.items() if name not in ("against_text", "against_id")}
    text, id, given = given_of(df, call, k)
    fields = _keep_fields(df, str(given.get("keep") or ""), {*text, id})
    if call is bandmill.pairs:
        own = {name: given.pop(name) for name in _OF_PAIRS if name in given}
        bandmill.pairs(no_rows(df, [*text, id]), list(text), id, device="cpu", **{**given, **own})
    like = no_rows(df, [*text, id, *fields])
    # This plan only checks the caller's columns. The plan below reads the columns that `documents` returns.
    Plan(list(text), id, parts=1, like=like, known=known is not None, **given)
    columns = {"id": _kind(like, id), "text": pa.binary(), **{name: like.schema.field(name).type for name in fields}}
    plan = Plan(
        "text",
        "id",
        parts=parts or _parts(df.select(F.col(id), *map(F.col, text))),
        like=pa.schema(columns).empty_table(),
        known=known is not None,
        **given,
    )
    return Settings(Columns(text, id, fields), plan, known)


def _known(df: DataFrame, k: dict[str, Any]) -> Columns:
    """Return the columns of known documents, and check them. By default they have the names of the other documents' columns."""
    if not hasattr(df, "mapInArrow"):
        raise Error(f"against of type {type(df).__name__} (a DataFrame of Spark's)", field="against")
    names = k.get("against_text") or k["text"]
    text = (names,) if isinstance(names, str) else tuple(names)
    id = k.get("against_id") or k.get("id") or "id"
    try:
        bandmill.sign(no_rows(df, [*text, id]), list(text), id, device="cpu")
    except Error as e:
        raise Error(f"against: {e}", e.status, field="against") from None
    return Columns(text, id)


def given_of(
    df: DataFrame, call: Any, k: dict[str, Any], absent: dict[str, str] | None = None
) -> tuple[tuple[str, ...], str, dict[str, Any]]:
    """Return the columns of text and id, and the options that were given. ``absent``: further options that are refused, and the
    reasons. Raises Error or, for an unknown keyword, TypeError.
    """
    absent = {**_ABSENT, **(absent or {})}
    if not hasattr(df, "mapInArrow"):
        raise Error(f"data of type {type(df).__name__} (a DataFrame of Spark's)", field="data")
    known = inspect.signature(call).parameters
    given = {name: value for name, value in k.items() if name not in ("text", "id") and value is not None}
    for name in given:
        if name in absent:
            raise Error(f"{name} is not for a job of Spark's ({absent[name]})", field=name)
        if name not in known:
            raise TypeError(f"bandmill.spark.{call.__name__}() got an unexpected keyword argument {name!r}")
    if given.pop("candidates", "lsh") != "lsh":
        raise Error(f"candidates {k['candidates']!r} is not for a job of Spark's (lsh)", field="candidates")
    refuse_numbers(given)
    text = k["text"]
    names = (text,) if isinstance(text, str) else tuple(text)
    return names, _id_of(df, k["id"]), given


def sign_recipe(df: DataFrame, k: dict[str, Any]) -> tuple[Settings, Recipe]:
    """Check the options of `sign`, and make its settings and recipe. There are only bands if the caller requested them."""
    if k.get("memory") is not None:
        raise Error("memory is not for signatures of Spark's (a batch at a time is in memory)", field="memory")
    text, id, given = given_of(df, bandmill.sign, k)
    scheme = word(lib.BM_OPTION_SCHEME, k["scheme"], "scheme") if k.get("scheme") is not None else lib.BM_SCHEME_AFFINE32
    if lib.bm_scheme_value_bytes(scheme) != 4:
        raise Error(f"words of scheme {k['scheme']!r} have 64 bits (a job of Spark's has 32)", field="scheme")
    given.setdefault("device", "cpu")
    signed = bandmill.sign(no_rows(df, [*text, id]), list(text), id, **given)
    plan = Plan("text", "id", parts=1, **{x: v for x, v in given.items() if x not in ("shard", "bands", "rows")})
    own = {x: given.get(x) for x in (*TEXT, "preset")}
    fill_preset(own)
    recipe = Recipe(
        options={x: own[x] for x in TEXT if own[x] is not None},
        stopwords=plan.stopwords,
        perms=int(signed.signatures.shape[1]),
        bands=int(k.get("bands") or 0),
        rows=int(k.get("rows") or 0),
        records={x: given[x] for x in OF_RECORDS if x in given},
    )
    return Settings(Columns(text, id), plan), recipe


TEXT = ("shingle", "words", "normalize", "short", "stopwords", "bag", "hash", "seed", "scheme", "device", "cpu")


def _parts(df: DataFrame) -> int:
    """Return spark.sql.shuffle.partitions. If Spark knows the number of bytes, adjust it so that parts have PART_BYTES."""
    wanted, most = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1), MOST_PARTS
    try:
        size = int(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    except AttributeError:  # Spark Connect has no such numbers
        size = UNKNOWN_BYTES
    if size < UNKNOWN_BYTES:
        least, most = (max(1, -(-size // each)) for each in reversed(PART_BYTES))
        wanted = max(wanted, least)
    return max(1, min(MOST_PARTS, most, wanted))


def _id_of(df: DataFrame, given: str | None) -> str:
    """Return the name of the column of ids. Raises Error if there is none: rows of a DataFrame have no numbers instead."""
    if given is None and "id" not in df.columns:
        raise Error("no column of ids (id=; rows of a DataFrame have no numbers)", field="id")
    if given == "none":
        raise Error("id 'none' (rows of a DataFrame have no numbers)", field="id")
    return given or "id"


def _keep_fields(df: DataFrame, keep: str, others: set[str]) -> tuple[str, ...]:
    """Return the columns that the rules of keep= name."""
    names = {name for rule in keep.split(",") for name in df.columns if name == rule.partition(":")[2].strip()}
    return tuple(sorted(names - others))


def no_rows(df: DataFrame, names: list[str]) -> pa.Table:
    """Return a table without rows, with those of the requested columns that exist, and their types."""
    from pyspark.sql.pandas.types import to_arrow_type

    roots = {name.split(".")[0] for name in names}
    fields = [f for f in df.schema.fields if f.name in roots or f.name in names]
    return pa.schema([(f.name, to_arrow_type(f.dataType)) for f in fields]).empty_table()


def _kind(like: pa.Table, id: str) -> pa.DataType:
    return like.schema.field(id).type if id in like.column_names else pa.string()


def id_type(df: DataFrame, name: str) -> T.DataType:
    """Return the type of the column of ids: text or integers, as in the library."""
    return df.select(F.col(name).alias("id")).schema["id"].dataType


def documents(df: DataFrame, columns: Columns) -> DataFrame:
    """Return the columns id and text (binary), and the fields of keep=. Several columns of text are joined by newlines, with a
    null as an empty text.
    """
    parts = [F.col(name).cast("binary") for name in columns.text]
    text = parts[0]
    if len(parts) > 1:
        newline, nothing = F.lit(b"\n"), F.lit(b"")
        joined = [F.coalesce(parts[0], nothing)]
        for part in parts[1:]:
            joined += [newline, F.coalesce(part, nothing)]
        text = F.concat(*joined)
    return df.select(F.col(columns.id).alias("id"), text.alias("text"), *columns.fields)
