/* crowded_buckets.c -- keeping buckets while bands come by, rows out of them afterwards.
 *
 * A row may meet the same document in several bands. It is emitted in the first of them whose bucket
 * is crowded and open, unless the two agree in a small bucket, where they were compared before.
 *
 * Tests: tests/unit/match/test_match_stars.c */
#include "lsh/crowded_buckets.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/bucket_join.h"
#include "lsh/stars.h"

#define MEMBER_BYTES 18u /* 12, and half as much again while arrays grow */

/* The state of a band for the centre of a row. */
enum { SMALL, CROWDED, WALKED, CLOSED };

void bm_crowded_buckets_init(bm_crowded_buckets *crowded, size_t n_docs)
{
    *crowded = (bm_crowded_buckets){.n_docs = n_docs};
}

void bm_crowded_buckets_reset(bm_crowded_buckets *crowded)
{
    bm_free(crowded->buckets);
    bm_free(crowded->members);
    bm_free(crowded->links);
    bm_free(crowded->heads);
    bm_free(crowded->band_states);
    bm_free(crowded->waiting);
    *crowded = (bm_crowded_buckets){0};
}

/* Room for n more members. */
static bm_status make_room(bm_crowded_buckets *c, const bm_candidates_job *job, size_t n,
                           bm_error *err)
{
    const size_t need = c->n_members + n;
    if (need >= UINT32_MAX)
        return bm_fail(err, BM_ERR_NOMEM, "too many documents in crowded buckets");
    if (c->heads == NULL && (c->heads = bm_alloc_zero(c->n_docs, sizeof *c->heads)) == NULL)
        return bm_fail_nomem(err, c->n_docs * sizeof *c->heads);
    if (need > c->cap_members && job->reserve != NULL)
        BM_TRY(job->reserve(job->ctx, c->n_docs * sizeof *c->heads + (uint64_t)need * MEMBER_BYTES,
                            err));
    BM_TRY(bm_grow_array(&c->members, &c->cap_members, need, err));
    BM_TRY(bm_grow_array(&c->links, &c->cap_links, need, err));
    return bm_grow_array(&c->buckets, &c->cap_buckets, c->n_buckets + 1, err);
}

bm_status bm_crowded_buckets_keep(bm_crowded_buckets *c, const bm_candidate_walk *w, bm_error *err)
{
    BM_TRY(make_room(c, &w->job, w->n_members, err));
    c->buckets[c->n_buckets] = (bm_crowded_bucket){.begin = c->n_members,
                                                   .end = c->n_members + w->n_members,
                                                   .left = bm_bucket_join_budget(w->n_members),
                                                   .n_live = (uint32_t)w->n_members,
                                                   .band = w->band};
    for (size_t i = 0; i < w->n_members; i++) {
        uint32_t *head = &c->heads[w->members[i]];
        c->members[c->n_members] = w->members[i];
        c->links[c->n_members] = (bm_crowded_link){(uint32_t)c->n_buckets, *head};
        *head = (uint32_t)++c->n_members;
    }
    c->n_buckets++;
    return BM_OK;
}

bool bm_crowded_buckets_have(const bm_crowded_buckets *c, uint32_t band, uint32_t doc)
{
    for (uint32_t at = c->heads == NULL ? 0 : c->heads[doc]; at != 0; at = c->links[at - 1].next)
        if (c->buckets[c->links[at - 1].bucket].band == band)
            return true;
    return false;
}

bm_status bm_crowded_buckets_begin_rows(bm_crowded_buckets *c, uint32_t bands,
                                        const uint32_t *centres, bm_error *err)
{
    c->centres = centres;
    c->band_states = bm_alloc_zero(bands, 1);
    c->waiting = bm_alloc_zero(c->n_docs, 1);
    return c->band_states != NULL && c->waiting != NULL ? BM_OK : bm_fail_nomem(err, c->n_docs);
}

void bm_crowded_buckets_leave(bm_crowded_buckets *c, uint32_t doc)
{
    for (uint32_t at = c->heads[doc]; at != 0; at = c->links[at - 1].next)
        c->buckets[c->links[at - 1].bucket].n_live--;
}

/* Were, or will the two be compared elsewhere? */
static bool met(const bm_crowded_buckets *c, const bm_candidate_walk *w, uint32_t a, uint32_t b)
{
    const bm_band_keyset *keys = w->job.keys;
    for (uint32_t band = 0; band < keys->bands; band++)
        if ((c->band_states[band] == SMALL || c->band_states[band] == WALKED) &&
            bm_band_keyset_at(keys, band, a) == bm_band_keyset_at(keys, band, b))
            return true;
    return false;
}

static bm_status walk_bucket(bm_crowded_buckets *c, bm_candidate_walk *w, bm_crowded_bucket *bucket,
                             uint32_t centre, bm_error *err)
{
    size_t kept = bucket->begin, i = bucket->begin;
    bm_status status = BM_OK;
    for (; i < bucket->end; i++) {
        const uint32_t doc = c->members[i];
        if (c->centres[doc] != BM_NOT_TAKEN)
            continue;
        c->members[kept++] = doc;
        if (met(c, w, centre, doc))
            continue;
        c->waiting[doc] = 1;
        BM_TRY_OUT(bm_candidate_walk_emit(w, centre, doc, err));
    }
out:
    bucket->end = kept;
    return status;
}

/* Close the bucket where the row is more than it may cost; then say that it was not compared. */
static bool is_closed(bm_crowded_buckets *c, bm_crowded_bucket *bucket)
{
    if (bucket->left >= (int64_t)bucket->n_live) {
        bucket->left -= (int64_t)bucket->n_live;
        return false;
    }
    c->stats.n_cut += bucket->left >= 0;
    c->stats.n_not_compared += bucket->n_live;
    bucket->left = -1;
    return true;
}

bm_status bm_crowded_buckets_row(bm_crowded_buckets *c, bm_candidate_walk *w, uint32_t centre,
                                 bm_error *err)
{
    const uint32_t head = c->heads[centre];
    bm_status status = BM_OK;
    for (uint32_t at = head; at != 0; at = c->links[at - 1].next) {
        bm_crowded_bucket *bucket = &c->buckets[c->links[at - 1].bucket];
        c->band_states[bucket->band] = is_closed(c, bucket) ? CLOSED : CROWDED;
    }
    for (uint32_t at = head; status == BM_OK && at != 0; at = c->links[at - 1].next) {
        bm_crowded_bucket *bucket = &c->buckets[c->links[at - 1].bucket];
        if (c->band_states[bucket->band] == CLOSED)
            continue;
        status = walk_bucket(c, w, bucket, centre, err);
        c->band_states[bucket->band] = WALKED;
    }
    for (uint32_t at = head; at != 0; at = c->links[at - 1].next)
        c->band_states[c->buckets[c->links[at - 1].bucket].band] = SMALL;
    return status;
}
