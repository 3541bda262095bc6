/* parse_lines.c -- a line, or a whole file, is the text of a document.
 *
 * Tests: tests/unit/input/test_parser.c */
#include <string.h>

#include "input/parser_state.h"

#define BINARY_BYTES 8192u /* of a file, in which a NUL tells that it is no text */

static bm_status take_text(struct bm_parser *parser, bm_str content, bm_record *record,
                           bm_error *err)
{
    record->text = content;
    record->text_bytes = content.len;
    const bm_utf8_value field = {"text", &parser->text, &record->text};
    return bm_record_make_valid(&parser->maker, record, &field, err);
}

bm_status bm_parse_line(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    bm_status status = take_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status
                                          : bm_record_place_id(&parser->maker, record, err);
}

bm_status bm_parse_file(struct bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    const size_t first = content.len < BINARY_BYTES ? content.len : BINARY_BYTES;
    if (first > 0 && memchr(content.data, '\0', first) != NULL) {
        bm_record_bad(&parser->maker, record,
                      "a binary file (NUL bytes among its first %u; a text has none)",
                      BINARY_BYTES);
        return BM_OK;
    }
    bm_status status = take_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status : bm_record_file_id(&parser->maker, record, err);
}
