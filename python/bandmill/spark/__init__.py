# SPDX-License-Identifier: Apache-2.0
"""Finds near-duplicates in Spark DataFrames. Signatures, pairs and groups are those of the program.

    import bandmill.spark

    found = bandmill.spark.dedup(documents, text="text", id="id", threshold=0.8)
    clean = documents.join(found.where("not kept"), "id", "left_anti")

The library signs texts and compares candidates on the executors, so this package must be installed there. See docs/spark.md.
"""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
except ImportError as e:
    raise ImportError("bandmill.spark needs pyspark 4 and pyarrow: pip install 'pyspark[sql]'") from e

from bandmill.spark._frames import dedup, pairs, sign
from bandmill.spark._overlap import overlap

__all__ = ["dedup", "overlap", "pairs", "sign"]
