/* oph_bins.c -- bins and donors of the scheme oph.
 *
 * Filling is bound by a load, a minimum and a store a shingle. Bins are kept in a copy for even and
 * one for odd shingles, so that neighbours in one bin need not wait for each other's store.
 *
 * A bin with many filled ones around it asks for its donor one by one, as the definition does, but
 * from a table that leaves out who was asked already: K / (filled bins) steps. That is too slow
 * where few are filled (K^2 steps for a document of one shingle), so there it is turned round: each
 * filled bin offers itself to all bins at once, a vector minimum over its row of ranks. A row is
 * K / 32 operations with AVX-512, and the two ways meet near K / 4 filled bins. */
#include "backend/cpu/oph_bins.h"

#include <stdalign.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define ROW_PAD     64u
#define ASK_PART    4u  /* ask where at least bins / ASK_PART are filled */
#define SPLIT_LEAST 64u /* shingles from which two copies of the bins pay */

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
    const uint32_t bins = params->perms, row = (bins + ROW_PAD - 1) / ROW_PAD * ROW_PAD;
    const size_t entries = (size_t)bins * row;
    *out = (bm_oph_plan){.bins = bins,
                         .row = row,
                         .order = bm_alloc_aligned(entries, sizeof(uint16_t)),
                         .rank = bm_alloc_aligned(entries, sizeof(uint16_t))};
    if (out->order == NULL || out->rank == NULL) {
        bm_oph_plan_reset(out);
        return bm_fail_nomem(err, 2 * entries * sizeof(uint16_t));
    }
    memset(out->order, 0, entries * sizeof(uint16_t));
    memset(out->rank, 0, entries * sizeof(uint16_t));
    for (uint32_t bin = 0; bin < bins; bin++) {
        uint16_t *order = out->order + (size_t)bin * row;
        order_of(params, bin, order);
        for (uint32_t i = 0; i < bins; i++)
            out->rank[(size_t)order[i] * row + bin] = (uint16_t)i;
    }
    return BM_OK;
}

void bm_oph_plan_reset(bm_oph_plan *plan)
{
    bm_free(plan->order);
    bm_free(plan->rank);
    memset(plan, 0, sizeof *plan);
}

static inline void put(uint32_t bins, uint32_t h, uint32_t *words)
{
    uint32_t bin = bm_oph_bin(h, bins), old = words[bin];
    words[bin] = h < old ? h : old;
}

void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words)
{
    alignas(BM_ALIGNMENT) uint32_t odd[BM_PERMS_MAX];
    size_t s = 0;
    if (n >= SPLIT_LEAST) {
        memset(odd, 0xFF, bins * sizeof *odd);
        for (; s + 2 <= n; s += 2) {
            put(bins, block[s], words);
            put(bins, block[s + 1], odd);
        }
        for (uint32_t bin = 0; bin < bins; bin++)
            words[bin] = odd[bin] < words[bin] ? odd[bin] : words[bin];
    }
    for (; s < n; s++)
        put(bins, block[s], words);
}

/* Each empty bin asks down its list. */
static void ask(const bm_oph_plan *plan, const uint16_t *empty, uint32_t n_empty, uint32_t *words)
{
    uint32_t found[BM_PERMS_MAX];
    for (uint32_t i = 0; i < n_empty; i++) {
        const uint16_t *order = plan->order + (size_t)empty[i] * plan->row;
        while (words[*order] == BM_OPH_EMPTY)
            order++;
        found[i] = words[*order];
    }
    for (uint32_t i = 0; i < n_empty; i++)
        words[empty[i]] = found[i];
}

/* Each filled bin offers itself to all. */
static void offer(const bm_oph_plan *plan, bm_oph_least_fn least, const uint16_t *empty,
                  uint32_t n_empty, uint32_t *words)
{
    alignas(BM_ALIGNMENT) uint16_t best[BM_PERMS_MAX];
    memset(best, 0xFF, plan->row * sizeof *best);
    for (uint32_t bin = 0, next = 0; bin < plan->bins; bin++) {
        if (next < n_empty && empty[next] == bin)
            next++;
        else
            least(best, plan->rank + (size_t)bin * plan->row, plan->row);
    }
    for (uint32_t i = 0; i < n_empty; i++) /* donors are filled bins, and these do not change */
        words[empty[i]] = words[plan->order[(size_t)empty[i] * plan->row + best[empty[i]]]];
}

void bm_oph_densify(const bm_oph_plan *plan, bm_oph_least_fn least, uint32_t *words)
{
    uint16_t empty[BM_PERMS_MAX];
    uint32_t n_empty = 0;
    for (uint32_t bin = 0; bin < plan->bins; bin++) {
        empty[n_empty] = (uint16_t)bin;
        n_empty += words[bin] == BM_OPH_EMPTY;
    }
    uint32_t filled = plan->bins - n_empty;
    if (n_empty == 0 || filled == 0)
        return;
    if (filled >= plan->bins / ASK_PART)
        ask(plan, empty, n_empty, words);
    else
        offer(plan, least, empty, n_empty, words);
}
