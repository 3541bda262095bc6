/* manifest_text.c -- see the header.
 *
 * Tests: tests/cli/cases/bounds.sh, tests/cli/cases/bad_output.sh */
#include "output/manifest_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"

#define TEXT_MAX ((size_t)1 << 30)

/* A manifest takes about twice its file, once more while that is read; one that holds hardly anything
 * but names of a letter takes more. */
#define USUAL_FOLD    3u
#define GREATEST_FOLD 32u

bm_status bm_manifest_too_large(const char *path, uint64_t bytes, unsigned share, bool by_strings,
                                bm_error *err)
{
    const uint64_t needed = bytes * share * (by_strings ? GREATEST_FOLD : USUAL_FOLD);
    return bm_fail_at(err, BM_ERR_NOMEM, path, 0,
                      "%llu bytes are more than fit into `memory` (at least %lluM)",
                      (unsigned long long)bytes, (unsigned long long)(needed >> 20) + 1);
}

/* Does the beginning of a file have the name of the tool? In ours it stands in the second member. */
static bool begins_as_ours(const char *path)
{
    char head[4096];
    int fd;
    const ssize_t got = bm_open_regular(path, BM_ERR_FORMAT, &fd, NULL) == BM_OK
                            ? pread(fd, head, sizeof head, 0)
                            : -1;
    if (fd >= 0)
        close(fd);
    return got > 0 && memmem(head, (size_t)got, "\"bandmill\"", 10) != NULL;
}

bm_status bm_manifest_check_size(const char *path, bm_manifest_room room, bm_error *err)
{
    struct stat info;
    if (room.memory == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return BM_OK; /* opening it says what is wrong */
    const uint64_t bytes = (uint64_t)info.st_size;
    if (bytes <= room.memory / room.share / USUAL_FOLD)
        return BM_OK;
    return begins_as_ours(path)
               ? bm_manifest_too_large(path, bytes, room.share, false, err)
               : bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is no report of bandmill");
}

bm_status bm_manifest_read(const char *path, bm_buf *out, bm_error *err)
{
    int fd;
    bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, err);
    out->max = TEXT_MAX;
    while (status == BM_OK) {
        status = bm_buf_reserve(out, 65536, err);
        ssize_t n = status == BM_OK ? read(fd, out->data + out->len, 65536) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = bm_fail_errno(err, errno, path, "cannot read");
        if (n <= 0)
            break;
        out->len += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return status;
}
