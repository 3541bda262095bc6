/* out_dir.c -- a directory of outputs that appears by one rename.
 *
 *     TARGET.partial/ .bandmill-work    a lock (flock) while the job lives; tells our leavings
 *                     signatures.npy …  from a stranger's directory after a crash
 *
 * A closed file keeps its descriptor (the first HELD_FILES of them) and is synced at the end, when
 * most of it has reached the disk already: the kernel starts on it while it is written. SHA-256 is
 * taken in between, from the page cache. With many files one syncfs goes first, so that ten
 * thousand fsyncs find nothing left to do. Commit: remove the marker, sync every directory, rename
 * (or exchange with the old output, which is removed then), sync the parent.
 *
 * Threads: one at a time. */
#include "io/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/digest.h"
#include "io/json_write.h"

#define HELD_FILES 64u

typedef struct out_entry {
    char *name;
    int fd; /* -1: closed; opened again for the digest and the sync */
    char hex[BM_SHA256_HEX];
    bool synced, digested;
} out_entry;

struct bm_out_dir {
    char *target, *work, *parent;
    bool force, work_made;
    int lock_fd;
    out_entry *entries;
    size_t n, cap;
    unsigned n_held;
    char **folders; /* made below work, in order */
    size_t n_folders, cap_folders;
    bool sealed;
    bm_json digests;
};

static bm_status join(const char *left, const char *middle, const char *right, char **out,
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

/* The marker of `work`, locked; BM_ERR_LOCKED if another process holds it. */
static bm_status lock_marker(const char *work, int flags, int *out, bm_error *err)
{
    char *path = NULL;
    bm_status status = join(work, "/", BM_OUT_MARKER, &path, err);
    if (status != BM_OK)
        return status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
    if (fd < 0) {
        *out = -1;
        status = bm_fail_errno(err, errno, path, "cannot open");
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        status = bm_fail_at(err, BM_ERR_LOCKED, work, 0, "another job writes this output now");
    } else {
        *out = fd; /* a file system without flock: no lock, and no harm to our own leavings */
    }
    bm_free(path);
    return status;
}

/* Remove what an earlier job of ours left at `work`. */
static bm_status clear_stale(const char *work, bm_error *err)
{
    struct stat info;
    if (lstat(work, &info) != 0)
        return errno == ENOENT ? BM_OK : bm_fail_errno(err, errno, work, "cannot look at");
    bool ours = false;
    char other[300] = "";
    int fd = -1;
    if (S_ISDIR(info.st_mode)) {
        bm_error inner = {0};
        bm_status status = lock_marker(work, 0, &fd, &inner);
        if (status == BM_ERR_LOCKED || status == BM_ERR_NOMEM) {
            if (err != NULL)
                *err = inner;
            return status;
        }
        ours = status == BM_OK;
        if (!ours && inner.code != ENOENT)
            return bm_fail_errno(err, (int)inner.code, work, "cannot look into");
        if (!ours)
            status = bm_out_names_ours(work, &ours, other, sizeof other, err);
        else
            status = BM_OK;
        if (status != BM_OK)
            return status;
    }
    bm_status status =
        ours ? bm_place_remove(work, err)
             : bm_fail_at(err, BM_ERR_IO, work, 0,
                          "is in the way and not of bandmill (the job works there; remove it)");
    if (fd >= 0)
        close(fd);
    return status;
}

static bm_status make_work(bm_out_dir *dir, bm_error *err)
{
    bm_status status = clear_stale(dir->work, err);
    if (status != BM_OK)
        return status;
    if (mkdir(dir->work, 0777) != 0)
        return bm_fail_errno(err, errno, dir->work, "cannot make the directory");
    dir->work_made = true;
    return lock_marker(dir->work, O_CREAT | O_EXCL, &dir->lock_fd, err);
}

bm_status bm_out_dir_open(const char *target, bool force, bm_out_dir **out, bm_error *err)
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
        status = join(dir->target, ".partial", "", &dir->work, err);
    if (status == BM_OK)
        status = bm_place_parent(dir->target, &dir->parent, err);
    if (status == BM_OK) {
        status = make_work(dir, err);
    }
    if (status != BM_OK) {
        bm_out_dir_close(dir);
        return status;
    }
    *out = dir;
    return BM_OK;
}

const char *bm_out_dir_work(const bm_out_dir *dir)
{
    return dir->work;
}

/* Relative, without empty, "." and ".." steps: it cannot leave the directory. */
static bool name_is_safe(const char *name)
{
    for (const char *step = name;; step++) {
        size_t len = strcspn(step, "/");
        if (len == 0 || (len == 1 && step[0] == '.') ||
            (len == 2 && step[0] == '.' && step[1] == '.'))
            return false;
        step += len;
        if (*step == '\0')
            return strcmp(name, BM_OUT_MARKER) != 0;
    }
}

/* Make the directories of `path` that lie below work and are missing. */
static bm_status make_folders(bm_out_dir *dir, char *path, bm_error *err)
{
    bm_status status = BM_OK;
    for (char *c = path + strlen(dir->work) + 1; status == BM_OK && *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(path, 0777) == 0) {
            void *array = dir->folders;
            status = bm_grow(&array, &dir->cap_folders, dir->n_folders + 1, sizeof(char *), err);
            dir->folders = array;
            char *copy = status == BM_OK ? bm_strdup(path) : NULL;
            if (copy != NULL)
                dir->folders[dir->n_folders++] = copy;
            else if (status == BM_OK)
                status = bm_fail_nomem(err, strlen(path) + 1);
        } else if (errno != EEXIST) {
            status = bm_fail_errno(err, errno, path, "cannot make the directory");
        }
        *c = '/';
    }
    return status;
}

bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err)
{
    char *path = NULL, *copy = NULL;
    bm_out_file *file = NULL;
    if (!name_is_safe(name))
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a file in an output directory", name);
    bm_status status = join(dir->work, "/", name, &path, err);
    if (status == BM_OK)
        status = make_folders(dir, path, err);
    if (status == BM_OK && (copy = bm_strdup(name)) == NULL)
        status = bm_fail_nomem(err, strlen(name) + 1);
    if (status != BM_OK) {
        bm_free(path);
        return status;
    }
    status = bm_out_file_create(path, &file, err); /* takes path */
    if (status != BM_OK) {
        bm_free(copy);
        return status;
    }
    file->dir = dir;
    file->name = copy;
    *out = file;
    return BM_OK;
}

bm_status bm_out_dir_take(bm_out_dir *dir, bm_out_file *file, bm_error *err)
{
    void *array = dir->entries;
    bm_status status = bm_grow(&array, &dir->cap, dir->n + 1, sizeof(out_entry), err);
    dir->entries = array;
    if (status != BM_OK)
        return status;
    out_entry *entry = &dir->entries[dir->n];
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
static bm_status finish_entry(bm_out_dir *dir, out_entry *entry, bool digest, bool sync,
                              bm_error *err)
{
    char *path = NULL;
    bm_status status = join(dir->work, "/", entry->name, &path, err);
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
    if (sync && dir->n > HELD_FILES && !dir->sealed) {
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
    return strcmp(((const out_entry *)a)->name, ((const out_entry *)b)->name);
}

static bm_status write_digests(bm_out_dir *dir, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(&dir->digests);
    for (size_t i = 0; i < dir->n && status == BM_OK; i++) {
        const out_entry *entry = &dir->entries[i];
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

bm_status bm_out_dir_seal(bm_out_dir *dir, bm_error *err)
{
    if (dir->sealed)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is sealed once");
    if (dir->n > 1)
        qsort(dir->entries, dir->n, sizeof *dir->entries, by_name);
    bm_status status = finish_all(dir, true, false, err);
    if (status == BM_OK)
        status = finish_all(dir, false, true, err);
    if (status == BM_OK)
        status = write_digests(dir, err);
    dir->sealed = status == BM_OK;
    return status;
}

bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err)
{
    if (!dir->sealed)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is sealed first");
    *json = dir->digests.buf.data;
    return BM_OK;
}

static bm_status remove_marker(bm_out_dir *dir, bm_error *err)
{
    char *path = NULL;
    bm_status status = join(dir->work, "/", BM_OUT_MARKER, &path, err);
    if (status == BM_OK && unlink(path) != 0)
        status = bm_fail_errno(err, errno, path, "cannot remove");
    bm_free(path);
    return status;
}

bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err)
{
    bm_status status = finish_all(dir, false, true, err);
    if (status == BM_OK)
        status = bm_out_target(dir->target, dir->force, true, err); /* as it was at open? */
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
    if (dir->work_made)
        (void)bm_place_remove(dir->work, NULL);
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
