/* filter_drops.c -- three tables into one list.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/staged.sh, tests/cli/cases/filter.sh */
#include "pipeline/jobs/filter_drops.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/results/result_tables.h"
#include "io/results/tsv_table.h"
#include "model/file_names.h"

/* The rows of a table that are still to come of each input. */
typedef struct counted_rows {
    const char *folder;
    const bm_manifest *manifest;
    uint64_t *left;
    size_t n;    /* inputs */
    size_t file; /* of the rows that come next */
} counted_rows;

static bool is_file(const counted_rows *rows, const bm_tsv_table *table, size_t field, size_t file)
{
    const bm_str name = table->fields[field];
    const char *known = file < rows->n ? bm_manifest_input_at(rows->manifest, file)->file : "";
    return strlen(known) == name.len && memcmp(known, name.data, name.len) == 0;
}

/* Fill rows->left from a column of sources.tsv; *sum: of all inputs. */
static bm_status count_rows(counted_rows *rows, size_t column, uint64_t *sum, bm_error *err)
{
    bm_tsv_table table = {0};
    char *path = NULL;
    bool end = false;
    size_t n = 0;
    *sum = 0;
    rows->file = 0;
    bm_status status = bm_string_format(&path, err, "%s/" BM_FILE_SOURCES, rows->folder);
    if (status == BM_OK)
        status = bm_tsv_table_open(path, bm_table_header(BM_TABLE_SOURCES), &table, err);
    while (status == BM_OK) {
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        if (!is_file(rows, &table, BM_SOURCES_FILE, n))
            status = bm_fail_at(err, BM_ERR_FORMAT, path, table.line,
                                "not the inputs that the report names");
        else
            status = bm_tsv_table_uint(&table, column, &rows->left[n], err);
        if (status == BM_OK)
            *sum += rows->left[n++];
    }
    if (status == BM_OK && n != rows->n)
        status = bm_fail_at(err, BM_ERR_FORMAT, path, 0, "%zu inputs (the report names %zu)", n,
                            rows->n);
    bm_tsv_table_close(&table);
    bm_free(path);
    return status;
}

/* The input that the row read last is of. */
static bm_status take_row(counted_rows *rows, const bm_tsv_table *table, size_t field,
                          bm_error *err)
{
    while (rows->file < rows->n && rows->left[rows->file] == 0)
        rows->file++;
    if (!is_file(rows, table, field, rows->file))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                          "not the rows that " BM_FILE_SOURCES " counts");
    rows->left[rows->file]--;
    return BM_OK;
}

static bm_status load_row(bm_drops *out, const bm_tsv_table *table, uint32_t file, bool removed,
                          bm_error *err)
{
    const size_t line = removed ? BM_REMOVED_LINE : BM_SKIPPED_LINE;
    bm_drop drop = {.file = file};
    uint32_t number;
    if (removed && out->n == 0 && table->fields[line].len == 0)
        out->by_id = true; /* no row has a line */
    if (out->by_id)
        return removed ? bm_id_set_add(&out->ids, table->fields[BM_REMOVED_ID], &number, err)
                       : BM_OK;
    bm_status status = bm_tsv_table_uint(table, line, &drop.place, err);
    return status == BM_OK ? bm_drops_add(out, drop, err) : status;
}

static bm_status load_rows(counted_rows *rows, bool removed, bm_drops *out, bm_error *err)
{
    bm_tsv_table table = {0};
    char *path = NULL;
    bool end = false;
    uint64_t n = 0, expected = removed ? out->n_removed : out->n_skipped;
    bm_status status = bm_string_format(&path, err, "%s/%s", rows->folder,
                                        removed ? BM_FILE_REMOVED : BM_FILE_SKIPPED);
    if (status == BM_OK)
        status = bm_tsv_table_open(
            path, bm_table_header(removed ? BM_TABLE_REMOVED : BM_TABLE_SKIPPED), &table, err);
    for (; status == BM_OK; n++) {
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        status = take_row(rows, &table, removed ? BM_REMOVED_FILE : BM_SKIPPED_FILE, err);
        if (status == BM_OK)
            status = load_row(out, &table, (uint32_t)rows->file, removed, err);
    }
    if (status == BM_OK && n != expected)
        status =
            bm_fail_at(err, BM_ERR_FORMAT, path, 0, "%llu rows (" BM_FILE_SOURCES " counts %llu)",
                       (unsigned long long)n, (unsigned long long)expected);
    bm_tsv_table_close(&table);
    bm_free(path);
    return status;
}

static int by_place(const void *x, const void *y)
{
    const bm_drop *a = x, *b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

bm_status bm_drops_load(const char *folder, const bm_manifest *manifest, bm_drops *out,
                        bm_error *err)
{
    counted_rows rows = {
        .folder = folder, .manifest = manifest, .n = bm_manifest_n_inputs(manifest)};
    rows.left = bm_alloc_zero(rows.n, sizeof *rows.left);
    if (rows.left == NULL)
        return bm_fail_nomem(err, rows.n * sizeof *rows.left);
    bm_status status = count_rows(&rows, BM_SOURCES_REMOVED, &out->n_removed, err);
    if (status == BM_OK)
        status = load_rows(&rows, true, out, err);
    if (status == BM_OK)
        status = count_rows(&rows, BM_SOURCES_SKIPPED, &out->n_skipped, err);
    if (status == BM_OK && out->n_skipped > 0)
        status = load_rows(&rows, false, out, err);
    bm_free(rows.left);
    if (out->n > 1)
        qsort(out->rows, out->n, sizeof *out->rows, by_place);
    return status;
}

void bm_drops_reset(bm_drops *drops)
{
    bm_free(drops->rows);
    bm_id_set_reset(&drops->ids);
    memset(drops, 0, sizeof *drops);
}

/* --- the list --- */

bm_status bm_drops_add(bm_drops *drops, bm_drop drop, bm_error *err)
{
    bm_status status = bm_grow_array(&drops->rows, &drops->cap, drops->n + 1, err);
    if (status == BM_OK)
        drops->rows[drops->n++] = drop;
    return status;
}

bool bm_drops_take(bm_drops *drops, bm_drop here)
{
    if (drops->next >= drops->n || by_place(&drops->rows[drops->next], &here) != 0)
        return false;
    drops->next++;
    return true;
}

bool bm_drops_has_id(const bm_drops *drops, bm_str id)
{
    return drops->ids.n > 0 && bm_id_set_find(&drops->ids, id) != BM_ID_NONE;
}
