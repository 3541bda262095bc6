/* SPDX-License-Identifier: Apache-2.0 */
/* sign_gpu.cl -- signatures, the shape for GPUs: permutations over work-items.
 *
 *   grid     one dimension, a work-group of BM_TEAM * BM_TEAMS work-items a chunk
 *   memory   BM_TILE units of hashes in local memory
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl)
 *
 * Comes after teams.cl and, for schemes with 64-bit coefficients, after wide.cl. A unit is a quad
 * of 32-bit hashes or, for some schemes of wide.cl, one 64-bit hash. A chunk is (first document, n,
 * begin, end). n > 0: n whole documents of at most BM_TILE units together. n = 0: the units begin
 * .. end of one long document; the results are merged into its words by atomic_min. If the scheme
 * cannot merge parts (bm_meet_word), the chunk has all units of the document.
 *
 *   BM_EACH   permutations of a work-item, 1 .. 8: their coefficients and minima stay in registers
 *   BM_TEAM   work-items that sign one document: BM_EACH * BM_TEAM >= BM_PERMS
 *   BM_TEAMS  teams of a group: each signs a document; a part, or a last document that would leave
 *             teams idle, is shared by all
 *   BM_TILE   units read at once
 *   BM_UNROLL units in one iteration of the loop: 2, 4, 8 or 16; always 4 with 64-bit coefficients
 *   BM_PREMIX affine32 only: applied to each hash first: bm_fmix32 (the default) or bm_not_zero32
 *             (scheme nemo)
 *
 * Why: every work-item of a team needs every hash. So the group reads each hash once (coalesced, a
 * unit for each item), and premixes it once. The loop then takes four hashes with one broadcast
 * read of local memory for 4 * BM_EACH multiply-adds. min(min(v, w), m) is one instruction if the
 * hardware has a minimum of three. Short documents are packed into a tile, which keeps groups full,
 * and teams need no barrier between documents. Neither the barriers nor the branches on `chunk`
 * diverge, because a chunk belongs to the whole group. */

/* Definitions for affine32; wide.cl has those for other schemes. */
#if !defined(BM_COEF_WORDS)
#define BM_COEF_WORDS BM_TEAM_WORDS
#define BM_TURN       BM_UNROLL
typedef uint bm_coef;
typedef uint4 bm_unit;

#if !defined(BM_PREMIX)
#define BM_PREMIX bm_fmix32
#endif

BM_INLINE uint4 bm_unit_hashes(uint4 h)
{
    return (uint4)(BM_PREMIX(h.x), BM_PREMIX(h.y), BM_PREMIX(h.z), BM_PREMIX(h.w));
}

BM_INLINE void bm_fold_unit(uint4 h, const uint *a, const uint *b, uint *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j) {
        m[j] = min(min(a[j] * h.x + b[j], a[j] * h.y + b[j]), m[j]);
        m[j] = min(min(a[j] * h.z + b[j], a[j] * h.w + b[j]), m[j]);
    }
}

/* Return word `at` of a document of n units. `least` is its minimum, all ones if n is 0. */
BM_INLINE uint bm_word(uint n, uint least, __global const uint *coef, uint at)
{
    return least;
}

BM_INLINE void bm_meet_word(volatile __global uint *place, uint word)
{
    atomic_min(place, word);
}
#endif

BM_INLINE void bm_load_tile(__global const bm_unit *in, uint n, uint item, __local bm_unit *tile)
{
    for (uint i = item; i < n; i += BM_GROUP)
        tile[i] = bm_unit_hashes(in[i]);
}

/* Fold n units of the tile into the minima `m`. The first unit is at byte `at`, and units are
 * `step` apart. n is a compile-time constant. */
BM_INLINE void bm_fold_units(__local const bm_unit *tile, uint at, uint n, uint step,
                             const bm_coef *a, const bm_coef *b, BM_LEAST *m)
{
    __local const bm_unit *unit = (__local const bm_unit *)((__local const char *)tile + at);
#pragma unroll
    for (uint k = 0; k < n; ++k)
        bm_fold_unit(unit[k * step], a, b, m);
}

/* Fold the n units at, at + step, ... into the minima `m`. A loop takes BM_TURN units at a time, so
 * that the counter costs little; the rest is done without a loop. The counter counts bytes, so it
 * is also the address. The condition is `<`, because with `!=` clang keeps a second counter. */
BM_INLINE void bm_fold(__local const bm_unit *tile, uint at, uint n, uint step, const bm_coef *a,
                       const bm_coef *b, BM_LEAST *m)
{
    const uint bytes = step * (uint)sizeof(bm_unit);
    at *= (uint)sizeof(bm_unit);
    const uint end = at + n / BM_TURN * BM_TURN * bytes;
#pragma unroll 1
    for (; at < end; at += BM_TURN * bytes)
        bm_fold_units(tile, at, BM_TURN, step, a, b, m);
#if BM_TURN > 8
    if (n & 8) {
        bm_fold_units(tile, at, 8, step, a, b, m);
        at += 8 * bytes;
    }
#endif
#if BM_TURN > 4
    if (n & 4) {
        bm_fold_units(tile, at, 4, step, a, b, m);
        at += 4 * bytes;
    }
#endif
#if BM_TURN > 2
    if (n & 2) {
        bm_fold_units(tile, at, 2, step, a, b, m);
        at += 2 * bytes;
    }
#endif
    if (n & 1)
        bm_fold_units(tile, at, 1, step, a, b, m);
}

BM_INLINE void bm_begin(BM_LEAST *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j)
        m[j] = ~(BM_LEAST)0;
}

__kernel __attribute__((reqd_work_group_size(BM_GROUP, 1, 1))) void
bm_sign(__global const bm_unit *hashes, __global const uint4 *in, __global uint *out,
        __global ulong *keys, __global const bm_coef *coef, uint4 layout, uint want_keys)
{
    __local bm_unit tile[BM_TILE];
    __local BM_LEAST met[BM_MET_WORDS];
    const uint item = (uint)get_local_id(0);
    const uint lane = item % BM_TEAM, team = item / BM_TEAM;
    const uint4 chunk = in[layout.y + get_group_id(0)];
    __global BM_WORD *words = (__global BM_WORD *)(out + layout.w);
    bm_coef a[BM_EACH], b[BM_EACH];
    BM_LEAST m[BM_EACH];
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j) {
        a[j] = coef[lane + j * BM_TEAM];
        b[j] = coef[BM_COEF_WORDS + lane + j * BM_TEAM];
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
        volatile __global BM_WORD *row = words + (size_t)chunk.x * BM_PERMS;
#if BM_TEAMS > 1
        bm_meet(met, item, m);
        for (uint at = item; at < BM_PERMS; at += BM_GROUP)
            bm_meet_word(row + at, bm_word(1, bm_met(met, at), coef, at));
#else
#pragma unroll
        for (uint j = 0; j < BM_EACH; ++j) {
            const uint at = lane + j * BM_TEAM;
            if (at < BM_PERMS)
                bm_meet_word(row + at, bm_word(1, m[j], coef, at));
        }
#endif
        return;
    }
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    const uint base = offsets[chunk.x], end = chunk.x + chunk.y;
    const uint shared = end - bm_shared_docs(chunk.y, offsets[end] - offsets[end - chunk.y % BM_TEAMS]);
    bm_load_tile(hashes + base, offsets[end] - base, item, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint doc = chunk.x + team; doc < shared; doc += BM_TEAMS) {
        __global BM_WORD *row = words + (size_t)doc * BM_PERMS;
        const uint n = offsets[doc + 1] - offsets[doc];
        bm_begin(m);
        bm_fold(tile, offsets[doc] - base, n, 1, a, b, m);
#pragma unroll
        for (uint j = 0; j < BM_EACH; ++j) {
            const uint at = lane + j * BM_TEAM;
            if (at < BM_PERMS)
                row[at] = bm_word(n, m[j], coef, at);
        }
    }
#if BM_TEAMS > 1
    for (uint doc = shared; doc < end; ++doc) {
        __global BM_WORD *row = words + (size_t)doc * BM_PERMS;
        const uint at = offsets[doc] - base, n = offsets[doc + 1] - offsets[doc];
        bm_begin(m);
        bm_fold(tile, at + team, bm_share(n, team), BM_TEAMS, a, b, m);
        bm_meet(met, item, m);
        for (uint word = item; word < BM_PERMS; word += BM_GROUP)
            row[word] = bm_word(n, bm_met(met, word), coef, word);
    }
#endif
#if BM_BANDS > 0
    if (want_keys != 0)
        bm_chunk_keys(offsets, chunk, BM_GROUP, words, keys);
#endif
}
