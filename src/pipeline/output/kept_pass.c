/* kept_pass.c -- split only, no parsing (but of arrays): the pass runs at the speed of reading,
 * finding line ends and writing.
 *
 * Runs of kept records that lie side by side in a batch are written at once.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/unit/jobs/test_checkpoint.c
 * Tests: tests/cli/cases/dedup.sh */
#include "pipeline/output/kept_pass.h"

#include <string.h>

#include "base/error.h"
#include "pipeline/context/record_room.h"
#include "pipeline/output/rows.h"

#define BATCH_BYTES (1u << 20)
#define NO_FILE     UINT32_MAX

typedef struct copy {
    bm_job_context *job;
    bm_kept_writer *writer;
    const bm_kept_rule *rule;
    uint32_t file;  /* open in the writer; NO_FILE: none */
    bm_str pending; /* kept records side by side, not yet written */
} copy;

static bm_status write_pending(copy *c, bm_error *err)
{
    bm_str pending = c->pending;
    c->pending.len = 0;
    return pending.len == 0 ? BM_OK : bm_kept_writer_write(c->writer, pending, err);
}

static bm_status switch_file(copy *c, uint32_t file, bm_error *err)
{
    BM_TRY(write_pending(c, err));
    if (c->file != NO_FILE)
        BM_TRY(bm_kept_writer_end_file(c->writer, err));
    c->file = file;
    if (file != NO_FILE)
        BM_TRY(bm_kept_writer_begin_file(c->writer, file, err));
    return BM_OK;
}

/* Between two parts of the record. */
static bm_status write_with(copy *c, bm_str raw, const bm_insertion *insertion, bm_error *err)
{
    const bm_str begin = {raw.data, insertion->at};
    const bm_str end = {raw.data + insertion->at, raw.len - insertion->at};
    bm_status status = BM_OK;
    BM_TRY_OUT(write_pending(c, err));
    BM_TRY_OUT(bm_kept_writer_write(c->writer, begin, err));
    status = bm_kept_writer_more(c->writer, insertion->text, err);
out:
    return status == BM_OK && end.len > 0 ? bm_kept_writer_more(c->writer, end, err) : status;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    copy *c = ctx;
    bool keep = true;
    bm_status status = BM_OK;
    if (record->file != c->file)
        BM_TRY_OUT(switch_file(c, record->file, err));
    if (!record->is_header)
        BM_TRY_OUT(c->rule->keep(c->rule->ctx, record, &keep, err));
out:
    if (status != BM_OK || !keep)
        return status;
    if (c->rule->insert != NULL) {
        bm_insertion insertion = {0};
        status = c->rule->insert(c->rule->ctx, record, &insertion, err);
        if (status != BM_OK || insertion.text.len > 0)
            return status == BM_OK ? write_with(c, record->raw, &insertion, err) : status;
    }
    if (c->pending.len != 0 && c->pending.data + c->pending.len == record->raw.data) {
        c->pending.len += record->raw.len;
        return BM_OK;
    }
    status = write_pending(c, err);
    c->pending = record->raw;
    return status;
}

static bm_status copy_batches(copy *c, bm_batch_parser *parser, bm_error *err)
{
    bm_batch_source *source = c->job->inputs.source;
    bm_batch_next next;
    for (;;) {
        bm_status status = bm_meter_check(&c->job->meter, err);
        if (status == BM_OK)
            status = bm_batch_source_next(source, &next, err);
        if (status != BM_OK || next.got == BM_BATCH_END)
            return status;
        status = bm_batch_parser_split(parser, next.batch, on_record, c, err);
        if (status == BM_OK)
            status = write_pending(c, err); /* it points into the batch */
        bm_meter_progress(&c->job->meter, next.bytes_read, bm_batch_source_total_bytes(source), 0);
        bm_batch_source_free_batch(source, next.batch);
        if (status != BM_OK)
            return status;
    }
}

bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *writer, const bm_kept_rule *rule,
                       bm_error *err)
{
    copy c = {.job = job, .writer = writer, .rule = rule, .file = NO_FILE};
    bm_record_room room;
    bm_record_room_init(job, BM_RECORDS_SPLIT, &room);
    const bm_batch_limits limits = {.bytes = BATCH_BYTES, .gate = &room.gate, .records_only = true};
    bm_batch_parser *parser = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_source_begin(job->inputs.source, &limits, 0, err));
    BM_TRY_OUT(bm_batch_parser_open(job->inputs.source, &parser, err));
    BM_TRY_OUT(copy_batches(&c, parser, err));
    status = switch_file(&c, NO_FILE, err);
out:
    bm_batch_parser_close(parser);
    bm_batch_source_end(job->inputs.source);
    return status;
}

/* --- after dedup --- */

typedef struct walk {
    bm_job_context *job;
    const uint8_t *dropped;
    size_t doc, skipped; /* the next of each */
} walk;

static bm_status changed(const bm_job_context *job, uint32_t file, uint64_t line, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, bm_input_set_source(job->inputs.set, file)->name, line,
                      "the file changed while it was read (the same records twice)");
}

static bm_status keep_document(void *ctx, const bm_record *record, bool *keep, bm_error *err)
{
    walk *w = ctx;
    const uint32_t file = record->file;
    const uint64_t line = record->line;
    const bm_doc_table *docs = &w->job->docs;
    *keep = false;
    if (!record->bad && w->doc < docs->n && docs->rows[w->doc].file == file &&
        docs->rows[w->doc].line == line) {
        *keep = w->dropped[w->doc++] == 0;
        return BM_OK;
    }
    if (w->skipped < docs->n_skipped && docs->skipped[w->skipped].file == file &&
        docs->skipped[w->skipped].line == line) {
        w->skipped++;
        return BM_OK;
    }
    return changed(w->job, file, line, err);
}

static bm_status check_unchanged(const walk *w, const bm_hash128 *before, bm_error *err)
{
    const bm_job_context *job = w->job;
    for (size_t i = 0; i < bm_input_set_count(job->inputs.set); i++)
        if (memcmp(&before[i], &bm_input_set_source(job->inputs.set, i)->digest,
                   sizeof before[i]) != 0)
            return changed(job, (uint32_t)i, 0, err);
    if (w->doc != job->docs.n || w->skipped != job->docs.n_skipped)
        return changed(job, w->doc < job->docs.n ? job->docs.rows[w->doc].file : 0, 0, err);
    return BM_OK;
}

static bm_status copy_documents(bm_job_context *job, const uint8_t *dropped, bm_kept_writer *writer,
                                bm_error *err)
{
    size_t n = bm_input_set_count(job->inputs.set);
    walk w = {.job = job, .dropped = dropped};
    bm_hash128 *before = NULL;
    BM_TRY(bm_new(&before, n, err));
    for (size_t i = 0; i < n; i++)
        before[i] = bm_input_set_source(job->inputs.set, i)->digest;
    const bm_kept_rule rule = {.keep = keep_document, .ctx = &w};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_copy(job, writer, &rule, err));
    status = check_unchanged(&w, before, err);
out:
    bm_free(before);
    return status;
}

static bm_status write_ids(const bm_job_context *job, const uint8_t *dropped,
                           bm_kept_writer *writer, bm_error *err)
{
    for (size_t i = 0; i < job->docs.n; i++) {
        if (dropped[i] == 0)
            BM_TRY(bm_kept_writer_id(writer, bm_doc_table_id(&job->docs, i), err));
    }
    return BM_OK;
}

bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, bool has_text, bm_out_dir *dir,
                       bm_error *err)
{
    bm_kept_writer *writer = NULL;
    if (job->settings->results.kept == BM_KEPT_NO)
        return BM_OK;
    if (!has_text)
        return bm_rows_kept_ids(dir, &job->docs, dropped, err);
    const bm_kept_cfg cfg = {
        .dir = dir, .set = job->inputs.set, .kept = job->settings->results.kept};
    BM_TRY(bm_kept_writer_open(&cfg, &writer, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_writer_wants_ids(writer) ? write_ids(job, dropped, writer, err)
                                                : copy_documents(job, dropped, writer, err));
    status = bm_kept_writer_finish(writer, err);
out:
    bm_kept_writer_close(writer);
    return status;
}
