/* SPDX-License-Identifier: Apache-2.0 */
/* record_format.h -- the interface of a format of records: functions that find the end of a record
 * and that parse a record. record_formats.c has a row for each format.
 *
 * The reader (which cuts) and the parser both use `record_end`, so both see the same records.
 * record_end can stop and resume at any byte, because `scan` keeps the state within the current
 * record. `parse` finds the id and the text in the bytes of one record. */
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

/* The state of a scan within a WET record. */
typedef struct bm_wet_scan {
    char line[48]; /* the beginning of a header line */
    size_t line_len;
    uint64_t left; /* bytes of the record's text still to come */
    bool begun, has_length;
} bm_wet_scan;

typedef struct bm_scan {
    /* 0 at the beginning of a file; except in json, 0 also at the beginning of each record */
    unsigned state;
    bm_row_syntax syntax; /* csv only */
    /* json only: */
    unsigned before; /* the state in which the element began */
    /* offset in data where the element begins; BM_SCAN_MORE: no element has begun */
    size_t begin;
    /* offset in data at which the file is broken, if `broken` is not NULL */
    size_t at;
    const char *broken;                     /* why the file is broken; NULL: no error so far */
    uint32_t depth;                         /* depth of brackets in the element */
    uint8_t objects[BM_JSON_DEPTH_MAX / 8]; /* a bit per level: 1 if a brace opened it */
    bm_wet_scan wet;
} bm_scan; /* at the beginning of a file: {0} with `syntax` */

#define BM_SCAN_MORE SIZE_MAX

/* Scan data[from … to-1], which follow the bytes of the call before. Returns the offset just
 * after the record and its line ending, and `scan` is ready for the next record. Returns
 * BM_SCAN_MORE if the record does not end in these bytes. */
typedef size_t (*bm_record_end_fn)(bm_scan *scan, const char *data, size_t from, size_t to);

/* Hints for finding the end of a record among bytes from the middle of a file. */
typedef struct bm_end_hint {
    bm_row_syntax syntax; /* csv only */
    bm_str opening;       /* the first bytes of each element of an array; empty: unknown */
    bool sure;            /* report an end only if it is certain */
} bm_end_hint;

/* Guess the offset after the last record that ends in data[0 … len-1]; 0: unknown. Only a scan
 * from the end of an earlier record shows whether the guess is right. */
typedef size_t (*bm_likely_end_fn)(const bm_end_hint *hint, const char *data, size_t len);

/* `content` is the record without its line ending and byte order mark. Sets id, text, text_bytes
 * and n_invalid of `record`, or bad and reason. Fails only with BM_ERR_NOMEM. */
typedef bm_status (*bm_parse_fn)(struct bm_parser *parser, bm_str content, bm_record *record,
                                 bm_error *err);

typedef enum bm_record_role {
    BM_ROLE_DOCUMENT,
    BM_ROLE_HEADER, /* a header if it is the first record of its file; otherwise like NONE */
    BM_ROLE_NONE    /* the record is not delivered at all */
} bm_record_role;

typedef struct bm_record_format {
    bm_format format;
    const char *name;       /* value of --format */
    const char *endings[3]; /* file name endings that mean this format */
    bool newline_ends;      /* every newline ends a record */
    bool whole_file;        /* a record is a file, even an empty one */
    bool table;             /* rows of fields, perhaps with a header */
    bool quoted;            /* tables: fields may be in quotes (RFC 4180) */
    bool skip_blank;        /* a line of only JSON white space is no record */
    bool json;              /* a record is a JSON object */
    /* records are elements of an array; the bytes between elements belong to no record */
    bool elements;
    unsigned state_behind; /* state of the scan after a record has ended */
    bm_record_end_fn record_end;
    bm_likely_end_fn likely_end; /* NULL: only a scan finds ends */
    bm_parse_fn parse;
    /* Find the role of a record. *type is set if the record is neither a document nor a header.
     * NULL: every record is a document. */
    bm_record_role (*role)(bm_str raw, bm_str *type);
} bm_record_format;

/* The opening of the array's elements: the bytes of its first element from the brace to the end of
 * the first name. Empty if the first element is no object, or was not found. */
bm_str bm_element_opening(const char *data, size_t len);
/* Call after all bytes of the file were scanned. Returns NULL if they are a complete array, else
 * the error. */
const char *bm_elements_unclosed(const bm_scan *scan);
/* Header fields of a WET record. */
#define BM_WET_LENGTH "Content-Length"
#define BM_WET_ID     "WARC-Record-ID"
#define BM_WET_URI    "WARC-Target-URI"
size_t bm_wet_end(bm_scan *scan, const char *data, size_t from, size_t to);

/* The text of a good WET record, and the digits of its Content-Length. */
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

/* A record longer than `longest`, the limit for documents, is cut to this number of bytes. The
 * number does not depend on the ends of batches. */
static inline size_t bm_too_long_prefix(uint64_t longest)
{
    return longest < 255 ? (size_t)longest + 1 : 256;
}

/* record_maker -- functions common to all parsers: they report bad records, make ids for records
 * without one, and apply the rules for UTF-8. One maker per thread. */

typedef struct bm_record_maker {
    const bm_record_rules *rules; /* borrowed */
    bool all_valid;               /* records are parts of bytes that are valid UTF-8 as a whole */
    const char *file_name;        /* the file of the current records; set by the owner, borrowed */
    bm_buf place;                 /* buffer for ids: "FILE:", then the line */
    size_t place_len;             /* length of "FILE:" */
    const char *place_name; /* the file_name that `place` was made for; NULL: `place` is empty */
    char reason[640];
} bm_record_maker; /* initialize to {0}, then set rules */

void bm_record_maker_reset(bm_record_maker *maker);
/* Mark the record as bad; the reason is written to the maker's buffer. */
void bm_record_bad(bm_record_maker *maker, bm_record *record, const char *format, ...)
    BM_PRINTF(3, 4);
/* Like bm_record_bad, for a record in which `what` ("text") is longer than a document may be;
 * `more` continues the reason. */
void bm_record_too_long(bm_record_maker *maker, bm_record *record, const char *what,
                        const char *more);
/* Set the id to FILE:LINE, in an array FILE:N, or with `row_ids` the number of the row. The id is a
 * view of the maker's buffer, valid until the next call. */
bm_status bm_record_place_id(bm_record_maker *maker, bm_record *record, bm_error *err);
/* Mark a record as bad if its id is longer than readers of our files accept. */
void bm_record_check_id(bm_record_maker *maker, bm_record *record);
/* A value that bm_record_make_valid turns into valid UTF-8. If *value is not valid, it becomes a
 * view of a repaired copy in `buf`, which is emptied first. Each replacement is counted in
 * record->n_invalid. If the rules do not allow repairs, the record becomes bad. */
typedef struct bm_utf8_value {
    const char *what; /* "text", "id" */
    bm_buf *buf;
    bm_str *value;
} bm_utf8_value;
bm_status bm_record_make_valid(bm_record_maker *maker, bm_record *record,
                               const bm_utf8_value *field, bm_error *err);

/* parser_state -- the members of a parser, for the parse functions of formats.
 *
 * The text and id of a record are views of the batch if the bytes can stay as they are. Otherwise
 * they are views of the parser's own buffers, valid until the next record. */

struct bm_input_set;

struct bm_parser {
    const struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    bm_record_maker maker;
    const bm_source *source; /* the source of the current records */

    const uint32_t *columns; /* column numbers of the piece's file (record_rules.h) */
    bm_file_types *types; /* types of the records in the batch last parsed or counted, per file */
    size_t n_types, cap_types;
    bm_buf text, id; /* rewritten or joined values */
    bm_buf joined, repaired, repaired_id;
    bm_buf as_read;      /* json only: a text before repair */
    bm_json_exact *json; /* json only */
    bm_json_field *json_fields;
    bm_str *cells; /* tables: the text fields, then the fields of `keep`; data NULL: none */
    bm_keyer keyer;
    /* For cutting text out of records (cut_record.c): */
    bm_json_exact *places; /* finds the text fields; NULL: not opened */
    bm_json_field *place_fields;
    bm_buf parts, edits;
};

/* record_formats -- the table of record formats. To add one: write its functions (described above)
 * in record_formats.c, and a row. */

/* The row of a format; NULL if it has none: AUTO, and formats without records. */
const bm_record_format *bm_record_format_of(bm_format format);
/* The format that the ending of a file name means. `len` does not include the ending of a
 * compression. FILES if no ending fits. */
bm_format bm_format_of_name(const char *name, size_t len);
const char *bm_format_name(bm_format format);
