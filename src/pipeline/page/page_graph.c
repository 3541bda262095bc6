/* page_graph.c -- of a large group those documents are drawn that hold it together, with the ends of its
 * weakest links, and then those nearest to the kept one.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/link_graph.h"
#include "model/pair_order.h"
#include "pipeline/page/graph_layout.h"
#include "pipeline/page/page_rows.h"
#include "pipeline/page/page_tables.h"

#define BYTES_A_PAIR 88u /* of the pairs and of their graph */

/* --- members --- */

static bm_status add_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    bm_page_graph *graph = ctx;
    const size_t before = graph->ids.n;
    uint32_t number;
    if (graph->why_not != NULL)
        return BM_OK;
    if (bm_id_set_bytes(before + 1, graph->ids.text.len + id.len) > graph->room) {
        graph->why_not = "its documents do not fit into the memory of this report";
        return BM_OK;
    }
    bm_status status = bm_id_set_add(&graph->ids, id, &number, err);
    if (status == BM_OK && graph->ids.n == before)
        status = bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                            "a document is twice in the group");
    return status;
}

static bm_status take_members(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    bm_page_graph *graph = ctx;
    bm_buf id = {0};
    if (file->group != graph->group)
        return BM_OK;
    *stop = true;
    bm_status status = bm_group_file_members(file, add_member, graph, &id, err);
    graph->known = file->known;
    if (graph->why_not != NULL) {
        bm_buf_reset(&id);
        return status;
    }
    if (status == BM_OK && !graph->known)
        graph->kept = bm_id_set_find(&graph->ids, (bm_str){id.data, id.len});
    if (status == BM_OK && !graph->known && graph->kept == BM_ID_NONE)
        status = bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number,
                            "the kept document is not in the group");
    bm_buf_reset(&id);
    return status;
}

/* --- links --- */

typedef struct link_taker {
    bm_page_graph *graph;
    uint64_t most;
} link_taker;

static bm_status take_link(const link_taker *t, bm_pair pair, bm_error *err)
{
    bm_page_graph *graph = t->graph;
    if (graph->n_pairs >= t->most)
        graph->why_not = "its links do not fit into the memory of this report";
    if (graph->why_not != NULL)
        return BM_OK;
    bm_status status = bm_grow_array(&graph->pairs, &graph->cap_pairs, graph->n_pairs + 1, err);
    if (status == BM_OK)
        graph->pairs[graph->n_pairs++] = pair;
    return status;
}

static bm_status take_row(void *ctx, const bm_page_row *row, bm_error *err)
{
    const link_taker *t = ctx;
    const uint32_t a = bm_id_set_find(&t->graph->ids, row->a);
    const uint32_t b = a == BM_ID_NONE ? BM_ID_NONE : bm_id_set_find(&t->graph->ids, row->b);
    return b == BM_ID_NONE ? BM_OK : take_link(t, (bm_pair){a, b, row->jaccard}, err);
}

bm_status bm_page_graph_load(const bm_settings *settings, bm_page_content *content,
                             bool *wants_sets, bm_error *err)
{
    bm_page_graph *graph = &content->graph;
    const bm_page_facts *facts = &content->facts;
    const link_taker taker = {graph, settings->memory / BYTES_A_PAIR / 2};
    *wants_sets = false;
    graph->group = content->groups.largest_chained;
    graph->room = settings->memory / 4;
    if (graph->group == 0) {
        graph->why_not = "no document is chained";
        return BM_OK;
    }
    bm_status status = bm_page_each_group(settings, content->manifest, take_members, graph, err);
    if (status != BM_OK || graph->why_not != NULL)
        return status;
    if (facts->has_pairs)
        return bm_page_each_row(settings, content->manifest, take_row, (void *)&taker, err);
    if (content->weighted || !content->has_texts)
        graph->why_not = "the directory has no pairs.tsv, which dedup writes on request";
    else if (graph->ids.n > BM_PAGE_SETS_MAX)
        graph->why_not =
            "the directory has no pairs.tsv, which dedup writes on request, and the group is too "
            "large to compute its links again";
    *wants_sets = graph->why_not == NULL;
    return BM_OK;
}

/* --- links that are computed again --- */

static double six_decimals(double similarity)
{
    return isnan(similarity) ? similarity : (double)llround(similarity * 1e6) / 1e6;
}

/* Members by what is in them, copies in input order. */
static int by_content(const void *x, const void *y, void *ctx)
{
    const bm_page_doc *members = ctx;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const bm_hash128 *p = &members[a].content, *q = &members[b].content;
    if (p->hi != q->hi)
        return p->hi < q->hi ? -1 : 1;
    if (p->lo != q->lo)
        return p->lo < q->lo ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The sets of members that are no copies, and which members they are; copies become links. */
typedef struct sets {
    uint32_t *order; /* of the members */
    uint32_t *members;
    uint64_t *offsets, *hashes;
    size_t n;
} sets;

static bm_status gather(const bm_page_doc *docs, size_t n_docs, const link_taker *taker, sets *out,
                        bm_error *err)
{
    bm_status status = BM_OK;
    uint32_t first = 0;
    for (size_t i = 0; i < n_docs; i++)
        out->order[i] = (uint32_t)i;
    qsort_r(out->order, n_docs, sizeof *out->order, by_content, (void *)(uintptr_t)docs);
    out->offsets[0] = 0;
    for (size_t i = 0; status == BM_OK && i < n_docs; i++) {
        const uint32_t doc = out->order[i];
        const bm_hash128 *x = &docs[first].content, *y = &docs[doc].content;
        if (i > 0 && x->hi == y->hi && x->lo == y->lo) {
            status = take_link(taker, (bm_pair){first, doc, 1.0}, err);
            continue;
        }
        first = doc;
        const uint64_t from = out->offsets[out->n];
        if (docs[doc].n_hashes > 0)
            memcpy(out->hashes + from, docs[doc].hashes, docs[doc].n_hashes * sizeof *out->hashes);
        out->members[out->n++] = doc;
        out->offsets[out->n] = from + docs[doc].n_hashes;
    }
    return status;
}

static bm_status find_links(const bm_settings *settings, const bm_page_facts *facts,
                            const link_taker *taker, const sets *s, bm_error *err)
{
    bm_pair_set *found = NULL;
    bm_find_options options;
    bm_find_options_init(&options);
    options.sketch = settings->sketch;
    options.verify = facts->verify;
    options.candidates = facts->bands == 0 ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
    options.bands.threshold = facts->threshold;
    options.bands.bands = facts->bands;
    options.bands.rows = facts->rows;
    options.resources.threads = settings->threads;
    options.max_pairs = taker->most;
    const bm_documents documents = bm_documents_of_hashes(s->offsets, s->hashes, s->n);
    const bm_status status = bm_find_pairs(&options, &documents, &found, err);
    if (status == BM_ERR_NOMEM && (uint64_t)s->n * s->n / 2 > taker->most) {
        taker->graph->why_not = "its links do not fit into the memory of this report";
        return BM_OK;
    }
    const bm_pair *pairs = bm_pair_set_data(found);
    bm_status taken = status;
    for (size_t i = 0; taken == BM_OK && i < bm_pair_set_count(found); i++) {
        uint32_t a = s->members[pairs[i].a], b = s->members[pairs[i].b];
        const bm_pair pair = {a < b ? a : b, a < b ? b : a, six_decimals(pairs[i].similarity)};
        taken = take_link(taker, pair, err);
    }
    bm_pair_set_free(found);
    return taken;
}

bm_status bm_page_graph_link(const bm_settings *settings, bm_page_content *content,
                             const bm_page_doc *members, bm_error *err)
{
    bm_page_graph *graph = &content->graph;
    const link_taker taker = {graph, settings->memory / BYTES_A_PAIR / 2};
    const size_t n = graph->ids.n;
    size_t n_hashes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!members[i].counted)
            graph->why_not =
                "the directory has no pairs.tsv, which dedup writes on request, and the texts of "
                "the group could not be read again";
        n_hashes += members[i].n_hashes;
    }
    if (graph->why_not != NULL)
        return BM_OK;
    sets s = {.order = bm_alloc(n, sizeof *s.order),
              .members = bm_alloc(n, sizeof *s.members),
              .offsets = bm_alloc(n + 1, sizeof *s.offsets),
              .hashes = bm_alloc(n_hashes, sizeof *s.hashes)};
    bm_status status = BM_OK;
    if (s.order == NULL || s.members == NULL || s.offsets == NULL || s.hashes == NULL)
        status = bm_fail_nomem(err, (n + n_hashes) * sizeof *s.hashes);
    if (status == BM_OK)
        status = gather(members, n, &taker, &s, err);
    if (status == BM_OK)
        status = find_links(settings, &content->facts, &taker, &s, err);
    graph->from_inputs = status == BM_OK;
    bm_free(s.order);
    bm_free(s.members);
    bm_free(s.offsets);
    bm_free(s.hashes);
    return status;
}

/* --- what is drawn --- */

typedef struct drawing {
    bm_page_graph *graph;
    bm_link_graph links;
    uint8_t *chosen; /* a member each */
    uint32_t *
        before; /* of each member: the one before it on a shortest way from the first; itself: of the first */
    uint32_t *queue;
    size_t n_chosen, most;
} drawing;

static int least_first(const void *x, const void *y, void *ctx)
{
    const bm_pair *pairs = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    if (pairs[a].similarity < pairs[b].similarity || pairs[a].similarity > pairs[b].similarity)
        return pairs[a].similarity < pairs[b].similarity ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bm_status find_weakest(bm_page_graph *graph, bm_error *err)
{
    size_t *order = bm_alloc(graph->n_pairs, sizeof *order), n = 0;
    if (order == NULL)
        return bm_fail_nomem(err, graph->n_pairs * sizeof *order);
    for (size_t i = 0; i < graph->n_pairs; i++)
        if (!isnan(graph->pairs[i].similarity))
            order[n++] = i;
    qsort_r(order, n, sizeof *order, least_first, graph->pairs);
    graph->weakest = order;
    graph->n_weakest = n < BM_PAGE_WEAKEST_MAX ? n : BM_PAGE_WEAKEST_MAX;
    return BM_OK;
}

static size_t smaller_side(const bm_bridge *bridge)
{
    return bridge->n_a < bridge->n_b ? bridge->n_a : bridge->n_b;
}

static int by_parted(const void *x, const void *y, void *ctx)
{
    const bm_bridge *bridges = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    const size_t n_a = smaller_side(&bridges[a]), n_b = smaller_side(&bridges[b]);
    if (n_a != n_b)
        return n_a > n_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int by_parts(const void *x, const void *y, void *ctx)
{
    const bm_articulation_point *points = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    if (points[a].n_parts != points[b].n_parts)
        return points[a].n_parts > points[b].n_parts ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bm_status sort_holds(bm_page_graph *graph, bm_error *err)
{
    const bm_bridges *bridges = &graph->bridges;
    const size_t n_points = bridges->n_articulation_points;
    graph->bridge_order = bm_alloc(bridges->n_bridges, sizeof *graph->bridge_order);
    graph->point_order = bm_alloc(n_points, sizeof *graph->point_order);
    if (graph->bridge_order == NULL || graph->point_order == NULL)
        return bm_fail_nomem(err, (bridges->n_bridges + n_points) * sizeof(size_t));
    for (size_t i = 0; i < bridges->n_bridges; i++)
        graph->bridge_order[i] = i;
    for (size_t i = 0; i < n_points; i++)
        graph->point_order[i] = i;
    qsort_r(graph->bridge_order, bridges->n_bridges, sizeof(size_t), by_parted, bridges->bridges);
    qsort_r(graph->point_order, n_points, sizeof(size_t), by_parts, bridges->articulation_points);
    return BM_OK;
}

/* Breadth first from the one that is kept. */
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

/* A document and the way to it, so that the drawing is one piece; nothing where there is no room for all of it. */
static void choose(drawing *d, uint32_t doc)
{
    size_t n = 0;
    uint32_t at = doc;
    for (; d->chosen[at] == 0; at = d->before[at]) {
        n++;
        if (d->before[at] == BM_ID_NONE || d->before[at] == at)
            break;
    }
    if (d->n_chosen + n > d->most)
        return;
    for (at = doc; d->chosen[at] == 0; at = d->before[at]) {
        d->chosen[at] = 1;
        d->n_chosen++;
        if (d->before[at] == BM_ID_NONE)
            break;
    }
}

/* What holds it together, and then around what is chosen, a link at a time. */
static void choose_nodes(drawing *d)
{
    const bm_page_graph *graph = d->graph;
    const bm_bridges *bridges = &graph->bridges;
    size_t n = 0;
    find_ways(d);
    choose(d, graph->known ? 0 : (uint32_t)graph->kept);
    for (size_t i = 0; i < bridges->n_bridges && d->n_chosen < d->most / 2; i++) {
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
    for (size_t i = 0; i < n && d->n_chosen < d->most; i++) {
        for (size_t k = d->links.begins[d->queue[i]];
             d->n_chosen < d->most && k < d->links.begins[d->queue[i] + 1]; k++) {
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
    const size_t n = d->n_chosen;
    const bm_bridges *bridges = &graph->bridges;
    uint32_t *number = bm_alloc(graph->ids.n, sizeof *number);
    uint32_t *links = bm_alloc(graph->n_pairs, 2 * sizeof *links);
    bm_graph_point *points = bm_alloc(n, sizeof *points);
    size_t n_links = 0, point = 0;
    bm_status status = BM_OK;
    graph->nodes = bm_alloc(n, sizeof *graph->nodes);
    if (number == NULL || links == NULL || points == NULL || graph->nodes == NULL)
        status = bm_fail_nomem(err, graph->n_pairs * 2 * sizeof *links);
    for (uint32_t doc = 0; status == BM_OK && doc < graph->ids.n; doc++) {
        while (point < bridges->n_articulation_points &&
               bridges->articulation_points[point].doc < doc)
            point++;
        if (d->chosen[doc] == 0)
            continue;
        const bool holds = point < bridges->n_articulation_points &&
                           bridges->articulation_points[point].doc == doc;
        number[doc] = (uint32_t)graph->n_nodes;
        graph->nodes[graph->n_nodes++] =
            (bm_page_node){.doc = doc,
                           .n_links = (uint32_t)(d->links.begins[doc + 1] - d->links.begins[doc]),
                           .n_parts = holds ? bridges->articulation_points[point].n_parts : 0};
    }
    for (size_t i = 0; status == BM_OK && i < graph->n_pairs; i++) {
        if (d->chosen[graph->pairs[i].a] == 0 || d->chosen[graph->pairs[i].b] == 0)
            continue;
        links[2 * n_links] = number[graph->pairs[i].a];
        links[2 * n_links++ + 1] = number[graph->pairs[i].b];
    }
    if (status == BM_OK)
        status = bm_graph_layout(n, links, n_links, points, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        graph->nodes[i].x = points[i].x;
        graph->nodes[i].y = points[i].y;
    }
    bm_free(number);
    bm_free(links);
    bm_free(points);
    return status;
}

bm_status bm_page_graph_draw(bm_page_content *content, bm_error *err)
{
    bm_page_graph *graph = &content->graph;
    drawing d = {.graph = graph, .most = BM_PAGE_NODES_MAX};
    if (graph->why_not != NULL)
        return BM_OK;
    if (graph->n_pairs > 1)
        qsort(graph->pairs, graph->n_pairs, sizeof *graph->pairs, bm_pair_by_place);
    bm_status status =
        bm_link_graph_init(&d.links, graph->pairs, graph->n_pairs, graph->ids.n, err);
    if (status != BM_OK)
        return status;
    d.chosen = bm_alloc_zero(graph->ids.n, sizeof *d.chosen);
    d.before = bm_alloc(graph->ids.n, sizeof *d.before);
    d.queue = bm_alloc(graph->ids.n, sizeof *d.queue);
    if (d.chosen == NULL || d.before == NULL || d.queue == NULL)
        status = bm_fail_nomem(err, graph->ids.n * sizeof *d.before);
    if (status == BM_OK)
        status = bm_bridges_find(&d.links, &graph->bridges, err);
    if (status == BM_OK)
        status = find_weakest(graph, err);
    if (status == BM_OK)
        status = sort_holds(graph, err);
    if (status == BM_OK) {
        choose_nodes(&d);
        status = place_nodes(&d, err);
    }
    bm_free(d.chosen);
    bm_free(d.before);
    bm_free(d.queue);
    bm_link_graph_reset(&d.links);
    return status;
}
