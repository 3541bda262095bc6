/* SPDX-License-Identifier: Apache-2.0 */
/* oph.h -- the scheme oph (one permutation hashing with optimal densification), shared by host and
 * device. Comes after affine32.h, whose types and fmix32 it uses.
 *
 * K bins; a, b (32 bits, a odd) and mul, add (64 bits) are drawn from the seed.
 *
 *     hash      h = min(fmix32(a * fmix32(x) + b mod 2^32), 2^32-2)
 *     bin       (h * K) >> 32: equal intervals of h, for any K
 *     word      least h of the document in the bin; a bin without a shingle is empty
 *     donor     an empty bin takes the word of the first filled bin among donor(bin, 0),
 *               donor(bin, 1) … donor(bin, 16 K - 1), or, if all of these are empty, of the first
 *               filled bin after itself, cyclically; a bin with a donor's word still counts as
 *               empty
 *
 * So 2^32-1 is never a hash. It marks an empty bin, and is every word of a document without
 * shingles.
 *
 * The donor: let key = attempt * 1024 + bin. The number (mul * key + add mod 2^64) >> 32 is
 * strongly 2-universal (Dietzfelbinger 1996) for keys of 32 bits. fmix32 is a bijection, so it
 * keeps this property, and it removes the linear relations among three or more keys. The donor is
 * the bin of the number that fmix32 makes.
 *
 * Sources: Li, Owen, Zhang, "One Permutation Hashing" (2012); Shrivastava, "Optimal Densification
 * for Fast and Accurate Minwise Hashing" (2017). */
#ifndef BANDMILL_KERNELS_OPH_H
#define BANDMILL_KERNELS_OPH_H

#define BM_OPH_EMPTY     0xFFFFFFFFu
#define BM_OPH_PER_BIN   16u   /* an empty bin tries at most this many times K donors */
#define BM_OPH_KEY_SHIFT 1024u /* most bins */

BM_SHARED bm_u32 bm_oph_hash(bm_u32 x, bm_u32 a, bm_u32 b)
{
    bm_u32 h = bm_fmix32(a * bm_fmix32(x) + b);
    return h < BM_OPH_EMPTY ? h : BM_OPH_EMPTY - 1u;
}

BM_SHARED bm_u32 bm_oph_bin(bm_u32 h, bm_u32 bins)
{
    return (bm_u32)(((bm_u64)h * bins) >> 32);
}

BM_SHARED bm_u32 bm_oph_donor(bm_u32 bin, bm_u32 attempt, bm_u32 bins, bm_u64 mul, bm_u64 add)
{
    bm_u64 key = attempt * BM_OPH_KEY_SHIFT + bin;
    return bm_oph_bin(bm_fmix32((bm_u32)((mul * key + add) >> 32)), bins);
}

#endif
