/* kept_pass.c -- split only, no parsing (but of arrays): the pass runs at the speed of reading,
 * finding line ends and writing.
 *
 * Runs of records of one copy that lie side by side in a batch are written at once.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/unit/jobs/test_checkpoint.c
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/removed.sh */
#include "pipeline/output/kept_pass.h"

#include <string.h>

#include "base/error.h"
#include "pipeline/context/record_room.h"
#include "pipeline/output/rows.h"

#define BATCH_BYTES (1u << 20)
#define NO_FILE     UINT32_MAX

/* What goes to one writer. */
typedef struct copy_out {
    bm_kept_writer *writer; /* NULL: nothing is written */
    bm_str pending;         /* records side by side, not yet written */
} copy_out;

typedef struct copy {
    bm_job_context *job;
    copy_out outs[BM_N_COPIES];
    const bm_kept_rule *rule;
    uint32_t file; /* open in the writers; NO_FILE: none */
    bool headed;   /* of a stream, which has one: a header was copied */
} copy;

static bm_status write_pending(copy_out *out, bm_error *err)
{
    bm_str pending = out->pending;
    out->pending.len = 0;
    return pending.len == 0 ? BM_OK : bm_kept_writer_write(out->writer, pending, err);
}

static bm_status write_all_pending(copy *c, bm_error *err)
{
    for (size_t i = 0; i < BM_N_COPIES; i++)
        BM_TRY(write_pending(&c->outs[i], err));
    return BM_OK;
}

static bm_status switch_file(copy *c, uint32_t file, bm_error *err)
{
    BM_TRY(write_all_pending(c, err));
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        bm_kept_writer *writer = c->outs[i].writer;
        if (writer != NULL && c->file != NO_FILE)
            BM_TRY(bm_kept_writer_end_file(writer, err));
        if (writer != NULL && file != NO_FILE)
            BM_TRY(bm_kept_writer_begin_file(writer, file, err));
    }
    c->file = file;
    return BM_OK;
}

/* Between two parts of the record. */
static bm_status write_with(copy_out *out, bm_str raw, const bm_insertion *insertion, bm_error *err)
{
    const bm_str begin = {raw.data, insertion->at};
    const bm_str end = {raw.data + insertion->at, raw.len - insertion->at};
    BM_TRY(write_pending(out, err));
    BM_TRY(bm_kept_writer_write(out->writer, begin, err));
    BM_TRY(bm_kept_writer_more(out->writer, insertion->text, err));
    return end.len > 0 ? bm_kept_writer_more(out->writer, end, err) : BM_OK;
}

static bm_status copy_record(const copy *c, copy_out *out, const bm_record *record, bm_error *err)
{
    if (out->writer == NULL)
        return BM_OK;
    if (c->rule->insert != NULL) {
        bm_insertion insertion = {0};
        BM_TRY(c->rule->insert(c->rule->ctx, record, &insertion, err));
        if (insertion.text.len > 0)
            return write_with(out, record->raw, &insertion, err);
    }
    if (out->pending.len != 0 && out->pending.data + out->pending.len == record->raw.data) {
        out->pending.len += record->raw.len;
        return BM_OK;
    }
    BM_TRY(write_pending(out, err));
    out->pending = record->raw;
    return BM_OK;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    copy *c = ctx;
    if (record->file != c->file)
        BM_TRY(switch_file(c, record->file, err));
    if (record->is_header) {
        if (c->headed)
            return BM_OK;
        c->headed = c->job->settings->results.write != NULL;
        for (size_t i = 0; i < BM_N_COPIES; i++)
            BM_TRY(copy_record(c, &c->outs[i], record, err));
        return BM_OK;
    }
    bm_copy_side side = BM_COPY_NEITHER;
    BM_TRY(c->rule->keep(c->rule->ctx, record, &side, err));
    return side == BM_COPY_NEITHER ? BM_OK : copy_record(c, &c->outs[side], record, err);
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
            status = write_all_pending(c, err); /* it points into the batch */
        bm_meter_progress(&c->job->meter, next.bytes_read, bm_batch_source_total_bytes(source), 0);
        bm_batch_source_free_batch(source, next.batch);
        if (status != BM_OK)
            return status;
    }
}

bm_status bm_kept_copy(bm_job_context *job, bm_kept_writer *const writers[BM_N_COPIES],
                       const bm_kept_rule *rule, bm_error *err)
{
    copy c = {.job = job, .rule = rule, .file = NO_FILE};
    for (size_t i = 0; i < BM_N_COPIES; i++)
        c.outs[i].writer = writers[i];
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

static bm_status keep_document(void *ctx, const bm_record *record, bm_copy_side *side,
                               bm_error *err)
{
    walk *w = ctx;
    const uint32_t file = record->file;
    const uint64_t line = record->line;
    const bm_doc_table *docs = &w->job->docs;
    if (!record->bad && w->doc < docs->n && docs->rows[w->doc].file == file &&
        docs->rows[w->doc].line == line) {
        *side = w->dropped[w->doc++] == 0 ? BM_COPY_KEPT : BM_COPY_REMOVED;
        return BM_OK;
    }
    if (w->skipped < docs->n_skipped && docs->skipped[w->skipped].file == file &&
        docs->skipped[w->skipped].line == line) {
        w->skipped++;
        *side = BM_COPY_NEITHER;
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

static bm_status copy_documents(bm_job_context *job, const uint8_t *dropped,
                                bm_kept_writer *const writers[BM_N_COPIES], bm_error *err)
{
    size_t n = bm_input_set_count(job->inputs.set);
    walk w = {.job = job, .dropped = dropped};
    bm_hash128 *before = NULL;
    BM_TRY(bm_new(&before, n, err));
    for (size_t i = 0; i < n; i++)
        before[i] = bm_input_set_source(job->inputs.set, i)->digest;
    const bm_kept_rule rule = {.keep = keep_document, .ctx = &w};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_copy(job, writers, &rule, err));
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

static bm_kept_cfg cfg_of(const bm_job_context *job, bm_copy_side side)
{
    const bm_result_settings *results = &job->settings->results;
    const bool removed = bm_settings_write_removed(job->settings), other = side == BM_COPY_REMOVED;
    return (bm_kept_cfg){.set = job->inputs.set,
                         .kept = !other    ? results->kept
                                 : removed ? results->removed
                                           : BM_KEPT_NO,
                         .removed = other,
                         .halves = removed && results->kept != BM_KEPT_NO};
}

bm_status bm_kept_check_names(const bm_job_context *job, bm_error *err)
{
    if ((!bm_job_does(job->settings, BM_JOB_GROUPS) &&
         !bm_job_does(job->settings, BM_JOB_COPIES)) ||
        job->settings->results.write != NULL)
        return BM_OK;
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        const bm_kept_cfg cfg = cfg_of(job, (bm_copy_side)i);
        BM_TRY(bm_kept_writer_check_names(&cfg, err));
    }
    return BM_OK;
}

/* One stream has one header. */
static bm_status check_headers(const bm_input_set *set, bm_error *err)
{
    const bm_source *first = NULL;
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const bm_source *source = bm_input_set_source(set, i);
        if (source->header.lo == 0 && source->header.hi == 0)
            continue; /* it has none, being empty */
        if (first != NULL && memcmp(&first->header, &source->header, sizeof first->header) != 0)
            return bm_fail_at(err, BM_ERR_INPUT, source->name, 1,
                              "the header is not that of %.200s (the kept documents are one "
                              "stream, which has one header)",
                              first->name);
        first = first == NULL ? source : first;
    }
    return BM_OK;
}

bm_status bm_kept_pass(bm_job_context *job, const uint8_t *dropped, bool has_text, bm_out_dir *dir,
                       bm_error *err)
{
    bm_kept_writer *writers[BM_N_COPIES] = {NULL};
    if (job->settings->results.kept == BM_KEPT_NO && !bm_settings_write_removed(job->settings))
        return BM_OK;
    const bm_result_settings *results = &job->settings->results;
    if (!has_text && dir != NULL)
        return bm_rows_kept_ids(dir, &job->docs, dropped, err);
    if (!has_text)
        return bm_rows_write_ids(
            &(bm_rows){.write = results->write, .write_ctx = results->write_ctx}, &job->docs,
            dropped, err);
    if (dir == NULL)
        BM_TRY(check_headers(job->inputs.set, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < BM_N_COPIES; i++) {
        bm_kept_cfg cfg = cfg_of(job, (bm_copy_side)i);
        cfg.dir = dir;
        cfg.write = results->write;
        cfg.write_ctx = results->write_ctx;
        if (cfg.kept != BM_KEPT_NO)
            BM_TRY_OUT(bm_kept_writer_open(&cfg, &writers[i], err));
    }
    bm_kept_writer *kept = writers[BM_COPY_KEPT];
    BM_TRY_OUT(kept != NULL && bm_kept_writer_wants_ids(kept)
                   ? write_ids(job, dropped, kept, err)
                   : copy_documents(job, dropped, writers, err));
    for (size_t i = 0; i < BM_N_COPIES; i++)
        if (writers[i] != NULL)
            BM_TRY_OUT(bm_kept_writer_finish(writers[i], err));
out:
    for (size_t i = 0; i < BM_N_COPIES; i++)
        bm_kept_writer_close(writers[i]);
    return status;
}
