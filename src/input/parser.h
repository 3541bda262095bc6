/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h -- from a raw batch to its records.
 *
 * A parser (one a thread) calls back for each record: in full (id, text), or split only (bounds,
 * for copying kept records). Both see the same records in the same order. */
#pragma once

#include <bandmill/status.h>

#include "input/input_set.h"
#include "input/raw_batch.h"
#include "input/record.h"
#include "input/record_types.h"

typedef struct bm_parser bm_parser;

bm_status bm_parser_open(const bm_input_set *set, bm_parser **out, bm_error *err);
/* Bad records are handed to the callback too: what to do about them is its business. Blank lines of
 * jsonl are no records. */
bm_status bm_parser_run(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                        bm_error *err);
/* Bounds only: raw, file, line, is_header. Records that full parsing calls bad are records here
 * like any other. Elements of an array are parsed all the same, and have `bad` and `id`: several
 * may begin on one line, so that file and line do not say which is which. */
bm_status bm_parser_split(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                          bm_error *err);
/* How many records a batch has, bad ones too, from their bounds alone. */
bm_status bm_parser_count(bm_parser *parser, const bm_raw_batch *batch, uint64_t *n, bm_error *err);
/* The types of the records of the last batch that was parsed or counted, file by file; no files if
 * records of the format have no types. Valid until the next. */
const bm_file_types *bm_parser_types(const bm_parser *parser, size_t *n);
void bm_parser_close(bm_parser *parser); /* NULL is fine */

/* read_again -- records that are read a second time, each from where it is in its file: of
 * plain files of records that end with a newline (jsonl, tsv, lines). One thread each. */

typedef struct bm_read_again bm_read_again;

/* Can every record of these inputs be read again by its place? */
bool bm_input_set_reads_again(const bm_input_set *set);

bm_status bm_read_again_open(const bm_input_set *set, bm_read_again **out, bm_error *err);
void bm_read_again_close(bm_read_again *again); /* NULL is fine */
/* Read the records at n places, and have `parser`, made for the same inputs, parse them. BM_ERR_IO
 * if a file cannot be read. Files may have changed in any way. */
bm_status bm_read_again_run(bm_read_again *again, bm_parser *parser, const bm_record_place *places,
                            size_t n, bm_record_fn fn, void *ctx, bm_error *err);

/* cut_record -- text taken out of a record, whatever its format: exactly the bytes that encode it
 * are deleted, and all others stay.
 *
 *     record     {"id":1,"text":"one\ntwo\ud83d\ude00\n","n":2}      text   one·two😀·
 *     cut 4 … 12                 ^^^^^^^^^^^^^^^^^^^^
 *     becomes    {"id":1,"text":"one\n","n":2}
 *
 * The text is the one that readers of the record see, before its repair (bm_record.as_read), its
 * fields and elements joined by newlines. Those newlines are in no record, so a range that holds
 * one deletes what lies on both sides. An escape, a surrogate pair or a doubled quote is deleted as
 * a whole, and only if everything that it encodes is in the range. A number in a list of texts
 * stays, because JSON has no empty one. A record of WET states the length of its text: that number
 * is replaced.
 *
 * Threads: as the parser, a parser a thread. */

/* Bytes `from` to `to` of a text, half open. */
typedef struct bm_text_range {
    uint64_t from, to;
} bm_text_range;

typedef enum bm_text_coding {
    BM_CODING_PLAIN,
    BM_CODING_JSON,   /* between the quotes of a string */
    BM_CODING_QUOTED, /* a cell of csv with doubled quotes */
    BM_CODING_FIXED   /* a number, which stays */
} bm_text_coding;

/* A text field, or an element of one that leads through lists. */
typedef struct bm_text_part {
    size_t begin, end;   /* what encodes it, in bytes of record->raw */
    bm_text_range range; /* its place in the text */
    bm_text_coding coding;
} bm_text_part;

/* Bytes of record->raw that are deleted, and their replacement, mostly none. */
typedef struct bm_record_edit {
    size_t from, to;
    char with[21];
    uint8_t n_with;
} bm_record_edit;

/* The parts of the text of a record that is no bad one, in order, during the callback that has it.
 * *parts is the parser's, until the next call of this or the next function. BM_ERR_UNSUPPORTED: the
 * format has no records with bytes of their own. */
bm_status bm_parser_text_parts(bm_parser *parser, const bm_record *record,
                               const bm_text_part **parts, size_t *n, bm_error *err);
/* The same of a record of any source. *parts and *n stay as they are where it has one text. */
static inline bm_status bm_record_text_parts(const bm_record *record, const bm_text_part **parts,
                                             size_t *n, bm_error *err)
{
    if (record->parser != NULL)
        return bm_parser_text_parts(record->parser, record, parts, n, err);
    *parts = record->parts != NULL ? record->parts : *parts;
    *n = record->parts != NULL ? record->n_parts : *n;
    return BM_OK;
}
/* The same record without n ranges of its text, which ascend and do not overlap: *edits, the
 * parser's, ascend too. */
bm_status bm_parser_cut(bm_parser *parser, const bm_record *record, const bm_text_range *ranges,
                        size_t n, const bm_record_edit **edits, size_t *n_edits, bm_error *err);
