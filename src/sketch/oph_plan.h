/* SPDX-License-Identifier: Apache-2.0 */
/* oph_plan.h -- the order in which an empty bin of the scheme oph tries other bins as donors of a
 * word. The order of each bin is computed once for a seed and a number of bins, so that no donor is
 * tried twice.
 *
 * A backend that signs by the plan makes the same words as scheme_oph.c. A plan does not change
 * after it was made, so any number of threads may read it. */
#pragma once

#include <bandmill/status.h>

#include "sketch/scheme_row.h"

#define BM_OPH_ROW_PAD 64u
#define BM_OPH_STEPS   4u /* donors that a bin tries at a time */
/* up to this number of bins, an offer includes the number of its donor */
#define BM_OPH_PACKED 256u

/* Two tables, each with about bins x bins numbers: 64 KiB for 128 bins. {0}: no tables. */
typedef struct bm_oph_plan {
    uint32_t bins, row; /* row: length of a row of offers, which is `bins` rounded up to a multiple
                         * of BM_OPH_ROW_PAD */
    /* element bm_oph_order_at(…, bin, i) is the i-th donor that `bin` tries. Each donor occurs
     * once; padding up to a multiple of BM_OPH_STEPS follows */
    uint16_t *order;
    /* offers[donor][bin] is the rank of `donor` among the donors that `bin` tries, so
     * order[bm_oph_order_at(…, bin, rank)] is `donor`. With at most BM_OPH_PACKED bins,
     * offers[donor][bin] is 256 * rank + donor instead. */
    uint16_t *offers;
} bm_oph_plan;

/* The index in `order` of the i-th donor of a bin. `order` has the first BM_OPH_STEPS donors of
 * every bin, bin after bin, then the next BM_OPH_STEPS donors of every bin, and so on. So the first
 * donors of all bins are close together in memory. */
static inline size_t bm_oph_order_at(uint32_t bins, uint32_t bin, uint32_t i)
{
    return ((size_t)(i / BM_OPH_STEPS) * bins + bin) * BM_OPH_STEPS + i % BM_OPH_STEPS;
}

/* The donor that made `offer`, an element of `offers`, to `bin`. */
static inline uint32_t bm_oph_donor_of(const bm_oph_plan *plan, uint32_t bin, uint32_t offer)
{
    return plan->bins <= BM_OPH_PACKED ? offer % BM_OPH_PACKED
                                       : plan->order[bm_oph_order_at(plan->bins, bin, offer)];
}
