# SPDX-License-Identifier: Apache-2.0
"""On the driver: options, checked by the library itself before any job of Spark's is started."""

from __future__ import annotations

import inspect
import pathlib
from dataclasses import dataclass
from typing import Any, Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

import bandmill
from bandmill import Error
from bandmill._native import lib
from bandmill._options import size, word
from bandmill.spark._cut import Recipe

ABSENT = {  # of the program, and why a job of Spark's has none
    "against": "documents that are known: union them with the others, and drop them from the result",
    "weights": "documents with weights",
    "sample": "df.sample draws documents",
    "max_group_size": "cluster='star' divides its groups",
    "measure": "pairs of documents that share a band",
    "edit": "texts stay with their tasks",
    **dict.fromkeys(("format", "header", "delimiter", "include", "exclude", "offsets", "sources"), "a DataFrame has rows"),
    **dict.fromkeys(("kept", "removed", "histogram", "histogram_svg", "force", "resume"), "no file is written"),
    "output": "a DataFrame is returned",
    "progress": "Spark shows its own",
    "memory": "Spark bounds its tasks itself",
    "temp_dir": "Spark has its own",
    "threads": "a task has one; Spark runs many",
    "batch_docs": "Spark's batches are Arrow's",
}
TEXT = ("shingle", "words", "normalize", "short", "stopwords", "bag", "hash", "seed", "scheme", "device", "cpu")


@dataclass(frozen=True)
class Settings:
    """A job: how documents are cut, and what is done with them."""

    recipe: Recipe
    text: tuple[str, ...]
    id: str
    threshold: float
    verify: str
    on_error: str
    max_errors: int | None


def check(df: DataFrame, call: Callable[..., Any], k: dict[str, Any]) -> Settings:
    """Does what ``call`` (bandmill.dedup, pairs or sign) would do with no rows of ``df``: so what it refuses is refused."""
    if not isinstance(df, DataFrame) and not hasattr(df, "mapInArrow"):
        raise Error(f"data of type {type(df).__name__} (a DataFrame of Spark's)", field="data")
    known = inspect.signature(call).parameters
    for name in k:
        if name in ABSENT:
            raise Error(f"{name} is not for a job of Spark's ({ABSENT[name]})", field=name)
        if name not in known:
            raise TypeError(f"bandmill.spark.{call.__name__}() got an unexpected keyword argument {name!r}")
    if k.get("duplicate_ids") not in (None, "error"):
        raise Error(
            f"duplicate_ids {k['duplicate_ids']!r} is not for a job of Spark's (rows have no order)", field="duplicate_ids"
        )
    if str(k.get("verify") or "").startswith("contained"):
        raise Error(f"verify {k['verify']!r} is not for a job of Spark's (exact, signature or none)", field="verify")
    scheme = word(lib.BM_OPTION_SCHEME, k["scheme"], "scheme") if k.get("scheme") is not None else lib.BM_SCHEME_AFFINE32
    if lib.bm_scheme_word_bytes(scheme) != 4 and (call is bandmill.sign or k.get("verify") == "signature"):
        raise Error(f"words of scheme {k['scheme']!r} have 64 bits (a job of Spark's has 32)", field="scheme")
    names = [k["text"]] if isinstance(k["text"], str) else list(k["text"])
    id = _id_of(df, k["id"])
    given = {
        name: value for name, value in k.items() if value is not None and name not in ("text", "id", "candidates", "identical")
    }
    given.setdefault("device", "cpu")
    empty = _no_rows(df, [*names, id])
    plan: dict[str, Any] = {}
    if call is bandmill.sign:
        signed = bandmill.sign(empty, names, id, **given)
        perms = int(signed.signatures.shape[1])
    else:
        if call is bandmill.pairs:
            bandmill.pairs(empty, names, id, **{x: v for x, v in k.items() if v is not None and x not in ("text", "id")})
        found = bandmill.dedup(empty, names, id, **given).report
        plan, perms = found["plan"], int(found["provenance"]["perms"])
    verify = str(k.get("verify") or "exact")
    on_error = str(k.get("on_error") or "fail")
    bands, rows = int(plan.get("bands") or k.get("bands") or 0), int(plan.get("rows") or k.get("rows") or 0)
    recipe = Recipe(
        options={x: given[x] for x in TEXT if x in given},
        stopwords=_file_of(given.get("stopwords")),
        perms=perms,
        bands=bands,
        rows=rows,
        words=verify == "signature" or call is bandmill.sign,
        max_doc_bytes=size(k.get("max_doc_bytes"), "max_doc_bytes") or 1 << 30,
        strict_utf8=k.get("invalid_utf8") == "error",
        raises=on_error == "fail",
    )
    threshold = float(k.get("threshold") or 0.8)
    return Settings(recipe, tuple(names), id, threshold, verify, on_error, k.get("max_errors"))


def _file_of(stopwords: Any) -> bytes | None:
    """A list of stop words, which executors may not have."""
    return None if stopwords in (None, "en") else pathlib.Path(stopwords).read_bytes()


def _id_of(df: DataFrame, given: str | None) -> str:
    """The column of ids: rows of a DataFrame have no numbers that could stand in for them."""
    if given is None and "id" not in df.columns:
        raise Error("no column of ids (id=; rows of a DataFrame have no numbers)", field="id")
    if given == "none":
        raise Error("id 'none' (rows of a DataFrame have no numbers)", field="id")
    return given or "id"


def _no_rows(df: DataFrame, names: list[str]) -> pa.Table:
    """A table of the columns that are asked for, as far as they are there, with their types."""
    from pyspark.sql.pandas.types import to_arrow_type

    roots = {name.split(".")[0] for name in names}
    fields = [f for f in df.schema.fields if f.name in roots or f.name in names]
    return pa.table({f.name: pa.array([], to_arrow_type(f.dataType)) for f in fields})


def id_type(df: DataFrame, name: str) -> T.DataType:
    """Of the column of ids: text or integers, as the library takes them."""
    return df.select(F.col(name).alias("id")).schema["id"].dataType


def documents(df: DataFrame, settings: Settings) -> DataFrame:
    """Columns id and text (binary): several columns of text are joined by newlines; null is empty among several."""
    parts = [F.col(name).cast("binary") for name in settings.text]
    text = parts[0]
    if len(parts) > 1:
        newline, nothing = F.lit(b"\n"), F.lit(b"")
        columns = [F.coalesce(parts[0], nothing)]
        for part in parts[1:]:
            columns += [newline, F.coalesce(part, nothing)]
        text = F.concat(*columns)
    return df.select(F.col(settings.id).alias("id"), text.alias("text"))
