/* SPDX-License-Identifier: Apache-2.0 */
/* input_digest.h -- the digest of a file's stored bytes, as in the `inputs` of reports, computed
 * without parsing any record. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/stored_file.h"
#include "model/batches.h"
#include "model/stream_hash.h"

/* content_place -- a position in the inputs, and a digest of the bytes before it.
 *
 * An interrupted job has saved its records up to some position. It may resume even if the user has
 * since repaired later bytes of a file. So the job saves the position with a digest of all
 * (decompressed) bytes that precede it in its file. A resumed job verifies this digest when it
 * passes the position. */

typedef struct bm_content_place {
    uint64_t file;     /* index into the inputs */
    uint64_t bytes;    /* bytes of the file's decompressed content before the position */
    bm_hash128 digest; /* XXH3 of the bytes before the position */
    bool known;
} bm_content_place;

/* Tracks the position of a reader in the files. Used by one thread. */
typedef struct bm_content_tracker bm_content_tracker;

/* Open a tracker. When the reader passes the position `check` (copied; NULL: none), the digest of
 * `check` is verified. */
bm_status bm_content_tracker_open(const bm_content_place *check, bm_content_tracker **out,
                                  bm_error *err);
void bm_content_tracker_close(bm_content_tracker *tracker); /* NULL is fine */
void bm_content_tracker_begin(bm_content_tracker *tracker, size_t file);
/* Add the next bytes of the file called `name`. BM_ERR_FORMAT: the bytes before the position to
 * check have changed. */
bm_status bm_content_tracker_add(bm_content_tracker *tracker, const char *data, size_t len,
                                 const char *name, bm_error *err);
/* Call if the rest of the file cannot be read and is passed over. The number of records in the rest
 * is unknown, so no position is known until the next file begins. */
void bm_content_tracker_lose(bm_content_tracker *tracker);
/* Call at the end of a file. BM_ERR_FORMAT: the file ended before the position to check. */
bm_status bm_content_tracker_end(const bm_content_tracker *tracker, const char *name,
                                 bm_error *err);
/* The position after the bytes added so far. */
bm_content_place bm_content_tracker_place(const bm_content_tracker *tracker);

/* Which bytes to digest, and how. */
typedef struct bm_digest_of {
    const char *path;
    bm_remote *remote; /* as for bm_stored_open */
    /* from: offset of the first byte; bytes: the most bytes (UINT64_MAX: to the end of the file) */
    uint64_t from, bytes;
    /* size of the pieces: BM_FILE_PIECE_BYTES; 0: one piece, as in older versions */
    uint64_t piece_bytes;
} bm_digest_of;

/* A whole file, digested by pieces, as this version does. */
#define BM_DIGEST_OF_FILE(path) ((bm_digest_of){path, NULL, 0, UINT64_MAX, BM_FILE_PIECE_BYTES})

/* Digest bytes of a file. `callbacks` may be NULL; BM_ERR_IO names the path, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_input_digest_file(const bm_digest_of *of, const bm_callbacks *callbacks,
                               bm_hash128 *out, bm_error *err);
