/* SPDX-License-Identifier: Apache-2.0 */
/* submit and wait: in any order, mixed with synchronous calls, from several threads, and tasks that
 * nobody waits for. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

enum { N = 700, PERMS = 32, TASKS = BM_SIGNER_TASKS_MAX };

static bm_str texts[N];
static char data[N * 400];
static uint32_t wanted[N * PERMS];

static bm_signer *open_signer(uint32_t threads, const bm_callbacks *callbacks)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.resources.threads = threads;
    if (callbacks != NULL)
        options.callbacks = *callbacks;
    bm_signer *signer = NULL;
    cr_assert_eq(bm_signer_open(&options, &signer, NULL), BM_OK);
    return signer;
}

static void make(void)
{
    world_fill(data, sizeof data, 1, "    abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < N; i++)
        texts[i] = (bm_str){data + i * 400, i % 11 == 0 ? 0 : 400 - i % 300};
    bm_signer *signer = open_signer(1, NULL);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = wanted};
    cr_assert_eq(bm_signer_sign_texts(signer, texts, N, &out, NULL), BM_OK);
    bm_signer_close(signer);
}

typedef struct task {
    uint32_t words[N * PERMS];
    bm_documents docs;
    bm_signer_out out;
    uint64_t number;
    size_t first;
} task;

static void submit(bm_signer *signer, task *t, size_t first)
{
    bm_error err = {0};
    t->first = first;
    t->docs = bm_documents_of_texts(texts + first, N - first);
    t->out = (bm_signer_out){.struct_size = sizeof t->out, .signatures = t->words};
    memset(t->words, 0xAB, sizeof t->words);
    cr_assert_eq(bm_signer_submit(signer, &t->docs, &t->out, &t->number, &err), BM_OK, "%s",
                 err.message);
    t->docs.texts = NULL; /* the library must not use the structs any more */
    t->out.signatures = NULL;
}

static void wait_for(bm_signer *signer, task *t)
{
    bm_error err = {0};
    cr_assert_eq(bm_signer_wait(signer, t->number, &err), BM_OK, "%s", err.message);
    cr_assert(memcmp(t->words, wanted + t->first * PERMS, (N - t->first) * PERMS * 4) == 0);
    cr_assert_eq(bm_signer_wait(signer, t->number, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "task");
}

Test(signer_tasks, tasks_are_right_in_whichever_order_they_are_waited_for)
{
    make();
    task *tasks = malloc(TASKS * sizeof *tasks);
    for (uint32_t threads = 1; threads < 5; threads++) {
        bm_signer *signer = open_signer(threads, NULL);
        for (int round = 0; round < 4; round++) {
            for (size_t i = 0; i < TASKS; i++)
                submit(signer, &tasks[i], i * 31 % N);
            for (size_t i = 0; i < TASKS; i++) /* first to last, last to first, by a step of 5 */
                wait_for(signer, &tasks[round == 0   ? i
                                        : round == 1 ? TASKS - 1 - i
                                                     : i * 5 % TASKS]);
        }
        bm_signer_close(signer);
    }
    free(tasks);
}

Test(signer_tasks, one_more_than_is_allowed_is_refused_and_does_no_harm)
{
    make();
    task *tasks = malloc((TASKS + 1) * sizeof *tasks);
    bm_signer *signer = open_signer(2, NULL);
    for (size_t i = 0; i < TASKS; i++)
        submit(signer, &tasks[i], i);
    uint64_t number = 7;
    bm_error err = {0};
    bm_documents docs = bm_documents_of_texts(texts, N);
    bm_signer_out out = {.struct_size = sizeof out};
    cr_assert_eq(bm_signer_submit(signer, &docs, &out, &number, &err), BM_ERR_USAGE);
    cr_assert(number == 7 && strcmp(err.field, "task") == 0);
    wait_for(signer, &tasks[3]);
    submit(signer, &tasks[TASKS], 100);
    for (size_t i = 0; i <= TASKS; i++)
        if (i != 3)
            wait_for(signer, &tasks[i]);
    bm_signer_close(signer);
    free(tasks);
}

Test(signer_tasks, calls_between_tasks_have_their_turn)
{
    make();
    task *tasks = malloc(8 * sizeof *tasks);
    static uint32_t words[N * PERMS];
    bm_signer *signer = open_signer(3, NULL);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    for (size_t i = 0; i < 8; i++) {
        submit(signer, &tasks[i], i);
        memset(words, 0xAB, sizeof words);
        cr_assert_eq(bm_signer_sign_texts(signer, texts, N, &out, NULL), BM_OK);
        cr_assert(memcmp(words, wanted, sizeof words) == 0);
    }
    for (size_t i = 0; i < 8; i++)
        wait_for(signer, &tasks[i]);
    bm_signer_close(signer);
    free(tasks);
}

Test(signer_tasks, bad_documents_are_refused_when_they_are_submitted)
{
    make();
    bm_signer *signer = open_signer(2, NULL);
    static const uint64_t falling[] = {0, 3, 2}, hashes[3];
    bm_documents docs = bm_documents_of_hashes(falling, hashes, 2);
    bm_signer_out out = {.struct_size = sizeof out};
    uint64_t number = 9;
    cr_assert_eq(bm_signer_submit(signer, &docs, &out, &number, NULL), BM_ERR_INPUT);
    docs = bm_documents_of_texts(texts, N);
    cr_assert_eq(bm_signer_submit(signer, &docs, &out, NULL, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_signer_submit(signer, &docs, NULL, &number, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_signer_submit(NULL, &docs, &out, &number, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_signer_wait(NULL, 0, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_signer_wait(signer, 0, NULL), BM_ERR_USAGE);
    cr_assert_eq(number, 9);
    bm_signer_close(signer);
}

typedef struct asked {
    atomic_int yes, n;
} asked;

static bool stop(void *ctx)
{
    asked *a = ctx;
    atomic_fetch_add(&a->n, 1);
    return atomic_load(&a->yes) != 0;
}

Test(signer_tasks, tasks_are_cancelled_and_the_next_is_done)
{
    make();
    asked a = {0, 0};
    bm_callbacks callbacks = {.ctx = &a, .cancelled = stop};
    task *tasks = malloc(TASKS * sizeof *tasks);
    bm_signer *signer = open_signer(2, &callbacks);
    submit(signer, &tasks[0], 0);
    wait_for(signer, &tasks[0]);
    atomic_store(&a.yes, 1);
    for (size_t i = 0; i < 3; i++)
        submit(signer, &tasks[i], i);
    for (size_t i = 0; i < 3; i++) {
        bm_error err = {0};
        cr_assert_eq(bm_signer_wait(signer, tasks[i].number, &err), BM_ERR_CANCELLED);
        cr_assert_eq(err.status, BM_ERR_CANCELLED);
    }
    atomic_store(&a.yes, 0);
    submit(signer, &tasks[0], 0);
    wait_for(signer, &tasks[0]);
    cr_assert_gt(atomic_load(&a.n), 3);
    bm_signer_close(signer);
    free(tasks);
}

Test(signer_tasks, a_signer_may_be_closed_with_tasks_that_nobody_waits_for)
{
    make();
    task *tasks = malloc(TASKS * sizeof *tasks);
    for (int round = 0; round < 10; round++) {
        bm_signer *signer = open_signer(2, NULL);
        for (size_t i = 0; i < TASKS; i++)
            submit(signer, &tasks[i], i);
        if (round % 2 != 0)
            wait_for(signer, &tasks[0]);
        bm_signer_close(signer);
        for (size_t i = 0; i < TASKS; i++)
            memset(tasks[i].words, 1, sizeof tasks[i].words); /* no longer the library's */
    }
    free(tasks);
}
