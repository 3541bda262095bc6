/* input_digest.h -- the digest of a file as stored, as reports name their inputs, without reading any
 * record. */
#ifndef BM_IO_INPUT_INPUT_DIGEST_H
#define BM_IO_INPUT_INPUT_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/piece_hash.h"

/* Of a whole file, read from its start, by pieces of `piece_bytes` (BM_FILE_PIECE_BYTES; 0: as versions
 * before the pieces did). `callbacks` may be NULL; BM_ERR_IO names `path`, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_input_digest_file(const char *path, uint64_t piece_bytes,
                               const bm_callbacks *callbacks, bm_hash128 *out, bm_error *err);

#endif
