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
    bm_out_file *file; /* NULL: `write` receives the rows; if that is NULL too, they are dropped */
    int (*write)(void *ctx, const char *data, size_t len);
    void *write_ctx;
    bm_buf buf;
} bm_rows;

/* Open the file output->path. If that is NULL, rows are passed to rows->write, which the caller
 * must have set. */
bm_status bm_rows_open(bm_rows *rows, const bm_output_options *output, bm_error *err);
/* Write the gathered rows if they fill the buffer, or if `now`. BM_ERR_PIPE: the caller's function
 * did not accept them. */
bm_status bm_rows_flush(bm_rows *rows, bool now, bm_error *err);
/* Free the buffer. Gathered rows are dropped. */
void bm_rows_reset(bm_rows *rows);
/* Free the buffer, and end the file, if there is one. If `status` is BM_OK, the file is closed, and
 * the status of closing is returned. Otherwise the file is aborted, and `status` is returned. */
bm_status bm_rows_end(bm_rows *rows, bm_status status, bm_error *err);
/* Like bm_rows_end, for a file in a directory of outputs: the file is closed even if `status` is a
 * failure, which is then returned. */
bm_status bm_rows_close(bm_rows *rows, bm_status status, bm_error *err);
/* Like bm_rows_end, but a file that would be closed is added to the group, with which it gets its
 * name. */
bm_status bm_rows_end_in(bm_rows *rows, bm_out_group *group, bm_status status, bm_error *err);

/* The functions below write whole files of a directory. Those with `pool` use its threads (NULL:
 * the calling thread). This one writes ids.txt. */
bm_status bm_rows_ids(bm_out_dir *dir, const bm_doc_table *docs, bm_pool *pool, bm_error *err);
/* Write skipped.tsv, if the settings say that bad records are skipped. */
bm_status bm_rows_skipped(bm_out_dir *dir, const bm_job_context *job, bm_error *err);
/* Write kept_ids.txt, for inputs without records to copy. dropped[i] is 0 if document i is kept. */
bm_status bm_rows_kept_ids(bm_out_dir *dir, const bm_doc_table *docs, const uint8_t *dropped,
                           bm_pool *pool, bm_error *err);
/* Write the rows of kept_ids.txt to `rows` instead of a file, and reset `rows`. */
bm_status bm_rows_write_ids(bm_rows *rows, const bm_doc_table *docs, const uint8_t *dropped,
                            bm_error *err);
/* The word for a reason in removed.tsv. */
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
/* The edit distance of two texts takes a table of n_a * n_b cells, where n_a and n_b are the
 * numbers of their code points. It is not computed if the table would have more cells than this. */
#define BM_EDIT_CELLS_MAX UINT64_C(10000000000)

typedef struct bm_pair_texts {
    bm_spill_file *file; /* one record per text */
    uint64_t *places;    /* for each document, the place of its text in the file */
    /* For each document, the bytes and the code points of its text. points UINT32_MAX: too many,
     * and the text is not stored. */
    uint32_t *bytes, *points;
    size_t n; /* documents */
    bm_pool *pool;
} bm_pair_texts; /* {0} is closed */

/* Two documents, and the edit distance of their texts. BM_EDIT_UNKNOWN: not computed. */
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

/* The pairs to write: the edges of representatives, and the pairs that follow from copies of these
 * documents. */
typedef struct bm_pair_rows {
    const bm_match *match;
    const bm_doc_table *docs;
    bool chain;         /* pair each copy only with its representative; else write all pairs */
    bm_measure measure; /* CONTAINMENT: the smaller document is first in a row */
    const struct bm_part_source *parts; /* rows name parts of documents; NULL: documents */
    const bm_pair_texts *texts;         /* for a column of edit distances; NULL: no such column */
    bool json;                          /* rows are JSON Lines, not a table */
    bool all_digits;                    /* similarities have all digits, not six decimals */
    uint64_t n_written, n_identical;    /* set: all rows; rows of identical documents */
    uint64_t n_edit_unknown;            /* set: number of rows whose edit distance is unknown */
    uint64_t *histogram;                /* BM_HISTOGRAM_BINS counts to add to; NULL: none */
} bm_pair_rows;

/* Write all rows of pairs, and the header row of a table. */
bm_status bm_rows_pairs(bm_rows *rows, bm_pair_rows *pairs, bm_error *err);
