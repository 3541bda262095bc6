/* SPDX-License-Identifier: Apache-2.0 */
/* page_graph.c -- finds the links, bridges and articulation points of the largest chained group,
 * and draws it. Copies are one node. If the group is large, the drawing shows the kept document,
 * the ends of bridges and of the weakest links, and the paths to these ends. The remaining room is
 * for documents that are linked to these.
 *
 * Nodes are placed by springs: nodes repel each other, links attract, and everything is pulled to
 * the middle. The forces are those of Fruchterman and Reingold (1991): if k is the natural length
 * of a link, two nodes at distance d repel with k²/d, and a link attracts with d²/k. In each step
 * a node moves by at most the temperature, which falls. Nodes begin on a spiral, so that no two are
 * at the same point.
 *
 * Tests: tests/unit/report/test_page_graph.c, tests/cli/cases/report.sh,
 * tests/reference/test_report.py */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/link_copies.h"
#include "model/ids.h"
#include "inmem/finder.h"
#include "report/page.h"

#define NODES_MAX    120u  /* most documents to draw */
#define WEAKEST_MAX  10u   /* most links to list */
#define SETS_MAX     4096u /* most documents whose links are computed again */
#define BYTES_A_PAIR 88u   /* bytes for a pair and its share of the graph */
#define STEPS        300u  /* iterations of the springs */
#define NEAR         1e-9  /* squared distance below which nodes count as being at one point */
#define GRAVITY      0.06

/* --- members --- */

/* A bm_result_group_fn: loads the members of the group of the graph. If they do not fit into
 * memory, graph->why_not becomes the reason. */
static bm_status add_members(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    bm_page *p = ctx;
    bm_page_graph *graph = &p->graph;
    bm_group_members members = {.ids = &graph->ids, .most = p->settings->memory / 4};
    if (file->group != graph->group)
        return BM_OK;
    *stop = true;
    BM_TRY(bm_group_file_load(file, &members, err));
    if (!members.fits)
        graph->why_not = "its documents do not fit into the memory of this report";
    graph->known = members.kept == BM_ID_NONE;
    graph->kept = members.kept;
    return BM_OK;
}

/* --- links --- */

static uint64_t most_pairs(const bm_page *p)
{
    return p->settings->memory / BYTES_A_PAIR / 2;
}

static bm_status read_link(bm_page *p, bm_pair pair, bm_error *err)
{
    bm_page_graph *graph = &p->graph;
    if (graph->n_pairs >= most_pairs(p))
        graph->why_not = "its links do not fit into the memory of this report";
    if (graph->why_not != NULL)
        return BM_OK;
    BM_TRY(bm_grow_array(&graph->pairs, &graph->cap_pairs, graph->n_pairs + 1, err));
    graph->pairs[graph->n_pairs++] = pair;
    return BM_OK;
}

static bm_status add_pair(void *ctx, const bm_pair_file *row, bm_error *err)
{
    bm_page *p = ctx;
    const uint32_t a = bm_id_set_find(&p->graph.ids, row->id_a);
    const uint32_t b = a == BM_ID_NONE ? BM_ID_NONE : bm_id_set_find(&p->graph.ids, row->id_b);
    return b == BM_ID_NONE ? BM_OK : read_link(p, (bm_pair){a, b, row->similarity}, err);
}

bm_status bm_page_graph_load(bm_page *p, bm_error *err)
{
    bm_page_graph *graph = &p->graph;
    graph->group = p->largest_chained;
    if (graph->group == 0) {
        graph->why_not = "no document is chained";
        return BM_OK;
    }
    BM_TRY(bm_result_groups(&p->dir, add_members, p, err));
    if (graph->why_not != NULL)
        return BM_OK;
    if (p->has_pairs)
        return bm_result_pairs(&p->dir, add_pair, p, err);
    if (p->weighted || !p->has_texts)
        graph->why_not = "the directory has no pairs.tsv, which dedup `pairs` writes";
    else if (graph->ids.n > SETS_MAX)
        graph->why_not =
            "the directory has no pairs.tsv, which dedup `pairs` writes, and the group is too "
            "large to compute its links again";
    return graph->why_not != NULL ? BM_OK : bm_new_zero(&graph->members, graph->ids.n, err);
}

/* --- links that are computed again --- */

/* A bm_set_link_fn: adds the link. */
static bm_status add_link(void *ctx, bm_pair link, bm_error *err)
{
    return read_link(ctx, link, err);
}

/* Find the links among the members' sets. If they do not fit into memory, graph.why_not becomes the
 * reason. */
static bm_status find_links(bm_page *p, const bm_linked_sets *sets, bm_hash128 *contents,
                            bm_error *err)
{
    const bm_page_doc *members = p->graph.members;
    bm_find_options options;
    for (size_t i = 0; i < sets->n; i++) {
        if (members[i].n_hashes > 0)
            memcpy(sets->hashes + sets->offsets[i], members[i].hashes,
                   members[i].n_hashes * sizeof *sets->hashes);
        sets->offsets[i + 1] = sets->offsets[i] + members[i].n_hashes;
        contents[i] = members[i].content;
    }
    bm_find_options_init(&options);
    options.sketch = p->settings->sketch;
    options.verify = p->verify;
    options.candidates = p->bands == 0 ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
    options.bands.threshold = p->threshold;
    options.bands.bands = p->bands;
    options.bands.rows = p->rows;
    options.resources.threads = p->settings->threads;
    options.max_pairs = most_pairs(p);
    const bm_status status = bm_set_links(&options, sets, add_link, p, err);
    if (status != BM_ERR_NOMEM || (uint64_t)sets->n * sets->n / 2 <= options.max_pairs)
        return status;
    p->graph.why_not = "its links do not fit into the memory of this report";
    return BM_OK;
}

bm_status bm_page_graph_link(bm_page *p, bm_error *err)
{
    bm_page_graph *graph = &p->graph;
    const bm_page_doc *members = graph->members;
    const size_t n = graph->ids.n;
    size_t n_hashes = 0;
    for (size_t i = 0; members != NULL && i < n; i++) {
        if (!members[i].counted)
            graph->why_not =
                "the directory has no pairs.tsv, which dedup `pairs` writes, and the texts of "
                "the group could not be read again";
        n_hashes += members[i].n_hashes;
    }
    if (members == NULL || graph->why_not != NULL)
        return BM_OK;
    bm_hash128 *contents = bm_alloc(n, sizeof *contents);
    const bm_linked_sets sets = {.offsets = bm_alloc_zero(n + 1, sizeof *sets.offsets),
                                 .hashes = bm_alloc(n_hashes, sizeof *sets.hashes),
                                 .contents = contents,
                                 .n = n};
    const bm_status status = contents != NULL && sets.offsets != NULL && sets.hashes != NULL
                                 ? find_links(p, &sets, contents, err)
                                 : bm_fail_nomem(err, (n + n_hashes) * sizeof *sets.hashes);
    graph->from_inputs = status == BM_OK;
    bm_free_all(contents, sets.offsets, sets.hashes);
    return status;
}

/* --- coordinates --- */

typedef struct force {
    double x, y;
} force;

/* Place nodes on a spiral. Each node is turned by the golden angle from the node before it. */
static void begin(bm_page_node *nodes, size_t n)
{
    const double turn_cos = -0.7373688780783197, turn_sin = 0.6754902942615238;
    double x = 1, y = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = sqrt((double)(i + 1) / (double)n) / 2,
                     turned = x * turn_cos - y * turn_sin;
        nodes[i].x = r * x;
        nodes[i].y = r * y;
        y = x * turn_sin + y * turn_cos;
        x = turned;
    }
}

static void push(const bm_page_node *nodes, size_t n, double k, force *forces)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            double dx = nodes[i].x - nodes[j].x, dy = nodes[i].y - nodes[j].y;
            double square = dx * dx + dy * dy;
            if (square < NEAR) {
                dx = square = NEAR;
                dy = 0;
            }
            const double share = k * k / square;
            forces[i].x += dx * share;
            forces[i].y += dy * share;
            forces[j].x -= dx * share;
            forces[j].y -= dy * share;
        }
    }
}

static void pull(const bm_page_node *nodes, const uint32_t *links, size_t n_links, double k,
                 force *forces)
{
    for (size_t i = 0; i < n_links; i++) {
        const uint32_t a = links[2 * i], b = links[2 * i + 1];
        const double dx = nodes[a].x - nodes[b].x, dy = nodes[a].y - nodes[b].y;
        const double share = sqrt(dx * dx + dy * dy) / k;
        forces[a].x -= dx * share;
        forces[a].y -= dy * share;
        forces[b].x += dx * share;
        forces[b].y += dy * share;
    }
}

static void move(const force *forces, size_t n, double heat, bm_page_node *nodes)
{
    for (size_t i = 0; i < n; i++) {
        const double fx = forces[i].x - nodes[i].x * GRAVITY,
                     fy = forces[i].y - nodes[i].y * GRAVITY;
        const double length = sqrt(fx * fx + fy * fy);
        const double share = length > heat ? heat / length : 1;
        nodes[i].x += fx * share;
        nodes[i].y += fy * share;
    }
}

/* Scale x and y, each independently, to 0 … 1. An x or y that all nodes share becomes .5. */
static void fit(bm_page_node *nodes, size_t n)
{
    force low = {INFINITY, INFINITY}, high = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        low = (force){fmin(low.x, nodes[i].x), fmin(low.y, nodes[i].y)};
        high = (force){fmax(high.x, nodes[i].x), fmax(high.y, nodes[i].y)};
    }
    for (size_t i = 0; i < n; i++) {
        nodes[i].x = high.x > low.x ? (nodes[i].x - low.x) / (high.x - low.x) : .5;
        nodes[i].y = high.y > low.y ? (nodes[i].y - low.y) / (high.y - low.y) : .5;
    }
}

/* Set x and y of n nodes by springs, so that linked nodes are close. `links`: node indexes, two per
 * link. The same graph gives the same coordinates on every machine, because only additions,
 * multiplications, divisions and square roots are used. Time is quadratic in n, so n should be at
 * most some hundreds. BM_ERR_NOMEM. */
static bm_status page_graph_place(bm_page_node *nodes, size_t n, const uint32_t *links,
                                  size_t n_links, bm_error *err)
{
    const double k = sqrt(1 / (double)n);
    force *forces = NULL;
    BM_TRY(bm_new(&forces, n, err));
    begin(nodes, n);
    for (uint32_t step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < n; i++)
            forces[i] = (force){0, 0};
        push(nodes, n, k, forces);
        pull(nodes, links, n_links, k, forces);
        move(forces, n, .1 * (double)(STEPS - step) / STEPS, nodes);
    }
    fit(nodes, n);
    bm_free(forces);
    return BM_OK;
}

/* --- the drawing --- */

static int by_value(const void *x, const void *y, void *ctx)
{
    const double *values = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    if (values[a] < values[b] || values[a] > values[b])
        return values[a] < values[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Set *out to the indexes 0 … n-1, sorted by their values; indexes with equal values ascend. The
 * caller frees it. */
static bm_status sort_by(double *values, size_t n, size_t **out, bm_error *err)
{
    BM_TRY(bm_new(out, n, err));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = i;
    qsort_r(*out, n, sizeof **out, by_value, values);
    return BM_OK;
}

/* Sort the links by similarity, those of unknown similarity last, the bridges by the documents that
 * they separate, and the articulation points by their parts. */
static bm_status sort_holds(bm_page_graph *graph, bm_error *err)
{
    const bm_bridges *b = &graph->bridges;
    double *values = NULL;
    size_t n_known = 0;
    BM_TRY(bm_new(&values, graph->n_pairs + graph->ids.n, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < graph->n_pairs; i++) {
        const double similarity = graph->pairs[i].similarity;
        values[i] = isnan(similarity) ? INFINITY : similarity;
        n_known += isnan(similarity) ? 0 : 1;
    }
    graph->n_weakest = n_known < WEAKEST_MAX ? n_known : WEAKEST_MAX;
    BM_TRY_OUT(sort_by(values, graph->n_pairs, &graph->weakest, err));
    for (size_t i = 0; i < b->n_bridges; i++)
        values[i] = -fmin((double)b->bridges[i].n_a, (double)b->bridges[i].n_b);
    BM_TRY_OUT(sort_by(values, b->n_bridges, &graph->bridge_order, err));
    for (size_t i = 0; i < b->n_articulation_points; i++)
        values[i] = -(double)b->articulation_points[i].n_parts;
    status = sort_by(values, b->n_articulation_points, &graph->point_order, err);
out:
    bm_free(values);
    return status;
}

typedef struct drawing {
    bm_page_graph *graph;
    bm_link_graph links;
    uint8_t *chosen;  /* one flag per member */
    uint32_t *before; /* for each member: its predecessor on a shortest path; the start of the paths
                       * is its own predecessor */
    uint32_t *queue;
    size_t n_chosen;
} drawing;

/* Find shortest paths from the kept document, breadth first. If none is kept, they begin at the
 * first member. */
static void find_ways(drawing *d)
{
    const bm_page_graph *graph = d->graph;
    const uint32_t first = graph->known ? 0 : (uint32_t)graph->kept;
    size_t n = 0;
    for (size_t i = 0; i < graph->ids.n; i++)
        d->before[i] = BM_ID_NONE;
    d->before[first] = first;
    d->queue[n++] = first;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = d->links.begins[d->queue[i]]; k < d->links.begins[d->queue[i] + 1]; k++) {
            const uint32_t doc = d->links.links[k].doc;
            if (d->before[doc] != BM_ID_NONE)
                continue;
            d->before[doc] = d->queue[i];
            d->queue[n++] = doc;
        }
    }
}

/* Choose a document and the whole path to it, so that the drawing is connected. If the path does
 * not fit, choose nothing. */
static void choose(drawing *d, uint32_t doc)
{
    size_t n = 0;
    uint32_t at = doc;
    for (; d->chosen[at] == 0; at = d->before[at]) {
        n++;
        if (d->before[at] == BM_ID_NONE || d->before[at] == at)
            break;
    }
    if (d->n_chosen + n > NODES_MAX)
        return;
    for (at = doc; d->chosen[at] == 0; at = d->before[at]) {
        d->chosen[at] = 1;
        d->n_chosen++;
        if (d->before[at] == BM_ID_NONE)
            break;
    }
}

/* Choose the kept document, then the ends of bridges until the drawing is half full, then the ends
 * of the weakest links, and then nodes linked to chosen ones until the drawing is full. */
static void choose_nodes(drawing *d)
{
    const bm_page_graph *graph = d->graph;
    const bm_bridges *bridges = &graph->bridges;
    size_t n = 0;
    find_ways(d);
    choose(d, graph->known ? 0 : (uint32_t)graph->kept);
    for (size_t i = 0; i < bridges->n_bridges && d->n_chosen < NODES_MAX / 2; i++) {
        const bm_bridge *bridge = &bridges->bridges[graph->bridge_order[i]];
        choose(d, graph->pairs[bridge->pair].a);
        choose(d, graph->pairs[bridge->pair].b);
    }
    for (size_t i = 0; i < graph->n_weakest; i++) {
        choose(d, graph->pairs[graph->weakest[i]].a);
        choose(d, graph->pairs[graph->weakest[i]].b);
    }
    for (uint32_t doc = 0; doc < graph->ids.n; doc++)
        if (d->chosen[doc] != 0)
            d->queue[n++] = doc;
    for (size_t i = 0; i < n && d->n_chosen < NODES_MAX; i++) {
        for (size_t k = d->links.begins[d->queue[i]];
             d->n_chosen < NODES_MAX && k < d->links.begins[d->queue[i] + 1]; k++) {
            const uint32_t doc = d->links.links[k].doc;
            if (d->chosen[doc] != 0)
                continue;
            d->chosen[doc] = 1;
            d->n_chosen++;
            d->queue[n++] = doc;
        }
    }
}

static bm_status place_nodes(drawing *d, bm_error *err)
{
    bm_page_graph *graph = d->graph;
    const bm_articulation_point *point = graph->bridges.articulation_points, *end = point;
    if (graph->bridges.n_articulation_points > 0) /* if there are none, the array may be NULL */
        end += graph->bridges.n_articulation_points;
    uint32_t *links = NULL;
    size_t n_links = 0;
    BM_TRY(bm_new(&graph->nodes, d->n_chosen, err));
    BM_TRY(bm_new(&graph->node_of, graph->ids.n, err));
    for (uint32_t doc = 0; doc < graph->ids.n; doc++) {
        while (point < end && point->doc < doc)
            point++;
        graph->node_of[doc] = d->chosen[doc] != 0 ? (uint32_t)graph->n_nodes : BM_ID_NONE;
        if (d->chosen[doc] == 0)
            continue;
        graph->nodes[graph->n_nodes++] =
            (bm_page_node){.doc = doc,
                           .n_links = (uint32_t)(d->links.begins[doc + 1] - d->links.begins[doc]),
                           .n_copies = graph->copies.n[doc] - 1,
                           .n_parts = point < end && point->doc == doc ? point->n_parts : 0};
    }
    BM_TRY(bm_new(&links, 2 * graph->n_pairs, err));
    for (size_t i = 0; i < graph->n_pairs; i++) {
        const uint32_t a = graph->node_of[graph->pairs[i].a], b = graph->node_of[graph->pairs[i].b];
        if (a == BM_ID_NONE || b == BM_ID_NONE)
            continue;
        links[2 * n_links] = a;
        links[2 * n_links++ + 1] = b;
    }
    const bm_status status = page_graph_place(graph->nodes, graph->n_nodes, links, n_links, err);
    bm_free(links);
    return status;
}

/* Merge copies into one node. The kept document represents its copies. */
static bm_status merge_copies(bm_page_graph *graph, bm_error *err)
{
    const bm_pair_list list = {graph->pairs, graph->n_pairs, graph->ids.n};
    const uint32_t kept = graph->known ? BM_ID_NONE : (uint32_t)graph->kept;
    BM_TRY(bm_copies_find(list, &kept, 1, &graph->copies, err));
    graph->n_pairs = bm_copies_merge(&graph->copies, graph->pairs, graph->n_pairs);
    return BM_OK;
}

bm_status bm_page_graph_draw(bm_page *p, bm_error *err)
{
    bm_page_graph *graph = &p->graph;
    drawing d = {.graph = graph};
    if (graph->why_not != NULL)
        return BM_OK;
    BM_TRY(merge_copies(graph, err));
    BM_TRY(bm_link_graph_init(&d.links, graph->pairs, graph->n_pairs, graph->ids.n, err));
    d.links.weights = graph->copies.n;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&d.chosen, graph->ids.n, err));
    BM_TRY_OUT(bm_new(&d.before, graph->ids.n, err));
    BM_TRY_OUT(bm_new(&d.queue, graph->ids.n, err));
    BM_TRY_OUT(bm_bridges_find(&d.links, &graph->bridges, err));
    BM_TRY_OUT(sort_holds(graph, err));
    choose_nodes(&d);
    status = place_nodes(&d, err);
out:
    bm_free_all(d.chosen, d.before, d.queue);
    bm_link_graph_reset(&d.links);
    return status;
}
