# SPDX-License-Identifier: Apache-2.0
"""Calls that use the results of other calls: groups of pairs, export of signatures, one set of queries."""

from __future__ import annotations

import inspect
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bandmill import _files
from bandmill._call import Call
from bandmill._errors import Error
from bandmill._ids import TEXT, kind_of_column
from bandmill._index import Index
from bandmill._keywords import described
from bandmill._kinds import Names, Path, Progress
from bandmill._native import ffi, lib
from bandmill._options import fill, new, share, word
from bandmill._signatures import Signatures
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import Cluster, Exchange, ExportOptions, QueryOptions

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_COUNTS = {"threshold": "float64", "pairs": "int64", "groups": "int64", "largest": "int64", "removed": "int64"}


def _write_pairs(pairs: Any, path: pathlib.Path) -> str:
    """Write a table with the columns of pairs.tsv to a file of this form. Returns the kind of its ids."""
    try:
        columns = [pairs.column(name).to_pylist() for name in ("id_a", "id_b", "jaccard")]
        kinds = {kind_of_column(pairs.column(name).type) for name in ("id_a", "id_b")}
    except (AttributeError, KeyError) as e:
        raise Error("pairs is no path and no table of id_a, id_b, jaccard", field="path") from e
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("id_a\tid_b\tjaccard\n")
        for a, b, jaccard in zip(*columns):
            similarity = "" if jaccard is None else f"{jaccard:.6f}"
            file.write(f"{str(a).translate(_ESCAPES)}\t{str(b).translate(_ESCAPES)}\t{similarity}\n")
    return kinds.pop() if len(kinds) == 1 else TEXT


def cluster(
    pairs: Any,
    threshold: float | Sequence[float] | None = None,
    *,
    cluster: Cluster = "components",
    keep: str = "first",
    progress: Progress = False,
) -> pa.Table:
    """Make groups from pairs: the result of `pairs`, or the path of a file of pairs. Raises Error.

    ``threshold``: only pairs that reach it are used (default: all). Several thresholds give a row of counts each instead of
    groups: threshold, pairs, groups, largest, removed. ``cluster``: as in `dedup`. ``keep``: first, last or none. Documents of
    a table are in order of first appearance.

    Returns a table of group, kept, size, members; for several thresholds, the table of counts.

        >>> import bandmill
        >>> found = bandmill.pairs(["one two three four five"] * 3 + ["quite another text"], threshold=0.8)
        >>> bandmill.cluster(found).to_pylist()
        [{'group': 1, 'kept': 0, 'size': 3, 'members': [0, 1, 2]}]
    """
    call = Call(progress)
    with Workplace(None, None) as work:
        o = new("cluster")
        path, kind = pairs, TEXT
        if not isinstance(pairs, (str, os.PathLike)):
            path = work / "pairs.tsv"
            kind = _write_pairs(pairs, path)
        several = isinstance(threshold, Sequence)
        values = [] if threshold is None else list(threshold) if isinstance(threshold, Sequence) else [threshold]
        thresholds = ffi.new("double[]", [share(t, "threshold") for t in values])
        o.path, o.thresholds, o.n_thresholds = call.text(path), thresholds, len(values)
        o.cluster, o.keep = word(lib.BM_OPTION_CLUSTER, cluster, "cluster"), word(lib.BM_OPTION_KEEP, keep, "keep")
        o.output.path = call.text(work / "out")
        call.callbacks(o.callbacks)
        call.run(lib.bm_cluster_pairs, o, ffi.NULL)
        if several and len(values) > 1:
            return _files.read_tsv(work / "out", _COUNTS)
        return _files.read_groups(work / "out", kind)


@described
def export(
    signatures: Signatures | Path,
    to: Exchange,
    output: Path,
    **options: Unpack[ExportOptions],
) -> pathlib.Path:
    """Write signatures in the form of another tool to a directory. Returns its path. Raises Error.

    >>> import bandmill, os, tempfile
    >>> signed = bandmill.sign(["one two three four five six", "quite another text"])
    >>> out = bandmill.export(signed, "npy", tempfile.mkdtemp() + "/out")
    >>> "signatures.npy" in os.listdir(out)
    True
    """
    k: dict[str, Any] = {"to": to, **options}
    call = Call(k["progress"])
    o = new("export")
    fill(o, call, None, k)
    place = signatures.path if isinstance(signatures, Signatures) else signatures
    o.path = call.text(place, "signatures", "what sign returned, or its path")
    o.to = word(lib.BM_OPTION_EXCHANGE, to, "to")
    o.what = word(lib.BM_OPTION_EXPORT_WHAT, k["what"], "what")
    o.output.path, o.output.force = call.text(output, "output"), k["force"]
    call.job(lib.bm_job_export, o)
    return pathlib.Path(output)


@described
def query(
    queries: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[QueryOptions],
) -> pa.Table:
    """For each query, find the documents of ``targets`` or an ``index`` that reach the threshold, the best first. Raises Error.

    Returns a table of query, target, jaccard (or containment).

        >>> import bandmill
        >>> targets = ["one two three four five six", "quite another text"]
        >>> bandmill.query(["one two three four five six!"], targets=targets).to_pylist()
        [{'query': 0, 'target': 0, 'jaccard': 1.0}]
    """
    k: dict[str, Any] = {**options}
    targets, index = k.pop("targets"), k.pop("index")
    if (targets is None) == (index is None):
        raise Error("query takes targets= or index=", field="targets")
    asked = {name: k.pop(name) for name in ("top", "skip_same_id", "measure")}
    if index is not None:
        taken, usual = inspect.signature(Index.query).parameters, inspect.signature(query).parameters
        for name in k.keys() - taken.keys() - {"threads", "cpu"}:
            if k[name] != usual[name].default:
                raise Error(f"{name} is fixed in the index", field=name)
        with Index.open(index, threads=k["threads"]) as known:
            return known.query(queries, text, id, **asked, **{name: k[name] for name in k.keys() & taken.keys()})
    asked.update({name: k[name] for name in ("format", "header", "delimiter", "include", "exclude", "progress")})
    with Workplace(k["temp_dir"], None) as work, Index.build(work / "i", targets, text, id, **k) as known:
        return known.query(queries, text, id, **asked)


__all__ = ["cluster", "export", "query"]
