/* normalize.h -- the normalisers of cli.md 3 over runs of code points. */
#ifndef BM_TEXT_NORMALIZE_H
#define BM_TEXT_NORMALIZE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Code points, growing; scratch of one thread; {0} is empty. */
typedef struct bm_codes {
    int32_t *data; /* owned */
    size_t len, cap;
} bm_codes;

/* The normalisers that look at more than one code point. */
#define BM_NORM_COMPOSING (BM_NORM_NFC | BM_NORM_NFKC | BM_NORM_STRIP_ACCENTS)

/* Fill `codes` with the normalised code points of valid UTF-8. `spare` is scratch. The result of a
 * text is that of its parts in a row where each part but the first begins with an ASCII character,
 * a White_Space, U+3001, U+3002 or U+FF0C: those never join what stands before them.
 * BM_ERR_NOMEM; BM_ERR_INPUT when utf8proc refuses the text. */
bm_status bm_normalize_run(const char *text, size_t len, uint32_t normalize, bm_codes *codes,
                           bm_codes *spare, bm_error *err);
/* The same by utf8proc's own functions over the whole text, for bm_shingler_add_exact. */
bm_status bm_normalize_exact(const char *text, size_t len, uint32_t normalize, bm_codes *codes,
                             bm_error *err);
void bm_codes_reset(bm_codes *codes); /* frees */

#endif
