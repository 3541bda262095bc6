/* out_entries.c -- first all digests, then all syncs.
 *
 * A file that is closed is not synced at once: the system begins to write it to the disk while it
 * is being written, and most of it is there by the end. Finish takes all digests first, from the
 * system's memory, while the system writes what is left of each, and syncs then. The first HELD_FILES
 * files keep their descriptors until then; the others are opened again. With more files than that one
 * syncfs goes first, so that ten thousand fsyncs find nothing left to do.
 *
 * Tests: tests/unit/io_output/test_out_dir.c, tests/fault/full_disk_calls.c */
#include "io/output/out_entries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"
#include "io/output/out_file_inside.h"
#include "io/output/out_state.h"
#include "model/stream_hash.h"

#define HELD_FILES  64u
#define BLOCK_BYTES ((size_t)256 << 10)

bm_status bm_out_entries_take(bm_out_entries *list, bm_out_file *file, bm_error *err)
{
    BM_TRY(bm_grow_array(&list->rows, &list->cap, list->n + 1, err));
    bm_out_entry *added = &list->rows[list->n];
    *added = (bm_out_entry){.fd = -1};
    if (list->n_held < HELD_FILES) {
        added->fd = file->fd;
        list->n_held++;
    } else {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            return bm_fail_errno(err, errno, file->path, "cannot close");
    }
    added->name = file->name;
    added->sealed = file->sealed;
    added->digested = file->digests.sha256[0] != '\0' && file->sealed.to == 0;
    added->of = file->digests;
    file->fd = -1;
    file->name = NULL;
    list->n++;
    return BM_OK;
}

/* What is done with a file, which is open. */
typedef bm_status step_fn(int fd, const char *path, bm_out_entry *e, bm_error *err);

/* So that all files are on their way to the disk when the first is waited for. Advice only. */
static void start_writing(int fd)
{
#if defined(SYNC_FILE_RANGE_WRITE)
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd;
#endif
}

/* What of a block, which begins `at` so many bytes into the file, belongs to the part. */
static void add_part(bm_stream_hash *hash, const bm_sealed_part *part, bm_str block, uint64_t at)
{
    const uint64_t end = at + block.len, from = part->from > at ? part->from : at,
                   to = part->to < end ? part->to : end;
    if (from < to)
        bm_stream_hash_add(hash, block.data + (from - at), (size_t)(to - from));
}

/* The digests of the file, and in the same pass the sum of the part. */
static bm_status read_through(int fd, const char *path, bm_stream_hash *part, bm_out_entry *e,
                              bm_error *err)
{
    bm_digest *digest = NULL;
    size_t got = BLOCK_BYTES;
    char *block = bm_alloc(BLOCK_BYTES, 1);
    bm_status status = BM_OK;
    if (block == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, BLOCK_BYTES));
    BM_TRY_OUT(bm_digest_open(BM_DIGEST_BOTH, &digest, err));
    for (uint64_t at = 0; got == BLOCK_BYTES; at += got) {
        const int code = bm_pread_all(fd, block, BLOCK_BYTES, at, &got);
        if (code != 0)
            BM_TRY_OUT(bm_fail_errno(err, code, path, "cannot read"));
        add_part(part, &e->sealed, (bm_str){block, got}, at);
        BM_TRY_OUT(bm_digest_add(digest, block, got, err));
    }
    status = bm_digest_end(digest, &e->of, err);
out:
    bm_digest_close(digest);
    bm_free(block);
    return status;
}

/* The digests of a file of which a part is compared. */
static bm_status digest_sealed(int fd, const char *path, bm_out_entry *e, bm_error *err)
{
    bm_stream_hash *part = NULL;
    BM_TRY(bm_stream_hash_open(bm_isa_best(), &part, err));
    bm_stream_hash_begin(part);
    const bm_status status = read_through(fd, path, part, e, err);
    const bm_hash128 is = bm_stream_hash_end(part), was = e->sealed.sum;
    bm_stream_hash_close(part);
    BM_TRY(status);
    return is.lo == was.lo && is.hi == was.hi
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                            "is not what an interrupted job wrote (begin anew with `force`)");
}

static bm_status digest_entry(int fd, const char *path, bm_out_entry *e, bm_error *err)
{
    start_writing(fd);
    if (e->digested)
        return BM_OK;
    bm_status status = e->sealed.to != 0 ? digest_sealed(fd, path, e, err)
                                         : bm_digests_fd(fd, path, BM_DIGEST_BOTH, &e->of, err);
    e->digested = status == BM_OK;
    return status;
}

static bm_status sync_entry(int fd, const char *path, bm_out_entry *e, bm_error *err)
{
    if (fsync(fd) != 0)
        return bm_fail_errno(err, errno, path, "cannot sync");
    e->synced = true;
    return BM_OK;
}

/* A step for each file that is not synced yet. */
static bm_status for_each_entry(bm_out_entries *list, bm_out_entries_at at, step_fn *step,
                                bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < list->n && status == BM_OK; i++) {
        bm_out_entry *e = &list->rows[i];
        char *path = NULL;
        if (e->synced)
            continue;
        status = bm_string_format(&path, err, "%s/%s/%s", at.path, BM_OUT_NEW, e->name);
        if (status != BM_OK)
            break;
        const char *below = path + strlen(at.path) + 1;
        int fd = e->fd >= 0 ? e->fd : openat(at.folder, below, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            status = bm_fail_errno(err, errno, path, "cannot open");
        else
            status = step(fd, path, e, err);
        if (fd >= 0 && fd != e->fd)
            close(fd);
        bm_free(path);
        if (list->meter != NULL && !list->finished)
            bm_meter_progress(list->meter, ++list->n_told, 2 * list->n, 0);
    }
    return status;
}

bm_status bm_out_entries_sync(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
{
    bm_status status = BM_OK;
    if (list->n > HELD_FILES && !list->finished && syncfs(at.folder) != 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, at.path, "cannot sync"));
    status = for_each_entry(list, at, sync_entry, err);
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
    return strcmp(((const bm_out_entry *)a)->name, ((const bm_out_entry *)b)->name);
}

bm_status bm_out_entries_write(const bm_out_entries *list, unsigned kind, bm_json *out,
                               bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < list->n; i++) {
        const bm_out_entry *e = &list->rows[i];
        name.len = 0;
        BM_TRY_OUT(bm_tsv_escape(&name, (bm_str){e->name, strlen(e->name)}, err));
        BM_TRY_OUT(bm_buf_end(&name, err));
        bm_json_key(out, name.data);
        bm_json_text(out, kind == BM_DIGEST_SHA256 ? e->of.sha256 : e->of.xxh3);
    }
    bm_json_end_object(out);
    BM_TRY_OUT(bm_json_finish(out, err));
    out->buf.data[--out->buf.len] = '\0'; /* the newline */
out:
    bm_buf_reset(&name);
    return status;
}

bm_status bm_out_entries_finish(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
{
    if (list->n > 1)
        qsort(list->rows, list->n, sizeof *list->rows, by_name);
    bm_status status = BM_OK;
    BM_TRY_OUT(for_each_entry(list, at, digest_entry, err));
    status = bm_out_entries_sync(list, at, err);
out:
    list->finished = status == BM_OK;
    return status;
}

void bm_out_entries_reset(bm_out_entries *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->rows[i].fd >= 0)
            close(list->rows[i].fd);
        bm_free(list->rows[i].name);
    }
    bm_free(list->rows);
    *list = (bm_out_entries){0};
}
