/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_index.h -- an inverted index of the prefixes of a block of documents, used by
 * all_pairs.c. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/threads.h"
#include "lsh/shingle_counts.h"

/* rare_prefix -- makes the prefix of a document: its rarest shingles. If two documents reach the
 * threshold, their prefixes share a key. */

/* The measure and the threshold that a pair must reach. */
typedef struct bm_join_rule {
    bm_measure measure;
    double threshold; /* above 0, at most 1 */
} bm_join_rule;

/* Return the least size of a document that can reach the threshold with a document of n
 * shingles. */
size_t bm_least_size(bm_join_rule rule, size_t n);
/* Return how many of its rarest shingles a document of n shingles looks up: n - bm_least_share(n) +
 * 1 or, for containment, n. */
size_t bm_prefix_to_probe(bm_join_rule rule, size_t n);

/* Let two documents x and y, |x| >= |y|, reach the threshold. Then the first
 * bm_prefix_to_probe(|x|) keys of x and the first prefix_to_index(|y|) keys of y have a key in
 * common. If i keys of x and j keys of y come before the first common key, the two documents share
 * at most min(|x| - i, |y| - j) shingles. */

typedef struct bm_rare_prefix_buffers {
    uint64_t *keys;    /* room for all shingles of the document; may be the array of its set */
    uint64_t *scratch; /* room for as many words as `keys` has */
} bm_rare_prefix_buffers;

typedef struct bm_rare_prefix_size {
    size_t n_keys;  /* number of keys in buffers.keys, ascending */
    size_t n_alone; /* number of shingles that no other document has; they are the rarest, and have
                       no key */
} bm_rare_prefix_size;

/* Take the `length` rarest shingles of a document of n shingles. If another document also has a
 * shingle, make a key for it. Shingles that no other document has are the rarest of all, and get no
 * key. `set` may be in any order. */
bm_rare_prefix_size bm_rare_prefix(const bm_shingle_counts *counts, const uint64_t *set, size_t n,
                                   size_t length, bm_rare_prefix_buffers buffers);

/* bm_rare_prefix in two steps, for callers that have the counts of the shingles. The first step:
 * make the key of a shingle that `count` documents have, count >= 2. */
static inline uint64_t bm_rare_key(uint64_t mixed, uint32_t count)
{
    return (uint64_t)count << 48 | mixed >> 16;
}
/* The second step: sort the n_keys keys of a document of n shingles, and cut them to those of the
 * `length` rarest shingles. Returns how many keys are left. `scratch` has room for n_keys. */
size_t bm_rare_prefix_cut(uint64_t *keys, size_t n_keys, size_t n, size_t length,
                          uint64_t *scratch);

#define BM_PREFIX_RANGE 16u /* documents whose prefixes share one array */

/* Prefixes to probe that were made beforehand, because the sets are not in memory. A record has the
 * prefixes of a range of positions (16 k … 16 k + 15):
 *
 *     [ 16 heads | keys of the first | keys of the second | … ]
 *
 * A head has two numbers of a document (bm_prefix_head): how many of its shingles no other document
 * has, and how many keys it has. */
typedef struct bm_prefix_store {
    /* Read the record of range number `range`. Any thread may call this. */
    bm_status (*read)(void *ctx, size_t range, uint64_t *record, bm_error *err);
    void *ctx;
    const uint32_t *n_keys; /* number of keys of each range */
    size_t most;            /* greatest number in n_keys */
} bm_prefix_store;

static inline uint64_t bm_prefix_head(size_t n_alone, size_t n_keys)
{
    return (uint64_t)n_alone << 32 | n_keys;
}

/* All documents in order of size. The position of a document is its index in `order`. */
typedef struct bm_sized_sets {
    const bm_set_list *sets; /* with a store, sets->docs is NULL */
    const uint32_t *order;   /* n documents by size, then by number */
    size_t n;
    const bm_shingle_counts *counts; /* NULL if there is a store */
    const bm_prefix_store *store;    /* NULL: prefixes are made from the sets */
    bm_join_rule rule;
} bm_sized_sets;

/* Fill `order` with the documents that have shingles and are not skipped, ordered by size, then by
 * number. *n becomes their number. `order` has room for sets->n_docs. Needs 16 bytes a document of
 * work memory. */
bm_status bm_order_by_size(const bm_set_list *sets, uint32_t *order, size_t *n, bm_error *err);

static inline const uint64_t *bm_sized_set(const bm_sized_sets *docs, size_t position)
{
    return docs->sets->docs[docs->order[position]];
}

static inline size_t bm_sized_size(const bm_sized_sets *docs, size_t position)
{
    return docs->sets->sizes[docs->order[position]];
}

/* A key, the position of a document that has it, and the key's rank: the number of the document's
 * shingles that are rarer. */
typedef struct bm_prefix_entry {
    uint64_t key;
    uint32_t position, rank;
} bm_prefix_entry;

typedef struct bm_prefix_part {
    size_t entries_at;   /* index of the part's first entry */
    bm_hash_table table; /* key -> index of its first entry */
} bm_prefix_part;

typedef struct bm_prefix_index {
    size_t begin, end; /* positions of the block's documents */
    /* For each range of BM_PREFIX_RANGE documents: their prefixes to probe, which are the keys that
     * they look up. */
    uint64_t **ranges;
    size_t *key_ends;  /* where each document's keys end in the array of its range */
    uint32_t *n_alone; /* for each document: number of shingles that no other document has */
    size_t cap_ranges;
    /* The entries of the prefixes to index. Looking up a key finds documents by them. Entries of
     * one key are adjacent, in ascending order of positions. */
    bm_prefix_entry *entries;
    size_t n_entries;
    bm_prefix_part *parts;
    unsigned part_bits;
    uint64_t bytes; /* most memory used, including while it was built */
} bm_prefix_index;  /* {0} is empty */

/* The most bytes that a document of n shingles can need. */
uint64_t bm_prefix_index_bytes(bm_join_rule rule, size_t n);
/* The most bytes that a range of documents can need. The range begins at position `at`. With a
 * store, the number of keys is known. */
uint64_t bm_prefix_range_bytes(const bm_sized_sets *docs, size_t at);

/* Which documents to index: as many as fit. */
typedef struct bm_prefix_block {
    const bm_sized_sets *docs;
    size_t begin;    /* first position */
    uint64_t memory; /* bytes; 0: no bound */
    uint64_t beside; /* bytes of `memory` that the caller needs for each document of the block */
    bm_pool *pool;   /* NULL: the calling thread works alone */
} bm_prefix_block;

/* Build the index of the positions from block->begin on: as many as certainly fit into
 * block->memory, but at least BM_PREFIX_RANGE documents (fewer if fewer are left). The index is the
 * same for any pool. */
bm_status bm_prefix_index_build(bm_prefix_index *index, const bm_prefix_block *block,
                                bm_error *err);
void bm_prefix_index_reset(bm_prefix_index *index);

/* Return the keys of the document at `position`. It must be in the block. */
static inline const uint64_t *bm_prefix_index_keys(const bm_prefix_index *index, size_t position,
                                                   size_t *n_keys, size_t *n_alone)
{
    size_t at = position - index->begin;
    size_t first = at % BM_PREFIX_RANGE == 0 ? 0 : index->key_ends[at - 1];
    *n_keys = index->key_ends[at] - first;
    *n_alone = index->n_alone[at];
    return index->ranges[at / BM_PREFIX_RANGE] + first;
}

static inline const bm_prefix_part *bm_prefix_index_part(const bm_prefix_index *index, uint64_t key)
{
    return &index->parts[(key & ((UINT64_C(1) << 48) - 1)) >> (48 - index->part_bits)];
}

static inline void bm_prefix_index_fetch(const bm_prefix_index *index, uint64_t key)
{
    bm_hash_table_fetch(&bm_prefix_index_part(index, key)->table, key << 32);
}

/* The hash of a key in the table of its part. */
static inline uint64_t bm_prefix_hash(uint64_t key, uint64_t seed)
{
    return seed == 0 ? key << 32 : bm_hash_seeded(key, 0, seed);
}

static inline bool bm_prefix_has_key(const void *entries, uint32_t place, const void *key)
{
    return ((const bm_prefix_entry *)entries)[place].key == *(const uint64_t *)key;
}

/* Return the index of the first entry of `key`, or n_entries if there is none. */
static inline size_t bm_prefix_index_find(const bm_prefix_index *index, uint64_t key)
{
    const bm_hash_table *table = &bm_prefix_index_part(index, key)->table;
    const size_t at = bm_hash_table_find(table, bm_prefix_hash(key, table->seed), bm_prefix_has_key,
                                         index->entries, &key);
    return bm_hash_table_is_free(table, at) ? index->n_entries : bm_hash_table_number(table, at);
}
