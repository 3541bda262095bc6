/* SPDX-License-Identifier: Apache-2.0 */
/* out_dir.c -- a directory of outputs that appears by one rename. Its layout: out_target.h.
 *
 * Everything in the work directory is accessed through the directory's descriptor. If another
 * directory takes its name, that directory is not touched.
 *
 * Commit: check that the work directory is still this job's, remove the state, sync every folder,
 * rename the folder of outputs (or exchange it with the old output: out_replace), and sync the
 * parent and those folders above it that the job made. Then close removes what is left in the work
 * directory, the marker last.
 *
 * Tests: tests/cli/cases/ownership.sh, tests/fault/full_disk_calls.c,
 *        tests/unit/output/test_out_dir.c, tests/unit/output/test_out_dir_resume.c */
#include "output/out_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "json/json_write.h"
#include "model/stream_hash.h"
#include "output/digest.h"
#include "output/out_lock.h"

/* === out entries ===
 *
 * bm_out_dir_finish first computes all digests, by pieces and on all threads, and then syncs all
 * files.
 *
 * A file is not synced when it is closed. By then the system has written most of it to the disk,
 * and it writes the rest while the digests are computed from the page cache. The first HELD_FILES
 * files keep their descriptors until the sync. Further files are opened again, and one syncfs
 * precedes the syncs, so that ten thousand calls of fsync have nothing left to write. */

#define HELD_FILES  64u
#define BLOCK_BYTES ((size_t)256 << 10)

/* A file that was closed. */
typedef struct out_entry {
    char *name; /* relative to the folder of outputs */
    int fd;     /* -1: closed; the file is reopened for the digest and for the sync */
    uint64_t bytes;
    /* hashes the file while it is written, through `fd`; NULL: nothing hashes it yet */
    bm_digest_follow *follow;
    bm_digest_piece *pieces; /* NULL: none is known yet */
    size_t n_pieces;
    bm_digests of;
    bm_sealed_part sealed;
    bool synced;
} out_entry;

typedef struct out_entries {
    out_entry *rows; /* sorted by name at finish; later entries are appended */
    size_t n, cap;
    unsigned n_held; /* entries with a descriptor */
    bool finished;
    bm_pool *pool;   /* computes digests; NULL: only the caller's thread does */
    bm_meter *meter; /* counts each file twice, out of twice the number of files; NULL: no meter */
    size_t n_reported; /* the count that was last reported to the meter */
} out_entries;         /* out_entries_reset closes and frees */

/* The work directory that contains the folder of outputs. */
typedef struct out_entries_at {
    int folder;
    const char *path;
} out_entries_at;

/* Add a complete file. On success the list owns the file's name and descriptor. */
static bm_status out_entries_add(out_entries *list, bm_out_file *file, bm_error *err)
{
    BM_TRY(bm_grow_array(&list->rows, &list->cap, list->n + 1, err));
    out_entry *added = &list->rows[list->n];
    *added = (out_entry){.fd = -1};
    if (list->n_held < HELD_FILES) {
        added->fd = file->fd;
        added->follow = file->follow;
        file->follow = NULL;
        list->n_held++;
    } else {
        bm_digest_follow *ended = file->follow;
        file->follow = NULL;
        if (ended != NULL)
            BM_TRY(bm_digest_follow_end(ended, file->path, &added->pieces, err));
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            return bm_fail_errno(err, errno, file->path, "cannot close");
    }
    added->name = file->name;
    added->sealed = file->sealed;
    added->bytes = file->written;
    file->fd = -1;
    file->name = NULL;
    list->n++;
    return BM_OK;
}

/* Open an entry. *owned: the caller closes the descriptor. */
static bm_status open_entry(const out_entry *e, out_entries_at at, const char *path, int *fd,
                            bool *owned, bm_error *err)
{
    const char *below = path + strlen(at.path) + 1;
    *owned = e->fd < 0;
    *fd = *owned ? openat(at.folder, below, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : e->fd;
    return *fd >= 0 ? BM_OK : bm_fail_errno(err, errno, path, "cannot open");
}

static bm_status path_of(const out_entry *e, out_entries_at at, char **out, bm_error *err)
{
    return bm_string_format(out, err, "%s/%s/%s", at.path, BM_OUT_NEW, e->name);
}

/* Let the system begin to write a file to the disk. It is called for all files before the first
 * sync, so that they are written at the same time. */
static void start_writing(int fd)
{
#if defined(SYNC_FILE_RANGE_WRITE)
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd;
#endif
}

/* --- digests --- */

typedef struct digesting {
    out_entries *list;
    out_entries_at at;
    bm_digest_file *files; /* one per entry */
} digesting;

static bm_status open_file(void *ctx, size_t index, int *fd, bool *owned, bm_error *err)
{
    const digesting *d = ctx;
    BM_TRY(open_entry(&d->list->rows[index], d->at, d->files[index].shown, fd, owned, err));
    start_writing(*fd);
    return BM_OK;
}

static bm_status sum_part(int fd, const char *path, const bm_sealed_part *part,
                          bm_stream_hash *hash, char *block, bm_error *err)
{
    size_t got = 1;
    for (uint64_t at = part->from; at < part->to && got > 0; at += got) {
        const size_t n = part->to - at < BLOCK_BYTES ? (size_t)(part->to - at) : BLOCK_BYTES;
        const int code = bm_pread_all(fd, block, n, at, &got);
        if (code != 0)
            return bm_fail_errno(err, code, path, "cannot read");
        bm_stream_hash_add(hash, block, got);
    }
    return BM_OK;
}

/* Check that a part that an earlier job wrote to the file still has its digest. */
static bm_status compare_part(const digesting *d, size_t index, bm_error *err)
{
    const out_entry *e = &d->list->rows[index];
    const char *path = d->files[index].shown;
    bm_stream_hash *hash = NULL;
    char *block = NULL;
    int fd = -1;
    bool owned = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_by(bm_alloc, &block, BLOCK_BYTES, 1, err));
    BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &hash, err));
    BM_TRY_OUT(open_entry(e, d->at, path, &fd, &owned, err));
    bm_stream_hash_begin(hash);
    BM_TRY_OUT(sum_part(fd, path, &e->sealed, hash, block, err));
    const bm_hash128 is = bm_stream_hash_end(hash), was = e->sealed.sum;
    if (is.lo != was.lo || is.hi != was.hi)
        status = bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                            "is not what an interrupted job wrote (start again with `force`)");
out:
    if (owned && fd >= 0)
        close(fd);
    bm_stream_hash_close(hash);
    bm_free(block);
    return status;
}

static bm_status compare_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const digesting *d = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        if (d->list->rows[i].sealed.to != 0)
            BM_TRY(compare_part(d, i, err));
    return BM_OK;
}

static bool has_sealed(const out_entries *list)
{
    size_t i = 0;
    while (i < list->n && list->rows[i].sealed.to == 0)
        i++;
    return i < list->n;
}

/* Make the array of an entry's pieces, and set *out to the request to digest the entry. */
static bm_status describe(out_entry *e, out_entries_at at, bm_digest_file *out, bm_error *err)
{
    char *path = NULL;
    e->n_pieces = bm_digest_count_pieces(e->bytes, BM_FILE_PIECE_BYTES);
    BM_TRY(path_of(e, at, &path, err));
    out->shown = path; /* freed by the caller */
    if (e->follow != NULL) {
        bm_digest_follow *ended = e->follow;
        e->follow = NULL;
        BM_TRY(bm_digest_follow_end(ended, path, &e->pieces, err));
    }
    if (e->pieces == NULL)
        BM_TRY(bm_new_zero(&e->pieces, e->n_pieces, err));
    *out = (bm_digest_file){path, e->bytes, e->pieces};
    return BM_OK;
}

static bm_status digest_entries(out_entries *list, out_entries_at at, bm_error *err)
{
    digesting d = {list, at, NULL};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&d.files, list->n + 1, err));
    for (size_t i = 0; i < list->n; i++)
        BM_TRY_OUT(describe(&list->rows[i], at, &d.files[i], err));
    if (has_sealed(list))
        BM_TRY_OUT(list->pool != NULL ? bm_pool_for(list->pool, (bm_pool_split){list->n, 1},
                                                    compare_parts, &d, err)
                                      : compare_parts(&d, 0, 0, list->n, err));
    const bm_digest_work work = {.files = d.files,
                                 .n = list->n,
                                 .piece_bytes = BM_FILE_PIECE_BYTES,
                                 .kinds = BM_DIGEST_BOTH,
                                 .open = open_file,
                                 .ctx = &d,
                                 .pool = list->pool,
                                 .meter = list->meter,
                                 .meter_total = 2 * list->n};
    BM_TRY_OUT(bm_digest_files(&work, err));
    for (size_t i = 0; i < list->n; i++)
        BM_TRY_OUT(bm_digests_join(list->rows[i].pieces, list->rows[i].n_pieces, BM_DIGEST_BOTH,
                                   &list->rows[i].of, err));
    list->n_reported = list->n;
out:
    for (size_t i = 0; d.files != NULL && i < list->n; i++)
        bm_free((char *)d.files[i].shown);
    bm_free(d.files);
    return status;
}

/* --- syncs --- */

static bm_status sync_entry(out_entry *e, out_entries_at at, bm_error *err)
{
    char *path = NULL;
    int fd = -1;
    bool owned = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(path_of(e, at, &path, err));
    BM_TRY_OUT(open_entry(e, at, path, &fd, &owned, err));
    if (fsync(fd) != 0)
        status = bm_fail_errno(err, errno, path, "cannot sync");
    e->synced = status == BM_OK;
out:
    if (owned && fd >= 0)
        close(fd);
    bm_free(path);
    return status;
}

static bm_status sync_entries(out_entries *list, out_entries_at at, bm_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->rows[i].synced)
            continue;
        BM_TRY(sync_entry(&list->rows[i], at, err));
        if (list->meter != NULL && !list->finished)
            bm_meter_progress(list->meter, ++list->n_reported, 2 * list->n, 0);
    }
    return BM_OK;
}

/* Sync the files that are not synced yet, and close their descriptors. */
static bm_status out_entries_sync(out_entries *list, out_entries_at at, bm_error *err)
{
    bm_status status = BM_OK;
    if (list->n > HELD_FILES && !list->finished && syncfs(at.folder) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, at.path, "cannot sync"));
    status = sync_entries(list, at, err);
out:
    for (size_t i = 0; i < list->n && list->n_held > 0; i++) {
        if (list->rows[i].fd < 0 || !list->rows[i].synced)
            continue;
        close(list->rows[i].fd);
        list->rows[i].fd = -1;
        list->n_held--;
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const out_entry *)a)->name, ((const out_entry *)b)->name);
}

/* Write the name of an entry as the key of a member. `name` is a scratch buffer. */
static bm_status write_key(const out_entry *e, bm_buf *name, bm_json *out, bm_error *err)
{
    name->len = 0;
    BM_TRY(bm_tsv_escape(name, (bm_str){e->name, strlen(e->name)}, err));
    BM_TRY(bm_buf_end(name, err));
    bm_json_key(out, name->data);
    return BM_OK;
}

static bm_status end_object(bm_json *out, bm_error *err)
{
    bm_json_end_object(out);
    BM_TRY(bm_json_finish(out, err));
    out->buf.data[--out->buf.len] = '\0'; /* drop the newline */
    return BM_OK;
}

/* After out_entries_finish: write an object, without a newline at its end, that maps names to
 * digests of one kind (BM_DIGEST_SHA256 or BM_DIGEST_XXH3). */
static bm_status out_entries_write(const out_entries *list, unsigned kind, bm_json *out,
                                   bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < list->n; i++) {
        const out_entry *e = &list->rows[i];
        BM_TRY_OUT(write_key(e, &name, out, err));
        bm_json_text(out, kind == BM_DIGEST_SHA256 ? e->of.sha256 : e->of.xxh3);
    }
    status = end_object(out, err);
out:
    bm_buf_reset(&name);
    return status;
}

/* Like out_entries_write, but only for files of several pieces: map names to arrays of the XXH3 128
 * of the pieces. */
static bm_status out_entries_write_pieces(const out_entries *list, bm_json *out, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < list->n; i++) {
        const out_entry *e = &list->rows[i];
        if (e->n_pieces <= 1)
            continue;
        BM_TRY_OUT(write_key(e, &name, out, err));
        bm_json_begin_array(out);
        for (size_t k = 0; k < e->n_pieces; k++) {
            char hex[BM_HASH128_HEX];
            bm_hash128_hex(e->pieces[k].xxh3, hex);
            bm_json_text(out, hex);
        }
        bm_json_end_array(out);
    }
    status = end_object(out, err);
out:
    bm_buf_reset(&name);
    return status;
}

/* Digest and sync all files. Called once. BM_ERR_FORMAT: a part that an earlier job wrote to a file
 * has changed. */
static bm_status out_entries_finish(out_entries *list, out_entries_at at, bm_error *err)
{
    if (list->n > 1)
        qsort(list->rows, list->n, sizeof *list->rows, by_name);
    bm_status status = BM_OK;
    BM_TRY_OUT(digest_entries(list, at, err));
    status = out_entries_sync(list, at, err);
out:
    list->finished = status == BM_OK;
    return status;
}

static void out_entries_reset(out_entries *list)
{
    for (size_t i = 0; i < list->n; i++) {
        bm_digest_follow_close(list->rows[i].follow);
        if (list->rows[i].fd >= 0)
            close(list->rows[i].fd);
        bm_free_all(list->rows[i].name, list->rows[i].pieces);
    }
    bm_free(list->rows);
    *list = (out_entries){0};
}

/* === out replace ===
 *
 * The old and the new output are exchanged. If the file system can do it, this is one step. The old
 * output is checked again before anything in it is removed. */

typedef struct replacing {
    bm_out_claim *claim;
    const char *work, *target;
    bm_out_existing existing;
} replacing;

/* Before the exchange: list the files of the earlier output in the marker, under the names that
 * they will have in the work directory after the exchange. `old` becomes the list of these files,
 * and *node the inode of the earlier output. */
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

/* After the exchange: check that the directory now in the work directory is the output listed by
 * list_old, without any other files. */
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
        BM_TRY_OUT(bm_fail_field_at(err, "output", r->target, 0,
                                    "the output changed while the job ran%s%s",
                                    other[0] != '\0' ? ", and now holds " : "", other));
out:
    if (fd >= 0)
        close(fd);
    return status;
}

/* Exchange the folder of outputs in the claimed directory `work` with `target`, which is an output
 * of ours or an empty directory. The claimed directory then contains the old output, and all its
 * files are listed in the marker. They are removed when the claim is closed or, if this job is
 * killed, by the next job.
 *
 * BM_ERR_USAGE: the target is not ours. If this is found only after the exchange, the exchange is
 * undone; BM_OK if it cannot be undone, since the new output is then in place. */
static bm_status out_replace(bm_out_claim *claim, const char *work, const char *target,
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
        /* the exchange cannot be undone; the unlisted files of the old output stay in the work
         * directory */
        status = BM_OK;
out:
    bm_ours_reset(&old);
    return status;
}

/* === the directory itself === */

/* a try fails only because another job removed a folder that the other job had made */
#define PARENT_TRIES 100u

struct bm_out_dir {
    char *target, *work, *parent;
    bm_out_existing existing; /* how to treat an output at `target` */
    bm_out_claim claim;
    bool preserves; /* close and abort do not remove the files */
    bool committed;
    pthread_mutex_t lock; /* protects the claim and the entries while files are made and closed */
    out_entries entries;  /* files that were closed */
    bm_out_parents parents;
    bool finished;
    bm_json sha256, xxh3, pieces; /* after finish: objects that map the names of files to digests */
};

/* --- open --- */

/* Make the folders above the target, and claim the work directory. */
static bm_status claim_work(bm_out_dir *dir, bm_out_leftovers leftovers, bm_error *err)
{
    bm_error why;
    bm_status status;
    unsigned tried = 0;
    do {
        memset(&why, 0, sizeof why);
        status = bm_out_parents_make(&dir->parents, dir->target, &why);
        if (status == BM_OK)
            status = bm_out_claim_open(dir->work, leftovers, &dir->claim, &why);
    } while (status == BM_ERR_IO && why.code == ENOENT && ++tried < PARENT_TRIES);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

static bm_status open_dir(const char *target, bm_out_existing existing, bm_out_leftovers leftovers,
                          bm_out_dir **out, bm_error *err)
{
    BM_TRY(bm_out_target_dir(target, existing, err));
    bm_out_dir *dir = NULL;
    BM_TRY(bm_new_zero(&dir, 1, err));
    dir->claim = (bm_out_claim){.folder = -1, .marker = {.fd = -1}};
    dir->existing = existing;
    pthread_mutex_init(&dir->lock, NULL);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&dir->target, err, "%.*s", (int)bm_path_plain_len(target), target));
    BM_TRY_OUT(bm_string_format(&dir->work, err, "%s.partial", dir->target));
    BM_TRY_OUT(bm_place_parent(dir->target, &dir->parent, err));
    BM_TRY_OUT(claim_work(dir, leftovers, err));
    dir->preserves = dir->claim.resumes;
    /* check again, because another job may have written the target before this one got the lock */
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
    const bm_out_leftovers leftovers =
        existing.is == BM_OUT_IS_REPLACED ? BM_OUT_CLEAR_SAVED : BM_OUT_CLEAR;
    return open_dir(target, existing, leftovers, out, err);
}

bm_status bm_out_dir_open_again(const char *target, bm_out_existing existing, bm_out_dir **out,
                                bool *found, bm_error *err)
{
    BM_TRY(open_dir(target, existing, BM_OUT_TAKE_OVER, out, err));
    *found = (*out)->claim.resumes;
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

bm_status bm_out_dir_check_claim(const bm_out_dir *dir, bm_error *err)
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

/* The work directory as an argument for functions that remove files. */
static bm_ours_at work_at(const bm_out_dir *dir)
{
    return (bm_ours_at){.folder = dir->claim.folder, .path = dir->work};
}

bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err)
{
    return bm_out_work_drop_state(work_at(dir), &dir->claim.marker.ours, err);
}

bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *stay, size_t n_stay, bm_error *err)
{
    return bm_out_work_clear(work_at(dir), &dir->claim.marker.ours, &(bm_out_stay){stay, n_stay},
                             err);
}

/* --- files --- */

/* The on_close function of the directory's files: adds a complete file to the entries. `ctx` is the
 * directory. */
static bm_status accept_file(void *ctx, bm_out_file *file, bm_error *err)
{
    bm_out_dir *dir = ctx;
    pthread_mutex_lock(&dir->lock);
    const bm_status status = out_entries_add(&dir->entries, file, err);
    pthread_mutex_unlock(&dir->lock);
    return status;
}

/* List the output `name` in the marker and, if `make` is set, make the folders above it. *out
 * becomes the location of the output. */
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

/* Create a new file (`bytes` NULL), or reopen an existing one, cut to its first *bytes. */
static bm_status add_file(bm_out_dir *dir, const char *name, const uint64_t *bytes,
                          bm_out_file **out, bm_error *err)
{
    bm_out_spot spot;
    bm_out_file *file = NULL;
    pthread_mutex_lock(&dir->lock);
    bm_status status = find_spot(dir, name, bytes == NULL, &spot, err);
    pthread_mutex_unlock(&dir->lock);
    BM_TRY(status);
    char *copy = bm_strdup(name);
    if (copy == NULL) {
        bm_free(spot.path);
        return bm_fail_nomem(err, strlen(name) + 1);
    }
    status = bytes == NULL ? bm_out_file_create(spot, &file, err)
                           : bm_out_file_reopen(spot, *bytes, &file, err);
    if (status != BM_OK) {
        bm_free(copy);
        return status;
    }
    file->owner = (bm_out_owner){dir, accept_file, &dir->preserves};
    file->name = copy;
    *out = file;
    return BM_OK;
}

bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err)
{
    bm_status status = add_file(dir, name, NULL, out, err);
    if (status == BM_ERR_IO) /* if the directory was removed or moved, report that as the reason */
        (void)bm_out_dir_check_claim(dir, err);
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
    char **listed;
    BM_TRY(bm_new_zero(&listed, n + 1, err));
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

bm_status bm_out_dir_reserve(bm_out_dir *dir, const char *const *names, size_t n, char **out,
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

/* The work directory as an argument for the out_entries_* functions. */
static out_entries_at entries_at(const bm_out_dir *dir)
{
    return (out_entries_at){dir->claim.folder, dir->work};
}

void bm_out_dir_use(bm_out_dir *dir, bm_meter *meter, bm_pool *pool)
{
    dir->entries.meter = meter;
    dir->entries.pool = pool;
}

bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err)
{
    if (dir->finished)
        return bm_fail_at(err, BM_ERR_INTERNAL, dir->target, 0, "an output is finished once");
    bm_status status = BM_OK;
    BM_TRY_OUT(out_entries_finish(&dir->entries, entries_at(dir), err));
    BM_TRY_OUT(out_entries_write(&dir->entries, BM_DIGEST_SHA256, &dir->sha256, err));
    BM_TRY_OUT(out_entries_write(&dir->entries, BM_DIGEST_XXH3, &dir->xxh3, err));
    status = out_entries_write_pieces(&dir->entries, &dir->pieces, err);
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
    BM_TRY(bm_out_dir_check_claim(dir, err));
    BM_TRY(out_entries_sync(&dir->entries, entries_at(dir), err));
    /* check that the target may still be written, as at open */
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
    BM_TRY(bm_out_dir_check_claim(dir, err));
    if (dir->existing.is == BM_OUT_IS_REPLACED)
        BM_TRY(bm_place_exists(dir->target, &replaces, err));
    BM_TRY(replaces ? out_replace(&dir->claim, dir->work, dir->target, dir->existing, err)
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
    out_entries_reset(&dir->entries);
    /* if an old output cannot be removed here, the next job for this target removes it */
    bm_out_claim_close(&dir->claim, dir->work, dir->preserves && !dir->committed);
    if (dir->committed)
        bm_out_parents_reset(&dir->parents);
    else
        bm_out_parents_remove(&dir->parents);
    bm_buf_reset(&dir->sha256.buf);
    bm_buf_reset(&dir->xxh3.buf);
    bm_buf_reset(&dir->pieces.buf);
    bm_free_all(dir->target, dir->work, dir->parent);
    pthread_mutex_destroy(&dir->lock);
    bm_free(dir);
}
