/* SPDX-License-Identifier: Apache-2.0 */
/* affine64.h -- the schemes with 64-bit coefficients, shared by host and device: a*h + b mod 2^64,
 * and the word that each scheme makes of it.
 *
 *     scheme               h                      word
 *     affine64             fmix64(x)              minimum of the values
 *     legacy, text-dedup   the low 32 bits of x   minimum of the low 32 bits of the values
 *                                                 mod 2^61 - 1
 *     datatrove            x                      minimum of the values mod 2^61 - 1
 *     lance                x                      upper 16 bits of c*m, m the minimum of the values
 *
 * Comes after affine32.h, in the common subset of C11 and OpenCL C 1.2: integers only, no pointers.
 *
 * Sources: datasketch 2 (affine64), datasketch 1 (legacy), datatrove, text-dedup and Lance;
 * docs/schemes.md has the details. In all of these tools the product wraps mod 2^64 before the
 * modulus is taken. */
#ifndef BANDMILL_KERNELS_AFFINE64_H
#define BANDMILL_KERNELS_AFFINE64_H

#define BM_MERSENNE_61 0x1FFFFFFFFFFFFFFFUL

BM_SHARED bm_u64 bm_affine64_value(bm_u64 a, bm_u64 h, bm_u64 b)
{
    return a * h + b;
}

/* Return v mod 2^61 - 1. Since 2^61 is 1 mod 2^61 - 1, the upper three bits are added to the lower
 * bits. The sum is at most 2^61 + 6, which is less than twice the modulus. */
BM_SHARED bm_u64 bm_mod_mersenne61(bm_u64 v)
{
    const bm_u64 sum = (v & BM_MERSENNE_61) + (v >> 61);
    return sum >= BM_MERSENNE_61 ? sum - BM_MERSENNE_61 : sum;
}

/* Return the word that lance makes of a minimum. */
BM_SHARED bm_u32 bm_lance_word(bm_u64 c, bm_u64 least)
{
    return (bm_u32)((c * least) >> 48);
}

#endif
