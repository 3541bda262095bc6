/* SPDX-License-Identifier: Apache-2.0 */
/* Bins and donors of oph, and its hash on every instruction set, against the scalar reference. */
#include "sketch/scheme_oph.c"

#include <criterion/criterion.h>

#include <string.h>

#include "cpu/sign_loops.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"
#include "sketch/scheme.h"
#include "tests/world/world_scheme.h"

static const bm_isa isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
#define N_ISAS (sizeof isas / sizeof isas[0])

Test(oph_bins, the_hash_is_that_of_the_definition_for_every_length)
{
    bm_random random;
    bm_random_init(&random, 31);
    uint64_t hashes[BM_SIGN_BLOCK];
    for (size_t i = 0; i < BM_SIGN_BLOCK; i++)
        hashes[i] = bm_random_u64(&random);
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, 128, 9);
    uint32_t *block = bm_alloc_aligned(BM_SIGN_BLOCK + 1, sizeof *block);
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(isas[set]))
            continue;
        for (size_t n = 0; n <= BM_SIGN_BLOCK; n += n < 70 ? 1 : 159) {
            memset(block, 0xA5, (BM_SIGN_BLOCK + 1) * sizeof *block);
            bm_sign_loops_find(isas[set])->oph_hash(&params, hashes, n, block);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(block[i], bm_oph_hash((uint32_t)hashes[i], params.a[0], params.b[0]),
                             "%s, %zu of %zu", bm_isa_name(isas[set]), i, n);
            cr_assert_eq(block[n], UINT32_C(0xA5A5A5A5), "%s writes past %zu",
                         bm_isa_name(isas[set]), n);
        }
    }
    bm_free(block);
    bm_scheme_params_reset(&params);
}

/* From no filled bin to all of them, so that both ways to find donors are used. */
Test(oph_bins, any_number_of_filled_bins_is_densified_as_the_reference_does)
{
    static const uint32_t bins[] = {1, 3, 64, 100, 128, 130, 1024};
    bm_random random;
    bm_random_init(&random, 8);
    for (size_t k = 0; k < sizeof bins / sizeof bins[0]; k++) {
        bm_scheme_params params = world_scheme(BM_SCHEME_OPH, bins[k], 40 + (uint32_t)k);
        bm_oph_plan plan;
        cr_assert_eq(plan_init(&params, &plan, NULL), BM_OK);
        uint32_t *words = bm_alloc_aligned(plan.row, sizeof *words), expected[BM_PERMS_MAX];
        for (size_t n = 0; n < bins[k] * 6; n += 1 + n / 8) {
            uint64_t hashes[6 * BM_PERMS_MAX];
            uint32_t block[6 * BM_PERMS_MAX];
            for (size_t i = 0; i < n; i++)
                hashes[i] = bm_random_u64(&random);
            params.ops->sign(&params, hashes, n, expected);
            for (size_t set = 0; set < N_ISAS; set++) {
                if (!bm_isa_available(isas[set]))
                    continue;
                const bm_sign_loops *loops = bm_sign_loops_find(isas[set]);
                bm_sign_loops_find(BM_ISA_SCALAR)->oph_hash(&params, hashes, n, block);
                memset(words, 0xFF, plan.row * sizeof *words);
                bm_oph_fill(bins[k], block, n / 3, words); /* two blocks: bins must carry over */
                bm_oph_fill(bins[k], block + n / 3, n - n / 3, words);
                bm_oph_densify(&plan, &loops->oph, words);
                cr_assert_arr_eq(words, expected, bins[k] * sizeof *words,
                                 "%s, %u bins, %zu hashes", bm_isa_name(isas[set]), bins[k], n);
            }
        }
        bm_free(words);
        plan_reset(&plan);
        bm_scheme_params_reset(&params);
    }
}
