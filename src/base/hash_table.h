/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table.h -- an open-addressing table that maps keys to numbers. The keys are ids, content
 * hashes, band keys or shingles.
 *
 *     slot    tag, 32 bits | number + 1        0: free
 *     home    the tag as a fraction of the table; then linear probing; at most three quarters full
 *
 * The table contains no keys: its owner stores each key under a number. The owner passes the hash
 * of a key to the table, and the upper half of that hash is the tag. If a slot has the tag of the
 * wanted key, a search calls the owner to compare the slot's key with the wanted key. A table grows
 * without its keys, since the tag determines the home in a table of any size. The allocator may
 * grow it without a copy, and a large table grows by a quarter or less.
 *
 * The hash functions are public, so an attacker can make keys that share a home or a hash.
 * Therefore probe steps past occupied slots are counted. If insertions take many more steps than is
 * likely by chance, a random seed is drawn, and the owner hashes its keys again with the seed. The
 * seed changes no number and no result of a search.
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

#define BM_HASH_TAG      UINT64_C(0xFFFFFFFF00000000) /* bits of the tag, in a hash or in a slot */
#define BM_HASH_PATIENCE 1024                         /* steps that a new table may take */
/* steps added to the patience at each insertion; random keys take at most 8 */
#define BM_HASH_STEPS   16
#define BM_HASH_LONGEST 1024 /* the most steps of one insertion; random keys take at most 600 */

typedef struct bm_hash_table {
    uint64_t *slots; /* owned */
    size_t n_slots;  /* 0: the table has no slots yet */
    size_t cap_slots;
    size_t n;         /* number of keys */
    uint64_t seed;    /* 0: no seed was drawn */
    int64_t patience; /* probe steps that are left; if below 0, a seed will be drawn */
    uint64_t n_steps; /* steps of all insertions, over all seeds and sizes */
} bm_hash_table;      /* {0} is empty */

/* Returns the hash, under `seed` (not 0), of the key that `owner` stores under `number`. */
typedef uint64_t bm_hash_again_fn(const void *owner, uint32_t number, uint64_t seed);
/* Is the key that `owner` stores under `number` equal to `key`? */
typedef bool bm_hash_equal_fn(const void *owner, uint32_t number, const void *key);

void bm_hash_table_reset(bm_hash_table *table); /* frees */
/* Empty the table, make space for n keys, and drop the seed. The table's memory is reused if it
 * suffices. On failure the table is unchanged. */
bm_status bm_hash_table_clear(bm_hash_table *table, size_t n, bm_error *err);
/* Bytes of the slots of a table with space for n keys. */
uint64_t bm_hash_table_bytes(uint64_t n);
/* An odd seed: random or, if the system has no random bytes yet, made from the clock. */
uint64_t bm_hash_draw_seed(void);
/* Enlarge the table, or hash its keys again with a new seed. Called by bm_hash_table_reserve. */
bm_status bm_hash_table_rebuild(bm_hash_table *table, bm_hash_again_fn *again, const void *owner,
                                bm_error *err);

/* The hash of a key under a seed. The key has 128 bits, or 64 bits (then hi is 0). */
static inline uint64_t bm_hash_seeded(uint64_t lo, uint64_t hi, uint64_t seed)
{
    const uint64_t other = (seed ^ seed >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    __extension__ const unsigned __int128 product =
        (unsigned __int128)(lo ^ seed) * (hi ^ (other | 1));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Add BM_HASH_STEPS to the patience and subtract the steps of an insertion. False: the patience is
 * used up, and a seed must be drawn. Tables with another form of slot also use this. */
static inline bool bm_hash_spend(int64_t *patience, size_t steps)
{
    *patience += BM_HASH_STEPS - (int64_t)steps;
    if (steps > BM_HASH_LONGEST)
        *patience = -1;
    return *patience >= 0;
}

/* Does one more key need a larger table or a new seed? */
static inline bool bm_hash_table_is_full(const bm_hash_table *table)
{
    return table->n * 4 >= table->n_slots * 3 || table->patience < 0;
}

/* Reserve space for one more key. This may draw a seed, so compute hashes afterwards.
 * BM_ERR_NOMEM. */
static inline bm_status bm_hash_table_reserve(bm_hash_table *table, bm_hash_again_fn *again,
                                              const void *owner, bm_error *err)
{
    return bm_hash_table_is_full(table) ? bm_hash_table_rebuild(table, again, owner, err) : BM_OK;
}

/* The slot at which the search for a hash begins. */
static inline size_t bm_hash_table_home(const bm_hash_table *table, uint64_t hash)
{
    return (size_t)((hash >> 32) * table->n_slots >> 32);
}

/* The slot after `at`; after the last slot, the first one. */
static inline size_t bm_hash_table_next(const bm_hash_table *table, size_t at)
{
    return at + 1 < table->n_slots ? at + 1 : 0;
}

/* Steps from the home of a hash to the slot `at`. */
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

/* The slot of a key, or the free slot where it belongs. The table must have slots. */
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

/* Put the number of a new key into the free slot that bm_hash_table_find returned. */
static inline void bm_hash_table_put(bm_hash_table *table, size_t at, uint64_t hash,
                                     uint32_t number)
{
    const size_t steps = bm_hash_table_steps(table, hash, at);
    table->slots[at] = (hash & BM_HASH_TAG) | ((uint64_t)number + 1);
    table->n++;
    table->n_steps += steps;
    bm_hash_spend(&table->patience, steps);
}

/* Change the number in an occupied slot. */
static inline void bm_hash_table_renumber(bm_hash_table *table, size_t at, uint32_t number)
{
    table->slots[at] = (table->slots[at] & BM_HASH_TAG) | ((uint64_t)number + 1);
}
