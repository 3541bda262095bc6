/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h -- finds and parses the records of a raw batch.
 *
 * A parser (one per thread) calls back for each record, parsed in full (id, text) or only split
 * (bounds, for copying kept records). Both modes see the same records in the same order. */
#pragma once

#include <bandmill/status.h>

#include "input/input_set.h"
#include "input/raw_batch.h"
#include "input/record.h"
#include "input/record_types.h"

typedef struct bm_parser bm_parser;

bm_status bm_parser_open(const bm_input_set *set, bm_parser **out, bm_error *err);
/* Call `fn` for each record of the batch, parsed in full. Bad records are passed too, and `fn`
 * decides what to do about them. Blank lines of jsonl are no records. */
bm_status bm_parser_run(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                        bm_error *err);
/* Like bm_parser_run, but only the bounds of a record are set (raw, file, line, number, place), and
 * header rows are passed too, with is_header. Records are not checked, so bad ones are passed like
 * any other. But elements of an array are parsed, and `bad` and `id` are set, because several
 * elements may begin on one line, so file and line do not identify them. */
bm_status bm_parser_split(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                          bm_error *err);
/* Count the records of a batch, bad ones too, without parsing them. */
bm_status bm_parser_count(bm_parser *parser, const bm_raw_batch *batch, uint64_t *n, bm_error *err);
/* The types of the records in the batch last parsed or counted: an array with an element for each
 * of *n files. *n is 0 if records of the format have no types. Valid until the next parse or
 * count. */
const bm_file_types *bm_parser_types(const bm_parser *parser, size_t *n);
void bm_parser_close(bm_parser *parser); /* NULL is fine */

/* read_again -- reads records a second time, at their offsets in plain files. Only for formats in
 * which every newline ends a record (jsonl, tsv, lines). One per thread. */

typedef struct bm_read_again bm_read_again;

/* Can every record of these inputs be read again at its offset? */
bool bm_input_set_reads_again(const bm_input_set *set);

bm_status bm_read_again_open(const bm_input_set *set, bm_read_again **out, bm_error *err);
void bm_read_again_close(bm_read_again *again); /* NULL is fine */
/* Read n records again and let `parser`, opened for the same inputs, parse them. BM_ERR_IO: a file
 * cannot be read. The call is safe even if the files have changed in any way. */
bm_status bm_read_again_run(bm_read_again *again, bm_parser *parser, const bm_record_place *places,
                            size_t n, bm_record_fn fn, void *ctx, bm_error *err);

/* cut_record -- cuts text out of a record of any format: it deletes exactly the bytes that encode
 * the text.
 *
 *     record     {"id":1,"text":"one\ntwo\ud83d\ude00\n","n":2}      text   one·two😀·
 *     cut 4 … 12                 ^^^^^^^^^^^^^^^^^^^^
 *     becomes    {"id":1,"text":"one\n","n":2}
 *
 * Ranges refer to the text that a full parse finds, before invalid UTF-8 is repaired
 * (bm_record.as_read): the text fields, and the elements of fields that are lists, joined by
 * newlines. Those newlines are not in the record. A range that contains one deletes the text on
 * both sides of it. An escape, a surrogate pair or a doubled quote is deleted as a whole, and only
 * if everything that it encodes is in the range. A number in a list of texts stays, because JSON
 * has no empty number. The Content-Length of a WET record is replaced.
 *
 * Threads: one parser per thread. */

/* Bytes `from` … to-1 of a text. */
typedef struct bm_text_range {
    uint64_t from, to;
} bm_text_range;

typedef enum bm_text_coding {
    BM_CODING_PLAIN,
    BM_CODING_JSON,   /* between the quotes of a string */
    BM_CODING_QUOTED, /* a cell of csv with doubled quotes */
    BM_CODING_FIXED   /* a number, which stays */
} bm_text_coding;

/* A text field, or one element of a list of texts. */
typedef struct bm_text_part {
    size_t begin, end;   /* the bytes of record->raw that encode the part */
    bm_text_range range; /* which bytes of the record's text the part is */
    bm_text_coding coding;
} bm_text_part;

/* Bytes of record->raw to delete, and their replacement, which is usually empty. */
typedef struct bm_record_edit {
    size_t from, to;
    char with[21];
    uint8_t n_with;
} bm_record_edit;

/* Get the parts of a good record's text, in order. Call this during the record's callback. *parts
 * belongs to the parser and is valid until the next call of this function or of bm_parser_cut. */
bm_status bm_parser_text_parts(bm_parser *parser, const bm_record *record,
                               const bm_text_part **parts, size_t *n, bm_error *err);
/* Like bm_parser_text_parts, for a record of any source. If no parser made the record and it has
 * one text, *parts and *n do not change. */
static inline bm_status bm_record_text_parts(const bm_record *record, const bm_text_part **parts,
                                             size_t *n, bm_error *err)
{
    if (record->parser != NULL)
        return bm_parser_text_parts(record->parser, record, parts, n, err);
    *parts = record->parts != NULL ? record->parts : *parts;
    *n = record->parts != NULL ? record->n_parts : *n;
    return BM_OK;
}
/* Get the edits that remove n ranges of text from the record. The ranges ascend and do not overlap,
 * and neither do the edits. *edits belongs to the parser and is valid until the next call. */
bm_status bm_parser_cut(bm_parser *parser, const bm_record *record, const bm_text_range *ranges,
                        size_t n, const bm_record_edit **edits, size_t *n_edits, bm_error *err);
