/* SPDX-License-Identifier: Apache-2.0 */
/* index.h -- a persistent index on disk, which finds the documents that resemble a query.
 *
 * An index is a directory with one LMDB environment. When it is built, these are fixed: how
 * documents are cut and signed, the band plan, and the data stored for each document. A commit
 * survives the end of the process and loss of power. Any number of processes may read an index
 * while one process writes; a second writer gets BM_ERR_LOCKED. Within one process any number of
 * handles and jobs may read an index. A handle or job that writes must be the only one in its
 * process, else BM_ERR_BUSY. If an index has another format version or another byte order, it is
 * BM_ERR_FORMAT. */
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
    BM_INDEX_SETS,      /* the document's shingle hashes: answers are exact */
    BM_INDEX_SIGNATURES /* the document's signature, 4 bytes a permutation: answers are estimates */
} bm_index_store;

/* --- jobs over documents --- */

/* Build an index of documents, or of directories that a sign job wrote. From such directories,
 * BM_INDEX_SIGNATURES takes the signatures, and BM_INDEX_SETS reads the inputs again.
 * BM_ERR_FORMAT: an input is missing or was changed; the message names it. */
typedef struct bm_index_build_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_index_store store;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path` is the index */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h), for signatures */
    const char *sources; /* directory below which the inputs of signatures may now be found; NULL:
                            none */
} bm_index_build_options;

/* Add documents, or directories that a sign job wrote, to an index. The index prescribes how
 * documents are cut and signed. If a field of `input`, `text`, `sketch` or `bands` is set and
 * contradicts the index, the call is BM_ERR_USAGE. A field counts as set if it differs from its
 * default, or if its bit of `set_fields` is set. How the inputs are read is up to this call:
 * format, fields, and the treatment of bad records and repeated ids. The call commits after every
 * 64 MiB of input or 10 s, and at the end. If `resources.checkpoint_seconds` is not negative, it
 * replaces the 10 s. If a call fails or is cancelled, the index has the state of its last
 * commit. */
typedef struct bm_index_add_options {
    size_t struct_size;
    const char *path; /* the index */
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* threshold and recall are ignored: the index has its own */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command` may be set, `path` must not */
    /* true: if a document reaches the threshold with a document of the index, or with a document
     * that this call has already added, it is not added. Its best match goes to `write` as a row:
     * query, target, jaccard. */
    bool unique;
    double threshold; /* for `unique`; 0: the threshold of the index */
    bool follow; /* with `unique`: each line of standard input is answered before the next is read.
                  * The line's row, if it has one, and an empty line go to `write` in one call.
                  * `input` then has no paths, and its format is jsonl, lines or tsv */
    bool resume; /* skip the documents that an interrupted call with the same inputs has
                    committed */
    bool json;   /* write rows as JSON Lines */
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
    const char *ids_from; /* file with more ids, one on each line ("-": standard input); NULL:
                             none */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command` may be set, `path` must not */
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

/* Like the jobs of job.h, these return BM_OK and a summary, or an error. A build that fails leaves
 * nothing at its target. */
BM_API bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out,
                                    bm_error *err);
BM_API bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out,
                                  bm_error *err);
/* BM_NOT_FOUND: some ids were not in the index; each of them is logged as a warning. All other ids
 * are removed, and a summary is returned too. */
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

/* Write the documents that were not removed, in their order, to a new file, which replaces the old
 * one. The new file has no space of removed documents, and a look-up in it searches only one
 * run. */
typedef struct bm_index_compact_options {
    size_t struct_size;
    const char *path; /* the index */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command` may be set, `path` must not */
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
/* Return the kind and the contents of an index as one JSON object. The caller frees *json with
 * bm_string_free. */
BM_API bm_status bm_index_inspect(const char *path, char **json, bm_error *err);

/* --- queries --- */

/* The rule by which documents of an index answer a query. The struct is embedded in option structs,
 * so its size never changes. */
typedef struct bm_answer_rule {
    double threshold;  /* least similarity; 0: the threshold of the index. The bands were chosen for
                        * the threshold of the index, so at another threshold they find a larger or
                        * a smaller part of the answers */
    uint32_t top;      /* number of best answers of each query; 0: all */
    bool skip_same_id; /* a document does not answer a query that has the same id */
    /* BM_MEASURE_CONTAINMENT: the share of the query that a document holds. It needs an index of
     * sets. It is computed exactly and without bands, so no answer is missed. If it saves time,
     * filters in the index first exclude most documents */
    bm_measure measure;
    uint32_t reserved_flags;
    uint64_t reserved[3];
} bm_answer_rule;

/* For each document of `input`, find the documents of an index, or of `targets`, that reach the
 * threshold with it. A row is query, target and Jaccard similarity. Queries keep their order. The
 * targets of a query come best first; equally good targets are in order of insertion. bm_job_pairs
 * would find the same pairs. */
typedef struct bm_query_options {
    size_t struct_size;
    const char
        *path; /* the index. It prescribes how documents are cut and signed: if a field of `text`,
                * `sketch` or `bands` is set and contradicts it, the call is BM_ERR_USAGE */
    /* Documents, instead of `path`. The call makes a temporary index of them. They are read in the
     * same way as the queries. Borrowed. */
    const char *const *targets;
    size_t n_targets;
    bm_input_options input; /* the queries */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* with an index, threshold and recall are ignored: the index has its
                            * own */
    bm_verify verify; /* EXACT if the index stores sets, SIGNATURE if it stores signatures; with
                       * `targets`, either may be given */
    bm_answer_rule answers;
    /* true: each line of standard input is answered before the next is read. The line's rows and an
     * empty line go to `write` in one call. `input` then has no paths, and its format is jsonl,
     * lines or tsv. A bad record ends the call or, if bad records are skipped, is logged and has no
     * rows. */
    bool follow;
    bm_device_options device; /* if `device` is "auto" and there are few queries, the native CPU is
                                 used */
    bm_resource_options resources;
    bm_output_options output; /* `path`: a file; NULL: rows go to `write` */
    bm_write_fn write;
    void *write_ctx;
    bool json; /* write rows as JSON Lines */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h) */
} bm_query_options;

BM_API void bm_query_options_init_sized(bm_query_options *options, size_t struct_size);
static inline void bm_query_options_init(bm_query_options *options)
{
    bm_query_options_init_sized(options, sizeof *options);
}

/* BM_NOT_FOUND: no query has an answer. A summary is returned too, and the output has no rows. In
 * bm_counts, `documents` counts queries and `edges` counts answers. */
BM_API bm_status bm_job_query(const bm_query_options *options, bm_summary **out, bm_error *err);

/* --- an index in a program --- */

/* An open index. Any number of threads may query it with texts or with sets of hashes, while one
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
 * A query sees the last commit. A commit of this handle is seen at once, and a commit of another
 * process within a quarter of a second.
 *
 * Processes. A bm_index belongs to the process that opened it. In a forked child its calls are
 * BM_ERR_USAGE, and bm_index_close frees the child's copy, waits for nothing and leaves the files
 * alone. The child may open the index again. If a callback of the index calls into the index, it
 * gets BM_ERR_USAGE too, but it may use other handles. */
typedef struct bm_index bm_index;

typedef struct bm_index_options {
    size_t struct_size;
    bool write;      /* allow add, remove and commit; BM_ERR_LOCKED: another process writes to the
                        index */
    const char *cpu; /* "scalar", "avx2", "avx512", "neon"; NULL: the best of this machine */
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

/* Open an index. options NULL: the defaults. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_NOMEM. BM_ERR_LOCKED:
 * another process writes to the index. BM_ERR_BUSY: this process has the index open already, and
 * the first or the second handle writes. */
BM_API bm_status bm_index_open(const char *path, const bm_index_options *options, bm_index **out,
                               bm_error *err);
/* Wait for the calls that other threads have begun, and close the index. Changes that were not
 * committed are lost. After close has begun, no call and no second close may begin, because it
 * would use freed memory. From a callback of the index, close does nothing. NULL is fine. */
BM_API void bm_index_close(bm_index *index);

/* The settings of an index, and its counts as of the last commit. */
typedef struct bm_index_info {
    size_t struct_size;
    bm_index_store store;
    /* `stopwords` is "en", or the words themselves, separated by blanks; the index owns the
     * string. */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_plan plan;
    uint64_t documents, empty;       /* empty: documents without shingles, which are never
                                        answers */
    uint64_t removed;                /* removed documents, whose space compact frees */
    uint64_t shingles, text_bytes;   /* sums over the documents */
    uint64_t file_bytes, free_bytes; /* size of the index file, and how much of it is unused */
    uint64_t unreadable;             /* of `documents`: those that are not in UTF-8, and therefore
                                        have no shingles */
    uint64_t short_docs;             /* of `documents`: those that are too short for a shingle
                                        (BM_SHORT_SKIP) */
    bm_id_kind ids;                  /* kind of the ids, as the first documents set it; other kinds
                                        are refused */
    /* The id that the next row without an id gets. It is greater than any number that was ever an
     * id in the index. UINT64_MAX: not recorded, because the index is of an earlier version. */
    uint64_t next_id;
} bm_index_info;

/* *out is filled up to its struct_size, which the caller sets: {.struct_size = sizeof}. */
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

/* For each document, find the documents of the index that reach the threshold with it. Answers come
 * best first; equally good answers are in order of insertion. options NULL: all answers at the
 * threshold of the index. A call with few documents uses only the calling thread. BM_ERR_USAGE,
 * BM_ERR_NOMEM, BM_ERR_FORMAT (damaged), BM_ERR_CANCELLED. */
typedef struct bm_matches bm_matches; /* plain memory, so a forked child may read and free its
                                         copy */
BM_API bm_status bm_index_query(bm_index *index, const bm_match_options *options,
                                const bm_documents *documents, bm_matches **out, bm_error *err);
/* The library owns the arrays and ids; they are valid until bm_matches_free. The answers of
 * document i are offsets[i] … offsets[i+1]-1. */
BM_API size_t bm_matches_count(const bm_matches *matches);            /* number of queries */
BM_API const uint64_t *bm_matches_offsets(const bm_matches *matches); /* count + 1 entries */
BM_API const double *bm_matches_similarities(const bm_matches *matches);
BM_API bm_str bm_matches_id(const bm_matches *matches,
                            uint64_t match);      /* {NULL, 0}: there is no such match */
BM_API void bm_matches_free(bm_matches *matches); /* NULL is fine */

/* The calls below need a handle that was opened with `write`. Any thread may make them, one call at
 * a time. Once a thread has made a change, they are BM_ERR_BUSY in other threads, until the thread
 * commits or the handle is closed.
 *
 * Add documents under ids: either all of them or none. BM_ERR_INPUT: an id is empty or in use; the
 * message names it. Adding many documents at once costs less than adding them one by one. */
BM_API bm_status bm_index_add(bm_index *index, const bm_str *ids, const bm_documents *documents,
                              bm_error *err);
/* BM_NOT_FOUND: some ids were not in the index; all other ids are removed. */
BM_API bm_status bm_index_remove(bm_index *index, const bm_str *ids, size_t n_ids, bm_error *err);
/* Write all additions and removals to the disk, atomically. After BM_ERR_IO the index has the state
 * of the last commit, and the handle can only be closed. */
BM_API bm_status bm_index_commit(bm_index *index, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
