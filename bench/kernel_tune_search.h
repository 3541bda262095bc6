/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tune_search.h -- the search for a better row of kernel parameters: which rows are tried,
 * in which order, and which one wins. Knows no device: a row is tried by whoever asks.
 *
 * Coordinate descent: one column at a time takes each of its values while all others stay; what is
 * better by a margin stays too. Kernels have few columns and they are nearly independent, so two
 * rounds over the columns are enough; a round that changes nothing is the last. Columns that belong
 * together (a tile and what is packed into it) are set together. */
#pragma once

#include <bandmill/device.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/backend.h"
#include "model/batches.h"
#include "opencl/cl_program.h"

typedef struct bm_kernel_tune_options {
    bm_device_options device; /* `device` NULL: all usable OpenCL devices */
    bm_sketch_options sketch; /* of the scheme affine32, for a row serves all schemes but oph */
    uint32_t repeats;
    double min_seconds; /* the minimum duration of a run */
    double seconds;     /* per device: no row is begun later */
    bm_callbacks callbacks;
} bm_kernel_tune_options;

#define BM_KERNEL_TUNE_MARGIN 1.02 /* a row must be this many times as fast to win */

/* M shingles/s; 0: the row cannot be used. */
typedef struct bm_kernel_tune_score {
    double kernel; /* by the device's clock, on data in its memory */
    double host;   /* by our clock, from and to the host's memory */
} bm_kernel_tune_score;

typedef struct bm_kernel_tune_trial {
    void *ctx;
    /* `best` is the row to beat. An error ends the search; a row that cannot be used is not an
     * error. */
    bm_status (*run)(void *ctx, const bm_kernel_params *row, const bm_kernel_tune_score *best,
                     bm_kernel_tune_score *score, bm_error *err);
    double until; /* a time of bm_clock_seconds: no row is begun later; 0: no limit */
} bm_kernel_tune_trial;

/* Improves *row with *score to the best row found; no row is tried twice. */
bm_status bm_kernel_tune_search(const bm_kernel_tune_trial *trial, bm_kernel_params *row,
                                bm_kernel_tune_score *score, bm_error *err);
/* The number of rows in one round, for a meter. */
size_t bm_kernel_tune_round(const bm_kernel_params *row);

/* kernel_tune_rate -- how fast a device signs with one row of kernel parameters, and whether it
 * signs right.
 *
 * The documents are made: 70 % of the hashes in documents of 20 to 216 (118 is the mean of real
 * text in word 5-shingles), 20 % of 500 to 3,500, 10 % of 60,000, so that packed, whole and split
 * documents all count. Their right words come from the native backend; every word of every document
 * is compared before a row is timed. */

typedef struct bm_kernel_tune_corpus {
    bm_shingle_batch batch;
    uint32_t *words, *right; /* n_docs * row_uints */
    uint32_t row_uints;
} bm_kernel_tune_corpus; /* {0} is empty */

/* Makes about n_hashes hashes, at least 100,000. */
bm_status bm_kernel_tune_corpus_open(const bm_kernel_tune_options *options, size_t n_hashes,
                                     bm_kernel_tune_corpus *out, bm_error *err);
void bm_kernel_tune_corpus_reset(bm_kernel_tune_corpus *corpus);

/* Signs all documents once, which also warms up; BM_ERR_SELFTEST if a word differs. */
bm_status bm_kernel_tune_check(bm_kernel_tune_corpus *corpus, bm_backend *backend, bm_error *err);
/* One run: half of `seconds` one task at a time, for the kernels' rate (side by side they would be
 * counted twice), and half with tasks in flight, for the host's; each one pass over the documents
 * at least, at most 10 seconds. The backend was opened with `profile`; a driver that gives no times
 * has its host's rate for both. */
bm_status bm_kernel_tune_run(bm_kernel_tune_corpus *corpus, bm_backend *backend, double seconds,
                             bm_kernel_tune_score *score, bm_error *err);
