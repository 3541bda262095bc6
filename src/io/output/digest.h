/* digest.h -- SHA-256 of files, as the reports of a job list them. */
#ifndef BM_IO_OUTPUT_DIGEST_H
#define BM_IO_OUTPUT_DIGEST_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_SHA256_HEX 65u /* 64 digits and a NUL */

/* SHA-256 of a whole regular file, read from its start (the file position is left alone). `shown`
 * names it in errors: BM_ERR_IO, BM_ERR_NOMEM. `hex` is filled, lower case. */
bm_status bm_sha256_fd(int fd, const char *shown, char hex[BM_SHA256_HEX], bm_error *err);
bm_status bm_sha256_file(const char *path, char hex[BM_SHA256_HEX], bm_error *err);

/* The same in steps: one thread at a time. */
typedef struct bm_sha256 bm_sha256;
bm_status bm_sha256_open(bm_sha256 **out, bm_error *err);
/* Add bytes from … to-1 of a file; it ends before `to`: BM_OK where `to` is UINT64_MAX, else
 * BM_ERR_IO. */
bm_status bm_sha256_add_range(bm_sha256 *sha, int fd, const char *shown, uint64_t from, uint64_t to,
                              bm_error *err);
bm_status bm_sha256_hex(bm_sha256 *sha, const char *shown, char hex[BM_SHA256_HEX], bm_error *err);
void bm_sha256_close(bm_sha256 *sha); /* NULL is fine */

#endif
