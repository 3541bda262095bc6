/* batch_sources.c -- the rows. */
#include "sources/batch_sources.h"

#include "base/error.h"
#include "sources/source_columns.h"
#include "sources/source_hashes.h"
#include "sources/source_keys.h"
#include "input/source_records.h"

static const bm_batch_source_ops *const rows[] = {&bm_source_records, &bm_source_hashes,
                                                  &bm_source_columns, &bm_source_keys};

static const bm_batch_source_ops *row_of(bm_format format)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i]->reads(format))
            return rows[i];
    return NULL;
}

bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    const bm_batch_source_ops *row = row_of(bm_input_set_format(inputs));
    if (row == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no reader for this format");
    return row->open(inputs, out, err);
}

bool bm_format_has_text(bm_format format)
{
    const bm_batch_source_ops *row = row_of(format);
    return row == NULL || row->has_text;
}
