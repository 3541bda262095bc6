/* match.c -- verification in parallel over one chunk at a time; edges and groups change between
 * chunks only. */
#include "pipeline/match/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "pipeline/match/match_all_pairs.h"

#define CHUNK_PAIRS 65536u
#define EDGE_BYTES                                                                                 \
    48u /* of an edge: 16, and 32 for the lists of neighbours that are made of it                  \
         */

uint64_t bm_edge_bits(double similarity)
{
    uint64_t bits;
    memcpy(&bits, &similarity, sizeof bits);
    return bits;
}

double bm_edge_similarity(uint64_t bits)
{
    double similarity;
    memcpy(&similarity, &bits, sizeof similarity);
    return similarity;
}

static bm_status add_run(bm_match *match, const bm_pair *edge, bm_error *err)
{
    return bm_sorted_runs_add(match->edge_runs, (uint64_t)edge->a << 32 | edge->b,
                              bm_edge_bits(edge->similarity), err);
}

/* Make room for n more edges: in memory, or by moving all of them to runs. */
static bm_status edge_room(bm_match *match, size_t n, bm_error *err)
{
    const bm_corpus_cfg *cfg = &match->corpus->cfg;
    uint64_t bytes = (match->n_edges + n) * EDGE_BYTES;
    if (match->only_groups || match->edge_runs != NULL)
        return BM_OK;
    bm_status status = bm_corpus_check_memory(match->corpus, bytes, NULL);
    if (status == BM_OK && !cfg->spill_now) {
        void *edges = match->edges;
        status = bm_grow(&edges, &match->cap_edges, match->n_edges + n, sizeof *match->edges, err);
        match->edges = edges;
        return status;
    }
    if (cfg->temp_dir == NULL)
        return bm_corpus_check_memory(match->corpus, bytes, err);
    status =
        bm_sorted_runs_open(cfg->temp_dir, (size_t)cfg->budget.arena / 2, &match->edge_runs, err);
    for (size_t i = 0; status == BM_OK && i < match->n_edges; i++)
        status = add_run(match, &match->edges[i], err);
    bm_free(match->edges);
    match->edges = NULL;
    match->n_edges = match->cap_edges = 0;
    return status;
}

/* Of the edges to earlier documents, that to the earliest: it is kept more often than others. */
static void remember(bm_match *match, const bm_pair *edge)
{
    if (match->earlier == NULL || edge->a > match->earlier[edge->b])
        return;
    match->earlier[edge->b] = edge->a;
    match->to_earlier[edge->b] = edge->similarity;
}

bm_status bm_match_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err)
{
    bm_status status = edge_room(match, n, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        if (!(isnan(pairs[i].similarity) || pairs[i].similarity >= match->threshold))
            continue;
        match->n_edges_found++;
        bm_union_find_link(&match->groups, pairs[i].a, pairs[i].b);
        remember(match, &pairs[i]);
        if (match->only_groups)
            continue;
        if (match->edge_runs != NULL)
            status = add_run(match, &pairs[i], err);
        else
            match->edges[match->n_edges++] = pairs[i];
    }
    return status;
}

bm_status bm_match_candidates(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    bm_status status = bm_meter_check(match->meter, err);
    if (status != BM_OK)
        return status;
    match->n_candidates += n;
    match->n_verified += match->verify == BM_VERIFY_NONE ? 0 : n;
    double began_s = bm_clock_seconds();
    status = bm_corpus_compare(match->corpus, match->verify, match->threshold, pairs, n,
                               match->pool, err);
    match->verify_seconds += bm_clock_seconds() - began_s;
    return status == BM_OK ? bm_match_add(match, pairs, n, err) : status;
}

/* What is not compared is never silent. */
static void say_cut(const bm_match *match, const bm_join_stats *stats)
{
    if (stats->n_cut == 0)
        return;
    bm_meter_log(match->meter, BM_LOG_WARNING,
                 "%llu crowded buckets were refined: up to %llu pairs in them were not compared "
                 "(more rows a band make smaller buckets; --pairs compares all)",
                 (unsigned long long)stats->n_cut, (unsigned long long)stats->n_not_compared);
}

static bm_status reserve(void *ctx, uint64_t bytes, bm_error *err)
{
    const bm_match *match = ctx;
    return bm_corpus_check_matching(match->corpus, bytes, err);
}

static bm_status match_bands(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    bm_join_stats stats = {0};
    bm_join_job job = {.keys = &match->keys,
                       .pool = match->pool,
                       .chunk = CHUNK_PAIRS,
                       .fn = bm_match_candidates,
                       .ctx = match,
                       .groups = &match->groups,
                       .callbacks = callbacks,
                       .reserve = reserve};
    bm_status status = bm_corpus_keyset(match->corpus, match->pool, &match->keys, err);
    if (status != BM_OK)
        return status;
    if (!match->only_groups)
        return bm_candidates(&match->keys, match->pool, CHUNK_PAIRS, bm_match_candidates, match,
                             callbacks, err);
    status = bm_candidates_join(&job, &stats, err);
    match->n_not_compared = stats.n_not_compared;
    if (status == BM_OK)
        say_cut(match, &stats);
    return status;
}

int bm_pair_by_place(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

bm_status bm_match_begin(bm_match *match, bm_error *err)
{
    size_t n = match->corpus->n;
    bm_status status = bm_corpus_end_adding(match->corpus, err);
    if (status == BM_OK)
        status = bm_union_find_init(&match->groups, n, err);
    if (status != BM_OK || !match->only_groups || match->verify == BM_VERIFY_NONE)
        return status;
    match->earlier = bm_alloc(n, sizeof *match->earlier);
    match->to_earlier = bm_alloc(n, sizeof *match->to_earlier);
    if (match->earlier == NULL || match->to_earlier == NULL)
        return bm_fail_nomem(err, n * sizeof *match->to_earlier);
    memset(match->earlier, 0xFF, n * sizeof *match->earlier); /* BM_NO_DOC */
    return BM_OK;
}

void bm_match_end(bm_match *match)
{
    if (match->n_edges > 1)
        qsort(match->edges, match->n_edges, sizeof *match->edges, bm_pair_by_place);
}

bm_status bm_match_run(bm_match *match, bm_error *err)
{
    bm_callbacks callbacks = bm_meter_callbacks(match->meter);
    bm_status status = bm_match_begin(match, err);
    if (status != BM_OK)
        return status;
    status = match->all_candidates ? bm_match_all_pairs(match, &callbacks, err)
                                   : match_bands(match, &callbacks, err);
    if (status == BM_OK)
        bm_match_end(match);
    return status;
}

void bm_match_reset(bm_match *match)
{
    bm_union_find_reset(&match->groups);
    bm_sorted_runs_close(match->edge_runs);
    bm_free(match->earlier);
    bm_free(match->to_earlier);
    match->earlier = NULL;
    match->to_earlier = NULL;
    bm_free(match->edges);
    match->edge_runs = NULL;
    match->edges = NULL;
    match->n_edges = match->cap_edges = 0;
}
