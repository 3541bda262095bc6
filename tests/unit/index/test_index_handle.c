/* SPDX-License-Identifier: Apache-2.0 */
/* An open index, against comparing every pair of documents hash by hash: 128 bands of one row miss
 * a pair of similarity .5 with probability 2^-128. Also: queries by many threads while another
 * adds, removes and commits; what a forked child and a callback may do; close during queries. */
#include <criterion/criterion.h>

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
#include "tests/world/scratch.h"
#include "tests/unit/inmem/held_text.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

#define N_DOCS    400u
#define N_WORDS   12u
#define THRESHOLD 0.5

typedef struct corpus {
    char texts[N_DOCS][N_WORDS * 8], ids[N_DOCS][12];
    bm_str text[N_DOCS], id[N_DOCS];
} corpus;

/* Documents whose words come from a few families, so that some are similar. */
static corpus *make_corpus(void)
{
    corpus *c = calloc(1, sizeof *c);
    uint64_t state = 5;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        const uint32_t family = i % 40;
        char *at = c->texts[i];
        for (uint32_t w = 0; i % 97 != 96 && w < N_WORDS; w++) {
            const bool own = world_below(&state, 16) < 3;
            at += sprintf(at, "%s%u ", own ? "x" : "f", own ? i * 50 + w : family * 50 + w);
        }
        sprintf(c->ids[i], "doc%u", i);
        c->text[i] = world_str(c->texts[i]);
        c->id[i] = world_str(c->ids[i]);
    }
    return c;
}

/* Builds an index of the first n documents. */
static void build(scratch *s, const corpus *c, uint32_t n, bm_index_store store)
{
    FILE *file = scratch_write(s, "in.jsonl");
    for (uint32_t i = 0; i < n; i++)
        fprintf(file, "{\"id\":\"%s\",\"text\":\"%s\"}\n", c->ids[i], c->texts[i]);
    fclose(file);
    const char *const paths[] = {scratch_at(s, "in.jsonl")};
    bm_index_build_options options;
    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_index_build_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.bands =
        (bm_band_options){.threshold = THRESHOLD, .recall = 0.95, .bands = 128, .rows = 1};
    options.store = store;
    options.device.device = "cpu";
    options.resources.threads = 1;
    options.output.path = scratch_at(s, "index");
    world_ok(bm_job_index_build(&options, &summary, &err), &err);
    bm_summary_free(summary);
}

static bm_index *open_index(scratch *s, bool write, uint32_t threads)
{
    bm_index_options options;
    bm_index *index = NULL;
    bm_error err = {0};
    bm_index_options_init(&options);
    options.write = write;
    options.resources.threads = threads;
    world_ok(bm_index_open(scratch_at(s, "index"), &options, &index, &err), &err);
    return index;
}

static bm_hash_sets *sets_of(const corpus *c)
{
    bm_shingle_options options;
    bm_hash_sets *sets = NULL;
    bm_shingle_options_init(&options);
    options.text.shingle_k = 1;
    options.resources.threads = 1;
    cr_assert_eq(bm_shingle_texts(&options, c->text, N_DOCS, &sets, NULL), BM_OK);
    return sets;
}

static double jaccard(const bm_hash_sets *sets, uint32_t a, uint32_t b)
{
    const uint64_t *at = bm_hash_sets_offsets(sets), *hashes = bm_hash_sets_hashes(sets);
    uint64_t common = 0;
    for (uint64_t i = at[a]; i < at[a + 1]; i++)
        for (uint64_t k = at[b]; k < at[b + 1]; k++)
            common += hashes[i] == hashes[k];
    const uint64_t all = at[a + 1] - at[a] + at[b + 1] - at[b] - common;
    return all == 0 ? 0 : (double)common / (double)all;
}

/* The matches of all documents must be right, where there[i] tells whether document i is in the
 * index. */
static void expect_matches(const bm_matches *m, const bm_hash_sets *sets, const corpus *c,
                           const bool *there)
{
    cr_assert_eq(bm_matches_count(m), N_DOCS);
    const uint64_t *offsets = bm_matches_offsets(m);
    for (uint32_t i = 0; i < N_DOCS; i++) {
        uint32_t wanted = 0;
        for (uint32_t k = 0; k < N_DOCS; k++)
            wanted += there[k] && jaccard(sets, i, k) >= THRESHOLD;
        cr_assert_eq(offsets[i + 1] - offsets[i], wanted, "document %u", i);
        for (uint64_t at = offsets[i]; at < offsets[i + 1]; at++) {
            const bm_str id = bm_matches_id(m, at);
            const double similarity = bm_matches_similarities(m)[at];
            char name[16] = "";
            memcpy(name, id.data, id.len < 15 ? id.len : 15);
            const uint32_t k = (uint32_t)strtoul(name + 3, NULL, 10);
            cr_assert(k < N_DOCS && there[k] && strcmp(name, c->ids[k]) == 0, "%s for %u", name, i);
            cr_assert_eq(similarity, jaccard(sets, i, k));
            cr_assert(at == offsets[i] || similarity <= bm_matches_similarities(m)[at - 1]);
        }
    }
    cr_expect_null(bm_matches_id(m, offsets[N_DOCS]).data);
}

static void query_all(bm_index *index, const bm_documents *docs, const bm_hash_sets *sets,
                      const corpus *c, const bool *there)
{
    bm_matches *m = NULL;
    bm_error err = {0};
    world_ok(bm_index_query(index, NULL, docs, &m, &err), &err);
    expect_matches(m, sets, c, there);
    bm_matches_free(m);
}

Test(index_handle, answers_texts_and_hashes_with_all_that_is_near)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    bm_hash_sets *sets = sets_of(c);
    bool there[N_DOCS] = {false};
    memset(there, true, 300);
    build(&s, c, 300, BM_INDEX_SETS);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        bm_index *index = open_index(&s, false, threads);
        const bm_documents texts = bm_documents_of_texts(c->text, N_DOCS);
        const bm_documents hashes = bm_hash_sets_documents(sets);
        query_all(index, &texts, sets, c, there);
        query_all(index, &hashes, sets, c, there);
        const bm_documents none = bm_documents_of_texts(NULL, 0);
        bm_matches *m = NULL;
        cr_assert_eq(bm_index_query(index, NULL, &none, &m, NULL), BM_OK);
        cr_expect_eq(bm_matches_count(m), 0);
        bm_matches_free(m);
        bm_index_close(index);
    }
    bm_hash_sets_free(sets);
    free(c);
}

Test(index_handle, a_rule_chooses_among_the_answers)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, N_DOCS, BM_INDEX_SETS);
    bm_index *index = open_index(&s, false, 1);
    const bm_documents docs = bm_documents_of_texts(c->text, 1);
    bm_match_options options;
    bm_matches *m = NULL;
    bm_match_options_init(&options);
    options.answers.threshold = 1;
    cr_assert_eq(bm_index_query(index, &options, &docs, &m, NULL), BM_OK);
    cr_expect_eq(bm_matches_offsets(m)[1], 1); /* itself */
    bm_matches_free(m);
    options.answers.skip_same_id = true;
    options.ids = c->id;
    cr_assert_eq(bm_index_query(index, &options, &docs, &m, NULL), BM_OK);
    cr_expect_eq(bm_matches_offsets(m)[1], 0);
    bm_matches_free(m);
    options.answers = (bm_answer_rule){.top = 1};
    cr_assert_eq(bm_index_query(index, &options, &docs, &m, NULL), BM_OK);
    cr_expect_eq(bm_matches_offsets(m)[1], 1);
    cr_expect_eq(bm_matches_similarities(m)[0], 1);
    bm_matches_free(m);
    bm_index_info stats = {.struct_size = sizeof stats};
    cr_assert_eq(bm_index_describe(index, &stats, NULL), BM_OK);
    cr_expect_eq(stats.documents, N_DOCS);
    cr_expect_eq(stats.empty, 4); /* 96, 193, 290, 387 */
    cr_expect_eq(stats.plan.bands, 128);
    cr_expect_eq(stats.text.shingle_k, 1);
    cr_expect_eq(stats.store, BM_INDEX_SETS);
    bm_index_close(index);
    free(c);
}

Test(index_handle, signatures_give_estimates)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 100, BM_INDEX_SIGNATURES);
    bm_index *index = open_index(&s, false, 1);
    const bm_documents docs = bm_documents_of_texts(c->text, 1);
    bm_matches *m = NULL;
    cr_assert_eq(bm_index_query(index, NULL, &docs, &m, NULL), BM_OK);
    cr_assert_geq(bm_matches_offsets(m)[1], 1);
    cr_expect_eq(bm_matches_similarities(m)[0], 1);
    for (uint64_t i = 0; i < bm_matches_offsets(m)[1]; i++) /* multiples of 1/128 */
        cr_expect_eq(bm_matches_similarities(m)[i] * 128,
                     (int)(bm_matches_similarities(m)[i] * 128));
    bm_matches_free(m);
    bm_index_close(index);
    free(c);
}

Test(index_handle, what_is_added_and_removed_is_seen_with_the_commit)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    bm_hash_sets *sets = sets_of(c);
    bool there[N_DOCS] = {false};
    memset(there, true, 100);
    build(&s, c, 100, BM_INDEX_SETS);
    bm_index *index = open_index(&s, true, 1);
    const bm_documents all = bm_documents_of_texts(c->text, N_DOCS);
    const bm_documents more = bm_documents_of_texts(c->text + 100, 300);
    const bm_documents one = bm_documents_of_texts(c->text + 7, 1);
    bm_error err = {0};
    query_all(index, &all, sets, c, there);
    /* with an id that exists, or that is given twice, nothing is added */
    world_refused(bm_index_add(index, c->id + 99, &more, &err), BM_ERR_INPUT, &err, "'doc99'");
    const bm_str twice[] = {c->id[200], c->id[200]};
    const bm_documents two = bm_documents_of_texts(c->text, 2);
    cr_expect_eq(bm_index_add(index, twice, &two, NULL), BM_ERR_INPUT);
    world_ok(bm_index_add(index, c->id + 100, &more, &err), &err);
    cr_expect_eq(bm_index_add(index, c->id + 399, &one, NULL), BM_ERR_INPUT);
    query_all(index, &all, sets, c, there); /* as before */
    world_ok(bm_index_commit(index, &err), &err);
    memset(there, true, N_DOCS);
    query_all(index, &all, sets, c, there);
    /* remove documents committed and not committed; an id may return with another document */
    world_ok(bm_index_remove(index, c->id + 5, 50, &err), &err);
    cr_expect_eq(bm_index_remove(index, c->id + 54, 2, NULL), BM_NOT_FOUND); /* 54 is gone */
    world_ok(bm_index_add(index, c->id + 7, &one, &err), &err);
    cr_assert_eq(bm_index_remove(index, c->id + 7, 1, NULL), BM_OK);
    cr_assert_eq(bm_index_add(index, c->id + 7, &one, NULL), BM_OK);
    query_all(index, &all, sets, c, there);
    cr_assert_eq(bm_index_commit(index, NULL), BM_OK);
    memset(there + 5, false, 51);
    there[7] = true;
    query_all(index, &all, sets, c, there);
    cr_assert_eq(bm_index_remove(index, c->id, 3, NULL), BM_OK); /* and not committed */
    bm_index_close(index);
    index = open_index(&s, false, 1);
    query_all(index, &all, sets, c, there);
    bm_str id = c->id[0];
    cr_expect_eq(bm_index_remove(index, &id, 1, NULL), BM_ERR_USAGE); /* read-only */
    bm_index_close(index);
    bm_hash_sets_free(sets);
    free(c);
}

Test(index_handle, hashes_whose_low_halves_are_the_same_are_not_added)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 10, BM_INDEX_SETS);
    bm_index *index = open_index(&s, true, 1);
    const uint64_t hashes[] = {UINT64_C(1) << 32, UINT64_C(2) << 32, UINT64_C(3) << 32};
    const uint64_t offsets[] = {0, 3};
    const bm_documents one = bm_documents_of_hashes(offsets, hashes, 1);
    bm_error err = {0};
    bm_matches *m = NULL;
    world_refused(bm_index_add(index, c->id + 10, &one, &err), BM_ERR_INPUT, &err,
                  "distinct low halves");
    cr_expect_eq(bm_index_query(index, NULL, &one, &m, NULL), BM_OK, "a question is answered");
    cr_expect_eq(bm_matches_offsets(m)[1], 0);
    bm_matches_free(m);
    bm_index_close(index);
    free(c);
}

/* --- threads --- */

typedef struct adder {
    bm_index *index;
    bm_status status;
} adder;

static void *add_one(void *arg)
{
    adder *a = arg;
    const bm_str text = {"one two", 7}, id = {"of another", 10};
    const bm_documents docs = bm_documents_of_texts(&text, 1);
    a->status = bm_index_add(a->index, &id, &docs, NULL);
    if (a->status == BM_OK)
        a->status = bm_index_commit(a->index, NULL);
    return NULL;
}

static bm_status another_adds(bm_index *index)
{
    pthread_t thread;
    adder a = {.index = index};
    cr_assert_eq(pthread_create(&thread, NULL, add_one, &a), 0);
    pthread_join(thread, NULL);
    return a.status;
}

Test(index_handle, what_one_thread_adds_another_does_not_commit)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 50, BM_INDEX_SETS);
    bm_index *index = open_index(&s, true, 1);
    const bm_documents docs = bm_documents_of_texts(c->text + 50, 1);
    cr_assert_eq(bm_index_add(index, c->id + 50, &docs, NULL), BM_OK);
    cr_expect_eq(another_adds(index), BM_ERR_BUSY, "not a bug of the other thread");
    cr_assert_eq(bm_index_commit(index, NULL), BM_OK);
    cr_expect_eq(another_adds(index), BM_OK);
    cr_assert_eq(bm_index_remove(index, c->id, 1, NULL), BM_OK);
    cr_expect_eq(another_adds(index), BM_ERR_BUSY);
    bm_index_close(index);
    free(c);
}

/* LMDB's locks belong to the process, so closing a second handle must not release the first's. */
Test(index_handle, handles_of_one_process_read_beside_each_other_and_write_alone)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 50, BM_INDEX_SETS);
    for (int writes = 0; writes < 4; writes++) {
        bm_index *first = open_index(&s, writes & 1, 1), *second = NULL;
        const bm_index_options *none = NULL;
        bm_index_options options;
        bm_error err = {0};
        bm_index_options_init(&options);
        options.write = writes & 2;
        cr_expect_eq(bm_index_open(scratch_at(&s, "index"), &options, &second, &err),
                     writes == 0 ? BM_OK : BM_ERR_BUSY, "%s", err.message);
        cr_expect_eq(second == NULL, writes != 0);
        bm_index_remove_options job;
        const char *id = c->ids[0];
        bm_summary *summary = NULL;
        bm_index_remove_options_init(&job);
        job.path = scratch_at(&s, "index");
        job.ids = &id;
        job.n_ids = 1;
        cr_expect_eq(bm_job_index_remove(&job, &summary, &err), BM_ERR_BUSY, "%s", err.message);
        bm_index_close(first);
        if (second != NULL) { /* it goes on without the first */
            const bm_documents docs = bm_documents_of_texts(c->text, 1);
            bm_matches *matches = NULL;
            cr_expect_eq(bm_job_index_remove(&job, &summary, &err), BM_ERR_BUSY);
            cr_assert_eq(bm_index_query(second, NULL, &docs, &matches, &err), BM_OK);
            cr_expect_gt(bm_matches_offsets(matches)[1], 0);
            bm_matches_free(matches);
            bm_index_close(second);
        }
        world_ok(bm_index_open(scratch_at(&s, "index"), none, &second, &err), &err);
        bm_index_close(second);
    }
    free(c);
}

typedef struct reader {
    bm_index *index;
    const corpus *corpus;
    atomic_bool *stop;
    atomic_uint_fast64_t rounds;
    bool wrong;
    char why[256];
} reader;

/* Each commit adds a copy of document 0, so a reader must never find fewer copies than before. */
static void *read_on(void *arg)
{
    reader *r = arg;
    uint64_t before = 0;
    while (!atomic_load(r->stop) && !r->wrong) {
        const bm_documents docs =
            bm_documents_of_texts(r->corpus->text, r->rounds % 7 == 0 ? 300 : 1);
        bm_matches *m = NULL;
        bm_error err = {0};
        r->wrong = bm_index_query(r->index, NULL, &docs, &m, &err) != BM_OK;
        const uint64_t now = r->wrong ? 0 : bm_matches_offsets(m)[1];
        r->wrong = r->wrong || now < before || now == 0;
        if (r->wrong)
            snprintf(r->why, sizeof r->why, "%u, then %u: %.200s", (unsigned)before, (unsigned)now,
                     err.message);
        before = now;
        bm_matches_free(m);
        r->rounds++;
    }
    return NULL;
}

Test(index_handle, many_query_while_one_writes)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, N_DOCS, BM_INDEX_SETS);
    bm_index *index = open_index(&s, true, 2);
    atomic_bool stop = false;
    reader readers[3];
    pthread_t threads[3];
    bm_error err = {0};
    for (int i = 0; i < 3; i++) {
        readers[i] = (reader){.index = index, .corpus = c, .stop = &stop};
        cr_assert_eq(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (int round = 0; round < 30; round++) {
        char name[16];
        sprintf(name, "copy%d", round);
        const bm_str id = {name, strlen(name)};
        const bm_documents copy = bm_documents_of_texts(c->text, 1);
        world_ok(bm_index_add(index, &id, &copy, &err), &err);
        world_ok(bm_index_commit(index, &err), &err);
    }
    for (int i = 0; i < 3; i++) /* on a busy machine a reader may not have begun */
        while (atomic_load(&readers[i].rounds) == 0)
            sched_yield();
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(!readers[i].wrong, "%s", readers[i].why);
    }
    bm_index_info stats = {.struct_size = sizeof stats};
    cr_assert_eq(bm_index_describe(index, &stats, NULL), BM_OK);
    cr_expect_eq(stats.documents, N_DOCS + 30);
    bm_index_close(index);
    free(c);
}

/* --- forks --- */

static bool is_refused(bm_status status, const bm_error *err)
{
    return status == BM_ERR_USAGE && strcmp(err->field, "index") == 0 &&
           strstr(err->message, "process that opened it") != NULL;
}

/* In a child, all calls on the parent's index are refused, and the child may open and query the
 * index itself. Returns 0, or the number of the step that failed. */
static int use_in_child(bm_index *index, scratch *s, const corpus *c)
{
    const bm_documents docs = bm_documents_of_texts(c->text, N_DOCS);
    bm_matches *m = NULL;
    bm_index *own = NULL;
    bm_error err = {0};
    if (!is_refused(bm_index_query(index, NULL, &docs, &m, &err), &err))
        return 1;
    if (!is_refused(bm_index_add(index, c->id, &docs, &err), &err))
        return 2;
    if (!is_refused(bm_index_remove(index, c->id, 1, &err), &err))
        return 3;
    if (!is_refused(bm_index_commit(index, &err), &err))
        return 4;
    bm_index_close(index);
    if (bm_index_open(scratch_at(s, "index"), NULL, &own, NULL) != BM_OK ||
        bm_index_query(own, NULL, &docs, &m, NULL) != BM_OK)
        return 5;
    const bool answered = bm_matches_offsets(m)[1] > 0;
    bm_matches_free(m);
    bm_index_close(own);
    return answered ? 0 : 6;
}

static int exit_code_of_child(bm_index *index, scratch *s, const corpus *c)
{
    int how = 0;
    const pid_t child = quiet_fork();
    if (child == 0) {
        alarm(120); /* ends a child that waits for a thread it does not have */
        _exit(use_in_child(index, s, c));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

Test(index_handle, a_child_is_refused_closes_and_opens_it_again)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    bm_hash_sets *sets = sets_of(c);
    bool there[N_DOCS] = {false};
    const bm_documents docs = bm_documents_of_texts(c->text, N_DOCS);
    const bm_documents more = bm_documents_of_texts(c->text + 200, 50);
    build(&s, c, 200, BM_INDEX_SETS);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        memset(there, true, threads == 1 ? 200 : 250);
        bm_index *index = open_index(&s, true, threads);
        cr_assert_eq(exit_code_of_child(index, &s, c), 0); /* before any call */
        query_all(index, &docs, sets, c, there);
        if (threads == 1)
            cr_assert_eq(bm_index_add(index, c->id + 200, &more, NULL), BM_OK);
        cr_assert_eq(exit_code_of_child(index, &s, c), 0); /* with changes that are not committed */
        cr_assert_eq(bm_index_commit(index, NULL), BM_OK);
        memset(there, true, 250);
        query_all(index, &docs, sets, c, there);
        bm_index_close(index);
    }
    bm_hash_sets_free(sets);
    free(c);
}

/* --- callbacks --- */

typedef struct called {
    bm_index *index;
    const corpus *c;
    bm_status statuses[4];
    bm_error err;
    int n;
} called;

static bool call_back(void *ctx)
{
    called *own = ctx;
    const bm_documents docs = bm_documents_of_texts(own->c->text, 1);
    bm_matches *m = NULL;
    own->n++;
    own->statuses[0] = bm_index_query(own->index, NULL, &docs, &m, &own->err);
    own->statuses[1] = bm_index_add(own->index, own->c->id, &docs, NULL);
    own->statuses[2] = bm_index_remove(own->index, own->c->id, 1, NULL);
    own->statuses[3] = bm_index_commit(own->index, NULL);
    bm_index_close(own->index); /* ignored here: the test goes on using the index */
    return false;
}

Test(index_handle, a_callback_cannot_use_the_index_that_calls_it)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 200, BM_INDEX_SETS);
    called own = {.c = c};
    bm_index_options options;
    bm_index_options_init(&options);
    options.write = true;
    options.resources.threads = 2;
    options.callbacks = (bm_callbacks){.ctx = &own, .cancelled = call_back};
    cr_assert_eq(bm_index_open(scratch_at(&s, "index"), &options, &own.index, NULL), BM_OK);
    const bm_documents docs = bm_documents_of_texts(c->text + 200, 20);
    bm_matches *m = NULL;
    for (int call = 0; call < 2; call++) {
        own.n = 0;
        cr_assert_eq(call == 0 ? bm_index_query(own.index, NULL, &docs, &m, NULL)
                               : bm_index_add(own.index, c->id + 200, &docs, NULL),
                     BM_OK);
        cr_assert_gt(own.n, 0);
        for (size_t i = 0; i < 4; i++)
            cr_assert_eq(own.statuses[i], BM_ERR_USAGE);
        cr_assert(strcmp(own.err.field, "index") == 0 &&
                      strstr(own.err.message, "callback") != NULL,
                  "%s", own.err.message);
    }
    cr_assert_eq(bm_index_commit(own.index, NULL), BM_OK);
    bm_matches_free(m);
    bm_index_close(own.index);
    free(c);
}

/* --- close --- */

typedef struct held_query {
    bm_index *index;
    bm_str text;
    bm_status status;
} held_query;

static void *query_held(void *arg)
{
    held_query *q = arg;
    const bm_documents docs = bm_documents_of_texts(&q->text, 1);
    bm_matches *m = NULL;
    q->status = bm_index_query(q->index, NULL, &docs, &m, NULL);
    bm_matches_free(m);
    return NULL;
}

typedef struct closer {
    bm_index *index;
    atomic_bool closed;
} closer;

static void *close_it(void *arg)
{
    closer *c = arg;
    bm_index_close(c->index);
    atomic_store(&c->closed, true);
    return NULL;
}

Test(index_handle, close_waits_for_a_query_that_is_under_way)
{
    SCRATCH s = scratch_open();
    corpus *c = make_corpus();
    build(&s, c, 100, BM_INDEX_SETS);
    bm_index *index = open_index(&s, false, 2);
    held_query q = {.index = index, .text = held_text_make(0, "f1 f2 f3 ", 4096)};
    closer own = {.index = index};
    pthread_t asks, closes;
    cr_assert_eq(pthread_create(&asks, NULL, query_held, &q), 0);
    held_text_wait(0);
    cr_assert_eq(pthread_create(&closes, NULL, close_it, &own), 0);
    const bm_documents docs = bm_documents_of_texts(c->text, 1);
    bm_status status = BM_OK;
    while (status == BM_OK) { /* until close has begun: the held query keeps the index alive */
        bm_matches *m = NULL;
        status = bm_index_query(index, NULL, &docs, &m, NULL);
        bm_matches_free(m);
        sched_yield();
    }
    cr_assert_eq(status, BM_ERR_CANCELLED);
    cr_assert(!atomic_load(&own.closed));
    held_text_release(0);
    pthread_join(asks, NULL);
    pthread_join(closes, NULL);
    cr_assert_eq(q.status, BM_OK);
    held_text_drop(0);
    free(c);
}
