/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_calls.c -- each allocation and each system call of an overlap fails once in turn, until a
 * run has no failure (the first fifty each, then fewer and fewer). One shingle is in more items
 * than the overlap lists for it.
 *
 * A run that fails reports why, and leaks neither memory nor open files; a run that goes on all the
 * same gives the right rows. */
#include <criterion/criterion.h>

#include <bandmill/bandmill.h>

#include "tests/world/scratch.h"
#include "failed_run.h"

enum { ITEMS = 80, DOCUMENTS = 12 };

/* Documents that begin with the same eight words; the last document has only those of an item. */
static void make_input(scratch *s, const char *name, int n, bool last)
{
    FILE *file = scratch_write(s, name);
    for (int doc = 0; doc < n; doc++) {
        fprintf(file, "{\"id\":\"%s%d\",\"text\":\"", name, doc);
        for (int word = 0; word < 8 + 4 * (doc % 2 == 0 || !last); word++)
            fprintf(file, "w%d ", word < 8 ? word : 100 * doc + word);
        fputs("\"}\n", file);
    }
    cr_assert_eq(fclose(file), 0);
}

static bm_status run(scratch *s, bm_error *err)
{
    bm_overlap_options options;
    bm_summary *summary = NULL;
    const char *paths[] = {scratch_at(s, "train.jsonl")};
    bm_overlap_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.against = (const char *const[]){scratch_at(s, "items.jsonl")};
    options.n_against = 1;
    options.text.shingle_k = 8;
    options.threshold = 0.3;
    options.stop_shingles = 100;
    options.output.path = scratch_at(s, "out");
    options.output.force = true;
    options.device.device = "cpu";
    options.resources.threads = 1;
    options.resources.memory = 1 << 28;
    const bm_status status = bm_job_overlap(&options, &summary, err);
    bm_summary_free(summary);
    return status;
}

static long fail_each(scratch *s, bool memory)
{
    bm_error err = {0};
    cr_assert_eq(run(s, &err), BM_OK, "%s", err.message);
    char *right = scratch_get(s, "out/overlap.tsv", NULL);
    cr_assert_not_null(strstr(right, "train.jsonl0\titems.jsonl0\t"));
    long n_failed = 0;
    plan.failed = true;
    /* later calls are much alike, so ever fewer of them fail */
    for (long n = 0; plan.failed; n += 1 + n / 50) {
        const size_t n_files = open_files();
        memset(&err, 0, sizeof err);
        plan_call(n, EIO, memory);
        const bm_status status = run(s, &err);
        plan.armed = false;
        expect_failed_run(n, n_files, status, BM_OK, err.message);
        /* of the earlier output, or the new one */
        char *got = scratch_get(s, "out/overlap.tsv", NULL);
        cr_assert_str_eq(got, right);
        free(got);
        n_failed += plan.failed;
    }
    free(right);
    return n_failed;
}

Test(overlap_calls, every_failing_allocation_is_out_of_memory)
{
    SCRATCH s = scratch_open();
    make_input(&s, "items.jsonl", ITEMS, false);
    make_input(&s, "train.jsonl", DOCUMENTS, true);
    cr_assert_gt(fail_each(&s, true), 60);
}

Test(overlap_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    SCRATCH s = scratch_open();
    make_input(&s, "items.jsonl", ITEMS, false);
    make_input(&s, "train.jsonl", DOCUMENTS, true);
    cr_assert_gt(fail_each(&s, false), 20);
}
