/* SPDX-License-Identifier: Apache-2.0 */
/* text_count.cl -- counts the distinct hashes of each document.
 *
 *   grid     one dimension, one work-group of BM_TEXT_GROUP work-items per chunk; runs after
 *            bm_text_hash
 *   memory   in the GPU's shape a table of BM_TILE * 8 uints and BM_TILE counts in local memory
 *   result   counts: one uint per document
 *
 * A document has a table of two entries per slot, from entry 2 * (its first slot) on. An entry is
 * 0, or 1 + the slot that has its hash. Probing is linear, and compares all 64 bits: a slot stops
 * at an equal hash, or takes the first free entry. `factor` is odd and drawn at random, so that
 * nobody can prepare hashes that collide in the table. The counts do not depend on `factor`.
 *
 * In the GPU's shape, tables of whole documents are in local memory. In the CPU's shape, the only
 * work-item of a group uses the memory of its chunk's tables for one document after another, so
 * this memory stays in the cache. The parts of a long document share a table in global memory. They
 * fill it by 32-bit atomic operations, which every OpenCL C 1.2 has. */

BM_INLINE uint bm_table_entry(ulong hash, ulong factor, uint size)
{
    return mul_hi((uint)(hash * factor >> 32), size);
}

/* Enter `slot` into a table that other work-items fill too. Returns 1 if the slot's hash is new,
 * else 0. BM_SPACE: the table's address space. */
#define BM_TABLE_ADD(name, BM_SPACE)                                                             \
    BM_INLINE uint name(__global const bm_text_quad *hashes, uint4 text, volatile BM_SPACE uint *table, \
                        uint size, ulong factor, uint slot)                                      \
    {                                                                                            \
        const ulong hash = BM_TEXT_HASH(slot);                                                   \
        uint at = bm_table_entry(hash, factor, size);                                            \
        for (;;) {                                                                               \
            const uint known = atomic_cmpxchg(table + at, 0u, slot + 1u);                        \
            if (known == 0)                                                                      \
                return 1;                                                                        \
            if (BM_TEXT_HASH(known - 1u) == hash)                                                \
                return 0;                                                                        \
            at = at + 1u < size ? at + 1u : 0u;                                                  \
        }                                                                                        \
    }

BM_TABLE_ADD(bm_table_add_global, __global)

#if defined(BM_TEAM)
BM_TABLE_ADD(bm_table_add_local, __local)

__kernel __attribute__((reqd_work_group_size(BM_TEXT_GROUP, 1, 1))) void
bm_text_count(__global const uint4 *in, __global const bm_text_quad *hashes, __global uint *table,
              __global uint *counts, uint4 layout, uint4 text, ulong factor)
{
    __local uint local_table[BM_TILE * 8];
    __local uint found[BM_TILE]; /* at the index of each document's first unit in the chunk: the
                                  * document's number of distinct hashes */
    const uint4 chunk = in[layout.y + get_group_id(0)];
    const uint item = (uint)get_local_id(0);
    const uint n = chunk.y == 0 ? 1u : chunk.w - chunk.z;
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    for (uint i = item; i < n; i += BM_TEXT_GROUP)
        found[i] = 0;
    if (chunk.y != 0)
        for (uint i = item; i < n * 8u; i += BM_TEXT_GROUP)
            local_table[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint unit = chunk.z + item; unit < chunk.w; unit += BM_TEXT_GROUP) {
        const uint at = bm_text_doc_of(offsets, chunk, unit);
        const uint base = offsets[at], size = (offsets[at + 1] - base) * 8u;
        const uint end = min(unit * 4u + 4u, base * 4u + in[text.x + at].z);
        uint distinct = 0;
        for (uint slot = unit * 4u; slot < end; ++slot)
            distinct += chunk.y == 0
                            ? bm_table_add_global(hashes, text, table + (size_t)base * 8u, size, factor, slot)
                            : bm_table_add_local(hashes, text, local_table + (base - chunk.z) * 8u, size, factor, slot);
        if (distinct > 0)
            atomic_add(&found[chunk.y == 0 ? 0u : base - chunk.z], distinct);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (chunk.y == 0) {
        if (item == 0)
            atomic_add(&counts[chunk.x], found[0]);
        return;
    }
    for (uint at = chunk.x + item; at < chunk.x + chunk.y; at += BM_TEXT_GROUP)
        counts[at] = offsets[at] == offsets[at + 1] ? 0u : found[offsets[at] - chunk.z];
}

#else
/* Count a whole document with a table that only this work-item uses. If there is room, the table
 * has four entries for each slot. The first probe then nearly always finds a free entry, so its
 * branch is predicted well. */
BM_INLINE uint bm_table_count(__global const ulong *hashes, __global uint *table, uint room,
                              ulong factor, uint begin, uint end)
{
    const uint size = min((end - begin) * 4u, room);
    uint distinct = 0;
    for (uint i = 0; i < size; ++i)
        table[i] = 0;
    for (uint slot = begin; slot < end; ++slot) {
        const ulong hash = hashes[slot];
        uint at = bm_table_entry(hash, factor, size);
        while (table[at] != 0 && hashes[table[at] - 1u] != hash)
            at = at + 1u < size ? at + 1u : 0u;
        distinct += table[at] == 0;
        table[at] = slot + 1u;
    }
    return distinct;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
bm_text_count(__global const uint4 *in, __global const bm_text_quad *hashes, __global uint *table,
              __global uint *counts, uint4 layout, uint4 text, ulong factor)
{
    const uint4 chunk = in[layout.y + get_group_id(0)];
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    if (chunk.y == 0) {
        const uint base = offsets[chunk.x], size = (offsets[chunk.x + 1] - base) * 2u;
        uint distinct = 0;
        for (uint slot = chunk.z; slot < chunk.w; ++slot)
            distinct += bm_table_add_global(hashes, text, table + (size_t)base * 2u, size, factor, slot);
        atomic_add(&counts[chunk.x], distinct);
        return;
    }
    for (uint at = chunk.x; at < chunk.x + chunk.y; ++at)
        counts[at] = bm_table_count(hashes, table + (size_t)chunk.z * 2u, (chunk.w - chunk.z) * 2u, factor,
                                    offsets[at], offsets[at + 1]);
}
#endif
