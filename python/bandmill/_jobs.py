# SPDX-License-Identifier: Apache-2.0
"""Finds pairs of documents, makes hashes of their shingles, and forecasts what band plans would find."""

from __future__ import annotations

import html
import json
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import Call
from bandmill._data import Source, texts_of
from bandmill._errors import Error, text_of
from bandmill._ids import kind_of
from bandmill._keywords import described
from bandmill._kinds import Names
from bandmill._native import ffi, lib
from bandmill._options import fill, fill_text, new, number, share, size, verified
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from bandmill._option_rows import HashOptions, PairsOptions, TuneOptions

Array = np.ndarray[Any, Any]


@described
def pairs(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[PairsOptions],
) -> pa.Table:
    """Find pairs of near-duplicates. Returns a pyarrow.Table of id_a, id_b, jaccard, in input order. Raises Error.

    With measure="containment", the third column is containment, and id_a is the contained document.

        >>> import bandmill
        >>> texts = ["one two three four five six", "one two three four five six seven", "quite another text"]
        >>> bandmill.pairs(texts, threshold=0.5).to_pylist()
        [{'id_a': 0, 'id_b': 1, 'jaccard': 0.666667}]
    """
    k: dict[str, Any] = {"text": text, "id": id, **options}
    call = Call(k["progress"])
    with Workplace(k["temp_dir"], None) as work:
        o = new("pairs")
        fill(o, call, Source(data, call, k["paths"]), k)
        if k["candidates"] is not None:
            o.set_fields |= lib.BM_FIELD_CANDIDATES
        o.verify, o.decimals = verified(k["verify"]), k.get("decimals", 0)
        o.output.path, o.output.force, o.sources = call.text(work / "pairs.tsv"), k["force"], call.text(k["sources"], "sources")
        o.histogram, o.histogram_svg = (call.text(k[name], name) for name in ("histogram", "histogram_svg"))
        kind = kind_of(call.job(lib.bm_job_pairs, o))
        return _files.read_tsv(work / "pairs.tsv", {"id_a": kind, "id_b": kind, k["measure"]: "float64", "edit": "int64"})


@described
def hash_shingles(
    data: Any,
    text: str = "text",
    **options: Unpack[HashOptions],
) -> tuple[Array, Array]:
    """Make the 64-bit hashes of the distinct shingles of each document.

    Returns two arrays: N + 1 offsets (int64), and hashes (uint64). Document i has hashes[offsets[i]:offsets[i + 1]], in order
    of first occurrence or, with ``sorted``, ascending. Raises Error.

        >>> import bandmill
        >>> offsets, hashes = bandmill.hash_shingles(["one two three", "one two"], shingle="word:2")
        >>> offsets.tolist(), len(hashes), bool(hashes[0] == hashes[2])
        ([0, 2, 3], 3, True)
    """
    k: dict[str, Any] = {**options}
    call = Call(k["progress"])
    texts, n = texts_of(data, text, call)
    o = new("shingle")
    fill_text(o.text, call, k)
    o.sorted, o.cpu = k["sorted"], call.text(k["cpu"], "cpu")
    o.resources.threads, o.resources.memory = number(k["threads"], "threads"), size(k["memory"])
    call.callbacks(o.callbacks)
    out = owned("hash_sets")
    call.run(lib.bm_shingle_texts, o, texts, n, out)
    offsets = np.frombuffer(ffi.buffer(lib.bm_hash_sets_offsets(out[0]), 8 * (n + 1)), dtype=np.int64).copy()
    if offsets[-1] == 0:
        return offsets, np.zeros(0, dtype=np.uint64)
    hashes = np.frombuffer(ffi.buffer(lib.bm_hash_sets_hashes(out[0]), 8 * int(offsets[-1])), dtype=np.uint64).copy()
    return offsets, hashes


class Tuned(dict[str, Any]):
    """The result of `tune`: a dict with the members of `bandmill tune --json`. print() shows the chosen plan, and a notebook
    also the curves.
    """

    def __init__(self, found: dict[str, Any] | None = None, svg: str = "") -> None:
        """``svg``: the picture of the curves."""
        super().__init__(found or {})
        self.svg = svg

    def __str__(self) -> str:
        """Describe the chosen plan, and what it would find in the documents."""
        chosen, ceiling = self["chosen"], self["ceiling"]
        said = f"{chosen['bands']} bands of {chosen['rows']} rows"
        said += f": find {_percent(chosen['recall'])} of the pairs at {self['threshold']:g}"
        if ceiling is not None:
            said += f", and {_percent(chosen['at_ceiling'])} of those at {ceiling['similarity']:g}"
        said += f"; {chosen['unused']} of {self['perms']} permutations unused"
        for sample in self.get("samples", ()):
            said += f"\n{_forecast(sample, chosen)}"
        return said

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self.svg}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _forecast(sample: dict[str, Any], chosen: dict[str, Any]) -> str:
    """Describe what the chosen plan would find in all documents, as forecast from the documents that were compared."""
    said = f"{sample['shingle']}: {sample['documents']:,} documents, {sample['identical']:,} of them copies"
    for one in sample.get("forecasts", ()):
        if (one["bands"], one["rows"]) == (chosen["bands"], chosen["rows"]):
            found, missed = (f"{one[name]:,.0f} ± {one[name + '_error']:,.0f}" for name in ("verified_pairs", "missed_pairs"))
            said += f"; {one['candidates']:,.0f} candidates, of which {found} reach the threshold; {missed} pairs missed"
    return said


@described
def tune(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    **options: Unpack[TuneOptions],
) -> Tuned:
    """Compute band plans and their S-curves. With ``data``, also forecast what each plan would find in it.

    Returns Tuned, with the members of `bandmill tune --json`. Raises Error; status "not_found": no plan fits.

        >>> import bandmill
        >>> print(bandmill.tune(threshold=0.5, recall=0.99, ceiling={0.05: 0.006}))
        35 bands of 3 rows: find 99.1 % of the pairs at 0.5, and 0.4 % of those at 0.05; 23 of 128 permutations unused
    """
    k: dict[str, Any] = {"text": text, "id": id, **options}
    k["temp_dir"] = k["temp_dir"] if k["temp_dir"] is not None else tempfile.gettempdir()
    call, ceiling, svg = Call(k["progress"]), k["ceiling"], k["svg"]
    o = new("tune")
    fill(o, call, Source(data, call, k["paths"]) if data is not None or k["paths"] is not None else None, k)
    if ceiling:
        if not isinstance(ceiling, dict) or len(ceiling) != 1:
            raise Error(f"ceiling {ceiling!r} (one similarity and its probability: {{0.05: 0.006}})", field="ceiling")
        at, most = next(iter(ceiling.items()))
        o.ceiling_similarity, o.ceiling_probability = share(at, "ceiling"), share(most, "ceiling")
    o.force = k["force"]
    asked = k["shingle"]
    kinds = [asked] if isinstance(asked, str) or asked is None else list(asked)
    texts = call.keep(ffi.new("bm_text_options[]", len(kinds)))
    for i, kind in enumerate(kinds):
        usual = new("sign")  # must exist until it is copied
        texts[i] = usual.text
        fill_text(texts[i], call, {**k, "shingle": kind})
    o.texts, o.n_texts = texts, len(kinds)
    out = owned("tune_result")
    with Workplace(None, None) as work:
        drawn = work / "curves.svg" if svg is None else svg
        o.svg = call.text(drawn, "svg")
        call.run(lib.bm_tune, o, out)
        curves = pathlib.Path(drawn).read_text(encoding="utf-8")
    return Tuned(json.loads(text_of(lib.bm_tune_result_json(out[0]))), curves)
