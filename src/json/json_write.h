/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.h -- writes JSON text into a buffer, and escapes ids in tab-separated text.
 *
 * A bm_json inserts commas, colons and indentation as needed. After an error, all calls do nothing,
 * and bm_json_finish reports the error. In strings, the characters that RFC 8259 requires are
 * escaped: quotes, backslashes and control characters. All other bytes are written unchanged. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json {
    bm_buf buf;       /* the text so far */
    bool pretty;      /* one member or element per line, indented by two spaces; false: compact */
    bool comma;       /* a comma is needed before the next member or element */
    bool after_key;   /* the next value belongs to the key just written */
    uint32_t depth;   /* open objects and arrays */
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
/* Write the shortest text that reads back as the same double. NaN and infinities are written as
 * null. */
void bm_json_double(bm_json *json, double value);
void bm_json_bool(bm_json *json, bool value);
/* Write a value that is JSON text already. */
void bm_json_raw(bm_json *json, const char *value);
void bm_json_raw_part(bm_json *json, bm_str value);
/* Write a key, and its value or the opening bracket of its value. */
void bm_json_key_object(bm_json *json, const char *key);
void bm_json_key_array(bm_json *json, const char *key);
void bm_json_key_string(bm_json *json, const char *key, bm_str value);
void bm_json_key_bool(bm_json *json, const char *key, bool value);
void bm_json_key_text(bm_json *json, const char *key, const char *text);
void bm_json_key_uint(bm_json *json, const char *key, uint64_t number);
void bm_json_key_double(bm_json *json, const char *key, double number);
/* End the text with "\n" and a NUL; the NUL is not counted in the length. If an error occurred
 * before, report it instead. BM_ERR_INTERNAL: an object, an array or a key was left open. The
 * caller frees json->buf in either case. */
bm_status bm_json_finish(bm_json *json, bm_error *err);

#define BM_UINT_DIGITS 20u
/* Get a number in decimal, as a view of `text`. Many times faster than printf. */
bm_str bm_uint_text(uint64_t number, char text[BM_UINT_DIGITS]);

/* Append `text`. Backslash, tab, newline and carriage return are written as \\ \t \n \r, and each
 * byte that is not UTF-8 as \xhh. On failure `out` is unchanged. */
bm_status bm_tsv_escape(bm_buf *out, bm_str text, bm_error *err);
/* Undo bm_tsv_escape in place. Returns the new length; SIZE_MAX: an escape is broken. */
size_t bm_tsv_unescape(char *text, size_t len);
