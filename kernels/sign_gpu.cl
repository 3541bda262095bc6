/* sign_gpu.cl -- affine32 signatures, the shape for GPUs: permutations over work-items.
 *
 *   grid     one dimension, a work-group of BM_TEAM * BM_TEAMS work-items a chunk
 *   memory   BM_TILE quads of premixed hashes in local memory
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl)
 *
 * Comes after teams.cl. A chunk is (first document, n, begin, end): n > 0: n whole documents of at most BM_TILE quads
 * together; n = 0: the quads begin .. end of one long document, merged into its words by atomic_min.
 *
 *   BM_EACH   permutations of a work-item, 1 .. 8: their coefficients and minima stay in registers
 *   BM_TEAM   work-items that sign one document: BM_EACH * BM_TEAM >= BM_PERMS
 *   BM_TEAMS  teams of a group: each signs a document; a document that would leave teams without
 *             one, or a part, is shared by all
 *   BM_TILE   quads read at once
 *   BM_UNROLL quads of one turn of the loop: 2, 4, 8 or 16
 *   BM_PREMIX what is done to a hash first: bm_fmix32 (not given), bm_not_zero32 (the scheme nemo)
 *
 * Why: every work-item of a team needs every hash, so the group reads (coalesced, a quad an item)
 * and premixes each hash once, and the loop then takes four hashes with one broadcast read of local
 * memory for 4 * BM_EACH multiply-adds. min(min(v, w), m) is one instruction where the hardware has
 * a minimum of three. Packing short documents by the tile keeps groups full, and teams work without
 * a barrier between documents. Neither the barriers nor the branches on `chunk` diverge: a chunk
 * belongs to the whole group. */

#if !defined(BM_PREMIX)
#define BM_PREMIX bm_fmix32
#endif

BM_INLINE void bm_load_tile(__global const uint4 *in, uint n, uint item, __local uint4 *tile)
{
    for (uint i = item; i < n; i += BM_GROUP) {
        const uint4 h = in[i];
        tile[i] = (uint4)(BM_PREMIX(h.x), BM_PREMIX(h.y), BM_PREMIX(h.z), BM_PREMIX(h.w));
    }
}

BM_INLINE void bm_fold_quad(uint4 h, const uint *a, const uint *b, uint *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j) {
        m[j] = min(min(a[j] * h.x + b[j], a[j] * h.y + b[j]), m[j]);
        m[j] = min(min(a[j] * h.z + b[j], a[j] * h.w + b[j]), m[j]);
    }
}

/* n quads, `step` apart, from the byte `at` of the tile on; n is known when compiling. */
BM_INLINE void bm_fold_quads(__local const uint4 *tile, uint at, uint n, uint step, const uint *a,
                             const uint *b, uint *m)
{
    __local const uint4 *quad = (__local const uint4 *)((__local const char *)tile + at);
#pragma unroll
    for (uint k = 0; k < n; ++k)
        bm_fold_quad(quad[k * step], a, b, m);
}

/* Fold the quads at, at + step, ..., n in all: BM_UNROLL at a time in a loop, whose counter then
 * costs little, and the rest without one. The counter counts bytes: it is the address too. `<` and
 * not `!=`, for which clang keeps a second counter. */
BM_INLINE void bm_fold(__local const uint4 *tile, uint at, uint n, uint step, const uint *a,
                       const uint *b, uint *m)
{
    const uint bytes = step * (uint)sizeof(uint4);
    at *= (uint)sizeof(uint4);
    const uint end = at + n / BM_UNROLL * BM_UNROLL * bytes;
#pragma unroll 1
    for (; at < end; at += BM_UNROLL * bytes)
        bm_fold_quads(tile, at, BM_UNROLL, step, a, b, m);
#if BM_UNROLL > 8
    if (n & 8) {
        bm_fold_quads(tile, at, 8, step, a, b, m);
        at += 8 * bytes;
    }
#endif
#if BM_UNROLL > 4
    if (n & 4) {
        bm_fold_quads(tile, at, 4, step, a, b, m);
        at += 4 * bytes;
    }
#endif
#if BM_UNROLL > 2
    if (n & 2) {
        bm_fold_quads(tile, at, 2, step, a, b, m);
        at += 2 * bytes;
    }
#endif
    if (n & 1)
        bm_fold_quads(tile, at, 1, step, a, b, m);
}

BM_INLINE void bm_begin(uint *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j)
        m[j] = 0xFFFFFFFFu;
}

__kernel __attribute__((reqd_work_group_size(BM_GROUP, 1, 1))) void
bm_sign(__global const uint4 *hashes, __global const uint4 *in, __global uint *words,
        __global ulong *keys, __global const uint *coef, uint4 layout, uint want_keys)
{
    __local uint4 tile[BM_TILE];
    __local uint met[BM_MET_WORDS];
    const uint item = (uint)get_local_id(0);
    const uint lane = item % BM_TEAM, team = item / BM_TEAM;
    const uint4 chunk = in[layout.y + get_group_id(0)];
    words += layout.w;
    uint a[BM_EACH], b[BM_EACH], m[BM_EACH];
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j) {
        a[j] = coef[lane + j * BM_TEAM];
        b[j] = coef[BM_TEAM_WORDS + lane + j * BM_TEAM];
    }
    if (chunk.y == 0) {
        bm_begin(m);
        for (uint at = chunk.z; at < chunk.w; at += BM_TILE) {
            const uint n = min(chunk.w - at, (uint)BM_TILE);
            bm_load_tile(hashes + at, n, item, tile);
            barrier(CLK_LOCAL_MEM_FENCE);
            bm_fold(tile, team, bm_share(n, team), BM_TEAMS, a, b, m);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        volatile __global uint *row = words + (size_t)chunk.x * BM_PERMS;
#if BM_TEAMS > 1
        bm_meet(met, item, m);
        for (uint at = item; at < BM_PERMS; at += BM_GROUP)
            atomic_min(row + at, bm_met(met, at));
#else
#pragma unroll
        for (uint j = 0; j < BM_EACH; ++j)
            if (lane + j * BM_TEAM < BM_PERMS)
                atomic_min(row + lane + j * BM_TEAM, m[j]);
#endif
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    const uint base = offsets[chunk.x], end = chunk.x + chunk.y;
    const uint shared = end - bm_shared_docs(chunk.y, offsets[end] - offsets[end - chunk.y % BM_TEAMS]);
    bm_load_tile(hashes + base, offsets[end] - base, item, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint doc = chunk.x + team; doc < shared; doc += BM_TEAMS) {
        __global uint *row = words + (size_t)doc * BM_PERMS;
        bm_begin(m);
        bm_fold(tile, offsets[doc] - base, offsets[doc + 1] - offsets[doc], 1, a, b, m);
#pragma unroll
        for (uint j = 0; j < BM_EACH; ++j)
            if (lane + j * BM_TEAM < BM_PERMS)
                row[lane + j * BM_TEAM] = m[j];
    }
#if BM_TEAMS > 1
    for (uint doc = shared; doc < end; ++doc) {
        __global uint *row = words + (size_t)doc * BM_PERMS;
        const uint at = offsets[doc] - base, n = offsets[doc + 1] - offsets[doc];
        bm_begin(m);
        bm_fold(tile, at + team, bm_share(n, team), BM_TEAMS, a, b, m);
        bm_meet(met, item, m);
        for (uint word = item; word < BM_PERMS; word += BM_GROUP)
            row[word] = bm_met(met, word);
    }
#endif
#if BM_BANDS > 0
    if (want_keys != 0)
        bm_chunk_keys(offsets, chunk, BM_GROUP, words, keys);
#endif
}
