/* scheme_merge.h -- what rows of schemes of minima share: words merged from parts, coefficients as
 * devices read them. */
#ifndef BM_SKETCH_SCHEME_MERGE_H
#define BM_SKETCH_SCHEME_MERGE_H

#include "sketch/scheme_row.h"

/* As `merge` of bm_scheme_device: the lesser of each two words. */
void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words);
void bm_words_merge64(const bm_scheme_params *params, const void *part, void *words);
/* As `upload` of it: a, then b, `padded` each. */
bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
/* The same of 64 bits; c behind them where there are some. */
bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);

#endif
