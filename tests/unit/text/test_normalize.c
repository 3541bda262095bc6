/* SPDX-License-Identifier: Apache-2.0 */
/* test_normalize.c -- the list of --normalize, the Unicode tables, and the normal forms, compared
 * with utf8proc's own for every code point. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/text/normalize_oracle.h"
#include "text/shingler.h"
#include "text/unicode_tables.h"
#include "base/utf8.h"
#include "tests/world/sized.h"

Test(normalize, knows_the_classes_of_the_standard)
{
    static const struct {
        uint32_t code, class;
    } known[] = {
        {'a', BM_CLASS_WORD},      {'0', BM_CLASS_WORD},         {'_', BM_CLASS_OTHER},
        {' ', BM_CLASS_SPACE},     {0x1C, BM_CLASS_OTHER},       {0x85, BM_CLASS_SPACE},
        {0xA0, BM_CLASS_SPACE},    {0xB2, BM_CLASS_WORD},        {0x301, BM_CLASS_MARK},
        {0xE01, BM_CLASS_SPLIT},   {0xE31, BM_CLASS_SPLIT_MARK}, {0xE3F, BM_CLASS_OTHER},
        {0x200B, BM_CLASS_OTHER},  {0x2028, BM_CLASS_SPACE},     {0x2160, BM_CLASS_WORD},
        {0x3000, BM_CLASS_SPACE},  {0x3005, BM_CLASS_SPLIT},     {0x3007, BM_CLASS_SPLIT},
        {0x3042, BM_CLASS_SPLIT},  {0x3099, BM_CLASS_MARK},      {0x30FC, BM_CLASS_WORD},
        {0x4E00, BM_CLASS_SPLIT},  {0x9FFF, BM_CLASS_SPLIT},     {0xAC00, BM_CLASS_WORD},
        {0xD800, BM_CLASS_OTHER},  {0xE000, BM_CLASS_OTHER},     {0xFF76, BM_CLASS_SPLIT},
        {0x1F600, BM_CLASS_OTHER}, {0x323AF, BM_CLASS_SPLIT},    {0x323B0, BM_CLASS_OTHER},
        {0xE0100, BM_CLASS_MARK},  {0x10FFFF, BM_CLASS_OTHER},   {0x1780, BM_CLASS_SPLIT},
        {0x1000, BM_CLASS_SPLIT},  {0xE81, BM_CLASS_SPLIT},      {0x17B6, BM_CLASS_SPLIT_MARK}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        cr_expect_eq(bm_char_class_of(known[i].code), known[i].class, "U+%04X", known[i].code);
    cr_expect_str_eq(bm_unicode_version(), "15.0.0");
}

Test(normalize, counts_as_many_code_points_as_the_standard_does)
{
    /* Unicode 15.0: 25 White_Space; in UnicodeData.txt 1433 lines with a field 13, 680 Nd, 1985 Mn,
     * 842 P, 825345 unassigned, 922 with a combining class. */
    unsigned spaces = 0, lowered = 0, nd = 0, mn = 0, p = 0, cn = 0, ccc = 0, ignorable = 0;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        spaces += bm_char_class_of(code) == BM_CLASS_SPACE;
        lowered += bm_char_lower(code) != code;
        nd += (bm_char_info(code) & BM_IS_ND) != 0;
        mn += (bm_char_info(code) & BM_IS_MN) != 0;
        p += (bm_char_info(code) & BM_IS_P) != 0;
        cn += (bm_char_info(code) & BM_IS_CN) != 0;
        ccc += bm_char_ccc(code) != 0;
        const bool is = (bm_char_info(code) & BM_IS_IGNORABLE) != 0;
        ignorable += is;
        cr_assert_eq(is, is_ignorable((int32_t)code), "U+%04X", code);
    }
    cr_expect_eq(spaces, 25);
    cr_expect_eq(lowered, 1433);
    cr_expect_eq(nd, 680);
    cr_expect_eq(mn, 1985);
    cr_expect_eq(p, 842);
    cr_expect_eq(cn, 825345);
    cr_expect_eq(ccc, 922);
    cr_expect_eq(ignorable, 4173); /* DerivedCoreProperties.txt: 4174, with U+200B */
}

static void compare_forms(const char *text, size_t len, uint32_t normalize)
{
    static bm_codes fast, spare, exact;
    cr_assert_eq(
        bm_normalize_run((bm_str){text, len}, normalize, &(bool){false}, &fast, &spare, NULL),
        BM_OK);
    cr_assert_eq(normalize_exactly((bm_str){text, len}, normalize, &exact, NULL), BM_OK);
    cr_assert(fast.len == exact.len && memcmp(fast.data, exact.data, fast.len * 4) == 0,
              "normalize %x of '%.*s': %zu and %zu code points", normalize, (int)len, text,
              fast.len, exact.len);
}

Test(normalize, gives_utf8procs_forms_for_every_code_point_between_marks)
{
    const uint32_t step = (uint32_t)sized(1, 17); /* of unassigned code points */
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char text[32], *end = text;
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        if (code % step != 0 && (code >= 0xE0200 || (bm_char_info(code) & BM_IS_CN) != 0))
            continue;
        end = bm_utf8_put(end, 'o');
        end = bm_utf8_put(end, 0x301);
        end = bm_utf8_put(end, code);
        end = bm_utf8_put(end, 0x323);
        end = bm_utf8_put(end, 0x11A8);
        for (uint32_t form = 0; form < 4; form++) {
            static const uint32_t forms[] = {
                BM_NORM_NFC, BM_NORM_NFKC | BM_NORM_INVISIBLE, BM_NORM_STRIP_ACCENTS,
                BM_NORM_NFKC | BM_NORM_LOWER | BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS};
            compare_forms(text, (size_t)(end - text), forms[form]);
        }
    }
}

Test(normalize, gives_the_whole_from_its_parts_where_a_cut_is_allowed)
{
    /* For each code point X and each cut C: the normal form of X + C + mark is that of X, then that
     * of the rest. */
    static const uint32_t cuts[] = {'a',    '=',    ' ',    0x85,   0xA0,   0x1680,
                                    0x2000, 0x2028, 0x3000, 0x3001, 0x3002, 0xFF0C};
    static bm_codes whole, first, rest, spare;
    for (uint32_t code = 0; code <= 0x2FFFF; code += (uint32_t)sized(1, code < 0x3100 ? 1 : 7))
        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
            char text[16], *end = text;
            if (code >= 0xD800 && code <= 0xDFFF)
                continue;
            end = bm_utf8_put(end, code);
            size_t cut = (size_t)(end - text);
            end = bm_utf8_put(bm_utf8_put(end, cuts[i]), 0x308);
            size_t len = (size_t)(end - text);
            const uint32_t all =
                BM_NORM_NFKC | BM_NORM_LOWER | BM_NORM_STRIP_ACCENTS | (i % 2) * BM_NORM_INVISIBLE;
            bool of_whole = false, of_parts = false;
            const bm_str all_of_it = {text, len}, begin = {text, cut},
                         end_of_it = {text + cut, len - cut};
            cr_assert_eq(bm_normalize_run(all_of_it, all, &of_whole, &whole, &spare, NULL), BM_OK);
            cr_assert_eq(bm_normalize_run(begin, all, &of_parts, &first, &spare, NULL), BM_OK);
            cr_assert_eq(bm_normalize_run(end_of_it, all, &of_parts, &rest, &spare, NULL), BM_OK);
            bool same = whole.len == first.len + rest.len &&
                        memcmp(whole.data, first.data, first.len * 4) == 0 &&
                        memcmp(whole.data + first.len, rest.data, rest.len * 4) == 0;
            cr_assert(same, "U+%04X before U+%04X", code, cuts[i]);
        }
}

/* `from` and `to` are UTF-8. Expects the same result whether the text comes whole or one character
 * at a time. */
static void expect_visible(const char *from, const char *to)
{
    bm_codes codes = {0}, spare = {0};
    const bm_str text = {from, strlen(from)};
    char out[64], *end = out;
    cr_assert_eq(bm_normalize_run(text, BM_NORM_INVISIBLE, &(bool){false}, &codes, &spare, NULL),
                 BM_OK);
    for (size_t i = 0; i < codes.len; i++)
        end = bm_utf8_put(end, (uint32_t)codes.data[i]);
    *end = '\0';
    cr_expect_str_eq(out, to, "'%s' is '%s' (expected '%s')", from, out, to);
    bool after_base = false;
    end = out;
    for (const char *at = from, *const last = from + text.len; at < last;) {
        const char *begin = at;
        (void)bm_utf8_next(&at, last);
        cr_assert_eq(bm_normalize_run((bm_str){begin, (size_t)(at - begin)}, BM_NORM_INVISIBLE,
                                      &after_base, &codes, &spare, NULL),
                     BM_OK);
        for (size_t i = 0; i < codes.len; i++)
            end = bm_utf8_put(end, (uint32_t)codes.data[i]);
    }
    *end = '\0';
    cr_expect_str_eq(out, to, "'%s' in parts is '%s' (expected '%s')", from, out, to);
    bm_codes_reset(&codes);
    bm_codes_reset(&spare);
}

Test(normalize, what_is_not_seen_is_dropped)
{
    expect_visible("so\u00ADft a\u200Cb\u200Dc\u2060d\uFEFFe", "soft abcde");
    expect_visible("\u202Eabc\u202C\u200E\u061C", "abc");
    expect_visible("\u3164\u115F\u1160\uFFA0\u034F\u180E", "");
    expect_visible("a\u200Bb", "a b");
    expect_visible("\u845B\U000E0100\u57CE", "\u845B\u57CE"); /* a variant of a Han character */
}

Test(normalize, marks_stay_behind_letters_and_numbers_alone)
{
    expect_visible("e\u0301 1\u20E3 \u2160\u0323\u0301", "e\u0301 1\u20E3 \u2160\u0323\u0301");
    expect_visible("\u2764\uFE0F\u2708\uFE0F#\uFE0F\u20E3", "\u2764\u2708#");
    expect_visible("\u0301\u0323a,\u0301 \u0301b\u0301", "a, b\u0301");
    /* ignorable code points do not separate */
    expect_visible("e\u200D\u0301\uFE0F\u0323", "e\u0301\u0323");
    expect_visible("e\u200B\u0301", "e ");
    expect_visible("\u05D0\u05B8 \u0915\u094D\u200D\u0937 \u0E01\u0E31",
                   "\u05D0\u05B8 \u0915\u094D\u0937 \u0E01\u0E31");
    expect_visible("_\u0301$\u0E31", "_$");
}
