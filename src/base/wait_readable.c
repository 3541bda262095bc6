/* wait_readable.c -- poll for a fifth of a second, ask, and poll again. Asking is what notices a
 * signal that went to another thread. */
#include "base/wait_readable.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"

#define WAIT_MS 200

bm_status bm_check_cancelled(const bm_callbacks *callbacks, bm_error *err)
{
    return callbacks != NULL && callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx)
               ? bm_fail(err, BM_ERR_CANCELLED, "interrupted")
               : BM_OK;
}

bm_status bm_wait_readable(const bm_callbacks *callbacks, int fd, bm_error *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (callbacks == NULL || callbacks->cancelled == NULL)
        return BM_OK;
    for (;;) {
        int n = poll(&ready, 1, WAIT_MS);
        /* where something is wrong, the read will say it */
        if (n > 0 || (n < 0 && errno != EINTR))
            return BM_OK;
        BM_TRY(bm_check_cancelled(callbacks, err));
    }
}

bm_status bm_read_ready(const bm_callbacks *callbacks, int fd, void *out, size_t cap, ssize_t *got,
                        bm_error *err)
{
    for (;;) {
        BM_TRY(bm_wait_readable(callbacks, fd, err));
        *got = read(fd, out, cap);
        if (*got >= 0 || (errno != EINTR && errno != EAGAIN))
            return BM_OK;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        /* for whom nobody asks: it was not waited for */
        if (errno == EAGAIN)
            (void)poll(&ready, 1, WAIT_MS);
    }
}
