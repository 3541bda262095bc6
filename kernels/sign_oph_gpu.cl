/* SPDX-License-Identifier: Apache-2.0 */
/* sign_oph_gpu.cl -- oph signatures, the shape for GPUs: hashes over work-items, bins in local
 * memory.
 *
 *   grid     one dimension, a work-group of BM_TEAM * BM_TEAMS work-items a chunk
 *   memory   BM_SLOTS * BM_PERMS bins, a list of BM_FEW filled ones a slot: 5 KiB at most
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl; coef: oph_donors.cl)
 *
 * A chunk is (first document, n, begin, end). n > 0: n whole documents. n = 0: the quads begin ..
 * end of one long document; the results are merged into its words by atomic_min, and bm_split_fill
 * completes the words.
 *
 * Why: a shingle costs two mixings and one minimum in local memory, whatever K is, so work-items
 * divide the quads of the group, not the permutations. A round takes BM_SLOTS documents at once.
 * All their quads are in one sequence, so that short documents leave no work-item idle, and the
 * document of each quad is looked up. The bins of a part have BM_SLOTS copies, which spreads the
 * atomic operations on one bin. Barriers do not diverge, because the chunk and the rounds are the
 * same for the whole group. */

#define BM_SLOTS (BM_PERMS > 512 ? 1 : BM_PERMS < 64 ? 16 : 1024 / BM_PERMS)

BM_INLINE void bm_put(uint x, uint a, uint b, volatile __local uint *met)
{
    const uint h = bm_oph_hash(x, a, b);
    atomic_min(met + mul_hi(h, (uint)BM_PERMS), h);
}

BM_INLINE void bm_put_quad(uint4 x, __global const uint *coef, __local uint *met)
{
    const uint a = coef[0], b = coef[1];
    bm_put(x.x, a, b, met);
    bm_put(x.y, a, b, met);
    bm_put(x.z, a, b, met);
    bm_put(x.w, a, b, met);
}

BM_INLINE void bm_clear(uint n, uint item, __local uint *met)
{
    for (uint i = item; i < n; i += BM_GROUP)
        met[i] = BM_OPH_EMPTY;
}

/* Return which of n documents has the unit `at`. `start` has the first unit of each document. An
 * empty document has no unit. */
BM_INLINE uint bm_slot_of(__local const uint *start, uint n, uint at)
{
    uint slot = 0;
#pragma unroll
    for (uint step = 8; step > 0; step /= 2)
        if (slot + step < n && start[slot + step] <= at)
            slot += step;
    return slot;
}

/* Return the word of an empty bin. It comes from the filled bins in the list. */
BM_INLINE uint bm_oph_least(__global const ushort *offers, __local const uint *met,
                            __local const ushort *filled, uint n, uint bin)
{
    uint best = 0xFFFFFFFFu, donor = 0;
    for (uint i = 0; i < n; ++i) {
        const uint offer = offers[(uint)filled[i] * BM_ROW + bin];
        donor = offer < best ? filled[i] : donor;
        best = min(best, offer);
    }
    return met[donor];
}

BM_INLINE void bm_sign_part(__global const uint4 *hashes, uint4 chunk, __global const uint *coef,
                            __local uint *met, volatile __global uint *row)
{
    const uint item = (uint)get_local_id(0);
    bm_clear(BM_SLOTS * BM_PERMS, item, met);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint at = chunk.z + item; at < chunk.w; at += BM_GROUP)
        bm_put_quad(hashes[at], coef, met + item % BM_SLOTS * BM_PERMS);
    barrier(CLK_LOCAL_MEM_FENCE);
    /* All work-items make the same number of iterations, because PoCL 3.1 enters a loop even for an
     * item that has none. */
    for (uint from = 0; from < BM_PERMS; from += BM_GROUP) {
        const uint bin = from + item;
        uint word = BM_OPH_EMPTY;
        if (bin < BM_PERMS)
            for (uint slot = 0; slot < BM_SLOTS; ++slot)
                word = min(word, met[slot * BM_PERMS + bin]);
        if (word != BM_OPH_EMPTY)
            atomic_min(row + bin, word);
    }
}

__kernel __attribute__((reqd_work_group_size(BM_GROUP, 1, 1))) void
bm_sign(__global const uint4 *hashes, __global const uint4 *in, __global uint *words,
        __global ulong *keys, __global const uint *coef, uint4 layout, uint want_keys)
{
    __local uint met[BM_SLOTS * BM_PERMS];
    __local uint start[BM_SLOTS + 1], n_filled[BM_SLOTS];
    __local ushort filled[BM_SLOTS * BM_FEW];
    const uint item = (uint)get_local_id(0);
    const uint4 chunk = in[layout.y + get_group_id(0)];
    words += layout.w;
    if (chunk.y == 0) {
        bm_sign_part(hashes, chunk, coef, met, words + (size_t)chunk.x * BM_PERMS);
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    for (uint first = chunk.x; first < chunk.x + chunk.y; first += BM_SLOTS) {
        const uint n = min(chunk.x + chunk.y - first, (uint)BM_SLOTS);
        bm_clear(n * BM_PERMS, item, met);
        for (uint i = item; i <= n; i += BM_GROUP)
            start[i] = offsets[first + i];
        for (uint i = item; i < n; i += BM_GROUP)
            n_filled[i] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint at = start[0] + item; at < start[n]; at += BM_GROUP)
            bm_put_quad(hashes[at], coef, met + bm_slot_of(start, n, at) * BM_PERMS);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < n * BM_PERMS; i += BM_GROUP) { /* lists filled bins, but only of
                                                                * short documents */
            const uint slot = i / BM_PERMS;
            if (met[i] != BM_OPH_EMPTY && (start[slot + 1] - start[slot]) * 4 <= BM_FEW)
                filled[slot * BM_FEW + atomic_inc(n_filled + slot)] = (ushort)(i % BM_PERMS);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < n * BM_PERMS; i += BM_GROUP) {
            const uint slot = i / BM_PERMS, bin = i % BM_PERMS;
            uint word = met[i];
            if (word == BM_OPH_EMPTY && n_filled[slot] > 0)
                word = bm_oph_least(bm_oph_offers(coef), met + slot * BM_PERMS,
                                    filled + slot * BM_FEW, n_filled[slot], bin);
            else if (word == BM_OPH_EMPTY && start[slot] < start[slot + 1])
                word = bm_oph_ask(bm_oph_order(coef), met + slot * BM_PERMS, bin);
            words[(size_t)first * BM_PERMS + i] = word;
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* `met` is not read any more after this */
    }
#if BM_BANDS > 0
    if (want_keys != 0)
        bm_chunk_keys(offsets, chunk, BM_GROUP, words, keys);
#endif
}
