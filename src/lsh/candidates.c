/* candidates.c -- from band keys to pairs of documents, each pair once.
 *
 * Band by band the documents are bucketed (band_buckets.c), then the buckets are walked in the
 * order of their first documents and the pairs of each are enumerated, one chunk at a time: no list
 * of all pairs is ever held, a bucket of 10^5 documents (5 * 10^9 pairs) included.
 *
 * A pair belongs to the first band in which its keys agree. In a later band it is dropped after a
 * look at the earlier bands' keys, band 0 first, which is where similar documents mostly met. Where
 * all documents of a bucket were already together in one earlier band, as near-copies are in almost
 * every band, none of its pairs can be new and the bucket is left in linear time.
 *
 * Where only components are wanted, a band is walked twice. First each bucket is a star: its first
 * document with every other one; the stars of all buckets fill common chunks, so that many small
 * buckets are verified at once. That joins most. Then each bucket that still lies in several groups
 * gets its pairs across groups: a small one straight away, a large one by bucket_join.c.
 *
 * Where stars are wanted, a small bucket gets its pairs as it comes, and a large one is kept for
 * later (crowded_buckets.h).
 *
 * Bucketing uses the pool; enumeration runs on the calling thread between, so that `fn` may use the
 * pool itself. Memory: 13 bytes a document, the largest bucket's numbers, and one chunk. */
#include "lsh/candidates.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/band_buckets.h"
#include "lsh/bucket_join.h"
#include "lsh/candidate_walk.h"
#include "lsh/crowded_buckets.h"

#define CHUNK_DEFAULT 65536u
#define ASK_ROWS      1024u /* rows of a bucket between two questions whether to stop */
#define SMALL_BUCKET  BM_SMALL_BUCKET

typedef bm_candidate_walk walk;

/* The consumers of large buckets; NULL where the search does not use one. */
typedef struct sinks {
    bm_bucket_join join;
    bm_crowded_buckets *crowded;
} sinks;

/* Do all documents of the bucket share the key of one earlier band? */
static bool all_met_before(const walk *w)
{
    for (uint32_t band = 0; band < w->band; band++) {
        uint64_t first = bm_band_keyset_at(w->job.keys, band, w->members[0]);
        size_t i = 1;
        while (i < w->n_members && bm_band_keyset_at(w->job.keys, band, w->members[i]) == first)
            i++;
        if (i == w->n_members)
            return true;
    }
    return false;
}

/* List the documents of the bucket that begins with `first`. */
static bm_status gather(walk *w, const bm_band_buckets *buckets, uint32_t first, bm_error *err)
{
    w->n_members = 0;
    for (uint32_t doc = first; doc != BM_NO_DOC; doc = buckets->next[doc]) {
        if (w->n_members == w->cap_members) {
            BM_TRY(
                bm_grow(&w->members, &w->cap_members, w->n_members + 1, sizeof *w->members, err));
        }
        w->members[w->n_members++] = doc;
    }
    return BM_OK;
}

/* Emit row i of the bucket: its i-th document with each that follows. */
static bm_status pair_row(walk *w, size_t i, bm_error *err)
{
    uint32_t a = w->members[i];
    for (size_t j = i + 1; j < w->n_members; j++) {
        uint32_t b = w->members[j];
        if ((w->job.groups == NULL || !bm_candidate_walk_joined(w, a, b)) &&
            !bm_candidate_walk_met(w, w->band, w->band, a, b))
            BM_TRY(bm_candidate_walk_emit(w, a, b, err));
    }
    return BM_OK;
}

/* Emit the rows of the bucket from `first` on. */
static bm_status pair_rows(walk *w, size_t first, bm_error *err)
{
    for (size_t i = first; i + 1 < w->n_members; i++) {
        /* a bucket may be huge and yet yield nothing new */
        if (i % ASK_ROWS == ASK_ROWS - 1)
            BM_TRY(bm_candidate_walk_check(w, err));
        BM_TRY(pair_row(w, i, err));
    }
    return BM_OK;
}

/* Do the bucket's documents lie in one group? */
static bool all_joined(const walk *w, const bm_band_buckets *buckets, uint32_t first)
{
    uint32_t root = bm_union_find_root(w->job.groups, first);
    for (uint32_t doc = buckets->next[first]; doc != BM_NO_DOC; doc = buckets->next[doc])
        if (bm_union_find_root(w->job.groups, doc) != root)
            return false;
    return true;
}

/* Emit the pairs of a small bucket but those of an earlier one that was small too. */
static bm_status pair_small(walk *w, const bm_crowded_buckets *crowded, bm_error *err)
{
    const bm_band_keyset *keys = w->job.keys;
    for (size_t i = 0; i < w->n_members; i++) {
        for (size_t j = i + 1; j < w->n_members; j++) {
            const uint32_t a = w->members[i], b = w->members[j];
            uint32_t band = 0;
            while (band < w->band &&
                   (bm_band_keyset_at(keys, band, a) != bm_band_keyset_at(keys, band, b) ||
                    bm_crowded_buckets_have(crowded, band, a)))
                band++;
            if (band == w->band)
                BM_TRY(bm_candidate_walk_emit(w, a, b, err));
        }
    }
    return BM_OK;
}

/* --- what is done with a bucket: one of four functions --- */

typedef bm_status (*bucket_fn)(walk *w, sinks *to, bm_error *err);

static bm_status every_pair(walk *w, sinks *to, bm_error *err)
{
    (void)to;
    return w->n_members == 2 || !all_met_before(w) ? pair_rows(w, 0, err) : BM_OK;
}

static bm_status keep_crowded(walk *w, sinks *to, bm_error *err)
{
    if (w->n_members > SMALL_BUCKET)
        return bm_crowded_buckets_keep(to->crowded, w, err);
    return to->crowded->n_buckets > 0 ? pair_small(w, to->crowded, err) : every_pair(w, to, err);
}

static bm_status star(walk *w, sinks *to, bm_error *err)
{
    (void)to;
    return w->n_members == 2 || !all_met_before(w) ? pair_row(w, 0, err) : BM_OK;
}

static bm_status after_star(walk *w, sinks *to, bm_error *err)
{
    if (w->n_members == 2 || all_met_before(w))
        return BM_OK;
    return w->n_members <= SMALL_BUCKET ? pair_rows(w, 1, err)
                                        : bm_bucket_join_run(&to->join, w, err);
}

static bm_status walk_band(walk *w, const bm_band_buckets *buckets, bucket_fn fn, sinks *to,
                           bm_error *err)
{
    for (size_t doc = 0; doc < buckets->n_docs; doc++) {
        if (buckets->next[doc] == BM_NO_DOC || buckets->inner[doc] != 0 ||
            (w->job.groups != NULL && all_joined(w, buckets, (uint32_t)doc)))
            continue;
        BM_TRY(gather(w, buckets, (uint32_t)doc, err));
        BM_TRY(fn(w, to, err));
    }
    return BM_OK;
}

static bm_status report(const walk *w, double began_s, bm_error *err)
{
    const bm_callbacks *callbacks = w->job.callbacks;
    BM_TRY(bm_candidate_walk_check(w, err));
    if (callbacks != NULL && callbacks->progress != NULL) {
        bm_progress progress = {.stage = "bucket",
                                .done = w->band,
                                .total = w->job.keys->bands,
                                .unit = "bands",
                                .n_docs = w->job.keys->n_docs,
                                .elapsed_s = bm_clock_seconds() - began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return BM_OK;
}

static bm_status fill(const walk *w, bm_band_buckets *buckets, bm_error *err)
{
    if (w->job.keys->labels == NULL)
        return bm_band_buckets_fill(buckets, w->job.keys->keys[w->band], err);
    bm_band_buckets_fill_labels(buckets, w->job.keys->labels[w->band]);
    return BM_OK;
}

static bm_status walk_bands(walk *w, bm_band_buckets *buckets, sinks *to, bm_error *err)
{
    double began_s = bm_clock_seconds();
    const bucket_fn fn = w->job.groups != NULL ? star
                         : to->crowded != NULL ? keep_crowded
                                               : every_pair;
    bm_status status = BM_OK;
    for (; status == BM_OK && w->band < w->job.keys->bands; w->band++) {
        status = report(w, began_s, err);
        if (status == BM_OK)
            status = fill(w, buckets, err);
        if (status == BM_OK)
            status = walk_band(w, buckets, fn, to, err);
        if (status != BM_OK || w->job.groups == NULL)
            continue;
        status = bm_candidate_walk_flush(w, err); /* the groups now know the stars */
        if (status == BM_OK)
            status = walk_band(w, buckets, after_star, to, err);
    }
    if (status == BM_OK)
        status = bm_candidate_walk_flush(w, err);
    return status == BM_OK ? report(w, began_s, err) : status;
}

static bm_status run(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                     bm_join_stats *stats, bm_error *err)
{
    size_t n_docs = job->keys->n_docs;
    if (n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n_docs,
                       BM_DOCS_MAX);
    if (n_docs == 0)
        return BM_OK; /* there are no arrays of keys either */
    walk w = {.job = *job};
    bm_band_buckets buckets;
    sinks to = {.crowded = crowded};
    w.job.chunk = job->chunk == 0 ? CHUNK_DEFAULT : job->chunk;
    BM_TRY(bm_new(&w.pairs, w.job.chunk, err));
    bm_bucket_join_init(&to.join, n_docs);
    bm_status status = bm_band_buckets_init(&buckets, n_docs, job->keys->skip, job->pool, err);
    if (status == BM_OK) {
        status = walk_bands(&w, &buckets, &to, err);
        bm_band_buckets_reset(&buckets);
    }
    if (stats != NULL)
        *stats = to.join.stats;
    bm_bucket_join_reset(&to.join);
    bm_free(w.members);
    bm_free(w.pairs);
    return status;
}

bm_status bm_candidates(const bm_candidates_job *job, bm_error *err)
{
    return run(job, NULL, NULL, err);
}

bm_status bm_candidates_of_small(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                                 bm_error *err)
{
    return run(job, crowded, NULL, err);
}

bm_status bm_candidates_join(const bm_candidates_job *job, bm_join_stats *stats, bm_error *err)
{
    return run(job, NULL, stats, err);
}
