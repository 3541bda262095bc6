/* parser_state.h -- what a parser lends to the parse function of its format, to make a record.
 *
 * Text and id of a record are views of the batch where its bytes can stay as they are, else of the
 * parser's own buffers, which live until the next record. */
#ifndef BM_IO_FORMATS_PARSER_STATE_H
#define BM_IO_FORMATS_PARSER_STATE_H

#include "base/memory.h"
#include "input/keep_key.h"
#include "input/record_rules.h"
#include "input/record_format.h"
#include "input/record_maker.h"
#include "json/json_exact.h"

struct bm_input_set;

struct bm_parser {
    const struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    bm_record_maker maker;

    const uint32_t *columns; /* of the piece's file (tsv, csv) */
    bm_buf text, id;         /* rewritten or joined */
    bm_buf joined, repaired, repaired_id;
    bm_json_exact *json; /* jsonl only */
    bm_json_field *json_fields;
    bm_str *cells; /* of the text fields of a table, then those of `keep`; data NULL: missing */
    bm_keyer keyer;
};

#endif
