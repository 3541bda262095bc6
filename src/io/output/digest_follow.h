/* digest_follow.h -- SHA-256 of a file while it is being written, on a thread of its own.
 *
 * The writer says how many bytes are final; the thread reads them back from the page cache and
 * hashes them, so that hardly anything is left to do at the end. For files that are written from
 * front to back and never rewritten. One writer; every call is its. */
#ifndef BM_IO_OUTPUT_DIGEST_FOLLOW_H
#define BM_IO_OUTPUT_DIGEST_FOLLOW_H

#include "io/output/digest.h"

typedef struct bm_digest_follow bm_digest_follow;

/* `fd` is borrowed until end or close, and open for reading. BM_ERR_NOMEM; BM_ERR_IO where no
 * thread can be started. */
bm_status bm_digest_follow_open(int fd, bm_digest_follow **out, bm_error *err);
/* Bytes 0 … n-1 will not change any more; n never falls. */
void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n);
/* All `n` bytes are there: waits for the thread, fills in `hex`. BM_ERR_IO names `shown`. The
 * handle is gone, whatever the status. */
bm_status bm_digest_follow_end(bm_digest_follow *follow, uint64_t n, const char *shown,
                               char hex[BM_SHA256_HEX], bm_error *err);
void bm_digest_follow_close(bm_digest_follow *follow); /* without a result; NULL is fine */

#endif
