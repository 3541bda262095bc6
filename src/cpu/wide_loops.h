/* wide_loops.h -- the inner loops of the schemes with coefficients of 64 bits (kernels/affine64.h):
 * a row for each instruction set, in its own file wide_<set>.c.
 *
 *     hashes (64 bit) --mix--> block (64 bit, first-level cache) --minima, a group a pass--> least
 * values
 *
 * The values are those of a scheme before the last step: of legacy only the low 32 bits of each
 * count. Pure functions: any number of threads. */
#ifndef BM_BACKEND_CPU_WIDE_LOOPS_H
#define BM_BACKEND_CPU_WIDE_LOOPS_H

#include "sketch/scheme_row.h"

/* least[i] = the least value over the block of permutation i, and least[i] itself if the document
 * was begun with an earlier block. For i < perms; `least` holds perms_padded, is aligned to 64
 * bytes, and may be overwritten with anything past perms. n <= BM_SIGN_BLOCK. */
typedef void bm_wide_minima_fn(const bm_scheme_params *params, const uint64_t *block, size_t n,
                               bool begun, uint64_t *least);

typedef struct bm_wide_loops {
    void (*fmix64)(const uint64_t *hashes, size_t n, uint64_t *block);
    bm_wide_minima_fn *affine; /* a*h + b mod 2^64 */
    bm_wide_minima_fn *prime;  /* the same mod 2^61 - 1 */
    bm_wide_minima_fn
        *low; /* of that the low 32 bits, of h < 2^32; the upper halves mean nothing */
} bm_wide_loops;

extern const bm_wide_loops bm_wide_loops_scalar;
#if defined(__x86_64__)
extern const bm_wide_loops bm_wide_loops_avx2;
extern const bm_wide_loops bm_wide_loops_avx512;
#endif

#endif
