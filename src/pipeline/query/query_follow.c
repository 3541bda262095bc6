/* query_follow.c -- read a line, sign it, look it up, write, flush.
 *
 * All of it on one thread, since to wake another costs as much as a document takes. What is written
 * goes out as one call: the rows of the line, and an empty line behind them, from which the other side knows that
 * there are no more.
 *
 * Tests: tests/cli/cases/query_follow.sh, tests/reference/test_query.py */
#include "pipeline/query/query_follow.h"

#include <inttypes.h>

#include "base/error.h"
#include "io/sources/line_input.h"
#include "pipeline/inmem/doc_signer.h"

typedef struct state {
    bm_follow *follow;
    bm_doc_signer signer;
} state;

static bm_status refuse(bm_follow *f, const bm_record *record, bm_error *err)
{
    const bm_input_options *input = &f->job->settings->input;
    bm_counts *counts = &f->job->counts;
    if (input->on_error == BM_ON_ERROR_FAIL)
        return bm_fail_at(err, BM_ERR_INPUT, "-", record->line, "%s", record->reason);
    if (counts->skipped >= input->max_errors)
        return bm_fail_at(err, BM_ERR_INPUT, "-", record->line,
                          "%s (more than %" PRIu64 " bad records, see `max_errors`)",
                          record->reason, input->max_errors);
    bm_meter_log(&f->job->meter, BM_LOG_WARNING, "-:%" PRIu64 ": skipped: %s", record->line,
                 record->reason);
    counts->skipped++;
    return BM_OK;
}

static bm_status look_up(state *s, bm_str id, bm_error *err)
{
    bm_follow *f = s->follow;
    bool moved;
    const bm_search_batch asked = {.n = 1,
                                   .keys = s->signer.keys,
                                   .n_shingles = s->signer.n_shingles,
                                   .sets = s->signer.sets,
                                   .words = s->signer.words,
                                   .ids = &id};
    bm_status status = bm_query_source_refresh(f->source, &moved, err);
    f->search.view = f->rows->view = f->source->view;
    if (moved)
        f->search.facts = bm_store_facts_of(f->source->store);
    if (status == BM_OK)
        status = bm_search_run(&f->search, &asked, &f->result, err);
    return status == BM_OK ? bm_answer_rows_add(f->rows, &f->result, 0, id, err) : status;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    state *s = ctx;
    bm_counts *counts = &s->follow->job->counts;
    counts->records++;
    if (record->bad)
        return refuse(s->follow, record, err);
    bm_doc_signer_clear(&s->signer);
    bm_status status = bm_doc_signer_add(&s->signer, record->text, err);
    if (status == BM_OK)
        status = bm_doc_signer_sign(&s->signer, err);
    if (status != BM_OK)
        return status;
    counts->documents++;
    counts->invalid_utf8 += record->n_invalid;
    counts->empty += s->signer.n_shingles[0] == 0;
    counts->shingles += s->signer.n_shingles[0];
    return look_up(s, record->id, err);
}

static bm_status answer_lines(state *s, bm_line_input *in, bm_error *err)
{
    bm_rows *rows = s->follow->rows->rows;
    bm_line_got got = BM_LINE_RECORD;
    bm_status status = BM_OK;
    while (status == BM_OK) {
        status = bm_line_input_next(in, on_record, s, &got, err);
        if (status != BM_OK || got == BM_LINE_END)
            break;
        status = bm_buf_add(&rows->buf, "\n", 1, err);
        if (status == BM_OK)
            status = bm_rows_flush(rows, true, err);
    }
    return status;
}

bm_status bm_query_follow(bm_follow *follow, bm_error *err)
{
    const bm_settings *settings = follow->job->settings;
    const bm_doc_recipe recipe = {.text = &settings->text,
                                  .sketch = &settings->sketch,
                                  .bands = settings->plan.bands,
                                  .rows = settings->plan.rows,
                                  .words = follow->search.facts->kind == BM_STORE_SIGNATURES,
                                  .cpu = settings->device.cpu};
    state s = {.follow = follow};
    bm_backend *backend = NULL;
    bm_line_input *in = NULL;
    follow->search.pool = NULL;
    bm_status status = bm_line_input_open(&settings->input, &follow->job->callbacks, &in, err);
    if (status == BM_OK)
        status = bm_doc_backend_open(&recipe, &backend, err);
    if (status == BM_OK)
        status = bm_doc_signer_init(&s.signer, &recipe, backend, err);
    if (status == BM_OK)
        status = answer_lines(&s, in, err);
    bm_doc_signer_reset(&s.signer);
    bm_backend_close(backend);
    bm_line_input_close(in);
    return status;
}
