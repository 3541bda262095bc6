/* min_cut.c -- maximum flow with unit capacities (Dinic), then what its residual leaves with
 * `from`.
 *
 * A pair may carry one unit either way: flow +1 runs from a to b, -1 from b to a. Each phase puts
 * the documents into levels by their distance in the residual, and takes chains that go up a level
 * with each link until none is left; a link that led nowhere is not looked at again in that phase.
 * With unit capacities there are at most 2 sqrt(pairs) phases of linear work. The last phase
 * reaches exactly the documents on the near side of the cut nearest `from` (max-flow min-cut),
 * whichever flow was found.
 *
 * Chains are kept on a stack of our own: a group may be a chain of a million links. 16 bytes a
 * document, 1 a pair. Pure. */
#include "lsh/min_cut.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define NOT_SEEN UINT32_MAX

typedef struct flow {
    const bm_link_graph *graph;
    int8_t *of;      /* flow of each pair: -1, 0, 1 */
    uint32_t *level; /* in the residual */
    uint32_t *queue; /* documents to visit; later the documents of the chain */
    size_t *next;    /* of each document: the link to try */
} flow;

/* Can the pair carry a unit away from `doc`? */
static bool open_link(const flow *f, uint32_t doc, size_t pair)
{
    return f->graph->pairs[pair].a == doc ? f->of[pair] < 1 : f->of[pair] > -1;
}

static void push_unit(const flow *f, uint32_t doc, size_t pair)
{
    f->of[pair] = (int8_t)(f->of[pair] + (f->graph->pairs[pair].a == doc ? 1 : -1));
}

/* Set the levels of all documents that can be reached from `from`, and count these. True: `to` is
 * one of them. */
static bool set_levels(const flow *f, uint32_t from, uint32_t to, size_t *n_reached)
{
    const bm_link_graph *g = f->graph;
    size_t head = 0, tail = 0;
    memset(f->level, 0xFF, g->n_docs * sizeof *f->level);
    f->queue[tail++] = from;
    f->level[from] = 0;
    while (head < tail) {
        uint32_t doc = f->queue[head++];
        f->next[doc] = g->begins[doc];
        for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++) {
            const bm_link *link = &g->links[i];
            if (f->level[link->doc] != NOT_SEEN || !open_link(f, doc, link->pair))
                continue;
            f->level[link->doc] = f->level[doc] + 1;
            f->queue[tail++] = link->doc;
        }
    }
    *n_reached = tail;
    return f->level[to] != NOT_SEEN;
}

/* Move f->next[doc] to the next link that goes up a level; false: there is none left. */
static bool find_step(const flow *f, uint32_t doc)
{
    const bm_link_graph *g = f->graph;
    for (; f->next[doc] < g->begins[doc + 1]; f->next[doc]++) {
        const bm_link *link = &g->links[f->next[doc]];
        if (f->level[link->doc] == f->level[doc] + 1 && open_link(f, doc, link->pair))
            return true;
    }
    return false;
}

/* Send a unit along each chain that the levels have, until there is none left. f->queue holds the
 * documents of the chain, f->next the links. */
static void block(const flow *f, uint32_t from, uint32_t to)
{
    const bm_link_graph *g = f->graph;
    uint32_t *chain = f->queue;
    size_t n = 0; /* links so far */
    chain[0] = from;
    for (;;) {
        uint32_t doc = chain[n];
        if (doc == to) {
            for (size_t i = 0; i < n; i++)
                push_unit(f, chain[i], g->links[f->next[chain[i]]].pair);
            n = 0;
        } else if (find_step(f, doc)) {
            chain[++n] = g->links[f->next[doc]].doc;
        } else if (n > 0) {
            f->next[chain[--n]]++; /* it led nowhere */
        } else {
            return;
        }
    }
}

/* The pairs between documents that can still be reached and those that cannot. */
static bm_status take_cut(const flow *f, size_t n_near, bm_cut *out, bm_error *err)
{
    const bm_link_graph *g = f->graph;
    bm_cut cut = {.n_near = n_near};
    for (size_t i = 0; i < g->n_pairs; i++)
        cut.n += (f->level[g->pairs[i].a] == NOT_SEEN) != (f->level[g->pairs[i].b] == NOT_SEEN);
    BM_TRY(bm_new(&cut.pairs, cut.n, err));
    cut.n = 0;
    for (size_t i = 0; i < g->n_pairs; i++)
        if ((f->level[g->pairs[i].a] == NOT_SEEN) != (f->level[g->pairs[i].b] == NOT_SEEN))
            cut.pairs[cut.n++] = i;
    *out = cut;
    return BM_OK;
}

bm_status bm_min_cut(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_cut *out,
                     bm_error *err)
{
    flow f = {.graph = graph};
    bm_status status = BM_OK;
    if (from == to)
        return bm_fail(err, BM_ERR_USAGE, "a document cannot be parted from itself");
    f.of = bm_alloc_zero(graph->n_pairs, sizeof *f.of);
    f.level = bm_alloc(graph->n_docs, sizeof *f.level);
    f.queue = bm_alloc(graph->n_docs, sizeof *f.queue);
    f.next = bm_alloc(graph->n_docs, sizeof *f.next);
    if (f.of == NULL || f.level == NULL || f.queue == NULL || f.next == NULL) {
        status = bm_fail_nomem(err, graph->n_docs * 16 + graph->n_pairs);
    } else {
        size_t n_near;
        while (set_levels(&f, from, to, &n_near))
            block(&f, from, to);
        status = take_cut(&f, n_near, out, err);
    }
    bm_free(f.of);
    bm_free(f.level);
    bm_free(f.queue);
    bm_free(f.next);
    return status;
}

void bm_cut_reset(bm_cut *cut)
{
    bm_free(cut->pairs);
    memset(cut, 0, sizeof *cut);
}
