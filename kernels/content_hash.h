/* SPDX-License-Identifier: Apache-2.0 */
/* content_hash.h -- the hash of a sequence, shared by host and device: 128 bits over a document's
 * 64-bit shingle hashes, in order and with repeats. Identical documents are recognized by a content
 * hash. It combines this hash with a second hash of another kind, which the host computes
 * (model/stream_hash.h).
 *
 * Common subset of C11 and OpenCL C 1.2: integers only, no pointers. Comes after affine32.h, whose
 * types and fmix64 it uses.
 *
 *     position p  = 128 s + 8 r + l         stretch s, row r < 16, lane l < 8
 *     block    j  = 8 s + l                 the up to 16 positions of one stretch and lane
 *
 *     A_j = sum over its positions of x * a_r     mod 2^64     x = low half of the hash
 *     B_j = sum over its positions of y * b_r     mod 2^64     y = low half xor high half
 *     v_j = fmix64(B_j + (j+1) * G)       u_j = fmix64(A_j + v_j)
 *     C   = sum of u_j                    D   = sum of (v_j xor u_j turned by 32 bits)
 *     lo  = fmix64(C + n * G)             hi  = fmix64(D + lo)             n: shingles
 *
 * C and D sum over the blocks that have a position, so a document without shingles has 0, 0. a_r
 * and b_r are the low and high halves of the first 16 numbers of SplitMix64 from state 0, made odd;
 * G is its step.
 *
 * Why: blocks are independent of each other, so each work-item of a device can compute a block, and
 * the sums of a document's parts can be added. Eight neighbouring positions are in eight blocks. So
 * each lane of a vector has a block of its own, and a processor computes eight blocks at once, with
 * one multiplication of 32 by 32 bits for each half of a hash.
 *
 * What collides, if shingle hashes are as good as random, and if different shingles have different
 * hashes (they do not with a probability of 2^-64, which is not counted here):
 *   - In a block, (A, B) certainly changes if one shingle is replaced by another, if two are
 *     swapped, or between any two arrangements of two repeating shingles. For x is recovered from
 *     x * a, and the sums of all 2^16 subsets of the a_r (and of the b_r) are distinct modulo 2^33,
 *     so that a difference of halves, below 2^32, times a difference of such sums is not 0 mod
 *     2^64. Two or more positions that changed in any other way have equal A with 2^-64, and equal
 *     B with 2^-64, independent of it.
 *   - (A, B) -> (u, v xor turned u) is one to one for each j, so a change in one block alone
 *     certainly changes (C, D). If two or more blocks changed, C is equal with 2^-64, and D
 *     with 2^-64. fmix64 is not linear and is applied to j too, so blocks that are repeated,
 *     swapped or moved give other sums.
 *   - (C, D) -> (lo, hi) is one to one for each n.
 * So two documents collide with a probability of about 2^-128, as with XXH3. If a user passes small
 * numbers (below 2^m) instead of hashes, the sums in a block have only m + 36 bits. An attacker who
 * prepares texts can make this hash collide in seconds, because the sums in a block are linear. The
 * second hash ensures that this is not enough. */
#ifndef BANDMILL_KERNELS_CONTENT_HASH_H
#define BANDMILL_KERNELS_CONTENT_HASH_H

#if defined(__OPENCL_C_VERSION__)
#define BM_CONTENT_CONSTANT __constant
#else
#define BM_CONTENT_CONSTANT static const
#endif

#define BM_CONTENT_LANES   8u
#define BM_CONTENT_ROWS    16u
#define BM_CONTENT_STRETCH 128u /* positions: lanes * rows */
#define BM_CONTENT_STEP    0x9E3779B97F4A7C15UL

BM_CONTENT_CONSTANT bm_u32 bm_content_a[BM_CONTENT_ROWS] = {
    0x7B1DCDAFu, 0xA1B965F5u, 0x8009454Fu, 0x724C81EDu, 0x51A8749Bu, 0x747EA2EBu,
    0x1F4532E1u, 0xC916AB3Du, 0x41C98AC3u, 0x368CB0A7u, 0x3CB13D09u, 0x055BDEF7u,
    0xE0BBDB7Bu, 0x983AA92Fu, 0x00CC4D19u, 0x971D80ABu};
BM_CONTENT_CONSTANT bm_u32 bm_content_b[BM_CONTENT_ROWS] = {
    0xE220A839u, 0x6E789E6Bu, 0x06C45D19u, 0xF88BB8A9u, 0x1B39896Bu, 0x53CB9F0Du,
    0x2C829ABFu, 0xC584133Bu, 0x3EE57891u, 0xF3B8488Du, 0x657EECDDu, 0xC2D326E1u,
    0x8621A03Fu, 0x8E1F7555u, 0xB54E0F17u, 0x84BB3F97u};

/* Return the terms that a hash in row r adds to A and B of its block. */
BM_SHARED bm_u64 bm_content_term_a(bm_u32 low, bm_u32 r)
{
    return (bm_u64)low * bm_content_a[r];
}

BM_SHARED bm_u64 bm_content_term_b(bm_u32 low, bm_u32 high, bm_u32 r)
{
    return (bm_u64)(low ^ high) * bm_content_b[r];
}

/* Return v, u and d of block j. The block adds u to C and d to D. */
BM_SHARED bm_u64 bm_content_v(bm_u64 b, bm_u64 j)
{
    return bm_fmix64(b + (j + 1u) * BM_CONTENT_STEP);
}

BM_SHARED bm_u64 bm_content_u(bm_u64 a, bm_u64 v)
{
    return bm_fmix64(a + v);
}

BM_SHARED bm_u64 bm_content_d(bm_u64 v, bm_u64 u)
{
#if defined(__OPENCL_C_VERSION__)
    return v ^ rotate(u, (bm_u64)32);
#else
    return v ^ (u << 32 | u >> 32);
#endif
}

BM_SHARED bm_u64 bm_content_lo(bm_u64 c, bm_u64 n)
{
    return bm_fmix64(c + n * BM_CONTENT_STEP);
}

BM_SHARED bm_u64 bm_content_hi(bm_u64 d, bm_u64 lo)
{
    return bm_fmix64(d + lo);
}

#endif
