/* SPDX-License-Identifier: Apache-2.0 */
/* sign_cpu.cl -- affine32 signatures, the shape for CPUs: wide vectors, no work shared by items.
 *
 *   grid     one dimension, a work-item a chunk, work-groups of 1
 *   memory   no local; a block of BM_BLOCK premixed hashes on the stack of a work-item
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl)
 *
 * A chunk is (first document, n, begin, end). n > 0: n whole documents. n = 0: the hashes begin ..
 * end of one long document; the results are merged into its words by atomic_min.
 *
 *   BM_LANES   words of a vector, 4, 8 or 16: the native width
 *   BM_ACC     vectors of minima held in registers in one pass over a document
 *   BM_PASSES  passes: BM_LANES * BM_ACC * BM_PASSES >= BM_PERMS; coefficients are padded by zeros
 *   BM_PREMIX  applied to each hash first: bm_fmix32 (the default) or bm_not_zero32 (scheme nemo)
 *
 * Why: multiply, add and minimum limit the loop. With 16 lanes and 8 accumulators, the coefficients
 * and the minima of 128 permutations take 24 of the 32 registers of AVX-512. Each hash is then read
 * once, by a broadcasting load from the block, which uses no arithmetic port. Premixing a block
 * with whole vectors is cheap enough to be repeated in each pass. */

#define BM_PASTE_(a, b) a##b
#define BM_PASTE(a, b) BM_PASTE_(a, b)
typedef BM_PASTE(uint, BM_LANES) bm_vec;
#define BM_STORE BM_PASTE(vstore, BM_LANES)
#define BM_BLOCK 64
#if !defined(BM_PREMIX)
#define BM_PREMIX bm_fmix32
#endif
#define BM_PASS_WORDS (BM_LANES * BM_ACC)

/* Compute the minima of one pass over the hashes begin .. end. */
BM_INLINE void bm_fold(__global const ulong *hashes, uint begin, uint end,
                       __global const bm_vec *coef, bm_vec *result)
{
    uint block[BM_BLOCK];
    bm_vec a[BM_ACC], b[BM_ACC], m[BM_ACC];
#pragma unroll
    for (uint j = 0; j < BM_ACC; ++j) {
        a[j] = coef[j];
        b[j] = coef[BM_ACC * BM_PASSES + j];
        m[j] = (bm_vec)(0xFFFFFFFFu);
    }
    while (begin < end) {
        const uint n = min(end - begin, (uint)BM_BLOCK);
        for (uint i = 0; i < n; ++i)
            block[i] = BM_PREMIX((uint)hashes[begin + i]);
        for (uint i = 0; i < n; ++i) {
            const uint h = block[i];
#pragma unroll
            for (uint j = 0; j < BM_ACC; ++j)
                m[j] = min(m[j], a[j] * h + b[j]);
        }
        begin += n;
    }
#pragma unroll
    for (uint j = 0; j < BM_ACC; ++j)
        result[j] = m[j];
}

/* Store the words of one pass in their row. The last pass may have more words than are left of
 * BM_PERMS. */
BM_INLINE void bm_store_pass(const bm_vec *m, uint pass, __global uint *row)
{
    const uint first = pass * BM_PASS_WORDS;
#pragma unroll
    for (uint j = 0; j < BM_ACC; ++j) {
        const uint at = first + j * BM_LANES;
        if (at + BM_LANES <= BM_PERMS) {
            BM_STORE(m[j], 0, row + at);
        } else if (at < BM_PERMS) {
            uint lanes[BM_LANES];
            BM_STORE(m[j], 0, lanes);
            for (uint i = 0; at + i < BM_PERMS; ++i)
                row[at + i] = lanes[i];
        }
    }
}

BM_INLINE void bm_merge_pass(const bm_vec *m, uint pass, volatile __global uint *row)
{
    const uint first = pass * BM_PASS_WORDS;
    uint lanes[BM_LANES];
    for (uint j = 0; j < BM_ACC; ++j) {
        BM_STORE(m[j], 0, lanes);
        for (uint i = 0; i < BM_LANES && first + j * BM_LANES + i < BM_PERMS; ++i)
            atomic_min(row + first + j * BM_LANES + i, lanes[i]);
    }
}

#if BM_BANDS > 0
/* Set power[r] to M^(BM_ROWS - 1 - r), and power[BM_ROWS] to M^BM_ROWS, with M =
 * BM_BAND_MULTIPLIER. */
BM_INLINE void bm_powers(ulong *power)
{
    ulong p = 1;
    for (uint r = BM_ROWS; r-- > 0; p *= BM_BAND_MULTIPLIER)
        power[r] = p;
    power[BM_ROWS] = p;
}

/* Make the keys of a row. bm_band_key is computed as a sum, without a chain of dependent
 * multiplications. */
BM_INLINE void bm_keys(__global const uint *row, const ulong *power, bool empty,
                       __global ulong *keys)
{
    for (uint band = 0; band < BM_BANDS; ++band) {
        ulong key = bm_band_key_begin(band) * power[BM_ROWS];
        for (uint r = 0; r < BM_ROWS; ++r)
            key += row[band * BM_ROWS + r] * power[r];
        keys[band] = empty ? 0xFFFFFFFFFFFFFFFFul : bm_band_key_end(key);
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(bm_vec))) void
bm_sign(__global const ulong *hashes, __global const uint4 *in, __global uint *words,
        __global ulong *keys, __global const bm_vec *coef, uint4 layout, uint want_keys)
{
    const uint4 chunk = in[layout.y + get_global_id(0)];
    words += layout.w;
    bm_vec m[BM_ACC];
    if (chunk.y == 0) {
        for (uint pass = 0; pass < BM_PASSES; ++pass) {
            bm_fold(hashes, chunk.z, chunk.w, coef + pass * BM_ACC, m);
            bm_merge_pass(m, pass, words + (size_t)chunk.x * BM_PERMS);
        }
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
#if BM_BANDS > 0
    ulong power[BM_ROWS + 1];
    bm_powers(power);
#endif
    for (uint doc = chunk.x; doc < chunk.x + chunk.y; ++doc) {
        const uint begin = offsets[doc], end = offsets[doc + 1];
        __global uint *row = words + (size_t)doc * BM_PERMS;
        for (uint pass = 0; pass < BM_PASSES; ++pass) {
            bm_fold(hashes, begin, end, coef + pass * BM_ACC, m);
            bm_store_pass(m, pass, row);
        }
#if BM_BANDS > 0
        if (want_keys != 0)
            bm_keys(row, power, begin == end, keys + (size_t)doc * BM_BANDS);
#endif
    }
}
