/* SPDX-License-Identifier: Apache-2.0 */
/* What each scheme gives to devices: the buffer `coef`, compared word by word with the layout in
 * the kernels' headers; and words merged from parts. */
#include <bandmill/option_names.h>
#include <bandmill/schemes.h>
#include <criterion/criterion.h>

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "sketch/oph_plan.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

static bm_scheme_params draw(bm_scheme scheme, uint32_t perms)
{
    const bm_sketch_options options = {.perms = perms, .seed = 3, .scheme = scheme};
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    cr_assert_eq(bm_scheme_plan(&params, NULL), BM_OK);
    return params;
}

Test(scheme_device, the_upload_of_affine32_is_a_then_b_each_padded_with_zeros)
{
    bm_scheme_params params = draw(BM_SCHEME_AFFINE32, 100);
    void *coef = NULL;
    size_t bytes = 0;
    cr_assert_eq(params.ops->device.upload(&params, 112, &coef, &bytes, NULL), BM_OK);
    cr_assert_eq(bytes, 224 * sizeof(uint32_t));
    const uint32_t *words = coef;
    for (size_t i = 0; i < 112; ++i) {
        cr_expect_eq(words[i], i < 100 ? params.a[i] : 0);
        cr_expect_eq(words[112 + i], i < 100 ? params.b[i] : 0);
    }
    bm_free(coef);
    bm_scheme_params_reset(&params);
}

/* Read as oph_donors.cl reads it: the head, then `order` of all bins in groups of four, then offers
 * by donor. */
Test(scheme_device, the_upload_of_oph_is_two_numbers_and_both_tables_behind_a_head_of_16_words)
{
    enum { BINS = 70, ROW = 128 };
    bm_scheme_params params = draw(BM_SCHEME_OPH, BINS);
    void *coef = NULL;
    size_t bytes = 0;
    cr_assert_eq(params.ops->device.upload(&params, 7777, &coef, &bytes, NULL), BM_OK);
    cr_assert_eq(bytes, (16 + BINS * ROW) * sizeof(uint32_t));
    const uint32_t *words = coef;
    cr_expect_eq(words[0], params.a[0]);
    cr_expect_eq(words[1], params.b[0]);
    const uint16_t *order = (const uint16_t *)(words + 16), *offers = order + BINS * ROW;
    for (uint32_t bin = 0; bin < BINS; ++bin)
        for (uint32_t i = 0; i < BINS; ++i) {
            const uint32_t donor = order[(i / 4 * BINS + bin) * 4 + i % 4];
            cr_assert_lt(donor, BINS);
            cr_assert_eq(offers[donor * ROW + bin], i * 256 + donor);
        }
    bm_free(coef);
    bm_scheme_params_reset(&params);
}

/* A document is cut into three parts in every way, including empty parts. */
Test(scheme_device, words_merged_from_parts_and_finished_are_those_of_the_whole_document)
{
    enum { HASHES = 40, PERMS = 70 };
    uint64_t hashes[HASHES];
    bm_random random;
    bm_random_init(&random, 12);
    for (size_t i = 0; i < HASHES; ++i)
        hashes[i] = bm_random_u64(&random);
    for (size_t s = 0; bm_scheme_at(s) != NULL; ++s) {
        if (bm_scheme_at(s)->device.merge == NULL) /* no device signs in parts with this scheme */
            continue;
        bm_scheme_params params = draw(bm_scheme_at(s)->scheme, PERMS);
        const bm_scheme_device *device = &params.ops->device;
        /* room for 32-bit or 64-bit words */
        uint32_t words[2 * PERMS], part[2 * PERMS], whole[2 * PERMS];
        params.ops->sign(&params, hashes, HASHES, whole);
        for (size_t x = 0; x <= HASHES; x += 5)
            for (size_t y = x; y <= HASHES; y += 7) {
                const size_t begins[] = {0, x, y, HASHES};
                memset(words, 0xFF, sizeof words);
                for (size_t i = 0; i < 3; ++i) {
                    params.ops->sign(&params, hashes + begins[i], begins[i + 1] - begins[i], part);
                    device->merge(&params, part, words);
                }
                if (device->finish != NULL)
                    device->finish(&params, words);
                cr_assert_arr_eq(words, whole, PERMS * bm_scheme_value_bytes(params.ops->scheme),
                                 "%s, cut at %zu and %zu",
                                 bm_option_name(BM_OPTION_SCHEME, params.ops->scheme), x, y);
            }
        bm_scheme_params_reset(&params);
    }
}
