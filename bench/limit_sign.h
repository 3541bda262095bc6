/* SPDX-License-Identifier: Apache-2.0 */
/* limit_sign.h -- affine32 with PERMS permutations, for the yardstick. */
#ifndef BM_BENCH_LIMIT_SIGN_H
#define BM_BENCH_LIMIT_SIGN_H

#include <stddef.h>
#include <stdint.h>

#define PERMS        128u
#define ARITH_ROUNDS UINT64_C(20000000)

typedef struct coefficients {
    _Alignas(64) uint32_t a[PERMS], b[PERMS];
} coefficients;

/* NumPy's RandomState(seed): all a, then all b. */
void limit_draw(uint32_t seed, coefficients *out);
/* n <= HASH_BLOCK hashes; `words` holds minima so far. */
void limit_sign(const coefficients *c, const uint64_t *hashes, size_t n, uint32_t *words);
/* Runs only the loop, ARITH_ROUNDS times. The compiler must assume that the shingle changes in each
 * round, at no cost. */
void limit_arithmetic(const coefficients *c, uint32_t *words);

#endif
