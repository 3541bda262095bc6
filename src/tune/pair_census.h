/* pair_census.h -- how similar the documents of a sample are to all documents of a corpus, exactly.
 *
 * Of identical documents the first counts, and documents without shingles do not: these are the D distinct
 * documents, which are what banding compares. n of them are drawn by their priorities
 * (bm_sample_priority), and each is compared with all others. Of each its pairs are counted by cells:
 *
 *     cell   0 … k           thousandths 0 … k of similarities below the threshold, which lies in k
 *     cell   k+1 … 1001      thousandths k … 999, and 1 itself, of those that reach it
 *
 * A thousandth is 1000 c / u in whole numbers, for c hashes in common of u in all. Pairs that have none in
 * common are in no cell: n_docs - 1 less what the cells of a document hold is their number. */
#ifndef BM_TUNE_PAIR_CENSUS_H
#define BM_TUNE_PAIR_CENSUS_H

#include <bandmill/types.h>

#include "base/meter.h"
#include "base/pool.h"
#include "corpus/corpus.h"
#include "job/histogram.h"
#include "tune/trial_runs.h"

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
    uint64_t sample_pairs[BM_HISTOGRAM_BINS]; /* pairs of two drawn documents, those too that have
                                                 nothing in common */
    bm_trials trials;
} bm_pair_census; /* {0} is empty */

/* The same for any number of threads. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT (a damaged temporary file),
 * BM_ERR_CANCELLED. */
bm_status bm_pair_census_make(const bm_census_job *job, bm_pair_census *out, bm_error *err);
void bm_pair_census_reset(bm_pair_census *census);

/* The hundredth of similarity in which a cell lies. */
uint32_t bm_census_hundredth(const bm_pair_census *census, uint32_t cell);

#endif
