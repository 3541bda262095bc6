/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_cuts.c -- with `cut`, computes what is cut out of documents that contain items.
 *
 *     stretches, in bytes   from overlap_lane.c, as rows without hits
 *     cuts                  overlapping stretches united, then divided at the ends of fields
 *     files                 cuts.tsv, removed.tsv, and the ranges of each document that is copied
 *
 * The cuts of a document are rows that follow its other rows. The member `hits` of a cut is 0. Its
 * `class` is the class or group of the stretch at its beginning. Its `longest` is 1 if the cuts
 * leave only White_Space of the document.
 *
 * Tests: tests/cli/cases/overlap_cut.sh, tests/reference/test_overlap_cut.py */
#include "parts/overlap_parts.h"

#include <math.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "input/parser.h"
#include "job/rows.h"
#include "model/file_names.h"
#include "parts/cuts.h"
#include "results/result_tables.h"

/* --- cuts of a document --- */

/* Unite overlapping rows, which must be in ascending order. Even rows that have no unit in common
 * may overlap: if characters were merged, units can share bytes. Returns the number of remaining
 * rows. */
static size_t unite(bm_overlap_row *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 1; i < n; i++) {
        if (rows[i].from >= rows[kept].to)
            rows[++kept] = rows[i];
        else if (rows[i].to > rows[kept].to)
            rows[kept].to = rows[i].to;
    }
    return n > 0 ? kept + 1 : 0;
}

/* Divide cuts at the ends of fields and elements. Bytes outside the strings of a record are not
 * cut, nor are strings that cannot be. */
static bm_status divide(const bm_record *record, bm_overlap_rows *rows, size_t first, bm_error *err)
{
    const bm_text_part whole = {.range = {0, record->text_bytes}}, *parts = &whole;
    size_t n_parts = 1;
    const size_t end = rows->n;
    BM_TRY(bm_record_text_parts(record, &parts, &n_parts, err));
    for (size_t i = first, part = 0; i < end; i++) {
        for (; part < n_parts && parts[part].range.to <= rows->list[i].from; part++)
            ;
        for (size_t k = part; k < n_parts && parts[k].range.from < rows->list[i].to; k++) {
            bm_overlap_row row = rows->list[i];
            if (parts[k].coding == BM_CODING_FIXED)
                continue;
            row.from = row.from > parts[k].range.from ? row.from : parts[k].range.from;
            row.to = row.to < parts[k].range.to ? row.to : parts[k].range.to;
            BM_TRY(bm_grow_array(&rows->list, &rows->cap, rows->n + 1, err));
            if (row.from < row.to)
                rows->list[rows->n++] = row;
        }
    }
    for (size_t i = end; i < rows->n; i++)
        rows->list[first + i - end] = rows->list[i];
    rows->n -= end - first;
    return BM_OK;
}

static bool leaves_nothing(bm_str text, const bm_overlap_row *cuts, size_t n)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!bm_text_is_blank(text.data + at, text.data + cuts[i].from))
            return false;
        at = cuts[i].to;
    }
    return n > 0 && bm_text_is_blank(text.data + at, text.data + text.len);
}

bm_status bm_overlap_cuts_end(const bm_overlap_found *found, const bm_record *record,
                              bm_overlap_rows *rows, size_t first, bm_error *err)
{
    const bm_str text = record->as_read.data != NULL ? record->as_read : record->text;
    rows->n = first + unite(rows->list + first, rows->n - first);
    if (found->meets_parts)
        BM_TRY(divide(record, rows, first, err));
    const bool nothing = leaves_nothing(text, rows->list + first, rows->n - first);
    for (size_t i = first; i < rows->n; i++)
        rows->list[i].longest = nothing;
    return BM_OK;
}

/* --- files --- */

typedef struct cutting {
    const bm_job_context *job, *against;
    const bm_overlap_found *found;
    bm_rows cuts, removed;
    bm_buf room; /* space for an id */
} cutting;

/* The first item of a class or group. For a group, only members that the document contains are
 * considered. `rows` are the rows of the document. */
static uint32_t first_item(const bm_items *items, const bm_overlap_row *rows, uint32_t number)
{
    uint32_t first = UINT32_MAX;
    if (number < items->n_classes)
        return items->of_class.list[items->of_class.begin[number]];
    while (rows->class != number)
        rows++;
    const uint64_t begin = items->members.begin[number];
    for (size_t i = bm_items_members(items, number, rows->hits); i-- > 0;) {
        const uint32_t class = items->members.list[begin + i],
                       item = items->of_class.list[items->of_class.begin[class]];
        first = item < first ? item : first;
    }
    return first;
}

/* Write the cut `row`. Its document's rows begin at `rows`. */
static bm_status write_cut(cutting *c, const bm_overlap_row *rows, const bm_overlap_row *row,
                           bm_error *err)
{
    const bm_doc_row *place = bm_doc_table_row(&c->job->docs, row->doc);
    const bm_cut_line line = {
        .id = bm_doc_table_id(&c->job->docs, row->doc),
        .from = row->from,
        .to = row->to,
        .kept = bm_doc_table_id_anywhere(&c->against->docs,
                                         first_item(c->found->items, rows, row->class), &c->room),
        .kept_from = UINT64_MAX,
        .jaccard = NAN,
        .reason = BM_REMOVED_IS_OVERLAP,
        .file = c->job->inputs.names.names[place->file],
        .line = place->line};
    BM_TRY(bm_cut_line_add(&c->cuts.buf, &line, err));
    return bm_rows_flush(&c->cuts, false, err);
}

static bm_status write_rows(cutting *c, bm_error *err)
{
    const bm_overlap_found *found = c->found;
    BM_TRY(bm_table_begin(&c->cuts.buf, BM_TABLE_CUTS, err));
    BM_TRY(bm_table_begin(&c->removed.buf, BM_TABLE_REMOVED, err));
    for (uint64_t i = 0, doc = 0, left = 0; i < found->n_rows; i++) {
        const bm_overlap_row *row = &found->rows[i];
        bm_overlap_leave(found, i, &left);
        if (row->doc != found->rows[doc].doc)
            doc = i;
        if (row->hits > 0)
            continue;
        BM_TRY(write_cut(c, &found->rows[doc], row, err));
        if (row->longest > 0 && (i + 1 == found->n_rows || row[1].doc != row->doc))
            BM_TRY(bm_cuts_write_emptied(&c->removed, c->job, row->doc, err));
    }
    bm_column_leave(&found->column);
    BM_TRY(bm_rows_flush(&c->cuts, true, err));
    return bm_rows_flush(&c->removed, true, err);
}

bm_status bm_overlap_write_cuts(const bm_job_context *job, const bm_job_context *against,
                                const bm_overlap_found *found, bm_out_dir *dir, bm_error *err)
{
    cutting c = {.job = job, .against = against, .found = found};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_CUTS, &c.cuts.file, err));
    BM_TRY_OUT(bm_out_dir_file(dir, BM_FILE_REMOVED, &c.removed.file, err));
    status = write_rows(&c, err);
out:
    status = bm_rows_close(&c.removed, status, err);
    status = bm_rows_close(&c.cuts, status, err);
    bm_buf_reset(&c.room);
    return status;
}

void bm_overlap_count_cuts(const bm_overlap_found *found, uint8_t *dropped, bm_unit_counts *counts)
{
    uint64_t left = 0;
    *counts = (bm_unit_counts){0};
    for (uint64_t i = 0; i < found->n_rows; i++) {
        const bm_overlap_row *row = &found->rows[i];
        bm_overlap_leave(found, i, &left);
        if (row->hits > 0) {
            dropped[row->doc] = 0;
            continue;
        }
        counts->cuts++;
        counts->cut_bytes += row->to - row->from;
        if (row->longest > 0)
            dropped[row->doc] = BM_REASON_OVERLAP;
    }
    bm_column_leave(&found->column);
}

/* --- copying --- */

bm_status bm_overlap_ranges(void *ctx, size_t doc, bm_buf *out, bm_error *err)
{
    const bm_overlap_found *found = ctx;
    bm_bisect b = {0, (size_t)found->n_rows};
    if (doc % BM_DOC_LEAVE_ROWS == 0)
        bm_column_leave(&found->column);
    while (b.low < b.high)
        bm_bisect_go(&b, found->rows[bm_middle(&b)].doc < doc);
    for (size_t i = b.low; i < found->n_rows && found->rows[i].doc == doc; i++) {
        const bm_overlap_row *row = &found->rows[i];
        const bm_text_range range = {row->from, row->to};
        if (row->hits == 0)
            BM_TRY(bm_buf_add(out, &range, sizeof range, err));
    }
    return BM_OK;
}
