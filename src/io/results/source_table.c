/* source_table.c -- one walk over the rows.
 *
 * Tests: tests/cli/cases/filter.sh, tests/cli/cases/staged.sh, tests/unit/jobs/test_jobs.c */
#include "io/results/source_table.h"

#include <string.h>

#include "base/error.h"
#include "io/results/result_tables.h"
#include "io/results/tsv_table.h"
#include "model/file_names.h"

bool bm_source_is(const bm_manifest *manifest, size_t input, bm_str field)
{
    if (input >= bm_manifest_n_inputs(manifest))
        return false;
    const char *name = bm_manifest_input_at(manifest, input)->file;
    return strlen(name) == field.len && memcmp(name, field.data, field.len) == 0;
}

static const char *what_names(const bm_manifest *manifest)
{
    return strcmp(bm_manifest_kind(manifest), "signatures") == 0 ? "manifest" : "report";
}

static bm_status take_row(const bm_tsv_table *table, size_t input, bm_source_column *column,
                          bm_error *err)
{
    BM_TRY(bm_tsv_table_uint(table, column->field, &column->rows[input], err));
    if (__builtin_add_overflow(column->sum, column->rows[input], &column->sum))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "the rows pass 2^64");
    return BM_OK;
}

bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err)
{
    bm_tsv_table table = {0};
    bool end = false;
    size_t input = 0;
    for (size_t i = 0; i < n; i++)
        columns[i].sum = 0;
    bm_status status = bm_tsv_table_open_listed(manifest, BM_FILE_SOURCES,
                                                bm_table_header(BM_TABLE_SOURCES), &table, err);
    for (; status == BM_OK; input++) {
        status = bm_tsv_table_next(&table, &end, err);
        if (status != BM_OK || end)
            break;
        if (!bm_source_is(manifest, input, table.fields[BM_SOURCES_FILE]))
            status = bm_fail_at(err, BM_ERR_FORMAT, table.path, table.line,
                                "not the inputs that the %s names", what_names(manifest));
        for (size_t i = 0; status == BM_OK && i < n; i++)
            status = take_row(&table, input, &columns[i], err);
    }
    if (status == BM_OK && input != bm_manifest_n_inputs(manifest))
        status = bm_fail_at(err, BM_ERR_FORMAT, table.path, 0, "%zu inputs (the %s names %zu)",
                            input, what_names(manifest), bm_manifest_n_inputs(manifest));
    bm_tsv_table_close(&table);
    return status;
}
