/* SPDX-License-Identifier: Apache-2.0 */
/* set_overlaps.h -- how many hashes a set has in common with each of many others. */
#pragma once

#include <stddef.h>

#include "base/hash_table.h"

typedef struct bm_overlap_hash {
    uint64_t key;
    uint32_t begin, n; /* range in `list` */
} bm_overlap_hash;

/* An index from hashes to the sets that have them. Any number of threads may read it once it is
 * built. */
typedef struct bm_overlap_index {
    size_t n_sets;
    bm_overlap_hash *hashes; /* in order of first occurrence */
    bm_hash_table table;     /* hash -> index in `hashes` */
    /* for each hash, in the order of `hashes`: the numbers of the sets that have it, ascending */
    uint32_t *list;
    /* the bit of each hash in the index is set; other hashes may share such a bit */
    uint64_t *filter;
    unsigned filter_bits;
} bm_overlap_index; /* {0} is empty */

/* Sets of distinct hashes, each in any order, with fewer than 2^32 hashes in all. Borrowed. */
typedef struct bm_hash_sets {
    const uint64_t *const *sets;
    const uint32_t *sizes;
    size_t n;
} bm_hash_sets;

/* Bytes of an index of n_hashes hashes. */
uint64_t bm_overlap_index_bytes(uint64_t n_hashes);
bm_status bm_overlap_index_build(const bm_hash_sets *sets, bm_overlap_index *out, bm_error *err);
void bm_overlap_index_reset(bm_overlap_index *index);

/* The scratch of one thread: 8 bytes for each set of the index. */
typedef struct bm_overlaps {
    uint32_t *common; /* for each set: number of hashes in common; 0 unless it is in `found` */
    uint32_t *found;  /* sets with a hash in common with the one looked up */
    size_t n_found;
} bm_overlaps; /* {0} is closed */

bm_status bm_overlaps_open(const bm_overlap_index *index, bm_overlaps *out, bm_error *err);
void bm_overlaps_close(bm_overlaps *overlaps);
/* Set `found` to the sets that have some of n distinct hashes, in the order of the first hash that
 * each has. */
void bm_overlaps_find(bm_overlaps *overlaps, const bm_overlap_index *index, const uint64_t *hashes,
                      size_t n);
