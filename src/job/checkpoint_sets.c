/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_sets.c -- decides where the file of sets is: OUTPUT.partial/.bandmill-sets, or
 * TEMP_DIR/.bandmill-HASH-sets. HASH is the hash of the resolved path of the work directory.
 *
 * Tests: tests/cli/cases/ownership.sh, tests/unit/jobs/test_checkpoint.c */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files.h"
#include "job/checkpoint_state.h"
#include "job/sets_holder.h"
#include "spill/spill_saved.h"

#define NAME_BYTES 48u

/* Set `out` to the name of the file of sets in any --temp-dir. */
static bm_status name_of(const bm_checkpoint *checkpoint, char out[NAME_BYTES], bm_error *err)
{
    const char *work = bm_out_dir_work(checkpoint->dir);
    char *real = realpath(work, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, work, "cannot be resolved");
    snprintf(out, NAME_BYTES, BM_OUT_STATE_PREFIX "%016" PRIx64 "-sets",
             (uint64_t)XXH3_64bits(real, strlen(real)));
    free(real);
    return BM_OK;
}

bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err)
{
    char name[NAME_BYTES];
    const char *temp_dir = checkpoint->job->settings->resources.temp_dir;
    checkpoint->sets_beside = temp_dir == NULL;
    if (temp_dir == NULL)
        return bm_out_dir_state_path(checkpoint->dir, BM_CHECKPOINT_SETS, &checkpoint->sets_path,
                                     err);
    BM_TRY(name_of(checkpoint, name, err));
    char *real = realpath(temp_dir, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, temp_dir, "cannot hold temporary files");
    bm_status status = bm_string_format(&checkpoint->sets_path, err, "%s/%s",
                                        strcmp(real, "/") == 0 ? "" : real, name);
    free(real);
    return status;
}

bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err)
{
    bm_buf line = {0};
    const char *path = checkpoint->sets_path;
    const bool beside = checkpoint->sets_beside;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_buf_add_text(&line, beside ? BM_CHECKPOINT_SETS_BESIDE : BM_CHECKPOINT_SETS_AT, err));
    if (!beside)
        BM_TRY_OUT(bm_tsv_escape(&line, (bm_str){path, strlen(path)}, err));
    BM_TRY_OUT(bm_buf_end(&line, err));
    status = bm_journal_add(checkpoint->journal, line.data, err);
out:
    bm_buf_reset(&line);
    return status;
}

/* --- the sets of an earlier job --- */

/* If the journal line names a file of sets in --temp-dir, set *out to the path of the file, which
 * the caller owns; else to NULL. */
static bm_status path_in(const char *line, char **out, bm_error *err)
{
    *out = NULL;
    if (strncmp(line, BM_CHECKPOINT_SETS_AT "/", strlen(BM_CHECKPOINT_SETS_AT "/")) != 0)
        return BM_OK;
    char *path;
    BM_TRY(bm_copy_text(line + strlen(BM_CHECKPOINT_SETS_AT), &path, err));
    const size_t len = bm_tsv_unescape(path, strlen(path));
    path[len == SIZE_MAX ? 0 : len] = '\0';
    *out = path;
    return BM_OK;
}

/* Set *own to true if a file of sets at `path` belongs to this work directory. The file is not
 * opened. */
static bm_status is_own(const bm_checkpoint *checkpoint, const char *path, bool *own, bm_error *err)
{
    char name[NAME_BYTES];
    const char *slash = strrchr(path, '/');
    bm_status status = name_of(checkpoint, name, err);
    *own = status == BM_OK && slash != NULL && strcmp(slash + 1, name) == 0 &&
           bm_out_dir_lists_outside(checkpoint->dir, path);
    return status;
}

bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err)
{
    char *path = NULL;
    bool own = false;
    bm_status status;
    const bool beside = strcmp(line, BM_CHECKPOINT_SETS_BESIDE) == 0;
    if (beside) {
        own = true;
        status = bm_out_dir_state_path(checkpoint->dir, BM_CHECKPOINT_SETS, &path, err);
    } else {
        status = path_in(line, &path, err);
        if (status != BM_OK || path == NULL)
            return status; /* a line of another kind */
        status = is_own(checkpoint, path, &own, err);
    }
    if (status == BM_OK && !own)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_out_dir_work(checkpoint->dir), 0,
                            "its journal names a file that this job did not make: %s (start again "
                            "with `force`)",
                            path);
    if (status != BM_OK) {
        bm_free(path);
        return status;
    }
    bm_free(checkpoint->sets_path);
    checkpoint->sets_path = path;
    checkpoint->sets_beside = beside;
    return BM_OK;
}

void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint)
{
    if (checkpoint->sets_beside || checkpoint->holder != NULL)
        return;
    char *work = realpath(bm_out_dir_work(checkpoint->dir), NULL);
    if (work != NULL)
        checkpoint->holder = bm_sets_holder_open(checkpoint->sets_path, work);
    free(work);
}

void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint)
{
    if (checkpoint->sets_beside)
        (void)unlinkat(bm_out_dir_folder(checkpoint->dir), BM_CHECKPOINT_SETS, 0);
    else
        (void)unlink(checkpoint->sets_path);
    bm_sets_holder_close(checkpoint->holder, false);
    checkpoint->holder = NULL;
}

void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal)
{
    for (size_t i = 0; i < bm_journal_count(journal); i++) {
        bool own = false, there = true;
        char *path = NULL;
        if (path_in(bm_journal_line(journal, i), &path, NULL) == BM_OK && path != NULL &&
            is_own(checkpoint, path, &own, NULL) == BM_OK && own &&
            bm_look_at(AT_FDCWD, path, 0, &there, NULL, NULL) == BM_OK &&
            (!there || bm_sets_are_saved(path)) && (unlink(path) == 0 || errno == ENOENT))
            bm_sets_holder_remove(path);
        bm_free(path);
    }
}

bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err)
{
    const char *path = checkpoint->sets_path;
    bool there;
    if (checkpoint->sets_beside)
        return BM_OK;
    BM_TRY(bm_look_at(AT_FDCWD, path, 0, &there, NULL, err));
    if (there && !bm_sets_are_saved(path))
        return bm_fail_field_at(
            err, "temp_dir", path, 0,
            "is in the way and not of bandmill (the job's work would lie there)");
    if (there && unlink(path) != 0 && errno != ENOENT)
        return bm_fail_errno(err, errno, path, "cannot remove");
    bm_sets_holder_remove(path);
    return BM_OK;
}
