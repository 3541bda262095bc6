/* SPDX-License-Identifier: Apache-2.0 */
/* hash_filter.h -- a blocked Bloom filter, which tells whether a hash may be in a set. A block is
 * one 64-bit word, and a hash sets up to three bits of its block.
 *
 * While no thread adds hashes, any number of threads may query. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct bm_hash_filter {
    uint64_t *words; /* 2^(64 - shift) words, freed with bm_free; NULL: no filter */
    unsigned shift;
} bm_hash_filter;

/* Return the block of a hash, and set *bits to the bits of the hash in that block. */
static inline uint64_t *bm_hash_filter_word(const bm_hash_filter *filter, uint64_t hash,
                                            uint64_t *bits)
{
    const uint64_t mixed = hash * UINT64_C(0x9E3779B97F4A7C15);
    *bits = UINT64_C(1) << (mixed & 63) | UINT64_C(1) << (mixed >> 6 & 63) |
            UINT64_C(1) << (mixed >> 12 & 63);
    return &filter->words[mixed >> filter->shift];
}

static inline void bm_hash_filter_add(const bm_hash_filter *filter, uint64_t hash)
{
    uint64_t bits;
    uint64_t *word = bm_hash_filter_word(filter, hash, &bits);
    *word |= bits;
}

static inline bool bm_hash_filter_may_have(const bm_hash_filter *filter, uint64_t hash)
{
    uint64_t bits;
    const uint64_t *word = bm_hash_filter_word(filter, hash, &bits);
    return (*word & bits) == bits;
}
