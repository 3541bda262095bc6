/* SPDX-License-Identifier: Apache-2.0 */
/* page_overlap.c -- for a directory that overlap wrote: shows how far documents contain its items.
 * Of the items that are contained most, it shows the text, and its place in the document that has
 * most of the item.
 *
 *     items.tsv       a histogram of coverage; the items that are shown
 *     overlap.tsv     for each of these, the document that contains most of it; ties: the first
 *     ITEMS           the items' whole texts
 *     the inputs      the documents' texts around the runs, and which parts are in the items
 *
 * Tests: tests/cli/cases/report_overlap.sh */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "report/explainer.h"
#include "report/page.h"

#define NO_DOC BM_PAGE_NO_DOC

static void reset_item(bm_page_item *item)
{
    bm_buf_reset(&item->id);
    bm_buf_reset(&item->file);
    bm_buf_reset(&item->doc_id);
    bm_free_all(item->item.text, item->document.text);
}

void bm_page_overlap_reset(bm_page_overlap *overlap)
{
    for (size_t i = 0; i < overlap->n; i++)
        reset_item(&overlap->items[i]);
    bm_free_all(overlap->items, overlap->no_texts);
    bm_id_set_reset(&overlap->ids);
    bm_manifest_close(overlap->manifest);
}

/* --- tables --- */

static bool is_held_more(const bm_item_line *a, const bm_item_line *b)
{
    if (a->coverage < b->coverage || a->coverage > b->coverage)
        return a->coverage > b->coverage;
    return a->documents > b->documents;
}

/* Two bm_result_row_fn: add_item reads items.tsv, then add_row reads overlap.tsv. */

static bm_status add_item(void *ctx, const bm_tsv_table *table, bm_error *err)
{
    bm_page *p = ctx;
    bm_page_overlap *o = &p->overlap;
    const size_t most = p->options->pairs;
    bm_item_line row;
    bm_str file;
    BM_TRY(bm_result_item_row(table, &row, &file, err));
    if (!isnan(row.coverage)) {
        p->similarities[bm_histogram_bin(row.coverage)]++;
        p->n_similarities++;
    }
    if (row.documents == 0)
        return BM_OK;
    o->of++;
    if (most == 0 || (o->n == most && !is_held_more(&row, &o->items[most - 1].row)))
        return BM_OK;
    bm_page_item item = {.row = row, .doc = NO_DOC};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add(&item.id, row.item.data, row.item.len, err));
    BM_TRY_OUT(bm_buf_add(&item.file, file.data, file.len, err));
    BM_TRY_OUT(bm_grow_array(&o->items, &o->cap, o->n + 1, err));
    item.row.item = (bm_str){0};
    if (o->n == most)
        reset_item(&o->items[--o->n]);
    size_t at = o->n++;
    for (; at > 0 && is_held_more(&row, &o->items[at - 1].row); at--)
        o->items[at] = o->items[at - 1];
    o->items[at] = item;
    return BM_OK;
out:
    reset_item(&item);
    return status;
}

static bm_status add_row(void *ctx, const bm_tsv_table *table, bm_error *err)
{
    bm_page_overlap *o = &((bm_page *)ctx)->overlap;
    bm_overlap_line row;
    bm_str file;
    const uint32_t at =
        o->ids.n > 0 ? bm_id_set_find(&o->ids, table->fields[BM_OVERLAP_ITEM]) : BM_ID_NONE;
    if (at == BM_ID_NONE)
        return BM_OK;
    bm_page_item *item = &o->items[at];
    BM_TRY(bm_result_overlap_row(table, &row, &file, err));
    if (item->doc_id.len > 0 && row.coverage <= item->holds.coverage)
        return BM_OK;
    item->doc_id.len = 0;
    BM_TRY(bm_buf_add(&item->doc_id, row.id.data, row.id.len, err));
    item->holds = row;
    item->holds.id = item->holds.item = (bm_str){0};
    return BM_OK;
}

bm_status bm_page_overlap_tables(bm_page *p, bm_error *err)
{
    bm_page_overlap *o = &p->overlap;
    uint32_t number;
    BM_TRY(bm_manifest_count(p->manifest, "documents", &p->counts.documents, err));
    BM_TRY(bm_manifest_count(p->manifest, "removed", &p->counts.removed, err));
    BM_TRY(bm_manifest_count(p->manifest, "kept", &p->counts.kept, err));
    BM_TRY(bm_manifest_open_items(p->manifest, &o->manifest, err));
    BM_TRY(bm_result_rows(&p->dir, BM_TABLE_ITEMS, add_item, p, err));
    for (size_t i = 0; i < o->n; i++)
        BM_TRY(bm_id_set_add(&o->ids, (bm_str){o->items[i].id.data, o->items[i].id.len}, &number,
                             err));
    BM_TRY(bm_result_rows(&p->dir, BM_TABLE_OVERLAP, add_row, p, err));
    for (size_t i = 0; i < o->n; i++) {
        const bm_str id = {o->items[i].doc_id.data, o->items[i].doc_id.len};
        if (id.len > 0)
            BM_TRY(bm_page_show(p, id, &o->items[i].doc, err));
    }
    return BM_OK;
}

/* --- texts --- */

/* A bm_explain_record_fn: keeps the text of a shown item, the first time that the id of the item
 * occurs. */
static bm_status keep_item(void *ctx, const bm_record *record, bool *kept, bm_error *err)
{
    bm_page_overlap *o = &((bm_page *)ctx)->overlap;
    const uint32_t at = bm_id_set_find(&o->ids, record->id);
    if (at == BM_ID_NONE || o->items[at].item.found)
        return BM_OK;
    bm_page_run *run = &o->items[at].item;
    BM_TRY(bm_new(&run->text, record->text.len, err));
    if (record->text.len > 0)
        memcpy(run->text, record->text.data, record->text.len);
    run->held = record->text.len;
    run->bytes = record->text.len;
    *kept = run->found = true;
    return BM_OK;
}

bm_status bm_page_overlap_items(bm_page *p, bm_error *err)
{
    const bm_explain_records wanted = {NULL, keep_item, p, NULL};
    bm_page_overlap *o = &p->overlap;
    bm_text_options cut;
    bm_error why = {0};
    char message[2100];
    if (o->n == 0)
        return BM_OK;
    const bm_status status = bm_explain_records_read(p->settings, o->manifest,
                                                     p->options->items_stream, &wanted, &cut, &why);
    if (status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_FORMAT) {
        for (size_t i = 0; i < o->n; i++)
            o->items[i].item.found = false;
        bm_error_format(&why, message, sizeof message);
        return bm_copy_text(message, &o->no_texts, err);
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bool is_inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xC0) == 0x80;
}

bm_status bm_page_run_set(bm_page_run *run, bm_str text, size_t from, size_t to, size_t most,
                          bm_error *err)
{
    const size_t around = most / 4, longest = most - 2 * around;
    size_t begin = from > around ? from - around : 0,
           end = to - from > longest ? from + longest : to;
    while (end > from && end < text.len && is_inside(text.data, end))
        end--;
    const size_t run_end = end;
    if (end == to)
        end = text.len - end > around ? end + around : text.len;
    while (begin < from && is_inside(text.data, begin))
        begin++;
    while (end > run_end && end < text.len && is_inside(text.data, end))
        end--;
    char *held = NULL;
    BM_TRY(bm_new(&held, end - begin, err));
    if (end > begin)
        memcpy(held, text.data + begin, end - begin);
    bm_free(run->text);
    *run = (bm_page_run){.found = true,
                         .text = held,
                         .held = end - begin,
                         .from = from - begin,
                         .to = run_end - begin,
                         .begin = begin,
                         .bytes = text.len};
    return BM_OK;
}

/* Trim the item's text, if it was found, to its own run: the longest stretch that it shares with
 * the document's run. */
static bm_status cut_item(const bm_page *p, bm_page_item *item, bm_str document_run, bm_error *err)
{
    const bm_str text = {item->item.text, item->item.held};
    bm_shared_run run = {0};
    if (!item->item.found)
        return BM_OK;
    BM_TRY(bm_shared_run_find(&p->settings->text, (const bm_str[]){text, document_run}, &run, err));
    bm_buf_reset(&run.text);
    return bm_page_run_set(&item->item, text, run.from[0], run.to[0], p->options->text_bytes, err);
}

bm_status bm_page_overlap_document(bm_page *p, uint32_t number, const bm_record *record,
                                   bm_error *err)
{
    bm_page_overlap *o = &p->overlap;
    const bm_str text = record->text;
    for (size_t i = 0; i < o->n; i++) {
        bm_page_item *item = &o->items[i];
        if (item->doc != number || item->holds.line != record->line)
            continue;
        const size_t from = bm_utf8_after_repair(text, record->as_read, (size_t)item->holds.from),
                     to = bm_utf8_after_repair(text, record->as_read, (size_t)item->holds.to);
        /* the text was found already, or is not that for which overlap.tsv was written */
        if (from > to || to > text.len || item->document.found)
            continue;
        BM_TRY(cut_item(p, item, (bm_str){text.data + from, to - from}, err));
        BM_TRY(bm_page_run_set(&item->document, text, from, to, p->options->text_bytes, err));
    }
    return BM_OK;
}

bm_status bm_page_overlap_end(bm_page *p, bm_error *err)
{
    bm_page_overlap *o = &p->overlap;
    for (size_t i = 0; i < o->n; i++) {
        bm_page_run *run = &o->items[i].item;
        if (run->found && !o->items[i].document.found)
            BM_TRY(bm_page_run_set(run, (bm_str){run->text, run->held}, 0, 0,
                                   p->options->text_bytes, err));
    }
    return BM_OK;
}
