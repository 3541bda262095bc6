/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child of a process that has signers: calls on them are refused, their close does not
 * wait, and the child may open signers of its own. The parent goes on as before. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bandmill/device.h>
#include <bandmill/sketch.h>

#include "tests/world/quiet_fork.h"
#include "tests/unit/inmem/held_text.h"
#include "tests/world/world_random.h"

enum { N = 2000, PERMS = 16, LENGTH = 200 };

static bm_str texts[N];
static char data[N * LENGTH];
static uint32_t wanted[N * PERMS];

static bm_signer *open_on(const char *device, uint32_t threads)
{
    bm_signer_options options;
    bm_signer *signer = NULL;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.device.device = device;
    options.resources.threads = threads;
    return bm_signer_open(&options, &signer, NULL) == BM_OK ? signer : NULL;
}

static bm_status sign(bm_signer *signer, size_t n, uint32_t *words, bm_error *err)
{
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    return bm_signer_sign_texts(signer, texts, n, &out, err);
}

static bool signs_all(bm_signer *signer)
{
    static uint32_t words[N * PERMS];
    memset(words, 0, sizeof words);
    return signer != NULL && sign(signer, N, words, NULL) == BM_OK &&
           memcmp(words, wanted, sizeof wanted) == 0;
}

static void make(void)
{
    world_fill(data, sizeof data, 6, "    abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < N; i++)
        texts[i] = (bm_str){data + i * LENGTH, LENGTH};
    bm_signer *signer = open_on(NULL, 1);
    cr_assert_eq(sign(signer, N, wanted, NULL), BM_OK);
    bm_signer_close(signer);
}

static bool is_refused(bm_status status, const bm_error *err)
{
    return status == BM_ERR_USAGE && strcmp(err->field, "signer") == 0 &&
           strstr(err->message, "process that opened it") != NULL;
}

/* Tries every call in a child. Returns 0, or the number of the step that failed. */
static int use_in_child(bm_signer *signer)
{
    uint32_t words[PERMS];
    const bm_documents docs = bm_documents_of_texts(texts, N);
    const bm_signer_out out = {.struct_size = sizeof out};
    uint64_t task = 0;
    bm_error err = {0};
    if (!is_refused(sign(signer, 1, words, &err), &err))
        return 1;
    if (!is_refused(bm_signer_sign(signer, &docs, &out, &err), &err))
        return 2;
    if (!is_refused(bm_signer_submit(signer, &docs, &out, &task, &err), &err))
        return 3;
    if (!is_refused(bm_signer_wait(signer, 0, &err), &err))
        return 4;
    if (bm_signer_describe(signer)->perms != PERMS)
        return 5;
    bm_signer_close(signer);
    bm_signer *own = open_on(NULL, 3);
    if (!signs_all(own))
        return 6;
    bm_signer_close(own);
    return 0;
}

static int exit_code_of_child(bm_signer *signer)
{
    int how = 0;
    const pid_t child = quiet_fork();
    if (child == 0) {
        alarm(120); /* ends a child that waits for a thread it does not have */
        _exit(use_in_child(signer));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

Test(signer_fork, a_child_is_refused_closes_and_opens_its_own)
{
    make();
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        bm_signer *signer = open_on(NULL, threads);
        cr_assert_eq(exit_code_of_child(signer), 0); /* before any call */
        cr_assert(signs_all(signer));
        uint64_t task;
        uint32_t words[PERMS];
        const bm_documents docs = bm_documents_of_texts(texts, 1);
        const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
        cr_assert_eq(bm_signer_submit(signer, &docs, &out, &task, NULL), BM_OK);
        cr_assert_eq(exit_code_of_child(signer), 0);
        cr_assert_eq(bm_signer_wait(signer, task, NULL), BM_OK);
        cr_assert(signs_all(signer));
        bm_signer_close(signer);
    }
}

typedef struct holder {
    bm_signer *signer;
    bm_str text;
    bm_status status;
} holder;

static void *sign_held(void *arg)
{
    holder *h = arg;
    uint32_t words[PERMS];
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    h->status = bm_signer_sign_texts(h->signer, &h->text, 1, &out, NULL);
    return NULL;
}

Test(signer_fork, a_process_may_fork_while_another_thread_signs)
{
    make();
    bm_signer *signer = open_on(NULL, 3);
    cr_assert(signs_all(signer));
    holder h = {.signer = signer, .text = held_text_make(0, "a word or two ", 1 << 20)};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, sign_held, &h), 0);
    held_text_wait(0);
    cr_assert_eq(exit_code_of_child(signer), 0);
    held_text_release(0);
    pthread_join(thread, NULL);
    cr_assert_eq(h.status, BM_OK);
    held_text_drop(0);
    cr_assert(signs_all(signer));
    bm_signer_close(signer);
}

/* The driver of a device has threads too, which a child lacks. So the child opens its own signer on
 * the native CPU, and its close does not call the driver. */
Test(signer_fork, a_child_closes_signers_of_opencl_devices_without_their_driver)
{
    make();
    bm_device_list *list = NULL;
    cr_assert_eq(bm_device_list_open(&list, NULL), BM_OK);
    for (size_t i = 1; i < bm_device_list_count(list); i++) {
        const bm_device_info *device = bm_device_list_at(list, i);
        if (!device->usable)
            continue;
        bm_signer *signer = open_on(device->spec, 2);
        cr_assert(signs_all(signer), "%s", device->name);
        cr_assert_eq(exit_code_of_child(signer), 0, "%s", device->name);
        cr_assert(signs_all(signer));
        bm_signer_close(signer);
    }
    bm_device_list_close(list);
}
