/* SPDX-License-Identifier: Apache-2.0 */
/* text_hash.cl -- cuts texts into shingles, and stores their hashes where bm_sign reads them.
 *
 *   grid     one dimension, a work-group of BM_TEXT_GROUP work-items a chunk, as bm_sign has them
 *   memory   no local
 *   result   hashes: unit for unit in the layout that bm_sign reads; zeros in the table and the
 *            counts that bm_text_count uses for documents in parts
 *
 *   BM_TEXT_KIND   0 words, 1 characters (code points), 2 bytes
 *   BM_TEXT_K      units of a shingle
 *   BM_TEXT_GROUP  work-items of a group: those of bm_sign, or more
 *   BM_TEXT_BYTES  defined: text may be read at any address
 *
 * The text of the batch is at the beginning of `in`. A document has slots, and a slot has one hash;
 * a unit holds BM_TEXT_UNIT slots (4 in the GPU's shape, a quad; 1 in the CPU's). Slot i is the
 * shingle that begins at byte i of the document, or with word i. If byte i is inside a code point,
 * slot i repeats the shingle of that code point: this changes no minimum and no count of distinct
 * hashes, and no table of characters needs to be sent. A document's last quad is filled up with its
 * last slot.
 *
 * The hash of slot i is stored at index i. There is one exception: shingles of characters in a
 * document that is not all ASCII. In this case the hashes of code points come first, in order, as
 * the content hash needs them (text_content.cl). The repeats from inside code points fill the
 * remaining indexes, from the last index down.
 *
 *   text.x   offset (in quads) of the documents, a quad each: first byte of the text; its number of
 *            bytes (words: its last entry in starts); number of slots; words: its first entry in
 *            starts, characters: BM_TEXT_ASCII if it is all ASCII, else how many code points begin
 *            a shingle
 *   text.y   offset (in quads) of uints: for words, a number to add to each of 256 entries of
 *            starts; for characters, how many code points of the document begin before each 64th
 *            byte of the text (only in documents that are not all ASCII)
 *   text.z   offset (in quads) of starts, for words: ushorts, the beginning of each word, and one
 *            more past the end
 *   text.w   units of the batch; in the GPU's shape `hashes` has this many quads of low halves,
 *            then as many of high halves
 *
 * Why: a text sends about one byte for each shingle to the device, while hashes would send 4.
 * Neighbouring work-items hash overlapping shingles, so nearly all reads hit the first-level
 * cache. */

#if defined(BM_TEAM)
#define BM_TEXT_UNIT 4u
#define BM_TEXT_HASH(i) \
    ((ulong)((__global const uint *)hashes)[(size_t)text.w * 4u + (i)] << 32 | ((__global const uint *)hashes)[i])
typedef uint4 bm_text_quad;
#else
#define BM_TEXT_UNIT 1u
#define BM_TEXT_HASH(i) hashes[i]
typedef ulong bm_text_quad;
#endif

#define BM_TEXT_ASCII 0xFFFFFFFFu

#if BM_TEXT_KIND == 0
BM_INLINE uint bm_text_start(__global const uint4 *in, uint4 text, uint entry)
{
    return ((__global const uint *)(in + text.y))[entry >> 8] +
           ((__global const ushort *)(in + text.z))[entry];
}
#endif

/* Return the first byte of the shingle of slot i, and its number of bytes. */
BM_INLINE uint2 bm_text_slice(__global const uint4 *in, uint4 text, uint4 doc, uint i)
{
#if BM_TEXT_KIND == 0
    const uint begin = bm_text_start(in, text, doc.w + i);
    return (uint2)(begin, bm_text_start(in, text, min(doc.w + i + BM_TEXT_K, doc.y)) - 1u - begin);
#elif BM_TEXT_KIND == 1
    __global const uchar *bytes = (__global const uchar *)in;
    uint begin = doc.x + i;
    if (doc.w == BM_TEXT_ASCII)
        return (uint2)(begin, min((uint)BM_TEXT_K, doc.y));
    while ((bytes[begin] & 0xC0) == 0x80)
        --begin;
    uint end = begin;
    for (uint k = 0; k < BM_TEXT_K && end < doc.x + doc.y; ++k) {
        const uint lead = bytes[end];
        end += lead < 0x80u ? 1u : lead < 0xE0u ? 2u : lead < 0xF0u ? 3u : 4u;
    }
    return (uint2)(begin, end - begin);
#else
    return (uint2)(doc.x + i, min((uint)BM_TEXT_K, doc.y));
#endif
}

BM_INLINE ulong bm_text_hash_one(__global const uint4 *in, uint4 text, uint4 doc, uint i)
{
    const uint2 slice = bm_text_slice(in, text, doc, i);
#if BM_TEXT_KIND != 0
    if (slice.y == BM_TEXT_K) /* nearly always true; the length is then a compile-time constant */
        return bm_xxh3((BM_TEXT)in, slice.x, BM_TEXT_K);
#endif
    return bm_xxh3((BM_TEXT)in, slice.x, slice.y);
}

#if BM_TEXT_KIND == 1
BM_INLINE bool bm_text_leads(__global const uint4 *in, uint at)
{
    return (((__global const uchar *)in)[at] & 0xC0) != 0x80;
}

/* Count the code points of the document that begin before its byte i. */
BM_INLINE uint bm_text_rank(__global const uint4 *in, uint4 text, uint4 doc, uint i)
{
    __global const uint *words = (__global const uint *)in;
    const uint end = doc.x + i, block = end & ~63u, begin = max(block, doc.x);
    uint n = block >= doc.x ? ((__global const uint *)(in + text.y))[block >> 6] : 0u;
    for (uint at = begin & ~3u; at < end; at += 4u) {
        uint lead = (~words[at >> 2] | words[at >> 2] << 1) & 0x80808080u; /* leading bytes */
        if (at < begin)
            lead &= 0xFFFFFFFFu << 8u * (begin - at);
        if (end - at < 4u)
            lead &= (1u << 8u * (end - at)) - 1u;
        n += popcount(lead);
    }
    return n;
}

/* Return the index at which the hash of slot i is stored. `rank`: how many code points of the
 * document begin before byte i. */
BM_INLINE uint bm_text_place(__global const uint4 *in, uint4 doc, uint i, uint rank)
{
    return bm_text_leads(in, doc.x + i) ? rank : doc.z - 1u - (i - rank);
}
#endif

/* Return the document that has unit `unit` of the chunk. */
BM_INLINE uint bm_text_doc_of(__global const uint *offsets, uint4 chunk, uint unit)
{
    uint doc = chunk.x;
    for (uint n = chunk.y; n > 1u;) {
        const uint half_n = n / 2u;
        if (offsets[doc + half_n] <= unit) {
            doc += half_n;
            n -= half_n;
        } else {
            n = half_n;
        }
    }
    return doc;
}

/* Prepare a part for bm_text_count: zero its share of the table and, if it is the first part of its
 * document, the document's count. */
BM_INLINE void bm_text_part(uint4 chunk, bool first, uint item, __global uint *table,
                            __global uint *counts)
{
    for (uint i = chunk.z * BM_TEXT_UNIT * 2u + item; i < chunk.w * BM_TEXT_UNIT * 2u; i += BM_TEXT_GROUP)
        table[i] = 0;
    if (first && item == 0)
        counts[chunk.x] = 0;
}

__kernel __attribute__((reqd_work_group_size(BM_TEXT_GROUP, 1, 1))) void
bm_text_hash(__global const uint4 *in, __global bm_text_quad *hashes, __global uint *table,
             __global uint *counts, uint4 layout, uint4 text)
{
    const uint4 chunk = in[layout.y + get_group_id(0)];
    const uint item = (uint)get_local_id(0);
    __global const uint *offsets = (__global const uint *)(in + layout.x);
    if (chunk.y == 0)
        bm_text_part(chunk, chunk.z == offsets[chunk.x], item, table, counts);
#if defined(BM_TEAM)
    for (uint unit = chunk.z + item; unit < chunk.w; unit += BM_TEXT_GROUP) {
        const uint at = bm_text_doc_of(offsets, chunk, unit);
        const uint4 doc = in[text.x + at];
        const uint slot = (unit - offsets[at]) * 4u;
        uint4 low = (uint4)(0), high = (uint4)(0); /* no arrays, because these would be in memory */
        for (uint i = 0; i < 4u; ++i) {
            const ulong hash = bm_text_hash_one(in, text, doc, min(slot + i, doc.z - 1u));
            low = (uint4)(low.yzw, (uint)hash);
            high = (uint4)(high.yzw, (uint)(hash >> 32));
        }
#if BM_TEXT_KIND == 1
        if (doc.w != BM_TEXT_ASCII) {
            __global uint *halves = (__global uint *)hashes;
            uint rank = bm_text_rank(in, text, doc, slot);
            for (uint i = slot; i < slot + 4u; ++i) {
                const size_t place = (size_t)offsets[at] * 4u + (i < doc.z ? bm_text_place(in, doc, i, rank) : i);
                halves[place] = low.x;
                halves[(size_t)text.w * 4u + place] = high.x;
                low = low.yzwx;
                high = high.yzwx;
                rank += i < doc.z && bm_text_leads(in, doc.x + i) ? 1u : 0u;
            }
            continue;
        }
#endif
        hashes[unit] = low;
        hashes[(size_t)text.w + unit] = high;
    }
#else
    const uint last = chunk.x + max(chunk.y, 1u);
    for (uint at = chunk.x; at < last; ++at) {
        const uint4 doc = in[text.x + at];
        const uint base = offsets[at], end = min(offsets[at + 1], chunk.w);
#if BM_TEXT_KIND == 1
        if (doc.w != BM_TEXT_ASCII) {
            uint i = max(base, chunk.z) - base, rank = bm_text_rank(in, text, doc, i);
            for (; base + i < end; ++i) {
                hashes[base + bm_text_place(in, doc, i, rank)] = bm_text_hash_one(in, text, doc, i);
                rank += bm_text_leads(in, doc.x + i) ? 1u : 0u;
            }
            continue;
        }
#endif
        for (uint unit = max(base, chunk.z); unit < end; ++unit)
            hashes[unit] = bm_text_hash_one(in, text, doc, unit - base);
    }
#endif
}
