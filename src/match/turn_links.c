/* turn_links.c -- each edge twice through sorted runs.
 *
 * Tests: tests/unit/match/test_turn_links.c, tests/unit/match/test_grouping.c */
#include "match/turn_links.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/pair_order.h"

/* Add each edge twice, sorted by the place of one end among the turns. */
static bm_status sort_by_turn(const bm_match *match, const uint32_t *place, bm_sorted_runs *by_turn,
                              bm_error *err)
{
    bm_pair edge;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_edges_begin(match, err));
    for (;;) {
        BM_TRY_OUT(bm_edges_next(match, &edge, err));
        const uint64_t bits = bm_edge_bits(edge.similarity);
        BM_TRY_OUT(bm_sorted_runs_add(by_turn, bm_pair_key(place[edge.a], edge.b), bits, err));
        BM_TRY_OUT(bm_sorted_runs_add(by_turn, bm_pair_key(place[edge.b], edge.a), bits, err));
    }
out:
    return status == BM_NOT_FOUND ? bm_sorted_runs_begin(by_turn, err) : status;
}

static bm_status next_link(bm_turn_links *links, bm_error *err)
{
    bm_status status = bm_sorted_runs_next(links->by_turn, &links->link, err);
    links->ended = status == BM_NOT_FOUND;
    return links->ended ? BM_OK : status;
}

bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err)
{
    uint32_t *place = NULL;
    *out = (bm_turn_links){.turns = turns};
    BM_TRY(bm_new(&place, turns->n, err));
    for (size_t i = 0; i < turns->n_order; i++)
        place[turns->order[i]] = (uint32_t)i;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_edges_open_runs(match->settings.corpus, &out->by_turn, err));
    BM_TRY_OUT(sort_by_turn(match, place, out->by_turn, err));
    status = next_link(out, err);
out:
    bm_free(place);
    return status;
}

bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err)
{
    bm_status status = BM_OK;
    *n = 0;
    while (!links->ended && links->link.key >> 32 == turn) {
        BM_TRY_OUT(bm_grow_array(&links->docs, &links->cap, *n + 1, err));
        BM_TRY_OUT(bm_grow_array(&links->similarities, &links->cap_alike, *n + 1, err));
        links->similarities[*n] = bm_edge_similarity(links->link.value);
        links->docs[(*n)++] = (uint32_t)links->link.key;
        BM_TRY_OUT(next_link(links, err));
    }
out:
    *docs = links->docs;
    return status;
}

void bm_turn_links_close(bm_turn_links *links)
{
    bm_sorted_runs_close(links->by_turn);
    bm_free(links->docs);
    bm_free(links->similarities);
    *links = (bm_turn_links){0};
}
