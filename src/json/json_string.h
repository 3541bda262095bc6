/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.h -- the strings of JSON: the end of one, and its text. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json_span {
    size_t begin, end; /* the bytes between the quotes */
    bool escapes;
    bool beyond_ascii; /* it may have bytes that are not ASCII */
} bm_json_span;

typedef struct bm_json_repair {
    uint64_t len_bytes; /* of the string before repair; an unpaired surrogate counts 3 */
    uint64_t n_invalid; /* U+FFFD that were put in */
} bm_json_repair;

/* Find the end of the string that begins, after the quote, at text.data[from]. Returns NULL, with
 * *span filled, or why the string is broken, with the place in span->end. */
const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span);
/* The same, and write the text of the string to `copy`, which must have as many bytes as the string
 * and BM_JSON_COPY_MORE more; repair->len_bytes are the bytes written. Unpaired surrogates are
 * repaired; where span->beyond_ascii, the rest may be no UTF-8. */
#define BM_JSON_COPY_MORE 32u
const char *bm_json_string_copy(bm_str text, size_t from, bm_json_span *span, char *copy,
                                bm_json_repair *repair);

/* Measure an escape of a string that bm_json_string_end has passed, the backslash at raw.data[pos]:
 * both halves of a pair of surrogates. Returns its bytes, and *n_text, the bytes of its text before
 * repair. */
size_t bm_json_string_escape(bm_str raw, size_t pos, size_t *n_text);

/* Append the text of a string as valid UTF-8, and add to the counts of `repair`. `raw` is the bytes
 * between its quotes, and `beyond_ascii` is from bm_json_string_end: false leaves bytes as they
 * are. BM_ERR_FORMAT: a broken escape, in a string that bm_json_string_end has not seen. Without
 * `repair` nothing is repaired: invalid bytes stay, and so does an unpaired surrogate, as the three
 * bytes that UTF-8 would have for it. */
bm_status bm_json_string_plain(bm_str raw, bool beyond_ascii, bm_buf *out, bm_json_repair *repair,
                               bm_error *err);
