/* SPDX-License-Identifier: Apache-2.0 */
/* input_digest.h -- the digest of a file's stored bytes, as in the `inputs` of reports, computed
 * without parsing any record. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/stored_file.h"
#include "model/batches.h"
#include "model/stream_hash.h"

/* content_place -- a place in the inputs, identified by the bytes before it.
 *
 * An interrupted job has saved the records up to some place. It may resume even if a file was
 * repaired after that place. So the place is stored with a digest of all (decompressed) bytes
 * before it in its file, and a resumed job checks that digest when it passes the place. */

typedef struct bm_content_place {
    uint64_t file;     /* index into the inputs */
    uint64_t bytes;    /* bytes of the file's decompressed content before the place */
    bm_hash128 digest; /* XXH3 of all bytes of the content before the place */
    bool known;
} bm_content_place;

/* Follows a reader through the files; one thread. */
typedef struct bm_content_tracker bm_content_tracker;

/* Open a tracker. `check`: a place whose digest is verified when the reader passes it; NULL: none.
 * Copied. */
bm_status bm_content_tracker_open(const bm_content_place *check, bm_content_tracker **out,
                                  bm_error *err);
void bm_content_tracker_close(bm_content_tracker *tracker); /* NULL is fine */
void bm_content_tracker_begin(bm_content_tracker *tracker, size_t file);
/* Add the next bytes of the file called `name`. BM_ERR_FORMAT: the bytes before the place to check
 * have changed. */
bm_status bm_content_tracker_add(bm_content_tracker *tracker, const char *data, size_t len,
                                 const char *name, bm_error *err);
/* Call if the rest of the file cannot be read and is passed over. The records of that rest remain
 * unknown, so no place is known until the next file begins. */
void bm_content_tracker_lose(bm_content_tracker *tracker);
/* Call at the end of a file. BM_ERR_FORMAT: the file ended before the place to check. */
bm_status bm_content_tracker_end(const bm_content_tracker *tracker, const char *name,
                                 bm_error *err);
/* The place after the bytes added so far. */
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
