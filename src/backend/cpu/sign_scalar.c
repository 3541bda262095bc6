/* sign_scalar.c -- the loops in plain C, for any processor.
 *
 * 16 permutations a pass: their minima and coefficients are small arrays of constant length, which
 * a compiler keeps in registers and, where the baseline allows, turns into vectors by itself. */
#include "backend/cpu/sign_loops.h"
#include "kernels/affine32.h"

#define GROUP 16u

static void scalar_premix(const uint64_t *hashes, size_t n, uint32_t *block)
{
    for (size_t i = 0; i < n; i++)
        block[i] = bm_fmix32((uint32_t)hashes[i]);
}

static void minima_group(const uint32_t *a, const uint32_t *b, const uint32_t *block, size_t n,
                         uint32_t *words)
{
    uint32_t m[GROUP];
    for (size_t i = 0; i < GROUP; i++)
        m[i] = words[i];
    for (size_t s = 0; s < n; s++) {
        uint32_t h = block[s];
        for (size_t i = 0; i < GROUP; i++) {
            uint32_t value = bm_affine32_value(a[i], h, b[i]);
            m[i] = value < m[i] ? value : m[i];
        }
    }
    for (size_t i = 0; i < GROUP; i++)
        words[i] = m[i];
}

static void scalar_minima(const bm_scheme_params *params, const uint32_t *block, size_t n,
                          uint32_t *words)
{
    for (uint32_t i = 0; i < params->perms; i += GROUP) /* padded to 64, so groups are whole */
        minima_group(params->a + i, params->b + i, block, n, words + i);
}

const bm_sign_loops bm_sign_loops_scalar = {
    .isa = BM_ISA_SCALAR, .premix = scalar_premix, .minima = scalar_minima};
