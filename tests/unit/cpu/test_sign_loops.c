/* SPDX-License-Identifier: Apache-2.0 */
/* Every set of loops that this processor can run, against the scheme's scalar reference. */
#include <criterion/criterion.h>

#include <string.h>

#include "cpu/sign_loops.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "sketch/scheme.h"

static const bm_isa all_isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
#define N_ISAS (sizeof all_isas / sizeof all_isas[0])

Test(sign_loops, each_instruction_set_of_this_processor_has_loops_under_its_own_name)
{
    size_t n = 0;
    for (size_t i = 0; i < N_ISAS; i++) {
        const bm_sign_loops *loops = bm_sign_loops_find(all_isas[i]);
        if (!bm_isa_available(all_isas[i]))
            continue;
        cr_assert_not_null(loops, "%s", bm_isa_name(all_isas[i]));
        cr_expect_eq(loops->isa, all_isas[i]);
        n++;
    }
    cr_expect_geq(n, 1);
}

Test(sign_loops, premix_is_fmix32_of_the_low_half_for_every_length)
{
    bm_random random;
    bm_random_init(&random, 11);
    uint64_t hashes[BM_SIGN_BLOCK];
    for (size_t i = 0; i < BM_SIGN_BLOCK; i++)
        hashes[i] = bm_random_u64(&random);
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(all_isas[set]))
            continue;
        const bm_sign_loops *loops = bm_sign_loops_find(all_isas[set]);
        uint32_t *block = bm_alloc_aligned(BM_SIGN_BLOCK + 1, sizeof *block);
        for (size_t n = 0; n <= BM_SIGN_BLOCK; n += n < 70 ? 1 : 159) {
            size_t shift = n % 8 < BM_SIGN_BLOCK - n ? n % 8 : 0; /* hashes need no alignment */
            memset(block, 0xA5, (BM_SIGN_BLOCK + 1) * sizeof *block);
            loops->premix(hashes + shift, n, block);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(block[i], bm_fmix32((uint32_t)hashes[shift + i]), "%s, %zu of %zu",
                             bm_isa_name(all_isas[set]), i, n);
            cr_assert_eq(block[n], UINT32_C(0xA5A5A5A5), "%s writes past %zu",
                         bm_isa_name(all_isas[set]), n);
        }
        bm_free(block);
    }
}

/* All loops against the reference, for one number of permutations and one document. */
static void compare(uint32_t perms, const uint64_t *hashes, size_t n)
{
    bm_scheme_params params;
    bm_sketch_options options = {.perms = perms, .seed = perms * 7};
    cr_assert_eq(bm_scheme_affine32.draw(&options, &params, NULL), BM_OK);
    uint32_t expected[BM_PERMS_MAX];
    bm_scheme_affine32.sign(&params, hashes, n, expected);
    uint32_t *words = bm_alloc_aligned(params.perms_padded, sizeof *words);
    uint32_t *block = bm_alloc_aligned(n, sizeof *block);
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(all_isas[set]))
            continue;
        const bm_sign_loops *loops = bm_sign_loops_find(all_isas[set]);
        memset(words, 0xA5, params.perms_padded * sizeof *words); /* as left by another document */
        size_t half = n / 2; /* two blocks: minima must carry over */
        loops->premix(hashes, half, block);
        loops->minima(&params, block, half, false, words);
        loops->premix(hashes + half, n - half, block);
        loops->minima(&params, block, n - half, true, words);
        cr_assert_arr_eq(words, expected, perms * sizeof *words, "%s, %u permutations, %zu hashes",
                         bm_isa_name(all_isas[set]), perms, n);
    }
    bm_free(block);
    bm_free(words);
    bm_scheme_params_reset(&params);
}

Test(sign_loops, minima_equal_the_reference_for_every_number_of_permutations)
{
    bm_random random;
    bm_random_init(&random, 5);
    uint64_t hashes[41];
    for (size_t i = 0; i < 41; i++)
        hashes[i] = bm_random_u64(&random);
    for (uint32_t perms = 1; perms <= BM_PERMS_MAX; perms++)
        compare(perms, hashes, perms % 42);
}

Test(sign_loops, minima_equal_the_reference_for_extreme_hashes)
{
    static const uint64_t extreme[] = {
        0, UINT64_MAX, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(0x80000000), UINT64_C(0x7FFFFFFF),
        1};
    for (size_t n = 0; n <= 7; n++) /* signed comparison or a lost carry would show here */
        for (uint32_t perms = 1; perms <= 130; perms += 3)
            compare(perms, extreme, n);
}

/* The benchmark's limit must do real work: its words are the minima over one repeated shingle. */
Test(sign_loops, the_arithmetic_alone_is_that_of_one_shingle_repeated)
{
    bm_scheme_params params;
    bm_sketch_options options = {.perms = 200, .seed = 4};
    cr_assert_eq(bm_scheme_affine32.draw(&options, &params, NULL), BM_OK);
    for (size_t set = 0; set < N_ISAS; set++) {
        if (!bm_isa_available(all_isas[set]))
            continue;
        uint32_t *words = bm_alloc_aligned(params.perms_padded, sizeof *words);
        memset(words, 0xFF, params.perms_padded * sizeof *words);
        bm_sign_loops_find(all_isas[set])->arithmetic(&params, 64, words);
        for (uint32_t i = 0; i < params.perms; i++)
            cr_assert_eq(words[i],
                         bm_affine32_value(params.a[i], UINT32_C(0x12345678), params.b[i]), "%s",
                         bm_isa_name(all_isas[set]));
        bm_free(words);
    }
    bm_scheme_params_reset(&params);
}
