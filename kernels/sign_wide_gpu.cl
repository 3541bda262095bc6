/* sign_wide_gpu.cl -- signatures by coefficients of 64 bits (wide.cl), the shape for GPUs: permutations over
 * work-items, as in sign_gpu.cl.
 *
 *   grid     one dimension, a work-group of BM_TEAM * BM_TEAMS work-items a chunk
 *   memory   BM_TILE units of hashes in local memory
 *   result   words, and keys where want_keys is not 0 (buffers: band_keys.cl)
 *
 * Comes after teams.cl. A unit is a quad of 32-bit hashes under BM_WIDE_LOW, else one hash of 64 bits. A chunk is (first
 * document, n, begin, end): n > 0: n whole documents of at most BM_TILE units together; n = 0: the units
 * begin .. end of one long document, which are all of it where parts do not meet (bm_wide_meet).
 *
 *   BM_EACH, BM_TEAM, BM_TEAMS, BM_TILE  as in sign_gpu.cl */

#if defined(BM_WIDE_LOW)
typedef uint4 bm_unit;
#else
typedef ulong bm_unit;
#endif

BM_INLINE void bm_load_tile(__global const bm_unit *in, uint n, uint item, __local bm_unit *tile)
{
    for (uint i = item; i < n; i += BM_GROUP) {
#if defined(BM_WIDE_LOW)
        tile[i] = in[i];
#else
        tile[i] = bm_wide_hash(in[i]);
#endif
    }
}

BM_INLINE void bm_fold_hash(ulong h, const ulong *a, const ulong *b,
                          BM_LEAST *m)
{
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j)
        m[j] = min(m[j], bm_wide_kept(a[j], h, b[j]));
}

BM_INLINE void bm_fold_unit(bm_unit h, const ulong *a, const ulong *b, BM_LEAST *m)
{
#if defined(BM_WIDE_LOW)
    bm_fold_hash(h.x, a, b, m);
    bm_fold_hash(h.y, a, b, m);
    bm_fold_hash(h.z, a, b, m);
    bm_fold_hash(h.w, a, b, m);
#else
    bm_fold_hash(h, a, b, m);
#endif
}

/* n units, `step` apart, from the byte `at` of the tile on; n is known when compiling. */
BM_INLINE void bm_fold_units(__local const bm_unit *tile, uint at, uint n, uint step,
                             const ulong *a, const ulong *b, BM_LEAST *m)
{
    __local const bm_unit *unit = (__local const bm_unit *)((__local const char *)tile + at);
#pragma unroll
    for (uint k = 0; k < n; ++k)
        bm_fold_unit(unit[k * step], a, b, m);
}

/* The units at, at + step, ..., n in all, four a turn; the counter counts bytes (sign_gpu.cl). */
BM_INLINE void bm_fold(__local const bm_unit *tile, uint at, uint n, uint step, const ulong *a,
                       const ulong *b, BM_LEAST *m)
{
    const uint bytes = step * (uint)sizeof(bm_unit);
    at *= (uint)sizeof(bm_unit);
    const uint end = at + n / 4 * 4 * bytes;
#pragma unroll 1
    for (; at < end; at += 4 * bytes)
        bm_fold_units(tile, at, 4, step, a, b, m);
    if (n & 2) {
        bm_fold_units(tile, at, 2, step, a, b, m);
        at += 2 * bytes;
    }
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
        __global ulong *keys, __global const ulong *coef, uint4 layout, uint want_keys)
{
    __local bm_unit tile[BM_TILE];
    __local BM_LEAST met[BM_MET_WORDS];
    const uint item = (uint)get_local_id(0);
    const uint lane = item % BM_TEAM, team = item / BM_TEAM;
    const uint4 chunk = in[layout.y + get_group_id(0)];
    __global BM_WORD *words = (__global BM_WORD *)(out + layout.w);
    ulong a[BM_EACH], b[BM_EACH];
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
            bm_wide_meet(row + at, bm_wide_word(bm_met(met, at), coef, at));
#else
#pragma unroll
        for (uint j = 0; j < BM_EACH; ++j) {
            const uint at = lane + j * BM_TEAM;
            if (at < BM_PERMS)
                bm_wide_meet(row + at, bm_wide_word(m[j], coef, at));
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
                row[at] = n == 0 ? ~(BM_WORD)0 : bm_wide_word(m[j], coef, at);
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
            row[word] = n == 0 ? ~(BM_WORD)0 : bm_wide_word(bm_met(met, word), coef, word);
    }
#endif
#if BM_BANDS > 0
    if (want_keys != 0)
        bm_chunk_keys(offsets, chunk, BM_GROUP, words, keys);
#endif
}
