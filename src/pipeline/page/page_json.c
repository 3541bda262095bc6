/* page_json.c -- the page as one object, a member a part of it, and what of it is written how. --json prints the public
 * members; what the page needs beside them follows in write_inside: parts of lists, places in pictures, words that join
 * several members. Texts, ids and names are as they are, escaped as JSON asks for.
 *
 * Pairs of texts are many and long: they are made one at a time, while the page is written (bm_template.stream).
 *
 * The policy in the page's head forbids everything but its own style sheet and script, each by its SHA-256: there is
 * nothing to load, and nothing in a text could run even if it came through.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "io/json/json_scan.h"
#include "lsh/verify.h"
#include "pipeline/output/assets.h"
#include "pipeline/output/figure.h"
#include "pipeline/page/page.h"
#include "pipeline/page/template.h"
#include "pipeline/page/word_diff.h"

#define LISTED_MAX  10u   /* bridges and articulation points */
#define INPUTS_MAX  50u   /* that are listed */
#define LINKS_MAX   4000u /* that are drawn, beside bridges */
#define COMMAND_MAX 4000u /* bytes that are shown */
#define OPEN_PAIRS  2u    /* of each kind: the others are folded */
#define AROUND      12u   /* words that stay at both ends of a stretch that is folded */
#define FOLD_AT     40u   /* words, from which on a stretch is folded */

static void key_text_of(bm_json *json, const char *key, bm_str text)
{
    bm_json_key(json, key);
    bm_json_string(json, text);
}

static void key_bool(bm_json *json, const char *key, bool value)
{
    bm_json_key(json, key);
    bm_json_bool(json, value);
}

static void begin_list(bm_json *json, const char *key)
{
    bm_json_key(json, key);
    bm_json_begin_array(json);
}

/* --- what --json prints: numbers --- */

static void write_input(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_source *source = &p->sources[i];
    bm_json_begin_object(json);
    bm_json_key_text(json, "file", bm_manifest_input_at(p->manifest, i)->file);
    bm_json_key_uint(json, "documents", source->documents);
    bm_json_key_uint(json, "skipped", source->skipped);
    bm_json_key_uint(json, "removed", source->removed);
    bm_json_key_uint(json, "kept", source->documents - source->removed);
    bm_json_key_text(json, "gone", source->gone);
    bm_json_end_object(json);
}

static void write_inputs(bm_json *json, const bm_page *p)
{
    begin_list(json, "inputs");
    for (size_t i = 0; i < bm_manifest_n_inputs(p->manifest); i++)
        write_input(json, p, i);
    bm_json_end_array(json);
}

static void write_similarities(bm_json *json, const bm_page *p)
{
    bm_json_key(json, "similarities");
    bm_json_begin_object(json);
    bm_json_key_text(json, "of", p->has_pairs ? "pairs" : "removed");
    bm_json_key_uint(json, "n", p->n_similarities);
    begin_list(json, "bins");
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (p->similarities[i] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_double(json, "low", (double)i / BM_HISTOGRAM_BINS);
        bm_json_key_double(json, "high", (double)(i + 1) / BM_HISTOGRAM_BINS);
        bm_json_key_uint(json, "n", p->similarities[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void write_sizes(bm_json *json, const bm_page *p)
{
    begin_list(json, "group_sizes");
    for (size_t i = 0; i < p->n_sizes; i++) {
        bm_json_begin_object(json);
        bm_json_key_uint(json, "size", p->sizes[i].size);
        bm_json_key_uint(json, "groups", p->sizes[i].groups);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_groups(bm_json *json, const bm_page *p)
{
    begin_list(json, "largest_groups");
    for (size_t i = 0; i < p->n_groups; i++) {
        const bm_page_group *group = &p->groups[i];
        bm_json_begin_object(json);
        bm_json_key_uint(json, "group", group->number);
        key_text_of(json, "kept", bm_page_id(p, group->kept));
        key_bool(json, "known", group->known);
        bm_json_key_uint(json, "size", group->size);
        bm_json_key_uint(json, "removed", group->removed);
        bm_json_key_uint(json, "identical", group->identical);
        bm_json_key_uint(json, "chained", group->chained);
        bm_json_key_double(json, "least_jaccard", group->least);
        if (group->least_doc != BM_PAGE_NO_DOC)
            key_text_of(json, "least_like_kept", bm_page_id(p, group->least_doc));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_documents(bm_json *json, const bm_page *p)
{
    begin_list(json, "documents");
    for (uint32_t i = 0; i < p->ids.n; i++) {
        const bm_page_doc *doc = &p->docs[i];
        const size_t most = p->options->text_bytes;
        bm_json_begin_object(json);
        key_text_of(json, "id", bm_page_id(p, i));
        key_bool(json, "found", doc->found);
        if (doc->found) {
            size_t n = doc->held < most ? doc->held : most;
            while (n > 0 && n < doc->held && ((unsigned char)doc->text[n] & 0xC0) == 0x80)
                n--;
            bm_json_key_text(json, "file", bm_manifest_input_at(p->manifest, doc->file)->file);
            bm_json_key_uint(json, "line", doc->line);
            bm_json_key_uint(json, "bytes", doc->text_bytes);
            key_text_of(json, "text", (bm_str){doc->text, n});
        }
        if (doc->counted)
            bm_json_key_uint(json, "shingles", doc->n_hashes);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* How many shingles two documents share; false: not known. */
static bool shared_shingles(const bm_page *p, const bm_page_pair *pair, size_t *shared)
{
    const bm_page_doc *a = bm_page_doc_of(p, pair->a), *b = bm_page_doc_of(p, pair->b);
    if (!a->counted || !b->counted)
        return false;
    *shared = bm_hashes_common(a->hashes, a->n_hashes, b->hashes, b->n_hashes);
    return true;
}

static void write_pair(bm_json *json, const bm_page *p, const bm_page_pair *pair)
{
    size_t shared;
    bm_json_begin_object(json);
    key_text_of(json, "a", bm_page_id(p, pair->a));
    key_text_of(json, "b", bm_page_id(p, pair->b));
    if ((pair->a & BM_PAGE_KNOWN) != 0)
        key_bool(json, "a_known", true);
    bm_json_key_double(json, "jaccard", pair->jaccard);
    if (shared_shingles(p, pair, &shared))
        bm_json_key_uint(json, "shared_shingles", shared);
    bm_json_end_object(json);
}

static void write_pairs(bm_json *json, const bm_page *p, const char *key,
                        const bm_page_pairs *pairs)
{
    begin_list(json, key);
    for (size_t i = 0; i < pairs->n; i++)
        write_pair(json, p, &pairs->rows[i]);
    bm_json_end_array(json);
}

static void write_link(bm_json *json, const bm_page_graph *graph, size_t pair)
{
    bm_json_begin_object(json);
    key_text_of(json, "a", bm_id_set_id(&graph->ids, graph->pairs[pair].a));
    key_text_of(json, "b", bm_id_set_id(&graph->ids, graph->pairs[pair].b));
    bm_json_key_double(json, "jaccard", graph->pairs[pair].similarity);
}

static void write_bridge(bm_json *json, const bm_page_graph *graph, size_t i)
{
    write_link(json, graph, graph->bridges.bridges[i].pair);
    bm_json_key_uint(json, "with_a", graph->bridges.bridges[i].n_a);
    bm_json_key_uint(json, "with_b", graph->bridges.bridges[i].n_b);
    bm_json_end_object(json);
}

static void write_point(bm_json *json, const bm_page_graph *graph, size_t i)
{
    const bm_articulation_point *point = &graph->bridges.articulation_points[i];
    bm_json_begin_object(json);
    key_text_of(json, "id", bm_id_set_id(&graph->ids, point->doc));
    bm_json_key_uint(json, "parts", point->n_parts);
    bm_json_end_object(json);
}

static void write_graph_links(bm_json *json, const bm_page_graph *graph)
{
    begin_list(json, "weakest");
    for (size_t i = 0; i < graph->n_weakest; i++) {
        write_link(json, graph, graph->weakest[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    begin_list(json, "bridges");
    for (size_t i = 0; i < graph->bridges.n_bridges; i++)
        write_bridge(json, graph, i);
    bm_json_end_array(json);
    begin_list(json, "articulation_points");
    for (size_t i = 0; i < graph->bridges.n_articulation_points; i++)
        write_point(json, graph, i);
    bm_json_end_array(json);
}

static void write_graph(bm_json *json, const bm_page *p)
{
    const bm_page_graph *graph = &p->graph;
    bm_json_key(json, "chained_group");
    bm_json_begin_object(json);
    bm_json_key_text(json, "why_not", graph->why_not);
    bm_json_key_uint(json, "group", graph->group);
    bm_json_key_uint(json, "documents", graph->ids.n);
    if (graph->why_not == NULL) {
        bm_json_key_uint(json, "links", graph->n_pairs);
        key_bool(json, "from_inputs", graph->from_inputs);
        bm_json_key_uint(json, "drawn", graph->n_nodes);
        write_graph_links(json, graph);
    }
    bm_json_end_object(json);
}

static void write_choice(bm_json *json, const bm_page_choice *choice)
{
    bm_json_begin_object(json);
    bm_json_key_double(json, "threshold", choice->threshold);
    bm_json_key_uint(json, "pairs", choice->pairs);
    bm_json_key_uint(json, "groups", choice->groups);
    bm_json_key_uint(json, "largest", choice->largest);
    bm_json_key_uint(json, "removed", choice->removed);
    bm_json_end_object(json);
}

static void write_what_if(bm_json *json, const bm_page *p)
{
    const bm_page_what_if *what_if = &p->what_if;
    begin_list(json, "other_thresholds");
    for (size_t i = 0; i < what_if->n_thresholds; i++)
        write_choice(json, &what_if->thresholds[i]);
    bm_json_end_array(json);
    bm_json_key_text(json, "no_other_thresholds", what_if->why_not);
    bm_json_key(json, "star");
    if (what_if->why_no_stars == NULL)
        write_choice(json, &what_if->stars);
    else
        bm_json_text(json, NULL);
    bm_json_key_text(json, "no_star", what_if->why_no_stars);
}

static void copy_member(bm_json *json, const bm_page *p, const char *name)
{
    bm_str value;
    if (!bm_manifest_member(p->manifest, name, &value))
        return;
    bm_json_key(json, name);
    bm_json_scan_copy(value, json);
}

/* `whole`: with inputs and texts, of which the page shows parts. */
static void write_public(bm_json *json, const bm_page *p, bool whole)
{
    bm_json_key_uint(json, "schema", 1);
    bm_json_key_text(json, "kind", "report");
    bm_json_key_text(json, "version", bm_manifest_version(p->manifest));
    copy_member(json, p, "provenance");
    copy_member(json, p, "parameters");
    copy_member(json, p, "plan");
    copy_member(json, p, "counts");
    copy_member(json, p, "chained_share");
    if (whole)
        write_inputs(json, p);
    write_similarities(json, p);
    write_sizes(json, p);
    write_groups(json, p);
    if (whole) {
        write_pairs(json, p, "just_above", &p->near);
        write_pairs(json, p, "most_chained", &p->chained);
        write_documents(json, p);
    }
    bm_json_key_text(json, "no_texts", p->no_texts);
    write_graph(json, p);
    write_what_if(json, p);
    copy_member(json, p, "run");
}

bm_status bm_page_write_json(const bm_page *p, bm_rows *rows, uint64_t *n_bytes, bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    write_public(&json, p, true);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    status = bm_buf_add(&rows->buf, json.buf.data, json.buf.len, err);
out:
    *n_bytes = json.buf.len;
    bm_buf_reset(&json.buf);
    return status == BM_OK ? bm_rows_flush(rows, true, err) : status;
}

/* --- what the page needs beside them: pictures --- */

static void key_px(bm_json *json, const char *key, double value)
{
    bm_json_key_text(json, key, bm_svg_px(value).text);
}

/* A text of ours that was made in a buffer, which is freed. */
static void key_made(bm_json *json, const char *key, bm_buf *text, bm_status status)
{
    key_text_of(json, key, (bm_str){text->data, text->len});
    if (json->status == BM_OK)
        json->status = status;
    bm_buf_reset(text);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What became of the documents, as stretches of a bar of 520 pixels. */
static void write_shares(bm_json *json, const bm_page *p)
{
    const bm_counts *n = &p->counts;
    const uint64_t same = n->results.removed_identical, known = n->results.known,
                   near = minus(minus(minus(n->removed, n->chained), same), known);
    const struct share {
        const char *colour, *words;
        uint64_t n;
    } shares[] = {{"blue", "kept", n->kept},
                  {"violet", "removed, identical to the one kept", same},
                  {"amber", "removed, near the one kept", near},
                  {"red", "removed, chained to it", n->chained},
                  {"grey", "removed, near a known one", known}};
    double x = 0;
    begin_list(json, "shares");
    for (size_t i = 0; n->documents > 0 && i < sizeof shares / sizeof shares[0]; i++) {
        const double width = (double)shares[i].n / (double)n->documents * 520;
        if (shares[i].n == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_text(json, "colour", shares[i].colour);
        bm_json_key_text(json, "words", shares[i].words);
        bm_json_key_uint(json, "n", shares[i].n);
        key_px(json, "x", x);
        key_px(json, "width", width > 3 ? width - 2 : width > 1 ? width : 1);
        bm_json_end_object(json);
        x += width;
    }
    bm_json_end_array(json);
}

static const bm_figure plot = {.left = 64, .right = 468, .top = 44, .bottom = 234};

static void draw_similarities(bm_json *json, const bm_page *p)
{
    double counts[BM_HISTOGRAM_BINS];
    uint32_t first = bm_histogram_bin(p->threshold);
    bm_buf out = {0};
    bm_figure f = plot;
    for (uint32_t i = BM_HISTOGRAM_BINS; i-- > 0;) {
        counts[i] = (double)p->similarities[i];
        first = p->similarities[i] > 0 && i < first ? i : first;
    }
    first = first >= 20 ? first / 20 * 20 - 20 : 0;
    f.out = &out;
    f.low = (double)first / BM_HISTOGRAM_BINS;
    bm_figure_scale(&f, counts, BM_HISTOGRAM_BINS);
    bm_figure_counts(&f, p->has_pairs ? "pairs" : "removed documents");
    bm_figure_bars(&f, counts, .4);
    bm_figure_similarities(&f, first >= 50 ? 10 : 20);
    bm_figure_threshold(&f, p->threshold);
    if (p->bands != 0) {
        bm_figure_curve(&f, "chosen", p->bands, p->rows);
        bm_figure_chances(&f);
    }
    key_made(json, "similarities_plot", &out, f.status);
}

/* Bin i > 0 holds sizes from 2^i + 1 to 2^(i+1), bin 0 the size 2 (and 1, of groups with a known document). */
static void draw_sizes(bm_json *json, const bm_page *p)
{
    double counts[64] = {0};
    uint32_t n = 4;
    bm_buf out = {0};
    bm_figure f = plot;
    for (size_t i = 0; i < p->n_sizes; i++) {
        uint32_t bin = 0;
        while (bin < 62 && p->sizes[i].size > (uint64_t)2 << bin)
            bin++;
        counts[bin] += (double)p->sizes[i].groups;
        n = bin + 1 > n ? bin + 1 : n;
    }
    f.out = &out;
    const double step = (f.right - f.left) / n;
    bm_figure_scale(&f, counts, n);
    bm_figure_counts(&f, "groups");
    for (uint32_t i = 0; i < n; i++) {
        const double x = f.left + i * step;
        const bm_svg_text high = bm_svg_count((uint64_t)2 << i);
        if (bm_figure_bar(&f, x + step * .12, x + step * .88, counts[i]))
            bm_figure_put(&f, "><title>%s groups of %s to %s documents</title></rect>\n",
                          bm_svg_count((uint64_t)counts[i]).text,
                          bm_svg_count(((uint64_t)1 << i) + 1).text, high.text);
        if (n <= 10 || i % 2 == 0)
            bm_figure_text(&f, "mid soft", x + step / 2, f.bottom + 20, high.text);
    }
    bm_figure_line(&f, "axis", f.left, f.bottom, f.right, f.bottom);
    bm_figure_text(&f, "mid soft", (f.left + f.right) / 2, f.bottom + 42,
                   "documents of a group, up to");
    key_made(json, "sizes_plot", &out, f.status);
}

/* The dot of a document in the drawing of the group, 520 by 360 pixels; false: it is not drawn. */
static bool dot_of(const bm_page_graph *graph, uint32_t doc, bm_svg_text *x, bm_svg_text *y)
{
    size_t low = 0, high = graph->n_nodes;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (graph->nodes[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == graph->n_nodes || graph->nodes[low].doc != doc)
        return false;
    *x = bm_svg_px(16 + graph->nodes[low].x * 488);
    *y = bm_svg_px(16 + graph->nodes[low].y * 328);
    return true;
}

/* Links that are no bridges as one path, and bridges. */
static void draw_links(bm_json *json, const bm_page_graph *graph)
{
    const bm_bridges *bridges = &graph->bridges;
    bm_svg_text x1, y1, x2, y2;
    bm_buf path = {0};
    bm_status status = BM_OK;
    size_t bridge = 0, n = 0;
    begin_list(json, "bridges");
    for (size_t i = 0; status == BM_OK && i < graph->n_pairs; i++) {
        const bool is_bridge = bridge < bridges->n_bridges && bridges->bridges[bridge].pair == i;
        bridge += is_bridge;
        if ((!is_bridge && n == LINKS_MAX) || !dot_of(graph, graph->pairs[i].a, &x1, &y1) ||
            !dot_of(graph, graph->pairs[i].b, &x2, &y2))
            continue;
        if (!is_bridge) {
            n++;
            status =
                bm_buf_add_format(&path, NULL, "M%s %sL%s %s", x1.text, y1.text, x2.text, y2.text);
            continue;
        }
        bm_json_begin_object(json);
        bm_json_key_text(json, "x1", x1.text);
        bm_json_key_text(json, "y1", y1.text);
        bm_json_key_text(json, "x2", x2.text);
        bm_json_key_text(json, "y2", y2.text);
        bm_json_key_double(json, "jaccard", graph->pairs[i].similarity);
        bm_json_key_uint(json, "with_a", bridges->bridges[bridge - 1].n_a);
        bm_json_key_uint(json, "with_b", bridges->bridges[bridge - 1].n_b);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    key_made(json, "links", &path, status);
}

static void write_drawing(bm_json *json, const bm_page_graph *graph)
{
    const size_t n_bridges = graph->bridges.n_bridges,
                 n_points = graph->bridges.n_articulation_points;
    bm_json_key(json, "drawing");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "n_bridges", n_bridges);
    bm_json_key_uint(json, "n_points", n_points);
    bm_json_key_uint(json, "more_bridges", minus(n_bridges, LISTED_MAX));
    bm_json_key_uint(json, "more_points", minus(n_points, LISTED_MAX));
    key_bool(json, "is_part", graph->n_nodes < graph->ids.n);
    begin_list(json, "listed_bridges");
    for (size_t i = 0; i < n_bridges && i < LISTED_MAX; i++)
        write_bridge(json, graph, graph->bridge_order[i]);
    bm_json_end_array(json);
    begin_list(json, "listed_points");
    for (size_t i = 0; i < n_points && i < LISTED_MAX; i++)
        write_point(json, graph, graph->point_order[i]);
    bm_json_end_array(json);
    draw_links(json, graph);
    begin_list(json, "nodes");
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const bm_page_node *node = &graph->nodes[i];
        bm_svg_text x, y;
        dot_of(graph, node->doc, &x, &y);
        bm_json_begin_object(json);
        key_text_of(json, "id", bm_id_set_id(&graph->ids, node->doc));
        bm_json_key_text(json, "x", x.text);
        bm_json_key_text(json, "y", y.text);
        bm_json_key_uint(json, "links", node->n_links);
        bm_json_key_uint(json, "parts", node->n_parts);
        key_bool(json, "kept", !graph->known && node->doc == graph->kept);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

/* --- parts of lists, and words --- */

static int most_removed(const void *x, const void *y, void *ctx)
{
    const bm_page_source *sources = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    if (sources[a].removed != sources[b].removed)
        return sources[a].removed > sources[b].removed ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* All inputs, or those of which most was removed. */
static void write_listed_inputs(bm_json *json, const bm_page *p)
{
    const size_t n = bm_manifest_n_inputs(p->manifest);
    size_t *order = bm_alloc(n, sizeof *order);
    if (order == NULL) {
        json->status = BM_ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (n > INPUTS_MAX)
        qsort_r(order, n, sizeof *order, most_removed, p->sources);
    begin_list(json, "listed_inputs");
    for (size_t i = 0; i < n && i < INPUTS_MAX; i++)
        write_input(json, p, order[i]);
    bm_json_end_array(json);
    bm_json_key_uint(json, "more_inputs", minus(n, INPUTS_MAX));
    bm_free(order);
}

static void write_sections(bm_json *json, const bm_page *p)
{
    const struct section {
        const char *id;
        uint64_t pairs, of;
        bool there;
    } sections[] = {{"near", p->near.n, p->near.of, true},
                    {"chained", p->chained.n, p->chained.of, true},
                    {"of-groups", p->n_groups, p->n_groups, p->n_groups > 0}};
    begin_list(json, "text_sections");
    for (size_t i = 0; i < 3 && p->near.n + p->chained.n + p->n_groups > 0; i++) {
        if (!sections[i].there)
            continue;
        bm_json_begin_object(json);
        bm_json_key_text(json, "id", sections[i].id);
        bm_json_key_uint(json, "pairs", sections[i].pairs);
        bm_json_key_uint(json, "of", sections[i].of);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* A word as a shell takes it. */
static bm_status quote(bm_str word, bm_buf *out)
{
    bool plain = word.len > 0;
    for (size_t i = 0; i < word.len; i++) {
        const char c = word.data[i];
        plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || memchr("_-./:,=+@%", c, 10) != NULL);
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(plain ? BM_OK : bm_buf_add_text(out, "'", NULL));
    for (size_t i = 0; i < word.len; i++)
        BM_TRY_OUT(word.data[i] == '\'' ? bm_buf_add_text(out, "'\\''", NULL)
                                        : bm_buf_add(out, word.data + i, 1, NULL));
out:
    return plain || status != BM_OK ? status : bm_buf_add_text(out, "'", NULL);
}

static void write_command(bm_json *json, const bm_page *p)
{
    bm_str run = {0}, command = {0}, word;
    bm_buf out = {0}, text = {0};
    bm_status status = BM_OK;
    size_t at = 0, n_bytes = 0;
    bm_manifest_member(p->manifest, "run", &run);
    bm_json_scan_find(run, "command", &command);
    while (status == BM_OK && bm_json_scan_element(command, &at, &word)) {
        text.len = 0;
        status = bm_json_scan_string(word, &text, NULL);
        n_bytes += text.len;
        if (status != BM_OK || n_bytes > COMMAND_MAX) {
            status = bm_buf_add_text(&out, " \xE2\x80\xA6", NULL);
            break;
        }
        status = bm_buf_add_text(&out, out.len > 0 ? " " : "", NULL);
        if (status == BM_OK)
            status = quote((bm_str){text.data, text.len}, &out);
    }
    bm_buf_reset(&text);
    key_made(json, "command", &out, status);
}

static void write_inside(bm_json *json, const bm_page *p)
{
    const bm_page_what_if *what_if = &p->what_if;
    char seconds[64];
    bm_json_key_text(json, "style_hash", bm_assets[BM_ASSET_PAGE].sha256);
    bm_json_key_text(json, "script_hash", bm_assets[BM_ASSET_SCRIPT].sha256);
    bm_json_key_text(json, "style", bm_assets[BM_ASSET_PAGE].text);
    bm_json_key_text(json, "script", bm_assets[BM_ASSET_SCRIPT].text);
    bm_json_key_text(json, "program_version", bm_version()->version);
    write_shares(json, p);
    write_listed_inputs(json, p);
    bm_json_key_uint(json, "missed",
                     p->bands != 0 ? (uint64_t)lround(1000 * (1 - p->predicted_recall)) : 0);
    if (p->n_similarities > 0)
        draw_similarities(json, p);
    if (p->n_sizes > 0)
        draw_sizes(json, p);
    bm_json_key_uint(json, "largest_size", p->n_sizes > 0 ? p->sizes[p->n_sizes - 1].size : 0);
    key_bool(json, "has_texts", p->has_texts);
    bm_json_key_uint(json, "gone_inputs", p->n_gone);
    bm_json_key_uint(json, "all_inputs", bm_manifest_n_inputs(p->manifest));
    key_bool(json, "weighted", p->weighted);
    write_sections(json, p);
    if (p->graph.why_not == NULL)
        write_drawing(json, &p->graph);
    bm_json_key_text(json, "nothing_known",
                     what_if->why_not == what_if->why_no_stars ? what_if->why_not : NULL);
    snprintf(seconds, sizeof seconds, "%s.%02u", bm_svg_count((uint64_t)p->seconds).text,
             (unsigned)((p->seconds - (double)(uint64_t)p->seconds) * 100));
    bm_json_key_text(json, "seconds", seconds);
    write_command(json, p);
}

/* --- two texts side by side: what both have, what each has alone --- */

/* Long stretches that both have are folded to their ends, in both texts alike, so that the differences come within the
 * bytes that are shown of each. */
typedef struct side {
    bm_json *json;
    const bm_diff_text *words;
    const char *own; /* name of what it has alone */
    bool folds;      /* long stretches that both have */
    size_t left;     /* bytes that may still be shown */
} side;

static void put_piece(side *s, const char *name, const char *data, size_t len)
{
    if (len == 0)
        return;
    bm_json_begin_object(s->json);
    key_text_of(s->json, name, (bm_str){data, len});
    bm_json_end_object(s->json);
}

/* As many of the words from … to-1 as there is room for, and the beginning of the first that does not fit, which cuts no
 * character. True: all of them. */
static bool put_words(side *s, const char *name, size_t from, size_t to)
{
    const bm_diff_word *words = s->words->words;
    size_t at = from, len = 0;
    if (from == to)
        return true;
    const char *data = s->words->text.data + words[from].begin;
    for (; at < to && words[at].end - words[from].begin <= s->left; at++)
        len = words[at].end - words[from].begin;
    if (at < to) {
        for (len = s->left; len > 0 && ((unsigned char)data[len] & 0xC0) == 0x80; len--)
            ;
        s->left = len;
    }
    put_piece(s, name, data, len);
    s->left -= len;
    return at == to;
}

static bool put_common(side *s, size_t from, size_t to)
{
    const bool at_begin = from == 0, at_end = to == s->words->n;
    const size_t first = at_begin ? 0 : AROUND, last = at_end ? 0 : AROUND;
    if (!s->folds || to - from < FOLD_AT || (at_begin && at_end))
        return put_words(s, "both", from, to);
    if (!put_words(s, "both", from, from + first))
        return false;
    if (!at_begin)
        put_piece(s, "both", " ", 1);
    bm_json_begin_object(s->json);
    bm_json_key_uint(s->json, "gap", to - from - first - last);
    bm_json_end_object(s->json);
    return put_words(s, "both", to - last, to);
}

/* White space before it is not marked. */
static bool put_alone(side *s, size_t from, size_t to)
{
    bm_diff_word *word = &s->words->words[from];
    const size_t space = word->word - word->begin;
    if (space < s->left) {
        put_piece(s, "both", s->words->text.data + word->begin, space);
        s->left -= space;
        word->begin = word->word;
    }
    return put_words(s, s->own, from, to);
}

static void write_side(side *s, const bm_page *p, uint32_t number, const char *role)
{
    const bm_page_doc *doc = bm_page_doc_of(p, number);
    const bm_diff_text *t = s->words;
    bool room = true;
    bm_json_begin_object(s->json);
    bm_json_key_text(s->json, "role", (number & BM_PAGE_KNOWN) != 0 ? "Known" : role);
    key_text_of(s->json, "id", bm_page_id(p, number));
    key_bool(s->json, "found", doc->found);
    bm_json_key_uint(s->json, "bytes", doc->text_bytes);
    bm_json_key_uint(s->json, "line", doc->line);
    if (doc->counted)
        bm_json_key_uint(s->json, "shingles", doc->n_hashes);
    if (bm_manifest_n_inputs(p->manifest) > 1)
        bm_json_key_text(s->json, "file", bm_manifest_input_at(p->manifest, doc->file)->file);
    begin_list(s->json, "words");
    for (size_t at = 0, to; room && at < t->n; at = to) {
        for (to = at + 1; to < t->n && t->words[to].common == t->words[at].common; to++)
            ;
        room = t->words[at].common ? put_common(s, at, to) : put_alone(s, at, to);
    }
    bm_json_end_array(s->json);
    key_bool(s->json, "more", !room || doc->held < doc->text_bytes);
    bm_json_end_object(s->json);
}

static bm_status write_texts(bm_json *json, const bm_page *p, const bm_page_pair *pair, bool open,
                             const char *const roles[2], bm_error *err)
{
    const bm_page_doc *a = bm_page_doc_of(p, pair->a), *b = bm_page_doc_of(p, pair->b);
    const size_t most = p->options->text_bytes;
    const bool folds = a->text_bytes > most || b->text_bytes > most;
    bm_diff_text x = {.text = {a->text, a->held}}, y = {.text = {b->text, b->held}};
    size_t shared;
    const bm_status status = bm_word_diff(&x, &y, err);
    bm_json_begin_object(json);
    key_text_of(json, "a", bm_page_id(p, pair->a));
    key_text_of(json, "b", bm_page_id(p, pair->b));
    bm_json_key_double(json, "jaccard", pair->jaccard);
    key_bool(json, "open", open);
    if (shared_shingles(p, pair, &shared)) {
        bm_json_key_uint(json, "shared_shingles", shared);
        bm_json_key_uint(json, "all_shingles", a->n_hashes + b->n_hashes - shared);
    }
    begin_list(json, "sides");
    write_side(&(side){json, &x, "a", folds, most}, p, pair->a, roles[0]);
    write_side(&(side){json, &y, "b", folds, most}, p, pair->b, roles[1]);
    bm_json_end_array(json);
    bm_json_end_object(json);
    bm_diff_text_reset(&x);
    bm_diff_text_reset(&y);
    return status;
}

/* A stream of bm_template: the pairs of a section. */
typedef struct pair_stream {
    const bm_page *page;
    size_t group; /* the next */
} pair_stream;

static bm_status next_pair(void *ctx, bm_str name, size_t i, bm_json *json, bool *more,
                           bm_error *err)
{
    static const char *const any[] = {"A", "B"}, *const removed[] = {"Kept", "Removed"};
    pair_stream *s = ctx;
    const bm_page *p = s->page;
    const bool near = bm_json_scan_is(name, "\"near\"");
    const bm_page_pairs *pairs = near ? &p->near : &p->chained;
    bm_page_pair pair = {0};
    if (bm_json_scan_is(name, "\"of-groups\"")) {
        while (s->group < p->n_groups && p->groups[s->group].least_doc == BM_PAGE_NO_DOC)
            s->group++;
        *more = s->group < p->n_groups;
        const bm_page_group *group = &p->groups[s->group++];
        if (*more)
            pair = (bm_page_pair){group->kept, group->least_doc, group->least};
    } else {
        *more = i < pairs->n;
        if (*more)
            pair = pairs->rows[i];
    }
    return *more ? write_texts(json, p, &pair, i < OPEN_PAIRS, near && p->has_pairs ? any : removed,
                               err)
                 : BM_OK;
}

bm_status bm_page_write_html(const bm_page *p, bm_rows *rows, uint64_t *n_bytes, bm_error *err)
{
    bm_json json = {0};
    pair_stream pairs = {.page = p};
    bm_json_begin_object(&json);
    write_public(&json, p, false);
    write_inside(&json, p);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    const bm_template page = {.text = bm_assets[BM_ASSET_TEMPLATE].text,
                              .values = {json.buf.data, json.buf.len},
                              .stream = next_pair,
                              .ctx = &pairs};
    status = bm_template_fill(&page, rows, n_bytes, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}
