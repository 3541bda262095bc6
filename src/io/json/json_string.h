/* json_string.h -- the strings of JSON: where one ends, and what it says. */
#ifndef BM_IO_JSON_JSON_STRING_H
#define BM_IO_JSON_JSON_STRING_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_json_span {
    size_t begin, end;          /* what is between the quotes */
    bool escapes, beyond_ascii; /* it has some */
} bm_json_span;

/* Find the end of the string whose first byte, behind the quote, is text.data[from]. Returns NULL,
 * with *span filled, or says why the string is broken, and span->end where. */
const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span);

typedef struct bm_json_repair {
    uint64_t len_bytes; /* of the string before repair; an unpaired surrogate counts 3 */
    uint64_t n_invalid; /* U+FFFD that were put in */
} bm_json_repair;

/* Append what a string says, as valid UTF-8, and add to the counts of `repair`. `raw` is what
 * stands between its quotes, as bm_json_string_end found it. */
bm_status bm_json_string_plain(bm_str raw, bm_buf *out, bm_json_repair *repair, bm_error *err);

#endif
