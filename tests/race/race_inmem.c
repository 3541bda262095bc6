/* SPDX-License-Identifier: Apache-2.0 */
/* race_inmem.c -- a program for sanitizers: in-memory calls with several threads, cancelled in the
 * middle, submitted and waited for from several threads, closed during calls and used in forked
 * children, on the CPU and every OpenCL device. Results must equal those of one thread. Prints "N
 * passed, N failed"; exits with 1 if any failed. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bandmill/bandmill.h>

#include "tests/world/world_random.h"

enum { N = 3000, PERMS = 32, BANDS = 8, ROWS = 4, LENGTH = 600 };

static atomic_uint passed, failed;

static void check(bool ok, const char *what)
{
    atomic_fetch_add(ok ? &passed : &failed, 1u);
    if (!ok)
        printf("failed: %s\n", what);
}

static char data[N][LENGTH];
static bm_str texts[N];
static uint32_t wanted[N * PERMS], wanted_counts[N];
static uint64_t wanted_keys[N * BANDS];

typedef struct rows {
    uint32_t words[N * PERMS], counts[N];
    uint64_t keys[N * BANDS];
} rows;

static void make_texts(void)
{
    uint64_t state = 99;
    for (size_t i = 0; i < N; i++) {
        size_t len = 0;
        for (unsigned w = 0; i % 7 != 6 && w < 5 + i % 70; w++) {
            unsigned word = w % 10 != 0 ? (unsigned)i / 5 * 100 + w : world_below(&state, 3000);
            len += (size_t)snprintf(data[i] + len, LENGTH - len, "w%u ", word % 100000);
        }
        texts[i] = (bm_str){data[i], len};
    }
}

static bm_signer *open_signer(const char *device, uint32_t threads, const bm_callbacks *callbacks)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = BANDS != 0;
    options.device.device = device;
    options.resources.threads = threads;
    options.resources.batch_docs = 50;
    if (callbacks != NULL)
        options.callbacks = *callbacks;
    bm_signer *signer = NULL;
    bm_error err = {.message = ""};
    if (bm_signer_open(&options, &signer, &err) != BM_OK)
        printf("%s: %s\n", device, err.message);
    return signer;
}

static bm_signer_out out_of(rows *r)
{
    return (bm_signer_out){.struct_size = sizeof(bm_signer_out),
                           .signatures = r->words,
                           .keys = r->keys,
                           .n_shingles = r->counts};
}

static bool is_wanted(const rows *r)
{
    return memcmp(r->words, wanted, sizeof wanted) == 0 &&
           memcmp(r->keys, wanted_keys, sizeof wanted_keys) == 0 &&
           memcmp(r->counts, wanted_counts, sizeof wanted_counts) == 0;
}

/* --- one signer, many threads --- */

typedef struct user {
    bm_signer *signer;
    bool ok;
} user;

/* Alternates between calls and tasks. */
static void *use(void *arg)
{
    user *u = arg;
    rows *r = calloc(2, sizeof *r);
    u->ok = r != NULL;
    for (int round = 0; u->ok && round < 3; round++) {
        uint64_t task;
        bm_signer_out later = out_of(&r[0]), now = out_of(&r[1]);
        bm_documents docs = bm_documents_of_texts(texts, N);
        memset(r, 0, 2 * sizeof *r);
        u->ok = bm_signer_submit(u->signer, &docs, &later, &task, NULL) == BM_OK &&
                bm_signer_sign(u->signer, &docs, &now, NULL) == BM_OK && is_wanted(&r[1]) &&
                bm_signer_wait(u->signer, task, NULL) == BM_OK && is_wanted(&r[0]);
    }
    free(r);
    return NULL;
}

static void test_signer(const char *device)
{
    for (uint32_t threads = 1; threads < 6; threads += 2) {
        pthread_t others[3];
        user users[3];
        bm_signer *signer = open_signer(device, threads, NULL);
        check(signer != NULL, "a signer opens");
        if (signer == NULL)
            return;
        for (int i = 0; i < 3; i++) {
            users[i] = (user){signer, false};
            pthread_create(&others[i], NULL, use, &users[i]);
        }
        for (int i = 0; i < 3; i++) {
            pthread_join(others[i], NULL);
            check(users[i].ok, "a thread that shares a signer gets what is right");
        }
        bm_signer_close(signer);
    }
}

/* A thread that makes calls of one size, one after another. */
typedef struct caller {
    bm_signer *signer;
    size_t docs_a_call;
    bool ok;
} caller;

static void *make_calls(void *arg)
{
    caller *c = arg;
    rows *r = calloc(1, sizeof *r);
    c->ok = r != NULL;
    for (size_t at = 0; c->ok && at < N; at += c->docs_a_call) {
        const size_t n = N - at < c->docs_a_call ? N - at : c->docs_a_call;
        const bm_signer_out out = {.struct_size = sizeof out,
                                   .signatures = r->words + at * PERMS,
                                   .keys = r->keys + at * BANDS,
                                   .n_shingles = r->counts + at};
        c->ok = bm_signer_sign_texts(c->signer, texts + at, n, &out, NULL) == BM_OK;
    }
    c->ok = c->ok && is_wanted(r);
    free(r);
    return NULL;
}

static void test_callers(const char *device, size_t smallest)
{
    enum { CALLERS = 8 };
    const size_t sizes[] = {smallest, 10 * smallest, 1000, N};
    pthread_t others[CALLERS];
    caller callers[CALLERS];
    bm_signer *signer = open_signer(device, 3, NULL);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){signer, sizes[i % 4], false};
        pthread_create(&others[i], NULL, make_calls, &callers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(others[i], NULL);
        check(callers[i].ok, "a caller beside others gets what is right");
    }
    bm_signer_close(signer);
}

/* --- closing --- */

/* Threads that make one call each; all calls are running when the signer is closed. */
static atomic_uint n_inside;
static _Thread_local bool counted;

static bool come_in(void *ctx)
{
    (void)ctx;
    if (!counted)
        atomic_fetch_add(&n_inside, 1u);
    counted = true;
    return false;
}

static void *call_once(void *arg)
{
    rows *r = calloc(1, sizeof *r);
    const bm_signer_out out = out_of(r);
    const bm_status status = bm_signer_sign_texts(arg, texts, N, &out, NULL);
    check(status == BM_ERR_CANCELLED || (status == BM_OK && is_wanted(r)),
          "a call beside close ends well");
    free(r);
    return NULL;
}

static void test_close(const char *device)
{
    enum { CALLERS = 4 };
    for (int round = 0; round < 5; round++) {
        const bm_callbacks callbacks = {.cancelled = come_in};
        pthread_t others[CALLERS];
        bm_signer *signer = open_signer(device, 3, &callbacks);
        atomic_store(&n_inside, 0);
        for (int i = 0; i < CALLERS; i++)
            pthread_create(&others[i], NULL, call_once, signer);
        while (atomic_load(&n_inside) < CALLERS)
            sched_yield();
        bm_signer_close(signer);
        for (int i = 0; i < CALLERS; i++)
            pthread_join(others[i], NULL);
    }
}

/* --- forks --- */

static atomic_bool stop;

static void *call_on(void *arg)
{
    rows *r = calloc(1, sizeof *r);
    const bm_signer_out out = out_of(r);
    while (!atomic_load(&stop))
        check(bm_signer_sign_texts(arg, texts, N, &out, NULL) == BM_OK && is_wanted(r),
              "a call beside forks");
    free(r);
    return NULL;
}

static int is_refused(bm_signer *signer)
{
    uint32_t words[PERMS];
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    const bm_status status = bm_signer_sign_texts(signer, texts, 1, &out, NULL);
    bm_signer_close(signer);
    return status == BM_ERR_USAGE ? 0 : 1;
}

static void test_forks(const char *device)
{
    pthread_t others[2];
    bm_signer *signer = open_signer(device, 3, NULL);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        pthread_create(&others[i], NULL, call_on, signer);
    for (int i = 0; i < 10; i++) {
        int how = 1;
        const pid_t child = fork();
        if (child == 0)
            _exit(is_refused(signer));
        check(waitpid(child, &how, 0) == child && how == 0, "a child is refused, and closes");
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(others[i], NULL);
    bm_signer_close(signer);
}

/* --- cancelling --- */

static bool stop_later(void *ctx)
{
    return atomic_fetch_add((atomic_int *)ctx, -1) <= 0;
}

static atomic_uint n_told;

static void tell(void *ctx, const bm_progress *progress)
{
    (void)ctx;
    (void)progress;
    atomic_fetch_add(&n_told, 1u);
}

static void test_cancel(const char *device)
{
    atomic_int left = 1000000; /* opening also checks for cancellation */
    bm_callbacks callbacks = {.ctx = &left, .cancelled = stop_later, .progress = tell};
    bm_signer *signer = open_signer(device, 3, &callbacks);
    rows *r = calloc(1, sizeof *r);
    bm_signer_out out = out_of(r);
    bm_status status = BM_ERR_CANCELLED;
    for (int at = 0; status == BM_ERR_CANCELLED; at++) {
        atomic_store(&left, at);
        status = bm_signer_sign_texts(signer, texts, N, &out, NULL);
    }
    check(status == BM_OK && is_wanted(r), "after calls that were cancelled all is right");
    atomic_store(&left, 1000000);
    bm_documents docs = bm_documents_of_texts(texts, N);
    uint64_t tasks[5];
    for (int i = 0; i < 5; i++)
        check(bm_signer_submit(signer, &docs, &out, &tasks[i], NULL) == BM_OK, "a task");
    check(bm_signer_wait(signer, tasks[0], NULL) == BM_OK, "the first task");
    bm_signer_close(signer); /* while tasks have not been waited for */
    free(r);
}

/* --- texts to hashes, to pairs, to groups --- */

static bool same_pairs(const bm_pair_set *x, const bm_pair_set *y)
{
    size_t n = bm_pair_set_count(x);
    return n == bm_pair_set_count(y) &&
           memcmp(bm_pair_set_data(x), bm_pair_set_data(y), n * sizeof(bm_pair)) == 0;
}

static bm_pair_set *find(uint32_t threads, bm_candidate_rule candidates, const bm_documents *docs)
{
    bm_find_options options;
    bm_pair_set *pairs = NULL;
    bm_find_options_init(&options);
    options.bands.threshold = .5;
    options.candidates = candidates;
    options.resources.threads = threads;
    options.callbacks.progress = tell;
    check(bm_find_pairs(&options, docs, &pairs, NULL) == BM_OK, "pairs are found");
    return pairs;
}

static void test_pairs(void)
{
    bm_shingle_options options;
    bm_hash_sets *sets[2] = {NULL, NULL};
    bm_shingle_options_init(&options);
    for (int i = 0; i < 2; i++) {
        options.resources.threads = i == 0 ? 1 : 5;
        check(bm_shingle_texts(&options, texts, N, &sets[i], NULL) == BM_OK, "texts are cut");
    }
    const uint64_t *offsets = bm_hash_sets_offsets(sets[0]);
    check(memcmp(offsets, bm_hash_sets_offsets(sets[1]), (N + 1) * sizeof *offsets) == 0 &&
              memcmp(bm_hash_sets_hashes(sets[0]), bm_hash_sets_hashes(sets[1]),
                     offsets[N] * sizeof *offsets) == 0,
          "five threads cut as one does");
    bm_documents docs = bm_documents_of_texts(texts, N), hashes = bm_hash_sets_documents(sets[0]);
    for (int rule = BM_CANDIDATES_LSH; rule <= BM_CANDIDATES_LENGTH; rule++) {
        bm_pair_set *one = find(1, (bm_candidate_rule)rule, &hashes);
        bm_pair_set *many = find(5, (bm_candidate_rule)rule, &hashes);
        bm_pair_set *of_texts = find(5, (bm_candidate_rule)rule, &docs);
        check(bm_pair_set_count(one) > 100, "there are pairs");
        check(same_pairs(one, many) && same_pairs(one, of_texts),
              "five threads find what one does");
        bm_pair_set_free(one);
        bm_pair_set_free(many);
        bm_pair_set_free(of_texts);
    }
    bm_hash_sets_free(sets[0]);
    bm_hash_sets_free(sets[1]);
}

int main(void)
{
    make_texts();
    bm_signer *oracle = open_signer("cpu", 1, NULL);
    bm_signer_out out = {.struct_size = sizeof out,
                         .signatures = wanted,
                         .keys = wanted_keys,
                         .n_shingles = wanted_counts};
    check(bm_signer_sign_texts(oracle, texts, N, &out, NULL) == BM_OK, "one thread signs");
    bm_signer_close(oracle);
    test_signer("cpu");
    test_callers("cpu", 1);
    test_cancel("cpu");
    test_close("cpu");
    test_forks("cpu");
    test_pairs();
    bm_device_list *devices = NULL;
    if (bm_device_list_open(&devices, NULL) == BM_OK) {
        for (size_t i = 1; i < bm_device_list_count(devices); i++) {
            const bm_device_info *device = bm_device_list_at(devices, i);
            if (!device->usable)
                continue;
            test_signer(device->spec);
            test_callers(device->spec, 100);
            test_cancel(device->spec);
            test_close(device->spec);
            test_forks(device->spec);
        }
        bm_device_list_close(devices);
    }
    check(atomic_load(&n_told) > 0, "progress was told");
    printf("%u passed, %u failed\n", atomic_load(&passed), atomic_load(&failed));
    return atomic_load(&failed) == 0 ? 0 : 1;
}
