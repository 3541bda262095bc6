/* Rows of pairs and of queries: who wants to stop while they are written is heard, however many are to come. */
#include <bandmill/index.h>
#include <bandmill/job.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/base/scratch.h"

#define N_DOCS 1500u /* all the same: 1,124,250 pairs, 2,250,000 answers */

typedef struct reader {
    size_t bytes; /* so far */
} reader;

static int take(void *ctx, const char *data, size_t len)
{
    (void)data;
    ((reader *)ctx)->bytes += len;
    return 0;
}

/* From the first rows on. */
static bool stops(void *ctx)
{
    return ((const reader *)ctx)->bytes > 0;
}

static void put_documents(scratch *s)
{
    enum { LINE = 64 };
    char *text = malloc(N_DOCS * LINE);
    size_t len = 0;
    cr_assert_not_null(text);
    for (unsigned i = 0; i < N_DOCS; i++)
        len += (size_t)snprintf(text + len, LINE, "{\"id\":%u,\"text\":\"the same\"}\n", i);
    scratch_put_text(s, "in.jsonl", text);
    free(text);
}

static void expect_stopped(const reader *r, bm_status status)
{
    cr_expect_eq(status, BM_ERR_CANCELLED);
    cr_expect_gt(r->bytes, 0);
    cr_expect_lt(r->bytes, (size_t)4 << 20, "%zu bytes", r->bytes); /* of 16 to 38 MB */
}

Test(job_rows, of_pairs_end_when_the_caller_wants_to_stop)
{
    scratch s;
    scratch_open(&s);
    put_documents(&s);
    reader r = {0};
    const char *paths[] = {scratch_at(&s, "in.jsonl")};
    bm_summary *summary = NULL;
    bm_pairs_options o;
    bm_pairs_options_init(&o);
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.device.device = "cpu";
    o.write = take;
    o.write_ctx = &r;
    o.callbacks = (bm_callbacks){.ctx = &r, .cancelled = stops};
    expect_stopped(&r, bm_job_pairs(&o, &summary, NULL));
    scratch_close(&s);
}

Test(job_rows, of_queries_end_when_the_caller_wants_to_stop)
{
    scratch s;
    scratch_open(&s);
    put_documents(&s);
    reader r = {0};
    const char *paths[] = {scratch_at(&s, "in.jsonl")};
    bm_summary *summary = NULL;
    bm_query_options o;
    bm_query_options_init(&o);
    o.targets = o.input.paths = paths;
    o.n_targets = o.input.n_paths = 1;
    o.device.device = "cpu";
    o.write = take;
    o.write_ctx = &r;
    o.callbacks = (bm_callbacks){.ctx = &r, .cancelled = stops};
    expect_stopped(&r, bm_job_query(&o, &summary, NULL));
    scratch_close(&s);
}
