/* SPDX-License-Identifier: Apache-2.0 */
/* index.h -- a persistent index on disk, which finds the documents that resemble a query.
 *
 * An index is a directory with one LMDB environment. When it is built, these are fixed: how
 * documents are cut and signed, the band plan, and the data stored for each document. A commit
 * survives the end of the process and loss of power. Any number of processes may read it beside one
 * that writes; a second writer is BM_ERR_LOCKED. Within one process any number of handles and jobs
 * may read an index; a handle or job that writes must be the only one, else BM_ERR_BUSY. An index
 * of another format version, or of a machine of the other byte order, is BM_ERR_FORMAT. */
#ifndef BANDMILL_INDEX_H
#define BANDMILL_INDEX_H

#include <bandmill/job.h>
#include <bandmill/sketch.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* What an index stores for each document, to verify candidates. */
typedef enum bm_index_store {
    BM_INDEX_SETS,      /* its shingle hashes: answers are exact */
    BM_INDEX_SIGNATURES /* its signature, 4 bytes a permutation: answers are estimates */
} bm_index_store;

/* --- jobs over documents --- */

/* Build an index of documents, or of directories that a sign job wrote. From such directories,
 * BM_INDEX_SIGNATURES takes the signatures, and BM_INDEX_SETS reads their inputs again
 * (BM_ERR_FORMAT names one that is missing or changed). */
typedef struct bm_index_build_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_index_store store;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path`: the index */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h), for signatures */
    const char *sources; /* directory below which inputs of signatures may be now; NULL: none */
} bm_index_build_options;

/* Add documents, or directories that a sign job wrote, to an index. The index prescribes how
 * documents are cut and signed. A field of `input`, `text`, `sketch` or `bands` that is set and
 * contradicts the index is BM_ERR_USAGE. A field counts as set if it differs from its default, or
 * if its bit of `set_fields` is set. This call decides how the inputs are read: format, fields,
 * treatment of bad records and repeated ids. The call commits after every 64 MiB of input or 10 s
 * (`resources.checkpoint_seconds`, if that is not negative), and at the end. A call that fails or
 * is cancelled leaves the index as at its last commit. */
typedef struct bm_index_add_options {
    size_t struct_size;
    const char *path; /* the index */
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* threshold and recall are ignored: the index has its own */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    /* A document that reaches the threshold with one in the index, or with one that this call has
     * already added, is not added. Its best match goes to `write` as a row: query, target,
     * jaccard. */
    bool unique;
    double threshold; /* for `unique`; 0: the threshold of the index */
    bool follow; /* with `unique`: each line of standard input is answered before the next is read:
                  * its row, if it has one, and an empty line go to `write` in one call. `input`
                  * then has no paths; its format is jsonl, lines or tsv */
    bool resume; /* skip documents that an interrupted call with the same inputs has committed */
    bool json;   /* rows as JSON Lines */
    bm_write_fn write;
    void *write_ctx;
    bm_callbacks callbacks;
    uint64_t set_fields;
    const char *sources; /* as in bm_index_build_options */
} bm_index_add_options;

/* Remove documents from an index by their ids. */
typedef struct bm_index_remove_options {
    size_t struct_size;
    const char *path;       /* the index */
    const char *const *ids; /* borrowed */
    size_t n_ids;
    const char *ids_from; /* file of more ids, one a line ("-": standard input); NULL: none */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    bm_callbacks callbacks;
} bm_index_remove_options;

BM_API void bm_index_build_options_init_sized(bm_index_build_options *options, size_t struct_size);
BM_API void bm_index_add_options_init_sized(bm_index_add_options *options, size_t struct_size);
BM_API void bm_index_remove_options_init_sized(bm_index_remove_options *options,
                                               size_t struct_size);

static inline void bm_index_build_options_init(bm_index_build_options *options)
{
    bm_index_build_options_init_sized(options, sizeof *options);
}
static inline void bm_index_add_options_init(bm_index_add_options *options)
{
    bm_index_add_options_init_sized(options, sizeof *options);
}
static inline void bm_index_remove_options_init(bm_index_remove_options *options)
{
    bm_index_remove_options_init_sized(options, sizeof *options);
}

/* Like the jobs of job.h: BM_OK and a summary, or an error. A build that fails leaves nothing at
 * its target. */
BM_API bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out,
                                    bm_error *err);
BM_API bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out,
                                  bm_error *err);
/* BM_NOT_FOUND: some ids were not in the index (each is logged as a warning). All others are
 * removed, and there is a summary as well. */
BM_API bm_status bm_job_index_remove(const bm_index_remove_options *options, bm_summary **out,
                                     bm_error *err);

/* --- the index itself --- */

/* Verify every structure and every checksum. */
typedef struct bm_index_check_options {
    size_t struct_size;
    const char *path; /* the index */
    bm_resource_options resources;
    /* Called with a line for each of the first 100 defects; NULL: not called. */
    void (*wrong)(void *ctx, const char *what);
    void *wrong_ctx;
    bm_callbacks callbacks;
} bm_index_check_options;

/* Write the documents that are left, in their order, to a new file, which replaces the old one. The
 * new file has no space of removed documents, and a look-up in it searches one run. */
typedef struct bm_index_compact_options {
    size_t struct_size;
    const char *path; /* the index */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    bm_callbacks callbacks;
} bm_index_compact_options;

BM_API void bm_index_check_options_init_sized(bm_index_check_options *options, size_t struct_size);
BM_API void bm_index_compact_options_init_sized(bm_index_compact_options *options,
                                                size_t struct_size);

static inline void bm_index_check_options_init(bm_index_check_options *options)
{
    bm_index_check_options_init_sized(options, sizeof *options);
}
static inline void bm_index_compact_options_init(bm_index_compact_options *options)
{
    bm_index_compact_options_init_sized(options, sizeof *options);
}

/* BM_ERR_FORMAT: the index has a defect. */
BM_API bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err);
BM_API bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                                      bm_error *err);
/* The kind and contents of an index as one JSON object; *json is the caller's, freed with
 * bm_string_free. */
BM_API bm_status bm_index_inspect(const char *path, char **json, bm_error *err);

/* --- queries --- */

/* The rule by which documents of an index answer a query. Embedded in option structs, so its size
 * never changes. */
typedef struct bm_answer_rule {
    double threshold;  /* least similarity; 0: the threshold of the index. The bands were chosen for
                        * the threshold of the index: at another one they find a larger or a smaller
                        * part of the answers */
    uint32_t top;      /* number of best answers of each query; 0: all */
    bool skip_same_id; /* a document does not answer a query with its own id */
    /* BM_MEASURE_CONTAINMENT (an index of sets): the share of the query that a document holds,
     * computed exactly and without bands, so no answer is missed. If it saves time, filters in the
     * index first exclude most documents */
    bm_measure measure;
    uint32_t reserved_flags;
    uint64_t reserved[3];
} bm_answer_rule;

/* Find, for each document of `input`, the documents of an index, or of `targets`, that reach the
 * threshold. A row is query, target and Jaccard similarity. Queries keep their order; the targets
 * of a query come best first, equally good ones in order of insertion. bm_job_pairs would find the
 * same pairs. */
typedef struct bm_query_options {
    size_t struct_size;
    const char
        *path; /* the index, which prescribes how documents are cut and signed: fields of `text`,
                * `sketch` and `bands` that are set and contradict it are BM_ERR_USAGE */
    /* Instead of `path`: documents, from which this call makes a temporary index. They are read as
     * the queries are. Borrowed. */
    const char *const *targets;
    size_t n_targets;
    bm_input_options input; /* the queries */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* with an index, threshold and recall are ignored: the index has its
                            * own */
    bm_verify verify; /* EXACT if the index stores sets, SIGNATURE if it stores signatures; with
                       * `targets` either */
    bm_answer_rule answers;
    /* Each line of standard input is answered before the next is read: its rows and an empty line
     * go to `write` in one call. `input` then has no paths; its format is jsonl, lines or tsv. A
     * bad record ends the call; if bad records are skipped, it is logged and has no rows. */
    bool follow;
    bm_device_options device; /* with `device` "auto", few queries use the native CPU */
    bm_resource_options resources;
    bm_output_options output; /* `path`: a file; NULL: `write` */
    bm_write_fn write;
    void *write_ctx;
    bool json; /* rows as JSON Lines */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
} bm_query_options;

BM_API void bm_query_options_init_sized(bm_query_options *options, size_t struct_size);
static inline void bm_query_options_init(bm_query_options *options)
{
    bm_query_options_init_sized(options, sizeof *options);
}

/* BM_NOT_FOUND: no query has an answer; there is a summary (and an output without rows) as well.
 * bm_counts: `documents` are queries, `edges` answers. */
BM_API bm_status bm_job_query(const bm_query_options *options, bm_summary **out, bm_error *err);

/* --- an index in a program --- */

/* An open index. Any number of threads query it with texts, or with sets of hashes, while one
 * thread adds, removes and commits.
 *
 * Example
 *
 *     bm_index *index = NULL;
 *     bm_matches *matches = NULL;
 *     bm_error err = {0};
 *     const bm_documents asked = bm_documents_of_texts(texts, n);
 *     bm_status status = bm_index_open("known", NULL, &index, &err);
 *     if (status == BM_OK)
 *         status = bm_index_query(index, NULL, &asked, &matches, &err);
 *     for (size_t i = 0; status == BM_OK && i < n; i++) {
 *         const uint64_t *offsets = bm_matches_offsets(matches);
 *         for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
 *             printf("%zu %.*s %g\n", i, (int)bm_matches_id(matches, k).len,
 *                    bm_matches_id(matches, k).data, bm_matches_similarities(matches)[k]);
 *     }
 *     if (status != BM_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     bm_matches_free(matches);
 *     bm_index_close(index);
 *
 * A query sees the last commit: a commit of this handle at once, one of another process within a
 * quarter of a second.
 *
 * Processes. A bm_index belongs to the process that opened it. In a forked child its calls are
 * BM_ERR_USAGE, and bm_index_close frees the child's copy, waits for nothing and leaves the files
 * alone. The child may open the index again. A callback of the index that calls into it gets
 * BM_ERR_USAGE too; it may use other handles. */
typedef struct bm_index bm_index;

typedef struct bm_index_options {
    size_t struct_size;
    bool write;      /* allow add, remove and commit; BM_ERR_LOCKED if another process does */
    const char *cpu; /* "scalar", "avx2", "avx512", "neon"; NULL: the best here */
    bm_resource_options
        resources;          /* `threads` for queries of many documents (0: all); `memory` in which a
                             * writer sorts (0: 256 MiB) */
    bm_callbacks callbacks; /* only `cancelled`, on the thread of each call */
} bm_index_options;

BM_API void bm_index_options_init_sized(bm_index_options *options, size_t struct_size);
static inline void bm_index_options_init(bm_index_options *options)
{
    bm_index_options_init_sized(options, sizeof *options);
}

/* options NULL: the defaults. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_NOMEM; BM_ERR_LOCKED: another
 * process writes to the index. BM_ERR_BUSY: this process has the index open, and one of the two
 * handles writes. */
BM_API bm_status bm_index_open(const char *path, const bm_index_options *options, bm_index **out,
                               bm_error *err);
/* Wait for calls of other threads that have begun, and close the index. Changes that were not
 * committed are lost. No call may begin after close has begun: it would use memory that is freed,
 * and so would a second close. From a callback of the index, close does nothing. NULL is fine. */
BM_API void bm_index_close(bm_index *index);

/* The settings of an index, and its counts as of the last commit. */
typedef struct bm_index_info {
    size_t struct_size;
    bm_index_store store;
    /* `stopwords` is "en", or the words themselves, separated by blanks; the index owns it. */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_plan plan;
    uint64_t documents, empty;       /* empty: without shingles, never an answer */
    uint64_t removed;                /* compact frees their space */
    uint64_t shingles, text_bytes;   /* sums over the documents */
    uint64_t file_bytes, free_bytes; /* size of the index file; unused bytes in it */
    uint64_t unreadable;             /* of `documents`: not in UTF-8, so without shingles too */
    uint64_t short_docs;             /* of `documents`: too short for a shingle (BM_SHORT_SKIP) */
    bm_id_kind ids;                  /* kind of the first documents' ids; other kinds are refused */
    /* The id that the next row without an id gets: greater than any number that was ever an id
     * here. UINT64_MAX: an index of an earlier version, which does not record it yet. */
    uint64_t next_id;
} bm_index_info;

/* *out is filled up to its struct_size (begin with {.struct_size = sizeof}). */
BM_API bm_status bm_index_describe(bm_index *index, bm_index_info *out, bm_error *err);

typedef struct bm_match_options {
    size_t struct_size;
    bm_answer_rule answers;
    const bm_str *ids; /* ids of the queries, for answers.skip_same_id; else NULL */
} bm_match_options;

BM_API void bm_match_options_init_sized(bm_match_options *options, size_t struct_size);
static inline void bm_match_options_init(bm_match_options *options)
{
    bm_match_options_init_sized(options, sizeof *options);
}

/* Find, for each document, the documents of the index that reach the threshold: best first, equally
 * good ones in order of insertion. options NULL: all answers at the threshold of the index. A call
 * with few documents uses its own thread alone. BM_ERR_USAGE, BM_ERR_NOMEM, BM_ERR_FORMAT
 * (damaged), BM_ERR_CANCELLED. */
typedef struct bm_matches bm_matches; /* plain memory: a forked child may read and free its copy */
BM_API bm_status bm_index_query(bm_index *index, const bm_match_options *options,
                                const bm_documents *documents, bm_matches **out, bm_error *err);
/* The library owns the arrays and ids until free. The answers of document i are offsets[i] …
 * offsets[i+1]-1. */
BM_API size_t bm_matches_count(const bm_matches *matches);            /* queries */
BM_API const uint64_t *bm_matches_offsets(const bm_matches *matches); /* count + 1 */
BM_API const double *bm_matches_similarities(const bm_matches *matches);
BM_API bm_str bm_matches_id(const bm_matches *matches,
                            uint64_t match);      /* {NULL, 0}: there is none */
BM_API void bm_matches_free(bm_matches *matches); /* NULL is fine */

/* The calls below need a handle opened with `write`. Any thread may make them, one at a time. From
 * a thread's first change until it commits or closes the handle, they are BM_ERR_BUSY in other
 * threads.
 *
 * Add documents under ids, all or none of them. An id that is empty or in use is BM_ERR_INPUT,
 * which names it. Adding many at once costs less than one by one. */
BM_API bm_status bm_index_add(bm_index *index, const bm_str *ids, const bm_documents *documents,
                              bm_error *err);
/* BM_NOT_FOUND: some ids were not in the index; all others are removed. */
BM_API bm_status bm_index_remove(bm_index *index, const bm_str *ids, size_t n_ids, bm_error *err);
/* Write all additions and removals to the disk, at once. After BM_ERR_IO the index is as at the
 * last commit, and the handle can only be closed. */
BM_API bm_status bm_index_commit(bm_index *index, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
