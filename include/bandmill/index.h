/* SPDX-License-Identifier: Apache-2.0 */
/* index.h -- an index that lives: documents on disk, found by what they have in common with others.
 *
 * An index is a directory with one environment of LMDB; how its documents are cut and signed, the
 * plan of bands and the data stored for each document are fixed when it is built, and never change.
 * A commit survives the end of the process and loss of power. Any number of processes may read it
 * beside one that writes; a second writer is BM_ERR_LOCKED. Within one process any number of
 * handles and jobs may read an index; one that writes must be alone, else BM_ERR_BUSY. An index of
 * another format version, or of a machine of the other byte order, is BM_ERR_FORMAT. */
#ifndef BANDMILL_INDEX_H
#define BANDMILL_INDEX_H

#include <bandmill/job.h>
#include <bandmill/sketch.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* An index keeps this of each document, to verify candidates. */
typedef enum bm_index_store {
    BM_INDEX_SETS,      /* its shingle hashes: answers are exact */
    BM_INDEX_SIGNATURES /* its signature, 4 bytes a permutation: answers are estimates */
} bm_index_store;

/* --- jobs over documents --- */

/* A new index of documents, or of directories that a sign job wrote: with BM_INDEX_SIGNATURES of
 * their rows, with BM_INDEX_SETS of their inputs, which are read again as they were (BM_ERR_FORMAT
 * names one that is missing or changed). */
typedef struct bm_index_build_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_index_store store;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path`: of the index */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h), for signatures */
    const char *sources; /* of signatures: inputs may lie below this directory now; NULL: none */
} bm_index_build_options;

/* Documents, or such directories, into an index. It knows how its documents are read, cut and
 * signed: fields of `input`, `text`, `sketch` and `bands` that ask for something else are
 * BM_ERR_USAGE (a field asks where it differs from its default, and where its bit of `set_fields`
 * is set). How these inputs are read (format, fields, what to do about bad records and ids that
 * repeat) is this call's own. It commits every 64 MiB of input or 10 s
 * (`resources.checkpoint_seconds`, where that is not negative), and at the end; a call that fails
 * or is cancelled leaves the index as at its last commit. */
typedef struct bm_index_add_options {
    size_t struct_size;
    const char *path; /* of the index */
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* threshold and recall are ignored: the index has its own */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    /* A document that reaches the threshold with one that is there, or with one that this call
     * added before it, is not added; its best match goes to `write` as a row: query, target,
     * jaccard. */
    bool unique;
    double threshold; /* of `unique`; 0: the threshold of the index */
    bool follow; /* with `unique`: each line of standard input is answered before the next is waited
                    for, with its row, if it has one, and an empty line, as one call of `write`.
                    `input` then has no paths; its format is jsonl, lines or tsv */
    bool resume; /* pass over what an interrupted call with the same inputs has committed */
    bool json;   /* rows as JSON Lines */
    bm_write_fn write;
    void *write_ctx;
    bm_callbacks callbacks;
    uint64_t set_fields;
    const char *sources; /* as in bm_index_build_options */
} bm_index_add_options;

/* Documents out of an index, by their ids. */
typedef struct bm_index_remove_options {
    size_t struct_size;
    const char *path;       /* of the index */
    const char *const *ids; /* borrowed */
    size_t n_ids;
    const char *ids_from; /* a list of more of them, one a line ("-": standard input); NULL: none */
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

/* As the jobs of job.h: BM_OK and a summary, or an error. A build leaves nothing at its target when
 * it fails. */
BM_API bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out,
                                    bm_error *err);
BM_API bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out,
                                  bm_error *err);
/* BM_NOT_FOUND: some ids were not there (each is logged as a warning); the rest is removed, and
 * there is a summary as well. */
BM_API bm_status bm_job_index_remove(const bm_index_remove_options *options, bm_summary **out,
                                     bm_error *err);

/* --- the index itself --- */

/* Look at every structure and every checksum. */
typedef struct bm_index_check_options {
    size_t struct_size;
    const char *path; /* of the index */
    bm_resource_options resources;
    /* Called with each thing that is wrong, a line each, the first 100 of them; NULL: nobody asks.
     */
    void (*wrong)(void *ctx, const char *what);
    void *wrong_ctx;
    bm_callbacks callbacks;
} bm_index_check_options;

/* Write the documents that are left, in their order, to a new file, and replace the old file by it:
 * removed documents are gone, and a look-up searches one run. */
typedef struct bm_index_compact_options {
    size_t struct_size;
    const char *path; /* of the index */
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

/* BM_ERR_FORMAT: something is wrong. */
BM_API bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err);
BM_API bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                                      bm_error *err);
/* The kind and contents of an index as one JSON object; *json is the caller's, freed with
 * bm_string_free. */
BM_API bm_status bm_index_inspect(const char *path, char **json, bm_error *err);

/* --- queries --- */

/* The rule by which documents of an index are answers. It is a part of options: its size stays. */
typedef struct bm_answer_rule {
    double threshold;  /* least similarity; 0: the threshold of the index. The bands were chosen for
                        * that one: at another threshold they find a larger or a smaller part of the
                        * answers */
    uint32_t top;      /* best answers of each query; 0: all */
    bool skip_same_id; /* a document is no answer to one of its own id */
    /* BM_MEASURE_CONTAINMENT, of sets: the share of the query that a document holds, exactly and of
     * all documents: the index's filters leave out most, where that pays; bands count for nothing
     */
    bm_measure measure;
    uint32_t reserved_flags;
    uint64_t reserved[3];
} bm_answer_rule;

/* For each document of `input`: the documents of an index, or of `targets`, that reach the
 * threshold. A row is query, target and Jaccard similarity. Queries are in their order, the targets
 * of a query from the best on; of equally good targets the one inserted first comes first.
 * bm_job_pairs would find the same pairs. */
typedef struct bm_query_options {
    size_t struct_size;
    const char
        *path; /* of the index. It knows how its documents are cut and signed: fields of `text`,
                         `sketch` and `bands` that ask for something else are BM_ERR_USAGE */
    /* Instead of `path`: documents, which an index is made of for this call. They are read as the
     * queries are. Borrowed. */
    const char *const *targets;
    size_t n_targets;
    bm_input_options input; /* the queries */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* of an index threshold and recall count for nothing: its own do */
    bm_verify verify; /* what the index keeps decides: EXACT with sets, SIGNATURE with signatures;
                              with `targets` either */
    bm_answer_rule answers;
    /* Each line of standard input is answered before the next is waited for: its rows and an empty
     * line come as one call of `write`. `input` then has no paths; its format is jsonl, lines or
     * tsv. A bad record ends the call, or, where it is skipped, is logged and has no rows. */
    bool follow;
    bm_device_options device; /* `device` "auto": for few queries the native CPU */
    bm_resource_options resources;
    bm_output_options output; /* `path`: a file; NULL: `write` */
    bm_write_fn write;
    void *write_ctx;
    bool json; /* these rows as JSON Lines */
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

/* An index that is kept open: queries of texts, or of sets of hashes, by any number of threads,
 * while one adds, removes and commits.
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
 * A query sees the last commit: one of this handle at once, one of another process within a quarter
 * of a second.
 *
 * Processes. A bm_index belongs to the process that opened it. In a forked child its calls are
 * BM_ERR_USAGE, and bm_index_close frees the child's copy, waits for nothing and leaves the files
 * alone. The child may open the index again. A callback of the index that calls into it gets
 * BM_ERR_USAGE too; it may use other handles. */
typedef struct bm_index bm_index;

typedef struct bm_index_options {
    size_t struct_size;
    bool write;      /* to add, remove and commit too; BM_ERR_LOCKED where another does */
    const char *cpu; /* "scalar", "avx2", "avx512", "neon"; NULL: the best here */
    bm_resource_options
        resources;          /* `threads` of a query of many documents; 0: all. `memory`: for what
                                      a writer sorts, 0: 256 MiB */
    bm_callbacks callbacks; /* `cancelled` alone, asked by the thread of each call */
} bm_index_options;

BM_API void bm_index_options_init_sized(bm_index_options *options, size_t struct_size);
static inline void bm_index_options_init(bm_index_options *options)
{
    bm_index_options_init_sized(options, sizeof *options);
}

/* options NULL: the defaults. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_NOMEM; BM_ERR_LOCKED: another process
 * writes to it; BM_ERR_BUSY: this process has it open, and either of the two handles writes. */
BM_API bm_status bm_index_open(const char *path, const bm_index_options *options, bm_index **out,
                               bm_error *err);
/* Wait for the calls of other threads that are under way, and close the index. Changes that were not
 * committed are lost. No call may begin after close has begun: it would use memory that is freed,
 * and so would a second close. From a callback of the index, close does nothing. NULL is fine. */
BM_API void bm_index_close(bm_index *index);

/* The settings of an index, and its counts as of the last commit. */
typedef struct bm_index_info {
    size_t struct_size;
    bm_index_store store;
    /* Its stopwords: "en", or the words themselves, with blanks between them; the index's. */
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_plan plan;
    uint64_t documents, empty;       /* empty: without shingles, no answer to anything */
    uint64_t removed;                /* compact frees their space */
    uint64_t shingles, text_bytes;   /* of the documents, summed */
    uint64_t file_bytes, free_bytes; /* of its file; of it, not in use */
    uint64_t unreadable; /* of documents: in another encoding than UTF-8, without shingles too */
    uint64_t short_docs; /* likewise: too short for a shingle (BM_SHORT_SKIP) */
    bm_id_kind ids;      /* of the documents that were added first; others are refused */
    /* The id of the next row without one: greater than any number that was an id here. UINT64_MAX:
     * an index of an earlier version, which does not record it yet. */
    uint64_t next_id;
} bm_index_info;

/* *out is filled up to its struct_size (begin with {.struct_size = sizeof}). */
BM_API bm_status bm_index_describe(bm_index *index, bm_index_info *out, bm_error *err);

typedef struct bm_match_options {
    size_t struct_size;
    bm_answer_rule answers;
    const bm_str
        *ids; /* of the documents that are asked for, with answers.skip_same_id; else NULL */
} bm_match_options;

BM_API void bm_match_options_init_sized(bm_match_options *options, size_t struct_size);
static inline void bm_match_options_init(bm_match_options *options)
{
    bm_match_options_init_sized(options, sizeof *options);
}

/* For each document the documents of the index that reach the threshold, from the best on; of
 * equally good ones the one inserted first comes first. options NULL: all at the threshold of the
 * index. Few documents are looked up by the thread of the call alone. BM_ERR_USAGE, BM_ERR_NOMEM,
 * BM_ERR_FORMAT (damaged), BM_ERR_CANCELLED. */
typedef struct bm_matches bm_matches; /* memory: a forked child may read and free its copy */
BM_API bm_status bm_index_query(bm_index *index, const bm_match_options *options,
                                const bm_documents *documents, bm_matches **out, bm_error *err);
/* The library owns the arrays and ids until free. The answers of document i are offsets[i] …
 * offsets[i+1]-1. */
BM_API size_t bm_matches_count(const bm_matches *matches);            /* documents asked for */
BM_API const uint64_t *bm_matches_offsets(const bm_matches *matches); /* count + 1 */
BM_API const double *bm_matches_similarities(const bm_matches *matches);
BM_API bm_str bm_matches_id(const bm_matches *matches,
                            uint64_t match);      /* {NULL, 0}: there is none */
BM_API void bm_matches_free(bm_matches *matches); /* NULL is fine */

/* These calls are for a handle that writes; from any thread, one after another. A thread commits
 * its additions and removals, or closes the handle; before that, these calls are BM_ERR_BUSY in
 * other threads.
 *
 * Add documents under ids, all or none of them. An id is not empty, and no other document has it:
 * else BM_ERR_INPUT names it. Many at once cost less than one by one. */
BM_API bm_status bm_index_add(bm_index *index, const bm_str *ids, const bm_documents *documents,
                              bm_error *err);
/* BM_NOT_FOUND: some ids were not there; the rest is removed. */
BM_API bm_status bm_index_remove(bm_index *index, const bm_str *ids, size_t n_ids, bm_error *err);
/* Write all additions and removals to the disk, at once. After BM_ERR_IO the index is as at the
 * last commit, and the handle can only be closed. */
BM_API bm_status bm_index_commit(bm_index *index, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
