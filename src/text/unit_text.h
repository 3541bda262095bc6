/* unit_text.h -- documents as joined text with their unit boundaries, for a device that cuts and
 * hashes the shingles itself (model/text_batch.h). */
#ifndef BM_TEXT_UNIT_TEXT_H
#define BM_TEXT_UNIT_TEXT_H

#include "model/text_batch.h"
#include "text/shingler.h"

/* Append one document to `batch`, whose options are the shingler's. On failure the batch is as
 * before. */
bm_status bm_unit_text_add(bm_shingler *shingler, bm_str text, bm_text_batch *batch, bm_error *err);
/* Append the shingles of a document of `batch` to `out`, as bm_shingler_add would from its text,
 * but out->n_empty and n_short count only documents that were left to the host; the others are
 * counted in `batch`. */
bm_status bm_unit_text_hash(bm_shingler *shingler, const bm_text_batch *batch, size_t doc,
                            bm_shingle_batch *out, bm_error *err);

#endif
