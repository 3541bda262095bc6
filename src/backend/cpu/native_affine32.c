/* native_affine32.c -- affine32 on the native CPU: premix a block, then the minima of a*h + b.
 *
 * Tests: tests/unit/cpu/test_cpu_backend.c */
#include "backend/cpu/native_row.h"

static void affine32_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n,
                         void *block)
{
    choice->loops->premix(hashes, n, block);
}

static void affine32_fold(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                          void *words)
{
    choice->loops->minima(choice->params, block, n, begun, words);
}

const bm_native_ops bm_native_affine32 = {.scheme = &bm_scheme_affine32,
                                          .block_bytes = sizeof(uint32_t),
                                          .mix = affine32_mix,
                                          .fold = affine32_fold};
