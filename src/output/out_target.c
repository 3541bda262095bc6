/* out_target.c -- may this target be written: is what stands there ours, and is no input touched?
 *
 * Which directories are ours: out_ours.h. Paths are compared after links are resolved, and by device
 * and inode where both exist (hard links, bind mounts).
 *
 * Tests: tests/unit/output/test_out_dir.c */
#include "output/out_target.h"

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
#include "output/manifest.h"
#include "output/out_parents.h"
#include "output/out_place.h"
#include "model/file_heads.h"
#include "model/file_names.h"

/* Of the job's memory, for the report of an output that is to be replaced: what batches had is free
 * when it is read for the last time, beside all rows (sign/budget.h). */
#define REPORT_SHARE 4u

/* --- what is ours --- */

static bm_status not_ours(const char *path, const char *why, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_USAGE, path, 0,
                      "%s (`force` replaces outputs of bandmill only; remove it by hand)", why);
}

/* List what the manifest of the directory does. */
static bm_status list_manifest(const char *path, uint64_t memory, bm_ours *out, bm_error *err)
{
    bm_manifest *manifest = NULL;
    bm_error inner = {0};
    bm_status status =
        bm_manifest_open_share(path, (bm_manifest_room){memory, REPORT_SHARE}, &manifest, &inner);
    if (status == BM_ERR_NOMEM || status == BM_ERR_IO) { /* who knows whose it is */
        if (err != NULL)
            *err = inner;
        return status;
    }
    if (status != BM_OK)
        return not_ours(path, "holds no " BM_FILE_MANIFEST " or " BM_FILE_REPORT " of bandmill",
                        err);
    status = bm_ours_add_manifest(out, manifest, err);
    bm_manifest_close(manifest);
    return status;
}

/* List the files of a kind that has no report. */
static bm_status list_kind(const char *path, const bm_out_kind *kind, bm_ours *out, bm_error *err)
{
    BM_TRY(kind->is(path) ? BM_OK : not_ours(path, kind->not_one, err));
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
        /* it is not empty */
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

/* BM_OK: the directory at `path` is an output of ours. BM_ERR_USAGE says why it is none. */
static bm_status check_ours(const char *path, bm_out_existing existing, bm_error *err)
{
    bm_ours ours = {0};
    bm_status status = bm_out_target_list(path, existing, &ours, err);
    bm_ours_reset(&ours);
    return status;
}

/* --- what stands at the target --- */

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

/* Bytes of a path without the slashes at its end. */
static size_t plain_len(const char *path)
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

/* Is the directory empty? One that cannot be looked into is not. */
static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    if (folder == NULL)
        return false;
    while ((errno = 0, entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            break;
    const bool empty = entry == NULL && errno == 0;
    closedir(folder);
    return empty;
}

/* An empty directory stands at the target: the new one is renamed over it, which a mount point does
 * not allow. */
static bm_status check_empty(const char *target, const struct stat *info, bm_error *err)
{
    struct stat above;
    char *parent = NULL, *plain = bm_strndup(target, plain_len(target));
    bm_status status = BM_OK;
    BM_TRY_OUT(plain != NULL ? bm_place_parent(plain, &parent, err)
                             : bm_fail_nomem(err, strlen(target) + 1));
    if (stat(parent, &above) != 0) {
        BM_TRY_OUT(bm_fail_errno(err, errno, parent, "cannot look at"));
    } else if (above.st_dev != info->st_dev)
        BM_TRY_OUT(
            bm_fail_at(err, BM_ERR_USAGE, target, 0,
                       "is a mount point, which no output can replace (expected a name in it)"));
out:
    bm_free(parent);
    bm_free(plain);
    return status;
}

/* BM_OK: the file that stands at `path` is empty or begins as one of ours does. */
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
    const size_t len = plain_len(target);
    if (!has_name(target, len))
        return bm_fail_at(err, BM_ERR_USAGE, target, 0,
                          "no name for an output (expected DIR/NAME)");
    if (kind == A_FILE && target[strlen(target) - 1] == '/')
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
    if (kind == A_DIR ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode))
        return bm_fail_at(err, BM_ERR_USAGE, target, 0, "%s (expected %s)",
                          name_of_mode(info.st_mode),
                          kind == A_DIR ? "the name of a new directory"
                                        : "the name of a new regular file; without -o rows go to "
                                          "standard output");
    if (kind == A_DIR && is_empty(target))
        return check_empty(target, &info, err);
    if (existing.is == BM_OUT_IS_LOOKED_AT)
        return BM_OK;
    if (existing.is != BM_OUT_IS_REPLACED)
        return bm_fail_at(err, BM_ERR_USAGE, target, 0,
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

/* --- and the inputs --- */

bm_status bm_out_target_resolve(const char *target, char **out, bm_error *err)
{
    char *plain = bm_strndup(target, plain_len(target)), *folder = NULL;
    if (plain == NULL)
        return bm_fail_nomem(err, strlen(target) + 1);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_parents_resolve(plain, &folder, err));
    const char *slash = strrchr(plain, '/');
    status = bm_string_format(out, err, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
                              slash != NULL ? slash + 1 : plain);
out:
    bm_free(folder);
    bm_free(plain);
    return status;
}

bool bm_out_lies_in(const char *inner, const char *outer)
{
    size_t len = strlen(outer);
    if (len == 1) /* "/" */
        return true;
    return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

/* A path of the output against an input. */
typedef struct output {
    const char *shown, *resolved;
    const struct stat *there; /* what stands there; NULL: nothing, or it does not matter */
} output;

/* Is it what stands at the output? "-" is standard input. */
static bool is_there(const output *out, const char *input)
{
    struct stat info;
    if (out->there == NULL)
        return false;
    if ((strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(input, &info)) != 0)
        return false;
    return info.st_dev == out->there->st_dev && info.st_ino == out->there->st_ino;
}

static bm_status check_input(const output *out, const char *input, bm_error *err)
{
    const bool is_stdin = strcmp(input, "-") == 0;
    char *path = is_stdin ? NULL : realpath(input, NULL);
    if (path == NULL && !is_stdin)
        return errno == ENOMEM ? bm_fail_nomem(err, PATH_MAX) : BM_OK; /* the reader says why */
    const char *what = NULL;
    if (is_there(out, input) || (path != NULL && strcmp(out->resolved, path) == 0))
        what = "is";
    else if (path == NULL)
        what = NULL;
    else if (bm_out_lies_in(out->resolved, path))
        what = "lies in";
    else if (bm_out_lies_in(path, out->resolved))
        what = "lies above";
    free(path);
    if (what == NULL)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_USAGE, out->shown, 0,
                      "the output %s the input %s (expected a place of its own)", what, input);
}

static bm_status check_inputs(const char *target, output_kind kind, const char *const *inputs,
                              size_t n_inputs, bm_error *err)
{
    struct stat info;
    char *resolved = NULL, *work = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_target_resolve(target, &resolved, err));
    BM_TRY_OUT(bm_string_format(&work, err, "%s.partial", resolved));
    const int code = lstat(resolved, &info) == 0 ? 0 : errno;
    if (code != 0 && code != ENOENT && code != ENOTDIR)
        BM_TRY_OUT(bm_fail_errno(err, code, target, "cannot look at the output"));
    const bool there = code == 0 && !S_ISLNK(info.st_mode);
    const output new_output = {target, resolved, there ? &info : NULL};
    const output work_dir = {target, work, NULL}; /* what lies there would be cleared */
    for (size_t i = 0; i < n_inputs; i++) {
        BM_TRY_OUT(check_input(&new_output, inputs[i], err));
        if (kind == A_DIR)
            BM_TRY_OUT(check_input(&work_dir, inputs[i], err));
    }
out:
    bm_free(work);
    bm_free(resolved);
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
