/* out_dir_resume.c -- a work directory that outlives its job: what is kept in it, and what of it is
 * gone on with.
 *
 * The state of a job lies in files of its own beside the outputs, at the top of the directory, by
 * names that no output has. They go before the directory gets its name, the journal first: without
 * one the directory is begun anew, whatever else of it is left. */
#include "io/output/out_dir_private.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

void bm_out_dir_preserve(bm_out_dir *dir, bool keep)
{
    dir->preserves = keep;
}

bool bm_out_dir_preserves(const bm_out_dir *dir)
{
    return dir->preserves;
}

bm_status bm_out_dir_state_path(const bm_out_dir *dir, const char *name, char **out, bm_error *err)
{
    if (!bm_out_is_state(name) || strchr(name, '/') != NULL || strcmp(name, BM_OUT_MARKER) == 0)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a job's state", name);
    return bm_out_join(dir->work, "/", name, out, err);
}

/* --- walking the directory --- */

/* One entry of a folder, by its path; it may be removed. */
typedef bm_status visit(void *ctx, const char *path, const struct stat *info, bm_error *err);

static bm_status visit_folder(const char *path, visit *fn, void *ctx, bm_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return bm_fail_errno(err, errno, path, "cannot read the directory");
    bm_status status = BM_OK;
    struct dirent *entry;
    while (status == BM_OK && (errno = 0, entry = readdir(folder)) != NULL) {
        struct stat info;
        char *inner = NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = bm_out_join(path, "/", entry->d_name, &inner, err);
        if (status == BM_OK && lstat(inner, &info) != 0)
            status = bm_fail_errno(err, errno, inner, "cannot look at");
        if (status == BM_OK)
            status = fn(ctx, inner, &info, err);
        bm_free(inner);
    }
    if (status == BM_OK && errno != 0)
        status = bm_fail_errno(err, errno, path, "cannot read the directory");
    closedir(folder);
    return status;
}

static bm_status drop_one(void *ctx, const char *path, const struct stat *info, bm_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    (void)ctx;
    (void)info;
    if (!bm_out_is_state(name) || strcmp(name, BM_OUT_MARKER) == 0)
        return BM_OK;
    return bm_place_remove(path, err);
}

bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err)
{
    char *journal = NULL;
    bm_status status = bm_out_join(dir->work, "/", BM_OUT_JOURNAL, &journal, err);
    if (status == BM_OK)
        status = bm_place_remove(journal, err);
    bm_free(journal);
    return status == BM_OK ? visit_folder(dir->work, drop_one, NULL, err) : status;
}

/* --- clearing --- */

typedef struct clearing {
    bm_out_dir *dir;
    const char *const *keep;
    size_t n_keep;
    bool whole; /* within a folder that is kept: everything is */
} clearing;

typedef enum fate { GOES, STAYS, HOLDS_KEPT } fate;

static fate fate_of(const clearing *c, const char *name)
{
    size_t len = strlen(name);
    fate answer = GOES;
    if (c->whole)
        return STAYS;
    for (size_t i = 0; i < c->n_keep; i++) {
        if (strncmp(c->keep[i], name, len) != 0)
            continue;
        if (c->keep[i][len] == '\0')
            return STAYS;
        if (c->keep[i][len] == '/')
            answer = HOLDS_KEPT;
    }
    return answer;
}

static bm_status clear_one(void *ctx, const char *path, const struct stat *info, bm_error *err)
{
    clearing *c = ctx;
    const char *name = path + strlen(c->dir->work) + 1;
    if (strchr(name, '/') == NULL && bm_out_is_state(name))
        return BM_OK;
    fate f = fate_of(c, name);
    if (f == GOES || (f == HOLDS_KEPT && !S_ISDIR(info->st_mode)))
        return bm_place_remove(path, err);
    if (!S_ISDIR(info->st_mode))
        return BM_OK;
    clearing below = *c;
    below.whole = f == STAYS;
    bm_status status = bm_out_dir_add_folder(c->dir, path, err);
    return status == BM_OK ? visit_folder(path, clear_one, &below, err) : status;
}

bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *keep, size_t n_keep, bm_error *err)
{
    clearing c = {.dir = dir, .keep = keep, .n_keep = n_keep};
    return visit_folder(dir->work, clear_one, &c, err);
}
