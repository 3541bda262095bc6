/* text_units.c -- joined text (join_exact.h) made segment by segment, so that each of its bytes leads back to the text.
 *
 *     text      | A | l | m | a |   |   | e | U+0301 | .        a segment: what no normaliser composes with what is before it
 *     joined      a   l   m   a  20       é ............          its bytes come from the segment
 *     units     [ a   l   m   a ]       [ é            ]
 *
 * A character begins a segment where it is no mark (of combining class 0) and the normal form of the segment before it and
 * itself is that of the one followed by that of the other. That is so for all text that we know; where the segments'
 * forms should not add up to that of the whole text, the cuts that are proved to be safe are made instead (normalize.h).
 *
 * Tests: tests/unit/text/test_text_units.c, tests/reference/test_measure.py */
#include "text/text_units.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8_code.h"
#include "text/join_exact.h"
#include "text/unicode_tables.h"

typedef struct mapping {
    bm_join_rules rules;
    bm_str text;
    bm_joined joined;
    size_t *segments; /* of each byte of joined text, the place of its segment in `begins` */
    size_t cap_segments;
    size_t *begins; /* n_begins + 1 */
    size_t n_begins, cap_begins;
    bm_codes codes[2], whole, parts;
} mapping;

/* --- segments --- */

static bm_status begin_segment(mapping *m, size_t at, bm_error *err)
{
    BM_TRY(bm_grow_array(&m->begins, &m->cap_begins, m->n_begins + 2, err));
    m->begins[m->n_begins++] = at;
    m->begins[m->n_begins] = m->text.len;
    return BM_OK;
}

static bm_status add_form(mapping *m, bm_str part, bm_codes *out, bm_error *err)
{
    BM_TRY(bm_normalize_run(part, m->rules.normalize, &m->codes[0], &m->codes[1], err));
    BM_TRY(bm_grow(&out->data, &out->cap, out->len + m->codes[0].len, sizeof *out->data, err));
    if (m->codes[0].len > 0)
        memcpy(out->data + out->len, m->codes[0].data, m->codes[0].len * sizeof *out->data);
    out->len += m->codes[0].len;
    return BM_OK;
}

static bool same_codes(const bm_codes *a, const bm_codes *b)
{
    return a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len * sizeof *a->data) == 0);
}

/* *may: the text may be cut at `at`, behind the segment that begins at `begin`; the character there ends at `end`. */
static bm_status may_cut(mapping *m, size_t begin, size_t at, size_t end, bool *may, bm_error *err)
{
    const char *text = m->text.data;
    m->whole.len = m->parts.len = 0;
    BM_TRY(add_form(m, (bm_str){text + begin, end - begin}, &m->whole, err));
    BM_TRY(add_form(m, (bm_str){text + begin, at - begin}, &m->parts, err));
    BM_TRY(add_form(m, (bm_str){text + at, end - at}, &m->parts, err));
    *may = same_codes(&m->whole, &m->parts);
    return BM_OK;
}

static bool is_safe(uint32_t code)
{
    return code < 0x80 || code == 0x3001 || code == 0x3002 || code == 0xFF0C ||
           bm_char_class_of(code) == BM_CLASS_SPACE;
}

static bm_status cut(mapping *m, bool proved_alone, bm_error *err)
{
    const char *const text = m->text.data, *at = text, *const end = text + m->text.len;
    m->n_begins = 0;
    while (at < end) {
        const size_t place = (size_t)(at - text);
        const uint32_t code = bm_utf8_next(&at, end);
        bool begins = m->n_begins == 0 || !m->rules.composes || is_safe(code);
        if (!begins && !proved_alone && bm_char_ccc(code) == 0)
            BM_TRY(
                may_cut(m, m->begins[m->n_begins - 1], place, (size_t)(at - text), &begins, err));
        if (begins)
            BM_TRY(begin_segment(m, place, err));
    }
    return BM_OK;
}

static bm_status make_segments(mapping *m, bm_error *err)
{
    BM_TRY(cut(m, false, err));
    if (!m->rules.composes)
        return BM_OK;
    m->whole.len = m->parts.len = 0;
    BM_TRY(add_form(m, m->text, &m->whole, err));
    for (size_t i = 0; i < m->n_begins; i++)
        BM_TRY(add_form(m, (bm_str){m->text.data + m->begins[i], m->begins[i + 1] - m->begins[i]},
                        &m->parts, err));
    return same_codes(&m->whole, &m->parts) ? BM_OK : cut(m, true, err);
}

/* --- joined text --- */

static bm_status join(mapping *m, bm_error *err)
{
    bm_joined_begin(&m->joined);
    BM_TRY(bm_joined_reserve(&m->joined, 0, err));
    for (size_t i = 0; i < m->n_begins; i++) {
        const size_t before = m->joined.len;
        bm_str rest = {m->text.data + m->begins[i], m->begins[i + 1] - m->begins[i]};
        while (rest.len > 0)
            BM_TRY(bm_join_exact(&m->rules, &rest, m->codes, &m->joined, err));
        BM_TRY(bm_grow_array(&m->segments, &m->cap_segments, m->joined.len + 1, err));
        for (size_t k = before; k < m->joined.len; k++)
            m->segments[k] = i;
    }
    bm_joined_end(&m->joined, m->rules.rule);
    return BM_OK;
}

/* The unit of bytes begin ... end-1 of joined text; of none: an empty piece between two separators. */
static bm_status add_unit(const mapping *m, size_t begin, size_t end, bm_text_units *out,
                          bm_error *err)
{
    const size_t last = end > begin ? end - 1 : begin;
    BM_TRY(bm_grow_array(&out->list, &out->cap, out->n + 1, err));
    bm_text_unit *unit = &out->list[out->n++];
    *unit = (bm_text_unit){.hash = XXH3_64bits(m->joined.data + begin, end - begin),
                           .from = m->text.len,
                           .to = m->text.len};
    if (begin < m->joined.len)
        unit->from = m->begins[m->segments[begin]];
    if (last < m->joined.len)
        unit->to = end > begin ? m->begins[m->segments[last] + 1] : unit->from;
    return BM_OK;
}

static bm_status add_units(const mapping *m, bm_shingle_kind kind, bm_text_units *out,
                           bm_error *err)
{
    const char *data = m->joined.data;
    const size_t n = m->joined.len;
    const bool words = kind == BM_SHINGLE_WORD || kind == BM_SHINGLE_STOPWORD;
    size_t begin = 0;
    for (size_t i = 1; i <= n; i++) {
        const bool ends = kind == BM_SHINGLE_BYTE || i == n
                              ? !words || i == n
                              : !words && ((unsigned char)data[i] & 0xC0) != 0x80;
        if (!words && ends) {
            BM_TRY(add_unit(m, begin, i, out, err));
            begin = i;
        }
        if (words && data[i - 1] == ' ') {
            BM_TRY(add_unit(m, begin, i - 1, out, err));
            begin = i;
        }
    }
    return words && n > 0 ? add_unit(m, begin, n, out, err) : BM_OK;
}

bm_status bm_text_units_make(const bm_text_options *options, bm_str text, bm_text_units *out,
                             bm_error *err)
{
    mapping m = {.rules = bm_join_rules_of(options), .text = text};
    bm_status status = BM_OK;
    out->n = 0;
    BM_TRY_OUT(make_segments(&m, err));
    BM_TRY_OUT(join(&m, err));
    status = add_units(&m, options->shingle, out, err);
out:
    bm_joined_reset(&m.joined);
    bm_free(m.segments);
    bm_free(m.begins);
    bm_codes_reset(&m.codes[0]);
    bm_codes_reset(&m.codes[1]);
    bm_codes_reset(&m.whole);
    bm_codes_reset(&m.parts);
    return status;
}

void bm_text_units_reset(bm_text_units *units)
{
    bm_free(units->list);
    *units = (bm_text_units){0};
}
