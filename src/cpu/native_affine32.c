/* native_affine32.c -- affine32 and nemo on the native CPU: mix a block, each in its way, then the minima of
 * a*h + b.
 *
 * Tests: tests/unit/cpu/test_cpu_backend.c */
#include "cpu/native_row.h"
#include "kernels/affine32.h"

static void affine32_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n,
                         void *block)
{
    choice->loops->premix(hashes, n, block);
}

static void nemo_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    uint32_t *out = block;
    (void)choice;
    for (size_t i = 0; i < n; i++)
        out[i] = bm_not_zero32((uint32_t)hashes[i]);
}

static void fold(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                 void *words)
{
    choice->loops->minima(choice->params, block, n, begun, words);
}

const bm_native_ops bm_native_affine32 = {.scheme = &bm_scheme_affine32,
                                          .block_bytes = sizeof(uint32_t),
                                          .mix = affine32_mix,
                                          .fold = fold};
const bm_native_ops bm_native_nemo = {
    .scheme = &bm_scheme_nemo, .block_bytes = sizeof(uint32_t), .mix = nemo_mix, .fold = fold};
