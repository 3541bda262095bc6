/* out_dir.c -- a directory of outputs that appears by one rename.
 *
 *     TARGET.partial/ .bandmill-work    a lock (flock) while the job lives; tells our leavings
 *                                       from a stranger's directory after a crash
 *                     .bandmill-…       what the job needs to be resumed; never an output
 *                     signatures.npy …
 *
 * A closed file preserves its descriptor (the first HELD_FILES of them) and is synced at the end, when
 * most of it has reached the disk already: the kernel starts on it while it is written. SHA-256 is
 * taken in between, from the page cache. With many files one syncfs goes first, so that ten
 * thousand fsyncs find nothing left to do. Commit: remove state and marker, sync every directory,
 * rename (or exchange with the old output, which is removed then), sync the parent.
 *
 * Threads: one at a time. */
#include "io/output/out_dir_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/output/digest.h"

#define HELD_FILES 64u

bm_status bm_out_join(const char *left, const char *middle, const char *right, char **out,
                      bm_error *err)
{
    bm_buf path = {0};
    bm_status status = bm_buf_add_format(&path, err, "%s%s%s", left, middle, right);
    if (status == BM_OK)
        status = bm_buf_end(&path, err);
    if (status != BM_OK)
        bm_buf_reset(&path);
    else
        *out = path.data;
    return status;
}

static bm_status open_dir(const char *target, bool force, bool *found, bm_out_dir **out,
                          bm_error *err)
{
    bm_status status = bm_out_target(target, force, true, err);
    if (status != BM_OK)
        return status;
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    bm_out_dir *dir = bm_alloc_zero(1, sizeof *dir);
    if (dir == NULL)
        return bm_fail_nomem(err, sizeof *dir);
    dir->lock_fd = -1;
    dir->force = force;
    dir->target = bm_strndup(target, len);
    status = dir->target == NULL ? bm_fail_nomem(err, len + 1) : BM_OK;
    if (status == BM_OK)
        status = bm_out_join(dir->target, ".partial", "", &dir->work, err);
    if (status == BM_OK)
        status = bm_place_parent(dir->target, &dir->parent, err);
    if (status == BM_OK)
        status = bm_out_dir_lock(dir, found != NULL, found, err);
    if (status != BM_OK) {
        bm_out_dir_close(dir);
        return status;
    }
    *out = dir;
    return BM_OK;
}

bm_status bm_out_dir_open(const char *target, bool force, bm_out_dir **out, bm_error *err)
{
    return open_dir(target, force, NULL, out, err);
}

bm_status bm_out_dir_open_again(const char *target, bool force, bm_out_dir **out, bool *found,
                                bm_error *err)
{
    bool there = false;
    bm_status status = open_dir(target, force, &there, out, err);
    if (status == BM_OK)
        *found = there;
    return status;
}

const char *bm_out_dir_work(const bm_out_dir *dir)
{
    return dir->work;
}

/* Relative, without empty, "." and ".." steps: it cannot leave the directory. Nor is it a state's.
 */
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

bm_status bm_out_dir_add_folder(bm_out_dir *dir, const char *path, bm_error *err)
{
    void *array = dir->folders;
    bm_status status = bm_grow(&array, &dir->cap_folders, dir->n_folders + 1, sizeof(char *), err);
    dir->folders = array;
    char *copy = status == BM_OK ? bm_strdup(path) : NULL;
    if (copy != NULL)
        dir->folders[dir->n_folders++] = copy;
    else if (status == BM_OK)
        status = bm_fail_nomem(err, strlen(path) + 1);
    return status;
}

/* Make the directories of `path` that lie below work and are missing. */
static bm_status make_folders(bm_out_dir *dir, char *path, bm_error *err)
{
    bm_status status = BM_OK;
    for (char *c = path + strlen(dir->work) + 1; status == BM_OK && *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(path, 0777) == 0)
            status = bm_out_dir_add_folder(dir, path, err);
        else if (errno != EEXIST)
            status = bm_fail_errno(err, errno, path, "cannot make the directory");
        *c = '/';
    }
    return status;
}

/* A file that is new (bytes NULL), or there, of which *bytes stay. */
static bm_status add_file(bm_out_dir *dir, const char *name, const uint64_t *bytes,
                          bm_out_file **out, bm_error *err)
{
    char *path = NULL, *copy = NULL;
    bm_out_file *file = NULL;
    if (!name_is_safe(name))
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a file in an output directory", name);
    bm_status status = bm_out_join(dir->work, "/", name, &path, err);
    if (status == BM_OK && bytes == NULL)
        status = make_folders(dir, path, err);
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
    file->dir = dir;
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

bm_status bm_out_dir_take(bm_out_dir *dir, bm_out_file *file, bm_error *err)
{
    void *array = dir->entries;
    bm_status status = bm_grow(&array, &dir->cap, dir->n + 1, sizeof(bm_out_entry), err);
    dir->entries = array;
    if (status != BM_OK)
        return status;
    bm_out_entry *entry = &dir->entries[dir->n];
    memset(entry, 0, sizeof *entry);
    entry->fd = -1;
    if (dir->n_held < HELD_FILES) {
        entry->fd = file->fd;
        dir->n_held++;
    } else {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            return bm_fail_errno(err, errno, file->path, "cannot close");
    }
    entry->name = file->name;
    entry->digested = file->hex[0] != '\0';
    memcpy(entry->hex, file->hex, sizeof entry->hex);
    file->fd = -1;
    file->name = NULL;
    dir->n++;
    return BM_OK;
}

/* Digest (if `digest`) and sync one file, and let its descriptor go. */
static bm_status finish_entry(bm_out_dir *dir, bm_out_entry *entry, bool digest, bool sync,
                              bm_error *err)
{
    char *path = NULL;
    bm_status status = bm_out_join(dir->work, "/", entry->name, &path, err);
    if (status != BM_OK)
        return status;
    int fd = entry->fd;
    if (fd < 0)
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        status = bm_fail_errno(err, errno, path, "cannot open");
    if (status == BM_OK && digest && !entry->digested) {
        status = bm_sha256_fd(fd, path, entry->hex, err);
        entry->digested = status == BM_OK;
    }
    if (status == BM_OK && sync && !entry->synced) {
        if (fsync(fd) != 0)
            status = bm_fail_errno(err, errno, path, "cannot sync");
        entry->synced = status == BM_OK;
    }
    if (fd >= 0 && (fd != entry->fd || sync)) {
        if (fd == entry->fd)
            dir->n_held--;
        entry->fd = fd == entry->fd ? -1 : entry->fd;
        close(fd);
    }
    bm_free(path);
    return status;
}

static bm_status finish_all(bm_out_dir *dir, bool digest, bool sync, bm_error *err)
{
    bm_status status = BM_OK;
    if (sync && dir->n > HELD_FILES && !dir->finished) {
        int fd = open(dir->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || syncfs(fd) != 0)
            status = bm_fail_errno(err, errno, dir->work, "cannot sync");
        if (fd >= 0)
            close(fd);
    }
    for (size_t i = 0; i < dir->n && status == BM_OK; i++)
        if (!dir->entries[i].synced)
            status = finish_entry(dir, &dir->entries[i], digest, sync, err);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const bm_out_entry *)a)->name, ((const bm_out_entry *)b)->name);
}

static bm_status write_digests(bm_out_dir *dir, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(&dir->digests);
    for (size_t i = 0; i < dir->n && status == BM_OK; i++) {
        const bm_out_entry *entry = &dir->entries[i];
        name.len = 0;
        status = bm_tsv_escape(&name, (bm_str){entry->name, strlen(entry->name)}, err);
        if (status == BM_OK)
            status = bm_buf_end(&name, err);
        if (status == BM_OK) {
            bm_json_key(&dir->digests, name.data);
            bm_json_text(&dir->digests, entry->hex);
        }
    }
    bm_json_end_object(&dir->digests);
    bm_buf_reset(&name);
    if (status != BM_OK)
        return status;
    status = bm_json_finish(&dir->digests, err);
    if (status == BM_OK)
        dir->digests.buf.data[--dir->digests.buf.len] = '\0'; /* the newline */
    return status;
}

bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err)
{
    if (dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is sealed once");
    if (dir->n > 1)
        qsort(dir->entries, dir->n, sizeof *dir->entries, by_name);
    bm_status status = finish_all(dir, true, false, err);
    if (status == BM_OK)
        status = finish_all(dir, false, true, err);
    if (status == BM_OK)
        status = write_digests(dir, err);
    dir->finished = status == BM_OK;
    return status;
}

bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err)
{
    if (!dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is sealed first");
    *json = dir->digests.buf.data;
    return BM_OK;
}

static bm_status remove_marker(bm_out_dir *dir, bm_error *err)
{
    char *path = NULL;
    bm_status status = bm_out_join(dir->work, "/", BM_OUT_MARKER, &path, err);
    if (status == BM_OK && unlink(path) != 0)
        status = bm_fail_errno(err, errno, path, "cannot remove");
    bm_free(path);
    return status;
}

bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err)
{
    bm_status status = finish_all(dir, false, true, err);
    if (status == BM_OK)
        status = bm_out_target(dir->target, dir->force, true, err); /* as it was at open? */
    return status;
}

bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err)
{
    bm_status status = bm_out_dir_ready(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_drop_state(dir, err);
    if (status == BM_OK)
        status = remove_marker(dir, err);
    for (size_t i = dir->n_folders; i > 0 && status == BM_OK; i--)
        status = bm_place_sync_folder(dir->folders[i - 1], err);
    if (status == BM_OK)
        status = bm_place_sync_folder(dir->work, err);
    if (status != BM_OK)
        return status;
    struct stat info;
    bool replaces = dir->force && lstat(dir->target, &info) == 0;
    status = replaces ? bm_place_exchange(dir->work, dir->target, err)
                      : bm_place_new(dir->work, dir->target, true, err);
    if (status != BM_OK)
        return status;
    dir->work_made = false;
    status = bm_place_sync_folder(dir->parent, err);
    /* The new output stands. An old one that cannot be removed is cleared by the next job here. */
    if (status == BM_OK && replaces)
        (void)bm_place_remove(dir->work, NULL);
    return status;
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
    if (dir->work_made && !dir->preserves)
        (void)bm_out_remove_work(dir->work, NULL);
    if (dir->lock_fd >= 0)
        close(dir->lock_fd);
    for (size_t i = 0; i < dir->n_folders; i++)
        bm_free(dir->folders[i]);
    bm_free(dir->folders);
    bm_free(dir->entries);
    bm_buf_reset(&dir->digests.buf);
    bm_free(dir->target);
    bm_free(dir->work);
    bm_free(dir->parent);
    bm_free(dir);
}
