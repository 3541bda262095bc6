/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.h -- the normalisers: invisible, nfc, nfkc, lower, strip-accents, digits and punct over
 * code points. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Code points in a growing array; {0} is empty. */
typedef struct bm_codes {
    int32_t *data; /* owned */
    size_t len, cap;
} bm_codes;

/* The normalisers whose result for a code point depends on its neighbours. */
#define BM_NORM_COMPOSING (BM_NORM_NFC | BM_NORM_NFKC | BM_NORM_STRIP_ACCENTS)

/* Fill `codes` with the normalised code points of valid UTF-8. `normalize` has BM_NORM_* bits.
 * `spare` is scratch. A text may be normalised in parts if each part except the first begins with
 * an ASCII character, a White_Space, U+3001, U+3002 or U+FF0C, since these never compose with the
 * text before them. For `invisible`, the caller passes *after_base from part to part (see
 * bm_char_is_kept), false before the first. BM_ERR_NOMEM; BM_ERR_INPUT: utf8proc refuses the
 * text. */
bm_status bm_normalize_run(bm_str text, uint32_t normalize, bool *after_base, bm_codes *codes,
                           bm_codes *spare, bm_error *err);
void bm_codes_reset(bm_codes *codes); /* frees */

/* The Unicode version of our tables, "15.0.0". */
const char *bm_unicode_version(void);
