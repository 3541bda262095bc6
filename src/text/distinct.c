/* distinct.c -- an open-addressing table of 32-bit positions, sized by the document.
 *
 *     slot = (hash * factor) >> shift      0: empty, else 1 + the position in `values`
 *
 * Linear probing. A small document has four slots a value (118 shingles: 512 slots, 2 KB, cleared
 * by 32 stores): a first probe then finds an empty slot nine times out of ten, and a wrongly
 * guessed branch costs more than the memory. Past SMALL values it is two slots a value, doubled
 * when they are used up, so that a document of 10^7 shingles takes at most 16 bytes each.
 *
 * The factor is fixed, so that hashes can be made which all meet in one slot. When an insertion run
 * takes many more steps than chance allows, the table is built again with a factor drawn at random;
 * which factor is used has no effect on the result. */
#include "text/distinct.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#define SMALL        4096u               /* values */
#define PREFETCH     8u                  /* values ahead, in tables beyond the L2 cache */
#define LARGE        (UINT64_C(1) << 18) /* slots: 1 MiB */
#define FIRST_FACTOR UINT64_C(0x9E3779B97F4A7C15)

void bm_distinct_begin(bm_distinct *set)
{
    set->n_slots = 0;
    set->factor = FIRST_FACTOR;
}

void bm_distinct_reset(bm_distinct *set)
{
    bm_free(set->slots);
    memset(set, 0, sizeof *set);
}

static size_t slot_of(const bm_distinct *set, uint64_t hash)
{
    return (size_t)(hash * set->factor >> set->shift);
}

/* Fill an empty table with the values that are known to differ. */
static void fill(bm_distinct *set, const uint64_t *values, size_t n)
{
    const size_t mask = set->n_slots - 1;
    memset(set->slots, 0, set->n_slots * sizeof *set->slots);
    for (size_t i = 0; i < n; i++) {
        size_t slot = slot_of(set, values[i]);
        while (set->slots[slot] != 0)
            slot = (slot + 1) & mask;
        set->slots[slot] = (uint32_t)(i + 1);
    }
}

/* Room for `need` values in all. */
static bm_status make_room(bm_distinct *set, size_t need, const uint64_t *values, size_t n_values,
                           bm_error *err)
{
    size_t wanted = need <= SMALL ? need * 4 : need * 2;
    if (wanted <= set->n_slots)
        return BM_OK;
    if (need > UINT32_MAX - 1)
        return bm_fail(err, BM_ERR_INPUT, "more than %u distinct shingles in one document",
                       UINT32_MAX - 1);
    unsigned bits = 6;
    while ((size_t)1 << bits < wanted)
        bits++;
    size_t n_slots = (size_t)1 << bits;
    if (n_slots > set->cap) {
        uint32_t *slots = bm_alloc_aligned(n_slots, sizeof *slots);
        if (slots == NULL)
            return bm_fail_nomem(err, n_slots * sizeof *slots);
        bm_free(set->slots);
        set->slots = slots;
        set->cap = n_slots;
    }
    set->n_slots = n_slots;
    set->shift = 64 - bits;
    fill(set, values, n_values);
    return BM_OK;
}

static void draw_factor(bm_distinct *set)
{
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)(bm_clock_seconds() * 1e9) * FIRST_FACTOR;
    set->factor = drawn | 1;
}

/* Insert run[0 … n-1]; stops when `steps` probes were in vain. Returns how many were inserted.
 * Whether a hash is new is a branch: the form without one took 1.3 times as long (char:5, Zen 4),
 * for it must wait where a branch guesses. */
static size_t insert(bm_distinct *set, const uint64_t *run, size_t n, uint64_t *values,
                     size_t *n_values, size_t steps)
{
    const bm_distinct s = *set; /* a copy, which stores to the table cannot change */
    const size_t mask = s.n_slots - 1;
    const bool large = s.n_slots >= LARGE;
    size_t count = *n_values, i = 0;
    for (; i < n; i++) {
        const uint64_t hash = run[i];
        size_t slot = slot_of(&s, hash);
        if (large && i + PREFETCH < n)
            __builtin_prefetch(&s.slots[slot_of(&s, run[i + PREFETCH])], 1);
        uint32_t known;
        while ((known = s.slots[slot]) != 0 && values[known - 1] != hash && steps > 0) {
            slot = (slot + 1) & mask;
            steps--;
        }
        if (known == 0) {
            values[count] = hash;
            s.slots[slot] = (uint32_t)++count;
        } else if (values[known - 1] != hash) {
            break;
        }
    }
    *n_values = count;
    return i;
}

bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, uint64_t *values,
                          size_t *n_values, bm_error *err)
{
    bm_status status = make_room(set, *n_values + n, values, *n_values, err);
    if (status != BM_OK)
        return status;
    size_t done = insert(set, run, n, values, n_values, 4 * n + 256);
    while (done < n) {
        draw_factor(set);
        fill(set, values, *n_values);
        done += insert(set, run + done, n - done, values, n_values, 4 * n + 256);
    }
    return BM_OK;
}
