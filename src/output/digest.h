/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h -- digests of files, as a job's reports list them: SHA-256, which common tools can
 * check, and XXH3 128, which bandmill itself checks. XXH3 takes a twentieth of the time of SHA-256.
 *
 * Both are computed by pieces of BM_FILE_PIECE_BYTES. The digest of a file of one piece is the
 * digest of its bytes. The digest of a longer file is the digest of a list: the binary digests of
 * its pieces, in order (model/stream_hash.h). Any thread may hash any piece. Manifests without the
 * member "digests" list digests of whole files (`piece_bytes` 0). */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/meter.h"
#include "base/threads.h"
#include "model/stream_hash.h"

#define BM_DIGESTS_VERSION 2u /* value of "digests" in manifests: digests by pieces */

#define BM_SHA256_LEN 32u
#define BM_SHA256_HEX 65u /* 64 digits and a NUL */

enum { BM_DIGEST_SHA256 = 1, BM_DIGEST_XXH3 = 2, BM_DIGEST_BOTH = 3 }; /* the kinds of digests */

typedef struct bm_digests { /* lower-case hex; "" for a kind that was not requested */
    char sha256[BM_SHA256_HEX];
    char xxh3[BM_HASH128_HEX];
} bm_digests;

/* Digests of the bytes of one piece. */
typedef struct bm_digest_piece {
    unsigned char sha256[BM_SHA256_LEN];
    bm_hash128 xxh3;
    bool known;
} bm_digest_piece;

/* A part of a file that an earlier job wrote, and the part's XXH3 128. */
typedef struct bm_sealed_part {
    uint64_t from, to; /* the part has the bytes `from` … to-1; to 0: there is no part */
    bm_hash128 sum;
} bm_sealed_part;

/* Number of pieces of a file of `bytes`; an empty file has 1. */
size_t bm_digest_count_pieces(uint64_t bytes, uint64_t piece_bytes);
/* Compute the digests of a file from its n pieces (n >= 1), which must all be known. */
bm_status bm_digests_join(const bm_digest_piece *pieces, size_t n, unsigned kinds, bm_digests *out,
                          bm_error *err);
/* Compute the digests of bytes in memory, as one piece. */
bm_status bm_digests_bytes(const void *data, size_t len, unsigned kinds, bm_digests *out,
                           bm_error *err);

/* Hashes a file from front to back. One thread at a time. */
typedef struct bm_digest bm_digest;
/* Begin to hash a file. If `piece_bytes` is 0, the file is one piece, however long. */
bm_status bm_digest_open(unsigned kinds, uint64_t piece_bytes, bm_digest **out, bm_error *err);

/* Bytes from … to-1 of an open file; `to` UINT64_MAX: to the end of the file. */
typedef struct bm_file_range {
    int fd;
    const char *shown; /* name of the file in errors */
    uint64_t from, to;
} bm_file_range;

/* Add the bytes of a range. BM_ERR_IO if the file ends before range->to. */
bm_status bm_digest_add_file(bm_digest *digest, const bm_file_range *range, bm_error *err);
bm_status bm_digest_add(bm_digest *digest, const void *data, size_t len, bm_error *err);
/* Compute the digests of all added bytes; nothing may be added afterwards. */
bm_status bm_digest_end(bm_digest *digest, bm_digests *out, bm_error *err);
/* After bm_digest_end: the *n pieces of the file, valid until close. */
const bm_digest_piece *bm_digest_pieces(const bm_digest *digest, size_t *n);
void bm_digest_close(bm_digest *digest); /* NULL is fine */

/* digest_files -- hashes the pieces of files on several threads. */

typedef struct bm_digest_file {
    const char *shown; /* name of the file in errors */
    uint64_t bytes;
    /* bm_digest_count_pieces entries; a piece that is already known is not hashed again */
    bm_digest_piece *pieces;
} bm_digest_file;

/* Set *fd to a descriptor of file number `file`. Set *owned if the descriptor is to be closed after
 * the piece is hashed. Called on any thread, once for each piece that is hashed. */
typedef bm_status bm_digest_open_fn(void *ctx, size_t file, int *fd, bool *owned, bm_error *err);

typedef struct bm_digest_work {
    const bm_digest_file *files;
    size_t n;
    uint64_t piece_bytes; /* 0: a file is one piece */
    unsigned kinds;
    bm_digest_open_fn *open;
    void *ctx;
    bm_pool *pool;   /* its threads hash; NULL: only the caller's thread does */
    bm_meter *meter; /* counts the files that were begun, out of `meter_total`; NULL: no meter */
    uint64_t meter_total;
} bm_digest_work;

/* Hash the pieces of all files. BM_ERR_IO names the first file that cannot be read. */
bm_status bm_digest_files(const bm_digest_work *work, bm_error *err);

/* digest_follow -- hashes the pieces of a file on other threads while the file is written.
 *
 * The writer reports how many bytes are final. A thread reads them back from the page cache and
 * hashes them. If a whole piece is final and no thread has begun it, another thread is started, so
 * that hashing keeps up with the writer. The file must be written from front to back, and only its
 * first `rewritable` bytes may be rewritten. The pieces of these bytes are hashed last, when the
 * file is complete. One calling thread at a time. */

typedef struct bm_digest_follow bm_digest_follow;

typedef struct bm_digest_followed {
    int fd; /* open for reading; borrowed until end or close */
    uint64_t piece_bytes;
    uint64_t rewritable; /* bytes at the front that may be rewritten until the file is complete */
} bm_digest_followed;

/* Begin to follow a file. BM_ERR_NOMEM; BM_ERR_IO if no thread can be started. */
bm_status bm_digest_follow_open(const bm_digest_followed *file, bm_digest_follow **out,
                                bm_error *err);
/* Report that the first n bytes are written and, except the rewritable ones, will not change. n
 * never decreases. */
void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n);
/* Report that the file is complete with `n` bytes, so that the threads hash the rest. */
void bm_digest_follow_complete(bm_digest_follow *follow, uint64_t n);
/* After bm_digest_follow_complete: wait for the pieces that were begun, and begin no more pieces.
 * *pieces becomes an array of all pieces of the file, which the caller frees with bm_free. A piece
 * that no thread began is not `known`. BM_ERR_IO names `shown`. Frees the handle, whatever the
 * status. */
bm_status bm_digest_follow_end(bm_digest_follow *follow, const char *shown,
                               bm_digest_piece **pieces, bm_error *err);
/* Stop without a result, and free the handle. NULL is fine. */
void bm_digest_follow_close(bm_digest_follow *follow);
