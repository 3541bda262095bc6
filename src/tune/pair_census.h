/* SPDX-License-Identifier: Apache-2.0 */
/* pair_census.h -- the exact similarities of a sample of documents to all documents of a corpus.
 *
 * Of identical documents only the first counts, and documents without shingles do not count. The
 * remaining D distinct documents are those that banding compares. n of them are drawn by their
 * priorities (bm_sample_priority), and each is compared with all others. For each drawn document
 * its pairs are counted by cells:
 *
 *     cell   0 … k           thousandths 0 … k of similarities below the threshold, which is in k
 *     cell   k+1 … 1001      thousandths k … 999, and 1 itself, of similarities that reach it
 *
 * The thousandth of a pair with c common hashes of u in the union is floor(1000 c / u). Pairs
 * without common hashes are in no cell: for one document, their number is n_docs - 1 minus the sum
 * of its cells. */
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

/* trial_runs -- measures by trial how much runs of a plan differ.
 *
 * The number of candidates of a run depends on its permutations: if one common shingle is the
 * minimum of a permutation, all documents that have it agree at once. Such crowds are rare and
 * large, so neither a standard deviation nor a few bands show what a run may give. So BM_TRIALS
 * runs are made with the drawn documents, each with its own seed, and their candidates are counted.
 * Another run with the same documents is one more of the same kind: its count is between the third
 * smallest and the third largest with a probability of 94 in 100, whatever the distribution, since
 * all ranks among 100 are equally likely. The claim is nine in ten, since 99 runs estimate that
 * share only to two or three in 100.
 *
 * Runs of the whole corpus vary by the same relative amount as runs of its sample, or less: a crowd
 * has the same share of both, but the few pairs of a sample also vary by chance. */

#define BM_TRIALS      99u   /* runs */
#define BM_TRIALS_TAIL 3u    /* ranks beyond the range on each side: 6 of 100 together */
#define BM_TRIAL_DOCS  2000u /* documents of a run, at most */

/* Trial runs of a plan. The seeds of the runs are derived from `seed`; `cpu` is an instruction set
 * (bm_device_options.cpu). */
typedef struct bm_trial_job {
    const bm_band_plan *plan;
    uint32_t seed;
    const char *cpu;
} bm_trial_job;

typedef struct bm_trials {
    size_t n_docs;              /* documents in each run; 0: there are no runs */
    uint64_t counts[BM_TRIALS]; /* candidates of each run, ascending */
} bm_trials;

#define BM_CENSUS_BINS  1000u
#define BM_CENSUS_CELLS (BM_CENSUS_BINS + 2)

typedef struct bm_census_job {
    bm_corpus *corpus; /* complete, with hashes, and with identical documents found */
    bm_pool *pool;
    bm_meter *meter;
    size_t wanted; /* documents to draw, at least 2; all if there are fewer */
    uint64_t seed;
    double threshold;
    bm_trial_job trial; /* for runs of a plan with the drawn documents */
} bm_census_job;

typedef struct bm_pair_census {
    uint64_t n_docs;                    /* D */
    size_t n;                           /* number of drawn documents */
    uint32_t *rows;                     /* rows of the drawn documents in the corpus, ascending */
    uint32_t *seen;                     /* n times BM_CENSUS_CELLS: each document's pairs with other
                                           documents */
    double similarity[BM_CENSUS_CELLS]; /* mean of the cell's pairs; 0 if there are none */
    uint64_t pairs[BM_CENSUS_CELLS];    /* pairs of all drawn documents */
    uint32_t first_at;                  /* the first cell of pairs that reach the threshold */
    uint8_t *levels; /* for each drawn document: bit l is set if an earlier document reaches
                        bm_tune_level(l) */
    uint64_t sample_pairs[BM_HISTOGRAM_BINS]; /* pairs of two drawn documents, including those with
                                                 nothing in common */
    bm_trials trials;
} bm_pair_census; /* {0} is empty */

/* Make a census. The result does not depend on the number of threads. BM_ERR_NOMEM, BM_ERR_IO,
 * BM_ERR_FORMAT (a damaged temporary file), BM_ERR_CANCELLED. */
bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err);
void bm_pair_census_reset(bm_pair_census *census);

/* pair_total -- estimates a total over all pairs of a corpus from the pairs of a sample of
 * documents with all others.
 *
 * For a corpus of D documents, let T be the sum of f over its pairs, for some f between 0 and 1 (1
 * for each pair that reaches the threshold; P(s) for candidates). Let y_i be half the sum of f over
 * the pairs of document i with all other documents; then T is the sum of y_i over all documents. n
 * documents are drawn without replacement, every set of n being equally likely, and all their pairs
 * are examined. Then, for any corpus (Cochran, Sampling Techniques, 3rd edition, 1977, theorems
 * 2.1, 2.2 and 2.4),
 *
 *     t = D/n sum y_i                            has the mean T,
 *     v = D^2 (1 - n/D) s^2 / n                  has the mean squared error of t as its mean, where
 *     s^2 = sum (y_i - y)^2 / (n - 1).
 *
 * Pairs that share a document are not independent, and need not be, since documents are drawn, not
 * pairs. Pairs within the sample, by contrast, would be only (n/D)^2 of all pairs, with none of the
 * rare ones. */

typedef struct bm_total {
    double value, error;
} bm_total;

/* plan_forecast -- what each plan would find in the corpus of a census. */

/* Fill in `to`: the histogram, the pairs at the threshold, and a forecast for each plan;
 * to->forecasts must have room for them. */
bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err);
