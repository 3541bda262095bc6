/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_oph.c -- the scheme oph: one hash for each shingle, K bins, and optimal densification. The
 * file has the scalar reference, and the data that devices need.
 *
 * As in scheme_affine.c, the reference is the definition with which every backend is compared. It
 * follows kernels/oph.h line by line. A signature costs one hash for each shingle, whatever K is.
 * If a document has far fewer shingles than bins, attempts to find donors cost more: about K /
 * (filled bins) for each empty bin. All words depend on K, so a shorter signature is not the
 * beginning of a longer one.
 *
 * Threads: pure functions. Parameters do not change after they were drawn.
 *
 * Tests: tests/unit/sketch/test_oph_plan.c, tests/unit/sketch/test_scheme_oph.c */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"
#include "sketch/oph_plan.h"
#include "sketch/scheme_params.h"

/* === oph plan ===
 *
 * Computes the attempts of every bin, without repeats. See oph_plan.h.
 *
 * By definition, a bin draws up to 16 K donors, and then tries its neighbours. If a donor has no
 * word the first time, it has none the second time, so only the first occurrence of each donor
 * matters. */

/* Set `order` to the donors of one bin: first those that it draws, by first occurrence, then the
 * others in cyclic order after the bin. */
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

static void plan_reset(bm_oph_plan *plan)
{
    bm_free_all(plan->order, plan->offers);
    memset(plan, 0, sizeof *plan);
}

static bm_status plan_init(const bm_scheme_params *params, bm_oph_plan *out, bm_error *err)
{
    const uint32_t bins = params->perms,
                   row = (bins + BM_OPH_ROW_PAD - 1) / BM_OPH_ROW_PAD * BM_OPH_ROW_PAD;
    const size_t entries = (size_t)bins * row; /* of each table; `row` is a multiple of
                                                * BM_OPH_STEPS */
    *out = (bm_oph_plan){.bins = bins,
                         .row = row,
                         .order = bm_alloc_aligned(entries, sizeof(uint16_t)),
                         .offers = bm_alloc_aligned(entries, sizeof(uint16_t))};
    if (out->order == NULL || out->offers == NULL) {
        plan_reset(out);
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

/* Merge the words of a further part of a document into `words`, which is not densified. `part` may
 * be densified: a word that a bin took from a donor is skipped. It is recognized because its hash
 * belongs to another bin. */
static void merge_bins(const bm_oph_plan *plan, const uint32_t *part, uint32_t *words)
{
    for (uint32_t bin = 0; bin < plan->bins; bin++)
        if (bm_oph_bin(part[bin], plan->bins) == bin && part[bin] < words[bin])
            words[bin] = part[bin];
}

/* Fill the empty bins. If all are empty, nothing changes. Used only for few documents, because
 * backends have faster loops. */
static void oph_fill_empty(const bm_oph_plan *plan, uint32_t *words)
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

#define HEAD 16u /* must equal BM_OPH_HEAD of kernels/oph_donors.cl */

_Static_assert(BM_PERMS_MAX <= BM_OPH_KEY_SHIFT, "the keys of donors hold no more bins");

static bm_status oph_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    BM_TRY(bm_scheme_params_init(&bm_scheme_oph, options, 1, out, err));
    bm_random random;
    bm_random_init(&random, options->seed);
    out->a[0] = 2 * (bm_random_u32(&random) & UINT32_C(0x7FFFFFFF)) + 1;
    out->b[0] = bm_random_u32(&random);
    out->donor_mul = bm_random_u64(&random);
    out->donor_add = bm_random_u64(&random);
    return BM_OK;
}

/* The bin from which the empty bin `bin` takes its word. At least one bin must have a word. */
static uint32_t donor_of(const bm_scheme_params *params, const uint32_t *met, uint32_t bin)
{
    const uint32_t bins = params->perms;
    for (uint32_t attempt = 0; attempt < BM_OPH_PER_BIN * bins; attempt++) {
        uint32_t donor = bm_oph_donor(bin, attempt, bins, params->donor_mul, params->donor_add);
        if (met[donor] != BM_OPH_EMPTY)
            return donor;
    }
    do
        bin = (bin + 1) % bins;
    while (met[bin] == BM_OPH_EMPTY);
    return bin;
}

static void oph_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *out)
{
    uint32_t *words = out;
    uint32_t met[BM_PERMS_MAX];
    for (uint32_t bin = 0; bin < params->perms; bin++)
        met[bin] = BM_OPH_EMPTY;
    for (size_t s = 0; s < n; s++) {
        uint32_t h = bm_oph_hash((uint32_t)hashes[s], params->a[0], params->b[0]);
        uint32_t bin = bm_oph_bin(h, params->perms);
        if (h < met[bin])
            met[bin] = h;
    }
    for (uint32_t bin = 0; bin < params->perms; bin++) {
        bool copy = n > 0 && met[bin] == BM_OPH_EMPTY;
        words[bin] = met[copy ? donor_of(params, met, bin) : bin];
    }
}

static void oph_plan_free(void *plan)
{
    if (plan != NULL)
        plan_reset(plan);
    bm_free(plan);
}

static bm_status oph_plan(const bm_scheme_params *params, void **out, bm_error *err)
{
    bm_oph_plan *plan = NULL;
    BM_TRY(bm_new_zero(&plan, 1, err));
    bm_status status = plan_init(params, plan, err);
    if (status == BM_OK)
        *out = plan;
    else
        oph_plan_free(plan);
    return status;
}

/* Make the buffer for kernels/oph_donors.cl: a, b, zeros up to HEAD words, then both tables of the
 * plan. */
static bm_status oph_upload(const bm_scheme_params *params, uint32_t padded, void **out,
                            size_t *bytes, bm_error *err)
{
    const bm_oph_plan *plan = params->plan;
    const size_t table = (size_t)plan->bins * plan->row * sizeof *plan->order;
    (void)padded; /* not needed, because oph has only one a and one b */
    *bytes = HEAD * sizeof(uint32_t) + 2 * table;
    uint32_t *words = bm_alloc_zero(*bytes, 1);
    if (words == NULL)
        return bm_fail_nomem(err, *bytes);
    char *tables = (char *)(words + HEAD);
    words[0] = params->a[0];
    words[1] = params->b[0];
    memcpy(tables, plan->order, table);
    memcpy(tables + table, plan->offers, table);
    *out = words;
    return BM_OK;
}

static void oph_merge(const bm_scheme_params *params, const void *part, void *words)
{
    merge_bins(params->plan, part, words);
}

static void oph_finish(const bm_scheme_params *params, void *words)
{
    oph_fill_empty(params->plan, words);
}

static const uint32_t test_perms[] = {16, 100, 128, 300, 0};

const bm_scheme_ops bm_scheme_oph = {.scheme = BM_SCHEME_OPH,
                                     .draw = oph_draw,
                                     .sign = oph_sign,
                                     .plan = oph_plan,
                                     .plan_free = oph_plan_free,
                                     .device = {.files = {"oph.h", "oph_donors.cl"},
                                                .sign_cpu = "sign_oph_cpu.cl",
                                                .sign_gpu = "sign_oph_gpu.cl",
                                                .fills = true,
                                                .upload = oph_upload,
                                                .merge = oph_merge,
                                                .finish = oph_finish},
                                     .test_perms = test_perms};
