/* SPDX-License-Identifier: Apache-2.0 */
/* neon_check.c -- the NEON loops, compared with the scalar reference, without a test library.
 *
 * Criterion is not available for a foreign architecture, so this is a plain program:
 * scripts/test-neon.sh builds it with a cross compiler and runs it natively or under qemu. Prints
 * one line "N passed, N failed" and exits with 1 if a check failed. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "cpu/sign_loops_row.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

typedef struct tally {
    unsigned passed, failed;
} tally;

static void check(tally *t, bool right, const char *what, size_t x, size_t y)
{
    if (right) {
        t->passed++;
        return;
    }
    t->failed++;
    if (t->failed <= 20)
        printf("wrong: %s, %zu, %zu\n", what, x, y);
}

static void check_premix(tally *t, const uint64_t *hashes)
{
    uint32_t *block = bm_alloc_aligned(BM_SIGN_BLOCK + 1, sizeof *block);
    for (size_t n = 0; n <= BM_SIGN_BLOCK; n++) {
        block[n] = UINT32_C(0xA5A5A5A5);
        bm_sign_loops_neon.premix(hashes, n, block);
        size_t same = 0;
        while (same < n && block[same] == bm_fmix32((uint32_t)hashes[same]))
            same++;
        check(t, same == n && block[n] == UINT32_C(0xA5A5A5A5), "premix (length, index)", n, same);
    }
    bm_free(block);
}

static void check_minima(tally *t, uint32_t perms, const uint64_t *hashes, size_t n)
{
    bm_scheme_params params;
    bm_sketch_options options = {.perms = perms, .seed = perms + 1};
    if (bm_scheme_affine32.draw(&options, &params, NULL) != BM_OK) {
        check(t, false, "coefficients (permutations)", perms, 0);
        return;
    }
    uint32_t expected[BM_PERMS_MAX];
    bm_scheme_affine32.sign(&params, hashes, n, expected);
    uint32_t *words = bm_alloc_aligned(params.perms_padded, sizeof *words);
    uint32_t *block = bm_alloc_aligned(BM_SIGN_BLOCK, sizeof *block);
    memset(words, 0xA5, params.perms_padded * sizeof *words); /* as left by another document */
    bm_sign_loops_neon.premix(hashes, n, block);
    bm_sign_loops_neon.minima(&params, block, n, false, words);
    check(t, memcmp(words, expected, perms * sizeof *words) == 0, "minima (permutations, hashes)",
          perms, n);
    bm_free(words);
    bm_free(block);
    bm_scheme_params_reset(&params);
}

/* Runs the whole backend, which must choose NEON itself, on one document of each length. */
static void check_backend(tally *t, bm_scheme scheme, const uint64_t *hashes)
{
    static const uint64_t offsets[] = {0, 0, 1, 3, 120, 1144, 2169, 6000};
    enum { DOCS = sizeof offsets / sizeof offsets[0] - 1, PERMS = 100, BANDS = 20, ROWS = 5 };
    const bm_scheme_ops *ops = bm_scheme_get(scheme);
    bm_backend_cfg cfg = {.sketch = {.scheme = scheme, .perms = PERMS, .seed = 1}};
    cfg.bands = BANDS;
    cfg.rows = ROWS;
    bm_backend *backend = NULL;
    bm_scheme_params params;
    const size_t row = bm_scheme_row_uints(scheme, PERMS);
    uint32_t words[2 * DOCS * PERMS], expected[2 * PERMS]; /* room for 32-bit or 64-bit words */
    uint64_t keys[DOCS * BANDS], expected_keys[BANDS];
    bm_sign_task task = {
        .offsets = offsets, .hashes = hashes, .n_docs = DOCS, .words = words, .keys = keys};
    if (bm_backend_cpu.open(&cfg, &backend, NULL) != BM_OK ||
        bm_backend_cpu.submit(backend, &task, NULL) != BM_OK ||
        ops->draw(&cfg.sketch, &params, NULL) != BM_OK) {
        check(t, false, "the backend could not be used", 0, 0);
        return;
    }
    check(t, strcmp(backend->info.driver, "neon") == 0, "the instruction set is not neon", 0, 0);
    for (size_t d = 0; d < DOCS; d++) {
        size_t n = (size_t)(offsets[d + 1] - offsets[d]);
        ops->sign(&params, hashes + offsets[d], n, expected);
        bm_band_keys_of(bm_scheme_value_bytes(scheme))(expected, BANDS, ROWS, n == 0,
                                                       expected_keys);
        check(t, memcmp(words + d * row, expected, row * sizeof *words) == 0, "words (document)", d,
              n);
        check(t, memcmp(keys + d * BANDS, expected_keys, sizeof expected_keys) == 0,
              "keys (document)", d, n);
    }
    bm_scheme_params_reset(&params);
    bm_backend_cpu.close(backend);
}

int main(void)
{
    enum { HASHES = 6000 };
    static uint64_t hashes[HASHES];
    bm_random random;
    bm_random_init(&random, 2024);
    for (size_t i = 0; i < HASHES; i++)
        hashes[i] = bm_random_u64(&random);
    hashes[3] = 0;
    hashes[4] = UINT64_MAX;
    tally t = {0, 0};
    check_premix(&t, hashes);
    for (uint32_t perms = 1; perms <= BM_PERMS_MAX; perms += perms < 300 ? 1 : 31)
        for (size_t n = 0; n <= 9; n++)
            check_minima(&t, perms, hashes + perms, n);
    for (size_t n = 10; n <= BM_SIGN_BLOCK; n += 13)
        check_minima(&t, 128, hashes, n);
    check_backend(&t, BM_SCHEME_AFFINE32, hashes);
    check_backend(&t, BM_SCHEME_OPH, hashes);
    for (bm_scheme scheme = BM_SCHEME_LEGACY; bm_scheme_get(scheme) != NULL; scheme++)
        check_backend(&t, scheme, hashes);
    printf("%u passed, %u failed\n", t.passed, t.failed);
    return t.failed == 0 ? 0 : 1;
}
