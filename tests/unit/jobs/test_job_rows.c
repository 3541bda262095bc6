/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of pairs and of queries: a caller can stop the job while rows are written, however many are
 * left. */
#include <bandmill/index.h>
#include <bandmill/job.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/world/scratch.h"

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

/* Wants to stop once the first rows have come. */
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

/* A job over the documents, whose rows are counted in `r`. */
typedef struct stopped {
    scratch s;
    reader r;
    const char *path;
} stopped;

static void begin(stopped *t)
{
    t->r = (reader){0};
    t->s = scratch_open();
    put_documents(&t->s);
    t->path = scratch_at(&t->s, "in.jsonl");
}

/* Sets the members that the options of both jobs have under the same names. */
#define WATCH(options, t)                                                                          \
    ((options)->input.paths = &(t)->path, (options)->input.n_paths = 1,                            \
     (options)->device.device = "cpu", (options)->write = take, (options)->write_ctx = &(t)->r,    \
     (options)->callbacks = (bm_callbacks){.ctx = &(t)->r, .cancelled = stops})

static void expect_stopped(stopped *t, bm_status status)
{
    const size_t bytes = t->r.bytes;
    cr_expect_eq(status, BM_ERR_CANCELLED);
    cr_expect_gt(bytes, 0);
    cr_expect_lt(bytes, (size_t)4 << 20, "%zu bytes", bytes); /* of 16 to 38 MB */
    scratch_close(&t->s);
}

Test(job_rows, of_pairs_end_when_the_caller_wants_to_stop)
{
    stopped t;
    bm_summary *summary = NULL;
    bm_pairs_options o;
    begin(&t);
    bm_pairs_options_init(&o);
    WATCH(&o, &t);
    expect_stopped(&t, bm_job_pairs(&o, &summary, NULL));
}

Test(job_rows, of_queries_end_when_the_caller_wants_to_stop)
{
    stopped t;
    bm_summary *summary = NULL;
    bm_query_options o;
    begin(&t);
    bm_query_options_init(&o);
    WATCH(&o, &t);
    o.targets = &t.path;
    o.n_targets = 1;
    expect_stopped(&t, bm_job_query(&o, &summary, NULL));
}
