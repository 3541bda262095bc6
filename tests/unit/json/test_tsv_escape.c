/* SPDX-License-Identifier: Apache-2.0 */
/* test_tsv_escape.c -- ids and paths, escaped for tab-separated text and back. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_write.h"
#include "tests/world/world_random.h"

static void expect(const char *text, size_t len, const char *escaped)
{
    bm_buf out = {0};
    cr_assert_eq(bm_tsv_escape(&out, (bm_str){text, len}, NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&out, NULL), BM_OK);
    cr_expect_str_eq(out.data, escaped);
    size_t back = bm_tsv_unescape(out.data, out.len);
    cr_expect_eq(back, len);
    cr_expect_eq(memcmp(out.data, text, len), 0);
    bm_buf_reset(&out);
}

Test(tsv_escape, four_characters_are_escaped_and_no_others)
{
    expect("a\\b\tc\nd\re", 9, "a\\\\b\\tc\\nd\\re");
    expect("plain \"quotes\" 'and' /slashes/", 30, "plain \"quotes\" 'and' /slashes/");
    expect("\b\v\f\x1b\x7f", 5, "\b\v\f\x1b\x7f");
    expect("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", 11, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
    expect("", 0, "");
}

Test(tsv_escape, bytes_that_are_not_utf_8_become_xhh)
{
    expect("\xff", 1, "\\xff");
    expect("a\xc3", 2, "a\\xc3");
    expect("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
    expect("\xc0\xaf\tz", 4, "\\xc0\\xaf\\tz");
    expect("caf\xe9/\xc3\xa9", 7, "caf\\xe9/\xc3\xa9");
}

Test(tsv_escape, a_nul_is_a_byte_like_others)
{
    bm_buf out = {0};
    cr_assert_eq(bm_tsv_escape(&out, (bm_str){"a\0b", 3}, NULL), BM_OK);
    cr_expect(out.len == 3 && memcmp(out.data, "a\0b", 3) == 0);
    bm_buf_reset(&out);
}

Test(tsv_escape, any_bytes_come_back_and_hold_no_tab_or_newline)
{
    uint64_t state = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[40];
        size_t len = (size_t)round % sizeof text;
        for (size_t i = 0; i < len; i++) {
            const uint64_t r = world_random(&state);
            /* half of the bytes are special ones */
            text[i] = r >> 63 ? (char)r : "\\\t\n\rx0a\xc3\xa4\xff"[r % 11];
        }
        bm_buf out = {0};
        cr_assert_eq(bm_tsv_escape(&out, (bm_str){text, len}, NULL), BM_OK);
        cr_assert(len == 0 || (memchr(out.data, '\t', out.len) == NULL &&
                               memchr(out.data, '\n', out.len) == NULL &&
                               memchr(out.data, '\r', out.len) == NULL));
        size_t back = len == 0 ? 0 : bm_tsv_unescape(out.data, out.len);
        cr_assert(back == len && (len == 0 || memcmp(out.data, text, len) == 0));
        bm_buf_reset(&out);
    }
}

Test(tsv_escape, broken_escapes_are_told)
{
    static const char *const broken[] = {"\\",   "a\\",   "\\q",   "\\x",
                                         "\\x1", "\\x1g", "\\xg1", "\\N"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char *text = strdup(broken[i]);
        cr_expect_eq(bm_tsv_unescape(text, strlen(text)), SIZE_MAX, "%s", broken[i]);
        free(text);
    }
    char upper[] = "\\xFF\\xaB";
    cr_expect_eq(bm_tsv_unescape(upper, strlen(upper)), 2u, "digits of either case are read");
    cr_expect(memcmp(upper, "\xff\xab", 2) == 0);
}

Test(tsv_escape, a_failure_leaves_the_buffer_as_it_was)
{
    bm_buf out = {.max = 8};
    cr_assert_eq(bm_buf_add_text(&out, "head", NULL), BM_OK);
    cr_expect_eq(bm_tsv_escape(&out, (bm_str){"a\tb\tc\td", 7}, NULL), BM_ERR_NOMEM);
    cr_expect(out.len == 4 && memcmp(out.data, "head", 4) == 0);
    bm_buf_reset(&out);
}
