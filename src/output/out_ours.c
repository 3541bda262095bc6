/* out_ours.c -- a list of names, and walking through a directory beside it.
 *
 * The walk opens each folder from the one above it and follows no link, so it cannot leave the
 * directory, and goes into no folder that is not ours.
 *
 * Tests: tests/unit/output/test_out_ours.c, tests/cli/cases/ownership.sh */
#include "output/out_ours.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

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

bm_status bm_ours_add_manifest(bm_ours *ours, const bm_manifest *manifest, bm_error *err)
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

typedef struct walk {
    const bm_ours *ours;
    bm_ours_at at;
    char *other;        /* where the name of what is not ours goes; NULL: remove what is */
    bm_ours_goes *goes; /* NULL: all */
    const void *ctx;
    bm_buf name; /* of what is looked at, ended by NUL: relative to the directory */
} walk;

static bm_status walk_folder(walk *w, int fd, bm_error *err);

static bm_status failed(const walk *w, int code, const char *what, bm_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", w->at.path, w->name.len > 0 ? "/" : "",
             w->name.len > 0 ? w->name.data : "");
    return bm_fail_errno(err, code, path, what);
}

static bm_status enter(walk *w, int folder, const char *entry, bm_error *err)
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

/* `entry` of the open folder is what w->name says. */
static bm_status walk_entry(walk *w, int folder, const char *entry, bm_error *err)
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

/* Back to the first `len` bytes of the name. */
static void end_name(walk *w, size_t len)
{
    w->name.len = len;
    if (w->name.data != NULL)
        w->name.data[len] = '\0';
}

/* All in the open folder (`fd` is taken) whose name is w->name. */
static bm_status walk_folder(walk *w, int fd, bm_error *err)
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
        end_name(w, len);
        errno = 0;
    }
    if (status == BM_OK && errno != 0)
        status = failed(w, errno, "cannot read the directory", err);
    closedir(folder);
    return status;
}

static bm_status walk_all(walk *w, bm_error *err)
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
    walk w = {.ours = ours, .at = at, .other = other};
    other[0] = '\0';
    return walk_all(&w, err);
}

bm_status bm_ours_remove(const bm_ours *ours, bm_ours_at at, bm_ours_goes *goes, const void *ctx,
                         bm_error *err)
{
    walk w = {.ours = ours, .at = at, .goes = goes, .ctx = ctx};
    return walk_all(&w, err);
}
