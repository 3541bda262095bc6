/* SPDX-License-Identifier: Apache-2.0 */
/* link_graph.c -- makes a graph of documents with sorted lists of neighbours, and finds its
 * bridges, minimum cuts and shortest chains.
 *
 * The lists are sorted without a sort, by transposing the unsorted lists. Each document u, in
 * ascending order, is appended to the lists of all its neighbours. So every list is filled in
 * ascending order, and pairs of the same two documents keep their order. This takes time linear in
 * documents and pairs. The graph needs 16 bytes for each direction of a pair, and 12 more while it
 * is built.
 *
 * Pure. Any number of threads may read the graph once it is built.
 *
 * Tests: tests/reference/test_groups.py, tests/unit/lsh/test_link_graph.c */
#include "lsh/link_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

static bm_status check(const bm_pair *pairs, size_t n_pairs, size_t n_docs, bm_error *err)
{
    if (n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", n_docs,
                             BM_DOCS_MAX);
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].a >= n_docs || pairs[i].b >= n_docs || pairs[i].a == pairs[i].b)
            return bm_fail(err, BM_ERR_INPUT,
                           "pair %zu joins documents %u and %u (two of %zu, from 0)", i, pairs[i].a,
                           pairs[i].b, n_docs);
    return BM_OK;
}

/* Transpose the lists of `n` into g->links. `next` is work memory. */
static void fill(const bm_link_graph *g, const bm_neighbours *n, size_t *next)
{
    memcpy(next, g->begins, g->n_docs * sizeof *next);
    for (size_t doc = 0; doc < g->n_docs; doc++)
        for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++)
            g->links[next[n->docs[i]]++] = (bm_link){(uint32_t)doc, n->pairs[i]};
}

bm_status bm_link_graph_init(bm_link_graph *graph, const bm_pair *pairs, size_t n_pairs,
                             size_t n_docs, bm_error *err)
{
    bm_link_graph g = {.n_docs = n_docs, .n_pairs = n_pairs, .pairs = pairs};
    bm_neighbours neighbours = {0};
    bm_pair_list list = {.pairs = pairs, .n = n_pairs, .n_docs = n_docs};
    BM_TRY(check(pairs, n_pairs, n_docs, err));
    BM_TRY(bm_neighbours_make(list, BM_NEIGHBOURS_AND_PAIRS, &neighbours, err));
    size_t *next = bm_alloc(n_docs + 1, sizeof *next);
    g.links = bm_alloc(n_pairs, 2 * sizeof *g.links);
    bm_status status = BM_OK;
    if (next == NULL || g.links == NULL) {
        status = bm_fail_nomem(err, n_pairs * 4 * sizeof *g.links);
        bm_free(g.links);
    } else {
        g.begins = neighbours.begins; /* the transposed lists begin at the same indexes */
        neighbours.begins = NULL;
        fill(&g, &neighbours, next);
        *graph = g;
    }
    bm_free(next);
    bm_neighbours_reset(&neighbours);
    return status;
}

void bm_link_graph_reset(bm_link_graph *graph)
{
    bm_free_all(graph->begins, graph->links);
    memset(graph, 0, sizeof *graph);
}

size_t bm_link_graph_find(const bm_link_graph *graph, uint32_t a, uint32_t b)
{
    const size_t end = graph->begins[a + 1];
    bm_bisect at = {graph->begins[a], end};
    while (at.low < at.high)
        bm_bisect_go(&at, graph->links[bm_middle(&at)].doc < b);
    const bm_link *found = &graph->links[at.low];
    return at.low < end && found->doc == b ? found->pair : SIZE_MAX;
}

/* === neighbours ===
 *
 * Counts the neighbours, sums the counts up, and fills the lists.
 *
 * While the lists are filled, begins[doc + 1] is the index for the next neighbour of `doc`. At the
 * end it is the end of the document's list, and the begin of the next list. So no second array of
 * indexes is needed.
 *
 * Takes time linear in documents and pairs. Pure. Any number of threads may read the lists once
 * they are made. */

/* For each document `doc`: count the neighbours in begins[doc + 2]. Then set begins[doc + 1] to the
 * index at which the list of `doc` begins. */
static void sum_up(bm_pair_list list, size_t *begins)
{
    for (size_t i = 0; i < list.n; i++) {
        begins[list.pairs[i].a + (size_t)2]++;
        begins[list.pairs[i].b + (size_t)2]++;
    }
    for (size_t doc = 0; doc < list.n_docs; doc++)
        begins[doc + 2] += begins[doc + 1];
}

static void neighbours_fill(bm_pair_list list, const bm_neighbours *to)
{
    for (size_t i = 0; i < list.n; i++) {
        uint32_t a = list.pairs[i].a, b = list.pairs[i].b;
        size_t at_a = to->begins[a + (size_t)1]++, at_b = to->begins[b + (size_t)1]++;
        to->docs[at_a] = b;
        to->docs[at_b] = a;
        if (to->pairs != NULL)
            to->pairs[at_a] = to->pairs[at_b] = i;
    }
}

bm_status bm_neighbours_make(bm_pair_list list, bm_neighbours_with with, bm_neighbours *out,
                             bm_error *err)
{
    const bool numbers = with == BM_NEIGHBOURS_AND_PAIRS;
    out->begins = bm_alloc_zero(list.n_docs + 2, sizeof *out->begins);
    out->docs = bm_alloc(list.n, 2 * sizeof *out->docs);
    out->pairs = numbers ? bm_alloc(list.n, 2 * sizeof *out->pairs) : NULL;
    if (out->begins == NULL || out->docs == NULL || (numbers && out->pairs == NULL)) {
        bm_neighbours_reset(out);
        return bm_fail_nomem(err, list.n_docs * sizeof *out->begins + list.n * 8);
    }
    sum_up(list, out->begins);
    neighbours_fill(list, out);
    return BM_OK;
}

void bm_neighbours_reset(bm_neighbours *neighbours)
{
    bm_free_all(neighbours->begins, neighbours->docs, neighbours->pairs);
    memset(neighbours, 0, sizeof *neighbours);
}

/* === bridges ===
 *
 * Tarjan's low points, by a depth-first search with an explicit stack.
 *
 * Documents are numbered in the order in which they are met. low[d] is the least number that one
 * link can reach from d, or from a document below d. The link by which d was met is excluded. If
 * low[c] > number[d] for a child c of d, the link between them is a bridge. If low[c] >= number[d],
 * removing d separates c from the rest. The first document of a component has no documents above
 * it, so its removal only separates its children from each other. Two pairs of the same documents
 * are two links, so neither is a bridge.
 *
 * Linear; 36 bytes a document. Pure. */

#define NOT_SEEN UINT32_MAX

typedef struct visit {
    const bm_link_graph *graph;
    uint32_t *number, *low;
    uint32_t *below; /* for each document: how many documents are below it, including itself */
    uint32_t *parts; /* for each document: number of children that its removal separates from the
                        rest */
    size_t *next;    /* for each document: its next link to follow */
    size_t *came_by; /* for each document: the pair by which it was met */
    uint32_t *stack;
    uint32_t met;
    bm_bridges *out;
} visit;

static void meet(visit *v, uint32_t doc, size_t pair)
{
    const uint32_t *weights = v->graph->weights;
    v->number[doc] = v->low[doc] = v->met++;
    v->below[doc] = weights != NULL ? weights[doc] : 1;
    v->parts[doc] = 0;
    v->next[doc] = v->graph->begins[doc];
    v->came_by[doc] = pair;
}

static void lower(visit *v, uint32_t doc, uint32_t to)
{
    if (to < v->low[doc])
        v->low[doc] = to;
}

/* Update `doc` after the walk over its child `child` and everything below the child. If the link
 * between the two is a bridge, record it. */
static bm_status finish_child(visit *v, uint32_t child, uint32_t doc, bm_error *err)
{
    bm_bridges *out = v->out;
    lower(v, doc, v->low[child]);
    v->below[doc] += v->below[child];
    v->parts[doc] += v->low[child] >= v->number[doc];
    if (v->low[child] <= v->number[doc])
        return BM_OK;
    BM_TRY(
        bm_grow(&out->bridges, &out->cap_bridges, out->n_bridges + 1, sizeof *out->bridges, err));
    size_t pair = v->came_by[child];
    bool child_is_a = v->graph->pairs[pair].a == child;
    out->bridges[out->n_bridges++] = (bm_bridge){.pair = pair,
                                                 .n_a = child_is_a ? v->below[child] : 0,
                                                 .n_b = child_is_a ? 0 : v->below[child]};
    return BM_OK;
}

static bm_status walk_component(visit *v, uint32_t first, bm_error *err)
{
    const bm_link_graph *g = v->graph;
    size_t depth = 0, first_bridge = v->out->n_bridges;
    meet(v, first, SIZE_MAX);
    v->stack[0] = first;
    for (;;) {
        uint32_t doc = v->stack[depth];
        if (v->next[doc] < g->begins[doc + 1]) {
            const bm_link *link = &g->links[v->next[doc]++];
            if (v->number[link->doc] == NOT_SEEN) {
                meet(v, link->doc, link->pair);
                v->stack[++depth] = link->doc;
            } else if (link->pair != v->came_by[doc]) {
                lower(v, doc, v->number[link->doc]);
            }
            continue;
        }
        if (depth == 0)
            break;
        BM_TRY(finish_child(v, doc, v->stack[--depth], err));
    }
    /* Nothing is above the first document, so only its children are parts that it separates. */
    v->parts[first] -= v->parts[first] > 0;
    for (size_t i = first_bridge; i < v->out->n_bridges; i++) {
        bm_bridge *bridge = &v->out->bridges[i];
        *(bridge->n_a == 0 ? &bridge->n_a : &bridge->n_b) =
            v->below[first] - (bridge->n_a + bridge->n_b);
    }
    return BM_OK;
}

static bm_status collect_articulation_points(const visit *v, bm_error *err)
{
    bm_bridges *out = v->out;
    for (size_t doc = 0; doc < v->graph->n_docs; doc++) {
        if (v->parts[doc] == 0)
            continue;
        size_t need = out->n_articulation_points + 1;
        BM_TRY(bm_grow(&out->articulation_points, &out->cap_articulation_points, need,
                       sizeof *out->articulation_points, err));
        out->articulation_points[out->n_articulation_points++] =
            (bm_articulation_point){(uint32_t)doc, v->parts[doc] + 1};
    }
    return BM_OK;
}

static int by_pair(const void *x, const void *y)
{
    size_t p = ((const bm_bridge *)x)->pair, q = ((const bm_bridge *)y)->pair;
    return p < q ? -1 : p > q;
}

static bm_status walk_all(visit *v, bm_error *err)
{
    size_t n = v->graph->n_docs;
    memset(v->number, 0xFF, n * sizeof *v->number);
    for (size_t doc = 0; doc < n; doc++) {
        if (v->number[doc] == NOT_SEEN)
            BM_TRY(walk_component(v, (uint32_t)doc, err));
    }
    if (v->out->n_bridges > 1)
        qsort(v->out->bridges, v->out->n_bridges, sizeof *v->out->bridges, by_pair);
    return collect_articulation_points(v, err);
}

bm_status bm_bridges_find(const bm_link_graph *graph, bm_bridges *out, bm_error *err)
{
    bm_bridges found = {0};
    size_t n = graph->n_docs;
    visit v = {.graph = graph, .out = &found};
    bm_status status;
    uint32_t *numbers = bm_alloc(n, 5 * sizeof *numbers);
    size_t *places = bm_alloc(n, 2 * sizeof *places);
    if (numbers == NULL || places == NULL) {
        status = bm_fail_nomem(err, n * 36);
    } else {
        v.number = numbers;
        v.low = numbers + n;
        v.below = numbers + 2 * n;
        v.parts = numbers + 3 * n;
        v.stack = numbers + 4 * n;
        v.next = places;
        v.came_by = places + n;
        status = walk_all(&v, err);
    }
    bm_free_all(numbers, places);
    if (status == BM_OK)
        *out = found;
    else
        bm_bridges_reset(&found);
    return status;
}

void bm_bridges_reset(bm_bridges *bridges)
{
    bm_free_all(bridges->bridges, bridges->articulation_points);
    memset(bridges, 0, sizeof *bridges);
}

/* === min cut ===
 *
 * Finds a maximum flow with unit capacities (Dinic). The cut separates the documents that can still
 * be reached from `from` in the residual graph.
 *
 * A pair can carry one unit in either direction: flow +1 runs from a to b, flow -1 from b to a.
 * Each phase sets the level of a document to its distance from `from` in the residual graph. Then
 * it looks for chains in which each link goes up one level, and sends a unit along each, until no
 * such chain is left. A link that turned out to be a dead end is not tried again in that phase.
 * With unit capacities there are at most 2 sqrt(pairs) phases of linear work. The last phase
 * reaches exactly the documents on the near side of the cut nearest `from` (max-flow min-cut),
 * whichever maximum flow was found.
 *
 * Chains are on an explicit stack, because a group may be a chain of a million links. Needs 16
 * bytes a document and 1 a pair. Pure. */

typedef struct flow {
    const bm_link_graph *graph;
    int8_t *of;      /* for each pair: its flow, -1, 0 or 1 */
    uint32_t *level; /* distance from `from` in the residual graph; NOT_SEEN: not reached */
    uint32_t *queue; /* documents to visit; in block(), the documents of the chain */
    size_t *next;    /* for each document: its next link to try */
} flow;

/* Can the pair carry one more unit away from `doc`? */
static bool open_link(const flow *f, uint32_t doc, size_t pair)
{
    return f->graph->pairs[pair].a == doc ? f->of[pair] < 1 : f->of[pair] > -1;
}

static void push_unit(const flow *f, uint32_t doc, size_t pair)
{
    f->of[pair] = (int8_t)(f->of[pair] + (f->graph->pairs[pair].a == doc ? 1 : -1));
}

/* Set the levels of all documents that can be reached from `from`. *n_reached becomes the number of
 * documents that these represent. Returns true if `to` was reached. */
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
    *n_reached = g->weights == NULL ? tail : 0;
    for (size_t i = 0; g->weights != NULL && i < tail; i++)
        *n_reached += g->weights[f->queue[i]];
    return f->level[to] != NOT_SEEN;
}

/* Move f->next[doc] to the next usable link that goes up a level. Returns false if no such link is
 * left. */
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

/* Send a unit along each chain that goes up the levels from `from` to `to`, until no such chain is
 * left. f->queue has the documents of the chain, f->next their links. */
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
            f->next[chain[--n]]++; /* a dead end */
        } else {
            return;
        }
    }
}

/* List the pairs between a document that can still be reached and one that cannot. */
static bm_status collect_cut(const flow *f, size_t n_near, bm_cut *out, bm_error *err)
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
        return bm_fail_field(err, "id_b", "a document cannot be parted from itself");
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
        status = collect_cut(&f, n_near, out, err);
    }
    bm_free_all(f.of, f.level, f.queue, f.next);
    return status;
}

void bm_cut_reset(bm_cut *cut)
{
    bm_free(cut->pairs);
    memset(cut, 0, sizeof *cut);
}

/* === shortest chain ===
 *
 * A breadth-first search from `to`, then one walk from `from`.
 *
 * far[d] is the number of links from d to `to`. The strength of a chain is its weakest similarity.
 * wide[d] is the strength of the strongest among the shortest chains from d to `to`. It is the
 * greatest min(similarity(d, u), wide[u]) over the neighbours u with far[u] = far[d] - 1. Documents
 * leave the queue in ascending order of `far`, so wide[u] is final when wide[d] is computed.
 *
 * At each step, the walk from `from` takes the first neighbour that begins the rest of a shortest
 * chain of at least the strength wide[from]. So the walk never goes back.
 *
 * Takes time linear in the documents and pairs of the component, and 16 bytes a document. Pure. */

#define UNKNOWN (-1.0)

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

/* Return the strength of the strongest of the shortest chains that begin with `link`. */
static double through(const search *s, const bm_link *link)
{
    double own = strength(s, link->pair), rest = s->wide[link->doc];
    return own < rest ? own : rest;
}

/* Fill `far` and `wide` until their values for `from` are final. */
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

/* Return the first link of `doc` that continues a shortest chain of at least the strength
 * `wanted`. */
static const bm_link *next_link(const search *s, uint32_t doc, double wanted)
{
    const bm_link_graph *g = s->graph;
    for (size_t i = g->begins[doc]; i < g->begins[doc + 1]; i++) {
        const bm_link *link = &g->links[i];
        if (s->far[link->doc] != NOT_SEEN && s->far[link->doc] + 1 == s->far[doc] &&
            through(s, link) >= wanted)
            return link;
    }
    return NULL; /* never reached, because wide[doc] came from one of the links */
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
    bm_free_all(s.far, s.queue, s.wide);
    return status;
}

void bm_chain_reset(bm_chain *chain)
{
    bm_free_all(chain->docs, chain->pairs);
    memset(chain, 0, sizeof *chain);
}
