/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_counts.c -- counts shingles in counters without keys.
 *
 * Shingles share a counter if their mixed hashes agree in the leading bits, so a count may be too
 * high but never too low. Callers only need an order of the shingles that is the same for all
 * documents. Any counts define such an order, and counts that are too high only cost time. A
 * counter is one byte, because nearly all shingles of real text are in few documents. When it is
 * full, further shingles are counted in a second, smaller array of 32-bit counters.
 *
 *     low   [ 1 | 0 | 255 | 3 | ... ]   2^low_bits: 1 to 2 for each shingle counted (with repeats)
 *     high  [ 0 | 71030 | ... ]         2^high_bits: 1 for 256 adjacent counters of `low`
 *
 * Both counters are selected by leading bits of the mixed hash. So the hashes with the same first p
 * bits use a part of the table of their own. If these hashes are shifted left by p bits and counted
 * in a table with p fewer bits, that table has the same values as the part. So a table can be made
 * and read part by part.
 *
 * Threads count at the same time by atomic additions. Sums do not depend on the order of additions,
 * and a full counter stays full. Counts beyond 255 are added up for 256 adjacent counters, so they
 * do not depend on the order either. A table with keys would need 12 bytes a slot, and a chain of
 * cache misses when it grows. Here each counter is prefetched. Two or four times as many counters
 * were no faster: 1 % fewer comparisons, more misses. */
#include "lsh/shingle_counts.h"

#include "base/error.h"
#include "base/memory.h"

#define LOW_BITS_MIN 16u
#define LOW_BITS_MAX 40u
#define HIGH_SHIFT   8u
#define HIGH_FULL    ((uint32_t)1 << 30)
#define GRAIN        64u /* documents of a task */
#define BLOCK        32u /* shingles that are prefetched at once */

uint64_t bm_shingle_counts_bytes(unsigned bits)
{
    return ((uint64_t)1 << bits) + ((uint64_t)sizeof(uint32_t) << (bits - HIGH_SHIFT));
}

unsigned bm_shingle_counts_bits(uint64_t n_shingles)
{
    unsigned bits = LOW_BITS_MIN;
    while (bits < LOW_BITS_MAX && (uint64_t)1 << bits < n_shingles)
        bits++;
    return bits;
}

static void bump(bm_shingle_counts *counts, uint64_t mixed)
{
    uint8_t *low = &counts->low[mixed >> (64 - counts->low_bits)];
    if (*low < UINT8_MAX) {
        ++*low;
        return;
    }
    uint32_t *high = &counts->high[mixed >> (64 - counts->high_bits)];
    *high += *high < HIGH_FULL;
}

/* Like bump, but other threads count at the same time. Each thread may exceed HIGH_FULL by one,
 * which is harmless. */
static void bump_shared(bm_shingle_counts *counts, uint64_t mixed)
{
    uint8_t *low = &counts->low[mixed >> (64 - counts->low_bits)];
    uint8_t seen = __atomic_load_n(low, __ATOMIC_RELAXED);
    while (seen < UINT8_MAX)
        if (__atomic_compare_exchange_n(low, &seen, (uint8_t)(seen + 1), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    uint32_t *high = &counts->high[mixed >> (64 - counts->high_bits)];
    if (__atomic_load_n(high, __ATOMIC_RELAXED) < HIGH_FULL)
        __atomic_fetch_add(high, 1, __ATOMIC_RELAXED);
}

void bm_shingle_counts_add(bm_shingle_counts *counts, const uint64_t *mixed, size_t n, bool shared)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = n - at < BLOCK ? n : at + BLOCK;
        for (size_t i = at; i < end; i++)
            __builtin_prefetch(bm_shingle_counts_at(counts, mixed[i]), 1);
        for (size_t i = at; i < end; i++)
            if (shared)
                bump_shared(counts, mixed[i]);
            else
                bump(counts, mixed[i]);
    }
}

typedef struct job {
    const bm_set_list *sets;
    bm_shingle_counts *counts;
    bool shared;
} job;

static bm_status count_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    const job *j = ctx;
    uint64_t mixed[BLOCK];
    for (size_t doc = begin; doc < end; doc++) {
        if (!bm_set_list_has(j->sets, doc))
            continue;
        const uint64_t *set = j->sets->docs[doc];
        for (size_t at = 0, n = j->sets->sizes[doc]; at < n; at += BLOCK) {
            size_t many = n - at < BLOCK ? n - at : BLOCK;
            for (size_t i = 0; i < many; i++)
                mixed[i] = bm_shingle_mix(set[at + i]);
            bm_shingle_counts_add(j->counts, mixed, many, j->shared);
        }
    }
    return BM_OK;
}

bm_status bm_shingle_counts_open(bm_shingle_counts *out, unsigned bits, bm_error *err)
{
    *out = (bm_shingle_counts){.low_bits = bits, .high_bits = bits - HIGH_SHIFT};
    out->low = bm_alloc_zero((size_t)1 << out->low_bits, sizeof *out->low);
    out->high = bm_alloc_zero((size_t)1 << out->high_bits, sizeof *out->high);
    if (out->low != NULL && out->high != NULL)
        return BM_OK;
    bm_shingle_counts_reset(out);
    return bm_fail_nomem(err, (size_t)bm_shingle_counts_bytes(bits));
}

bm_status bm_shingle_counts_make(bm_shingle_counts *out, const bm_set_list *sets, bm_pool *pool,
                                 bm_error *err)
{
    uint64_t n_shingles = 0;
    for (size_t doc = 0; doc < sets->n_docs; doc++)
        n_shingles += bm_set_list_has(sets, doc) ? sets->sizes[doc] : 0;
    BM_TRY(bm_shingle_counts_open(out, bm_shingle_counts_bits(n_shingles), err));
    job j = {.sets = sets, .counts = out, .shared = pool != NULL && bm_pool_size(pool) > 1};
    if (j.shared)
        return bm_pool_for(pool, (bm_pool_split){sets->n_docs, GRAIN}, count_range, &j, err);
    return count_range(&j, 0, 0, sets->n_docs, err);
}

void bm_shingle_counts_reset(bm_shingle_counts *counts)
{
    bm_free_all(counts->low, counts->high);
    *counts = (bm_shingle_counts){0};
}
