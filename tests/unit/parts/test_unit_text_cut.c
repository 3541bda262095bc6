/* SPDX-License-Identifier: Apache-2.0 */
/* Where lines and paragraphs end. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "parts/units.h"

/* Writes the end of each unit of the text: "END ", or "(END) " for a blank unit. */
static void ends_of(bm_unit unit, const char *text, size_t len, char *out)
{
    const bm_str all = {text, len};
    for (size_t at = 0; at < len;) {
        const bm_text_unit_end end = bm_unit_end(unit, all, at);
        cr_assert(end.end > at && end.end <= len);
        out += sprintf(out, end.blank ? "(%zu) " : "%zu ", end.end);
        at = end.end;
    }
    *out = '\0';
}

#define ENDS(unit, text, expected)                                                                 \
    do {                                                                                           \
        char got[256];                                                                             \
        ends_of(unit, text, sizeof(text) - 1, got);                                                \
        cr_assert_str_eq(got, expected);                                                           \
    } while (0)

Test(unit_text_cut, a_line_ends_behind_its_newline)
{
    ENDS(BM_UNIT_LINE, "a\nbc\r\n\n d", "2 6 (7) 9 ");
    ENDS(BM_UNIT_LINE, "a\n", "2 ");
    ENDS(BM_UNIT_LINE, "a", "1 ");
    ENDS(BM_UNIT_LINE, "", "");
    ENDS(BM_UNIT_LINE, "\r\rx\r\n\r\n", "5 (7) ");
}

Test(unit_text_cut, a_paragraph_ends_behind_the_blank_lines_that_follow_it)
{
    ENDS(BM_UNIT_PARAGRAPH, "a\nb\n\nc", "5 6 ");
    ENDS(BM_UNIT_PARAGRAPH, "a\n \t\r\n\n\nb\n\n", "8 11 ");
    ENDS(BM_UNIT_PARAGRAPH, "\n \n  a\nb", "8 ");
    ENDS(BM_UNIT_PARAGRAPH, "\n\n", "(2) ");
    ENDS(BM_UNIT_PARAGRAPH, "a\nb\nc", "5 ");
}

Test(unit_text_cut, white_space_is_that_of_unicode)
{
    ENDS(BM_UNIT_LINE, "\xC2\xA0\xE3\x80\x80\xE2\x80\xA8\xC2\x85\n", "(11) ");
    ENDS(BM_UNIT_PARAGRAPH, "a\n\xE3\x80\x80\nb", "6 7 ");
    ENDS(BM_UNIT_LINE, "\xE2\x80\x8B\n\xFF\n", "4 6 "); /* a zero width space is not white space */
}
