/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table.c -- makes a table, enlarges it, and rebuilds it under a new seed.
 *
 * Tests: tests/unit/base/test_hash_table.c */
#include "base/hash_table.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#define LEAST_SLOTS 64u
/* from this number of slots on, a table grows by steps of a quarter of a power of two */
#define FINE_SLOTS 2048u

/* the most seeds to try; the last one is used even if it spreads the keys badly */
#define SEEDS_AT_ONCE 8

/* How many slots at the beginning of a table grow() copies out before it moves the others. These
 * are enough, because a table grows by at least a seventh. */
#define OUT_SLOTS (8 * (size_t)(BM_HASH_LONGEST + 1))

/* The least number of slots with space for n keys. */
static size_t slots_for(uint64_t n)
{
    size_t slots = LEAST_SLOTS, step = LEAST_SLOTS;
    for (; slots / 4 * 3 < n; slots += step)
        if ((slots & (slots - 1)) == 0)
            step = slots < FINE_SLOTS ? slots : slots / 4;
    return slots;
}

uint64_t bm_hash_table_bytes(uint64_t n)
{
    return sizeof(uint64_t) * slots_for(n);
}

uint64_t bm_hash_draw_seed(void)
{
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)(bm_clock_seconds() * 1e9) * UINT64_C(0x9E3779B97F4A7C15);
    return drawn | 1;
}

void bm_hash_table_reset(bm_hash_table *table)
{
    bm_free(table->slots);
    *table = (bm_hash_table){0};
}

static void begin(bm_hash_table *table, size_t n_slots)
{
    table->n_slots = n_slots;
    table->n = 0;
    table->patience = BM_HASH_PATIENCE;
}

bm_status bm_hash_table_clear(bm_hash_table *table, size_t n, bm_error *err)
{
    const size_t n_slots = slots_for(n);
    if (n_slots > table->cap_slots) {
        uint64_t *slots;
        BM_TRY(bm_new_zero(&slots, n_slots, err));
        bm_free(table->slots);
        table->slots = slots;
        table->cap_slots = n_slots;
    } else {
        memset(table->slots, 0, sizeof *table->slots * n_slots);
    }
    table->seed = 0;
    begin(table, n_slots);
    return BM_OK;
}

/* The free slot for a key that is not in the table. */
static size_t free_slot(const bm_hash_table *table, uint64_t hash)
{
    size_t at = bm_hash_table_home(table, hash);
    while (!bm_hash_table_is_free(table, at))
        at = bm_hash_table_next(table, at);
    return at;
}

/* If the slot is too far from its home for another grow(), a seed has to be drawn after the next
 * insertion. */
static void draw_if_far(bm_hash_table *table, uint64_t hash, size_t at)
{
    if (bm_hash_table_steps(table, hash, at) > BM_HASH_LONGEST)
        table->patience = INT64_MIN / 2;
}

/* Enlarge the table in place. The entries of the first OUT_SLOTS slots, some of which wrapped
 * around from the end, are copied out. Then the other entries move, from the last to the first.
 * Each moves to its new home, or to the next free slot after it. At the end the copied entries are
 * put back. The new home of an entry is after its old slot, so the entry never overwrites an entry
 * that has not moved yet. */
static bm_status grow(bm_hash_table *table, size_t n_slots, bm_error *err)
{
    const size_t had = table->n_slots, n_out = had < OUT_SLOTS ? had : OUT_SLOTS;
    uint64_t *out = NULL;
    if (had == 0)
        return bm_hash_table_clear(table, 1, err);
    BM_TRY(bm_new(&out, n_out, err));
    uint64_t *slots = bm_resize(table->slots, n_slots, sizeof *slots);
    if (slots == NULL) {
        bm_free(out);
        return bm_fail_nomem(err, n_slots * sizeof *slots);
    }
    memcpy(out, slots, n_out * sizeof *out);
    memset(slots, 0, n_out * sizeof *slots);
    memset(slots + had, 0, (n_slots - had) * sizeof *slots);
    table->slots = slots;
    table->cap_slots = table->n_slots = n_slots;
    for (size_t i = had; i > 0; i--) {
        const uint64_t slot = i > n_out ? slots[i - 1] : out[i - 1];
        if (slot == 0)
            continue;
        if (i > n_out)
            slots[i - 1] = 0;
        const size_t at = free_slot(table, slot);
        slots[at] = slot;
        draw_if_far(table, slot, at);
    }
    bm_free(out);
    return BM_OK;
}

/* Insert the keys of `table` into the empty table `made`, under the seed of `made`. With
 * `gives_up`, stop when the patience of `made` is used up. */
static void put_again(const bm_hash_table *table, bm_hash_again_fn *again, const void *owner,
                      bool gives_up, bm_hash_table *made)
{
    for (size_t i = 0; i < table->n_slots && !(gives_up && made->patience < 0); i++)
        if (table->slots[i] != 0) {
            const uint32_t number = bm_hash_table_number(table, i);
            const uint64_t hash = again(owner, number, made->seed);
            const size_t at = free_slot(made, hash);
            bm_hash_table_put(made, at, hash, number);
            draw_if_far(made, hash, at);
        }
}

bm_status bm_hash_table_rebuild(bm_hash_table *table, bm_hash_again_fn *again, const void *owner,
                                bm_error *err)
{
    const size_t least = slots_for((uint64_t)table->n + 1),
                 n_slots = least > table->n_slots ? least : table->n_slots;
    if (table->patience >= 0)
        return grow(table, n_slots, err);
    bm_hash_table made = {.n_steps = table->n_steps, .cap_slots = n_slots};
    BM_TRY(bm_new_zero(&made.slots, n_slots, err));
    /* With a seed that spreads the keys badly, the number of steps would grow with the square of
     * the number of keys. So another seed is then tried. */
    for (int tries = 1; tries == 1 || (made.patience < 0 && tries <= SEEDS_AT_ONCE); tries++) {
        if (tries > 1)
            memset(made.slots, 0, n_slots * sizeof *made.slots);
        begin(&made, n_slots);
        made.seed = bm_hash_draw_seed();
        put_again(table, again, owner, tries < SEEDS_AT_ONCE, &made);
    }
    bm_free(table->slots);
    *table = made;
    return BM_OK;
}
