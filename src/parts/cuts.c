/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.c -- checks that text can be cut out of records, and lists documents that are empty after
 * they were cut.
 *
 * Tests: tests/cli/cases/units.sh, tests/reference/test_units.py */
#include "parts/cuts.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/record_format.h"
#include "input/tables.h"
#include "results/result_tables.h"
#include "text/unicode_tables.h"

bm_status bm_cuts_check_format(const bm_job_context *context, const char *field, bm_error *err)
{
    const bm_format format = bm_job_context_format(context);
    if (context->settings->results.kept == BM_RECORDS_NOT_WRITTEN)
        return BM_OK;
    if (bm_format_is_table(format) && context->settings->input.n_text_fields > 1)
        return bm_fail_field(err, field,
                             "`%s` with several text fields of tables (one, or `kept` no)", field);
    return context->inputs.source->copies &&
                   (bm_record_format_of(format) != NULL || bm_format_is_table(format))
               ? BM_OK
               : bm_fail_field(err, field, "`%s` with `format` %s (records of files)", field,
                               bm_option_name(BM_OPTION_FORMAT, format));
}

bool bm_cuts_meet_parts(const bm_input_options *input)
{
    for (size_t i = 0; i < input->n_text_fields; i++)
        if (strstr(input->text_fields[i], "[]") != NULL)
            return true;
    return input->n_text_fields > 1;
}

bm_status bm_cuts_write_emptied(bm_rows *removed, const bm_job_context *context, size_t doc,
                                bm_error *err)
{
    const bm_doc_row *row = bm_doc_table_row(&context->docs, doc);
    const bm_removed_line line = {.id = bm_doc_table_id(&context->docs, doc),
                                  .kept = {"", 0},
                                  .jaccard = NAN,
                                  .reason = BM_REMOVED_IS_EMPTY,
                                  .file = context->inputs.names.names[row->file],
                                  .line = row->line,
                                  .lost = UINT64_MAX};
    BM_TRY(bm_removed_line_add(&removed->buf, &line, err));
    return bm_rows_flush(removed, false, err);
}

bool bm_text_is_blank(const char *at, const char *end)
{
    while (at < end)
        if (!bm_is_white_space(bm_utf8_next(&at, end)))
            return false;
    return true;
}
