/* SPDX-License-Identifier: Apache-2.0 */
/* signed_lines.c -- reads a line, checks that it fits into the job's memory, and signs it.
 *
 * Tests: tests/cli/cases/bounds.sh, tests/cli/cases/query_follow.sh,
 * tests/cli/cases/index_follow.sh */
#include "index/signed_lines.h"

#include <inttypes.h>

#include "base/error.h"
#include "input/record_rules.h"
#include "model/counts.h"
#include "model/option_words.h"

bm_status bm_signed_lines_open(bm_job_context *job, bool words, const bm_callbacks *callbacks,
                               bm_signed_lines *out, bm_error *err)
{
    const bm_settings *s = job->settings;
    *out = (bm_signed_lines){.job = job,
                             .recipe = {.text = &s->text,
                                        .sketch = &s->sketch,
                                        .bands = s->plan.bands,
                                        .rows = s->plan.rows,
                                        .words = words,
                                        .cpu = s->device.cpu}};
    bm_record_budget_init(job, BM_RECORDS_SHINGLED, &out->budget);
    BM_TRY(bm_line_input_open(&s->input, callbacks, &out->budget.gate, &out->in, err));
    BM_TRY(bm_doc_backend_open(&out->recipe, &out->backend, err));
    return bm_doc_signer_init(&out->signer, &out->recipe, out->backend, err);
}

void bm_signed_lines_close(bm_signed_lines *lines)
{
    bm_doc_signer_reset(&lines->signer);
    bm_backend_close(lines->backend);
    bm_line_input_close(lines->in);
}

static bm_status refuse(bm_job_context *job, const bm_record *record, bm_error *err)
{
    const bm_input_options *input = &job->settings->input;
    if (!bm_input_skips_bad_records(input))
        return bm_fail_bad_record("-", record, err);
    const bm_bad_place bad = {.file = "-", .line = record->line, .reason = record->reason};
    BM_TRY(bm_skip_allowed(input, job->counts.skipped, &bad, err));
    bm_meter_log(&job->meter, BM_LOG_WARNING, "-:%" PRIu64 ": skipped: %s", record->line,
                 record->reason);
    job->counts.skipped++;
    return BM_OK;
}

static bm_status hash(bm_signed_lines *lines, const bm_record *record, bm_error *err)
{
    const bm_documents docs = bm_documents_of_texts(&record->text, 1);
    bm_doc_signer *signer = &lines->signer;
    bm_shingler *shingler = signer->hasher.shingler;
    bm_shingler_limit(shingler, bm_record_budget_left(&lines->budget, record->raw.len));
    bm_status status = bm_doc_hasher_add(&signer->hasher, &docs, 0, &signer->batch, err);
    const uint64_t needed = bm_shingler_needed(shingler);
    const bm_long_record refused = {.file = "-", .line = record->line, .bytes = record->raw.len};
    return status == BM_ERR_NOMEM && needed > 0
               ? bm_record_budget_refuse(&lines->budget, &refused, needed, err)
               : status;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_signed_lines *lines = ctx;
    bm_counts *counts = &lines->job->counts;
    if (record->bad) {
        counts->records++;
        return refuse(lines->job, record, err);
    }
    BM_TRY(hash(lines, record, err));
    BM_TRY(bm_doc_signer_sign(&lines->signer, err));
    const bm_shingle_batch *made = &lines->signer.batch;
    if (made->n_unreadable > 0 && counts->unreadable == 0)
        bm_meter_log(&lines->job->meter, BM_LOG_WARNING, "-:%" PRIu64 ": " BM_UNREADABLE_WARNING,
                     record->line);
    bm_counts_add_docs(counts, &(bm_doc_counts){.n = 1,
                                                .n_empty = made->n_empty,
                                                .n_short = made->n_short,
                                                .n_unreadable = made->n_unreadable,
                                                .n_invalid = record->n_invalid,
                                                .n_shingles = lines->signer.n_shingles[0]});
    return lines->fn(lines->ctx, record, err);
}

bm_status bm_signed_lines_next(bm_signed_lines *lines, bm_record_fn fn, void *ctx, bm_line_got *got,
                               bm_error *err)
{
    lines->fn = fn;
    lines->ctx = ctx;
    bm_doc_signer_clear(&lines->signer); /* so that the next line can use the memory */
    return bm_line_input_next(lines->in, on_record, lines, got, err);
}
