/* SPDX-License-Identifier: Apache-2.0 */
/* test_annotation.c -- where a record's group is inserted, and which records have no place for
 * one. */
#include "jobs/job_filter.c"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A record, followed by readable bytes as in a batch. */
static bm_record record_of(const char *raw, bool is_header)
{
    static char bytes[1024];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, raw, strlen(raw));
    return (bm_record){.line = 7, .raw = {bytes, strlen(raw)}, .is_header = is_header};
}

static bm_status annotate(bm_annotation *a, const char *raw, const bm_group_label *label, char *out,
                          bm_error *err)
{
    const bm_record record = record_of(raw, label == NULL);
    bm_insertion insertion = {0};
    const bm_annotated what = {&record, "in", label};
    bm_status status = annotation_find(a, &what, &insertion, err);
    if (status == BM_OK) {
        cr_assert_leq(insertion.at, record.raw.len);
        sprintf(out, "%.*s%.*s%s", (int)insertion.at, raw, (int)insertion.text.len,
                insertion.text.len > 0 ? insertion.text.data : "", raw + insertion.at);
    }
    return status;
}

static const bm_group_label removed = {.group = 12, .size = 3, .millionths = 7};
static const bm_group_label alone = {.millionths = BM_JACCARD_UNKNOWN, .kept = true};

Test(annotation, it_is_the_last_member_of_an_object)
{
    static const struct {
        const char *raw, *expected;
    } cases[] = {
        {"{}", "{\"bandmill\":{\"group\":12,\"size\":3,\"kept\":false,\"jaccard\":0.000007}}"},
        {" { \t}\r\n",
         " { \t\"bandmill\":{\"group\":12,\"size\":3,\"kept\":false,\"jaccard\":0.000007}}\r\n"},
        {"{\"a\":{ } }\n",
         "{\"a\":{ } "
         ",\"bandmill\":{\"group\":12,\"size\":3,\"kept\":false,\"jaccard\":0.000007}}\n"},
        {"\xEF\xBB\xBF{\"a\":\"{\"}", "\xEF\xBB\xBF{\"a\":\"{\",\"bandmill\":{\"group\":12,"
                                      "\"size\":3,\"kept\":false,\"jaccard\":0.000007}}"},
    };
    bm_annotation a;
    char out[1024];
    cr_assert_eq(annotation_open(&(bm_input_options){.format = BM_FORMAT_JSONL}, &a, NULL), BM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(annotate(&a, cases[i].raw, &removed, out, NULL), BM_OK);
        cr_expect_str_eq(out, cases[i].expected);
    }
    cr_expect_eq(annotate(&a, "{\"a\":1}", &alone, out, NULL), BM_OK);
    cr_expect_str_eq(
        out,
        "{\"a\":1,\"bandmill\":{\"group\":null,\"size\":null,\"kept\":true,\"jaccard\":null}}");
    bm_error err = {0};
    cr_expect_eq(annotate(&a, "{\"bandmill\":null}", &alone, out, &err), BM_ERR_INPUT);
    cr_expect_eq(err.line, 7);
    cr_expect_eq(annotate(&a, "{\"\\u0062andmill\":1}", &alone, out, NULL), BM_ERR_INPUT);
    annotation_close(&a);
}

Test(annotation, the_mark_of_an_array_stays_alone)
{
    bm_annotation a;
    char out[1024];
    cr_assert_eq(annotation_open(&(bm_input_options){.format = BM_FORMAT_JSON}, &a, NULL), BM_OK);
    cr_expect_eq(annotate(&a, "\xEF\xBB\xBF", NULL, out, NULL), BM_OK);
    cr_expect_str_eq(out, "\xEF\xBB\xBF");
    annotation_close(&a);
}

Test(annotation, rows_get_four_columns_below_each_other)
{
    bm_annotation a;
    char out[1024];
    cr_assert_eq(annotation_open(&(bm_input_options){.format = BM_FORMAT_TSV}, &a, NULL), BM_OK);
    cr_expect_eq(annotate(&a, "a\tb\r\n", NULL, out, NULL), BM_OK);
    cr_expect_str_eq(out,
                     "a\tb\tbandmill_group\tbandmill_size\tbandmill_kept\tbandmill_jaccard\r\n");
    cr_expect_eq(annotate(&a, "1\t2\n", &removed, out, NULL), BM_OK);
    cr_expect_str_eq(out, "1\t2\t12\t3\tfalse\t0.000007\n");
    cr_expect_eq(annotate(&a, "\n", &alone, out, NULL), BM_OK);
    cr_expect_str_eq(out, "\t\t\t\ttrue\t\n");
    cr_expect_eq(annotate(&a, "1\t2\t3\n", &removed, out, NULL), BM_ERR_INPUT);
    cr_expect_eq(annotate(&a, "a\tbandmill_group", NULL, out, NULL), BM_ERR_INPUT);
    annotation_close(&a);
}

Test(annotation, formats_without_a_place_are_refused)
{
    static const bm_format none[] = {BM_FORMAT_LINES, BM_FORMAT_FILES, BM_FORMAT_HASHES};
    for (size_t i = 0; i < 3; i++) {
        bm_annotation a;
        bm_error err = {0};
        cr_expect_eq(annotation_open(&(bm_input_options){.format = none[i]}, &a, &err),
                     BM_ERR_USAGE);
        cr_expect_not_null(strstr(err.message, "annotate"));
        annotation_close(&a);
    }
}
