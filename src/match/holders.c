/* holders.c -- one walk over the turns and the edges of each kept document.
 *
 * How many shingles two documents share follows from the similarity of their edge (bm_jaccard_common).
 *
 * Tests: tests/unit/match/test_holders.c, tests/reference/test_contained.py */
#include "match/holders.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"
#include "match/known_groups.h"
#include "match/turn_links.h"

static void hold_by_known(bm_holders *h)
{
    const bm_known *known = h->match->settings.known;
    for (size_t i = 0; known != NULL && i < known->n; i++) {
        if (known->best[i] == BM_NO_KNOWN)
            continue;
        h->docs[i] = BM_HELD_BY_KNOWN;
        h->shared[i] =
            (uint32_t)bm_jaccard_common(known->similarities[i], h->match->settings.corpus->sizes[i],
                                        known->sizes[bm_known_place(known, known->best[i])]);
    }
}

bm_status bm_holders_init(const bm_match *match, const bm_keep_rank *rank, const bm_turns *turns,
                          bm_holders *out, bm_error *err)
{
    const size_t n = match->settings.corpus->n;
    *out = (bm_holders){.match = match, .rank = rank, .turns = turns};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&out->docs, n, err));
    BM_TRY_OUT(bm_new_zero(&out->shared, n, err));
    for (size_t i = 0; i < n; i++)
        out->docs[i] = BM_NO_DOC;
    hold_by_known(out);
out:
    if (status != BM_OK)
        bm_holders_reset(out);
    return status;
}

void bm_holders_reset(bm_holders *holders)
{
    bm_free(holders->docs);
    bm_free(holders->shared);
    *holders = (bm_holders){0};
}

/* The place of a representative among the turns is that of the best of its copies. */
static uint32_t place_of(const bm_holders *h, uint32_t doc)
{
    return bm_keep_rank_of(h->rank, h->turns->best[doc]);
}

void bm_holders_offer(bm_holders *h, uint32_t kept, uint32_t doc, double similarity)
{
    const uint32_t *sizes = h->match->settings.corpus->sizes, had = h->docs[doc];
    if (place_of(h, doc) < place_of(h, kept))
        return;
    const uint32_t shared = (uint32_t)bm_jaccard_common(similarity, sizes[doc], sizes[kept]);
    if (shared < bm_share_least(h->match->settings.share, sizes[doc]) || shared < h->shared[doc])
        return;
    if (shared == h->shared[doc] &&
        (had == BM_HELD_BY_KNOWN || place_of(h, had) < place_of(h, kept)))
        return;
    h->docs[doc] = kept;
    h->shared[doc] = shared;
}

static bm_status walk_turns(bm_holders *h, bm_error *err)
{
    bm_turn_links links;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turn_links_open(h->match, h->turns, &links, err));
    for (size_t i = 0; i < h->turns->n_order; i++) {
        const uint32_t doc = h->turns->order[i], *near;
        size_t n;
        BM_TRY_OUT(bm_turn_links_next(&links, i, &near, &n, err));
        for (size_t k = 0; h->docs[doc] == BM_NO_DOC && k < n; k++)
            bm_holders_offer(h, doc, near[k], links.similarities[k]);
    }
out:
    bm_turn_links_close(&links);
    return status;
}

static void fill_in(const bm_holders *h, bm_grouping *out)
{
    const bm_corpus *corpus = h->match->settings.corpus;
    for (size_t i = 0; i < out->n; i++) {
        const uint32_t rep = corpus->rep[i], holder = h->docs[rep];
        const bool held = holder != BM_NO_DOC && holder != BM_HELD_BY_KNOWN;
        const uint32_t centre = held ? holder : rep;
        if (holder == BM_HELD_BY_KNOWN)
            out->known[i] = out->from->best[rep];
        out->label[i] = centre;
        out->kept[i] = h->turns->best[centre];
        out->similarity[i] =
            held ? bm_jaccard(h->shared[rep], corpus->sizes[rep], corpus->sizes[holder]) : 1.0;
    }
}

bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err)
{
    bm_turns turns;
    bm_holders holders = {0};
    bm_status status = BM_OK;
    BM_TRY(bm_turns_make(rank, match->settings.corpus->rep, out->n, &turns, err));
    BM_TRY_OUT(bm_holders_init(match, rank, &turns, &holders, err));
    BM_TRY_OUT(walk_turns(&holders, err));
    fill_in(&holders, out);
    if (out->from != NULL)
        BM_TRY_OUT(bm_known_take(out, err));
out:
    bm_holders_reset(&holders);
    bm_turns_reset(&turns);
    return status;
}
