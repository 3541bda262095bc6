/* SPDX-License-Identifier: Apache-2.0 */
/* explain_write.c -- writes the answer of `explain` as text, as JSON or as a graph. An overlap has
 * no graph.
 *
 * People read the text and the graph. So hidden characters in ids (base/utf8.h) are shown as \xHH,
 * and a hostile id cannot control a terminal or break out of a label. In JSON, ids are as in
 * groups.jsonl. Output is written line by line, so only the longest line grows with the group.
 *
 * Tests: tests/cli/cases/explain.sh, tests/reference/test_groups.py */
#include "report/explainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_write.h"
#include "model/file_names.h"

static bool chain_asked(const bm_explainer *e)
{
    return e->a != e->b;
}

static bm_str id_of(const bm_explainer *e, uint32_t doc)
{
    return doc == BM_ID_NONE ? (bm_str){e->known.data, e->known.len} : bm_id_set_id(&e->ids, doc);
}

/* --- text --- */

typedef struct page { /* The text written so far. `status` keeps the first error. */
    const bm_explainer *e;
    bm_rows *rows;
    bm_status status;
    bm_error *err;
} page;

static void put(page *p, const char *text)
{
    if (p->status == BM_OK)
        p->status = bm_buf_add_text(&p->rows->buf, text, p->err);
}

static void put_uint(page *p, uint64_t number)
{
    if (p->status == BM_OK)
        p->status = bm_buf_add_format(&p->rows->buf, p->err, "%" PRIu64, number);
}

/* "4 documents", "1 document". */
static void put_count(page *p, uint64_t number, const char *noun)
{
    put_uint(p, number);
    put(p, noun);
    put(p, number == 1 ? "" : "s");
}

static void put_similarity(page *p, double similarity)
{
    if (isnan(similarity))
        put(p, "not known");
    else if (p->status == BM_OK)
        p->status = bm_buf_add_format(&p->rows->buf, p->err, "%.6f", similarity);
}

/* End a line. If the buffer is full, write it out. */
static void end_row(page *p)
{
    put(p, "\n");
    if (p->status == BM_OK)
        p->status = bm_rows_flush(p->rows, false, p->err);
}

/* Write text escaped as in our TSV files. Characters that terminals hide are escaped too. */
static void put_escaped(page *p, bm_str text)
{
    bm_buf escaped = {0};
    bm_status status = p->status;
    BM_TRY_OUT(status);
    BM_TRY_OUT(bm_tsv_escape(&escaped, text, p->err));
    status = bm_buf_add_plain(&p->rows->buf, (bm_str){escaped.data, escaped.len}, p->err);
out:
    bm_buf_reset(&escaped);
    p->status = status;
}

/* Write an id, escaped like put_escaped. In a quoted string of Graphviz, backslashes are doubled
 * and quotes escaped. */
static void put_id(page *p, uint32_t doc, bool quoted)
{
    bm_buf escaped = {0}, plain = {0}, *to = &p->rows->buf;
    bm_status status = p->status;
    BM_TRY_OUT(status);
    BM_TRY_OUT(bm_tsv_escape(&escaped, id_of(p->e, doc), p->err));
    BM_TRY_OUT(bm_buf_add_plain(&plain, (bm_str){escaped.data, escaped.len}, p->err));
    for (size_t i = 0, n; i < plain.len; i += n) {
        for (n = 1; i + n < plain.len && plain.data[i + n] != '"' && plain.data[i + n] != '\\';)
            n++;
        if (quoted && (plain.data[i] == '"' || plain.data[i] == '\\'))
            BM_TRY_OUT(bm_buf_add(to, "\\", 1, p->err));
        BM_TRY_OUT(bm_buf_add(to, plain.data + i, n, p->err));
    }
out:
    bm_buf_reset(&escaped);
    bm_buf_reset(&plain);
    p->status = status;
}

/* Write "1 copy" or "3 copies": the number of documents that a node represents besides itself. */
static void put_copies(page *p, uint32_t doc)
{
    const uint32_t n = p->e->copies.n[doc] - 1;
    put_uint(p, n);
    put(p, n == 1 ? " copy" : " copies");
}

static void put_pair(page *p, size_t pair)
{
    put_id(p, p->e->pairs[pair].a, false);
    put(p, " -- ");
    put_id(p, p->e->pairs[pair].b, false);
    put(p, "  ");
    put_similarity(p, p->e->pairs[pair].similarity);
}

static void text_head(page *p)
{
    const bm_explainer *e = p->e;
    put(p, "group ");
    put_uint(p, e->group);
    put(p, ": ");
    put_count(p, e->ids.n, " document");
    if (e->copies.n_nodes < e->ids.n) {
        put(p, " (");
        put_uint(p, e->copies.n_nodes);
        put(p, " without copies)");
    }
    put(p, ", ");
    put_count(p, e->n_pairs, " pair");
    put(p, ", ");
    if (!e->none)
        put_id(p, e->kept, false);
    put(p, e->none                 ? "none is kept"
           : e->kept == BM_ID_NONE ? ", which is known, is kept"
                                   : " is kept");
    end_row(p);
    if (e->divided == 0)
        return;
    put(p, "groups are components, but ");
    put_uint(p, e->divided);
    put(p, e->divided == 1 ? " of them that was larger than the job allowed was"
                           : " of them that were larger than the job allowed were");
    put(p, " divided into stars");
    end_row(p);
}

static void text_themselves(page *p)
{
    const bm_explainer *e = p->e;
    if (!isnan(e->answer.parts_above)) {
        put(p, "above a threshold of ");
        put_similarity(p, e->answer.parts_above);
        put(p, " the two part");
        end_row(p);
    }
    put_id(p, e->a, false);
    put(p, " and ");
    put_id(p, e->b, false);
    put(p, " themselves: ");
    put_similarity(p, e->answer.similarity);
    if (e->answer.texts != NULL)
        put(p, strcmp(e->answer.texts, BM_REMOVED_IS_EQUAL) == 0
                   ? ", equal: the same shingles in different texts"
                   : ", identical: the same text, byte for byte");
    if (e->find.verify != BM_VERIFY_CONTAINED && e->answer.similarity < e->find.bands.threshold &&
        bm_link_graph_find(&e->answer.graph, e->a, e->b) == SIZE_MAX)
        put(p, ", below the threshold: joined through others only");
    end_row(p);
}

static void text_cut(page *p)
{
    const bm_explainer *e = p->e;
    put(p, "to part them ");
    put_count(p, e->answer.cut.n, " link");
    put(p, " must go; ");
    put_count(p, e->answer.cut.n_near, " document");
    put(p, " would stay with ");
    put_id(p, e->a, false);
    put(p, ", ");
    put_uint(p, e->ids.n - e->answer.cut.n_near);
    put(p, " with ");
    put_id(p, e->b, false);
    put(p, ":");
    end_row(p);
    for (size_t i = 0; i < e->answer.cut.n; i++) {
        put(p, "  ");
        put_pair(p, e->answer.cut.pairs[i]);
        end_row(p);
    }
}

static const char *const nouns[] = {" word", " character", " byte", " word"}; /* by
                                                                               * bm_shingle_kind */

/* Write how long the longest common run of the two documents is and where it begins and ends, then
 * the run itself on a line of its own. Nothing is written if the run is not known. */
static void text_run(page *p)
{
    const bm_shared_run *run = &p->e->answer.run;
    if (!run->known)
        return;
    put(p, "the longest run of both: ");
    put_count(p, run->n, nouns[run->units]);
    for (size_t i = 0; i < 2 && run->n > 0; i++) {
        put(p, i == 0 ? ", bytes " : ", ");
        put_uint(p, run->from[i]);
        put(p, " to ");
        put_uint(p, run->to[i]);
        put(p, " of ");
        put_id(p, i == 0 ? p->e->a : p->e->b, false);
    }
    end_row(p);
    if (run->n > 0) {
        put(p, "  ");
        put_escaped(p, (bm_str){run->text.data, run->text.len});
        end_row(p);
    }
}

static void text_chain(page *p)
{
    const bm_explainer *e = p->e;
    const bm_chain *chain = &e->answer.chain;
    text_head(p);
    put(p, "\nthe shortest chain has ");
    put_count(p, chain->n_links, " link");
    put(p, ":");
    end_row(p);
    for (size_t i = 0; i <= chain->n_links; i++) {
        put(p, "  ");
        put_id(p, chain->docs[i], false);
        end_row(p);
        if (i == chain->n_links)
            break;
        put(p, "    ");
        put_similarity(p, e->pairs[chain->pairs[i]].similarity);
        put(p, chain->n_links > 1 && i == chain->weakest ? "  the weakest link" : "");
        end_row(p);
    }
    put(p, "\n");
    text_themselves(p);
    text_run(p);
    if (!bm_explain_are_copies(e))
        text_cut(p);
}

static void text_bridges(page *p)
{
    const bm_bridges *bridges = &p->e->answer.bridges;
    put(p, bridges->n_bridges == 0
               ? "\nno bridges: no single link holds the group together"
               : "\nbridges, links without which the group falls in two (documents on each side):");
    end_row(p);
    for (size_t i = 0; i < bridges->n_bridges; i++) {
        put(p, "  ");
        put_pair(p, bridges->bridges[i].pair);
        put(p, "  ");
        put_uint(p, bridges->bridges[i].n_a);
        put(p, " + ");
        put_uint(p, bridges->bridges[i].n_b);
        end_row(p);
    }
}

static void text_group(page *p)
{
    const bm_explainer *e = p->e;
    size_t articulation_point = 0;
    text_head(p);
    put(p, "\ndocuments and their links; what holds the group together, with the parts that it "
           "falls into without it:");
    end_row(p);
    for (uint32_t doc = 0; doc < e->ids.n; doc++) {
        if (e->copies.n[doc] == 0)
            continue;
        put(p, "  ");
        put_id(p, doc, false);
        put(p, "  ");
        put_count(p, e->answer.graph.begins[doc + 1] - e->answer.graph.begins[doc], " link");
        if (e->copies.n[doc] > 1) {
            put(p, ", with ");
            put_copies(p, doc);
        }
        if (articulation_point < e->answer.bridges.n_articulation_points &&
            e->answer.bridges.articulation_points[articulation_point].doc == doc) {
            put(p, "  holds ");
            put_uint(p, e->answer.bridges.articulation_points[articulation_point++].n_parts);
            put(p, " parts");
        }
        end_row(p);
    }
    text_bridges(p);
}

/* --- an item and a document --- */

#define AROUND 400u /* bytes of text shown before and after the run */

static void put_bytes(page *p, uint64_t from, uint64_t to)
{
    put(p, "bytes ");
    put_uint(p, from);
    put(p, " to ");
    put_uint(p, to);
}

static void put_left_out(page *p, size_t n_bytes)
{
    if (n_bytes == 0)
        return;
    put(p, "[... ");
    put_count(p, n_bytes, " byte");
    put(p, " ...]");
}

/* Write the run, in double brackets, with up to AROUND bytes of text before and after it. Without a
 * run (`has_run` false), write the beginning of the text. */
static void put_marked(page *p, const bm_explained_text *t, bool has_run)
{
    const bm_str text = {t->text.data, t->text.len}, read = {t->as_read.data, t->as_read.len};
    const size_t from = bm_utf8_after_repair(text, read, (size_t)t->from),
                 to = bm_utf8_after_repair(text, read, (size_t)t->to);
    size_t begin = from > AROUND ? from - AROUND : 0,
           end = text.len - to > AROUND ? to + AROUND : text.len;
    for (; begin < from && ((unsigned char)text.data[begin] & 0xC0) == 0x80; begin++)
        ;
    for (; end > to && end < text.len && ((unsigned char)text.data[end] & 0xC0) == 0x80; end--)
        ;
    put(p, "  ");
    put_left_out(p, begin);
    if (begin < from)
        put_escaped(p, (bm_str){text.data + begin, from - begin});
    put(p, has_run ? "[[" : "");
    if (from < to)
        put_escaped(p, (bm_str){text.data + from, to - from});
    put(p, has_run ? "]]" : "");
    if (to < end)
        put_escaped(p, (bm_str){text.data + to, end - to});
    put_left_out(p, text.len - end);
    end_row(p);
}

static void text_with_run(page *p, const char *noun, const bm_explained_text *t, bool has_run)
{
    put(p, "\n");
    put(p, noun);
    put_escaped(p, (bm_str){t->id, strlen(t->id)});
    put(p, ", line ");
    put_uint(p, t->line);
    put(p, " of ");
    put_escaped(p, (bm_str){t->file.data, strlen(t->file.data)});
    put(p, ":");
    end_row(p);
    put_marked(p, t, has_run);
}

static void text_overlap(page *p)
{
    const bm_explained_overlap *o = &p->e->overlap;
    const bm_str document = {o->document.id, strlen(o->document.id)},
                 item = {o->item.id, strlen(o->item.id)};
    const char *noun = nouns[o->units];
    put_escaped(p, document);
    put(p, " holds ");
    put_uint(p, o->row.hits);
    put(p, " of ");
    put_count(p, o->of_item.shingles, " shingle");
    put(p, " of item ");
    put_escaped(p, item);
    put(p, ": a coverage of ");
    put_similarity(p, o->row.coverage);
    end_row(p);
    put(p, "the longest run of the document: ");
    put_count(p, o->row.longest, noun);
    put(p, ", ");
    put_bytes(p, o->document.from, o->document.to);
    end_row(p);
    if (o->run.known) {
        put(p, o->run.n == o->row.longest ? "the same run of the item: "
                                          : "at a stretch the item has of it: ");
        put_count(p, o->run.n, noun);
        put(p, o->run.n > 0 ? ", " : "");
        if (o->run.n > 0)
            put_bytes(p, o->item.from, o->item.to);
        end_row(p);
    }
    if (o->item.known)
        text_with_run(p, "item ", &o->item, o->run.n > 0);
    if (o->document.known)
        text_with_run(p, "document ", &o->document, true);
}

/* --- a cut --- */

static void text_unit(page *p)
{
    const bm_explained_cut *c = &p->e->cut;
    put_bytes(p, c->document.from, c->document.to);
    put(p, " of ");
    put_escaped(p, (bm_str){c->document.id, strlen(c->document.id)});
    put(p, " were cut: ");
    put(p, c->reason.data);
    if (c->jaccard < 1) {
        put(p, " (");
        put_similarity(p, c->jaccard);
        put(p, ")");
    }
    put(p, " to ");
    if (c->kept.known) {
        put_bytes(p, c->kept.from, c->kept.to);
    } else {
        put(p, "the part at byte ");
        put_uint(p, c->kept.from);
    }
    put(p, " of ");
    put_escaped(p, (bm_str){c->kept.id, strlen(c->kept.id)});
    end_row(p);
    if (!c->kept.known)
        return;
    put(p, "both have in common: ");
    put_count(p, c->n_units, nouns[c->units]);
    end_row(p);
    text_with_run(p, "cut: ", &c->document, true);
    text_with_run(p, "kept: ", &c->kept, true);
}

/* --- a graph for Graphviz --- */

static bool is_bridge(const bm_explainer *e, size_t pair, size_t *at)
{
    *at += *at < e->answer.bridges.n_bridges && e->answer.bridges.bridges[*at].pair < pair;
    return *at < e->answer.bridges.n_bridges && e->answer.bridges.bridges[*at].pair == pair;
}

static bool stands_for_kept(const bm_explainer *e, uint32_t doc)
{
    return e->kept != BM_ID_NONE && e->copies.nodes[e->kept] == doc;
}

static void dot_node(page *p, uint32_t doc, const char *style)
{
    put(p, "  n");
    put_uint(p, doc);
    put(p, " [label=\"");
    put_id(p, doc, true);
    if (p->e->copies.n[doc] > 1) {
        put(p, "\\nand ");
        put_copies(p, doc);
    }
    put(p, "\"");
    put(p, stands_for_kept(p->e, doc) ? ", peripheries=2" : "");
    put(p, style);
    put(p, "];");
    end_row(p);
}

static void dot_link(page *p, const bm_pair *pair, const char *style)
{
    put(p, "  n");
    put_uint(p, pair->a);
    put(p, " -- n");
    put_uint(p, pair->b);
    put(p, " [label=\"");
    if (!isnan(pair->similarity))
        put_similarity(p, pair->similarity);
    put(p, "\"");
    put(p, style);
    put(p, "];");
    end_row(p);
}

static void dot_group(page *p)
{
    const bm_explainer *e = p->e;
    size_t articulation_point = 0, bridge = 0;
    for (uint32_t doc = 0; doc < e->ids.n; doc++) {
        bool holds = articulation_point < e->answer.bridges.n_articulation_points &&
                     e->answer.bridges.articulation_points[articulation_point].doc == doc;
        articulation_point += holds;
        if (e->copies.n[doc] > 0)
            dot_node(p, doc, holds ? ", color=red" : "");
    }
    for (size_t i = 0; i < e->n_pairs; i++)
        dot_link(p, &e->pairs[i], is_bridge(e, i, &bridge) ? ", color=red, penwidth=2" : "");
}

enum { IN_CHAIN = 1, IN_CUT = 2 };

typedef struct shown_link {
    size_t pair;
    unsigned in;
} shown_link;

static int by_pair(const void *x, const void *y)
{
    size_t a = ((const shown_link *)x)->pair, b = ((const shown_link *)y)->pair;
    return a < b ? -1 : a > b;
}

/* List the links of the chain and of the cut in the order of the pairs, each link once. Returns
 * their number. */
static size_t shown_links(const bm_explainer *e, shown_link *links)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < e->answer.chain.n_links; i++)
        links[n++] = (shown_link){e->answer.chain.pairs[i], IN_CHAIN};
    for (size_t i = 0; i < e->answer.cut.n; i++)
        links[n++] = (shown_link){e->answer.cut.pairs[i], IN_CUT};
    qsort(links, n, sizeof *links, by_pair);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && links[kept - 1].pair == links[i].pair)
            links[kept - 1].in |= links[i].in;
        else
            links[kept++] = links[i];
    }
    return kept;
}

/* Write the chain in bold and the cut in red. If the two requested documents are neither copies nor
 * linked, also write their similarity as a dashed line. */
static void dot_chain(page *p)
{
    const bm_explainer *e = p->e;
    static const char *const styles[] = {"", ", penwidth=2", ", color=red",
                                         ", color=red, penwidth=2"};
    shown_link *links = bm_alloc(e->answer.chain.n_links + e->answer.cut.n, sizeof *links);
    uint8_t *shown = bm_alloc_zero(e->ids.n, sizeof *shown);
    if (links == NULL || shown == NULL) {
        p->status = bm_fail_nomem(p->err, e->ids.n);
    } else {
        size_t n = shown_links(e, links);
        for (size_t i = 0; i < n; i++)
            shown[e->pairs[links[i].pair].a] = shown[e->pairs[links[i].pair].b] = 1;
        for (uint32_t doc = 0; doc < e->ids.n; doc++)
            if (shown[doc] != 0)
                dot_node(p, doc, doc == e->a || doc == e->b ? ", penwidth=2" : "");
        for (size_t i = 0; i < n; i++)
            dot_link(p, &e->pairs[links[i].pair], styles[links[i].in]);
        if (!bm_explain_are_copies(e) &&
            bm_link_graph_find(&e->answer.graph, e->a, e->b) == SIZE_MAX)
            dot_link(p, &(bm_pair){e->a, e->b, e->answer.similarity},
                     ", style=dashed, constraint=false");
    }
    bm_free_all(links, shown);
}

static void dot(page *p)
{
    put(p, BM_HEAD_GRAPH "\n  node [shape=box];\n");
    if (chain_asked(p->e))
        dot_chain(p);
    else
        dot_group(p);
    put(p, "}\n");
}

/* --- JSON --- */

static void json_id(bm_json *json, const bm_explainer *e, const char *key, uint32_t doc)
{
    bm_json_key_string(json, key, id_of(e, doc));
}

/* Begin an object for a pair; the caller ends it. */
static void json_pair(bm_json *json, const bm_explainer *e, uint32_t from, uint32_t to, size_t pair)
{
    bm_json_begin_object(json);
    json_id(json, e, "id_a", from);
    json_id(json, e, "id_b", to);
    bm_json_key_double(json, "jaccard", e->pairs[pair].similarity);
}

static void json_pairs(bm_json *json, const bm_explainer *e, const char *key, const size_t *pairs,
                       size_t n)
{
    bm_json_key_array(json, key);
    for (size_t i = 0; i < n; i++) {
        size_t pair = pairs != NULL ? pairs[i] : i;
        json_pair(json, e, e->pairs[pair].a, e->pairs[pair].b, pair);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void json_run(bm_json *json, const bm_explainer *e)
{
    static const char *const sides[] = {"a", "b"};
    const bm_shared_run *run = &e->answer.run;
    bm_json_key(json, "run");
    if (!run->known) {
        bm_json_text(json, NULL);
        return;
    }
    bm_json_begin_object(json);
    bm_json_key_uint(json, "units", run->n);
    bm_json_key_string(json, "text", (bm_str){run->text.data, run->text.len});
    for (size_t i = 0; i < 2; i++) {
        bm_json_key_array(json, sides[i]);
        bm_json_uint(json, run->from[i]);
        bm_json_uint(json, run->to[i]);
        bm_json_end_array(json);
    }
    bm_json_end_object(json);
}

static void json_chain(bm_json *json, const bm_explainer *e)
{
    const bm_chain *chain = &e->answer.chain;
    json_id(json, e, "a", e->a);
    json_id(json, e, "b", e->b);
    bm_json_key_double(json, "similarity", e->answer.similarity);
    if (e->answer.texts != NULL)
        bm_json_key_text(json, "texts", e->answer.texts);
    bm_json_key_array(json, "chain");
    for (size_t i = 0; i < chain->n_links; i++) {
        json_pair(json, e, chain->docs[i], chain->docs[i + 1], chain->pairs[i]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key_uint(json, "weakest", chain->weakest);
    bm_json_key_double(json, "parts_above", e->answer.parts_above);
    json_pairs(json, e, "cut", e->answer.cut.pairs, e->answer.cut.n);
    bm_json_key_uint(json, "with_a", e->answer.cut.n_near);
    bm_json_key_uint(json, "with_b", e->ids.n - e->answer.cut.n_near);
    json_run(json, e);
}

static void json_copies(bm_json *json, const bm_explainer *e)
{
    bm_json_key_array(json, "copies");
    for (uint32_t doc = 0; doc < e->ids.n; doc++) {
        if (e->copies.nodes[doc] == doc)
            continue;
        bm_json_begin_object(json);
        json_id(json, e, "id", doc);
        json_id(json, e, "of", e->copies.nodes[doc]);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void json_group(bm_json *json, const bm_explainer *e)
{
    bm_json_key_array(json, "members");
    for (uint32_t doc = 0; doc < e->ids.n; doc++)
        bm_json_string(json, id_of(e, doc));
    bm_json_end_array(json);
    json_copies(json, e);
    json_pairs(json, e, "links", NULL, e->n_pairs);
    bm_json_key_array(json, "bridges");
    for (size_t i = 0; i < e->answer.bridges.n_bridges; i++) {
        const bm_bridge *bridge = &e->answer.bridges.bridges[i];
        json_pair(json, e, e->pairs[bridge->pair].a, e->pairs[bridge->pair].b, bridge->pair);
        bm_json_key_uint(json, "with_a", bridge->n_a);
        bm_json_key_uint(json, "with_b", bridge->n_b);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_key_array(json, "articulation_points");
    for (size_t i = 0; i < e->answer.bridges.n_articulation_points; i++) {
        bm_json_begin_object(json);
        json_id(json, e, "id", e->answer.bridges.articulation_points[i].doc);
        bm_json_key_uint(json, "parts", e->answer.bridges.articulation_points[i].n_parts);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void json_place(bm_json *json, const char *key, const bm_explained_text *text)
{
    bm_json_key_array(json, key);
    bm_json_uint(json, text->from);
    bm_json_uint(json, text->to);
    bm_json_end_array(json);
}

static void json_text(bm_json *json, const char *key, const bm_explained_text *text)
{
    if (text->known)
        bm_json_key_string(json, key, (bm_str){text->text.data, text->text.len});
    else
        bm_json_key_text(json, key, NULL);
}

static void json_overlap(bm_json *json, const bm_explained_overlap *o)
{
    bm_json_key_double(json, "threshold", o->threshold);
    bm_json_key_text(json, "item", o->item.id);
    bm_json_key_text(json, "document", o->document.id);
    bm_json_key_double(json, "coverage", o->row.coverage);
    bm_json_key_uint(json, "hits", o->row.hits);
    bm_json_key_uint(json, "shingles", o->of_item.shingles);
    bm_json_key_uint(json, "documents", o->of_item.documents);
    bm_json_key_double(json, "together", o->of_item.together);
    bm_json_key_uint(json, "longest", o->row.longest);
    json_place(json, "run", &o->document);
    if (o->run.known) {
        bm_json_key_uint(json, "in_item", o->run.n);
        json_place(json, "item_run", &o->item);
    } else {
        bm_json_key_text(json, "in_item", NULL);
        bm_json_key_text(json, "item_run", NULL);
    }
    json_text(json, "item_text", &o->item);
    json_text(json, "document_text", &o->document);
}

static void json_cut(bm_json *json, const bm_explained_cut *c)
{
    bm_json_key_text(json, "document", c->document.id);
    json_place(json, "cut", &c->document);
    bm_json_key_text(json, "file", c->document.file.data);
    bm_json_key_uint(json, "line", c->document.line);
    bm_json_key_text(json, "reason", c->reason.data);
    bm_json_key_double(json, "jaccard", c->jaccard);
    bm_json_key_text(json, "kept", c->kept.id);
    bm_json_key_uint(json, "kept_from", c->kept.from);
    if (c->kept.known) {
        bm_json_key_uint(json, "kept_to", c->kept.to);
        bm_json_key_text(json, "kept_file", c->kept.file.data);
        bm_json_key_uint(json, "kept_line", c->kept.line);
        bm_json_key_uint(json, "in_common", c->n_units);
    }
    json_text(json, "document_text", &c->document);
    json_text(json, "kept_text", &c->kept);
}

static void json_groups(bm_json *json, const bm_explainer *e)
{
    bm_json_key_double(json, "threshold", e->find.bands.threshold);
    bm_json_key_text(json, "cluster",
                     e->find.verify == BM_VERIFY_CONTAINED ? "contained"
                     : e->star                             ? "star"
                                                           : "components");
    bm_json_key_uint(json, "group", e->group);
    if (e->none)
        bm_json_key_text(json, "kept", NULL);
    else
        json_id(json, e, "kept", e->kept);
    if (e->kept == BM_ID_NONE && !e->none) {
        bm_json_key_bool(json, "known", true);
    }
    if (e->divided > 0)
        bm_json_key_uint(json, "divided", e->divided);
    bm_json_key_uint(json, "documents", e->ids.n);
    bm_json_key_uint(json, "pairs", e->n_pairs);
    if (chain_asked(e))
        json_chain(json, e);
    else
        json_group(json, e);
}

static bm_status write_json(const bm_explainer *e, bm_rows *rows, bm_error *err)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "kind", "explain");
    if (e->overlap.has_row)
        json_overlap(&json, &e->overlap);
    else if (e->cut.has_row)
        json_cut(&json, &e->cut);
    else
        json_groups(&json, e);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    status = bm_buf_add(&rows->buf, json.buf.data, json.buf.len, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_explain_write(const bm_explainer *e, bm_rows *rows, bm_error *err)
{
    page p = {.e = e, .rows = rows, .err = err};
    if (e->options->form == BM_EXPLAIN_JSON)
        p.status = write_json(e, rows, err);
    else if (e->options->form == BM_EXPLAIN_DOT)
        dot(&p);
    else if (e->overlap.has_row)
        text_overlap(&p);
    else if (e->cut.has_row)
        text_unit(&p);
    else if (chain_asked(e))
        text_chain(&p);
    else
        text_group(&p);
    return p.status == BM_OK ? bm_rows_flush(rows, true, err) : p.status;
}
