/* out_work.c -- the folders of a work directory, and which of the things in it are to go.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/unit/output/test_out_dir_resume.c
 * Tests: tests/fault/resume_calls.c */
#include "output/out_work.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "output/out_state.h"

#define OUTPUTS BM_OUT_NEW "/"

static bm_status failed(const char *path, const char *name, const char *what, bm_error *err)
{
    const int code = errno;
    char *whole = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&whole, err, "%s/%s", path, name));
    status = bm_fail_errno(err, code, whole, what);
out:
    bm_free(whole);
    return status;
}

/* --- folders --- */

bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err)
{
    bm_status status = BM_OK;
    char *copy = bm_strdup(name);
    if (copy == NULL)
        return bm_fail_nomem(err, strlen(name) + 1);
    for (char *c = strchr(copy, '/'); status == BM_OK && c != NULL; c = strchr(c + 1, '/')) {
        *c = '\0';
        if (mkdirat(folder, copy, 0777) != 0 && errno != EEXIST)
            status = failed(path, copy, "cannot make the directory", err);
        *c = '/';
    }
    bm_free(copy);
    return status;
}

static bm_status sync_folder(int folder, const char *name, const char *path, bm_error *err)
{
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? BM_OK : failed(path, name, "cannot open the directory", err);
    bm_status status = BM_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: this file system syncs no directories */
        status = failed(path, name, "cannot sync the directory", err);
    close(fd);
    return status;
}

bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err)
{
    bm_status status = sync_folder(folder, BM_OUT_NEW, path, err);
    for (size_t i = 0; i < ours->folders.n && status == BM_OK; i++) {
        const bm_str id = bm_id_set_id(&ours->folders, (uint32_t)i);
        char *name = bm_strndup(id.data, id.len);
        if (name == NULL)
            return bm_fail_nomem(err, id.len + 1);
        if (strncmp(name, OUTPUTS, strlen(OUTPUTS)) == 0)
            status = sync_folder(folder, name, path, err);
        bm_free(name);
    }
    return status;
}

/* --- removal --- */

static bool is_no_marker(const void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, BM_OUT_MARKER) != 0;
}

static bool is_state(const void *ctx, const char *name)
{
    return bm_out_is_state(name) && is_no_marker(ctx, name);
}

static bm_status remove_journal(bm_ours_at at, bm_error *err)
{
    return unlinkat(at.folder, BM_OUT_JOURNAL, 0) == 0 || errno == ENOENT
               ? BM_OK
               : failed(at.path, BM_OUT_JOURNAL, "cannot remove", err);
}

bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err)
{
    BM_TRY(remove_journal(at, err));
    return bm_ours_remove(ours, at, is_state, NULL, err);
}

bm_status bm_out_work_empty(bm_ours_at at, const bm_ours *ours, bm_error *err)
{
    BM_TRY(remove_journal(at, err));
    return bm_ours_remove(ours, at, is_no_marker, NULL, err);
}

/* An output that does not stay. */
static bool goes(const void *ctx, const char *name)
{
    const bm_out_stay *stay = ctx;
    if (strncmp(name, OUTPUTS, strlen(OUTPUTS)) != 0)
        return false;
    name += strlen(OUTPUTS);
    for (size_t i = 0; i < stay->n; i++) {
        const size_t len = strlen(stay->names[i]);
        if (strncmp(name, stay->names[i], len) == 0 && (name[len] == '\0' || name[len] == '/'))
            return false;
    }
    return true;
}

bm_status bm_out_work_clear(bm_ours_at at, const bm_ours *ours, const bm_out_stay *stay,
                            bm_error *err)
{
    return bm_ours_remove(ours, at, goes, stay, err);
}
