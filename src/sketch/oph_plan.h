/* SPDX-License-Identifier: Apache-2.0 */
/* oph_plan.h -- the order in which each empty bin of the scheme oph tries the other bins as donors
 * of a word, computed once for a seed and a number of bins, so that no bin tries a donor twice.
 *
 * A backend that signs by the plan makes the same words as scheme_oph.c. A plan is read-only once
 * made: any number of threads. */
#pragma once

#include <bandmill/status.h>

#include "sketch/scheme_row.h"

#define BM_OPH_ROW_PAD 64u
#define BM_OPH_STEPS   4u   /* donors that a bin tries at once */
#define BM_OPH_PACKED  256u /* with at most this many bins, an offer includes its donor */

/* Two tables of about bins x bins numbers: 64 KiB for 128 bins. {0}: there are no tables. */
typedef struct bm_oph_plan {
    uint32_t bins, row; /* row: bins rounded up to 64, the length of a row of offers */
    /* at bm_oph_order_at(…, bin, i): the i-th donor that `bin` tries, each donor once; then padding
     * up to a multiple of BM_OPH_STEPS */
    uint16_t *order;
    /* [donor][bin]: the rank of `donor` for `bin`: `order` has `donor` at bm_oph_order_at(…, bin,
     * rank). With at most BM_OPH_PACKED bins: 256 * rank + donor. */
    uint16_t *offers;
} bm_oph_plan;

/* The index in `order`. The entries of one step of all bins are adjacent, so reading the first few
 * of each bin touches little memory. */
static inline size_t bm_oph_order_at(uint32_t bins, uint32_t bin, uint32_t i)
{
    return ((size_t)(i / BM_OPH_STEPS) * bins + bin) * BM_OPH_STEPS + i % BM_OPH_STEPS;
}

/* The donor that made `offer` (an entry of `offers`) to `bin`. */
static inline uint32_t bm_oph_donor_of(const bm_oph_plan *plan, uint32_t bin, uint32_t offer)
{
    return plan->bins <= BM_OPH_PACKED ? offer % BM_OPH_PACKED
                                       : plan->order[bm_oph_order_at(plan->bins, bin, offer)];
}
