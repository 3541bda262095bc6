/* SPDX-License-Identifier: Apache-2.0 */
/* page_json.c -- writes the page as one JSON object, with a member for each part. --json prints the
 * public members. write_inside adds what only the page needs: parts of lists, coordinates in
 * pictures, and words that combine several members. Texts, ids and names are unchanged, apart from
 * the escapes of JSON.
 *
 * There are many pairs of texts, and they are long. So they are produced one at a time, while the
 * page is written (bm_template.stream).
 *
 * The page's Content-Security-Policy allows only its own style sheet and script, each by its
 * SHA-256. The page loads nothing, and nothing in a text could run even if it were not escaped.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_scan.h"
#include "lsh/verify.h"
#include "job/assets.h"
#include "job/figure.h"
#include "report/page.h"

#define LISTED_MAX  10u   /* most bridges and articulation points to list */
#define LINKS_MAX   4000u /* most links to draw, besides bridges */
#define COMMAND_MAX 4000u /* most bytes of the command to show */
#define OPEN_PAIRS  2u    /* pairs of each kind that are unfolded at first */
#define UNIT_SHOWN  120u  /* bytes of a unit shown in a table */
#define AROUND      12u   /* words left at each end of a folded stretch */
#define FOLD_AT     40u   /* common stretches of at least so many words are folded */

/* Writes the members of object i of a list. */
typedef void (*element_fn)(bm_json *json, const bm_page *p, size_t i);

static void put_object(bm_json *json, const char *key, const bm_page *p, element_fn fn)
{
    bm_json_key_object(json, key);
    fn(json, p, 0);
    bm_json_end_object(json);
}

/* Write a list of n objects. `order`: the order of the objects, as indexes; NULL: ascending
 * order. */
static void put_list(bm_json *json, const char *key, const bm_page *p, const size_t *order,
                     size_t n, element_fn fn)
{
    bm_json_key_array(json, key);
    for (size_t i = 0; i < n; i++) {
        bm_json_begin_object(json);
        fn(json, p, order != NULL ? order[i] : i);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write a member from a buffer, and free the buffer. `status`: the status of filling the buffer. */
static void key_made(bm_json *json, const char *key, bm_buf *text, bm_status status)
{
    bm_json_key_string(json, key, (bm_str){text->data, text->len});
    if (json->status == BM_OK)
        json->status = status;
    bm_buf_reset(text);
}

/* Append the command-line option of a field: "--stop-shingles" for `stop_shingles`. */
static bm_status add_option(bm_str field, bm_buf *out)
{
    BM_TRY(bm_buf_add_text(out, "--", NULL));
    for (size_t i = 0; i < field.len; i++)
        BM_TRY(bm_buf_add(out, field.data[i] == '_' ? "-" : field.data + i, 1, NULL));
    return BM_OK;
}

/* Write the reason why something is not shown, or null. Field names in backquotes become
 * options. */
static void key_reason(bm_json *json, const char *key, const char *reason)
{
    bm_buf text = {0};
    bm_status status = BM_OK;
    if (reason == NULL) {
        bm_json_key_text(json, key, NULL);
        return;
    }
    while (*reason != '\0') {
        const char *end = *reason == '`' ? strchr(reason + 1, '`') : NULL;
        if (end != NULL)
            BM_TRY_OUT(add_option((bm_str){reason + 1, (size_t)(end - reason) - 1}, &text));
        else
            BM_TRY_OUT(bm_buf_add(&text, reason, 1, NULL));
        reason = end != NULL ? end + 1 : reason + 1;
    }
out:
    key_made(json, key, &text, status);
}

/* --- what --json prints: numbers --- */

/* Write the counts of one or several inputs. */
static void counts_of(bm_json *json, const bm_page_input *row)
{
    bm_json_key_uint(json, "documents", row->documents);
    bm_json_key_uint(json, "skipped", row->skipped);
    bm_json_key_uint(json, "removed", row->removed);
    bm_json_key_uint(json, "kept", row->documents - row->removed);
    if (row->removed_bytes != BM_COUNT_UNKNOWN)
        bm_json_key_uint(json, "removed_bytes", row->removed_bytes);
}

static void input(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_input row = bm_page_input_at(p, i);
    bm_json_key_string(json, "file", row.name);
    counts_of(json, &row);
    bm_json_key_text(json, "gone", row.gone);
}

static void bin(bm_json *json, const bm_page *p, size_t i)
{
    bm_json_key_double(json, "low", (double)i / BM_HISTOGRAM_BINS);
    bm_json_key_double(json, "high", (double)(i + 1) / BM_HISTOGRAM_BINS);
    bm_json_key_uint(json, "n", p->similarities[i]);
}

static void similarities(bm_json *json, const bm_page *p, size_t i)
{
    size_t filled[BM_HISTOGRAM_BINS], n = 0;
    for (i = 0; i < BM_HISTOGRAM_BINS; i++)
        if (p->similarities[i] > 0)
            filled[n++] = i;
    bm_json_key_text(json, "of", p->overlap.is ? "items" : p->has_pairs ? "pairs" : "removed");
    bm_json_key_uint(json, "n", p->n_similarities);
    put_list(json, "bins", p, filled, n, bin);
}

static void size_of_groups(bm_json *json, const bm_page *p, size_t i)
{
    bm_json_key_uint(json, "size", p->sizes[i].size);
    bm_json_key_uint(json, "groups", p->sizes[i].groups);
}

static void group(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_group *g = &p->groups[i];
    bm_json_key_uint(json, "group", g->number);
    if (g->kept != BM_PAGE_NO_DOC)
        bm_json_key_string(json, "kept", bm_page_id(p, g->kept));
    else
        bm_json_key_text(json, "kept", NULL);
    bm_json_key_bool(json, "known", g->known);
    bm_json_key_uint(json, "size", g->size);
    bm_json_key_uint(json, "removed", g->removed);
    bm_json_key_uint(json, "identical", g->identical);
    bm_json_key_uint(json, "equal", g->equal);
    bm_json_key_uint(json, "chained", g->chained);
    bm_json_key_double(json, "least_jaccard", g->least);
    if (g->least_doc != BM_PAGE_NO_DOC)
        bm_json_key_string(json, "least_like_kept", bm_page_id(p, g->least_doc));
}

static void document(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_doc *doc = &p->docs[i];
    const size_t most = p->options->text_bytes;
    bm_json_key_string(json, "id", bm_page_id(p, (uint32_t)i));
    bm_json_key_bool(json, "found", doc->found);
    if (doc->found) {
        size_t n = doc->held < most ? doc->held : most;
        while (n > 0 && n < doc->held && ((unsigned char)doc->text[n] & 0xC0) == 0x80)
            n--;
        bm_json_key_text(json, "file", bm_manifest_input_at(p->manifest, doc->file)->file);
        bm_json_key_uint(json, "line", doc->line);
        bm_json_key_uint(json, "bytes", doc->text_bytes);
        bm_json_key_string(json, "text", (bm_str){doc->text, n});
    }
    if (doc->counted)
        bm_json_key_uint(json, "shingles", doc->n_hashes);
}

/* Get the number of shingles common to two documents. Returns false if it is not known. */
static bool shared_shingles(const bm_page *p, const bm_page_pair *pair, size_t *shared)
{
    const bm_page_doc *a = bm_page_doc_of(p, pair->a), *b = bm_page_doc_of(p, pair->b);
    if (!a->counted || !b->counted)
        return false;
    *shared = bm_hashes_common(a->hashes, a->n_hashes, b->hashes, b->n_hashes);
    return true;
}

static void put_pair(bm_json *json, const bm_page *p, const bm_page_pair *pair)
{
    size_t shared;
    bm_json_key_string(json, "a", bm_page_id(p, pair->a));
    bm_json_key_string(json, "b", bm_page_id(p, pair->b));
    if ((pair->a & BM_PAGE_KNOWN) != 0)
        bm_json_key_bool(json, "a_known", true);
    bm_json_key_double(json, "jaccard", pair->jaccard);
    if (shared_shingles(p, pair, &shared))
        bm_json_key_uint(json, "shared_shingles", shared);
}

static void near_pair(bm_json *json, const bm_page *p, size_t i)
{
    put_pair(json, p, &p->near.rows[i]);
}

static void chained_pair(bm_json *json, const bm_page *p, size_t i)
{
    put_pair(json, p, &p->chained.rows[i]);
}

static void sample_pair(bm_json *json, const bm_page *p, size_t i)
{
    put_pair(json, p, &p->sample.rows[i]);
    bm_json_key_text(json, "label", p->sample.rows[i].label);
}

/* Write the facts of the sample. If pairs are labelled, also write the share that is right, with
 * Wilson's 95 % interval. */
static void sample(bm_json *json, const bm_page *p, size_t i)
{
    const double z = 1.959963984540054;
    size_t labelled = 0, right = 0;
    for (i = 0; i < p->sample.n; i++) {
        labelled += p->sample.rows[i].label != NULL;
        right += p->sample.rows[i].label != NULL && strcmp(p->sample.rows[i].label, "right") == 0;
    }
    const double n = (double)labelled, share = (double)right / n, all = 1 + z * z / n;
    const double middle = (share + z * z / (2 * n)) / all,
                 half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / all;
    bm_json_key_uint(json, "of", p->sample.of);
    bm_json_key_uint(json, "n", p->sample.n);
    bm_json_key_uint(json, "seed", p->options->sample_seed);
    bm_json_key_uint(json, "labelled", labelled);
    bm_json_key_uint(json, "right", right);
    bm_json_key_uint(json, "wrong", labelled - right);
    if (labelled > 0) {
        bm_json_key_double(json, "precision", share);
        bm_json_key_double(json, "low", middle - half);
        bm_json_key_double(json, "high", middle + half);
    }
}

static void link_between(bm_json *json, const bm_page *p, size_t pair)
{
    const bm_page_graph *graph = &p->graph;
    bm_json_key_string(json, "a", bm_id_set_id(&graph->ids, graph->pairs[pair].a));
    bm_json_key_string(json, "b", bm_id_set_id(&graph->ids, graph->pairs[pair].b));
    bm_json_key_double(json, "jaccard", graph->pairs[pair].similarity);
}

static void bridge(bm_json *json, const bm_page *p, size_t i)
{
    const bm_bridge *b = &p->graph.bridges.bridges[i];
    link_between(json, p, b->pair);
    bm_json_key_uint(json, "with_a", b->n_a);
    bm_json_key_uint(json, "with_b", b->n_b);
}

static void point(bm_json *json, const bm_page *p, size_t i)
{
    const bm_articulation_point *one = &p->graph.bridges.articulation_points[i];
    bm_json_key_string(json, "id", bm_id_set_id(&p->graph.ids, one->doc));
    bm_json_key_uint(json, "parts", one->n_parts);
}

static void chained_group(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_graph *graph = &p->graph;
    (void)i;
    key_reason(json, "why_not", graph->why_not);
    bm_json_key_uint(json, "group", graph->group);
    bm_json_key_uint(json, "documents", graph->ids.n);
    if (graph->why_not != NULL)
        return;
    bm_json_key_uint(json, "copies", graph->ids.n - graph->copies.n_nodes);
    bm_json_key_uint(json, "links", graph->n_pairs);
    bm_json_key_bool(json, "from_inputs", graph->from_inputs);
    bm_json_key_uint(json, "drawn", graph->n_nodes);
    put_list(json, "weakest", p, graph->weakest, graph->n_weakest, link_between);
    put_list(json, "bridges", p, NULL, graph->bridges.n_bridges, bridge);
    put_list(json, "articulation_points", p, NULL, graph->bridges.n_articulation_points, point);
}

static void put_choice(bm_json *json, const bm_page_choice *choice)
{
    bm_json_key_double(json, "threshold", choice->threshold);
    bm_json_key_uint(json, "pairs", choice->pairs);
    bm_json_key_uint(json, "groups", choice->groups);
    bm_json_key_uint(json, "largest", choice->largest);
    bm_json_key_uint(json, "removed", choice->removed);
}

static void threshold(bm_json *json, const bm_page *p, size_t i)
{
    put_choice(json, &p->what_if.thresholds[i]);
}

static void star(bm_json *json, const bm_page *p, size_t i)
{
    (void)i;
    put_choice(json, &p->what_if.stars);
}

static void copy_member(bm_json *json, const bm_page *p, const char *name)
{
    bm_str value;
    if (!bm_manifest_member(p->manifest, name, &value))
        return;
    bm_json_key(json, name);
    bm_json_scan_copy(value, json);
}

/* Write the stored part of a text around a run, and its offset in the text. If the text was not
 * found, only this fact is written. */
static void put_run(bm_json *json, const char *key, const bm_page_run *run)
{
    bm_json_key_object(json, key);
    bm_json_key_bool(json, "found", run->found);
    if (run->found) {
        bm_json_key_uint(json, "bytes", run->bytes);
        bm_json_key_uint(json, "begin", run->begin);
        bm_json_key_string(json, "text", (bm_str){run->text, run->held});
        bm_json_key_array(json, "run");
        bm_json_uint(json, run->from);
        bm_json_uint(json, run->to);
        bm_json_end_array(json);
    }
    bm_json_end_object(json);
}

static bm_str str_of(const bm_buf *buf)
{
    return (bm_str){buf->data, buf->len};
}

static void item_of_overlap(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_item *item = &p->overlap.items[i];
    bm_json_key_string(json, "item", str_of(&item->id));
    bm_json_key_uint(json, "shingles", item->row.shingles);
    bm_json_key_uint(json, "documents", item->row.documents);
    bm_json_key_double(json, "coverage", item->row.coverage);
    bm_json_key_double(json, "together", item->row.together);
    bm_json_key_string(json, "file", str_of(&item->file));
    bm_json_key_uint(json, "line", item->row.line);
    bm_json_key_string(json, "document", str_of(&item->doc_id));
    bm_json_key_uint(json, "hits", item->holds.hits);
    bm_json_key_uint(json, "longest", item->holds.longest);
}

static void shown_item(bm_json *json, const bm_page *p, size_t i)
{
    item_of_overlap(json, p, i);
    put_run(json, "item_text", &p->overlap.items[i].item);
    put_run(json, "document_text", &p->overlap.items[i].document);
}

/* Write the part for a directory of overlap, instead of groups and pairs. */
static void write_overlap(bm_json *json, const bm_page *p, bool whole)
{
    bm_json_key_uint(json, "items_held", p->overlap.of);
    put_list(json, "most_held", p, NULL, p->overlap.n, whole ? shown_item : item_of_overlap);
    bm_json_key_text(json, "no_item_texts", p->overlap.no_texts);
}

/* --- parts of documents --- */

static void repeated_unit(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_unit *unit = &p->units.units[i];
    const size_t n = bm_manifest_n_inputs(p->manifest);
    size_t most = 0;
    for (size_t k = 1; k < n; k++)
        most = unit->files[k] > unit->files[most] ? k : most;
    bm_json_key_uint(json, "cuts", unit->cuts);
    bm_json_key_string(json, "kept", str_of(&unit->kept));
    bm_json_key_uint(json, "kept_from", unit->kept_from);
    bm_json_key_uint(json, "files", unit->n_files);
    if (unit->n_files > 0) {
        bm_json_key_text(json, "most_in", bm_manifest_input_at(p->manifest, most)->file);
        bm_json_key_uint(json, "cuts_there", unit->files[most]);
    }
    bm_json_key_string(json, "document", str_of(&unit->id));
    bm_json_key_uint(json, "from", unit->from);
    bm_json_key_uint(json, "to", unit->to);
}

static void shown_unit(bm_json *json, const bm_page *p, size_t i)
{
    repeated_unit(json, p, i);
    put_run(json, "document_text", &p->units.units[i].run);
}

/* Write a unit for a row of the table. Of its text, if found, only the beginning is written. */
static void unit_in_table(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_run *run = &p->units.units[i].run;
    repeated_unit(json, p, i);
    if (run->found) {
        const size_t len = run->to - run->from, shown = len < UNIT_SHOWN ? len : UNIT_SHOWN;
        bm_json_key_string(
            json, "text",
            (bm_str){run->text + run->from, bm_utf8_valid_prefix(run->text + run->from, shown)});
    }
}

static void shortened(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_shortened *doc = &p->units.docs[i];
    bm_json_key_string(json, "document", str_of(&doc->id));
    bm_json_key_uint(json, "line", doc->line);
    bm_json_key_uint(json, "cut_bytes", doc->cut_bytes);
    bm_json_key_bool(json, "found", doc->found);
    if (!doc->found)
        return;
    bm_json_key_uint(json, "bytes", doc->bytes);
    bm_json_key_uint(json, "begin", doc->begin);
    bm_json_key_string(json, "text", (bm_str){doc->text, doc->held});
    bm_json_key_array(json, "cuts");
    for (size_t k = 0; k < doc->n; k++) {
        bm_json_begin_array(json);
        bm_json_uint(json, doc->ranges[k].from);
        bm_json_uint(json, doc->ranges[k].to);
        bm_json_end_array(json);
    }
    bm_json_end_array(json);
}

/* Write the part for a directory of units, instead of groups and pairs. */
static void write_units(bm_json *json, const bm_page *p, bool whole)
{
    bm_json_key_uint(json, "repeated_units", p->units.of);
    put_list(json, "most_repeated", p, NULL, p->units.n, whole ? shown_unit : unit_in_table);
    if (whole)
        put_list(json, "before_and_after", p, NULL, p->units.n_docs, shortened);
}

/* Write the part for groups and pairs. `whole`: also write the pairs and the documents
 * themselves. */
static void write_groups(bm_json *json, const bm_page *p, bool whole)
{
    const bm_page_what_if *what_if = &p->what_if;
    put_list(json, "group_sizes", p, NULL, p->n_sizes, size_of_groups);
    put_list(json, "largest_groups", p, NULL, p->n_groups, group);
    put_object(json, "sample", p, sample);
    if (whole) {
        put_list(json, "sample_pairs", p, NULL, p->sample.n, sample_pair);
        put_list(json, "just_above", p, NULL, p->near.n, near_pair);
        put_list(json, "most_chained", p, NULL, p->chained.n, chained_pair);
        put_list(json, "documents", p, NULL, p->ids.n, document);
    }
    put_object(json, "chained_group", p, chained_group);
    put_list(json, "other_thresholds", p, NULL, what_if->n_thresholds, threshold);
    key_reason(json, "no_other_thresholds", what_if->why_not);
    if (what_if->why_no_stars == NULL)
        put_object(json, "star", p, star);
    else
        bm_json_key_text(json, "star", NULL);
    key_reason(json, "no_star", what_if->why_no_stars);
}

/* Write the public members. `whole`: write all inputs and texts; otherwise, write only the parts
 * that the page shows. */
static void write_public(bm_json *json, const bm_page *p, bool whole)
{
    static const char *const copied[] = {"provenance",     "parameters",    "plan",
                                         "counts",         "chained_share", "dominant_group",
                                         "keep_not_ranked"};
    bm_json_key_uint(json, "schema", 1);
    bm_json_key_text(json, "kind", "report");
    bm_json_key_text(json, "version", bm_manifest_version(p->manifest));
    bm_json_key_text(json, "job", bm_manifest_kind(p->manifest));
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        copy_member(json, p, copied[i]);
    if (whole)
        put_list(json, "inputs", p, NULL, bm_manifest_n_inputs(p->manifest), input);
    put_object(json, "similarities", p, similarities);
    if (p->overlap.is)
        write_overlap(json, p, whole);
    else if (p->units.is)
        write_units(json, p, whole);
    else
        write_groups(json, p, whole);
    bm_json_key_text(json, "no_texts", p->no_texts);
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
    *n_bytes = json.buf.len;
    BM_TRY_OUT(bm_buf_add(&rows->buf, json.buf.data, json.buf.len, err));
    status = bm_rows_flush(rows, true, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

/* --- what only the page needs: pictures --- */

static void key_px(bm_json *json, const char *key, double value)
{
    bm_json_key_text(json, key, bm_svg_px(value).text);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Write how many documents were kept, and how many were removed for each reason, as segments of a
 * bar. The bar is 520 pixels wide. */
static void write_shares(bm_json *json, const bm_page *p)
{
    const bm_counts *n = &p->counts;
    const uint64_t same = n->results.removed_identical, known = n->results.known,
                   equal = n->removed_equal,
                   near = minus(minus(minus(minus(n->removed, n->chained), same), equal), known);
    const struct share {
        const char *colour, *words;
        uint64_t n;
    } shares[] = {{"blue", "kept", n->kept},
                  {"violet", "removed, identical to the one kept", same},
                  {"pale", "removed, equal to the one kept in all shingles", equal},
                  {"amber",
                   p->overlap.is                      ? "removed"
                   : p->units.is                      ? "left empty, removed"
                   : p->verify == BM_VERIFY_CONTAINED ? "removed, contained in the one kept"
                                                      : "removed, near the one kept",
                   near},
                  {"red", "removed, chained to it", n->chained},
                  {"grey", "removed, near a known one", known}};
    double x = 0;
    bm_json_key_array(json, "shares");
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

static const bm_figure plot = {.left = 84, .right = 468, .top = 44, .bottom = 234};

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
    first = first >= 20 && !p->overlap.is ? first / 20 * 20 - 20 : 0;
    f.out = &out;
    f.low = (double)first / BM_HISTOGRAM_BINS;
    bm_figure_scale(&f, counts, BM_HISTOGRAM_BINS);
    if (p->overlap.is) {
        f.unit = "item";
        f.axis = "coverage: share of an item in one document";
    }
    bm_figure_counts(&f, p->overlap.is ? "items" : p->has_pairs ? "pairs" : "removed documents");
    bm_figure_bars(&f, counts, .4);
    bm_figure_similarities(&f, first >= 50 ? 10 : 20);
    bm_figure_threshold(&f, p->threshold);
    if (p->bands != 0) {
        bm_figure_curve(&f, "chosen", p->bands, p->rows);
        bm_figure_chances(&f);
    }
    key_made(json, "similarities_plot", &out, f.status);
}

/* Bin i > 0 counts sizes from 2^i + 1 to 2^(i+1). Bin 0 counts size 2, and size 1, which groups
 * with a known document may have. */
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
            bm_figure_put(&f, "><title>%s group%s of %s to %s documents</title></rect>\n",
                          bm_svg_count((uint64_t)counts[i]).text, counts[i] == 1 ? "" : "s",
                          bm_svg_count(((uint64_t)1 << i) + 1).text, high.text);
        if (n <= 10 || i % 2 == 0)
            bm_figure_text(&f, "mid soft", x + step / 2, f.bottom + 20, high.text);
    }
    bm_figure_line(&f, "axis", f.left, f.bottom, f.right, f.bottom);
    bm_figure_text(&f, "mid soft", (f.left + f.right) / 2, f.bottom + 42,
                   "documents in a group, up to");
    key_made(json, "sizes_plot", &out, f.status);
}

/* The drawing of the group is 520 pixels wide and 360 high. */
static bm_svg_text dot_x(const bm_page_node *node)
{
    return bm_svg_px(16 + node->x * 488);
}

static bm_svg_text dot_y(const bm_page_node *node)
{
    return bm_svg_px(16 + node->y * 328);
}

/* Get the two dots of a link. Returns false if one of them is not drawn. */
static bool dots_of(const bm_page_graph *graph, size_t pair, const bm_page_node *dots[2])
{
    const uint32_t a = graph->node_of[graph->pairs[pair].a],
                   b = graph->node_of[graph->pairs[pair].b];
    if (a == BM_ID_NONE || b == BM_ID_NONE)
        return false;
    dots[0] = &graph->nodes[a];
    dots[1] = &graph->nodes[b];
    return true;
}

static void drawn_bridge(bm_json *json, const bm_page *p, size_t i)
{
    const bm_bridge *b = &p->graph.bridges.bridges[i];
    const bm_page_node *dots[2] = {NULL};
    dots_of(&p->graph, b->pair, dots);
    bm_json_key_text(json, "x1", dot_x(dots[0]).text);
    bm_json_key_text(json, "y1", dot_y(dots[0]).text);
    bm_json_key_text(json, "x2", dot_x(dots[1]).text);
    bm_json_key_text(json, "y2", dot_y(dots[1]).text);
    bm_json_key_double(json, "jaccard", p->graph.pairs[b->pair].similarity);
    bm_json_key_uint(json, "with_a", b->n_a);
    bm_json_key_uint(json, "with_b", b->n_b);
}

/* Write each drawn bridge, and the other drawn links, at most LINKS_MAX, as one path. */
static void draw_links(bm_json *json, const bm_page *p)
{
    const bm_page_graph *graph = &p->graph;
    const bm_bridges *bridges = &graph->bridges;
    const bm_page_node *dots[2];
    bm_buf path = {0};
    bm_status status = BM_OK;
    size_t next = 0, n = 0, n_drawn = 0, *drawn = NULL;
    BM_TRY_OUT(bm_new(&drawn, bridges->n_bridges, NULL));
    for (size_t i = 0; i < graph->n_pairs; i++) {
        const bool is_bridge = next < bridges->n_bridges && bridges->bridges[next].pair == i,
                   is_drawn = dots_of(graph, i, dots);
        next += is_bridge;
        if (is_drawn && is_bridge)
            drawn[n_drawn++] = next - 1;
        if (is_drawn && !is_bridge && n++ < LINKS_MAX)
            BM_TRY_OUT(bm_buf_add_format(&path, NULL, "M%s %sL%s %s", dot_x(dots[0]).text,
                                         dot_y(dots[0]).text, dot_x(dots[1]).text,
                                         dot_y(dots[1]).text));
    }
    put_list(json, "bridges", p, drawn, n_drawn, drawn_bridge);
out:
    key_made(json, "links", &path, status);
    bm_free(drawn);
}

static void node(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_node *one = &p->graph.nodes[i];
    bm_json_key_string(json, "id", bm_id_set_id(&p->graph.ids, one->doc));
    bm_json_key_text(json, "x", dot_x(one).text);
    bm_json_key_text(json, "y", dot_y(one).text);
    bm_json_key_uint(json, "copies", one->n_copies);
    bm_json_key_uint(json, "links", one->n_links);
    bm_json_key_uint(json, "parts", one->n_parts);
    bm_json_key_bool(json, "kept", !p->graph.known && one->doc == p->graph.kept);
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void drawing(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_graph *graph = &p->graph;
    const size_t n_bridges = graph->bridges.n_bridges,
                 n_points = graph->bridges.n_articulation_points;
    (void)i;
    bm_json_key_uint(json, "n_bridges", n_bridges);
    bm_json_key_uint(json, "n_points", n_points);
    bm_json_key_uint(json, "more_bridges", minus(n_bridges, LISTED_MAX));
    bm_json_key_uint(json, "more_points", minus(n_points, LISTED_MAX));
    bm_json_key_bool(json, "is_part", graph->n_nodes < graph->copies.n_nodes);
    put_list(json, "listed_bridges", p, graph->bridge_order, at_most(n_bridges, LISTED_MAX),
             bridge);
    put_list(json, "listed_points", p, graph->point_order, at_most(n_points, LISTED_MAX), point);
    draw_links(json, p);
    put_list(json, "nodes", p, NULL, graph->n_nodes, node);
}

/* --- parts of lists, and words --- */

static void write_listed_inputs(bm_json *json, const bm_page *p)
{
    bm_page_inputs list;
    if (bm_page_list_inputs(p, &list, NULL) != BM_OK) {
        json->status = BM_ERR_NOMEM;
        return;
    }
    bm_json_key_bool(json, "inputs_are_folders", list.are_folders);
    bm_json_key_bool(json, "inputs_are_part", bm_manifest_n_inputs(p->manifest) > list.n);
    bm_json_key_array(json, "listed_inputs");
    for (size_t i = 0; i < list.n; i++) {
        const bm_page_input *row = &list.rows[i];
        bm_json_begin_object(json);
        if (list.n_others > 0 && i + 1 == list.n)
            bm_json_key_uint(json, "others", list.n_others);
        bm_json_key_string(json, "file", row->name.len > 0 ? row->name : (bm_str){"./", 2});
        bm_json_key_uint(json, "files", row->n_files);
        bm_json_key_uint(json, "bytes", row->bytes);
        counts_of(json, row);
        bm_json_key_uint(json, "n_gone", row->n_gone);
        bm_json_key_text(json, "gone", row->gone);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_free(list.rows);
}

static void items_section(bm_json *json, const bm_page *p, size_t i)
{
    (void)i;
    bm_json_key_text(json, "id", "items");
    bm_json_key_uint(json, "pairs", p->overlap.n);
    bm_json_key_uint(json, "of", p->overlap.of);
}

static void units_section(bm_json *json, const bm_page *p, size_t i)
{
    bm_json_key_text(json, "id", i == 0 ? "units" : "before");
    bm_json_key_uint(json, "pairs", i == 0 ? p->units.n : p->units.n_docs);
    bm_json_key_uint(json, "of", i == 0 ? p->units.of : p->units.n_docs);
}

static void section(bm_json *json, const bm_page *p, size_t i)
{
    const char *const ids[] = {"sample", "near", "chained", "of-groups"};
    const uint64_t pairs[] = {p->sample.n, p->near.n, p->chained.n, p->n_groups},
                   of[] = {p->sample.of, p->near.of, p->chained.of, p->n_groups};
    bm_json_key_text(json, "id", ids[i]);
    bm_json_key_uint(json, "pairs", pairs[i]);
    bm_json_key_uint(json, "of", of[i]);
}

/* Append a word, in quotes if a shell needs them. */
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

/* The program's name without its folder. */
static bm_str without_folder(bm_str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (bm_str){path.data + i, path.len - i};
    return path;
}

static void write_command(bm_json *json, const bm_page *p)
{
    bm_str command = {0}, word;
    bm_buf out = {0}, text = {0};
    bm_status status = BM_OK;
    size_t at = 0, n_bytes = 0;
    bm_manifest_member(p->manifest, "run.command", &command);
    while (bm_json_scan_element(command, &at, &word)) {
        text.len = 0;
        if (bm_json_scan_string(word, &text, NULL) != BM_OK ||
            (n_bytes += text.len) > COMMAND_MAX) {
            status = bm_buf_add_text(&out, " \xE2\x80\xA6", NULL);
            break;
        }
        const bm_str given = {text.data, text.len};
        const bool first = out.len == 0;
        BM_TRY_OUT(bm_buf_add_text(&out, first ? "" : " ", NULL));
        BM_TRY_OUT(quote(first ? without_folder(given) : given, &out));
    }
out:
    bm_buf_reset(&text);
    key_made(json, "command", &out, status);
}

/* Write settings under the names that users know: the name of the option, or words if a setting has
 * no option. */
static void write_named(bm_json *json, const bm_page *p, const char *key, const char *member)
{
    static const struct setting {
        /* key: name of the setting; field: field of its option; words: shown if there is no
         * option */
        const char *key, *field, *words;
    } settings[] = {{"text_fields", "text_field", NULL},
                    {"input_format", "format", NULL},
                    {"against_text_fields", "against_text_field", NULL},
                    {"against_state", NULL, "known documents"},
                    {"containment", NULL, "share that is contained"},
                    {"stopwords_xxh3", NULL, "digest of the stop words"},
                    {"unicode", NULL, "Unicode"},
                    {"utf8proc_unicode", NULL, "Unicode of utf8proc"},
                    {"format", NULL, "version of the format"},
                    {"weights_documents", NULL, "documents that were weighed"},
                    {"weights_digest", NULL, "digest of the weights"}};
    enum { N = sizeof settings / sizeof settings[0] };
    bm_str object = {0}, name, value;
    size_t at = 0;
    bm_manifest_member(p->manifest, member, &object);
    bm_json_key_array(json, key);
    while (bm_json_scan_member(object, &at, &name, &value)) {
        bm_buf text = {0};
        size_t i = 0;
        while (i < N && !(name.len == strlen(settings[i].key) + 2 &&
                          memcmp(name.data + 1, settings[i].key, name.len - 2) == 0))
            i++;
        const char *words = i < N ? settings[i].words : NULL;
        const char *field = i < N ? settings[i].field : NULL;
        const bm_status status = words != NULL ? bm_buf_add_text(&text, words, NULL)
                                 : field != NULL
                                     ? add_option((bm_str){field, strlen(field)}, &text)
                                     : add_option((bm_str){name.data + 1, name.len - 2}, &text);
        bm_json_begin_object(json);
        key_made(json, "name", &text, status);
        bm_json_key(json, "value");
        bm_json_scan_copy(value, json);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* Write the advice for this report: "--cluster star, --weights tfidf". */
static void write_what_helps(bm_json *json, const bm_page *p)
{
    bm_str helps = {0}, word;
    bm_buf out = {0};
    bm_status status = BM_OK;
    size_t at = 0;
    bm_manifest_member(p->manifest, "dominant_group.helps", &helps);
    while (bm_json_scan_element(helps, &at, &word)) {
        if (word.len < 2 || word.data[0] != '"')
            continue;
        const bm_str inside = {word.data + 1, word.len - 2};
        const char *space = memchr(inside.data, ' ', inside.len);
        const size_t len = space != NULL ? (size_t)(space - inside.data) : inside.len;
        BM_TRY_OUT(bm_buf_add_text(&out, out.len > 0 ? ", " : "", NULL));
        BM_TRY_OUT(add_option((bm_str){inside.data, len}, &out));
        BM_TRY_OUT(bm_buf_add(&out, inside.data + len, inside.len - len, NULL));
    }
out:
    key_made(json, "what_helps", &out, status);
}

/* Write a size the way the program prints it: "1.2 MB". */
static void key_bytes(bm_json *json, const char *key, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    char text[32];
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 999.5 && unit < 4; unit++)
        value /= 1000;
    snprintf(text, sizeof text, unit > 0 && value < 99.95 ? "%.1f %s" : "%.0f %s", value,
             units[unit]);
    bm_json_key_text(json, key, text);
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
    if (p->counts.results.removed_bytes != BM_COUNT_UNKNOWN)
        key_bytes(json, "removed_text", p->counts.results.removed_bytes);
    write_shares(json, p);
    write_listed_inputs(json, p);
    bm_json_key_uint(json, "missed",
                     p->bands != 0 ? (uint64_t)lround(1000 * (1 - p->predicted_recall)) : 0);
    if (p->n_similarities > 0)
        draw_similarities(json, p);
    if (p->n_sizes > 0)
        draw_sizes(json, p);
    bm_json_key_uint(json, "largest_size", p->n_sizes > 0 ? p->sizes[p->n_sizes - 1].size : 0);
    bm_json_key_bool(json, "has_texts", p->has_texts);
    bm_json_key_uint(json, "gone_inputs", p->n_gone);
    bm_json_key_uint(json, "all_inputs", bm_manifest_n_inputs(p->manifest));
    bm_json_key_bool(json, "weighted", p->weighted);
    const bool of_groups = p->n_groups > 0 && p->keep != BM_KEEP_NONE;
    if (p->overlap.is)
        put_list(json, "text_sections", p, NULL, p->overlap.n > 0, items_section);
    else if (p->units.is)
        put_list(json, "text_sections", p, NULL,
                 p->units.n == 0 ? 0 : 1 + (size_t)(p->units.n_docs > 0), units_section);
    else
        put_list(json, "text_sections", p, NULL,
                 p->sample.n + p->near.n + p->chained.n + of_groups > 0 ? 3 + of_groups : 0,
                 section);
    if (p->graph.why_not == NULL && !p->overlap.is && !p->units.is)
        put_object(json, "drawing", p, drawing);
    bm_json_key_text(json, "nothing_known",
                     what_if->why_not == what_if->why_no_stars ? what_if->why_not : NULL);
    snprintf(seconds, sizeof seconds, "%s.%02u", bm_svg_count((uint64_t)p->seconds).text,
             (unsigned)((p->seconds - (double)(uint64_t)p->seconds) * 100));
    bm_json_key_text(json, "seconds", seconds);
    write_command(json, p);
    write_what_helps(json, p);
    write_named(json, p, "parameters_named", "parameters");
    write_named(json, p, "provenance_named", "provenance");
}

/* --- two texts side by side: common parts, and parts that only one text has --- */

/* One of two texts side by side. Long common stretches are folded in both texts alike, except for
 * their ends, so that differences fit into the bytes that are shown. */
typedef struct side {
    bm_json *json;
    const bm_diff_text *words;
    const char *own; /* name of the JSON member for the parts that only this side has */
    bool folds;      /* fold long common stretches */
    size_t left;     /* bytes that may still be shown */
} side;

static void put_piece(side *s, const char *name, const char *data, size_t len)
{
    if (len == 0)
        return;
    bm_json_begin_object(s->json);
    bm_json_key_string(s->json, name, (bm_str){data, len});
    bm_json_end_object(s->json);
}

/* Put as many of the words from … to-1 as fit. Of the first word that does not fit, put the
 * beginning, cut between characters. Returns true if all words were put. */
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

/* Put words that only this side has. The white space before the first word is not marked. */
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
    bm_json_key_string(s->json, "id", bm_page_id(p, number));
    bm_json_key_bool(s->json, "found", doc->found);
    bm_json_key_uint(s->json, "bytes", doc->text_bytes);
    bm_json_key_uint(s->json, "line", doc->line);
    if (doc->counted)
        bm_json_key_uint(s->json, "shingles", doc->n_hashes);
    if (bm_manifest_n_inputs(p->manifest) > 1)
        bm_json_key_text(s->json, "file", bm_manifest_input_at(p->manifest, doc->file)->file);
    bm_json_key_array(s->json, "words");
    for (size_t at = 0, to; room && at < t->n; at = to) {
        for (to = at + 1; to < t->n && t->words[to].common == t->words[at].common; to++)
            ;
        room = t->words[at].common ? put_common(s, at, to) : put_alone(s, at, to);
    }
    bm_json_end_array(s->json);
    bm_json_key_bool(s->json, "more", !room || doc->held < doc->text_bytes);
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
    bm_json_key_string(json, "a", bm_page_id(p, pair->a));
    bm_json_key_string(json, "b", bm_page_id(p, pair->b));
    bm_json_key_double(json, "jaccard", pair->jaccard);
    bm_json_key_bool(json, "open", open);
    bm_json_key_text(json, "label", pair->label);
    if (shared_shingles(p, pair, &shared)) {
        bm_json_key_uint(json, "shared_shingles", shared);
        bm_json_key_uint(json, "all_shingles", a->n_hashes + b->n_hashes - shared);
    }
    bm_json_key_array(json, "sides");
    write_side(&(side){json, &x, "a", folds, most}, p, pair->a, roles[0]);
    write_side(&(side){json, &y, "b", folds, most}, p, pair->b, roles[1]);
    bm_json_end_array(json);
    bm_json_end_object(json);
    bm_diff_text_reset(&x);
    bm_diff_text_reset(&y);
    return status;
}

static void put_left_out(bm_json *json, uint64_t n_bytes)
{
    if (n_bytes == 0)
        return;
    bm_json_begin_object(json);
    bm_json_key_uint(json, "left_out", n_bytes);
    bm_json_end_object(json);
}

static void write_run_side(bm_json *json, const bm_page_run *run, const char *role, bm_str id,
                           const char *file, uint64_t line)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "role", role);
    bm_json_key_string(json, "id", id);
    bm_json_key_bool(json, "found", run->found);
    bm_json_key_uint(json, "bytes", run->bytes);
    bm_json_key_uint(json, "line", line);
    if (file != NULL)
        bm_json_key_text(json, "file", file);
    bm_json_key_array(json, "words");
    if (run->found) {
        side s = {.json = json};
        put_left_out(json, run->begin);
        put_piece(&s, "both", run->text, run->from);
        put_piece(&s, "run", run->text + run->from, run->to - run->from);
        put_piece(&s, "both", run->text + run->to, run->held - run->to);
        put_left_out(json, run->bytes - run->begin - run->held);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static bm_status next_item(const bm_page *p, size_t i, bm_json *json, bool *more, bm_error *err)
{
    *more = i < p->overlap.n;
    if (!*more)
        return BM_OK;
    const bm_page_item *item = &p->overlap.items[i];
    const bool files = bm_manifest_n_inputs(p->manifest) > 1;
    bm_buf file = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add(&file, item->file.data, item->file.len, err));
    BM_TRY_OUT(bm_buf_end(&file, err));
    bm_json_begin_object(json);
    bm_json_key_string(json, "a", str_of(&item->id));
    bm_json_key_string(json, "b", str_of(&item->doc_id));
    bm_json_key_double(json, "jaccard", item->row.coverage);
    bm_json_key_bool(json, "open", i < OPEN_PAIRS);
    bm_json_key_uint(json, "hits", item->holds.hits);
    bm_json_key_uint(json, "item_shingles", item->row.shingles);
    bm_json_key_uint(json, "longest", item->holds.longest);
    bm_json_key_uint(json, "documents", item->row.documents);
    bm_json_key_array(json, "sides");
    write_run_side(json, &item->item, "Item", str_of(&item->id), file.data, item->row.line);
    const bm_page_doc *doc = bm_page_doc_of(p, item->doc);
    write_run_side(json, &item->document, "Document", str_of(&item->doc_id),
                   files ? bm_manifest_input_at(p->manifest, doc->file)->file : NULL,
                   item->holds.line);
    bm_json_end_array(json);
    bm_json_end_object(json);
out:
    bm_buf_reset(&file);
    return status;
}

static const char *file_of(const bm_page *p, uint32_t doc)
{
    return bm_manifest_n_inputs(p->manifest) > 1
               ? bm_manifest_input_at(p->manifest, bm_page_doc_of(p, doc)->file)->file
               : NULL;
}

static void write_unit_pair(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_unit *unit = &p->units.units[i];
    bm_json_begin_object(json);
    bm_json_key_uint(json, "cuts", unit->cuts);
    bm_json_key_string(json, "a", str_of(&unit->kept));
    bm_json_key_uint(json, "kept_from", unit->kept_from);
    bm_json_key_bool(json, "open", i < OPEN_PAIRS);
    bm_json_key_array(json, "sides");
    write_run_side(json, &unit->run, "Cut out of", str_of(&unit->id), file_of(p, unit->doc),
                   unit->line);
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void write_shortened(bm_json *json, const bm_page *p, const bm_page_shortened *doc,
                            bool after)
{
    size_t at = 0;
    bm_json_begin_object(json);
    bm_json_key_text(json, "role", after ? "After" : "Before");
    bm_json_key_string(json, "id", str_of(&doc->id));
    bm_json_key_bool(json, "found", doc->found);
    bm_json_key_uint(json, "bytes", after ? minus(doc->bytes, doc->cut_bytes) : doc->bytes);
    bm_json_key_uint(json, "line", doc->line);
    if (file_of(p, doc->doc) != NULL)
        bm_json_key_text(json, "file", file_of(p, doc->doc));
    bm_json_key_array(json, "words");
    if (doc->found) {
        side s = {.json = json};
        put_left_out(json, doc->begin);
        for (size_t k = 0; k < doc->n; k++) {
            const size_t from = (size_t)doc->ranges[k].from, to = (size_t)doc->ranges[k].to;
            put_piece(&s, "both", doc->text + at, from - at);
            if (!after)
                put_piece(&s, "run", doc->text + from, to - from);
            at = to;
        }
        put_piece(&s, "both", doc->text + at, doc->held - at);
        put_left_out(json, doc->bytes - doc->begin - doc->held);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void write_before(bm_json *json, const bm_page *p, size_t i)
{
    const bm_page_shortened *doc = &p->units.docs[i];
    bm_json_begin_object(json);
    bm_json_key_string(json, "before", str_of(&doc->id));
    bm_json_key_uint(json, "cut_bytes", doc->cut_bytes);
    bm_json_key_bool(json, "open", i == 0);
    bm_json_key_array(json, "sides");
    write_shortened(json, p, doc, false);
    write_shortened(json, p, doc, true);
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static void next_unit(const bm_page *p, bool before, size_t i, bm_json *json, bool *more)
{
    *more = i < (before ? p->units.n_docs : p->units.n);
    if (*more)
        (before ? write_before : write_unit_pair)(json, p, i);
}

/* State of the streams of pairs, for bm_template.stream. */
typedef struct pair_stream {
    const bm_page *page;
    size_t group; /* index of the next group; only for the stream "of-groups" */
} pair_stream;

static bm_status next_pair(void *ctx, bm_str name, size_t i, bm_json *json, bool *more,
                           bm_error *err)
{
    static const char *const any[] = {"A", "B"}, *const removed[] = {"Kept", "Removed"};
    pair_stream *s = ctx;
    const bm_page *p = s->page;
    const bool near = bm_json_scan_is(name, "\"near\"");
    const bm_page_pairs *pairs = near                                  ? &p->near
                                 : bm_json_scan_is(name, "\"sample\"") ? &p->sample
                                                                       : &p->chained;
    bm_page_pair pair = {0};
    if (p->overlap.is)
        return next_item(p, i, json, more, err);
    if (p->units.is) {
        next_unit(p, bm_json_scan_is(name, "\"before\""), i, json, more);
        return BM_OK;
    }
    if (bm_json_scan_is(name, "\"of-groups\"")) {
        while (s->group < p->n_groups && p->groups[s->group].least_doc == BM_PAGE_NO_DOC)
            s->group++;
        *more = s->group < p->n_groups;
        const bm_page_group *group = &p->groups[s->group++];
        if (*more)
            pair = (bm_page_pair){.a = group->kept, .b = group->least_doc, .jaccard = group->least};
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
