/* SPDX-License-Identifier: Apache-2.0 */
/* test_meter.c -- which callbacks a caller gets: progress at most ten times a second, each line of
 * the log, one call at a time, and no further call of `cancelled` once it has returned true. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/meter.h"

typedef struct caller {
    unsigned n_progress, n_log, n_asked;
    bm_progress last; /* the last progress */
    char line[2048];  /* the last line of the log */
    bm_log_level level;
    bool stop;                   /* the answer of `cancelled` */
    atomic_int inside, overlaps; /* calls in progress; calls that met another in progress */
} caller;

static void enter(caller *c)
{
    if (atomic_fetch_add(&c->inside, 1) != 0)
        atomic_fetch_add(&c->overlaps, 1);
}

static void leave(caller *c)
{
    atomic_fetch_sub(&c->inside, 1);
}

static void on_progress(void *ctx, const bm_progress *progress)
{
    caller *c = ctx;
    enter(c);
    c->n_progress++;
    c->last = *progress;
    leave(c);
}

static void on_log(void *ctx, bm_log_level level, const char *message)
{
    caller *c = ctx;
    enter(c);
    c->n_log++;
    c->level = level;
    snprintf(c->line, sizeof c->line, "%s", message);
    leave(c);
}

static bool on_question(void *ctx)
{
    caller *c = ctx;
    enter(c);
    c->n_asked++;
    leave(c);
    return c->stop;
}

static bm_callbacks callbacks_of(caller *c)
{
    return (bm_callbacks){
        .ctx = c, .progress = on_progress, .log = on_log, .cancelled = on_question};
}

Test(meter, progress_comes_at_most_ten_times_a_second)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    bm_meter_init(&meter, &callbacks);
    const double begin = bm_clock_seconds();
    double now = begin;
    /* On a busy machine the three calls may come later than 0.35 s. */
    const double long_enough = begin + 60;
    for (uint64_t i = 0; now < begin + 0.35 || (c.n_progress < 3 && now < long_enough);
         now = bm_clock_seconds())
        bm_meter_progress(&meter, i++, 0, 0);
    now = bm_clock_seconds();
    cr_expect_geq(c.n_progress, 3u);
    cr_expect_leq(c.n_progress, (unsigned)((now - begin) * 10) + 1);
    bm_meter_reset(&meter);
}

Test(meter, the_first_call_of_a_stage_is_passed_on_as_it_is)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    bm_meter_init(&meter, &callbacks);
    for (unsigned stage = 0; stage < 5; stage++) {
        const double begin = bm_clock_seconds();
        bm_meter_stage(&meter, stage % 2 == 0 ? "read" : "verify", "pairs");
        bm_meter_progress(&meter, stage + 1, 1000, 7);
        cr_assert_eq(c.n_progress, stage + 1);
        cr_expect_str_eq(c.last.stage, stage % 2 == 0 ? "read" : "verify");
        cr_expect_str_eq(c.last.unit, "pairs");
        cr_expect_eq(c.last.done, stage + 1);
        cr_expect_eq(c.last.total, 1000);
        cr_expect_eq(c.last.n_docs, 7);
        cr_expect(c.last.elapsed_s >= 0 && c.last.elapsed_s <= bm_clock_seconds() - begin);
    }
    bm_meter_reset(&meter);
}

Test(meter, every_line_of_the_log_comes_and_a_long_one_is_cut)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    char text[3000];
    bm_meter_init(&meter, &callbacks);
    for (int i = 0; i < 100; i++)
        bm_meter_log(&meter, BM_LOG_WARNING, "%d of %s", i, "100%");
    cr_expect_eq(c.n_log, 100);
    cr_expect_eq(c.level, BM_LOG_WARNING);
    cr_expect_str_eq(c.line, "99 of 100%");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    bm_meter_log(&meter, BM_LOG_DEBUG, "%s", text);
    cr_expect(strlen(c.line) >= 1024 && strncmp(c.line, text, strlen(c.line)) == 0);
    bm_meter_reset(&meter);
}

Test(meter, who_wants_to_stop_is_not_asked_again)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    bm_error err = {0};
    bm_meter_init(&meter, &callbacks);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(bm_meter_check(&meter, &err), BM_OK);
    cr_expect_eq(c.n_asked, 3);
    c.stop = true;
    cr_expect_eq(bm_meter_check(&meter, &err), BM_ERR_CANCELLED);
    cr_expect_eq(err.status, BM_ERR_CANCELLED);
    c.stop = false; /* too late: a stop is final */
    cr_expect_eq(bm_meter_check(&meter, NULL), BM_ERR_CANCELLED);
    cr_expect_eq(c.n_asked, 4);
    bm_meter_reset(&meter);
}

Test(meter, a_caller_without_callbacks_hears_nothing)
{
    bm_meter meter;
    const bm_callbacks empty = {0};
    const bm_callbacks *const none[] = {NULL, &empty};
    for (size_t i = 0; i < 2; i++) {
        bm_meter_init(&meter, none[i]);
        bm_meter_stage(&meter, "read", "bytes");
        bm_meter_progress(&meter, 1, 2, 3);
        bm_meter_log(&meter, BM_LOG_ERROR, "%s", "unheard");
        cr_expect_eq(bm_meter_check(&meter, NULL), BM_OK);
        bm_meter_reset(&meter);
    }
}

Test(meter, its_callbacks_lead_back_to_it)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    bm_meter_init(&meter, &callbacks);
    bm_meter_stage(&meter, "write", "documents");
    const bm_callbacks inner = bm_meter_callbacks(&meter);
    inner.progress(inner.ctx, &(bm_progress){.stage = "other", .done = 4, .total = 9, .n_docs = 2});
    cr_expect_str_eq(c.last.stage, "write", "the stage is the meter's");
    cr_expect(c.last.done == 4 && c.last.total == 9 && c.last.n_docs == 2);
    inner.log(inner.ctx, BM_LOG_INFO, "50% of %s");
    cr_expect_str_eq(c.line, "50% of %s", "a message is no format");
    cr_expect_not(inner.cancelled(inner.ctx));
    c.stop = true;
    cr_expect(inner.cancelled(inner.ctx));
    cr_expect_eq(bm_meter_check(&meter, NULL), BM_ERR_CANCELLED);
    bm_meter_reset(&meter);
}

#define N_THREADS 4
#define N_ROUNDS  2000

static void *call_all(void *ctx)
{
    bm_meter *meter = ctx;
    for (int i = 0; i < N_ROUNDS; i++) {
        bm_meter_stage(meter, "verify", "pairs");
        bm_meter_progress(meter, 1, 2, 3);
        bm_meter_log(meter, BM_LOG_INFO, "%d", i);
        (void)bm_meter_check(meter, NULL);
    }
    return NULL;
}

Test(meter, calls_from_many_threads_come_one_at_a_time)
{
    caller c = {0};
    const bm_callbacks callbacks = callbacks_of(&c);
    bm_meter meter;
    pthread_t thread[N_THREADS];
    bm_meter_init(&meter, &callbacks);
    for (int i = 0; i < N_THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, call_all, &meter), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    cr_expect_eq(atomic_load(&c.overlaps), 0);
    cr_expect_eq(c.n_log, N_THREADS * N_ROUNDS);
    cr_expect_eq(c.n_asked, N_THREADS * N_ROUNDS);
    bm_meter_reset(&meter);
}
