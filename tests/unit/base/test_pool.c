/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "tests/world/world_calls.h"

typedef struct tally {
    atomic_uint calls[16];
    atomic_size_t sum;
    size_t fail_at;
} tally;

static bm_status count_thread(void *ctx, uint32_t thread, bm_error *err)
{
    (void)err;
    atomic_fetch_add(&((tally *)ctx)->calls[thread], 1);
    return BM_OK;
}

Test(pool, each_thread_runs_once_a_round)
{
    for (uint32_t n = 1; n <= 8; n++) {
        tally t = {0};
        bm_pool *pool = world_open(bm_pool, n);
        cr_assert_eq(bm_pool_size(pool), n);
        for (int round = 0; round < 100; round++)
            cr_assert_eq(bm_pool_run(pool, count_thread, &t, NULL), BM_OK);
        for (uint32_t i = 0; i < 16; i++)
            cr_assert_eq(atomic_load(&t.calls[i]), i < n ? 100u : 0u);
        bm_pool_close(pool);
    }
}

static bm_status add_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    tally *t = ctx;
    for (size_t i = begin; i < end; i++) {
        if (i == t->fail_at)
            return bm_fail(err, BM_ERR_INPUT, "item %zu", i);
        atomic_fetch_add(&t->sum, i + 1);
    }
    return BM_OK;
}

Test(pool, ranges_cover_every_item_once)
{
    bm_pool *pool = world_open(bm_pool, 3);
    for (size_t n = 0; n < 2000; n += 111) {
        for (size_t grain = 1; grain < 300; grain += 98) {
            tally t = {.fail_at = SIZE_MAX};
            cr_assert_eq(bm_pool_for(pool, (bm_pool_split){n, grain}, add_range, &t, NULL), BM_OK);
            cr_assert_eq(atomic_load(&t.sum), n * (n + 1) / 2);
        }
    }
    bm_pool_close(pool);
}

Test(pool, a_failure_comes_back_with_its_words)
{
    bm_error err = {0};
    bm_pool *pool = world_open(bm_pool, 4);
    tally t = {.fail_at = 77};
    cr_assert_eq(bm_pool_for(pool, (bm_pool_split){100, 10}, add_range, &t, &err), BM_ERR_INPUT);
    cr_assert_str_eq(err.message, "item 77");
    bm_pool_close(pool);
}
