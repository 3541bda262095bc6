/* SPDX-License-Identifier: Apache-2.0 */
/* explain_calls.c -- each allocation and each system call of explain, cluster and report fails once
 * in turn, until a run has no failure.
 *
 * A run that fails reports why, leaks neither memory nor open files, and leaves the earlier output
 * as it was (or the whole new one in its place) with nothing beside it. A run that goes on all the
 * same gives the right bytes. If it lost only the similarity of the two documents themselves (their
 * inputs cannot be read again, but pairs.tsv exists), it may answer without it and warn. If the
 * inputs of a page cannot be read again, the page has a note, and there is a warning. */
#include <criterion/criterion.h>

#include <bandmill/cluster.h>
#include <bandmill/explain.h>
#include <bandmill/job.h>
#include <bandmill/report.h>

#include "tests/world/scratch.h"
#include "tests/world/sized.h"
#include "tests/world/world_document.h"
#include "failed_run.h"

#define OLD "group 9: 2 documents, an earlier answer\n"

/* --- the setup: documents, and results of dedup with pairs and without --- */

/* Neighbours share 35 of 45 shingles, documents two apart 30 of 50. */
static void make_input(scratch *s)
{
    FILE *file = scratch_write(s, "in.jsonl");
    for (int doc = 0; doc < 8; doc++) {
        world_document(file, "d", doc, 5 * (doc == 7 ? 0 : doc), 40); /* d7 is a copy of d0 */
    }
    fputs("{\"id\":\"alone\",\"text\":\"nothing like it\"}\n", file);
    cr_assert_eq(fclose(file), 0);
}

static void dedup(scratch *s, const char *name, bool pairs)
{
    bm_dedup_options options;
    bm_summary *summary;
    bm_error err = {0};
    const char *paths[] = {scratch_at(s, "in.jsonl")};
    bm_dedup_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.bands.threshold = 0.7;
    options.sketch.perms = 64;
    options.bands.bands = 64; /* P(a neighbour is missed) = (1 - 7/9)^64 < 1e-41 */
    options.bands.rows = 1;
    options.output.path = scratch_at(s, name);
    options.device.device = "cpu";
    options.resources.threads = 1;
    options.write_pairs = pairs;
    cr_assert_eq(bm_job_dedup(&options, &summary, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_summary_counts(summary)->groups, 1);
    bm_summary_free(summary);
}

static void open_place(scratch *s)
{
    *s = scratch_open();
    make_input(s);
    dedup(s, "plain", false);
    dedup(s, "pairs", true);
    scratch_folder(s, "answers");
    scratch_put_text(s, "answers/answer", OLD);
}

/* --- jobs --- */

typedef struct task {
    /* a directory and two ids, or none for its group 1; or pairs to cluster */
    const char *from, *a, *b;
    bm_explain_form form;
    bool cluster, star, page;
    size_t n_thresholds;
    bm_status right; /* the status of a run without failures */
} task;

static void count_warning(void *ctx, bm_log_level level, const char *text)
{
    (void)text;
    *(size_t *)ctx += level == BM_LOG_WARNING;
}

static bm_status run(scratch *s, const task *t, size_t *n_warnings, bm_error *err)
{
    static const double thresholds[] = {0.9, 0.77, 0.7};
    const bm_callbacks callbacks = {.log = count_warning, .ctx = n_warnings};
    *n_warnings = 0;
    if (t->cluster) {
        bm_cluster_summary summary = {.struct_size = sizeof summary};
        bm_cluster_options o;
        bm_cluster_options_init(&o);
        o.path = scratch_at(s, t->from);
        o.thresholds = thresholds;
        o.n_thresholds = t->n_thresholds;
        o.cluster = t->star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
        o.keep = t->star ? BM_KEEP_LAST : BM_KEEP_FIRST;
        o.json = t->star;
        o.output.path = scratch_at(s, "answers/answer");
        o.output.force = true;
        o.callbacks = callbacks;
        return bm_cluster_pairs(&o, &summary, err);
    }
    if (t->page) {
        bm_report_options o;
        bm_report_options_init(&o);
        o.path = scratch_at(s, t->from);
        o.pairs = 2;
        o.groups = 1;
        o.form = t->form == BM_EXPLAIN_JSON ? BM_REPORT_JSON : BM_REPORT_HTML;
        o.output.path = scratch_at(s, "answers/answer");
        o.output.force = true;
        o.resources.threads = 1;
        o.resources.memory = 1 << 28;
        o.callbacks = callbacks;
        return bm_report(&o, NULL, err);
    }
    bm_explain_summary summary = {.struct_size = sizeof summary};
    bm_explain_options o;
    bm_explain_options_init(&o);
    o.path = scratch_at(s, t->from);
    o.id_a = t->a;
    o.id_b = t->b;
    o.group = t->a == NULL ? 1 : 0;
    o.form = t->form;
    o.output.path = scratch_at(s, "answers/answer");
    o.output.force = true;
    o.resources.threads = 2;
    o.resources.memory = 1 << 28;
    o.callbacks = callbacks;
    return bm_explain(&o, &summary, err);
}

/* Is the answer right, except that the similarity of the two documents themselves is null? */
static bool same_but_for_the_two(const char *got, const char *right)
{
    static const char key[] = "\"similarity\":";
    const char *g = strstr(got, key), *r = strstr(right, key);
    if (g == NULL || r == NULL || g - got != r - right ||
        strncmp(got, right, (size_t)(g - got)) != 0)
        return false;
    g += sizeof key - 1;
    return strncmp(g, "null,", 5) == 0 && strcmp(g + 4, strchr(r, ',')) == 0;
}

/* Is the answer right, except that it lacks the longest run of both, which needs the inputs again?
 */
static bool same_but_for_the_run(const char *got, const char *right)
{
    static const char line[] = "the longest run of both: ", key[] = "\"run\":";
    const char *r = strstr(right, line);
    if (r != NULL) { /* two lines are missing: the heading and the run itself */
        const char *behind = strchr(strchr(r, '\n') + 1, '\n') + 1;
        const size_t before = (size_t)(r - right);
        return strncmp(got, right, before) == 0 && strcmp(got + before, behind) == 0;
    }
    r = strstr(right, key);
    if (r == NULL || strncmp(got, right, (size_t)(r - right)) != 0)
        return false;
    const char *g = got + (r - right) + sizeof key - 1, *behind = strchr(r, '}');
    return strncmp(g, "null", 4) == 0 && strcmp(g + 4, behind + 1) == 0;
}

static void judge(scratch *s, const task *t, const char *right, bm_status status, size_t n_warnings)
{
    size_t len;
    char *got = scratch_get(s, "answers/answer", &len);
    cr_assert_eq(scratch_count(s, "answers"), 1, "something is left beside the output");
    if (status == BM_ERR_IO && right != NULL && strcmp(got, right) == 0)
        status = BM_OK; /* only the sync of the directory failed */
    if (status != BM_OK)
        cr_assert_str_eq(got, OLD, "the earlier output is gone");
    else if (strcmp(got, right) != 0 && t->page)
        cr_assert(n_warnings > 0 && strstr(got, "gone") != NULL, "%s, %zu warnings", plan.which,
                  n_warnings);
    else if (strcmp(got, right) != 0)
        cr_assert(t->a != NULL && n_warnings == 1 &&
                      (same_but_for_the_two(got, right) || same_but_for_the_run(got, right)),
                  "%s", got);
    free(got);
    scratch_put_text(s, "answers/answer", OLD);
}

/* A failed allocation may only give BM_ERR_NOMEM; a failed call, any status that fits. */
static const task tasks[] = {
    {.from = "plain", .a = "d0", .b = "d5", .form = BM_EXPLAIN_TEXT},
    {.from = "pairs", .a = "d7", .b = "d5", .form = BM_EXPLAIN_JSON},
    {.from = "plain", .form = BM_EXPLAIN_DOT},
    {.from = "pairs", .form = BM_EXPLAIN_TEXT},
    {.from = "plain", .a = "d0", .b = "d3", .form = BM_EXPLAIN_DOT},
    {.from = "plain", .form = BM_EXPLAIN_JSON},
    {.from = "pairs", .a = "d0", .b = "alone", .right = BM_NOT_FOUND},
    {.from = "pairs/pairs.tsv", .cluster = true, .n_thresholds = 1},
    {.from = "pairs/pairs.tsv", .cluster = true, .n_thresholds = 3},
    {.from = "pairs/pairs.tsv", .cluster = true, .star = true, .n_thresholds = 3},
    {.from = "pairs", .page = true, .form = BM_EXPLAIN_TEXT},
    {.from = "plain", .page = true, .form = BM_EXPLAIN_JSON},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

/* Fails call 0, 1, 2 and so on until a run has no failure; returns the number of failures. In the
 * small size, one call in three. */
static long fail_each(scratch *s, const task *t, bool memory)
{
    size_t n_warnings;
    char *right = NULL;
    bm_status status = run(s, t, &n_warnings, NULL);
    cr_assert(status == t->right && n_warnings == 0);
    if (status == BM_OK)
        right = scratch_get(s, "answers/answer", NULL);
    judge(s, t, right, status, 0);
    const long step = (long)sized(1, 3); /* the tasks start at different calls */
    long n = (t - tasks) % step;
    for (plan.failed = true; plan.failed; n += step) {
        bm_error err = {0};
        size_t n_files = open_files();
        plan_call(n, EIO, memory);
        status = run(s, t, &n_warnings, &err);
        plan.armed = false;
        const char *why = err.message;
        expect_failed_run(n, n_files, status, t->right, why);
        judge(s, t, right, status, n_warnings);
    }
    free(right);
    return n;
}

Test(explain_calls, every_failing_allocation_is_out_of_memory)
{
    SCRATCH s;
    open_place(&s);
    for (size_t i = 0; i < TASKS; i++)
        cr_assert_gt(fail_each(&s, &tasks[i], true), 10, "task %zu", i);
}

Test(explain_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    SCRATCH s;
    open_place(&s);
    for (size_t i = 0; i < TASKS; i++)
        cr_assert_gt(fail_each(&s, &tasks[i], false), 10, "task %zu", i);
}
