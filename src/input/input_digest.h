/* input_digest.h -- the digest of a file as stored, as reports name their inputs, without reading any
 * record. */
#ifndef BM_IO_INPUT_INPUT_DIGEST_H
#define BM_IO_INPUT_INPUT_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/piece_hash.h"

/* What is digested, and how. */
typedef struct bm_digest_of {
    const char *path;
    uint64_t from, bytes; /* of the file: as many as there are of these; UINT64_MAX: to its end */
    uint64_t piece_bytes; /* BM_FILE_PIECE_BYTES; 0: as versions before the pieces did */
} bm_digest_of;

/* All of a file, as it is digested today. */
#define BM_DIGEST_OF_FILE(path) ((bm_digest_of){path, 0, UINT64_MAX, BM_FILE_PIECE_BYTES})

/* Of the bytes of a file. `callbacks` may be NULL; BM_ERR_IO names the path, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_input_digest_file(const bm_digest_of *of, const bm_callbacks *callbacks,
                               bm_hash128 *out, bm_error *err);

#endif
