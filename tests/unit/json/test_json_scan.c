/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_scan.c -- walking over JSON text: members, elements and strings by RFC 8259; never past
 * the end; and copies that have the same value. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_scan.h"
#include "tests/world/world_text.h"

static void expect(bm_json *json, const char *text)
{
    cr_assert_eq(bm_json_finish(json, NULL), BM_OK);
    cr_expect_str_eq(json->buf.data, text);
    bm_buf_reset(&json->buf);
}

Test(json_scan, members_and_elements_come_in_order_and_nest)
{
    const char *text = " { \"a\" : [ 1 , \"]\\\"\" , {\"b\":[]} ] ,\"c\":{\"d\":null}, \"a\":7 } ";
    bm_str object = {text + 1, strlen(text) - 1}, key, value;
    static const char *const keys[] = {"\"a\"", "\"c\"", "\"a\""};
    static const char *const values[] = {"[ 1 , \"]\\\"\" , {\"b\":[]} ]", "{\"d\":null}", "7"};
    size_t at = 0, n = 0;
    for (; bm_json_scan_member(object, &at, &key, &value); n++) {
        cr_assert_lt(n, 3u);
        cr_expect(key.len == strlen(keys[n]) && memcmp(key.data, keys[n], key.len) == 0);
        cr_expect(value.len == strlen(values[n]) && memcmp(value.data, values[n], value.len) == 0);
    }
    cr_expect_eq(n, 3u);
    cr_assert(bm_json_scan_find(object, "a", &value));
    cr_expect(value.len == 1 && value.data[0] == '7', "the last of equal keys counts");
    cr_expect_not(bm_json_scan_find(object, "d", &value), "only this object's own keys");
}

Test(json_scan, strings_lose_their_escapes)
{
    const char *text = "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20ac\\ud83d\\ude00\\ud800x\"";
    bm_buf out = {0};
    cr_assert_eq(bm_json_scan_string(world_str(text), &out, NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
    cr_expect_str_eq(out.data, "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdx");
    bm_buf_reset(&out);
}

Test(json_scan, no_prefix_of_an_object_makes_it_read_past_the_end)
{
    const char *text = "{\"a\":[1,{\"b\":\"x\\u12\"}],\"c\":\"\\\\\",\"d\":{\"e\":tru";
    for (size_t len = 0; len <= strlen(text); len++) {
        char *exact = malloc(len + 1); /* a sanitizer reports a read one byte too far */
        bm_str object = {exact, len}, key, value;
        memcpy(exact, text, len);
        exact = realloc(exact, len == 0 ? 1 : len);
        object.data = exact;
        size_t at = 0, n = 0;
        bm_buf out = {0};
        while (bm_json_scan_member(object, &at, &key, &value)) {
            cr_assert_leq(value.data + value.len, exact + len);
            (void)bm_json_scan_string(value, &out, NULL);
            n++;
        }
        cr_expect_leq(n, 3u);
        bm_buf_reset(&out);
        free(exact);
    }
}

Test(json_scan, a_copy_is_the_same_value_in_the_writers_layout)
{
    const char *text = "{\n \"a\": [1, 2.50, {\"b\": \"\\u00e4\"}],\n \"c\\\"d\": null\n}";
    bm_json json = {0};
    bm_json_scan_copy(world_str(text), &json);
    expect(&json, "{\"a\":[1,2.50,{\"b\":\"\\u00e4\"}],\"c\\\"d\":null}\n");
}

Test(json_scan, whole_numbers_are_read_to_the_last_and_no_further)
{
    uint64_t n;
    cr_expect(bm_json_scan_uint((bm_str){"18446744073709551615", 20}, &n) && n == UINT64_MAX);
    cr_expect_not(bm_json_scan_uint((bm_str){"18446744073709551616", 20}, &n));
    cr_expect_not(bm_json_scan_uint((bm_str){"1.0", 3}, &n));
    cr_expect_not(bm_json_scan_uint((bm_str){"-1", 2}, &n));
    cr_expect_not(bm_json_scan_uint((bm_str){"", 0}, &n));
}

Test(json_scan, elements_of_any_kind_come_one_by_one)
{
    static const char *const values[] = {"0",          "-1.5e+3", "\"a,]\\\"[\"",    "[ ]",
                                         "[[1,2],{}]", "true",    "{\"k\":[\"}\"]}", "\"\"",
                                         "null"};
    static const char *const between[] = {",", " , ", "\n,\r\n\t"};
    const size_t n_values = sizeof values / sizeof values[0];
    for (size_t b = 0; b < 3; b++) {
        char text[256] = "[ ";
        for (size_t i = 0; i < n_values; i++) {
            strcat(text, i > 0 ? between[b] : "");
            strcat(text, values[i]);
        }
        strcat(text, " ] , 7"); /* text after the array */
        size_t at = 0, n = 0;
        for (bm_str value; bm_json_scan_element(world_str(text), &at, &value); n++) {
            cr_assert_lt(n, n_values);
            cr_expect(value.len == strlen(values[n]) &&
                          memcmp(value.data, values[n], value.len) == 0,
                      "%zu", n);
        }
        cr_expect_eq(n, n_values);
    }
}

Test(json_scan, what_is_no_array_or_object_has_nothing_in_it)
{
    static const char *const texts[] = {"", " ", "7", "\"[1]\"", "null", "[]", "[ ]", "{}", "{ }"};
    bm_str key, value;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t at = 0, member = 0;
        cr_expect_not(bm_json_scan_element(world_str(texts[i]), &at, &value), "%s", texts[i]);
        cr_expect_not(bm_json_scan_member(world_str(texts[i]), &member, &key, &value), "%s",
                      texts[i]);
        cr_expect_not(bm_json_scan_find(world_str(texts[i]), "a", &value), "%s", texts[i]);
    }
}

Test(json_scan, what_is_no_string_is_refused)
{
    static const char *const texts[] = {
        "",          "\"",        "7",           "null",        "\"a",    "a\"",
        "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"", "\"\\\"", "\"a\\0\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bm_buf out = {0};
        cr_expect_eq(bm_json_scan_string(world_str(texts[i]), &out, NULL), BM_ERR_FORMAT, "%s",
                     texts[i]);
        bm_buf_reset(&out);
    }
}

Test(json_scan, halves_of_a_surrogate_pair_count_only_together)
{
    static const struct {
        const char *quoted, *plain;
    } known[] = {
        {"\"\\uD800\\uDC00\"", "\xf0\x90\x80\x80"}, /* least and greatest pair: U+10000, U+10FFFF */
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf"},
        {"\"\\uDC00\\uD800\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\uD83D\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\uD83D\\n\"", "\xef\xbf\xbd\n"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        bm_buf out = {0};
        cr_assert_eq(bm_json_scan_string(world_str(known[i].quoted), &out, NULL), BM_OK);
        cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
        cr_expect_str_eq(out.data, known[i].plain, "%s", known[i].quoted);
        bm_buf_reset(&out);
    }
}

Test(json_scan, a_copy_of_deep_brackets_is_whole)
{
    enum { DEPTH = 5000 };
    char *text = malloc(2 * DEPTH + 2);
    bm_json json = {0};
    cr_assert_not_null(text);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    memcpy(text + 2 * DEPTH, "\n", 2);
    bm_json_scan_copy((bm_str){text, 2 * DEPTH}, &json);
    expect(&json, text);
    free(text);
}
