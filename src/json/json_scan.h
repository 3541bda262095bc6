/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h -- walks JSON text: members of an object, elements of an array.
 *
 * The text should have been accepted by a real parser (json_exact.h). If it is broken, a walk ends
 * early, and never reads past the end of the text. Values are views of the text; only
 * bm_json_scan_string and bm_json_scan_copy write copies. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_write.h"

static inline bool bm_json_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}
/* Skip the decimal digits at `at`, and return the position after them. */
static inline size_t bm_skip_digits(bm_str text, size_t at)
{
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}
/* Get the next member of an object. `object` begins with the brace, and *at is 0 at first. `key`
 * includes its quotes. False: there are no more members. */
bool bm_json_scan_member(bm_str object, size_t *at, bm_str *key, bm_str *value);
/* Get the next element of an array. `array` begins with the bracket, and *at is 0 at first. */
bool bm_json_scan_element(bm_str array, size_t *at, bm_str *value);
/* Find the value of a key that needs no escapes. If the key occurs more than once, the last one
 * counts. False: there is no such key. */
bool bm_json_scan_find(bm_str object, const char *key, bm_str *value);
/* Append the unescaped text of a quoted string. BM_ERR_FORMAT: `quoted` is no string. */
bm_status bm_json_scan_string(bm_str quoted, bm_buf *out, bm_error *err);
/* Is the source text of the value exactly this text, such as "null"? */
bool bm_json_scan_is(bm_str value, const char *text);
/* Read a number below 2^64 without sign, fraction and exponent. False: the value is something
 * else. */
bool bm_json_scan_uint(bm_str value, uint64_t *out);
/* Write a value in the layout of `out`. */
void bm_json_scan_copy(bm_str value, bm_json *out);

/* json_read -- reads the small JSON documents that bandmill writes: report.json, manifest.json and
 * the settings of an index. They must follow RFC 8259 exactly (json_exact.h). A document is walked
 * once, into a table of members.
 *
 *     {"kind": "dedup", "plan": {"bands": 18}}
 *
 *     member   key      value            of
 *     0        kind     "dedup"          the whole
 *     1        plan     {"bands": 18}    the whole
 *     2        bands    18               1
 *
 * Fields are named by dotted paths: "plan.bands". If a key occurs more than once, the last one
 * counts. The members of some values are not in the table, and readers walk through these values.
 * Such values are arrays, and objects that are lists. An object is a list if it is inside three
 * other objects, or if it is inside another object and has more than BM_JSON_LIST members. Once the
 * table has 4,096 members, all objects inside others are such values too. */

#define BM_JSON_LIST 1024u

typedef struct bm_json_member {
    bm_str key; /* without its quotes, still escaped */
    bm_str value;
    /* 1 + the index of the member whose value is the enclosing object; 0: the enclosing object is
     * the whole text */
    size_t of;
} bm_json_member;

typedef struct bm_json_doc {
    const char *path; /* path of the file, for messages; borrowed */
    bm_str text;      /* text of the file, beginning with its first brace; borrowed */
    bm_json_member *members;
    size_t n_members, cap_members;
} bm_json_doc;

/* Check that the text is a JSON object; else BM_ERR_FORMAT. Call this before the functions
 * below. */
bm_status bm_json_doc_check(const char *path, bm_str text, bm_error *err);
/* Make the table of a text that bm_json_doc_check has accepted. */
bm_status bm_json_doc_open(const char *path, bm_str text, bm_json_doc *out, bm_error *err);
void bm_json_doc_close(bm_json_doc *doc); /* {0} is fine */
/* Find the JSON text of a field. False: there is no such field. */
bool bm_json_doc_find(const bm_json_doc *doc, const char *field, bm_str *value);

/* json table -- describes the JSON members that a reader of bandmill's files needs. Each member has
 * a row, with the offset of the member's value in a struct of the reader.
 *
 *     {"bands": 18, "rows": 5}    {"bands", BM_MEMBER_UINT, .offset = offsetof(plan, bands)}
 *                                 {"rows", BM_MEMBER_UINT, .offset = offsetof(plan, rows)} */

#define BM_JSON_ROWS_MAX 16u /* the most rows per call */

typedef enum bm_member_type {
    BM_MEMBER_VALUE,  /* bm_str: a value of any type */
    BM_MEMBER_ARRAY,  /* bm_str */
    BM_MEMBER_STRING, /* bm_str: a string with its quotes, still escaped */
    BM_MEMBER_TEXT,   /* const char *, which the reader's function `own` makes from a string */
    BM_MEMBER_UINT,   /* uint64_t */
    BM_MEMBER_DOUBLE, /* double */
    BM_MEMBER_IS,     /* bool: is the member present? */
} bm_member_type;

typedef enum bm_member_presence {
    BM_MEMBER_NEEDED,
    BM_MEMBER_OPTIONAL, /* the member may be missing; the struct then does not change */
    BM_MEMBER_NULLABLE, /* the member may be missing or null; the struct then does not change */
} bm_member_presence;

typedef struct bm_json_row {
    const char *name; /* a key of `object`, or a dotted path in `doc` */
    bm_member_type type;
    size_t offset; /* offset of the value in the struct */
    bm_member_presence presence;
    uint64_t least, most; /* limits of a UINT; most 0: there is no upper limit */
    const char *expected; /* for messages about a UINT outside these limits */
} bm_json_row;

typedef struct bm_json_reader {
    const bm_json_doc *doc; /* NULL: members are read from `object` */
    bm_str object;
    void *context; /* for `own` and `bad` */
    /* Make a text from a quoted string. If it returns BM_ERR_FORMAT, the member is reported as
     * wrong. */
    bm_status (*own)(void *context, bm_str quoted, const char **out, bm_error *err);
    /* Report that a member is missing (then `value` is empty) or wrong. NULL: nothing is
     * reported. */
    bm_status (*bad)(void *context, const bm_json_row *row, bm_str value, const char *expected,
                     bm_error *err);
} bm_json_reader;

/* Read the members listed in `rows` into the struct at `out`. BM_ERR_FORMAT: a member is missing or
 * wrong, and the first such member was reported. */
bm_status bm_json_read(const bm_json_reader *from, const bm_json_row *rows, size_t n, void *out,
                       bm_error *err);
