/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of a job's inputs are handed over in input order, each of them once, whatever the limit
 * that ends a batch; and errors are reported in that order too. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "index/index_feed.h"
#include "job/job_steps.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

#define N 500

typedef struct world {
    scratch s;
    bm_settings settings;
    bm_job job;
    const char *paths[1];
} world;

/* N documents d0, d1 …; document i has i % 7 words. `broken` is the number of the malformed record;
 * N: there is none. */
static void open_world(world *w, int broken)
{
    bm_index_build_options options;
    bm_error err = {0};
    memset(w, 0, sizeof *w);
    w->s = scratch_open();
    FILE *file = scratch_write(&w->s, "in.jsonl");
    for (int i = 0; i < N; i++) {
        fprintf(file, i == broken ? "{\"id\":\"d%d\",\"text\":7}\n" : "{\"id\":\"d%d\",\"text\":\"",
                i);
        for (int k = 0; i != broken && k < i % 7; k++)
            fprintf(file, "w%d ", k);
        if (i != broken)
            fputs("\"}\n", file);
    }
    cr_assert_eq(fclose(file), 0);
    bm_index_build_options_init(&options);
    w->paths[0] = scratch_at(&w->s, "in.jsonl");
    options.input.paths = w->paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.device.device = "cpu";
    options.resources.threads = 3;
    options.resources.batch_docs = 3;
    options.output.path = scratch_at(&w->s, "index");
    world_ok(bm_settings_of_index_build(&options, &w->settings, &err), &err);
    world_ok(bm_settings_plan(&w->settings, &err), &err);
    world_ok(bm_job_open(&w->settings, &w->job, &err), &err);
    world_ok(bm_job_begin(&w->job, BM_STEP_INPUTS | BM_STEP_DEVICES | BM_STEP_KEYS, &err), &err);
}

static void close_world(world *w)
{
    bm_summary *summary = NULL;
    (void)bm_job_close(&w->job, BM_ERR_INTERNAL, &summary);
    scratch_close(&w->s);
}

typedef struct taker {
    size_t n, calls;     /* documents and calls so far */
    size_t fails_behind; /* the call fails once there are more documents than this */
    double *due;         /* set to the current time by each call; NULL: no time */
} taker;

static bm_status take(void *ctx, bm_gathered *g, bm_error *err)
{
    taker *t = ctx;
    cr_assert_gt(g->n, 0);
    for (size_t i = 0; i < g->n; i++, t->n++) {
        char id[16];
        cr_assert_eq(g->docs[i].id.len, (size_t)snprintf(id, sizeof id, "d%zu", t->n));
        cr_assert_arr_eq(g->docs[i].id.data, id, g->docs[i].id.len);
        cr_assert(g->broken || g->docs[i].n_shingles == t->n % 7, "document %zu", t->n);
    }
    t->calls++;
    if (t->due != NULL)
        *t->due = bm_clock_seconds();
    return t->n > t->fails_behind ? bm_fail(err, BM_ERR_INTERNAL, "enough") : BM_OK;
}

static bm_index_feed make_feed(world *w, taker *t)
{
    return (bm_index_feed){.job = &w->job.context,
                           .shape = {.sets = true, .bands = w->settings.plan.bands},
                           .full_bytes = (uint64_t)1 << 20,
                           .full_input = (uint64_t)1 << 20,
                           .sink = take,
                           .sink_ctx = t};
}

Test(index_feed, all_documents_come_in_order_however_little_is_full)
{
    static const uint64_t full[][2] = {{1, 1 << 20}, {1 << 20, 1}, {1 << 20, 1 << 20}, {5000, 100}};
    for (size_t i = 0; i < 4; i++) {
        world w;
        taker t = {.fails_behind = N};
        bm_error err = {0};
        open_world(&w, N);
        bm_index_feed feed = make_feed(&w, &t);
        feed.full_bytes = full[i][0];
        feed.full_input = full[i][1];
        world_ok(bm_index_feed_run(&feed, &err), &err);
        cr_assert_eq(t.n, N);
        if (i < 2) /* at most three documents a batch: each is full, apart from empty documents */
            cr_assert_gt(t.calls, N / 7);
        cr_assert_eq(w.job.context.counts.documents, N);
        close_world(&w);
    }
}

Test(index_feed, what_is_due_is_handed_over_before_it_is_full)
{
    world w;
    double due = 0; /* long ago */
    taker t = {.fails_behind = N, .due = &due};
    bm_error err = {0};
    open_world(&w, N);
    bm_index_feed feed = make_feed(&w, &t);
    feed.due = &due;
    world_ok(bm_index_feed_run(&feed, &err), &err);
    cr_assert_eq(t.n, N);
    close_world(&w);
}

Test(index_feed, documents_before_a_broken_record_come_first)
{
    world w;
    taker t = {.fails_behind = N};
    bm_error err = {0};
    open_world(&w, 301);
    bm_index_feed feed = make_feed(&w, &t);
    cr_assert_eq(bm_index_feed_run(&feed, &err), BM_ERR_INPUT, "%s", err.message);
    cr_assert_eq(err.line, 302);
    cr_assert_eq(t.n, 301); /* those of the failed batch are not signed */
    close_world(&w);
}

Test(index_feed, when_taking_fails_reading_ends)
{
    world w;
    taker t = {.fails_behind = 100};
    bm_error err = {0};
    open_world(&w, N);
    bm_index_feed feed = make_feed(&w, &t);
    feed.full_input = 1;
    cr_assert_eq(bm_index_feed_run(&feed, &err), BM_ERR_INTERNAL);
    cr_assert_str_eq(err.message, "enough");
    cr_assert(t.n > 100 && t.n < N, "%zu",
              t.n); /* a full batch, and the few documents of one more input batch */
    close_world(&w);
}
