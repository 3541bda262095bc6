/* SPDX-License-Identifier: Apache-2.0 */
/* cws_kept.h -- what cws keeps of elements from one document to the next, so that a repeated
 * element costs little arithmetic: e_0 … e_4, and for each permutation a byte that bounds its
 * value from below (cws_lanes.h). All of this depends only on the element and the coefficients, so
 * it changes no word of a signature.
 *
 *     hash -> table (base/hash_table.h) -> slot: hash, e_0 … e_4 | bytes
 *
 * Slots are assigned in the order in which elements come. So if documents have the same elements in
 * the same order, like vectors of a fixed dimension, slots are read one after another. A full store
 * is emptied, and frequent elements soon get slots again. A thread borrows a store for signing, and
 * then returns it. So a store is used by one thread at a time, and there are as many stores as were
 * ever borrowed at once.
 *
 * Threads: any number may call bm_cws_kept_borrow and bm_cws_kept_return at once.
 *
 * Tests: tests/unit/cpu/test_cws_kept.c */
#pragma once

#include "base/hash_table.h"
#include "base/idle.h"
#include "cpu/cws_loops.h"

#define BM_CWS_NONE UINT32_MAX /* the element has no slot */

typedef struct bm_cws_slot {
    uint64_t hash;
    uint32_t mixed[BM_CWS_DRAWS]; /* e_0 … e_4 */
    uint32_t room;
} bm_cws_slot;

typedef struct bm_cws_store {
    bm_hash_table table; /* from hashes to slots, with space for n_max */
    bm_cws_slot *slots;
    uint8_t *bounds; /* `stride` bytes for each slot */
    uint32_t stride, n, n_max;
} bm_cws_store;

/* The part that all threads share. */
typedef struct bm_cws_kept {
    const bm_scheme_params *params; /* borrowed */
    uint32_t *coefs;                /* rows of `stride`, as bm_cws_loops.bounds reads them */
    uint32_t stride;                /* number of permutations, padded to BM_CWS_MASK */
    uint32_t n_used;                /* number of permutations that are computed, padded to 2 *
                                       BM_CWS_LANES */
    uint32_t n_slots;               /* number of slots of a store */
    bm_idle stores;                 /* stores that are not in use */
} bm_cws_kept;

/* Open *out, with stores of about `bytes` bytes each; 0: the default. */
bm_status bm_cws_kept_open(const bm_scheme_params *params, size_t bytes, bm_cws_kept **out,
                           bm_error *err);
void bm_cws_kept_close(bm_cws_kept *kept); /* NULL is fine */
/* Set *out to a store that only this thread uses. */
bm_status bm_cws_kept_borrow(bm_cws_kept *kept, bm_cws_store **out, bm_error *err);
void bm_cws_kept_return(bm_cws_kept *kept, bm_cws_store *store);
/* Reserve room for n more elements, n <= BM_CWS_BLOCK. To make room, all elements may be
 * dropped. */
void bm_cws_store_reserve(bm_cws_store *store, uint32_t n);
/* Add a slot for an element that has none, in the reserved room. The caller fills in its words and
 * bounds. */
uint32_t bm_cws_store_add(bm_cws_store *store, uint64_t hash);

static inline uint64_t bm_cws_store_hash(const bm_cws_store *store, uint64_t hash)
{
    const uint64_t seed = store->table.seed;
    return seed == 0 ? hash * BM_CWS_GOLDEN : bm_hash_seeded(hash, 0, seed);
}

static inline bool bm_cws_slot_has(const void *slots, uint32_t slot, const void *hash)
{
    return ((const bm_cws_slot *)slots)[slot].hash == *(const uint64_t *)hash;
}

/* Return the slot of an element, or BM_CWS_NONE. Slot `guess` is tried first. */
static inline uint32_t bm_cws_store_find(const bm_cws_store *store, uint64_t hash, uint32_t guess)
{
    if (guess < store->n && store->slots[guess].hash == hash)
        return guess;
    const size_t at = bm_hash_table_find(&store->table, bm_cws_store_hash(store, hash),
                                         bm_cws_slot_has, store->slots, &hash);
    return bm_hash_table_is_free(&store->table, at) ? BM_CWS_NONE
                                                    : bm_hash_table_number(&store->table, at);
}
