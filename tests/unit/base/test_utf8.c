/* SPDX-License-Identifier: Apache-2.0 */
/* test_utf8.c -- validity and repair. Expected values: Unicode 3.9, tables 3-7 and 3-8; for all
 * short sequences also a second definition of well-formedness (decode, encode again, compare). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void expect_repair(const char *bytes, size_t len, const char *expected, uint64_t replaced)
{
    bm_buf out = {0};
    bm_error err;
    uint64_t n = 0;
    char *exact = malloc(len == 0 ? 1 : len); /* a sanitizer reports reads past the end */
    memcpy(exact, bytes, len);
    cr_assert_eq(bm_utf8_repair(exact, len, &out, &n, &err), BM_OK);
    cr_expect_eq(out.len, strlen(expected), "%zu bytes for '%s'", out.len, expected);
    cr_expect(out.len == strlen(expected) &&
                  (out.len == 0 || memcmp(out.data, expected, out.len) == 0),
              "'%.*s'", (int)out.len, out.data);
    cr_expect_eq(n, replaced);
    cr_expect_eq(bm_utf8_valid_prefix(out.data, out.len), out.len);
    bm_buf_reset(&out);
    free(exact);
}

#define R                          "\xEF\xBF\xBD"
#define REPAIR(bytes, expected, n) expect_repair(bytes, sizeof(bytes) - 1, expected, n)

Test(utf8, replaces_maximal_subparts_as_in_tables_3_8_to_3_11)
{
    /* Tables 3-8 to 3-11 of Unicode, which define the number of U+FFFD. */
    REPAIR("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", R R R R R R R R "A", 8);
    REPAIR("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", R R R R R R R R "A", 8);
    REPAIR("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", R R R R R "A" R R "B", 7);
    REPAIR("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", R R R R "A", 4);
    REPAIR("a\xF1\x80\x80\xE1\x80\xC2"
           "b\x80"
           "c\x80\xBF"
           "d",
           "a" R R R "b" R "c" R R "d", 6);
}

Test(utf8, knows_a_place_before_repair_and_after_it)
{
    /* as read: a, 2 broken bytes, b, a U+FFFD of the source, an unpaired surrogate, c */
    const bm_str read = {"a\xE2\x82"
                         "b" R "\xED\xA0\x80"
                         "c",
                         11},
                 text = {"a" R "b" R R "c", 12};
    static const size_t before[] = {0, 1, 3, 4, 7, 10, 11}, after[] = {0, 1, 4, 5, 8, 11, 12};
    bm_utf8_places last = {0, 0};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        cr_expect_eq(bm_utf8_before_repair(text, read, after[i]), before[i], "place %zu", after[i]);
        cr_expect_eq(bm_utf8_after_repair(text, read, before[i]), after[i], "place %zu", before[i]);
        cr_expect_eq(bm_utf8_go_before_repair(text, read, after[i], &last), before[i]);
    }
    cr_expect_eq(bm_utf8_go_before_repair(text, read, after[2], &last), before[2], "back again");
    cr_expect_eq(bm_utf8_before_repair(text, (bm_str){0}, 7), 7);
    cr_expect_eq(bm_utf8_after_repair(text, (bm_str){0}, 7), 7);
}

Test(utf8, knows_places_beside_bytes_that_look_like_a_surrogate)
{
    /* as read: a, an unpaired surrogate (3 bytes), a blank, another, b, two in a row, c */
    const bm_str read = {"a\xED\xA0\x80 \xED\xA0\x80"
                         "b\xED\xA0\x80\xED\xA0\x80"
                         "c",
                         16},
                 text = {"a" R R R " " R "b" R R R R "c", 28};
    static const size_t before[] = {0, 1, 4, 5, 8, 9, 15, 16},
                        after[] = {0, 1, 10, 11, 14, 15, 27, 28};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        cr_expect_eq(bm_utf8_before_repair(text, read, after[i]), before[i], "place %zu", after[i]);
        cr_expect_eq(bm_utf8_after_repair(text, read, before[i]), after[i], "place %zu", before[i]);
    }
}

Test(utf8, replaces_what_python_replaces)
{
    /* bytes.decode("utf-8", "replace") of Python 3.11 */
    REPAIR("\xF0\x9F\x98", R, 1);
    REPAIR("x\xE2\x82", "x" R, 1);
    REPAIR("\xC3(", R "(", 1);
    REPAIR("\xE2\x28\xA1", R "(" R, 2);
    REPAIR("\xF0\x28\x8C\xBC", R "(" R R, 3);
    REPAIR("\xF8\xA1\xA1\xA1\xA1", R R R R R, 5);
    REPAIR("\xE0\x9F\xBF", R R R, 3);
    REPAIR("\xF0\x8F\xBF\xBF", R R R R, 4);
    REPAIR("\xFE\xFF", R R, 2);
    REPAIR("\xF4\x90\x80\x80", R R R R, 4);
    REPAIR("\xC2", R, 1);
    REPAIR("\xF0\x90\x80", R, 1);
}

Test(utf8, leaves_valid_text_alone)
{
    REPAIR("", "", 0);
    REPAIR("plain", "plain", 0);
    REPAIR("\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80"
           "\xF4\x8F\xBF\xBF",
           "\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80"
           "\xF4\x8F\xBF\xBF",
           0);
}

Test(utf8, takes_nul_for_a_byte_like_others)
{
    cr_expect_eq(bm_utf8_valid_prefix("a\0b\xFF", 4), 3);
}

/* The length of the code point at s if encoding its value again gives the same bytes, else 0. */
static size_t by_round_trip(const unsigned char *s, size_t len)
{
    uint32_t lead = s[0], code;
    size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (n == 0 || n > len)
        return 0;
    code = n == 1 ? lead : lead & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code >= least[n] && code <= 0x10FFFF && !surrogate ? n : 0;
}

static size_t prefix_by_round_trip(const unsigned char *s, size_t len)
{
    size_t at = 0, n;
    while (at < len && (n = by_round_trip(s + at, len - at)) > 0)
        at += n;
    return at;
}

Test(utf8, agrees_with_round_trips_on_every_three_bytes)
{
    unsigned char s[4];
    for (uint32_t all = 0; all < 1u << 24; all++) {
        s[0] = (unsigned char)(all >> 16), s[1] = (unsigned char)(all >> 8);
        s[2] = (unsigned char)all;
        if (bm_utf8_valid_prefix((char *)s, 3) != prefix_by_round_trip(s, 3))
            cr_assert_fail("%02x %02x %02x", s[0], s[1], s[2]);
    }
}

Test(utf8, agrees_with_round_trips_on_every_four_bytes_at_the_borders)
{
    static const unsigned char at_border[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0};
    unsigned char s[4];
    for (unsigned lead = 0x80; lead < 0x100; lead++)
        for (unsigned second = 0; second < 0x100; second++)
            for (unsigned i = 0; i < 81; i++) {
                s[0] = (unsigned char)lead, s[1] = (unsigned char)second;
                s[2] = at_border[i / 9], s[3] = at_border[i % 9];
                if (bm_utf8_valid_prefix((char *)s, 4) != prefix_by_round_trip(s, 4))
                    cr_assert_fail("%02x %02x %02x %02x", s[0], s[1], s[2], s[3]);
            }
}

Test(utf8, finds_the_first_bad_byte_wherever_it_is)
{
    char text[200];
    for (size_t len = 0; len <= sizeof text; len += 7)
        for (size_t bad = 0; bad < len; bad++) {
            char *exact = malloc(len);
            memset(exact, 'x', len);
            exact[bad] = (char)0xBF;
            cr_assert_eq(bm_utf8_valid_prefix(exact, len), bad, "length %zu, at %zu", len, bad);
            free(exact);
        }
}

Test(utf8, repair_keeps_the_buffer_when_it_may_not_grow)
{
    bm_buf out = {.max = 8};
    bm_error err;
    uint64_t n = 5;
    cr_assert_eq(bm_buf_add(&out, "keep", 4, &err), BM_OK);
    cr_expect_eq(bm_utf8_repair("\xFF\xFF\xFF", 3, &out, &n, &err), BM_ERR_NOMEM);
    cr_expect_eq(out.len, 4);
    cr_expect_eq(n, 5);
    bm_buf_reset(&out);
}

/* A byte that is not ASCII is found at any position, whatever the block size of the ASCII loop. */
Test(utf8, long_ascii_ends_at_the_byte_that_is_none)
{
    char text[1100];
    for (size_t len = 0; len <= sizeof text; len += len < 300 ? 1 : 61) {
        memset(text, 'a', len);
        cr_assert_eq(bm_utf8_valid_prefix(text, len), len);
        for (size_t at = 0; at < len; at += at < 270 ? 1 : 13) {
            text[at] = (char)0xFF;
            cr_assert_eq(bm_utf8_valid_prefix(text, len), at, "%zu of %zu", at, len);
            text[at] = 'a';
        }
    }
}

Test(utf8, a_part_of_valid_text_is_whole_where_it_is_valid)
{
    static const char text[] = "a\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF"
                               "\xF0\x90\x80\x80z\xF4\x8F\xBF\xBF\xE2\x82\xAC";
    const size_t n = sizeof text - 1;
    cr_assert_eq(bm_utf8_valid_prefix(text, n), n);
    for (size_t from = 0; from <= n; from++)
        for (size_t to = from; to <= n; to++)
            cr_assert_eq(bm_utf8_is_whole(text + from, to - from),
                         bm_utf8_valid_prefix(text + from, to - from) == to - from, "%zu to %zu",
                         from, to);
}
