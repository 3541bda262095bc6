/* holders.h -- which kept document holds each of the others (`verify` contained), and how much of it.
 *
 * Documents have their turns in the order of keeping. One that nobody before it holds is kept; it may hold those behind it that are
 * an edge with it. Of several the one that shares most shingles holds a document, of these the first in the order. Nothing follows
 * along a chain: only kept documents hold others. Known documents (known.h) are kept before all.
 *
 * Copies have the holder of their representative. Threads: one at a time. */
#ifndef BM_MATCH_HOLDERS_H
#define BM_MATCH_HOLDERS_H

#include "lsh/turns.h"
#include "lsh/band_buckets.h"
#include "match/edges.h"
#include "match/group_columns.h"

#define BM_HELD_BY_KNOWN (UINT32_MAX - 1) /* a holder that is no document of the job */

typedef struct bm_holders {
    const bm_match *match;    /* borrowed, like those below */
    const bm_keep_rank *rank; /* of documents */
    const bm_turns *turns;
    uint32_t *docs;   /* of each representative: its holder; BM_NO_DOC: none so far */
    uint32_t *shared; /* how many shingles it shares with it */
} bm_holders;

/* Nobody is held but by known documents. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_holders_init(const bm_match *match, const bm_keep_rank *rank, const bm_turns *turns,
                          bm_holders *out, bm_error *err);
void bm_holders_reset(bm_holders *holders);
/* Two representatives of this similarity are an edge, and `kept` is kept: it holds `doc`, where that comes later, it has enough of
 * it, and nobody has more. */
void bm_holders_offer(bm_holders *holders, uint32_t kept, uint32_t doc, double similarity);
/* Is all of it held, so that nobody can have more? */
static inline bool bm_holders_have_all(const bm_holders *holders, uint32_t doc)
{
    return holders->shared[doc] == holders->match->settings.corpus->sizes[doc];
}

/* Labels, kept ones, known ones and similarities of a grouping, from the edges that matching has found. */
bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err);

#endif
