/* table_file.c -- see the header.
 *
 * Tests: tests/reference/test_tables.py */
#include "sources/table_file.h"

#include <bandmill/version.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_copy.h"
#include "input/input_set_state.h"
#include "input/tables.h"

/* The names of the columns that are wanted; of none: rows alone. */
static bm_status open_table(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                            bm_error *err)
{
    (void)ctx;
    const bm_record_rules *rules = asked->rules;
    const size_t n = rules != NULL ? bm_columns_count(rules) : 0;
    const char **names = bm_alloc(n + 1, sizeof *names);
    if (names == NULL)
        return bm_fail_nomem(err, (n + 1) * sizeof *names);
    bm_table_wish wish = {.path = bm_source_place(asked->file),
                          .parquet = asked->format == BM_FORMAT_PARQUET,
                          .columns = names,
                          .threads = asked->room.threads,
                          .batch_bytes = asked->batch_bytes,
                          .memory = asked->room.memory};
    for (size_t i = 0; rules != NULL && i < rules->n_text; i++)
        names[wish.n_columns++] = rules->text[i];
    wish.n_needed = wish.n_columns;
    if (rules != NULL && rules->id != NULL)
        names[wish.n_columns++] = rules->id;
    if (rules != NULL && rules->id_given)
        wish.n_needed = wish.n_columns;
    for (size_t i = 0; rules != NULL && i < bm_rules_n_keep(rules); i++)
        names[wish.n_columns++] = rules->keep->fields[i];
    bm_status status = bm_table_open(asked->file->name, &wish, out, err);
    bm_free(names);
    return status;
}

const bm_column_provider bm_table_files = {.name = "tables", .open = open_table};

/* May it be passed over as a bad record? Not for want of what reads tables. */
static bool may_be_lost(const bm_input_set *inputs, bm_status status)
{
    return status == BM_ERR_INPUT && inputs->options.on_error == BM_ON_ERROR_SKIP &&
           bm_version_tables() != NULL;
}

bm_status bm_table_file_open(const bm_table_file *file, struct ArrowArrayStream *out,
                             bm_error *lost, bm_error *err)
{
    bm_source *source = bm_input_set_source(file->inputs, file->index);
    const bm_table_asked asked = {.file = source,
                                  .rules = file->rules,
                                  .batch_bytes = file->batch_bytes,
                                  .room = bm_input_set_room(file->inputs),
                                  .format = bm_input_set_format(file->inputs)};
    bm_error why = {0};
    bm_status status = BM_OK;
    if (source->unreadable != NULL)
        BM_TRY_OUT(bm_fail_at(&why, BM_ERR_INPUT, source->name, 0, "%s", source->unreadable));
    else
        BM_TRY_OUT(bm_input_copy(file->inputs, file->index, &why));
    status = file->provider->open(file->provider->ctx, &asked, out, &why);
out:
    source->lost = may_be_lost(file->inputs, status);
    if (source->lost)
        *lost = why;
    else if (status != BM_OK && err != NULL)
        *err = why;
    return source->lost ? BM_OK : status;
}
