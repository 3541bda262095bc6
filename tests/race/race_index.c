/* SPDX-License-Identifier: Apache-2.0 */
/* race_index.c -- several threads query one handle of an index while another thread adds, removes
 * and commits. Small queries run on the calling thread, large ones on the pool's threads. Meanwhile
 * the process forks; and an index is closed during queries. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bandmill/bandmill.h>

#include "tests/world/quiet_fork.h"
#include "tests/world/world_folder.h"

enum { N = 600, READERS = 3, ROUNDS = 8 };

static char texts[N][256];
static bm_str text[N];
static atomic_bool stop;
static atomic_int failures;
static pthread_rwlock_t pause_of_readers; /* locked for writing: readers pause for a fork */

static void expect(bool holds, const char *what, const bm_error *err)
{
    if (holds)
        return;
    fprintf(stderr, "FAILED: %s: %s\n", what, err->message);
    atomic_fetch_add(&failures, 1);
}

static void make_texts(void)
{
    for (int i = 0; i < N; i++) {
        char *at = texts[i];
        for (int w = 0; w < 30; w++)
            at += sprintf(at, "w%d ", i % 50 * 20 + w);
        text[i] = (bm_str){texts[i], strlen(texts[i])};
    }
}

static void build(const char *folder)
{
    char input[300], index[300];
    snprintf(input, sizeof input, "%s/in.jsonl", folder);
    snprintf(index, sizeof index, "%s/index", folder);
    FILE *file = fopen(input, "w");
    for (int i = 0; file != NULL && i < 300; i++)
        fprintf(file, "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, texts[i]);
    if (file != NULL)
        fclose(file);
    const char *paths[] = {input};
    bm_index_build_options options;
    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_index_build_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.output.path = index;
    options.device.device = "cpu";
    options.resources.threads = 2;
    expect(bm_job_index_build(&options, &summary, &err) == BM_OK, "build", &err);
    bm_summary_free(summary);
}

static void *read_on(void *arg)
{
    bm_index *index = arg;
    size_t round = 0;
    while (!atomic_load(&stop)) {
        const bm_documents docs = bm_documents_of_texts(text, round++ % 2 == 0 ? 1 : N);
        bm_index_info stats = {.struct_size = sizeof stats};
        bm_matches *matches = NULL;
        bm_error err = {0};
        pthread_rwlock_rdlock(&pause_of_readers);
        expect(bm_index_query(index, NULL, &docs, &matches, &err) == BM_OK, "query", &err);
        expect(bm_index_describe(index, &stats, &err) == BM_OK, "stats", &err);
        bm_matches_free(matches);
        pthread_rwlock_unlock(&pause_of_readers);
    }
    return NULL;
}

/* --- forks --- */

static void init_pause(void)
{
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&pause_of_readers, &attr);
    pthread_rwlockattr_destroy(&attr);
}

static int is_refused(bm_index *index)
{
    const bm_documents docs = bm_documents_of_texts(text, 1);
    bm_matches *matches = NULL;
    const bool refused = bm_index_query(index, NULL, &docs, &matches, NULL) == BM_ERR_USAGE &&
                         bm_index_commit(index, NULL) == BM_ERR_USAGE;
    bm_index_close(index);
    return refused ? 0 : 1;
}

static void fork_once(bm_index *index)
{
    const bm_error none = {.message = ""};
    int how = 1;
    if (FORKS_QUIETLY)
        pthread_rwlock_wrlock(&pause_of_readers);
    const pid_t child = quiet_fork();
    if (child == 0)
        _exit(is_refused(index));
    if (FORKS_QUIETLY)
        pthread_rwlock_unlock(&pause_of_readers);
    expect(waitpid(child, &how, 0) == child && how == 0, "a child is refused, and closes", &none);
}

static void write_some(bm_index *index)
{
    for (int round = 0; round < ROUNDS; round++) {
        char names[40][32];
        bm_str ids[40];
        bm_error err = {0};
        for (int i = 0; i < 40; i++) {
            snprintf(names[i], sizeof names[i], "n%d-%d", round, i);
            ids[i] = (bm_str){names[i], strlen(names[i])};
        }
        const bm_documents docs = bm_documents_of_texts(text + 300, 40);
        expect(bm_index_add(index, ids, &docs, &err) == BM_OK, "add", &err);
        expect(bm_index_remove(index, ids, 10, &err) == BM_OK, "remove", &err);
        fork_once(index);
        expect(bm_index_commit(index, &err) == BM_OK, "commit", &err);
    }
}

/* --- close --- */

static atomic_int n_inside;
static _Thread_local bool counted;

static bool come_in(void *ctx)
{
    (void)ctx;
    if (!counted)
        atomic_fetch_add(&n_inside, 1);
    counted = true;
    return false;
}

static void *ask_once(void *arg)
{
    const bm_documents docs = bm_documents_of_texts(text, N);
    bm_matches *matches = NULL;
    bm_error err = {.message = ""};
    expect(bm_index_query(arg, NULL, &docs, &matches, &err) == BM_OK, "query beside close", &err);
    bm_matches_free(matches);
    return NULL;
}

static void close_beside_queries(const char *path)
{
    pthread_t readers[READERS];
    bm_index_options options;
    bm_index *index = NULL;
    bm_error err = {.message = ""};
    bm_index_options_init(&options);
    options.resources.threads = 2;
    options.callbacks.cancelled = come_in;
    expect(bm_index_open(path, &options, &index, &err) == BM_OK, "open", &err);
    for (int i = 0; index != NULL && i < READERS; i++)
        pthread_create(&readers[i], NULL, ask_once, index);
    while (index != NULL && atomic_load(&n_inside) < READERS)
        sched_yield();
    bm_index_close(index);
    for (int i = 0; index != NULL && i < READERS; i++)
        pthread_join(readers[i], NULL);
}

int main(void)
{
    char folder[256], path[300];
    pthread_t readers[READERS];
    bm_index_options options;
    bm_index *index = NULL;
    bm_error err = {0};
    if (!world_folder_make(NULL, folder, sizeof folder))
        return 1;
    make_texts();
    init_pause();
    build(folder);
    snprintf(path, sizeof path, "%s/index", folder);
    bm_index_options_init(&options);
    options.write = true;
    options.resources.threads = 2;
    expect(bm_index_open(path, &options, &index, &err) == BM_OK, "open", &err);
    for (int i = 0; index != NULL && i < READERS; i++)
        pthread_create(&readers[i], NULL, read_on, index);
    if (index != NULL)
        write_some(index);
    atomic_store(&stop, true);
    for (int i = 0; index != NULL && i < READERS; i++)
        pthread_join(readers[i], NULL);
    bm_index_close(index);
    close_beside_queries(path);
    return world_folder_remove(folder) != 0 || atomic_load(&failures) > 0;
}
