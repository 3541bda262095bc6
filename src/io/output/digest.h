/* digest.h -- SHA-256 of files, as the reports of a job list them. */
#ifndef BM_IO_OUTPUT_DIGEST_H
#define BM_IO_OUTPUT_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_SHA256_HEX 65u /* 64 digits and a NUL */

/* SHA-256 of a whole regular file, read from its start; the file position is left alone. `shown`
 * names it in errors: BM_ERR_IO, BM_ERR_NOMEM. Fills `hex`, in lower case. */
bm_status bm_sha256_fd(int fd, const char *shown, char hex[BM_SHA256_HEX], bm_error *err);
bm_status bm_sha256_file(const char *path, char hex[BM_SHA256_HEX], bm_error *err);

/* The same in steps. One thread at a time. */
typedef struct bm_sha256 bm_sha256;
bm_status bm_sha256_open(bm_sha256 **out, bm_error *err);

/* Bytes from … to-1 of an open file; `to` UINT64_MAX: to its end. */
typedef struct bm_file_range {
    int fd;
    const char *shown; /* in errors */
    uint64_t from, to;
} bm_file_range;

/* BM_ERR_IO where the file ends before. */
bm_status bm_sha256_add(bm_sha256 *sha, const bm_file_range *range, bm_error *err);
bm_status bm_sha256_hex(bm_sha256 *sha, const char *shown, char hex[BM_SHA256_HEX], bm_error *err);
void bm_sha256_close(bm_sha256 *sha); /* NULL is fine */

#endif
