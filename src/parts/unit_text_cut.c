/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text_cut.c -- finds where lines and paragraphs of a text end.
 *
 *     ··first line⏎          leading White_Space belongs to the unit
 *     second line⏎
 *     ⏎                      blank lines belong to the paragraph before them,
 *     ·⏎                     or to the first paragraph if there is none
 *     next paragraph
 *
 * Tests: tests/cli/cases/units.sh, tests/reference/test_units.py */
#include "parts/units.h"

#include <string.h>

#include "parts/cuts.h"

static size_t line_end(bm_str text, size_t at)
{
    const char *newline = memchr(text.data + at, '\n', text.len - at);
    return newline != NULL ? (size_t)(newline - text.data) + 1 : text.len;
}

bm_text_unit_end bm_unit_end(bm_unit unit, bm_str text, size_t at)
{
    bm_text_unit_end out = {line_end(text, at), true};
    out.blank = bm_text_is_blank(text.data + at, text.data + out.end);
    if (unit == BM_UNIT_LINE)
        return out;
    bool ending = false;
    while (out.end < text.len) {
        const size_t next = line_end(text, out.end);
        const bool blank = bm_text_is_blank(text.data + out.end, text.data + next);
        if (ending && !blank)
            break;
        ending = blank && !out.blank;
        out.blank = out.blank && blank;
        out.end = next;
    }
    return out;
}
