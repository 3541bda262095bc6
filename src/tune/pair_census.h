/* SPDX-License-Identifier: Apache-2.0 */
/* pair_census.h -- the exact similarities between a sample of documents and all documents of a
 * corpus.
 *
 * Of identical documents, only the first counts. Documents without shingles do not count. The
 * remaining D distinct documents are those that banding compares. The n documents with the lowest
 * priorities (bm_sample_priority) are drawn, and each is compared with all others. The pairs of
 * each drawn document are counted in cells of one thousandth of similarity. The thousandth k that
 * contains the threshold has two cells, one for each side of the threshold:
 *
 *     cell   0 … k           thousandths 0 … k, pairs below the threshold
 *     cell   k+1 … 1001      thousandths k … 999, and 1 itself, pairs that reach the threshold
 *
 * A pair with c common hashes and u hashes in the union is in thousandth floor(1000 c / u). Pairs
 * without common hashes are in no cell. The number of such pairs of a document is n_docs - 1 minus
 * the sum of its cells. */
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

/* trial_runs -- finds by trial runs how much the results of a plan vary from run to run.
 *
 * The number of candidates of a run depends on its permutations. If a shingle that many documents
 * share is the minimum of a permutation, all these documents agree at once. Such crowds are rare
 * and large, so neither a standard deviation nor a few bands show how many candidates a run may
 * find. Therefore BM_TRIALS runs are made with the drawn documents, each with its own seed, and the
 * candidates of each run are counted.
 *
 * Consider the 99 counts and the count of one further run. The further count has each of the 100
 * ranks with the same probability, whatever the distribution. So it is between the third smallest
 * and the third largest of the 99 counts with a probability of 94 in 100. Reports say that nine in
 * ten runs are in this range, because 99 runs estimate the share only to two or three in 100.
 *
 * The relative variation of runs of the whole corpus is at most that of runs of the sample. A crowd
 * is the same share of both, but the number of pairs in a sample is small, so it also varies by
 * chance. */

#define BM_TRIALS 99u /* number of runs */
/* of the 100 ranks, how many are below the range, and how many above it */
#define BM_TRIALS_TAIL 3u
#define BM_TRIAL_DOCS  2000u /* most documents of a run */

/* Describes the trial runs. Their seeds are derived from `seed`. `cpu` names an instruction set
 * (bm_device_options.cpu). */
typedef struct bm_trial_job {
    const bm_band_plan *plan;
    uint32_t seed;
    const char *cpu;
} bm_trial_job;

typedef struct bm_trials {
    size_t n_docs;              /* number of documents in each run; 0: no runs were made */
    uint64_t counts[BM_TRIALS]; /* number of candidates of each run, ascending */
} bm_trials;

#define BM_CENSUS_BINS  1000u
#define BM_CENSUS_CELLS (BM_CENSUS_BINS + 2)

typedef struct bm_census_job {
    bm_corpus *corpus; /* must be complete, with hashes, and with identical documents marked */
    bm_pool *pool;
    bm_meter *meter;
    size_t wanted; /* number of documents to draw, at least 2; if the corpus has fewer, all are
                    * drawn */
    uint64_t seed;
    double threshold;
    bm_trial_job trial; /* the trial runs that are made with the drawn documents */
} bm_census_job;

typedef struct bm_pair_census {
    uint64_t n_docs; /* D, the number of distinct documents */
    size_t n;        /* number of drawn documents */
    uint32_t *rows;  /* for each drawn document: its row in the corpus, ascending */
    /* for each drawn document: BM_CENSUS_CELLS counts, one for its pairs in each cell */
    uint32_t *seen;
    double similarity[BM_CENSUS_CELLS]; /* for each cell: mean similarity of its pairs; 0 if it has
                                         * no pairs */
    /* For each cell: the sum of `seen` over the drawn documents, so a pair of two drawn documents
     * counts twice. */
    uint64_t pairs[BM_CENSUS_CELLS];
    uint32_t first_at; /* the first cell of pairs that reach the threshold */
    /* For each drawn document: bit l is set if its similarity to an earlier document of the corpus
     * reaches bm_tune_level(l). */
    uint8_t *levels;
    /* For each hundredth of similarity: number of pairs of two drawn documents. Pairs without
     * common hashes are included. */
    uint64_t sample_pairs[BM_HISTOGRAM_BINS];
    bm_trials trials;
} bm_pair_census; /* start with {0} */

/* Make a census. The result does not depend on the number of threads. If memory does not suffice,
 * the sets of the corpus are moved to a temporary file. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (a
 * damaged temporary file), BM_ERR_USAGE (trial.cpu is not available), BM_ERR_CANCELLED. */
bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err);
void bm_pair_census_reset(bm_pair_census *census);

/* pair_total -- estimates a sum over all pairs of a corpus. The estimate is made from the pairs
 * between a sample of documents and all other documents.
 *
 * For a corpus of D documents, let T be the sum of f over all pairs, for some f between 0 and 1. To
 * count the pairs that reach the threshold, f is 1 for these pairs and 0 for all others. To count
 * candidates, f is P(s). Let y_i be half the sum of f over the pairs of document i with all other
 * documents. Then T is the sum of y_i over all documents. n documents are drawn without
 * replacement, so that every set of n documents is equally likely. Every pair with a drawn document
 * is examined. Then, for any corpus (Cochran, Sampling Techniques, 3rd edition, 1977, theorems 2.1,
 * 2.2 and 2.4),
 *
 *     t = D/n sum y_i                            is an unbiased estimate of T,
 *     v = D^2 (1 - n/D) s^2 / n                  is an unbiased estimate of the variance of t,
 *     s^2 = sum (y_i - y)^2 / (n - 1),
 *
 * where sums are over the drawn documents, and y is the mean of their y_i.
 *
 * Pairs that share a document are not independent. They need not be, because documents are drawn,
 * not pairs. Only about (n/D)^2 of all pairs consist of two drawn documents. If only these pairs
 * were examined, rare pairs would seldom be among them. */

typedef struct bm_total {
    double value, error; /* `value` is t, and `error` its standard error, the root of v */
} bm_total;

/* plan_forecast -- estimates what each plan would find in the corpus of a census. */

/* Fill in `to`: the histogram, the pairs that reach the threshold, the removed documents, the range
 * of candidates, and a forecast for each plan. to->forecasts must have space for plans->n_plans
 * entries, and to->sample.identical must be set. BM_ERR_NOMEM. */
bm_status bm_plan_forecast(const bm_pair_census *census, const bm_tune_result *plans,
                           bm_tune_documents *to, bm_pool *pool, bm_error *err);
