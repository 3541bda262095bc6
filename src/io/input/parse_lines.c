/* parse_lines.c -- documents that are a line, or a whole file. */
#include "io/input/parser.h"

static bm_status take_text(bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    record->text_bytes = content.len;
    return bm_parser_valid(parser, content, &parser->text, &record->text, record, "text", err);
}

bm_status bm_parse_line(bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    bm_status status = take_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status : bm_parser_place_id(parser, record, err);
}

bm_status bm_parse_file(bm_parser *parser, bm_str content, bm_record *record, bm_error *err)
{
    bm_status status = take_text(parser, content, record, err);
    return status != BM_OK || record->bad ? status : bm_parser_file_id(parser, record, err);
}
