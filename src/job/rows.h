/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h -- the text outputs of a job, row by row, into a file or the caller's write function.
 *
 * Formats: docs/formats.md. Rows are gathered in a buffer of about 256 KiB. Similarities have six
 * decimals; unknown ones are empty. */
#pragma once

#include <bandmill/job.h>

#include "base/memory.h"
#include "output/out_dir.h"
#include "output/out_file.h"
#include "model/ids.h"
#include "job/job_context.h"
#include "match/edges.h"
#include "job/histogram.h"
#include "spill/spill_file.h"

typedef struct bm_rows {
    bm_out_file *file; /* NULL: `write` receives the rows */
    int (*write)(void *ctx, const char *data, size_t len);
    void *write_ctx;
    bm_buf buf;
} bm_rows;

/* Open the file that `output` names. If it names no file, rows are passed to rows->write, which the
 * caller must have set. */
bm_status bm_rows_open(bm_rows *rows, const bm_output_options *output, bm_error *err);
/* Write the gathered rows if there are many; if `now`, write them in any case. */
bm_status bm_rows_flush(bm_rows *rows, bool now, bm_error *err);
void bm_rows_reset(bm_rows *rows);
/* Reset, and close the file, if any; abort it if `status` is a failure. Returns `status`, or the
 * status of closing. */
bm_status bm_rows_end(bm_rows *rows, bm_status status, bm_error *err);
/* Reset, and close the file, if any, of a directory that is not complete yet. Returns `status`, or
 * the status of closing. */
bm_status bm_rows_close(bm_rows *rows, bm_status status, bm_error *err);
/* Like bm_rows_end, but the complete file gets its name only when the group is renamed. */
bm_status bm_rows_end_in(bm_rows *rows, bm_out_group *group, bm_status status, bm_error *err);

/* Write whole files of a directory, on the threads of `pool` (NULL: on the calling thread). */
bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_pool *pool, bm_error *err);
/* Write skipped.tsv, if bad records are skipped. */
bm_status bm_rows_skipped(bm_out_dir *dir, const bm_job_context *job, bm_error *err);
/* Write kept_ids.txt, for inputs without records to copy. */
bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_pool *pool, bm_error *err);
/* Write the ids of kept_ids.txt to `rows`, and reset it. */
bm_status bm_rows_write_ids(bm_rows *rows, const bm_doc_table *docs, const uint8_t *dropped,
                            bm_error *err);
const char *bm_reason_name(bm_reason reason);
/* grouping NULL: nothing is removed. */
bm_status bm_rows_sources(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                          const bm_file_names *names, bm_error *err);
bm_status bm_rows_removed(bm_out_dir *dir, const bm_job_context *job, const bm_lost_source *from,
                          bm_error *err);
bm_status bm_rows_groups(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                         bm_pool *pool, bm_error *err);

/* --- texts of the documents in pairs, read again from the inputs (rows.c) --- */

#define BM_EDIT_UNKNOWN UINT64_MAX
/* An edit distance needs a table of the code points of one text times those of the other. Larger
 * tables than this are not computed. */
#define BM_EDIT_CELLS_MAX UINT64_C(10000000000)

typedef struct bm_pair_texts {
    bm_spill_file *file; /* one record per text */
    uint64_t *places;
    uint32_t *bytes, *points; /* per document; points UINT32_MAX: too many */
    size_t n;
    bm_pool *pool;
} bm_pair_texts; /* {0} is closed */

/* Two documents and their distance; BM_EDIT_UNKNOWN: too many cells. */
typedef struct bm_edit_pair {
    uint32_t a, b;
    uint64_t distance;
} bm_edit_pair;

/* Read the inputs of the job again. BM_ERR_INPUT: they have changed; BM_ERR_IO, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_pair_texts_read(bm_job_context *job, const bm_match *match, bm_pair_texts *out,
                             bm_error *err);
void bm_pair_texts_close(bm_pair_texts *texts);

/* --- pairs --- */

/* The pairs to write: edges of representatives, and pairs that copies add. */
typedef struct bm_pair_rows {
    const bm_match *match;
    const bm_doc_table *docs;
    bool chain;         /* pair each copy only with the first copy; else write all pairs */
    bm_measure measure; /* CONTAINMENT: the smaller document is first in a row */
    const struct bm_part_source *parts; /* rows name parts of documents; NULL: documents */
    const bm_pair_texts *texts;         /* for a column of edit distances; NULL: no such column */
    bool json;
    bool all_digits;                 /* similarities with all digits, not six decimals */
    uint64_t n_written, n_identical; /* all rows; rows of identical documents */
    uint64_t n_edit_unknown;         /* rows whose edit distance needs too many cells */
    uint64_t *histogram;             /* BM_HISTOGRAM_BINS counts of similarities; or NULL */
} bm_pair_rows;

bm_status bm_rows_pairs(bm_rows *rows, bm_pair_rows *pairs, bm_error *err);
