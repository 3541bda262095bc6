/* SPDX-License-Identifier: Apache-2.0 */
/* kept_pass.h -- the inputs a second time, to copy the records that are kept, and where asked for
 * those that are removed, byte for byte.
 *
 * The input must be unchanged: every record has to be a document or a skipped record of the first
 * pass, in the same order, and the bytes must have the same digest; if not, BM_ERR_INPUT names the
 * file. */
#pragma once

#include "results/kept_writer.h"
#include "job/job_context.h"

/* The copy to which a record goes. */
typedef enum bm_copy_side { BM_COPY_KEPT, BM_COPY_REMOVED, BM_COPY_NEITHER } bm_copy_side;

enum { BM_N_COPIES = BM_COPY_NEITHER };

/* The place of a record: the numbers of documents and of skipped records before it. */
typedef struct bm_kept_at {
    size_t doc, skipped;
} bm_kept_at;

/* Where does the record go? `at` is its place; a rule that uses places moves `at` to the next
 * record. Records are only split (parser.h); elements of an array have `bad` and `id` too, since
 * several may share a line. Anything but BM_OK ends the pass. */
typedef bm_status (*bm_keep_fn)(void *ctx, const bm_record *record, bm_kept_at *at,
                                bm_copy_side *side, bm_error *err);

/* Bytes to put into a record before its byte `at`; none: it is written as it is. */
typedef struct bm_insertion {
    size_t at;
    bm_str text; /* borrowed until the next record */
} bm_insertion;

/* A callback that inserts bytes into a record that is copied, or into a header row. */
typedef bm_status (*bm_insert_fn)(void *ctx, const bm_record *record, bm_insertion *out,
                                  bm_error *err);

/* The ranges of the text of document `doc` that are cut out of its record are appended to `out`, a
 * bm_text_range each. Any thread. */
typedef bm_status (*bm_ranges_fn)(void *ctx, size_t doc, bm_buf *out, bm_error *err);

typedef struct bm_kept_cuts {
    bm_ranges_fn ranges;
    void *ctx;
} bm_kept_cuts;

typedef struct bm_kept_rule {
    bm_keep_fn keep;
    bm_insert_fn insert; /* NULL: all is written byte for byte */
    void *ctx;           /* of both */
    /* Of the document before at->doc, once `keep` has moved it; NULL: nothing is cut. */
    const bm_kept_cuts *cuts;
    /* NULL: the rule does not go by it. Else where the records begin, and in the end after the
     * last: it is BM_ERR_INPUT where two neighbours in the input are none in the job's table of
     * documents. */
    bm_kept_at *at;
    /* The place of a record is found by its file and line in that table: many threads ask at once,
     * each for records of its own in order. Else one at a time asks, for all in input order. */
    bool by_place;
} bm_kept_rule;

/* Copy each record to the writer of its side (NULL: nothing there is written), on the job's
 * threads; header rows to each. Digests of the sources are computed again. */
bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *const writers[BM_N_COPIES],
                       const bm_kept_rule *rule, bm_error *err);

/* Would two inputs of the job, which are open, be copied to files of one name? */
bm_status bm_kept_check_names(const bm_job_context *job, bm_error *err);
/* After dedup: dropped[i] not 0: document i is removed, else kept; skipped records are neither.
 * Without text, and for formats without records of their own, kept_ids.txt. `cuts` NULL: records
 * stay as they are. `dir` NULL: the same as one stream, to results.write of the settings;
 * BM_ERR_INPUT, before anything is written, where two tables have different headers. */
bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, const bm_kept_cuts *cuts,
                       bool has_text, bm_out_dir *dir, bm_error *err);
