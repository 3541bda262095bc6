/* match_all_pairs.c -- the sets of a corpus joined with themselves (lsh/all_pairs.h).
 *
 * Where sets are in memory, they are sorted, and pairs come with their similarity. Where they are
 * in a file, prefixes are made and written first (all_pairs_prefixes.c); of these, the index of one
 * block of documents after another is built. Pairs that pass its filters are compared like
 * candidates of bands: chunk by chunk, sets read back in order of their places. Either way the same
 * pairs are compared. */
#include "match/match_all_pairs.h"

#include "base/error.h"
#include "lsh/all_pairs.h"
#include "match/all_pairs_prefixes.h"

#define ROOM_LEAST ((uint64_t)1 << 20) /* bytes beyond the least that the search can work with */

/* The share of the search: half of what is left, since edges will need the rest; more only where it
 * could not work otherwise. */
static uint64_t share_of(uint64_t left, const bm_all_pairs_job *job)
{
    uint64_t least = bm_all_pairs_least(job) + ROOM_LEAST;
    if (left / 2 >= least)
        return left / 2;
    return left < least ? left : least;
}

/* Sets move to a file where they leave little room for an index: with less than an eighth of their
 * size there would be so many blocks that reading the sets back costs less. */
static bm_status make_room(bm_corpus *corpus, const bm_all_pairs_job *job, bm_error *err)
{
    uint64_t wanted = bm_all_pairs_least(job) + corpus->sets.bytes / 8;
    if (corpus->cfg.memory == 0 || corpus->cfg.temp_dir == NULL ||
        bm_corpus_matching_bytes(corpus) / 2 >= wanted)
        return BM_OK;
    return bm_corpus_sets_to_file(corpus, err);
}

static bm_status search(bm_match *match, const bm_all_pairs_job *job, bm_error *err)
{
    bm_all_pairs_stats stats = {0};
    bm_meter_stage(match->settings.meter, "compare", "documents");
    BM_TRY(bm_all_pairs(job, &stats, err));
    match->result.counts.candidates = match->result.counts.verified = stats.n_compared;
    if (stats.n_blocks > 1)
        bm_meter_log(match->settings.meter, BM_LOG_INFO,
                     "documents were compared through %llu indexes, one after another, to stay "
                     "within `memory`",
                     (unsigned long long)stats.n_blocks);
    return BM_OK;
}

static bm_status match_in_memory(bm_match *match, bm_all_pairs_job *job, bm_error *err)
{
    job->docs = (const uint64_t *const *)match->settings.corpus->sets.hashes;
    job->fn = bm_edges_found;
    job->memory = share_of(bm_corpus_matching_bytes(match->settings.corpus), job);
    BM_TRY(bm_corpus_sort_all(match->settings.corpus, match->settings.pool, err));
    return search(match, job, err);
}

static bm_status match_in_file(bm_match *match, bm_all_pairs_job *job, bm_error *err)
{
    bm_set_prefixes prefixes;
    uint64_t left = bm_corpus_matching_bytes(match->settings.corpus);
    bm_set_prefixes_job making = {.corpus = match->settings.corpus,
                                  .rule = job->rule,
                                  .memory = left,
                                  .pool = match->settings.pool,
                                  .meter = match->settings.meter};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_set_prefixes_make(&making, &prefixes, err));
    bm_meter_log(match->settings.meter, BM_LOG_DEBUG,
                 "prefixes of all documents: %llu MiB of temporary files, counted in %u parts",
                 (unsigned long long)(prefixes.bytes_written >> 20) + 1, 1u << prefixes.part_bits);
    job->store = &prefixes.store;
    job->order = prefixes.order;
    job->n_order = prefixes.n;
    job->memory = left == 0 ? 0 : share_of(left - prefixes.bytes_held, job);
    job->fn = bm_edges_compare;
    status = search(match, job, err);
out:
    bm_set_prefixes_reset(&prefixes);
    return status;
}

bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    bm_all_pairs_job job = {.sizes = corpus->sizes,
                            .skip = corpus->skip,
                            .n_docs = corpus->n,
                            .rule = {match->settings.measure, match->settings.threshold},
                            .pool = match->settings.pool,
                            .ctx = match,
                            .callbacks = callbacks};
    BM_TRY(make_room(match->settings.corpus, &job, err));
    return bm_corpus_sets_in_file(corpus) ? match_in_file(match, &job, err)
                                          : match_in_memory(match, &job, err);
}
