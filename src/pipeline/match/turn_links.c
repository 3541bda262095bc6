/* turn_links.c -- CSR lists of neighbours, or each edge twice through sorted runs.
 *
 * Tests: tests/unit/match/test_turn_links.c, tests/unit/match/test_grouping.c */
#include "pipeline/match/turn_links.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/pair_order.h"

/* Add each edge of the runs twice, sorted by the place of one end among the turns. */
static bm_status sort_by_turn(bm_sorted_runs *edges, const uint32_t *place, bm_sorted_runs *by_turn,
                              bm_error *err)
{
    bm_run_record edge;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sorted_runs_begin(edges, err));
    for (;;) {
        BM_TRY_OUT(bm_sorted_runs_next(edges, &edge, err));
        bm_pair pair = bm_pair_of_key(edge.key, edge.value);
        BM_TRY_OUT(
            bm_sorted_runs_add(by_turn, bm_pair_key(place[pair.a], pair.b), edge.value, err));
        BM_TRY_OUT(
            bm_sorted_runs_add(by_turn, bm_pair_key(place[pair.b], pair.a), edge.value, err));
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

static bm_status open_runs(const bm_match *match, bm_turn_links *out, bm_error *err)
{
    const bm_corpus_cfg *cfg = &match->settings.corpus->cfg;
    const bm_turns *turns = out->turns;
    uint32_t *place = NULL;
    BM_TRY(bm_new(&place, turns->n, err));
    for (size_t i = 0; i < turns->n_order; i++)
        place[turns->order[i]] = (uint32_t)i;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_sorted_runs_open(cfg->temp_dir, (size_t)cfg->budget.arena / 2, &out->by_turn, err));
    status = sort_by_turn(match->result.edges.runs, place, out->by_turn, err);
out:
    bm_free(place);
    return status == BM_OK ? next_link(out, err) : status;
}

bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links_with with,
                             bm_turn_links *out, bm_error *err)
{
    const bm_edges *edges = &match->result.edges;
    *out = (bm_turn_links){.turns = turns};
    if (edges->runs != NULL)
        return open_runs(match, out, err);
    const bm_pair_list list = {.pairs = edges->list, .n = edges->n, .n_docs = turns->n};
    return bm_neighbours_make(
        list, with == BM_TURN_LINKS_ALIKE ? BM_NEIGHBOURS_AND_SIMILARITIES : BM_NEIGHBOURS_DOCS,
        &out->neighbours, err);
}

bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err)
{
    bm_status status = BM_OK;
    *n = 0;
    if (links->by_turn == NULL) {
        const size_t doc = links->turns->order[turn], begin = links->neighbours.begins[doc];
        *docs = links->neighbours.docs + begin;
        *n = links->neighbours.begins[doc + 1] - begin;
        if (links->neighbours.similarities != NULL)
            links->similarities = links->neighbours.similarities + begin;
        return BM_OK;
    }
    while (!links->ended && links->link.key >> 32 == turn) {
        BM_TRY_OUT(bm_grow_array(&links->docs, &links->cap, *n + 1, err));
        BM_TRY_OUT(bm_grow_array(&links->docs_alike, &links->cap_alike, *n + 1, err));
        links->docs_alike[*n] = bm_edge_similarity(links->link.value);
        links->docs[(*n)++] = (uint32_t)links->link.key;
        BM_TRY_OUT(next_link(links, err));
    }
out:
    *docs = links->docs;
    links->similarities = links->docs_alike;
    return status;
}

void bm_turn_links_close(bm_turn_links *links)
{
    bm_neighbours_reset(&links->neighbours);
    bm_sorted_runs_close(links->by_turn);
    bm_free(links->docs);
    bm_free(links->docs_alike);
    *links = (bm_turn_links){0};
}
