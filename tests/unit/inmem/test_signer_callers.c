/* SPDX-License-Identifier: Apache-2.0 */
/* Several callers of one signer: none waits for another, all get right results, close waits for all
 * of them, and a callback may not call the signer. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/sized.h"
#include "tests/unit/inmem/held_text.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

enum { N = 1600, PERMS = 16, LENGTH = 300, LARGE = 1 << 20 };

static bm_str texts[N];
static char data[N * LENGTH];
static uint32_t wanted[N * PERMS];

static bm_signer *open_signer(uint32_t threads, const bm_callbacks *callbacks)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.resources.threads = threads;
    if (callbacks != NULL)
        options.callbacks = *callbacks;
    return world_open(bm_signer, &options);
}

static bm_status sign(bm_signer *signer, const bm_str *from, size_t n, uint32_t *words,
                      bm_error *err)
{
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    return bm_signer_sign_texts(signer, from, n, &out, err);
}

/* Makes the texts, and their words by a signer with one thread and one caller. */
static void make(void)
{
    world_fill(data, sizeof data, 5, "    abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < N; i++)
        texts[i] = (bm_str){data + i * LENGTH, i % 17 == 0 ? 0 : LENGTH - i % 100};
    bm_signer *signer = open_signer(1, NULL);
    cr_assert_eq(sign(signer, texts, N, wanted, NULL), BM_OK);
    bm_signer_close(signer);
}

/* --- callers get right results --- */

typedef struct caller {
    bm_signer *signer;
    size_t docs_a_call;
    bool by_task, right;
} caller;

static void *make_calls(void *arg)
{
    caller *c = arg;
    uint32_t *words = calloc(N * PERMS, sizeof *words);
    c->right = words != NULL;
    for (size_t at = 0; c->right && at < N; at += c->docs_a_call) {
        const size_t n = N - at < c->docs_a_call ? N - at : c->docs_a_call;
        const bm_documents docs = bm_documents_of_texts(texts + at, n);
        const bm_signer_out out = {.struct_size = sizeof out, .signatures = words + at * PERMS};
        uint64_t task;
        if (!c->by_task)
            c->right = bm_signer_sign(c->signer, &docs, &out, NULL) == BM_OK;
        else
            c->right = bm_signer_submit(c->signer, &docs, &out, &task, NULL) == BM_OK &&
                       bm_signer_wait(c->signer, task, NULL) == BM_OK;
    }
    c->right = c->right && memcmp(words, wanted, sizeof wanted) == 0;
    free(words);
    return NULL;
}

Test(signer_callers, calls_of_all_sizes_beside_each_other_sign_what_one_thread_signs)
{
    static const size_t sizes[] = {1, 10, 1000, 700, 3, N, 1, 900};
    enum { CALLERS = sizeof sizes / sizeof sizes[0] };
    make();
    for (uint32_t threads = 1; threads <= 3; threads++) {
        bm_signer *signer = open_signer(threads, NULL);
        pthread_t ids[CALLERS];
        caller callers[CALLERS];
        for (size_t i = 0; i < CALLERS; i++) {
            callers[i] = (caller){signer, sizes[i], i >= CALLERS - 2, false};
            cr_assert_eq(pthread_create(&ids[i], NULL, make_calls, &callers[i]), 0);
        }
        for (size_t i = 0; i < CALLERS; i++) {
            pthread_join(ids[i], NULL);
            cr_assert(callers[i].right, "%zu documents a call", sizes[i]);
        }
        bm_signer_close(signer);
    }
}

/* --- no caller waits for another --- */

typedef struct holder {
    bm_signer *signer;
    bm_str text;
    bm_status status;
    atomic_bool returned;
} holder;

static void *sign_held(void *arg)
{
    holder *h = arg;
    uint32_t words[PERMS];
    h->status = sign(h->signer, &h->text, 1, words, NULL);
    atomic_store(&h->returned, true);
    return NULL;
}

Test(signer_callers, no_call_waits_for_one_that_is_under_way)
{
    make();
    static uint32_t words[N * PERMS];
    static const size_t lengths[] = {4096, LARGE};
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        for (size_t i = 0; i < 2; i++) { /* during a small call, and during a large one */
            bm_signer *signer = open_signer(threads, NULL);
            holder h = {.signer = signer, .text = held_text_make(0, "a word or two ", lengths[i])};
            pthread_t thread;
            cr_assert_eq(pthread_create(&thread, NULL, sign_held, &h), 0);
            held_text_wait(0);
            memset(words, 0, sizeof words);
            for (size_t k = 0; k < 20; k++)
                cr_assert_eq(sign(signer, texts + k, 1, words + k * PERMS, NULL), BM_OK);
            cr_assert_arr_eq(words, wanted, 20 * PERMS * sizeof *words);
            cr_assert_eq(sign(signer, texts, N, words, NULL), BM_OK);
            cr_assert_arr_eq(words, wanted, sizeof wanted);
            cr_assert(!atomic_load(&h.returned));
            held_text_release(0);
            pthread_join(thread, NULL);
            cr_assert_eq(h.status, BM_OK);
            held_text_drop(0);
            bm_signer_close(signer);
        }
    }
}

/* --- close beside calls --- */

typedef struct closer {
    bm_signer *signer;
    atomic_bool closed;
} closer;

static void *close_it(void *arg)
{
    closer *c = arg;
    bm_signer_close(c->signer);
    atomic_store(&c->closed, true);
    return NULL;
}

/* A call in progress keeps the signer alive, so other calls are safe until they are refused. */
static void wait_until_it_closes(bm_signer *signer)
{
    uint32_t words[PERMS];
    bm_error err = {0};
    while (sign(signer, texts, 1, words, &err) == BM_OK)
        sched_yield();
    cr_assert_eq(err.status, BM_ERR_CANCELLED);
    cr_assert_str_eq(err.message, "the signer is being closed");
}

Test(signer_callers, close_waits_for_a_call_that_is_under_way)
{
    make();
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        bm_signer *signer = open_signer(threads, NULL);
        holder h = {.signer = signer, .text = held_text_make(0, "a word or two ", 4096)};
        closer c = {.signer = signer};
        pthread_t calls, closes;
        cr_assert_eq(pthread_create(&calls, NULL, sign_held, &h), 0);
        held_text_wait(0);
        cr_assert_eq(pthread_create(&closes, NULL, close_it, &c), 0);
        wait_until_it_closes(signer);
        cr_assert(!atomic_load(&c.closed) && !atomic_load(&h.returned));
        held_text_release(0);
        pthread_join(calls, NULL);
        pthread_join(closes, NULL);
        cr_assert_eq(h.status, BM_OK); /* its only batch had begun before close */
        held_text_drop(0);
    }
}

typedef struct waiter {
    bm_signer *signer;
    uint64_t task;
    bm_status status;
} waiter;

static void *wait_for(void *arg)
{
    waiter *w = arg;
    w->status = bm_signer_wait(w->signer, w->task, NULL);
    return NULL;
}

Test(signer_callers, close_ends_tasks_and_those_who_wait_for_them)
{
    enum { TASKS = 4 };
    static uint32_t words[TASKS][N * PERMS];
    make();
    for (size_t round = 0; round < sized(10, 3); round++) {
        bm_signer *signer = open_signer(2, NULL);
        const bm_str held = held_text_make(0, "a word or two ", 4096);
        waiter waiters[TASKS];
        pthread_t ids[TASKS], calls, closes;
        for (size_t i = 0; i < TASKS; i++) { /* the first task blocks the others */
            const bm_documents docs = bm_documents_of_texts(i == 0 ? &held : texts, i == 0 ? 1 : N);
            const bm_signer_out out = {.struct_size = sizeof out, .signatures = words[i]};
            waiters[i] = (waiter){.signer = signer, .status = BM_OK};
            cr_assert_eq(bm_signer_submit(signer, &docs, &out, &waiters[i].task, NULL), BM_OK);
        }
        held_text_wait(0);
        /* A held call keeps the signer alive until all waiters have returned. */
        holder h = {.signer = signer, .text = held_text_make(1, "a word or two ", 4096)};
        cr_assert_eq(pthread_create(&calls, NULL, sign_held, &h), 0);
        held_text_wait(1);
        for (size_t i = 0; i < TASKS; i++)
            cr_assert_eq(pthread_create(&ids[i], NULL, wait_for, &waiters[i]), 0);
        closer c = {.signer = signer};
        cr_assert_eq(pthread_create(&closes, NULL, close_it, &c), 0);
        wait_until_it_closes(signer);
        held_text_release(0);
        for (size_t i = 0; i < TASKS; i++) {
            pthread_join(ids[i], NULL);
            cr_assert(waiters[i].status == BM_ERR_CANCELLED ||
                      (i == 0 && waiters[i].status == BM_OK));
        }
        cr_assert(!atomic_load(&c.closed));
        held_text_release(1);
        pthread_join(calls, NULL);
        pthread_join(closes, NULL);
        cr_assert(atomic_load(&c.closed) && h.status == BM_OK);
        held_text_drop(0);
        held_text_drop(1);
    }
}

/* --- callbacks --- */

typedef struct called {
    bm_signer *signer, *other;
    bm_status statuses[4], others;
    bm_error err;
    int n;
} called;

static bool call_back(void *ctx)
{
    called *c = ctx;
    uint32_t words[PERMS];
    const bm_documents docs = bm_documents_of_texts(texts + 1, 1);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    uint64_t task = 0;
    if (c->signer == NULL) /* called while the signer is being opened */
        return false;
    c->n++;
    c->statuses[0] = sign(c->signer, texts + 1, 1, words, &c->err);
    c->statuses[1] = bm_signer_sign(c->signer, &docs, &out, NULL);
    c->statuses[2] = bm_signer_submit(c->signer, &docs, &out, &task, NULL);
    c->statuses[3] = bm_signer_wait(c->signer, 0, NULL);
    bm_signer_close(c->signer); /* ignored here: the test goes on using the signer */
    c->others = sign(c->other, texts + 1, 1, words, NULL);
    return false;
}

static void tell(void *ctx, const bm_progress *progress)
{
    (void)progress;
    call_back(ctx);
}

Test(signer_callers, a_callback_cannot_use_the_signer_that_calls_it)
{
    make();
    static uint32_t words[N * PERMS];
    for (int by = 0; by < 2; by++) {
        called c = {.other = open_signer(2, NULL)};
        bm_callbacks callbacks = {.ctx = &c};
        if (by == 0)
            callbacks.cancelled = call_back;
        else
            callbacks.progress = tell;
        bm_signer *signer = open_signer(2, &callbacks);
        c.signer = signer;
        for (size_t n = 1; n <= N; n += N - 1) { /* a small call and a large one */
            c.n = 0;
            cr_assert_eq(sign(signer, texts, n, words, NULL), BM_OK);
            cr_assert_arr_eq(words, wanted, n * PERMS * sizeof *words);
            cr_assert_gt(c.n, 0);
            for (size_t i = 0; i < 4; i++)
                cr_assert_eq(c.statuses[i], BM_ERR_USAGE);
            cr_assert_eq(c.others, BM_OK);
            cr_assert_str_eq(c.err.field, "signer");
            cr_assert(strstr(c.err.message, "callback") != NULL, "%s", c.err.message);
        }
        bm_signer_close(signer);
        bm_signer_close(c.other);
    }
}

/* One caller cancels its calls; the others go on. */
typedef struct stopper {
    pthread_t thread;
} stopper;

static bool stop_one(void *ctx)
{
    return pthread_equal(((stopper *)ctx)->thread, pthread_self()) != 0;
}

Test(signer_callers, a_call_that_is_cancelled_stops_no_other)
{
    make();
    static uint32_t words[N * PERMS];
    stopper s = {pthread_self()};
    const bm_callbacks callbacks = {.ctx = &s, .cancelled = stop_one};
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.resources.threads = 2;
    options.callbacks = callbacks;
    s.thread = (pthread_t)0;
    bm_signer *signer = world_open(bm_signer, &options);
    s.thread = pthread_self();
    caller c = {signer, 100, false, false};
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, make_calls, &c), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(sign(signer, texts, N, words, NULL), BM_ERR_CANCELLED);
    pthread_join(other, NULL);
    cr_assert(c.right);
    bm_signer_close(signer);
}
