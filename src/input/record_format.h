/* SPDX-License-Identifier: Apache-2.0 */
/* record_format.h -- what a format of records is: where a record ends, and how its bytes become a
 * document. record_formats.c has a row for each.
 *
 * `record_end` serves the reader (which cuts) and the parser alike, so both see the same records.
 * It can stop and go on at any byte: `scan` carries the state within the current record. `parse`
 * turns the bytes of one record into id and text. */
#pragma once

#include <bandmill/job.h>

#include "base/memory.h"
#include "input/input_source.h"
#include "input/keep_key.h"
#include "input/record.h"
#include "input/record_rules.h"
#include "input/record_types.h"
#include "json/json_exact.h"

struct bm_parser;

/* The record that has begun; only wet uses it. */
typedef struct bm_wet_scan {
    char line[48]; /* the beginning of a line of its header */
    size_t line_len;
    uint64_t left; /* bytes of its text */
    bool begun, has_length;
} bm_wet_scan;

typedef struct bm_scan {
    unsigned state;       /* 0 at the beginning of a file and, but for json, of each record */
    bm_row_syntax syntax; /* of csv */
    /* json only: */
    unsigned before;                        /* the state in which the element began */
    size_t begin;                           /* where in data it does; BM_SCAN_MORE: not yet */
    size_t at;                              /* the file is broken from data[at] on, ... */
    const char *broken;                     /* ... because of this; NULL: nothing found so far */
    uint32_t depth;                         /* of brackets in the element */
    uint8_t objects[BM_JSON_DEPTH_MAX / 8]; /* a bit a level: opened by a brace */
    bm_wet_scan wet;
} bm_scan; /* {0}, but for `syntax`, at the beginning of a file */

#define BM_SCAN_MORE SIZE_MAX

/* Bytes data[from … to-1] follow those seen before. Returns the offset just after the record and
 * its line ending (and scan is ready for the next), or BM_SCAN_MORE: the record does not end here.
 */
typedef size_t (*bm_record_end_fn)(bm_scan *scan, const char *data, size_t from, size_t to);

/* What helps to find the end of a record among bytes from the middle of a file. */
typedef struct bm_end_hint {
    bm_row_syntax syntax; /* of csv */
    bm_str opening;       /* how the elements of an array begin; empty: not known */
    bool sure;            /* report no end rather than a doubtful one */
} bm_end_hint;

/* The place where the last record that ends in data[0 … len-1] seems to end; 0: unknown. A scan
 * from the end of an earlier record shows whether it is right. */
typedef size_t (*bm_likely_end_fn)(const bm_end_hint *hint, const char *data, size_t len);

/* `content` is the record without its line ending and BOM. Sets id, text, text_bytes, n_invalid of
 * `record`, or bad and reason. Fails only for want of memory. */
typedef bm_status (*bm_parse_fn)(struct bm_parser *parser, bm_str content, bm_record *record,
                                 bm_error *err);

typedef enum bm_record_role {
    BM_ROLE_DOCUMENT,
    BM_ROLE_HEADER, /* where it is the first of its file; else NONE */
    BM_ROLE_NONE    /* there is nothing of it */
} bm_record_role;

typedef struct bm_record_format {
    bm_format format;
    const char *name;       /* what --format takes */
    const char *endings[3]; /* of the names that mean this format */
    bool newline_ends;      /* every newline ends a record */
    bool whole_file;        /* a record is a file, an empty file too */
    bool table;             /* rows of fields, perhaps with a header */
    bool quoted;            /* of them: fields may be in quotes (RFC 4180) */
    bool skip_blank;        /* a line of nothing but JSON white space is no record */
    bool json;              /* a record is a JSON object */
    bool elements;          /* of one array: bytes between them belong to no record */
    unsigned state_behind;  /* of the scan, after a record */
    bm_record_end_fn record_end;
    bm_likely_end_fn likely_end; /* NULL: only a scan finds ends */
    bm_parse_fn parse;
    /* *type is set for a record that is no document and no header; NULL: each record is a
     * document. */
    bm_record_role (*role)(bm_str raw, bm_str *type);
} bm_record_format;

/* How the first element of the array begins, if it is an object: its brace and its first name;
 * empty: none is found. */
bm_str bm_element_opening(const char *data, size_t len);
/* All bytes of the file were seen: NULL, or why they are no array. */
const char *bm_elements_unclosed(const bm_scan *scan);
/* Fields of a record of wet. */
#define BM_WET_LENGTH "Content-Length"
#define BM_WET_ID     "WARC-Record-ID"
#define BM_WET_URI    "WARC-Target-URI"
size_t bm_wet_end(bm_scan *scan, const char *data, size_t from, size_t to);

/* The places of the text and the length in a good record of wet. */
typedef struct bm_wet_place {
    bm_str text, length; /* views of the record */
} bm_wet_place;
bm_wet_place bm_wet_find(bm_str record);

/* `row` without "\n" or "\r\n" at its end. */
static inline bm_str bm_without_line_end(bm_str row)
{
    if (row.len > 0 && row.data[row.len - 1] == '\n') {
        row.len--;
        if (row.len > 0 && row.data[row.len - 1] == '\r')
            row.len--;
    }
    return row;
}

/* A record longer than a document may be is known by its first bytes: so many, wherever it was cut.
 */
static inline size_t bm_too_long_prefix(uint64_t longest)
{
    return longest < 255 ? (size_t)longest + 1 : 256;
}

/* record_maker -- what every way of making records shares: the verdict on a bad one, the id of a
 * record that has none of its own, and the rules for UTF-8. A maker a thread. */

typedef struct bm_record_maker {
    const bm_record_rules *rules; /* borrowed */
    bool all_valid;               /* whatever comes is a part of bytes that are valid UTF-8 */
    const char *file_name;        /* of the records that come now; set by the owner, borrowed */
    bm_buf place;                 /* "FILE:" of place_name, then room for the line */
    size_t place_len;             /* of "FILE:" */
    const char *place_name;       /* `place` was made of this file_name; NULL: of none yet */
    char reason[640];
} bm_record_maker; /* {0}, then rules */

void bm_record_maker_reset(bm_record_maker *maker);
/* The record is bad: a reason in the maker's buffer. */
void bm_record_bad(bm_record_maker *maker, bm_record *record, const char *format, ...)
    BM_PRINTF(3, 4);
/* id = FILE:LINE, or FILE:N of the N-th element of an array, or the number of a row; id = FILE. A
 * view of the maker's buffer until the next call of either. */
bm_status bm_record_place_id(bm_record_maker *maker, bm_record *record, bm_error *err);
/* A record is bad if its id is longer than readers of our files accept. */
void bm_record_check_id(bm_record_maker *maker, bm_record *record);
/* Make *value valid UTF-8: it stays as it is, or becomes a view of its repaired copy in `buf`
 * (emptied before); replacements are counted. */
typedef struct bm_utf8_value {
    const char *what; /* "text", "id" */
    bm_buf *buf;
    bm_str *value;
} bm_utf8_value;
bm_status bm_record_make_valid(bm_record_maker *maker, bm_record *record,
                               const bm_utf8_value *field, bm_error *err);

/* parser_state -- what a parser lends to the parse function of its format, to make a record.
 *
 * Text and id of a record are views of the batch where its bytes can stay as they are, else of the
 * parser's own buffers, which live until the next record. */

struct bm_input_set;

struct bm_parser {
    const struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    bm_record_maker maker;
    const bm_source *source; /* of the records that come now */

    const uint32_t *columns; /* numbers of the piece's file (record_rules.h) */
    bm_file_types *types;    /* of the batch that was walked last, file by file */
    size_t n_types, cap_types;
    bm_buf text, id; /* rewritten or joined */
    bm_buf joined, repaired, repaired_id;
    bm_buf as_read;      /* jsonl only: a text before repair */
    bm_json_exact *json; /* jsonl only */
    bm_json_field *json_fields;
    bm_str *cells; /* of the text fields of a table, then of the fields of `keep`; data NULL:
                    * missing */
    bm_keyer keyer;
    /* to cut text out of records (cut_record.c): */
    bm_json_exact *places; /* of the text fields; NULL: not opened */
    bm_json_field *place_fields;
    bm_buf parts, edits;
};

/* record_formats -- the table of the formats of records. To add one: a split_*.c or parse_*.c
 * file with its functions (record_format.h), and a row. */

/* The row of a format; NULL where it has none: AUTO, and formats that hold no records. */
const bm_record_format *bm_record_format_of(bm_format format);
/* The format that a name means, an ending for its compression already taken off (len): FILES where
 * nothing fits. */
bm_format bm_format_of_name(const char *name, size_t len);
const char *bm_format_name(bm_format format);
