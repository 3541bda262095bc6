"""Documents to pairs, to hashes of their shingles, to forecasts."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from bandmill import _files
from bandmill._apart import owned
from bandmill._call import Call
from bandmill._data import Source, texts_of
from bandmill._errors import Error, text_of
from bandmill._ids import kind_of
from bandmill._keywords import (
    Candidates,
    DuplicateIds,
    Format,
    Hash,
    Header,
    Identical,
    InvalidUtf8,
    Measure,
    Names,
    OnError,
    Path,
    Paths,
    Preset,
    Progress,
    Scheme,
    Short,
    Size,
    Verify,
    Weights,
    Words,
    described,
)
from bandmill._native import ffi, lib
from bandmill._options import fill, fill_text, new, number, share, size, verified, word
from bandmill._workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


@described
def pairs(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    candidates: Candidates | None = None,
    measure: Measure = "jaccard",
    verify: Verify = "exact",
    identical: Identical = "all",
    edit: bool = False,
    sample: int = 0,
    histogram: Path | None = None,
    histogram_svg: Path | None = None,
    force: bool = False,
    sources: Path | None = None,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    weights: Weights | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    seed: int | None = None,
    scheme: Scheme | None = None,
    hash: Hash | None = None,
    bands: int | None = None,
    rows: int | None = None,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    device: str | None = "auto",
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    batch_docs: int = 0,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> pa.Table:
    """Pairs of near-duplicates: a pyarrow.Table of id_a, id_b, jaccard, in input order. Raises Error.

    With measure="containment", id_a is the contained document.
    """
    k = dict(locals())
    call = Call(progress)
    with Workplace(temp_dir, None) as work:
        o = new("pairs")
        fill(o, call, Source(data, call, paths), k)
        if candidates is not None:
            o.candidates = word(lib.BM_OPTION_CANDIDATES, candidates, "candidates")
            o.set_fields |= lib.BM_FIELD_CANDIDATES
        o.measure = word(lib.BM_OPTION_MEASURE, measure, "measure")
        o.verify = verified(verify)
        o.identical = word(lib.BM_OPTION_IDENTICAL, identical, "identical")
        o.edit = edit
        o.sample = number(sample, "sample", 2**64 - 1)
        o.output.path, o.output.force, o.sources = call.text(work / "pairs.tsv"), force, call.text(sources, "sources")
        o.histogram, o.histogram_svg = call.text(histogram, "histogram"), call.text(histogram_svg, "histogram_svg")
        kind = kind_of(call.job(lib.bm_job_pairs, o))
        return _files.read_tsv(work / "pairs.tsv", {"id_a": kind, "id_b": kind, measure: "float64", "edit": "int64"})


@described
def hash_shingles(
    data: Any,
    text: str = "text",
    *,
    shingle: str | None = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    sorted: bool = False,
    cpu: str | None = None,
    threads: int = 0,
    memory: Size = None,
    progress: Progress = False,
) -> tuple[Array, Array]:
    """The distinct shingles of each document as 64-bit hashes.

    Returns (offsets int64 (N + 1), hashes uint64): document i has hashes[offsets[i]:offsets[i + 1]], in order of first
    occurrence. Raises Error.
    """
    k = dict(locals())
    call = Call(progress)
    texts, n = texts_of(data, text, call)
    o = new("shingle")
    fill_text(o.text, call, k)
    o.sorted, o.cpu = sorted, call.text(cpu, "cpu")
    o.resources.threads, o.resources.memory = number(threads, "threads"), size(memory)
    call.callbacks(o.callbacks)
    out = owned("hash_sets")
    call.run(lib.bm_shingle_texts, o, texts, n, out)
    offsets = np.frombuffer(ffi.buffer(lib.bm_hash_sets_offsets(out[0]), 8 * (n + 1)), dtype=np.int64).copy()
    if offsets[-1] == 0:
        return offsets, np.zeros(0, dtype=np.uint64)
    hashes = np.frombuffer(ffi.buffer(lib.bm_hash_sets_hashes(out[0]), 8 * int(offsets[-1])), dtype=np.uint64).copy()
    return offsets, hashes


@described
def tune(
    data: Any = None,
    text: Names = "text",
    id: str | None = None,
    *,
    paths: Paths = None,
    threshold: float | None = None,
    recall: float | None = None,
    ceiling: dict[float, float] | None = None,
    preset: Preset | None = None,
    perms: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    seed: int | None = None,
    sample: int = 0,
    svg: Path | None = None,
    force: bool = False,
    shingle: Names = None,
    words: Words | None = None,
    normalize: Names = None,
    short: Short | None = None,
    stopwords: Path | None = None,
    bag: bool = False,
    format: Format | None = None,
    header: Header | None = None,
    delimiter: str | None = None,
    include: Names = None,
    exclude: Names = None,
    offsets: Path | None = None,
    duplicate_ids: DuplicateIds | None = None,
    on_error: OnError | None = None,
    max_errors: int | None = None,
    invalid_utf8: InvalidUtf8 | None = None,
    max_doc_bytes: Size = None,
    threads: int = 0,
    memory: Size = None,
    temp_dir: Path | None = None,
    progress: Progress = False,
) -> dict[str, Any]:
    """Band plans and their S-curves; with ``data`` also what each would find in it. As `bandmill tune --json`.

    Raises Error; status "not_found": no plan fits.
    """
    k = dict(locals())
    k["temp_dir"] = temp_dir if temp_dir is not None else tempfile.gettempdir()
    call = Call(progress)
    o = new("tune")
    fill(o, call, Source(data, call, paths) if data is not None or paths is not None else None, k)
    o.perms = number(k["perms"], "perms", least=1) if k["perms"] is not None else 0
    if ceiling:
        if not isinstance(ceiling, dict) or len(ceiling) != 1:
            raise Error(f"ceiling {ceiling!r} (one similarity and its probability: {{0.05: 0.006}})", field="ceiling")
        at, most = next(iter(ceiling.items()))
        o.ceiling_similarity, o.ceiling_probability = share(at, "ceiling"), share(most, "ceiling")
    if k["seed"] is not None:
        o.seed = number(k["seed"], "seed")
    o.sample, o.svg, o.force = number(sample, "sample", 2**64 - 1), call.text(svg, "svg"), force
    asked = k["shingle"]
    kinds = [asked] if isinstance(asked, str) or asked is None else list(asked)
    texts = call.keep(ffi.new("bm_text_options[]", len(kinds)))
    for i, kind in enumerate(kinds):
        usual = new("sign")  # alive until it is copied
        texts[i] = usual.text
        fill_text(texts[i], call, {**k, "shingle": kind})
    o.texts, o.n_texts = texts, len(kinds)
    out = owned("tune_result")
    call.run(lib.bm_tune, o, out)
    found: dict[str, Any] = json.loads(text_of(lib.bm_tune_result_json(out[0])))
    return found
