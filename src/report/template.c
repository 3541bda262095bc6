/* SPDX-License-Identifier: Apache-2.0 */
/* template.c -- cuts the template into tags, links the tags of each block, and renders them in
 * order. All untrusted text goes through put_escaped.
 *
 * Tests: tests/unit/report/test_template.c, tests/cli/cases/report.sh,
 * tests/reference/test_report.py */
#include "report/page.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json_scan.h"
#include "job/figure.h"

#define NAME_MAX_BYTES 160u /* size of a name that is shown whole */
#define NAME_END_BYTES 40u
#define DEPTH_MAX      16u /* most nested blocks */
#define PATH_MAX_BYTES 64u

static const bm_str nothing = {"null", 4};

typedef struct tag {
    size_t begin, end; /* range of the tag, or of its line if nothing else is in that line */
    char kind;         /* '#', '/', or 'e' for else; 0: a value */
    bm_str all, word, path, rest;
    /* If the tag begins a block, `close` is the index of its end tag, and `other` is the index of
     * its {{else}} or, if it has none, of its end tag. */
    size_t other, close;
} tag;

typedef struct member {
    bm_str key, value; /* JSON text; `key` includes its quotes */
} member;

typedef struct scope {
    bm_str value, key;
    size_t first; /* index of the first member of the scope; the members end where those of the
                     next scope begin */
} scope;

typedef struct filler {
    const bm_template *page;
    bm_str text;
    tag *tags;
    size_t n_tags, cap_tags;
    scope scopes[DEPTH_MAX + 1];
    size_t depth; /* index of the current scope; 0: the whole object */
    member *members;
    size_t n_members, cap_members;
    locale_t plain; /* the C locale, for numbers */
    bm_rows *rows;
    uint64_t n_bytes; /* bytes already written */
    bm_status status; /* the first failure; nothing is written after it */
    bm_error *err;
} filler;

static void put(filler *f, const char *data, size_t len)
{
    if (f->status == BM_OK)
        f->status = bm_buf_add(&f->rows->buf, data, len, f->err);
}

static void put_text(filler *f, const char *text)
{
    put(f, text, strlen(text));
}

static void flush(filler *f, bool now)
{
    const size_t before = f->rows->buf.len;
    if (f->status == BM_OK)
        f->status = bm_rows_flush(f->rows, now, f->err);
    if (f->status == BM_OK)
        f->n_bytes += before - f->rows->buf.len;
}

static void refuse(filler *f, bm_str what)
{
    if (f->status == BM_OK)
        f->status = bm_fail(f->err, BM_ERR_FORMAT, "the template of the page is broken at '%.*s'",
                            (int)(what.len < 60 ? what.len : 60), what.data);
}

static bool same(bm_str a, const char *b)
{
    return bm_json_scan_is(a, b);
}

/* --- untrusted texts --- */

typedef enum text_kind { RUNNING_TEXT, NAME, PLAIN_NAME } text_kind;

/* Is the character shown by its number, although bm_text_next does not call it hidden? True for
 * noncharacters and invisible characters. */
static bool is_unseen(uint32_t code)
{
    return (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF) || /* noncharacters */
           code == 0xAD || code == 0x200B || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE0FFF);
}

static const char *escape_of(char c)
{
    static const char of[] = "&<>\"'";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *hit = memchr(of, c, sizeof of - 1);
    return hit != NULL ? to[hit - of] : NULL;
}

/* Get the next character and its length in bytes. *hidden: in a text of this kind the character is
 * shown by its number. */
static size_t next_character(bm_str text, size_t at, text_kind kind, uint32_t *code, bool *hidden)
{
    const size_t n = bm_text_next(text.data + at, text.len - at, code, hidden);
    if (kind == RUNNING_TEXT && (*code == '\n' || *code == '\t'))
        *hidden = false;
    if (kind == RUNNING_TEXT && *code == '\r' && at + 1 < text.len && text.data[at + 1] == '\n')
        *hidden = false; /* the browser drops the character anyway */
    *hidden = *hidden || is_unseen(*code);
    return n;
}

/* Write text with markup escaped. A hidden character is shown by its number ("U+202E"), and an
 * invalid byte as "\x9b". If an element is allowed at this place, both are marked. In running text,
 * the CR of a CR LF is dropped. */
static void put_escaped(filler *f, bm_str text, text_kind kind)
{
    size_t run = 0, n; /* `run`: the text from here on needs no change, and is not written yet */
    bool open = false;
    for (size_t at = 0; f->status == BM_OK && at < text.len; at += n) {
        uint32_t code;
        bool hidden;
        n = next_character(text, at, kind, &code, &hidden);
        const char *escape = escape_of(text.data[at]);
        if (hidden == open && !hidden && escape == NULL && code != '\r')
            continue;
        put(f, text.data + run, at - run);
        run = at;
        if (hidden != open && kind != PLAIN_NAME)
            put_text(f, hidden ? "<span class=\"u\">" : "</span>");
        else if (hidden && open)
            put_text(f, " ");
        open = hidden;
        if (hidden && f->status == BM_OK)
            f->status = code == BM_NO_CHARACTER
                            ? bm_buf_add_format(&f->rows->buf, f->err, "\\x%02x",
                                                (unsigned)(unsigned char)text.data[at])
                            : bm_buf_add_format(&f->rows->buf, f->err, "U+%04X", (unsigned)code);
        else if (escape != NULL)
            put_text(f, escape);
        if (hidden || escape != NULL || code == '\r')
            run = at + n;
    }
    if (text.len > run)
        put(f, text.data + run, text.len - run);
    if (open && kind != PLAIN_NAME)
        put_text(f, "</span>");
}

/* Write a name, or running text. A long name is cut to its first and last bytes, between
 * characters. */
static void put_name(filler *f, bm_str name, text_kind kind)
{
    if (name.len <= NAME_MAX_BYTES || kind == RUNNING_TEXT) {
        put_escaped(f, name, kind);
        return;
    }
    size_t first = NAME_MAX_BYTES - NAME_END_BYTES, last = name.len - NAME_END_BYTES;
    while (first > 0 && ((unsigned char)name.data[first] & 0xC0) == 0x80)
        first--;
    while (last < name.len && ((unsigned char)name.data[last] & 0xC0) == 0x80)
        last++;
    put_escaped(f, (bm_str){name.data, first}, kind);
    put_text(f, " \xE2\x80\xA6 (");
    put_text(f, bm_svg_count(last - first).text);
    put_text(f, " bytes) \xE2\x80\xA6 ");
    put_escaped(f, (bm_str){name.data + last, name.len - last}, kind);
}

/* --- values --- */

static void push(filler *f, bm_str value, bm_str key)
{
    member one;
    size_t at = 0;
    f->scopes[++f->depth] = (scope){value, key, f->n_members};
    while (f->status == BM_OK && bm_json_scan_member(value, &at, &one.key, &one.value)) {
        f->status = bm_grow_array(&f->members, &f->cap_members, f->n_members + 1, f->err);
        if (f->status == BM_OK)
            f->members[f->n_members++] = one;
    }
}

/* Find a name in the members, from the innermost scope outwards. Members before `first` are not
 * searched. */
static bool find_first(const filler *f, size_t first, bm_str name, bm_str *value)
{
    for (size_t k = f->n_members; k-- > first;) {
        const bm_str key = f->members[k].key;
        if (key.len == name.len + 2 && memcmp(key.data + 1, name.data, name.len) == 0) {
            *value = f->members[k].value;
            return true;
        }
    }
    return false;
}

static bool find_in(bm_str object, bm_str name, bm_str *value)
{
    char key[PATH_MAX_BYTES];
    if (name.len >= sizeof key)
        return false;
    memcpy(key, name.data, name.len);
    key[name.len] = '\0';
    return bm_json_scan_find(object, key, value);
}

/* Look up a path. If it does not exist, *value becomes "null", and false is returned. */
static bool look_up(const filler *f, bm_str path, bm_str *value)
{
    const scope *top = &f->scopes[f->depth];
    *value = nothing;
    if (same(path, ".") || same(path, "@key")) {
        *value = path.len == 1 ? top->value : top->key;
        return true;
    }
    const bool here = path.len > 0 && path.data[0] == '.';
    bm_str rest = {path.data + here, path.len - here}, found = {0};
    for (bool first = true; rest.len > 0; first = false) {
        const char *dot = memchr(rest.data, '.', rest.len);
        const bm_str name = {rest.data, dot != NULL ? (size_t)(dot - rest.data) : rest.len};
        const size_t used = name.len + (dot != NULL);
        if (first ? !find_first(f, here ? top->first : 0, name, &found)
                  : !find_in(found, name, &found))
            return false;
        rest = (bm_str){rest.data + used, rest.len - used};
    }
    *value = found;
    return true;
}

static bool is_word(bm_str value, bm_str word)
{
    const size_t quote = value.data[0] == '"';
    return value.len == word.len + 2 * quote &&
           memcmp(value.data + quote, word.data, word.len) == 0;
}

static bool is_true(bm_str value)
{
    bm_str key, item;
    size_t at = 0;
    if (value.data[0] == '[')
        return bm_json_scan_element(value, &at, &item);
    if (value.data[0] == '{')
        return bm_json_scan_member(value, &at, &key, &item);
    return !same(value, "null") && !same(value, "false") && !same(value, "0") &&
           !same(value, "\"\"");
}

/* Return the value as a number, or NAN if it is not a number. */
static double number_of(const filler *f, bm_str value)
{
    char text[40];
    if (value.len >= sizeof text || (value.data[0] != '-' && (unsigned)value.data[0] - '0' > 9))
        return NAN;
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    return strtod_l(text, NULL, f->plain);
}

static uint64_t count_of(bm_str value)
{
    uint64_t n = 0;
    return bm_json_scan_uint(value, &n) ? n : 0;
}

/* --- the text of a value --- */

/* Write a string without its quotes, an array as its elements, anything else as its JSON text. */
static void put_value(filler *f, bm_str value, text_kind kind)
{
    bm_str element;
    size_t at = 0;
    bm_buf text = {0};
    if (value.data[0] == '[') {
        for (bool first = true; bm_json_scan_element(value, &at, &element); first = false) {
            put_text(f, first ? "" : ", ");
            put_value(f, element, kind);
        }
    } else if (value.data[0] == '"' && f->status == BM_OK) {
        f->status = bm_json_scan_string(value, &text, f->err);
        put_name(f, (bm_str){text.data, text.len}, kind);
    } else {
        put_name(f, value, kind);
    }
    bm_buf_reset(&text);
}

static void put_count(filler *f, bm_str value)
{
    uint64_t n;
    if (bm_json_scan_uint(value, &n))
        put_text(f, bm_svg_count(n).text);
    else if (!same(value, "null"))
        put_value(f, value, NAME);
}

static void put_fixed(filler *f, bm_str value, int decimals)
{
    const double number = number_of(f, value);
    const long one = decimals == 2 ? 100 : 1000000,
               n = isnan(number) ? 0 : lround(number * (double)one);
    if (isnan(number))
        put_text(f, "not known");
    else if (f->status == BM_OK)
        f->status =
            bm_buf_add_format(&f->rows->buf, f->err, "%ld.%0*ld", n / one, decimals, n % one);
}

/* Write seconds to the millisecond; less than a millisecond is written as "< 0.001". */
static void put_seconds(filler *f, bm_str value)
{
    const char *dot = memchr(value.data, '.', value.len);
    const size_t most = dot != NULL ? (size_t)(dot - value.data) + 4 : value.len;
    const bm_str shown = {value.data, most < value.len ? most : value.len};
    if (memchr(value.data, 'e', value.len) != NULL || number_of(f, shown) <= 0)
        put_text(f, "&lt; 0.001");
    else
        put_value(f, shown, NAME);
}

/* Write a value with the filter `word`; `rest`: the text after the path. Returns false if there is
 * no such filter. */
static bool put_filtered(filler *f, bm_str word, bm_str value, bm_str rest)
{
    bm_str other;
    const double n = (double)count_of(value);
    if (same(word, "text")) { /* keeps newlines and tabs */
        put_value(f, value, RUNNING_TEXT);
    } else if (same(word, "name")) { /* a name or an id in one line; only the two ends of a long
                                        name */
        put_value(f, value, NAME);
    } else if (same(word, "count")) { /* "1,234" */
        put_count(f, value);
    } else if (same(word, "n")) { /* {{n path noun}}: "1 noun", "1,234 nouns" */
        put_count(f, value);
        put_text(f, " ");
        put(f, rest.data, rest.len);
        put_text(f, n == 1 ? "" : "s");
    } else if (same(word, "minus")) { /* {{minus path less}}: the difference, as a count */
        look_up(f, rest, &other);
        put_text(f, bm_svg_count(count_of(value) - count_of(other)).text);
    } else if (same(word, "percent")) { /* {{percent path of}}: "12.5 %" */
        look_up(f, rest, &other);
        const double all = (double)count_of(other);
        put_text(f, bm_svg_share(all > 0 ? floor(1000.0 * n / all + .5) / 10 : 0).text);
        put_text(f, " %");
    } else if (same(word, "mib")) { /* bytes, shown as whole MiB */
        put_text(f, bm_svg_count((count_of(value) + (1u << 19)) >> 20).text);
    } else if (same(word, "seconds")) {
        put_seconds(f, value);
    } else if (same(word, "share")) { /* up to four digits: "0.8571" */
        put_text(f, bm_svg_share(number_of(f, value)).text);
    } else if (same(word, "fixed2") || same(word, "fixed6")) { /* 2 or 6 decimals, or "not known" */
        put_fixed(f, value, word.data[5] - '0');
    } else if (same(word, "raw")) { /* our own markup */
        if (f->status == BM_OK)
            f->status = bm_json_scan_string(value, &f->rows->buf, f->err);
    } else {
        return false;
    }
    return true;
}

/* --- tags --- */

static bm_str cut_word(bm_str *from)
{
    const char *space = memchr(from->data, ' ', from->len);
    const bm_str word = {from->data, space != NULL ? (size_t)(space - from->data) : from->len};
    const size_t used = word.len + (space != NULL);
    *from = (bm_str){from->data + used, from->len - used};
    return word;
}

/* If a tag is alone in its line, extend it to the whole line. */
static void widen(bm_str text, tag *t)
{
    size_t begin = t->begin;
    while (begin > 0 && text.data[begin - 1] == ' ')
        begin--;
    if ((begin > 0 && text.data[begin - 1] != '\n') || t->end >= text.len ||
        text.data[t->end] != '\n')
        return;
    t->begin = begin;
    t->end++;
}

/* Find the next tag. Returns false if there is none. */
static bool next_tag(filler *f, size_t from, tag *t)
{
    const char *data = f->text.data, *end_of_all = data + f->text.len;
    const char *begin = strstr(data + from, "{{"),
               *end = begin != NULL ? strstr(begin, "}}") : NULL;
    if (begin != NULL && end == NULL)
        refuse(f, (bm_str){begin, (size_t)(end_of_all - begin)});
    if (end == NULL)
        return false;
    *t = (tag){.begin = (size_t)(begin - data), .end = (size_t)(end + 2 - data)};
    t->all = t->rest = (bm_str){begin + 2, (size_t)(end - begin - 2)};
    t->word = cut_word(&t->rest);
    t->path = cut_word(&t->rest);
    t->kind = same(t->all, "else") ? 'e' : begin[2] == '#' || begin[2] == '/' ? begin[2] : '\0';
    if (t->kind != '\0')
        widen(f->text, t);
    return true;
}

static void add_tag(filler *f, tag t)
{
    if (f->status == BM_OK)
        f->status = bm_grow_array(&f->tags, &f->cap_tags, f->n_tags + 1, f->err);
    if (f->status == BM_OK)
        f->tags[f->n_tags++] = t;
}

/* Cut the template into tags, with an empty tag before the first and after the last, and link the
 * tags of each block. Blocks that are not closed are refused. */
static void cut(filler *f)
{
    size_t open[DEPTH_MAX], depth = 0;
    tag t = {0};
    add_tag(f, t);
    while (f->status == BM_OK && next_tag(f, t.end, &t)) {
        const size_t i = f->n_tags;
        tag *block = depth > 0 ? &f->tags[open[depth - 1]] : NULL;
        if (t.kind == 'e' || t.kind == '/') {
            if (block == NULL || (t.kind == 'e' && block->other != 0) ||
                (t.kind == '/' &&
                 (t.all.len != block->word.len ||
                  memcmp(t.all.data + 1, block->word.data + 1, t.all.len - 1) != 0)))
                refuse(f, t.all);
            else if (block->other == 0)
                block->other = i;
        }
        if (t.kind == '/' && block != NULL) {
            block->close = i;
            depth--;
        }
        add_tag(f, t);
        if (t.kind == '#' && depth == DEPTH_MAX)
            refuse(f, t.all);
        else if (t.kind == '#')
            open[depth++] = i;
    }
    if (depth > 0 && f->status == BM_OK)
        refuse(f, f->tags[open[depth - 1]].all);
    add_tag(f, (tag){.begin = f->text.len});
}

/* --- filling --- */

static void render(filler *f, size_t from, size_t to);

static void render_in(filler *f, const tag *t, bm_str value, bm_str key)
{
    push(f, value, key);
    render(f, (size_t)(t - f->tags), t->other);
    f->n_members = f->scopes[f->depth--].first;
    flush(f, false);
}

/* Render a block for each element of an array, or member of an object. Returns false if there were
 * none. */
static bool render_each(filler *f, const tag *t, bm_str value)
{
    const bool object = value.data[0] == '{';
    bm_str key = nothing, item;
    size_t at = 0;
    while (f->status == BM_OK && (object ? bm_json_scan_member(value, &at, &key, &item)
                                         : bm_json_scan_element(value, &at, &item)))
        render_in(f, t, item, key);
    return at > 1;
}

static bool render_stream(filler *f, const tag *t, bm_str name)
{
    bool more = f->page->stream != NULL, any = false;
    for (size_t i = 0; f->status == BM_OK && more; i++) {
        bm_json json = {0};
        f->status = f->page->stream(f->page->ctx, name, i, &json, &more, f->err);
        if (f->status == BM_OK && more)
            f->status = bm_json_finish(&json, f->err);
        if (f->status == BM_OK && more)
            render_in(f, t, (bm_str){json.buf.data, json.buf.len}, nothing);
        any = any || more;
        bm_buf_reset(&json.buf);
    }
    return any;
}

static void render_block(filler *f, const tag *t)
{
    bm_str value;
    bool there = look_up(f, t->path, &value) && !same(value, "null");
    const bool walks = same(t->word, "#each") || same(t->word, "#stream");
    if (walks)
        there = t->word.data[1] == 'e' ? render_each(f, t, value) : render_stream(f, t, value);
    else if (same(t->word, "#if"))
        there = is_true(value);
    else if (same(t->word, "#is"))
        there = is_word(value, t->rest);
    else if (!same(t->word, "#has"))
        refuse(f, t->all);
    if (there && !walks)
        render(f, (size_t)(t - f->tags), t->other);
    else if (!there && t->other != t->close)
        render(f, t->other, t->close);
}

static void render_hole(filler *f, const tag *t)
{
    bm_str value;
    look_up(f, t->path.len > 0 ? t->path : t->word, &value);
    if (t->path.len == 0)
        put_value(f, value, PLAIN_NAME);
    else if (!put_filtered(f, t->word, value, t->rest))
        refuse(f, t->all);
}

/* Render the text between two tags. */
static void render(filler *f, size_t from, size_t to)
{
    size_t at = f->tags[from].end;
    for (size_t i = from + 1; f->status == BM_OK && i < to; i++) {
        const tag *t = &f->tags[i];
        put(f, f->text.data + at, t->begin - at);
        if (t->kind == '#')
            render_block(f, t);
        else
            render_hole(f, t);
        i = t->kind == '#' ? t->close : i;
        at = f->tags[i].end;
    }
    if (f->status == BM_OK)
        put(f, f->text.data + at, f->tags[to].begin - at);
}

bm_status bm_template_fill(const bm_template *page, bm_rows *rows, uint64_t *n_bytes, bm_error *err)
{
    filler f = {.page = page,
                .text = {page->text, strlen(page->text)},
                .depth = SIZE_MAX, /* so that the first pushed scope gets depth 0 */
                .plain = newlocale(LC_ALL_MASK, "C", (locale_t)0),
                .rows = rows,
                .err = err};
    if (f.plain == (locale_t)0)
        return bm_fail_nomem(err, 1);
    cut(&f);
    push(&f, page->values, nothing);
    if (f.status == BM_OK)
        render(&f, 0, f.n_tags - 1);
    flush(&f, true);
    *n_bytes = f.n_bytes;
    bm_free_all(f.tags, f.members);
    freelocale(f.plain);
    return f.status;
}
