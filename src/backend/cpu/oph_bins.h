/* oph_bins.h -- what the scheme oph needs beside its hash: filling bins, and donors for empty ones.
 *
 *     hashes (64 bit) --oph_hash--> block (32 bit, L1) --fill--> words, some empty --densify-->
 *     words
 *
 * The hash of an instruction set is in its sign_<set>.c; the rest is plain C and two small loops,
 * for no set has a scatter with a minimum. */
#ifndef BM_BACKEND_CPU_OPH_BINS_H
#define BM_BACKEND_CPU_OPH_BINS_H

#include <bandmill/status.h>

#include "sketch/scheme.h"

/* In which order each bin asks the others: two tables of bins x bins, 64 KiB for 128 bins. NULL
 * after {0}. */
typedef struct bm_oph_plan {
    uint32_t bins, row; /* row: bins rounded up to 64, the length of a row of both tables */
    uint16_t *order;    /* [bin][i]: the donor that `bin` asks as the i-th, each of them once */
    uint16_t *rank;     /* [donor][bin]: the i of it */
} bm_oph_plan;

/* best[i] = min(best[i], rank[i]) for i < n, a multiple of 64; both aligned to 64 bytes. */
typedef void (*bm_oph_least_fn)(uint16_t *best, const uint16_t *rank, size_t n);

bm_status bm_oph_plan_init(const bm_scheme_params *params, bm_oph_plan *out, bm_error *err);
void bm_oph_plan_reset(bm_oph_plan *plan);

/* words[bin of h] = min(itself, h) for each of n hashes of oph; `bins` words. */
void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words);
/* Fill the empty bins; no effect where all are empty. `words` holds plan->row of them. */
void bm_oph_densify(const bm_oph_plan *plan, bm_oph_least_fn least, uint32_t *words);

#endif
