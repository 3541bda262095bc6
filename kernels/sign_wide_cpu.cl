/* SPDX-License-Identifier: Apache-2.0 */
/* sign_wide_cpu.cl -- signatures with 64-bit coefficients (wide.cl), the shape for CPUs.
 *
 *   grid     one dimension, a work-item a chunk, work-groups of 1
 *   memory   no local; a block of BM_BLOCK hashes on the stack of a work-item
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl)
 *
 * A chunk is (first document, n, begin, end). n > 0: n whole documents. n = 0: the hashes begin ..
 * end of one long document (bm_meet_word). BM_LANES, BM_ACC and BM_PASSES are as in sign_cpu.cl,
 * and the coefficients are padded to the product of these.
 *
 * Why: a vector has half as many lanes as a vector of 32-bit words. A pass computes two vectors of
 * minima. The values and minima of a vector take some ten operations, which hide the broadcast of a
 * hash. */

#define BM_BLOCK 64
#define BM_PAIR  (2 * BM_HALF_LANES) /* words of a pass */

/* Compute the least values of a pair of vectors over the hashes begin .. end. */
BM_INLINE void bm_fold(__global const ulong *hashes, uint begin, uint end,
                       __global const bm_wide *coef, bm_wide *least)
{
    ulong block[BM_BLOCK];
    __global const bm_wide *more = coef + BM_COEF_WORDS / BM_HALF_LANES;
    const bm_wide a0 = coef[0], a1 = coef[1], b0 = more[0], b1 = more[1];
    bm_wide m0 = (bm_wide)(~0ul), m1 = m0;
    while (begin < end) {
        const uint n = min(end - begin, (uint)BM_BLOCK);
        for (uint i = 0; i < n; ++i)
            block[i] = bm_wide_hash(hashes[begin + i]);
        for (uint i = 0; i < n; ++i) {
            const ulong h = block[i];
            m0 = min(m0, bm_wide_value(a0, h, b0));
            m1 = min(m1, bm_wide_value(a1, h, b1));
        }
        begin += n;
    }
    least[0] = m0;
    least[1] = m1;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(bm_wide))) void
bm_sign(__global const ulong *hashes, __global const uint4 *in, __global uint *out,
        __global ulong *keys, __global const ulong *coef, uint4 layout, uint want_keys)
{
    const uint4 chunk = in[layout.y + get_global_id(0)];
    __global const bm_wide *vectors = (__global const bm_wide *)coef;
    __global BM_WORD *words = (__global BM_WORD *)(out + layout.w);
    union {
        ulong words[BM_PAIR];
        bm_wide vectors[2];
    } least;
    if (chunk.y == 0) {
        volatile __global BM_WORD *row = words + (size_t)chunk.x * BM_PERMS;
        for (uint at = 0; at < BM_PERMS; at += BM_PAIR) {
            bm_fold(hashes, chunk.z, chunk.w, vectors + at / BM_HALF_LANES, least.vectors);
            for (uint i = 0; i < BM_PAIR && at + i < BM_PERMS; ++i)
                bm_meet_word(row + at + i, bm_word(1, least.words[i], coef, at + i));
        }
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    for (uint doc = chunk.x; doc < chunk.x + chunk.y; ++doc) {
        const uint begin = offsets[doc], end = offsets[doc + 1];
        __global BM_WORD *row = words + (size_t)doc * BM_PERMS;
        for (uint at = 0; at < BM_PERMS; at += BM_PAIR) {
            bm_fold(hashes, begin, end, vectors + at / BM_HALF_LANES, least.vectors);
            for (uint i = 0; i < BM_PAIR && at + i < BM_PERMS; ++i)
                row[at + i] = bm_word(end - begin, least.words[i], coef, at + i);
        }
#if BM_BANDS > 0
        if (want_keys != 0)
            for (uint band = 0; band < BM_BANDS; ++band)
                keys[(size_t)doc * BM_BANDS + band] =
                    begin == end ? 0xFFFFFFFFFFFFFFFFul : bm_band_key(row, band);
#endif
    }
}
