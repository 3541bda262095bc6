/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.h -- the strings of JSON: where one ends, and what it says. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json_span {
    size_t begin, end; /* what is between the quotes */
    bool escapes;
    bool beyond_ascii; /* it may have bytes that are not ASCII */
} bm_json_span;

typedef struct bm_json_repair {
    uint64_t len_bytes; /* of the string before repair; an unpaired surrogate counts 3 */
    uint64_t n_invalid; /* U+FFFD that were put in */
} bm_json_repair;

/* Find the end of the string whose first byte, after the quote, is text.data[from]. Returns NULL,
 * with *span filled, or says why the string is broken, and span->end where. */
const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span);
/* The same, and write what the string says to `copy`, where as many bytes as it has and
 * BM_JSON_COPY_MORE more must be free; repair->len_bytes are those written. Unpaired surrogates are
 * repaired; where span->beyond_ascii, the rest may be no UTF-8. */
#define BM_JSON_COPY_MORE 32u
const char *bm_json_string_copy(bm_str text, size_t from, bm_json_span *span, char *copy,
                                bm_json_repair *repair);

/* Measure an escape of a string that bm_json_string_end has passed, the backslash at raw.data[pos]:
 * of a pair of surrogates both halves. Returns its bytes, and *n_text, those of the text that it
 * stands for before repair. */
size_t bm_json_string_escape(bm_str raw, size_t pos, size_t *n_text);

/* Append what a string says, as valid UTF-8, and add to the counts of `repair`. `raw` is what
 * is between its quotes, and `beyond_ascii` is as bm_json_string_end found it: false leaves
 * bytes as they are. BM_ERR_FORMAT: a broken escape, in a string that bm_json_string_end has not
 * seen. Without `repair` nothing is repaired: invalid bytes stay, and so does an unpaired
 * surrogate, as the three bytes that UTF-8 would have for it. */
bm_status bm_json_string_plain(bm_str raw, bool beyond_ascii, bm_buf *out, bm_json_repair *repair,
                               bm_error *err);
