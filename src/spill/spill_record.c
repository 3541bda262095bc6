/* spill_record.c -- the bytes of a temporary file: written and read as a whole, and checked.
 *
 * Tests: tests/unit/spill/test_spill_file.c, tests/unit/spill/test_spill_saved.c
 * Tests: tests/fault/spill_calls.c */
#include "spill/spill_record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"

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
    bm_free(file->buffer);
    bm_free(file->dir);
    bm_free(file->path);
    bm_free(file);
}

/* --- messages --- */

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

bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t place, const char *how,
                           bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, shown(file), 0,
                      "a temporary file is damaged at byte %llu: %s (what was written)",
                      (unsigned long long)place, how);
}

/* --- the header of the file --- */

static file_header header_of(const bm_spill_file *file)
{
    file_header header = {.kind = (uint32_t)file->kind, .version = SPILL_VERSION};
    memcpy(header.magic, SPILL_MAGIC, sizeof header.magic);
    header.check = XXH3_64bits(&header, offsetof(file_header, check));
    return header;
}

void bm_spill_put_header(bm_spill_file *file)
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

bm_status bm_spill_push(bm_spill_file *file, const void *data, size_t len, bm_error *err)
{
    const int code = bm_pwrite_all(file->fd, data, len, file->flushed);
    if (code != 0)
        return bm_spill_io_error(file, code, "cannot write", err);
    file->flushed += len;
    return BM_OK;
}

bm_status bm_spill_pull(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(file->fd, data, len, place, &got);
    if (code != 0)
        return bm_spill_io_error(file, code, "cannot read", err);
    return got == len ? BM_OK : bm_spill_damaged(file, place + got, "it ends there", err);
}

/* --- records --- */

bm_spill_head bm_spill_head_of(const bm_spill_record *record)
{
    return (bm_spill_head){.kind_len = (uint64_t)record->kind << KIND_SHIFT | (uint64_t)record->len,
                           .check = XXH3_64bits_withSeed(record->data, record->len, record->place)};
}

uint64_t bm_spill_length(const bm_spill_head *head)
{
    return head->kind_len & ((UINT64_C(1) << KIND_SHIFT) - 1);
}

bm_spill_kind bm_spill_kind_of(const bm_spill_head *head)
{
    return (bm_spill_kind)(head->kind_len >> KIND_SHIFT);
}

bm_status bm_spill_compare(const bm_spill_file *file, const bm_spill_head *head,
                           const bm_spill_record *record, bm_error *err)
{
    bm_spill_head wanted = bm_spill_head_of(record);
    if (head->kind_len != wanted.kind_len)
        return bm_spill_damaged(file, record->place, "another record is there", err);
    if (head->check != wanted.check)
        return bm_spill_damaged(file, record->place, "the checksum differs", err);
    return BM_OK;
}
