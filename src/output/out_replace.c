/* out_replace.c -- exchanged in one step where the file system can; what came back is looked at again
 * before anything of it is removed.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/fault/full_disk_calls.c */
#include "output/out_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "output/out_place.h"
#include "output/out_state.h"

typedef struct replacing {
    bm_out_claim *claim;
    const char *work, *target;
    bm_out_existing existing;
} replacing;

/* The earlier output goes to the place of the new one in the work directory: its files are listed
 * there before. *node: of its directory. */
static bm_status list_old(const replacing *r, bm_ours *old, ino_t *node, bm_error *err)
{
    struct stat info;
    char **names = NULL;
    BM_TRY(bm_out_target_list(r->target, r->existing, old, err));
    if (stat(r->target, &info) != 0)
        return bm_fail_errno(err, errno, r->target, "cannot look at the output");
    bm_status status = BM_OK;
    const size_t n = old->files.n;
    if (n > 0 && (names = bm_alloc_zero(n, sizeof *names)) == NULL)
        return bm_fail_nomem(err, n * sizeof *names);
    for (size_t i = 0; i < n; i++) {
        const bm_str id = bm_id_set_id(&old->files, (uint32_t)i);
        BM_TRY_OUT(bm_string_format(&names[i], err, "%s/%.*s", BM_OUT_NEW, (int)id.len, id.data));
    }
    BM_TRY_OUT(bm_out_claim_list(r->claim, r->work, (const char *const *)names, n, err));
    *node = info.st_ino;
out:
    for (size_t i = 0; names != NULL && i < n; i++)
        bm_free(names[i]);
    bm_free(names);
    return status;
}

/* Is what was exchanged the output that was looked at, as it was then? */
static bm_status check_old(const replacing *r, const bm_ours *old, ino_t node, bm_error *err)
{
    struct stat info;
    char other[BM_OUT_NAME_BYTES] = "";
    bm_status status = BM_OK;
    const int fd =
        openat(r->claim->folder, BM_OUT_NEW, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, r->work, "cannot look at the earlier output"));
    else
        BM_TRY_OUT(
            bm_ours_find_other(old, (bm_ours_at){.folder = fd, .path = r->target}, other, err));
    if ((info.st_ino != node || other[0] != '\0'))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_USAGE, r->target, 0,
                              "the output changed while the job ran%s%s",
                              other[0] != '\0' ? ", and now holds " : "", other));
out:
    if (fd >= 0)
        close(fd);
    return status;
}

bm_status bm_out_replace(bm_out_claim *claim, const char *work, const char *target,
                         bm_out_existing existing, bm_error *err)
{
    const replacing replaced = {claim, work, target, existing}, *r = &replaced;
    ino_t node = 0;
    bm_ours old = {0};
    const int folder = r->claim->folder;
    bm_status status = BM_OK;
    BM_TRY_OUT(list_old(r, &old, &node, err));
    BM_TRY_OUT(bm_place_exchange(folder, BM_OUT_NEW, r->target, err));
    status = check_old(r, &old, node, err);
    if (status != BM_OK && bm_place_exchange(folder, BM_OUT_NEW, r->target, NULL) != BM_OK)
        status = BM_OK; /* the new one stands, and what nobody listed is left beside it */
out:
    bm_ours_reset(&old);
    return status;
}
