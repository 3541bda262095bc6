/* SPDX-License-Identifier: Apache-2.0 */
/* cws_kept.h -- what cws keeps of elements from one document to the next, so that a repeated
 * element costs little arithmetic: e_0 … e_4, and for each permutation a byte that bounds its value
 * from below (cws_lanes.h). All of it depends only on the element and the coefficients, so it
 * changes no word.
 *
 *     hash -> place (16 bits of the hash, 16 of a slot) -> slot: hash, e_0 … e_4 | bytes
 *
 * Slots are assigned in the order in which elements come, so documents with the same elements in
 * the same order, such as vectors of a fixed dimension, read slots one after another. A full store
 * is emptied; frequent elements soon return. One thread at a time uses a store: it borrows one to
 * sign and returns it, and there are as many stores as were ever borrowed at once.
 *
 * Threads: any number may call bm_cws_kept_borrow and bm_cws_kept_return at once. Tests:
 * tests/unit/cpu/test_cws_kept.c */
#pragma once

#include "base/idle.h"
#include "cpu/cws_loops.h"

#define BM_CWS_NONE UINT32_MAX /* no slot */

typedef struct bm_cws_slot {
    uint64_t hash;
    uint32_t mixed[BM_CWS_DRAWS]; /* e_0 … e_4 */
    uint32_t room;
} bm_cws_slot;

typedef struct bm_cws_store {
    /* 16 bits of a mixed hash, then 16 bits of slot + 1; 0: empty. With linear probing; at most
     * half of the places are in use */
    uint32_t *places;
    bm_cws_slot *slots;
    uint8_t *bounds; /* `stride` bytes of each slot */
    uint32_t stride, shift, n, n_max;
    uint64_t factor; /* odd; drawn anew if probing takes too many steps (base/hash_table.h) */
    int64_t patience;
} bm_cws_store;

/* The part that all threads share. */
typedef struct bm_cws_kept {
    const bm_scheme_params *params; /* borrowed */
    uint32_t *coefs;                /* as bm_cws_loops.bounds reads them, rows of `stride` */
    uint32_t stride;                /* permutations, padded to BM_CWS_MASK */
    uint32_t n_used;                /* permutations that are computed: padded to 2 * BM_CWS_LANES */
    uint32_t n_slots, place_bits;   /* size of a store */
    bm_idle stores;                 /* stores that are not in use */
} bm_cws_kept;

/* Open *out, with stores of about `bytes` each; 0: the default. */
bm_status bm_cws_kept_open(const bm_scheme_params *params, size_t bytes, bm_cws_kept **out,
                           bm_error *err);
void bm_cws_kept_close(bm_cws_kept *kept); /* NULL is fine */
/* A store for this thread alone, filled into *out. */
bm_status bm_cws_kept_borrow(bm_cws_kept *kept, bm_cws_store **out, bm_error *err);
void bm_cws_kept_return(bm_cws_kept *kept, bm_cws_store *store);
/* Reserve space for n more elements, at most BM_CWS_BLOCK. All elements may be dropped for that. */
void bm_cws_store_reserve(bm_cws_store *store, uint32_t n);
/* Add a slot for an element that has none, in reserved space. The caller fills in its words and
 * bounds. */
uint32_t bm_cws_store_add(bm_cws_store *store, uint64_t hash);

/* Mix a hash. The upper bits of the result choose the place, which stores the lower 16. */
static inline uint64_t bm_cws_store_mix(const bm_cws_store *store, uint64_t hash)
{
    const uint64_t mixed = (hash ^ hash >> 32) * store->factor;
    return mixed ^ mixed >> 32;
}

/* The slot of an element, or BM_CWS_NONE. Slot `guess` is tried first. */
static inline uint32_t bm_cws_store_find(const bm_cws_store *store, uint64_t hash, uint32_t guess)
{
    if (guess < store->n && store->slots[guess].hash == hash)
        return guess;
    const uint64_t mixed = bm_cws_store_mix(store, hash);
    const uint32_t mask = UINT32_MAX >> (store->shift - 32);
    for (uint32_t at = (uint32_t)(mixed >> store->shift);; at = (at + 1) & mask) {
        const uint32_t place = store->places[at], slot = (place & 0xFFFF) - 1;
        if (place == 0)
            return BM_CWS_NONE;
        if (place >> 16 == (mixed & 0xFFFF) && store->slots[slot].hash == hash)
            return slot;
    }
}
