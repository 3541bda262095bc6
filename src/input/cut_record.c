/* SPDX-License-Identifier: Apache-2.0 */
/* cut_record.c -- finds the bytes of a record that encode its text, and those that encode a range
 * of the text.
 *
 *      content --find--> parts --walk--> edits --sort, unite--> edits
 *
 * Parts are found by the rules of the parser: the last of equal JSON keys counts, a key equal to
 * the whole field name takes precedence over a path, and the file's header names the columns. Then
 * the bytes of each part are walked in step with the text.
 *
 * Tests: tests/unit/input/test_cut_record.c */
#include "input/parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/record_format.h"
#include "json/json_string.h"

/* --- parts --- */

/* Append a part. In the text, a newline separates it from the part before. */
static bm_status add_part(struct bm_parser *parser, bm_text_coding coding, bm_str bytes,
                          const char *raw, uint64_t len, bm_error *err)
{
    const size_t n_parts = parser->parts.len / sizeof(bm_text_part);
    const bm_text_part *parts = (const bm_text_part *)parser->parts.data;
    const uint64_t from = n_parts > 0 ? parts[n_parts - 1].range.to + 1 : 0;
    const size_t begin = bytes.data != NULL ? (size_t)(bytes.data - raw) : 0;
    const bm_text_part part = {begin, begin + bytes.len, {from, from + len}, coding};
    return bm_buf_add(&parser->parts, &part, sizeof part, err);
}

static bm_status find_plain(struct bm_parser *parser, bm_str text, const char *raw, bm_error *err)
{
    return add_part(parser, BM_CODING_PLAIN, text, raw, text.len, err);
}

/* Find where the bytes that stand for themselves end: at an escape, at the first of two quotes, or
 * at `end`. */
static const char *own_end(bm_text_coding coding, const char *at, const char *end)
{
    const char *found = coding == BM_CODING_PLAIN
                            ? NULL
                            : memchr(at, coding == BM_CODING_JSON ? '\\' : '"', (size_t)(end - at));
    return found != NULL ? found : end;
}

/* Lengths of one encoded character: its bytes in the record, and in the text. */
typedef struct step {
    size_t raw, text;
} step;

static step step_of(bm_text_coding coding, const char *at, const char *end)
{
    step s = {1, 1};
    if (coding == BM_CODING_JSON)
        s.raw = bm_json_string_escape((bm_str){at, (size_t)(end - at)}, 0, &s.text);
    else if (end - at > 1)
        s.raw = 2;
    return s;
}

/* The length of the text that `bytes` encode. */
static uint64_t length_of(bm_text_coding coding, bm_str bytes)
{
    uint64_t len = 0;
    for (const char *at = bytes.data, *end = at + bytes.len; at < end;) {
        const char *own = own_end(coding, at, end);
        const step s = own < end ? step_of(coding, own, end) : (step){0, 0};
        len += (uint64_t)(own - at) + s.text;
        at = own + s.raw;
    }
    return len;
}

static bm_status open_json(struct bm_parser *parser, bm_error *err)
{
    if (parser->places != NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&parser->place_fields, parser->rules->n_text, err));
    return bm_json_exact_open_text(parser->rules->text, parser->rules->n_text, &parser->places,
                                   err);
}

/* Add a part for each value of a field. bm_json_exact_run_places returns one value, or several
 * joined by newlines. */
static bm_status add_values(struct bm_parser *parser, bm_str content, const char *raw, bm_str value,
                            bm_error *err)
{
    for (size_t at = 0; at <= value.len; at++) {
        bm_json_place place;
        if (at == value.len || value.data[at] == '\n') { /* null */
            BM_TRY(add_part(parser, BM_CODING_FIXED, (bm_str){0}, raw, 0, err));
        } else if (value.data[at] == BM_JSON_PLACE) {
            memcpy(&place, value.data + at + 1, sizeof place);
            at += 1 + sizeof place;
            const bm_str bytes = {content.data + place.begin, place.end - place.begin};
            const bool escapes = memchr(bytes.data, '\\', bytes.len) != NULL;
            const bm_text_coding coding = escapes ? BM_CODING_JSON : BM_CODING_PLAIN;
            BM_TRY(add_part(parser, coding, bytes, raw,
                            escapes ? length_of(coding, bytes) : bytes.len, err));
        } else {
            const char *end = memchr(value.data + at, '\n', value.len - at);
            const size_t len = end != NULL ? (size_t)(end - value.data) - at : value.len - at;
            BM_TRY(add_part(parser, BM_CODING_FIXED, (bm_str){0}, raw, len, err));
            at += len;
        }
    }
    return BM_OK;
}

static bm_status find_json(struct bm_parser *parser, bm_str content, const char *raw, bm_error *err)
{
    BM_TRY(open_json(parser, err));
    BM_TRY(bm_json_exact_run_places(parser->places, content, parser->place_fields, err));
    for (size_t i = 0; i < parser->rules->n_text; i++)
        BM_TRY(add_values(parser, content, raw, parser->place_fields[i].value, err));
    return BM_OK;
}

static bm_status find_cells(struct bm_parser *parser, bm_str content, const char *raw,
                            bm_error *err)
{
    for (size_t i = 0; i < parser->rules->n_text; i++) {
        bm_row row = bm_row_begin(content, parser->rules->syntax);
        bm_cell cell = {0};
        for (uint32_t n = 0; bm_row_next(&row, &cell) && n != parser->columns[1 + i];)
            n++;
        const bm_text_coding coding = cell.doubled ? BM_CODING_QUOTED : BM_CODING_PLAIN;
        BM_TRY(add_part(parser, coding, cell.value, raw, length_of(coding, cell.value), err));
    }
    return BM_OK;
}

static bm_status find_parts(struct bm_parser *parser, const bm_record *record, bm_wet_place *wet,
                            bm_error *err)
{
    const char *raw = record->raw.data;
    const size_t bom = record->line == 1 ? bm_bom_bytes(raw, record->raw.len) : 0;
    bm_str content = {raw + bom, record->raw.len - bom};
    parser->parts.len = 0;
    if (parser->format->format == BM_FORMAT_WET) {
        *wet = bm_wet_find(content);
        return find_plain(parser, wet->text, raw, err);
    }
    if (!parser->format->whole_file)
        content = bm_without_line_end(content);
    if (parser->format->json)
        return find_json(parser, content, raw, err);
    return parser->format->table ? find_cells(parser, content, raw, err)
                                 : find_plain(parser, content, raw, err);
}

bm_status bm_parser_text_parts(bm_parser *parser, const bm_record *record,
                               const bm_text_part **parts, size_t *n, bm_error *err)
{
    bm_wet_place wet = {0};
    BM_TRY(find_parts(parser, record, &wet, err));
    *parts = (const bm_text_part *)parser->parts.data;
    *n = parser->parts.len / sizeof **parts;
    return BM_OK;
}

/* --- edits --- */

static bm_status add_edit(struct bm_parser *parser, size_t from, size_t to, bm_error *err)
{
    const size_t n = parser->edits.len / sizeof(bm_record_edit);
    bm_record_edit *last = n > 0 ? (bm_record_edit *)parser->edits.data + (n - 1) : NULL;
    if (last != NULL && last->to == from && last->n_with == 0) {
        last->to = to;
        return BM_OK;
    }
    return bm_buf_add(&parser->edits, &(bm_record_edit){.from = from, .to = to},
                      sizeof(bm_record_edit), err);
}

/* Add edits for the bytes of a part that encode text within the ranges. */
static bm_status cut_part(struct bm_parser *parser, const char *raw, const bm_text_part *part,
                          const bm_text_range *ranges, size_t n, bm_error *err)
{
    const char *at = raw + part->begin, *end = raw + part->end;
    const char *own = own_end(part->coding, at, end);
    uint64_t text = part->range.from;
    for (size_t i = 0; i < n && at < end;) {
        const bm_text_range *r = &ranges[i];
        if (r->to <= text) {
            i++;
            continue;
        }
        const bool inside = r->from <= text;
        step s = {(size_t)(own - at), (size_t)(own - at)};
        if (s.raw == 0) {
            s = step_of(part->coding, at, end);
            own = own_end(part->coding, at + s.raw, end);
        } else {
            const uint64_t left = (inside ? r->to : r->from) - text;
            if (left < s.raw)
                s = (step){(size_t)left, (size_t)left};
        }
        if (inside && text + s.text <= r->to)
            BM_TRY(add_edit(parser, (size_t)(at - raw), (size_t)(at - raw) + s.raw, err));
        at += s.raw;
        text += s.text;
    }
    return BM_OK;
}

static int by_place(const void *a, const void *b)
{
    const bm_record_edit *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* Sort the edits and merge overlapping ones. Fields may occur in any order in a record, and a field
 * may be selected twice. */
static void unite(struct bm_parser *parser)
{
    bm_record_edit *edits = (bm_record_edit *)parser->edits.data;
    const size_t n = parser->edits.len / sizeof *edits;
    size_t kept = 0;
    if (n > 1)
        qsort(edits, n, sizeof *edits, by_place);
    for (size_t i = 1; i < n; i++) {
        if (edits[i].from > edits[kept].to)
            edits[++kept] = edits[i];
        else if (edits[i].to > edits[kept].to)
            edits[kept].to = edits[i].to;
    }
    parser->edits.len = n > 0 ? (kept + 1) * sizeof *edits : 0;
}

/* If text is cut out of a WET record, add an edit that replaces its Content-Length by the length
 * after the cuts. */
static bm_status state_length(struct bm_parser *parser, const char *raw, const bm_wet_place *wet,
                              bm_error *err)
{
    uint64_t cut = 0;
    const bm_record_edit *edits = (const bm_record_edit *)parser->edits.data;
    for (size_t i = 0; i < parser->edits.len / sizeof *edits; i++)
        cut += edits[i].to - edits[i].from;
    if (cut == 0)
        return BM_OK;
    const size_t at = (size_t)(wet->length.data - raw);
    bm_record_edit edit = {.from = at, .to = at + wet->length.len};
    edit.n_with = (uint8_t)snprintf(edit.with, sizeof edit.with, "%" PRIu64, wet->text.len - cut);
    BM_TRY(bm_buf_add(&parser->edits, &edit, sizeof edit, err));
    qsort(parser->edits.data, parser->edits.len / sizeof edit, sizeof edit, by_place);
    return BM_OK;
}

bm_status bm_parser_cut(bm_parser *parser, const bm_record *record, const bm_text_range *ranges,
                        size_t n, const bm_record_edit **edits, size_t *n_edits, bm_error *err)
{
    bm_wet_place wet = {0};
    size_t first = 0;
    BM_TRY(find_parts(parser, record, &wet, err));
    parser->edits.len = 0;
    const bm_text_part *parts = (const bm_text_part *)parser->parts.data;
    for (size_t i = 0; i < parser->parts.len / sizeof *parts; i++) {
        while (first < n && ranges[first].to <= parts[i].range.from)
            first++;
        if (first < n && parts[i].coding != BM_CODING_FIXED)
            BM_TRY(cut_part(parser, record->raw.data, &parts[i], ranges + first, n - first, err));
    }
    unite(parser);
    if (wet.length.data != NULL)
        BM_TRY(state_length(parser, record->raw.data, &wet, err));
    *edits = (const bm_record_edit *)parser->edits.data;
    *n_edits = parser->edits.len / sizeof **edits;
    return BM_OK;
}
