/* SPDX-License-Identifier: Apache-2.0 */
/* against_calls.c -- in a dedup against known documents, each allocation and each system call fails
 * once in turn, until a run has no failure (the first fifty each, then fewer and fewer). The known
 * documents are an index, or signatures that become one; signatures have words, or sets made again
 * from the inputs.
 *
 * A run that fails reports why, and leaks neither memory nor open files; a run that goes on all the
 * same gives the right rows. */
#include <criterion/criterion.h>

#include <bandmill/bandmill.h>

#include "tests/world/scratch.h"
#include "tests/world/world_document.h"
#include "failed_run.h"

/* --- the setup: documents, an index of some, signatures of them --- */

static void make_input(scratch *s, const char *name, int first, int n)
{
    FILE *file = scratch_write(s, name);
    for (int doc = first; doc < first + n; doc++) {
        world_document(file, "d", doc, 4 * (doc % 13) + 100 * (doc % 3), 30);
    }
    cr_assert_eq(fclose(file), 0);
}

static const bm_band_options bands = {.threshold = 0.7, .recall = 0.95, .bands = 64, .rows = 1};

static void build(scratch *s, const char *path)
{
    bm_index_build_options options;
    bm_summary *summary = NULL;
    bm_error err = {0};
    const char *paths[] = {path};
    bm_index_build_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.bands = bands;
    options.output.path = scratch_at(s, "index");
    options.device.device = "cpu";
    options.resources.threads = 1;
    cr_assert_eq(bm_job_index_build(&options, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
}

static void sign(scratch *s, const char *path)
{
    bm_sign_options options;
    bm_summary *summary = NULL;
    bm_error err = {0};
    const char *paths[] = {path};
    bm_sign_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.text.shingle_k = 1;
    options.sketch.perms = 64;
    options.output.path = scratch_at(s, "signed");
    options.device.device = "cpu";
    options.resources.threads = 1;
    cr_assert_eq(bm_job_sign(&options, &summary, &err), BM_OK, "%s", err.message);
    bm_summary_free(summary);
}

static void open_place(scratch *s)
{
    *s = scratch_open();
    make_input(s, "known.jsonl", 0, 12);
    make_input(s, "new.jsonl", 100, 20);
    build(s, scratch_at(s, "known.jsonl"));
    sign(s, scratch_at(s, "known.jsonl"));
}

/* --- each call fails once --- */

typedef enum known_kind { INDEX, WORDS, SETS, KINDS } known_kind;

static bm_status run(scratch *s, known_kind kind, bm_error *err)
{
    bm_dedup_options options;
    bm_summary *summary = NULL;
    const char *paths[] = {scratch_at(s, "new.jsonl")};
    bm_dedup_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    options.against = (const char *const[]){scratch_at(s, kind == INDEX ? "index" : "signed")};
    options.n_against = 1;
    if (kind != INDEX)
        options.bands = bands;
    options.verify = kind == WORDS ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    options.cluster = kind == WORDS ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
    options.kept = BM_RECORDS_NOT_WRITTEN;
    options.output.path = scratch_at(s, "out");
    options.output.force = true;
    options.device.device = "cpu";
    options.resources.threads = 1;
    options.resources.memory = 1 << 28;
    const bm_status status = bm_job_dedup(&options, &summary, err);
    bm_summary_free(summary);
    return status;
}

static long fail_each(scratch *s, known_kind kind, bool memory)
{
    bm_error err = {0};
    cr_assert_eq(run(s, kind, &err), BM_OK, "%s", err.message);
    char *right = scratch_get(s, "out/removed.tsv", NULL);
    cr_assert_not_null(strstr(right, "\tknown\t"));
    long n_failed = 0;
    plan.failed = true;
    /* later calls are much alike, so ever fewer of them fail */
    for (long n = 0; plan.failed; n += 1 + n / 50) {
        const size_t n_files = open_files();
        memset(&err, 0, sizeof err);
        plan_call(n, EIO, memory);
        const bm_status status = run(s, kind, &err);
        plan.armed = false;
        expect_failed_run(n, n_files, status, BM_OK, err.message);
        char *got =
            scratch_get(s, "out/removed.tsv", NULL); /* of the earlier output, or the new one's */
        cr_assert_str_eq(got, right);
        free(got);
        n_failed += plan.failed;
    }
    free(right);
    return n_failed;
}

Test(against_calls, every_failing_allocation_is_out_of_memory)
{
    SCRATCH s;
    open_place(&s);
    for (known_kind kind = INDEX; kind < KINDS; kind++)
        cr_assert_gt(fail_each(&s, kind, true), 60);
}

Test(against_calls, every_failing_call_is_an_error_or_makes_no_difference)
{
    SCRATCH s;
    open_place(&s);
    for (known_kind kind = INDEX; kind < KINDS; kind++)
        cr_assert_gt(fail_each(&s, kind, false), 20);
}
