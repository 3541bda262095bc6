/* SPDX-License-Identifier: Apache-2.0 */
/* match.c -- allocates memory for groups, then matches the candidates of bands, or all pairs.
 *
 * Tests: tests/unit/match/test_match_all_pairs.c, tests/unit/match/test_match_stars.c */
#include "match/match.h"

#include <string.h>

#include "base/error.h"
#include "lsh/candidates.h"
#include "match/match_all_pairs.h"
#include "match/edges.h"
#include "match/weighted_pairs.h"

#define CHUNK_PAIRS 65536u

/* Warn of buckets in which some pairs were not compared. */
static void warn_of_cut(const bm_match *match, const bm_join_stats *stats)
{
    if (stats->n_cut == 0)
        return;
    bm_meter_log(match->settings.meter, BM_LOG_WARNING,
                 "%llu crowded buckets were %s: up to %llu pairs in them were not compared "
                 "(more rows a band make smaller buckets; `pairs` compares all)",
                 (unsigned long long)stats->n_cut, match->settings.only_groups ? "refined" : "left",
                 (unsigned long long)stats->n_not_compared);
}

static bm_status reserve(void *ctx, uint64_t bytes, bm_error *err)
{
    const bm_match *match = ctx;
    return bm_corpus_check_matching(match->settings.corpus, bytes, err);
}

static bm_status match_bands(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    const bm_match_settings *settings = &match->settings;
    bm_match_result *result = &match->result;
    bm_join_stats stats = {0};
    bm_candidates_job job = {.keys = &result->keys,
                             .pool = settings->pool,
                             .chunk = CHUNK_PAIRS,
                             .fn = bm_edges_compare,
                             .ctx = match,
                             .callbacks = callbacks};
    if (!settings->only_groups && settings->stars == NULL)
        return bm_candidates(&job, err);
    job.reserve = reserve;
    if (settings->only_groups)
        job.groups = &result->groups;
    BM_TRY(settings->only_groups ? bm_candidates_join(&job, &stats, err)
                                 : bm_match_stars(match, &job, &stats, err));
    result->counts.not_compared = stats.n_not_compared;
    warn_of_cut(match, &stats);
    return BM_OK;
}

bm_status bm_match_begin(bm_match *match, bm_error *err)
{
    const bm_match_settings *settings = &match->settings;
    bm_earlier_edges *earlier = &match->result.earlier;
    size_t n = settings->corpus->n;
    BM_TRY(bm_corpus_end_adding(settings->corpus, err));
    BM_TRY(bm_corpus_begin_matching(settings->corpus, err));
    BM_TRY(bm_union_find_init(&match->result.groups, n, err));
    if (!settings->only_groups || settings->verify == BM_VERIFY_NONE)
        return BM_OK;
    BM_TRY(
        bm_corpus_new_column(settings->corpus, n * sizeof *earlier->edges, &earlier->column, err));
    earlier->edges = earlier->column.data;
    return BM_OK;
}

bm_status bm_match_run(bm_match *match, bm_error *err)
{
    const bm_match_settings *settings = &match->settings;
    bm_callbacks callbacks = bm_meter_callbacks(settings->meter);
    BM_TRY(bm_corpus_end_adding(settings->corpus, err));
    if (!settings->all_candidates) /* before groups are allocated, because both need much memory */
        BM_TRY(bm_corpus_keyset(settings->corpus, settings->pool, &match->result.keys, err));
    BM_TRY(bm_match_begin(match, err));
    if (!match->settings.all_candidates) {
        BM_TRY(match_bands(match, &callbacks, err));
    } else if (!(settings->threshold > 0))
        BM_TRY(bm_match_every_pair(match, err));
    else if (settings->corpus->cfg.weighted)
        BM_TRY(bm_match_weighted_pairs(match, err));
    else
        BM_TRY(bm_match_all_pairs(match, &callbacks, err));
    return BM_OK;
}

void bm_match_reset(bm_match *match)
{
    bm_match_result *result = &match->result;
    bm_union_find_reset(&result->groups);
    bm_sorted_runs_close(result->edges);
    bm_column_reset(&result->earlier.column);
    memset(result, 0, sizeof *result);
}
