/* digest.h -- digests of files, as the reports of a job list them: SHA-256, which everybody's tools
 * check, and XXH3 128, by which our own readers tell whether a file is what was written. The second
 * costs a twentieth of the first.
 *
 * Both are of a file by its pieces of BM_FILE_PIECE_BYTES: of a file that is no longer than one, the
 * digest of its bytes; of a longer one the digest of its pieces' binary digests, one after another
 * (model/piece_hash.h). Any thread may hash any piece. Versions before 2 listed digests of whole
 * files: pieces of 0 bytes. */
#ifndef BM_IO_MANIFEST_DIGEST_H
#define BM_IO_MANIFEST_DIGEST_H

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/piece_hash.h"

#define BM_DIGESTS_VERSION 2u /* what manifests call the rule of pieces */

#define BM_SHA256_LEN 32u
#define BM_SHA256_HEX 65u /* 64 digits and a NUL */

enum { BM_DIGEST_SHA256 = 1, BM_DIGEST_XXH3 = 2, BM_DIGEST_BOTH = 3 }; /* which of them */

typedef struct bm_digests { /* in lower case; "" of a kind that was not asked for */
    char sha256[BM_SHA256_HEX];
    char xxh3[BM_HASH128_HEX];
} bm_digests;

/* Digests of the bytes of one piece. */
typedef struct bm_digest_piece {
    unsigned char sha256[BM_SHA256_LEN];
    bm_hash128 xxh3;
    bool known;
} bm_digest_piece;

/* A part that an earlier job has written, with XXH3 128 of it. */
typedef struct bm_sealed_part {
    uint64_t from, to; /* bytes from … to-1 of the file; to 0: none */
    bm_hash128 sum;
} bm_sealed_part;

/* How many pieces a file of `bytes` has: 1 of an empty one. */
size_t bm_digest_count_pieces(uint64_t bytes, uint64_t piece_bytes);
/* The digests of a file of n pieces, n >= 1, all of which are known. */
bm_status bm_digests_join(const bm_digest_piece *pieces, size_t n, unsigned kinds, bm_digests *out,
                          bm_error *err);
/* Of bytes in memory, as one piece. */
bm_status bm_digests_bytes(const void *data, size_t len, unsigned kinds, bm_digests *out,
                           bm_error *err);

/* A file from front to back. One thread at a time. */
typedef struct bm_digest bm_digest;
/* `piece_bytes` 0: the file is one piece, however long. */
bm_status bm_digest_open(unsigned kinds, uint64_t piece_bytes, bm_digest **out, bm_error *err);

/* Bytes from … to-1 of an open file; `to` UINT64_MAX: to its end. */
typedef struct bm_file_range {
    int fd;
    const char *shown; /* in errors */
    uint64_t from, to;
} bm_file_range;

/* BM_ERR_IO where the file ends before. */
bm_status bm_digest_add_file(bm_digest *digest, const bm_file_range *range, bm_error *err);
bm_status bm_digest_add(bm_digest *digest, const void *data, size_t len, bm_error *err);
/* Of all that was added; nothing may be added afterwards. */
bm_status bm_digest_end(bm_digest *digest, bm_digests *out, bm_error *err);
/* After end: the pieces, *n of them, until close. */
const bm_digest_piece *bm_digest_pieces(const bm_digest *digest, size_t *n);
/* In place of end: what was added since it was opened, or since the last such call, is one piece.
 * More may follow. */
bm_status bm_digest_end_piece(bm_digest *digest, bm_digest_piece *out, bm_error *err);
void bm_digest_close(bm_digest *digest); /* NULL is fine */

#endif
