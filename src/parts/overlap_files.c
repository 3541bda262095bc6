/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_files.c -- counts what was found, and writes overlap.tsv, items.tsv and removed.tsv.
 *
 * A row of a class is expanded to the items of the class. A row of a group is expanded to the items
 * of its members, except members that have their own row for the same document. The items of a
 * document are then sorted, because the order of classes is not the order of items.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "job/rows.h"
#include "model/file_names.h"
#include "results/result_tables.h"

/* An item that a document contains. */
typedef struct item_row {
    uint32_t item, row; /* row: index of the item's row among the rows of the document */
} item_row;

typedef struct writing {
    const bm_job_context *job, *against;
    const bm_overlap_found *found;
    const bm_overlap_sums *sums;
    bm_rows overlap, removed;
    item_row *list; /* the items of one document */
    size_t n, cap;
    uint32_t *apart; /* members of groups that have their own row for the document, ascending */
    size_t n_apart, cap_apart;
    bm_buf room; /* space for an id */
} writing;

/* --- rows of a document --- */

typedef struct doc_rows {
    const bm_items *items;
    const bm_overlap_row *rows;
    /* n rows: those of n_classes classes, then those of groups; n_cuts cuts follow */
    size_t n, n_classes;
    size_t n_cuts;
} doc_rows;

/* The rows of one document; `at` is the number of the first. */
static doc_rows rows_at(const bm_overlap_found *found, uint64_t at)
{
    doc_rows d = {.items = found->items, .rows = found->rows + at};
    while (at + d.n + d.n_cuts < found->n_rows && d.rows[d.n + d.n_cuts].doc == d.rows[0].doc) {
        const bm_overlap_row *row = &d.rows[d.n + d.n_cuts];
        d.n_classes += row->hits > 0 && row->class < found->items->n_classes;
        d.n += row->hits > 0;
        d.n_cuts += row->hits == 0;
    }
    return d;
}

/* Does the class's group have a row for this document with enough hits for the class itself? */
static bool is_apart(const doc_rows *d, uint32_t class)
{
    const uint32_t group = d->items->classes[class].group;
    bm_bisect b = {d->n_classes, d->n};
    if (group == BM_NO_CLASS)
        return false;
    while (b.low < b.high)
        bm_bisect_go(&b, d->rows[bm_middle(&b)].class < group);
    return b.low < d->n && d->rows[b.low].class == group &&
           bm_overlap_holds(d->items, d->rows[b.low].hits, d->items->classes[class].n);
}

/* --- sums --- */

/* Add to `holders`, for each member of a group, the number of documents that contain it according
 * to a row of the group. last[i] is the number of rows that apply only to members 0 … i. So
 * member i is in as many documents as the sum of last[i] and all later elements of the group. */
static void spread(const bm_items *items, uint32_t group, const uint64_t *last, uint64_t *holders)
{
    const uint64_t begin = items->members.begin[group], end = items->members.begin[group + 1];
    uint64_t n = 0;
    for (uint64_t i = end; i-- > begin;) {
        n += last[i];
        holders[items->members.list[i]] += n;
    }
}

static void count_document(const doc_rows *d, uint64_t *last, bm_overlap_sums *out)
{
    const bm_items *items = d->items;
    for (size_t i = 0; i < d->n_classes; i++) {
        const uint32_t class = d->rows[i].class;
        if (is_apart(d, class))
            continue;
        out->holders[class]++;
        out->rows += bm_items_of_class(items, class);
    }
    for (size_t i = d->n_classes; i < d->n; i++) {
        const uint32_t group = d->rows[i].class;
        const uint64_t begin = items->members.begin[group],
                       n = bm_items_members(items, group, d->rows[i].hits);
        out->rows += items->member_items[begin + n] - items->member_items[begin];
        if (n > 0)
            last[begin + n - 1]++;
    }
}

bm_status bm_overlap_count(const bm_overlap_found *found, uint8_t *dropped, bm_overlap_sums *out,
                           bm_error *err)
{
    const bm_items *items = found->items;
    const size_t n_all = items->n_classes + items->n_groups;
    uint64_t *last = NULL, left = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&out->holders, items->n_classes + 1, err));
    BM_TRY_OUT(bm_new_zero(&last, (size_t)items->members.begin[n_all] + 1, err));
    for (uint64_t at = 0; at < found->n_rows;) {
        const doc_rows d = rows_at(found, at);
        dropped[d.rows[0].doc] = BM_REASON_OVERLAP;
        count_document(&d, last, out);
        at += d.n + d.n_cuts;
        bm_overlap_leave(found, at, &left);
    }
    bm_column_leave(&found->column);
    for (size_t i = items->n_classes; i < n_all; i++)
        spread(items, (uint32_t)i, last, out->holders);
out:
    bm_free(last);
    return status;
}

void bm_overlap_sums_reset(bm_overlap_sums *sums)
{
    bm_free(sums->holders);
    *sums = (bm_overlap_sums){0};
}

/* --- rows of items --- */

static double share(uint64_t hits, uint64_t n)
{
    return n == 0 ? NAN : (double)hits / (double)n;
}

static int by_item(const void *x, const void *y)
{
    const item_row *a = x, *b = y;
    return (a->item > b->item) - (a->item < b->item);
}

static bm_status list_class(writing *w, uint32_t class, size_t row, bm_error *err)
{
    const bm_lists *lists = &w->found->items->of_class;
    const uint64_t begin = lists->begin[class], end = lists->begin[class + 1];
    BM_TRY(bm_grow_array(&w->list, &w->cap, w->n + (size_t)(end - begin), err));
    for (uint64_t i = begin; i < end; i++)
        w->list[w->n++] = (item_row){lists->list[i], (uint32_t)row};
    return BM_OK;
}

static bool is_listed_apart(const writing *w, uint32_t class)
{
    bm_bisect b = {0, w->n_apart};
    while (b.low < b.high)
        bm_bisect_go(&b, w->apart[bm_middle(&b)] < class);
    return b.low < w->n_apart && w->apart[b.low] == class;
}

static bm_status list_members(writing *w, const doc_rows *d, size_t row, bm_error *err)
{
    const uint32_t group = d->rows[row].class, *list = d->items->members.list;
    const uint64_t begin = d->items->members.begin[group],
                   end = begin + bm_items_members(d->items, group, d->rows[row].hits);
    for (uint64_t i = begin; i < end; i++)
        if (!is_listed_apart(w, list[i]))
            BM_TRY(list_class(w, list[i], row, err));
    return BM_OK;
}

static bm_status list_items(writing *w, const doc_rows *d, bm_error *err)
{
    w->n = w->n_apart = 0;
    for (size_t i = 0; i < d->n_classes; i++) {
        const uint32_t class = d->rows[i].class;
        BM_TRY(list_class(w, class, i, err));
        if (d->n_classes == d->n || !is_apart(d, class))
            continue;
        BM_TRY(bm_grow_array(&w->apart, &w->cap_apart, w->n_apart + 1, err));
        w->apart[w->n_apart++] = class;
    }
    if (w->n_apart > 1)
        qsort(w->apart, w->n_apart, sizeof *w->apart, bm_order_u32);
    for (size_t i = d->n_classes; i < d->n; i++)
        BM_TRY(list_members(w, d, i, err));
    if (d->n > 1 || d->n_classes == 0)
        qsort(w->list, w->n, sizeof *w->list, by_item);
    return BM_OK;
}

/* The share of the item's counting shingles that the document has. It is relative to the counting
 * shingles of the item's class, even if the row belongs to a group. */
static double coverage(const writing *w, const item_row *at, const bm_overlap_row *row)
{
    const bm_items *items = w->found->items;
    return share(row->hits, items->classes[items->items[at->item].class].n);
}

static bm_status write_document(writing *w, const doc_rows *d, bm_error *err)
{
    const bm_doc_table *docs = &w->job->docs;
    const uint32_t doc = d->rows[0].doc;
    const bm_doc_row *place = bm_doc_table_row(docs, doc);
    const bm_str id = bm_doc_table_id(docs, doc);
    const char *file = w->job->inputs.names.names[place->file];
    uint32_t best = 0;
    double most = 0;
    BM_TRY(list_items(w, d, err));
    for (size_t i = 0; i < w->n; i++) {
        const bm_overlap_row *row = &d->rows[w->list[i].row];
        const bm_overlap_line line = {
            .id = id,
            .item = bm_doc_table_id_anywhere(&w->against->docs, w->list[i].item, &w->room),
            .coverage = coverage(w, &w->list[i], row),
            .hits = row->hits,
            .longest = row->longest,
            .from = row->from,
            .to = row->to,
            .file = file,
            .line = place->line};
        if (line.coverage > most) {
            most = line.coverage;
            best = w->list[i].item;
        }
        BM_TRY(bm_overlap_line_add(&w->overlap.buf, &line, err));
        BM_TRY(bm_rows_flush(&w->overlap, false, err));
    }
    if (w->found->cuts)
        return BM_OK;
    const bm_removed_line removed = {
        .id = id,
        .kept = bm_doc_table_id_anywhere(&w->against->docs, best, &w->room),
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
    uint64_t left = 0;
    BM_TRY(bm_table_begin(&w->overlap.buf, BM_TABLE_OVERLAP, err));
    if (!found->cuts)
        BM_TRY(bm_table_begin(&w->removed.buf, BM_TABLE_REMOVED, err));
    for (uint64_t at = 0; at < found->n_rows;) {
        const doc_rows d = rows_at(found, at);
        BM_TRY(write_document(w, &d, err));
        at += d.n + d.n_cuts;
        bm_overlap_leave(found, at, &left);
    }
    BM_TRY(bm_rows_flush(&w->overlap, true, err));
    return found->cuts ? BM_OK : bm_rows_flush(&w->removed, true, err);
}

/* How many counting shingles of `class` itself occur in at least one document. `class` may be a
 * group. */
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
    for (size_t i = items->n_classes + items->n_groups; i-- > 0;) { /* groups come before the
                                                                     * classes that use their
                                                                     * sums */
        const uint32_t group = items->classes[i].group;
        all[i] = (uint32_t)together(found, &items->classes[i]);
        if (group != BM_NO_CLASS)
            all[i] += all[group];
    }
    BM_TRY(bm_table_begin(&w->overlap.buf, BM_TABLE_ITEMS, err));
    for (size_t i = 0; i < items->n; i++) {
        const uint32_t class = items->items[i].class;
        const bm_doc_row *place = bm_doc_table_row(&w->against->docs, i);
        const bm_item_class *of = class == BM_NO_CLASS ? NULL : &items->classes[class];
        const uint64_t n = of == NULL ? 0 : of->n;
        uint32_t best = n == 0 ? 0 : found->best[class];
        if (n > 0 && of->group != BM_NO_CLASS && found->best[of->group] > best)
            best = found->best[of->group];
        const bm_item_line line = {.item = bm_doc_table_id(&w->against->docs, i),
                                   .shingles = n,
                                   .documents = n == 0 ? 0 : w->sums->holders[class],
                                   .coverage = n == 0 ? NAN : share(best, n),
                                   .together = n == 0 ? NAN : share(all[class], n),
                                   .file = w->against->inputs.names.names[place->file],
                                   .line = place->line};
        BM_TRY(bm_item_line_add(&w->overlap.buf, &line, err));
        BM_TRY(bm_rows_flush(&w->overlap, false, err));
    }
    return bm_rows_flush(&w->overlap, true, err);
}

bm_status bm_overlap_write(const bm_job_context *job, const bm_job_context *against,
                           const bm_overlap_found *found, const bm_overlap_sums *sums,
                           bm_out_dir *dir, bm_error *err)
{
    writing w = {.job = job, .against = against, .found = found, .sums = sums};
    uint32_t *all = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_OVERLAP, &w.overlap.file, err));
    if (!found->cuts)
        BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_REMOVED, &w.removed.file, err));
    BM_TRY_OUT(write_rows(&w, err));
    BM_TRY_OUT(bm_rows_close(&w.removed, BM_OK, err));
    BM_TRY_OUT(bm_rows_close(&w.overlap, BM_OK, err));
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_ITEMS, &w.overlap.file, err));
    BM_TRY_OUT(bm_new_zero(&all, found->items->n_classes + found->items->n_groups + 1, err));
    status = write_items(&w, all, err);
out:
    status = bm_rows_close(&w.removed, status, err);
    status = bm_rows_close(&w.overlap, status, err);
    bm_buf_reset(&w.room);
    bm_free_all(w.list, w.apart, all);
    return status;
}
