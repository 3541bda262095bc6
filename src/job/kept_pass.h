/* SPDX-License-Identifier: Apache-2.0 */
/* kept_pass.h -- reads the inputs a second time to copy the kept records, and on request the
 * removed ones, byte for byte.
 *
 * The inputs must be unchanged: every record must be a document or a skipped record of the first
 * pass, in the same order, and the bytes must have the same digest. If not, BM_ERR_INPUT names the
 * file. */
#pragma once

#include "results/kept_writer.h"
#include "job/job_context.h"

/* The copy that a record is written to. */
typedef enum bm_copy_side { BM_COPY_KEPT, BM_COPY_REMOVED, BM_COPY_NEITHER } bm_copy_side;

enum { BM_N_COPIES = BM_COPY_NEITHER };

/* The place of a record: the numbers of documents and of skipped records before it. */
typedef struct bm_kept_at {
    size_t doc, skipped;
} bm_kept_at;

/* Choose the copy for a record. `at`: its place; a rule that uses places advances `at` to the next
 * record. Records are only split (parser.h); elements of an array also have `bad` and `id`, since
 * several may share a line. Any status except BM_OK ends the pass. */
typedef bm_status (*bm_keep_fn)(void *ctx, const bm_record *record, bm_kept_at *at,
                                bm_copy_side *side, bm_error *err);

/* Bytes to insert before byte `at` of a record. Empty: the record is written unchanged. */
typedef struct bm_insertion {
    size_t at;
    bm_str text; /* borrowed until the next record */
} bm_insertion;

/* A callback that inserts bytes into a record that is copied, or into a header row. */
typedef bm_status (*bm_insert_fn)(void *ctx, const bm_record *record, bm_insertion *out,
                                  bm_error *err);

/* Append to `out` a bm_text_range for each range to cut from the text of document `doc`. Any
 * thread. */
typedef bm_status (*bm_ranges_fn)(void *ctx, size_t doc, bm_buf *out, bm_error *err);

typedef struct bm_kept_cuts {
    bm_ranges_fn ranges;
    void *ctx;
} bm_kept_cuts;

typedef struct bm_kept_rule {
    bm_keep_fn keep;
    bm_insert_fn insert; /* NULL: nothing is inserted */
    void *ctx;           /* passed to `keep` and `insert` */
    /* Called for document at->doc - 1, after `keep` has advanced `at`. NULL: nothing is cut. */
    const bm_kept_cuts *cuts;
    /* NULL: the rule does not use places. Else it must be the place of the first record, and is set
     * to the place after the last. BM_ERR_INPUT: two batches adjacent in the input are not adjacent
     * in the job's table. */
    bm_kept_at *at;
    /* True: the place of a record is found by its file and line in that table, so many threads call
     * `keep`, each for its own records in order. False: one thread at a time calls it, for all
     * records in input order. */
    bool by_place;
} bm_kept_rule;

/* Copy each record to the writer of its side (NULL: not written), on the job's threads. Header rows
 * are copied to every writer. Digests of the sources are computed again. */
bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *const writers[BM_N_COPIES],
                       const bm_kept_rule *rule, bm_error *err);

/* Refuse two open inputs of the job that would be copied to files of the same name. */
bm_status bm_kept_check_names(const bm_job_context *job, bm_error *err);
/* The pass after dedup. dropped[i] not 0: document i is removed, else kept; skipped records are in
 * neither copy. Without texts, and for formats without records to copy, kept_ids.txt is written
 * instead. `cuts` NULL: records are not cut. `dir` NULL: all is written as one stream to
 * results.write of the settings; BM_ERR_INPUT, before anything is written, if two tables have
 * different headers. */
bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, const bm_kept_cuts *cuts,
                       bool has_text, bm_out_dir *dir, bm_error *err);
