/* whole_io.c -- pwrite and pread until all is done.
 *
 * Tests: tests/unit/base/test_whole_io.c */
#include "base/whole_io.h"

#include <errno.h>
#include <unistd.h>

#define CALL_MAX ((size_t)1 << 30) /* bytes; some systems refuse more than 2 GiB */

int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t place)
{
    const char *from = data;
    while (len > 0) {
        const ssize_t n = pwrite(fd, from, len < CALL_MAX ? len : CALL_MAX, (off_t)place);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? ENOSPC : errno;
        from += n;
        len -= (size_t)n;
        place += (uint64_t)n;
    }
    return 0;
}

int bm_pread_all(int fd, void *data, size_t len, uint64_t place, size_t *got)
{
    char *to = data;
    *got = 0;
    while (*got < len) {
        const size_t left = len - *got;
        const ssize_t n =
            pread(fd, to + *got, left < CALL_MAX ? left : CALL_MAX, (off_t)(place + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            return 0;
        *got += (size_t)n;
    }
    return 0;
}
