/* shingle_exact.h -- shingles by the letter of the rules, slowly: what the fast path is tested
 * against. */
#ifndef BM_TEXT_SHINGLE_EXACT_H
#define BM_TEXT_SHINGLE_EXACT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/shingle_batch.h"

/* Append one document. The options are known to be valid. */
bm_status bm_shingle_exact_add(const bm_text_options *options, bm_str text, bm_shingle_batch *batch,
                               bm_error *err);

#endif
