/* out_entries.c -- first all digests, by pieces and on all threads, then all syncs.
 *
 * A file that is closed is not synced at once: the system begins to write it to the disk while it
 * is being written, and most of it is there by the end. Finish takes all digests first, from the
 * system's memory, while the system writes what is left of each, and syncs then. The first HELD_FILES
 * files keep their descriptors until then; the others are opened again. With more files than that one
 * syncfs goes first, so that ten thousand fsyncs find nothing left to do.
 *
 * Tests: tests/unit/output/test_out_dir.c, tests/fault/full_disk_calls.c */
#include "output/out_entries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"
#include "output/digest_files.h"
#include "output/out_file_inside.h"
#include "output/out_state.h"
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
    added->bytes = file->written;
    added->pieces = file->pieces;
    file->fd = -1;
    file->name = NULL;
    file->pieces = NULL;
    list->n++;
    return BM_OK;
}

/* An entry, open: *owned: not for long. */
static bm_status open_entry(const bm_out_entry *e, bm_out_entries_at at, const char *path, int *fd,
                            bool *owned, bm_error *err)
{
    const char *below = path + strlen(at.path) + 1;
    *owned = e->fd < 0;
    *fd = *owned ? openat(at.folder, below, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : e->fd;
    return *fd >= 0 ? BM_OK : bm_fail_errno(err, errno, path, "cannot open");
}

static bm_status path_of(const bm_out_entry *e, bm_out_entries_at at, char **out, bm_error *err)
{
    return bm_string_format(out, err, "%s/%s/%s", at.path, BM_OUT_NEW, e->name);
}

/* So that all files are on their way to the disk when the first is waited for. Advice only. */
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
    bm_out_entries *list;
    bm_out_entries_at at;
    bm_digest_file *files; /* an entry each */
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

/* Is the part of a file what was sealed? */
static bm_status compare_part(const digesting *d, size_t index, bm_error *err)
{
    const bm_out_entry *e = &d->list->rows[index];
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

static bool has_sealed(const bm_out_entries *list)
{
    size_t i = 0;
    while (i < list->n && list->rows[i].sealed.to == 0)
        i++;
    return i < list->n;
}

/* Rooms for the pieces of an entry, and what digesting asks of it. */
static bm_status describe(bm_out_entry *e, bm_out_entries_at at, bm_digest_file *out, bm_error *err)
{
    char *path = NULL;
    e->n_pieces = bm_digest_count_pieces(e->bytes, BM_FILE_PIECE_BYTES);
    if (e->pieces == NULL)
        BM_TRY(bm_new_zero(&e->pieces, e->n_pieces, err));
    BM_TRY(path_of(e, at, &path, err));
    *out = (bm_digest_file){path, e->bytes, e->pieces};
    return BM_OK;
}

static bm_status digest_entries(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
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
    list->n_told = list->n;
out:
    for (size_t i = 0; d.files != NULL && i < list->n; i++)
        bm_free((char *)d.files[i].shown);
    bm_free(d.files);
    return status;
}

/* --- syncs --- */

static bm_status sync_entry(bm_out_entry *e, bm_out_entries_at at, bm_error *err)
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

static bm_status sync_entries(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->rows[i].synced)
            continue;
        BM_TRY(sync_entry(&list->rows[i], at, err));
        if (list->meter != NULL && !list->finished)
            bm_meter_progress(list->meter, ++list->n_told, 2 * list->n, 0);
    }
    return BM_OK;
}

bm_status bm_out_entries_sync(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
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
    return strcmp(((const bm_out_entry *)a)->name, ((const bm_out_entry *)b)->name);
}

/* Begin the member of a file. `name` is room for it. */
static bm_status write_key(const bm_out_entry *e, bm_buf *name, bm_json *out, bm_error *err)
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
    out->buf.data[--out->buf.len] = '\0'; /* the newline */
    return BM_OK;
}

bm_status bm_out_entries_write(const bm_out_entries *list, unsigned kind, bm_json *out,
                               bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < list->n; i++) {
        const bm_out_entry *e = &list->rows[i];
        BM_TRY_OUT(write_key(e, &name, out, err));
        bm_json_text(out, kind == BM_DIGEST_SHA256 ? e->of.sha256 : e->of.xxh3);
    }
    status = end_object(out, err);
out:
    bm_buf_reset(&name);
    return status;
}

bm_status bm_out_entries_write_pieces(const bm_out_entries *list, bm_json *out, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    bm_json_begin_object(out);
    for (size_t i = 0; i < list->n; i++) {
        const bm_out_entry *e = &list->rows[i];
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

bm_status bm_out_entries_finish(bm_out_entries *list, bm_out_entries_at at, bm_error *err)
{
    if (list->n > 1)
        qsort(list->rows, list->n, sizeof *list->rows, by_name);
    bm_status status = BM_OK;
    BM_TRY_OUT(digest_entries(list, at, err));
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
        bm_free(list->rows[i].pieces);
    }
    bm_free(list->rows);
    *list = (bm_out_entries){0};
}
