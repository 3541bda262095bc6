/* oph_plan.c -- the attempts of every bin, without those that repeat. See oph_plan.h.
 *
 * The definition draws up to 16 K donors for a bin and then goes on to its neighbours; who is asked
 * a second time cannot answer otherwise, so the order of first appearances is all that counts. */
#include "sketch/oph_plan.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

/* The order of one bin: first appearance among its attempts, then, cyclically, who never came. */
static void order_of(const bm_scheme_params *params, uint32_t bin, uint16_t *order)
{
    bool seen[BM_PERMS_MAX] = {false};
    const uint32_t bins = params->perms;
    uint32_t n = 0;
    for (uint32_t attempt = 0; n < bins && attempt < BM_OPH_PER_BIN * bins; attempt++) {
        uint32_t donor = bm_oph_donor(bin, attempt, bins, params->donor_mul, params->donor_add);
        if (!seen[donor])
            order[n++] = (uint16_t)donor;
        seen[donor] = true;
    }
    for (uint32_t step = 1; n < bins && step <= bins; step++) {
        uint32_t donor = (bin + step) % bins;
        if (!seen[donor])
            order[n++] = (uint16_t)donor;
    }
}

bm_status bm_oph_plan_init(const bm_scheme_params *params, bm_oph_plan *out, bm_error *err)
{
    const uint32_t bins = params->perms,
                   row = (bins + BM_OPH_ROW_PAD - 1) / BM_OPH_ROW_PAD * BM_OPH_ROW_PAD;
    const size_t entries = (size_t)bins * row; /* of either: row is a multiple of BM_OPH_STEPS */
    *out = (bm_oph_plan){.bins = bins,
                         .row = row,
                         .order = bm_alloc_aligned(entries, sizeof(uint16_t)),
                         .offers = bm_alloc_aligned(entries, sizeof(uint16_t))};
    if (out->order == NULL || out->offers == NULL) {
        bm_oph_plan_reset(out);
        return bm_fail_nomem(err, 2 * entries * sizeof(uint16_t));
    }
    memset(out->order, 0, entries * sizeof(uint16_t));
    memset(out->offers, 0, entries * sizeof(uint16_t));
    for (uint32_t bin = 0; bin < bins; bin++) {
        uint16_t order[BM_PERMS_MAX];
        order_of(params, bin, order);
        for (uint32_t i = 0; i < bins; i++) {
            uint32_t offer = bins <= BM_OPH_PACKED ? i * BM_OPH_PACKED + order[i] : i;
            out->order[bm_oph_order_at(bins, bin, i)] = order[i];
            out->offers[(size_t)order[i] * row + bin] = (uint16_t)offer;
        }
    }
    return BM_OK;
}

void bm_oph_plan_reset(bm_oph_plan *plan)
{
    bm_free(plan->order);
    bm_free(plan->offers);
    memset(plan, 0, sizeof *plan);
}

void bm_oph_merge(const bm_oph_plan *plan, const uint32_t *part, uint32_t *words)
{
    for (uint32_t bin = 0; bin < plan->bins; bin++)
        if (bm_oph_bin(part[bin], plan->bins) == bin && part[bin] < words[bin])
            words[bin] = part[bin];
}

void bm_oph_fill_empty(const bm_oph_plan *plan, uint32_t *words)
{
    uint32_t found[BM_PERMS_MAX];
    bool any = false;
    for (uint32_t bin = 0; bin < plan->bins; bin++)
        any = any || words[bin] != BM_OPH_EMPTY;
    if (!any)
        return;
    for (uint32_t bin = 0; bin < plan->bins; bin++) {
        found[bin] = words[bin];
        for (uint32_t i = 0; found[bin] == BM_OPH_EMPTY; i++)
            found[bin] = words[plan->order[bm_oph_order_at(plan->bins, bin, i)]];
    }
    memcpy(words, found, plan->bins * sizeof *words);
}
