/* SPDX-License-Identifier: Apache-2.0 */
/* record_rules.c -- makes the rules from the options, and finds the columns of fields.
 *
 * Tests: tests/unit/input/test_name_list.c, tests/unit/input/test_parse_row.c,
 *        tests/unit/input/test_parser.c, tests/unit/input/test_reader.c,
 *        tests/unit/input/test_record_rules.c */
#include "input/record_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_scan.h"
#include "model/option_words.h"

/* === name list ===
 *
 * Used only for messages, so the names of a JSON object are found by scanning it once more
 * (json_scan.h). */

#define SHOWN_MAX 10u /* names shown */
#define NAME_MAX  48u /* bytes shown of a name */
#define REST_MAX  48u /* bytes reserved for the words after the list of names */

/* Append a name, perhaps shortened, with a question mark for each invalid byte. */
static void put_name(bm_name_list *list, bm_str name)
{
    size_t len = name.len, pos = 0;
    if (len > NAME_MAX) /* do not cut inside a character */
        for (len = NAME_MAX; len > NAME_MAX - 4 && ((unsigned char)name.data[len] & 0xC0) == 0x80;)
            len--;
    while (pos < len) {
        size_t good = bm_utf8_valid_prefix(name.data + pos, len - pos);
        memcpy(list->text + list->len, name.data + pos, good);
        list->len += good;
        pos += good;
        if (pos < len) {
            list->text[list->len++] = '?';
            pos++;
        }
    }
    if (len < name.len) {
        memcpy(list->text + list->len, "...", 3);
        list->len += 3;
    }
}

void bm_name_list_add(bm_name_list *list, bm_str prefix, bm_str name)
{
    const size_t most = 2 * (NAME_MAX + 3) + sizeof ", ''." + REST_MAX;
    list->n++;
    if (list->n_shown == SHOWN_MAX || list->n_shown + 1 < list->n ||
        list->len + most > sizeof list->text)
        return;
    if (list->n_shown++ > 0) {
        memcpy(list->text + list->len, ", ", 2);
        list->len += 2;
    }
    list->text[list->len++] = '\'';
    if (prefix.len > 0) {
        put_name(list, prefix);
        list->text[list->len++] = '.';
    }
    put_name(list, name);
    list->text[list->len++] = '\'';
}

const char *bm_text_hint(const char *field)
{
    return strcmp(field, "text") == 0 ? "`text_field` names another; " : "";
}

const char *bm_name_list_words(bm_name_list *list)
{
    char *end = list->text + list->len;
    size_t room = sizeof list->text - list->len;
    if (list->n == 0)
        snprintf(end, room, "no fields");
    else if (list->n > list->n_shown)
        snprintf(end, room, " and %zu more", list->n - list->n_shown);
    else
        *end = '\0';
    return list->text;
}

/* Find the last member with this name, and set *out to its value. True: the value is an object.
 * Keys with escapes never match. */
static bool find_object(bm_str object, bm_str name, bm_str *out)
{
    size_t at = 0;
    bm_str key, value;
    bool found = false;
    while (bm_json_scan_member(object, &at, &key, &value))
        if (key.len == name.len + 2 && memcmp(key.data + 1, name.data, name.len) == 0) {
            found = value.len > 0 && value.data[0] == '{';
            *out = value;
        }
    return found;
}

void bm_name_list_json(bm_name_list *list, bm_str object, const char *path)
{
    bm_str key, value, prefix = {path, 0};
    for (const char *part = path;;) {
        const size_t len = bm_dotted_part_bytes(part);
        if (part[len] == '\0' || !find_object(object, (bm_str){part, len}, &value))
            break;
        object = value;
        prefix.len = (size_t)(part - path) + len;
        part += len + 1;
    }
    for (size_t at = 0; bm_json_scan_member(object, &at, &key, &value);)
        bm_name_list_add(list, prefix, (bm_str){key.data + 1, key.len - 2});
}

uint64_t bm_count_newlines(const char *data, size_t len)
{
    uint64_t n = 0;
    size_t i = 0;
    while (len - i >= 64) {
        uint8_t counters[64] = {0};
        size_t blocks = (len - i) / 64 < 255 ? (len - i) / 64 : 255;
        for (size_t b = 0; b < blocks; b++, i += 64)
            for (size_t j = 0; j < 64; j++)
                counters[j] = (uint8_t)(counters[j] + (data[i + j] == '\n'));
        for (size_t j = 0; j < 64; j++)
            n += counters[j];
    }
    for (; i < len; i++)
        n += data[i] == '\n';
    return n;
}

/* === parse row ===
 *
 * Finds cells with memchr. syntax.delimiter ends a cell (by default a tab in tsv, a comma in csv).
 * Quotes in csv follow RFC 4180. */

bm_row bm_row_begin(bm_str content, bm_row_syntax syntax)
{
    return (bm_row){
        .pos = content.len > 0 ? content.data : "", .left = content.len, .syntax = syntax};
}

static bool broken(bm_row *row, const char *opened, const char *why, const char *expected)
{
    row->broken = why;
    row->expected = expected;
    row->opened = opened;
    row->pos = NULL;
    return false;
}

void bm_row_explain(const bm_row *row, const bm_row_place *place, char *out, size_t cap)
{
    char where[96] = "", swallowed[96] = "";
    if (row->opened != NULL) {
        uint64_t before = bm_count_newlines(place->begin, (size_t)(row->opened - place->begin));
        uint64_t n = place->n_behind - before;
        snprintf(where, sizeof where, ": field %" PRIu32 " begins with a quote on line %" PRIu64,
                 row->n_cells, place->line + before);
        if (n > 0)
            snprintf(swallowed, sizeof swallowed, " and swallowed the %" PRIu64 " line%s after it",
                     n, n == 1 ? "" : "s");
    }
    snprintf(out, cap, "%s%s%s (%s)", row->broken, where, swallowed, row->expected);
}

void bm_row_explain_surplus(bm_row_syntax syntax, uint32_t n_cells, uint32_t n_first, char *out,
                            size_t cap)
{
    const char other[] = {'\'', syntax.delimiter, '\'', '\0'};
    snprintf(out, cap,
             "the row has %" PRIu32 " cells, split at %s, and the first row %" PRIu32
             " (%s; `delimiter` names another delimiter)",
             n_cells,
             syntax.delimiter == ','    ? "a comma"
             : syntax.delimiter == '\t' ? "a tab"
                                        : other,
             n_first,
             syntax.quoted ? "a cell that holds the delimiter has to be quoted"
                           : "tsv has no quoting: `format` csv reads quoted cells");
}

/* Move past a cell of `used` bytes, and past the delimiter after it if there is one. Returns
 * true. */
static bool go_behind(bm_row *row, size_t used)
{
    bool last = used == row->left;
    row->pos = last ? NULL : row->pos + used + 1;
    row->left = last ? 0 : row->left - used - 1;
    return true;
}

static bool next_quoted(bm_row *row, bm_cell *cell)
{
    const char *begin = row->pos + 1;
    size_t len = row->left - 1, at = 0; /* at: where to search for the next quote */
    for (;;) {
        const char *quote = at < len ? memchr(begin + at, '"', len - at) : NULL;
        if (quote == NULL)
            return broken(row, begin - 1, "a quoted field is never closed", "a quote");
        at = (size_t)(quote - begin);
        if (at + 1 == len || quote[1] != '"')
            break;
        cell->doubled = true;
        at += 2;
    }
    if (at + 1 < len && begin[at + 1] != row->syntax.delimiter)
        return broken(row, begin - 1, "text after a closing quote",
                      row->syntax.delimiter == ',' ? "a comma or the end of the row"
                                                   : "the delimiter or the end of the row");
    cell->value = (bm_str){.data = begin, .len = at};
    return go_behind(row, at + 2);
}

bool bm_row_next(bm_row *row, bm_cell *cell)
{
    if (row->pos == NULL)
        return false;
    cell->doubled = false;
    row->n_cells++;
    if (row->syntax.quoted && row->left > 0 && *row->pos == '"')
        return next_quoted(row, cell);
    const char *at = memchr(row->pos, row->syntax.delimiter, row->left);
    size_t len = at != NULL ? (size_t)(at - row->pos) : row->left;
    if (row->syntax.quoted && memchr(row->pos, '"', len) != NULL)
        return broken(row, NULL, "a quote inside a field without quotes",
                      "RFC 4180: quote the field, double the quote");
    cell->value = (bm_str){.data = row->pos, .len = len};
    return go_behind(row, len);
}

bm_status bm_cell_plain(const bm_cell *cell, bm_buf *out, bm_str *value, bm_error *err)
{
    size_t begin = out->len;
    BM_TRY(bm_buf_reserve(out, cell->value.len, err));
    const char *pos = cell->value.data, *end = pos + cell->value.len;
    while (pos < end) {
        const char *quote = memchr(pos, '"', (size_t)(end - pos));
        const char *stop = quote == NULL ? end : quote + 1; /* copies the first of two quotes */
        memcpy(out->data + out->len, pos, (size_t)(stop - pos));
        out->len += (size_t)(stop - pos);
        pos = quote == NULL ? end : quote + 2;
    }
    *value = (bm_str){.data = out->data + begin, .len = out->len - begin};
    return BM_OK;
}

static const char *const default_text[] = {"text"};

/* Does the name consist of digits only, so that it is the number of a column? */
static bool is_number(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

/* Convert a column number, counted from 1, to a column counted from 0. BM_NO_COLUMN for 0, and for
 * numbers larger than any table has. */
static uint32_t column_of_number(const char *name)
{
    uint64_t value = 0;
    for (const char *p = name; *p != '\0'; p++) {
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > BM_NO_COLUMN)
            return BM_NO_COLUMN;
    }
    return value == 0 ? BM_NO_COLUMN : (uint32_t)(value - 1);
}

static bool all_given_are_numbers(const bm_input_options *options, const bm_record_rules *rules)
{
    if (options->n_text_fields == 0 && !rules->id_given)
        return false;
    for (size_t i = 0; i < options->n_text_fields; i++)
        if (!is_number(options->text_fields[i]))
            return false;
    return !rules->id_given || is_number(rules->id);
}

/* In a table without header, every field must be a number from 1. Messages add the words `whose`
 * to the field's name. */
static bm_status check_number(const char *name, const char *field, const char *whose, bm_error *err)
{
    if (!is_number(field))
        return bm_fail_field(
            err, name,
            "field '%s'%s is a name, but the input has no header (a number from 1, or "
            "`header` yes)",
            field, whose);
    if (column_of_number(field) == BM_NO_COLUMN)
        return bm_fail_field(err, name, "field '%s' is no column (a number from 1)", field);
    return BM_OK;
}

/* An id is one value, so its path must not lead through [] to all elements of an array. */
static bm_status check_id_path(const char *id, bm_error *err)
{
    for (const char *at = id; (at = strstr(at, "[]")) != NULL; at += 2)
        if (at > id && at[-1] != '.' && (at[2] == '.' || at[2] == '\0'))
            return bm_fail_field(err, "id_field",
                                 "field '%s' leads to all elements of an array (one value: [] is "
                                 "for `text_fields`)",
                                 id);
    return BM_OK;
}

/* A record of wet has one text, and two header fields that can be its id. */
static bm_status check_wet_fields(const bm_record_rules *rules, bm_error *err)
{
    if (rules->n_text != 1 || strcmp(rules->text[0], default_text[0]) != 0)
        return bm_fail_field(err, "text_fields",
                             "`text_fields` with inputs of wet, whose records have one text");
    return !rules->id_given || strcmp(rules->id, "id") == 0 || strcmp(rules->id, "uri") == 0
               ? BM_OK
               : bm_fail_field(err, "id_field", "`id_field` '%s' of wet (id, uri or none)",
                               rules->id);
}

bm_row_syntax bm_row_syntax_of(const bm_input_options *options, bm_format format)
{
    const bool quoted = format == BM_FORMAT_CSV;
    if (!quoted && format != BM_FORMAT_TSV)
        return (bm_row_syntax){0};
    const char usual = quoted ? ',' : '\t';
    return (bm_row_syntax){.delimiter = options->delimiter != '\0' ? options->delimiter : usual,
                           .quoted = quoted};
}

bm_status bm_record_rules_init(const bm_input_options *options, bm_format format,
                               bm_record_rules *out, bm_error *err)
{
    bm_record_rules rules = {.text = options->text_fields,
                             .n_text = options->n_text_fields,
                             .syntax = bm_row_syntax_of(options, format),
                             .longest =
                                 options->max_doc_bytes != 0 ? options->max_doc_bytes : UINT64_MAX,
                             .row_ids = options->row_ids,
                             .repairs = bm_input_repairs_utf8(options)};
    bool text_given = options->text_fields != NULL && options->n_text_fields > 0;
    if (!text_given) {
        rules.text = default_text;
        rules.n_text = 1;
    }
    rules.id = "id";
    if (options->id_field != NULL) {
        rules.id = strcmp(options->id_field, "none") == 0 ? NULL : options->id_field;
        rules.id_given = rules.id != NULL;
    }
    if ((format == BM_FORMAT_JSONL || format == BM_FORMAT_JSON) && rules.id_given) {
        BM_TRY(check_id_path(rules.id, err));
    }
    if (format == BM_FORMAT_WET)
        BM_TRY(check_wet_fields(&rules, err));
    const bool table = format == BM_FORMAT_TSV || format == BM_FORMAT_CSV;
    const char *of_tables = options->delimiter != '\0'               ? "delimiter"
                            : options->header != BM_HEADER_BY_FIELDS ? "header"
                                                                     : NULL;
    if (!table && of_tables != NULL)
        return bm_fail_field(err, of_tables, "`%s` with inputs of %s (tsv or csv)", of_tables,
                             bm_option_name_or(BM_OPTION_FORMAT, format, "another format"));
    if ((unsigned char)rules.syntax.delimiter >= 0x80) /* such a byte would split characters */
        return bm_fail_field(err, "delimiter", "`delimiter` is no character of ASCII");
    if (table) {
        rules.header = options->header != BM_HEADER_BY_FIELDS
                           ? options->header == BM_HEADER_YES
                           : !all_given_are_numbers(options, &rules);
        for (size_t i = 0; i < rules.n_text && !rules.header; i++)
            BM_TRY(check_number("text_fields", rules.text[i], text_given ? "" : " (the default)",
                                err));
        if (!rules.header && rules.id_given)
            BM_TRY(check_number("id_field", rules.id, "", err));
    }
    *out = rules;
    return BM_OK;
}

bm_status bm_fail_bad_record(const char *file, const bm_record *record, bm_error *err)
{
    (void)bm_fail_at(err, BM_ERR_INPUT, file, record->line, "%s", record->reason);
    bm_error_advise(err, "`on_error` skip uses the other records");
    return BM_ERR_INPUT;
}

void bm_advise_records_before(bm_error *err)
{
    bm_error_advise(err, "`on_error` skip uses the records before that");
}

bm_status bm_skip_allowed(const bm_input_options *options, uint64_t n, const bm_bad_place *bad,
                          bm_error *err)
{
    return n < options->max_errors
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, bad->file, bad->line,
                            "%s (more than %" PRIu64 " bad records, see `max_errors`)", bad->reason,
                            options->max_errors);
}

void bm_explain_longer(const bm_record_rules *rules, const char *what, const char *more, char *out,
                       size_t cap)
{
    snprintf(out, cap, "the %s is longer than %" PRIu64 " bytes (`max_doc_bytes`)%s", what,
             rules->longest, more);
}

void bm_explain_invalid(const char *what, uint64_t n, char *out, size_t cap)
{
    snprintf(out, cap, "invalid UTF-8 in the %.64s, %" PRIu64 " times (`invalid_utf8`)", what, n);
}

bm_status bm_record_rules_rank(bm_record_rules *rules, bm_format format, const bm_keep_rules *keep,
                               bm_error *err)
{
    const bool within = bm_keep_rules_divide(keep) && keep->n_by_field == 1;
    const char *option = within ? "within" : "keep";
    if (keep->n_by_field == 0)
        return BM_OK;
    if (format == BM_FORMAT_LINES || format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES ||
        format == BM_FORMAT_KEYS || format == BM_FORMAT_WET)
        return bm_fail_field(
            err, option, "`%s` looks at field '%s', and inputs of %s have no fields", option,
            keep->fields[0], bm_option_name_or(BM_OPTION_FORMAT, format, "another format"));
    const bool table = format == BM_FORMAT_TSV || format == BM_FORMAT_CSV;
    for (size_t i = 0; table && !rules->header && i < keep->n_fields; i++)
        BM_TRY(check_number(option, keep->fields[i], within ? "" : " of `keep`", err));
    rules->keep = keep;
    return BM_OK;
}

void bm_row_numbers_begin(const bm_record_rules *rules, uint32_t *numbers)
{
    for (size_t i = 0; i < bm_row_numbers_count(rules); i++)
        numbers[i] = BM_NO_COLUMN;
    if (rules->header)
        return;
    if (rules->id_given)
        numbers[0] = column_of_number(rules->id);
    for (size_t i = 0; i < rules->n_text; i++)
        numbers[1 + i] = column_of_number(rules->text[i]);
    for (size_t i = 0; i < bm_rules_n_keep(rules); i++)
        numbers[1 + rules->n_text + i] = column_of_number(rules->keep->fields[i]);
}

static bm_status broken_header(const bm_first_row *header, const bm_row *row, bm_error *err)
{
    char why[320];
    const bm_row_place place = {.begin = header->row.data,
                                .line = 1,
                                .n_behind = bm_count_newlines(header->row.data, header->row.len)};
    bm_row_explain(row, &place, why, sizeof why);
    return bm_fail_at(err, BM_ERR_INPUT, header->file, 1, "broken header: %s", why);
}

/* Find the column named `field`; BM_NO_COLUMN: none. *n_columns: the number of columns.
 * BM_ERR_INPUT: the header is broken, or has the name twice. */
static bm_status find_name(const bm_first_row *header, const char *field, uint32_t *column,
                           uint32_t *n_columns, bm_error *err)
{
    bm_row row = bm_row_begin(header->row, header->syntax);
    bm_cell cell;
    bm_buf plain = {0};
    bm_status status = BM_OK;
    size_t len = strlen(field);
    *column = BM_NO_COLUMN;
    *n_columns = 0;
    while (bm_row_next(&row, &cell)) {
        bm_str name = cell.value;
        if (cell.doubled)
            BM_TRY_OUT(bm_cell_plain(&cell, &plain, &name, err));
        if (name.len == len && memcmp(name.data, field, len) == 0) {
            if (*column != BM_NO_COLUMN)
                BM_TRY_OUT(bm_fail_at(
                    err, BM_ERR_INPUT, header->file, 1,
                    "column '%s' occurs twice in the header (name it by its number)", field));
            *column = *n_columns;
        }
        ++*n_columns;
    }
    if (row.broken != NULL)
        BM_TRY_OUT(broken_header(header, &row, err));
out:
    bm_buf_reset(&plain);
    return status;
}

/* Find the column of a field by the field's name, or else by its number. BM_NO_COLUMN: there is no
 * such column. */
static bm_status find_column(const bm_first_row *header, const char *field, uint32_t *column,
                             uint32_t *n_columns, bm_error *err)
{
    BM_TRY(find_name(header, field, column, n_columns, err));
    if (*column == BM_NO_COLUMN && is_number(field) && column_of_number(field) < *n_columns)
        *column = column_of_number(field);
    return BM_OK;
}

static bm_status list_names(const bm_first_row *header, bm_name_list *names, bm_error *err)
{
    bm_row row = bm_row_begin(header->row, header->syntax);
    bm_cell cell;
    bm_buf plain = {0};
    bm_status status = BM_OK;
    while (bm_row_next(&row, &cell)) {
        bm_str name = cell.value;
        plain.len = 0;
        if (cell.doubled)
            BM_TRY_OUT(bm_cell_plain(&cell, &plain, &name, err));
        bm_name_list_add(names, (bm_str){0}, name);
    }
out:
    bm_buf_reset(&plain);
    return status;
}

/* Like find_column, but BM_ERR_INPUT if there is no such column; the message lists the header's
 * names. */
static bm_status need_column(const bm_first_row *header, const char *field, uint32_t *column,
                             bm_error *err)
{
    uint32_t n_columns;
    BM_TRY(find_column(header, field, column, &n_columns, err));
    if (*column != BM_NO_COLUMN)
        return BM_OK;
    bm_name_list names = {0};
    BM_TRY(list_names(header, &names, err));
    return bm_fail_at(err, BM_ERR_INPUT, header->file, 1,
                      "no field '%s' in the header (%sits %u column%s, by name or number: "
                      "%s%s)",
                      field, bm_text_hint(field), n_columns, n_columns == 1 ? "" : "s",
                      bm_name_list_words(&names),
                      n_columns == 1 ? "; `delimiter` names what separates columns" : "");
}

static bm_status columns_from_header(const bm_record_rules *rules, const bm_first_row *header,
                                     uint32_t *columns, bm_error *err)
{
    uint32_t n_columns;
    for (size_t i = 0; i < rules->n_text; i++)
        BM_TRY(need_column(header, rules->text[i], &columns[1 + i], err));
    for (size_t i = 0; i < bm_rules_n_keep(rules); i++)
        BM_TRY(find_column(header, rules->keep->fields[i], &columns[1 + rules->n_text + i],
                           &n_columns, err));
    if (rules->id == NULL)
        return BM_OK;
    return rules->id_given ? need_column(header, rules->id, &columns[0], err)
                           : find_column(header, rules->id, &columns[0], &n_columns, err);
}

bm_status bm_row_numbers_from(const bm_record_rules *rules, const bm_first_row *first,
                              uint32_t *numbers, bm_error *err)
{
    bm_row row = bm_row_begin(first->row, first->syntax);
    bm_cell cell;
    bm_row_numbers_begin(rules, numbers);
    if (rules->header)
        BM_TRY(columns_from_header(rules, first, numbers, err));
    while (bm_row_next(&row, &cell))
        ;
    if (row.broken == NULL && first->row.len <= rules->longest)
        numbers[bm_columns_count(rules)] = row.n_cells;
    return BM_OK;
}

bm_status bm_row_names_if_absent(const bm_record_rules *rules, const bm_first_row *header,
                                 const uint32_t *numbers, bm_name_list **out, bm_error *err)
{
    const uint32_t *keep = numbers + 1 + rules->n_text;
    size_t i = 0;
    while (i < bm_rules_n_keep(rules) && keep[i] != BM_NO_COLUMN)
        i++;
    if (i == bm_rules_n_keep(rules))
        return BM_OK;
    BM_TRY(bm_new_zero(out, 1, err));
    return list_names(header, *out, err);
}
