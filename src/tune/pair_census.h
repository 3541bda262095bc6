/* SPDX-License-Identifier: Apache-2.0 */
/* pair_census.h -- the exact similarities of a sample of documents to all documents of a corpus.
 *
 * Of identical documents only the first counts, and documents without shingles do not count. The
 * remaining D distinct documents are those that banding compares. The n documents with the least
 * priorities (bm_sample_priority) are drawn, and each is compared with all others. The pairs of
 * each drawn document are counted in cells of one thousandth of similarity. The thousandth k that
 * contains the threshold has two cells, one for each side of the threshold:
 *
 *     cell   0 … k           thousandths 0 … k, pairs below the threshold
 *     cell   k+1 … 1001      thousandths k … 999, and 1 itself, pairs that reach the threshold
 *
 * A pair with c common hashes, of u in the union, is in thousandth floor(1000 c / u). Pairs without
 * common hashes are in no cell; the number of such pairs of a document is n_docs - 1, minus the sum
 * of the document's cells. */
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
 * The number of candidates of a run depends on its permutations: if a shingle that many documents
 * share is the minimum of a permutation, all these documents agree at once. Such crowds are rare
 * and large, so neither a standard deviation nor a few bands show how many candidates a run may
 * find. Therefore BM_TRIALS runs are made with the drawn documents, each run with its own seed, and
 * the candidates of each run are counted. The count of one further run is equally likely to have
 * any of the 100 ranks among all counts, whatever the distribution. So it is between the third
 * smallest and the third largest of the 99 counts with a probability of 94 in 100. The range is
 * reported as that of only nine in ten runs, since 99 runs estimate this share only to two or three
 * in 100.
 *
 * The relative variation of runs of the whole corpus is at most that of runs of its sample: a crowd
 * is the same share of both, but the few pairs of a sample also vary by chance. */

#define BM_TRIALS      99u   /* runs */
#define BM_TRIALS_TAIL 3u    /* how many of the 100 ranks are beyond the range on either side */
#define BM_TRIAL_DOCS  2000u /* the greatest number of documents of a run */

/* Which trial runs to make. The seeds of the runs are derived from `seed`. `cpu` names an
 * instruction set (bm_device_options.cpu). */
typedef struct bm_trial_job {
    const bm_band_plan *plan;
    uint32_t seed;
    const char *cpu;
} bm_trial_job;

typedef struct bm_trials {
    size_t n_docs;              /* documents in each run; 0: no runs were made */
    uint64_t counts[BM_TRIALS]; /* candidates of each run, ascending */
} bm_trials;

#define BM_CENSUS_BINS  1000u
#define BM_CENSUS_CELLS (BM_CENSUS_BINS + 2)

typedef struct bm_census_job {
    bm_corpus *corpus; /* complete, with hashes, and with identical documents marked */
    bm_pool *pool;
    bm_meter *meter;
    size_t wanted; /* documents to draw, at least 2; if there are fewer, all are drawn */
    uint64_t seed;
    double threshold;
    bm_trial_job trial; /* the trial runs to make with the drawn documents */
} bm_census_job;

typedef struct bm_pair_census {
    uint64_t n_docs; /* D, the number of distinct documents */
    size_t n;        /* number of drawn documents */
    uint32_t *rows;  /* rows of the drawn documents in the corpus, ascending */
    /* n times BM_CENSUS_CELLS counts: for each drawn document, its pairs in each cell */
    uint32_t *seen;
    double similarity[BM_CENSUS_CELLS]; /* mean of the cell's pairs; 0 if there are none */
    /* Sums of `seen` over the drawn documents. A pair of two drawn documents counts twice. */
    uint64_t pairs[BM_CENSUS_CELLS];
    uint32_t first_at; /* the first cell of pairs that reach the threshold */
    /* For each drawn document: bit l is set if the similarity to an earlier document of the corpus
     * reaches bm_tune_level(l). */
    uint8_t *levels;
    /* For each hundredth of similarity: pairs of two drawn documents, including pairs without
     * common hashes. */
    uint64_t sample_pairs[BM_HISTOGRAM_BINS];
    bm_trials trials;
} bm_pair_census; /* {0} is empty */

/* Make a census. The result does not depend on the number of threads. If necessary, this moves the
 * sets of the corpus to a temporary file. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (a damaged
 * temporary file), BM_ERR_USAGE (trial.cpu is not available), BM_ERR_CANCELLED. */
bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err);
void bm_pair_census_reset(bm_pair_census *census);

/* pair_total -- estimates a total over all pairs of a corpus from the pairs of a sample of
 * documents with all others.
 *
 * For a corpus of D documents, let T be the sum of f over all pairs, for some f between 0 and 1. To
 * count the pairs that reach the threshold, f is 1 for these and 0 for others; to count candidates,
 * f is P(s). Let y_i be half the sum of f over the pairs of document i with all other documents;
 * then T is the sum of y_i over all documents. n documents are drawn without replacement, every set
 * of n being equally likely, and every pair with a drawn document is examined. Then, for any corpus
 * (Cochran, Sampling Techniques, 3rd edition, 1977, theorems 2.1, 2.2 and 2.4),
 *
 *     t = D/n sum y_i                            is an unbiased estimate of T,
 *     v = D^2 (1 - n/D) s^2 / n                  is one of the variance of t, where
 *     s^2 = sum (y_i - y)^2 / (n - 1),
 *
 * sums are over the drawn documents, and y is the mean of their y_i.
 *
 * Pairs that share a document are not independent, and need not be, since documents are drawn, not
 * pairs. Only about (n/D)^2 of all pairs consist of two drawn documents; if only these were
 * examined, rare pairs would rarely be among them. */

typedef struct bm_total {
    double value, error; /* t, and the root of v: the standard error of t */
} bm_total;

/* plan_forecast -- estimates what each plan would find in the corpus of a census. */

/* Fill in `to`: the histogram, the pairs that reach the threshold, the removed documents, the range
 * of candidates, and a forecast for each plan. to->forecasts must have room for plans->n_plans
 * entries, and to->sample.identical must be set. BM_ERR_NOMEM. */
bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err);
