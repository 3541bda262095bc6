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

/* Where the stretch that begins at text[at] ends, at < result <= len: the exact path hands back as
 * soon as 16 bytes of ASCII follow, or, so that scratch stays small, at the first place past
 * 16 KiB where the normalisers allow a cut. */
size_t bm_join_stretch(const bm_join_rules *rules, const char *text, size_t at, size_t len);
/* Append the joined form of valid UTF-8, which begins and ends where bm_join_stretch allows it.
 * `codes` are two scratch buffers. */
bm_status bm_join_exact(const bm_join_rules *rules, const char *text, size_t len, bm_codes *codes,
                        bm_joined *joined, bm_error *err);

#endif
