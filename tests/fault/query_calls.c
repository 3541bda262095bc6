/* SPDX-License-Identifier: Apache-2.0 */
/* query_calls.c -- each allocation and each system call of a query fails once in turn, until a run
 * has no failure: of the job with an index, of the job with targets, and of a handle that queries,
 * adds and removes.
 *
 * A run that fails reports why, leaks neither memory nor open files, and leaves the earlier output
 * as it was with nothing beside it. A run that goes on all the same gives the right answers. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include <bandmill/bandmill.h>

#include "tests/world/scratch.h"
#include "failed_run.h"
#include "tests/world/world_text.h"

#define OLD     "query\ttarget\tjaccard\nold\told\t1.000000\n"
#define N_ASKED 12u

/* --- the setup: documents, and an index of them --- */

static void text_of(int doc, char out[400])
{
    char *at = out;
    for (int word = 0; word < 30; word++)
        at += sprintf(at, "w%d ", 4 * (doc % 9) + word);
}

static void make_input(scratch *s, const char *name, int first, int n)
{
    FILE *file = scratch_write(s, name);
    for (int doc = first; doc < first + n; doc++) {
        char text[400];
        text_of(doc, text);
        fprintf(file, "{\"id\":\"d%d\",\"text\":\"%s\"}\n", doc, text);
    }
    cr_assert_eq(fclose(file), 0);
}

static void open_place(scratch *s)
{
    bm_index_build_options options;
    bm_summary *summary = NULL;
    bm_error err = {0};
    *s = scratch_open();
    make_input(s, "targets.jsonl", 0, 20);
    make_input(s, "queries.jsonl", 100, (int)N_ASKED);
    const char *paths[] = {scratch_at(s, "targets.jsonl")};
    bm_index_build_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.bands = (bm_band_options){.threshold = 0.7, .recall = 0.95, .bands = 64, .rows = 1};
    options.output.path = scratch_at(s, "index");
    options.device.device = "cpu";
    options.resources.threads = 1;
    cr_assert_eq(bm_job_index_build(&options, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
    scratch_folder(s, "answers");
    scratch_put_text(s, "answers/answer", OLD);
}

/* --- tasks --- */

typedef enum task { TASK_INDEX, TASK_TARGETS, TASK_HANDLE, TASK_WRITER, N_TASKS } task;

static bm_status run_job(scratch *s, bool targets, bm_error *err)
{
    const char *queries[] = {scratch_at(s, "queries.jsonl")};
    const char *looked_in[] = {scratch_at(s, "targets.jsonl")};
    bm_summary *summary = NULL;
    bm_query_options o;
    bm_query_options_init(&o);
    o.path = targets ? NULL : scratch_at(s, "index");
    o.targets = looked_in;
    o.n_targets = targets ? 1 : 0;
    o.input.paths = queries;
    o.input.n_paths = 1;
    if (targets) {
        o.text.shingle_k = 1;
        o.bands = (bm_band_options){.threshold = 0.7, .recall = 0.95, .bands = 64, .rows = 1};
    }
    o.device.device = "cpu";
    o.output.path = scratch_at(s, "answers/answer");
    o.output.force = true;
    o.resources.threads = 2;
    o.resources.memory = 1 << 28;
    const bm_status status = bm_job_query(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

/* *n: the number of answers to all texts. */
static bm_status ask(bm_index *index, size_t *n, bm_error *err)
{
    char texts[N_ASKED][400];
    bm_str asked[N_ASKED];
    for (unsigned i = 0; i < N_ASKED; i++) {
        text_of((int)i, texts[i]);
        asked[i] = world_str(texts[i]);
    }
    const bm_documents docs = bm_documents_of_texts(asked, N_ASKED);
    bm_matches *matches = NULL;
    bm_status status = bm_index_query(index, NULL, &docs, &matches, err);
    *n = status == BM_OK ? (size_t)bm_matches_offsets(matches)[N_ASKED] : 0;
    bm_matches_free(matches);
    return status;
}

static bm_status write_some(bm_index *index, bm_error *err)
{
    const bm_str text = {"one two three", 13}, id = {"new", 3}, old = {"d3", 2};
    const bm_documents docs = bm_documents_of_texts(&text, 1);
    bm_status status = bm_index_add(index, &id, &docs, err);
    return status == BM_OK ? bm_index_remove(index, &old, 1, err) : status;
}

static bm_status run_handle(scratch *s, bool writes, size_t *n, bm_error *err)
{
    bm_index_info stats = {.struct_size = sizeof stats};
    bm_index_options o;
    bm_index *index = NULL;
    bm_index_options_init(&o);
    o.write = writes;
    o.resources.threads = 1;
    bm_status status = bm_index_open(scratch_at(s, "index"), &o, &index, err);
    if (status == BM_OK && writes)
        status = write_some(index, err);
    if (status == BM_OK)
        status = ask(index, n, err);
    if (status == BM_OK)
        status = bm_index_describe(index, &stats, err);
    bm_index_close(index); /* nothing was committed */
    return status;
}

static bm_status run(scratch *s, task t, size_t *n, bm_error *err)
{
    *n = 0;
    return t == TASK_INDEX || t == TASK_TARGETS ? run_job(s, t == TASK_TARGETS, err)
                                                : run_handle(s, t == TASK_WRITER, n, err);
}

/* --- each call fails once --- */

/* A failed allocation may only give BM_ERR_NOMEM; a failed call, any status that fits. */
static void judge(scratch *s, task t, const char *right, bm_status status)
{
    if (t != TASK_INDEX && t != TASK_TARGETS)
        return;
    char *got = scratch_get(s, "answers/answer", NULL);
    cr_assert_eq(scratch_count(s, "answers"), 1, "something is left beside the output");
    if (status == BM_ERR_IO && strcmp(got, right) == 0)
        status = BM_OK; /* only the sync of the directory failed */
    cr_assert_str_eq(got, status == BM_OK ? right : OLD);
    free(got);
    scratch_put_text(s, "answers/answer", OLD);
}

static long fail_each(scratch *s, task t, bool memory)
{
    size_t right_n, got_n;
    char *right = NULL;
    cr_assert_eq(run(s, t, &right_n, NULL), BM_OK);
    right = scratch_get(s, "answers/answer", NULL);
    cr_assert(t != TASK_HANDLE || right_n > N_ASKED);
    judge(s, t, right, BM_OK);
    /* A writing handle, and the reader next to it, check the index in a child process. */
    plan.in_child = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(plan.in_child != MAP_FAILED);
    long n = 0;
    for (plan.failed = true; plan.failed; n++) {
        bm_error err = {0};
        const size_t n_files = open_files();
        *plan.in_child = false;
        plan_call(n, EIO, memory);
        const bm_status status = run(s, t, &got_n, &err);
        plan.armed = false;
        plan.failed = plan.failed || *plan.in_child;
        expect_failed_run(n, n_files, status, BM_OK, err.message);
        cr_assert(status != BM_OK || got_n == right_n);
        judge(s, t, right, status);
    }
    cr_assert_eq(munmap(plan.in_child, 1), 0);
    plan.in_child = NULL;
    free(right);
    return n;
}

Test(query_calls, every_failing_allocation_is_out_of_memory)
{
    SCRATCH s;
    open_place(&s);
    for (int t = 0; t < N_TASKS; t++)
        cr_assert_gt(fail_each(&s, (task)t, true), 10, "task %d", t);
}

Test(query_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    SCRATCH s;
    open_place(&s);
    for (int t = 0; t < N_TASKS; t++)
        cr_assert_gt(fail_each(&s, (task)t, false), 3, "task %d", t);
}
