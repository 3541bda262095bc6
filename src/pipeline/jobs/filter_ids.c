/* filter_ids.c -- records are parsed, but their texts are not cut: one thread keeps up with the
 * disk.
 *
 * Ids are settled by all that stands before them (repeated ones may be numbered), so every document
 * goes into the table.
 *
 * Tests: tests/cli/cases/staged.sh, tests/cli/cases/filter.sh */
#include "pipeline/jobs/filter_ids.h"

#include "base/error.h"
#include "pipeline/context/job_stages.h"
#include "pipeline/context/record_room.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BATCH_BYTES  (1u << 20)
#define BATCH_HASHES (1u << 17)

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

static bm_status read_batches(reading *r, bm_batch_parser *parser, bm_error *err)
{
    bm_batch_source *source = r->context->inputs.source;
    bm_meter *meter = &r->context->meter;
    bm_batch_next next;
    for (;;) {
        bm_status status = bm_meter_check(meter, err);
        if (status == BM_OK)
            status = bm_batch_source_next(source, &next, err);
        if (status != BM_OK || next.got == BM_BATCH_END)
            return status;
        status = bm_batch_parser_run(parser, next.batch, on_record, r, err);
        bm_meter_progress(meter, next.bytes_read, bm_batch_source_total_bytes(source),
                          r->context->docs.n);
        bm_batch_source_free_batch(source, next.batch);
        if (status != BM_OK)
            return status;
    }
}

bm_status bm_filter_ids_read(bm_job_context *context, bm_drops *drops, bm_error *err)
{
    bm_record_room room;
    bm_record_room_init(context, BM_RECORDS_PARSED, &room);
    const bm_batch_limits limits = {
        .bytes = BATCH_BYTES, .hashes = BATCH_HASHES, .gate = &room.gate};
    reading r = {.context = context, .drops = drops};
    bm_batch_parser *parser = NULL;
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(context->inputs.source, &limits, 0, err));
    BM_TRY_OUT(bm_batch_parser_open(context->inputs.source, &parser, err));
    status = read_batches(&r, parser, err);
out:
    bm_batch_parser_close(parser);
    bm_batch_source_end(context->inputs.source);
    return status;
}
