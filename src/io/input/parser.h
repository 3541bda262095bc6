/* parser.h -- what the parser and the parse functions of the formats share.
 *
 * Text and id of a record are views of the batch where its bytes can stay as they are, else of the
 * parser's own buffers, which live until the next record. */
#ifndef BM_IO_INPUT_PARSER_H
#define BM_IO_INPUT_PARSER_H

#include "base/memory.h"
#include "io/json/json_read.h"
#include "io/input/reader.h"
#include "io/input/reader_fields.h"
#include "io/input/reader_table.h"

struct bm_parser {
    const bm_input_set *set;
    const bm_reader_ops *ops;
    const bm_fields *fields;
    uint64_t max_doc_bytes;
    bool invalid_is_error;

    bool piece_valid;        /* the piece is valid UTF-8 throughout */
    const uint32_t *columns; /* of the piece's file */
    bm_buf text, id;         /* rewritten or joined */
    bm_buf joined, repaired, repaired_id;
    bm_buf place;     /* "FILE:" of file `place_file`, then room for the line */
    size_t place_len; /* of "FILE:" */
    uint32_t place_file;
    bm_json_line *json; /* jsonl only */
    bm_json_field *json_fields;
    bm_str *cells; /* of the text fields of a table; data NULL: missing */
    char reason[320];
};

/* The record is bad: a reason in the parser's buffer. */
void bm_parser_bad(bm_parser *parser, bm_record *record, const char *format, ...) BM_PRINTF(3, 4);
/* id = FILE:LINE; id = FILE. */
bm_status bm_parser_place_id(bm_parser *parser, bm_record *record, bm_error *err);
bm_status bm_parser_file_id(bm_parser *parser, bm_record *record, bm_error *err);
/* *out = `bytes` as valid UTF-8: as they are, or repaired into `buf` (emptied before), counted in
 * the record, which is bad where invalid bytes are an error. `what` names them: "text". */
bm_status bm_parser_valid(bm_parser *parser, bm_str bytes, bm_buf *buf, bm_str *out,
                          bm_record *record, const char *what, bm_error *err);
/* Say, where that is an error, that n invalid bytes were found; false: the record is bad now. */
bool bm_parser_count_invalid(bm_parser *parser, bm_record *record, uint64_t n, const char *what);

#endif
