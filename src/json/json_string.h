/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.h -- finds the ends of JSON strings, and unescapes strings. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json_span {
    size_t begin, end; /* offsets of the bytes between the quotes */
    bool escapes;
    bool beyond_ascii; /* there may be bytes that are not ASCII */
} bm_json_span;

typedef struct bm_json_repair {
    uint64_t len_bytes; /* bytes of the string before repair (3 for an unpaired surrogate) */
    uint64_t n_invalid; /* number of U+FFFD written */
} bm_json_repair;

/* Find the end of a string. text.data[from] is its first byte after the quote. If the string is
 * right, fills *span and returns NULL. If it is broken, returns the reason and sets span->end to
 * the position of the error. */
const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span);
/* Like bm_json_string_end, but the unescaped string is also written to `copy`, which must have
 * BM_JSON_COPY_MORE bytes more than the string. repair->len_bytes becomes the number of bytes
 * written. Unpaired surrogates are repaired. Other bytes are not: if span->beyond_ascii, they may
 * be invalid UTF-8. */
#define BM_JSON_COPY_MORE 32u
const char *bm_json_string_copy(bm_str text, size_t from, bm_json_span *span, char *copy,
                                bm_json_repair *repair);

/* Measure the escape that begins with the backslash at raw.data[pos]. bm_json_string_end has
 * accepted the string. A surrogate pair counts as one escape. Returns the escape's length. *n_text
 * becomes the length of its text before repair. */
size_t bm_json_string_escape(bm_str raw, size_t pos, size_t *n_text);

/* Append the unescaped string as valid UTF-8, and add to the counts of `repair`. `raw` has the
 * bytes between the quotes. `beyond_ascii` comes from bm_json_string_end; if it is false, UTF-8 is
 * not checked. BM_ERR_FORMAT: an escape is broken, which is possible only if bm_json_string_end has
 * not accepted the string.
 *
 * If `repair` is NULL, nothing is repaired. Invalid bytes stay, and an unpaired surrogate becomes
 * the three bytes that it would have in UTF-8. */
bm_status bm_json_string_plain(bm_str raw, bool beyond_ascii, bm_buf *out, bm_json_repair *repair,
                               bm_error *err);
