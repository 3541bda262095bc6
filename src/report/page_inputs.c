/* SPDX-License-Identifier: Apache-2.0 */
/* page_inputs.c -- lists the inputs for the page: one by one or, if there are many, by folders.
 *
 *     up to 20 inputs          a row each, in their order
 *     more, of one folder      the largest 19, and a row for the others together
 *     more, of several         a row for each folder, the largest first; of more than 20 folders
 *                              the largest 19, and a row for the others together
 *
 * Sizes are those of the files on disk. Inputs of equal size stay in input order. For a result of
 * overlap, the order is by the number of documents that contain an item, instead of the size.
 *
 * Tests: tests/cli/cases/report.sh */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/page.h"

#define ROWS_MAX 20u

static size_t folder_len(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? (size_t)(slash - file) + 1 : 0;
}

bm_page_input bm_page_input_at(const bm_page *p, size_t i)
{
    const bm_page_source *source = &p->sources[i];
    const bm_manifest_input *input = bm_manifest_input_at(p->manifest, i);
    return (bm_page_input){.name = {input->file, strlen(input->file)},
                           .first = i,
                           .n_files = 1,
                           .bytes = input->bytes,
                           .documents = source->documents,
                           .skipped = source->skipped,
                           .removed = source->removed,
                           .removed_bytes = source->removed_bytes,
                           .n_gone = source->gone != NULL,
                           .gone = source->gone};
}

static void add(bm_page_input *to, const bm_page_input *row)
{
    to->n_files += row->n_files;
    to->bytes += row->bytes;
    to->documents += row->documents;
    to->skipped += row->skipped;
    to->removed += row->removed;
    to->removed_bytes =
        to->removed_bytes == BM_COUNT_UNKNOWN || row->removed_bytes == BM_COUNT_UNKNOWN
            ? BM_COUNT_UNKNOWN
            : to->removed_bytes + row->removed_bytes;
    to->n_gone += row->n_gone;
    to->gone = to->gone != NULL ? to->gone : row->gone;
}

static int by_folder(const void *x, const void *y)
{
    const bm_page_input *a = x, *b = y;
    const size_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
    const int order = n > 0 ? memcmp(a->name.data, b->name.data, n) : 0;
    if (order != 0 || a->name.len != b->name.len)
        return order != 0 ? order : a->name.len < b->name.len ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int by_bytes(const void *x, const void *y)
{
    const bm_page_input *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int by_removed(const void *x, const void *y)
{
    const bm_page_input *a = x, *b = y;
    if (a->removed != b->removed)
        return a->removed > b->removed ? -1 : 1;
    return by_bytes(x, y);
}

/* Combine rows of the same folder. Returns the number of rows left. */
static size_t join_folders(bm_page_input *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        rows[i].name.len = folder_len(rows[i].name.data);
    qsort(rows, n, sizeof *rows, by_folder);
    for (size_t i = 0; i < n; i++) {
        bm_page_input *last = kept > 0 ? &rows[kept - 1] : NULL;
        if (last != NULL && last->name.len == rows[i].name.len &&
            memcmp(last->name.data, rows[i].name.data, last->name.len) == 0)
            add(last, &rows[i]);
        else
            rows[kept++] = rows[i];
    }
    return kept;
}

static bool one_folder(const bm_page_input *rows, size_t n)
{
    const size_t len = folder_len(rows[0].name.data);
    for (size_t i = 1; i < n; i++)
        if (folder_len(rows[i].name.data) != len ||
            memcmp(rows[i].name.data, rows[0].name.data, len) != 0)
            return false;
    return true;
}

bm_status bm_page_list_inputs(const bm_page *p, bm_page_inputs *out, bm_error *err)
{
    size_t n = bm_manifest_n_inputs(p->manifest);
    *out = (bm_page_inputs){0};
    BM_TRY(bm_new(&out->rows, n, err));
    for (size_t i = 0; i < n; i++)
        out->rows[i] = bm_page_input_at(p, i);
    if (n > ROWS_MAX) {
        out->are_folders = !one_folder(out->rows, n);
        n = out->are_folders ? join_folders(out->rows, n) : n;
    }
    if (n > 1 && p->overlap.is)
        qsort(out->rows, n, sizeof *out->rows, by_removed);
    else if (n > ROWS_MAX || out->are_folders)
        qsort(out->rows, n, sizeof *out->rows, by_bytes);
    if (n > ROWS_MAX) {
        bm_page_input *rest = &out->rows[ROWS_MAX - 1];
        out->n_others = n - ROWS_MAX + 1;
        for (size_t i = ROWS_MAX; i < n; i++)
            add(rest, &out->rows[i]);
        n = ROWS_MAX;
    }
    out->n = n;
    return BM_OK;
}
