/* bridges.c -- Tarjan's low points, depth first on a stack of our own.
 *
 * Documents are numbered as they are met. low[d] is the least number that d and what lies below it
 * reach by one link upwards other than the link they were met by. A child c of d with low[c] >
 * number[d] hangs on a bridge; one with low[c] >= number[d] is parted from the rest when d goes.
 * The first document of a component has nothing above it, so it parts only its children from each
 * other. Two pairs of the same documents are two links, so neither is a bridge.
 *
 * Linear; 36 bytes a document. Pure. */
#include "lsh/bridges.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define NOT_SEEN UINT32_MAX

typedef struct visit {
    const bm_link_graph *graph;
    uint32_t *number, *low;
    uint32_t *below; /* documents at and below each */
    uint32_t *parts; /* children that are parted from the rest without it */
    size_t *next;    /* of each: the next link to look at */
    size_t *came_by; /* of each: the pair by which it was met */
    uint32_t *stack;
    uint32_t met;
    bm_bridges *out;
} visit;

static void meet(visit *v, uint32_t doc, size_t pair)
{
    v->number[doc] = v->low[doc] = v->met++;
    v->below[doc] = 1;
    v->parts[doc] = 0;
    v->next[doc] = v->graph->begins[doc];
    v->came_by[doc] = pair;
}

static void lower(visit *v, uint32_t doc, uint32_t to)
{
    if (to < v->low[doc])
        v->low[doc] = to;
}

/* All below `child` was met: what that means for `doc`, from which `child` was met. */
static bm_status leave(visit *v, uint32_t child, uint32_t doc, bm_error *err)
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
        BM_TRY(leave(v, doc, v->stack[--depth], err));
    }
    v->parts[first] -= v->parts[first] > 0; /* there is no rest above it */
    for (size_t i = first_bridge; i < v->out->n_bridges; i++) {
        bm_bridge *bridge = &v->out->bridges[i];
        *(bridge->n_a == 0 ? &bridge->n_a : &bridge->n_b) =
            v->below[first] - (bridge->n_a + bridge->n_b);
    }
    return BM_OK;
}

static bm_status take_articulation_points(const visit *v, bm_error *err)
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
    return take_articulation_points(v, err);
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
    bm_free(numbers);
    bm_free(places);
    if (status == BM_OK)
        *out = found;
    else
        bm_bridges_reset(&found);
    return status;
}

void bm_bridges_reset(bm_bridges *bridges)
{
    bm_free(bridges->bridges);
    bm_free(bridges->articulation_points);
    memset(bridges, 0, sizeof *bridges);
}
