/* SPDX-License-Identifier: Apache-2.0 */
/* staged_calls.c -- each allocation and each system call of dedup from signatures, and of filter on
 * its result, fails once in turn, until a run has no failure.
 *
 * A run that fails reports why, leaves nothing at or beside its target, and leaks neither memory
 * nor open files. A run that goes on all the same gives the right bytes; if the user chose no
 * verification, it may compare signatures instead, and warns. */
#include <bandmill/job.h>

#include "tests/world/scratch.h"
#include "tests/world/sized.h"
#include "tests/world/world_document.h"

#include "failed_run.h"

enum { DOCS = 6 };

/* --- the setup: an input, its signatures, a result without lines --- */

static void make_input(scratch *s, const char *name)
{
    FILE *file = scratch_write(s, name);
    for (int doc = 0; doc < DOCS; doc++) {
        world_document(file, "d", doc, 100 * (doc % 4), 40); /* d4 is a copy of d0, d5 of d1 */
    }
    fputs("no object\n", file);
    cr_assert_eq(fclose(file), 0);
}

static void sign(scratch *s)
{
    bm_sign_options options;
    bm_summary *summary;
    bm_error err = {0};
    const char *paths[] = {"in.jsonl"};
    bm_sign_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.input.on_error = BM_ON_ERROR_SKIP;
    options.text.shingle_k = 1;
    options.sketch.perms = 16;
    options.device.device = "cpu";
    options.resources.threads = 1;
    options.output.path = scratch_at(s, "sig");
    cr_assert_eq(bm_job_sign(&options, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
}

typedef struct task {
    const char *sources; /* the folder that contains in.jsonl */
    bm_verify verify;
    bool filter;              /* filter the result of dedup from signatures alone */
    const char *file, *right; /* a file of the output, and its right contents */
    bool annotate;            /* filter: writes every document with its group */
} task;

static void count_warning(void *ctx, bm_log_level level, const char *text)
{
    (void)text;
    *(size_t *)ctx += level == BM_LOG_WARNING;
}

static bm_status run_dedup(scratch *s, const task *t, const char *output, size_t *n_warnings,
                           bm_error *err)
{
    bm_summary *summary = NULL;
    bm_dedup_options o;
    const char *paths[] = {scratch_at(s, "sig")};
    bm_dedup_options_init(&o);
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.verify = t->verify;
    o.sources = t->sources != NULL ? scratch_at(s, t->sources) : NULL;
    o.output.path = scratch_at(s, output);
    o.resources.threads = 1;
    o.callbacks = (bm_callbacks){.log = count_warning, .ctx = n_warnings};
    bm_status status = bm_job_dedup(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status run_filter(scratch *s, const task *t, size_t *n_warnings, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_filter_options o;
    bm_filter_options_init(&o);
    o.path = scratch_at(s, "alone");
    o.sources = scratch_at(s, t->sources);
    o.output.path = scratch_at(s, "outputs/out");
    o.resources.threads = 1;
    o.annotate = t->annotate;
    o.callbacks = (bm_callbacks){.log = count_warning, .ctx = n_warnings};
    bm_status status = bm_job_filter(&o, &summary, err);
    bm_summary_free(summary);
    return status;
}

static bm_status run(scratch *s, const task *t, size_t *n_warnings, bm_error *err)
{
    *n_warnings = 0;
    return t->filter ? run_filter(s, t, n_warnings, err)
                     : run_dedup(s, t, "outputs/out", n_warnings, err);
}

/* Signs the input and moves it to `there`; `changed` gets another input of the same size. */
static void open_place(scratch *s)
{
    size_t n_warnings = 0;
    bm_error err = {0};
    *s = scratch_open();
    cr_assert_eq(chdir(s->root), 0);
    make_input(s, "in.jsonl");
    sign(s);
    scratch_folder(s, "there");
    scratch_folder(s, "changed");
    scratch_folder(s, "outputs");
    cr_assert_eq(rename("in.jsonl", "there/in.jsonl"), 0);
    make_input(s, "changed/in.jsonl");
    FILE *file = fopen("changed/in.jsonl", "r+");
    fputs("[", file);
    cr_assert_eq(fclose(file), 0);
    const task alone = {.verify = BM_VERIFY_SIGNATURE};
    cr_assert_eq(run_dedup(s, &alone, "alone", &n_warnings, &err), BM_OK, "%s", err.message);
}

/* --- each call in turn --- */

/* A failed allocation gives BM_ERR_NOMEM; a failed call, any status that fits. */
static bool fits(bool memory, bm_status status)
{
    if (memory)
        return status == BM_ERR_NOMEM;
    return status == BM_ERR_IO || status == BM_ERR_NOMEM || status == BM_ERR_FORMAT ||
           status == BM_ERR_INPUT;
}

static void judge(scratch *s, const task *t, bm_status status, const char *why)
{
    char name[64];
    if (status != BM_OK) {
        size_t n = scratch_count(s, "outputs");
        if (n == 0)
            return;
        /* could not check who owns the work directory, so it is left untouched */
        if (n == 1 && scratch_has(s, "outputs/out.partial") && status == BM_ERR_IO) {
            cr_assert_eq(system("rm -r outputs/out.partial"), 0);
            return;
        }
        /* only the sync of the parent folder failed */
        cr_assert(n == 1 && scratch_has(s, "outputs/out") && status == BM_ERR_IO, "%s", why);
    }
    snprintf(name, sizeof name, "outputs/out/%s", t->file);
    cr_assert(scratch_holds(s, name, t->right), "%s: %s", name, why);
    cr_assert_eq(system("rm -r outputs/out"), 0);
}

static long fail_each(scratch *s, const task *t, bool memory, long from)
{
    size_t n_warnings, usual;
    bm_error first = {0};
    bm_status status = run(s, t, &usual, &first);
    cr_assert_eq(status, BM_OK, "%s", first.message);
    judge(s, t, status, "");
    const long step = (long)sized(1, 3); /* the tasks start at different calls */
    long n = from % step;
    for (plan.failed = true; plan.failed; n += step) {
        bm_error err = {0};
        size_t n_files = open_files();
        plan_call(n, EIO, memory);
        status = run(s, t, &n_warnings, &err);
        plan.armed = false;
        const char *why = err.message;
        expect_nothing_left(n, n_files, status, why);
        cr_assert(status == BM_OK || (plan.failed && fits(memory, status)), "%s, call %ld: %d, %s",
                  plan.which, n, (int)status, why);
        cr_assert(n_warnings == usual || t->verify == BM_VERIFY_AUTO, "%s, call %ld", plan.which,
                  n);
        judge(s, t, status, why);
    }
    return n;
}

#define REMOVED(x, y)                                                                              \
    "id\tkept\tjaccard\treason\tfile\tline\tlost\n"                                                \
    "d4\td0\t1.000000\tidentical\tin.jsonl\t" x "\nd5\td1\t1.000000\tidentical\tin.jsonl\t" y "\n"
#define GROUPS                                                                                     \
    "{\"group\":1,\"kept\":\"d0\",\"size\":2,\"members\":[\"d0\",\"d4\"]}\n"                       \
    "{\"group\":2,\"kept\":\"d1\",\"size\":2,\"members\":[\"d1\",\"d5\"]}\n"

static const task tasks[] = {
    {"there", BM_VERIFY_EXACT, false, "removed.tsv", REMOVED("5\t0", "6\t0"), false},
    {NULL, BM_VERIFY_SIGNATURE, false, "removed.tsv", REMOVED("\t", "\t"), false},
    {"there", BM_VERIFY_AUTO, false, "groups.jsonl", GROUPS, false},
    {"changed", BM_VERIFY_AUTO, false, "groups.jsonl", GROUPS, false},
    {"there", BM_VERIFY_NONE, true, "kept.jsonl", NULL, false},
    {"there", BM_VERIFY_NONE, true, "annotated.jsonl", NULL, true},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

/* The documents of the input, each with its group: d0 and d4 are a group, d1 and d5 another. */
static char *with_groups(const char *input)
{
    static const char *const groups[DOCS] = {"1,\"size\":2,\"kept\":true,\"jaccard\":1.000000",
                                             "2,\"size\":2,\"kept\":true,\"jaccard\":1.000000",
                                             "null,\"size\":null,\"kept\":true,\"jaccard\":null",
                                             "null,\"size\":null,\"kept\":true,\"jaccard\":null",
                                             "1,\"size\":2,\"kept\":false,\"jaccard\":1.000000",
                                             "2,\"size\":2,\"kept\":false,\"jaccard\":1.000000"};
    const size_t cap = strlen(input) + DOCS * 100;
    char *out = malloc(cap);
    size_t len = 0;
    for (int doc = 0; doc < DOCS; doc++) {
        const char *end = strchr(input, '\n');
        len += (size_t)snprintf(out + len, cap - len, "%.*s,\"bandmill\":{\"group\":%s}}\n",
                                (int)(end - 1 - input), input, groups[doc]);
        input = end + 1;
    }
    return out;
}

static void fail_all(bool memory)
{
    SCRATCH s;
    open_place(&s);
    char *input = scratch_get(&s, "there/in.jsonl", NULL), *end = input;
    char *annotated = with_groups(input);
    for (int line = 0; line < 4; line++) /* d0 to d3 are kept */
        end = strchr(end, '\n') + 1;
    *end = '\0';
    for (size_t i = 0; i < TASKS; i++) {
        task t = tasks[i];
        t.right = t.right != NULL ? t.right : t.annotate ? annotated : input;
        cr_assert_gt(fail_each(&s, &t, memory, (long)i), 10, "task %zu", i);
    }
    free(annotated);
    free(input);
}

Test(staged_calls, every_failing_allocation_is_out_of_memory)
{
    fail_all(true);
}

Test(staged_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    fail_all(false);
}
