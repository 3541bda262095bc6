/* source_table.c -- one walk over the rows.
 *
 * Tests: tests/cli/cases/filter.sh, tests/cli/cases/staged.sh, tests/unit/jobs/test_jobs.c */
#include "results/source_table.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/result_dir.h"
#include "model/file_names.h"

/* Is the field the name of this input? Not where the manifest has none of that number. */
static bool is_input(const bm_manifest *manifest, size_t input, bm_str field)
{
    if (input >= bm_manifest_n_inputs(manifest))
        return false;
    const char *name = bm_manifest_input_at(manifest, input)->file;
    return strlen(name) == field.len && memcmp(name, field.data, field.len) == 0;
}

typedef struct reading {
    const bm_manifest *manifest;
    bm_source_column *columns;
    size_t n, input; /* columns; rows so far */
} reading;

static const char *what_names(const bm_manifest *manifest)
{
    return strcmp(bm_manifest_kind(manifest), "signatures") == 0 ? "manifest" : "report";
}

/* A bm_result_row_fn. */
static bm_status read_row(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    reading *r = ctx;
    if (!is_input(r->manifest, r->input, row->fields[BM_SOURCES_FILE]))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "not the inputs that the %s names", what_names(r->manifest));
    for (size_t i = 0; i < r->n; i++) {
        bm_source_column *column = &r->columns[i];
        BM_TRY(bm_tsv_table_uint(row, column->field, &column->rows[r->input], err));
        if (__builtin_add_overflow(column->sum, column->rows[r->input], &column->sum))
            return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line, "the rows pass 2^64");
    }
    r->input++;
    return BM_OK;
}

bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err)
{
    const bm_result_dir dir = {.manifest = manifest};
    const size_t n_inputs = bm_manifest_n_inputs(manifest);
    reading r = {.manifest = manifest, .columns = columns, .n = n};
    char message[100];
    for (size_t i = 0; i < n; i++)
        columns[i].sum = 0;
    BM_TRY(bm_result_rows(&dir, BM_TABLE_SOURCES, read_row, &r, err));
    if (r.input == n_inputs)
        return BM_OK;
    snprintf(message, sizeof message, "%zu inputs (the %s names %zu)", r.input,
             what_names(manifest), n_inputs);
    return bm_result_fail(&dir, BM_FILE_SOURCES, 0, message, err);
}

/* --- rows in the order of the inputs --- */

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err)
{
    *out = (bm_source_walk){.manifest = manifest, .n = bm_manifest_n_inputs(manifest)};
    return bm_new_zero(&out->left, out->n, err);
}

void bm_source_walk_close(bm_source_walk *walk)
{
    bm_free(walk->left);
    *walk = (bm_source_walk){0};
}

bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err)
{
    bm_source_column counted = {.field = column, .rows = walk->left};
    const bm_status status = bm_source_table_read(walk->manifest, &counted, 1, err);
    walk->file = 0;
    *sum = counted.sum;
    return status;
}

bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err)
{
    while (walk->file < walk->n && walk->left[walk->file] == 0)
        walk->file++;
    if (!is_input(walk->manifest, walk->file, row->fields[field]))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "not the rows that " BM_FILE_SOURCES " counts");
    walk->left[walk->file]--;
    return BM_OK;
}
