/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h -- walking the JSON text of our own reports: members of an object, elements of an
 * array.
 *
 * For text that a real parser has accepted (json_exact.h). Broken text ends a walk early, and is
 * never read past its end. Values are given as the part of the text that holds them; nothing is
 * allocated but what bm_json_scan_string appends. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "json/json_write.h"

static inline bool bm_json_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}
/* After the decimal digits that are at `at`. */
static inline size_t bm_skip_digits(bm_str text, size_t at)
{
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}
/* The next member of an object; its text begins with the brace; *at is 0 at first. `key` is with
 * its quotes. False: that was the last. */
bool bm_json_scan_member(bm_str object, size_t *at, bm_str *key, bm_str *value);
/* The next element of an array, in the same way. */
bool bm_json_scan_element(bm_str array, size_t *at, bm_str *value);
/* The value of a key that needs no escapes, of equal keys the last one's; false: there is none. */
bool bm_json_scan_find(bm_str object, const char *key, bm_str *value);
/* Append the unescaped text of a string in quotes. BM_ERR_FORMAT: it is no string. */
bm_status bm_json_scan_string(bm_str quoted, bm_buf *out, bm_error *err);
/* Is a value this text ("null")? */
bool bm_json_scan_is(bm_str value, const char *text);
/* A number without sign, fraction and exponent, below 2^64; false: it is not one. */
bool bm_json_scan_uint(bm_str value, uint64_t *out);
/* Write a value again, in the layout of `out`. */
void bm_json_scan_copy(bm_str value, bm_json *out);

/* json_read -- small JSON documents of ours, report.json, manifest.json and the settings of an
 * index, which are exactly RFC 8259 (json_exact.h). A document is walked once, into a table of
 * members.
 *
 *     {"kind": "dedup", "plan": {"bands": 18}}
 *
 *     member   key      value            of
 *     0        kind     "dedup"          the whole
 *     1        plan     {"bands": 18}    the whole
 *     2        bands    18               1
 *
 * Fields are named by dotted path: "plan.bands". Of equal keys the last counts. Arrays, and objects
 * that are lists (of more than BM_JSON_LIST members, or three objects deep), have a value and no
 * members in the table: whoever wants these walks through the value. */

#define BM_JSON_LIST 1024u

typedef struct bm_json_member {
    bm_str key; /* without its quotes, escaped as it is there */
    bm_str value;
    size_t of; /* the number of the member that has the object as its value, plus 1; 0: the whole
                * text */
} bm_json_member;

typedef struct bm_json_doc {
    const char *path; /* of its file, for messages; borrowed */
    bm_str text;      /* from its first brace on; borrowed */
    bm_json_member *members;
    size_t n_members, cap_members;
} bm_json_doc;

/* BM_ERR_FORMAT where the text is no JSON object: to be asked first. */
bm_status bm_json_doc_check(const char *path, bm_str text, bm_error *err);
/* Walk through a text that was checked. */
bm_status bm_json_doc_open(const char *path, bm_str text, bm_json_doc *out, bm_error *err);
void bm_json_doc_close(bm_json_doc *doc); /* {0} is fine */
/* The JSON text of a field; false: there is none. */
bool bm_json_doc_find(const bm_json_doc *doc, const char *field, bm_str *value);
/* BM_ERR_FORMAT names the file and the field that is missing or of another type. A string is
 * appended to `out`, and a NUL put after it. */
bm_status bm_json_doc_string(const bm_json_doc *doc, const char *field, bm_buf *out, bm_error *err);
bm_status bm_json_doc_uint(const bm_json_doc *doc, const char *field, uint64_t *out, bm_error *err);
bm_status bm_json_doc_double(const bm_json_doc *doc, const char *field, double *out, bm_error *err);
