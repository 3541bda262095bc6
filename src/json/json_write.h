/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.h -- JSON text into a buffer, and ids into tab-separated text.
 *
 * A bm_json puts commas, colons and indentation where they belong. Errors stick: bm_json_finish
 * tells of the first. Strings are escaped as RFC 8259 asks (", \, control characters); all else is
 * written as it is. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json {
    bm_buf buf;       /* the text so far */
    bool pretty;      /* a member or element a line, two spaces a level; else compact */
    bool comma;       /* one is due before the next member or element */
    bool after_key;   /* the next value belongs to a key just written */
    uint32_t depth;   /* of open objects and arrays */
    bm_status status; /* the first failure */
} bm_json;            /* {0} is ready for use */

void bm_json_begin_object(bm_json *json);
void bm_json_end_object(bm_json *json);
void bm_json_begin_array(bm_json *json);
void bm_json_end_array(bm_json *json);
void bm_json_key(bm_json *json, const char *key);
void bm_json_string(bm_json *json, bm_str value);
void bm_json_text(bm_json *json, const char *value); /* NULL: null */
void bm_json_uint(bm_json *json, uint64_t value);
/* The shortest text that reads back as the same double; NaN and infinities: null. */
void bm_json_double(bm_json *json, double value);
void bm_json_bool(bm_json *json, bool value);
/* A value that is JSON text already. */
void bm_json_raw(bm_json *json, const char *value);
void bm_json_raw_part(bm_json *json, bm_str value);
/* A key and its value, or the beginning of it. */
void bm_json_key_object(bm_json *json, const char *key);
void bm_json_key_array(bm_json *json, const char *key);
void bm_json_key_string(bm_json *json, const char *key, bm_str value);
void bm_json_key_bool(bm_json *json, const char *key, bool value);
void bm_json_key_text(bm_json *json, const char *key, const char *text);
void bm_json_key_uint(bm_json *json, const char *key, uint64_t number);
void bm_json_key_double(bm_json *json, const char *key, double number);
/* End the text by "\n", and a NUL that the length does not count; or say what went wrong. The
 * caller frees json->buf in either case. */
bm_status bm_json_finish(bm_json *json, bm_error *err);

#define BM_UINT_DIGITS 20u
/* The number in decimal, within `text`, in a fraction of the time of printf. */
bm_str bm_uint_text(uint64_t number, char text[BM_UINT_DIGITS]);

/* Append `text` with \\ \t \n \r for backslash, tab, newline and carriage return, and \xhh for each
 * byte that is not UTF-8. On failure `out` is as before. */
bm_status bm_tsv_escape(bm_buf *out, bm_str text, bm_error *err);
/* The inverse, in place. Returns the new length, or SIZE_MAX for a broken escape. */
size_t bm_tsv_unescape(char *text, size_t len);
