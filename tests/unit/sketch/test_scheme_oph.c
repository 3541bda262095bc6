/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar reference of oph, compared with a model that was written independently from
 * docs/schemes.md: sorted sets of shingles, bins by division, donors by arithmetic that shares no
 * code with the scheme; and the claims that follow from the definition. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sketch/scheme.h"
#include "tests/world/world_order.h"
#include "tests/world/world_scheme.h"

/* --- the model --- */

static uint32_t mix(uint32_t h) /* MurmurHash3's finaliser with its products taken mod 2^32 */
{
    h = h ^ h / 65536;
    h = (uint32_t)(h * UINT64_C(2246822507) % (UINT64_C(1) << 32));
    h = h ^ h / 8192;
    h = (uint32_t)(h * UINT64_C(3266489909) % (UINT64_C(1) << 32));
    return h ^ h / 65536;
}

typedef struct model {
    uint32_t a, b;
    uint64_t mul, add;
    uint32_t hash[4096], n; /* ascending */
} model;

static void model_open(model *m, uint32_t seed, const uint64_t *hashes, size_t n)
{
    bm_random random;
    bm_random_init(&random, seed);
    m->a = bm_random_u32(&random) % (UINT32_C(1) << 31) * 2 + 1;
    m->b = bm_random_u32(&random);
    m->mul = bm_random_u64(&random);
    m->add = bm_random_u64(&random);
    m->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        uint64_t linear = (uint64_t)m->a * mix((uint32_t)hashes[i]) + m->b;
        uint32_t h = mix((uint32_t)linear);
        m->hash[i] = h == UINT32_MAX ? h - 1 : h;
    }
    qsort(m->hash, n, sizeof m->hash[0], world_ascending32);
}

/* The smallest hash h with floor(h K / 2^32) = bin; 2^32-1: the bin is empty. */
static uint32_t model_bin(const model *m, uint32_t k, uint32_t bin)
{
    for (uint32_t i = 0; i < m->n; i++)
        if ((uint64_t)m->hash[i] * k / (UINT64_C(1) << 32) == bin)
            return m->hash[i];
    return UINT32_MAX;
}

static uint32_t model_word(const model *m, uint32_t k, const uint32_t *met, uint32_t bin)
{
    if (met[bin] != UINT32_MAX)
        return met[bin];
    for (uint64_t attempt = 0; attempt < 16 * k; attempt++) {
        uint64_t line = m->mul * (attempt * 1024 + bin) + m->add;
        uint64_t donor = (uint64_t)mix((uint32_t)(line / (UINT64_C(1) << 32))) * k >> 32;
        if (met[donor] != UINT32_MAX)
            return met[donor];
    }
    for (uint32_t step = 1; step < k; step++)
        if (met[(bin + step) % k] != UINT32_MAX)
            return met[(bin + step) % k];
    return UINT32_MAX;
}

static void expect_model(uint32_t k, uint32_t seed, const uint64_t *hashes, size_t n)
{
    static model m;
    uint32_t met[BM_PERMS_MAX], words[BM_PERMS_MAX];
    model_open(&m, seed, hashes, n);
    for (uint32_t bin = 0; bin < k; bin++)
        met[bin] = model_bin(&m, k, bin);
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, k, seed);
    bm_scheme_oph.sign(&params, hashes, n, words);
    for (uint32_t bin = 0; bin < k; bin++)
        cr_assert_eq(words[bin], model_word(&m, k, met, bin), "K %u, seed %u, %zu hashes, bin %u",
                     k, seed, n, bin);
    bm_scheme_params_reset(&params);
}

Test(scheme_oph, words_are_those_of_the_model_for_any_number_of_bins_and_hashes)
{
    static const uint32_t bins[] = {1, 2, 3, 7, 16, 100, 128, 255, 256, 1000, 1024};
    static const size_t sizes[] = {0, 1, 2, 3, 10, 50, 128, 500, 2000};
    bm_random random;
    bm_random_init(&random, 77);
    uint64_t hashes[2000];
    for (size_t k = 0; k < sizeof bins / sizeof bins[0]; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (size_t i = 0; i < sizes[s]; i++)
                hashes[i] = bm_random_u64(&random);
            expect_model(bins[k], bm_random_u32(&random), hashes, sizes[s]);
        }
}

/* --- claims --- */

Test(scheme_oph, a_document_without_shingles_is_all_one_bits_and_no_other_has_such_a_word)
{
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, 128, 3);
    uint32_t words[128];
    bm_scheme_oph.sign(&params, NULL, 0, words);
    for (size_t i = 0; i < 128; i++)
        cr_expect_eq(words[i], UINT32_MAX);
    /* Find the x whose hash would be 2^32-1 if hashes were not bounded: invert the hash, each step
     * of which is a bijection. */
    uint32_t inverse_a = 1, h = UINT32_MAX;
    for (int i = 0; i < 5; i++) /* Newton's iteration: doubles the correct bits */
        inverse_a *= 2 - params.a[0] * inverse_a;
    for (int round = 0; round < 2; round++) {
        h ^= h >> 16; /* the inverse of the finaliser */
        h *= UINT32_C(0x7ED1B41D);
        h ^= h >> 13 ^ h >> 26;
        h *= UINT32_C(0xA5CB9243);
        h ^= h >> 16;
        if (round == 0)
            h = inverse_a * (h - params.b[0]);
    }
    uint64_t x = h;
    bm_scheme_oph.sign(&params, &x, 1, words);
    for (size_t i = 0; i < 128; i++)
        cr_expect_eq(words[i], UINT32_MAX - 1);
    bm_scheme_params_reset(&params);
}

Test(scheme_oph, one_shingle_fills_every_bin)
{
    for (uint32_t k = 1; k <= BM_PERMS_MAX; k = k * 3 + 1) {
        bm_scheme_params params = world_scheme(BM_SCHEME_OPH, k, k);
        uint64_t x = 0xABCDEF;
        uint32_t words[BM_PERMS_MAX];
        bm_scheme_oph.sign(&params, &x, 1, words);
        for (uint32_t i = 0; i < k; i++)
            cr_expect_eq(words[i], words[0]);
        bm_scheme_params_reset(&params);
    }
}

Test(scheme_oph, words_do_not_depend_on_order_repeats_or_high_halves)
{
    bm_scheme_params params = world_scheme(BM_SCHEME_OPH, 64, 1);
    const uint64_t once[] = {5, 9, 14}, again[] = {14, 9 | UINT64_C(7) << 32, 5, 9, 14};
    uint32_t x[64], y[64];
    bm_scheme_oph.sign(&params, once, 3, x);
    bm_scheme_oph.sign(&params, again, 5, y);
    cr_expect_arr_eq(x, y, sizeof x);
    bm_scheme_params_reset(&params);
}

Test(scheme_oph, another_seed_is_another_signature)
{
    uint64_t hashes[300];
    for (size_t i = 0; i < 300; i++)
        hashes[i] = i * i;
    uint32_t x[128], y[128];
    bm_scheme_params one = world_scheme(BM_SCHEME_OPH, 128, 1),
                     two = world_scheme(BM_SCHEME_OPH, 128, 2);
    bm_scheme_oph.sign(&one, hashes, 300, x);
    bm_scheme_oph.sign(&two, hashes, 300, y);
    for (size_t i = 0; i < 128; i++)
        cr_expect_neq(x[i], y[i], "word %zu", i);
    bm_scheme_params_reset(&one);
    bm_scheme_params_reset(&two);
}

Test(scheme_oph, it_is_found_by_name_and_its_words_are_all_needed)
{
    bm_sketch_options oph = {.perms = 128, .scheme = BM_SCHEME_OPH}, affine = {.perms = 128};
    cr_expect_eq(bm_scheme_find("oph"), &bm_scheme_oph);
    cr_expect_eq(bm_scheme_get(BM_SCHEME_OPH), &bm_scheme_oph);
    cr_expect_eq(bm_scheme_words(&oph, 100), 128);
    cr_expect_eq(bm_scheme_words(&affine, 100), 100);
}

Test(scheme_oph, bins_out_of_range_and_unknown_schemes_are_refused_and_nothing_is_written)
{
    const bm_sketch_options bad[] = {{.perms = 0, .scheme = BM_SCHEME_OPH},
                                     {.perms = BM_PERMS_MAX + 1, .scheme = BM_SCHEME_OPH},
                                     {.perms = 128, .scheme = (bm_scheme)99}};
    for (size_t i = 0; i < 3; i++) {
        bm_scheme_params params = {.perms = 12345};
        bm_error err = {0};
        cr_expect_eq(bm_scheme_draw(&bad[i], &params, &err), BM_ERR_USAGE);
        cr_expect_eq(params.perms, 12345);
        cr_expect_neq(err.message[0], '\0');
    }
}
