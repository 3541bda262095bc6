/* wait_readable.h -- wait for a pipe or a terminal without being deaf to who wants to stop. */
#ifndef BM_BASE_WAIT_READABLE_H
#define BM_BASE_WAIT_READABLE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* BM_OK once a read of `fd` would not wait (a file: at once), or would fail and say why. Meanwhile
 * `cancelled` is asked a few times a second, whichever thread a signal went to: BM_ERR_CANCELLED.
 * Without callbacks, or without that one: BM_OK at once, and the read waits. */
bm_status bm_wait_readable(const bm_callbacks *callbacks, int fd, bm_error *err);

#endif
