/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_ingest.c -- the report of the ingest and of the work of devices, written here by
 * hand. */
#include <criterion/criterion.h>

#include <string.h>

#include "job/report_file.h"

/* The members that a part of the report has written, in an object of their own. */
static void expect(bm_json *json, const char *wanted)
{
    bm_json_end_object(json);
    cr_assert_eq(bm_json_finish(json, NULL), BM_OK);
    cr_expect_str_eq(json->buf.data, wanted);
    bm_buf_reset(&json->buf);
}

static void expect_ingest(const bm_ingest_times *times, const char *wanted)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_report_ingest(&json, times);
    expect(&json, wanted);
}

static void expect_offload(const bm_text_offload *offload, const char *wanted)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    bm_report_text_offload(&json, offload);
    expect(&json, wanted);
}

Test(report_ingest, seconds_stand_under_their_names)
{
    const bm_ingest_times times = {.elapsed = 9,
                                   .read = 1.5,
                                   .fill = 1.25,
                                   .text = 2.5,
                                   .sign = 8,
                                   .device = 0.25,
                                   .deliver = 0.5,
                                   .enter = 0.125,
                                   .put = 0.75,
                                   .wait = 3,
                                   .idle = 4,
                                   .workers = 2,
                                   .device_workers = 1};
    expect_ingest(
        &times,
        "{\"flow\":{\"bottleneck\":\"sign\",\"workers\":2,\"devices\":1,"
        "\"thread_seconds\":{\"elapsed\":9,\"read\":1.5,\"fill\":1.25,\"text\":2.5,\"sign\":8,"
        "\"device\":0.25,\"deliver\":0.5,\"enter\":0.125,\"put\":0.75,\"worker_wait\":3,\"device_"
        "idle\":4}}}\n");
}

Test(report_ingest, without_an_ingest_there_is_nothing_to_tell)
{
    expect_ingest(&(bm_ingest_times){.elapsed = 1}, "{}\n");
}

Test(report_ingest, devices_without_a_choice_are_not_mentioned)
{
    expect_offload(&(bm_text_offload){0}, "{}\n");
}

Test(report_ingest, what_devices_were_given_stands_with_the_rule_or_the_rates)
{
    expect_offload(&(bm_text_offload){.able = true, .taken = true},
                   "{\"device_input\":{\"form\":\"text\"}}\n");
    expect_offload(&(bm_text_offload){.own_processors = true},
                   "{\"device_input\":{\"form\":\"hashes\",\"because\":"
                   "\"the device is made of the host's own processors\"}}\n");
    const bm_text_offload tried = {.able = true,
                                   .measured = true,
                                   .text_rate = 1,
                                   .host_text_rate = 2,
                                   .device_text_rate = 3,
                                   .hash_rate = 4,
                                   .host_hash_rate = 5,
                                   .device_hash_rate = 6,
                                   .cpu_rate = 7};
    expect_offload(&tried, "{\"device_input\":{\"form\":\"hashes\",\"trial_bytes_per_second\":"
                           "{\"text\":1,\"text_host\":2,\"text_device\":3,"
                           "\"hashes\":4,\"hashes_host\":5,\"hashes_device\":6,\"cpu\":7}}}\n");
}
