/* SPDX-License-Identifier: Apache-2.0 */
/* band_keys.cl -- makes band keys, the keys of a chunk for GPU shapes, and has the two small
 * kernels for documents that are split.
 *
 * Every program begins with affine32.h and this file. Then come the scheme's own files, teams.cl
 * for GPUs, one sign_*.cl and, for texts, the text kernels (files_of in src/opencl/cl_program.c).
 * The host gives, by -D:
 *
 *   BM_PERMS           words of a signature, 1 .. 1024
 *   BM_BANDS, BM_ROWS  of the keys; BM_BANDS 0: no keys
 *   BM_SPLIT_GROUP     work-items of a work-group of the kernels here
 *   BM_WORD            the type of a word: uint (not given) or ulong
 *
 * All kernels get the same buffers, in one layout:
 *
 *   hashes  units: a quad (uint4) of 32-bit hashes, or one hash of 64 bits (cl_stream.h)
 *   in      quads: (hashes, if staged) | offsets, n_docs + 1 uints | chunks, a quad each | split, uints
 *                                        layout.x                    layout.y              layout.z
 *   words   from layout.w on, which counts uints: BM_PERMS words a document
 *   keys    BM_BANDS ulongs a document
 *
 * The host may pass one memory object as several of these buffers. The hashes of a document fill
 * whole units. To fill up a quad, the host repeats the last hash, which changes no minimum. Offsets
 * count units.
 *
 * `split` lists the documents that are cut into parts. Several chunks sign the parts, and
 * merge them in `words` by atomic_min. bm_split_begin sets the words of these documents to all ones
 * before the chunks run. bm_split_keys makes their keys afterwards. Both kernels have a grid of one
 * dimension, with a work-item for each word or key, rounded up to whole groups. They use no local
 * memory. */

#define BM_INLINE static inline __attribute__((always_inline))
#if !defined(BM_WORD)
#define BM_WORD uint
#endif

#if BM_BANDS > 0
BM_INLINE ulong bm_band_key(__global const BM_WORD *words, uint band)
{
    __global const BM_WORD *row = words + band * BM_ROWS;
    ulong key = bm_band_key_begin(band);
#pragma unroll 8
    for (uint r = 0; r < BM_ROWS; ++r)
        key = bm_band_key_add(key, row[r]);
    return bm_band_key_end(key);
}

/* Make the keys of a chunk of whole documents. The chunk's group of `group` items must have written
 * the words before. Each item makes one key at a time. All items of the group must call this
 * function. */
BM_INLINE void bm_chunk_keys(__global const uint *offsets, uint4 chunk, uint group,
                             __global const BM_WORD *words, __global ulong *keys)
{
    barrier(CLK_GLOBAL_MEM_FENCE);
    keys += (size_t)chunk.x * BM_BANDS;
    for (uint i = (uint)get_local_id(0); i < chunk.y * BM_BANDS; i += group) {
        const uint doc = chunk.x + i / BM_BANDS;
        keys[i] = offsets[doc] == offsets[doc + 1]
                      ? 0xFFFFFFFFFFFFFFFFul
                      : bm_band_key(words + (size_t)doc * BM_PERMS, i % BM_BANDS);
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(BM_SPLIT_GROUP, 1, 1))) void
bm_split_begin(__global const uint4 *in, __global uint *out, uint4 layout, uint n_split)
{
    const uint at = (uint)get_global_id(0);
    if (at >= n_split * BM_PERMS)
        return;
    __global const uint *split = (__global const uint *)(in + layout.z);
    __global BM_WORD *words = (__global BM_WORD *)(out + layout.w);
    words[(size_t)split[at / BM_PERMS] * BM_PERMS + at % BM_PERMS] = ~(BM_WORD)0;
}

#if BM_BANDS > 0
__kernel __attribute__((reqd_work_group_size(BM_SPLIT_GROUP, 1, 1))) void
bm_split_keys(__global const uint4 *in, __global const uint *out, __global ulong *keys, uint4 layout,
              uint n_split)
{
    const uint at = (uint)get_global_id(0);
    if (at >= n_split * BM_BANDS)
        return;
    __global const uint *split = (__global const uint *)(in + layout.z);
    __global const BM_WORD *words = (__global const BM_WORD *)(out + layout.w);
    const size_t doc = split[at / BM_BANDS];
    const uint band = at % BM_BANDS;
    keys[doc * BM_BANDS + band] = bm_band_key(words + doc * BM_PERMS, band);
}
#endif
