/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_found.c -- collects what was found in documents, in input order, and saves and loads the
 * findings.
 *
 * Lanes read `best` and `seen` while the sink writes to them, so the sink writes elements
 * atomically.
 *
 * A save appends the new rows, and the whole state of shingles and classes, which is small compared
 * with the items. Only the last state in the file is valid.
 *
 * Tests: tests/cli/cases/overlap.sh, tests/reference/test_overlap.py */
#include "parts/overlap_parts.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static size_t n_all(const bm_items *items)
{
    return items->n_classes + items->n_groups;
}

static size_t seen_bytes(const bm_items *items)
{
    return items->table.n / 8 + 1;
}

uint64_t bm_overlap_bytes(const bm_items *items)
{
    const bool stops = items->settings->pairs.stop_shingles != 0;
    const uint64_t classes = items->n_classes + items->n_groups,
                   touched = classes < BM_OVERLAP_TOUCHED ? classes : BM_OVERLAP_TOUCHED;
    return (1 + stops) * (uint64_t)seen_bytes(items) +       /* seen, stopped */
           (stops ? items->table.n * sizeof(uint32_t) : 0) + /* counts */
           classes * (sizeof(uint32_t) + sizeof(uint64_t)) + /* best, holders */
           items->n * sizeof(uint64_t) +                     /* rows of one document's items */
           items->settings->threads * touched * 2 * sizeof(uint64_t);
}

static bm_status check_bytes(const bm_overlap_found *found, uint64_t bytes, bm_error *err)
{
    const bm_budget *budget = found->budget;
    if (budget == NULL || budget->total == 0 || bytes <= bm_budget_rows(budget))
        return BM_OK;
    return bm_fail(err, BM_ERR_NOMEM,
                   "the items that documents hold at once do not fit into `memory` of %lluM (at "
                   "least %lluM, or fewer documents at once: `batch_docs`)",
                   (unsigned long long)(budget->total >> 20),
                   (unsigned long long)(bm_budget_least(budget, bytes) >> 20) + 1);
}

bm_status bm_overlap_hold(bm_overlap_found *found, uint64_t more, uint64_t less, bm_error *err)
{
    return check_bytes(found, __atomic_add_fetch(&found->in_lanes, more - less, __ATOMIC_RELAXED),
                       err);
}

bm_status bm_overlap_open(const bm_items *items, const bm_doc_table *docs, bm_overlap_found *out,
                          bm_error *err)
{
    *out = (bm_overlap_found){.items = items, .docs = docs};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&out->seen, seen_bytes(items), err));
    BM_TRY_OUT(bm_new_zero(&out->best, n_all(items) + 1, err));
out:
    if (status != BM_OK)
        bm_overlap_reset(out);
    return status;
}

void bm_overlap_reset(bm_overlap_found *found)
{
    bm_column_reset(&found->column);
    bm_free_all(found->seen, found->best, found->counts);
    *found = (bm_overlap_found){0};
}

/* --- the ordered end --- */

static bm_status reserve_rows(bm_overlap_found *found, uint64_t n, bm_error *err)
{
    const size_t bytes = (size_t)(found->n_rows + n) * sizeof *found->rows;
    if (bytes > found->column.bytes)
        BM_TRY(bm_column_grow(&found->column, bytes,
                              found->memory != 0 && bytes > found->memory ? found->temp_dir : NULL,
                              err));
    found->rows = found->column.data;
    return BM_OK;
}

static bm_status add_rows(bm_overlap_found *found, uint32_t doc, const char *rows, uint32_t n,
                          bm_error *err)
{
    BM_TRY(reserve_rows(found, n, err));
    for (uint32_t i = 0; i < n; i++) {
        bm_overlap_row *row = &found->rows[found->n_rows++];
        memcpy(row, rows + i * sizeof *row, sizeof *row);
        row->doc = doc;
    }
    return BM_OK;
}

bm_status bm_overlap_sink(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    bm_overlap_found *found = ctx;
    if (batch->scanned.len == 0)
        return BM_OK;
    const char *at = batch->scanned.data, *const end = at + batch->scanned.len;
    while (at < end) {
        bm_overlap_said head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        BM_TRY(add_rows(found, (uint32_t)(first_row + head.doc), at, head.n_rows, err));
        at += head.n_rows * sizeof(bm_overlap_row);
        for (uint32_t i = 0; i < head.n_best; i++, at += sizeof(bm_overlap_better)) {
            bm_overlap_better one;
            memcpy(&one, at, sizeof one);
            if (one.hits > found->best[one.class])
                __atomic_store_n(&found->best[one.class], one.hits, __ATOMIC_RELAXED);
        }
        for (uint32_t i = 0; i < head.n_seen; i++, at += sizeof(uint32_t)) {
            uint32_t shingle;
            memcpy(&shingle, at, sizeof shingle);
            uint8_t *byte = &found->seen[shingle / 8];
            __atomic_store_n(byte, (uint8_t)(*byte | 1u << shingle % 8), __ATOMIC_RELAXED);
        }
    }
    bm_column_leave(&found->column);
    const uint64_t rows = found->n_rows * sizeof *found->rows;
    BM_TRY(check_bytes(found,
                       bm_doc_table_bytes(found->docs) +
                           (rows < found->memory ? rows : found->memory) +
                           __atomic_load_n(&found->in_lanes, __ATOMIC_RELAXED),
                       err));
    return bm_overlap_hold(found, 0, batch->scanned.len, err);
}

/* --- saving --- */

#define ROWS_OF_RECORD ((uint64_t)32768)

/* The head of a saved record. If n > 0, the record has n rows, and `first` is the number of the
 * first. If n is 0, the record has the bits of all shingles and the numbers of all classes. */
typedef struct saved_head {
    uint64_t mark;     /* BM_CHECKPOINT_MORE */
    uint64_t first, n; /* number of the first row; number of rows */
    uint64_t n_shingles, n_classes;
} saved_head;

static saved_head head_of(const bm_overlap_found *found, uint64_t first, uint64_t n)
{
    return (saved_head){BM_CHECKPOINT_MORE, first, n, found->items->table.n, n_all(found->items)};
}

static uint64_t unsaved_bytes(const void *ctx)
{
    const bm_overlap_found *found = ctx;
    return (found->n_rows - found->n_saved) * sizeof *found->rows + seen_bytes(found->items) +
           n_all(found->items) * sizeof *found->best;
}

static bm_status save(void *ctx, bm_spill_file *file, bm_error *err)
{
    bm_overlap_found *found = ctx;
    bm_buf out = {0};
    bm_status status = BM_OK;
    /* drop the rows of a failed batch, because it will be read again */
    while (found->n_rows > found->n_saved && found->rows[found->n_rows - 1].doc >= found->docs->n)
        found->n_rows--;
    for (uint64_t first = found->n_saved, n; first < found->n_rows; first += n) {
        n = found->n_rows - first < ROWS_OF_RECORD ? found->n_rows - first : ROWS_OF_RECORD;
        const saved_head head = head_of(found, first, n);
        out.len = 0;
        BM_TRY_OUT(bm_buf_add(&out, &head, sizeof head, err));
        BM_TRY_OUT(bm_buf_add(&out, found->rows + first, (size_t)n * sizeof *found->rows, err));
        BM_TRY_OUT(bm_spill_add(file, out.data, out.len, NULL, err));
    }
    const saved_head head = head_of(found, found->n_rows, 0);
    out.len = 0;
    BM_TRY_OUT(bm_buf_add(&out, &head, sizeof head, err));
    BM_TRY_OUT(bm_buf_add(&out, found->seen, seen_bytes(found->items), err));
    BM_TRY_OUT(bm_buf_add(&out, found->best, n_all(found->items) * sizeof *found->best, err));
    BM_TRY_OUT(bm_spill_add(file, out.data, out.len, NULL, err));
    found->n_saved = found->n_rows;
out:
    bm_buf_reset(&out);
    return status;
}

static bm_status load(void *ctx, const void *data, size_t len, bm_error *err)
{
    bm_overlap_found *found = ctx;
    const char *at = data;
    saved_head head = {0};
    const uint64_t bits = seen_bytes(found->items),
                   numbers = n_all(found->items) * sizeof *found->best;
    if (len >= sizeof head)
        memcpy(&head, at, sizeof head);
    at += sizeof head;
    const uint64_t bytes = head.n > 0 ? head.n * sizeof *found->rows : bits + numbers;
    if (len < sizeof head || head.first != found->n_rows || head.n > ROWS_OF_RECORD ||
        head.n_shingles != found->items->table.n || head.n_classes != n_all(found->items) ||
        len - sizeof head != bytes)
        return bm_fail(err, BM_ERR_FORMAT, "the saved rows of items are damaged");
    if (head.n == 0) {
        memcpy(found->seen, at, (size_t)bits);
        if (numbers > 0)
            memcpy(found->best, at + bits, (size_t)numbers);
        return BM_OK;
    }
    BM_TRY(reserve_rows(found, head.n, err));
    memcpy(found->rows + found->n_rows, at, (size_t)bytes);
    for (uint64_t i = found->n_rows; i < found->n_rows + head.n; i++)
        if (found->rows[i].class >= n_all(found->items) || found->rows[i].doc >= found->docs->n ||
            (i > 0 && found->rows[i].doc < found->rows[i - 1].doc))
            return bm_fail(err, BM_ERR_FORMAT,
                           "the saved rows name items or documents that there are not");
    found->n_rows += head.n;
    found->n_saved = found->n_rows;
    return BM_OK;
}

bm_checkpoint_more bm_overlap_saved(bm_overlap_found *found)
{
    return (bm_checkpoint_more){
        .save = save, .load = load, .unsaved_bytes = unsaved_bytes, .ctx = found};
}
