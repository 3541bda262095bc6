/* json_write.h -- JSON text into a buffer, and ids into tab-separated text.
 *
 * A bm_json keeps the commas right: begin/end of objects and arrays, key, value. Errors stick:
 * check once at the end. Strings are escaped as RFC 8259 asks (", \, control characters), all else
 * is written as it is. */
#ifndef BM_IO_JSON_JSON_WRITE_H
#define BM_IO_JSON_JSON_WRITE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json {
    bm_buf buf;
    bool comma, pretty;
    uint32_t depth;
    bm_status status;
    bool after_key; /* the next value belongs to a key just written */
} bm_json;          /* {0}: compact; .pretty: two spaces a level */

void bm_json_begin_object(bm_json *json);
void bm_json_end_object(bm_json *json);
void bm_json_begin_array(bm_json *json);
void bm_json_end_array(bm_json *json);
void bm_json_key(bm_json *json, const char *key);
void bm_json_string(bm_json *json, bm_str value);
void bm_json_text(bm_json *json, const char *value); /* NULL: null */
void bm_json_uint(bm_json *json, uint64_t value);
void bm_json_double(bm_json *json,
                    double value); /* shortest that reads back; NaN and infinities: null */
void bm_json_bool(bm_json *json, bool value);
void bm_json_raw(bm_json *json, const char *value); /* JSON text of one value */
/* A key and its value. */
void bm_json_key_text(bm_json *json, const char *key, const char *text);
void bm_json_key_uint(bm_json *json, const char *key, uint64_t number);
void bm_json_key_double(bm_json *json, const char *key, double number);
/* BM_OK and a buffer ended by "\n" and NUL, or what went wrong. The buffer stays the writer's
 * (bm_buf_reset(&json->buf)). */
bm_status bm_json_finish(bm_json *json, bm_error *err);

/* Append `text` with backslash, tab, newline, carriage return as \\ \t \n \r; bytes that are not
 * UTF-8 as \xHH. */
bm_status bm_tsv_escape(bm_buf *out, bm_str text, bm_error *err);
/* The inverse, in place: returns the new length, or SIZE_MAX for a broken escape. */
size_t bm_tsv_unescape(char *text, size_t len);

#endif
