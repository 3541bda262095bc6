/* digest_follow.h -- the pieces of a file are hashed while it is being written, on other threads.
 *
 * The writer says how many bytes are final; a thread reads them back from the page cache and hashes
 * them. While it is a whole piece behind, another one takes the next piece, so that hashing is never
 * slower than the writer for want of threads. For files that are written from front to back and not
 * rewritten, but for their first bytes. All calls come from the one thread that writes. */
#ifndef BM_IO_MANIFEST_DIGEST_FOLLOW_H
#define BM_IO_MANIFEST_DIGEST_FOLLOW_H

#include "output/digest.h"

typedef struct bm_digest_follow bm_digest_follow;

typedef struct bm_digest_followed {
    int fd; /* open for reading; borrowed until end or close */
    uint64_t piece_bytes;
    uint64_t unsettled; /* bytes at the front that may be rewritten: their pieces are left out */
} bm_digest_followed;

/* BM_ERR_NOMEM; BM_ERR_IO where no thread can be started. */
bm_status bm_digest_follow_open(const bm_digest_followed *file, bm_digest_follow **out,
                                bm_error *err);
/* Bytes 0 … n-1 will not change any more; n never falls. */
void bm_digest_follow_reach(bm_digest_follow *follow, uint64_t n);
/* The file is complete with `n` bytes: waits for the pieces that were begun. *pieces: all pieces of
 * the file, the caller's to bm_free; those that no thread has come to are not known. BM_ERR_IO names
 * `shown`. The handle is gone, whatever the status. */
bm_status bm_digest_follow_end(bm_digest_follow *follow, uint64_t n, const char *shown,
                               bm_digest_piece **pieces, bm_error *err);
/* End it without a result. NULL is fine. */
void bm_digest_follow_close(bm_digest_follow *follow);

#endif
