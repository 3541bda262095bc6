/* SPDX-License-Identifier: Apache-2.0 */
/* A handle: which calls may enter, who waits for whom, and what a forked child may do. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/handle.h"

static void init(bm_handle *handle, const bm_callbacks *callbacks)
{
    cr_assert_eq(bm_handle_init(handle, "signer", callbacks, NULL), BM_OK);
}

/* --- calls and close --- */

typedef struct closer {
    bm_handle *handle;
    atomic_bool closed;
} closer;

static void *close_it(void *arg)
{
    closer *c = arg;
    if (bm_handle_close(c->handle) == BM_CLOSING)
        bm_handle_await(c->handle);
    atomic_store(&c->closed, true);
    return NULL;
}

Test(handle, close_lets_nobody_in_and_waits_until_all_are_out)
{
    static bm_handle handle;
    enum { CALLS = 3 };
    unsigned gates[CALLS], gate = 0;
    pthread_t thread;
    bm_error err = {0};
    closer c = {.handle = &handle};
    init(&handle, &(bm_callbacks){0});
    for (size_t i = 0; i < CALLS; i++)
        cr_assert_eq(bm_handle_enter(&handle, &gates[i], NULL), BM_OK);
    cr_assert_eq(pthread_create(&thread, NULL, close_it, &c), 0);
    bm_status status;
    while ((status = bm_handle_enter(&handle, &gate, &err)) == BM_OK) { /* not closing yet */
        bm_handle_leave(&handle, gate);
        sched_yield();
    }
    cr_assert_eq(status, BM_ERR_CANCELLED);
    cr_assert_str_eq(err.message, "the signer is being closed");
    for (size_t i = 0; i < CALLS; i++) {
        cr_assert(!atomic_load(&c.closed));
        bm_handle_leave(&handle, gates[i]);
    }
    pthread_join(thread, NULL);
    cr_assert(atomic_load(&c.closed));
    bm_handle_reset(&handle);
}

static atomic_size_t n_inside;

static void *come_and_go(void *arg)
{
    bm_handle *handle = arg;
    unsigned gate;
    while (bm_handle_enter(handle, &gate, NULL) == BM_OK) {
        atomic_fetch_add(&n_inside, 1);
        atomic_fetch_sub(&n_inside, 1);
        bm_handle_leave(handle, gate);
    }
    return NULL;
}

Test(handle, after_close_nobody_is_inside_however_many_come_and_go)
{
    enum { THREADS = 4, ROUNDS = 100 };
    static bm_handle handles[ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        init(&handles[round], &(bm_callbacks){0});
        for (size_t i = 0; i < THREADS; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, come_and_go, &handles[round]), 0);
        cr_assert_eq(bm_handle_close(&handles[round]), BM_CLOSING);
        bm_handle_await(&handles[round]);
        cr_assert_eq(atomic_load(&n_inside), 0);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        bm_handle_reset(&handles[round]);
    }
}

/* --- callbacks --- */

typedef struct called {
    bm_handle *own, *other;
    const bm_callbacks *inner; /* callbacks of `other`, called from this one; NULL: none */
    bm_status own_status, other_status;
    bm_closing closing;
    int n;
} called;

static void try_both(called *c)
{
    unsigned gate;
    c->n++;
    c->own_status = bm_handle_enter(c->own, &gate, NULL);
    c->closing = bm_handle_close(c->own);
    c->other_status = bm_handle_enter(c->other, &gate, NULL);
    if (c->other_status == BM_OK)
        bm_handle_leave(c->other, gate);
    if (c->inner != NULL)
        c->inner->cancelled(c->inner->ctx);
}

static void on_progress(void *ctx, const bm_progress *progress)
{
    (void)progress;
    try_both(ctx);
}

static void on_log(void *ctx, bm_log_level level, const char *message)
{
    (void)level;
    (void)message;
    try_both(ctx);
}

static bool on_cancelled(void *ctx)
{
    try_both(ctx);
    return true;
}

static void expect_refused(called *c)
{
    cr_assert_eq(c->n, 1);
    cr_assert_eq(c->own_status, BM_ERR_USAGE);
    cr_assert_eq(c->closing, BM_CLOSING_REFUSED);
    cr_assert_eq(c->other_status, BM_OK);
    c->n = 0;
}

Test(handle, a_callback_uses_other_handles_and_not_its_own)
{
    static bm_handle handle, other;
    called c = {.own = &handle, .other = &other};
    init(&handle,
         &(bm_callbacks){
             .ctx = &c, .progress = on_progress, .log = on_log, .cancelled = on_cancelled});
    init(&other, &(bm_callbacks){0});
    const bm_callbacks given = bm_handle_callbacks(&handle);
    given.progress(given.ctx, &(bm_progress){0});
    expect_refused(&c);
    given.log(given.ctx, BM_LOG_INFO, "");
    expect_refused(&c);
    cr_assert(given.cancelled(given.ctx));
    expect_refused(&c);
    unsigned gate;
    cr_assert_eq(bm_handle_enter(&handle, &gate, NULL), BM_OK); /* the callback has ended */
    bm_handle_leave(&handle, gate);
    const bm_callbacks none = bm_handle_callbacks(&other);
    cr_assert(none.progress == NULL && none.log == NULL && none.cancelled == NULL);
}

Test(handle, a_callback_of_a_callback_uses_neither)
{
    static bm_handle outer, inner, third;
    called in_outer = {.own = &outer, .other = &inner}, in_inner = {.own = &outer, .other = &third};
    init(&outer, &(bm_callbacks){.ctx = &in_outer, .cancelled = on_cancelled});
    init(&inner, &(bm_callbacks){.ctx = &in_inner, .cancelled = on_cancelled});
    init(&third, &(bm_callbacks){0});
    const bm_callbacks given = bm_handle_callbacks(&outer), given_in = bm_handle_callbacks(&inner);
    in_outer.inner = &given_in;
    cr_assert(given.cancelled(given.ctx));
    expect_refused(&in_outer);
    expect_refused(&in_inner);
}

/* --- forks --- */

/* The exit code of a forked child that runs the check. */
static int in_a_child(int (*check)(bm_handle *), bm_handle *handle)
{
    int how = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(check(handle));
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static int is_refused(bm_handle *handle)
{
    bm_error err = {0};
    unsigned gate;
    if (bm_handle_enter(handle, &gate, &err) != BM_ERR_USAGE)
        return 1;
    if (strcmp(err.field, "signer") != 0 || strstr(err.message, "process that opened it") == NULL)
        return 2;
    if (bm_handle_close(handle) != BM_CLOSING_FORKED)
        return 3;
    bm_handle_reset(handle);
    return 0;
}

static int has_its_own(bm_handle *handle)
{
    static bm_handle own;
    unsigned gate;
    if (is_refused(handle) != 0 ||
        bm_handle_init(&own, "signer", &(bm_callbacks){0}, NULL) != BM_OK ||
        bm_handle_enter(&own, &gate, NULL) != BM_OK)
        return 1;
    bm_handle_leave(&own, gate);
    return in_a_child(is_refused, &own) == 0 && in_a_child(is_refused, handle) == 0 &&
                   bm_handle_close(&own) == BM_CLOSING
               ? 0
               : 2;
}

Test(handle, a_child_has_no_calls_in_it_and_may_have_its_own)
{
    static bm_handle handle;
    unsigned gate;
    init(&handle, &(bm_callbacks){0});
    cr_assert_eq(in_a_child(is_refused, &handle), 0);
    cr_assert_eq(bm_handle_enter(&handle, &gate, NULL), BM_OK);
    pthread_mutex_lock(&handle.lock); /* as if another thread held it during the fork */
    cr_assert_eq(in_a_child(has_its_own, &handle), 0);
    pthread_mutex_unlock(&handle.lock);
    bm_handle_leave(&handle, gate);
    cr_assert_eq(bm_handle_close(&handle), BM_CLOSING);
}
