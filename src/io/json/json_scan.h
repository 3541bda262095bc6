/* json_scan.h -- walking JSON text of our own reports: members of an object, elements of an array.
 *
 * For text that a real parser has accepted (json_read.h). Malformed text ends a walk early, and
 * never reads past its end. Nothing is allocated but what bm_json_scan_string appends. */
#ifndef BM_IO_JSON_JSON_SCAN_H
#define BM_IO_JSON_JSON_SCAN_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "io/json/json_write.h"

/* The next member of an object (whole text, from its brace); *at begins at 0. `key` keeps its
 * quotes. False at the end. */
bool bm_json_scan_member(bm_str object, size_t *at, bm_str *key, bm_str *value);
/* The next element of an array, likewise. */
bool bm_json_scan_element(bm_str array, size_t *at, bm_str *value);
/* The value of a key that needs no escapes, the last of equal ones; false: none. */
bool bm_json_scan_find(bm_str object, const char *key, bm_str *value);
/* A string's characters, unescaped, appended. BM_ERR_FORMAT: no string. */
bm_status bm_json_scan_string(bm_str quoted, bm_buf *out, bm_error *err);
/* A number without sign, fraction and exponent; false: none. */
bool bm_json_scan_uint(bm_str value, uint64_t *out);
/* Write a value again through a writer, in the writer's own layout. */
void bm_json_scan_copy(bm_str value, bm_json *out);

#endif
