/* out_file.c -- one output file: buffered, synced, and (if it stands alone) renamed into place.
 *
 * Bytes gather in a buffer of 256 KiB, which a compressor fills too. Every 8 MiB the kernel is told
 * to start writing them to the disk, so that the sync at the end is short. The first failure
 * sticks: later calls return it, and close removes what was begun. A file of one's own is written
 * under TARGET.partial.PID.N (O_EXCL) and appears under its name by one rename.
 *
 * Threads: one at a time for each file. */
#include "io/output/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define START_BYTES  ((uint64_t)8 << 20)
#define WRITE_MAX    ((size_t)1 << 30)
#define FOLLOW_BYTES ((uint64_t)4 << 20) /* below, hashing at the end is quicker than a thread */

const char *bm_out_file_shown(const bm_out_file *file)
{
    return file->target != NULL ? file->target : file->path;
}

static bm_status failed_errno(bm_out_file *file, int code, const char *what, bm_error *err)
{
    bm_status status = bm_fail_errno(err, code, bm_out_file_shown(file), what);
    file->failed = status;
    file->failed_code = code;
    return status;
}

static bm_status failed_before(const bm_out_file *file, bm_error *err)
{
    if (file->failed_code != 0)
        return bm_fail_errno(err, file->failed_code, bm_out_file_shown(file), "cannot write");
    return bm_fail_at(err, file->failed, bm_out_file_shown(file), 0, "an earlier write failed");
}

static void start_writeback(bm_out_file *file, uint64_t least)
{
#if defined(SYNC_FILE_RANGE_WRITE)
    if (file->written - file->started < least)
        return;
    /* Advice only: what goes wrong here shows again in fsync. */
    (void)sync_file_range(file->fd, (off_t)file->started, (off_t)(file->written - file->started),
                          SYNC_FILE_RANGE_WRITE);
    file->started = file->written;
#else
    (void)file;
    (void)least;
#endif
}

/* The bytes written so far will stay. Without a thread, or memory, the file is hashed at the end.
 */
static void follow(bm_out_file *file)
{
    if (!file->follows || file->written < FOLLOW_BYTES)
        return;
    if (file->follow == NULL && bm_digest_follow_open(file->fd, &file->follow, NULL) != BM_OK)
        file->follows = false;
    else
        bm_digest_follow_reach(file->follow, file->written);
}

static void stop_following(bm_out_file *file)
{
    bm_digest_follow_close(file->follow);
    file->follow = NULL;
    file->follows = false;
}

static bm_status write_all(bm_out_file *file, const char *data, size_t len, bm_error *err)
{
    while (len > 0) {
        ssize_t n = write(file->fd, data, len < WRITE_MAX ? len : WRITE_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed_errno(file, n < 0 ? errno : EIO, "cannot write", err);
        data += n;
        len -= (size_t)n;
        file->written += (uint64_t)n;
        start_writeback(file, START_BYTES);
    }
    follow(file);
    return BM_OK;
}

bm_status bm_out_file_drain(bm_out_file *file, bm_error *err)
{
    size_t len = file->len;
    file->len = 0;
    return write_all(file, file->buf, len, err);
}

void bm_out_file_free(bm_out_file *file)
{
    stop_following(file);
    if (file->fd >= 0)
        close(file->fd);
    bm_out_compressor_close(file->compressor);
    bm_free(file->path);
    bm_free(file->target);
    bm_free(file->name);
    bm_free(file->buf);
    bm_free(file);
}

/* A handle without a file (fd -1); `path` is taken. */
static bm_status make(char *path, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = bm_alloc_zero(1, sizeof *file);
    char *buf = bm_alloc(BM_OUT_BUFFER_BYTES, 1);
    if (file == NULL || buf == NULL) {
        bm_free(file);
        bm_free(buf);
        bm_free(path);
        return bm_fail_nomem(err, BM_OUT_BUFFER_BYTES);
    }
    file->path = path;
    file->buf = buf;
    file->fd = -1;
    *out = file;
    return BM_OK;
}

bm_status bm_out_file_create(char *path, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = make(path, &file, err);
    if (status != BM_OK)
        return status;
    file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        status = bm_fail_errno(err, errno, path, "cannot create");
        bm_out_file_free(file);
        return status;
    }
    *out = file;
    return BM_OK;
}

static bm_status cut(bm_out_file *file, uint64_t bytes, bm_error *err)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return bm_fail_errno(err, errno, file->path, "cannot look at the file");
    if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size < bytes)
        return bm_fail_at(err, BM_ERR_FORMAT, file->path, 0,
                          "has %" PRIu64 " bytes (expected a file of %" PRIu64
                          ", which an interrupted job wrote)",
                          S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0, bytes);
    if (ftruncate(file->fd, (off_t)bytes) != 0)
        return bm_fail_errno(err, errno, file->path, "cannot cut");
    if (lseek(file->fd, (off_t)bytes, SEEK_SET) < 0)
        return bm_fail_errno(err, errno, file->path, "cannot go to the end");
    file->accepted = file->written = file->started = bytes;
    return BM_OK;
}

bm_status bm_out_file_reopen(char *path, uint64_t bytes, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = make(path, &file, err);
    if (status != BM_OK)
        return status;
    file->fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file->fd >= 0)
        status = cut(file, bytes, err);
    else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EISDIR ||
             errno == ENXIO)
        status = bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                            "is missing or no regular file (an interrupted job wrote it)");
    else
        status = bm_fail_errno(err, errno, path, "cannot open");
    if (status != BM_OK) {
        bm_out_file_free(file);
        return status;
    }
    *out = file;
    return BM_OK;
}

bm_status bm_out_file_open(const char *target, bool force, bm_out_file **out, bm_error *err)
{
    bm_status status = bm_out_target(target, force, false, err);
    for (unsigned i = 0; status == BM_OK; i++) {
        bm_error why = {0};
        bm_buf path = {0};
        status = bm_buf_add_format(&path, err, "%s.partial.%ld.%u", target, (long)getpid(), i);
        if (status == BM_OK)
            status = bm_buf_end(&path, err);
        if (status != BM_OK) {
            bm_buf_reset(&path);
            return status;
        }
        status = bm_out_file_create(path.data, out, &why);
        if (status == BM_ERR_IO && why.code == EEXIST && i < 1000) {
            status = BM_OK;
            continue;
        }
        if (status != BM_OK) {
            if (why.code != 0)
                return bm_fail_errno(err, (int)why.code, target, "cannot create");
            return bm_fail_at(err, status, target, 0, "%s", why.message);
        }
        (*out)->force = force;
        (*out)->target = bm_strdup(target);
        if ((*out)->target == NULL) {
            bm_out_file_abort(*out);
            *out = NULL;
            return bm_fail_nomem(err, strlen(target) + 1);
        }
        return BM_OK;
    }
    return status;
}

bm_status bm_out_file_compress(bm_out_file *file, int compression, bm_error *err)
{
    if (file->accepted != 0 || file->compressor != NULL)
        return bm_fail_at(err, BM_ERR_INTERNAL, bm_out_file_shown(file), 0,
                          "compression was chosen after the first write");
    if (compression == 0)
        return BM_OK;
    return bm_out_compressor_open(compression, bm_out_file_shown(file), &file->compressor, err);
}

bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (len == 0)
        return BM_OK;
    file->accepted += len;
    if (file->compressor != NULL) {
        bm_status status = bm_out_compressor_run(file, data, len, false, err);
        file->failed = status;
        return status;
    }
    if (len > BM_OUT_BUFFER_BYTES - file->len) {
        bm_status status = bm_out_file_drain(file, err);
        if (status != BM_OK)
            return status;
        if (len >= BM_OUT_BUFFER_BYTES)
            return write_all(file, data, len, err);
    }
    memcpy(file->buf + file->len, data, len);
    file->len += len;
    return BM_OK;
}

bm_status bm_out_file_flush(bm_out_file *file, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL)
        return bm_fail_at(err, BM_ERR_INTERNAL, bm_out_file_shown(file), 0,
                          "what is compressed is written at the end");
    return bm_out_file_drain(file, err);
}

bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err)
{
    uint64_t end;
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL || __builtin_add_overflow(offset, len, &end) ||
        end > file->accepted)
        return bm_fail_at(err, BM_ERR_INTERNAL, bm_out_file_shown(file), 0,
                          "bytes that were not written cannot be written again");
    bm_status status = bm_out_file_drain(file, err);
    const char *from = data;
    stop_following(file);
    while (status == BM_OK && len > 0) {
        ssize_t n = pwrite(file->fd, from, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed_errno(file, n < 0 ? errno : EIO, "cannot write", err);
        from += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return status;
}

/* A single file: sync it and give it its name. */
static bm_status place_file(bm_out_file *file, bm_error *err)
{
    if (fsync(file->fd) != 0)
        return bm_fail_errno(err, errno, file->target, "cannot sync");
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return bm_fail_errno(err, errno, file->target, "cannot close");
    char *parent = NULL;
    bm_status status = bm_place_parent(file->target, &parent, err);
    if (status == BM_OK)
        status = bm_out_target(file->target, file->force, false, err);
    if (status == BM_OK && !file->force)
        status = bm_place_new(file->path, file->target, false, err);
    else if (status == BM_OK && rename(file->path, file->target) != 0)
        status = bm_fail_errno(err, errno, file->target, "cannot rename the new file into place");
    if (status == BM_OK) {
        bm_free(file->path); /* nothing to remove any more */
        file->path = NULL;
        status = bm_place_sync_folder(parent, err);
    }
    bm_free(parent);
    return status;
}

bm_status bm_out_file_close(bm_out_file *file, bm_error *err)
{
    if (file == NULL)
        return BM_OK;
    bm_status status = file->failed;
    if (status != BM_OK)
        status = failed_before(file, err);
    if (status == BM_OK && file->compressor != NULL)
        status = bm_out_compressor_run(file, NULL, 0, true, err);
    if (status == BM_OK)
        status = bm_out_file_drain(file, err);
    if (status == BM_OK && file->follow != NULL) {
        bm_digest_follow *ended = file->follow;
        file->follow = NULL;
        status = bm_digest_follow_end(ended, file->written, file->path, file->hex, err);
    }
    if (status == BM_OK) {
        start_writeback(file, BM_OUT_BUFFER_BYTES); /* small files: one sync for all, at seal */
        status = file->dir != NULL ? bm_out_dir_take(file->dir, file, err) : place_file(file, err);
    }
    if (status != BM_OK)
        bm_out_file_abort(file);
    else
        bm_out_file_free(file);
    return status;
}

void bm_out_file_abort(bm_out_file *file)
{
    if (file == NULL)
        return;
    if (file->path != NULL && (file->dir == NULL || !bm_out_dir_preserves(file->dir)))
        unlink(file->path);
    bm_out_file_free(file);
}

void bm_out_file_digest_early(bm_out_file *file)
{
    file->follows = file->dir != NULL;
}

uint64_t bm_out_file_bytes(const bm_out_file *file)
{
    return file->accepted;
}
