/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <bandmill/bandmill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "tests/world/scratch.h"
#include "tests/world/world_stop.h"

/* Only 3 MB of documents, because whole jobs run over them. */
static scratch place;
static const char *paths[1];

static void write_documents(void)
{
    place = scratch_open();
    paths[0] = scratch_at(&place, "in.jsonl");
    FILE *file = scratch_write(&place, "in.jsonl");
    for (int i = 0; i < 5000; i++) {
        fprintf(file, "{\"text\":\"document");
        for (int w = 0; w < 80; w++)
            fprintf(file, w % 8 == 0 ? " the %d" : " %d", i * 77 + w * w);
        fprintf(file, "\"}\n");
    }
    fclose(file);
}

static void remove_documents(void)
{
    scratch_close(&place);
}

TestSuite(bench_run, .init = write_documents, .fini = remove_documents);

static bm_bench_options quick(const char *device)
{
    return (bm_bench_options){.device = {.device = device},
                              .sketch = {.seed = 1},
                              .text = {.normalize = BM_NORM_LOWER, .shingle_k = 5},
                              .paths = paths,
                              .n_paths = 1,
                              .threads = 2,
                              .repeats = 2,
                              .min_seconds = .005};
}

Test(bench_run, the_native_cpu_has_a_limit_resident_hashes_all_text_rows_and_each_scheme)
{
    enum { FIRST_TEXT = 2, FIRST_LONG = 9 };
    static const char *const what[] = {"arithmetic limit",
                                       "resident hashes",
                                       "text word:5",
                                       "text char:5",
                                       "text byte:8",
                                       "text word:5, plain",
                                       "text word:5, foreign",
                                       "text stopword:4",
                                       "text word:5, bag",
                                       "documents of 500, affine32",
                                       "documents of 500, oph",
                                       "documents of 500, legacy",
                                       "documents of 500, text-dedup",
                                       "documents of 500, nemo",
                                       "documents of 500, lance",
                                       "documents of 500, affine64",
                                       "documents of 500, datatrove"};
    enum { ROWS = sizeof what / sizeof *what };
    bm_bench_options options = quick("cpu");
    options.long_doc = 500;
    bm_bench_result result = {0};
    bm_error err = {0};
    cr_assert_eq(bm_bench_run(&options, &result, &err), BM_OK, "%s", err.message);
    const bm_bench_row *rows = result.rows;
    cr_assert_eq(result.n, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        cr_expect_str_eq(rows[i].device, "cpu");
        cr_expect_str_eq(rows[i].what, what[i]);
        cr_expect_str_eq(rows[i].unit, i >= FIRST_TEXT && i < FIRST_LONG ? "MB/s" : "Mshingles/s");
        cr_expect(rows[i].min > 0 && rows[i].min <= rows[i].median &&
                  rows[i].median <= rows[i].max);
        cr_expect_eq(rows[i].ratio > 0, i > 0);
        cr_expect_str_eq(rows[i].ratio_to, i > FIRST_LONG ? what[FIRST_LONG]
                                           : i > 0        ? what[0]
                                                          : "");
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", what[i]);
        cr_expect_not_null(strstr(result.json, quoted));
    }
    cr_expect_float_eq(rows[1].ratio, rows[1].median / rows[0].median, 1e-9);
    for (size_t i = FIRST_LONG + 1; i < ROWS; i++)
        cr_expect_float_eq(rows[i].ratio, rows[i].median / rows[FIRST_LONG].median, 1e-9);
    cr_assert_eq(result.n_jobs, 2);
    for (size_t i = 0; i < 2; i++) {
        const bm_bench_job *job = &result.jobs[i];
        cr_expect_str_eq(job->job, i == 0 ? "sign" : "dedup");
        cr_expect(job->seconds > 0 && job->gb_s > 0 && job->written_bytes > 0);
        cr_expect(job->documents == result.jobs[0].documents && job->shingles > job->documents);
        cr_expect(job->part[BM_BENCH_LINK] == 0 && job->part[BM_BENCH_ARITHMETIC] > 0);
    }
    const bm_version_info *version = bm_version();
    cr_expect_not_null(strstr(result.json, version->version));
    cr_expect_not_null(strstr(result.json, "\"processor\""));
    cr_expect_not_null(strstr(result.json, "\"compiler\""));
    bm_bench_result_reset(&result);
}

Test(bench_run, the_scalar_loops_have_the_same_rows)
{
    bm_bench_options options = quick("cpu");
    bm_bench_result result = {0};
    options.device.cpu = "scalar";
    options.sketch.perms = 16;
    cr_expect_eq(bm_bench_run(&options, &result, NULL), BM_OK);
    cr_expect_eq(result.n, 17);
    bm_bench_result_reset(&result);
}

Test(bench_run, bad_settings_are_refused_and_nothing_is_filled)
{
    bm_bench_options bad[3];
    for (size_t i = 0; i < 3; i++)
        bad[i] = quick("cpu");
    bad[0].device.device = "no such device";
    bad[1].sketch.perms = BM_PERMS_MAX + 1;
    bad[2].min_seconds = 1e9;
    for (size_t i = 0; i < 3; i++) {
        bm_bench_result result = {0};
        bm_error err = {0};
        cr_expect_eq(bm_bench_run(&bad[i], &result, &err), i == 0 ? BM_ERR_DEVICE : BM_ERR_USAGE,
                     "setting %zu", i);
        cr_expect_null(result.rows);
        cr_expect_neq(err.message[0], '\0');
    }
}

Test(bench_run, the_answer_alone_needs_two_rows_and_so_does_what_has_no_time)
{
    bm_bench_options options = quick("cpu");
    for (int late = 0; late < 2; late++) {
        bm_bench_result result = {0};
        options.answer_only = late == 0;
        options.seconds = late == 0 ? 0 : 1e-9;
        cr_assert_eq(bm_bench_run(&options, &result, NULL), BM_OK);
        cr_expect_eq(result.n, 2);
        cr_expect_eq(result.n_jobs, 2);
        bm_bench_result_reset(&result);
    }
}

Test(bench_run, it_stops_when_asked_to)
{
    bm_bench_options options = quick("cpu");
    bm_bench_result result = {0};
    options.callbacks.cancelled = world_stop;
    cr_expect_eq(bm_bench_run(&options, &result, NULL), BM_ERR_CANCELLED);
    cr_expect_null(result.rows);
}
