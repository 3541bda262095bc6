/* SPDX-License-Identifier: Apache-2.0 */
/* tune_calls.c -- each allocation and each system call of tune with documents fails once in turn,
 * until a run has no failure.
 *
 * A run that fails reports why, leaks neither memory nor open files, and leaves the earlier chart
 * as it was (or the whole new one in its place) with nothing beside it. A run that goes on all the
 * same gives the right tables and the right chart. */
#include <criterion/criterion.h>

#include <bandmill/tune.h>

#include "tests/world/scratch.h"
#include "tests/world/world_document.h"
#include "failed_run.h"

#define OLD "low\thigh\tpairs\n" /* recognised as a file of ours */

static void open_place(scratch *s)
{
    *s = scratch_open();
    FILE *file = scratch_write(s, "in.jsonl");
    for (int doc = 0; doc < 40; doc++) {
        world_document(file, "d", doc, 2 * (doc / 2), 30);
    }
    cr_assert_eq(fclose(file), 0);
    scratch_folder(s, "pictures");
    scratch_put_text(s, "pictures/plans.svg", OLD);
}

/* *table: set on BM_OK; the caller frees it. */
static bm_status run(scratch *s, char **table, bm_error *err)
{
    const bm_text_options texts[] = {{.normalize = BM_NORM_LOWER, .shingle_k = 1},
                                     {.normalize = BM_NORM_LOWER, .shingle_k = 3}};
    const char *path = scratch_at(s, "in.jsonl");
    bm_tune_options o;
    bm_tune_result *result = NULL;
    bm_tune_options_init(&o);
    o.ceiling_similarity = .3;
    o.ceiling_probability = .05;
    o.input.paths = &path;
    o.input.n_paths = 1;
    o.texts = texts;
    o.n_texts = 2;
    o.sample = 12;
    o.svg = scratch_at(s, "pictures/plans.svg");
    o.force = true;
    o.resources.threads = 2;
    o.resources.memory = 1 << 28;
    const bm_status status = bm_tune(&o, &result, err);
    if (status == BM_OK) {
        const size_t len = strlen(bm_tune_result_table(result)) + 1;
        plan.armed = false;
        *table = malloc(len);
        memcpy(*table, bm_tune_result_table(result), len);
    }
    bm_tune_result_free(result);
    return status;
}

static void judge(scratch *s, const char *picture, bm_status status)
{
    char *got = scratch_get(s, "pictures/plans.svg", NULL);
    cr_assert_eq(scratch_count(s, "pictures"), 1, "something is left beside the picture");
    if (status == BM_OK || (status == BM_ERR_IO && strcmp(got, OLD) != 0))
        cr_assert_str_eq(got, picture); /* perhaps only the sync of the directory failed */
    else
        cr_assert_str_eq(got, OLD, "the earlier picture is gone");
    free(got);
    scratch_put_text(s, "pictures/plans.svg", OLD);
}

/* A failed allocation may only give BM_ERR_NOMEM; a failed call, any status that fits. */
static bool fits(bool memory, bm_status status)
{
    if (memory)
        return status == BM_ERR_NOMEM;
    return status == BM_ERR_IO || status == BM_ERR_NOMEM || status == BM_ERR_USAGE ||
           status == BM_ERR_INPUT;
}

static void fail_each(bool memory)
{
    SCRATCH s;
    char *right = NULL, *table = NULL;
    open_place(&s);
    cr_assert_eq(run(&s, &right, NULL), BM_OK);
    char *picture = scratch_get(&s, "pictures/plans.svg", NULL);
    judge(&s, picture, BM_OK);
    long n = 0;
    for (plan.failed = true; plan.failed; n++) {
        bm_error err = {0};
        const size_t n_files = open_files();
        plan_call(n, EIO, memory);
        const bm_status status = run(&s, &table, &err);
        plan.armed = false;
        if (status == BM_OK) {
            cr_assert_str_eq(table, right);
            free(table);
        }
        expect_nothing_left(n, n_files, status, err.message);
        cr_assert(status == BM_OK || (plan.failed && fits(memory, status)), "%s, call %ld: %d, %s",
                  plan.which, n, (int)status, err.message);
        judge(&s, picture, status);
    }
    cr_assert_gt(n, 10);
    free(picture);
    free(right);
}

Test(tune_calls, every_failing_allocation_is_out_of_memory)
{
    fail_each(true);
}

Test(tune_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    fail_each(false);
}
