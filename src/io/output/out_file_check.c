/* out_file_check.c -- what may stand at a target, and whether a target is, holds or lies in an
 * input.
 *
 * Replacing is for outputs of ours only: the directory holds a manifest.json or report.json that
 * says so, every name in it is one that we write, and every file below kept/ stands in that
 * report's list of outputs. Paths are compared after links are resolved, and by device and inode
 * where both exist (hard links, bind mounts). */
#include "io/output/out_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/output/manifest.h"
#include "model/file_names.h"

bool bm_out_is_state(const char *name)
{
    return strncmp(name, BM_OUT_STATE_PREFIX, sizeof BM_OUT_STATE_PREFIX - 1) == 0;
}

/* A name at the top of `folder`. */
static bool entry_is_ours(int folder, const char *name, bool is_work)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (S_ISDIR(info.st_mode))
        return strcmp(name, BM_FILE_KEPT) == 0;
    return S_ISREG(info.st_mode) &&
           (bm_file_kind_of(name) != BM_FILE_KIND_FOREIGN || (is_work && bm_out_is_state(name)));
}

bm_status bm_out_names_ours(const char *path, bool is_work, char *other, size_t cap, bm_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return bm_fail_errno(err, errno, path, "cannot read the directory");
    struct dirent *entry;
    other[0] = '\0';
    while ((errno = 0, entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (!entry_is_ours(dirfd(folder), name, is_work)) {
            snprintf(other, cap, "%s", name);
            break;
        }
    }
    int code = errno;
    closedir(folder);
    if (other[0] == '\0' && code != 0)
        return bm_fail_errno(err, code, path, "cannot read the directory");
    return BM_OK;
}

/* Is every file below `folder`/`name` in the manifest? */
static bm_status check_kept(const bm_manifest *manifest, const char *root, const char *name,
                            bm_error *err)
{
    bm_status status = BM_OK;
    bm_buf path = {0};
    DIR *folder = NULL;
    status = bm_buf_add_format(&path, err, "%s/%s", root, name);
    if (status == BM_OK)
        status = bm_buf_end(&path, err);
    if (status != BM_OK)
        goto out;
    folder = opendir(path.data);
    if (folder == NULL) {
        status = bm_fail_errno(err, errno, path.data, "cannot read the directory");
        goto out;
    }
    struct dirent *entry;
    while (status == BM_OK && (entry = readdir(folder)) != NULL) {
        struct stat info;
        bm_buf below = {0};
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = bm_buf_add_format(&below, err, "%s/%s", name, entry->d_name);
        if (status == BM_OK)
            status = bm_buf_end(&below, err);
        if (status == BM_OK && fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW))
            status = bm_fail_errno(err, errno, root, "cannot look at a file of the old output");
        else if (status == BM_OK && S_ISDIR(info.st_mode))
            status = check_kept(manifest, root, below.data, err);
        else if (status == BM_OK &&
                 (!S_ISREG(info.st_mode) || bm_manifest_output(manifest, below.data) == NULL))
            status = bm_fail_at(err, BM_ERR_USAGE, root, 0,
                                "holds %s, which its report does not list (--force replaces "
                                "outputs of bandmill only)",
                                below.data);
        bm_buf_reset(&below);
    }
out:
    if (folder != NULL)
        closedir(folder);
    bm_buf_reset(&path);
    return status;
}

static bm_status not_ours(const char *path, const char *why, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_USAGE, path, 0,
                      "%s (--force replaces outputs of bandmill only; remove it by hand)", why);
}

bm_status bm_out_ours(const char *path, bm_error *err)
{
    char other[300] = "", why[400];
    bm_manifest *manifest = NULL;
    bm_status status = bm_out_names_ours(path, false, other, sizeof other, err);
    if (status != BM_OK)
        return status;
    if (other[0] != '\0') {
        snprintf(why, sizeof why, "holds %s, which bandmill does not write", other);
        return not_ours(path, why, err);
    }
    bm_error inner = {0};
    status = bm_manifest_open_dir(path, &manifest, &inner);
    if (status == BM_ERR_NOMEM || status == BM_ERR_IO) { /* who knows whose it is */
        if (err != NULL)
            *err = inner;
        return status;
    }
    if (status != BM_OK)
        return not_ours(path, "holds no " BM_FILE_MANIFEST " or " BM_FILE_REPORT " of bandmill",
                        err);
    bm_buf kept = {0};
    struct stat info;
    status = bm_buf_add_format(&kept, err, "%s/" BM_FILE_KEPT, path);
    if (status == BM_OK)
        status = bm_buf_end(&kept, err);
    if (status == BM_OK && lstat(kept.data, &info) == 0 && S_ISDIR(info.st_mode))
        status = check_kept(manifest, path, BM_FILE_KEPT, err);
    bm_buf_reset(&kept);
    bm_manifest_close(manifest);
    return status;
}

static const char *kind_of(mode_t mode)
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

bm_status bm_out_target(const char *target, bool force, bool is_dir, bm_error *err)
{
    struct stat info;
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    const char *end = target + len, *base = end;
    while (base > target && base[-1] != '/')
        base--;
    size_t n = (size_t)(end - base);
    if (n == 0 || (n == 1 && base[0] == '.') || (n == 2 && base[0] == '.' && base[1] == '.'))
        return bm_fail_at(err, BM_ERR_USAGE, target, 0,
                          "no name for an output (expected DIR/NAME)");
    if (!is_dir && target[strlen(target) - 1] == '/')
        return bm_fail_at(err, BM_ERR_USAGE, target, 0, "names a directory (expected a file)");
    char *plain = bm_strndup(target, len);
    if (plain == NULL)
        return bm_fail_nomem(err, len + 1);
    int code = lstat(plain, &info) == 0 ? 0 : errno;
    bm_free(plain);
    if (code == ENOENT)
        return BM_OK;
    if (code != 0)
        return bm_fail_errno(err, code, target, "cannot look at the output");
    if (is_dir ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode))
        return bm_fail_at(err, BM_ERR_USAGE, target, 0, "%s (expected %s)", kind_of(info.st_mode),
                          is_dir ? "the name of a new directory"
                                 : "the name of a new regular file; without -o rows go to "
                                   "standard output");
    if (!force)
        return bm_fail_at(err, BM_ERR_USAGE, target, 0,
                          "the output exists already (--force replaces it)");
    return is_dir ? bm_out_ours(target, err) : BM_OK;
}

/* The absolute path of a target that may not exist: its folder resolved, its name as it is. */
static bm_status resolve_target(const char *target, char **out, bm_error *err)
{
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    char *plain = bm_strndup(target, len), *parent = NULL, *folder = NULL;
    if (plain == NULL)
        return bm_fail_nomem(err, len + 1);
    bm_status status = bm_place_parent(plain, &parent, err);
    if (status != BM_OK)
        goto out;
    folder = realpath(parent, NULL);
    if (folder == NULL) {
        status = bm_fail_errno(err, errno, target, "no directory to write the output into");
        goto out;
    }
    const char *slash = strrchr(plain, '/');
    bm_buf path = {0};
    status = bm_buf_add_format(&path, err, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
                               slash != NULL ? slash + 1 : plain);
    if (status == BM_OK)
        status = bm_buf_end(&path, err);
    if (status == BM_OK)
        *out = path.data;
    else
        bm_buf_reset(&path);
out:
    free(folder);
    bm_free(parent);
    bm_free(plain);
    return status;
}

/* Is `inner` equal to `outer` or below it? Both absolute and resolved. */
static bool lies_in(const char *inner, const char *outer)
{
    size_t len = strlen(outer);
    if (len == 1) /* "/" */
        return true;
    return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

static bm_status check_input(const char *shown, const char *resolved, const char *input,
                             const struct stat *target, bm_error *err)
{
    struct stat info;
    char *path = realpath(input, NULL);
    if (path == NULL)
        return errno == ENOMEM ? bm_fail_nomem(err, PATH_MAX) : BM_OK; /* the reader says why */
    bool same_node = target != NULL && stat(path, &info) == 0 && info.st_dev == target->st_dev &&
                     info.st_ino == target->st_ino;
    const char *what = NULL;
    if (same_node || strcmp(resolved, path) == 0)
        what = "is";
    else if (lies_in(resolved, path))
        what = "lies in";
    else if (lies_in(path, resolved))
        what = "lies above";
    free(path);
    if (what == NULL)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_USAGE, shown, 0,
                      "the output %s the input %s (expected a place of its own)", what, input);
}

bm_status bm_out_check(const char *target, bool force, bool is_dir, const char *const *inputs,
                       size_t n_inputs, bm_error *err)
{
    struct stat info;
    char *resolved = NULL;
    bm_buf work = {0};
    bm_status status = resolve_target(target, &resolved, err);
    if (status != BM_OK)
        return status;
    bool there = lstat(resolved, &info) == 0 && !S_ISLNK(info.st_mode);
    status = bm_buf_add_format(&work, err, "%s.partial", resolved);
    if (status == BM_OK)
        status = bm_buf_end(&work, err);
    for (size_t i = 0; i < n_inputs && status == BM_OK; i++) {
        if (strcmp(inputs[i], "-") == 0)
            continue;
        status = check_input(target, resolved, inputs[i], there ? &info : NULL, err);
        if (status == BM_OK && is_dir) /* we would clear what lies there */
            status = check_input(target, work.data, inputs[i], NULL, err);
    }
    if (status == BM_OK)
        status = bm_out_target(target, force, is_dir, err);
    bm_buf_reset(&work);
    bm_free(resolved);
    return status;
}
