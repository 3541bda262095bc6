/* SPDX-License-Identifier: Apache-2.0 */
/* out_file.c -- writes one output file through a buffer; syncs and renames a single file.
 *
 * Bytes, compressed or not, are gathered in a buffer of 256 KiB. After every 8 MiB the kernel is
 * asked to begin writing them to the disk, which shortens the sync at the end. After the first
 * failure, all later calls return it, and close removes the file. A single file is written under
 * the name TARGET.partial.PID.N (O_EXCL) and gets its final name by one rename.
 *
 * Tests: tests/unit/output/test_out_file.c, tests/unit/output/test_out_group.c */
#include "output/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define START_BYTES  ((uint64_t)8 << 20)
#define WRITE_MAX    ((size_t)1 << 30)   /* most bytes in one system call */
#define FOLLOW_BYTES ((uint64_t)4 << 20) /* a smaller file is hashed faster when it is complete */
#define NAMES_MAX    1000u               /* temporary names to try */
#define PARENT_TRIES 8u /* a try fails only because another job removed its own folder */

/* The name that messages use for the file. */
static const char *shown(const bm_out_file *file)
{
    return file->target != NULL ? file->target : file->path;
}

static bm_status failed_errno(bm_out_file *file, int code, const char *what, bm_error *err)
{
    bm_status status = bm_fail_errno(err, code, shown(file), what);
    file->failed = status;
    file->failed_code = code;
    return status;
}

static bm_status failed_before(const bm_out_file *file, bm_error *err)
{
    if (file->failed_code != 0)
        return bm_fail_errno(err, file->failed_code, shown(file), "cannot write");
    return bm_fail_at(err, file->failed, shown(file), 0, "an earlier write failed");
}

/* Let the kernel begin to write pages of the file to the disk, if at least `least` bytes were
 * written to the file since the last time. */
static void start_writeback(bm_out_file *file, uint64_t least)
{
#if defined(SYNC_FILE_RANGE_WRITE)
    if (file->written - file->started < least)
        return;
    /* the result is ignored, because fsync reports write errors again */
    (void)sync_file_range(file->fd, (off_t)file->started, (off_t)(file->written - file->started),
                          SYNC_FILE_RANGE_WRITE);
    file->started = file->written;
#else
    (void)file;
    (void)least;
#endif
}

/* Report the written bytes to the threads that hash the file. The first `left_out` bytes may be
 * rewritten; hashing begins when FOLLOW_BYTES are written after them. If memory or a thread is
 * lacking, bm_out_dir_finish hashes the file instead. */
static void follow_from(bm_out_file *file, uint64_t left_out)
{
    if (!file->follows || file->written < left_out + FOLLOW_BYTES)
        return;
    const bm_digest_followed followed = {file->fd, BM_FILE_PIECE_BYTES, file->rewritable};
    if (file->follow == NULL && bm_digest_follow_open(&followed, &file->follow, NULL) != BM_OK)
        file->follows = false;
    else
        bm_digest_follow_reach(file->follow, file->written);
}

static void follow(bm_out_file *file)
{
    follow_from(file, file->rewritable == 0
                          ? 0
                          : bm_digest_count_pieces(file->rewritable, BM_FILE_PIECE_BYTES) *
                                BM_FILE_PIECE_BYTES);
}

static void stop_following(bm_out_file *file)
{
    bm_digest_follow_close(file->follow);
    file->follow = NULL;
    file->follows = false;
}

static bm_status pass_on(bm_out_file *file, const char *data, size_t len, bm_error *err)
{
    if (len > 0 && file->pass(file->pass_ctx, data, len) != 0)
        return file->failed = bm_fail(err, BM_ERR_PIPE, "the output was not accepted");
    file->written += len;
    return BM_OK;
}

static bm_status write_all(bm_out_file *file, const char *data, size_t len, bm_error *err)
{
    if (file->pass != NULL)
        return pass_on(file, data, len, err);
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

/* Write the buffer to the file and empty it. */
static bm_status drain(bm_out_file *file, bm_error *err)
{
    size_t len = file->len;
    file->len = 0;
    return write_all(file, file->buf, len, err);
}

/* Free the handle, and close its descriptor if it is open. The file is not removed. */
static void free_file(bm_out_file *file)
{
    stop_following(file);
    if (file->fd >= 0)
        close(file->fd);
    bm_compressor_close(file->compressor);
    bm_free_all(file->path, file->target, file->name, file->ahead, file->buf);
    pthread_mutex_destroy(&file->lock);
    bm_out_parents_reset(&file->single.parents);
    bm_free(file);
}

/* Make a handle without a file (fd -1). The handle owns spot.path; on failure spot.path is
 * freed. */
static bm_status make(bm_out_spot spot, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = bm_alloc_zero(1, sizeof *file);
    char *buf = bm_alloc(BUFFER_BYTES, 1);
    if (file == NULL || buf == NULL) {
        bm_free_all(file, buf, spot.path);
        return bm_fail_nomem(err, BUFFER_BYTES);
    }
    file->folder = spot.folder;
    file->skip = spot.skip;
    file->path = spot.path;
    file->buf = buf;
    file->fd = -1;
    pthread_mutex_init(&file->lock, NULL);
    *out = file;
    return BM_OK;
}

bm_status bm_out_file_create(bm_out_spot spot, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = NULL;
    BM_TRY(make(spot, &file, err));
    file->fd = openat(spot.folder, spot.path + spot.skip,
                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bm_status status = BM_OK;
    if (file->fd < 0) {
        status = bm_fail_errno(err, errno, file->path, "cannot create");
        free_file(file);
        return status;
    }
    *out = file;
    return BM_OK;
}

/* Cut the file to its first `bytes`, and seek there. */
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

bm_status bm_out_file_reopen(bm_out_spot spot, uint64_t bytes, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = NULL;
    BM_TRY(make(spot, &file, err));
    file->fd =
        openat(spot.folder, spot.path + spot.skip, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bm_status status = BM_OK;
    if (file->fd >= 0)
        status = cut(file, bytes, err);
    else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EISDIR ||
             errno == ENXIO)
        status = bm_fail_at(err, BM_ERR_FORMAT, file->path, 0,
                            "is missing or no regular file (an interrupted job wrote it)");
    else
        status = bm_fail_errno(err, errno, file->path, "cannot open");
    if (status != BM_OK) {
        free_file(file);
        return status;
    }
    *out = file;
    return BM_OK;
}

/* Create a file under the first unused temporary name of `target`. */
static bm_status create_beside(const char *target, bm_out_file **out, bm_error *err)
{
    bm_error why = {0};
    bm_status status;
    unsigned tried = 0;
    do {
        char *path = NULL;
        status = bm_string_format(&path, err, "%s.partial.%ld.%u", target, (long)getpid(), tried++);
        if (status != BM_OK)
            return status;
        status = bm_out_file_create((bm_out_spot){AT_FDCWD, 0, path}, out, &why);
    } while (status == BM_ERR_IO && why.code == EEXIST && tried <= NAMES_MAX);
    if (status == BM_OK)
        return BM_OK;
    if (why.code != 0)
        return bm_fail_errno(err, (int)why.code, target, "cannot create");
    return bm_fail_at(err, status, target, 0, "%s", why.message);
}

/* Like create_beside, but first make missing folders. */
static bm_status create_in_parents(const char *target, bm_out_file **out, bm_error *err)
{
    bm_out_parents parents = {0};
    bm_error why;
    bm_status status;
    unsigned tried = 0;
    do {
        memset(&why, 0, sizeof why);
        status = bm_out_parents_make(&parents, target, &why);
        if (status == BM_OK)
            status = create_beside(target, out, &why);
    } while (status == BM_ERR_IO && why.code == ENOENT && ++tried < PARENT_TRIES);
    if (status == BM_OK) {
        (*out)->single.parents = parents;
        return BM_OK;
    }
    bm_out_parents_remove(&parents);
    if (err != NULL)
        *err = why;
    return status;
}

bm_status bm_out_file_open(const char *target, bm_out_existing existing, bm_out_file **out,
                           bm_error *err)
{
    bm_out_file *file = NULL;
    BM_TRY(bm_out_target_file(target, existing, err));
    BM_TRY(create_in_parents(target, &file, err));
    file->single.existing = existing;
    file->target = bm_strdup(target);
    if (file->target == NULL) {
        bm_out_file_abort(file);
        return bm_fail_nomem(err, strlen(target) + 1);
    }
    *out = file;
    return BM_OK;
}

static bm_status close_stream(void *ctx, bm_out_file *file, bm_error *err)
{
    (void)ctx, (void)file, (void)err;
    return BM_OK;
}

bm_status bm_out_file_stream(bm_write_fn pass, void *ctx, bm_out_file **out, bm_error *err)
{
    bm_out_file *file = NULL;
    BM_TRY(make((bm_out_spot){.folder = -1}, &file, err));
    file->target = bm_strdup("-");
    file->owner.on_close = close_stream;
    file->pass = pass;
    file->pass_ctx = ctx;
    if (file->target == NULL) {
        bm_out_file_abort(file);
        return bm_fail_nomem(err, 2);
    }
    *out = file;
    return BM_OK;
}

bm_status bm_out_file_compress(bm_out_file *file, bm_compression compression, bm_pack_lanes lanes,
                               bm_error *err)
{
    if (file->accepted != 0 || file->compressor != NULL)
        return bm_fail_at(err, BM_ERR_INTERNAL, shown(file), 0,
                          "compression was chosen after the first write");
    if (compression == BM_COMPRESSION_NONE)
        return BM_OK;
    return bm_compressor_open(compression, lanes, shown(file), &file->compressor, err);
}

/* Compress step.in into the buffer, and write the buffer whenever it is full. */
static bm_status compress(bm_out_file *file, bm_compress_step step, bm_error *err)
{
    step.out = file->buf;
    step.len = file->len;
    step.cap = BUFFER_BYTES;
    while (!step.done) {
        BM_TRY(bm_compressor_run(file->compressor, &step, err));
        file->len = step.len;
        if (step.len == step.cap) {
            BM_TRY(drain(file, err));
            step.len = 0;
        }
    }
    return BM_OK;
}

bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (len == 0)
        return BM_OK;
    file->accepted += len;
    if (file->compressor != NULL) {
        return file->failed = compress(file, (bm_compress_step){.in = {data, len}}, err);
    }
    if (len > BUFFER_BYTES - file->len) {
        BM_TRY(drain(file, err));
        if (len >= BUFFER_BYTES)
            return write_all(file, data, len, err);
    }
    memcpy(file->buf + file->len, data, len);
    file->len += len;
    return BM_OK;
}

bm_status bm_out_file_end_part(bm_out_file *file, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL)
        file->failed = compress(file, (bm_compress_step){.part = true}, err);
    return file->failed;
}

bool bm_out_file_end(bm_out_file *file)
{
    return file->failed == BM_OK && file->compressor != NULL && bm_compressor_end(file->compressor);
}

/* Record that the bytes of `now` are written, and advance file->written to the first gap. The
 * caller holds the lock. */
static bm_status wrote(bm_out_file *file, bm_out_stretch now, bm_error *err)
{
    BM_TRY(bm_grow_array(&file->ahead, &file->cap_ahead, file->n_ahead + 1, err));
    file->ahead[file->n_ahead++] = now;
    for (size_t i = 0; i < file->n_ahead;) {
        if (file->ahead[i].from != file->written) {
            i++;
            continue;
        }
        file->written = file->ahead[i].to;
        file->ahead[i] = file->ahead[--file->n_ahead];
        i = 0;
    }
    start_writeback(file, START_BYTES);
    follow(file);
    return BM_OK;
}

bm_status bm_out_file_write_at(bm_out_file *file, uint64_t at, const void *data, size_t len,
                               bm_error *err)
{
    bm_out_stretch now = {.from = at};
    if (file->compressor != NULL || __builtin_add_overflow(at, len, &now.to))
        return bm_fail_at(err, BM_ERR_INTERNAL, shown(file), 0, "bytes without a place");
    if (len == 0)
        return BM_OK;
    pthread_mutex_lock(&file->lock);
    bm_status status = file->failed != BM_OK ? failed_before(file, err) : drain(file, err);
    pthread_mutex_unlock(&file->lock);
    BM_TRY(status);
    const int code = bm_pwrite_all(file->fd, data, len, at);
    pthread_mutex_lock(&file->lock);
    file->accepted = now.to > file->accepted ? now.to : file->accepted;
    status = code == 0 ? wrote(file, now, err) : failed_errno(file, code, "cannot write", err);
    pthread_mutex_unlock(&file->lock);
    return status;
}

bm_status bm_out_file_flush(bm_out_file *file, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL)
        return bm_fail_at(err, BM_ERR_INTERNAL, shown(file), 0,
                          "what is compressed is written at the end");
    return drain(file, err);
}

const char *bm_out_file_shown(const bm_out_file *file)
{
    return shown(file);
}

bm_status bm_out_file_read(const bm_out_file *file, uint64_t offset, void *out, size_t len,
                           bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(file->fd, out, len, offset, &got);
    if (code != 0)
        return bm_fail_errno(err, code, shown(file), "cannot read");
    return got == len ? BM_OK : bm_fail_at(err, BM_ERR_FORMAT, shown(file), 0, "became shorter");
}

bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err)
{
    uint64_t end;
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL || __builtin_add_overflow(offset, len, &end) ||
        end > file->accepted)
        return bm_fail_at(err, BM_ERR_INTERNAL, shown(file), 0,
                          "bytes that were not written cannot be written again");
    const bm_status status = drain(file, err);
    if (end > file->rewritable)
        stop_following(file);
    BM_TRY(status);
    const int code = bm_pwrite_all(file->fd, data, len, offset);
    return code == 0 ? BM_OK : failed_errno(file, code, "cannot write", err);
}

/* Write all bytes that are still buffered. Fails if a gap is left. */
static bm_status complete(bm_out_file *file, bm_error *err)
{
    if (file->failed != BM_OK)
        return failed_before(file, err);
    if (file->compressor != NULL)
        BM_TRY(compress(file, (bm_compress_step){.end = true}, err));
    BM_TRY(drain(file, err));
    if (file->n_ahead > 0)
        return bm_fail_at(err, BM_ERR_INTERNAL, shown(file), 0, "bytes are missing");
    follow_from(file, 0);
    if (file->follow != NULL)
        bm_digest_follow_complete(file->follow, file->written);
    if (file->pass == NULL)
        start_writeback(file, BUFFER_BYTES); /* smaller files are written to the disk by the sync */
    return BM_OK;
}

/* === out file place ===
 *
 * Renames a single file to its target, and undoes the rename.
 *
 * A file that replaces another is exchanged with it. So both files exist until nothing more can
 * fail, and at every moment one of them has the name of the target. */

static bm_status out_single_sync(struct bm_out_file *file, bm_error *err)
{
    struct stat info;
    if (fsync(file->fd) != 0)
        return bm_fail_errno(err, errno, file->target, "cannot sync");
    if (fstat(file->fd, &info) != 0)
        return bm_fail_errno(err, errno, file->target, "cannot look at");
    file->single.device = info.st_dev;
    file->single.node = info.st_ino;
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return bm_fail_errno(err, errno, file->target, "cannot close");
    return BM_OK;
}

/* Rename the file to its target, or exchange it with the file at the target. */
static bm_status move(struct bm_out_file *file, bm_error *err)
{
    bm_out_single *single = &file->single;
    bool replaces = false;
    bm_status status = BM_OK;
    if (single->existing.is == BM_OUT_IS_REPLACED)
        BM_TRY_OUT(bm_place_exists(file->target, &replaces, err));
    status = replaces ? bm_place_exchange(AT_FDCWD, file->path, file->target, err)
                      : bm_place_file(file->path, file->target, err);
out:
    single->placed = status == BM_OK;
    single->replaced = single->placed && replaces;
    return status;
}

/* Rename the file to its target, and sync the folder. The replaced file is kept until
 * out_single_commit. If this fails, the caller must call out_single_roll_back. */
static bm_status out_single_place(struct bm_out_file *file, bm_error *err)
{
    char *parent = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_place_parent(file->target, &parent, err));
    /* check that the target may still be written, as at open */
    BM_TRY_OUT(bm_out_target_file(file->target, file->single.existing, err));
    BM_TRY_OUT(move(file, err));
    BM_TRY_OUT(bm_place_sync_folder(parent, err));
    status = bm_out_parents_sync(&file->single.parents, err);
out:
    bm_free(parent);
    return status;
}

/* Remove the replaced file. */
static void out_single_commit(struct bm_out_file *file)
{
    if (file->single.replaced)
        (void)unlink(file->path); /* if this fails, the old file stays beside the new one */
    bm_free(file->path);
    file->path = NULL;
}

/* Is the file at the target's path still the one that we wrote? */
static bool has_name(const struct bm_out_file *file)
{
    struct stat info;
    return lstat(file->target, &info) == 0 && info.st_dev == file->single.device &&
           info.st_ino == file->single.node;
}

/* Undo out_single_place if it has renamed the file. */
static void out_single_roll_back(struct bm_out_file *file)
{
    bm_out_single *single = &file->single;
    if (!single->placed)
        return;
    bool done = has_name(file);
    if (done && single->replaced)
        done = bm_place_exchange(AT_FDCWD, file->path, file->target, NULL) == BM_OK;
    else if (done)
        (void)unlink(file->target);
    /* the rename could not be undone, so do not remove the old file, which is at file->path */
    if (single->replaced && !done) {
        bm_free(file->path);
        file->path = NULL;
    }
    single->placed = single->replaced = false;
}

/* The first part of bm_out_file_close for a single file: write and sync everything, so that only
 * the rename remains. On failure the file is removed, and the handle freed. */
static bm_status out_file_ready(bm_out_file *file, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(complete(file, err));
    status = out_single_sync(file, err);
out:
    if (status != BM_OK)
        bm_out_file_abort(file);
    return status;
}

/* The last part of bm_out_file_close: keep the new name, and free the handle. */
static void out_file_commit(bm_out_file *file)
{
    out_single_commit(file);
    free_file(file);
}

bm_status bm_out_file_close(bm_out_file *file, bm_error *err)
{
    if (file == NULL)
        return BM_OK;
    const bool is_single = file->owner.on_close == NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(complete(file, err));
    if (is_single) {
        BM_TRY_OUT(out_single_sync(file, err));
        status = out_single_place(file, err);
    } else {
        status = file->owner.on_close(file->owner.ctx, file, err);
    }
out:
    if (status != BM_OK)
        bm_out_file_abort(file);
    else if (is_single)
        out_file_commit(file);
    else
        free_file(file);
    return status;
}

void bm_out_file_abort(bm_out_file *file)
{
    if (file == NULL)
        return;
    out_single_roll_back(file);
    if (file->path != NULL && (file->owner.preserves == NULL || !*file->owner.preserves))
        unlinkat(file->folder, file->path + file->skip, 0);
    bm_out_parents_remove(&file->single.parents);
    free_file(file);
}

void bm_out_file_digest_early(bm_out_file *file, uint64_t rewritable)
{
    file->follows = file->owner.on_close != NULL;
    file->rewritable = rewritable;
}

void bm_out_file_compare(bm_out_file *file, const bm_sealed_part *sealed)
{
    file->sealed = *sealed;
}

uint64_t bm_out_file_bytes(const bm_out_file *file)
{
    return file->accepted;
}

/* === out group ===
 *
 * Files are renamed one after another. The renames are undone in reverse order, so that the folders
 * made for the first file are empty when its rename is undone. */

bm_status bm_out_group_add(bm_out_group *group, bm_out_file *file, bm_error *err)
{
    if (group->n == BM_OUT_GROUP_MAX) {
        bm_out_file_abort(file);
        return bm_fail(err, BM_ERR_INTERNAL, "more than %u files in a group", BM_OUT_GROUP_MAX);
    }
    BM_TRY(out_file_ready(file, err));
    group->files[group->n++] = file;
    return BM_OK;
}

bm_status bm_out_group_place(bm_out_group *group, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < group->n; i++)
        BM_TRY_OUT(out_single_place(group->files[i], err));
out:
    if (status != BM_OK)
        bm_out_group_end(group, false);
    return status;
}

void bm_out_group_end(bm_out_group *group, bool stays)
{
    while (group->n > 0) {
        bm_out_file *file = group->files[--group->n];
        if (stays)
            out_file_commit(file);
        else
            bm_out_file_abort(file);
    }
}
