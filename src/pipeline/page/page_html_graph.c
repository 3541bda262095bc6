/* page_html_graph.c -- the largest chained group, and what other choices would have done.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>

#include "pipeline/output/svg_plot.h"

#define LISTED_MAX 10u /* bridges and articulation points */

static void put_member(bm_page_writer *w, uint32_t doc)
{
    bm_markup_put(&w->m, "<span class=\"name\">");
    bm_markup_name(&w->m, bm_id_set_id(&w->content->graph.ids, doc));
    bm_markup_put(&w->m, "</span>");
}

/* Cells of a pair: both, and their similarity. */
static void put_link(bm_page_writer *w, const bm_pair *pair)
{
    bm_markup_put(&w->m, "<tr><td>");
    put_member(w, pair->a);
    bm_markup_put(&w->m, "</td><td>");
    put_member(w, pair->b);
    bm_markup_put(&w->m, "</td><td class=\"n\">");
    bm_markup_similarity(&w->m, pair->similarity);
    bm_markup_put(&w->m, "</td>");
}

static void put_weakest(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    bm_page_begin_table(w, "Its weakest links", "weakest");
    bm_markup_put(&w->m, "<th scope=\"col\">A</th><th scope=\"col\">B</th>"
                         "<th scope=\"col\" class=\"n\">Similarity</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < graph->n_weakest; i++) {
        put_link(w, &graph->pairs[graph->weakest[i]]);
        bm_markup_put(&w->m, "</tr>\n");
    }
    bm_page_end_table(w);
}

static void put_bridges(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    const bm_bridges *bridges = &graph->bridges;
    if (bridges->n_bridges == 0) {
        bm_markup_put(&w->m, "<p>It has no bridges: no single link holds it together.</p>\n");
        return;
    }
    bm_page_begin_table(w, "Bridges: without one of these links the group falls in two", "bridges");
    bm_markup_put(&w->m, "<th scope=\"col\">A</th><th scope=\"col\">B</th>"
                         "<th scope=\"col\" class=\"n\">Similarity</th>"
                         "<th scope=\"col\" class=\"n\">Documents with A</th>"
                         "<th scope=\"col\" class=\"n\">With B</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < bridges->n_bridges && i < LISTED_MAX; i++) {
        const bm_bridge *bridge = &bridges->bridges[graph->bridge_order[i]];
        put_link(w, &graph->pairs[bridge->pair]);
        bm_markup_format(&w->m, "<td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                         bm_svg_count(bridge->n_a).text, bm_svg_count(bridge->n_b).text);
    }
    bm_page_end_table(w);
    if (bridges->n_bridges > LISTED_MAX)
        bm_markup_format(&w->m, "<p class=\"note\">And %s more.</p>\n",
                         bm_svg_count(bridges->n_bridges - LISTED_MAX).text);
}

static void put_points(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    const bm_bridges *bridges = &graph->bridges;
    if (bridges->n_articulation_points == 0)
        return;
    bm_page_begin_table(w, "Documents without which the group falls apart", "points");
    bm_markup_put(&w->m,
                  "<th scope=\"col\">Document</th>"
                  "<th scope=\"col\" class=\"n\">Parts without it</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < bridges->n_articulation_points && i < LISTED_MAX; i++) {
        const bm_articulation_point *point = &bridges->articulation_points[graph->point_order[i]];
        bm_markup_put(&w->m, "<tr><td>");
        put_member(w, point->doc);
        bm_markup_format(&w->m, "</td><td class=\"n\">%" PRIu32 "</td></tr>\n", point->n_parts);
    }
    bm_page_end_table(w);
    if (bridges->n_articulation_points > LISTED_MAX)
        bm_markup_format(&w->m, "<p class=\"note\">And %s more.</p>\n",
                         bm_svg_count(bridges->n_articulation_points - LISTED_MAX).text);
}

void bm_page_put_graph(bm_page_writer *w)
{
    const bm_page_graph *graph = &w->content->graph;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"chain\" aria-labelledby=\"h-chain\">\n"
                     "<h2 id=\"h-chain\">The largest chained group</h2>\n");
    if (graph->why_not != NULL) {
        bm_markup_format(m, "<p>It is not drawn: %s.</p>\n</section>\n", graph->why_not);
        return;
    }
    bm_markup_format(m, "<p>Group %" PRIu64 " has ", graph->group);
    bm_page_put_number(w, graph->ids.n, "document");
    bm_markup_put(m, " and ");
    bm_page_put_number(w, graph->n_pairs, "link");
    bm_markup_put(m, graph->from_inputs ? ", which were computed again from the inputs.</p>\n"
                                        : ", those of pairs.tsv.</p>\n");
    bm_page_draw_graph(w);
    put_weakest(w);
    put_bridges(w);
    put_points(w);
    bm_markup_put(m, "</section>\n");
    bm_markup_flush(m, false);
}

/* --- other choices --- */

static void put_choice(bm_page_writer *w, const char *what, const bm_page_choice *choice)
{
    const uint64_t documents = w->content->facts.counts.documents;
    bm_markup *m = &w->m;
    bm_markup_format(m, "<tr><td>%s %s</td><td class=\"n\">%s</td>", what,
                     bm_svg_share(choice->threshold).text, bm_svg_count(choice->groups).text);
    bm_markup_format(m,
                     "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                     bm_svg_count(choice->largest).text, bm_svg_count(choice->removed).text,
                     bm_svg_count(documents - choice->removed).text);
}

/* The run itself, as its report counts it. */
static void put_this(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    const bm_page_choice now = {.threshold = facts->threshold,
                                .groups = facts->counts.groups,
                                .largest =
                                    facts->n_sizes > 0 ? facts->sizes[facts->n_sizes - 1].size : 0,
                                .removed = facts->counts.removed};
    put_choice(w, "this run, at", &now);
}

void bm_page_put_what_if(bm_page_writer *w)
{
    const bm_page_what_if *what_if = &w->content->what_if;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"choices\" aria-labelledby=\"h-choices\">\n"
                     "<h2 id=\"h-choices\">What other choices would have done</h2>\n");
    if (what_if->why_no_stars != NULL && what_if->why_not == what_if->why_no_stars)
        bm_markup_format(m, "<p>That is not known: %s.</p>\n", what_if->why_not);
    else if (what_if->why_no_stars != NULL)
        bm_markup_format(m, "<p>With cluster star: not known, for %s.</p>\n",
                         what_if->why_no_stars);
    if (what_if->why_not != NULL && what_if->why_not != what_if->why_no_stars)
        bm_markup_format(m, "<p>At higher thresholds: not known, for %s.</p>\n", what_if->why_not);
    bm_page_begin_table(w, "Groups and documents under other choices", "choices");
    bm_markup_put(
        m, "<th scope=\"col\">Choice</th><th scope=\"col\" class=\"n\">Groups</th>"
           "<th scope=\"col\" class=\"n\">Largest</th><th scope=\"col\" class=\"n\">Removed</th>"
           "<th scope=\"col\" class=\"n\">Kept</th></tr></thead><tbody>\n");
    put_this(w);
    if (what_if->why_no_stars == NULL)
        put_choice(w, "cluster star, at", &what_if->stars);
    for (size_t i = 0; i < what_if->n_thresholds; i++)
        put_choice(w, "threshold", &what_if->thresholds[i]);
    bm_page_end_table(w);
    bm_markup_put(m, "</section>\n");
}
