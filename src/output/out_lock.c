/* SPDX-License-Identifier: Apache-2.0 */
/* out_lock.c -- the lock of a work directory and its marker.
 *
 * Tests: tests/cli/cases/ownership.sh, tests/cli/cases/two_jobs.sh, tests/fault/resume_calls.c,
 *        tests/scale/stopped_at_calls.py, tests/unit/output/test_out_dir.c,
 *        tests/unit/output/test_out_dir_resume.c */
#include "output/out_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "json/json_write.h"

/* === out marker ===
 *
 * The lines of the marker are read into a list when it is opened. New lines are appended. An
 * incomplete last line is cut off only by the next append, so that a job that is refused because of
 * other files beside the marker changes nothing.
 *
 * On a file system without flock, two jobs do not exclude each other. Everything else works. */

#define HEADER     "bandmill work directory 1\n"
#define TEXT_MAX   ((size_t)1 << 30)
#define READ_BYTES ((size_t)64 << 10)

/* Close the marker, which unlocks it. The file is not removed. */
static void out_marker_close(bm_out_marker *marker)
{
    if (marker->fd >= 0)
        close(marker->fd);
    bm_ours_reset(&marker->ours);
    *marker = (bm_out_marker){.fd = -1};
}

/* Does the marker's name in the folder still lead to the open marker? */
static bool out_marker_has_name(const bm_out_marker *marker, int folder)
{
    struct stat opened, there;
    return fstat(marker->fd, &opened) == 0 &&
           fstatat(folder, BM_OUT_MARKER, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

/* --- writing --- */

static bm_status failed(const char *path, const char *name, int code, const char *what,
                        bm_error *err)
{
    char *whole = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&whole, err, "%s/%s", path, name));
    status = bm_fail_errno(err, code, whole, what);
out:
    bm_free(whole);
    return status;
}

/* Append text after the last complete line. */
static bm_status append(bm_out_marker *marker, const char *path, bm_str text, bm_error *err)
{
    if (marker->torn && ftruncate(marker->fd, (off_t)marker->bytes) != 0)
        return failed(path, BM_OUT_MARKER, errno, "cannot cut", err);
    const int code = bm_pwrite_all(marker->fd, text.data, text.len, marker->bytes);
    marker->torn = code != 0;
    if (code != 0)
        return failed(path, BM_OUT_MARKER, code, "cannot write", err);
    marker->bytes += text.len;
    return BM_OK;
}

static bm_status out_marker_sync(const bm_out_marker *marker, const char *path, bm_error *err)
{
    return fsync(marker->fd) == 0 || errno == EINVAL
               ? BM_OK
               : failed(path, BM_OUT_MARKER, errno, "cannot sync", err);
}

/* List the marker, the journal and the folder of outputs, because files with these names beside a
 * marker are ours. */
static bm_status add_itself(bm_out_marker *marker, bm_error *err)
{
    BM_TRY(bm_ours_add(&marker->ours, BM_OUT_MARKER, err));
    BM_TRY(bm_ours_add(&marker->ours, BM_OUT_JOURNAL, err));
    return bm_ours_add_folder(&marker->ours, BM_OUT_NEW, err);
}

/* Write a new, empty list, for an empty directory. The list is not synced. */
static bm_status out_marker_begin(bm_out_marker *marker, const char *path, bm_error *err)
{
    bm_ours_reset(&marker->ours);
    marker->bytes = 0;
    marker->torn = true; /* there may be old text to cut off */
    BM_TRY(append(marker, path, (bm_str){HEADER, sizeof HEADER - 1}, err));
    return add_itself(marker, err);
}

/* List the names that are not listed yet, with one sync for all. BM_ERR_IO, BM_ERR_NOMEM. `path`
 * names the directory in messages. */
static bm_status out_marker_list(bm_out_marker *marker, const char *path, const char *const *names,
                                 size_t n, bm_error *err)
{
    bm_buf lines = {0};
    bm_status status = BM_OK;
    if (marker->bytes == 0)
        BM_TRY_OUT(out_marker_begin(marker, path, err));
    for (size_t i = 0; i < n; i++) {
        if (bm_ours_has(&marker->ours, names[i]))
            continue;
        BM_TRY_OUT(bm_tsv_escape(&lines, (bm_str){names[i], strlen(names[i])}, err));
        BM_TRY_OUT(bm_buf_add_text(&lines, "\n", err));
    }
    if (lines.len > 0) {
        BM_TRY_OUT(append(marker, path, (bm_str){lines.data, lines.len}, err));
        BM_TRY_OUT(out_marker_sync(marker, path, err));
        for (size_t i = 0; i < n; i++)
            BM_TRY_OUT(bm_ours_add(&marker->ours, names[i], err));
    }
out:
    bm_buf_reset(&lines);
    return status;
}

/* Does the marker have lines after the first? */
static bool out_marker_is_used(const bm_out_marker *marker)
{
    return marker->bytes > sizeof HEADER - 1;
}

/* --- reading --- */

static bm_status read_text(const bm_out_marker *marker, const char *path, bm_buf *out,
                           bm_error *err)
{
    out->max = TEXT_MAX;
    for (;;) {
        BM_TRY(bm_buf_reserve(out, READ_BYTES, err));
        const ssize_t n = pread(marker->fd, out->data + out->len, READ_BYTES, (off_t)out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(path, BM_OUT_MARKER, errno, "cannot read", err);
        if (n == 0)
            return BM_OK;
        out->len += (size_t)n;
    }
}

/* Add the name in a line to marker->ours; the line ends with a NUL. *ours: can a job of ours have
 * written the line? If not, nothing is added. */
static bm_status parse_line(bm_out_marker *marker, char *line, size_t len, bool *ours,
                            bm_error *err)
{
    const size_t plain = strlen(line) == len ? bm_tsv_unescape(line, len) : SIZE_MAX;
    *ours = plain != SIZE_MAX;
    if (*ours)
        line[plain] = '\0';
    *ours = *ours && strlen(line) == plain && bm_ours_is_name(line + (line[0] == '/'));
    return *ours ? bm_ours_add(&marker->ours, line, err) : BM_OK;
}

/* Add all names in the marker's text to marker->ours. *ours: did a job of ours write the text? The
 * last line may be incomplete. */
static bm_status parse_lines(bm_out_marker *marker, bm_buf *text, bool *ours, bm_error *err)
{
    const size_t head = sizeof HEADER - 1;
    bm_status status = add_itself(marker, err);
    *ours = memcmp(text->data, HEADER, text->len < head ? text->len : head) == 0;
    if (text->len < head)
        return status; /* the job was killed before it completed the first line */
    size_t at = head;
    while (status == BM_OK && *ours && at < text->len) {
        char *end = memchr(text->data + at, '\n', text->len - at);
        if (end == NULL)
            break; /* an incomplete line */
        *end = '\0';
        status = parse_line(marker, text->data + at, (size_t)(end - text->data) - at, ours, err);
        at = (size_t)(end - text->data) + 1;
    }
    marker->bytes = at;
    return status;
}

static bm_status read_list(bm_out_marker *marker, const char *path, bool *ours, bm_error *err)
{
    bm_buf text = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(read_text(marker, path, &text, err));
    status = parse_lines(marker, &text, ours, err);
out:
    marker->torn = marker->bytes < text.len;
    bm_buf_reset(&text);
    return status;
}

/* --- opening --- */

/* Lock the open marker. If it is ours now, *state becomes BM_OUT_MARKER_HELD; else the reason why
 * not. */
static bm_status lock(const bm_out_marker *marker, bm_ours_at at, bm_out_marker_state *state,
                      bm_error *err)
{
    struct stat info;
    if (fstat(marker->fd, &info) != 0)
        return failed(at.path, BM_OUT_MARKER, errno, "cannot look at", err);
    if (!S_ISREG(info.st_mode))
        *state = BM_OUT_MARKER_OTHER;
    else if (flock(marker->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        *state = BM_OUT_MARKER_LOCKED;
    else
        *state = out_marker_has_name(marker, at.folder) ? BM_OUT_MARKER_HELD : BM_OUT_MARKER_MOVED;
    return BM_OK;
}

/* Open and lock the marker in the open folder `at`, and read its list. With `make`, create the
 * marker if it is missing, and write its first line if that is missing. *out is {.fd = -1} unless
 * *state becomes BM_OUT_MARKER_HELD. BM_ERR_IO, BM_ERR_NOMEM. */
static bm_status out_marker_open(bm_ours_at at, bool make, bm_out_marker *out,
                                 bm_out_marker_state *state, bm_error *err)
{
    /* O_NONBLOCK: opening a pipe must not wait. lock() then reports it as BM_OUT_MARKER_OTHER. */
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0);
    bool ours = false;
    *state = BM_OUT_MARKER_OTHER;
    *out = (bm_out_marker){.fd = openat(at.folder, BM_OUT_MARKER, flags, 0666)};
    if (out->fd < 0 && errno != ENOENT && errno != ELOOP && errno != EISDIR && errno != ENXIO)
        return failed(at.path, BM_OUT_MARKER, errno, "cannot open", err);
    if (out->fd < 0) {
        *state = errno == ENOENT ? BM_OUT_MARKER_MISSING : BM_OUT_MARKER_OTHER;
        return BM_OK;
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(lock(out, at, state, err));
    if (*state == BM_OUT_MARKER_HELD)
        BM_TRY_OUT(read_list(out, at.path, &ours, err));
    if (make && ours && out->bytes == 0)
        BM_TRY_OUT(out_marker_begin(out, at.path, err));
    if (*state == BM_OUT_MARKER_HELD && !ours)
        *state = BM_OUT_MARKER_OTHER;
out:
    if (make && status != BM_OK && *state == BM_OUT_MARKER_HELD)
        (void)unlinkat(at.folder, BM_OUT_MARKER, 0); /* so that the directory is empty again */
    if (status != BM_OK || *state != BM_OUT_MARKER_HELD)
        out_marker_close(out);
    return status;
}

/* === out work ===
 *
 * Makes the folders of a work directory, and removes its files. */

#define OUTPUTS BM_OUT_NEW "/"

/* --- folders --- */

bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err)
{
    bm_status status = BM_OK;
    char *copy;
    BM_TRY(bm_copy_text(name, &copy, err));
    for (char *c = strchr(copy, '/'); status == BM_OK && c != NULL; c = strchr(c + 1, '/')) {
        *c = '\0';
        if (mkdirat(folder, copy, 0777) != 0 && errno != EEXIST)
            status = failed(path, copy, errno, "cannot make the directory", err);
        *c = '/';
    }
    bm_free(copy);
    return status;
}

static bm_status work_sync_folder(int folder, const char *name, const char *path, bm_error *err)
{
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? BM_OK
                               : failed(path, name, errno, "cannot open the directory", err);
    bm_status status = BM_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: the file system cannot sync directories */
        status = failed(path, name, errno, "cannot sync the directory", err);
    close(fd);
    return status;
}

bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err)
{
    bm_status status = work_sync_folder(folder, BM_OUT_NEW, path, err);
    for (size_t i = 0; i < ours->folders.n && status == BM_OK; i++) {
        const bm_str id = bm_id_set_id(&ours->folders, (uint32_t)i);
        char *name;
        BM_TRY(bm_copy_bytes(id.data, id.len, &name, err));
        if (strncmp(name, OUTPUTS, strlen(OUTPUTS)) == 0)
            status = work_sync_folder(folder, name, path, err);
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
               : failed(at.path, BM_OUT_JOURNAL, errno, "cannot remove", err);
}

bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err)
{
    BM_TRY(remove_journal(at, err));
    return bm_ours_remove(ours, at, is_state, NULL, err);
}

/* Remove all listed files except the marker. The journal is removed first (see
 * bm_out_work_drop_state). */
static bm_status out_work_empty(bm_ours_at at, const bm_ours *ours, bm_error *err)
{
    BM_TRY(remove_journal(at, err));
    return bm_ours_remove(ours, at, is_no_marker, NULL, err);
}

/* Is this listed file an output that `ctx`, a bm_out_stay, does not name? */
static bool is_to_go(const void *ctx, const char *name)
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
    return bm_ours_remove(ours, at, is_to_go, stay, err);
}

/* === out dir lock ===
 *
 * The work directory TARGET.partial is claimed by two locks, one on the directory itself and one on
 * the marker in it. They are held until the claim is closed.
 *
 * Every job locks the directory before it examines the contents, even if it made the directory
 * itself, because another job may take the lock between mkdir and flock. Then the other job owns
 * the directory. So an empty directory counts as free. A lock is valid only if the path still leads
 * to the locked file. If not, another job has just ended, and all steps are repeated. Only the
 * directory itself, when it is empty, is removed by its path.
 *
 * Our files can be recognized even after a loss of power: the marker and its name are synced before
 * any file is made beside it, and the removal of an earlier job's files is synced before they are
 * removed from the list. When a job ends, it removes the marker last and syncs nothing: file
 * systems with a journal keep that order.
 *
 * The marker is locked too, for file systems that lock files but not directories (NFS). Without any
 * locks, two jobs do not exclude each other. Everything else works. */

#define TRIES        1000u                /* a try fails only because another job has just ended */
#define REPORT_BYTES ((uint64_t)16 << 20) /* memory to recognize a complete output by its report */

static const bm_out_claim nothing = {.folder = -1, .marker = {.fd = -1}};

static bm_status locked(const char *work, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_LOCKED, work, 0, "another job writes this output now");
}

static bm_status in_the_way(const char *work, const char *what, const char *name, bm_error *err)
{
    return bm_fail_field_at(
        err, "output", work, 0,
        "%s%s, which no job of bandmill put there (the job works there: remove it or "
        "give it another name)",
        what, name);
}

/* Fail because the directory has no marker, but contains `other`. */
static bm_status not_work(const char *work, const char *other, bm_error *err)
{
    bm_manifest *manifest = NULL;
    const bm_status status = bm_manifest_open_dir(work, REPORT_BYTES, &manifest, NULL);
    /* BM_ERR_NOMEM: a large report, so the directory is an output of ours */
    if (status != BM_OK && status != BM_ERR_NOMEM)
        return in_the_way(work, "holds ", other, err);
    bm_manifest_close(manifest);
    return bm_fail_field_at(err, "output", work, 0,
                            "is a complete output of bandmill, where the job would work (give it "
                            "another name)");
}

static bool leads_to(const char *path, int fd)
{
    struct stat opened, there;
    return fstat(fd, &opened) == 0 && lstat(path, &there) == 0 && opened.st_dev == there.st_dev &&
           opened.st_ino == there.st_ino;
}

/* --- the directory --- */

/* Make the directory (*made) or open the existing one, and lock it. Sets *again if the path
 * meanwhile leads nowhere or to another directory; the caller must then repeat all steps. */
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

/* Lock the marker in the locked directory. This is the marker of an earlier job or, if the
 * directory is empty, a new one. Sets *again if the marker has lost its name; the caller must then
 * repeat all steps. */
static bm_status lock_marker(const char *work, bm_out_claim *claim, bool *again, bm_error *err)
{
    char other[BM_OUT_NAME_BYTES] = "";
    bm_out_marker_state state;
    const bm_ours none = {0};
    const bm_ours_at at = {claim->folder, work, false};
    *again = false;
    BM_TRY(out_marker_open(at, false, &claim->marker, &state, err));
    if (state == BM_OUT_MARKER_MISSING) {
        BM_TRY(bm_ours_find_other(&none, at, other, err));
        if (strcmp(other, BM_OUT_MARKER) == 0)
            state = BM_OUT_MARKER_MOVED; /* a marker appeared meanwhile: repeat all steps */
        else if (other[0] != '\0')
            return not_work(work, other, err);
        else
            BM_TRY(out_marker_open(at, true, &claim->marker, &state, err));
    }
    if (state == BM_OUT_MARKER_LOCKED)
        return locked(work, err);
    if (state == BM_OUT_MARKER_OTHER)
        return in_the_way(work, "holds ", BM_OUT_MARKER, err);
    *again = state != BM_OUT_MARKER_HELD;
    return BM_OK;
}

static void release(bm_out_claim *claim)
{
    out_marker_close(&claim->marker);
    if (claim->folder >= 0)
        close(claim->folder);
    *claim = nothing;
}

/* --- leftovers of an earlier job --- */

bm_status bm_out_has_journal(int folder, const char *work, bool *out, bm_error *err)
{
    char *path = NULL;
    bm_error why = {0};
    BM_TRY(bm_string_format(&path, err, "%s/%s", work, BM_OUT_JOURNAL));
    const bm_status status =
        bm_look_at(folder, bm_name_in(folder, path), AT_SYMLINK_NOFOLLOW, out, NULL, &why);
    bm_free(path);
    return status == BM_OK
               ? BM_OK
               : bm_fail_errno(err, (int)why.code, work, "cannot look at the journal in it");
}

/* Sync the folder, so that names made in it are on the disk, and removed names are not. */
static bm_status sync_folder(const bm_out_claim *claim, const char *work, bm_error *err)
{
    /* EINVAL: the file system cannot sync directories */
    return fsync(claim->folder) == 0 || errno == EINVAL
               ? BM_OK
               : bm_fail_errno(err, errno, work, "cannot sync the directory");
}

/* Check that everything in the directory is ours; then clear the directory or take it over,
 * depending on `leftovers`. */
static bm_status resolve_leftovers(const char *work, bm_out_leftovers leftovers,
                                   bm_out_claim *claim, bm_error *err)
{
    bool journal;
    char other[BM_OUT_NAME_BYTES] = "";
    BM_TRY(bm_out_has_journal(claim->folder, work, &journal, err));
    /* a resumed job writes to the files, so they must not have a second name (a hard link) */
    const bool resumes = journal && leftovers == BM_OUT_TAKE_OVER;
    const bm_ours_at at = {claim->folder, work, resumes};
    BM_TRY(bm_ours_find_other(&claim->marker.ours, at, other, err));
    if (other[0] != '\0')
        return in_the_way(work, "holds ", other, err);
    claim->resumes = resumes;
    if (resumes)
        return BM_OK;
    if (journal && leftovers == BM_OUT_CLEAR)
        return bm_fail_field_at(
            err, "output", work, 0,
            "the work of an interrupted job is saved there (`resume` with its own "
            "command continues it, `force` discards it)");
    BM_TRY(out_work_empty(at, &claim->marker.ours, err));
    if (out_marker_is_used(&claim->marker))
        BM_TRY(sync_folder(claim, work, err));
    return out_marker_begin(&claim->marker, work, err);
}

/* --- claims --- */

bm_status bm_out_claim_open(const char *work, bm_out_leftovers leftovers, bm_out_claim *out,
                            bm_error *err)
{
    bm_status status = BM_OK;
    bool again = true, made = false;
    *out = nothing;
    for (unsigned i = 0; again && i < TRIES; i++) {
        release(out);
        BM_TRY_OUT(lock_folder(work, out, &made, &again, err));
        if (!again)
            BM_TRY_OUT(lock_marker(work, out, &again, err));
    }
    BM_TRY_OUT(again ? locked(work, err) : resolve_leftovers(work, leftovers, out, err));
    /* Sync lines that a killed job may not have synced. A marker without lines needs no sync. */
    if (out_marker_is_used(&out->marker))
        BM_TRY_OUT(out_marker_sync(&out->marker, work, err));
    BM_TRY_OUT(sync_folder(out, work, err));
    return BM_OK;
out:
    if (made && out->marker.fd >= 0)
        (void)unlinkat(out->folder, BM_OUT_MARKER, 0);
    if (made && status != BM_ERR_LOCKED)
        (void)rmdir(work); /* fails, as it should, if another job has made files in the directory */
    release(out);
    return status;
}

bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err)
{
    if (leads_to(work, claim->folder) && out_marker_has_name(&claim->marker, claim->folder))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_IO, work, 0,
                      "was removed, moved or made anew while the job worked there");
}

bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err)
{
    return out_marker_list(&claim->marker, work, names, n, err);
}

/* Remove all our files, then the marker, then the directory if it is empty. *bare: the marker is
 * removed, by this call or an earlier one. Returns false if anything of ours is left. */
static bool clear_away(const bm_out_claim *claim, const char *work, bool *bare)
{
    const bm_ours_at at = {claim->folder, work, false};
    if (!*bare && bm_out_claim_check(claim, work, NULL) == BM_OK &&
        out_work_empty(at, &claim->marker.ours, NULL) == BM_OK)
        *bare = unlinkat(claim->folder, BM_OUT_MARKER, 0) == 0;
    return *bare && (rmdir(work) == 0 || errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT);
}

void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave)
{
    bool bare = false;
    if (claim->folder >= 0 && !leave && !clear_away(claim, work, &bare))
        (void)clear_away(claim, work, &bare); /* the next job for `work` removes the rest */
    release(claim);
}

void bm_out_claim_sweep(const char *work)
{
    struct stat info;
    bm_out_claim claim;
    if (lstat(work, &info) == 0 && bm_out_claim_open(work, BM_OUT_CLEAR, &claim, NULL) == BM_OK)
        bm_out_claim_close(&claim, work, false);
}
