/* SPDX-License-Identifier: Apache-2.0 */
/* sign_oph_cpu.cl -- oph signatures, the shape for CPUs: no work shared by items.
 *
 *   grid     one dimension, a work-item a chunk, work-groups of 1
 *   memory   bins, offers and a list of filled bins in local memory, 8 bytes a bin; a block of
 *            BM_BLOCK hashes on the stack of a work-item
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl; coef: oph_donors.cl)
 *
 * A chunk is (first document, n, begin, end). n > 0: n whole documents. n = 0: the hashes begin ..
 * end of one long document; the results are merged into its words by atomic_min, and bm_split_fill
 * completes the words.
 *
 * Why: a block is hashed by whole vectors, because compilers vectorise that loop by themselves. A
 * shingle then costs a load, a minimum and a store. The least offers of a few filled bins are also
 * found by a minimum of vectors. */

#define BM_BLOCK 64

BM_INLINE void bm_fold(__global const ulong *hashes, uint begin, uint end, __global const uint *coef,
                       __local uint *met)
{
    uint block[BM_BLOCK];
    const uint a = coef[0], b = coef[1];
    for (uint bin = 0; bin < BM_PERMS; ++bin)
        met[bin] = BM_OPH_EMPTY;
    while (begin < end) {
        const uint n = min(end - begin, (uint)BM_BLOCK);
        for (uint i = 0; i < n; ++i)
            block[i] = bm_oph_hash((uint)hashes[begin + i], a, b);
        for (uint i = 0; i < n; ++i) {
            const uint h = block[i], bin = mul_hi(h, (uint)BM_PERMS), old = met[bin];
            met[bin] = min(old, h);
        }
        begin += n;
    }
}

/* Make the words of a document from its bins, some of which may be empty. */
BM_INLINE void bm_oph_words(__global const uint *coef, __local const uint *met, __local ushort *filled,
                            __local ushort *best, __global uint *row)
{
    uint n = 0;
    for (uint bin = 0; bin < BM_PERMS; ++bin) {
        filled[n] = (ushort)bin;
        n += met[bin] != BM_OPH_EMPTY ? 1u : 0u;
    }
    if (n == 0 || n > BM_FEW) {
        for (uint bin = 0; bin < BM_PERMS; ++bin)
            row[bin] = met[bin] != BM_OPH_EMPTY ? met[bin] : bm_oph_ask(bm_oph_order(coef), met, bin);
        return;
    }
    for (uint bin = 0; bin < BM_ROW; ++bin)
        best[bin] = 0xFFFF;
    for (uint i = 0; i < n; ++i) {
        __global const ushort *offers = bm_oph_offers(coef) + (uint)filled[i] * BM_ROW;
        for (uint bin = 0; bin < BM_ROW; ++bin)
            best[bin] = min(best[bin], offers[bin]);
    }
    for (uint bin = 0; bin < BM_PERMS; ++bin) {
#if BM_PERMS <= 256
        const uint donor = best[bin] & 255u; /* an offer includes its donor */
#else
        const uint donor = bm_oph_order(coef)[(best[bin] / 4u * BM_PERMS + bin) * 4u + best[bin] % 4u];
#endif
        row[bin] = met[bin] != BM_OPH_EMPTY ? met[bin] : met[donor];
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
bm_sign(__global const ulong *hashes, __global const uint4 *in, __global uint *words,
        __global ulong *keys, __global const uint *coef, uint4 layout, uint want_keys)
{
    __local uint met[BM_PERMS];
    __local ushort filled[BM_PERMS], best[BM_ROW];
    const uint4 chunk = in[layout.y + get_global_id(0)];
    words += layout.w;
    if (chunk.y == 0) {
        volatile __global uint *row = words + (size_t)chunk.x * BM_PERMS;
        bm_fold(hashes, chunk.z, chunk.w, coef, met);
        for (uint bin = 0; bin < BM_PERMS; ++bin)
            if (met[bin] != BM_OPH_EMPTY)
                atomic_min(row + bin, met[bin]);
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    for (uint doc = chunk.x; doc < chunk.x + chunk.y; ++doc) {
        const uint begin = offsets[doc], end = offsets[doc + 1];
        __global uint *row = words + (size_t)doc * BM_PERMS;
        bm_fold(hashes, begin, end, coef, met);
        bm_oph_words(coef, met, filled, best, row);
#if BM_BANDS > 0
        if (want_keys != 0)
            for (uint band = 0; band < BM_BANDS; ++band)
                keys[(size_t)doc * BM_BANDS + band] =
                    begin == end ? 0xFFFFFFFFFFFFFFFFul : bm_band_key(row, band);
#endif
    }
}
