/* run_spread.h -- by how much one run of a plan differs from what is to be expected, by the chance of its
 * permutations.
 *
 * A run's candidates are a function of b bands that are independent and alike. Were all pairs independent as
 * well, their variance would be sum P(1 - P). They are not: where one common shingle is the least of a
 * permutation, all documents that have it agree at once. Of Hoeffding's decomposition of the variance into
 * what one band does, what two do together and so on, the first part is b Var(Z), where
 *
 *     Z = sum q over the pairs that agree in a band,   q = (1 - s^r)^(b-1): no other band finds them
 *
 * (W. Hoeffding, A class of statistics with asymptotically normal distribution, 1948). Of it, pairs by
 * themselves make b sum q^2 s^r (1 - s^r). So
 *
 *     variance = sum P(1 - P) + b (Var(Z) - sum q^2 s^r (1 - s^r))
 *
 * is exact where pairs are independent, and where bands add up, as for unlike pairs, which are what makes
 * runs differ most; it leaves out what pairs do together in two bands at once. Var(Z) is that of bands made
 * for the purpose, less what the sample of documents makes of it. */
#ifndef BM_TUNE_RUN_SPREAD_H
#define BM_TUNE_RUN_SPREAD_H

#include <bandmill/types.h>

#include "backend/cpu/sign_loops.h"
#include "base/memory.h"
#include "lsh/joins/set_overlaps.h"
#include "sketch/scheme.h"

#define BM_SPREAD_BANDS 64u  /* made bands at most */
#define BM_SPREAD_WORDS 256u /* permutations of them at most */

typedef struct bm_run_spread {
    uint32_t bands, rows;    /* of the plan */
    uint32_t n_made;         /* bands made; less than 2: nothing is known */
    bm_scheme_params params; /* permutations of these */
    const bm_sign_loops *loops;
    bm_overlap_index index;  /* keys of the drawn documents */
    size_t n;                /* of these */
    uint64_t *agree;         /* n times n_made: q of the pairs that agree, in units */
    uint64_t *agree_similar; /* the same of pairs at the threshold */
} bm_run_spread;             /* {0} is closed: nothing is known */

/* What bands are made for: a plan, by a seed, with an instruction set (bm_device_options.cpu). */
typedef struct bm_spread_job {
    const bm_band_plan *plan;
    uint32_t seed;
    const char *cpu;
} bm_spread_job;

/* Of one thread. */
typedef struct bm_spread_scratch {
    _Alignas(BM_ALIGNMENT) uint32_t words[BM_SPREAD_WORDS];
    uint32_t block[BM_SIGN_BLOCK];
    uint64_t keys[BM_SPREAD_BANDS];
} bm_spread_scratch;

/* Bytes for n documents. */
uint64_t bm_run_spread_bytes(uint64_t n);
/* Make bands, and index those of the drawn sets. BM_ERR_NOMEM; BM_ERR_USAGE: no such instruction set. */
bm_status bm_run_spread_open(bm_run_spread *spread, const bm_spread_job *job,
                             const bm_hash_sets *drawn, bm_error *err);
void bm_run_spread_close(bm_run_spread *spread);
/* Fill in the keys of a document. */
void bm_run_spread_keys(const bm_run_spread *spread, const uint64_t *hashes, size_t n,
                        bm_spread_scratch *scratch);
/* A pair of the drawn document `place` that agrees in a made band, and whose q is given; any thread. */
void bm_run_spread_add(bm_run_spread *spread, size_t place, uint32_t band, double q, bool similar);

/* Var(Z) in a corpus of n_docs documents; less than 0 is possible. */
double bm_run_spread_variance(const bm_run_spread *spread, uint64_t n_docs, bool similar);

#endif
