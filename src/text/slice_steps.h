/* SPDX-License-Identifier: Apache-2.0 */
/* slice_steps.h -- hashes slices of many lengths with XXH3, without branching on the length.
 *
 * Nearly all shingles of words have 17 to 64 bytes. For slices of more than 32 bytes, XXH3 adds two
 * more terms. Short and long slices alternate irregularly, and a mispredicted branch costs as much
 * as a hash. So BM_SLICE_STEP slices at a time are hashed in these steps:
 *
 *     begin      in vectors: the terms that all slices of 17 to 64 bytes have. Makes two lists:
 *                slices of 33 to 64 bytes, and slices of other lengths
 *     more       one by one: the further terms of the first list
 *     finish     in vectors: the final mix
 *     other      one by one: the second list, hashed by the library
 *
 * Bytes from 16 before a slice to 32 after its start may be read, whatever the length of the slice.
 * The files shingle_<isa>.c of instruction sets with a vector multiplication use this header. */
#pragma once

#include "text/shingle_ops.h"
#include "text/xxh3_inline.h"

#define BM_SLICE_STEP 256u

/* Two lists of slices, by their numbers. Eight entries are written at a time. */
typedef struct bm_slice_lists {
    size_t n_more, n_other;
    uint32_t more[BM_SLICE_STEP + 8];  /* slices of 33 to 64 bytes */
    uint32_t other[BM_SLICE_STEP + 8]; /* slices of fewer than 17 or more than 64 bytes */
} bm_slice_lists;

typedef void (*bm_slices_begin_fn)(const bm_slices *s, size_t first, size_t n,
                                   bm_slice_lists *lists);
typedef void (*bm_slices_finish_fn)(uint64_t *hashes, size_t n);

/* Hash n slices. Returns how many were hashed: none if n < lanes, otherwise all. */
static inline __attribute__((always_inline)) size_t hash_slices_in_steps(const bm_slices *s,
                                                                         size_t n, size_t lanes,
                                                                         bm_slices_begin_fn begin,
                                                                         bm_slices_finish_fn finish)
{
    const char *joined = s->joined;
    bm_slice_lists lists;
    if (n < lanes)
        return 0;
    for (size_t first = 0; first < n; first += BM_SLICE_STEP) {
        const size_t size = n - first < BM_SLICE_STEP ? n - first : BM_SLICE_STEP;
        lists.n_more = lists.n_other = 0;
        begin(s, first, size, &lists);
        for (size_t i = 0; i < lists.n_more; i++) {
            const size_t *start = s->starts + lists.more[i];
            s->hashes[lists.more[i]] +=
                bm_xxh3_mix16(joined + start[0] + 16, bm_xxh3_secret + 4) +
                bm_xxh3_mix16(joined + start[s->k] - s->gap - 32, bm_xxh3_secret + 6);
        }
        finish(s->hashes + first, size);
        for (size_t i = 0; i < lists.n_other; i++) {
            const size_t *start = s->starts + lists.other[i];
            s->hashes[lists.other[i]] =
                bm_xxh3_any(joined + start[0], start[s->k] - s->gap - start[0]);
        }
    }
    return n;
}
