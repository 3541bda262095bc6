/* SPDX-License-Identifier: Apache-2.0 */
/* spill_file.c -- a temporary file: appends records through one buffer, and reads by pread.
 *
 * If a record does not fit into the rest of the buffer, the buffer is written first. A record
 * longer than the buffer is written directly.
 *
 * Tests: tests/fault/spill_calls.c, tests/unit/spill/test_spill_file.c,
 *        tests/unit/spill/test_spill_saved.c */
#include "spill/spill_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/temp_file.h"

/* === spill record ===
 *
 * Reads and writes the bytes of a temporary file, always as many as requested, and checks
 * records. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SPILL_MAGIC   "bmspill1"
#define SPILL_VERSION 1u
#define KIND_SHIFT    56

typedef struct file_header {
    char magic[8];
    uint32_t kind, version;
    uint64_t reserved, check;
} file_header;

_Static_assert(sizeof(file_header) == BM_SPILL_HEADER, "the header is what its name says");
_Static_assert(sizeof(bm_spill_head) == BM_SPILL_RECORD, "so is that of a record");

bm_status bm_spill_make(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err)
{
    bm_spill_file *file = NULL;
    BM_TRY(bm_new_zero(&file, 1, err));
    file->kind = kind;
    file->fd = -1;
    file->cap = buffer < BM_SPILL_HEADER ? BM_SPILL_HEADER : buffer;
    file->buffer = bm_alloc(file->cap, 1);
    file->dir = bm_strdup(dir);
    if (file->buffer == NULL || file->dir == NULL) {
        size_t cap = file->cap;
        bm_spill_free(file);
        return bm_fail_nomem(err, cap);
    }
    *out = file;
    return BM_OK;
}

void bm_spill_free(bm_spill_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    bm_free_all(file->buffer, file->dir, file->path, file);
}

/* --- messages --- */

/* The name that messages use for the file; if it has none, its directory. */
static const char *shown(const bm_spill_file *file)
{
    return file->path != NULL ? file->path : file->dir;
}

/* Fail with BM_ERR_IO and "`what` a temporary file". If a write failed, the message names the
 * option for another directory. */
static bm_status spill_io_error(const bm_spill_file *file, int errnum, const char *what,
                                bm_error *err)
{
    char message[128];
    snprintf(message, sizeof message, "%s a temporary file", what);
    return strcmp(what, "cannot read") == 0 ? bm_fail_errno(err, errnum, shown(file), message)
                                            : bm_fail_temp_file(err, errnum, shown(file), message);
}

bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t offset, const char *how,
                           bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, shown(file), 0,
                      "a temporary file is damaged at byte %llu: %s (what was written)",
                      (unsigned long long)offset, how);
}

/* --- the header of the file --- */

static file_header header_of(const bm_spill_file *file)
{
    file_header header = {.kind = (uint32_t)file->kind, .version = SPILL_VERSION};
    memcpy(header.magic, SPILL_MAGIC, sizeof header.magic);
    header.check = XXH3_64bits(&header, offsetof(file_header, check));
    return header;
}

/* Write the header into the empty buffer. */
static void spill_put_header(bm_spill_file *file)
{
    file_header header = header_of(file);
    memcpy(file->buffer, &header, sizeof header);
    file->used = sizeof header;
}

bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err)
{
    file_header header, wanted = header_of(file);
    BM_TRY(bm_spill_pull(file, 0, &header, sizeof header, err));
    if (memcmp(&header, &wanted, sizeof header) != 0)
        return bm_spill_damaged(file, 0, "the header differs", err);
    return BM_OK;
}

/* --- bytes --- */

static bm_status spill_push(bm_spill_file *file, const void *data, size_t len, bm_error *err)
{
    const int code = bm_pwrite_all(file->fd, data, len, file->flushed);
    if (code != 0)
        return spill_io_error(file, code, "cannot write", err);
    file->flushed += len;
    return BM_OK;
}

bm_status bm_spill_pull(const bm_spill_file *file, uint64_t offset, void *data, size_t len,
                        bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(file->fd, data, len, offset, &got);
    if (code != 0)
        return spill_io_error(file, code, "cannot read", err);
    return got == len ? BM_OK : bm_spill_damaged(file, offset + got, "it ends there", err);
}

/* --- records --- */

static bm_spill_head spill_head_of(const bm_spill_record *record)
{
    return (bm_spill_head){.kind_len = (uint64_t)record->kind << KIND_SHIFT | (uint64_t)record->len,
                           .check =
                               XXH3_64bits_withSeed(record->data, record->len, record->offset)};
}

uint64_t bm_spill_length(const bm_spill_head *head)
{
    return head->kind_len & ((UINT64_C(1) << KIND_SHIFT) - 1);
}

bm_status bm_spill_compare(const bm_spill_file *file, const bm_spill_head *head,
                           const bm_spill_record *record, bm_error *err)
{
    bm_spill_head wanted = spill_head_of(record);
    if (head->kind_len != wanted.kind_len)
        return bm_spill_damaged(file, record->offset, "another record is there", err);
    if (head->check != wanted.check)
        return bm_spill_damaged(file, record->offset, "the checksum differs", err);
    return BM_OK;
}

/* a payload of up to this size is read together with its head by one call */
#define SMALL_BYTES 4080u
#define PUT_BYTES   ((size_t)64 << 10)
#define GET_BYTES   ((size_t)64 << 10)
/* a gap counts as near if it is at most this many times the record's length */
#define GET_NEAR 4u

/* --- opening --- */

bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err)
{
    bm_spill_file *file = NULL;
    BM_TRY(bm_spill_make(dir, kind, buffer, &file, err));
    bm_status status = BM_OK;
    if ((file->fd = bm_open_nameless(dir)) < 0) {
        status = spill_io_error(file, errno, "cannot make", err);
        bm_spill_free(file);
        return status;
    }
    spill_put_header(file);
    *out = file;
    return BM_OK;
}

void bm_spill_close(bm_spill_file *file)
{
    bm_spill_free(file);
}

/* --- appending --- */

bm_status bm_spill_flush(bm_spill_file *file, bm_error *err)
{
    size_t used = file->used;
    file->used = 0;
    return spill_push(file, file->buffer, used, err);
}

static bm_status put(bm_spill_file *file, const void *data, size_t len, bm_error *err)
{
    if (len > file->cap - file->used)
        BM_TRY(bm_spill_flush(file, err));
    if (len > file->cap)
        return spill_push(file, data, len, err);
    if (len > 0)
        memcpy(file->buffer + file->used, data, len);
    file->used += len;
    return BM_OK;
}

bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *offset,
                       bm_error *err)
{
    const bm_spill_record record = {
        .kind = file->kind, .offset = bm_spill_bytes(file), .data = data, .len = len};
    const bm_spill_head head = spill_head_of(&record);
    BM_TRY(put(file, &head, sizeof head, err));
    BM_TRY(put(file, data, len, err));
    file->n_records++;
    if (offset != NULL)
        *offset = record.offset;
    return BM_OK;
}

bm_status bm_spill_reserve(bm_spill_file *file, uint64_t n, uint64_t bytes, uint64_t *offset,
                           bm_error *err)
{
    BM_TRY(bm_spill_flush(file, err));
    *offset = file->flushed;
    file->flushed += bytes;
    file->n_records += n;
    return BM_OK;
}

static bm_status write_at(const bm_spill_file *file, uint64_t offset, const void *data, size_t len,
                          bm_error *err)
{
    const int code = bm_pwrite_all(file->fd, data, len, offset);
    return code == 0 ? BM_OK : spill_io_error(file, code, "cannot write", err);
}

static bm_status empty(bm_spill_put *put, bm_error *err)
{
    const size_t len = put->buf.len;
    put->buf.len = 0;
    if (len == 0)
        return BM_OK;
    return write_at(put->file, put->offset, put->buf.data, len, err);
}

bm_status bm_spill_put_add(bm_spill_put *put, uint64_t offset, const void *data, size_t len,
                           bm_error *err)
{
    const bm_spill_record record = {
        .kind = put->file->kind, .offset = offset, .data = data, .len = len};
    const bm_spill_head head = spill_head_of(&record);
    const bool is_long = len > PUT_BYTES - sizeof head;
    if (put->offset + put->buf.len != offset || is_long ||
        put->buf.len + sizeof head + len > PUT_BYTES)
        BM_TRY(empty(put, err));
    if (put->buf.len == 0)
        put->offset = offset;
    BM_TRY(bm_buf_reserve(&put->buf, PUT_BYTES - put->buf.len, err));
    BM_TRY(bm_buf_add(&put->buf, &head, sizeof head, err));
    return is_long ? write_at(put->file, offset + sizeof head, data, len, err)
                   : bm_buf_add(&put->buf, data, len, err);
}

bm_status bm_spill_put_end(bm_spill_put *put, bm_status status, bm_error *err)
{
    const bm_status last = status != BM_OK ? status : empty(put, err);
    bm_buf_reset(&put->buf);
    return last;
}

/* --- reading --- */

bm_status bm_spill_read(const bm_spill_file *file, uint64_t offset, void *data, size_t len,
                        bm_error *err)
{
    bm_spill_head head;
    bm_spill_record record = {.kind = file->kind, .offset = offset, .data = data, .len = len};
    if (len <= SMALL_BYTES) {
        char small[sizeof head + SMALL_BYTES];
        BM_TRY(bm_spill_pull(file, offset, small, sizeof head + len, err));
        memcpy(&head, small, sizeof head);
        if (len > 0)
            memcpy(data, small + sizeof head, len);
    } else {
        BM_TRY(bm_spill_pull(file, offset, &head, sizeof head, err));
        BM_TRY(bm_spill_pull(file, offset + sizeof head, data, len, err));
    }
    return bm_spill_compare(file, &head, &record, err);
}

/* Read at least `whole` bytes from `offset` on. If `offset` follows the bytes in the buffer
 * closely, read twice as many bytes as last time, up to GET_BYTES. */
static bm_status get_more(bm_spill_get *get, uint64_t offset, size_t whole, bm_error *err)
{
    const uint64_t end = get->offset + get->buf.len, flushed = get->file->flushed,
                   left = flushed > offset ? flushed - offset : 0;
    size_t len = offset >= end && offset - end <= GET_NEAR * (uint64_t)whole ? 2 * get->buf.len : 0;
    len = len > GET_BYTES ? GET_BYTES : len < whole ? whole : len;
    get->buf.len = 0;
    BM_TRY(bm_buf_reserve(&get->buf, GET_BYTES, err));
    len = len < left ? len : left > whole ? (size_t)left : whole;
    BM_TRY(bm_spill_pull(get->file, offset, get->buf.data, len, err));
    get->offset = offset;
    get->buf.len = len;
    return BM_OK;
}

bm_status bm_spill_get_read(bm_spill_get *get, uint64_t offset, void *data, size_t len,
                            bm_error *err)
{
    const bm_spill_record record = {
        .kind = get->file->kind, .offset = offset, .data = data, .len = len};
    bm_spill_head head;
    const size_t whole = sizeof head + len;
    if (whole > GET_BYTES)
        return bm_spill_read(get->file, offset, data, len, err);
    if (offset < get->offset || offset + whole > get->offset + get->buf.len)
        BM_TRY(get_more(get, offset, whole, err));
    const char *at = get->buf.data + (offset - get->offset);
    memcpy(&head, at, sizeof head);
    memcpy(data, at + sizeof head, len);
    return bm_spill_compare(get->file, &head, &record, err);
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

bm_status bm_spill_check_space(const char *dir, uint64_t bytes, bm_error *err)
{
    struct statvfs info;
    if (statvfs(dir, &info) != 0)
        return bm_fail_errno(err, errno, dir, "cannot hold temporary files");
    uint64_t room = (uint64_t)info.f_bavail * info.f_frsize;
    if (info.f_blocks == 0 || bytes <= room)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_IO, dir, 0,
                      "%llu MiB are needed for temporary files and %llu MiB are free (see "
                      "`temp_dir`, `memory`)",
                      (unsigned long long)(bytes >> 20), (unsigned long long)(room >> 20));
}
