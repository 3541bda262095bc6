/* match_stars.c -- documents take their turns while edges are still being found.
 *
 * Pairs of a centre gather in a chunk, so that many are verified at once. Whether a document of them
 * is taken is known only then: so the chunk is verified before that document's own turn, and before
 * a later centre takes it by an edge that is known already. Who is taken is what it would be if each
 * pair were verified at once; so edges and counts are the same for any threads.
 *
 * Tests: tests/unit/match/test_match_stars.c */
#include "match/match_stars.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/candidates.h"
#include "lsh/stars.h"
#include "match/holders.h"
#include "match/turn_links.h"

#define ASK_TURNS 4096u /* between two questions whether to stop */

typedef struct star_walk {
    bm_match *match;
    bm_turns turns;
    bm_holders *holders; /* NULL: stars */
    bm_crowded_buckets crowded;
    bm_candidate_walk pairs;
} star_walk;

static void take(star_walk *s, uint32_t centre, uint32_t doc)
{
    if (s->turns.centres[doc] != BM_NOT_TAKEN)
        return;
    bm_star_take(s->turns.centres, centre, doc);
    bm_crowded_buckets_leave(&s->crowded, doc);
}

/* The kept document and another are an edge. That of which all is held needs no pairs any more; others wait for who holds more. */
static void hold(star_walk *s, uint32_t kept, uint32_t doc, double similarity)
{
    bm_holders_offer(s->holders, kept, doc, similarity);
    if (bm_holders_have_all(s->holders, doc))
        take(s, kept, doc);
}

/* A bm_candidates_fn: each pair is of a centre and a document that has not had its turn. */
static bm_status verify(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    star_walk *s = ctx;
    BM_TRY(bm_edges_compare(s->match, pairs, n, err));
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = pairs[i].a, b = pairs[i].b;
        const bool a_is_centre = s->turns.centres[a] == a;
        const uint32_t centre = a_is_centre ? a : b, doc = a_is_centre ? b : a;
        s->crowded.waiting[doc] = 0;
        if (!isnan(pairs[i].similarity) && pairs[i].similarity < s->match->settings.threshold)
            continue;
        if (s->holders != NULL)
            hold(s, centre, doc, pairs[i].similarity);
        else
            take(s, centre, doc);
    }
    return BM_OK;
}

/* The turn of a document that nobody took. */
static bm_status be_centre(star_walk *s, uint32_t doc, const uint32_t *near, size_t n,
                           bm_error *err)
{
    bool waits = false;
    for (size_t i = 0; i < n; i++)
        waits = waits || s->crowded.waiting[near[i]] != 0;
    if (waits)
        BM_TRY(bm_candidate_walk_flush(&s->pairs, err));
    for (size_t i = 0; i < n; i++)
        take(s, doc, near[i]);
    return bm_crowded_buckets_row(&s->crowded, &s->pairs, doc, err);
}

static bm_status walk_turns(star_walk *s, bm_turn_links *links, bm_error *err)
{
    for (size_t i = 0; i < s->turns.n_order; i++) {
        const uint32_t doc = s->turns.order[i], *near;
        size_t n;
        if (i % ASK_TURNS == ASK_TURNS - 1)
            BM_TRY(bm_candidate_walk_check(&s->pairs, err));
        BM_TRY(bm_turn_links_next(links, i, &near, &n, err));
        if (s->crowded.waiting[doc] != 0)
            BM_TRY(bm_candidate_walk_flush(&s->pairs, err));
        if (s->holders != NULL && s->holders->docs[doc] != BM_NO_DOC)
            take(s, s->holders->docs[doc], doc);
        if (!bm_star_begin(s->turns.centres, doc))
            continue;
        bm_crowded_buckets_leave(&s->crowded, doc);
        if (s->holders == NULL) {
            BM_TRY(be_centre(s, doc, near, n, err));
            continue;
        }
        for (size_t k = 0; k < n; k++)
            hold(s, doc, near[k], links->similarities[k]);
        BM_TRY(bm_crowded_buckets_row(&s->crowded, &s->pairs, doc, err));
    }
    return bm_candidate_walk_flush(&s->pairs, err);
}

static bm_status walk_crowded(star_walk *s, const bm_candidates_job *job, bm_error *err)
{
    const bm_corpus *corpus = s->match->settings.corpus;
    bm_turn_links links = {0};
    bm_holders holders = {0};
    s->pairs.job = *job;
    s->pairs.job.fn = verify;
    s->pairs.job.ctx = s;
    BM_TRY(bm_new(&s->pairs.pairs, job->chunk, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turns_make(s->match->settings.stars, corpus->rep, corpus->n, &s->turns, err));
    BM_TRY_OUT(bm_crowded_buckets_begin_rows(&s->crowded, job->keys->bands, s->turns.centres, err));
    if (s->match->settings.verify == BM_VERIFY_CONTAINED) {
        s->holders = &holders;
        BM_TRY_OUT(bm_holders_init(s->match, s->match->settings.stars, &s->turns, &holders, err));
    }
    BM_TRY_OUT(bm_turn_links_open(s->match, &s->turns, &links, err));
    status = walk_turns(s, &links, err);
out:
    bm_turn_links_close(&links);
    bm_holders_reset(&holders);
    return status;
}

bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err)
{
    star_walk s = {.match = match};
    bm_crowded_buckets_init(&s.crowded, match->settings.corpus->n);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_candidates_of_small(job, &s.crowded, err));
    if (s.crowded.n_buckets > 0)
        BM_TRY_OUT(walk_crowded(&s, job, err));
out:
    *stats = s.crowded.stats;
    bm_crowded_buckets_reset(&s.crowded);
    bm_turns_reset(&s.turns);
    bm_free(s.pairs.pairs);
    return status;
}
