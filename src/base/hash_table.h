/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table.h -- which number a key has: the open-addressing table of ids, content hashes, band
 * keys, and shingles.
 *
 *     slot    tag, 32 bits | number + 1        0: free
 *     home    the tag, as a fraction, of the slots; then linear probing; full to three quarters
 *
 * The table holds no keys. Its owner keeps the keys by number, passes a hash that has the tag in
 * its upper half, and compares the key of a number with the wanted key; it is asked only where tags
 * agree. A table grows without its keys, for a tag leads to its home in a table of any size, and
 * where it is, if the allocator can do so, by a quarter or less once it is large.
 *
 * The hashes are known to everybody, so somebody can make keys that all have one home, or one hash.
 * Steps past the slots of others are counted therefore. When insertions take many more of them than
 * chance allows, a seed is drawn at random, and the owner hashes its keys again with it. Which seed
 * it is changes no number and no answer.
 *
 * Threads: any number may look up while nobody adds. Limit: 2^32 - 1 keys.
 *
 *     status = bm_hash_table_reserve(&table, hash_again, owner, err);    first: it may draw a seed
 *     hash = ...                                                         with table.seed
 *     at = bm_hash_table_find(&table, hash, has_key, owner, &key);
 *     if (bm_hash_table_is_free(&table, at))
 *         bm_hash_table_put(&table, at, hash, number); */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_HASH_TAG      UINT64_C(0xFFFFFFFF00000000) /* of a hash, and of a slot */
#define BM_HASH_PATIENCE 1024                         /* steps that a table has for nothing */
#define BM_HASH_STEPS    16   /* steps that each insertion adds to them; chance takes 8 at most */
#define BM_HASH_LONGEST  1024 /* steps of one insertion; chance takes 600 in the largest table */

typedef struct bm_hash_table {
    uint64_t *slots; /* owned */
    size_t n_slots;  /* 0: none yet */
    size_t cap_slots;
    size_t n;         /* keys */
    uint64_t seed;    /* 0: none was drawn */
    int64_t patience; /* steps that are left; below 0: a seed will be drawn */
    uint64_t n_steps; /* that insertions took, over all seeds and sizes */
} bm_hash_table;      /* {0} is empty */

/* The hash of the owner's key of this number, under a seed that is not 0. */
typedef uint64_t bm_hash_again_fn(const void *owner, uint32_t number, uint64_t seed);
/* Whether the key of this number is `key`. */
typedef bool bm_hash_equal_fn(const void *owner, uint32_t number, const void *key);

void bm_hash_table_reset(bm_hash_table *table); /* frees */
/* Empty, with space for n keys before it has to grow; the memory is used again. */
bm_status bm_hash_table_clear(bm_hash_table *table, size_t n, bm_error *err);
/* Bytes of slots with space for n keys. */
uint64_t bm_hash_table_bytes(uint64_t n);
/* A seed that nobody knows, odd. */
uint64_t bm_hash_draw_seed(void);
/* Rebuild a full table for bm_hash_table_reserve. */
bm_status bm_hash_table_rebuild(bm_hash_table *table, bm_hash_again_fn *again, const void *owner,
                                bm_error *err);

/* The hash of a key of 64 bits (hi: 0) or 128 bits under a seed. */
static inline uint64_t bm_hash_seeded(uint64_t lo, uint64_t hi, uint64_t seed)
{
    const uint64_t other = (seed ^ seed >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    __extension__ const unsigned __int128 product =
        (unsigned __int128)(lo ^ seed) * (hi ^ (other | 1));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* An insertion took so many steps; false: a seed is to be drawn. For tables with slots of their own
 * form too. */
static inline bool bm_hash_spend(int64_t *patience, size_t steps)
{
    *patience += BM_HASH_STEPS - (int64_t)steps;
    if (steps > BM_HASH_LONGEST)
        *patience = -1;
    return *patience >= 0;
}

/* Whether one key more needs other slots than there are. */
static inline bool bm_hash_table_is_full(const bm_hash_table *table)
{
    return table->n * 4 >= table->n_slots * 3 || table->patience < 0;
}

/* Reserve space for one more key. A seed may be drawn: hashes are made afterwards. BM_ERR_NOMEM. */
static inline bm_status bm_hash_table_reserve(bm_hash_table *table, bm_hash_again_fn *again,
                                              const void *owner, bm_error *err)
{
    return bm_hash_table_is_full(table) ? bm_hash_table_rebuild(table, again, owner, err) : BM_OK;
}

/* The slot where the search for a hash begins. */
static inline size_t bm_hash_table_home(const bm_hash_table *table, uint64_t hash)
{
    return (size_t)((hash >> 32) * table->n_slots >> 32);
}

/* The slot after one, the first after the last. */
static inline size_t bm_hash_table_next(const bm_hash_table *table, size_t at)
{
    return at + 1 < table->n_slots ? at + 1 : 0;
}

/* Steps from there to the slot `at`. */
static inline size_t bm_hash_table_steps(const bm_hash_table *table, uint64_t hash, size_t at)
{
    const size_t home = bm_hash_table_home(table, hash);
    return at >= home ? at - home : at + table->n_slots - home;
}

static inline void bm_hash_table_fetch(const bm_hash_table *table, uint64_t hash)
{
    if (table->n_slots > 0)
        __builtin_prefetch(&table->slots[bm_hash_table_home(table, hash)], 1);
}

static inline bool bm_hash_table_is_free(const bm_hash_table *table, size_t at)
{
    return table->slots[at] == 0;
}

static inline uint32_t bm_hash_table_number(const bm_hash_table *table, size_t at)
{
    return (uint32_t)table->slots[at] - 1;
}

/* The slot of a key, or the free one where it belongs. The table has slots. */
static inline size_t bm_hash_table_find(const bm_hash_table *table, uint64_t hash,
                                        bm_hash_equal_fn *equal, const void *owner, const void *key)
{
    const uint64_t *slots = table->slots;
    size_t at = bm_hash_table_home(table, hash);
    while (slots[at] != 0 &&
           (((slots[at] ^ hash) & BM_HASH_TAG) != 0 || !equal(owner, (uint32_t)slots[at] - 1, key)))
        at = bm_hash_table_next(table, at);
    return at;
}

/* Put the number of a key that is not there into the free slot that was found for it. */
static inline void bm_hash_table_put(bm_hash_table *table, size_t at, uint64_t hash,
                                     uint32_t number)
{
    const size_t steps = bm_hash_table_steps(table, hash, at);
    table->slots[at] = (hash & BM_HASH_TAG) | ((uint64_t)number + 1);
    table->n++;
    table->n_steps += steps;
    bm_hash_spend(&table->patience, steps);
}

/* The key of a slot has another number now. */
static inline void bm_hash_table_renumber(bm_hash_table *table, size_t at, uint32_t number)
{
    table->slots[at] = (table->slots[at] & BM_HASH_TAG) | ((uint64_t)number + 1);
}
