# SPDX-License-Identifier: Apache-2.0
"""Made by python/tools/make_options.py from src/options/rows.def: the keywords of all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from bandmill._kinds import Names, Path, Paths, Preset, Progress, Size


Candidates = Literal["lsh", "all", "length"]
Cluster = Literal["components", "star"]
DuplicateIds = Literal["error", "number"]
DuplicateIdsOfIndex = Literal["error", "number", "skip", "replace"]
Exchange = Literal["leanminhash", "datatrove", "nemo", "text-dedup", "milvus", "lance", "npy", "tsv", "arrow", "parquet"]
Format = Literal["auto", "jsonl", "tsv", "csv", "lines", "files", "hashes", "json", "arrow", "keys", "parquet", "wet"]
Hash = Literal["xxh3", "xxh64", "sha1", "murmur3"]
Header = Literal["yes", "no"]
Identical = Literal["all", "chain"]
InvalidUtf8 = Literal["replace", "error"]
Kept = Literal["same", "none", "gz", "zst", "no"]
Measure = Literal["jaccard", "containment"]
OnError = Literal["fail", "skip"]
Scheme = Literal["affine32", "oph", "cws", "legacy", "text-dedup", "nemo", "lance", "affine64", "datatrove"]
Short = Literal["whole", "skip"]
Store = Literal["sets", "signatures"]
Verify = Literal["exact", "signature", "none"]
Weights = Literal["none", "tfidf"]
What = Literal["signatures", "bands"]
Words = Literal["alnum", "space", "text-dedup"]


class SignOptions(TypedDict, total=False):
    """Keywords of `sign`."""

    paths: Paths
    cpu: str | None
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    temp_dir: Path | None
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    weights: Weights | None
    preset: Preset | None
    hash: Hash | None
    scheme: Scheme | None
    perms: int | None
    seed: int | None
    include: Names
    exclude: Names
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    shard: str | None
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class DedupOptions(TypedDict, total=False):
    """Keywords of `dedup`."""

    paths: Paths
    cpu: str | None
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    verify: str
    against: Any
    against_text: Names
    against_id: str | None
    min_words: int | None
    cluster: Cluster
    keep: str
    unit: str | None
    keep_count: int | None
    within: str | None
    max_group_size: int | None
    candidates: Candidates
    output: Path | None
    force: bool
    pairs: bool
    kept: Kept
    removed: Kept
    temp_dir: Path | None
    resume: bool
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    weights: Weights | None
    preset: Preset | None
    hash: Hash | None
    scheme: Scheme | None
    perms: int | None
    seed: int | None
    include: Names
    exclude: Names
    sources: Path | None
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class PairsOptions(TypedDict, total=False):
    """Keywords of `pairs`."""

    paths: Paths
    cpu: str | None
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    verify: Verify
    sample: int
    candidates: Candidates | None
    measure: Measure
    edit: bool
    identical: Identical
    force: bool
    histogram: Path | None
    histogram_svg: Path | None
    temp_dir: Path | None
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    weights: Weights | None
    preset: Preset | None
    hash: Hash | None
    scheme: Scheme | None
    perms: int | None
    seed: int | None
    include: Names
    exclude: Names
    sources: Path | None
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class TuneOptions(TypedDict, total=False):
    """Keywords of `tune`."""

    paths: Paths
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    ceiling: dict[float, float] | None
    sample: int
    force: bool
    svg: Path | None
    temp_dir: Path | None
    normalize: Names
    words: Words | None
    shingle: Names
    short: Short | None
    stopwords: Path | None
    bag: bool
    preset: Preset | None
    perms: int | None
    seed: int | None
    include: Names
    exclude: Names
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    threads: int
    memory: Size
    progress: Progress


class HashOptions(TypedDict, total=False):
    """Keywords of `hash_shingles`."""

    sorted: bool
    cpu: str | None
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    threads: int
    memory: Size
    progress: Progress


class IndexBuildOptions(TypedDict, total=False):
    """Keywords of `Index.build`."""

    paths: Paths
    cpu: str | None
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    force: bool
    temp_dir: Path | None
    store: Store
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    preset: Preset | None
    hash: Hash | None
    scheme: Scheme | None
    perms: int | None
    seed: int | None
    include: Names
    exclude: Names
    sources: Path | None
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIdsOfIndex | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class IndexAddOptions(TypedDict, total=False):
    """Keywords of `Index.add`."""

    paths: Paths
    threshold: float | None
    resume: bool
    unique: bool
    include: Names
    exclude: Names
    sources: Path | None
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIdsOfIndex | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class IndexQueryOptions(TypedDict, total=False):
    """Keywords of `Index.query`."""

    paths: Paths
    threshold: float | None
    top: int
    skip_same_id: bool
    measure: Measure
    temp_dir: Path | None
    include: Names
    exclude: Names
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    memory: Size
    batch_docs: int
    progress: Progress


class QueryOptions(TypedDict, total=False):
    """Keywords of `query`."""

    cpu: str | None
    index: Path | None
    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    top: int
    skip_same_id: bool
    measure: Measure
    temp_dir: Path | None
    store: Store
    normalize: Names
    words: Words | None
    shingle: str | None
    short: Short | None
    stopwords: Path | None
    bag: bool
    preset: Preset | None
    hash: Hash | None
    scheme: Scheme | None
    perms: int | None
    seed: int | None
    targets: Any
    include: Names
    exclude: Names
    format: Format | None
    header: Header | None
    delimiter: str | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    device: str | None
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


class ExportOptions(TypedDict, total=False):
    """Keywords of `export`."""

    threshold: float | None
    recall: float | None
    bands: int | None
    rows: int | None
    what: What
    force: bool
    threads: int
    memory: Size
    progress: Progress


class OverlapOptions(TypedDict, total=False):
    """Keywords of `overlap`."""

    paths: Paths
    cpu: str | None
    threshold: float | None
    against_text: Names
    against_id: str | None
    min_words: int | None
    stop_shingles: int | None
    cut: bool
    output: Path | None
    force: bool
    kept: Kept
    temp_dir: Path | None
    resume: bool
    normalize: Names
    words: Words | None
    shingle: str | None
    include: Names
    exclude: Names
    format: Format | None
    header: Header | None
    delimiter: str | None
    offsets: Path | None
    duplicate_ids: DuplicateIds | None
    on_error: OnError | None
    max_errors: int | None
    invalid_utf8: InvalidUtf8 | None
    max_doc_bytes: Size
    threads: int
    memory: Size
    batch_docs: int
    progress: Progress


# The keywords of each function.
KEYWORDS: dict[str, Any] = {
    "sign": SignOptions,
    "dedup": DedupOptions,
    "pairs": PairsOptions,
    "tune": TuneOptions,
    "hash_shingles": HashOptions,
    "Index.build": IndexBuildOptions,
    "Index.add": IndexAddOptions,
    "Index.query": IndexQueryOptions,
    "query": QueryOptions,
    "export": ExportOptions,
    "overlap": OverlapOptions,
}

# Defaults that are not None.
DEFAULTS: dict[tuple[str, str], Any] = {
    ("export", "what"): "signatures",
    ("dedup", "force"): False,
    ("pairs", "force"): False,
    ("tune", "force"): False,
    ("Index.build", "force"): False,
    ("export", "force"): False,
    ("overlap", "force"): False,
    ("dedup", "pairs"): False,
    ("dedup", "kept"): "same",
    ("overlap", "kept"): "same",
    ("dedup", "removed"): "no",
    ("dedup", "resume"): False,
    ("Index.add", "resume"): False,
    ("overlap", "resume"): False,
    ("Index.build", "store"): "sets",
    ("query", "store"): "sets",
    ("Index.add", "unique"): False,
    ("sign", "bag"): False,
    ("dedup", "bag"): False,
    ("pairs", "bag"): False,
    ("tune", "bag"): False,
    ("hash_shingles", "bag"): False,
    ("Index.build", "bag"): False,
    ("query", "bag"): False,
    ("dedup", "verify"): "exact",
    ("pairs", "verify"): "exact",
    ("overlap", "cut"): False,
    ("Index.query", "top"): 0,
    ("query", "top"): 0,
    ("Index.query", "skip_same_id"): False,
    ("query", "skip_same_id"): False,
    ("dedup", "cluster"): "components",
    ("dedup", "keep"): "first",
    ("pairs", "sample"): 0,
    ("tune", "sample"): 0,
    ("dedup", "candidates"): "lsh",
    ("pairs", "measure"): "jaccard",
    ("Index.query", "measure"): "jaccard",
    ("query", "measure"): "jaccard",
    ("pairs", "edit"): False,
    ("pairs", "identical"): "all",
    ("sign", "device"): "auto",
    ("dedup", "device"): "auto",
    ("pairs", "device"): "auto",
    ("Index.build", "device"): "auto",
    ("Index.add", "device"): "auto",
    ("Index.query", "device"): "auto",
    ("query", "device"): "auto",
    ("sign", "threads"): 0,
    ("dedup", "threads"): 0,
    ("pairs", "threads"): 0,
    ("tune", "threads"): 0,
    ("hash_shingles", "threads"): 0,
    ("Index.build", "threads"): 0,
    ("Index.add", "threads"): 0,
    ("query", "threads"): 0,
    ("export", "threads"): 0,
    ("overlap", "threads"): 0,
    ("sign", "batch_docs"): 0,
    ("dedup", "batch_docs"): 0,
    ("pairs", "batch_docs"): 0,
    ("Index.build", "batch_docs"): 0,
    ("Index.add", "batch_docs"): 0,
    ("Index.query", "batch_docs"): 0,
    ("query", "batch_docs"): 0,
    ("overlap", "batch_docs"): 0,
    ("sign", "progress"): False,
    ("dedup", "progress"): False,
    ("pairs", "progress"): False,
    ("tune", "progress"): False,
    ("hash_shingles", "progress"): False,
    ("Index.build", "progress"): False,
    ("Index.add", "progress"): False,
    ("Index.query", "progress"): False,
    ("query", "progress"): False,
    ("export", "progress"): False,
    ("overlap", "progress"): False,
    ("hash_shingles", "sorted"): False,
}

# None means what is in parentheses.
LINES = {
    "output": "directory to write, as the program does (none: the result holds the files while it exists)",
    "to": "the tool or form for which the signatures are written",
    "what": '"signatures", or "bands": band keys',
    "force": "an existing output of bandmill is replaced",
    "pairs": "the result also has every verified pair",
    "kept": '"same", "none", "gz" or "zst": with output, compression of the kept documents; "no": none are written',
    "removed": '"same", "none", "gz" or "zst": with output, the removed records are also written, with this compression',
    "histogram": "file for a histogram of the similarities (none)",
    "histogram_svg": "file for a drawing of it (none)",
    "svg": "file for a drawing of the curves (none)",
    "temp_dir": "directory for temporary files (memory if that is known to suffice, else the system's)",
    "resume": "continue an interrupted run of the same call",
    "store": '"sets", for exact answers, or "signatures", for estimates',
    "unique": "near-duplicates of documents of the index are not added, but are rows of the result",
    "targets": "documents to search, of any kind; text, id and the keywords for reading files apply to them too",
    "include": "from a directory, only files whose path below it matches one of these patterns (all)",
    "exclude": "from a directory, no files whose path below it matches one of these patterns (none)",
    "sources": "directory where the inputs of signatures are now (where they were)",
    "format": 'format of files, such as "jsonl", "csv" or "lines" (by their names)',
    "text": "field or column of the text; of several the texts are joined by a newline",
    "id": 'field or column of the id, or "none" ("id", where there is one)',
    "header": '"yes" or "no": whether tsv and csv begin with a header row (yes, unless all fields are numbers)',
    "delimiter": "character between fields of csv and tsv (a comma, a tab)",
    "offsets": 'file of offsets, with format="hashes" (none)',
    "duplicate_ids": 'what happens to a repeated id: "error" or "number"; for an index also "skip" and "replace" ("error")',
    "on_error": 'what a bad record does: "fail" ends the call, "skip" leaves the record out ("fail")',
    "max_errors": 'how many bad records on_error="skip" allows (no limit)',
    "invalid_utf8": 'what invalid UTF-8 becomes: "replace", U+FFFD, or "error", a bad record ("replace")',
    "max_doc_bytes": 'a longer document is a bad record: bytes, or "1G" ("1G")',
    "shard": 'sign only the I-th of N contiguous shares of the files, such as "2/7" (None: all)',
    "normalize": '"none", or some of invisible, nfc, nfkc, lower, strip-accents, digits, punct ("invisible,lower")',
    "words": '"alnum", "space" or "text-dedup": what a word is ("alnum")',
    "shingle": '"word:K", "char:K", "byte:K" or "stopword:K"; for tune also a list ("word:5")',
    "short": 'whether a text of fewer units than a shingle is one shingle, "whole", or has none, "skip" ("whole")',
    "stopwords": 'stop words of shingle="stopword:K": "en", or a file with one per line ("en")',
    "bag": "repeated shingles of a document count each time",
    "weights": '"tfidf": weigh shingles by how often they occur in their document, and in how few documents ("none")',
    "preset": "shingles, hash, scheme, perms, bands and rows of another tool; other keywords override it (none)",
    "hash": 'hash of a shingle: "xxh3", "xxh64", "sha1" or "murmur3" (that of the scheme)',
    "scheme": 'how signatures are computed: "affine32", "oph", or like other tools ("affine32")',
    "perms": "number of permutations, which is the number of words of a signature (128)",
    "seed": "seed of the permutations, and of samples (1, or that of the scheme)",
    "threshold": "least similarity of a pair (0.8, or that of the preset)",
    "recall": "probability that a pair at the threshold is found (0.95)",
    "bands": "bands, with rows (a plan by threshold and recall)",
    "rows": "rows of a band, with bands (a plan by threshold and recall)",
    "ceiling": "{similarity: probability}: the greatest probability that a pair of that similarity is a candidate (none)",
    "verify": (
        '"exact", "signature" or "none": how candidates are verified; for dedup also "contained" or "contained=.9": a '
        "document is removed only if a kept one contains that share of its shingles"
    ),
    "against": "known documents, such as a test set: any data, or an index or signatures of them (none)",
    "against_text": "field or column of their text (that of data)",
    "against_id": 'field or column of their id, or "none" (that of data)',
    "min_words": "with unit: units of fewer words stay (8)",
    "stop_shingles": "shingles in more documents do not count; the documents are read twice (all count)",
    "cut": "items are cut out of the documents that hold them, instead of removing the documents",
    "top": "the best N answers of each query; 0: all",
    "skip_same_id": "leave out answers with the id of the query",
    "cluster": '"components" or "star": how pairs become groups',
    "keep": (
        "which document of a group is kept: first, last, longest, shortest, max:FIELD, min:FIELD, order:FIELD=A|B|C, "
        "sources:A|B|C, several of them with commas, or none"
    ),
    "unit": (
        'what is repeated is cut out of documents: "line", "paragraph", or "span:K", stretches of K units of shingle '
        "and more (None: documents are compared as a whole)"
    ),
    "keep_count": "with unit: so many of equal units stay, the first (1)",
    "within": "with unit: a field or column; parts are compared only among documents with the same value there (all)",
    "max_group_size": "components of more documents are divided into stars (no limit)",
    "sample": "compare only this many documents, drawn by seed; 0: all (for tune: 2,000)",
    "candidates": '"lsh", or "all": every pair, exactly ("lsh")',
    "measure": '"jaccard" or "containment", which names the third column',
    "edit": "a column edit: the edit distance of the two texts in code points; null where it is too long to compute",
    "identical": '"all": every pair of identical documents; "chain": each copy with the first only',
    "device": '"auto", "cpu", "gpu", "opencl", "opencl:P.D", "all", or part of a name',
    "threads": "number of threads; 0: all processors",
    "memory": 'memory limit of the job: bytes, or "4G" (half of the free memory)',
    "batch_docs": "at most this many documents per batch; results do not depend on it (limited by bytes)",
    "progress": (
        "True: percentage and time left, with tqdm if installed; or a function of (stage, done, total, unit): a word, "
        'two numbers in that unit, such as "bytes" (total 0: unknown), and its name; an exception in it ends the job'
    ),
    "data": (
        "documents: a list or array of str or bytes; a table that gives out an Arrow stream; signatures; a path, or a "
        "list of pathlib.Path"
    ),
    "train": "documents of any kind, as data of `dedup`",
    "items": "a test set, whose texts are looked for: any data, or a path, or a list of pathlib.Path",
    "paths": "instead of data: a path, or a list of them, of any type",
    "path": "directory of the index",
    "sorted": "hashes ascend",
    "cpu": 'instructions of the native CPU: "scalar", "avx2", "avx512" or "neon" (the best available)',
    "queries": "documents of any kind, as data",
    "index": "instead of targets: the directory of an index, which fixes the other keywords",
    "signatures": "the result of `sign`, or its directory",
}
OWN = {  # where a keyword means something else
    ("export", "output"): "directory to write",
    ("overlap", "shingle"): 'K words, characters or bytes: "word:K", "char:K" or "byte:K" (word:13)',
    ("sign", "threshold"): "similarity for which band keys are planned: with it there are band keys (none)",
    ("Index.build", "threshold"): "similarity for which the index is planned (0.8)",
    ("Index.add", "threshold"): "with unique, the similarity at which a document is not added (the index's)",
    ("Index.query", "threshold"): "least similarity of an answer (the index's)",
    ("query", "threshold"): "least similarity of an answer (the index's)",
    ("export", "threshold"): "similarity for which bands are planned, if the form has bands (as signed)",
    ("overlap", "threshold"): "least share of an item's shingles that stand in a document which holds it (0.5)",
    ("sign", "bands"): "bands, with rows: with them there are band keys (none)",
    ("sign", "rows"): "rows of a band, with bands (none)",
    ("overlap", "against_text"): "field or column of the text of an item (that of train)",
    ("overlap", "against_id"): 'field or column of the id of an item, or "none" (that of train)',
    ("overlap", "min_words"): "an item of fewer words is listed, and not looked for (8)",
    ("overlap", "paths"): "instead of train: a path, or a list of them, of any type",
}

# Keyword, part of the options, member, and how its value is made: a word of that option, or by its type.
FILLED = (
    ("pairs", "results", "write_pairs", "flag"),
    ("kept", "results", "kept", "KEPT"),
    ("removed", "results", "removed", "REMOVED"),
    ("store", "index", "store", "STORE"),
    ("unique", "index", "unique", "flag"),
    ("format", "input", "format", "FORMAT"),
    ("header", "input", "header", "HEADER"),
    ("duplicate_ids", "input", "duplicate_ids", "DUPLICATE_IDS"),
    ("on_error", "input", "on_error", "ON_ERROR"),
    ("max_errors", "input", "max_errors", "uint64"),
    ("invalid_utf8", "input", "invalid_utf8", "INVALID_UTF8"),
    ("max_doc_bytes", "input", "max_doc_bytes", "size"),
    ("shard", "results", "shard", "uint32"),
    ("words", "text", "words", "WORDS"),
    ("short", "text", "short_rule", "SHORT"),
    ("bag", "text", "bag", "flag"),
    ("weights", "text", "weights", "WEIGHTS"),
    ("hash", "text", "hash", "HASH"),
    ("scheme", "sketch", "scheme", "SCHEME"),
    ("perms", "sketch", "perms", "uint32"),
    ("seed", "sketch", "seed", "uint32"),
    ("threshold", "bands", "threshold", "share"),
    ("recall", "bands", "recall", "share"),
    ("bands", "bands", "bands", "uint32"),
    ("rows", "bands", "rows", "uint32"),
    ("verify", "pairs", "verify", "VERIFY"),
    ("min_words", "pairs", "min_words", "uint32"),
    ("stop_shingles", "pairs", "stop_shingles", "uint64"),
    ("cut", "pairs", "cut", "flag"),
    ("cluster", "pairs", "cluster", "CLUSTER"),
    ("unit", "pairs", "unit", "UNIT"),
    ("keep_count", "pairs", "keep_count", "uint64"),
    ("max_group_size", "pairs", "max_group_size", "uint64"),
    ("sample", "pairs", "sample", "uint64"),
    ("candidates", "pairs", "candidates", "CANDIDATES"),
    ("measure", "pairs", "measure", "MEASURE"),
    ("edit", "pairs", "edit", "flag"),
    ("identical", "pairs", "identical", "IDENTICAL"),
)

# Keywords that are fields of another name in the library.
FIELDS = {
    "pairs": "write_pairs",
    "text": "text_fields",
    "id": "id_field",
    "offsets": "offsets_path",
    "short": "short_rule",
}
