/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_answer.c -- the conclusions drawn from measurements: checked by hand, and against a
 * model that computes with rates instead of times. */
#include <criterion/criterion.h>

#include <bandmill/bandmill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "tests/world/scratch.h"
#include "bench/bench_answer.c"

static const bm_bench_options options = {.price = 3, .watts = 500};

/* A job over 1 GB and 1 M documents. */
static bm_bench_job sample_job(double seconds, double cpu_seconds)
{
    return (bm_bench_job){.job = "sign",
                          .bytes = 1e9,
                          .documents = 1e6,
                          .signed_shingles = 2e8,
                          .up_bytes = 6e8,
                          .down_bytes = 5e8,
                          .written_bytes = 1e8,
                          .seconds = seconds,
                          .cpu_seconds = cpu_seconds};
}

Test(bench_answer, a_job_slower_than_its_disk_is_as_fast_as_it_was)
{
    const bm_bench_rates rates = {.mshingles_s = 100,
                                  .up_mb_s = 1000,
                                  .down_mb_s = 2000,
                                  .read_mb_s = 5000,
                                  .write_mb_s = 2500,
                                  .threads = 4};
    const bm_bench_job native = sample_job(4, 14);
    bm_bench_job job = sample_job(2.5, 6);
    bench_answer_compute(&options, &rates, &native, &job);
    cr_expect_float_eq(job.part[BM_BENCH_ARITHMETIC], 2, 1e-12, "2e8 shingles at 100 M/s");
    cr_expect_float_eq(job.part[BM_BENCH_LINK], .6, 1e-12, "the longer of .6 up and .25 down");
    cr_expect_float_eq(job.part[BM_BENCH_HOST], 1.5, 1e-12, "6 CPU seconds on 4 threads");
    cr_expect_float_eq(job.part[BM_BENCH_DISK], .24, 1e-12, ".2 to read, .04 to write");
    cr_expect_str_eq(job.binds, "arithmetic");
    cr_expect_float_eq(job.gb_s, .4, 1e-12);
    cr_expect_float_eq(job.documents_s, 4e5, 1e-6);
    cr_expect_float_eq(job.replaces, 3.2, 1e-12, "8 CPU seconds less, in 2.5 seconds");
    cr_expect_float_eq(job.hours, 2500 / 3600.0, 1e-12);
    cr_expect_float_eq(job.cost, 2500 / 1200.0, 1e-12);
    cr_expect_float_eq(job.kwh, 1250 / 3600.0, 1e-12);
}

Test(bench_answer,
     arithmetic_that_takes_the_hosts_cores_is_no_part_of_the_host_and_a_slow_disk_is_waited_for)
{
    const bm_bench_rates rates = {
        .mshingles_s = 100, .read_mb_s = 250, .write_mb_s = 100, .threads = 4, .cores = 4};
    bm_bench_job job = sample_job(4, 14);
    bench_answer_compute(&options, &rates, NULL, &job);
    cr_expect_float_eq(job.part[BM_BENCH_HOST], 1.5, 1e-12, "14 less 2 on each of 4");
    cr_expect_eq(job.part[BM_BENCH_LINK], 0, "there is none");
    cr_expect_float_eq(job.part[BM_BENCH_DISK], 5, 1e-12);
    cr_expect_str_eq(job.binds, "disk");
    cr_expect_float_eq(job.gb_s, .2, 1e-12, "not 1 GB in 4 seconds");
    cr_expect_eq(job.replaces, 0);
}

static double any(bm_random *random)
{
    return 1 + (double)bm_random_range(random, 0, 1000);
}

Test(bench_answer, a_model_of_rates_says_the_same)
{
    static const char *const names[] = {"arithmetic", "link", "host", "disk"};
    bm_random random;
    bm_random_init(&random, 7);
    for (int i = 0; i < 2000; i++) {
        const bm_bench_rates rates = {.mshingles_s = any(&random),
                                      .up_mb_s = any(&random),
                                      .down_mb_s = any(&random),
                                      .read_mb_s = any(&random),
                                      .write_mb_s = any(&random),
                                      .threads = (uint32_t)any(&random)};
        bm_bench_job job = sample_job(any(&random) / 10, any(&random));
        /* Documents per second that each resource would allow. */
        double least_up = rates.up_mb_s * 1e6 / 600, least_down = rates.down_mb_s * 1e6 / 500;
        double allowed[4] = {rates.mshingles_s * 1e6 / 200,
                             least_up < least_down ? least_up : least_down,
                             1e6 * rates.threads / job.cpu_seconds,
                             1 / (1000 / (rates.read_mb_s * 1e6) + 100 / (rates.write_mb_s * 1e6))};
        int slowest = 0;
        for (int p = 1; p < 4; p++)
            slowest = allowed[p] < allowed[slowest] ? p : slowest;
        const double measured = 1e6 / job.seconds;
        const double rate = measured < allowed[3] ? measured : allowed[3];
        bench_answer_compute(&options, &rates, NULL, &job);
        cr_assert_str_eq(job.binds, names[slowest]);
        cr_assert_float_eq(job.documents_s / rate, 1, 1e-9);
        cr_assert_float_eq(job.gb_s / (rate * 1e-6), 1, 1e-9);
        cr_assert_float_eq(job.hours * rate * 3600 / 1e9, 1, 1e-9);
        cr_assert_float_eq(job.kwh / job.hours, .5, 1e-9);
    }
}

Test(bench_answer, the_words_name_each_device_and_only_what_was_asked_for)
{
    bm_bench_job jobs[4];
    const bm_bench_rates rates = {.mshingles_s = 100, .threads = 4};
    char *text = NULL;
    for (int i = 0; i < 4; i++) {
        jobs[i] = sample_job(2, i < 2 ? 8 : 4);
        jobs[i].job = i % 2 == 0 ? "sign" : "dedup";
        strcpy(jobs[i].device, i < 2 ? "cpu" : "opencl:0.0");
        strcpy(jobs[i].device_name, i < 2 ? "EPYC" : "H200");
        bench_answer_compute(&options, &rates, i < 2 ? NULL : &jobs[i % 2], &jobs[i]);
    }
    jobs[1].gb_s /= 2; /* so that the other device is faster */
    const bm_bench_options used = {.threads = 4, .price = 3};
    cr_assert_eq(bm_bench_answer_write(&used, jobs, 4, &text, NULL), BM_OK);
    for (char *c = text; c < strstr(text, "\n\n"); c++)
        *c = *c == '\n' ? ' ' : *c;
    static const char *const has[] = {
        "1000000 documents of 1000 bytes, made from a seed", "on 4 CPU cores (EPYC) sign 0.5 GB/s",
        "on opencl:0.0 (H200) sign 0.5 GB/s, bound by the arithmetic, in place of 2.0 cores; dedup",
        ("take sign on cpu 0.556 hours, a cost of 1.67; dedup on cpu 0.556 hours, a cost of 1.67; "
         "dedup on opencl:0.0 0.556 hours, a cost of 1.67."),
        "\nopencl:0.0   dedup    0.500 GB/s  ########################################\n"};
    for (size_t i = 0; i < sizeof has / sizeof has[0]; i++)
        cr_expect_not_null(strstr(text, has[i]), "no %s in %s", has[i], text);
    cr_expect_null(strstr(text, "kWh"));
    bm_string_free(text);
}

Test(bench_answer, a_folder_is_cleared_with_all_in_it_and_nothing_behind_a_link)
{
    char folder[BM_BENCH_FOLDER_BYTES], path[BM_BENCH_FOLDER_BYTES + 16];
    SCRATCH s = scratch_open();
    const char *outside = scratch_put_text(&s, "outside", "");
    cr_assert_eq(bm_bench_folder_make("test", folder, NULL), BM_OK);
    snprintf(path, sizeof path, "%s/below", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/below/file", folder);
    FILE *file = fopen(path, "w");
    fputs("seven b", file);
    fclose(file);
    snprintf(path, sizeof path, "%s/below/link", folder);
    cr_assert_eq(symlink(outside, path), 0);
    const double bytes = bm_bench_folder_clear(folder);
    cr_expect_float_eq(bytes, 7 + strlen(outside), 0, "the file and the link itself");
    cr_expect_neq(access(folder, F_OK), 0);
    cr_expect_eq(access(outside, F_OK), 0);
}
