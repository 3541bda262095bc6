/* out_file_place.c -- the rename of a single file, and the way back.
 *
 * A file that replaces another is exchanged with it: so both are there until nothing can fail any
 * more, and at every moment one of them has the name.
 *
 * Tests: tests/unit/output/test_out_group.c, tests/unit/output/test_out_file.c */
#include "output/out_file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "output/out_place.h"

bm_status bm_out_single_sync(struct bm_out_file *file, bm_error *err)
{
    struct stat info;
    if (fsync(file->fd) != 0)
        return bm_fail_errno(err, errno, file->target, "cannot sync");
    if (fstat(file->fd, &info) != 0)
        return bm_fail_errno(err, errno, file->target, "cannot look at");
    file->single.device = info.st_dev;
    file->single.node = info.st_ino;
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return bm_fail_errno(err, errno, file->target, "cannot close");
    return BM_OK;
}

/* The rename. */
static bm_status move(struct bm_out_file *file, bm_error *err)
{
    bm_out_single *single = &file->single;
    bool replaces = false;
    bm_status status = BM_OK;
    if (single->existing.is == BM_OUT_IS_REPLACED)
        BM_TRY_OUT(bm_place_look(file->target, &replaces, err));
    status = replaces ? bm_place_exchange(AT_FDCWD, file->path, file->target, err)
                      : bm_place_file(file->path, file->target, err);
out:
    single->placed = status == BM_OK;
    single->replaced = single->placed && replaces;
    return status;
}

bm_status bm_out_single_place(struct bm_out_file *file, bm_error *err)
{
    char *parent = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_place_parent(file->target, &parent, err));
    /* as at open? */
    BM_TRY_OUT(bm_out_target_file(file->target, file->single.existing, err));
    BM_TRY_OUT(move(file, err));
    BM_TRY_OUT(bm_place_sync_folder(parent, err));
    status = bm_out_parents_sync(&file->single.parents, err);
out:
    bm_free(parent);
    return status;
}

void bm_out_single_settle(struct bm_out_file *file)
{
    if (file->single.replaced)
        (void)unlink(file->path); /* what fails here leaves the old one beside the new one */
    bm_free(file->path);
    file->path = NULL;
}

/* Is it still ours that has the name? */
static bool has_name(const struct bm_out_file *file)
{
    struct stat info;
    return lstat(file->target, &info) == 0 && info.st_dev == file->single.device &&
           info.st_ino == file->single.node;
}

void bm_out_single_take_back(struct bm_out_file *file)
{
    bm_out_single *single = &file->single;
    if (!single->placed)
        return;
    bool done = has_name(file);
    if (done && single->replaced)
        done = bm_place_exchange(AT_FDCWD, file->path, file->target, NULL) == BM_OK;
    else if (done)
        (void)unlink(file->target);
    if (single->replaced && !done) { /* the old one is not where it was: it stays where it is */
        bm_free(file->path);
        file->path = NULL;
    }
    single->placed = single->replaced = false;
}
