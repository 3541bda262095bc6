/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_file.c -- static functions of src/job/report_file.c. */
#include "job/report_file.c"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "job/rows.h"

/* === groups ===
 *
 * The report of groups that are made by hand. */

/* Groups of given sizes, of consecutive documents. In each group the first document is kept and the
 * last is chained. */
typedef struct made {
    bm_grouping grouping;
    bm_doc_table docs;
    uint32_t members[256], kept[256];
    uint64_t begin[32];
    uint8_t reason[256];
} made;

static void make(made *m, const uint32_t *sizes, size_t n_groups)
{
    uint32_t doc = 0;
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < n_groups; i++) {
        uint32_t first = doc;
        m->begin[i] = doc;
        for (; doc < first + sizes[i]; doc++) {
            char id[16];
            bm_doc_row row = {.line = doc + 1};
            int len = snprintf(id, sizeof id, "d\"%u", doc);
            m->members[doc] = doc;
            m->kept[doc] = first;
            m->reason[doc] = doc == first                  ? BM_REASON_KEPT
                             : doc + 1 == first + sizes[i] ? BM_REASON_CHAINED
                                                           : BM_REASON_NEAR;
            const bm_doc_id hashed = {{id, (size_t)len}, doc * 7919u};
            cr_assert_eq(bm_doc_table_add(&m->docs, &row, hashed, "f", NULL), BM_OK);
        }
        m->begin[i + 1] = doc;
        m->grouping.n_removed += sizes[i] - 1;
        m->grouping.n_chained++;
        m->grouping.largest = sizes[i] > m->grouping.largest ? sizes[i] : m->grouping.largest;
    }
    m->grouping.n = doc;
    m->grouping.n_groups = n_groups;
    m->grouping.members = m->members;
    m->grouping.kept = m->kept;
    m->grouping.begin = m->begin;
    m->grouping.reason = m->reason;
}

static void expect(made *m, const char *wanted)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    cr_assert_eq(report_groups(&json, &m->grouping, &m->docs, NULL), BM_OK);
    bm_json_end_object(&json);
    cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
    cr_expect_str_eq(json.buf.data, wanted);
    bm_buf_reset(&json.buf);
    bm_doc_table_reset(&m->docs);
}

Test(report_groups, sizes_ascend_and_the_largest_come_first_of_equal_ones_the_first)
{
    made m;
    make(&m, (uint32_t[]){2, 5, 3, 5, 2}, 5);
    expect(&m, "{\"group_sizes\":[{\"size\":2,\"groups\":2},{\"size\":3,\"groups\":1},"
               "{\"size\":5,\"groups\":2}],\"largest_groups\":["
               "{\"group\":2,\"kept\":\"d\\\"2\",\"size\":5,\"chained\":1},"
               "{\"group\":4,\"kept\":\"d\\\"10\",\"size\":5,\"chained\":1},"
               "{\"group\":3,\"kept\":\"d\\\"7\",\"size\":3,\"chained\":1},"
               "{\"group\":1,\"kept\":\"d\\\"0\",\"size\":2,\"chained\":1},"
               "{\"group\":5,\"kept\":\"d\\\"15\",\"size\":2,\"chained\":1}],"
               "\"chained_share\":0.4166666666666667}\n"); /* 5 of 12 */
}

Test(report_groups, no_more_than_ten_are_listed)
{
    for (int descending = 0; descending < 2; descending++) {
        made m;
        uint32_t sizes[12];
        for (uint32_t i = 0; i < 12; i++)
            sizes[i] = descending ? 13 - i : 2 + i;
        make(&m, sizes, 12);
        bm_json json = {0};
        bm_json_begin_object(&json);
        cr_assert_eq(report_groups(&json, &m.grouping, &m.docs, NULL), BM_OK);
        bm_json_end_object(&json);
        cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
        const char *at = json.buf.data;
        for (uint32_t size = 13; size >= 4; size--) {
            char wanted[32];
            snprintf(wanted, sizeof wanted, "\"size\":%u,\"chained\"", size);
            const char *next = strstr(at, wanted);
            cr_assert_not_null(next, "%s", wanted);
            at = next + 1;
        }
        cr_expect_null(strstr(at, "\"size\":3,\"chained\""));
        bm_buf_reset(&json.buf);
        bm_doc_table_reset(&m.docs);
    }
}

Test(report_groups, without_groups_there_is_nothing_to_share)
{
    made m;
    make(&m, NULL, 0);
    expect(&m, "{\"group_sizes\":[],\"largest_groups\":[],\"chained_share\":0}\n");
}

Test(report_groups, only_bins_that_hold_pairs_are_listed)
{
    uint64_t bins[BM_HISTOGRAM_BINS] = {0};
    bm_json json = {0};
    bins[0] = 1;
    bins[BM_HISTOGRAM_BINS / 2] = 7;
    bins[BM_HISTOGRAM_BINS - 1] = 3;
    bm_json_begin_object(&json);
    report_similarities(&json, bins);
    bm_json_end_object(&json);
    cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
    const char *first = "{\"similarities\":[{\"low\":0,\"high\":0.0";
    cr_expect_eq(strncmp(json.buf.data, first, strlen(first)), 0, "%s", json.buf.data);
    cr_expect_not_null(strstr(json.buf.data, ",\"pairs\":1},{\"low\":0.5,\"high\":0.5"));
    cr_expect_not_null(strstr(json.buf.data, ",\"pairs\":7},{\"low\":0.9"));
    cr_expect_not_null(strstr(json.buf.data, ",\"high\":1,\"pairs\":3}]}"));
    bm_buf_reset(&json.buf);
}

/* === ingest ===
 *
 * The report of the ingest and of the devices' work; expected texts are written by hand. */

/* Ends the object that holds the members of one part of the report, and compares it. */
static void ingest_expect(bm_json *json, const char *wanted)
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
    report_ingest(&json, times);
    ingest_expect(&json, wanted);
}

static void expect_offload(const bm_text_offload *offload, const char *wanted)
{
    bm_json json = {0};
    bm_json_begin_object(&json);
    report_text_offload(&json, offload);
    ingest_expect(&json, wanted);
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
