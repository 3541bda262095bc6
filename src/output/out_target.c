/* SPDX-License-Identifier: Apache-2.0 */
/* out_target.c -- decides whether a target may be written. All files at the target must be ours,
 * and none may be an input.
 *
 * out_target.h defines which directories are ours. Paths are compared after links are resolved. If
 * both paths exist, they are also compared by device and inode (hard links, bind mounts).
 *
 * Tests: tests/cli/cases/one_file_twice.sh, tests/cli/cases/output_places.sh,
 *        tests/cli/cases/ownership.sh, tests/fault/full_disk_calls.c,
 *        tests/unit/output/test_out_apart.c, tests/unit/output/test_out_dir.c,
 *        tests/unit/output/test_out_file.c, tests/unit/output/test_out_ours.c */
#include "output/out_target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "model/file_names.h"
#include "output/manifest.h"

/* === out place ===
 *
 * Renames files without replacing others, and exchanges files.
 *
 * renameat2 does either in one step. On a file system without renameat2, a file is linked under its
 * new name, then its old name is unlinked, and an exchange takes three renames. If the second
 * rename fails, the first is undone. So the old output is complete at all times, under one of two
 * names. */

bm_status bm_place_parent(const char *path, char **out, bm_error *err)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return bm_copy_text(".", out, err);
    return bm_copy_bytes(path, slash == path ? 1 : (size_t)(slash - path), out, err);
}

bm_status bm_place_sync_folder(const char *path, bm_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bm_fail_errno(err, errno, path, "cannot open the directory");
    bm_status status = BM_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: the file system cannot sync directories */
        status = bm_fail_errno(err, errno, path, "cannot sync the directory");
    close(fd);
    return status;
}

bm_status bm_place_exists(const char *path, bool *there, bm_error *err)
{
    return bm_look_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, there, NULL, err);
}

static bool lacks_renameat2(int code)
{
    return code == EINVAL || code == ENOSYS || code == ENOTSUP;
}

/* Rename a directory without renameat2. Returns 0, or -1 with errno set. Like rename, it replaces
 * an empty directory. If anything else is at `to`, errno is EEXIST or ENOTEMPTY. */
static int rename_dir_slowly(int folder, const char *name, const char *to)
{
    struct stat there;
    if (lstat(to, &there) == 0 && !S_ISDIR(there.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, AT_FDCWD, to);
}

static int rename_file_slowly(const char *from, const char *to)
{
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP)
        return -1;
    struct stat there; /* for a file system without links */
    if (lstat(to, &there) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* Convert `code`, the result of a rename, to a status. `code` is 0, or -1 with errno set. */
static bm_status placed(int code, const char *to, bm_error *err)
{
    if (code == 0)
        return BM_OK;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return bm_fail_field_at(err, "output", to, 0, "the output appeared while the job ran");
    return bm_fail_errno(err, errno, to, "cannot rename the new output into place");
}

bm_status bm_place_file(const char *from, const char *to, bm_error *err)
{
    int code = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (code != 0 && lacks_renameat2(errno))
        code = rename_file_slowly(from, to);
    return placed(code, to, err);
}

bm_status bm_place_dir(int folder, const char *name, const char *to, bm_error *err)
{
    int code = renameat2(folder, name, AT_FDCWD, to, RENAME_NOREPLACE);
    if (code != 0 && (lacks_renameat2(errno) || errno == EEXIST))
        code = rename_dir_slowly(folder, name, to);
    return placed(code, to, err);
}

static bm_status exchange_slowly(int folder, const char *name, const char *to, bm_error *err)
{
    char *aside = NULL;
    BM_TRY(bm_string_format(&aside, err, "%s.replaced.%ld", to, (long)getpid()));
    bm_status status = BM_OK;
    if (rename(to, aside) != 0) {
        status = bm_fail_errno(err, errno, to, "cannot move the old output aside");
    } else if (renameat(folder, name, AT_FDCWD, to) != 0) {
        status = bm_fail_errno(err, errno, to, "cannot rename the new output into place");
        (void)rename(aside, to); /* if this fails too, the old output remains at `aside` */
    } else if (renameat(AT_FDCWD, aside, folder, name) != 0) {
        status = bm_fail_errno(err, errno, aside, "the replaced output could not be removed");
    }
    bm_free(aside);
    return status;
}

bm_status bm_place_exchange(int folder, const char *name, const char *to, bm_error *err)
{
    if (renameat2(folder, name, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return BM_OK;
    if (lacks_renameat2(errno))
        return exchange_slowly(folder, name, to, err);
    return bm_fail_errno(err, errno, to, "cannot exchange the old output for the new one");
}

/* === out ours ===
 *
 * Compares a list of names with what a walk finds in a directory.
 *
 * The walk opens each folder from the one above it and follows no link, so it cannot leave the
 * directory. It enters no folder that is not ours. */

/* --- the list --- */

bool bm_ours_is_name(const char *name)
{
    for (const char *step = name;; step++) {
        const size_t len = strcspn(step, "/");
        if (len == 0 || (len == 1 && step[0] == '.') ||
            (len == 2 && step[0] == '.' && step[1] == '.'))
            return false;
        step += len;
        if (*step == '\0')
            return true;
    }
}

static bm_status add_text(bm_id_set *set, const char *text, size_t len, bm_error *err)
{
    uint32_t number;
    return bm_id_set_add(set, (bm_str){text, len}, &number, err);
}

bm_status bm_ours_add(bm_ours *ours, const char *name, bm_error *err)
{
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
        BM_TRY(add_text(&ours->folders, name, (size_t)(slash - name), err));
    return add_text(&ours->files, name, strlen(name), err);
}

bm_status bm_ours_add_folder(bm_ours *ours, const char *name, bm_error *err)
{
    return add_text(&ours->folders, name, strlen(name), err);
}

static bool has_text(const bm_id_set *set, bm_str text)
{
    return set->n > 0 && bm_id_set_find(set, text) != BM_ID_NONE;
}

bool bm_ours_has(const bm_ours *ours, const char *name)
{
    return has_text(&ours->files, (bm_str){name, strlen(name)});
}

void bm_ours_reset(bm_ours *ours)
{
    bm_id_set_reset(&ours->files);
    bm_id_set_reset(&ours->folders);
}

/* List the files of an output: the manifest, and the files that it lists. BM_ERR_NOMEM. */
static bm_status ours_add_manifest(bm_ours *ours, const bm_manifest *manifest, bm_error *err)
{
    const char *path = bm_manifest_path(manifest), *slash = strrchr(path, '/');
    BM_TRY(bm_ours_add(ours, slash != NULL ? slash + 1 : path, err));
    for (size_t i = 0; i < bm_manifest_n_outputs(manifest); i++) {
        const char *name = bm_manifest_output_at(manifest, i)->name;
        if (bm_ours_is_name(name))
            BM_TRY(bm_ours_add(ours, name, err));
    }
    return BM_OK;
}

/* --- the walk --- */

typedef struct ours_walk {
    const bm_ours *ours;
    bm_ours_at at;
    char *other;        /* becomes the name of a file that is not ours; NULL: remove our files */
    bm_ours_goes *goes; /* selects the files to remove; NULL: all */
    const void *ctx;
    bm_buf name; /* name of the current entry, relative to the directory, with a NUL at the end */
} ours_walk;

static bm_status walk_folder(ours_walk *w, int fd, bm_error *err);

static bm_status failed(const ours_walk *w, int code, const char *what, bm_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", w->at.path, w->name.len > 0 ? "/" : "",
             w->name.len > 0 ? w->name.data : "");
    return bm_fail_errno(err, code, path, what);
}

static bm_status enter(ours_walk *w, int folder, const char *entry, bm_error *err)
{
    const int fd = openat(folder, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return failed(w, errno, "cannot open the directory", err);
    BM_TRY(walk_folder(w, fd, err));
    if (w->other == NULL && unlinkat(folder, entry, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY &&
        errno != EEXIST && errno != ENOENT)
        BM_TRY(failed(w, errno, "cannot remove", err));
    return BM_OK;
}

/* Visit `entry` of the open folder; w->name is its name relative to the directory. */
static bm_status walk_entry(ours_walk *w, int folder, const char *entry, bm_error *err)
{
    struct stat info;
    const bm_str name = {w->name.data, w->name.len};
    if (fstatat(folder, entry, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? BM_OK : failed(w, errno, "cannot look at", err);
    if (S_ISDIR(info.st_mode) && has_text(&w->ours->folders, name))
        return enter(w, folder, entry, err);
    const bool ours = S_ISREG(info.st_mode) && has_text(&w->ours->files, name) &&
                      (!w->at.single || info.st_nlink < 2);
    if (w->other != NULL && !ours)
        snprintf(w->other, BM_OUT_NAME_BYTES, "%s", w->name.data);
    if (w->other != NULL || !ours || (w->goes != NULL && !w->goes(w->ctx, w->name.data)))
        return BM_OK;
    if (unlinkat(folder, entry, 0) != 0 && errno != ENOENT)
        return failed(w, errno, "cannot remove", err);
    return BM_OK;
}

/* Visit the entries of the open folder w->name, and close `fd`. If a file that is not ours is
 * looked for, stop at the first one. */
static bm_status walk_folder(ours_walk *w, int fd, bm_error *err)
{
    bm_status status = BM_OK;
    const size_t len = w->name.len;
    struct dirent *entry;
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        status = failed(w, errno, "cannot read the directory", err);
        close(fd);
        return status;
    }
    while (status == BM_OK && (w->other == NULL || w->other[0] == '\0') &&
           (errno = 0, entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = bm_buf_add_format(&w->name, err, "%s%s", len > 0 ? "/" : "", entry->d_name);
        if (status == BM_OK)
            status = bm_buf_end(&w->name, err);
        if (status == BM_OK)
            status = walk_entry(w, dirfd(folder), entry->d_name, err);
        w->name.len = len;
        if (w->name.data != NULL)
            w->name.data[len] = '\0';
        errno = 0;
    }
    if (status == BM_OK && errno != 0)
        status = failed(w, errno, "cannot read the directory", err);
    closedir(folder);
    return status;
}

static bm_status walk_all(ours_walk *w, bm_error *err)
{
    const int fd = openat(w->at.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bm_status status =
        fd >= 0 ? walk_folder(w, fd, err) : failed(w, errno, "cannot open the directory", err);
    bm_buf_reset(&w->name);
    return status;
}

bm_status bm_ours_find_other(const bm_ours *ours, bm_ours_at at, char other[BM_OUT_NAME_BYTES],
                             bm_error *err)
{
    ours_walk w = {.ours = ours, .at = at, .other = other};
    other[0] = '\0';
    return walk_all(&w, err);
}

/* Do all folders above the name exist, and is none of them a link? */
static bool is_below(int folder, char *name)
{
    struct stat info;
    bool below = true;
    for (char *slash = strchr(name, '/'); below && slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        below = fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
        *slash = '/';
    }
    return below;
}

static bm_status remove_one(ours_walk *w, bm_str id, bool is_folder, bm_error *err)
{
    struct stat info;
    w->name.len = 0;
    BM_TRY(bm_buf_add(&w->name, id.data, id.len, err));
    BM_TRY(bm_buf_end(&w->name, err));
    char *name = w->name.data;
    if ((!is_folder && w->goes != NULL && !w->goes(w->ctx, name)) ||
        !is_below(w->at.folder, name) ||
        fstatat(w->at.folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        (is_folder ? !S_ISDIR(info.st_mode)
                   : !S_ISREG(info.st_mode) || (w->at.single && info.st_nlink > 1)))
        return BM_OK;
    if (unlinkat(w->at.folder, name, is_folder ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT &&
        errno != ENOTEMPTY && errno != EEXIST)
        return failed(w, errno, "cannot remove", err);
    return BM_OK;
}

/* Remove files without a walk, for a process that can open no more descriptors. The names in the
 * list are visited instead of the entries of folders. Folders are visited after their contents. */
static bm_status remove_listed(ours_walk *w, bm_error *err)
{
    const bm_id_set *files = &w->ours->files, *folders = &w->ours->folders;
    bm_status status = BM_OK;
    for (uint32_t i = 0; i < files->n; i++)
        BM_TRY_OUT(remove_one(w, bm_id_set_id(files, i), false, err));
    for (uint32_t i = (uint32_t)folders->n; i > 0; i--)
        BM_TRY_OUT(remove_one(w, bm_id_set_id(folders, i - 1), true, err));
out:
    bm_buf_reset(&w->name);
    return status;
}

bm_status bm_ours_remove(const bm_ours *ours, bm_ours_at at, bm_ours_goes *goes, const void *ctx,
                         bm_error *err)
{
    ours_walk w = {.ours = ours, .at = at, .goes = goes, .ctx = ctx};
    bm_error why = {0};
    const bm_status status = walk_all(&w, &why);
    if (status == BM_ERR_IO && (why.code == EMFILE || why.code == ENFILE))
        return remove_listed(&w, err);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* === out parents ===
 *
 * Makes the folders above an output, one after another from the top.
 *
 * A job removes a folder that it made only if the folder is empty (rmdir itself checks that), and
 * only if the path still leads to the same folder. */

/* --- making --- */

static bm_status note(bm_out_parents *parents, const char *path, bm_error *err)
{
    struct stat info;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&parents->made, &parents->cap, parents->n + 1, err));
    if (stat(path, &info) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot look at"));
out:;
    char *copy = status == BM_OK ? bm_strdup(path) : NULL;
    if (copy == NULL) {
        (void)rmdir(path);
        return status != BM_OK ? status : bm_fail_nomem(err, strlen(path) + 1);
    }
    parents->made[parents->n++] = (bm_out_parent){copy, info.st_dev, info.st_ino};
    return BM_OK;
}

static bm_status make_one(bm_out_parents *parents, const char *path, bm_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? BM_OK
                                     : bm_fail_errno(err, ENOTDIR, path, "cannot hold an output");
    if (errno != ENOENT)
        return bm_fail_errno(err, errno, path, "cannot look at");
    if (mkdir(path, 0777) == 0)
        return note(parents, path, err);
    if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return BM_OK; /* another job made it first */
    return bm_fail_errno(err, errno, path, "cannot make the directory");
}

bm_status bm_out_parents_make(bm_out_parents *parents, const char *target, bm_error *err)
{
    char *path = bm_strdup(target);
    bm_status status = path != NULL ? BM_OK : bm_fail_nomem(err, strlen(target) + 1);
    for (char *c = path; status == BM_OK && *c != '\0'; c++) {
        if (*c != '/' || c == path || c[1] == '/' || c[1] == '\0')
            continue;
        *c = '\0';
        status = make_one(parents, path, err);
        *c = '/';
    }
    bm_free(path);
    return status;
}

bm_status bm_out_parents_sync(const bm_out_parents *parents, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < parents->n && status == BM_OK; i++) {
        char *above = NULL;
        status = bm_place_parent(parents->made[i].path, &above, err);
        if (status == BM_OK)
            status = bm_place_sync_folder(above, err);
        bm_free(above);
    }
    return status;
}

void bm_out_parents_remove(bm_out_parents *parents)
{
    for (size_t i = parents->n; i > 0; i--) {
        const bm_out_parent *p = &parents->made[i - 1];
        struct stat info;
        if (lstat(p->path, &info) != 0 || info.st_dev != p->device || info.st_ino != p->node ||
            rmdir(p->path) != 0)
            break;
    }
    bm_out_parents_reset(parents);
}

void bm_out_parents_reset(bm_out_parents *parents)
{
    for (size_t i = 0; i < parents->n; i++)
        bm_free(parents->made[i].path);
    bm_free(parents->made);
    memset(parents, 0, sizeof *parents);
}

/* --- resolving --- */

/* Append the parts of the path `rest` to the resolved path in `at`, which has space for both. The
 * folders in `rest` do not exist yet, so ".." just removes the part before it. */
static void walk(char *at, const char *rest)
{
    size_t used = strcmp(at, "/") == 0 ? 0 : strlen(at);
    for (size_t len; *rest != '\0'; rest += len) {
        rest += strspn(rest, "/");
        len = strcspn(rest, "/");
        if (len == 0 || (len == 1 && rest[0] == '.'))
            continue;
        if (len == 2 && rest[0] == '.' && rest[1] == '.') {
            while (used > 0 && at[--used] != '/')
                continue;
        } else {
            at[used++] = '/';
            memcpy(at + used, rest, len);
            used += len;
        }
    }
    if (used == 0)
        at[used++] = '/';
    at[used] = '\0';
}

/* Find the longest beginning of `path`, cut at a slash, that exists. *len becomes its length, and
 * *real its path with links resolved, which the caller frees with free. */
static bm_status find_there(const char *path, size_t *len, char **real, bm_error *err)
{
    char *begin;
    BM_TRY(bm_copy_text(path, &begin, err));
    *len = strlen(begin);
    for (;;) {
        *real = realpath(*len > 0 ? begin : ".", NULL);
        if (*real != NULL || errno != ENOENT || *len == 0)
            break;
        while (*len > 0 && begin[*len - 1] == '/')
            --*len;
        while (*len > 0 && begin[*len - 1] != '/')
            --*len;
        begin[*len] = '\0';
    }
    int code = errno;
    bm_free(begin);
    return *real != NULL ? BM_OK
                         : bm_fail_errno(err, code, path, "no directory to write the output into");
}

/* Set *out to the absolute path of the folder above `target`, without links, "." or ".."; the
 * caller frees it. The folder need not exist, and is not made here. BM_ERR_IO: the folder cannot be
 * made. */
static bm_status out_parents_resolve(const char *target, char **out, bm_error *err)
{
    char *parent = NULL, *real = NULL;
    size_t len = 0;
    bm_status status = bm_place_parent(target, &parent, err);
    if (status == BM_OK)
        status = find_there(parent, &len, &real, err);
    if (status != BM_OK)
        goto out;
    const char *rest = parent + len;
    if (rest[0] != '\0' && access(real, W_OK | X_OK) != 0) {
        status = bm_fail_errno(err, errno, parent, "cannot make the directory");
        goto out;
    }
    *out = bm_alloc(strlen(real) + strlen(rest) + 2, 1);
    if (*out == NULL) {
        status = bm_fail_nomem(err, strlen(real) + strlen(rest) + 2);
        goto out;
    }
    memcpy(*out, real, strlen(real) + 1);
    walk(*out, rest);
out:
    free(real);
    bm_free(parent);
    return status;
}

/* --- space --- */

#define DIR_BLOCKS  4u /* one each for the marker, two tables and the report */
#define BLOCK_BYTES 4096u

static bm_status check_space(const char *folder, const char *target, uint64_t need, bm_error *err)
{
    struct statvfs info;
    if (statvfs(folder, &info) != 0) /* ENOSYS: the file system does not report its space */
        return errno == ENOSYS ? BM_OK
                               : bm_fail_errno(err, errno, target, "no output can be written");
    if ((info.f_flag & ST_RDONLY) != 0)
        return bm_fail_at(err, BM_ERR_IO, target, 0,
                          "cannot be written: the file system of %s is read-only", folder);
    const bool reserved = geteuid() == 0; /* root may use reserved blocks and inodes */
    const uint64_t bytes = (uint64_t)(reserved ? info.f_bfree : info.f_bavail) * info.f_frsize;
    if (info.f_blocks != 0 && bytes < need)
        return bm_fail_at(err, BM_ERR_IO, target, 0,
                          "no space: %llu bytes are free in the file system of %s (%llu are needed "
                          "before any result)",
                          (unsigned long long)bytes, folder, (unsigned long long)need);
    if (info.f_files != 0 && (reserved ? info.f_ffree : info.f_favail) == 0)
        return bm_fail_at(err, BM_ERR_IO, target, 0,
                          "no space: the file system of %s can hold no more files (all of its %llu "
                          "inodes are in use)",
                          folder, (unsigned long long)info.f_files);
    return BM_OK;
}

bm_status bm_out_space_check(const char *target, bool is_dir, bm_error *err)
{
    char *parent = NULL, *real = NULL;
    size_t len = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_place_parent(target, &parent, err));
    BM_TRY_OUT(find_there(parent, &len, &real, err));
    status = check_space(real, target, is_dir ? DIR_BLOCKS * BLOCK_BYTES : BLOCK_BYTES, err);
out:
    free(real);
    bm_free(parent);
    return status;
}

/* The report of an output to be replaced may take 1/REPORT_SHARE of the job's memory. When the
 * report is read for the last time, all rows are in memory, but the memory of batches is free
 * (sign/budget.h). */
#define REPORT_SHARE 4u

/* --- directories of ours --- */

static bm_status not_ours(const char *path, const char *why, bm_error *err)
{
    return bm_fail_field_at(err, "output", path, 0,
                            "%s (`force` replaces outputs of bandmill only; remove it by hand)",
                            why);
}

/* List the files in the manifest of the directory. */
static bm_status list_manifest(const char *path, uint64_t memory, bm_ours *out, bm_error *err)
{
    bm_manifest *manifest = NULL;
    bm_error inner = {0};
    bm_status status =
        bm_manifest_open_share(path, (bm_manifest_budget){memory, REPORT_SHARE}, &manifest, &inner);
    /* it is not known whether the directory is ours */
    if (status == BM_ERR_NOMEM || status == BM_ERR_IO) {
        if (err != NULL)
            *err = inner;
        return status;
    }
    if (status != BM_OK)
        return not_ours(path, "holds no " BM_FILE_MANIFEST " or " BM_FILE_REPORT " of bandmill",
                        err);
    status = ours_add_manifest(out, manifest, err);
    bm_manifest_close(manifest);
    return status;
}

/* List the files of a directory of a kind that has no report. */
static bm_status list_kind(const char *path, const bm_out_kind *kind, bm_ours *out, bm_error *err)
{
    bool is;
    BM_TRY(kind->is(path, &is, err));
    if (!is)
        return not_ours(path, kind->not_one, err);
    for (size_t i = 0; kind->files[i] != NULL; i++)
        BM_TRY(bm_ours_add(out, kind->files[i], err));
    return BM_OK;
}

bm_status bm_out_target_list(const char *target, bm_out_existing existing, bm_ours *out,
                             bm_error *err)
{
    char other[BM_OUT_NAME_BYTES] = "", why[BM_OUT_NAME_BYTES + 50];
    bm_status status = BM_OK;
    const int fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bm_fail_errno(err, errno, target, "cannot read the directory");
    const bm_ours_at at = {.folder = fd, .path = target};
    BM_TRY_OUT(bm_ours_find_other(out, at, other, err));
    if (other[0] != '\0') {
        /* The directory is not empty. */
        BM_TRY_OUT(existing.kind != NULL ? list_kind(target, existing.kind, out, err)
                                         : list_manifest(target, existing.memory, out, err));
        BM_TRY_OUT(bm_ours_find_other(out, at, other, err));
        if (other[0] != '\0') {
            snprintf(why, sizeof why, "holds %s, which %s", other,
                     existing.kind != NULL ? "is no part of it" : "its report does not list");
            BM_TRY_OUT(not_ours(target, why, err));
        }
    }
out:
    close(fd);
    return status;
}

/* Check that the directory at `path` is an output of ours, or empty. BM_ERR_USAGE: it is not; the
 * message gives the reason. */
static bm_status check_ours(const char *path, bm_out_existing existing, bm_error *err)
{
    bm_ours ours = {0};
    bm_status status = bm_out_target_list(path, existing, &ours, err);
    bm_ours_reset(&ours);
    return status;
}

/* --- the existing target --- */

typedef enum output_kind { A_DIR, A_FILE } output_kind;

static const char *name_of_mode(mode_t mode)
{
    if (S_ISLNK(mode))
        return "is a symbolic link";
    if (S_ISFIFO(mode))
        return "is a named pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "is a device";
    if (S_ISSOCK(mode))
        return "is a socket";
    if (S_ISDIR(mode))
        return "is a directory";
    return "is a file";
}

size_t bm_path_plain_len(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len;
}

static bool has_name(const char *path, size_t len)
{
    const char *end = path + len, *base = end;
    while (base > path && base[-1] != '/')
        base--;
    size_t n = (size_t)(end - base);
    return n != 0 && !(n == 1 && base[0] == '.') && !(n == 2 && base[0] == '.' && base[1] == '.');
}

/* Set *empty to whether the directory is empty. BM_ERR_IO: it cannot be read. */
static bm_status is_empty(const char *path, bool *empty, bm_error *err)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    if (folder == NULL)
        return bm_fail_errno(err, errno, path, "cannot look at the output");
    while ((errno = 0, entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            break;
    const int code = entry == NULL ? errno : 0;
    *empty = entry == NULL;
    closedir(folder);
    return code == 0 ? BM_OK : bm_fail_errno(err, code, path, "cannot look at the output");
}

/* Check that the empty directory at the target is no mount point, because the new directory will be
 * renamed to its name. `info` is the status of the empty directory. */
static bm_status check_empty(const char *target, const struct stat *info, bm_error *err)
{
    struct stat above;
    char *parent = NULL, *plain = bm_strndup(target, bm_path_plain_len(target));
    bm_status status = BM_OK;
    BM_TRY_OUT(plain != NULL ? bm_place_parent(plain, &parent, err)
                             : bm_fail_nomem(err, strlen(target) + 1));
    if (stat(parent, &above) != 0) {
        BM_TRY_OUT(bm_fail_errno(err, errno, parent, "cannot look at"));
    } else if (above.st_dev != info->st_dev)
        BM_TRY_OUT(bm_fail_field_at(
            err, "output", target, 0,
            "is a mount point, which no output can replace (expected a name in it)"));
out:
    bm_free_all(parent, plain);
    return status;
}

/* Check that the file at `path` is empty, or begins like one of ours. */
static bm_status check_our_file(const char *path, bm_error *err)
{
    char head[BM_FILE_HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    const int code = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return bm_fail_errno(err, code, path, "cannot look at the output");
    return bm_file_head_is_ours(head, (size_t)n)
               ? BM_OK
               : not_ours(path, "begins unlike a file that bandmill writes", err);
}

static bm_status check_target(const char *target, output_kind kind, bm_out_existing existing,
                              bm_error *err)
{
    struct stat info;
    const size_t len = bm_path_plain_len(target);
    if (!has_name(target, len))
        return bm_fail_field_at(err, "output", target, 0,
                                "no name for an output (expected DIR/NAME)");
    if (kind == A_FILE && target[strlen(target) - 1] == '/')
        return bm_fail_field_at(err, "output", target, 0, "names a directory (expected a file)");
    char *plain;
    bool empty = false;
    BM_TRY(bm_copy_bytes(target, len, &plain, err));
    int code = lstat(plain, &info) == 0 ? 0 : errno;
    bm_free(plain);
    if (code == ENOENT)
        return BM_OK;
    if (code != 0)
        return bm_fail_errno(err, code, target, "cannot look at the output");
    if (kind == A_DIR ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode))
        return bm_fail_field_at(
            err, "output", target, 0, "%s (expected %s)", name_of_mode(info.st_mode),
            kind == A_DIR ? "the name of a new directory"
                          : "the name of a new regular file; without `output` rows go "
                            "to standard output");
    if (kind == A_DIR)
        BM_TRY(is_empty(target, &empty, err));
    if (empty)
        return check_empty(target, &info, err);
    if (existing.is == BM_OUT_IS_LOOKED_AT)
        return BM_OK;
    if (existing.is != BM_OUT_IS_REPLACED)
        return bm_fail_field_at(err, "output", target, 0,
                                "the output exists already (`force` replaces it)");
    return kind == A_DIR ? check_ours(target, existing, err) : check_our_file(target, err);
}

bm_status bm_out_target_dir(const char *target, bm_out_existing existing, bm_error *err)
{
    return check_target(target, A_DIR, existing, err);
}

bm_status bm_out_target_file(const char *target, bm_out_existing existing, bm_error *err)
{
    return check_target(target, A_FILE, existing, err);
}

/* --- the target and the inputs --- */

/* Set *out to the absolute path of a target that may not exist; the caller frees it. The folder
 * above the target, which may not exist either, is resolved. The last name of the path is not. */
static bm_status out_target_resolve(const char *target, char **out, bm_error *err)
{
    char *plain = bm_strndup(target, bm_path_plain_len(target)), *folder = NULL;
    if (plain == NULL)
        return bm_fail_nomem(err, strlen(target) + 1);
    bm_status status = BM_OK;
    BM_TRY_OUT(out_parents_resolve(plain, &folder, err));
    const char *slash = strrchr(plain, '/');
    status = bm_string_format(out, err, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
                              slash != NULL ? slash + 1 : plain);
out:
    bm_free_all(folder, plain);
    return status;
}

/* Is `inner` equal to `outer` or below it? Both are absolute and resolved. */
static bool out_lies_in(const char *inner, const char *outer)
{
    size_t len = strlen(outer);
    if (len == 1) /* "/" */
        return true;
    return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

/* A path of the output, or of its work directory, to compare with an input. */
typedef struct target_output {
    const char *shown, *resolved;
    /* status of the file at the path; NULL: there is no file, or it is not compared */
    const struct stat *there;
} target_output;

/* Is this input ("-": standard input) the existing file at the output's path? */
static bool is_there(const target_output *out, const char *input)
{
    struct stat info;
    if (out->there == NULL)
        return false;
    if ((strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(input, &info)) != 0)
        return false;
    return info.st_dev == out->there->st_dev && info.st_ino == out->there->st_ino;
}

/* Check that the output is neither this input, nor inside it, nor above it. `path` is the input's
 * resolved path; NULL: standard input. */
static bm_status check_input(const target_output *out, const char *input, const char *path,
                             bm_error *err)
{
    const char *what = NULL;
    if (is_there(out, input) || (path != NULL && strcmp(out->resolved, path) == 0))
        what = "is";
    else if (path == NULL)
        what = NULL;
    else if (out_lies_in(out->resolved, path))
        what = "lies in";
    else if (out_lies_in(path, out->resolved))
        what = "lies above";
    if (what == NULL)
        return BM_OK;
    return bm_fail_field_at(err, "output", out->shown, 0,
                            "the output %s the input %s (expected a place of its own)", what,
                            input);
}

static bm_status check_inputs(const char *target, output_kind kind, const char *const *inputs,
                              size_t n_inputs, bm_error *err)
{
    struct stat info;
    char *resolved = NULL, *work = NULL, *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(out_target_resolve(target, &resolved, err));
    BM_TRY_OUT(bm_string_format(&work, err, "%s.partial", resolved));
    const int code = lstat(resolved, &info) == 0 ? 0 : errno;
    if (code != 0 && code != ENOENT && code != ENOTDIR)
        BM_TRY_OUT(bm_fail_errno(err, code, target, "cannot look at the output"));
    const bool there = code == 0 && !S_ISLNK(info.st_mode);
    const target_output new_output = {target, resolved, there ? &info : NULL};
    const target_output work_dir = {target, work, NULL}; /* the job will clear this directory */
    for (size_t i = 0; i < n_inputs; i++) {
        const bool is_stdin = strcmp(inputs[i], "-") == 0;
        path = is_stdin ? NULL : realpath(inputs[i], NULL);
        if (path == NULL && !is_stdin && errno != ENOMEM)
            continue; /* the reason will be reported when the input is opened */
        if (path == NULL && !is_stdin)
            BM_TRY_OUT(bm_fail_nomem(err, PATH_MAX));
        BM_TRY_OUT(check_input(&new_output, inputs[i], path, err));
        if (kind == A_DIR)
            BM_TRY_OUT(check_input(&work_dir, inputs[i], path, err));
        free(path);
        path = NULL;
    }
out:
    free(path);
    bm_free_all(work, resolved);
    return status;
}

bm_status bm_out_dir_check(const char *target, bm_out_existing existing, const char *const *inputs,
                           size_t n_inputs, bm_error *err)
{
    BM_TRY(check_inputs(target, A_DIR, inputs, n_inputs, err));
    return check_target(target, A_DIR, existing, err);
}

bm_status bm_out_file_check(const char *target, bm_out_existing existing, const char *const *inputs,
                            size_t n_inputs, bm_error *err)
{
    BM_TRY(check_inputs(target, A_FILE, inputs, n_inputs, err));
    return check_target(target, A_FILE, existing, err);
}

/* === out apart ===
 *
 * Compares outputs in pairs. */

/* The location that the path of an output leads to. */
typedef struct location {
    char *resolved;
    char *work;       /* the work directory of an output directory; NULL for a file */
    bool there;       /* something exists at the location */
    struct stat info; /* status of what exists there */
} location;

static void reset(location *p)
{
    bm_free_all(p->resolved, p->work);
}

static bm_status find(const bm_out_named *output, location *out, bm_error *err)
{
    *out = (location){0};
    BM_TRY(out_target_resolve(output->path, &out->resolved, err));
    if (output->is_dir)
        BM_TRY(bm_string_format(&out->work, err, "%s.partial", out->resolved));
    out->there = lstat(out->resolved, &out->info) == 0;
    return out->there || errno == ENOENT || errno == ENOTDIR
               ? BM_OK
               : bm_fail_errno(err, errno, output->path, "cannot look at the output");
}

/* If `a` is the same location as `b`, or inside `b`, returns the word for messages; else NULL. */
static const char *relation(const location *a, const location *b)
{
    if (strcmp(a->resolved, b->resolved) == 0 ||
        (a->there && b->there && a->info.st_dev == b->info.st_dev &&
         a->info.st_ino == b->info.st_ino))
        return "is";
    if (out_lies_in(a->resolved, b->resolved) ||
        (b->work != NULL && out_lies_in(a->resolved, b->work)))
        return "lies in";
    return NULL;
}

static bm_status check_two(const bm_out_named *first, const bm_out_named *second, bm_error *err)
{
    location a = {0}, b = {0};
    bm_status status = find(first, &a, err);
    if (status == BM_OK)
        status = find(second, &b, err);
    const bm_out_named *inner = second, *outer = first;
    const char *what = status == BM_OK ? relation(&b, &a) : NULL;
    if (status == BM_OK && what == NULL) {
        what = relation(&a, &b);
        inner = first;
        outer = second;
    }
    if (what != NULL && strcmp(what, "is") == 0)
        status = bm_fail_field_at(err, "output", inner->path, 0,
                                  "two outputs in one file (a file for each)");
    else if (what != NULL)
        status = bm_fail_field_at(err, "output", inner->path, 0,
                                  "the output %s the output %s (expected a place of its own)", what,
                                  outer->path);
    reset(&a);
    reset(&b);
    return status;
}

bm_status bm_out_apart(const bm_out_named *outputs, size_t n, bm_error *err)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            BM_TRY(check_two(&outputs[k], &outputs[i], err));
    }
    return BM_OK;
}

bm_status bm_out_apart_from_temp(const char *target, const char *temp_dir, bm_error *err)
{
    location output = {0};
    char *real = realpath(temp_dir, NULL);
    /* the reason will be reported when the folder is opened */
    if (real == NULL)
        return errno == ENOMEM ? bm_fail_nomem(err, PATH_MAX) : BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(find(&(bm_out_named){target, true}, &output, err));
    if ((out_lies_in(real, output.resolved) || out_lies_in(real, output.work)))
        BM_TRY_OUT(bm_fail_field_at(err, "temp_dir", temp_dir, 0,
                                    "temporary files would lie in the output %s (expected another "
                                    "directory)",
                                    target));
out:
    free(real);
    reset(&output);
    return status;
}
