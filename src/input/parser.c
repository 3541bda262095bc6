/* SPDX-License-Identifier: Apache-2.0 */
/* parser.c -- walks over the records of a raw batch.
 *
 * One loop serves the full parse and the split, so both see the same records. UTF-8 is checked once
 * per piece. Only if the piece is not valid, each field is checked in full. In a valid piece, a
 * field can be invalid only if it ends inside a character, for example because of a wrong
 * Content-Length. Threads: one parser per thread. */
#include "input/parser.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/record_rules.h"
#include "input/record_format.h"
#include "json/json_simd.h"

#define SCRATCH_MAX ((size_t)1 << 20) /* the most bytes of each buffer that stay allocated */

static bm_status open_json(bm_parser *parser, bm_error *err)
{
    const bm_record_rules *rules = parser->rules;
    const size_t n_keep = bm_rules_n_keep(rules), n = bm_columns_count(rules);
    const char **paths = bm_alloc(n, sizeof *paths);
    parser->json_fields = bm_alloc_zero(n, sizeof *parser->json_fields);
    bm_status status = BM_OK;
    if (paths == NULL || parser->json_fields == NULL) {
        status = bm_fail_nomem(err, n * sizeof *parser->json_fields);
    } else {
        memcpy(paths, rules->text, rules->n_text * sizeof *paths);
        bool with_id = rules->id != NULL;
        if (with_id)
            paths[rules->n_text] = rules->id;
        for (size_t i = 0; i < n_keep; i++)
            paths[rules->n_text + with_id + i] = rules->keep->fields[i];
        status =
            bm_json_exact_open_text(paths, rules->n_text + with_id + n_keep, &parser->json, err);
    }
    bm_free(paths);
    return status;
}

bm_status bm_parser_open(const bm_input_set *set, bm_parser **out, bm_error *err)
{
    const bm_record_format *format = bm_record_format_of(bm_input_set_format(set));
    if (format == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no parser for this format");
    bm_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->set = set;
    parser->format = format;
    parser->rules = &set->rules;
    parser->maker.rules = &set->rules;
    bm_status status = BM_OK;
    if (format->json)
        BM_TRY_OUT(open_json(parser, err));
    if (format->table)
        BM_TRY_OUT(bm_new(&parser->cells, bm_columns_count(&set->rules), err));
    status = bm_keyer_init(&parser->keyer, set->rules.keep, err);
out:
    if (status != BM_OK) {
        bm_parser_close(parser);
        return status;
    }
    *out = parser;
    return BM_OK;
}

void bm_parser_close(bm_parser *parser)
{
    if (parser == NULL)
        return;
    bm_json_exact_close(parser->json);
    bm_json_exact_close(parser->places);
    bm_free_all(parser->json_fields, parser->cells, parser->place_fields);
    bm_buf_reset(&parser->parts);
    bm_buf_reset(&parser->edits);
    bm_keyer_reset(&parser->keyer);
    bm_buf_reset(&parser->text);
    bm_buf_reset(&parser->id);
    bm_buf_reset(&parser->joined);
    bm_buf_reset(&parser->repaired);
    bm_buf_reset(&parser->as_read);
    bm_buf_reset(&parser->repaired_id);
    bm_record_maker_reset(&parser->maker);
    bm_free_all(parser->types, parser);
}

static bool is_blank(bm_str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
            return false;
    return true;
}

/* Count the newlines in a record. */
static uint64_t lines_of(bm_str raw)
{
    uint64_t n = 0;
    const char *pos = raw.data, *end = raw.data + raw.len;
    while (pos < end && (pos = memchr(pos, '\n', (size_t)(end - pos))) != NULL) {
        n++;
        pos++;
    }
    return n;
}

typedef struct walker {
    bm_parser *parser;
    const bm_raw_batch *batch;
    const bm_raw_piece *piece;
    bool full; /* parse the records; else only report their bounds */
    /* parse records: `full`, or the records are elements of an array (bm_parser_split in
     * parser.h) */
    bool parse;
    bool types; /* count the types of records */
    bm_record_fn fn;
    void *ctx;
} walker;

/* Mark as bad a quoted row that is too long and takes in more lines. The message names the quoted
 * field, if the first bytes of the record show it. */
static void explain_too_long(const walker *w, bm_str shown, uint64_t n_behind, bm_record *record)
{
    bm_parser *parser = w->parser;
    const bm_row_place place = {.begin = shown.data, .line = record->line, .n_behind = n_behind};
    bm_row row = bm_row_begin(shown, parser->rules->syntax);
    bm_cell cell;
    char why[320] = "", more[400];
    while (bm_row_next(&row, &cell))
        ;
    row.broken = "it continues in quotes";
    row.expected = "a quote at the end of the field";
    if (row.opened != NULL)
        bm_row_explain(&row, &place, why, sizeof why);
    snprintf(more, sizeof more, " and has the %llu lines after this one%s%s",
             (unsigned long long)n_behind, why[0] != '\0' ? "; " : "", why);
    bm_record_too_long(&parser->maker, record, "record", more);
}

static void too_long(const walker *w, bm_record *record, bm_str content, size_t bom)
{
    bm_parser *parser = w->parser;
    const size_t prefix = bm_too_long_prefix(parser->rules->longest);
    const uint64_t n_behind =
        w->piece->cut ? w->piece->n_behind : bm_count_newlines(content.data, content.len);
    if (record->raw.len > bom + prefix)
        record->raw.len = bom + prefix;
    if (parser->format->quoted && n_behind > 0) {
        record->n_behind = n_behind;
        explain_too_long(w, (bm_str){content.data, prefix}, n_behind, record);
    } else {
        bm_record_too_long(&parser->maker, record, "record", "");
    }
}

/* Count a record as a document or by its type. A record that describes its file is not counted. */
static void count_type(bm_record_types *types, bm_record_role role, bm_str type)
{
    types->n_documents += role == BM_ROLE_DOCUMENT;
    if (role == BM_ROLE_NONE && type.data != NULL)
        bm_record_types_add(types, type);
}

/* Pass one record to the callback. Blank lines, records without a role, and headers in a full parse
 * are not passed. record->raw has the byte order mark (`bom` bytes) before the content and the line
 * ending after it. */
static bm_status emit_record(const walker *w, bm_record *record, size_t bom, bm_error *err)
{
    bm_parser *parser = w->parser;
    bm_str content = {.data = record->raw.data + bom, .len = record->raw.len - bom};
    if (!parser->format->whole_file)
        content = bm_without_line_end(content);
    bool cut = w->piece->cut || content.len > parser->rules->longest;
    if (parser->format->skip_blank && !cut && is_blank(content))
        return BM_OK;
    const bool first = w->piece->file_begin && record->raw.data == w->batch->data + w->piece->begin;
    bm_record_role role =
        first && parser->format->table && parser->rules->header ? BM_ROLE_HEADER : BM_ROLE_DOCUMENT;
    bm_str type = {0};
    if (parser->format->role != NULL && !cut)
        role = parser->format->role(
            (bm_str){content.data, (size_t)(record->raw.data + record->raw.len - content.data)},
            &type);
    if (w->types)
        count_type(&parser->types[parser->n_types - 1].types, role, type);
    if (role == BM_ROLE_NONE || (role == BM_ROLE_HEADER && !first))
        return BM_OK;
    record->is_header = role == BM_ROLE_HEADER;
    if (record->is_header && w->full)
        return BM_OK;
    if (cut) {
        too_long(w, record, content, bom);
    } else if (w->parse) {
        BM_TRY(parser->format->parse(parser, content, record, err));
        bm_record_check_id(&parser->maker, record);
    }
    if (!w->parse) {
        record->bad = false;
        record->reason = NULL;
    }
    return w->fn(w->ctx, record, err);
}

/* Pass on the byte order mark of an array like a header row, because it precedes the array's
 * bracket and belongs to no element. */
static bm_status emit_mark(const walker *w, bm_error *err)
{
    bm_record record = {.file = w->piece->file,
                        .line = w->piece->first_line,
                        .raw = {.data = w->batch->data + w->piece->begin, .len = 3},
                        .is_header = true};
    return w->fn(w->ctx, &record, err);
}

/* Pass on the unreadable rest of a file as one bad record, in a full parse and in a split. */
static bm_status emit_rest(const walker *w, bm_error *err)
{
    const bm_record record = {.file = w->piece->file,
                              .line = w->piece->first_line,
                              .raw = {.data = w->batch->data + w->piece->begin, .len = 0},
                              .bad = true,
                              .reason = w->piece->broken};
    return w->fn(w->ctx, &record, err);
}

static bm_status walk_piece(const walker *w, bm_error *err)
{
    if (w->piece->broken != NULL) {
        if (w->types)
            count_type(&w->parser->types[w->parser->n_types - 1].types, BM_ROLE_DOCUMENT,
                       (bm_str){0});
        return emit_rest(w, err);
    }
    const bm_record_format *format = w->parser->format;
    const char *data = w->batch->data;
    size_t pos = w->piece->begin, end = w->piece->end;
    size_t bom = w->piece->file_begin ? bm_bom_bytes(data + pos, end - pos) : 0;
    uint64_t line = w->piece->first_line, number = w->piece->n_before;
    bm_status status = BM_OK;
    bool whole = format->whole_file; /* even an empty file is a record */
    bm_scan scan = {.state = w->piece->state, .syntax = w->parser->rules->syntax};
    if (format->elements && bom > 0 && !w->full)
        status = emit_mark(w, err);
    if (bom == end - pos && !whole)
        return status; /* the file has no records */
    while (status == BM_OK && (pos < end || whole)) {
        size_t next = w->piece->cut ? end : format->record_end(&scan, data, pos + bom, end);
        if (next == BM_SCAN_MORE && format->elements && scan.begin == BM_SCAN_MORE)
            break; /* the bytes left come after the last element */
        if (next == BM_SCAN_MORE)
            next = end;
        if (format->elements && !w->piece->cut) {
            line += lines_of((bm_str){.data = data + pos, .len = scan.begin - pos});
            pos = scan.begin;
            bom = 0;
        }
        bm_record record = {.file = w->piece->file,
                            .parser = w->parser,
                            .line = line,
                            .number = format->elements ? ++number : 0,
                            .raw = {.data = data + pos, .len = next - pos},
                            .place = w->piece->place + (pos - w->piece->begin)};
        line += format->newline_ends || whole ? 1 : lines_of(record.raw);
        status = emit_record(w, &record, bom, err);
        pos = next;
        bom = 0;
        whole = false;
    }
    return status;
}

/* From now on, count types for the piece's file in parser->types[n_types-1]. */
static bm_status begin_types(bm_parser *parser, uint32_t file, bm_error *err)
{
    if (parser->n_types > 0 && parser->types[parser->n_types - 1].file == file)
        return BM_OK;
    BM_TRY(bm_grow_array(&parser->types, &parser->cap_types, parser->n_types + 1, err));
    parser->types[parser->n_types++] = (bm_file_types){.file = file};
    return BM_OK;
}

static bm_status walk_batch(walker *w, bm_error *err)
{
    bm_parser *parser = w->parser;
    bm_keyer_begin(&parser->keyer);
    w->types = w->types && parser->format->role != NULL;
    parser->n_types = 0;
    for (size_t i = 0; i < w->batch->n_pieces; i++) {
        w->piece = &w->batch->pieces[i];
        size_t len = w->piece->end - w->piece->begin;
        const bm_source *source = bm_input_set_source(parser->set, w->piece->file);
        parser->maker.file_name = source->name;
        parser->source = source;
        if (parser->format->table)
            parser->columns = w->batch->columns + w->piece->columns;
        /* The JSON parser checks the strings of its fields itself. */
        parser->maker.all_valid = w->full && parser->json == NULL &&
                                  bm_simd_utf8_valid(w->batch->data + w->piece->begin, len);
        if (w->types)
            BM_TRY(begin_types(parser, w->piece->file, err));
        BM_TRY(walk_piece(w, err));
    }
    return BM_OK;
}

const bm_file_types *bm_parser_types(const bm_parser *parser, size_t *n)
{
    *n = parser->n_types;
    return parser->types;
}

/* Free scratch memory that only a long record has needed. */
static void trim_scratch(bm_parser *parser)
{
    bm_buf *const buffers[] = {&parser->text, &parser->joined, &parser->repaired, &parser->as_read,
                               &parser->keyer.key};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i]->cap > SCRATCH_MAX)
            bm_buf_reset(buffers[i]);
    if (parser->json != NULL)
        bm_json_exact_trim(parser->json, SCRATCH_MAX);
}

bm_status bm_parser_run(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                        bm_error *err)
{
    walker w = {.parser = parser,
                .batch = batch,
                .full = true,
                .parse = true,
                .types = true,
                .fn = fn,
                .ctx = ctx};
    bm_status status = walk_batch(&w, err);
    trim_scratch(parser);
    return status;
}

bm_status bm_parser_split(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                          bm_error *err)
{
    walker w = {
        .parser = parser, .batch = batch, .parse = parser->format->elements, .fn = fn, .ctx = ctx};
    return walk_batch(&w, err);
}

static bm_status count_record(void *ctx, const bm_record *record, bm_error *err)
{
    (void)err;
    uint64_t *n = ctx;
    *n += !record->is_header;
    return BM_OK;
}

bm_status bm_parser_count(bm_parser *parser, const bm_raw_batch *batch, uint64_t *n, bm_error *err)
{
    walker w = {.parser = parser, .batch = batch, .types = true, .fn = count_record, .ctx = n};
    *n = 0;
    return walk_batch(&w, err);
}
