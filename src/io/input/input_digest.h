/* input_digest.h -- bytes and digest of a file as stored, as reports name their inputs, without
 * reading any record. */
#ifndef BM_IO_INPUT_INPUT_DIGEST_H
#define BM_IO_INPUT_INPUT_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/shingle_batch.h" /* bm_hash128 */

#define BM_INPUT_DIGEST_HEX 33u /* 32 digits and a NUL */

/* In lower case, as reports have it. */
void bm_input_digest_hex(bm_hash128 digest, char hex[BM_INPUT_DIGEST_HEX]);
/* Of a whole file, read from its start. `callbacks` may be NULL; BM_ERR_IO names `path`,
 * BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_input_digest_file(const char *path, const bm_callbacks *callbacks, bm_hash128 *out,
                               bm_error *err);

#endif
