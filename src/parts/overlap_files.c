/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_files.c -- what was found, as rows: overlap.tsv, items.tsv, removed.tsv.
 *
 * A class becomes its items again here. Of a document's rows the items are sorted, since classes
 * are mixed in the order of items.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/rows.h"
#include "model/file_names.h"
#include "results/result_tables.h"

typedef struct item_row {
    uint32_t item;
    const bm_overlap_row *row;
} item_row;

typedef struct writing {
    const bm_job_context *job, *against;
    const bm_overlap_found *found;
    bm_rows overlap, removed;
    item_row *list; /* of one document */
    size_t n, cap;
    bm_buf room; /* for an id */
} writing;

static double share(uint64_t hits, uint64_t n)
{
    return n == 0 ? NAN : (double)hits / (double)n;
}

static int by_item(const void *x, const void *y)
{
    const item_row *a = x, *b = y;
    return (a->item > b->item) - (a->item < b->item);
}

/* The items of rows begin ... end-1, which are of one document. */
static bm_status list_items(writing *w, uint64_t begin, uint64_t end, bm_error *err)
{
    const bm_items *items = w->found->items;
    w->n = 0;
    for (uint64_t i = begin; i < end; i++) {
        const bm_overlap_row *row = &w->found->rows[i];
        const uint64_t first = items->item_begin[row->class],
                       last = items->item_begin[row->class + 1];
        BM_TRY(bm_grow_array(&w->list, &w->cap, w->n + (size_t)(last - first), err));
        for (uint64_t k = first; k < last; k++)
            w->list[w->n++] = (item_row){items->item_list[k], row};
    }
    if (end - begin > 1)
        qsort(w->list, w->n, sizeof *w->list, by_item);
    return BM_OK;
}

static bm_status write_document(writing *w, uint64_t begin, uint64_t end, bm_error *err)
{
    const bm_doc_table *docs = &w->job->docs;
    const bm_item_class *classes = w->found->items->classes;
    const uint32_t doc = w->found->rows[begin].doc;
    const bm_doc_row *place = bm_doc_table_row(docs, doc);
    const bm_str id = bm_doc_table_id(docs, doc);
    const char *file = w->job->inputs.names.names[place->file];
    size_t best = 0;
    BM_TRY(list_items(w, begin, end, err));
    for (size_t i = 0; i < w->n; i++) {
        const bm_overlap_row *row = w->list[i].row;
        const bm_overlap_line line = {
            .id = id,
            .item = bm_doc_table_id_anywhere(&w->against->docs, w->list[i].item, &w->room),
            .coverage = share(row->hits, classes[row->class].n),
            .hits = row->hits,
            .longest = row->longest,
            .from = row->from,
            .to = row->to,
            .file = file,
            .line = place->line};
        const bm_overlap_row *other = w->list[best].row;
        if (line.coverage > share(other->hits, classes[other->class].n))
            best = i;
        BM_TRY(bm_overlap_line_add(&w->overlap.buf, &line, err));
        BM_TRY(bm_rows_flush(&w->overlap, false, err));
    }
    const bm_removed_line removed = {
        .id = id,
        .kept = bm_doc_table_id_anywhere(&w->against->docs, w->list[best].item, &w->room),
        .jaccard = NAN,
        .reason = BM_REMOVED_IS_OVERLAP,
        .file = file,
        .line = place->line,
        .lost = UINT64_MAX};
    BM_TRY(bm_removed_line_add(&w->removed.buf, &removed, err));
    return bm_rows_flush(&w->removed, false, err);
}

static bm_status write_rows(writing *w, bm_error *err)
{
    const bm_overlap_found *found = w->found;
    BM_TRY(bm_table_begin(&w->overlap.buf, BM_TABLE_OVERLAP, err));
    BM_TRY(bm_table_begin(&w->removed.buf, BM_TABLE_REMOVED, err));
    for (uint64_t begin = 0, end; begin < found->n_rows; begin = end) {
        const uint32_t doc = found->rows[begin].doc;
        for (end = begin; end < found->n_rows && found->rows[end].doc == doc;)
            end++;
        BM_TRY(write_document(w, begin, end, err));
        bm_column_leave(&found->column);
    }
    BM_TRY(bm_rows_flush(&w->overlap, true, err));
    return bm_rows_flush(&w->removed, true, err);
}

/* Shingles of the class that count and stand in any document. */
static uint64_t together(const bm_overlap_found *found, const bm_item_class *class)
{
    uint64_t n = 0;
    for (uint64_t i = class->begin; i < class->end; i++) {
        const uint32_t shingle = found->items->sets[i];
        n += found->seen[shingle / 8] >> shingle % 8 & 1;
    }
    return n;
}

static bm_status write_items(writing *w, uint32_t *all, bm_error *err)
{
    const bm_overlap_found *found = w->found;
    const bm_items *items = found->items;
    for (size_t i = 0; i < items->n_classes; i++)
        all[i] = (uint32_t)together(found, &items->classes[i]);
    BM_TRY(bm_table_begin(&w->overlap.buf, BM_TABLE_ITEMS, err));
    for (size_t i = 0; i < items->n; i++) {
        const uint32_t class = items->items[i].class;
        const bm_doc_row *place = bm_doc_table_row(&w->against->docs, i);
        const uint64_t n = class == BM_NO_CLASS ? 0 : items->classes[class].n;
        const bm_item_line line = {.item = bm_doc_table_id(&w->against->docs, i),
                                   .shingles = n,
                                   .documents = n == 0 ? 0 : found->holders[class],
                                   .coverage = n == 0 ? NAN : share(found->best[class], n),
                                   .together = n == 0 ? NAN : share(all[class], n),
                                   .file = w->against->inputs.names.names[place->file],
                                   .line = place->line};
        BM_TRY(bm_item_line_add(&w->overlap.buf, &line, err));
        BM_TRY(bm_rows_flush(&w->overlap, false, err));
    }
    return bm_rows_flush(&w->overlap, true, err);
}

bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, bm_out_dir *dir, bm_error *err)
{
    writing w = {.job = job, .against = against, .found = found};
    uint32_t *all = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_OVERLAP, &w.overlap.file, err));
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_REMOVED, &w.removed.file, err));
    BM_TRY_OUT(write_rows(&w, err));
    BM_TRY_OUT(bm_rows_close(&w.removed, BM_OK, err));
    BM_TRY_OUT(bm_rows_close(&w.overlap, BM_OK, err));
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_ITEMS, &w.overlap.file, err));
    BM_TRY_OUT(bm_new_zero(&all, found->items->n_classes + 1, err));
    status = write_items(&w, all, err);
out:
    status = bm_rows_close(&w.removed, status, err);
    status = bm_rows_close(&w.overlap, status, err);
    bm_buf_reset(&w.room);
    bm_free_all(w.list, all);
    return status;
}
