/* SPDX-License-Identifier: Apache-2.0 */
/* shared_signer.c -- a server that signs what its threads are sent, with one signer for all of
 * them.
 *
 *     cc shared_signer.c $(pkg-config --cflags --libs bandmill) -o shared_signer && ./shared_signer
 *
 * Four threads sign a document a call. Meanwhile the main thread signs the same documents in one
 * large call, which the signer's own threads help with. Both get the same signatures. Then the
 * process forks: the child is refused by the signer of its parent, closes it, and opens its own. */
#include <bandmill/bandmill.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, DOCUMENTS = 1000, LENGTH = 400, PERMS = 64 };

static char text[DOCUMENTS][LENGTH];
static bm_str documents[DOCUMENTS];
static uint32_t one_by_one[DOCUMENTS][PERMS], at_once[DOCUMENTS][PERMS];

/* Reports an error, and whether there is none. */
static int succeeded(bm_status status, const bm_error *err, const char *what)
{
    if (status != BM_OK)
        fprintf(stderr, "%s: %s\n", what, err->message);
    return status == BM_OK;
}

static void make_documents(void)
{
    for (int i = 0; i < DOCUMENTS; i++) {
        size_t len = 0;
        for (int word = 0; word < 40; word++)
            len += (size_t)snprintf(text[i] + len, LENGTH - len, "w%d ", (i / 2 + word * 37) % 997);
        documents[i] = (bm_str){text[i], len};
    }
}

static int open_signer(bm_signer **out, uint32_t threads)
{
    bm_signer_options options;
    bm_error err = {.message = ""};
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.resources.threads = threads;
    return succeeded(bm_signer_open(&options, out, &err), &err, "open");
}

static int sign(bm_signer *signer, int first, int n, uint32_t *words)
{
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    bm_error err = {.message = ""};
    return succeeded(bm_signer_sign_texts(signer, documents + first, (size_t)n, &out, &err), &err,
                     "sign");
}

/* A thread of the server. */
typedef struct worker {
    pthread_t thread;
    bm_signer *signer; /* the same for all */
    int number, failed;
} worker;

static void *serve(void *arg)
{
    worker *own = arg;
    for (int i = own->number; i < DOCUMENTS; i += THREADS)
        own->failed += !sign(own->signer, i, 1, one_by_one[i]);
    return NULL;
}

/* What a forked child may do: a signer belongs to the process that opened it. */
static int child_works(bm_signer *of_parent)
{
    uint32_t words[PERMS];
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    bm_signer *own = NULL;
    bm_error err = {.message = ""};
    if (bm_signer_sign_texts(of_parent, documents, 1, &out, &err) != BM_ERR_USAGE)
        return 0;
    printf("child: %s\n", err.message);
    bm_signer_close(of_parent); /* frees the child's copy and waits for nothing */
    if (!open_signer(&own, 1) || !sign(own, 0, 1, words))
        return 0;
    printf("child: its own signer gives %s\n",
           memcmp(words, at_once[0], sizeof words) == 0 ? "the same words" : "OTHER words");
    bm_signer_close(own);
    return fflush(stdout) == 0;
}

int main(void)
{
    bm_signer *signer = NULL;
    worker workers[THREADS];
    int failed = 0, how = 0;
    make_documents();
    if (!open_signer(&signer, 2))
        return 1;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.signer = signer, .number = i};
        if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]) != 0)
            return 1;
    }
    failed += !sign(signer, 0, DOCUMENTS, at_once[0]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        failed += workers[i].failed;
    }
    const int same = memcmp(one_by_one, at_once, sizeof at_once) == 0;
    printf("%d documents by %d threads, and in one call: %s signatures\n", DOCUMENTS, THREADS,
           same ? "the same" : "OTHER");
    fflush(stdout); /* or the child would have a copy of what is not written yet */
    const pid_t child = fork();
    if (child == 0)
        _exit(child_works(signer) ? 0 : 1);
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0)
        return 1;
    failed += !sign(signer, 0, 1, one_by_one[0]); /* the parent goes on */
    bm_signer_close(signer);
    return failed > 0 || !same;
}
