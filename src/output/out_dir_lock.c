/* out_dir_lock.c -- the work directory TARGET.partial is claimed by two locks, held to the end: of
 * the directory itself, and of the marker in it.
 *
 * The directory is locked before anything is looked at in it, whoever made it: between mkdir and the
 * lock another job may be quicker, and then the directory is its. So an empty directory is nobody's
 * leavings: it is taken as it is. A lock counts only while the path still leads to what was locked;
 * else its job has just ended, and everything begins again. Nothing is ever removed by its path but
 * the directory itself, empty.
 *
 * What a loss of power leaves is told from what is somebody else's, too: the marker and its name are synced before
 * anything is made beside it, and what an earlier job left is gone from the disk before the list forgets it. At its
 * end a job removes the marker last and syncs nothing: file systems with a journal keep that order.
 *
 * The marker is locked too, for file systems that lock files but no directories (NFS); where there
 * are no locks at all, jobs are not kept apart, and the rest goes on as it should.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/unit/output/test_out_dir_resume.c
 * Tests: tests/cli/cases/two_jobs.sh, tests/cli/cases/ownership.sh
 * Tests: tests/scale/stopped_at_calls.py */
#include "output/out_dir_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "output/out_state.h"
#include "output/out_work.h"

#define TRIES      1000u                /* each is another job's end */
#define TOLD_BYTES ((uint64_t)16 << 20) /* that telling a complete output by its report may take */

static const bm_out_claim nothing = {.folder = -1, .marker = {.fd = -1}};

static bm_status locked(const char *work, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_LOCKED, work, 0, "another job writes this output now");
}

static bm_status in_the_way(const char *work, const char *what, const char *name, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_USAGE, work, 0,
                      "%s%s, which no job of bandmill put there (the job works there: remove it or "
                      "give it another name)",
                      what, name);
}

/* The directory has no marker, and holds `other`. */
static bm_status not_work(const char *work, const char *other, bm_error *err)
{
    bm_manifest *manifest = NULL;
    const bm_status status = bm_manifest_open_dir(work, TOLD_BYTES, &manifest, NULL);
    if (status != BM_OK && status != BM_ERR_NOMEM) /* a large one is told by its beginning */
        return in_the_way(work, "holds ", other, err);
    bm_manifest_close(manifest);
    return bm_fail_at(
        err, BM_ERR_USAGE, work, 0,
        "is a complete output of bandmill, in whose place the job would work (give it "
        "another name)");
}

static bool leads_to(const char *path, int fd)
{
    struct stat opened, there;
    return fstat(fd, &opened) == 0 && lstat(path, &there) == 0 && opened.st_dev == there.st_dev &&
           opened.st_ino == there.st_ino;
}

/* --- the directory --- */

/* Make the directory (*made), or find it, and lock it. *again: it was another one by then. */
static bm_status lock_folder(const char *work, bm_out_claim *claim, bool *made, bool *again,
                             bm_error *err)
{
    *made = mkdir(work, 0777) == 0;
    if (!*made && errno != EEXIST)
        return bm_fail_errno(err, errno, work, "cannot make the directory");
    claim->folder = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *again = claim->folder < 0 && errno == ENOENT;
    if (*again)
        return BM_OK;
    if (claim->folder < 0)
        return errno == ENOTDIR || errno == ELOOP
                   ? in_the_way(work, "is no directory", "", err)
                   : bm_fail_errno(err, errno, work, "cannot open the directory");
    if (flock(claim->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(claim->folder);
        claim->folder = -1;
        return locked(work, err);
    }
    *again = !leads_to(work, claim->folder);
    return BM_OK;
}

/* The marker of the locked directory: an earlier job's, or a new one where the directory is empty. */
static bm_status lock_marker(const char *work, bm_out_claim *claim, bool *again, bm_error *err)
{
    char other[BM_OUT_NAME_BYTES] = "";
    bm_out_marker_state state;
    const bm_ours none = {0};
    const bm_ours_at at = {claim->folder, work, false};
    *again = false;
    BM_TRY(bm_out_marker_open(at, false, &claim->marker, &state, err));
    if (state == BM_OUT_MARKER_MISSING) {
        BM_TRY(bm_ours_find_other(&none, at, other, err));
        if (strcmp(other, BM_OUT_MARKER) == 0)
            state = BM_OUT_MARKER_MOVED; /* it appeared just now */
        else if (other[0] != '\0')
            return not_work(work, other, err);
        else
            BM_TRY(bm_out_marker_open(at, true, &claim->marker, &state, err));
    }
    if (state == BM_OUT_MARKER_LOCKED)
        return locked(work, err);
    if (state == BM_OUT_MARKER_OTHER)
        return in_the_way(work, "holds ", BM_OUT_MARKER, err);
    *again = state != BM_OUT_MARKER_HELD;
    return BM_OK;
}

static void let_go(bm_out_claim *claim)
{
    bm_out_marker_close(&claim->marker);
    if (claim->folder >= 0)
        close(claim->folder);
    *claim = nothing;
}

/* --- what an earlier job left --- */

static bm_status has_journal(const bm_out_claim *claim, const char *work, bool *out, bm_error *err)
{
    struct stat info;
    const int code =
        fstatat(claim->folder, BM_OUT_JOURNAL, &info, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    *out = code == 0;
    if (code != 0 && code != ENOENT) /* there may be one, and work that must not be cleared */
        return bm_fail_errno(err, code, work, "cannot look at the journal in it");
    return BM_OK;
}

/* What has a name in the directory, and what has none any more, is so on the disk. */
static bm_status sync_folder(const bm_out_claim *claim, const char *work, bm_error *err)
{
    /* EINVAL: this file system syncs no directories */
    return fsync(claim->folder) == 0 || errno == EINVAL
               ? BM_OK
               : bm_fail_errno(err, errno, work, "cannot sync the directory");
}

/* All in the directory is ours: clear it, or leave it. */
static bm_status settle(const char *work, bm_out_leavings leavings, bm_out_claim *claim,
                        bm_error *err)
{
    bool journal;
    char other[BM_OUT_NAME_BYTES] = "";
    BM_TRY(has_journal(claim, work, &journal, err));
    /* What is gone on with is written to. */
    const bool take_over = journal && leavings == BM_OUT_TAKE_OVER;
    const bm_ours_at at = {claim->folder, work, take_over};
    BM_TRY(bm_ours_find_other(&claim->marker.ours, at, other, err));
    if (other[0] != '\0')
        return in_the_way(work, "holds ", other, err);
    claim->taken_over = take_over;
    if (take_over)
        return BM_OK;
    if (journal && leavings == BM_OUT_CLEAR)
        return bm_fail_at(err, BM_ERR_USAGE, work, 0,
                          "the work of an interrupted job is saved there (`resume` with its own "
                          "command continues it, `force` discards it)");
    BM_TRY(bm_out_work_empty(at, &claim->marker.ours, err));
    if (bm_out_marker_is_used(&claim->marker))
        BM_TRY(sync_folder(claim, work, err));
    return bm_out_marker_begin(&claim->marker, work, err);
}

/* --- claims --- */

bm_status bm_out_claim_open(const char *work, bm_out_leavings leavings, bm_out_claim *out,
                            bm_error *err)
{
    bm_status status = BM_OK;
    bool again = true, made = false;
    *out = nothing;
    for (unsigned i = 0; again && i < TRIES; i++) {
        let_go(out);
        BM_TRY_OUT(lock_folder(work, out, &made, &again, err));
        if (!again)
            BM_TRY_OUT(lock_marker(work, out, &again, err));
    }
    BM_TRY_OUT(again ? locked(work, err) : settle(work, leavings, out, err));
    /* Lines of a job that was killed before they were synced; an empty marker is ours as it is. */
    if (bm_out_marker_is_used(&out->marker))
        BM_TRY_OUT(bm_out_marker_sync(&out->marker, work, err));
    BM_TRY_OUT(sync_folder(out, work, err));
    return BM_OK;
out:
    if (made && out->marker.fd >= 0)
        (void)unlinkat(out->folder, BM_OUT_MARKER, 0);
    if (made && status != BM_ERR_LOCKED)
        (void)rmdir(work); /* where another job was quicker it is not empty, or is made again */
    let_go(out);
    return status;
}

bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err)
{
    if (leads_to(work, claim->folder) && bm_out_marker_has_name(&claim->marker, claim->folder))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_IO, work, 0,
                      "was removed, moved or made anew while the job worked there");
}

bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err)
{
    return bm_out_marker_list(&claim->marker, work, names, n, err);
}

/* Remove all that is ours, the marker, then the directory if it is empty. *bare: the marker is gone. */
static bool clear_away(const bm_out_claim *claim, const char *work, bool *bare)
{
    const bm_ours_at at = {claim->folder, work, false};
    if (!*bare && bm_out_claim_check(claim, work, NULL) == BM_OK &&
        bm_out_work_empty(at, &claim->marker.ours, NULL) == BM_OK)
        *bare = unlinkat(claim->folder, BM_OUT_MARKER, 0) == 0;
    return *bare && (rmdir(work) == 0 || errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT);
}

void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave)
{
    bool bare = false;
    if (claim->folder >= 0 && !leave && !clear_away(claim, work, &bare))
        (void)clear_away(claim, work, &bare); /* nobody else will, before the next job here */
    let_go(claim);
}

void bm_out_claim_sweep(const char *work)
{
    struct stat info;
    bm_out_claim claim;
    if (lstat(work, &info) == 0 && bm_out_claim_open(work, BM_OUT_CLEAR, &claim, NULL) == BM_OK)
        bm_out_claim_close(&claim, work, false);
}
