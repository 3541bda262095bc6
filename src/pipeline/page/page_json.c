/* page_json.c -- the content as one object, a member a part of the page. Texts, ids and names are as they are, escaped as
 * JSON asks for.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_write.h"

#include <math.h>
#include <string.h>

#include "io/json/json_scan.h"
#include "io/json/json_write.h"
#include "pipeline/output/report_counts.h"

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

/* --- numbers --- */

static void write_inputs(bm_json *json, const bm_page_content *c)
{
    bm_json_key(json, "inputs");
    bm_json_begin_array(json);
    for (size_t i = 0; i < bm_manifest_n_inputs(c->manifest); i++) {
        const bm_page_source *source = &c->sources[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "file", bm_manifest_input_at(c->manifest, i)->file);
        bm_json_key_uint(json, "documents", source->documents);
        bm_json_key_uint(json, "skipped", source->skipped);
        bm_json_key_uint(json, "removed", source->removed);
        bm_json_key_uint(json, "kept", source->documents - source->removed);
        bm_json_key_text(json, "gone", source->gone);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_similarities(bm_json *json, const bm_page_content *c)
{
    bm_json_key(json, "similarities");
    bm_json_begin_object(json);
    bm_json_key_text(json, "of", c->similarities_of_pairs ? "pairs" : "removed");
    bm_json_key_uint(json, "n", c->n_similarities);
    bm_json_key(json, "bins");
    bm_json_begin_array(json);
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (c->similarities[i] == 0)
            continue;
        bm_json_begin_object(json);
        bm_json_key_double(json, "low", (double)i / BM_HISTOGRAM_BINS);
        bm_json_key_double(json, "high", (double)(i + 1) / BM_HISTOGRAM_BINS);
        bm_json_key_uint(json, "n", c->similarities[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void write_sizes(bm_json *json, const bm_page_content *c)
{
    bm_json_key(json, "group_sizes");
    bm_json_begin_array(json);
    for (size_t i = 0; i < c->facts.n_sizes; i++) {
        bm_json_begin_object(json);
        bm_json_key_uint(json, "size", c->facts.sizes[i].size);
        bm_json_key_uint(json, "groups", c->facts.sizes[i].groups);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_groups(bm_json *json, const bm_page_content *c)
{
    bm_json_key(json, "largest_groups");
    bm_json_begin_array(json);
    for (size_t i = 0; i < c->groups.n; i++) {
        const bm_page_group *group = &c->groups.rows[i];
        bm_json_begin_object(json);
        bm_json_key_uint(json, "group", group->number);
        key_text_of(json, "kept", bm_page_id(c, group->kept));
        key_bool(json, "known", group->known);
        bm_json_key_uint(json, "size", group->size);
        bm_json_key_uint(json, "removed", group->removed);
        bm_json_key_uint(json, "identical", group->identical);
        bm_json_key_uint(json, "chained", group->chained);
        bm_json_key_double(json, "least_jaccard", group->least);
        if (group->least_doc != BM_PAGE_NO_DOC)
            key_text_of(json, "least_like_kept", bm_page_id(c, group->least_doc));
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* --- texts --- */

static void write_documents(bm_json *json, const bm_page_content *c)
{
    bm_json_key(json, "documents");
    bm_json_begin_array(json);
    for (uint32_t i = 0; i < c->ids.n; i++) {
        const bm_page_doc *doc = &c->docs[i];
        const size_t most = c->options->text_bytes;
        bm_json_begin_object(json);
        key_text_of(json, "id", bm_page_id(c, i));
        key_bool(json, "found", doc->found);
        if (doc->found) {
            size_t n = doc->held < most ? doc->held : most;
            while (n > 0 && n < doc->held && ((unsigned char)doc->text[n] & 0xC0) == 0x80)
                n--;
            bm_json_key_text(json, "file", bm_manifest_input_at(c->manifest, doc->file)->file);
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

static void write_pair(bm_json *json, const bm_page_content *c, const bm_page_pair *pair)
{
    size_t shared;
    bm_json_begin_object(json);
    key_text_of(json, "a", bm_page_id(c, pair->a));
    key_text_of(json, "b", bm_page_id(c, pair->b));
    if ((pair->a & BM_PAGE_KNOWN) != 0)
        key_bool(json, "a_known", true);
    bm_json_key_double(json, "jaccard", pair->jaccard);
    if (bm_page_shared(c, pair->a, pair->b, &shared))
        bm_json_key_uint(json, "shared_shingles", shared);
    bm_json_end_object(json);
}

static void write_pairs(bm_json *json, const bm_page_content *c, const char *key,
                        const bm_page_pairs *pairs)
{
    bm_json_key(json, key);
    bm_json_begin_array(json);
    for (size_t i = 0; i < pairs->n; i++)
        write_pair(json, c, &pairs->rows[i]);
    bm_json_end_array(json);
}

/* --- a group, and other choices --- */

static void write_link(bm_json *json, const bm_page_graph *graph, size_t pair)
{
    bm_json_begin_object(json);
    key_text_of(json, "a", bm_id_set_id(&graph->ids, graph->pairs[pair].a));
    key_text_of(json, "b", bm_id_set_id(&graph->ids, graph->pairs[pair].b));
    bm_json_key_double(json, "jaccard", graph->pairs[pair].similarity);
}

static void write_graph_links(bm_json *json, const bm_page_graph *graph)
{
    bm_json_key(json, "weakest");
    bm_json_begin_array(json);
    for (size_t i = 0; i < graph->n_weakest; i++) {
        write_link(json, graph, graph->weakest[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key(json, "bridges");
    bm_json_begin_array(json);
    for (size_t i = 0; i < graph->bridges.n_bridges; i++) {
        write_link(json, graph, graph->bridges.bridges[i].pair);
        bm_json_key_uint(json, "with_a", graph->bridges.bridges[i].n_a);
        bm_json_key_uint(json, "with_b", graph->bridges.bridges[i].n_b);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key(json, "articulation_points");
    bm_json_begin_array(json);
    for (size_t i = 0; i < graph->bridges.n_articulation_points; i++) {
        const bm_articulation_point *point = &graph->bridges.articulation_points[i];
        bm_json_begin_object(json);
        key_text_of(json, "id", bm_id_set_id(&graph->ids, point->doc));
        bm_json_key_uint(json, "parts", point->n_parts);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_graph(bm_json *json, const bm_page_content *c)
{
    const bm_page_graph *graph = &c->graph;
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

static void write_what_if(bm_json *json, const bm_page_content *c)
{
    const bm_page_what_if *what_if = &c->what_if;
    bm_json_key(json, "other_thresholds");
    bm_json_begin_array(json);
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

static void copy_member(bm_json *json, const bm_page_content *c, const char *name)
{
    bm_str value;
    if (!bm_manifest_member(c->manifest, name, &value))
        return;
    bm_json_key(json, name);
    bm_json_scan_copy(value, json);
}

bm_status bm_page_write_json(const bm_page_content *c, bm_rows *rows, uint64_t *n_bytes,
                             bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "kind", "report");
    bm_json_key_text(&json, "version", bm_manifest_version(c->manifest));
    copy_member(&json, c, "provenance");
    copy_member(&json, c, "parameters");
    copy_member(&json, c, "plan");
    copy_member(&json, c, "counts");
    copy_member(&json, c, "chained_share");
    write_inputs(&json, c);
    write_similarities(&json, c);
    write_sizes(&json, c);
    write_groups(&json, c);
    write_pairs(&json, c, "just_above", &c->near);
    write_pairs(&json, c, "most_chained", &c->chained);
    write_documents(&json, c);
    bm_json_key_text(&json, "no_texts", c->no_texts);
    write_graph(&json, c);
    write_what_if(&json, c);
    copy_member(&json, c, "run");
    bm_json_end_object(&json);
    bm_status status = bm_json_finish(&json, err);
    if (status == BM_OK)
        status = bm_buf_add(&rows->buf, json.buf.data, json.buf.len, err);
    *n_bytes = json.buf.len;
    bm_buf_reset(&json.buf);
    return status == BM_OK ? bm_rows_flush(rows, true, err) : status;
}
