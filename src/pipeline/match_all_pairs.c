/* match_all_pairs.c -- the sets of a corpus joined with themselves (lsh/all_pairs.h). */
#include "pipeline/match_all_pairs.h"

#include "lsh/all_pairs.h"

/* Pairs of --candidates all come with their similarity. */
static bm_status on_all_pairs(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    bm_status status = bm_meter_check(match->meter, err);
    return status == BM_OK ? bm_match_keep(match, pairs, n, err) : status;
}

/* What an index may use: half of what --memory leaves, since pairs will need the rest. 0: no
 * bound. */
static uint64_t memory_left(const bm_corpus *corpus)
{
    uint64_t left = corpus->cfg.memory;
    while (left > 1 && bm_corpus_check_memory(corpus, left, NULL) != BM_OK)
        left -= (left + 7) / 8;
    return left < 2 ? left : left / 2;
}

bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    bm_corpus *corpus = match->corpus;
    bm_all_pairs_job job = {.docs = (const uint64_t *const *)corpus->hashes,
                            .sizes = corpus->sizes,
                            .skip = corpus->skip,
                            .n_docs = corpus->n,
                            .threshold = match->threshold,
                            .memory = memory_left(corpus),
                            .pool = match->pool,
                            .fn = on_all_pairs,
                            .ctx = match,
                            .callbacks = callbacks};
    bm_all_pairs_stats stats = {0};
    bm_status status = bm_corpus_sort_all(corpus, match->pool, err);
    if (status == BM_OK)
        status = bm_all_pairs(&job, &stats, err);
    match->n_candidates = match->n_verified = stats.n_compared;
    if (status == BM_OK && stats.n_blocks > 1)
        bm_meter_log(match->meter, BM_LOG_INFO,
                     "documents were compared through %llu indexes, one after another, to stay "
                     "within --memory",
                     (unsigned long long)stats.n_blocks);
    return status;
}
