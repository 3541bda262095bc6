/* edges.c -- verification in parallel over one chunk at a time; edges and groups change between
 * chunks only.
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/unit/match/test_match_all_pairs.c */
#include "match/edges.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/pair_order.h"

bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    const uint64_t needed = bm_corpus_bytes_needed(corpus, corpus->n, corpus->sets.bytes),
                   left = cfg->spill_now || cfg->memory < needed ? 0 : cfg->memory - needed;
    const bool bounded = cfg->memory != 0 || cfg->spill_now;
    return bm_sorted_runs_open(
        cfg->temp_dir, bounded ? (size_t)(cfg->budget.arena / 2 + left / 4) : SIZE_MAX, out, err);
}

bm_status bm_edges_begin(const bm_match *match, bm_error *err)
{
    return match->result.edges == NULL ? BM_OK : bm_sorted_runs_begin(match->result.edges, err);
}

bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err)
{
    bm_run_record record;
    if (match->result.edges == NULL)
        return BM_NOT_FOUND;
    BM_TRY(bm_sorted_runs_next(match->result.edges, &record, err));
    *out = bm_pair_of_key(record.key, record.value);
    return BM_OK;
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
    const bool stored = !match->settings.only_groups;
    if (stored && result->edges == NULL)
        BM_TRY(bm_edges_open_runs(match->settings.corpus, &result->edges, err));
    for (size_t i = 0; i < n; i++) {
        if (!(isnan(pairs[i].similarity) || pairs[i].similarity >= threshold))
            continue;
        result->counts.edges++;
        bm_union_find_link(&result->groups, pairs[i].a, pairs[i].b);
        take_earlier(&result->earlier, &pairs[i]);
        if (stored)
            BM_TRY(bm_sorted_runs_add(result->edges, bm_pair_key(pairs[i].a, pairs[i].b),
                                      bm_edge_bits(pairs[i].similarity), err));
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
    BM_TRY(status);
    return bm_edges_take(match, pairs, n, err);
}
