/* record_room.c -- see the header.
 *
 * Tests: tests/cli/cases/bounds.sh, tests/scale/long_documents.sh */
#include "job/record_room.h"

#include "base/error.h"
#include "input/input_set.h"
#include "job/job_stages.h"
#include "text/shingler.h"

#define BATCH_BYTES  (1u << 20)
#define BATCH_HASHES (1u << 17)

/* Bytes that the job may hold beside the rows of its documents; what dedup holds of a corpus makes
 * room for its longest record (corpus_budget.c). */
static uint64_t free_bytes(const bm_job_context *job)
{
    const uint64_t held = job->budget.fixed + bm_doc_table_bytes(&job->docs);
    return job->budget.total > held ? job->budget.total - held : 0;
}

/* Of a record that was read to its end. */
static uint64_t needed_bytes(const bm_record_room *room, uint64_t record_bytes)
{
    return record_bytes + record_bytes / 8 + room->copies * record_bytes;
}

/* `bytes` are those of the record so far, and what may be read behind it: a sixteenth. */
static bm_status hold(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    const bm_record_room *room = ctx;
    (void)err;
    *may = room->job->budget.total == 0 ||
           bytes + room->copies * (bytes - bytes / 17) <= free_bytes(room->job);
    return BM_OK;
}

uint64_t bm_record_room_left(const bm_record_room *room, uint64_t record_bytes)
{
    const uint64_t all = free_bytes(room->job), held = needed_bytes(room, record_bytes);
    if (room->job->budget.total == 0)
        return 0;
    return all > held ? all - held : 1;
}

bm_status bm_record_room_refuse(const bm_record_room *room, const bm_long_record *record,
                                uint64_t shingling, bm_error *err)
{
    const uint64_t total = room->job->budget.total, taken = room->job->taken;
    uint64_t least = total - free_bytes(room->job) + needed_bytes(room, record->bytes) + shingling;
    if (room->shingles && taken < total) /* the shares of an index are parts of the memory */
        least = (uint64_t)((double)(least - taken) * ((double)total / (double)(total - taken)));
    return bm_fail_at(err, BM_ERR_NOMEM, record->file, record->line,
                      "a record of %llu bytes does not fit into `memory` of %lluM (at least %lluM)",
                      (unsigned long long)record->bytes, (unsigned long long)(total >> 20),
                      (unsigned long long)(least >> 20) + 3);
}

static bm_status refuse(void *ctx, const bm_long_record *record, bm_error *err)
{
    const bm_record_room *room = ctx;
    const bm_text_options *text = &room->job->settings->text;
    const uint64_t units = bm_shingle_is_of_words(text->shingle) ? record->words : record->bytes;
    return bm_record_room_refuse(
        room, record, room->shingles ? bm_shingler_bytes(text, record->bytes, units) : 0, err);
}

void bm_record_room_init(const bm_job_context *job, bm_record_use use, bm_record_room *out)
{
    const bool elements =
        job->inputs.set != NULL && bm_input_set_format(job->inputs.set) == BM_FORMAT_JSON;
    *out = (bm_record_room){
        .job = job, .shingles = use == BM_RECORDS_SHINGLED, .gate = {out, hold, refuse}};
    if (use != BM_RECORDS_SPLIT ||
        elements) /* elements of an array are parsed even where they are split */
        out->copies = job->settings->input.n_text_fields > 1 ? 2 : 1;
}

static bm_status read_batches(bm_job_context *job, bm_batch_parser *parser, bm_record_fn fn,
                              void *ctx, const bool *enough, bm_error *err)
{
    bm_batch_source *source = job->inputs.source;
    bm_batch_next next;
    while (enough == NULL || !*enough) {
        BM_TRY(bm_meter_check(&job->meter, err));
        BM_TRY(bm_batch_source_next(source, &next, err));
        if (next.got == BM_BATCH_END)
            return BM_OK;
        const bm_status status = bm_batch_parser_run(parser, next.batch, fn, ctx, err);
        bm_meter_progress(&job->meter, next.bytes_read, bm_batch_source_total_bytes(source),
                          job->docs.n);
        bm_batch_source_free_batch(source, next.batch);
        BM_TRY(status);
    }
    return BM_OK;
}

bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err)
{
    bm_record_room room;
    bm_batch_parser *parser = NULL;
    bm_record_room_init(job, BM_RECORDS_PARSED, &room);
    const bm_batch_limits limits = {
        .bytes = BATCH_BYTES, .hashes = BATCH_HASHES, .gate = &room.gate};
    bm_job_context_stage(job, BM_STAGE_READ, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(job->inputs.source, &limits, 0, err));
    BM_TRY_OUT(bm_batch_parser_open(job->inputs.source, &parser, err));
    status = read_batches(job, parser, fn, ctx, enough, err);
out:
    bm_batch_parser_close(parser);
    bm_batch_source_end(job->inputs.source);
    return status;
}

bm_status bm_table_room(const bm_settings *settings, uint64_t *out, bm_error *err)
{
    bm_budget budget;
    BM_TRY(bm_budget_make(settings->memory, settings->threads, 0, &budget, err));
    *out = bm_budget_rows(&budget);
    return BM_OK;
}

bm_status bm_table_room_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                               bm_error *err)
{
    bm_budget budget;
    BM_TRY(bm_budget_make(settings->memory, settings->threads, 0, &budget, err));
    return bm_fail(err, BM_ERR_NOMEM, "%s do not fit into `memory` of %lluM (at least %lluM)", what,
                   (unsigned long long)(settings->memory >> 20),
                   (unsigned long long)(bm_budget_least(&budget, bytes) >> 20) + 1);
}
