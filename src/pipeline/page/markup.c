/* markup.c -- see the header. Escaping is in one place: put_character.
 *
 * Tests: tests/unit/page/test_markup.c, tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/markup.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "pipeline/output/svg_plot.h"

#define NAME_MAX_BYTES 160u /* of a name that is shown whole */
#define NAME_END_BYTES 40u

void bm_markup_put(bm_markup *m, const char *html)
{
    if (m->status == BM_OK)
        m->status = bm_buf_add_text(&m->rows->buf, html, m->err);
}

void bm_markup_format(bm_markup *m, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bm_markup_put(m, text);
}

void bm_markup_flush(bm_markup *m, bool now)
{
    const size_t before = m->rows->buf.len;
    if (m->status == BM_OK)
        m->status = bm_rows_flush(m->rows, now, m->err);
    if (m->status == BM_OK)
        m->n_bytes += before - m->rows->buf.len;
}

/* --- texts of others --- */

typedef enum text_kind { RUNNING_TEXT, NAME, PLAIN_NAME } text_kind;

/* What neither a terminal nor a page should get: what bm_text_next calls hidden, and what is invisible, or no
 * character at all. */
static bool is_unseen(uint32_t code)
{
    return (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF) || /* no characters */
           code == 0xAD || code == 0x200B || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE0FFF);
}

static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* A hidden one: "U+202E"; a byte that belongs to no character: "\x9b". */
static void put_hidden(bm_markup *m, uint32_t code, char byte)
{
    if (code == BM_NO_CHARACTER)
        bm_markup_format(m, "\\x%02x", (unsigned char)byte);
    else
        bm_markup_format(m, "U+%04X", (unsigned)code);
}

/* How many bytes it takes, and whether it is hidden in a text of this kind. */
static size_t next_character(bm_str text, size_t at, text_kind kind, uint32_t *code, bool *hidden)
{
    const size_t n = bm_text_next(text.data + at, text.len - at, code, hidden);
    if (kind == RUNNING_TEXT && (*code == '\n' || *code == '\t'))
        *hidden = false;
    if (kind == RUNNING_TEXT && *code == '\r' && at + 1 < text.len && text.data[at + 1] == '\n')
        *hidden = false; /* and the browser drops it */
    *hidden = *hidden || is_unseen(*code);
    return n;
}

static void put_escaped(bm_markup *m, bm_str text, text_kind kind)
{
    bool open = false;
    size_t n;
    for (size_t at = 0; m->status == BM_OK && at < text.len; at += n) {
        uint32_t code;
        bool hidden;
        n = next_character(text, at, kind, &code, &hidden);
        if (hidden != open && kind != PLAIN_NAME)
            bm_markup_put(m, hidden ? "<span class=\"u\">" : "</span>");
        else if (hidden && open)
            bm_markup_put(m, " ");
        open = hidden;
        const char *escape = escape_of(text.data[at]);
        if (hidden)
            put_hidden(m, code, text.data[at]);
        else if (code == '\r')
            continue;
        else if (escape != NULL)
            bm_markup_put(m, escape);
        else if (m->status == BM_OK)
            m->status = bm_buf_add(&m->rows->buf, text.data + at, n, m->err);
    }
    if (open && kind != PLAIN_NAME)
        bm_markup_put(m, "</span>");
}

void bm_markup_text(bm_markup *m, bm_str text)
{
    put_escaped(m, text, RUNNING_TEXT);
}

/* Of a long name the first bytes, that cut no character, and the last. */
static void put_name(bm_markup *m, bm_str name, text_kind kind)
{
    if (name.len <= NAME_MAX_BYTES) {
        put_escaped(m, name, kind);
        return;
    }
    size_t first = NAME_MAX_BYTES - NAME_END_BYTES, last = name.len - NAME_END_BYTES;
    while (first > 0 && ((unsigned char)name.data[first] & 0xC0) == 0x80)
        first--;
    while (last < name.len && ((unsigned char)name.data[last] & 0xC0) == 0x80)
        last++;
    put_escaped(m, (bm_str){name.data, first}, kind);
    bm_markup_format(m, " \xE2\x80\xA6 (%s bytes) \xE2\x80\xA6 ", bm_svg_count(last - first).text);
    put_escaped(m, (bm_str){name.data + last, name.len - last}, kind);
}

void bm_markup_name(bm_markup *m, bm_str name)
{
    put_name(m, name, NAME);
}

void bm_markup_plain_name(bm_markup *m, bm_str name)
{
    put_name(m, name, PLAIN_NAME);
}

/* --- numbers --- */

void bm_markup_similarity(bm_markup *m, double similarity)
{
    if (isnan(similarity))
        bm_markup_put(m, "not known");
    else
        bm_markup_format(m, "%ld.%06ld", lround(similarity * 1e6) / 1000000,
                         lround(similarity * 1e6) % 1000000);
}
