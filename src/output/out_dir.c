/* out_dir.c -- a directory of outputs that appears by one rename. What lies where: out_state.h.
 *
 * All in the work directory is reached through its descriptor: another directory by that name is safe.
 *
 * Commit: check that the work directory is still this job's, remove the state, sync every folder,
 * rename the folder of outputs (or exchange it with the old output: out_replace.h), sync the parent, and
 * those above it that were made. Close then removes what is left, the marker last.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/unit/output/test_out_dir_resume.c
 * Tests: tests/cli/cases/ownership.sh */
#include "output/out_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "json/json_write.h"
#include "output/digest.h"
#include "output/out_dir_lock.h"
#include "output/out_entries.h"
#include "output/out_file_inside.h"
#include "output/out_parents.h"
#include "output/out_place.h"
#include "output/out_replace.h"
#include "output/out_work.h"

#define PARENT_TRIES 100u /* where other jobs remove the folders that they have made */

struct bm_out_dir {
    char *target, *work, *parent;
    bm_out_existing existing; /* at `target` */
    bm_out_claim claim;
    bool preserves; /* close and abort leave what is there */
    bool committed;
    bm_out_entries entries; /* files that were closed */
    bm_out_parents parents;
    bool finished;
    bm_json sha256, xxh3, pieces; /* of the files, by name */
};

/* --- open --- */

/* Make the folders above the target, and claim the work directory. */
static bm_status claim_work(bm_out_dir *dir, bm_out_leavings leavings, bm_error *err)
{
    bm_error why;
    bm_status status;
    unsigned tried = 0;
    do {
        memset(&why, 0, sizeof why);
        status = bm_out_parents_make(&dir->parents, dir->target, &why);
        if (status == BM_OK)
            status = bm_out_claim_open(dir->work, leavings, &dir->claim, &why);
    } while (status == BM_ERR_IO && why.code == ENOENT && ++tried < PARENT_TRIES);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* *out: `target` without the slashes at its end; *work: beside it. The caller's to free. */
static bm_status name_work(const char *target, char **out, char **work, bm_error *err)
{
    size_t len = strlen(target);
    while (len > 1 && target[len - 1] == '/')
        len--;
    BM_TRY(bm_string_format(out, err, "%.*s", (int)len, target));
    return bm_string_format(work, err, "%s.partial", *out);
}

static bm_status open_dir(const char *target, bm_out_existing existing, bm_out_leavings leavings,
                          bm_out_dir **out, bm_error *err)
{
    BM_TRY(bm_out_target_dir(target, existing, err));
    bm_out_dir *dir = NULL;
    BM_TRY(bm_new_zero(&dir, 1, err));
    dir->claim = (bm_out_claim){.folder = -1, .marker = {.fd = -1}};
    dir->existing = existing;
    bm_status status = BM_OK;
    BM_TRY_OUT(name_work(target, &dir->target, &dir->work, err));
    BM_TRY_OUT(bm_place_parent(dir->target, &dir->parent, err));
    BM_TRY_OUT(claim_work(dir, leavings, err));
    dir->preserves = dir->claim.taken_over;
    /* another job may have ended since */
    status = bm_out_target_dir(target, existing, err);
out:
    if (status != BM_OK) {
        bm_out_dir_close(dir);
        return status;
    }
    *out = dir;
    return status;
}

bm_status bm_out_dir_open(const char *target, bm_out_existing existing, bm_out_dir **out,
                          bm_error *err)
{
    const bm_out_leavings leavings =
        existing.is == BM_OUT_IS_REPLACED ? BM_OUT_CLEAR_SAVED : BM_OUT_CLEAR;
    return open_dir(target, existing, leavings, out, err);
}

bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err)
{
    BM_TRY(open_dir(target, existing, BM_OUT_TAKE_OVER, out, err));
    *found = (*out)->claim.taken_over;
    return BM_OK;
}

const char *bm_out_dir_work(const bm_out_dir *dir)
{
    return dir->work;
}

/* --- state --- */

void bm_out_dir_preserve(bm_out_dir *dir, bool preserve)
{
    dir->preserves = preserve;
}

bm_status bm_out_dir_held(const bm_out_dir *dir, bm_error *err)
{
    return bm_out_claim_check(&dir->claim, dir->work, err);
}

bm_status bm_out_dir_state_path(bm_out_dir *dir, const char *name, char **out, bm_error *err)
{
    if (!bm_out_is_state(name) || strchr(name, '/') != NULL || strcmp(name, BM_OUT_MARKER) == 0)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a job's state", name);
    BM_TRY(bm_out_claim_list(&dir->claim, dir->work, &name, 1, err));
    return bm_string_format(out, err, "%s/%s", dir->work, name);
}

int bm_out_dir_folder(const bm_out_dir *dir)
{
    return dir->claim.folder;
}

const char *bm_out_dir_beside(const bm_out_dir *dir)
{
    return dir->parent;
}

bm_status bm_out_dir_list_outside(bm_out_dir *dir, const char *path, bm_error *err)
{
    if (path[0] != '/' || !bm_ours_is_name(path + 1))
        return bm_fail_at(err, BM_ERR_INTERNAL, path, 0, "is no absolute path");
    return bm_out_claim_list(&dir->claim, dir->work, &path, 1, err);
}

bool bm_out_dir_lists_outside(const bm_out_dir *dir, const char *path)
{
    return path[0] == '/' && bm_ours_has(&dir->claim.marker.ours, path);
}

/* The work directory, for what is removed from it. */
static bm_ours_at place_of(const bm_out_dir *dir)
{
    return (bm_ours_at){.folder = dir->claim.folder, .path = dir->work};
}

bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err)
{
    return bm_out_work_drop_state(place_of(dir), &dir->claim.marker.ours, err);
}

bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err)
{
    return bm_out_work_clear(place_of(dir), &dir->claim.marker.ours, &(bm_out_stay){stay, n_stay},
                             err);
}

/* --- files --- */

/* A file that was closed; `ctx` is the directory. */
static bm_status take_file(void *ctx, bm_out_file *file, bm_error *err)
{
    bm_out_dir *dir = ctx;
    return bm_out_entries_take(&dir->entries, file, err);
}

/* List the output `name`; `make`: and make the folders above it. *out: where it is. */
static bm_status find_spot(bm_out_dir *dir, const char *name, bool make, bm_out_spot *out,
                           bm_error *err)
{
    char *path = NULL;
    if (!bm_ours_is_name(name) || bm_out_is_state(name))
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0,
                          "\"%s\" is no name of a file in an output directory", name);
    const size_t skip = strlen(dir->work) + 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&path, err, "%s/%s/%s", dir->work, BM_OUT_NEW, name));
    BM_TRY_OUT(bm_out_claim_list(&dir->claim, dir->work, &(const char *){path + skip}, 1, err));
    if (make)
        BM_TRY_OUT(bm_out_work_folders(dir->claim.folder, path + skip, dir->work, err));
out:
    if (status == BM_OK)
        *out = (bm_out_spot){dir->claim.folder, skip, path};
    else
        bm_free(path);
    return status;
}

/* A file that is new (`bytes` NULL), or one that is there, cut to its first *bytes. */
static bm_status add_file(bm_out_dir *dir, const char *name, const uint64_t *bytes,
                          bm_out_file **out, bm_error *err)
{
    bm_out_spot spot;
    bm_out_file *file = NULL;
    BM_TRY(find_spot(dir, name, bytes == NULL, &spot, err));
    char *copy = bm_strdup(name);
    if (copy == NULL) {
        bm_free(spot.path);
        return bm_fail_nomem(err, strlen(name) + 1);
    }
    bm_status status = bytes == NULL ? bm_out_file_create(spot, &file, err)
                                     : bm_out_file_reopen(spot, *bytes, &file, err);
    if (status != BM_OK) {
        bm_free(copy);
        return status;
    }
    file->owner = (bm_out_owner){dir, take_file, &dir->preserves};
    file->name = copy;
    *out = file;
    return BM_OK;
}

bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err)
{
    bm_status status = add_file(dir, name, NULL, out, err);
    if (status == BM_ERR_IO) /* because it was taken away? */
        (void)bm_out_dir_held(dir, err);
    return status;
}

bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err)
{
    return add_file(dir, name, &bytes, out, err);
}

bm_status bm_out_dir_expect(bm_out_dir *dir, const char *const *names, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    char **listed = bm_alloc_zero(n + 1, sizeof *listed);
    if (listed == NULL)
        return bm_fail_nomem(err, n * sizeof *listed);
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(bm_string_format(&listed[i], err, "%s%s",
                                    bm_out_is_state(names[i]) ? "" : BM_OUT_NEW "/", names[i]));
    status = bm_out_claim_list(&dir->claim, dir->work, (const char *const *)listed, n, err);
out:
    for (size_t i = 0; i < n; i++)
        bm_free(listed[i]);
    bm_free(listed);
    return status;
}

bm_status bm_out_dir_room_for(bm_out_dir *dir, const char *const *names, size_t n, char **out,
                              bm_error *err)
{
    bm_status status = bm_out_dir_expect(dir, names, n, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        bm_out_spot spot = {0};
        status = find_spot(dir, names[i], true, &spot, err);
        bm_free(spot.path);
    }
    return status == BM_OK ? bm_string_format(out, err, "%s/%s", dir->work, BM_OUT_NEW) : status;
}

/* --- digests and syncs --- */

/* Where the files lie. */
static bm_out_entries_at entries_at(const bm_out_dir *dir)
{
    return (bm_out_entries_at){dir->claim.folder, dir->work};
}

void bm_out_dir_give(bm_out_dir *dir, bm_meter *meter, bm_pool *pool)
{
    dir->entries.meter = meter;
    dir->entries.pool = pool;
}

bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err)
{
    if (dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is finished once");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_entries_finish(&dir->entries, entries_at(dir), err));
    BM_TRY_OUT(bm_out_entries_write(&dir->entries, BM_DIGEST_SHA256, &dir->sha256, err));
    BM_TRY_OUT(bm_out_entries_write(&dir->entries, BM_DIGEST_XXH3, &dir->xxh3, err));
    status = bm_out_entries_write_pieces(&dir->entries, &dir->pieces, err);
out:
    dir->finished = status == BM_OK;
    return status;
}

bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err)
{
    if (!dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is finished first");
    *json = dir->sha256.buf.data;
    return BM_OK;
}

bm_status bm_out_dir_digests_xxh3(bm_out_dir *dir, const char **json, bm_error *err)
{
    BM_TRY(bm_out_dir_digests(dir, json, err));
    *json = dir->xxh3.buf.data;
    return BM_OK;
}

bm_status bm_out_dir_digests_pieces(bm_out_dir *dir, const char **json, bm_error *err)
{
    BM_TRY(bm_out_dir_digests(dir, json, err));
    *json = dir->pieces.buf.data;
    return BM_OK;
}

/* --- commit and close --- */

bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err)
{
    BM_TRY(bm_out_dir_held(dir, err));
    BM_TRY(bm_out_entries_sync(&dir->entries, entries_at(dir), err));
    /* as it was at open? */
    return bm_out_target_dir(dir->target, dir->existing, err);
}

bm_status bm_out_dir_commit(bm_out_dir *dir, bm_error *err)
{
    bool replaces = false;
    BM_TRY(bm_out_dir_ready(dir, err));
    BM_TRY(bm_out_dir_drop_state(dir, err));
    BM_TRY(bm_out_work_sync(dir->claim.folder, &dir->claim.marker.ours, dir->work, err));
    if (dir->entries.n == 0 && mkdirat(dir->claim.folder, BM_OUT_NEW, 0777) != 0 && errno != EEXIST)
        return bm_fail_errno(err, errno, dir->work, "cannot make a directory in it");
    BM_TRY(bm_out_dir_held(dir, err));
    if (dir->existing.is == BM_OUT_IS_REPLACED)
        BM_TRY(bm_place_look(dir->target, &replaces, err));
    BM_TRY(replaces ? bm_out_replace(&dir->claim, dir->work, dir->target, dir->existing, err)
                    : bm_place_dir(dir->claim.folder, BM_OUT_NEW, dir->target, err));
    dir->committed = true;
    BM_TRY(bm_place_sync_folder(dir->parent, err));
    return bm_out_parents_sync(&dir->parents, err);
}

bool bm_out_dir_is_committed(const bm_out_dir *dir)
{
    return dir->committed;
}

void bm_out_dir_close(bm_out_dir *dir)
{
    if (dir == NULL)
        return;
    bm_out_entries_reset(&dir->entries);
    /* An old output that cannot be removed is cleared by the next job here. */
    bm_out_claim_close(&dir->claim, dir->work, dir->preserves && !dir->committed);
    if (dir->committed)
        bm_out_parents_reset(&dir->parents);
    else
        bm_out_parents_remove(&dir->parents);
    bm_buf_reset(&dir->sha256.buf);
    bm_buf_reset(&dir->xxh3.buf);
    bm_buf_reset(&dir->pieces.buf);
    bm_free(dir->target);
    bm_free(dir->work);
    bm_free(dir->parent);
    bm_free(dir);
}
