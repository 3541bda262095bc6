/* parse_jsonl.c -- a JSON object to id and text: what counts as missing, as empty, as bad.
 *
 * Tests: tests/unit/io_input/test_parser.c */
#include <string.h>

#include "io/input/parser_state.h"

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

/* A text field must be there, and be a string or null; its invalid bytes are counted. */
static bool check_text(struct bm_parser *parser, size_t i, bm_record *record)
{
    const bm_json_field *field = &parser->json_fields[i];
    const char *name = parser->fields->text[i];
    const bool fine = field->kind == BM_JSON_STRING || field->kind == BM_JSON_NULL;
    if (!fine && field->place > 0)
        bm_record_bad(&parser->maker, record,
                      "value %llu of field '%.64s' is %s (a string or null)",
                      (unsigned long long)field->place, name, kind_name(field->kind));
    else if (field->kind == BM_JSON_MISSING)
        bm_record_bad(&parser->maker, record, "no field '%.64s' (a string or null)", name);
    else if (!fine)
        bm_record_bad(&parser->maker, record, "field '%.64s' is %s (a string or null)", name,
                      kind_name(field->kind));
    else
        return bm_record_count_invalid(&parser->maker, record, field->n_invalid, "text");
    return false;
}

static bm_status take_text(struct bm_parser *parser, bm_record *record, bm_error *err)
{
    size_t n = parser->fields->n_text;
    for (size_t i = 0; i < n; i++) {
        if (!check_text(parser, i, record))
            return BM_OK;
        record->text_bytes += parser->json_fields[i].len_bytes + (i > 0);
    }
    if (n == 1) {
        record->text = parser->json_fields[0].value;
        return BM_OK;
    }
    bm_status status = BM_OK;
    parser->text.len = 0;
    for (size_t i = 0; i < n && status == BM_OK; i++) {
        bm_str value = parser->json_fields[i].value;
        if (i > 0)
            status = bm_buf_add(&parser->text, "\n", 1, err);
        if (status == BM_OK)
            status = bm_buf_add(&parser->text, value.data, value.len, err);
    }
    record->text = (bm_str){.data = parser->text.data, .len = parser->text.len};
    return status;
}

static bm_status take_id(struct bm_parser *parser, bm_record *record, bm_error *err)
{
    const bm_fields *fields = parser->fields;
    if (fields->id == NULL)
        return bm_record_place_id(&parser->maker, record, err);
    const bm_json_field *field = &parser->json_fields[fields->n_text];
    switch (field->kind) {
    case BM_JSON_STRING:
        bm_record_count_invalid(&parser->maker, record, field->n_invalid, "id");
        record->id = field->value;
        return BM_OK;
    case BM_JSON_NUMBER:
        record->id = field->value;
        return BM_OK;
    case BM_JSON_MISSING:
    case BM_JSON_NULL:
        if (!fields->id_given)
            return bm_record_place_id(&parser->maker, record, err);
        if (field->kind == BM_JSON_MISSING) {
            bm_record_bad(&parser->maker, record, "no field '%.64s' (a string or a number)",
                          fields->id);
            return BM_OK;
        }
        break;
    case BM_JSON_BOOL:
    case BM_JSON_ARRAY:
    case BM_JSON_OBJECT:
        break;
    }
    bm_record_bad(&parser->maker, record, "field '%.64s' is %s (a string or a number)", fields->id,
                  kind_name(field->kind));
    return BM_OK;
}

bm_status bm_parse_jsonl(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    const char *broken;
    bm_status status = bm_json_line_run(parser->json, content, parser->json_fields, &broken, err);
    if (status != BM_OK)
        return status;
    if (broken != NULL) {
        bm_record_bad(&parser->maker, record, "%s", broken);
        return BM_OK;
    }
    status = take_text(parser, record, err);
    if (status == BM_OK && !record->bad)
        status = take_id(parser, record, err);
    return status;
}
