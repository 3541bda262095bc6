/* kernel_tune_search.h -- the search for a better row of kernel parameters: which rows are tried,
 * in which order, and which one wins. Knows no device: a row is tried by whoever asks.
 *
 * Coordinate descent: one column at a time takes each of its values while all others stay; what is
 * better by a margin stays too. Kernels have few columns and they are nearly independent, so two
 * rounds over the columns are enough; a round that changes nothing is the last. Columns that belong
 * together (a tile and what is packed into it) are set together. */
#ifndef BM_BENCH_KERNEL_TUNE_SEARCH_H
#define BM_BENCH_KERNEL_TUNE_SEARCH_H

#include "opencl/cl_kernel_params.h"

#define BM_KERNEL_TUNE_MARGIN 1.02 /* a row wins when it is so many times as fast */

/* M shingles/s; 0: the row cannot be used. */
typedef struct bm_kernel_tune_score {
    double kernel; /* on data on the device, by its clock */
    double host;   /* from the host's memory and back, by ours */
} bm_kernel_tune_score;

typedef struct bm_kernel_tune_trial {
    void *ctx;
    /* `best` is the row to beat. An error ends the search; a row that cannot be used is none. */
    bm_status (*run)(void *ctx, const bm_kernel_params *row, const bm_kernel_tune_score *best,
                     bm_kernel_tune_score *score, bm_error *err);
} bm_kernel_tune_trial;

/* From *row with *score to the best that is found; no row is tried twice. */
bm_status bm_kernel_tune_search(const bm_kernel_tune_trial *trial, bm_kernel_params *row,
                                bm_kernel_tune_score *score, bm_error *err);
/* Rows of one round, for a meter. */
size_t bm_kernel_tune_round(const bm_kernel_params *row);

#endif
