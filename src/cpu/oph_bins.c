/* SPDX-License-Identifier: Apache-2.0 */
/* oph_bins.c -- fills bins, and gives words to the empty ones.
 *
 * Filling is bound by one load, one minimum and one store per shingle. Even and odd shingles have
 * separate copies of the bins, so that if two neighbouring shingles fall into one bin, the second
 * need not wait for the store of the first.
 *
 * The search for donors has no branch that depends on the hashes, because a processor would
 * mispredict such a branch once for each empty bin. If many bins are filled, each empty bin reads
 * the next four bins on its list at once, and goes on if all four are empty. With K bins, this
 * takes K / (filled bins) steps for each bin. If few bins are filled, the direction is reversed:
 * each filled bin offers itself to all bins, by a vector minimum over its row of offers. This takes
 * K / 32 operations with AVX-512. Both ways cost the same near K / 2 filled bins. */
#include <stdalign.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/sign_loops_row.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"

#define PULL_PART   2u   /* empty bins read their lists if at least bins / PULL_PART are filled */
#define SPLIT_LEAST 192u /* two copies of the bins are faster from so many shingles on */
#define MASKS       (BM_PERMS_MAX / 64)

static inline void put(uint32_t bins, uint32_t h, uint32_t *words)
{
    uint32_t bin = bm_oph_bin(h, bins), old = words[bin];
    words[bin] = h < old ? h : old;
}

void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words)
{
    alignas(BM_ALIGNMENT) uint32_t odd[BM_PERMS_MAX];
    size_t s = 0;
    if (n >= SPLIT_LEAST) {
        memset(odd, 0xFF, bins * sizeof *odd);
        for (; s + 2 <= n; s += 2) {
            put(bins, block[s], words);
            put(bins, block[s + 1], odd);
        }
        for (uint32_t bin = 0; bin < bins; bin++)
            words[bin] = odd[bin] < words[bin] ? odd[bin] : words[bin];
    }
    for (; s < n; s++)
        put(bins, block[s], words);
}

/* List the numbers of the set bits, in order. Returns how many there are. */
static uint32_t list_of(const uint64_t *masks, uint32_t n_masks, uint16_t *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_masks; i++)
        for (uint64_t left = masks[i]; left != 0; left &= left - 1)
            list[n++] = (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(left));
    return n;
}

/* Return x, or y if x is the word of an empty bin (all ones). It is computed by arithmetic, because
 * compilers turn `?:` into a branch here. */
static inline uint32_t first_of(uint32_t x, uint32_t y)
{
    return x & (y | ((uint32_t)(x == BM_OPH_EMPTY) - 1u));
}

/* Each empty bin searches its list for a filled bin. The words found are stored only at the end,
 * because a bin that gets a word must still count as empty. */
static void pull_donors(const bm_oph_plan *plan, const uint64_t *empty, uint32_t *words)
{
    uint16_t bins[BM_PERMS_MAX], waiting[BM_PERMS_MAX];
    uint32_t found[BM_PERMS_MAX]; /* the word that each bin found */
    const uint32_t n = list_of(empty, plan->row / 64, bins);
    memcpy(waiting, bins, n * sizeof *bins);
    const uint16_t *orders = plan->order;
    for (uint32_t left = n; left > 0; orders += (size_t)plan->bins * BM_OPH_STEPS) {
        uint32_t again = 0;
        for (uint32_t i = 0; i < left; i++) {
            const uint32_t bin = waiting[i];
            const uint16_t *order = orders + bin * BM_OPH_STEPS;
            const uint32_t near = first_of(words[order[0]], words[order[1]]);
            found[bin] = first_of(near, first_of(words[order[2]], words[order[3]]));
            waiting[again] = (uint16_t)bin;
            again += found[bin] == BM_OPH_EMPTY;
        }
        left = again;
    }
    for (uint32_t i = 0; i < n; i++)
        words[bins[i]] = found[bins[i]];
}

/* Each filled bin offers itself to all bins. Words can be stored at once, because donors are filled
 * bins, and the words of filled bins do not change. */
static void push_donors(const bm_oph_plan *plan, bm_oph_best_fn best_of, const uint16_t *filled,
                        uint32_t n_filled, uint32_t *words)
{
    alignas(BM_ALIGNMENT) uint16_t best[BM_PERMS_MAX];
    best_of(plan, filled, n_filled, best);
    const bm_oph_plan p = *plan; /* a copy, so that the compiler knows that no other pointer leads
                                    to it */
    for (uint32_t bin = 0; bin < p.bins; bin++)
        words[bin] = first_of(words[bin], words[bm_oph_donor_of(&p, bin, best[bin])]);
}

void bm_oph_densify(const bm_oph_plan *plan, const bm_oph_loops *loops, uint32_t *words)
{
    uint64_t empty[MASKS], met[MASKS];
    uint16_t filled[BM_PERMS_MAX];
    const uint32_t n_masks = plan->row / 64;
    uint32_t n_empty = 0;
    for (uint32_t i = 0; i < n_masks; i++) {
        const uint32_t left = plan->bins - i * 64;
        const uint64_t bins = left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
        empty[i] = loops->empty(words + (size_t)i * 64) & bins;
        met[i] = ~empty[i] & bins;
        n_empty += (uint32_t)__builtin_popcountll(empty[i]);
    }
    const uint32_t n_filled = plan->bins - n_empty;
    if (n_empty == 0 || n_filled == 0)
        return;
    if (n_filled >= plan->bins / PULL_PART)
        pull_donors(plan, empty, words);
    else
        push_donors(plan, loops->best, filled, list_of(met, n_masks, filled), words);
}
