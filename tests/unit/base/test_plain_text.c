/* SPDX-License-Identifier: Apache-2.0 */
/* test_plain_text.c -- every code point, and bytes that are no UTF-8, against the ranges that the
 * header names. */
#include <criterion/criterion.h>

#include <string.h>

#include "base/utf8.h"

static const uint32_t ranges[][2] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
                                     {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

static bool listed(uint32_t code)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

Test(plain_text, the_hidden_characters_are_those_of_the_header)
{
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        if (point >= 0xD800 && point <= 0xDFFF)
            continue;
        char text[8];
        uint32_t code;
        bool hidden;
        const size_t len = (size_t)(bm_utf8_put(text, point) - text);
        text[len] = 'x'; /* the next byte must not matter */
        cr_assert_eq(bm_text_next(text, len + 1, &code, &hidden), len);
        cr_assert_eq(code, point);
        cr_assert_eq(hidden, listed(point), "U+%04X", (unsigned)point);
    }
}

Test(plain_text, bytes_that_are_not_utf8_are_hidden_one_by_one)
{
    static const bm_str bad[] = {
        {"\x80", 1},    {"\x9b[", 2},    {"\xff", 1},         {"\xc2", 1},
        {"\xc2[", 2},   {"\xc0\x80", 2}, {"\xed\xa0\x80", 3}, {"\xf4\x90\x80\x80", 4},
        {"\xe2\x80", 2}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t code;
        bool hidden;
        cr_expect_eq(bm_text_next(bad[i].data, bad[i].len, &code, &hidden), 1, "%d", (int)i);
        cr_expect_eq(code, BM_NO_CHARACTER);
        cr_expect(hidden);
    }
}

Test(plain_text, hidden_characters_become_their_bytes_and_the_rest_stays)
{
    static const char text[] =
        "a\x1b[31m \xc2\x9b\xc3\xa4 \xe2\x80\xae\x00 \x9b \xf0\x9f\x98\x80\\";
    static const char plain[] = "a\\x1b[31m \\xc2\\x9b\xc3\xa4 \\xe2\\x80\\xae\\x00 \\x9b "
                                "\xf0\x9f\x98\x80\\";
    bm_buf out = {0};
    cr_assert_eq(bm_buf_add_plain(&out, (bm_str){text, sizeof text - 1}, NULL), BM_OK);
    cr_assert_eq(out.len, sizeof plain - 1);
    cr_expect_arr_eq(out.data, plain, out.len);
    bm_buf_reset(&out);
}
