/* page_figure_graph.c -- the drawing of a group: documents as dots, links as lines.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>

#include "pipeline/output/svg_plot.h"

#define WIDTH     520.0
#define HEIGHT    360.0
#define MARGIN    16.0
#define LINKS_MAX 4000u /* that are drawn, beside bridges */

static bm_svg_text x_of(const bm_page_node *node)
{
    return bm_svg_px(MARGIN + node->x * (WIDTH - 2 * MARGIN));
}

static bm_svg_text y_of(const bm_page_node *node)
{
    return bm_svg_px(MARGIN + node->y * (HEIGHT - 2 * MARGIN));
}

/* The dot of a document; NULL: it is not drawn. */
static const bm_page_node *node_of(const bm_page_graph *graph, uint32_t doc)
{
    size_t low = 0, high = graph->n_nodes;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (graph->nodes[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->n_nodes && graph->nodes[low].doc == doc ? &graph->nodes[low] : NULL;
}

/* All links that are no bridges, as one path. */
static void put_links(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    const bm_bridges *bridges = &graph->bridges;
    size_t bridge = 0, n = 0;
    bm_markup_put(&w->m, "<path class=\"link\" d=\"M0 0");
    for (size_t i = 0; i < graph->n_pairs && n < LINKS_MAX; i++) {
        const bm_page_node *a = node_of(graph, graph->pairs[i].a),
                           *b = node_of(graph, graph->pairs[i].b);
        while (bridge < bridges->n_bridges && bridges->bridges[bridge].pair < i)
            bridge++;
        if (a == NULL || b == NULL ||
            (bridge < bridges->n_bridges && bridges->bridges[bridge].pair == i))
            continue;
        bm_markup_format(&w->m, "M%s %sL%s %s", x_of(a).text, y_of(a).text, x_of(b).text,
                         y_of(b).text);
        n++;
    }
    bm_markup_put(&w->m, "\"/>\n");
}

static void put_bridges(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    for (size_t i = 0; i < graph->bridges.n_bridges; i++) {
        const bm_bridge *bridge = &graph->bridges.bridges[i];
        const bm_page_node *a = node_of(graph, graph->pairs[bridge->pair].a),
                           *b = node_of(graph, graph->pairs[bridge->pair].b);
        if (a == NULL || b == NULL)
            continue;
        bm_markup_format(
            &w->m,
            "<line class=\"link bridge\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"><title>A bridge, ",
            x_of(a).text, y_of(a).text, x_of(b).text, y_of(b).text);
        bm_markup_similarity(&w->m, graph->pairs[bridge->pair].similarity);
        bm_markup_format(&w->m, ": %s documents on one side, %s on the other</title></line>\n",
                         bm_svg_count(bridge->n_a).text, bm_svg_count(bridge->n_b).text);
    }
}

static void put_node(bm_page_writer *w, const bm_page_node *node)
{
    const bm_page_graph *graph = &w->content->graph;
    const bool kept = !graph->known && node->doc == graph->kept;
    bm_markup_format(&w->m, "<circle class=\"node%s%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"><title>",
                     node->n_parts > 0 ? " holds" : "", kept ? " kept" : "", x_of(node).text,
                     y_of(node).text,
                     kept                ? "7"
                     : node->n_parts > 0 ? "5.5"
                                         : "4");
    bm_markup_plain_name(&w->m, bm_id_set_id(&graph->ids, node->doc));
    bm_markup_format(&w->m, "%s: %" PRIu32 " links", kept ? ", which is kept" : "", node->n_links);
    if (node->n_parts > 0)
        bm_markup_format(&w->m, "; without it the group falls into %" PRIu32 " parts",
                         node->n_parts);
    bm_markup_put(&w->m, "</title></circle>\n");
}

static void put_key(bm_page_writer *w)
{
    static const char *const keys[][2] = {
        {"<circle class=\"node kept\" cx=\"5\" cy=\"5\" r=\"4\"/>", "kept"},
        {"<circle class=\"node holds\" cx=\"5\" cy=\"5\" r=\"4\"/>", "holds parts together"},
        {"<circle class=\"node\" cx=\"5\" cy=\"5\" r=\"4\"/>", "another document"},
        {"<line class=\"link bridge\" x1=\"0\" y1=\"5\" x2=\"10\" y2=\"5\"/>", "bridge"},
        {"<line class=\"link\" x1=\"0\" y1=\"5\" x2=\"10\" y2=\"5\"/>", "link"}};
    const bm_bridges *bridges = &w->content->graph.bridges;
    const bool there[] = {true, bridges->n_articulation_points > 0, true, bridges->n_bridges > 0,
                          true};
    bm_markup_put(&w->m, "<ul class=\"legend\">");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (there[i])
            bm_markup_format(&w->m,
                             "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\">%s</svg>%s</li>",
                             keys[i][0], keys[i][1]);
    bm_markup_put(&w->m, "</ul>\n");
}

void bm_page_draw_graph(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    bm_markup_format(
        &w->m,
        "<figure>\n<svg viewBox=\"0 0 520 360\" role=\"img\" aria-labelledby=\"t-graph d-graph\">"
        "<title id=\"t-graph\">Group %" PRIu64 " as a graph</title>\n<desc id=\"d-graph\">",
        graph->group);
    bm_page_put_number(w, graph->ids.n, "document");
    bm_markup_put(&w->m, ", ");
    bm_page_put_number(w, graph->n_pairs, "link");
    bm_markup_put(&w->m, ", ");
    bm_page_put_number(w, graph->bridges.n_bridges, "bridge");
    bm_markup_put(&w->m, ", ");
    bm_page_put_number(w, graph->bridges.n_articulation_points, "document");
    bm_markup_put(&w->m, " that hold parts together. The tables below list them.</desc>\n");
    put_links(w);
    put_bridges(w);
    for (size_t i = 0; i < graph->n_nodes; i++)
        put_node(w, &graph->nodes[i]);
    bm_markup_put(&w->m, "</svg>\n");
    put_key(w);
    if (graph->n_nodes < graph->ids.n) {
        bm_markup_format(&w->m, "<figcaption>%s of the documents are drawn: ",
                         bm_svg_count(graph->n_nodes).text);
        bm_markup_put(&w->m, "those that hold it together, the ends of its weakest links, and what "
                             "is nearest to them.</figcaption>\n");
    }
    bm_markup_put(&w->m, "</figure>\n");
}
