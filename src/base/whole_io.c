/* whole_io.c -- pwrite and pread until all is done.
 *
 * Tests: tests/unit/base/test_whole_io.c */
#include "base/whole_io.h"

#include <errno.h>
#include <unistd.h>

int bm_pwrite_all(int fd, const void *data, size_t len, uint64_t place)
{
    const char *from = data;
    while (len > 0) {
        const ssize_t n = pwrite(fd, from, len, (off_t)place);
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
        const ssize_t n = pread(fd, to + *got, len - *got, (off_t)(place + *got));
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
