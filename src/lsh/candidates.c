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
 * Bucketing uses the pool; enumeration runs on the calling thread between, so that `fn` may use the
 * pool itself. Memory: 13 bytes a document, the largest bucket's numbers, and one chunk. */
#include "lsh/candidates.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/band_buckets.h"

#define CHUNK_DEFAULT 65536u
#define ASK_ROWS      1024u /* rows of a bucket between two questions whether to stop */

typedef struct walk {
    const bm_band_keyset *keys;
    uint32_t band;
    uint32_t *members; /* of the bucket at hand */
    size_t n_members, cap_members;
    bm_pair *pairs;
    size_t n_pairs, chunk;
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks;
} walk;

static bm_status stop_if_asked(const walk *w, bm_error *err)
{
    const bm_callbacks *callbacks = w->callbacks;
    if (callbacks != NULL && callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    return BM_OK;
}

static bm_status flush(walk *w, bm_error *err)
{
    bm_status status = stop_if_asked(w, err);
    if (status != BM_OK || w->n_pairs == 0)
        return status;
    size_t n = w->n_pairs;
    w->n_pairs = 0;
    return w->fn(w->ctx, w->pairs, n, err);
}

static bool met_before(const walk *w, uint32_t a, uint32_t b)
{
    for (uint32_t band = 0; band < w->band; band++)
        if (w->keys->keys[band][a] == w->keys->keys[band][b])
            return true;
    return false;
}

/* All documents of the bucket share the key of one earlier band. */
static bool all_met_before(const walk *w)
{
    for (uint32_t band = 0; band < w->band; band++) {
        const uint64_t *keys = w->keys->keys[band];
        size_t i = 1;
        while (i < w->n_members && keys[w->members[i]] == keys[w->members[0]])
            i++;
        if (i == w->n_members)
            return true;
    }
    return false;
}

static bm_status pair_up(walk *w, bm_error *err)
{
    for (size_t i = 0; i + 1 < w->n_members; i++) {
        uint32_t a = w->members[i];
        if (i % ASK_ROWS == ASK_ROWS - 1) { /* a bucket may be huge and yet yield nothing new */
            bm_status status = stop_if_asked(w, err);
            if (status != BM_OK)
                return status;
        }
        for (size_t j = i + 1; j < w->n_members; j++) {
            uint32_t b = w->members[j];
            if (met_before(w, a, b))
                continue;
            w->pairs[w->n_pairs++] = (bm_pair){.a = a, .b = b, .similarity = NAN};
            if (w->n_pairs < w->chunk)
                continue;
            bm_status status = flush(w, err);
            if (status != BM_OK)
                return status;
        }
    }
    return BM_OK;
}

static bm_status gather(walk *w, const bm_band_buckets *buckets, uint32_t first, bm_error *err)
{
    w->n_members = 0;
    for (uint32_t doc = first; doc != BM_NO_DOC; doc = buckets->next[doc]) {
        if (w->n_members == w->cap_members) {
            void *members = w->members;
            bm_status status =
                bm_grow(&members, &w->cap_members, w->n_members + 1, sizeof *w->members, err);
            w->members = members;
            if (status != BM_OK)
                return status;
        }
        w->members[w->n_members++] = doc;
    }
    return BM_OK;
}

static bm_status walk_band(walk *w, const bm_band_buckets *buckets, bm_error *err)
{
    for (size_t doc = 0; doc < buckets->n_docs; doc++) {
        if (buckets->next[doc] == BM_NO_DOC || buckets->inner[doc] != 0)
            continue;
        bm_status status = gather(w, buckets, (uint32_t)doc, err);
        if (status == BM_OK && (w->n_members == 2 || !all_met_before(w)))
            status = pair_up(w, err);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

static bm_status report(const walk *w, double began_s, bm_error *err)
{
    const bm_callbacks *callbacks = w->callbacks;
    bm_status status = stop_if_asked(w, err);
    if (status == BM_OK && callbacks != NULL && callbacks->progress != NULL) {
        bm_progress progress = {.stage = "bucket",
                                .done = w->band,
                                .total = w->keys->bands,
                                .unit = "bands",
                                .n_docs = w->keys->n_docs,
                                .elapsed_s = bm_clock_seconds() - began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return status;
}

bm_status bm_candidates(const bm_band_keyset *keys, bm_pool *pool, size_t chunk,
                        bm_candidates_fn fn, void *ctx, const bm_callbacks *callbacks,
                        bm_error *err)
{
    if (keys->n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", keys->n_docs,
                       BM_DOCS_MAX);
    if (keys->n_docs == 0)
        return BM_OK; /* there are no arrays of keys either */
    walk w = {.keys = keys, .fn = fn, .ctx = ctx, .callbacks = callbacks};
    double began_s = bm_clock_seconds();
    bm_band_buckets buckets;
    w.chunk = chunk == 0 ? CHUNK_DEFAULT : chunk;
    w.pairs = bm_alloc(w.chunk, sizeof *w.pairs);
    if (w.pairs == NULL)
        return bm_fail_nomem(err, w.chunk * sizeof *w.pairs);
    bm_status status = bm_band_buckets_init(&buckets, keys->n_docs, keys->skip, pool, err);
    if (status != BM_OK) {
        bm_free(w.pairs);
        return status;
    }
    for (; status == BM_OK && w.band < keys->bands; w.band++) {
        status = report(&w, began_s, err);
        if (status == BM_OK)
            status = bm_band_buckets_fill(&buckets, keys->keys[w.band], err);
        if (status == BM_OK)
            status = walk_band(&w, &buckets, err);
    }
    if (status == BM_OK)
        status = flush(&w, err);
    if (status == BM_OK)
        status = report(&w, began_s, err);
    bm_band_buckets_reset(&buckets);
    bm_free(w.members);
    bm_free(w.pairs);
    return status;
}
