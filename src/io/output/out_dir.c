/* out_dir.c -- a directory of outputs that appears by one rename.
 *
 *     TARGET.partial/ .bandmill-work    the marker: locked while the job lives
 *                     .bandmill-…       what the job needs to be resumed
 *                     signatures.npy …  outputs
 *
 * A file that is closed is not synced at once: the system begins to write it to the disk while it
 * is being written, and most of it is there by the end. Finish takes all digests first, from the
 * system's memory, while the system writes what is left of each, and syncs then. The first HELD_FILES
 * files keep their descriptors until then; the others are opened again. With more files than that one
 * syncfs goes first, so that ten thousand fsyncs find nothing left to do.
 *
 * Commit: remove state and marker, sync every directory, rename (or exchange with the old output,
 * which is removed then), sync the parent, and those above it that were made. */
#include "io/output/out_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_write.h"
#include "io/output/digest.h"
#include "io/output/out_dir_lock.h"
#include "io/output/out_file_inside.h"
#include "io/output/out_parents.h"
#include "io/output/out_place.h"
#include "io/output/out_work.h"

#define HELD_FILES   64u
#define PARENT_TRIES 8u /* where other jobs remove the folders that they have made */

/* A file that was closed. */
typedef struct entry {
    char *name;
    int fd; /* -1: closed, and opened again for the digest and the sync */
    bm_digests of;
    bool synced, digested;
} entry;

struct bm_out_dir {
    char *target, *work, *parent;
    bm_out_existing existing; /* at `target` */
    bm_out_lock lock;
    bool preserves; /* close and abort leave what is there */
    bool committed;
    entry *entries;
    size_t n, cap;
    unsigned n_held; /* entries with a descriptor */
    bm_out_folders folders;
    bm_out_parents parents;
    bool finished;
    bm_meter *meter;      /* NULL: nobody watches */
    size_t n_told;        /* of what finish has done */
    bm_json sha256, xxh3; /* of the files, by name */
};

/* --- open --- */

/* Make the folders above the target, and the work directory, and lock that. */
static bm_status lock_work(bm_out_dir *dir, bm_out_leavings leavings, bm_error *err)
{
    bm_error why;
    bm_status status;
    unsigned tried = 0;
    do {
        memset(&why, 0, sizeof why);
        status = bm_out_parents_make(&dir->parents, dir->target, &why);
        if (status == BM_OK)
            status = bm_out_dir_lock(dir->work, leavings, &dir->lock, &why);
    } while (status == BM_ERR_IO && why.code == ENOENT && !dir->lock.made &&
             ++tried < PARENT_TRIES);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bm_status open_dir(const char *target, bm_out_existing existing, bm_out_leavings leavings,
                          bm_out_dir **out, bm_error *err)
{
    bm_status status = bm_out_target_dir(target, existing, err);
    if (status != BM_OK)
        return status;
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    bm_out_dir *dir = bm_alloc_zero(1, sizeof *dir);
    if (dir == NULL)
        return bm_fail_nomem(err, sizeof *dir);
    dir->lock.fd = -1;
    dir->existing = existing;
    dir->target = bm_strndup(target, len);
    status = dir->target == NULL ? bm_fail_nomem(err, len + 1) : BM_OK;
    if (status == BM_OK)
        status = bm_string_format(&dir->work, err, "%s.partial", dir->target);
    if (status == BM_OK)
        status = bm_place_parent(dir->target, &dir->parent, err);
    if (status == BM_OK)
        status = lock_work(dir, leavings, err);
    if (status != BM_OK) {
        bm_out_dir_close(dir);
        return status;
    }
    dir->preserves = dir->lock.taken_over;
    *out = dir;
    return BM_OK;
}

bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err)
{
    return open_dir(target, existing, BM_OUT_CLEAR, out, err);
}

bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err)
{
    bm_status status = open_dir(target, existing, BM_OUT_TAKE_OVER, out, err);
    if (status == BM_OK)
        *found = (*out)->lock.taken_over;
    return status;
}

const char *bm_out_dir_work(const bm_out_dir *dir)
{
    return dir->work;
}

/* --- state --- */

void bm_out_dir_preserve(bm_out_dir *dir, bool preserve)
{
    dir->preserves = preserve;
}

bm_status bm_out_dir_state_path(const bm_out_dir *dir, const char *name, char **out, bm_error *err)
{
    if (!bm_out_is_state(name) || strchr(name, '/') != NULL || strcmp(name, BM_OUT_MARKER) == 0)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a job's state", name);
    return bm_string_format(out, err, "%s/%s", dir->work, name);
}

bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err)
{
    return bm_out_work_drop_state(dir->work, err);
}

bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err)
{
    return bm_out_work_clear(dir->work, &(bm_out_stay){stay, n_stay}, &dir->folders, err);
}

/* --- files --- */

/* Relative, without empty steps, "." and "..", so that it cannot leave the directory; and no name
 * of a file of state. */
static bool name_is_safe(const char *name)
{
    for (const char *step = name;; step++) {
        size_t len = strcspn(step, "/");
        if (len == 0 || (len == 1 && step[0] == '.') ||
            (len == 2 && step[0] == '.' && step[1] == '.'))
            return false;
        step += len;
        if (*step == '\0')
            return !bm_out_is_state(name);
    }
}

/* A file that was closed becomes an entry; `ctx` is the directory. */
static bm_status take_file(void *ctx, bm_out_file *file, bm_error *err)
{
    bm_out_dir *dir = ctx;
    bm_status status = bm_grow_array(&dir->entries, &dir->cap, dir->n + 1, err);
    if (status != BM_OK)
        return status;
    entry *added = &dir->entries[dir->n];
    *added = (entry){.fd = -1};
    if (dir->n_held < HELD_FILES) {
        added->fd = file->fd;
        dir->n_held++;
    } else {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            return bm_fail_errno(err, errno, file->path, "cannot close");
    }
    added->name = file->name;
    added->digested = file->digests.sha256[0] != '\0';
    added->of = file->digests;
    file->fd = -1;
    file->name = NULL;
    dir->n++;
    return BM_OK;
}

/* A file that is new (`bytes` NULL), or one that is there, cut to its first *bytes. */
static bm_status add_file(bm_out_dir *dir, const char *name, const uint64_t *bytes,
                          bm_out_file **out, bm_error *err)
{
    char *path = NULL, *copy = NULL;
    bm_out_file *file = NULL;
    if (!name_is_safe(name))
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a file in an output directory", name);
    bm_status status = bm_string_format(&path, err, "%s/%s", dir->work, name);
    if (status == BM_OK && bytes == NULL)
        status = bm_out_folders_make(&dir->folders, dir->work, path, err);
    if (status == BM_OK && (copy = bm_strdup(name)) == NULL)
        status = bm_fail_nomem(err, strlen(name) + 1);
    if (status != BM_OK) {
        bm_free(path);
        return status;
    }
    status = bytes == NULL ? bm_out_file_create(path, &file, err)
                           : bm_out_file_reopen(path, *bytes, &file, err); /* both take path */
    if (status != BM_OK) {
        bm_free(copy);
        return status;
    }
    file->owner = (bm_out_owner){dir, take_file, &dir->preserves};
    file->name = copy;
    *out = file;
    return BM_OK;
}

bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err)
{
    return add_file(dir, name, NULL, out, err);
}

bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err)
{
    return add_file(dir, name, &bytes, out, err);
}

/* --- digests and syncs --- */

/* What is done with a file, which is open. */
typedef bm_status step_fn(int fd, const char *path, entry *e, bm_error *err);

/* So that all files are on their way to the disk when the first is waited for. Advice only. */
static void start_writing(int fd)
{
#if defined(SYNC_FILE_RANGE_WRITE)
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd;
#endif
}

static bm_status digest_entry(int fd, const char *path, entry *e, bm_error *err)
{
    start_writing(fd);
    if (e->digested)
        return BM_OK;
    bm_status status = bm_digests_fd(fd, path, BM_DIGEST_BOTH, &e->of, err);
    e->digested = status == BM_OK;
    return status;
}

static bm_status sync_entry(int fd, const char *path, entry *e, bm_error *err)
{
    if (fsync(fd) != 0)
        return bm_fail_errno(err, errno, path, "cannot sync");
    e->synced = true;
    return BM_OK;
}

/* A step for each file that is not synced yet. */
static bm_status for_each_entry(bm_out_dir *dir, step_fn *step, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < dir->n && status == BM_OK; i++) {
        entry *e = &dir->entries[i];
        char *path = NULL;
        if (e->synced)
            continue;
        status = bm_string_format(&path, err, "%s/%s", dir->work, e->name);
        if (status != BM_OK)
            break;
        int fd = e->fd >= 0 ? e->fd : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            status = bm_fail_errno(err, errno, path, "cannot open");
        else
            status = step(fd, path, e, err);
        if (fd >= 0 && fd != e->fd)
            close(fd);
        bm_free(path);
        if (dir->meter != NULL && !dir->finished)
            bm_meter_progress(dir->meter, ++dir->n_told, 2 * dir->n, 0);
    }
    return status;
}

/* Sync all files, and let go of their descriptors. */
static bm_status sync_all(bm_out_dir *dir, bm_error *err)
{
    bm_status status = BM_OK;
    if (dir->n > HELD_FILES && !dir->finished) {
        int fd = open(dir->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || syncfs(fd) != 0)
            status = bm_fail_errno(err, errno, dir->work, "cannot sync");
        if (fd >= 0)
            close(fd);
    }
    if (status == BM_OK)
        status = for_each_entry(dir, sync_entry, err);
    for (size_t i = 0; i < dir->n && dir->n_held > 0; i++) {
        if (dir->entries[i].fd < 0 || !dir->entries[i].synced)
            continue;
        close(dir->entries[i].fd);
        dir->entries[i].fd = -1;
        dir->n_held--;
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* An object without a newline: names, and the digest that lies `at` so many bytes into an entry. */
static bm_status write_digests(const bm_out_dir *dir, size_t at, bm_json *out, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < dir->n && status == BM_OK; i++) {
        const entry *e = &dir->entries[i];
        name.len = 0;
        status = bm_tsv_escape(&name, (bm_str){e->name, strlen(e->name)}, err);
        if (status == BM_OK)
            status = bm_buf_end(&name, err);
        if (status == BM_OK) {
            bm_json_key(out, name.data);
            bm_json_text(out, (const char *)e + at);
        }
    }
    bm_json_end_object(out);
    bm_buf_reset(&name);
    if (status != BM_OK)
        return status;
    status = bm_json_finish(out, err);
    if (status == BM_OK)
        out->buf.data[--out->buf.len] = '\0'; /* the newline */
    return status;
}

void bm_out_dir_watch(bm_out_dir *dir, bm_meter *meter)
{
    dir->meter = meter;
}

bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err)
{
    if (dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is finished once");
    if (dir->n > 1)
        qsort(dir->entries, dir->n, sizeof *dir->entries, by_name);
    bm_status status = for_each_entry(dir, digest_entry, err);
    if (status == BM_OK)
        status = sync_all(dir, err);
    if (status == BM_OK)
        status = write_digests(dir, offsetof(entry, of.sha256), &dir->sha256, err);
    if (status == BM_OK)
        status = write_digests(dir, offsetof(entry, of.xxh3), &dir->xxh3, err);
    dir->finished = status == BM_OK;
    return status;
}

bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err)
{
    if (!dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is finished first");
    *json = dir->sha256.buf.data;
    return BM_OK;
}

bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err)
{
    bm_status status = bm_out_dir_digests(dir, json, err);
    if (status == BM_OK)
        *json = dir->xxh3.buf.data;
    return status;
}

/* --- commit and close --- */

static bm_status remove_marker(bm_out_dir *dir, bm_error *err)
{
    char *path = NULL;
    bm_status status = bm_string_format(&path, err, "%s/%s", dir->work, BM_OUT_MARKER);
    if (status == BM_OK && unlink(path) != 0)
        status = bm_fail_errno(err, errno, path, "cannot remove");
    bm_free(path);
    return status;
}

bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err)
{
    bm_status status = sync_all(dir, err);
    if (status == BM_OK)
        status = bm_out_target_dir(dir->target, dir->existing, err); /* as it was at open? */
    return status;
}

bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err)
{
    bm_status status = bm_out_dir_ready(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_drop_state(dir, err);
    if (status == BM_OK)
        status = remove_marker(dir, err);
    if (status == BM_OK)
        status = bm_out_folders_sync(&dir->folders, err);
    if (status == BM_OK)
        status = bm_place_sync_folder(dir->work, err);
    if (status != BM_OK)
        return status;
    struct stat info;
    bool replaces = dir->existing == BM_OUT_REPLACE && lstat(dir->target, &info) == 0;
    status = replaces ? bm_place_exchange(dir->work, dir->target, err)
                      : bm_place_dir(dir->work, dir->target, err);
    if (status != BM_OK)
        return status;
    dir->committed = true;
    status = bm_place_sync_folder(dir->parent, err);
    if (status == BM_OK)
        status = bm_out_parents_sync(&dir->parents, err);
    /* The new output stands. An old one that cannot be removed is cleared by the next job here. */
    if (status == BM_OK && replaces)
        (void)bm_place_remove(dir->work, NULL);
    return status;
}

bool bm_out_dir_is_committed(const bm_out_dir *dir)
{
    return dir->committed;
}

void bm_out_dir_close(bm_out_dir *dir)
{
    if (dir == NULL)
        return;
    for (size_t i = 0; i < dir->n; i++) {
        if (dir->entries[i].fd >= 0)
            close(dir->entries[i].fd);
        bm_free(dir->entries[i].name);
    }
    if (dir->lock.made && !dir->committed && !dir->preserves)
        (void)bm_out_work_remove(dir->work, NULL);
    if (dir->lock.fd >= 0)
        close(dir->lock.fd);
    if (dir->committed)
        bm_out_parents_reset(&dir->parents);
    else
        bm_out_parents_remove(&dir->parents);
    bm_out_folders_reset(&dir->folders);
    bm_free(dir->entries);
    bm_buf_reset(&dir->sha256.buf);
    bm_buf_reset(&dir->xxh3.buf);
    bm_free(dir->target);
    bm_free(dir->work);
    bm_free(dir->parent);
    bm_free(dir);
}
