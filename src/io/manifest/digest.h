/* digest.h -- digests of files, as the reports of a job list them: SHA-256, which everybody's tools
 * check, and XXH3 128, by which our own readers tell whether a file is what was written. The second
 * costs a twentieth of the first. */
#ifndef BM_IO_MANIFEST_DIGEST_H
#define BM_IO_MANIFEST_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/content_sums.h"

#define BM_SHA256_HEX 65u /* 64 digits and a NUL */
#define BM_XXH3_HEX   33u /* 32 digits, as xxh128sum writes them, and a NUL */

enum { BM_DIGEST_SHA256 = 1, BM_DIGEST_XXH3 = 2, BM_DIGEST_BOTH = 3 }; /* which of them */

typedef struct bm_digests { /* in lower case; "" of a kind that was not asked for */
    char sha256[BM_SHA256_HEX];
    char xxh3[BM_XXH3_HEX];
} bm_digests;

/* A part that an earlier job has written, with XXH3 128 of it. */
typedef struct bm_sealed_part {
    uint64_t from, to; /* bytes from … to-1 of the file; to 0: none */
    bm_hash128 sum;
} bm_sealed_part;

/* Of a whole regular file, read from its start; the file position is left alone. `shown` names it
 * in errors: BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_digests_fd(int fd, const char *shown, unsigned kinds, bm_digests *out, bm_error *err);
bm_status bm_digests_file(const char *path, unsigned kinds, bm_digests *out, bm_error *err);
/* Of bytes in memory. */
bm_status bm_digests_bytes(const void *data, size_t len, unsigned kinds, bm_digests *out,
                           bm_error *err);

/* The same in steps. One thread at a time. */
typedef struct bm_digest bm_digest;
bm_status bm_digest_open(unsigned kinds, bm_digest **out, bm_error *err);

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
void bm_digest_close(bm_digest *digest); /* NULL is fine */

#endif
