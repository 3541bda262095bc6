/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest_times.c -- the bottleneck is the stage whose threads were idle the least. */
#include "sign/ingest_order.c"

#include <criterion/criterion.h>

#include "sign/ingest_cfg.h"

Test(ingest_times, stages_are_compared_by_the_time_of_one_thread)
{
    bm_ingest_times t = {.workers = 4, .read = 2, .text = 4, .sign = 3, .deliver = 1};
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "read", "one thread reads, four parse");
    t.text = 9;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "text");
    t.device = 5;
    t.device_workers = 2;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "device");
    t.sign = 20;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "sign");
    t.deliver = 6;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "deliver");
    t.put = 28;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "put", "four put");
    t.enter = 32;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "enter", "four enter");
    t.enter = 0;
    t.fill = 24;
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "read", "four read by position");
    t = (bm_ingest_times){.text = 1};
    cr_assert_str_eq(bm_ingest_bottleneck(&t), "text", "no thread is no division");
}

Test(ingest_times, threads_add_up)
{
    bm_ingest_times all = {.read = 1, .elapsed = 7, .workers = 3};
    const bm_ingest_times one = {.read = 1,
                                 .fill = 9,
                                 .text = 2,
                                 .sign = 3,
                                 .device = 4,
                                 .deliver = 5,
                                 .wait = 6,
                                 .put = 7,
                                 .idle = 8,
                                 .enter = 10};
    ingest_times_add(&all, &one);
    ingest_times_add(&all, &one);
    cr_assert(all.read == 3 && all.fill == 18 && all.text == 4 && all.sign == 6 && all.device == 8);
    cr_assert(all.deliver == 10 && all.wait == 12 && all.put == 14 && all.idle == 16);
    cr_assert(all.enter == 20);
    cr_assert(all.elapsed == 7 && all.workers == 3, "those are of the whole");
}
