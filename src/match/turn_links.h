/* turn_links.h -- the edges that matching has found so far, as the neighbours of each document when
 * its turn comes. */
#ifndef BM_MATCH_TURN_LINKS_H
#define BM_MATCH_TURN_LINKS_H

#include "match/edges.h"
#include "lsh/turns.h"

typedef struct bm_turn_links {
    const bm_turns *turns; /* borrowed */
    bm_sorted_runs *by_turn;
    bm_run_record link; /* the next of by_turn */
    bool ended;         /* there is none */
    uint32_t *docs;     /* neighbours of the turn at hand */
    double *similarities;
    size_t cap, cap_alike;
} bm_turn_links;

/* The links are those of now: edges that are found later are not among them. Memory as edges.c and
 * the corpus allow. On failure `out` is good for close. */
bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err);
/* *docs and links->similarities: the neighbours of turns->order[turn], until the next call. Turns ascend, none is left out. */
bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err);
void bm_turn_links_close(bm_turn_links *links);

#endif
