/* SPDX-License-Identifier: Apache-2.0 */
/* cws_kept.h -- what cws keeps of elements from one document to the next, so that one that comes
 * again costs little arithmetic: its five words, and for each permutation a byte that tells how
 * small its value may be (cws_lanes.h). All of it depends on the element and the coefficients
 * alone, so it changes no word.
 *
 *     hash -> place (16 bits of the hash, 16 of a slot) -> slot: hash, e_0 … e_4 | bytes
 *
 * Slots are given out in the order in which elements come: documents that hold the same ones in the
 * same order, as vectors of a fixed dimension do, go through them one after the other. A store that
 * is full forgets everything; what comes often is soon there again. A store is one thread's at a
 * time: whoever signs borrows one and gives it back, and there are as many as were ever borrowed at
 * once.
 *
 * Threads: borrow and give_back by any number at once. Tests: tests/unit/cpu/test_cws_kept.c */
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
    uint32_t *places; /* 0: empty; with linear probing, at most half of them in use */
    bm_cws_slot *slots;
    uint8_t *bounds; /* `stride` bytes of each slot */
    uint32_t stride, shift, n, n_max;
    uint64_t factor; /* odd; drawn once places take too many steps (base/hash_table.h) */
    int64_t patience;
} bm_cws_store;

/* The part that all threads share. */
typedef struct bm_cws_kept {
    const bm_scheme_params *params; /* borrowed */
    uint32_t *coefs;                /* as bm_cws_loops.bounds wants them, rows of `stride` */
    uint32_t stride;                /* permutations, padded to BM_CWS_MASK */
    uint32_t n_used;                /* those that are worked out: padded to 2 * BM_CWS_LANES */
    uint32_t n_slots, place_bits;   /* of a store */
    bm_idle stores;                 /* that nobody uses */
} bm_cws_kept;

/* Stores of about `bytes` each, with 0 as many as usual; filled into *out. */
bm_status bm_cws_kept_open(const bm_scheme_params *params, size_t bytes, bm_cws_kept **out,
                           bm_error *err);
void bm_cws_kept_close(bm_cws_kept *kept); /* NULL is fine */
/* A store for this thread alone, filled into *out. */
bm_status bm_cws_kept_borrow(bm_cws_kept *kept, bm_cws_store **out, bm_error *err);
void bm_cws_kept_return(bm_cws_kept *kept, bm_cws_store *store);
/* Reserve space for so many more elements, at most BM_CWS_BLOCK; all others may be dropped for
 * it. */
void bm_cws_store_reserve(bm_cws_store *store, uint32_t n);
/* A slot for an element that has none, and has space; its words and bounds are to be filled in. */
uint32_t bm_cws_store_add(bm_cws_store *store, uint64_t hash);

/* The upper bits choose the slot, and the slot keeps the lower 16. */
static inline uint64_t bm_cws_store_mix(const bm_cws_store *store, uint64_t hash)
{
    const uint64_t mixed = (hash ^ hash >> 32) * store->factor;
    return mixed ^ mixed >> 32;
}

/* The slot of an element, or BM_CWS_NONE; looked for in slot `guess` first. */
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
