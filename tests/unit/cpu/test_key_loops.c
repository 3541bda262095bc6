/* SPDX-License-Identifier: Apache-2.0 */
/* Band keys computed with powers, against the scalar reference, which adds word after word. */
#include <criterion/criterion.h>

#include <string.h>

#include "cpu/sign_loops.h"
#include "base/memory.h"
#include "base/random.h"
#include "sketch/scheme.h"

static const bm_isa all_isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};

static void compare(uint32_t bands, uint32_t rows, const uint32_t *words)
{
    bm_key_plan plan;
    cr_assert_eq(bm_key_plan_init(bands, rows, &plan, NULL), BM_OK);
    uint64_t expected[BM_PERMS_MAX], keys[BM_PERMS_MAX + 1];
    bm_band_keys_scalar(words, bands, rows, false, expected);
    for (size_t i = 0; i < sizeof all_isas / sizeof all_isas[0]; i++) {
        if (!bm_isa_available(all_isas[i]))
            continue;
        memset(keys, 0x5A, sizeof keys);
        bm_sign_loops_find(all_isas[i])->band_keys(&plan, words, keys);
        cr_assert_arr_eq(keys, expected, bands * sizeof *keys, "%u x %u, %s", bands, rows,
                         bm_isa_name(all_isas[i]));
        cr_assert_eq(keys[bands], UINT64_C(0x5A5A5A5A5A5A5A5A), "%u x %u writes past its end",
                     bands, rows);
    }
    bm_key_plan_reset(&plan);
}

Test(key_loops, keys_equal_the_reference_for_every_number_of_rows_and_many_bands)
{
    bm_random random;
    bm_random_init(&random, 8);
    uint32_t words[BM_PERMS_MAX + BM_KEY_LANES];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = bm_random_u32(&random);
    for (uint32_t rows = 1; rows <= BM_PERMS_MAX; rows++) {
        uint32_t most = BM_PERMS_MAX / rows;
        for (uint32_t bands = 1; bands <= most && bands <= 17; bands++)
            compare(bands, rows, words);
        compare(most, rows, words);
    }
}

Test(key_loops, words_of_all_one_bits_lose_no_carry)
{
    uint32_t words[BM_PERMS_MAX + BM_KEY_LANES];
    memset(words, 0xFF, sizeof words);
    for (uint32_t rows = 1; rows <= 40; rows++)
        compare(BM_PERMS_MAX / rows, rows, words);
}
