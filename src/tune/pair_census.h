/* SPDX-License-Identifier: Apache-2.0 */
/* pair_census.h -- how similar the documents of a sample are to all documents of a corpus, exactly.
 *
 * The first of identical documents counts, and documents without shingles do not: these are the D
 * distinct documents, which are what banding compares. n of them are drawn by their priorities
 * (bm_sample_priority), and each is compared with all others. The pairs of each are counted by
 * cells:
 *
 *     cell   0 … k           thousandths 0 … k of similarities below the threshold, which lies in k
 *     cell   k+1 … 1001      thousandths k … 999, and 1 itself, of those that reach it
 *
 * A thousandth is 1000 c / u in whole numbers, for c hashes in common of u in all. Pairs that have
 * none in common are in no cell: n_docs - 1 less what the cells of a document hold is their number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bandmill/types.h>

#include "base/meter.h"
#include "base/threads.h"
#include "corpus/corpus.h"
#include "job/histogram.h"
#include "lsh/set_overlaps.h"
#include "tune/tune_result.h"

/* trial_runs -- by how much runs of a plan differ, tried out.
 *
 * How many candidates a run has depends on its permutations: where one common shingle is the least
 * of one, all documents that have it agree at once. Such crowds are rare and large, so that neither
 * a standard deviation nor a handful of bands tells what a run may come to. So BM_TRIALS runs are
 * made, of the documents that were drawn, each with a seed of its own, and their candidates are
 * counted. Another run of the same documents is one more of the same kind: it lies between the
 * third least and the third greatest with a probability of 94 in 100, whatever the distribution is,
 * for all places among 100 are equally likely. The claim is nine of ten, since 99 runs show that
 * share only to two or three in 100.
 *
 * Runs of the whole corpus differ by the same share as runs of its sample, or less: a crowd has the
 * same share of both, but the few pairs of a sample also differ by chance. */

#define BM_TRIALS      99u   /* runs */
#define BM_TRIALS_TAIL 3u    /* on either side of the range: 6 in 100 */
#define BM_TRIAL_DOCS  2000u /* at most */

/* Runs of a plan; `seed` starts theirs; `cpu` is an instruction set (bm_device_options.cpu). */
typedef struct bm_trial_job {
    const bm_band_plan *plan;
    uint32_t seed;
    const char *cpu;
} bm_trial_job;

typedef struct bm_trials {
    size_t n_docs;              /* in each run; 0: none was made */
    uint64_t counts[BM_TRIALS]; /* candidates, ascending */
} bm_trials;

#define BM_CENSUS_BINS  1000u
#define BM_CENSUS_CELLS (BM_CENSUS_BINS + 2)

typedef struct bm_census_job {
    bm_corpus *corpus; /* adding has ended; with hashes, and identical documents found */
    bm_pool *pool;
    bm_meter *meter;
    size_t wanted; /* documents to draw, at least 2; all where there are fewer */
    uint64_t seed;
    double threshold;
    bm_trial_job trial; /* runs of its plan are made of the drawn documents */
} bm_census_job;

typedef struct bm_pair_census {
    uint64_t n_docs;                    /* D */
    size_t n;                           /* drawn of them */
    uint32_t *rows;                     /* of these in the corpus, ascending */
    uint32_t *seen;                     /* n times BM_CENSUS_CELLS: pairs with other documents */
    double similarity[BM_CENSUS_CELLS]; /* mean of a cell's pairs; 0 where there are none */
    uint64_t pairs[BM_CENSUS_CELLS];    /* of all drawn documents */
    uint32_t first_at;                  /* the first cell of pairs that reach the threshold */
    uint8_t *levels; /* of each drawn document: bit l where an earlier one reaches
                                           bm_tune_level(l) */
    uint64_t sample_pairs[BM_HISTOGRAM_BINS]; /* pairs of two drawn documents, those too that have
                                                 nothing in common */
    bm_trials trials;
} bm_pair_census; /* {0} is empty */

/* The same for any number of threads. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (a damaged temporary
 * file), BM_ERR_CANCELLED. */
bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err);
void bm_pair_census_reset(bm_pair_census *census);

/* pair_total -- from what a sample of documents has with all others to a number of the whole
 * corpus.
 *
 * A corpus of D documents has the number T = sum of f over its pairs, for some f between 0 and 1
 * (one for each pair at the threshold, P(s) for candidates). With y_i half the sum of f over the
 * pairs of document i with each other document, T is the sum of y_i over all documents. n of them
 * are drawn without replacement, every set of n being equally likely, and all pairs of these are
 * looked at. Then, whatever the corpus is like (Cochran, Sampling Techniques, 3rd edition, 1977,
 * theorems 2.1, 2.2 and 2.4),
 *
 *     t = D/n sum y_i                            has the mean T,
 *     v = D^2 (1 - n/D) s^2 / n                  has the mean of the square of its error, where
 *     s^2 = sum (y_i - y)^2 / (n - 1).
 *
 * Pairs that share a document are not independent, and need not be: it is documents that are drawn.
 * Pairs within a sample, by contrast, would be (n/D)^2 of all, and of rare ones there would be
 * none. */

typedef struct bm_total {
    double value, error;
} bm_total;

/* plan_forecast -- what each plan would find in the corpus of a census. */

/* Fill in `to`: the histogram, the pairs at the threshold, and a forecast for each of n plans,
 * which to->forecasts has space for. */
bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err);
