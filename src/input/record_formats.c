/* SPDX-License-Identifier: Apache-2.0 */
/* record_formats.c -- the formats of records: their functions, and their table.
 *
 * Tests: tests/reference/test_records.py, tests/unit/input/test_input_set.c,
 *        tests/unit/input/test_parser.c, tests/unit/input/test_reader.c,
 *        tests/unit/input/test_split_json.c */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/compression_kinds.h"
#include "input/record_format.h"
#include "input/record_rules.h"
#include "json/json_scan.h"
#include "model/ids.h"
#include "model/option_words.h"

/* === record maker ===
 *
 * Ids consist of "FILE:", which is made once per file, and the line, which is appended for each
 * record. */

#define LINE_DIGITS 20u

void bm_record_maker_reset(bm_record_maker *maker)
{
    bm_buf_reset(&maker->place);
    maker->place_name = NULL;
}

/* Mark the record bad, for the reason in the maker's buffer. */
static void mark_bad(bm_record_maker *maker, bm_record *record)
{
    record->bad = true;
    record->reason = maker->reason;
}

void bm_record_bad(bm_record_maker *maker, bm_record *record, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(maker->reason, sizeof maker->reason, format, args);
    va_end(args);
    mark_bad(maker, record);
}

void bm_record_too_long(bm_record_maker *maker, bm_record *record, const char *what,
                        const char *more)
{
    bm_explain_longer(maker->rules, what, more, maker->reason, sizeof maker->reason);
    mark_bad(maker, record);
}

/* Append a file's name as UTF-8, mapping different names to different texts. A name that is valid
 * UTF-8 and has no "\x" stays as it is. In any other name, each invalid byte becomes \xhh and each
 * backslash is doubled: the result contains "\x", and the original name can be recovered. */
static bm_status add_name(bm_buf *out, const char *name, bm_error *err)
{
    const size_t len = strlen(name);
    if (bm_utf8_valid_prefix(name, len) == len && strstr(name, "\\x") == NULL)
        return bm_buf_add(out, name, len, err);
    for (size_t at = 0; at < len;) {
        const size_t valid = bm_utf8_valid_prefix(name + at, len - at);
        for (const size_t end = at + valid; at < end; at++)
            BM_TRY(bm_buf_add(out, name[at] == '\\' ? "\\\\" : name + at, name[at] == '\\' ? 2 : 1,
                              err));
        if (at < len)
            BM_TRY(bm_buf_add_format(out, err, "\\x%02x", (unsigned char)name[at++]));
    }
    return BM_OK;
}

/* Write "FILE:" of the current file to maker->place, or nothing if ids are row numbers. Reserve
 * space for a number. Does nothing if maker->place has the name already. */
static bm_status set_place(bm_record_maker *maker, bm_error *err)
{
    if (maker->place_name == maker->file_name)
        return BM_OK;
    const char *name = maker->file_name;
    maker->place.len = 0;
    maker->place_name = NULL;
    if (maker->rules->row_ids == 0) {
        BM_TRY(add_name(&maker->place, name, err));
        BM_TRY(bm_buf_add(&maker->place, ":", 1, err));
    }
    BM_TRY(bm_buf_reserve(&maker->place, LINE_DIGITS, err));
    maker->place_len = maker->place.len;
    maker->place_name = name;
    return BM_OK;
}

bm_status bm_record_place_id(bm_record_maker *maker, bm_record *record, bm_error *err)
{
    BM_TRY(set_place(maker, err));
    char digits[LINE_DIGITS];
    size_t n = 0;
    uint64_t rest = record->number != 0 ? record->number : record->line;
    if (maker->rules->row_ids != 0) /* row_ids and the line both count from 1 */
        rest += maker->rules->row_ids - 2;
    for (; rest > 0 || n == 0; rest /= 10)
        digits[LINE_DIGITS - ++n] = (char)('0' + rest % 10);
    memcpy(maker->place.data + maker->place_len, digits + LINE_DIGITS - n, n);
    record->id = (bm_str){.data = maker->place.data, .len = maker->place_len + n};
    return BM_OK;
}

static bm_status record_file_id(bm_record_maker *maker, bm_record *record, bm_error *err)
{
    BM_TRY(set_place(maker, err));
    record->id = (bm_str){.data = maker->place.data, .len = maker->place_len - 1};
    return BM_OK;
}

void bm_record_check_id(bm_record_maker *maker, bm_record *record)
{
    if (!record->bad && record->id.len > BM_ID_BYTES_MAX)
        bm_record_bad(maker, record, "the id has %zu bytes (at most %zu)", record->id.len,
                      BM_ID_BYTES_MAX);
}

/* Count n invalid bytes in `what` ("text"). False: the record is bad, because of these bytes or for
 * an earlier reason. */
static bool record_count_invalid(bm_record_maker *maker, bm_record *record, uint64_t n,
                                 const char *what)
{
    record->n_invalid += n;
    if (n > 0 && !maker->rules->repairs) {
        bm_explain_invalid(what, n, maker->reason, sizeof maker->reason);
        mark_bad(maker, record);
    }
    return !record->bad;
}

bm_status bm_record_make_valid(bm_record_maker *maker, bm_record *record,
                               const bm_utf8_value *field, bm_error *err)
{
    bm_str bytes = *field->value;
    if (maker->all_valid ? bm_utf8_is_whole(bytes.data, bytes.len)
                         : bm_utf8_valid_prefix(bytes.data, bytes.len) == bytes.len)
        return BM_OK;
    uint64_t n = 0;
    if (field->value == &record->text)
        record->as_read = bytes;
    field->buf->len = 0;
    BM_TRY(bm_utf8_repair(bytes.data, bytes.len, field->buf, &n, err));
    *field->value = (bm_str){.data = field->buf->data, .len = field->buf->len};
    record_count_invalid(maker, record, n, field->what);
    return BM_OK;
}

/* === parse lines ===
 *
 * A line, or a whole file, is the text of a document. */

#define BINARY_BYTES 8192u /* a file with a NUL in its first 8192 bytes is not a text */

static bm_status set_text(struct bm_parser *parser, bm_str content, bm_record *record,
                          bm_error *err)
{
    record->text = content;
    record->text_bytes = content.len;
    const bm_utf8_value field = {"text", &parser->text, &record->text};
    return bm_record_make_valid(&parser->maker, record, &field, err);
}

static bm_status parse_line(struct bm_parser *parser, bm_str content, bm_record *record,
                            bm_error *err)
{
    bm_status status = set_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status
                                          : bm_record_place_id(&parser->maker, record, err);
}

/* advice about a file found in a folder, because it may not belong to the data */
#define LEAVE_OUT "`exclude` leaves out files of a folder, `include` names those to read"

static bm_status parse_file(struct bm_parser *parser, bm_str content, bm_record *record,
                            bm_error *err)
{
    const size_t first = content.len < BINARY_BYTES ? content.len : BINARY_BYTES;
    if (first > 0 && memchr(content.data, '\0', first) != NULL) {
        bm_record_bad(&parser->maker, record,
                      "a binary file (NUL bytes among its first %u; a text has none%s)",
                      BINARY_BYTES, parser->source->in_folder ? "; " LEAVE_OUT : "");
        return BM_OK;
    }
    bm_status status = set_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status : record_file_id(&parser->maker, record, err);
}

/* === parse table ===
 *
 * Parses a row of tsv or csv: finds id and text.
 *
 * A row is read to its end: broken quoting anywhere makes it a bad record. So do more cells than in
 * the first row, since a text with an unquoted separator would be cut off there. A cell is copied
 * only if it contains a doubled quote or invalid UTF-8. An empty row is a row of one empty cell. */

/* The state of making a record from a row. */
typedef struct row_job {
    struct bm_parser *parser;
    bm_record *record;
    bm_str id;        /* data NULL: the row is too short to have an id */
    uint32_t n_cells; /* cells read */
} row_job;

/* Report that the row has more cells than the first one. */
static void refuse_surplus(const row_job *job, uint32_t n_first)
{
    char why[256];
    bm_row_explain_surplus(job->parser->rules->syntax, job->n_cells, n_first, why, sizeof why);
    bm_record_bad(&job->parser->maker, job->record, "%s", why);
}

/* Find the cells of the id, the text and the fields of `keep`. If the row is broken or has too many
 * cells, mark the record as bad. Cells with doubled quotes are rewritten into parser->id or, except
 * for the id, into parser->text. */
static bm_status find_cells(row_job *job, bm_str content, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    const uint32_t n_first = parser->columns[bm_columns_count(parser->rules)];
    uint32_t n = 0;
    size_t n_cells = bm_columns_count(parser->rules) - 1;
    bm_row row = bm_row_begin(content, parser->rules->syntax);
    bm_cell cell;
    for (size_t i = 0; i < n_cells; i++)
        parser->cells[i] = (bm_str){0};
    parser->text.len = parser->id.len = 0;
    while (bm_row_next(&row, &cell)) {
        if (n == parser->columns[0]) {
            job->id = cell.value;
            if (cell.doubled)
                BM_TRY(bm_cell_plain(&cell, &parser->id, &job->id, err));
        }
        for (size_t i = 0; i < n_cells; i++) {
            if (n != parser->columns[1 + i])
                continue;
            parser->cells[i] = cell.value;
            if (!cell.doubled)
                continue;
            /* Reserve room for all cells at once, even if each field takes the whole row. The
             * buffer must not move while earlier cells are views of it. */
            if (parser->text.len == 0)
                BM_TRY(bm_buf_reserve(&parser->text, content.len * n_cells, err));
            BM_TRY(bm_cell_plain(&cell, &parser->text, &parser->cells[i], err));
        }
        n++;
    }
    job->n_cells = n;
    if (row.broken != NULL) {
        char why[320];
        const bm_row_place place = {.begin = content.data,
                                    .line = job->record->line,
                                    .n_behind = bm_count_newlines(content.data, content.len)};
        bm_row_explain(&row, &place, why, sizeof why);
        job->record->n_behind = row.opened != NULL ? place.n_behind : 0;
        bm_record_bad(&parser->maker, job->record, "broken row: %s", why);
    } else if (n > n_first) {
        refuse_surplus(job, n_first);
    }
    return BM_OK;
}

/* Join several text cells with newlines in `buf`. With one text cell, *out becomes that cell, and
 * `buf` is not used. */
static bm_status join_cells(struct bm_parser *parser, bm_str *out, bm_buf *buf, bm_error *err)
{
    if (parser->rules->n_text == 1) {
        *out = parser->cells[0];
        return BM_OK;
    }
    bm_status status = BM_OK;
    buf->len = 0;
    for (size_t i = 0; i < parser->rules->n_text; i++) {
        if (i > 0)
            BM_TRY_OUT(bm_buf_add(buf, "\n", 1, err));
        BM_TRY_OUT(bm_buf_add(buf, parser->cells[i].data, parser->cells[i].len, err));
    }
out:
    *out = (bm_str){.data = buf->data, .len = buf->len};
    return status;
}

static bm_status set_table_text(row_job *job, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    for (size_t i = 0; i < parser->rules->n_text; i++)
        if (parser->cells[i].data == NULL) {
            bm_record_bad(&parser->maker, job->record, "no field '%.64s': the row has %u field%s",
                          parser->rules->text[i], job->n_cells, job->n_cells == 1 ? "" : "s");
            return BM_OK;
        }
    BM_TRY(join_cells(parser, &job->record->text, &parser->joined, err));
    job->record->text_bytes = job->record->text.len;
    const bm_utf8_value field = {"text", &parser->repaired, &job->record->text};
    return bm_record_make_valid(&parser->maker, job->record, &field, err);
}

static bm_status set_table_id(row_job *job, bm_error *err)
{
    struct bm_parser *parser = job->parser;
    if (job->id.data == NULL && parser->rules->id_given) {
        bm_record_bad(&parser->maker, job->record,
                      "no field '%.64s': the row has %u field%s (" BM_NO_IDS ")", parser->rules->id,
                      job->n_cells, job->n_cells == 1 ? "" : "s");
        return BM_OK;
    }
    if (job->id.data == NULL)
        return bm_record_place_id(&parser->maker, job->record, err);
    job->record->id = job->id;
    const bm_utf8_value field = {"id", &parser->repaired_id, &job->record->id};
    return bm_record_make_valid(&parser->maker, job->record, &field, err);
}

/* Set the values of the fields of `keep` from the cells after the text cells. A cell is a number if
 * the whole cell is a JSON number. */
static void set_table_values(struct bm_parser *parser)
{
    const bm_str *cells = parser->cells + parser->rules->n_text;
    const uint32_t *columns = parser->columns + 1 + parser->rules->n_text;
    const uint32_t n_first = parser->columns[bm_columns_count(parser->rules)];
    for (size_t i = 0; i < bm_rules_n_keep(parser->rules); i++)
        parser->keyer.values[i] =
            columns[i] >= n_first   ? (bm_value){.kind = BM_VALUE_ABSENT}
            : cells[i].data == NULL ? (bm_value){.kind = BM_VALUE_MISSING}
            : bm_value_is_number(cells[i])
                ? (bm_value){.kind = BM_VALUE_NUMBER, .text = cells[i], .number = cells[i]}
                : (bm_value){.kind = BM_VALUE_STRING, .text = cells[i]};
}

/* Set parser->keyer.names to the names of the columns in the file's header or, without a header, to
 * the number of columns. */
static void name_columns(struct bm_parser *parser)
{
    const bm_name_list *names = parser->source->columns;
    const uint32_t n = parser->columns[bm_columns_count(parser->rules)];
    bm_name_list *out = &parser->keyer.names;
    if (names != NULL) {
        *out = *names;
        return;
    }
    out->n = out->n_shown = n;
    out->len =
        (size_t)snprintf(out->text, sizeof out->text, "%" PRIu32 " column%s", n, n == 1 ? "" : "s");
}

static bm_status parse_table(struct bm_parser *parser, bm_str content, bm_record *record,
                             bm_error *err)
{
    row_job job = {.parser = parser, .record = record};
    BM_TRY(find_cells(&job, content, err));
    if (!record->bad)
        BM_TRY(set_table_text(&job, err));
    if (!record->bad)
        BM_TRY(set_table_id(&job, err));
    if (record->bad || parser->keyer.rules == NULL)
        return BM_OK;
    set_table_values(parser);
    if (bm_keyer_wants_names(&parser->keyer))
        name_columns(parser);
    return bm_keyer_make(&parser->keyer, parser->maker.file_name, record, err);
}

/* === parse jsonl ===
 *
 * Parses a JSON object: finds the id and the text, and decides whether they are missing, empty or
 * bad. */

static const char *kind_name(bm_json_kind kind)
{
    switch (kind) {
    case BM_JSON_MISSING:
        return "missing";
    case BM_JSON_NULL:
        return "null";
    case BM_JSON_BOOL:
        return "true or false";
    case BM_JSON_NUMBER:
        return "a number";
    case BM_JSON_STRING:
        return "a string";
    case BM_JSON_ARRAY:
        return "an array";
    case BM_JSON_OBJECT:
        return "an object";
    }
    return "unknown";
}

#define PATH_BYTES 200u /* the most bytes of a path that a message proposes */

/* The kind of the value at a path; MISSING also if it cannot be determined. */
static bm_json_kind kind_at(bm_str content, const char *path)
{
    bm_json_exact *json = NULL;
    bm_json_field field = {.kind = BM_JSON_MISSING};
    const char *broken;
    if (bm_json_exact_open_text(&path, 1, &json, NULL) != BM_OK ||
        bm_json_exact_run(json, content, &field, &broken, NULL) != BM_OK)
        field.kind = BM_JSON_MISSING;
    bm_json_exact_close(json);
    return field.kind;
}

/* Write `name` to `path` with [] after each array on the way: "a[].b" for "a.b". False: there is no
 * array on the way, that path leads to no text either, or the path is too long. */
static bool path_through_arrays(bm_str content, const char *name, char path[PATH_BYTES])
{
    bm_json_kind kind = BM_JSON_OBJECT;
    const char *from = name, *end = name;
    size_t len = 0;
    bool arrays = false;
    while (kind == BM_JSON_OBJECT && *end != '\0') {
        end = from;
        while (*end != '\0' && (*end != '.' || (end > from && end[-1] == '\\')))
            end++;
        if (len + (size_t)(end - from) + 4 > PATH_BYTES)
            return false;
        len += (size_t)snprintf(path + len, PATH_BYTES - len, "%s%.*s", len > 0 ? "." : "",
                                (int)(end - from), from);
        while ((kind = kind_at(content, path)) == BM_JSON_ARRAY && len + 3 <= PATH_BYTES) {
            len += (size_t)snprintf(path + len, PATH_BYTES - len, "[]");
            arrays = true;
        }
        from = end + 1;
    }
    return arrays && *end == '\0' && (kind == BM_JSON_STRING || kind == BM_JSON_NULL);
}

/* Report that the field `name` is missing. If an array is on the way to it, propose a path through
 * the array; else name what was expected, and list the fields present. */
static void missing(struct bm_parser *parser, bm_str content, const char *name,
                    const char *expected, bm_record *record)
{
    bm_name_list names = {0};
    char path[PATH_BYTES];
    if (path_through_arrays(content, name, path)) {
        bm_record_bad(&parser->maker, record,
                      "no field '%.64s': a list is on the way (%s has the texts of its elements)",
                      name, path);
        return;
    }
    bm_name_list_json(&names, content, name);
    bm_record_bad(&parser->maker, record, "no field '%.64s' (%s; %sthe record has %s)", name,
                  expected, bm_text_hint(name), bm_name_list_words(&names));
}

/* Check that a text field is present and a string or null; count its invalid bytes. False: the
 * record is bad. */
static bool check_text(struct bm_parser *parser, bm_str content, size_t i, bm_record *record)
{
    const bm_json_field *field = &parser->json_fields[i];
    const char *name = parser->rules->text[i];
    const size_t len = strlen(name);
    const bool numbers = field->place > 0 && len > 2 && strcmp(name + len - 2, "[]") == 0;
    const char *expected = numbers ? "a string, a number or null" : "a string or null";
    char path[PATH_BYTES];
    if (field->kind == BM_JSON_STRING || field->kind == BM_JSON_NULL)
        return record_count_invalid(&parser->maker, record, field->n_invalid, "text");
    if (field->place > 0)
        bm_record_bad(&parser->maker, record, "value %llu of field '%.64s' is %s (%s)",
                      (unsigned long long)field->place, name, kind_name(field->kind), expected);
    else if (field->kind == BM_JSON_MISSING)
        missing(parser, content, name, expected, record);
    else if (field->kind == BM_JSON_ARRAY && path_through_arrays(content, name, path))
        bm_record_bad(&parser->maker, record,
                      "field '%.64s' is a list (%s has the texts of its elements)", name, path);
    else
        bm_record_bad(&parser->maker, record, "field '%.64s' is %s (%s)", name,
                      kind_name(field->kind), expected);
    return false;
}

/* If the text needs repair and the rules repair, set record->as_read. This is rare, so the record
 * is simply read again without repair, and after that once more with repair. */
static bm_status set_jsonl_as_read(struct bm_parser *parser, bm_str content, bm_record *record,
                                   bm_error *err)
{
    const size_t n = parser->rules->n_text;
    const char *broken;
    uint64_t n_invalid = 0;
    for (size_t i = 0; i < n; i++)
        n_invalid += parser->json_fields[i].n_invalid;
    if (n_invalid == 0 || !parser->rules->repairs)
        return BM_OK;
    parser->as_read.len = 0;
    BM_TRY(bm_json_exact_run_as_read(parser->json, content, parser->json_fields, err));
    for (size_t i = 0; i < n; i++) {
        const bm_str value = parser->json_fields[i].value;
        BM_TRY(bm_buf_add(&parser->as_read, "\n", i > 0, err));
        BM_TRY(bm_buf_add(&parser->as_read, value.data, value.len, err));
    }
    record->as_read = (bm_str){parser->as_read.data, parser->as_read.len};
    return bm_json_exact_run(parser->json, content, parser->json_fields, &broken, err);
}

static bm_status set_jsonl_text(struct bm_parser *parser, bm_str content, bm_record *record,
                                bm_error *err)
{
    size_t n = parser->rules->n_text;
    for (size_t i = 0; i < n; i++) {
        if (!check_text(parser, content, i, record))
            return BM_OK;
        record->text_bytes += parser->json_fields[i].len_bytes + (i > 0);
    }
    if (n == 1) {
        record->text = parser->json_fields[0].value;
        return BM_OK;
    }
    bm_status status = BM_OK;
    parser->text.len = 0;
    for (size_t i = 0; i < n; i++) {
        bm_str value = parser->json_fields[i].value;
        if (i > 0)
            BM_TRY_OUT(bm_buf_add(&parser->text, "\n", 1, err));
        BM_TRY_OUT(bm_buf_add(&parser->text, value.data, value.len, err));
    }
out:
    record->text = (bm_str){.data = parser->text.data, .len = parser->text.len};
    return status;
}

static bm_status set_jsonl_id(struct bm_parser *parser, bm_str content, bm_record *record,
                              bm_error *err)
{
    const bm_record_rules *rules = parser->rules;
    if (rules->id == NULL)
        return bm_record_place_id(&parser->maker, record, err);
    const bm_json_field *field = &parser->json_fields[rules->n_text];
    switch (field->kind) {
    case BM_JSON_STRING:
        record_count_invalid(&parser->maker, record, field->n_invalid, "id");
        record->id = field->value;
        return BM_OK;
    case BM_JSON_NUMBER:
        record->id = field->value;
        return BM_OK;
    default:
        break;
    }
    if (!rules->id_given)
        return bm_record_place_id(&parser->maker, record, err);
    if (field->kind == BM_JSON_MISSING)
        missing(parser, content, rules->id, "a string or a number; " BM_NO_IDS, record);
    else
        bm_record_bad(&parser->maker, record,
                      "field '%.64s' is %s (a string or a number; " BM_NO_IDS ")", rules->id,
                      kind_name(field->kind));
    return BM_OK;
}

/* Set the values of the fields of `keep`, which follow the fields of the text and the id. */
static void set_jsonl_values(struct bm_parser *parser)
{
    const bm_record_rules *rules = parser->rules;
    const bm_json_field *found = &parser->json_fields[rules->n_text + (rules->id != NULL)];
    for (size_t i = 0; i < bm_rules_n_keep(rules); i++) {
        bm_value *value = &parser->keyer.values[i];
        *value = (bm_value){.kind = BM_VALUE_OTHER, .text = found[i].value};
        if (found[i].kind == BM_JSON_MISSING)
            value->kind = BM_VALUE_ABSENT;
        else if (found[i].kind == BM_JSON_NULL)
            value->kind = BM_VALUE_MISSING;
        else if (found[i].kind == BM_JSON_STRING)
            value->kind = BM_VALUE_STRING;
        else if (found[i].kind == BM_JSON_NUMBER)
            *value = (bm_value){
                .kind = BM_VALUE_NUMBER, .text = found[i].value, .number = found[i].value};
    }
}

/* Formats that are often given by mistake: how their records begin, and advice. */
static const struct {
    bm_str begin;
    const char *what;
} known_records[] = {
#define BEGINS(bytes)                                                                              \
    {                                                                                              \
        bytes, sizeof bytes - 1                                                                    \
    }
    {BEGINS("\0\0\0\0"), "bytes of zeros, as a crash leaves them in a file"},
    {BEGINS("version https://git-lfs"), "a Git LFS pointer: `git lfs pull` fetches the file"},
    {BEGINS("\x1F\x8B"), "gzip data inside a file that was unpacked: unpack it once more"},
    {BEGINS("\x28\xB5\x2F\xFD"), "zst data inside a file that was unpacked: unpack it once more"},
    {BEGINS("<"), "a page of HTML or XML, perhaps an answer in place of the file"},
#undef BEGINS
};

/* Does the line seem to end inside an object or array that goes on in the next line? */
static bool goes_on(bm_str content)
{
    while (content.len > 0 && bm_json_is_space(content.data[content.len - 1]))
        content.len--;
    return content.len > 0 && memchr("{[,:", content.data[content.len - 1], 4) != NULL;
}

/* Advice about a record that is no JSON; NULL: none. */
static const char *judge_broken(bm_str content)
{
    for (size_t i = 0; i < sizeof known_records / sizeof known_records[0]; i++) {
        const bm_str begin = known_records[i].begin;
        if (content.len >= begin.len && memcmp(content.data, begin.data, begin.len) == 0)
            return known_records[i].what;
    }
    if (content.len > 0 && content.data[0] == '[' && goes_on(content))
        return "an array over several lines: `format` json reads a file that is one array";
    if (content.len > 0 && content.data[0] == '{' && goes_on(content))
        return content.data[content.len - 1] == ',' && content.data[content.len - 2] == '}'
                   ? "elements of an array: `format` json reads it with its brackets"
                   : "an object over several lines: `jq -c .` writes it on one";
    return NULL;
}

/* Report that the record is no JSON, or no object. */
static void refuse_json(struct bm_parser *parser, bm_str content, const char *why,
                        bm_record *record)
{
    const size_t len = strlen(why);
    const bool inside = len > 0 && why[len - 1] == ')';
    const char *shown = judge_broken(content);
    const bool apart = record->line == 1 && parser->source->in_folder;
    if (!inside || (shown == NULL && !apart))
        bm_record_bad(&parser->maker, record, "%s", why);
    else
        bm_record_bad(&parser->maker, record, "%.*s%s%s%s%s)", (int)len - 1, why,
                      shown != NULL ? "; " : "", shown != NULL ? shown : "", apart ? "; " : "",
                      apart ? LEAVE_OUT : "");
}

static bm_status parse_jsonl(struct bm_parser *parser, bm_str content, bm_record *record,
                             bm_error *err)
{
    const char *broken;
    BM_TRY(bm_json_exact_run(parser->json, content, parser->json_fields, &broken, err));
    if (broken != NULL) {
        refuse_json(parser, content, broken, record);
        return BM_OK;
    }
    BM_TRY(set_jsonl_as_read(parser, content, record, err));
    BM_TRY(set_jsonl_text(parser, content, record, err));
    if (!record->bad)
        BM_TRY(set_jsonl_id(parser, content, record, err));
    if (record->bad || parser->keyer.rules == NULL)
        return BM_OK;
    set_jsonl_values(parser);
    if (bm_keyer_wants_names(&parser->keyer))
        bm_name_list_json(&parser->keyer.names, content, "");
    return bm_keyer_make(&parser->keyer, parser->maker.file_name, record, err);
}

/* === parse wet ===
 *
 * Records of Common Crawl's text files (WET): WARC files in which records of type `conversion` are
 * texts. Finds the end of a record, its id and its text.
 *
 *     FIRST --line--> FIELDS --empty line--> BODY --so many bytes--> ENDING
 *           --two line ends--> the next record
 *
 * Content-Length states how many bytes of text follow the header. These bytes may be anything. If a
 * record lacks this field, or does not begin with "WARC/", it is bad and ends at the first empty
 * line. The next record is expected after that line. Records of other types are no documents. If
 * the first record of a file is of type `warcinfo`, it is copied like the header of a table.
 *
 * Limits: header fields continued on the next line are not supported. */

enum { FIRST, FIELDS, BODY, ENDING };

#define WARC "WARC/"

/* The value in a line "NAME: VALUE", without blanks around it. data NULL: the line has another
 * name. */
static bm_str value_of(bm_str line, const char *name)
{
    const size_t n = strlen(name);
    if (line.len <= n || line.data[n] != ':' || strncasecmp(line.data, name, n) != 0)
        return (bm_str){0};
    bm_str value = {line.data + n + 1, line.len - n - 1};
    for (; value.len > 0 && (*value.data == ' ' || *value.data == '\t'); value.len--)
        value.data++;
    while (value.len > 0 && (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t'))
        value.len--;
    return value;
}

static bool begins_record(bm_str line)
{
    return line.len >= strlen(WARC) && memcmp(line.data, WARC, strlen(WARC)) == 0;
}

static bool read_length(bm_str value, uint64_t *out)
{
    uint64_t length = 0;
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < '0' || value.data[i] > '9' ||
            __builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(value.data[i] - '0'), &length))
            return false;
    *out = length;
    return value.len > 0;
}

static size_t end_record(bm_scan *scan, size_t at)
{
    scan->state = FIRST;
    scan->wet = (bm_wet_scan){0};
    return at;
}

/* Handle a complete header line. False: the line ends a record that consists only of its header. */
static bool end_header_line(bm_scan *scan)
{
    bm_wet_scan *w = &scan->wet;
    const bm_str line = bm_without_line_end((bm_str){w->line, w->line_len});
    w->line_len = 0;
    if (line.len == 0) {
        scan->state = w->left > 0 ? BODY : ENDING;
        return w->begun && w->has_length;
    }
    const bm_str length = value_of(line, BM_WET_LENGTH);
    if (scan->state == FIRST)
        w->begun = begins_record(line);
    else if (length.data != NULL && !(w->has_length = read_length(length, &w->left)))
        w->left = 0;
    scan->state = FIELDS;
    return true;
}

size_t bm_wet_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    bm_wet_scan *w = &scan->wet;
    for (size_t at = from; at < to;) {
        if (scan->state == BODY) {
            const size_t n = w->left < to - at ? (size_t)w->left : to - at;
            at += n;
            w->left -= n;
            if (w->left == 0)
                scan->state = ENDING;
        } else if (scan->state == ENDING) { /* in this state line_len counts newlines */
            if (data[at] != '\n' && data[at] != '\r')
                return end_record(scan, at);
            if (data[at++] == '\n' && ++w->line_len == 2)
                return end_record(scan, at);
        } else {
            const char *newline = memchr(data + at, '\n', to - at);
            const size_t n = newline != NULL ? (size_t)(newline - data) + 1 - at : to - at;
            const size_t room = sizeof w->line - w->line_len;
            memcpy(w->line + w->line_len, data + at, n < room ? n : room);
            w->line_len += n < room ? n : room;
            at += n;
            if (newline != NULL && !end_header_line(scan))
                return end_record(scan, at);
        }
    }
    return BM_SCAN_MORE;
}

/* Find the last occurrence of `words` that begins in data[0 … to-1] and ends in data[0 …
 * len-1]; SIZE_MAX: none. */
static size_t find_last(const char *data, size_t to, size_t len, bm_str words)
{
    const char *at;
    while ((at = memrchr(data, words.data[0], to)) != NULL) {
        to = (size_t)(at - data);
        if (words.len <= len - to && memcmp(at, words.data, words.len) == 0)
            return to;
    }
    return SIZE_MAX;
}

static size_t wet_likely_end(const bm_end_hint *hint, const char *data, size_t len)
{
    (void)hint;
    const size_t at = find_last(data, len, len, (bm_str){"\n" WARC, 1 + strlen(WARC)});
    return at == SIZE_MAX ? 0 : at + 1;
}

/* The header fields of a record, and its text. data NULL: the record lacks the field. */
typedef struct wet_record {
    bm_str type, id, uri, text, length_digits;
    const char *broken; /* the error in the record; NULL: none */
    uint64_t length;
    bool blank; /* the record has nothing but line endings */
} wet_record;

static wet_record read_record(bm_str all)
{
    wet_record r = {.blank = true};
    bool first = true, ended = false, has_length = false;
    size_t at = 0;
    while (at < all.len && !ended) {
        const char *newline = memchr(all.data + at, '\n', all.len - at);
        const size_t end = newline != NULL ? (size_t)(newline - all.data) + 1 : all.len;
        const bm_str line = bm_without_line_end((bm_str){all.data + at, end - at});
        at = end;
        ended = line.len == 0;
        r.blank = r.blank && ended;
        if (first && !ended && !begins_record(line)) {
            r.broken = "it does not begin with \"" WARC "\" (a record of WARC)";
            return r;
        }
        first = false;
        struct {
            const char *name;
            bm_str *out;
        } const fields[] = {{"WARC-Type", &r.type},
                            {BM_WET_ID, &r.id},
                            {BM_WET_URI, &r.uri},
                            {BM_WET_LENGTH, &r.text}};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            const bm_str value = value_of(line, fields[i].name);
            if (value.data != NULL)
                *fields[i].out = value;
        }
    }
    r.length_digits = r.text;
    has_length = read_length(r.text, &r.length);
    const uint64_t left = all.len - at;
    if (r.type.data == NULL)
        r.broken = "no WARC-Type in its header";
    else if (!has_length)
        r.broken = "no " BM_WET_LENGTH " in its header that is a number";
    else if (!ended || r.length > left)
        r.broken = BM_WET_LENGTH " is more than there is (the file was cut short?)";
    r.text = (bm_str){all.data + at, r.length <= left ? (size_t)r.length : 0};
    return r;
}

bm_wet_place bm_wet_find(bm_str record)
{
    const wet_record r = read_record(record);
    return (bm_wet_place){r.text, r.length_digits};
}

static bool is_word(bm_str value, const char *word)
{
    return value.len == strlen(word) && strncasecmp(value.data, word, value.len) == 0;
}

static bm_record_role wet_role(bm_str raw, bm_str *type)
{
    const wet_record r = read_record(raw);
    if (r.blank)
        return BM_ROLE_NONE;
    if (r.broken != NULL || is_word(r.type, "conversion"))
        return BM_ROLE_DOCUMENT;
    *type = r.type;
    return is_word(r.type, "warcinfo") ? BM_ROLE_HEADER : BM_ROLE_NONE;
}

static bm_status parse_wet(struct bm_parser *parser, bm_str content, bm_record *record,
                           bm_error *err)
{
    const char *end = record->raw.data + record->raw.len; /* a line ending may belong to the text */
    const wet_record r = read_record((bm_str){content.data, (size_t)(end - content.data)});
    const bool by_uri = parser->rules->id != NULL && strcmp(parser->rules->id, "uri") == 0;
    record->id = by_uri ? r.uri : r.id;
    if (r.broken != NULL)
        bm_record_bad(&parser->maker, record, "broken record: %s", r.broken);
    else if (record->id.data == NULL && parser->rules->id_given)
        bm_record_bad(&parser->maker, record, "no %s in the record's header",
                      by_uri ? BM_WET_URI : BM_WET_ID);
    if (record->bad)
        return BM_OK;
    record->text = r.text;
    record->text_bytes = r.text.len;
    const bm_utf8_value text = {"text", &parser->text, &record->text},
                        id = {"id", &parser->repaired_id, &record->id};
    BM_TRY(bm_record_make_valid(&parser->maker, record, &text, err));
    if (record->bad)
        return BM_OK;
    return parser->rules->id == NULL || record->id.data == NULL
               ? bm_record_place_id(&parser->maker, record, err)
               : bm_record_make_valid(&parser->maker, record, &id, err);
}

/* === split lines ===
 *
 * Finds the end of a record that is a line, or a whole file. */

static size_t line_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    (void)scan;
    if (from >= to)
        return BM_SCAN_MORE;
    const char *newline = memchr(data + from, '\n', to - from);
    return newline == NULL ? BM_SCAN_MORE : (size_t)(newline - data) + 1;
}

static size_t line_likely_end(const bm_end_hint *hint, const char *data, size_t len)
{
    (void)hint;
    const char *last = memrchr(data, '\n', len);
    return last == NULL ? 0 : (size_t)(last - data) + 1;
}

static size_t file_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    (void)scan;
    (void)data;
    (void)from;
    (void)to;
    return BM_SCAN_MORE;
}

/* === split csv ===
 *
 * Finds the end of a row of RFC 4180: a newline that is not enclosed in quotes.
 *
 *     state     byte: "         ,        newline   other      (the comma, or another separator)
 *     FIELD     -> QUOTED    FIELD    end       PLAIN      at the beginning of a field
 *     PLAIN     PLAIN        FIELD    end       PLAIN      in a field without quotes
 *     QUOTED    -> AFTER     QUOTED   QUOTED    QUOTED
 *     AFTER     QUOTED       FIELD    end       PLAIN      a quote was seen inside quotes
 *
 * A quote in the middle of a plain field, or text after a closing quote, is an error of the row,
 * which record_rules.c reports. The scan only makes sure that the error does not move the bounds of
 * other rows. The offset of the next newline is remembered until it is passed, so memchr searches
 * each byte a bounded number of times. */

enum { FIELD, PLAIN, QUOTED, AFTER };

static size_t find(const char *data, size_t from, size_t to, char byte)
{
    const char *found = from < to ? memchr(data + from, byte, to - from) : NULL;
    return found == NULL ? to : (size_t)(found - data);
}

static size_t csv_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    unsigned state = scan->state;
    size_t pos = from, newline = from;
    bool newline_known = false;
    while (pos < to) {
        if (state == QUOTED) {
            pos = find(data, pos, to, '"');
            if (pos < to) {
                pos++;
                state = AFTER;
            }
        } else if (state == AFTER && data[pos] == '"') {
            pos++;
            state = QUOTED;
        } else {
            if (state == AFTER)
                state = PLAIN; /* the comma or the newline is found further below */
            if (!newline_known || newline < pos)
                newline = find(data, pos, to, '\n');
            newline_known = true;
            size_t quote = find(data, pos, newline, '"');
            if (quote == newline && newline < to) {
                scan->state = FIELD;
                return newline + 1;
            }
            bool at_field =
                quote == pos ? state == FIELD : bm_row_splits_at(scan->syntax, data[quote - 1]);
            /* neither a quote nor a newline was found: determine the state at the end */
            if (quote == to) {
                state = bm_row_splits_at(scan->syntax, data[to - 1]) ? FIELD : PLAIN;
                pos = to;
            } else {
                state = at_field ? QUOTED : PLAIN;
                pos = quote + 1;
            }
        }
    }
    scan->state = state;
    return BM_SCAN_MORE;
}

/* Scan data[from … len-1] as if it began inside quotes (`quoted` true) or outside. False: this
 * cannot be right, because a quote would open or close in the middle of a field. *end: offset after
 * the last row that ends; 0: no row ends. */
static bool csv_fits(bm_row_syntax syntax, const char *data, size_t from, size_t len, bool quoted,
                     size_t *end)
{
    *end = 0;
    for (size_t at = from; at < len; at++) {
        const size_t quote = find(data, at, len, '"');
        if (!quoted) {
            const char *newline = memrchr(data + at, '\n', quote - at);
            if (newline != NULL)
                *end = (size_t)(newline - data) + 1;
            if (quote < len && !bm_row_splits_at(syntax, data[quote - 1]) &&
                data[quote - 1] != '\n')
                return false;
        } else if (quote + 1 < len) {
            const char next = data[quote + 1];
            if (next == '"') {
                at = quote + 1;
                continue;
            }
            if (!bm_row_splits_at(syntax, next) && next != '\n' && next != '\r')
                return false;
        }
        quoted = !quoted;
        at = quote;
    }
    return true;
}

/* Bytes from the middle of a file may begin inside quotes or outside. Both cases are tried, and the
 * wrong one soon meets a quote where none is allowed. If both fit, the end is unknown to a caller
 * that wants to be sure, and outside is assumed for others. The first byte and the quotes just
 * after it are skipped, since a quote there may be the second half of a doubled quote. */
static size_t csv_likely_end(const bm_end_hint *hint, const char *data, size_t len)
{
    size_t from = 0, end = 0, end_quoted = 0;
    while (from < len && (from == 0 || data[from] == '"'))
        from++;
    const bool fits = csv_fits(hint->syntax, data, from, len, false, &end),
               fits_quoted = csv_fits(hint->syntax, data, from, len, true, &end_quoted);
    if (fits && fits_quoted && hint->sure)
        return 0;
    return fits ? end : fits_quoted ? end_quoted : 0;
}

/* === split json ===
 *
 * Finds the end of an element of one top-level array. Between elements the syntax is checked;
 * within an element only brackets and strings are followed.
 *
 *     START --[--> FIRST --]--> END                    white space is skipped in all these states
 *                    '--element--> AFTER --]--> END
 *                        '-- NEXT <--,--'
 *
 * An element with matching brackets and quotes is a record, even if something else is wrong with
 * it. The parser reports the error, and reading goes on after the element. If brackets or quotes do
 * not match, the beginning of the next element is unknown, so the file is broken there. Limits: at
 * levels deeper than BM_JSON_DEPTH_MAX brackets are only counted; such a record is bad anyway. */

enum { START, split_json_FIRST, NEXT, split_json_AFTER, END, SCALAR, INSIDE, STRING, ESCAPE };

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static void broken(bm_scan *scan, size_t at, const char *why)
{
    scan->broken = why;
    scan->at = at;
}

/* Nonzero if some byte is 0. */
static uint64_t has_zero(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

/* Find the next quote or backslash, eight bytes at a time. Returns `to` if there is none. */
static size_t skip_plain(const char *data, size_t pos, size_t to)
{
    for (uint64_t word; to - pos >= sizeof word; pos += sizeof word) {
        memcpy(&word, data + pos, sizeof word);
        if ((has_zero(word ^ ONES * '"') | has_zero(word ^ ONES * '\\')) != 0)
            break;
    }
    while (pos < to && data[pos] != '"' && data[pos] != '\\')
        pos++;
    return pos;
}

static void open_bracket(bm_scan *scan, bool object)
{
    uint32_t level = scan->depth++;
    if (level >= BM_JSON_DEPTH_MAX)
        return;
    uint8_t bit = (uint8_t)(1u << (level % 8));
    uint8_t *objects = &scan->objects[level / 8];
    *objects = (uint8_t)(object ? *objects | bit : *objects & ~bit);
}

/* Close a bracket. False: the open bracket is of the other kind. */
static bool close_bracket(bm_scan *scan, bool object)
{
    uint32_t level = --scan->depth;
    return level >= BM_JSON_DEPTH_MAX ||
           ((scan->objects[level / 8] >> (level % 8) & 1) != 0) == object;
}

static void begin_element(bm_scan *scan, size_t pos, char byte)
{
    if (memchr("}:,]", byte, 4) != NULL) {
        broken(scan, pos, "an element was expected in the array");
        return;
    }
    scan->before = scan->state;
    scan->begin = pos;
    scan->depth = 0;
    scan->state = byte == '"' ? STRING : byte == '{' || byte == '[' ? INSIDE : SCALAR;
    if (scan->state == INSIDE)
        open_bracket(scan, byte == '{');
}

/* Handle one byte outside of elements. */
static void step_between(bm_scan *scan, size_t pos, char byte)
{
    if (bm_json_is_space(byte))
        return;
    switch (scan->state) {
    case START:
        if (byte == '[')
            scan->state = split_json_FIRST;
        else
            broken(scan, pos, "an array was expected (of an object a line: `format` jsonl)");
        break;
    case split_json_FIRST:
    case NEXT:
        if (byte == ']' && scan->state == split_json_FIRST)
            scan->state = END;
        else if (byte == ']')
            broken(scan, pos,
                   "an element was expected, not ] (the comma before it is one too many)");
        else
            begin_element(scan, pos, byte);
        break;
    case split_json_AFTER:
        if (byte == ',' || byte == ']')
            scan->state = byte == ',' ? NEXT : END;
        else
            broken(scan, pos, "a comma or ] was expected after an element of the array");
        break;
    default:
        broken(scan, pos, "nothing more was expected after the array");
    }
}

/* Handle one byte inside brackets, outside of strings. True: the element ends with this byte. */
static bool step_inside(bm_scan *scan, size_t pos, char byte)
{
    if (byte == '"')
        scan->state = STRING;
    else if (byte == '{' || byte == '[')
        open_bracket(scan, byte == '{');
    else if ((byte == '}' || byte == ']') && !close_bracket(scan, byte == '}'))
        broken(scan, pos, byte == '}' ? "} where a [ is open" : "] where a { is open");
    if (scan->depth > 0 || scan->broken != NULL)
        return false;
    scan->state = split_json_AFTER;
    return true;
}

/* Continue inside a string, and advance *pos. True: the element is that string, and ends. */
static bool step_string(bm_scan *scan, const char *data, size_t *pos, size_t to)
{
    *pos = skip_plain(data, *pos, to);
    if (*pos == to)
        return false;
    if (data[(*pos)++] == '\\') {
        scan->state = ESCAPE;
        return false;
    }
    scan->state = scan->depth == 0 ? split_json_AFTER : INSIDE;
    return scan->depth == 0;
}

/* Sets scan->begin to the beginning of the element that ends. If the array itself is wrong, or an
 * error hides the end of an element, returns BM_SCAN_MORE and sets scan->broken. */
static size_t element_end(bm_scan *scan, const char *data, size_t from, size_t to)
{
    if (scan->state <= END)
        scan->begin = BM_SCAN_MORE;
    for (size_t pos = from; pos < to && scan->broken == NULL;) {
        switch (scan->state) {
        case STRING:
            if (step_string(scan, data, &pos, to))
                return pos;
            break;
        case ESCAPE:
            scan->state = STRING;
            pos++;
            break;
        case INSIDE:
            if (step_inside(scan, pos, data[pos]))
                return pos + 1;
            pos++;
            break;
        case SCALAR:
            if (bm_json_is_space(data[pos]) || memchr("{}[],:\"", data[pos], 7) != NULL) {
                scan->state = split_json_AFTER;
                return pos;
            }
            pos++;
            break;
        default:
            step_between(scan, pos, data[pos]);
            pos++;
        }
    }
    return BM_SCAN_MORE;
}

static size_t skip_space(const char *data, size_t at, size_t len)
{
    while (at < len && bm_json_is_space(data[at]))
        at++;
    return at;
}

/* The beginning of the white space that ends at offset `at`. */
static size_t space_before(const char *data, size_t at)
{
    while (at > 0 && bm_json_is_space(data[at - 1]))
        at--;
    return at;
}

bm_str bm_element_opening(const char *data, size_t len)
{
    const size_t brace = find(data, 0, len, '{'), quote = skip_space(data, brace + 1, len),
                 end = find(data, quote + 1, len, '"');
    return end < len && data[quote] == '"' ? (bm_str){data + brace, end + 1 - brace} : (bm_str){0};
}

/* Guess that the brace of the last "}," before an element opening ends an element. The guess may be
 * wrong, because a list of objects within an element may look the same. */
static size_t element_likely_end(const bm_end_hint *hint, const char *data, size_t len)
{
    for (size_t at = len; hint->opening.len > 0;) {
        at = find_last(data, at, len, hint->opening);
        if (at == SIZE_MAX)
            return 0;
        const size_t comma = space_before(data, at);
        const size_t end = comma > 0 ? space_before(data, comma - 1) : 0;
        if (end > 0 && data[comma - 1] == ',' && data[end - 1] == '}')
            return end;
    }
    return 0;
}

const char *bm_elements_unclosed(const bm_scan *scan)
{
    switch (scan->state) {
    case END:
        return NULL;
    case START:
        return "the file ends (an array was expected)";
    case split_json_FIRST:
    case NEXT:
    case split_json_AFTER:
        return "the file ends before the array is closed";
    default:
        return "the file ends within the element that begins here";
    }
}

static const bm_record_format formats[] = {
    {.format = BM_FORMAT_JSONL,
     .name = "jsonl",
     .endings = {".jsonl", ".ndjson", ".ldjson"},
     .newline_ends = true,
     .skip_blank = true,
     .json = true,
     .record_end = line_end,
     .likely_end = line_likely_end,
     .parse = parse_jsonl},
    {.format = BM_FORMAT_JSON,
     .name = "json",
     .endings = {".json"},
     .json = true,
     .elements = true,
     .state_behind = split_json_AFTER,
     .record_end = element_end,
     .likely_end = element_likely_end,
     .parse = parse_jsonl},
    {.format = BM_FORMAT_TSV,
     .name = "tsv",
     .endings = {".tsv"},
     .newline_ends = true,
     .table = true,
     .record_end = line_end,
     .likely_end = line_likely_end,
     .parse = parse_table},
    {.format = BM_FORMAT_CSV,
     .name = "csv",
     .endings = {".csv"},
     .table = true,
     .quoted = true,
     .record_end = csv_end,
     .likely_end = csv_likely_end,
     .parse = parse_table},
    {.format = BM_FORMAT_LINES,
     .name = "lines",
     .newline_ends = true,
     .record_end = line_end,
     .likely_end = line_likely_end,
     .parse = parse_line},
    {.format = BM_FORMAT_WET,
     .name = "wet",
     .endings = {".warc.wet"},
     .record_end = bm_wet_end,
     .likely_end = wet_likely_end,
     .parse = parse_wet,
     .role = wet_role},
    {.format = BM_FORMAT_FILES,
     .name = "files",
     .whole_file = true,
     .record_end = file_end,
     .parse = parse_file},
};

const bm_record_format *bm_record_format_of(bm_format format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].format == format)
            return &formats[i];
    return NULL;
}

bm_format bm_format_of_name(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (size_t j = 0; j < sizeof formats[i].endings / sizeof formats[i].endings[0]; j++)
            if (formats[i].endings[j] != NULL && bm_name_ends(name, len, formats[i].endings[j]))
                return formats[i].format;
    return BM_FORMAT_FILES;
}

const char *bm_format_name(bm_format format)
{
    const bm_record_format *row = bm_record_format_of(format);
    return row != NULL ? row->name : bm_option_name_or(BM_OPTION_FORMAT, format, "auto");
}
