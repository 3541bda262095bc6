/* SPDX-License-Identifier: Apache-2.0 */
/* set_overlaps.h -- counts how many hashes a set has in common with each of many other sets. */
#pragma once

#include <stddef.h>

#include "base/hash_table.h"

typedef struct bm_overlap_hash {
    uint64_t key;
    uint32_t begin, n; /* range in `list` */
} bm_overlap_hash;

/* An index from hashes to the sets that have them. Once it is built, any number of threads may read
 * it. */
typedef struct bm_overlap_index {
    size_t n_sets;
    bm_overlap_hash *hashes; /* in order of first occurrence */
    bm_hash_table table;     /* hash -> index in `hashes` */
    /* for each hash, in the order of `hashes`: the numbers of the sets that have it, ascending */
    uint32_t *list;
    /* a bitmap in which the bit of each hash of the index is set; other hashes may have the same
     * bit */
    uint64_t *filter;
    unsigned filter_bits;
} bm_overlap_index; /* {0} is empty */

/* Sets of distinct hashes, each in any order, with fewer than 2^32 hashes in all. Borrowed. */
typedef struct bm_hash_sets {
    const uint64_t *const *sets;
    const uint32_t *sizes;
    size_t n;
} bm_hash_sets;

/* Return the bytes of an index of n_hashes hashes. */
uint64_t bm_overlap_index_bytes(uint64_t n_hashes);
bm_status bm_overlap_index_build(const bm_hash_sets *sets, bm_overlap_index *out, bm_error *err);
void bm_overlap_index_reset(bm_overlap_index *index);

/* The work memory of one thread: 8 bytes for each set of the index. */
typedef struct bm_overlaps {
    uint32_t *common; /* for each set: number of hashes in common; 0 unless it is in `found` */
    uint32_t *found;  /* sets that have a hash in common with the set that was looked up */
    size_t n_found;
} bm_overlaps; /* {0} is closed */

bm_status bm_overlaps_open(const bm_overlap_index *index, bm_overlaps *out, bm_error *err);
void bm_overlaps_close(bm_overlaps *overlaps);
/* Look up n distinct hashes. Set `found` to the sets that have at least one of them, in the order
 * of the first such hash. */
void bm_overlaps_find(bm_overlaps *overlaps, const bm_overlap_index *index, const uint64_t *hashes,
                      size_t n);
