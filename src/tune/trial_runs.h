/* trial_runs.h -- by how much runs of a plan differ, tried out.
 *
 * How many candidates a run has depends on its permutations: where one common shingle is the least of one, all
 * documents that have it agree at once. Such crowds are rare and large, so that neither a standard deviation nor a
 * handful of bands tells what a run may come to. So BM_TRIALS runs are made, of the documents that were drawn, each
 * with a seed of its own, and their candidates are counted. Another run of the same documents is one more of the same
 * kind: it lies between the third least and the third greatest with a probability of 94 in 100, whatever the
 * distribution is, for all places among 100 are equally likely. Nine of ten is what is said, since of 99 runs
 * that share is known to two or three in 100 only.
 *
 * Of a corpus of which some documents were drawn, runs differ by the same share or less: a crowd has the same share of
 * the sample as of the corpus, but of the few pairs of a sample also chance has its share. */
#ifndef BM_TUNE_TRIAL_RUNS_H
#define BM_TUNE_TRIAL_RUNS_H

#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/set_overlaps.h"

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

/* Bytes that it takes for n drawn documents. */
uint64_t bm_trial_bytes(const bm_trial_job *job, uint64_t n, uint32_t n_threads);
/* Runs of the drawn documents, or of as many of them as the work allows; none of a plan of more words than a signature
 * may have, or of fewer than two documents. The same for any number of threads. BM_ERR_NOMEM; BM_ERR_USAGE: no such
 * instruction set. */
bm_status bm_trials_make(const bm_trial_job *job, const bm_hash_sets *drawn, bm_pool *pool,
                         bm_trials *out, bm_error *err);
/* The range of nine runs of ten, where `candidates` are expected with a standard error, of a corpus of n_docs; both NAN:
 * not known. Where all of it was tried, the counts themselves; else their shares of their mean, on top of 1.645 errors. */
void bm_trials_range(const bm_trials *trials, uint64_t n_docs, double candidates, double error,
                     double *low, double *high);

#endif
