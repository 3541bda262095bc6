/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.h -- the normalisers invisible, nfc, nfkc, lower, strip-accents, digits and punct,
 * which work on code points. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* A growing array of code points. Start with {0}. */
typedef struct bm_codes {
    int32_t *data; /* owned */
    size_t len, cap;
} bm_codes;

/* The normalisers that change a code point depending on its neighbours. */
#define BM_NORM_COMPOSING (BM_NORM_NFC | BM_NORM_NFKC | BM_NORM_STRIP_ACCENTS)

/* Fill `codes` with the normalised code points of a text, which must be valid UTF-8. `normalize`
 * has BM_NORM_* bits. `spare` is scratch memory. A text may be normalised in parts if each part
 * except the first begins with an ASCII character, a White_Space, U+3001, U+3002 or U+FF0C, because
 * these never compose with the text before them. For `invisible`, *after_base is a state that the
 * caller passes from part to part (see bm_char_is_kept); it is false before the first part.
 * BM_ERR_NOMEM; BM_ERR_INPUT: utf8proc refuses the text. */
bm_status bm_normalize_run(bm_str text, uint32_t normalize, bool *after_base, bm_codes *codes,
                           bm_codes *spare, bm_error *err);
void bm_codes_reset(bm_codes *codes);

/* The Unicode version of our tables, such as "15.0.0". */
const char *bm_unicode_version(void);
