/* wait_readable.h -- waiting for input from a pipe or a terminal, in a way that can be
 * cancelled. */
#ifndef BM_BASE_WAIT_READABLE_H
#define BM_BASE_WAIT_READABLE_H

#include <sys/types.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* BM_OK once a read of `fd` would not wait (of a file: at once), or would fail, and then says
 * itself why. Until then callbacks->cancelled is asked five times a second: BM_ERR_CANCELLED where
 * it says so. Without that callback BM_OK comes at once, and the read is what waits. */
bm_status bm_wait_readable(const bm_callbacks *callbacks, int fd, bm_error *err);

/* Wait so, and read what there is, at most `cap` bytes, also of a descriptor that does not block. BM_OK: *got as read
 * returns it (below 0: errno says why; 0: the end). */
bm_status bm_read_ready(const bm_callbacks *callbacks, int fd, void *out, size_t cap, ssize_t *got,
                        bm_error *err);

/* BM_ERR_CANCELLED where callbacks->cancelled says so, else BM_OK. For loops over what is read. */
bm_status bm_check_cancelled(const bm_callbacks *callbacks, bm_error *err);

#endif
