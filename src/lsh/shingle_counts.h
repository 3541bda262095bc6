/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_counts.h -- counts approximately how many documents have a shingle. The memory depends on
 * the number of all shingles, not on the number of distinct ones. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/threads.h"

/* Documents as sets of distinct hashes, all borrowed; skip may be NULL. */
typedef struct bm_set_list {
    const uint64_t *const *docs;
    const uint32_t *sizes;
    const uint8_t *skip;
    size_t n_docs;
} bm_set_list;

/* Does the document have shingles, and is it not skipped? */
static inline bool bm_set_list_has(const bm_set_list *sets, size_t doc)
{
    return sets->sizes[doc] != 0 && (sets->skip == NULL || sets->skip[doc] == 0);
}

typedef struct bm_shingle_counts {
    uint8_t *low;
    uint32_t *high; /* counts beyond 255; one for each 256 adjacent counters of `low` */
    unsigned low_bits, high_bits;
} bm_shingle_counts; /* {0} is empty */

/* Return log2 of the number of counters for n_shingles shingles (with repeats). There are one to
 * two counters for each, but at least 2^16 and at most 2^40. */
unsigned bm_shingle_counts_bits(uint64_t n_shingles);
/* Bytes of 2^bits counters: 2^bits and 1/64 more. */
uint64_t bm_shingle_counts_bytes(unsigned bits);
/* Open 2^bits counters, all 0; 9 <= bits <= 40. */
bm_status bm_shingle_counts_open(bm_shingle_counts *out, unsigned bits, bm_error *err);
/* Count n mixed hashes. `shared`: other threads may count at the same time. */
void bm_shingle_counts_add(bm_shingle_counts *counts, const uint64_t *mixed, size_t n, bool shared);
/* Count the shingles of all documents. The counts are the same for any pool, which may be NULL. */
bm_status bm_shingle_counts_make(bm_shingle_counts *out, const bm_set_list *sets, bm_pool *pool,
                                 bm_error *err);
void bm_shingle_counts_reset(bm_shingle_counts *counts);

/* Mix a hash for counters and keys. Mixing is one to one, and spreads any hashes evenly. */
static inline uint64_t bm_shingle_mix(uint64_t hash)
{
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

static inline const uint8_t *bm_shingle_counts_at(const bm_shingle_counts *counts, uint64_t mixed)
{
    return &counts->low[mixed >> (64 - counts->low_bits)];
}

/* Return an upper bound of the number of documents that have the shingle; 65,535: so many, or
 * perhaps more. A result of 1 is exact. */
static inline uint32_t bm_shingle_counts_get(const bm_shingle_counts *counts, uint64_t mixed)
{
    uint32_t low = *bm_shingle_counts_at(counts, mixed);
    if (low < UINT8_MAX)
        return low;
    uint32_t high = counts->high[mixed >> (64 - counts->high_bits)];
    return high < UINT16_MAX - UINT8_MAX ? UINT8_MAX + high : UINT16_MAX;
}
