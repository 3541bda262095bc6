/* SPDX-License-Identifier: Apache-2.0 */
/* types.h -- the plain types and the parts of options that the other headers use.
 *
 * Ownership words, used everywhere: *borrowed* (read during the call only), *filled* (the caller's
 * memory, written), *taken* (the callee frees it). Integers are little-endian in files; sizes in
 * memory are size_t.
 *
 * How options grow without breaking a program that was built before:
 * - The options of a call are one struct, bm_NAME_options, with the first field `struct_size`.
 *   bm_NAME_options_init fills every default of the documentation and this field. The call reads
 *   only `struct_size` bytes, and uses the defaults for fields that a later version has added at
 *   the end. A struct that was not initialised is BM_ERR_USAGE.
 * - The parts below, which several of these structs hold, keep their size for ever: new fields
 *   take the place of their `reserved` words, which are zero.
 * - A struct that a call fills has a struct_size of its own, or the library owns it and functions
 *   return pointers to it.
 * - bm_str, bm_pair, bm_band_plan and bm_error never change.
 * Every enum passed in is checked: an unknown value is BM_ERR_USAGE, and the error names the
 * field. */
#ifndef BANDMILL_TYPES_H
#define BANDMILL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bandmill/status.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Bytes that this struct does not own. They need not end with a NUL. */
typedef struct bm_str {
    const char *data;
    size_t len;
} bm_str;

#define BM_PERMS_MAX     1024u
#define BM_PERMS_DEFAULT 128u
#define BM_SHINGLE_K_MAX 1024u
#define BM_THREADS_MAX   1024u
#define BM_NO_SHINGLE32  0xFFFFFFFFu           /* every value of a document without shingles */
#define BM_NO_SHINGLE64  0xFFFFFFFFFFFFFFFFull /* the same, for 64-bit values */
#define BM_NO_BAND_KEY   0xFFFFFFFFFFFFFFFFull /* every band key of such a document */
#define BM_DOCS_MAX      0xFFFFFFFEu           /* most documents in one run */

/* --- input: documents and their formats (docs/inputs.md) --- */

typedef enum bm_format {
    BM_FORMAT_AUTO,
    BM_FORMAT_JSONL,
    BM_FORMAT_TSV,
    BM_FORMAT_CSV,
    BM_FORMAT_LINES,
    BM_FORMAT_FILES,
    BM_FORMAT_HASHES,
    BM_FORMAT_JSON,  /* the objects of one array */
    BM_FORMAT_ARROW, /* rows of a table in memory (arrow.h), or of files in Arrow's IPC format */
    BM_FORMAT_KEYS,  /* band keys that another program made; only for pairs */
    BM_FORMAT_PARQUET,
    BM_FORMAT_SIGNATURES, /* used in reports, for imported signatures without texts; no option may
                           * have this value */
    BM_FORMAT_WET,        /* records of type `conversion` in Common Crawl's text files */
    BM_FORMAT_MIXED       /* used in reports, for inputs of several formats, each decided by its
                           * name; no option may have this value */
} bm_format;

typedef enum bm_header {
    BM_HEADER_BY_FIELDS, /* row 1 has names, unless all fields are given as numbers */
    BM_HEADER_YES,
    BM_HEADER_NO
} bm_header;
typedef enum bm_duplicate_ids {
    BM_DUPLICATE_IDS_ERROR,
    BM_DUPLICATE_IDS_NUMBER,
    BM_DUPLICATE_IDS_SKIP,   /* only for an index: the first document is kept */
    BM_DUPLICATE_IDS_REPLACE /* only for an index: the last document is kept */
} bm_duplicate_ids;
typedef enum bm_on_error { BM_ON_ERROR_FAIL, BM_ON_ERROR_SKIP } bm_on_error;
/* The type of the ids of documents. */
typedef enum bm_id_kind {
    BM_IDS_UNTYPED, /* ids of files; for an index: not decided yet */
    BM_IDS_TEXT,
    BM_IDS_INT64,
    BM_IDS_UINT64,
    BM_IDS_ROWS /* row numbers, for inputs without ids; an index records them as INT64 */
} bm_id_kind;
typedef enum bm_invalid_utf8 { BM_INVALID_UTF8_REPLACE, BM_INVALID_UTF8_ERROR } bm_invalid_utf8;

/* Patterns (docs/inputs.md) for the files of a directory, matched against a file's path below that
 * directory. A file is read if a pattern of `include` matches, or `include` is empty, and no
 * pattern of `exclude` matches. */
typedef struct bm_name_patterns {
    const char *const *include, *const *exclude;
    uint32_t n_include, n_exclude;
} bm_name_patterns;

struct ArrowArrayStream; /* arrow.h */

typedef struct bm_input_options {
    const char *const *paths; /* borrowed; "-" is standard input */
    size_t n_paths;
    const char *files_from; /* file with a list of paths, one on each line ("-": stdin); NULL:
                               none */
    bool files_from_nul;    /* the paths in the list are separated by NUL */
    bm_format format;
    const char *const *text_fields; /* NULL: "text" */
    size_t n_text_fields;
    const char *id_field; /* NULL: not given; "none": ids are always FILE:LINE */
    bm_header header;
    const char *offsets_path; /* for BM_FORMAT_HASHES */
    bm_duplicate_ids duplicate_ids;
    bm_on_error on_error;
    uint64_t max_errors; /* most bad records that BM_ON_ERROR_SKIP skips; UINT64_MAX: no limit */
    bm_invalid_utf8 invalid_utf8;
    uint64_t max_doc_bytes; /* a longer document is a bad record; 0: 1 GiB */
    bm_name_patterns patterns;
    char delimiter; /* for tsv and csv: an ASCII character, but no quote or line ending; 0: a tab
                     * for tsv, a comma for csv */
    /* A table in memory, instead of paths. The arrays are read once. The call moves the stream, and
     * thereby sets its `release` to NULL. If `release` is still set afterwards, the call refused
     * the stream, which then still belongs to the caller. */
    struct ArrowArrayStream *stream;
    const char *stream_name; /* for ids and messages; NULL: "table" */
    /* The names of `paths` in ids, messages and reports, for paths that are copies of files stored
     * elsewhere. If names are given, no path may be a directory. NULL: the paths themselves. */
    const char *const *names;
    /* Ids for the rows of a `stream`. 0: a row without an id (there is no column of ids, or its
     * value is null and the caller did not name the column) gets NAME:ROW, with rows counted from
     * 1. N > 0: if there is no column of ids, ids are row numbers, counted from N - 1; otherwise a
     * row whose id is null is a bad record. A column whose type is null counts as none if N > 0. An
     * index ignores the value of N, and continues after the largest number that was an id in it. */
    uint64_t row_ids;
} bm_input_options;

/* --- from text to shingles (docs/text.md) --- */

enum { /* bits of bm_text_options.normalize; INVISIBLE is applied first, then the others in this
          order */
       BM_NORM_NFC = 1u << 0,
       BM_NORM_NFKC = 1u << 1, /* replaces NFC */
       BM_NORM_LOWER = 1u << 2,
       BM_NORM_STRIP_ACCENTS = 1u << 3,
       BM_NORM_DIGITS = 1u << 4,
       BM_NORM_PUNCT = 1u << 5, /* drops each character of category P */
       /* Drops Default_Ignorable code points, and runs of marks that follow no letter or number;
        * U+200B becomes a blank. */
       BM_NORM_INVISIBLE = 1u << 6,
       BM_NORM_ALL = 2 * BM_NORM_INVISIBLE - 1 /* every bit above */
};
typedef enum bm_words {
    BM_WORDS_ALNUM,
    BM_WORDS_SPACE,
    BM_WORDS_TEXT_DEDUP /* split as by text-dedup: each character that is not L, N or _ ends a
                           word */
} bm_words;
typedef enum bm_shingle_kind {
    BM_SHINGLE_WORD,
    BM_SHINGLE_CHAR,
    BM_SHINGLE_BYTE,
    BM_SHINGLE_STOPWORD /* a stop word and the shingle_k words after it */
} bm_shingle_kind;
typedef enum bm_short_rule { BM_SHORT_WHOLE, BM_SHORT_SKIP } bm_short_rule;
typedef enum bm_token_hash {                  /* each hash has 64 bits; schemes of 32 bits use the
                                                low half */
                             BM_TOKEN_XXH3,   /* XXH3_64bits with seed 0 */
                             BM_TOKEN_XXH64,  /* XXH64 with seed 0 */
                             BM_TOKEN_SHA1,   /* the first 8 bytes of the digest, little-endian */
                             BM_TOKEN_MURMUR3 /* low half: MurmurHash3_x86_32 with seed 0; high
                                               * half: that of XXH3 */
} bm_token_hash;
typedef enum bm_weights {
    BM_WEIGHTS_NONE, /* a document is a set */
    BM_WEIGHTS_TFIDF /* an element weighs its number of occurrences times ln(N / df) */
} bm_weights;

typedef struct bm_text_options {
    uint32_t normalize; /* BM_NORM_* bits; 0: none */
    bm_words words;
    bm_shingle_kind shingle;
    uint32_t shingle_k; /* 1 … BM_SHINGLE_K_MAX */
    bm_short_rule short_rule;
    bm_weights weights;
    const char *stopwords; /* for BM_SHINGLE_STOPWORD: "en", or the path of a file; NULL: "en" */
    bool bag;              /* the n-th occurrence of a shingle is an element of its own */
    bm_token_hash hash;    /* hash of a shingle, which the scheme must accept; default:
                            * bm_scheme_hash (schemes.h) */
    uint64_t of_scheme;    /* for the library, which overwrites any value */
    uint64_t reserved[5];
} bm_text_options;

/* --- signatures --- */

typedef enum bm_scheme {
    BM_SCHEME_AFFINE32, /* the minimum of each of K permutations of the shingles */
    BM_SCHEME_OPH,      /* one hash for each shingle; the minimum of each of K bins, densified */
    BM_SCHEME_CWS,      /* consistent weighted sampling: each value is one of the weighted
                         * shingles */
    /* schemes of other tools, with the values of these tools; each has hashes (bm_scheme_hash) and
     * a seed of its own */
    BM_SCHEME_LEGACY,     /* datasketch 1 */
    BM_SCHEME_TEXT_DEDUP, /* text-dedup */
    BM_SCHEME_NEMO,       /* NeMo Curator, 32 bits */
    BM_SCHEME_LANCE,      /* Lance: 16-bit values, each stored in a 32-bit word */
    BM_SCHEME_AFFINE64,   /* datasketch 2: 64-bit values */
    BM_SCHEME_DATATROVE   /* datatrove: 64-bit values */
} bm_scheme;

typedef struct bm_sketch_options {
    uint32_t perms; /* K, 1 … BM_PERMS_MAX; 0: bands * rows if both are given, else 128 */
    uint32_t seed;  /* default: bm_scheme_seed (schemes.h), the seed that the scheme's authors
                       use */
    bm_scheme scheme;
    uint32_t reserved_flags;
    uint64_t reserved[4];
} bm_sketch_options;

/* --- fields set on purpose --- */

/* Directories of signatures record how their documents were read, cut and signed. If a field of
 * `input`, `text` or `sketch` is set and contradicts the record, a call that accepts such
 * directories is BM_ERR_USAGE; the error names the field. A field counts as set if it differs from
 * its default, or if its bit is set in the `set_fields` of the call. The bit means that the default
 * was chosen on purpose. If the inputs are documents, only BM_FIELD_SCHEME (with weights),
 * BM_FIELD_THRESHOLD and BM_FIELD_CANDIDATES have an effect. */
enum {
    BM_FIELD_FORMAT = 1u << 0,
    BM_FIELD_TEXT_FIELDS = 1u << 1,
    BM_FIELD_ID_FIELD = 1u << 2,
    BM_FIELD_HEADER = 1u << 3,
    BM_FIELD_DUPLICATE_IDS = 1u << 4,
    BM_FIELD_ON_ERROR = 1u << 5,
    BM_FIELD_MAX_ERRORS = 1u << 6,
    BM_FIELD_INVALID_UTF8 = 1u << 7,
    BM_FIELD_MAX_DOC_BYTES = 1u << 8,
    BM_FIELD_NORMALIZE = 1u << 9,
    BM_FIELD_WORDS = 1u << 10,
    BM_FIELD_SHINGLE = 1u << 11, /* shingle and shingle_k */
    BM_FIELD_SHORT_RULE = 1u << 12,
    BM_FIELD_HASH = 1u << 13, /* hash of a shingle */
    BM_FIELD_SCHEME = 1u << 14,
    BM_FIELD_SEED = 1u << 15,
    BM_FIELD_STOPWORDS = 1u << 16,
    BM_FIELD_BAG = 1u << 17,
    BM_FIELD_WEIGHTS = 1u << 18,
    /* used by dedup: with a unit, the default threshold is 1, so a lower one must be marked as
     * set */
    BM_FIELD_THRESHOLD = 1u << 20,
    BM_FIELD_CANDIDATES = 1u << 19 /* for pairs, because containment contradicts the default */
};

/* --- bands, verification, groups --- */

typedef struct bm_band_options {
    double threshold, recall;
    uint32_t bands, rows; /* both 0: they are chosen by threshold, recall and perms */
    uint64_t reserved[4];
} bm_band_options;

typedef enum bm_candidate_rule {
    BM_CANDIDATES_LSH,   /* pairs that share a band */
    BM_CANDIDATES_ALL,   /* every pair that shares a shingle: exact, no bands */
    BM_CANDIDATES_LENGTH /* another name for ALL; reports say "all" */
} bm_candidate_rule;
/* The measure of similarity of two sets. */
typedef enum bm_measure {
    BM_MEASURE_JACCARD, /* |x and y| / |x or y| */
    /* Always exact, never estimated. For two documents: |x and y| / |the smaller of them|, which is
     * the greater of the two shares. For a query: |query and target| / |query| */
    BM_MEASURE_CONTAINMENT
} bm_measure;
typedef enum bm_verify {
    BM_VERIFY_AUTO,
    BM_VERIFY_EXACT,
    BM_VERIFY_SIGNATURE,
    BM_VERIFY_NONE,
    BM_VERIFY_CONTAINED /* only for dedup: remove a document only if a kept document contains it, or
                         * a given share of it */
} bm_verify;
typedef enum bm_identical {
    BM_IDENTICAL_ALL,  /* every pair of identical documents */
    BM_IDENTICAL_CHAIN /* each copy only with the first */
} bm_identical;
/* The units that a job compares: whole documents, their lines or paragraphs, or stretches of K
 * shingle units. */
typedef enum bm_unit { BM_UNIT_DOCUMENT, BM_UNIT_LINE, BM_UNIT_PARAGRAPH, BM_UNIT_SPAN } bm_unit;
typedef enum bm_cluster { BM_CLUSTER_COMPONENTS, BM_CLUSTER_STAR } bm_cluster;
typedef enum bm_keep {
    BM_KEEP_FIRST,
    BM_KEEP_LAST,
    BM_KEEP_LONGEST,
    BM_KEEP_SHORTEST,
    BM_KEEP_NONE /* no document of a group is kept */
} bm_keep;

/* b bands of r rows. The values b*r … K-1 of a signature are not used. */
typedef struct bm_band_plan {
    uint32_t perms, bands, rows;
    double threshold, recall; /* as requested */
    double predicted_recall;  /* 1 - (1 - t^r)^b at the threshold */
} bm_band_plan;

/* Two documents by number (row), a < b, and their similarity. */
typedef struct bm_pair {
    uint32_t a, b;
    double similarity;
} bm_pair;

/* --- devices and other resources --- */

typedef enum bm_offload {
    BM_OFFLOAD_AUTO, /* as docs/opencl.md describes; the other values are for tests and
                        measurements */
    BM_OFFLOAD_OFF,
    BM_OFFLOAD_TRIAL,
    BM_OFFLOAD_ON
} bm_offload;

/* `device` and `cpu` select devices. The other fields limit and tune OpenCL (docs/opencl.md). If a
 * field is 0 or NULL, the library decides. The library has no environment variables of its own; a
 * program passes all settings here. */
typedef struct bm_device_options {
    /* "cpu": the native CPU; "gpu": every GPU; "opencl": the first OpenCL device; "opencl:P.D";
     * "all": every GPU and the native CPU; a part of a device's name; several of these, separated
     * by commas. "auto": GPUs if there are any and they are worthwhile, else the native CPU. NULL:
     * "cpu", because every other word may load the OpenCL drivers of the machine into the
     * process. */
    const char *device;
    const char *cpu;             /* "scalar", "avx2", "avx512", "neon"; NULL: the best of this
                                  machine */
    const char *cache_dir;       /* cache of compiled OpenCL programs; NULL: the user's cache
                                  directory; "": no cache */
    const char *tuning_path;     /* table of kernel parameters that overrides the built-in one */
    const char *probe_program;   /* program that builds kernels in a process of its own, run as
                                * PROGRAM __probe-opencl DEVICE CACHE_DIR; NULL: the running program
                                * if it is bandmill, else none; "": none */
    double probe_seconds;        /* limit in seconds for building (0: 120), and for listing devices
                                * (0: 60) */
    double call_seconds;         /* longest wait for an answer of the device, in seconds; 0: depends
                                  on its work */
    const char *kernel_family;   /* "cpu" or "gpu" kernels; NULL: the table decides */
    const char *kernel_params;   /* a line like those of kernels/tuning/opencl.csv, used instead of
                                  the table */
    uint64_t buffer_limit_bytes; /* largest buffer on a device; 0: the device's own limit */
    bm_offload text_offload;     /* whether texts are sent to the device and cut there */
    /* A counter, which is incremented atomically for each device that has stopped answering and
     * blocks a thread in its driver for ever. If the count is not 0, the process should end by
     * _exit once its output is written, because exit handlers of the driver may wait for such a
     * thread. The pointer must be valid while a device is open; NULL: not counted. */
    uint32_t *n_stuck;
    /* `device` was set by the program, not by its user. The choice of "auto" is then logged as
     * BM_LOG_DEBUG, else as BM_LOG_INFO */
    bool by_default;
    uint32_t reserved_flags;
    uint64_t reserved[8];
} bm_device_options;

typedef struct bm_resource_options {
    uint32_t threads;     /* 0: all processors */
    uint32_t batch_docs;  /* most documents in a batch; 0: bytes decide. Results do not depend on
                            this */
    uint64_t memory;      /* bytes; 0: half of the least of these three: free memory, the limit of a
                      * control group above the process, the space that RLIMIT_AS leaves */
    const char *temp_dir; /* NULL: beside the output or, without an output, in /tmp */
    /* Seconds of work between two checkpoints. Less than 0: the job chooses (docs/resume.md). 0: a
     * checkpoint after each batch. */
    double checkpoint_seconds;
    uint64_t reserved[4];
} bm_resource_options;

/* --- output --- */

/* Receives output data. If it returns non-zero, the call stops with BM_ERR_PIPE. */
typedef int (*bm_write_fn)(void *ctx, const char *data, size_t len);

/* How kept or removed records are written. */
typedef enum bm_records {
    BM_RECORDS_SAME,  /* compressed as the inputs are */
    BM_RECORDS_PLAIN, /* without compression */
    BM_RECORDS_GZ,
    BM_RECORDS_ZST,
    BM_RECORDS_NOT_WRITTEN
} bm_records;

struct bm_summary; /* job.h */
/* Called when everything is done, except that the outputs do not have their final names yet. If the
 * function returns BM_OK, the job renames them. */
typedef bm_status (*bm_ready_fn)(void *ctx, const struct bm_summary *summary, bm_error *err);

typedef struct bm_output_options {
    const char *path;   /* a directory or a file, depending on the call */
    bool force;         /* replace an existing output as a whole, but only if a job wrote it */
    const char *report; /* a second copy of the summary; NULL: none */
    /* The arguments of the caller's command line, ending with a NULL. They are written to "run" in
     * the report. NULL: not known. */
    const char *const *command;
    /* For sign, dedup, pairs and filter; NULL: not called. `ready` is called once, on the thread of
     * the call, when all files are on the disk and none has its final name yet. So if the caller
     * writes the summary or passes rows on, it can still cancel the job. Any status but BM_OK ends
     * the job with this status and the contents of `err`, and nothing is left at the targets. */
    bm_ready_fn ready;
    void *ready_ctx;
    uint64_t reserved[1];
} bm_output_options;

/* --- callbacks --- */

typedef enum bm_log_level { BM_LOG_ERROR, BM_LOG_WARNING, BM_LOG_INFO, BM_LOG_DEBUG } bm_log_level;

/* Passed to a callback by pointer, because later versions may add fields at the end. */
typedef struct bm_progress {
    const char *stage;    /* "read", "bucket", "verify", "write" … */
    uint64_t done, total; /* in `unit`; total 0: not known */
    const char *unit;     /* "bytes", "documents", "bands", "pairs" */
    uint64_t n_docs;      /* number of documents so far */
    double elapsed_s;     /* seconds since the stage began */
    /* Progress of the whole job, for sign, dedup, pairs, filter and cluster. n_stages 0: the job
     * has no plan of its stages. */
    uint32_t stage_number, n_stages; /* as in "2 of 4"; stage_number 0: before the first stage */
    double job_done;                 /* share that is done, 0 … 1; never falls */
    double job_elapsed_s;
    double job_left_s; /* expected seconds that are left; less than 0: not known yet */
} bm_progress;

/* All callbacks may be NULL. They are called on any thread of the job, one call at a time. They
 * must not call back into the job. A call into an open handle (bm_signer, bm_index) from its own
 * callback is BM_ERR_USAGE. `cancelled` is called at each batch. If it returns true, the job ends
 * with BM_ERR_CANCELLED. */
typedef struct bm_callbacks {
    void *ctx;
    void (*progress)(void *ctx, const bm_progress *progress);
    void (*log)(void *ctx, bm_log_level level, const char *message);
    bool (*cancelled)(void *ctx);
    uint64_t reserved[4];
} bm_callbacks;

#if defined(__cplusplus)
}
#endif
#endif
