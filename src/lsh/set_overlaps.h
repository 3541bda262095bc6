/* SPDX-License-Identifier: Apache-2.0 */
/* set_overlaps.h -- how many hashes a set has in common with each of many others, at once. */
#pragma once

#include <stddef.h>

#include "base/hash_table.h"

typedef struct bm_overlap_hash {
    uint64_t key;
    uint32_t begin, n; /* its places in `list` */
} bm_overlap_hash;

/* An index of the sets that have a hash. It is read by any number of threads once it is built. */
typedef struct bm_overlap_index {
    size_t n_sets;
    bm_overlap_hash *hashes; /* in order of first occurrence */
    bm_hash_table table;     /* hash -> its place in `hashes` */
    uint32_t *list;          /* numbers of sets, grouped by hash, ascending */
    uint64_t *filter; /* a bit is set for each hash in the index, and for some that are not */
    unsigned filter_bits;
} bm_overlap_index; /* {0} is empty */

/* Sets of distinct hashes, each in any order; fewer than 2^32 hashes in all. Borrowed. */
typedef struct bm_hash_sets {
    const uint64_t *const *sets;
    const uint32_t *sizes;
    size_t n;
} bm_hash_sets;

/* Bytes of an index of n_hashes hashes. */
uint64_t bm_overlap_index_bytes(uint64_t n_hashes);
bm_status bm_overlap_index_build(const bm_hash_sets *sets, bm_overlap_index *out, bm_error *err);
void bm_overlap_index_reset(bm_overlap_index *index);

/* The scratch of one thread, 8 bytes a set. */
typedef struct bm_overlaps {
    uint32_t *common; /* of each set: hashes in common; 0 except for those found */
    uint32_t *found;  /* sets that have some in common */
    size_t n_found;
} bm_overlaps; /* {0} is closed */

bm_status bm_overlaps_open(const bm_overlap_index *index, bm_overlaps *out, bm_error *err);
void bm_overlaps_close(bm_overlaps *overlaps);
/* Find the sets that share some of n distinct hashes, forgetting those found before. They are in
 * the order of the hashes. */
void bm_overlaps_find(bm_overlaps *overlaps, const bm_overlap_index *index, const uint64_t *hashes,
                      size_t n);
