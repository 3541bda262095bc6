/* SPDX-License-Identifier: Apache-2.0 */
/* distinct.c -- open addressing with linear probing. Slots point to the values of the list. There
 * is one table for small documents and another for large documents.
 *
 *     slot = (value * factor) >> shift
 *     near: near[slot]     generation of the document << 16 | position; another generation: empty
 *     far:  far[slot]      1 + the position; 0: empty
 *
 * The near table need not be cleared between documents, so it may be sparse. Its smallest size, 16
 * KB, fits into the first-level cache and has 35 slots for each value of a common document (118
 * shingles). So the first probe nearly always finds an empty slot or the value itself. This matters
 * because a mispredicted branch costs more than everything else.
 *
 * With more than SMALL values, the size of the table matters. The far table has two to four slots
 * for each value, so a document of 10^7 shingles takes at most 16 bytes for each.
 *
 * With base/hash_table.h instead of the far table, `sign` took 1.4 to 2.1 times the instructions
 * for documents of 10 and 60 kB (char:5).
 *
 * The factor is public, so an attacker can construct hashes that all have the same slot. When
 * insertions take many more steps than chance allows, the table is filled again with a random
 * factor. The result does not depend on the factor.
 *
 * Tests: tests/unit/text/test_bag.c, tests/unit/text/test_distinct.c */
#include "text/distinct.h"

#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "kernels/affine32.h"
#include "kernels/occurrence.h"

#define SMALL      4096u /* most values in the near table */
#define NEAR_BITS  12u   /* index bits of the smallest table: 16 KB */
#define NEAR_SLOTS 8u    /* fewest slots for each value */
#define NEAR_CAP   ((size_t)SMALL * NEAR_SLOTS)
/* the bits of a near slot that are the position; the higher bits are the generation */
#define POSITION 0xFFFFu
/* in large tables, slots are prefetched so many values ahead */
#define PREFETCH 8u
/* tables with at least so many slots (1 MiB) exceed the L2 cache */
#define LARGE        (UINT64_C(1) << 18)
#define FIRST_FACTOR UINT64_C(0x9E3779B97F4A7C15)

static unsigned bits_for(size_t n, bool near)
{
    const size_t wanted = near ? n * NEAR_SLOTS : n * 2;
    unsigned bits = NEAR_BITS;
    while ((size_t)1 << bits < wanted)
        bits++;
    return bits;
}

uint64_t bm_distinct_bytes(uint64_t n)
{
    return n <= SMALL ? NEAR_CAP * sizeof(uint32_t)
                      : ((uint64_t)1 << bits_for((size_t)n, false)) * sizeof(uint32_t);
}

void bm_distinct_begin(bm_distinct *set)
{
    set->n_slots = 0;
    set->factor = FIRST_FACTOR;
}

void bm_distinct_reset(bm_distinct *set)
{
    bm_free_all(set->near, set->far);
    memset(set, 0, sizeof *set);
}

static size_t slot_of(const bm_distinct *set, uint64_t hash)
{
    return (size_t)(hash * set->factor >> set->shift);
}

/* Empty the near table by starting a new generation. */
static void next_generation(bm_distinct *set)
{
    set->generation += POSITION + 1;
    if (set->generation != 0)
        return;
    memset(set->near, 0, NEAR_CAP * sizeof *set->near);
    set->generation = POSITION + 1;
}

static inline bool is_empty(const bm_distinct *set, uint32_t slot)
{
    return (slot ^ set->generation) > POSITION;
}

/* Fill an empty table with the values of the list. */
static void fill(bm_distinct *set, const bm_distinct_list *list)
{
    const uint64_t *values = list->values;
    const size_t n = list->n, mask = set->n_slots - 1;
    if (set->is_near)
        next_generation(set);
    else
        memset(set->far, 0, set->n_slots * sizeof *set->far);
    for (size_t i = 0; i < n; i++) {
        size_t slot = slot_of(set, values[i]);
        if (set->is_near) {
            while (!is_empty(set, set->near[slot]))
                slot = (slot + 1) & mask;
            set->near[slot] = set->generation | (uint32_t)i;
        } else {
            while (set->far[slot] != 0)
                slot = (slot + 1) & mask;
            set->far[slot] = (uint32_t)(i + 1);
        }
    }
}

static bm_status reserve_near(bm_distinct *set, bm_error *err)
{
    if (set->near != NULL)
        return BM_OK;
    BM_TRY(bm_new_aligned(&set->near, NEAR_CAP, err));
    memset(set->near, 0, NEAR_CAP * sizeof *set->near);
    set->generation = 0;
    return BM_OK;
}

static bm_status reserve_far(bm_distinct *set, size_t n_slots, bm_error *err)
{
    if (n_slots <= set->cap_far)
        return BM_OK;
    bm_free(set->far); /* freed first, because both tables together would take half as much memory
                        * again */
    set->far = bm_alloc_aligned(n_slots, sizeof *set->far);
    set->cap_far = set->far != NULL ? n_slots : 0;
    if (set->far != NULL)
        return BM_OK;
    set->n_slots = 0;
    return bm_fail_nomem(err, n_slots * sizeof *set->far);
}

/* Make the table large enough for `need` values in total. A new table is filled with the values of
 * the list. */
static bm_status reserve(bm_distinct *set, size_t need, const bm_distinct_list *list, bm_error *err)
{
    const bool near = need <= SMALL;
    const size_t wanted = near ? need * NEAR_SLOTS : need * 2;
    if (set->n_slots != 0 && near == set->is_near && wanted <= set->n_slots)
        return BM_OK;
    if (need > UINT32_MAX - 1)
        return bm_fail(err, BM_ERR_INPUT, "more than %u distinct shingles in one document",
                       UINT32_MAX - 1);
    const unsigned bits = bits_for(need, near);
    const size_t n_slots = (size_t)1 << bits;
    BM_TRY(near ? reserve_near(set, err) : reserve_far(set, n_slots, err));
    set->is_near = near;
    set->n_slots = n_slots;
    set->shift = 64 - bits;
    fill(set, list);
    return BM_OK;
}

/* Insert run[0 … n-1]. Stops when too many probes have hit slots of other values. Returns how
 * many hashes were handled. Each inlined copy has a constant for `counted`. The loop branches on
 * whether a hash is new. Without this branch it took 1.1 to 1.3 times as long (word:5 and char:5,
 * Zen 4), because it has to wait for data that a branch predicts. */
static inline __attribute__((always_inline)) size_t insert_near(const bm_distinct *set,
                                                                const uint64_t *run, size_t n,
                                                                bm_distinct_list *list,
                                                                const bool counted)
{
    size_t steps = 4 * n + 256;
    const bm_distinct s = *set; /* a copy, because stores to the table may alias *set */
    uint64_t *const values = list->values;
    uint32_t *const counts = list->counts;
    const size_t mask = s.n_slots - 1;
    size_t count = list->n, i = 0;
    for (; i < n; i++) {
        const uint64_t hash = run[i];
        size_t slot = slot_of(&s, hash);
        uint32_t known;
        while ((known = s.near[slot] ^ s.generation) <= POSITION && values[known] != hash &&
               steps > 0) {
            slot = (slot + 1) & mask;
            steps--;
        }
        if (known > POSITION) {
            values[count] = hash;
            if (counted)
                counts[count] = 1;
            s.near[slot] = s.generation | (uint32_t)count++;
        } else if (values[known] != hash) {
            break;
        } else if (counted) {
            counts[known] += counts[known] != UINT32_MAX;
        }
    }
    list->n = count;
    return i;
}

static inline __attribute__((always_inline)) size_t insert_far(const bm_distinct *set,
                                                               const uint64_t *run, size_t n,
                                                               bm_distinct_list *list,
                                                               const bool counted)
{
    size_t steps = 4 * n + 256;
    const bm_distinct s = *set;
    uint64_t *const values = list->values;
    uint32_t *const counts = list->counts;
    const size_t mask = s.n_slots - 1;
    const bool large = s.n_slots >= LARGE;
    size_t count = list->n, i = 0;
    for (; i < n; i++) {
        const uint64_t hash = run[i];
        size_t slot = slot_of(&s, hash);
        if (large && i + PREFETCH < n)
            __builtin_prefetch(&s.far[slot_of(&s, run[i + PREFETCH])], 1);
        uint32_t known;
        while ((known = s.far[slot]) != 0 && values[known - 1] != hash && steps > 0) {
            slot = (slot + 1) & mask;
            steps--;
        }
        if (known == 0) {
            values[count] = hash;
            if (counted)
                counts[count] = 1;
            s.far[slot] = (uint32_t)++count;
        } else if (values[known - 1] != hash) {
            break;
        } else if (counted) {
            counts[known - 1] += counts[known - 1] != UINT32_MAX;
        }
    }
    list->n = count;
    return i;
}

/* Insert and count. Counts are rarely wanted, so this code is kept out of the other loops, which
 * stay fast. */
static __attribute__((noinline)) size_t insert_counted(const bm_distinct *set, const uint64_t *run,
                                                       size_t n, bm_distinct_list *list)
{
    return set->is_near ? insert_near(set, run, n, list, true)
                        : insert_far(set, run, n, list, true);
}

static size_t insert(const bm_distinct *set, const uint64_t *run, size_t n, bm_distinct_list *list)
{
    if (list->counts != NULL)
        return insert_counted(set, run, n, list);
    return set->is_near ? insert_near(set, run, n, list, false)
                        : insert_far(set, run, n, list, false);
}

bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, bm_distinct_list *list,
                          bm_error *err)
{
    BM_TRY(reserve(set, list->n + n, list, err));
    size_t done = insert(set, run, n, list);
    while (done < n) {
        set->factor = bm_hash_draw_seed();
        fill(set, list);
        done += insert(set, run + done, n - done, list);
    }
    return BM_OK;
}

/* === repeats ===
 *
 * The hash of each repeat is inserted into the document's set like any other hash. Even if it
 * equals another hash, by chance or on purpose, the list has no value twice.
 *
 * The hashes of repeats depend only on how often each shingle occurs. So the loop over the shingles
 * only counts, and the repeats are made from the counts when the document is complete. */

#define RUN ((size_t)256)

uint64_t bm_repeats_count(const uint32_t *counts, size_t n)
{
    uint64_t more = 0;
    for (size_t i = 0; i < n; i++)
        more += counts[i] - 1;
    return more;
}

bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err)
{
    uint64_t run[RUN];
    const size_t n = list->n;
    bm_distinct_list out = {list->values, n, NULL};
    bm_status status = BM_OK;
    size_t filled = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t nth = 2; nth <= counts[i]; nth++) {
            run[filled++] = bm_occurrence(list->values[i], nth);
            if (filled == RUN) {
                BM_TRY_OUT(bm_distinct_add(set, run, filled, &out, err));
                filled = 0;
            }
        }
    }
    if (filled > 0)
        BM_TRY_OUT(bm_distinct_add(set, run, filled, &out, err));
out:
    if (status != BM_OK)
        return status;
    list->n = out.n;
    for (size_t i = 0; list->counts != NULL && i < out.n; i++)
        list->counts[i] = 1;
    return BM_OK;
}

void bm_repeats_replace(uint64_t *hashes, size_t n)
{
    uint64_t hash = 0;
    uint32_t nth = 0;
    for (size_t i = 0; i < n; i++) {
        nth = i > 0 && hashes[i] == hash ? nth + 1 : 1;
        hash = hashes[i];
        hashes[i] = bm_occurrence(hash, nth);
    }
}
