/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.c -- makes temporary files, and messages that name the option for another directory.
 *
 * Tests: tests/unit/spill/test_spill_file.c */
#include "base/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

bm_status bm_fail_temp_file(bm_error *err, int errnum, const char *dir, const char *what)
{
    const bm_status status = bm_fail_errno(err, errnum, dir, what);
    if (err != NULL) {
        const size_t len = strlen(err->message);
        snprintf(err->message + len, sizeof err->message - len,
                 " (`temp_dir` names another place)");
    }
    return status;
}

int bm_open_nameless(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/.bandmill-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}
