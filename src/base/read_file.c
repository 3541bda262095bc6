/* read_file.c -- read until nothing comes, and a byte further than may be.
 *
 * Tests: tests/unit/base/test_read_file.c */
#include "base/read_file.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"

#define STEP ((size_t)64 * 1024)

bm_status bm_read_file(const char *path, size_t most, bm_buf *out, bm_error *err)
{
    const size_t before = out->len;
    int fd;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_open_given(path, BM_ERR_INPUT, &fd, err));
    ssize_t n = 1;
    while (n != 0) {
        BM_TRY_OUT(bm_buf_reserve(out, STEP, err));
        n = read(fd, out->data + out->len, STEP);
        if (n > 0) {
            out->len += (size_t)n;
        } else if (n < 0 && errno != EINTR)
            BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot read"));
        if (out->len - before > most)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, path, 0, "more than %zu bytes", most));
    }
out:
    if (fd >= 0)
        close(fd);
    return status;
}
