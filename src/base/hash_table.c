/* hash_table.c -- making the table, and making it again: larger, or under a seed.
 *
 * Tests: tests/unit/base/test_hash_table.c */
#include "base/hash_table.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#define LEAST_BITS 6u

/* The least number of slots, as a power of two, with space for n keys. */
static unsigned bits_for(uint64_t n)
{
    unsigned bits = LEAST_BITS;
    while ((UINT64_C(3) << bits) / 4 < n)
        bits++;
    return bits;
}

uint64_t bm_hash_table_bytes(uint64_t n)
{
    return sizeof(uint64_t) << bits_for(n);
}

/* Bytes of the slots that bm_hash_table_reserve makes while the table is full; those that there are
 * stay meanwhile. */
static uint64_t hash_table_rebuilt_bytes(const bm_hash_table *table)
{
    const uint64_t had = table->n_slots * sizeof *table->slots;
    const uint64_t least = bm_hash_table_bytes((uint64_t)table->n + 1);
    return least > had ? least : had;
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

static void begin(bm_hash_table *table, unsigned bits)
{
    table->n_slots = (size_t)1 << bits;
    table->shift = 64 - bits;
    table->n = 0;
    table->patience = BM_HASH_PATIENCE;
}

bm_status bm_hash_table_clear(bm_hash_table *table, size_t n, bm_error *err)
{
    const unsigned bits = bits_for(n);
    if ((size_t)1 << bits > table->cap_slots) {
        uint64_t *slots;
        BM_TRY(bm_new_zero(&slots, (size_t)1 << bits, err));
        bm_free(table->slots);
        table->slots = slots;
        table->cap_slots = (size_t)1 << bits;
    } else {
        memset(table->slots, 0, sizeof *table->slots << bits);
    }
    table->seed = 0;
    begin(table, bits);
    return BM_OK;
}

bm_status bm_hash_table_rebuild(bm_hash_table *table, bm_hash_again_fn *again, const void *owner,
                                bm_error *err)
{
    const bool draws = table->patience < 0;
    bm_hash_table made = {.seed = draws ? bm_hash_draw_seed() : table->seed,
                          .n_steps = table->n_steps,
                          .cap_slots = hash_table_rebuilt_bytes(table) / sizeof *made.slots};
    BM_TRY(bm_new_zero(&made.slots, made.cap_slots, err));
    begin(&made, (unsigned)__builtin_ctzll(made.cap_slots));
    for (size_t i = 0; i < table->n_slots; i++) {
        if (table->slots[i] == 0)
            continue;
        const uint32_t number = bm_hash_table_number(table, i);
        const uint64_t hash = draws ? again(owner, number, made.seed) : table->slots[i];
        size_t at = bm_hash_table_home(&made, hash);
        while (made.slots[at] != 0)
            at = (at + 1) & (made.n_slots - 1);
        bm_hash_table_put(&made, at, hash, number);
    }
    bm_free(table->slots);
    *table = made;
    return BM_OK;
}
