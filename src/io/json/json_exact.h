/* json_exact.h -- a parser of RFC 8259 to the letter.
 *
 * It reads one JSON text, says exactly where and why it is broken, and picks out fields by dotted
 * path. Bytes that are not UTF-8 do not break a text: inside strings each maximal invalid subpart
 * and each unpaired surrogate escape becomes U+FFFD, counted in the fields that were asked for. A
 * number may be of any size. Nesting is limited to BM_JSON_DEPTH_MAX, as the RFC allows.
 *
 * It does not recurse: a level of nesting costs a bit, not a stack frame. One thread at a time. */
#ifndef BM_IO_JSON_JSON_EXACT_H
#define BM_IO_JSON_JSON_EXACT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/json/json_field.h"

#define BM_JSON_DEPTH_MAX 1024u

typedef struct bm_json_exact bm_json_exact;

/* `paths` is borrowed until close. */
bm_status bm_json_exact_open(const bm_json_path *paths, size_t n_paths, bm_json_exact **out,
                             bm_error *err);
/* Free buffers of more than `keep` bytes. */
void bm_json_exact_give_back(bm_json_exact *exact, size_t keep);
void bm_json_exact_close(bm_json_exact *exact); /* NULL is fine */

/* Parse all of `text`. Fills fields[n_paths] (numbers with their source text); strings live until
 * the next call. *broken: NULL, or why it is no JSON object. Only BM_ERR_NOMEM fails. */
bm_status bm_json_exact_run(bm_json_exact *exact, bm_str text, bm_json_field *fields,
                            const char **broken, bm_error *err);

#endif
