/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdatomic.h>
#include <time.h>

#include "base/error.h"
#include "bench/bench_work.h"
#include "tests/world/world_stop.h"

typedef struct fake {
    atomic_uint calls, finishes, threads_seen;
    unsigned fail_at; /* this call fails; 0: none */
    double seconds;   /* device time per call */
} fake;

static bm_status work(void *ctx, uint32_t thread, bm_bench_done *done, bm_error *err)
{
    fake *f = ctx;
    atomic_fetch_or(&f->threads_seen, 1u << thread);
    if (atomic_fetch_add(&f->calls, 1) + 1 == f->fail_at)
        return bm_fail(err, BM_ERR_DEVICE, "as asked");
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    done->shingles += 2e6;
    done->bytes += 6e6;
    done->seconds += f->seconds;
    return BM_OK;
}

static bm_status finish(void *ctx, uint32_t thread, bm_error *err)
{
    (void)thread;
    (void)err;
    atomic_fetch_add(&((fake *)ctx)->finishes, 1);
    return BM_OK;
}

static bm_status measure(fake *f, uint32_t threads, const bm_callbacks *callbacks,
                         bm_bench_rate *shingles, bm_bench_rate *bytes)
{
    bm_pool *pool = NULL;
    cr_assert_eq(bm_pool_open(3, &pool, NULL), BM_OK);
    bm_bench_plan plan = {
        .pool = pool, .threads = threads, .repeats = 4, .min_seconds = .01, .callbacks = callbacks};
    bm_bench_work w = {.ctx = f, .work = work, .finish = finish};
    bm_status status = bm_bench_measure(&plan, &w, shingles, bytes, NULL);
    bm_pool_close(pool);
    return status;
}

Test(bench_rate, a_call_of_a_millisecond_cannot_be_done_more_than_a_thousand_times_a_second)
{
    fake f = {0};
    bm_bench_rate shingles, bytes;
    cr_assert_eq(measure(&f, 1, NULL, &shingles, &bytes), BM_OK);
    cr_expect(shingles.min <= shingles.median && shingles.median <= shingles.max);
    cr_expect_leq(shingles.max, 2000.0, "2 million shingles a millisecond at the most");
    cr_expect_gt(shingles.min, 0.0);
    cr_expect_leq(bytes.max, 6000.0);
    cr_expect_eq(f.finishes, 5, "four runs and a warm-up");
    cr_expect_eq(f.threads_seen, 1);
}

Test(bench_rate, only_the_threads_of_the_plan_work_and_each_finishes)
{
    fake f = {0};
    bm_bench_rate shingles;
    cr_assert_eq(measure(&f, 2, NULL, &shingles, NULL), BM_OK);
    cr_expect_eq(f.threads_seen, 3);
    cr_expect_eq(f.finishes, 10);
    cr_expect_leq(shingles.max, 4000.0);
}

Test(bench_rate, the_devices_own_clock_counts_where_there_is_one)
{
    fake f = {.seconds = .5};
    bm_bench_rate shingles;
    cr_assert_eq(measure(&f, 1, NULL, &shingles, NULL), BM_OK);
    cr_expect_float_eq(shingles.median, 4.0, 1e-9);
    cr_expect_float_eq(shingles.max, 4.0, 1e-9);
}

Test(bench_rate, a_failure_ends_the_measurement_and_still_finishes)
{
    fake f = {.fail_at = 3};
    bm_bench_rate shingles = {.median = -1};
    cr_expect_eq(measure(&f, 1, NULL, &shingles, NULL), BM_ERR_DEVICE);
    cr_expect_eq(f.calls, 3);
    cr_expect_eq(f.finishes, 1);
    cr_expect_eq(shingles.median, -1);
}

Test(bench_rate, an_interrupted_measurement_does_no_more_work)
{
    fake f = {0};
    bm_callbacks callbacks = {.cancelled = world_stop};
    cr_expect_eq(measure(&f, 1, &callbacks, NULL, NULL), BM_ERR_CANCELLED);
    cr_expect_eq(f.calls, 0);
}
