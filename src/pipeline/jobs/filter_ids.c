/* filter_ids.c -- records are parsed, but their texts are not cut: one thread keeps up with the
 * disk.
 *
 * Ids are settled by all that stands before them (repeated ones may be numbered), so every document
 * goes into the table.
 *
 * Tests: tests/cli/cases/staged.sh, tests/cli/cases/filter.sh */
#include "pipeline/jobs/filter_ids.h"

#include "base/error.h"
#include "pipeline/context/record_room.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct reading {
    bm_job_context *context;
    bm_drops *drops;
    uint64_t n_records;
} reading;

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    reading *r = ctx;
    bm_doc_table *docs = &r->context->docs;
    const char *name = r->context->inputs.names.names[record->file];
    const bm_doc_row row = {.file = record->file, .line = record->line};
    const bm_drop here = {record->file, r->n_records++};
    const bm_doc_id id = {record->id, XXH3_64bits(record->id.data, record->id.len)};
    if (record->bad)
        return r->context->settings->input.on_error == BM_ON_ERROR_SKIP
                   ? bm_drops_meet(r->drops, here, name, err)
                   : bm_fail_at(err, BM_ERR_INPUT, name, record->line, "%s", record->reason);
    if (docs->number_duplicates && bm_drops_doubt(r->drops, record->id))
        return bm_fail_at(err, BM_ERR_INPUT, name, record->line,
                          "the id '%.*s' looks numbered: which document dedup removed by it cannot "
                          "be told from signatures alone (dedup with `verify` exact knows)",
                          (int)(record->id.len > 200 ? 200 : record->id.len), record->id.data);
    BM_TRY(bm_doc_table_add(docs, &row, id, name, err));
    if (bm_drops_has_id(r->drops, bm_doc_table_id(docs, docs->n - 1)))
        BM_TRY(bm_drops_meet(r->drops, here, name, err));
    return BM_OK;
}

bm_status bm_filter_ids_read(bm_job_context *context, bm_drops *drops, bm_error *err)
{
    reading r = {.context = context, .drops = drops};
    return bm_records_read(context, on_record, &r, NULL, err);
}
