/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h -- the counts of a job, each in a row with its name in reports, and the counts of signed
 * documents. */
#pragma once

#include <bandmill/job.h>
#include <stddef.h>

/* The reports that include a count. */
typedef enum bm_report_counts_of {
    BM_COUNTS_OF_ALL,
    BM_COUNTS_OF_GROUPS,
    BM_COUNTS_OF_AGAINST,
    BM_COUNTS_OF_INDEX,
    BM_COUNTS_OF_OVERLAP,
    BM_COUNTS_OF_SOME, /* all reports in which the count is not 0 */
    BM_COUNTS_OF_LOSS  /* reports of groups, if the count is known */
} bm_report_counts_of;

typedef struct bm_count_row {
    const char *name; /* "left_out.x": x in the object left_out */
    size_t at;        /* offset in bm_counts */
    bm_report_counts_of of;
    /* manifests of signatures have the count too, and a job that reads such manifests adds up the
     * counts in them */
    bool of_reading;
} bm_count_row;

enum { BM_N_COUNTS = 56 };
extern const bm_count_row bm_count_rows[BM_N_COUNTS];

static inline uint64_t *bm_count_at(bm_counts *counts, const bm_count_row *row)
{
    return (uint64_t *)((char *)counts + row->at);
}

/* Documents that were read, cut and signed. */
typedef struct bm_doc_counts {
    uint64_t n, n_empty, n_short, n_unreadable, n_weightless;
    uint64_t n_invalid;  /* number of U+FFFD that replace invalid bytes */
    uint64_t n_shingles; /* number of distinct shingles, summed over all documents */
} bm_doc_counts;

void bm_counts_add_docs(bm_counts *counts, const bm_doc_counts *docs);
