/* join_exact.h -- joined text code point by code point: what is not plain (shingle_ops.h). */
#ifndef BM_TEXT_JOIN_EXACT_H
#define BM_TEXT_JOIN_EXACT_H

#include "text/normalize.h"
#include "text/shingle_ops.h"

/* Room for `more` bytes and both margins. */
bm_status bm_joined_reserve(bm_joined *joined, size_t more, bm_error *err);
void bm_joined_begin(bm_joined *joined);                  /* a new document; keeps the memory */
void bm_joined_end(bm_joined *joined, bm_join_rule rule); /* drops the separator at the end */
void bm_joined_reset(bm_joined *joined);                  /* frees */

/* Append the joined form of a first stretch of valid UTF-8; *taken: its bytes, at least one. `text`
 * begins where the fast path stopped; the stretch ends as soon as 16 bytes of ASCII follow, or, so
 * that scratch stays small, at the first place past 16 KiB where the normalisers allow a cut.
 * `codes` are two scratch buffers. */
bm_status bm_join_exact(const bm_join_rules *rules, bm_str text, size_t *taken, bm_codes *codes,
                        bm_joined *joined, bm_error *err);

#endif
