/* out_parents.c -- folders above an output, made one after another from the top.
 *
 * What a job has made it removes only if nobody else has put anything there, and only if the name
 * still leads to what it made. rmdir does the first in one step; the second is a look before it.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/unit/output/test_out_file.c
 * Tests: tests/cli/cases/output_places.sh */
#include "output/out_parents.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "output/out_place.h"

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
        return BM_OK; /* another job was quicker */
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

/* Follow the steps of `rest` from the resolved path in `at` (room for both), none of which is there
 * yet: so ".." takes the step before it back. */
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

/* The longest beginning of `path` (whole steps) that is there: its bytes, and in *real the
 * resolved path of it, freed with free. */
static bm_status find_there(const char *path, size_t *len, char **real, bm_error *err)
{
    char *begin = bm_strdup(path);
    if (begin == NULL)
        return bm_fail_nomem(err, strlen(path) + 1);
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

bm_status bm_out_parents_resolve(const char *target, char **out, bm_error *err)
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
