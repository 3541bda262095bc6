/* SPDX-License-Identifier: Apache-2.0 */
/* spill_saved.c -- a temporary file that outlives its process: gives it a name, opens it again, and
 * walks through its records.
 *
 * A file made with O_TMPFILE is linked to its name (linkat of /proc/self/fd/N). If this fails, its
 * contents are copied, since a file that was unlinked cannot be linked again. If a process is
 * killed, the last bytes that it wrote may be incomplete. But they are beyond the length that the
 * caller recorded after a flush, and the file is cut to this length when it is opened again.
 *
 * The walk reads into a window of whole records. The window grows for a longer record, after it was
 * checked that the rest of the file has that many bytes. */
#include "spill/spill_saved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"

#define WINDOW_BYTES ((size_t)256 << 10)
#define ALIGN_BYTES  8u

/* --- a name --- */

static bool link_name(int fd, int folder, const char *name)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW) == 0;
}

static bm_status copy_bytes(const bm_spill_file *file, int to, const char *path, bm_error *err)
{
    char *block;
    BM_TRY(bm_new(&block, WINDOW_BYTES, err));
    bm_status status = BM_OK;
    for (uint64_t at = 0; status == BM_OK && at < file->flushed;) {
        uint64_t left = file->flushed - at;
        size_t len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        status = bm_spill_pull(file, at, block, len, err);
        int code = status == BM_OK ? bm_pwrite_all(to, block, len, at) : 0;
        if (code != 0)
            status = bm_fail_errno(err, code, path, "cannot write a temporary file");
        at += len;
    }
    bm_free(block);
    return status;
}

/* Copy the bytes to a new file named `path`, and use the new file from then on. */
static bm_status copy_to_name(bm_spill_file *file, int folder, const char *path, bm_error *err)
{
    const char *name = bm_name_in(folder, path);
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return bm_fail_errno(err, errno, path, "cannot make a temporary file");
    bm_status status = copy_bytes(file, fd, path, err);
    if (status != BM_OK) {
        close(fd);
        unlinkat(folder, name, 0);
        return status;
    }
    close(file->fd);
    file->fd = fd;
    return BM_OK;
}

bm_status bm_spill_save_in(bm_spill_file *file, int folder, const char *path, bm_error *err)
{
    const char *name = bm_name_in(folder, path);
    if (file->path != NULL)
        return bm_fail_at(err, BM_ERR_INTERNAL, file->path, 0, "a temporary file is named once");
    char *copy;
    BM_TRY(bm_copy_text(path, &copy, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_flush(file, err));
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot replace"));
    if (!link_name(file->fd, folder, name))
        BM_TRY_OUT(copy_to_name(file, folder, path, err));
out:
    if (status != BM_OK) {
        bm_free(copy);
        return status;
    }
    file->path = copy;
    return BM_OK;
}

/* --- opened again --- */

static bm_status unusable(const char *path, const char *how, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "%s (expected the file of an interrupted job)",
                      how);
}

static bm_status open_name(int folder, const char *path, int *out, bm_error *err)
{
    /* with O_NONBLOCK, opening a pipe does not wait; check_size refuses a pipe */
    *out = openat(folder, bm_name_in(folder, path), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*out >= 0)
        return BM_OK;
    if (errno == ENOENT)
        return unusable(path, "is missing", err);
    if (errno == ELOOP)
        return unusable(path, "is a symbolic link", err);
    if (errno == EISDIR || errno == ENXIO)
        return unusable(path, "is no regular file", err);
    return bm_fail_errno(err, errno, path, "cannot open");
}

static bm_status check_size(const bm_spill_file *file, uint64_t bytes, bm_error *err)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return bm_fail_errno(err, errno, file->path, "cannot look at the file");
    if (!S_ISREG(info.st_mode))
        return unusable(file->path, "is no regular file", err);
    if ((uint64_t)info.st_size < bytes)
        return bm_fail_at(err, BM_ERR_FORMAT, file->path, 0,
                          "has %" PRIu64 " bytes (expected %" PRIu64
                          ", which an interrupted job wrote)",
                          (uint64_t)info.st_size, bytes);
    return BM_OK;
}

static bm_status open_saved(bm_spill_file *file, int folder, const bm_spill_saved *saved,
                            bm_error *err)
{
    BM_TRY(bm_copy_text(saved->path, &file->path, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(open_name(folder, saved->path, &file->fd, err));
    BM_TRY_OUT(check_size(file, saved->bytes, err));
    BM_TRY_OUT(bm_spill_check_header(file, err));
    if (ftruncate(file->fd, (off_t)saved->bytes) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, saved->path, "cannot cut"));
out:
    file->flushed = saved->bytes;
    file->n_records = saved->records;
    return status;
}

bm_status bm_spill_reopen_in(int folder, const bm_spill_saved *saved, size_t buffer,
                             bm_spill_file **out, bm_error *err)
{
    bm_spill_file *file = NULL;
    if (saved->bytes < BM_SPILL_HEADER ||
        saved->records > (saved->bytes - BM_SPILL_HEADER) / BM_SPILL_RECORD)
        return unusable(saved->path, "cannot have so many records in so many bytes", err);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_make(saved->path, saved->kind, buffer, &file, err));
    status = open_saved(file, folder, saved, err);
out:
    if (status != BM_OK) {
        bm_spill_free(file);
        return status;
    }
    *out = file;
    return BM_OK;
}

bool bm_spill_has_name(const bm_spill_file *file)
{
    return file != NULL && file->path != NULL;
}

bool bm_spill_has_its_name(const bm_spill_file *file)
{
    struct stat ours, there;
    return bm_spill_has_name(file) && fstat(file->fd, &ours) == 0 &&
           lstat(file->path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

bool bm_spill_is_saved(const char *path, bm_spill_kind kind)
{
    bm_spill_file *file = NULL;
    if (bm_spill_make(path, kind, BM_SPILL_HEADER, &file, NULL) != BM_OK)
        return false;
    bool is = open_name(AT_FDCWD, path, &file->fd, NULL) == BM_OK &&
              check_size(file, BM_SPILL_HEADER, NULL) == BM_OK;
    file->flushed = BM_SPILL_HEADER;
    is = is && bm_spill_check_header(file, NULL) == BM_OK;
    bm_spill_free(file);
    return is;
}

/* --- walking --- */

typedef struct window {
    bm_buf bytes;
    uint64_t base; /* offset in the file of the first byte of `bytes` */
    size_t at;     /* index in `bytes` of the next record to visit */
} window;

/* Read until the window has `need` bytes from w->at on. The file must have this many bytes. */
static bm_status fill(const bm_spill_file *file, window *w, size_t need, bm_error *err)
{
    size_t have = w->bytes.len - w->at, room = need > WINDOW_BYTES ? need : WINDOW_BYTES;
    if (need <= have)
        return BM_OK;
    if (have > 0)
        memmove(w->bytes.data, w->bytes.data + w->at, have);
    w->base += w->at;
    w->at = 0;
    w->bytes.len = have;
    BM_TRY(bm_buf_reserve(&w->bytes, room - have, err));
    uint64_t left = file->flushed - w->base;
    size_t until = left < room ? (size_t)left : room;
    BM_TRY(bm_spill_pull(file, w->base + have, w->bytes.data + have, until - have, err));
    w->bytes.len = until;
    return BM_OK;
}

/* Check the record at w->at, and call `visit` for it, unless `visit` is NULL. */
static bm_status visit_one(const bm_spill_file *file, window *w, bm_spill_visit *visit, void *ctx,
                           bm_error *err)
{
    bm_spill_head head;
    uint64_t offset = w->base + w->at, left = file->flushed - offset;
    if (left < sizeof head)
        return bm_spill_damaged(file, offset, "it ends within a record", err);
    BM_TRY(fill(file, w, sizeof head, err));
    memcpy(&head, w->bytes.data + w->at, sizeof head);
    uint64_t len = bm_spill_length(&head);
    if (len > left - sizeof head)
        return bm_spill_damaged(file, offset, "the record is longer than the file", err);
    BM_TRY(fill(file, w, sizeof head + (size_t)len, err));
    char *payload = w->bytes.data + w->at + sizeof head;
    size_t odd = (size_t)((uintptr_t)payload % ALIGN_BYTES);
    /* Align the payload by moving it down over the head, which is not needed any more. */
    if (odd != 0) {
        memmove(payload - odd, payload, (size_t)len);
        payload -= odd;
    }
    bm_spill_record record = {
        .kind = file->kind, .offset = offset, .data = payload, .len = (size_t)len};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_compare(file, &head, &record, err));
    if (visit != NULL)
        BM_TRY_OUT(visit(ctx, offset, payload, (size_t)len, err));
out:
    w->at += sizeof head + (size_t)len;
    return status;
}

bm_status bm_spill_walk(const bm_spill_file *file, bm_spill_visit *visit, void *ctx, bm_error *err)
{
    window w = {.base = BM_SPILL_HEADER};
    uint64_t n = 0;
    if (file->used != 0)
        return bm_fail(err, BM_ERR_INTERNAL, "a file is flushed when it is walked");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_check_header(file, err));
    for (; w.base + w.at < file->flushed; n++)
        BM_TRY_OUT(visit_one(file, &w, visit, ctx, err));
    if (n != file->n_records)
        BM_TRY_OUT(bm_spill_damaged(file, file->flushed, "it has another number of records", err));
out:
    bm_buf_reset(&w.bytes);
    return status;
}
