/* pair_groups.c -- see the header. */
#include "lsh/pair_groups.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"
#include "lsh/turns.h"

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

/* Documents up to `n` are there, each alone. */
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
            break; /* joined here, so joined at every lower threshold */
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
    bm_stars_walk(&neighbours, turns.order, turns.n_order, turns.centres);
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
