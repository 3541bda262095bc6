/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_limit.c -- the limit that a device is compared with, and measuring in turns. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "bench/bench_work.h"

static bm_device_info device(bm_device_kind kind, const char *platform, const char *name,
                             uint32_t units, uint32_t clock_mhz)
{
    bm_device_info info = {.kind = kind, .compute_units = units, .clock_mhz = clock_mhz};
    strcpy(info.platform, platform);
    strcpy(info.name, name);
    return info;
}

Test(bench_limit, a_cpu_is_held_against_as_many_threads_as_it_works_on)
{
    const bm_device_info native = device(BM_DEVICE_NATIVE, "native", "EPYC", 16, 0);
    const bm_device_info cl =
        device(BM_DEVICE_CL_CPU, "Portable Computing Language", "EPYC", 16, 0);
    const bm_device_info gpu = device(BM_DEVICE_CL_GPU, "NVIDIA CUDA", "NVIDIA H200", 132, 1980);
    cr_expect_eq(bm_bench_limit_threads(&native, 1), 1);
    cr_expect_eq(bm_bench_limit_threads(&native, 5), 5);
    cr_expect_eq(bm_bench_limit_threads(&cl, 1), 16, "whatever the threads of the host");
    cr_expect_eq(bm_bench_limit_threads(&gpu, 4), 0, "none is measured");
}

Test(bench_limit, that_of_a_gpu_is_computed_where_its_vendor_is_known)
{
    /* units * MHz * multiply-adds a clock / permutations, in M shingles/s. AMD's multiply-adds take
     * one slot or four, and ROCm counts the compute units of RDNA in pairs. */
    const char *const rocm = "AMD Accelerated Parallel Processing";
    const struct {
        bm_device_info info;
        uint32_t perms;
        double least, most;
    } known[] = {
        {device(BM_DEVICE_CL_GPU, "NVIDIA CUDA", "NVIDIA H200", 132, 1980), 128, 130680, 130680},
        {device(BM_DEVICE_CL_GPU, "NVIDIA CUDA", "NVIDIA H200", 132, 1980), 256, 65340, 65340},
        {device(BM_DEVICE_CL_GPU, rocm, "gfx90a:sramecc+", 104, 1700), 128, 22100, 88400},
        {device(BM_DEVICE_CL_GPU, rocm, "gfx1100", 48, 2500), 128, 30000, 120000},
        {device(BM_DEVICE_CL_GPU, "rusticl", "AMD Radeon RX 6800", 60, 2105), 16, 126300, 505200},
    };
    const bm_device_info unknown[] = {
        device(BM_DEVICE_CL_GPU, "Some Platform", "A GPU", 132, 1980),
        device(BM_DEVICE_CL_CPU, "AMD", "AMD EPYC", 16, 3000),
        device(BM_DEVICE_CL_GPU, rocm, "gfx90a", 104, 0),
    };
    bm_bench_rate rate;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert(bm_bench_limit_computed(&known[i].info, known[i].perms, &rate));
        cr_expect_float_eq(rate.median, known[i].least, 1e-6, "%zu: %g", i, rate.median);
        cr_expect_float_eq(rate.min, known[i].least, 1e-6, "%zu: %g", i, rate.min);
        cr_expect_float_eq(rate.max, known[i].most, 1e-6, "%zu: %g", i, rate.max);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        cr_expect_not(bm_bench_limit_computed(&unknown[i], 128, &rate), "%zu", i);
}

/* The runs so far, one letter each. */
static char order[64];
static size_t n_order;

static bm_status note(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    if (n_order + 1 < sizeof order)
        order[n_order++] = *(const char *)ctx;
    done->shingles += 1e6 * (double)(thread + 1);
    done->bytes += 2e6;
    done->seconds = 1;
    return *(const char *)ctx == '!' ? bm_fail(err, BM_ERR_DEVICE, "it fails") : BM_OK;
}

Test(bench_limit, series_are_measured_in_turns_and_none_is_filled_after_a_failure)
{
    bm_pool *pool = NULL;
    cr_assert_eq(bm_pool_open(2, &pool, NULL), BM_OK);
    char names[] = "abc!";
    bm_bench_rate rates[4], bytes = {0};
    bm_bench_series series[4];
    for (size_t i = 0; i < 4; i++) {
        rates[i] = (bm_bench_rate){-1, -1, -1};
        series[i] =
            (bm_bench_series){.plan = {.pool = pool, .threads = 1, .repeats = 2, .min_seconds = 0},
                              .work = {.ctx = &names[i], .work = note},
                              .shingles = &rates[i]};
    }
    series[1].bytes = &bytes;
    cr_expect_eq(bm_bench_measure_all(series, 3, NULL), BM_OK);
    cr_expect_str_eq(order, "abcabcabc", "the first round is the warm-up");
    for (size_t i = 0; i < 3; i++)
        cr_expect_float_eq(rates[i].median, 1.0, 1e-9);
    cr_expect_float_eq(bytes.median, 2.0, 1e-9);
    bm_error err = {0};
    rates[2] = (bm_bench_rate){-1, -1, -1};
    cr_expect_eq(bm_bench_measure_all(series + 2, 2, &err), BM_ERR_DEVICE);
    cr_expect_eq(rates[2].median, -1);
    bm_pool_close(pool);
}
