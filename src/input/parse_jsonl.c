/* parse_jsonl.c -- a JSON object to id and text: what counts as missing, as empty, as bad.
 *
 * Tests: tests/unit/input/test_parser.c */
#include <string.h>

#include "base/error.h"
#include "input/name_list.h"
#include "input/parser_state.h"

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

/* The field of this name is not there (what was expected): say which are. */
static void missing(struct bm_parser *parser, bm_str content, const char *name,
                    const char *expected, bm_record *record)
{
    bm_name_list names = {0};
    bm_name_list_json(&names, content, name);
    bm_record_bad(&parser->maker, record, "no field '%.64s' (%s; the record has %s)", name,
                  expected, bm_name_list_words(&names));
}

/* A text field must be there, and be a string or null; its invalid bytes are counted. */
static bool check_text(struct bm_parser *parser, bm_str content, size_t i, bm_record *record)
{
    const bm_json_field *field = &parser->json_fields[i];
    const char *name = parser->rules->text[i];
    const size_t len = strlen(name);
    const bool numbers = field->place > 0 && len > 2 && strcmp(name + len - 2, "[]") == 0;
    const char *expected = numbers ? "a string, a number or null" : "a string or null";
    if (field->kind == BM_JSON_STRING || field->kind == BM_JSON_NULL)
        return bm_record_count_invalid(&parser->maker, record, field->n_invalid, "text");
    if (field->place > 0)
        bm_record_bad(&parser->maker, record, "value %llu of field '%.64s' is %s (%s)",
                      (unsigned long long)field->place, name, kind_name(field->kind), expected);
    else if (field->kind == BM_JSON_MISSING)
        missing(parser, content, name, expected, record);
    else
        bm_record_bad(&parser->maker, record, "field '%.64s' is %s (%s)", name,
                      kind_name(field->kind), expected);
    return false;
}

static bm_status take_text(struct bm_parser *parser, bm_str content, bm_record *record,
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

static bm_status take_id(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    const bm_record_rules *rules = parser->rules;
    if (rules->id == NULL)
        return bm_record_place_id(&parser->maker, record, err);
    const bm_json_field *field = &parser->json_fields[rules->n_text];
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
        if (!rules->id_given)
            return bm_record_place_id(&parser->maker, record, err);
        if (field->kind == BM_JSON_MISSING) {
            missing(parser, content, rules->id, "a string or a number", record);
            return BM_OK;
        }
        break;
    case BM_JSON_BOOL:
    case BM_JSON_ARRAY:
    case BM_JSON_OBJECT:
        break;
    }
    bm_record_bad(&parser->maker, record, "field '%.64s' is %s (a string or a number)", rules->id,
                  kind_name(field->kind));
    return BM_OK;
}

/* What the fields of `keep` hold, which follow those of the text and the id. */
static void take_values(struct bm_parser *parser)
{
    const bm_record_rules *rules = parser->rules;
    const bm_json_field *found = &parser->json_fields[rules->n_text + (rules->id != NULL)];
    for (size_t i = 0; i < bm_rules_n_keep(rules); i++) {
        bm_value *value = &parser->keyer.values[i];
        *value = (bm_value){.kind = BM_VALUE_OTHER, .text = found[i].value};
        if (found[i].kind == BM_JSON_MISSING || found[i].kind == BM_JSON_NULL)
            value->kind = BM_VALUE_MISSING;
        else if (found[i].kind == BM_JSON_STRING)
            value->kind = BM_VALUE_STRING;
        else if (found[i].kind == BM_JSON_NUMBER)
            *value = (bm_value){
                .kind = BM_VALUE_NUMBER, .text = found[i].value, .number = found[i].value};
    }
}

bm_status bm_parse_jsonl(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    const char *broken;
    BM_TRY(bm_json_exact_run(parser->json, content, parser->json_fields, &broken, err));
    if (broken != NULL) {
        bm_record_bad(&parser->maker, record, "%s", broken);
        return BM_OK;
    }
    BM_TRY(take_text(parser, content, record, err));
    if (!record->bad)
        BM_TRY(take_id(parser, content, record, err));
    if (record->bad || parser->keyer.rules == NULL)
        return BM_OK;
    take_values(parser);
    return bm_keyer_make(&parser->keyer, parser->maker.file_name, record, err);
}
