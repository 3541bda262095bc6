/* out_work.c -- the folders of a work directory, and walking through it to remove what is to go.
 *
 * Tests: tests/unit/io_output/test_out_dir.c, tests/unit/io_output/test_out_dir_resume.c
 * Tests: tests/fault/resume_calls.c */
#include "io/output/out_work.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/output/out_place.h"
#include "io/output/out_state.h"

/* --- folders --- */

static bm_status add_folder(bm_out_folders *folders, const char *path, bm_error *err)
{
    bm_status status = bm_grow_array(&folders->paths, &folders->cap, folders->n + 1, err);
    if (status != BM_OK)
        return status;
    char *copy = bm_strdup(path);
    if (copy == NULL)
        return bm_fail_nomem(err, strlen(path) + 1);
    folders->paths[folders->n++] = copy;
    return BM_OK;
}

bm_status bm_out_folders_make(bm_out_folders *folders, const char *work, char *path, bm_error *err)
{
    bm_status status = BM_OK;
    for (char *c = path + strlen(work) + 1; status == BM_OK && *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(path, 0777) == 0)
            status = add_folder(folders, path, err);
        else if (errno != EEXIST)
            status = bm_fail_errno(err, errno, path, "cannot make the directory");
        *c = '/';
    }
    return status;
}

bm_status bm_out_folders_sync(const bm_out_folders *folders, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = folders->n; i > 0 && status == BM_OK; i--)
        status = bm_place_sync_folder(folders->paths[i - 1], err);
    return status;
}

void bm_out_folders_reset(bm_out_folders *folders)
{
    for (size_t i = 0; i < folders->n; i++)
        bm_free(folders->paths[i]);
    bm_free(folders->paths);
    memset(folders, 0, sizeof *folders);
}

/* --- walking --- */

/* Called for each entry of a folder, with its path; it may remove the entry. */
typedef bm_status visit_fn(void *ctx, const char *path, const struct stat *info, bm_error *err);

static bm_status visit_folder(const char *path, visit_fn *visit, void *ctx, bm_error *err)
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
        status = bm_string_format(&inner, err, "%s/%s", path, entry->d_name);
        if (status == BM_OK && lstat(inner, &info) != 0)
            status = bm_fail_errno(err, errno, inner, "cannot look at");
        if (status == BM_OK)
            status = visit(ctx, inner, &info, err);
        bm_free(inner);
    }
    if (status == BM_OK && errno != 0)
        status = bm_fail_errno(err, errno, path, "cannot read the directory");
    closedir(folder);
    return status;
}

/* --- state --- */

static bm_status drop_one(void *ctx, const char *path, const struct stat *info, bm_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    (void)ctx;
    (void)info;
    if (!bm_out_is_state(name) || strcmp(name, BM_OUT_MARKER) == 0)
        return BM_OK;
    return bm_place_remove(path, err);
}

bm_status bm_out_work_drop_state(const char *work, bm_error *err)
{
    char *journal = NULL;
    bm_status status = bm_string_format(&journal, err, "%s/%s", work, BM_OUT_JOURNAL);
    if (status == BM_OK)
        status = bm_place_remove(journal, err);
    bm_free(journal);
    return status == BM_OK ? visit_folder(work, drop_one, NULL, err) : status;
}

bm_status bm_out_work_remove(const char *work, bm_error *err)
{
    char *journal = NULL;
    bm_status status = bm_string_format(&journal, err, "%s/%s", work, BM_OUT_JOURNAL);
    if (status != BM_OK)
        return status;
    (void)unlink(journal); /* what fails here fails below too, and is told there */
    bm_free(journal);
    return bm_place_remove(work, err);
}

/* --- outputs --- */

typedef struct clearing {
    size_t work_len; /* bytes of the work directory's path */
    const bm_out_stay *stay;
    bm_out_folders *folders;
    bool within; /* a folder that stays: everything in it does */
} clearing;

typedef enum fate { GOES, STAYS, HOLDS_WHAT_STAYS } fate;

static fate fate_of(const clearing *c, const char *name)
{
    size_t len = strlen(name);
    fate answer = GOES;
    if (c->within)
        return STAYS;
    for (size_t i = 0; i < c->stay->n; i++) {
        const char *stays = c->stay->names[i];
        if (strncmp(stays, name, len) != 0)
            continue;
        if (stays[len] == '\0')
            return STAYS;
        if (stays[len] == '/')
            answer = HOLDS_WHAT_STAYS;
    }
    return answer;
}

static bm_status clear_one(void *ctx, const char *path, const struct stat *info, bm_error *err)
{
    clearing *c = ctx;
    const char *name = path + c->work_len + 1;
    if (strchr(name, '/') == NULL && bm_out_is_state(name))
        return BM_OK;
    const fate f = fate_of(c, name);
    if (f == GOES || (f == HOLDS_WHAT_STAYS && !S_ISDIR(info->st_mode)))
        return bm_place_remove(path, err);
    if (!S_ISDIR(info->st_mode))
        return BM_OK;
    clearing below = *c;
    below.within = f == STAYS;
    bm_status status = add_folder(c->folders, path, err);
    return status == BM_OK ? visit_folder(path, clear_one, &below, err) : status;
}

bm_status bm_out_work_clear(const char *work, const bm_out_stay *stay, bm_out_folders *folders,
                            bm_error *err)
{
    clearing c = {.work_len = strlen(work), .stay = stay, .folders = folders};
    return visit_folder(work, clear_one, &c, err);
}
