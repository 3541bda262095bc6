/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h -- writes the text outputs of a job, row by row, to a file or to the caller's write
 * function.
 *
 * Formats: docs/formats.md. Rows are gathered in a buffer of about 256 KiB. Similarities have six
 * decimals, or all digits on request; an unknown similarity is an empty cell. */
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
    bm_out_file *file; /* NULL: `write` receives the rows; if `write` is NULL, they are dropped */
    int (*write)(void *ctx, const char *data, size_t len);
    void *write_ctx;
    bm_buf buf;
} bm_rows;

/* Open the file output->path. If output->path is NULL, rows are passed to rows->write, which the
 * caller must have set. */
bm_status bm_rows_open(bm_rows *rows, const bm_output_options *output, bm_error *err);
/* Write the gathered rows if they fill the buffer, or if `now`. BM_ERR_PIPE: rows->write did not
 * accept them. */
bm_status bm_rows_flush(bm_rows *rows, bool now, bm_error *err);
/* Free the buffer. Gathered rows are dropped. */
void bm_rows_reset(bm_rows *rows);
/* Free the buffer, and end the file, if there is one. If `status` is BM_OK, the file is closed, and
 * the status of closing is returned. Otherwise the file is aborted, and `status` is returned. */
bm_status bm_rows_end(bm_rows *rows, bm_status status, bm_error *err);
/* Like bm_rows_end, but for a file in an output directory. Such a file is closed even if `status`
 * is a failure; then `status` is returned. */
bm_status bm_rows_close(bm_rows *rows, bm_status status, bm_error *err);
/* Like bm_rows_end, but if `status` is BM_OK, the file is not closed: it is added to the group,
 * which later renames all its files into place. */
bm_status bm_rows_end_in(bm_rows *rows, bm_out_group *group, bm_status status, bm_error *err);

/* Each function below whose first parameter is a directory writes a whole file there. If it has a
 * parameter `pool`, it uses the threads of the pool (NULL: only the calling thread). bm_rows_ids
 * writes ids.txt. */
bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_pool *pool, bm_error *err);
/* If the settings allow bad records to be skipped, write skipped.tsv. */
bm_status bm_rows_skipped(bm_out_dir *dir, const bm_job_context *job, bm_error *err);
/* Write kept_ids.txt, for inputs without records to copy. Document i is kept if dropped[i] is 0. */
bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_pool *pool, bm_error *err);
/* Write the rows of kept_ids.txt to `rows` instead of a file, and reset `rows`. */
bm_status bm_rows_write_ids(bm_rows *rows, const bm_doc_table *docs, const uint8_t *dropped,
                            bm_error *err);
/* The name of a reason in removed.tsv. */
const char *bm_reason_name(bm_reason reason);
/* Write sources.tsv. grouping NULL: no document is removed. */
bm_status bm_rows_sources(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                          const bm_file_names *names, bm_error *err);
bm_status bm_rows_removed(bm_out_dir *dir, const bm_job_context *job, const bm_lost_source *from,
                          bm_error *err);
bm_status bm_rows_groups(bm_out_dir *dir, const bm_doc_table *docs, const bm_grouping *grouping,
                         bm_pool *pool, bm_error *err);

/* --- texts of the documents in pairs, read again from the inputs (rows.c) --- */

#define BM_EDIT_UNKNOWN UINT64_MAX
/* Computing the edit distance of two texts needs a table of n_a * n_b cells, where n_a and n_b are
 * their numbers of code points. If the table would have more than BM_EDIT_CELLS_MAX cells, the
 * distance is not computed. */
#define BM_EDIT_CELLS_MAX UINT64_C(10000000000)

typedef struct bm_pair_texts {
    bm_spill_file *file; /* one record per text */
    uint64_t *places;    /* for each document, the place of its text in the file */
    /* For each document, the numbers of bytes and of code points of its text. If points[i] is
     * UINT32_MAX, the text is too long, and is not stored. */
    uint32_t *bytes, *points;
    size_t n; /* documents */
    bm_pool *pool;
} bm_pair_texts; /* {0} is closed */

/* Two documents, and the edit distance of their texts. BM_EDIT_UNKNOWN: it was not computed. */
typedef struct bm_edit_pair {
    uint32_t a, b;
    uint64_t distance;
} bm_edit_pair;

/* Read the inputs of the job again, and store the texts of the documents that can be in a pair.
 * BM_ERR_INPUT: the inputs have changed. BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_pair_texts_read(bm_job_context *job, const bm_match *match, bm_pair_texts *out,
                             bm_error *err);
void bm_pair_texts_close(bm_pair_texts *texts);

/* --- pairs --- */

/* The pairs to write: the edges between representatives, and the pairs that include copies of
 * representatives. */
typedef struct bm_pair_rows {
    const bm_match *match;
    const bm_doc_table *docs;
    bool chain;         /* pair each copy only with its representative; else write all pairs */
    bm_measure measure; /* with containment, the smaller document is first in a row */
    const struct bm_part_source *parts; /* rows name parts of documents; NULL: whole documents */
    const bm_pair_texts *texts;         /* for a column of edit distances; NULL: no such column */
    bool json;                          /* rows are JSON Lines, not a table */
    bool all_digits;                    /* similarities have all digits, not six decimals */
    uint64_t n_written, n_identical;    /* results: number of all rows, of rows of copies */
    uint64_t n_edit_unknown;            /* result: number of rows with unknown edit distance */
    uint64_t *histogram;                /* counts of written rows per bin; NULL: not counted */
} bm_pair_rows;

/* Write all rows of pairs, and the header row of a table. */
bm_status bm_rows_pairs(bm_rows *rows, bm_pair_rows *pairs, bm_error *err);
