/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of donors, compared with the draws of the definition; and the signatures it gives. */
#include "sketch/scheme_oph.c"

#include <criterion/criterion.h>

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"
#include "sketch/oph_plan.h"
#include "sketch/scheme.h"
#include "tests/world/world_scheme.h"

Test(oph_plan, each_bin_asks_every_other_once_and_offers_are_the_inverse)
{
    static const uint32_t bins[] = {1, 2, 5, 64, 100, 128, 256, 257, 1024};
    for (size_t k = 0; k < sizeof bins / sizeof bins[0]; k++) {
        bm_scheme_params params = world_scheme(BM_SCHEME_OPH, bins[k], 5);
        bm_oph_plan plan;
        cr_assert_eq(plan_init(&params, &plan, NULL), BM_OK);
        cr_assert(plan.row >= bins[k] && plan.row % 64 == 0);
        for (uint32_t bin = 0; bin < bins[k]; bin++) {
            bool asked[BM_PERMS_MAX] = {false};
            uint32_t before = 0;
            for (uint32_t i = 0; i < bins[k]; i++) {
                uint16_t donor = plan.order[bm_oph_order_at(bins[k], bin, i)];
                cr_assert(donor < bins[k] && !asked[donor]);
                asked[donor] = true;
                uint16_t offer = plan.offers[(size_t)donor * plan.row + bin];
                cr_assert(i == 0 || offer > before, "a later one offers more");
                cr_assert_eq(bm_oph_donor_of(&plan, bin, offer), donor);
                before = offer;
            }
        }
        plan_reset(&plan);
        bm_scheme_params_reset(&params);
    }
}

Test(oph_plan, the_first_donor_asked_is_the_first_that_is_drawn)
{
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, 128, 77);
    bm_oph_plan plan;
    cr_assert_eq(plan_init(&params, &plan, NULL), BM_OK);
    for (uint32_t bin = 0; bin < 128; bin++)
        cr_assert_eq(plan.order[bm_oph_order_at(128, bin, 0)],
                     bm_oph_donor(bin, 0, 128, params.donor_mul, params.donor_add));
    plan_reset(&plan);
    bm_scheme_params_reset(&params);
}

/* As a device handles a document larger than any batch: the words of its parts are densified,
 * merged, and densified again. */
Test(oph_plan, densified_parts_merge_to_the_words_of_the_whole_document)
{
    static const uint32_t bins[] = {1, 2, 37, 128, 1024};
    bm_random random;
    bm_random_init(&random, 3);
    for (size_t k = 0; k < sizeof bins / sizeof bins[0]; k++) {
        bm_scheme_params params = world_scheme(BM_SCHEME_OPH, bins[k], 6);
        bm_oph_plan plan;
        cr_assert_eq(plan_init(&params, &plan, NULL), BM_OK);
        uint64_t hashes[300];
        for (size_t i = 0; i < 300; i++)
            hashes[i] = bm_random_u64(&random);
        for (size_t n = 0; n <= 300; n += 1 + n / 3) {
            uint32_t whole[BM_PERMS_MAX], part[BM_PERMS_MAX], words[BM_PERMS_MAX];
            params.ops->sign(&params, hashes, n, whole);
            memset(words, 0xFF, sizeof words);
            for (size_t from = 0; from < n; from += 40) {
                size_t size = n - from < 40 ? n - from : 40;
                params.ops->sign(&params, hashes + from, size, part);
                merge_bins(&plan, part, words);
            }
            oph_fill_empty(&plan, words);
            cr_assert_arr_eq(words, whole, bins[k] * sizeof *words, "%u bins, %zu hashes", bins[k],
                             n);
        }
        plan_reset(&plan);
        bm_scheme_params_reset(&params);
    }
}

Test(oph_plan, without_memory_it_is_an_error_and_empty)
{
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, 128, 1);
    params.perms = UINT32_MAX / 2; /* tables larger than any memory */
    bm_oph_plan plan;
    cr_expect_eq(plan_init(&params, &plan, NULL), BM_ERR_NOMEM);
    cr_expect(plan.order == NULL && plan.offers == NULL && plan.bins == 0);
    params.perms = 128;
    bm_scheme_params_reset(&params);
}
