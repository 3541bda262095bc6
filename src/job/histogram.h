/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h -- the number of pairs in each hundredth of similarity, as rows and as a picture. */
#pragma once

#include <bandmill/types.h>

#include "base/memory.h"

#define BM_HISTOGRAM_BINS 100u

/* The bin of a similarity from 0 to 1: the greatest k with k/100 <= similarity, but at most 99. */
uint32_t bm_histogram_bin(double similarity);

/* Append the header row, and a row "low TAB high TAB pairs" per bin. */
bm_status bm_histogram_tsv(bm_buf *out, const uint64_t bins[BM_HISTOGRAM_BINS], bm_error *err);

typedef struct bm_histogram_picture {
    const uint64_t *bins; /* BM_HISTOGRAM_BINS counts of pairs */
    double threshold;
    uint64_t n_documents, n_pairs; /* numbers for the title */
    const char *what;              /* how pairs were found, in a few words */
} bm_histogram_picture;

/* Append a whole SVG document. */
bm_status bm_histogram_svg(bm_buf *out, const bm_histogram_picture *picture, bm_error *err);
