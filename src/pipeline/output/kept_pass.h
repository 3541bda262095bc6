/* kept_pass.h -- the inputs a second time, to copy the records that are kept, byte for byte.
 *
 * The input must be what it was: every record has to be a document or a skipped record of the first
 * pass, in the same order, and the bytes must have the same digest; else BM_ERR_INPUT says that the
 * file changed. */
#ifndef BM_OUTPUT_KEPT_PASS_H
#define BM_OUTPUT_KEPT_PASS_H

#include "io/results/kept_writer.h"
#include "pipeline/context/job_context.h"

/* Is the record kept? Asked for each in input order. Records are only split (parser.h); elements
 * of an array, whose line others may share, have `bad` and `id` too. Anything but BM_OK ends the pass. */
typedef bm_status (*bm_keep_fn)(void *ctx, const bm_record *record, bool *keep, bm_error *err);

/* Bytes to put into a record before its byte `at`; none: it is written as it is. */
typedef struct bm_insertion {
    size_t at;
    bm_str text; /* borrowed until the next record */
} bm_insertion;

/* What goes into a record that is kept, or a header row. */
typedef bm_status (*bm_insert_fn)(void *ctx, const bm_record *record, bm_insertion *out,
                                  bm_error *err);

typedef struct bm_kept_rule {
    bm_keep_fn keep;
    bm_insert_fn insert; /* NULL: all is written byte for byte */
    void *ctx;           /* of both */
} bm_kept_rule;

/* Copy the records that are kept; header rows always. Digests of the sources are computed again. */
bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *writer, const bm_kept_rule *rule,
                       bm_error *err);

/* After dedup: dropped[i] not 0: document i is not kept; skipped records are neither. Without text,
 * and for formats without records of their own, kept_ids.txt. */
bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, bool has_text, bm_out_dir *dir,
                       bm_error *err);

#endif
