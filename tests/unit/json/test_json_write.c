/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_write.c -- layout, escapes, and numbers that read back. */
#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_write.h"

#include "tests/world/world_random.h"

static void expect(bm_json *json, const char *text)
{
    cr_assert_eq(bm_json_finish(json, NULL), BM_OK);
    cr_expect_str_eq(json->buf.data, text);
    bm_buf_reset(&json->buf);
}

static void expect_number(double value, const char *text)
{
    bm_json json = {0};
    bm_json_double(&json, value);
    cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
    json.buf.data[json.buf.len - 1] = '\0';
    cr_expect_str_eq(json.buf.data, text);
    bm_buf_reset(&json.buf);
}

static void write_sample(bm_json *json)
{
    bm_json_begin_object(json);
    bm_json_key(json, "a");
    bm_json_uint(json, UINT64_MAX);
    bm_json_key(json, "b");
    bm_json_begin_array(json);
    bm_json_bool(json, true);
    bm_json_text(json, NULL);
    bm_json_begin_object(json);
    bm_json_end_object(json);
    bm_json_raw(json, "[1,2]");
    bm_json_end_array(json);
    bm_json_key(json, "c");
    bm_json_begin_array(json);
    bm_json_end_array(json);
    bm_json_end_object(json);
}

Test(json_write, a_pretty_object_indents_by_two_spaces)
{
    bm_json json = {.pretty = true};
    write_sample(&json);
    expect(&json, "{\n  \"a\": 18446744073709551615,\n  \"b\": [\n    true,\n    null,\n    {},\n"
                  "    [1,2]\n  ],\n  \"c\": []\n}\n");
}

Test(json_write, strings_are_escaped_as_rfc_8259_asks_and_no_further)
{
    bm_json json = {0};
    static const char text[] = "q\" b\\ s/ \b\f\n\r\t \x01\x1f\0 \x7f \xc3\xa4";
    bm_json_string(&json, (bm_str){text, sizeof text - 1});
    expect(&json, "\"q\\\" b\\\\ s/ \\b\\f\\n\\r\\t \\u0001\\u001f\\u0000 \x7f \xc3\xa4\"\n");
}

Test(json_write, doubles_take_their_shortest_form)
{
    expect_number(0, "0");
    expect_number(-0.0, "-0");
    expect_number(1, "1");
    expect_number(-1.5, "-1.5");
    expect_number(0.1, "0.1");
    expect_number(0.1 + 0.2, "0.30000000000000004");
    expect_number(1.0 / 3, "0.3333333333333333");
    expect_number(2.0 / 3, "0.6666666666666666");
    expect_number(0.95, "0.95");
    expect_number(100, "100");
    expect_number(123456789012345678.0, "1.2345678901234568e+17");
    expect_number(12345678901234568.0, "12345678901234568");
    expect_number(1e21, "1e+21");
    expect_number(0.00001, "0.00001");
    expect_number(0.000001, "1e-06");
    expect_number(1.25e-7, "1.25e-07");
    expect_number(5e-324, "5e-324");
    expect_number(DBL_MAX, "1.7976931348623157e+308");
    expect_number(DBL_MIN, "2.2250738585072014e-308");
}

Test(json_write, any_double_reads_back_to_the_same_bits)
{
    uint64_t state = 7;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = world_random(&state);
        double value, back;
        if (i % 2 == 0) /* similarities and the like */
            bits = bits % UINT64_C(0x3FF0000000000001);
        memcpy(&value, &bits, 8);
        if (!isfinite(value))
            continue;
        bm_json json = {0};
        bm_json_double(&json, value);
        cr_assert_eq(bm_json_finish(&json, NULL), BM_OK);
        back = strtod(json.buf.data, NULL);
        cr_assert_eq(memcmp(&back, &value, 8), 0, "%a became %s", value, json.buf.data);
        cr_assert_leq(json.buf.len, 26u);
        bm_buf_reset(&json.buf);
    }
}

Test(json_write, a_locale_with_a_decimal_comma_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && set == NULL; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    if (set == NULL)
        cr_skip_test("no locale with a decimal comma is installed");
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    cr_assert_str_eq(text, "0,5");
    expect_number(0.1 + 0.2, "0.30000000000000004");
    expect_number(-1234.5, "-1234.5");
}

Test(json_write, text_that_is_not_closed_is_an_error)
{
    bm_json open = {0}, closed = {0}, key = {0};
    bm_error err;
    bm_json_begin_object(&open);
    cr_expect_eq(bm_json_finish(&open, &err), BM_ERR_INTERNAL);
    bm_json_end_array(&closed);
    cr_expect_eq(bm_json_finish(&closed, &err), BM_ERR_INTERNAL);
    bm_json_begin_object(&key);
    bm_json_key(&key, "x");
    bm_json_end_object(&key);
    cr_expect_eq(bm_json_finish(&key, &err), BM_ERR_INTERNAL);
    bm_buf_reset(&open.buf);
    bm_buf_reset(&closed.buf);
    bm_buf_reset(&key.buf);
}

Test(json_write, running_out_of_room_sticks_until_the_end)
{
    bm_json json = {.buf = {.max = 16}};
    bm_error err;
    bm_json_begin_array(&json);
    for (int i = 0; i < 20; i++)
        bm_json_uint(&json, 123456);
    bm_json_end_array(&json);
    cr_expect_eq(bm_json_finish(&json, &err), BM_ERR_NOMEM);
    bm_buf_reset(&json.buf);
}
