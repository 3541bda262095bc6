/* SPDX-License-Identifier: Apache-2.0 */
/* cws_bits.c -- checks the scheme cws as compiled by one compiler with its options: the logarithm,
 * the scalar reference and every set of loops that this processor runs, against words from a Python
 * model (tests/reference/cws_model.py).
 *
 * A plain program without a test library: tests/cross/cws_bits.sh builds it in several ways,
 * scripts/test-neon.sh for AArch64. Prints one line "N passed, N failed" and exits with 1 if a
 * check failed. */
#include <stdio.h>
#include <string.h>

#include "cpu/native_row.h"
#include "base/system.h"
#include "sketch/scheme_params.h"
#include "tests/unit/sketch/cws_vectors.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static unsigned n_passed, n_failed;

static void check(bool right, const char *what, const char *of)
{
    n_passed += right;
    n_failed += !right;
    if (!right)
        printf("wrong: %s, %s\n", what, of);
}

static uint64_t key_of(const uint32_t *words, size_t n)
{
    bm_u64 key = bm_band_key_begin(0);
    for (size_t i = 0; i < n; i++)
        key = bm_band_key_add(key, words[i]);
    return bm_band_key_end(key);
}

static uint64_t add_bits(uint64_t key, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bm_band_key_add(bm_band_key_add(key, (uint32_t)bits), (uint32_t)(bits >> 32));
}

/* Checks log_arguments of the model. */
static void check_logarithms(void)
{
    uint64_t key = bm_band_key_begin(0);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t bits = bm_fmix64(i + 1) & (UINT64_MAX >> 1);
        double x;
        if (i % 5 == 0)
            bits &= (UINT64_C(1) << 52) - 1;
        else if (i % 5 == 1)
            bits = UINT64_C(0x3FE0000000000000) + (bits >> 10);
        memcpy(&x, &bits, sizeof x);
        if (bm_is_positive_finite(x))
            key = add_bits(key, bm_portable_log(x));
    }
    check(bm_band_key_end(key) == log_key, "logarithms", "bit by bit");
}

/* Checks values of the model. */
static void check_values(void)
{
    const bm_sketch_options sketch = {.perms = 8, .seed = 1, .scheme = BM_SCHEME_CWS};
    bm_scheme_params params;
    uint64_t key = bm_band_key_begin(0);
    if (bm_scheme_cws.draw(&sketch, &params, NULL) != BM_OK) {
        check(false, "coefficients", "values");
        return;
    }
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t e[BM_CWS_DRAWS], w[BM_CWS_DRAWS];
        bm_cws_mix(bm_fmix64(i + 1), e);
        for (uint32_t j = 0; j < BM_CWS_DRAWS; j++)
            w[j] = bm_affine32_value(params.a[i % 8 * BM_CWS_DRAWS + j], e[j],
                                     params.b[i % 8 * BM_CWS_DRAWS + j]);
        key = add_bits(key, bm_cws_value(w, bm_portable_log((double)(i + 1) * 0.5)));
    }
    check(bm_band_key_end(key) == value_key, "values", "bit by bit");
    bm_scheme_params_reset(&params);
}

static void check_words(size_t d, const uint32_t *words, const char *what)
{
    check(memcmp(words, documents[d].words, sizeof documents[d].words) == 0 &&
              key_of(words, documents[d].perms) == documents[d].key,
          what, documents[d].what);
}

static void check_document(size_t d)
{
    static uint32_t words[BM_PERMS_MAX];
    static const struct {
        bm_isa isa;
        const bm_cws_loops *loops;
    } rows[] = {
        {BM_ISA_SCALAR, &bm_cws_loops_scalar},
#if defined(__x86_64__)
        {BM_ISA_AVX2, &bm_cws_loops_avx2},
        {BM_ISA_AVX512, &bm_cws_loops_avx512},
#elif defined(__aarch64__)
        {BM_ISA_NEON, &bm_cws_loops_neon},
#endif
    };
    const bm_sketch_options sketch = {
        .perms = documents[d].perms, .seed = documents[d].seed, .scheme = BM_SCHEME_CWS};
    const uint64_t *x = hashes + documents[d].begin;
    const double *w = weights + documents[d].begin;
    bm_scheme_params params;
    if (bm_scheme_cws.draw(&sketch, &params, NULL) != BM_OK) {
        check(false, "coefficients", documents[d].what);
        return;
    }
    bm_scheme_cws.sign_weighted(&params, x, w, documents[d].n, words);
    check_words(d, words, "the reference");
    for (size_t i = 0; i < N_OF(rows); i++) {
        const bm_sign_loops loops = {.cws = rows[i].loops};
        bm_native_choice choice = {.loops = &loops, .params = &params};
        if (!bm_isa_available(rows[i].isa))
            continue;
        check(bm_native_cws.open(&params, 0, &choice.kept, NULL) == BM_OK &&
                  bm_native_cws.borrow(choice.kept, &choice.borrowed, NULL) == BM_OK,
              "memory", documents[d].what);
        for (int again = 0; again < 2; again++) { /* the second time all elements are known */
            bm_native_cws.sign_weighted(&choice, x, w, documents[d].n, words);
            check_words(d, words, bm_isa_name(rows[i].isa));
        }
        bm_native_cws.release(choice.kept, choice.borrowed);
        bm_native_cws.close(choice.kept);
    }
    bm_scheme_params_reset(&params);
}

int main(void)
{
    check_logarithms();
    check_values();
    for (size_t d = 0; d < N_OF(documents); d++)
        check_document(d);
    printf("%u passed, %u failed\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
