/* SPDX-License-Identifier: Apache-2.0 */
/* shared_index.c -- an index that two threads share: one adds documents and commits, the other
 * asks.
 *
 *     cc shared_index.c $(pkg-config --cflags --libs bandmill) -o shared_index
 *     ./shared_index DIRECTORY            makes DIRECTORY/first.tsv and DIRECTORY/index
 *
 * The thread that asks sees each commit as a whole: the number of its answers grows, and never
 * falls. Then the process forks: the child is refused by the index of its parent, and opens it
 * anew. */
#include <bandmill/bandmill.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMITS = 10, A_COMMIT = 5 };

static const char TEXT[] = "the quick brown fox jumps over the lazy dog near the river bank";

static int succeeded(bm_status status, const bm_error *err, const char *what)
{
    if (status != BM_OK)
        fprintf(stderr, "%s: %s\n", what, err->message);
    return status == BM_OK;
}

/* An index of one document. */
static int build(const char *directory, char *index, size_t cap)
{
    char input[4096];
    const char *inputs[] = {input};
    bm_index_build_options options;
    bm_summary *summary = NULL;
    bm_error err = {.message = ""};
    snprintf(input, sizeof input, "%s/first.tsv", directory);
    snprintf(index, cap, "%s/index", directory);
    FILE *file = mkdir(directory, 0777) == 0 ? fopen(input, "w") : NULL;
    if (file == NULL || fprintf(file, "id\ttext\nfirst\t%s\n", TEXT) < 0 || fclose(file) != 0) {
        perror(input);
        return 0;
    }
    bm_index_build_options_init(&options);
    options.input.paths = inputs;
    options.input.n_paths = 1;
    options.output.path = index;
    options.device.device = "cpu";
    const int built = succeeded(bm_job_index_build(&options, &summary, &err), &err, "build");
    bm_summary_free(summary);
    return built;
}

/* How many documents resemble TEXT; -1: an error. */
static int n_answers(bm_index *index)
{
    const bm_str asked = {TEXT, sizeof TEXT - 1};
    const bm_documents documents = bm_documents_of_texts(&asked, 1);
    bm_matches *matches = NULL;
    bm_error err = {.message = ""};
    if (!succeeded(bm_index_query(index, NULL, &documents, &matches, &err), &err, "query"))
        return -1;
    const int n = (int)bm_matches_offsets(matches)[1];
    bm_matches_free(matches);
    return n;
}

/* --- two threads --- */

typedef struct thread {
    pthread_t id;
    bm_index *index;
    int works, questions;
} thread;

/* Documents under new ids, some at a time. What one thread has added, it also commits. */
static void *add(void *arg)
{
    thread *own = arg;
    own->works = 1;
    for (int commit = 0; own->works && commit < COMMITS; commit++) {
        char names[A_COMMIT][32];
        bm_str ids[A_COMMIT], texts[A_COMMIT];
        bm_error err = {.message = ""};
        for (int i = 0; i < A_COMMIT; i++) {
            const int len = snprintf(names[i], sizeof names[i], "more-%d", commit * A_COMMIT + i);
            ids[i] = (bm_str){names[i], (size_t)len};
            texts[i] = (bm_str){TEXT, sizeof TEXT - 1};
        }
        const bm_documents documents = bm_documents_of_texts(texts, A_COMMIT);
        own->works = succeeded(bm_index_add(own->index, ids, &documents, &err), &err, "add") &&
                     succeeded(bm_index_commit(own->index, &err), &err, "commit");
    }
    return NULL;
}

/* Until all that the other thread adds is there. */
static void *ask(void *arg)
{
    thread *own = arg;
    int last = 1;
    own->works = 1;
    while (own->works && last < 1 + COMMITS * A_COMMIT) {
        const int n = n_answers(own->index);
        own->works = n >= last && n % A_COMMIT == 1; /* whole commits */
        own->questions++;
        last = n;
    }
    return NULL;
}

/* An index belongs to the process that opened it. */
static int child_works(bm_index *of_parent, const char *path)
{
    const bm_str asked = {TEXT, sizeof TEXT - 1};
    const bm_documents documents = bm_documents_of_texts(&asked, 1);
    bm_matches *matches = NULL;
    bm_index *own = NULL;
    bm_error err = {.message = ""};
    if (bm_index_query(of_parent, NULL, &documents, &matches, &err) != BM_ERR_USAGE)
        return 0;
    printf("child: %s\n", err.message);
    bm_index_close(of_parent); /* frees the child's copy; the parent's stays as it is */
    if (!succeeded(bm_index_open(path, NULL, &own, &err), &err, "open"))
        return 0;
    printf("child: %d answers\n", n_answers(own));
    bm_index_close(own);
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    bm_index_options options;
    bm_index *index = NULL;
    bm_error err = {.message = ""};
    int how = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: shared_index DIRECTORY (a new one)\n");
        return 2;
    }
    bm_index_options_init(&options);
    options.write = true;
    options.resources.threads = 1;
    if (!build(argv[1], path, sizeof path) ||
        !succeeded(bm_index_open(path, &options, &index, &err), &err, "open"))
        return 1;
    thread adds = {.index = index}, asks = {.index = index};
    if (pthread_create(&adds.id, NULL, add, &adds) != 0 ||
        pthread_create(&asks.id, NULL, ask, &asks) != 0)
        return 1;
    pthread_join(adds.id, NULL);
    pthread_join(asks.id, NULL);
    printf("%d commits of %d documents; the other thread saw whole commits: %s\n", COMMITS,
           A_COMMIT, adds.works && asks.works && asks.questions > 0 ? "yes" : "NO");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(child_works(index, path) ? 0 : 1);
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0)
        return 1;
    printf("parent: %d answers\n", n_answers(index));
    bm_index_close(index);
    return !adds.works || !asks.works;
}
