/* index_place.c -- see the header.
 *
 * Tests: tests/cli/cases/index_build.sh, tests/cli/cases/index_remove.sh */
#include "index/index_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"

#define MIB ((uint64_t)1 << 20)

static const char *const files[] = {BM_FILE_INDEX_DATA, BM_FILE_INDEX_LOCK, BM_FILE_INDEX_RECORD,
                                    NULL};

const bm_out_kind bm_index_kind = {.not_one = "is not an index", .files = files, .is = bm_store_is};

static uint64_t within(uint64_t bytes, uint64_t least, uint64_t most)
{
    return bytes < least ? least : bytes > most ? most : bytes;
}

bm_index_shares bm_index_share(uint64_t memory)
{
    return (bm_index_shares){.store = within(memory / 4, 4 * MIB, 4096 * MIB),
                             .gather = within(memory / 16, MIB, 128 * MIB),
                             .search = within(memory / 16, MIB, 256 * MIB)};
}

static bool is_cancelled(void *ctx)
{
    bm_job_context *job = ctx;
    return bm_meter_check(&job->meter, NULL) != BM_OK;
}

bm_store_cfg bm_index_store_cfg(bm_job_context *job, bm_store_mode mode)
{
    const bm_settings *s = job->settings;
    return (bm_store_cfg){.mode = mode,
                          .memory = bm_index_share(s->memory).store,
                          .temp_dir = s->resources.temp_dir,
                          .cancelled = is_cancelled,
                          .cancelled_ctx = job};
}

bm_status bm_index_find(const char *path, char *out, size_t cap, bm_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    if (!bm_store_is(path))
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is not an index");
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) {
        snprintf(out, cap, "%s", path);
        return BM_OK;
    }
    char *real = realpath(path, NULL);
    if (real == NULL)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    snprintf(out, cap, "%s", real);
    free(real);
    return BM_OK;
}

/* Nobody may add to an index that is about to be replaced. */
static bm_status lock_old(const char *path, int *fd, bm_error *err)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? BM_OK : bm_fail_errno(err, errno, path, "cannot open the index");
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return bm_fail_at(err, BM_ERR_LOCKED, path, 0, "another process writes to the index");
    return BM_OK;
}

bm_status bm_index_work_open(const bm_settings *settings, bool replaces, bool lock,
                             bm_index_work *out, bm_error *err)
{
    bm_out_existing existing = bm_out_existing_within(replaces, settings->memory);
    existing.kind = &bm_index_kind;
    *out = (bm_index_work){.old = -1};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_open(settings->output.path, existing, &out->dir, err));
    if (replaces && lock)
        BM_TRY_OUT(lock_old(settings->output.path, &out->old, err));
    status =
        bm_out_dir_room_for(out->dir, files, sizeof files / sizeof files[0] - 1, &out->folder, err);
out:
    if (status != BM_OK)
        bm_index_work_close(out);
    return status;
}

void bm_index_work_close(bm_index_work *work)
{
    bm_out_dir_close(work->dir);
    bm_free(work->folder);
    if (work->old >= 0)
        close(work->old);
    *work = (bm_index_work){.old = -1};
}
