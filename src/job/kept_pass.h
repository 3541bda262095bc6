/* SPDX-License-Identifier: Apache-2.0 */
/* kept_pass.h -- reads the inputs a second time to copy the kept records, and on request the
 * removed ones, byte for byte.
 *
 * The inputs must be the same as in the first pass. Each record must be a document or a skipped
 * record of that pass, in the same order, and the digests of the inputs must be equal. Otherwise,
 * the pass fails with BM_ERR_INPUT, and the message names the file. */
#pragma once

#include "results/kept_writer.h"
#include "job/job_context.h"

/* Where a record is copied to: the kept records, the removed records, or nowhere. */
typedef enum bm_copy_side { BM_COPY_KEPT, BM_COPY_REMOVED, BM_COPY_NEITHER } bm_copy_side;

enum { BM_N_COPIES = BM_COPY_NEITHER };

/* The place of a record in the job's tables: the numbers of documents and of skipped records before
 * the record. */
typedef struct bm_kept_at {
    size_t doc, skipped;
} bm_kept_at;

/* Set *side to the copy that the record is written to. `at`: the place of the record. A rule that
 * uses places advances *at to the next record. Records are only split (parser.h), so they have
 * neither id nor text; but elements of an array have `bad` and `id`, since several may be on one
 * line. Any status except BM_OK ends the pass. */
typedef bm_status (*bm_keep_fn)(void *ctx, const bm_record *record, bm_kept_at *at,
                                bm_copy_side *side, bm_error *err);

/* Bytes to insert before byte `at` of a record. If `text` is empty, nothing is inserted. */
typedef struct bm_insertion {
    size_t at;
    bm_str text; /* borrowed until the next record */
} bm_insertion;

/* Set *out to the bytes to insert into a record or header row that is copied. *out is empty before
 * the call. */
typedef bm_status (*bm_insert_fn)(void *ctx, const bm_record *record, bm_insertion *out,
                                  bm_error *err);

/* For each range to cut from the text of document `doc`, append a bm_text_range to `out`. Called by
 * any thread. */
typedef bm_status (*bm_ranges_fn)(void *ctx, size_t doc, bm_buf *out, bm_error *err);

typedef struct bm_kept_cuts {
    bm_ranges_fn ranges;
    void *ctx;
} bm_kept_cuts;

typedef struct bm_kept_rule {
    bm_keep_fn keep;
    bm_insert_fn insert; /* NULL: nothing is inserted */
    void *ctx;           /* passed to `keep` and `insert` */
    /* What to cut from texts; NULL: nothing. cuts->ranges is called after `keep`, which has
     * advanced `at` over the document by then, so `doc` is at->doc - 1. */
    const bm_kept_cuts *cuts;
    /* NULL: the rule does not use places. Else, before the pass, *at is the place of the first
     * record; after the pass, the place after the last record. If the first place of a batch is not
     * the place after the previous batch, the pass fails with BM_ERR_INPUT. */
    bm_kept_at *at;
    /* True: the place of the first record of a batch is looked up in the job's tables by file and
     * line. Several threads may call `keep` at once, each for the records of its batch in order.
     * False: one thread at a time calls `keep`, for all records in input order. */
    bool by_place;
} bm_kept_rule;

/* On the job's threads, write each record to the writer of the copy that the rule chooses.
 * writers[side] NULL: this copy is not written. Header rows are written to every writer. The
 * digests of the inputs are computed again. */
bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *const writers[BM_N_COPIES],
                       const bm_kept_rule *rule, bm_error *err);

/* If the job copies records to files, check the names of these files. BM_ERR_USAGE: two inputs
 * would be copied to files of the same name. */
bm_status bm_kept_check_names(const bm_job_context *job, bm_error *err);
/* Write the kept documents, and, if requested, the removed documents. Document i is kept if
 * dropped[i] is 0, else removed. Skipped records are in neither copy. has_text false: the job has
 * signatures only. In this case, and for formats without records to copy, kept_ids.txt is written
 * instead. `cuts` NULL: records are not cut. `dir` NULL: everything is written as one stream to
 * results.write of the settings. Such a stream has only one header row: if two inputs have
 * different header rows, the call fails with BM_ERR_INPUT before anything is written. */
bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, const bm_kept_cuts *cuts,
                       bool has_text, bm_out_dir *dir, bm_error *err);
