/* text_hasher.h -- a thread's way from a text to shingle hashes: repair where it is not UTF-8, then
 * the shingler. One thread at a time. */
#ifndef BM_INMEM_TEXT_HASHER_H
#define BM_INMEM_TEXT_HASHER_H

#include "base/memory.h"
#include "text/shingler.h"

typedef struct bm_text_hasher {
    bm_shingler *shingler;
    bm_buf repaired;
} bm_text_hasher; /* {0} is good for reset */

bm_status bm_text_hasher_init(bm_text_hasher *hasher, const bm_text_options *options,
                              const char *cpu, bm_error *err);
void bm_text_hasher_reset(bm_text_hasher *hasher);
/* Append one document to `batch`. */
bm_status bm_text_hasher_add(bm_text_hasher *hasher, bm_str text, bm_shingle_batch *batch,
                             bm_error *err);

#endif
