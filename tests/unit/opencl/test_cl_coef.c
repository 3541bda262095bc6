/* The buffer `coef`, word for word against what the kernels' headers say of it. */
#include <criterion/criterion.h>

#include <string.h>

#include "backend/opencl/cl_coef.h"
#include "base/memory.h"

Test(cl_coef, of_affine32_is_a_then_b_each_padded_with_zeros)
{
    bm_scheme_params params;
    uint32_t *words = NULL;
    size_t n = 0;
    cr_assert_eq(bm_scheme_draw(&(bm_sketch_options){.perms = 100, .seed = 3}, &params, NULL),
                 BM_OK);
    const bm_cl_shape shape = {.perms = 100, .coef_words = 112};
    cr_assert_eq(bm_cl_coef_make(&shape, &params, NULL, &words, &n, NULL), BM_OK);
    cr_assert_eq(n, 224);
    for (size_t i = 0; i < 112; ++i) {
        cr_expect_eq(words[i], i < 100 ? params.a[i] : 0);
        cr_expect_eq(words[112 + i], i < 100 ? params.b[i] : 0);
    }
    bm_free(words);
    bm_scheme_params_reset(&params);
}

/* Read as oph_donors.cl reads it: the head, then order by fours of all bins, then offers by donors.
 */
Test(cl_coef, of_oph_is_two_numbers_and_both_tables_behind_a_head_of_16_words)
{
    enum { BINS = 70, ROW = 128 };
    const bm_sketch_options options = {.perms = BINS, .seed = 3, .scheme = BM_SCHEME_OPH};
    bm_scheme_params params;
    bm_oph_plan plan;
    uint32_t *words = NULL;
    size_t n = 0;
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    cr_assert_eq(bm_oph_plan_init(&params, &plan, NULL), BM_OK);
    const bm_cl_shape shape = {.perms = BINS, .scheme = BM_SCHEME_OPH};
    cr_assert_eq(bm_cl_coef_make(&shape, &params, &plan, &words, &n, NULL), BM_OK);
    cr_assert_eq(n, 16 + BINS * ROW);
    cr_expect_eq(words[0], params.a[0]);
    cr_expect_eq(words[1], params.b[0]);
    const uint16_t *order = (const uint16_t *)(words + 16), *offers = order + BINS * ROW;
    for (uint32_t bin = 0; bin < BINS; ++bin)
        for (uint32_t i = 0; i < BINS; ++i) {
            const uint32_t donor = order[(i / 4 * BINS + bin) * 4 + i % 4];
            cr_assert_lt(donor, BINS);
            cr_assert_eq(offers[donor * ROW + bin], i * 256 + donor);
        }
    bm_free(words);
    bm_oph_plan_reset(&plan);
    bm_scheme_params_reset(&params);
}
