/* digest_follow.h -- the digests of a file while it is being written, on a thread of its own.
 *
 * The writer says how many bytes are final; the thread reads them back from the page cache and
 * hashes them, so that hardly anything is left to do at the end. For files that are written from
 * front to back and never rewritten. All calls come from the one thread that writes. */
#ifndef BM_IO_MANIFEST_DIGEST_FOLLOW_H
#define BM_IO_MANIFEST_DIGEST_FOLLOW_H

#include "io/manifest/digest.h"

typedef struct bm_digest_follow bm_digest_follow;

/* `fd`, which is open for reading, is borrowed until end or close. BM_ERR_NOMEM; BM_ERR_IO where no
 * thread can be started. */
bm_status bm_digest_follow_open(int fd, bm_digest_follow **out, bm_error *err);
/* Bytes 0 … n-1 will not change any more; n never falls. */
void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n);
/* The file is complete with `n` bytes: waits for the thread and fills `out`. BM_ERR_IO names
 * `shown`. The handle is gone, whatever the status. */
bm_status bm_digest_follow_end(bm_digest_follow *follow, uint64_t n, const char *shown,
                               bm_digests *out, bm_error *err);
/* End it without a result. NULL is fine. */
void bm_digest_follow_close(bm_digest_follow *follow);

#endif
