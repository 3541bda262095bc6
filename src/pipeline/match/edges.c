/* edges.c -- verification in parallel over one chunk at a time; edges and groups change between
 * chunks only.
 *
 * Tests: tests/unit/output/test_corpus_spill.c, tests/unit/match/test_match_all_pairs.c */
#include "pipeline/match/edges.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/pair_order.h"

#define EDGE_BYTES 48u /* of an edge: 16, and 32 for lists of neighbours that are made of it */

static bm_status add_to_runs(bm_edges *edges, const bm_pair *edge, bm_error *err)
{
    return bm_sorted_runs_add(edges->runs, bm_pair_key(edge->a, edge->b),
                              bm_edge_bits(edge->similarity), err);
}

/* Move all edges from the list to runs. */
static bm_status move_to_runs(bm_edges *edges, const bm_corpus_cfg *cfg, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_sorted_runs_open(cfg->temp_dir, (size_t)cfg->budget.arena / 2, &edges->runs, err));
    for (size_t i = 0; i < edges->n; i++)
        BM_TRY_OUT(add_to_runs(edges, &edges->list[i], err));
out:
    bm_free(edges->list);
    edges->list = NULL;
    edges->n = edges->cap = 0;
    return status;
}

/* Make room for n more edges: in memory, or in runs. */
static bm_status make_room(bm_match *match, size_t n, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    bm_edges *edges = &match->result.edges;
    uint64_t bytes = (edges->n + n) * EDGE_BYTES;
    if (match->settings.only_groups || edges->runs != NULL)
        return BM_OK;
    if (!corpus->cfg.spill_now && bm_corpus_check_memory(corpus, bytes, NULL) == BM_OK)
        return bm_grow(&edges->list, &edges->cap, edges->n + n, sizeof *edges->list, err);
    if (corpus->cfg.temp_dir == NULL)
        return bm_corpus_check_memory(corpus, bytes, err);
    return move_to_runs(edges, &corpus->cfg, err);
}

static void take_earlier(bm_earlier_edges *earlier, const bm_pair *edge)
{
    if (earlier->docs == NULL || edge->a > earlier->docs[edge->b])
        return;
    earlier->docs[edge->b] = edge->a;
    earlier->similarities[edge->b] = edge->similarity;
}

bm_status bm_edges_take(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match_result *result = &match->result;
    double threshold = match->settings.threshold;
    BM_TRY(make_room(match, n, err));
    for (size_t i = 0; i < n; i++) {
        if (!(isnan(pairs[i].similarity) || pairs[i].similarity >= threshold))
            continue;
        result->counts.edges++;
        bm_union_find_link(&result->groups, pairs[i].a, pairs[i].b);
        take_earlier(&result->earlier, &pairs[i]);
        if (match->settings.only_groups)
            continue;
        if (result->edges.runs != NULL)
            BM_TRY(add_to_runs(&result->edges, &pairs[i], err));
        else
            result->edges.list[result->edges.n++] = pairs[i];
    }
    return BM_OK;
}

bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    BM_TRY(bm_meter_check(match->settings.meter, err));
    return bm_edges_take(match, pairs, n, err);
}

bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    bm_match_counts *counts = &match->result.counts;
    const bm_match_settings *settings = &match->settings;
    bm_comparison how = {.verify = settings->verify,
                         .measure = settings->measure,
                         .threshold = settings->threshold,
                         .share = settings->share,
                         .pool = settings->pool};
    BM_TRY(bm_meter_check(settings->meter, err));
    counts->candidates += n;
    counts->verified += settings->verify == BM_VERIFY_NONE ? 0 : n;
    double began_s = bm_clock_seconds();
    bm_status status = bm_corpus_compare(settings->corpus, &how, pairs, n, err);
    counts->verify_seconds += bm_clock_seconds() - began_s;
    return status == BM_OK ? bm_edges_take(match, pairs, n, err) : status;
}
