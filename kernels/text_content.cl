/* SPDX-License-Identifier: Apache-2.0 */
/* text_content.cl -- computes the sums of the content hash of each document (content_hash.h).
 *
 *   grid     one dimension, a work-group of BM_TEXT_GROUP work-items a chunk, after bm_text_hash
 *   memory   in the GPU's shape BM_TEXT_GROUP * 16 bytes of local memory
 *   result   content: pairs of sums C, D. A document i that lies in one chunk has pair i. If a
 *            document is in parts, each of its chunks j has a pair, with index
 *            (n_docs / 4 + 1) * 4 + j. The host adds up the parts and completes the hash.
 *
 * A work-item processes one stretch of 128 positions after another. If documents are packed into
 * one chunk, each item processes documents of its own. If a chunk is one document or a part of one,
 * the GPU's items divide the stretches of the chunk. A part has the stretches that begin in it. The
 * order of the sums does not matter, so there can be no race. */

#define BM_CONTENT_EACH_LANE(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)

/* Return how many shingles a document has. The first hashes of the document are those of these
 * shingles. */
BM_INLINE uint bm_text_shingles(uint4 doc)
{
#if BM_TEXT_KIND == 1
    return doc.w == BM_TEXT_ASCII ? doc.z : doc.w;
#else
    return doc.z;
#endif
}

/* Add stretch s of a document to the sums. The document has n shingles, and its first slot is
 * `base`. */
BM_INLINE ulong2 bm_content_stretch(__global const bm_text_quad *hashes, uint4 text, uint base, uint n,
                                    uint s, ulong2 sums)
{
    const uint begin = s * BM_CONTENT_STRETCH, size = min(n - begin, BM_CONTENT_STRETCH);
    ulong8 a = (ulong8)(0UL), b = (ulong8)(0UL);
    uint slot = base + begin;
    for (uint r = 0; r * BM_CONTENT_LANES < size; ++r, slot += BM_CONTENT_LANES) {
        const uint left = size - r * BM_CONTENT_LANES;
#define BM_CONTENT_TAKE(l)                                              \
    if (l##u < left) {                                                  \
        const ulong hash = BM_TEXT_HASH(slot + l##u);                   \
        const uint low = (uint)hash, high = (uint)(hash >> 32);         \
        a.s##l += bm_content_term_a(low, r);                            \
        b.s##l += bm_content_term_b(low, high, r);                      \
    }
        BM_CONTENT_EACH_LANE(BM_CONTENT_TAKE)
    }
#define BM_CONTENT_MIX(l)                                                       \
    if (l##u < size) {                                                          \
        const ulong v = bm_content_v(b.s##l, (ulong)s * BM_CONTENT_LANES + l##u); \
        const ulong u = bm_content_u(a.s##l, v);                                \
        sums += (ulong2)(u, bm_content_d(v, u));                                \
    }
    BM_CONTENT_EACH_LANE(BM_CONTENT_MIX)
    return sums;
}

/* Add up some of the stretches that begin in the slots slots.x … slots.y-1 of a document. These
 * are stretch number every.x, counted from 0, and each every.y-th stretch after it. */
BM_INLINE ulong2 bm_content_some(__global const uint4 *in, __global const bm_text_quad *hashes,
                                 uint4 layout, uint4 text, uint at, uint2 slots, uint2 every)
{
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    const uint n = bm_text_shingles(in[text.x + at]);
    const uint end = min(slots.y, n);
    ulong2 sums = (ulong2)(0UL);
    for (uint s = (slots.x + BM_CONTENT_STRETCH - 1u) / BM_CONTENT_STRETCH + every.x;
         s < (end + BM_CONTENT_STRETCH - 1u) / BM_CONTENT_STRETCH; s += every.y)
        sums = bm_content_stretch(hashes, text, offsets[at] * BM_TEXT_UNIT, n, s, sums);
    return sums;
}

/* Return the slots of a document that are in the chunk. */
BM_INLINE uint2 bm_content_slots(__global const uint *offsets, uint4 chunk)
{
    const uint base = offsets[chunk.x];
    const uint end = chunk.y == 0 ? chunk.w : offsets[chunk.x + 1];
    return (uint2)((chunk.y == 0 ? chunk.z : base) - base, end - base) * BM_TEXT_UNIT;
}

__kernel __attribute__((reqd_work_group_size(BM_TEXT_GROUP, 1, 1))) void
bm_text_content(__global const uint4 *in, __global const bm_text_quad *hashes, __global ulong2 *content,
                uint4 layout, uint4 text)
{
    const uint group = (uint)get_group_id(0), parts = (layout.y - layout.x) * 4u;
    const uint item = (uint)get_local_id(0);
    const uint4 chunk = in[layout.y + group];
    __global const uint *offsets = (__global const uint *)(in + layout.x);
#if defined(BM_TEAM)
    __local ulong2 sums[BM_TEXT_GROUP];
    if (chunk.y <= 1u) {
        sums[item] = bm_content_some(in, hashes, layout, text, chunk.x, bm_content_slots(offsets, chunk),
                                     (uint2)(item, BM_TEXT_GROUP));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item != 0)
            return;
        ulong2 sum = sums[0];
        for (uint i = 1; i < BM_TEXT_GROUP; ++i)
            sum += sums[i];
        content[chunk.y == 0 ? parts + group : chunk.x] = sum;
        return;
    }
#else
    if (chunk.y == 0) {
        content[parts + group] = bm_content_some(in, hashes, layout, text, chunk.x, bm_content_slots(offsets, chunk),
                                         (uint2)(0, 1));
        return;
    }
#endif
    for (uint at = chunk.x + item; at < chunk.x + chunk.y; at += BM_TEXT_GROUP)
        content[at] =
            bm_content_some(in, hashes, layout, text, at, (uint2)(0u, in[text.x + at].z), (uint2)(0, 1));
}
