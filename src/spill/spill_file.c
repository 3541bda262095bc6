/* spill_file.c -- appending through one buffer, reading by pread.
 *
 * A record that does not fit into the rest of the buffer sends the buffer away; one longer than the
 * buffer goes to the file directly. The checksum is seeded with the record's place: the same bytes
 * at another place are another record. */
#include "spill/spill_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"

#define SPILL_MAGIC   "bmspill1"
#define SPILL_VERSION 1u
#define KIND_SHIFT    56
#define SHOWN         "temporary file under --temp-dir"

typedef struct file_header {
    char magic[8];
    uint32_t kind, version;
    uint64_t reserved, check;
} file_header;

_Static_assert(sizeof(file_header) == BM_SPILL_HEADER, "the header is what its name says");
_Static_assert(sizeof(bm_spill_head) == BM_SPILL_RECORD, "the record's too");

/* --- opening --- */

static int open_nameless(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/.bandmill-spill.XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

/* What messages call it. */
static const char *shown(const bm_spill_file *file)
{
    return file->path != NULL ? file->path : file->dir;
}

bm_status bm_spill_io_error(const bm_spill_file *file, int errnum, const char *what, bm_error *err)
{
    char message[128];
    snprintf(message, sizeof message, "%s a temporary file", what);
    return bm_fail_errno(err, errnum, shown(file), message);
}

bm_status bm_spill_make(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err)
{
    bm_spill_file *file = bm_alloc_zero(1, sizeof *file);
    if (file == NULL)
        return bm_fail_nomem(err, sizeof *file);
    file->kind = kind;
    file->fd = -1;
    file->cap = buffer < BM_SPILL_HEADER ? BM_SPILL_HEADER : buffer;
    file->buffer = bm_alloc(file->cap, 1);
    file->dir = bm_strdup(dir);
    if (file->buffer == NULL || file->dir == NULL) {
        size_t cap = file->cap;
        bm_spill_close(file);
        return bm_fail_nomem(err, cap);
    }
    *out = file;
    return BM_OK;
}

bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err)
{
    bm_spill_file *file = NULL;
    bm_status status = bm_spill_make(dir, kind, buffer, &file, err);
    if (status != BM_OK)
        return status;
    if ((file->fd = open_nameless(dir)) < 0) {
        status = bm_spill_io_error(file, errno, "cannot make", err);
        bm_spill_close(file);
        return status;
    }
    file_header header = {.kind = (uint32_t)kind, .version = SPILL_VERSION};
    memcpy(header.magic, SPILL_MAGIC, sizeof header.magic);
    header.check = XXH3_64bits(&header, offsetof(file_header, check));
    memcpy(file->buffer, &header, sizeof header);
    file->used = sizeof header;
    *out = file;
    return BM_OK;
}

void bm_spill_close(bm_spill_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    bm_free(file->buffer);
    bm_free(file->dir);
    bm_free(file->path);
    bm_free(file);
}

/* --- appending --- */

static bm_status write_all(bm_spill_file *file, const void *data, size_t len, bm_error *err)
{
    const char *from = data;
    while (len > 0) {
        ssize_t n = pwrite(file->fd, from, len, (off_t)file->flushed);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return bm_spill_io_error(file, n == 0 ? ENOSPC : errno, "cannot write", err);
        from += n;
        len -= (size_t)n;
        file->flushed += (uint64_t)n;
    }
    return BM_OK;
}

bm_status bm_spill_flush(bm_spill_file *file, bm_error *err)
{
    size_t used = file->used;
    file->used = 0;
    return write_all(file, file->buffer, used, err);
}

static bm_status put(bm_spill_file *file, const void *data, size_t len, bm_error *err)
{
    if (len > file->cap - file->used) {
        bm_status status = bm_spill_flush(file, err);
        if (status != BM_OK)
            return status;
    }
    if (len > file->cap)
        return write_all(file, data, len, err);
    if (len > 0)
        memcpy(file->buffer + file->used, data, len);
    file->used += len;
    return BM_OK;
}

static bm_spill_head make_header(bm_spill_kind kind, const void *data, size_t len, uint64_t place)
{
    return (bm_spill_head){.kind_len = (uint64_t)kind << KIND_SHIFT | (uint64_t)len,
                           .check = XXH3_64bits_withSeed(data, len, place)};
}

static bm_status add(bm_spill_file *file, bm_spill_kind kind, const void *data, size_t len,
                     bm_error *err)
{
    bm_spill_head header = make_header(kind, data, len, bm_spill_bytes(file));
    bm_status status = put(file, &header, sizeof header, err);
    return status == BM_OK ? put(file, data, len, err) : status;
}

bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *place,
                       bm_error *err)
{
    uint64_t at = bm_spill_bytes(file);
    if (file->sealed)
        return bm_fail(err, BM_ERR_INTERNAL, "a sealed %s is not added to", SHOWN);
    bm_status status = add(file, file->kind, data, len, err);
    if (status != BM_OK)
        return status;
    file->n_records++;
    if (place != NULL)
        *place = at;
    return BM_OK;
}

bm_status bm_spill_finish(bm_spill_file *file, bm_error *err)
{
    uint64_t counts[2] = {file->n_records, bm_spill_bytes(file)};
    bm_status status = add(file, BM_SPILL_SEAL, counts, sizeof counts, err);
    file->sealed = status == BM_OK;
    return status == BM_OK ? bm_spill_flush(file, err) : status;
}

/* --- reading --- */

bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t place, const char *how,
                           bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, shown(file), 0,
                      "a temporary file is damaged at byte %llu: %s (what was written)",
                      (unsigned long long)place, how);
}

bm_status bm_spill_pull(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err)
{
    char *to = data;
    uint64_t at = place;
    while (len > 0) {
        ssize_t n = pread(file->fd, to, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_spill_io_error(file, errno, "cannot read", err);
        if (n == 0)
            return bm_spill_damaged(file, at, "it ends there", err);
        to += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return BM_OK;
}

bm_status bm_spill_compare(const bm_spill_file *file, bm_spill_kind kind,
                           const bm_spill_head *header, uint64_t place, const void *data,
                           size_t len, bm_error *err)
{
    bm_spill_head wanted = make_header(kind, data, len, place);
    if (header->kind_len != wanted.kind_len)
        return bm_spill_damaged(file, place, "another record is there", err);
    if (header->check != wanted.check)
        return bm_spill_damaged(file, place, "the checksum differs", err);
    return BM_OK;
}

#define SMALL_BYTES 4080u /* a header and a payload of these are read in one call */

bm_status bm_spill_read(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err)
{
    bm_spill_head header;
    bm_status status;
    if (len <= SMALL_BYTES) {
        char small[sizeof header + SMALL_BYTES];
        status = bm_spill_pull(file, place, small, sizeof header + len, err);
        if (status != BM_OK)
            return status;
        memcpy(&header, small, sizeof header);
        if (len > 0)
            memcpy(data, small + sizeof header, len);
    } else {
        status = bm_spill_pull(file, place, &header, sizeof header, err);
        if (status == BM_OK)
            status = bm_spill_pull(file, place + sizeof header, data, len, err);
        if (status != BM_OK)
            return status;
    }
    return bm_spill_compare(file, file->kind, &header, place, data, len, err);
}

bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err)
{
    file_header header;
    bm_status status = bm_spill_pull(file, 0, &header, sizeof header, err);
    if (status != BM_OK)
        return status;
    if (memcmp(header.magic, SPILL_MAGIC, sizeof header.magic) != 0 ||
        header.kind != (uint32_t)file->kind || header.version != SPILL_VERSION ||
        header.check != XXH3_64bits(&header, offsetof(file_header, check)))
        return bm_spill_damaged(file, 0, "the header differs", err);
    return BM_OK;
}

uint64_t bm_spill_length(const bm_spill_head *head)
{
    return head->kind_len & ((UINT64_C(1) << KIND_SHIFT) - 1);
}

bm_status bm_spill_check(const bm_spill_file *file, bm_error *err)
{
    bm_buf payload = {0};
    uint64_t place = BM_SPILL_HEADER, n_records = 0;
    bm_status status = bm_spill_check_header(file, err);
    while (status == BM_OK) {
        bm_spill_head header;
        status = bm_spill_pull(file, place, &header, sizeof header, err);
        size_t len = (size_t)bm_spill_length(&header);
        bool last = header.kind_len >> KIND_SHIFT == BM_SPILL_SEAL;
        if (status == BM_OK && len > file->flushed - place)
            status = bm_spill_damaged(file, place, "the record is longer than the file", err);
        payload.len = 0;
        if (status == BM_OK)
            status = bm_buf_reserve(&payload, len + 2 * sizeof(uint64_t), err);
        if (status == BM_OK)
            status = bm_spill_pull(file, place + sizeof header, payload.data, len, err);
        if (status == BM_OK)
            status = bm_spill_compare(file, last ? BM_SPILL_SEAL : file->kind, &header, place,
                                      payload.data, len, err);
        if (status != BM_OK)
            break;
        if (last) {
            uint64_t counts[2] = {0};
            memcpy(counts, payload.data, len < sizeof counts ? len : sizeof counts);
            if (counts[0] != n_records || counts[1] != place)
                status = bm_spill_damaged(file, place, "its counts differ", err);
            break;
        }
        place += sizeof header + len;
        n_records++;
    }
    bm_buf_reset(&payload);
    return status;
}

uint64_t bm_spill_bytes(const bm_spill_file *file)
{
    return file->flushed + file->used;
}

uint64_t bm_spill_records(const bm_spill_file *file)
{
    return file->n_records;
}

int bm_spill_fd(const bm_spill_file *file)
{
    return file->fd;
}

bm_status bm_spill_room(const char *dir, uint64_t bytes, bm_error *err)
{
    struct statvfs info;
    if (statvfs(dir, &info) != 0)
        return bm_fail_errno(err, errno, dir, "cannot hold temporary files");
    uint64_t room = (uint64_t)info.f_bavail * info.f_frsize;
    if (info.f_blocks == 0 || bytes <= room)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_IO, dir, 0,
                      "%llu MiB are needed for temporary files and %llu MiB are free (see "
                      "--temp-dir, --memory)",
                      (unsigned long long)(bytes >> 20), (unsigned long long)(room >> 20));
}
