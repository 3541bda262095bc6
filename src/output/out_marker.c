/* out_marker.c -- the marker's lines are read into a list when it is opened, and appended one by
 * one. What is torn at its end is cut off by the next append, and not before: where the job is
 * refused, for what lies beside the marker, that too stays as it was.
 *
 * Where a file system has no flock, jobs are not kept apart, and the rest goes on as it should.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/unit/output/test_out_dir_resume.c
 * Tests: tests/cli/cases/ownership.sh */
#include "output/out_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/whole_io.h"
#include "json/json_write.h"
#include "output/out_state.h"

#define HEADER     "bandmill work directory 1\n"
#define TEXT_MAX   ((size_t)1 << 30)
#define READ_BYTES ((size_t)64 << 10)

void bm_out_marker_close(bm_out_marker *marker)
{
    if (marker->fd >= 0)
        close(marker->fd);
    bm_ours_reset(&marker->ours);
    *marker = (bm_out_marker){.fd = -1};
}

bool bm_out_marker_has_name(const bm_out_marker *marker, int folder)
{
    struct stat opened, there;
    return fstat(marker->fd, &opened) == 0 &&
           fstatat(folder, BM_OUT_MARKER, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

/* --- writing --- */

static bm_status failed(const char *path, int code, const char *what, bm_error *err)
{
    char *whole = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&whole, err, "%s/%s", path, BM_OUT_MARKER));
    status = bm_fail_errno(err, code, whole, what);
out:
    bm_free(whole);
    return status;
}

/* Behind the whole lines. */
static bm_status append(bm_out_marker *marker, const char *path, bm_str text, bm_error *err)
{
    if (marker->torn && ftruncate(marker->fd, (off_t)marker->bytes) != 0)
        return failed(path, errno, "cannot cut", err);
    const int code = bm_pwrite_all(marker->fd, text.data, text.len, marker->bytes);
    marker->torn = code != 0;
    if (code != 0)
        return failed(path, code, "cannot write", err);
    marker->bytes += text.len;
    return BM_OK;
}

bm_status bm_out_marker_sync(const bm_out_marker *marker, const char *path, bm_error *err)
{
    return fsync(marker->fd) == 0 || errno == EINVAL ? BM_OK
                                                     : failed(path, errno, "cannot sync", err);
}

bm_status bm_out_marker_list(bm_out_marker *marker, const char *path, const char *const *names,
                             size_t n, bm_error *err)
{
    bm_buf lines = {0};
    bm_status status = BM_OK;
    if (marker->bytes == 0)
        BM_TRY_OUT(bm_out_marker_begin(marker, path, err));
    for (size_t i = 0; i < n; i++) {
        if (bm_ours_has(&marker->ours, names[i]))
            continue;
        BM_TRY_OUT(bm_tsv_escape(&lines, (bm_str){names[i], strlen(names[i])}, err));
        BM_TRY_OUT(bm_buf_add_text(&lines, "\n", err));
    }
    if (lines.len > 0) {
        BM_TRY_OUT(append(marker, path, (bm_str){lines.data, lines.len}, err));
        BM_TRY_OUT(bm_out_marker_sync(marker, path, err));
        for (size_t i = 0; i < n; i++)
            BM_TRY_OUT(bm_ours_add(&marker->ours, names[i], err));
    }
out:
    bm_buf_reset(&lines);
    return status;
}

/* The marker, the journal and the folder of outputs: what stands by these names beside a marker is
 * ours. */
static bm_status add_itself(bm_out_marker *marker, bm_error *err)
{
    BM_TRY(bm_ours_add(&marker->ours, BM_OUT_MARKER, err));
    BM_TRY(bm_ours_add(&marker->ours, BM_OUT_JOURNAL, err));
    return bm_ours_add_folder(&marker->ours, BM_OUT_NEW, err);
}

bool bm_out_marker_is_used(const bm_out_marker *marker)
{
    return marker->bytes > sizeof HEADER - 1;
}

bm_status bm_out_marker_begin(bm_out_marker *marker, const char *path, bm_error *err)
{
    bm_ours_reset(&marker->ours);
    marker->bytes = 0;
    marker->torn = true; /* maybe */
    BM_TRY(append(marker, path, (bm_str){HEADER, sizeof HEADER - 1}, err));
    return add_itself(marker, err);
}

/* --- reading --- */

static bm_status read_text(const bm_out_marker *marker, const char *path, bm_buf *out,
                           bm_error *err)
{
    out->max = TEXT_MAX;
    for (;;) {
        BM_TRY(bm_buf_reserve(out, READ_BYTES, err));
        const ssize_t n = pread(marker->fd, out->data + out->len, READ_BYTES, (off_t)out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(path, errno, "cannot read", err);
        if (n == 0)
            return BM_OK;
        out->len += (size_t)n;
    }
}

/* A line ended by NUL. *ours: it is one that we write. */
static bm_status take_line(bm_out_marker *marker, char *line, size_t len, bool *ours, bm_error *err)
{
    const size_t plain = strlen(line) == len ? bm_tsv_unescape(line, len) : SIZE_MAX;
    *ours = plain != SIZE_MAX;
    if (*ours)
        line[plain] = '\0';
    *ours = *ours && strlen(line) == plain && bm_ours_is_name(line + (line[0] == '/'));
    return *ours ? bm_ours_add(&marker->ours, line, err) : BM_OK;
}

/* *ours: it is a marker that a job of ours wrote, maybe torn. */
static bm_status take_lines(bm_out_marker *marker, bm_buf *text, bool *ours, bm_error *err)
{
    const size_t head = sizeof HEADER - 1;
    bm_status status = add_itself(marker, err);
    *ours = memcmp(text->data, HEADER, text->len < head ? text->len : head) == 0;
    if (text->len < head)
        return status; /* killed before the first line was whole: it lists nothing */
    size_t at = head;
    while (status == BM_OK && *ours && at < text->len) {
        char *end = memchr(text->data + at, '\n', text->len - at);
        if (end == NULL)
            break; /* torn */
        *end = '\0';
        status = take_line(marker, text->data + at, (size_t)(end - text->data) - at, ours, err);
        at = (size_t)(end - text->data) + 1;
    }
    marker->bytes = at;
    return status;
}

static bm_status read_list(bm_out_marker *marker, const char *path, bool *ours, bm_error *err)
{
    bm_buf text = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(read_text(marker, path, &text, err));
    status = take_lines(marker, &text, ours, err);
out:
    marker->torn = marker->bytes < text.len;
    bm_buf_reset(&text);
    return status;
}

/* --- opening --- */

/* *state: of the open file; BM_OUT_MARKER_HELD: it is locked now. */
static bm_status lock(const bm_out_marker *marker, bm_ours_at at, bm_out_marker_state *state,
                      bm_error *err)
{
    struct stat info;
    if (fstat(marker->fd, &info) != 0)
        return failed(at.path, errno, "cannot look at", err);
    if (!S_ISREG(info.st_mode))
        *state = BM_OUT_MARKER_OTHER;
    else if (flock(marker->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        *state = BM_OUT_MARKER_LOCKED;
    else
        *state =
            bm_out_marker_has_name(marker, at.folder) ? BM_OUT_MARKER_HELD : BM_OUT_MARKER_MOVED;
    return BM_OK;
}

bm_status bm_out_marker_open(bm_ours_at at, bool make, bm_out_marker *out,
                             bm_out_marker_state *state, bm_error *err)
{
    /* O_NONBLOCK: a pipe of that name is told below, not waited for. */
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0);
    bool ours = false;
    *state = BM_OUT_MARKER_OTHER;
    *out = (bm_out_marker){.fd = openat(at.folder, BM_OUT_MARKER, flags, 0666)};
    if (out->fd < 0 && errno != ENOENT && errno != ELOOP && errno != EISDIR && errno != ENXIO)
        return failed(at.path, errno, "cannot open", err);
    if (out->fd < 0) {
        *state = errno == ENOENT ? BM_OUT_MARKER_MISSING : BM_OUT_MARKER_OTHER;
        return BM_OK;
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(lock(out, at, state, err));
    if (*state == BM_OUT_MARKER_HELD)
        BM_TRY_OUT(read_list(out, at.path, &ours, err));
    if (make && ours && out->bytes == 0)
        BM_TRY_OUT(bm_out_marker_begin(out, at.path, err));
    if (*state == BM_OUT_MARKER_HELD && !ours)
        *state = BM_OUT_MARKER_OTHER;
out:
    if (make && status != BM_OK && *state == BM_OUT_MARKER_HELD)
        (void)unlinkat(at.folder, BM_OUT_MARKER, 0); /* of an empty directory */
    if (status != BM_OK || *state != BM_OUT_MARKER_HELD)
        bm_out_marker_close(out);
    return status;
}
