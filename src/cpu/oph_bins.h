/* oph_bins.h -- what the scheme oph needs beside its hash: filling bins, and donors for empty ones.
 *
 *     hashes (64 bit) --oph_hash--> block (32 bit, L1) --fill--> words, some empty
 *                                                      --densify--> words
 *
 * The hash and the two loops of an instruction set are in its sign_<set>.c; the rest is plain C,
 * for no set has a scatter with a minimum. */
#ifndef BM_BACKEND_CPU_OPH_BINS_H
#define BM_BACKEND_CPU_OPH_BINS_H

#include "sketch/oph_plan.h"

typedef struct bm_oph_loops {
    /* Bit i: words[i] is that of an empty bin, for i < 64; aligned to 64 bytes. */
    uint64_t (*empty)(const uint32_t *words);
    /* best[bin] = least offer to `bin` of n > 0 donors, for all plan->row bins; aligned to
     * 64 bytes. */
    void (*best)(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n, uint16_t *best);
} bm_oph_loops;
typedef void (*bm_oph_best_fn)(const bm_oph_plan *, const uint16_t *, uint32_t, uint16_t *);

/* words[bin of h] = min(itself, h) for each of n hashes of oph; `bins` words. */
void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words);
/* Fill the empty bins; no effect where all are empty. `words` holds plan->row of them, aligned to
 * 64 bytes. */
void bm_oph_densify(const bm_oph_plan *plan, const bm_oph_loops *loops, uint32_t *words);

#endif
