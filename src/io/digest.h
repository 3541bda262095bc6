/* digest.h -- SHA-256 of files, as the reports of a job list them. */
#ifndef BM_IO_DIGEST_H
#define BM_IO_DIGEST_H

#include <bandmill/status.h>

#define BM_SHA256_HEX 65u /* 64 digits and a NUL */

/* SHA-256 of a whole regular file, read from its start (the file position is left alone). `shown`
 * names it in errors: BM_ERR_IO, BM_ERR_NOMEM. `hex` is filled, lower case. */
bm_status bm_sha256_fd(int fd, const char *shown, char hex[BM_SHA256_HEX], bm_error *err);
bm_status bm_sha256_file(const char *path, char hex[BM_SHA256_HEX], bm_error *err);

#endif
