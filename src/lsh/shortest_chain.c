/* shortest_chain.c -- breadth first from the far end, then one walk from the near one.
 *
 * far[d] is the number of links from d to `to`. wide[d] is the best weakest link of all shortest
 * chains from d to `to`: over the neighbours u with far[u] = far[d] - 1, the greatest
 * min(similarity(d, u), wide[u]). Documents leave the queue in ascending order of `far`, so wide[u]
 * is final when d asks for it. The walk from `from` then takes, at each step, the first neighbour
 * from which a shortest chain as strong as wide[from] goes on: no choice is ever taken back.
 *
 * Linear in the documents and pairs of the component; 16 bytes a document. Pure. */
#include "lsh/shortest_chain.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define NOT_SEEN UINT32_MAX
#define UNKNOWN  (-1.0)

typedef struct search {
    const bm_link_graph *graph;
    uint32_t *far, *queue;
    double *wide;
} search;

static double strength(const search *s, size_t pair)
{
    double similarity = s->graph->pairs[pair].similarity;
    return isnan(similarity) ? UNKNOWN : similarity;
}

/* The weakest link of the best shortest chain that begins with this link. */
static double through(const search *s, const bm_link *link)
{
    double own = strength(s, link->pair), rest = s->wide[link->doc];
    return own < rest ? own : rest;
}

/* Fill `far` and `wide`, until those of `from` are final. */
static void measure(const search *s, uint32_t from, uint32_t to)
{
    const bm_link_graph *g = s->graph;
    size_t head = 0, tail = 0;
    memset(s->far, 0xFF, g->n_docs * sizeof *s->far);
    s->queue[tail++] = to;
    s->far[to] = 0;
    s->wide[to] = INFINITY;
    while (head < tail) {
        uint32_t doc = s->queue[head++];
        double best = doc == to ? INFINITY : -INFINITY;
        for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++) {
            const bm_link *link = &g->links[i];
            if (s->far[link->doc] == NOT_SEEN) {
                s->far[link->doc] = s->far[doc] + 1;
                s->queue[tail++] = link->doc;
            } else if (s->far[link->doc] + 1 == s->far[doc]) {
                double chain = through(s, link);
                best = chain > best ? chain : best;
            }
        }
        s->wide[doc] = best;
        if (doc == from)
            return;
    }
}

/* The first link of `doc` that goes on along a best chain. */
static const bm_link *next_link(const search *s, uint32_t doc, double wanted)
{
    const bm_link_graph *g = s->graph;
    for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++) {
        const bm_link *link = &g->links[i];
        if (s->far[link->doc] != NOT_SEEN && s->far[link->doc] + 1 == s->far[doc] &&
            through(s, link) >= wanted)
            return link;
    }
    return NULL; /* never: wide[doc] came from one of them */
}

/* List the documents and pairs of the best chain. */
static bm_status walk(const search *s, uint32_t from, bm_chain *out, bm_error *err)
{
    size_t n = s->far[from];
    bm_chain chain = {.n_links = n};
    chain.docs = bm_alloc(n + 1, sizeof *chain.docs);
    chain.pairs = bm_alloc(n, sizeof *chain.pairs);
    if (chain.docs == NULL || chain.pairs == NULL) {
        bm_chain_reset(&chain);
        return bm_fail_nomem(err, n * (sizeof *chain.docs + sizeof *chain.pairs));
    }
    uint32_t doc = chain.docs[0] = from;
    for (size_t i = 0; i < n; i++) {
        const bm_link *link = next_link(s, doc, s->wide[from]);
        chain.pairs[i] = link->pair;
        doc = chain.docs[i + 1] = link->doc;
        if (strength(s, link->pair) < strength(s, chain.pairs[chain.weakest]))
            chain.weakest = i;
    }
    *out = chain;
    return BM_OK;
}

bm_status bm_shortest_chain(const bm_link_graph *graph, uint32_t from, uint32_t to, bm_chain *out,
                            bm_error *err)
{
    search s = {.graph = graph};
    bm_status status = BM_OK;
    s.far = bm_alloc(graph->n_docs, sizeof *s.far);
    s.queue = bm_alloc(graph->n_docs, sizeof *s.queue);
    s.wide = bm_alloc(graph->n_docs, sizeof *s.wide);
    if (s.far == NULL || s.queue == NULL || s.wide == NULL) {
        status = bm_fail_nomem(err, graph->n_docs * 2 * sizeof *s.wide);
    } else {
        measure(&s, from, to);
        if (s.far[from] == NOT_SEEN || from == to)
            *out = (bm_chain){0};
        else
            status = walk(&s, from, out, err);
    }
    bm_free(s.far);
    bm_free(s.queue);
    bm_free(s.wide);
    return status;
}

void bm_chain_reset(bm_chain *chain)
{
    bm_free(chain->docs);
    bm_free(chain->pairs);
    memset(chain, 0, sizeof *chain);
}
