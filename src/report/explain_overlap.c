/* SPDX-License-Identifier: Apache-2.0 */
/* explain_overlap.c -- shows how a document contains an item, from a directory that `overlap`
 * wrote.
 *
 *     items.tsv, overlap.tsv     the rows of the item, and of the item with the document
 *     the report's items         a manifest of the files of ITEMS, from which the item is read
 *     its inputs                 the files of TRAIN, from which the document is read
 *
 * Hits, coverage and the document's longest run come from overlap.tsv, so they are known even
 * without the texts. If the document has no row, the shingles that it shares with the item are
 * counted in both texts. A run consists of shingles of the item in any order. The longest stretch
 * of the run that also occurs in the item is marked there.
 *
 * Tests: tests/cli/cases/explain_overlap.sh */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "job/recipe.h"
#include "json/json_scan.h"
#include "lsh/verify.h"
#include "model/ids.h"
#include "report/explainer.h"
#include "text/shingler.h"
#include "text/unit_text.h"

/* --- the tables --- */

static bm_status keep_file(bm_explained_text *text, bm_str file, uint64_t line, bm_error *err)
{
    text->line = line;
    BM_TRY(bm_buf_add(&text->file, file.data, file.len, err));
    return bm_buf_end(&text->file, err);
}

/* The next two functions are bm_result_row_fn: find_item stores the first row of the item in
 * items.tsv, and find_row the first row of document and item in overlap.tsv. */
static bm_status find_item(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_explained_overlap *o = ctx;
    bm_str file;
    if (o->has_item || !bm_json_scan_is(row->fields[BM_ITEMS_ITEM], o->item.id))
        return BM_OK;
    BM_TRY(bm_result_item_row(row, &o->of_item, &file, err));
    o->has_item = true;
    return keep_file(&o->item, file, o->of_item.line, err);
}

static bm_status find_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_explained_overlap *o = ctx;
    bm_str file;
    if (o->has_row || !bm_json_scan_is(row->fields[BM_OVERLAP_ID], o->document.id) ||
        !bm_json_scan_is(row->fields[BM_OVERLAP_ITEM], o->item.id))
        return BM_OK;
    BM_TRY(bm_result_overlap_row(row, &o->row, &file, err));
    o->has_row = true;
    o->document.from = o->row.from;
    o->document.to = o->row.to;
    return keep_file(&o->document, file, o->row.line, err);
}

/* --- texts --- */

static bool is_its_record(const bm_explained_text *text, const bm_record *record)
{
    return !text->known && record->line == text->line && bm_json_scan_is(record->id, text->id);
}

/* A bm_explain_record_fn: keeps the text of the first record that has the line and the id of
 * ctx. */
static bm_status keep_text(void *ctx, const bm_record *record, bool *kept, bm_error *err)
{
    bm_explained_text *text = ctx;
    if (!is_its_record(text, record))
        return BM_OK;
    *kept = text->known = true;
    if (record->as_read.data != NULL)
        BM_TRY(bm_buf_add(&text->as_read, record->as_read.data, record->as_read.len, err));
    return bm_buf_add(&text->text, record->text.data, record->text.len, err);
}

/* Read the text of the record. Only its input is read, unless its id is numbered: the number of a
 * repeated id depends on all inputs. BM_ERR_FORMAT: the record is not on its line. */
static bm_status read_record(bm_explainer *e, const bm_manifest *manifest, size_t rows,
                             bm_explained_text *text, bm_text_options *options, bm_error *err)
{
    bm_str base;
    uint32_t number;
    const bool numbered = bm_numbered_id((bm_str){text->id, strlen(text->id)}, &base, &number);
    const bm_explain_records wanted = {numbered ? NULL : text->file.data, keep_text, text, NULL};
    BM_TRY(bm_explain_records_read(e->settings, manifest, e->options->streams[rows], &wanted,
                                   options, err));
    return text->known ? BM_OK
                       : bm_fail_at(err, BM_ERR_FORMAT, text->file.data, text->line,
                                    "'%.300s' does not stand there", text->id);
}

/* Read the text of the record. If it cannot be read again, mark it as unknown and go on. */
static bm_status read_text(bm_explainer *e, const bm_manifest *manifest, size_t rows,
                           bm_explained_text *text, bm_text_options *options, bm_error *err)
{
    bm_error inner = {0};
    const bm_status status = read_record(e, manifest, rows, text, options, &inner);
    text->known = status == BM_OK;
    return bm_explain_forgive_inputs(
        e, status, &inner, rows == 0 ? "the text of the item is" : "the text of the document is",
        err);
}

static bm_str text_of(const bm_buf *buf)
{
    return (bm_str){buf->data, buf->len};
}

/* Find the longest part of the document's run that also occurs in the item as one stretch. */
static bm_status find_run(bm_explained_overlap *o, const bm_text_options *options, bm_error *err)
{
    const bm_str text = text_of(&o->document.text), read = text_of(&o->document.as_read),
                 item = text_of(&o->item.text), item_read = text_of(&o->item.as_read);
    const size_t from = bm_utf8_after_repair(text, read, (size_t)o->row.from),
                 to = bm_utf8_after_repair(text, read, (size_t)o->row.to);
    if (from > to || to > text.len)
        return bm_fail_at(err, BM_ERR_FORMAT, o->document.file.data, o->document.line,
                          "the text has %zu bytes, and the run ends at %" PRIu64, text.len,
                          o->row.to);
    BM_TRY(bm_shared_run_find(options, (const bm_str[]){item, {text.data + from, to - from}},
                              &o->run, err));
    o->item.from = bm_utf8_before_repair(item, item_read, o->run.from[0]);
    o->item.to = bm_utf8_before_repair(item, item_read, o->run.to[0]);
    return BM_OK;
}

static bm_status read_both(bm_explainer *e, bm_error *err)
{
    bm_explained_overlap *o = &e->overlap;
    bm_text_options options;
    bm_manifest *items = NULL;
    BM_TRY(bm_manifest_open_items(e->manifest, &items, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(read_text(e, items, 0, &o->item, &options, err));
    BM_TRY_OUT(read_text(e, e->manifest, 1, &o->document, &options, err));
    if (o->item.known && o->document.known)
        status = find_run(o, &options, err);
out:
    bm_manifest_close(items);
    return status;
}

/* --- the answer --- */

/* How much of the item the document has. This is counted if overlap.tsv has no row for the two. */
typedef struct below {
    /* hits: number of shingles of the item that the document has; shingles: number of shingles of
     * the item, 0: not known. Stop shingles are counted too. */
    uint64_t hits, shingles;
} below;

static bm_status add_set(bm_shingler *shingler, bm_str text, bm_sorter *sorter,
                         bm_shingle_batch *batch, bm_error *err)
{
    const size_t begin = bm_shingle_batch_hashes(batch);
    BM_TRY(bm_shingler_add(shingler, text, batch, err));
    return bm_sorter_sort(sorter, batch->hashes + begin, bm_shingle_batch_hashes(batch) - begin,
                          err);
}

/* Count the shingles of the item, and how many of them the document has. If the item has fewer
 * units than a shingle, a shingle is as long as the item. */
static bm_status count_hits(bm_text_options options, bm_str item, bm_str document, below *out,
                            bm_error *err)
{
    bm_shingle_batch sets = {0};
    bm_text_units units = {0};
    bm_sorter sorter = {0};
    bm_shingler *shingler = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_text_units_make(&options, item, &units, err));
    if (units.n < options.shingle_k)
        options.shingle_k = units.n > 0 ? (uint32_t)units.n : 1;
    BM_TRY_OUT(bm_shingler_open(&options, NULL, &shingler, err));
    BM_TRY_OUT(add_set(shingler, item, &sorter, &sets, err));
    BM_TRY_OUT(add_set(shingler, document, &sorter, &sets, err));
    const size_t n = (size_t)sets.offsets[1];
    out->shingles = n;
    out->hits =
        bm_hashes_common(sets.hashes, n, sets.hashes + n, bm_shingle_batch_hashes(&sets) - n);
out:
    bm_shingler_close(shingler);
    bm_sorter_reset(&sorter);
    bm_text_units_reset(&units);
    bm_shingle_batch_reset(&sets);
    return status;
}

static bm_status fail_below(const bm_explained_overlap *o, const below *b, bm_error *err)
{
    char how_much[160];
    if (b->shingles == 0)
        snprintf(how_much, sizeof how_much, "its coverage is below");
    else if (b->shingles == o->of_item.shingles)
        snprintf(how_much, sizeof how_much,
                 "it has %" PRIu64 " of %" PRIu64 " shingles, a coverage of %.6f, below", b->hits,
                 b->shingles, (double)b->hits / (double)b->shingles);
    else
        snprintf(how_much, sizeof how_much,
                 "it has %" PRIu64 " of %" PRIu64
                 " shingles, stopped ones too, and without them its coverage is below",
                 b->hits, b->shingles);
    return bm_fail(err, BM_NOT_FOUND,
                   "'%.300s' does not hold item '%.300s': %s the threshold of %g", o->document.id,
                   o->item.id, how_much, o->threshold);
}

/* A bm_explain_record_fn: keeps the text of the first record that has the id of ctx, on any
 * line. */
static bm_status look_for_id(void *ctx, const bm_record *record, bool *kept, bm_error *err)
{
    bm_explained_text *text = ctx;
    text->line = record->line;
    return keep_text(ctx, record, kept, err);
}

/* Called if overlap.tsv has no row for the item and the document. Never returns BM_OK: the message
 * says which of the two does not exist, or how much of the item the document has. */
static bm_status find_missing(bm_explainer *e, bm_error *err)
{
    bm_explained_overlap *o = &e->overlap;
    const bm_explain_records wanted = {NULL, look_for_id, &o->document, NULL};
    bm_text_options options;
    bm_manifest *items = NULL;
    bm_error inner = {0};
    below b = {0};
    if (!o->has_item)
        return bm_fail_field(err, "id_a", "no item '%.500s' (ids as the items have them)",
                             o->item.id);
    bm_status status = bm_explain_records_read(e->settings, e->manifest, e->options->streams[1],
                                               &wanted, &options, &inner);
    const bool readable = status == BM_OK;
    BM_TRY(
        bm_explain_forgive_inputs(e, status, &inner, "whether there is such a document is", err));
    if (readable && !o->document.known)
        return bm_fail_field(err, "id_b", "no document '%.500s' (ids as the inputs have them)",
                             o->document.id);
    if (o->of_item.shingles == 0)
        return bm_fail(err, BM_NOT_FOUND,
                       "item '%.300s' was not looked for: it has too few words, or no shingle that "
                       "counts",
                       o->item.id);
    BM_TRY(bm_manifest_open_items(e->manifest, &items, err));
    BM_TRY_OUT(read_text(e, items, 0, &o->item, &options, err));
    if (o->item.known && o->document.known)
        BM_TRY_OUT(
            count_hits(options, text_of(&o->item.text), text_of(&o->document.text), &b, err));
    status = fail_below(o, &b, err);
out:
    bm_manifest_close(items);
    return status;
}

bm_status bm_explain_overlap(bm_explainer *e, bm_error *err)
{
    bm_explained_overlap *o = &e->overlap;
    bm_settings cut = *e->settings;
    bm_result_facts facts;
    if (e->options->id_b == NULL)
        return bm_fail_field(err, "id_b",
                             "of a result of overlap an item and a document are "
                             "explained (two ids)");
    if (e->options->form == BM_EXPLAIN_DOT)
        return bm_fail_field(err, "form", "a result of overlap has no groups, and no graph of one");
    o->item.id = e->options->id_a;
    o->document.id = e->options->id_b;
    BM_TRY(bm_result_facts_read(e->manifest, BM_FACT_THRESHOLD, &facts, err));
    o->threshold = facts.threshold;
    BM_TRY(bm_recipe_signed(e->manifest, &cut, err));
    o->units = cut.text.shingle;
    bm_job_context_stage(&e->context, "read", "bytes");
    BM_TRY(bm_result_rows(&e->dir, BM_TABLE_ITEMS, find_item, o, err));
    BM_TRY(bm_result_rows(&e->dir, BM_TABLE_OVERLAP, find_row, o, err));
    if (!o->has_row || !o->has_item)
        return find_missing(e, err);
    return read_both(e, err);
}

void bm_explained_text_reset(bm_explained_text *text)
{
    bm_buf_reset(&text->file);
    bm_buf_reset(&text->text);
    bm_buf_reset(&text->as_read);
}

void bm_explained_overlap_reset(bm_explained_overlap *overlap)
{
    bm_explained_text_reset(&overlap->item);
    bm_explained_text_reset(&overlap->document);
    bm_buf_reset(&overlap->run.text);
}
