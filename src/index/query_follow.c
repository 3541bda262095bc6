/* query_follow.c -- read a line, sign it, look it up, write, flush.
 *
 * All of it on one thread (signed_lines.h). What is written goes out as one call: the rows of the line, and an empty line behind them, from which the other side knows that
 * there are no more.
 *
 * Tests: tests/cli/cases/query_follow.sh, tests/reference/test_query.py */
#include "index/query_follow.h"

#include "base/error.h"
#include "index/signed_lines.h"

typedef struct state {
    bm_follow *follow;
    bm_signed_lines lines;
} state;

static bm_status look_up(void *ctx, const bm_record *record, bm_error *err)
{
    const state *s = ctx;
    bm_follow *f = s->follow;
    const bm_doc_signer *signer = &s->lines.signer;
    const bm_str id = record->id;
    bool moved;
    const bm_search_batch asked = {.n = 1,
                                   .keys = signer->keys,
                                   .n_shingles = signer->n_shingles,
                                   .sets = signer->sets,
                                   .words = signer->words,
                                   .ids = &id};
    bm_status status = bm_query_source_refresh(f->source, &moved, err);
    f->search.view = f->rows->view = f->source->view;
    if (moved)
        f->search.facts = bm_store_facts_of(f->source->store);
    if (status == BM_OK)
        status = bm_search_run(&f->search, &asked, &f->result, err);
    return status == BM_OK ? bm_answer_rows_add(f->rows, &f->result, 0, id, err) : status;
}

static bm_status answer_lines(state *s, bm_error *err)
{
    bm_rows *rows = s->follow->rows->rows;
    bm_line_got got = BM_LINE_RECORD;
    for (;;) {
        BM_TRY(bm_signed_lines_next(&s->lines, look_up, s, &got, err));
        if (got == BM_LINE_END)
            break;
        BM_TRY(bm_buf_add(&rows->buf, "\n", 1, err));
        BM_TRY(bm_rows_flush(rows, true, err));
    }
    return BM_OK;
}

bm_status bm_query_follow(bm_follow *follow, bm_error *err)
{
    state s = {.follow = follow};
    follow->search.pool = NULL;
    bm_job_context_take(follow->job, follow->search.memory);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signed_lines_open(follow->job, follow->search.facts->kind == BM_STORE_SIGNATURES,
                                    &follow->job->callbacks, &s.lines, err));
    status = answer_lines(&s, err);
out:
    bm_signed_lines_close(&s.lines);
    return status;
}
