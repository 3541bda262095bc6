/* SPDX-License-Identifier: Apache-2.0 */
/* Golden vectors, and words of the published formula, with numbers computed by hand. */
#include <criterion/criterion.h>

#include "sketch/scheme.h"

static bm_scheme_params draw(uint32_t perms)
{
    bm_scheme_params params;
    const bm_sketch_options options = {.perms = perms, .seed = 42, .scheme = BM_SCHEME_NEMO};
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    return params;
}

Test(scheme_nemo, the_first_coefficients_are_the_golden_vectors)
{
    bm_scheme_params params = draw(2);
    cr_expect_eq(params.a[0], 1608637543);
    cr_expect_eq(params.b[0], 1273642419);
    cr_expect_eq(params.a[1], 1935803229);
    cr_expect_eq(params.b[1], 787846414);
    bm_scheme_params_reset(&params);
}

Test(scheme_nemo, a_word_is_the_least_a_h_plus_b_and_a_hash_of_zero_is_one)
{
    const uint64_t zero = 0, one = UINT64_C(0xFF00000001), two[] = {0, 2};
    uint32_t words[2];
    bm_scheme_params params = draw(2);
    params.ops->sign(&params, &zero, 1, words);
    cr_expect_eq(words[0], UINT32_C(1608637543) + UINT32_C(1273642419));
    cr_expect_eq(words[1], UINT32_C(1935803229) + UINT32_C(787846414));
    params.ops->sign(&params, &one, 1, words);
    cr_expect_eq(words[0], UINT32_C(2882279962));
    params.ops->sign(&params, two, 2, words); /* 2 * 1608637543 + 1273642419 wraps to 195950209 */
    cr_expect_eq(words[0], UINT32_C(195950209));
    params.ops->sign(&params, NULL, 0, words);
    cr_expect_eq(words[1], UINT32_MAX);
    bm_scheme_params_reset(&params);
}
