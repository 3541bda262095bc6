/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c -- verified pairs become groups.
 *
 * Tests: tests/reference/test_cluster.py, tests/reference/test_keep.py,
 *        tests/unit/inmem/test_group_pairs.c, tests/unit/lsh/test_union_find.c,
 *        tests/unit/match/test_match_stars.c */
#include "lsh/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* === union find ===
 *
 * Merges verified pairs into groups.
 *
 * There is one uint32_t parent per document. root() halves paths in a loop, so a chain of a million
 * links cannot overflow the stack. link() makes the smaller number the root, so labels do not
 * depend on the order in which pairs arrive. Halving alone bounds m operations by O(m log n).
 * Linking by size would give a better bound, but the root would not be the smallest document.
 *
 * While a thread links, no other thread may link or read. Any number of threads may find roots at
 * once, because they write only ancestors of doc into parent[doc]. */

bm_status bm_union_find_init(bm_union_find *sets, size_t n, bm_error *err)
{
    if (n > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", n,
                             BM_DOCS_MAX);
    uint32_t *parent = NULL;
    BM_TRY(bm_new(&parent, n, err));
    for (size_t i = 0; i < n; i++)
        parent[i] = (uint32_t)i;
    sets->parent = parent;
    sets->n = n;
    return BM_OK;
}

void bm_union_find_reset(bm_union_find *sets)
{
    bm_free(sets->parent);
    sets->parent = NULL;
    sets->n = 0;
}

uint32_t bm_union_find_root(bm_union_find *sets, uint32_t doc)
{
    uint32_t *parent = sets->parent;
    for (;;) {
        const uint32_t above = __atomic_load_n(&parent[doc], __ATOMIC_RELAXED);
        if (above == doc)
            return doc;
        const uint32_t next = __atomic_load_n(&parent[above], __ATOMIC_RELAXED);
        if (next != above)
            __atomic_store_n(&parent[doc], next, __ATOMIC_RELAXED);
        doc = next;
    }
}

bool bm_union_find_link(bm_union_find *sets, uint32_t a, uint32_t b)
{
    a = bm_union_find_root(sets, a);
    b = bm_union_find_root(sets, b);
    if (a == b)
        return false;
    if (a < b)
        sets->parent[b] = a;
    else
        sets->parent[a] = b;
    return true;
}

/* === keep rank ===
 *
 * A radix sort of document numbers, from the last column to the first.
 *
 * Each pass is stable. So documents that are equal in a column are ordered by the columns after it,
 * and if these are equal too, by the input. */

#define DIGIT_BITS 11u
#define DIGITS     (1u << DIGIT_BITS)

static uint64_t number_of(const bm_keep_column *column, uint32_t doc)
{
    if (column->width == sizeof(uint32_t))
        return ((const uint32_t *)column->numbers)[doc];
    return ((const uint64_t *)column->numbers)[doc];
}

/* The key by which the column sorts, in ascending order of keys. */
static uint64_t key_of(const bm_keep_column *column, uint64_t greatest, uint32_t doc)
{
    const uint64_t number = number_of(column, doc);
    return column->greatest ? greatest - number : number;
}

/* Sort `docs` by one column. Returns the array with the result, which is `docs` or `other`. */
static uint32_t *sort_by(const bm_keep_column *column, size_t n, uint32_t *docs, uint32_t *other)
{
    uint64_t greatest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t number = number_of(column, (uint32_t)i);
        greatest = number > greatest ? number : greatest;
    }
    for (unsigned shift = 0; shift < 64 && greatest >> shift != 0; shift += DIGIT_BITS) {
        uint32_t places[DIGITS] = {0}, at = 0;
        for (size_t i = 0; i < n; i++)
            places[key_of(column, greatest, docs[i]) >> shift & (DIGITS - 1)]++;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            const uint32_t count = places[digit];
            places[digit] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++)
            other[places[key_of(column, greatest, docs[i]) >> shift & (DIGITS - 1)]++] = docs[i];
        uint32_t *swap = docs;
        docs = other;
        other = swap;
    }
    return docs;
}

bm_status bm_keep_rank_make(const bm_keep_order *order, size_t n, bm_keep_rank *out, bm_error *err)
{
    *out = (bm_keep_rank){0};
    if (order->n_columns == 0 && !order->last)
        return BM_OK;
    uint32_t *docs = bm_alloc(n, sizeof *docs), *other = bm_alloc(n, sizeof *other);
    if (docs == NULL || other == NULL) {
        bm_free_all(docs, other);
        return bm_fail_nomem(err, n * sizeof *docs);
    }
    for (size_t i = 0; i < n; i++)
        docs[i] = (uint32_t)(order->last ? n - 1 - i : i);
    for (size_t i = order->n_columns; i > 0; i--) {
        uint32_t *sorted = sort_by(&order->columns[i - 1], n, docs, other);
        other = sorted == docs ? other : docs;
        docs = sorted;
    }
    for (size_t i = 0; i < n; i++)
        other[docs[i]] = (uint32_t)i;
    bm_free(docs);
    *out = (bm_keep_rank){.ranks = other, .n = n};
    return BM_OK;
}

bm_status bm_keep_rank_of_rule(bm_keep keep, const bm_keep_column *sizes, size_t n,
                               bm_keep_rank *out, bm_error *err)
{
    const bool by_size = keep == BM_KEEP_LONGEST || keep == BM_KEEP_SHORTEST;
    bm_keep_column column = {0};
    if (by_size)
        column = *sizes;
    column.greatest = keep == BM_KEEP_LONGEST;
    BM_TRY(
        bm_keep_rank_make(&(bm_keep_order){&column, by_size, keep == BM_KEEP_LAST}, n, out, err));
    out->none = keep == BM_KEEP_NONE;
    return BM_OK;
}

void bm_keep_rank_reset(bm_keep_rank *rank)
{
    bm_free(rank->ranks);
    *rank = (bm_keep_rank){0};
}

void bm_keep_rank_best(const bm_keep_rank *rank, const uint32_t *owner, size_t n, uint32_t *best)
{
    for (size_t i = 0; i < n; i++)
        best[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *b = &best[owner[i]];
        if (*b == UINT32_MAX || bm_keep_rank_of(rank, (uint32_t)i) < bm_keep_rank_of(rank, *b))
            *b = (uint32_t)i;
    }
}

/* === turns ===
 *
 * Each representative is stored in `order` at the rank of its preferred copy. Then the gaps are
 * closed. */

bm_status bm_turns_make(const bm_keep_rank *rank, const uint32_t *rep, size_t n, bm_turns *out,
                        bm_error *err)
{
    *out = (bm_turns){.n = n};
    out->best = bm_alloc(n, sizeof *out->best);
    out->order = bm_alloc(n, sizeof *out->order);
    out->centres = bm_alloc(n, sizeof *out->centres);
    if (out->best == NULL || out->order == NULL || out->centres == NULL) {
        bm_turns_reset(out);
        return bm_fail_nomem(err, n * sizeof *out->best);
    }
    if (rep != NULL)
        bm_keep_rank_best(rank, rep, n, out->best);
    for (size_t i = 0; i < n; i++) {
        out->order[i] = UINT32_MAX;
        out->centres[i] = BM_NOT_TAKEN;
        if (rep == NULL)
            out->best[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        if (rep == NULL || rep[i] == i)
            out->order[bm_keep_rank_of(rank, out->best[i])] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++)
        if (out->order[i] != UINT32_MAX)
            out->order[out->n_order++] = out->order[i];
    return BM_OK;
}

void bm_turns_reset(bm_turns *turns)
{
    bm_free_all(turns->best, turns->order, turns->centres);
    memset(turns, 0, sizeof *turns);
}

/* === stars ===
 *
 * One walk over the neighbours of all documents, in linear time. Pure. */

static void stars_walk(const bm_neighbours *neighbours, const uint32_t *order, size_t n,
                       uint32_t *centres)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t doc = order == NULL ? (uint32_t)i : order[i];
        if (!bm_star_begin(centres, doc))
            continue;
        size_t end = neighbours->begins[doc + (size_t)1];
        for (size_t k = neighbours->begins[doc]; k < end; k++)
            bm_star_assign(centres, doc, neighbours->docs[k]);
    }
}

bm_status bm_stars(bm_pair_list list, const uint32_t *order, uint32_t *centres, bm_error *err)
{
    bm_neighbours neighbours = {0};
    BM_TRY(bm_neighbours_make(list, BM_NEIGHBOURS_DOCS, &neighbours, err));
    for (size_t doc = 0; doc < list.n_docs; doc++)
        centres[doc] = BM_NOT_TAKEN;
    stars_walk(&neighbours, order, list.n_docs, centres);
    bm_neighbours_reset(&neighbours);
    return BM_OK;
}

/* --- components --- */

static int highest_first(const void *x, const void *y)
{
    const bm_pair_level *a = x, *b = y;
    if (a->threshold > b->threshold || a->threshold < b->threshold)
        return a->threshold > b->threshold ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

bm_status bm_pair_levels_open(const double *thresholds, size_t n, bm_pair_levels *out,
                              bm_error *err)
{
    *out = (bm_pair_levels){0};
    BM_TRY(bm_new_zero(&out->levels, n > 0 ? n : 1, err));
    out->n = n > 0 ? n : 1;
    for (size_t i = 0; i < n; i++)
        out->levels[i] = (bm_pair_level){.threshold = thresholds[i], .place = i};
    qsort(out->levels, out->n, sizeof *out->levels, highest_first);
    return BM_OK;
}

void bm_pair_levels_reset(bm_pair_levels *levels)
{
    for (size_t i = 0; i < levels->n; i++)
        bm_union_find_reset(&levels->levels[i].sets);
    bm_free(levels->levels);
    *levels = (bm_pair_levels){0};
}

size_t bm_pair_levels_count(bm_pair_levels *levels, double similarity)
{
    size_t at = 0;
    while (!isnan(similarity) && at < levels->n && similarity < levels->levels[at].threshold)
        at++;
    if (at < levels->n)
        levels->levels[at].first_at++;
    return at;
}

/* Add documents until there are n in all. Each new document is a group of its own. */
static bm_status grow_sets(bm_pair_level *level, size_t n, bm_error *err)
{
    BM_TRY(bm_grow_array(&level->sets.parent, &level->cap, n, err));
    for (; level->sets.n < n; level->sets.n++)
        level->sets.parent[level->sets.n] = (uint32_t)level->sets.n;
    return BM_OK;
}

bm_status bm_pair_levels_join(bm_pair_levels *levels, size_t at, uint32_t a, uint32_t b,
                              size_t n_docs, bm_error *err)
{
    for (size_t i = 0; i < levels->n; i++)
        if (levels->levels[i].sets.n < n_docs)
            BM_TRY(grow_sets(&levels->levels[i], n_docs, err));
    for (; at < levels->n; at++)
        if (!bm_union_find_link(&levels->levels[at].sets, a, b))
            break; /* documents that are joined here are joined at every lower threshold */
    return BM_OK;
}

/* --- stars --- */

bm_status bm_pair_stars(bm_pair_list pairs, const bm_keep_rank *rank, const uint32_t *rep,
                        uint32_t *labels, bm_error *err)
{
    bm_neighbours neighbours = {0};
    bm_turns turns = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_neighbours_make(pairs, BM_NEIGHBOURS_DOCS, &neighbours, err));
    BM_TRY_OUT(bm_turns_make(rank, rep, pairs.n_docs, &turns, err));
    stars_walk(&neighbours, turns.order, turns.n_order, turns.centres);
    for (size_t i = 0; i < pairs.n_docs; i++)
        labels[i] = turns.best[turns.centres[rep != NULL ? rep[i] : i]];
out:
    bm_neighbours_reset(&neighbours);
    bm_turns_reset(&turns);
    return status;
}

/* --- counts --- */

bm_status bm_group_counts_of(const uint32_t *labels, size_t n, bm_group_counts *out, bm_error *err)
{
    uint32_t *sizes = NULL;
    *out = (bm_group_counts){0};
    BM_TRY(bm_new_zero(&sizes, n, err));
    for (size_t i = 0; i < n; i++)
        sizes[labels[i]]++;
    for (size_t i = 0; i < n; i++) {
        out->groups += sizes[i] > 1;
        out->removed += sizes[i] > 1 ? sizes[i] - 1 : 0;
        out->largest = sizes[i] > 1 && sizes[i] > out->largest ? sizes[i] : out->largest;
    }
    bm_free(sizes);
    return BM_OK;
}
