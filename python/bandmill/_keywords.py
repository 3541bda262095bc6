# SPDX-License-Identifier: Apache-2.0
"""What each keyword means, in a line that every function which has it shows with its default; and which words it may be."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Sequence
from typing import Any, Callable, Literal, TypeVar, Union, cast

Names = Union[str, Sequence[str], None]
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path], None]
Progress = Union[bool, Callable[[str, int, int, str], None]]
Size = Union[int, str, None]

Candidates = Literal["lsh", "all", "length"]
Cluster = Literal["components", "star"]
DuplicateIds = Literal["error", "number"]
DuplicateIdsOfIndex = Literal["error", "number", "skip", "replace"]
Exchange = Literal["leanminhash", "datatrove", "nemo", "text-dedup", "milvus", "lance", "npy", "tsv", "arrow", "parquet"]
Format = Literal["auto", "jsonl", "json", "parquet", "arrow", "tsv", "csv", "lines", "files", "hashes", "keys", "wet"]
Hash = Literal["xxh3", "xxh64", "sha1", "murmur3"]
Header = Literal["yes", "no"]
Identical = Literal["all", "chain"]
InvalidUtf8 = Literal["replace", "error"]
Kept = Literal["same", "none", "gz", "zst", "no"]
Measure = Literal["jaccard", "containment"]
OnError = Literal["fail", "skip"]
Preset = Literal["datasketch", "datatrove", "nemo", "text-dedup", "lance", "slimpajama", "SEDD"]
Scheme = Literal["affine32", "oph", "cws", "legacy", "text-dedup", "nemo", "lance", "affine64", "datatrove"]
Short = Literal["whole", "skip"]
Store = Literal["sets", "signatures"]
Verify = Literal["exact", "signature", "none"]
Weights = Literal["none", "tfidf"]
What = Literal["signatures", "bands"]
Words = Literal["alnum", "space", "text-dedup"]

# None means what is in parentheses.
LINES = {
    "data": "documents: a list or array of str or bytes; a table that gives out an Arrow stream; signatures; a path, or a list "
    "of pathlib.Path",
    "text": "field or column of the text; of several the texts are joined by a newline",
    "id": 'field or column of the id, or "none" ("id", where there is one)',
    "paths": "instead of data: a path, or a list of them, of any type",
    "path": "directory of the index",
    "threshold": "least similarity of a pair (0.8, or that of the preset)",
    "recall": "probability that a pair at the threshold is found (0.95)",
    "cluster": '"components" or "star": how pairs become groups',
    "keep": "which document of a group is kept: first, last, longest, shortest, max:FIELD, min:FIELD, order:FIELD=A|B|C, "
    "sources:A|B|C, several of them with commas, or none",
    "max_group_size": "components of more documents are divided into stars (no limit)",
    "verify": '"exact", "signature" or "none": how candidates are verified; for dedup also "contained" or "contained=.9": a '
    "document is removed only if a kept one contains that share of its shingles",
    "against": "known documents, such as a test set: any data, or an index or signatures of them (none)",
    "against_text": "field or column of their text (that of data)",
    "against_id": 'field or column of their id, or "none" (that of data)',
    "pairs": "the result also has every verified pair",
    "output": "directory to write, as the program does (none: the result holds the files while it exists)",
    "removed": '"same", "none", "gz" or "zst": with output, the removed records are also written, with this compression',
    "kept": '"same", "none", "gz" or "zst": with output, compression of the kept documents; "no": none are written',
    "force": "an existing output of bandmill is replaced",
    "resume": "continue an interrupted run of the same call",
    "sources": "directory where the inputs of signatures are now (where they were)",
    "candidates": '"lsh", or "all": every pair, exactly ("lsh")',
    "measure": '"jaccard" or "containment", which names the third column',
    "identical": '"all": every pair of identical documents; "chain": each copy with the first only',
    "edit": "a column edit: the edit distance of the two texts in code points; null where it is too long to compute",
    "sample": "compare only this many documents, drawn by seed; 0: all (for tune: 2,000)",
    "histogram": "file for a histogram of the similarities (none)",
    "histogram_svg": "file for a drawing of it (none)",
    "svg": "file for a drawing of the curves (none)",
    "ceiling": "{similarity: probability}: the greatest probability that a pair of that similarity is a candidate (none)",
    "shingle": '"word:K", "char:K", "byte:K" or "stopword:K"; for tune also a list ("word:5")',
    "words": '"alnum", "space" or "text-dedup": what a word is ("alnum")',
    "normalize": '"none", or some of invisible, nfc, nfkc, lower, strip-accents, digits, punct ("invisible,lower")',
    "short": 'whether a text of fewer units than a shingle is one shingle, "whole", or has none, "skip" ("whole")',
    "stopwords": 'stop words of shingle="stopword:K": "en", or a file with one per line ("en")',
    "bag": "repeated shingles of a document count each time",
    "weights": '"tfidf": weigh shingles by how often they occur in their document, and in how few documents ("none")',
    "sorted": "hashes ascend",
    "perms": "number of permutations, which is the number of words of a signature (128)",
    "seed": "seed of the permutations, and of samples (1, or that of the scheme)",
    "preset": "shingles, hash, scheme, perms, bands and rows of another tool; other keywords override it (none)",
    "scheme": 'how signatures are computed: "affine32", "oph", or like other tools ("affine32")',
    "hash": 'hash of a shingle: "xxh3", "xxh64", "sha1" or "murmur3" (that of the scheme)',
    "bands": "bands, with rows (a plan by threshold and recall)",
    "rows": "rows of a band, with bands (a plan by threshold and recall)",
    "format": 'format of files, such as "jsonl", "csv" or "lines" (by their names)',
    "header": '"yes" or "no": whether tsv and csv begin with a header row (yes, unless all fields are numbers)',
    "delimiter": "character between fields of csv and tsv (a comma, a tab)",
    "include": "from a directory, only files whose path below it matches one of these patterns (all)",
    "exclude": "from a directory, no files whose path below it matches one of these patterns (none)",
    "offsets": 'file of offsets, with format="hashes" (none)',
    "duplicate_ids": 'what happens to a repeated id: "error" or "number"; for an index also "skip" and "replace" ("error")',
    "on_error": 'what a bad record does: "fail" ends the call, "skip" leaves the record out ("fail")',
    "max_errors": 'how many bad records on_error="skip" allows (no limit)',
    "invalid_utf8": 'what invalid UTF-8 becomes: "replace", U+FFFD, or "error", a bad record ("replace")',
    "max_doc_bytes": 'a longer document is a bad record: bytes, or "1G" ("1G")',
    "shard": 'sign only the I-th of N contiguous shares of the files, such as "2/7" (None: all)',
    "device": '"auto", "cpu", "gpu", "opencl", "opencl:P.D", "all", or part of a name',
    "cpu": 'instructions of the native CPU: "scalar", "avx2", "avx512" or "neon" (the best available)',
    "threads": "number of threads; 0: all processors",
    "memory": 'memory limit of the job: bytes, or "4G" (half of the free memory)',
    "batch_docs": "at most this many documents per batch; results do not depend on it (limited by bytes)",
    "temp_dir": "directory for temporary files (memory if that is known to suffice, else the system's)",
    "progress": "True: percentage and time left, with tqdm if installed; or a function of (stage, done, total, unit): a word, "
    'two numbers in that unit, such as "bytes" (total 0: unknown), and its name; an exception in it ends the job',
    "queries": "documents of any kind, as data",
    "targets": "documents to search, of any kind; text, id and the keywords for reading files apply to them too",
    "index": "instead of targets: the directory of an index, which fixes the other keywords",
    "signatures": "the result of `sign`, or its directory",
    "to": "the tool or form for which the signatures are written",
    "what": '"signatures", or "bands": band keys',
    "store": '"sets", for exact answers, or "signatures", for estimates',
    "unique": "near-duplicates of documents of the index are not added, but are rows of the result",
    "top": "the best N answers of each query; 0: all",
    "skip_same_id": "leave out answers with the id of the query",
}
_OWN = {  # where a keyword means something else
    ("query", "threshold"): "least similarity of an answer (the index's)",
    ("add", "threshold"): "with unique, the similarity at which a document is not added (the index's)",
    ("export", "threshold"): "similarity for which bands are planned, if the form has bands (as signed)",
    ("export", "output"): "directory to write",
    ("build", "threshold"): "similarity for which the index is planned (0.8)",
    ("sign", "threshold"): "similarity for which band keys are planned: with it there are band keys (none)",
    ("sign", "bands"): "bands, with rows: with them there are band keys (none)",
    ("sign", "rows"): "rows of a band, with bands (none)",
}

# What keywords are called elsewhere, or in the program.
_ELSEWHERE = {
    "text": ("text_field", "text_fields", "text_column", "text_key", "column", "field"),
    "id": ("id_field", "id_column", "ids", "index_column"),
    "perms": ("num_perm", "n_perm", "num_hashes", "num_permutations", "permutations"),
    "threads": ("n_jobs", "num_proc", "num_workers", "workers", "processes"),
    "shingle": ("ngram", "ngrams", "ngram_size", "n_gram", "shingle_size"),
    "threshold": ("similarity", "jaccard", "jaccard_threshold", "similarity_threshold", "min_similarity"),
    "output": ("out", "out_dir", "output_dir", "output_path", "save_path"),
    "force": ("overwrite",),
    "progress": ("verbose", "show_progress", "tqdm"),
    "paths": ("path", "files", "input", "inputs", "data_files"),
    "device": ("gpu", "cuda"),
    "normalize": ("lower", "lowercase"),
    "seed": ("random_state", "random_seed"),
    "batch_docs": ("batch_size",),
}

F = TypeVar("F", bound=Callable[..., Any])


def _no_keyword(function: Callable[..., Any], name: str, known: list[str]) -> TypeError:
    """``name`` is none of ``function``'s; which one was meant?"""
    meant = [keyword for keyword, others in _ELSEWHERE.items() if name in others and keyword in known]
    meant = meant or difflib.get_close_matches(name, known, 1)
    hint = f" (here it is {meant[0]}=)" if meant else ""
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


def described(function: F) -> F:
    """``function``, whose docstring has a line for each of its keywords, and which says what an unknown one is called here."""
    lines = ["", "", "Keywords:"]
    known = inspect.signature(function).parameters
    for name, parameter in known.items():
        if name in ("self", "cls"):
            continue
        default = parameter.default
        usual = "" if default in (None, inspect.Parameter.empty) else f" ({default!r})"
        lines.append(f"    {name}: {_OWN.get((function.__name__, name), LINES[name])}{usual}")
    function.__doc__ = (inspect.getdoc(function) or "") + "\n".join(lines) + "\n"

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise _no_keyword(function, name, list(known))
        return function(*args, **keywords)

    return cast(F, checked)
