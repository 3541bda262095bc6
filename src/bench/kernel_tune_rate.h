/* kernel_tune_rate.h -- how fast a device signs with one row of kernel parameters, and whether it
 * signs right.
 *
 * The documents are made: 70 % of the hashes in documents of 20 to 216 (118 is the mean of real
 * text in word 5-shingles), 20 % of 500 to 3,500, 10 % of 60,000, so that packed, whole and split
 * documents all count. Their right words come from the native backend; every word of every document
 * is compared before a row is timed. */
#ifndef BM_BENCH_KERNEL_TUNE_RATE_H
#define BM_BENCH_KERNEL_TUNE_RATE_H

#include "bench/bench.h"
#include "model/backend.h"
#include "model/shingle_batch.h"
#include "bench/kernel_tune_search.h"

typedef struct bm_kernel_tune_corpus {
    bm_shingle_batch batch;
    uint32_t *words, *right; /* n_docs * row_uints */
    uint32_t row_uints;
} bm_kernel_tune_corpus; /* {0} is empty */

/* About n_hashes, at least 100,000. */
bm_status bm_kernel_tune_corpus_open(const bm_kernel_tune_options *options, size_t n_hashes,
                                     bm_kernel_tune_corpus *out, bm_error *err);
void bm_kernel_tune_corpus_reset(bm_kernel_tune_corpus *corpus);

/* Sign all documents once: BM_ERR_SELFTEST if a word differs. Warms up, too. */
bm_status bm_kernel_tune_check(bm_kernel_tune_corpus *corpus, bm_backend *backend, bm_error *err);
/* One run: half of `seconds` one task at a time, for the kernels' rate (side by side they would be
 * counted twice), and half with tasks in flight, for the host's; each one pass over the documents
 * at least, at most 10 seconds. The backend was opened with `profile`; a driver that gives no times
 * has its host's rate for both. */
bm_status bm_kernel_tune_run(bm_kernel_tune_corpus *corpus, bm_backend *backend, double seconds,
                             bm_kernel_tune_score *score, bm_error *err);

#endif
