/* store_record.c -- see store_record.h.
 *
 * Tests: tests/unit/store/test_store_record.c, tests/unit/store/test_store_damage.c */
#include "store/store_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"
#include "store/le_bytes.h"
#include "store/store.h"

#define MAGIC      UINT64_C(0x54494D4D4F434D42) /* "BMCOMMIT" */
#define FIXED      offsetof(bm_store_record, spans)
#define SUM_BYTES  sizeof(uint64_t)
#define SPANS_MOST ((BM_RECORD_SLOT - FIXED - SUM_BYTES) / sizeof(bm_page_span))
/* Bytes of each slot that are allocated at the start, so that a full disk stops few commits. */
#define ALLOCATED ((size_t)16 << 10)

void bm_store_record_reset(bm_store_record *record)
{
    bm_free(record->spans);
    *record = (bm_store_record){0};
}

/* The sum of the record's bytes in the file. */
static uint64_t sum_of(const bm_store_record *record)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, record, FIXED);
    XXH3_64bits_update(&state, record->spans, (size_t)record->n_spans * sizeof *record->spans);
    return XXH3_64bits_digest(&state);
}

/* --- the file --- */

/* BM_NOT_FOUND: there is no whole one in this slot. */
static bm_status read_slot(int fd, uint32_t slot, bm_store_record *out, bm_error *err)
{
    const uint64_t place = slot * BM_RECORD_SLOT;
    uint64_t sum;
    size_t got = 0;
    if (bm_pread_all(fd, out, FIXED, place, &got) != 0 || got < FIXED || out->magic != MAGIC ||
        out->n_spans > SPANS_MOST)
        return BM_NOT_FOUND;
    const size_t n = (size_t)out->n_spans, bytes = n * sizeof *out->spans;
    BM_TRY(bm_grow_array(&out->spans, &out->cap_spans, n + 1, err)); /* and the sum behind them */
    out->slot = slot;
    if (bm_pread_all(fd, out->spans, bytes + SUM_BYTES, place + FIXED, &got) != 0 ||
        got < bytes + SUM_BYTES)
        return BM_NOT_FOUND;
    memcpy(&sum, out->spans + n, SUM_BYTES);
    return sum == sum_of(out) ? BM_OK : BM_NOT_FOUND;
}

static bm_status damaged(const bm_store_place *place, bm_error *err, const char *what)
{
    return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0, "%s", what);
}

static bm_status open_record(const bm_store_place *place, int flags, int *fd, bm_error *err)
{
    struct stat info;
    *fd = openat(place->dir, BM_STORE_RECORD, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == ENOENT)
        return damaged(place, err,
                       "it has no " BM_STORE_RECORD
                       ": an index that was not finished, a part of one "
                       "(copy all of its directory), or one of an earlier version (`index build` "
                       "makes a new one)");
    if (*fd < 0 && errno != ELOOP)
        return bm_fail_errno(err, errno, place->path, "cannot open its " BM_STORE_RECORD);
    if (*fd >= 0 && fstat(*fd, &info) == 0 && S_ISREG(info.st_mode) &&
        ((flags & O_ACCMODE) == O_RDONLY || info.st_nlink == 1))
        return BM_OK;
    if (*fd >= 0)
        close(*fd);
    return damaged(place, err, "its " BM_STORE_RECORD " is a link or no file, or has another name");
}

bm_status bm_store_record_read(const bm_store_place *place, bm_store_record *out, bm_error *err)
{
    bm_store_record found[2] = {{0}, {0}};
    bm_status is[2];
    int fd;
    BM_TRY(open_record(place, O_RDONLY, &fd, err));
    for (uint32_t slot = 0; slot < 2; slot++)
        is[slot] = read_slot(fd, slot, &found[slot], err);
    close(fd);
    const unsigned last = is[0] != BM_OK || (is[1] == BM_OK && found[1].txn > found[0].txn);
    bm_status status = is[0] == BM_ERR_NOMEM ? is[0] : is[last];
    if (status == BM_NOT_FOUND)
        status = damaged(place, err, "the index is damaged: its " BM_STORE_RECORD);
    else if (status == BM_OK && found[last].version != BM_STORE_VERSION)
        status = bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                            "an index of version %" PRIu32
                            " (this is for %u): `index build` makes a new one",
                            found[last].version, BM_STORE_VERSION);
    if (status == BM_OK) {
        const bm_store_record old = *out;
        *out = found[last];
        found[last] = old;
    }
    bm_store_record_reset(&found[0]);
    bm_store_record_reset(&found[1]);
    return status;
}

/* By LMDB's first page, or where that is damaged by a record that is whole. */
bool bm_store_is(const char *dir)
{
    bm_store_place place = {.data = -1};
    bm_store_record record = {0};
    uint8_t head[24];
    size_t got = 0;
    place.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is = place.dir >= 0 && bm_store_place_data(&place, NULL) == BM_OK;
    if (is && (bm_pread_all(place.data, head, sizeof head, 0, &got) != 0 || got < sizeof head ||
               bm_le32_get(head + 16) != UINT32_C(0xBEEFC0DE)))
        is = bm_store_record_read(&place, &record, NULL) == BM_OK;
    bm_store_record_reset(&record);
    bm_store_place_close(&place);
    return is;
}

/* A record (NULL: none) into a slot of the file, with zeros behind it up to ALLOCATED. */
static bm_status put(const bm_store_place *place, uint32_t slot, int flags,
                     const bm_store_record *record, bm_error *err)
{
    const size_t spans = record != NULL ? (size_t)record->n_spans * sizeof *record->spans : 0;
    const size_t size = FIXED + spans + SUM_BYTES, room = size < ALLOCATED ? ALLOCATED : size;
    uint8_t *bytes = NULL;
    int fd;
    BM_TRY(open_record(place, O_RDWR | flags, &fd, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&bytes, room, err));
    if (record != NULL) {
        const uint64_t sum = sum_of(record);
        memcpy(bytes, record, FIXED);
        memcpy(bytes + FIXED, record->spans, spans);
        memcpy(bytes + FIXED + spans, &sum, SUM_BYTES);
    }
    int code = bm_pwrite_all(fd, bytes, room, slot * BM_RECORD_SLOT);
    if (code == 0 && record != NULL && fdatasync(fd) != 0)
        code = errno;
    if (code != 0)
        status = bm_fail_errno(err, code, place->path, "cannot write its " BM_STORE_RECORD);
out:
    bm_free(bytes);
    close(fd);
    return status;
}

bm_status bm_store_record_prepare(const bm_store_place *place, uint32_t slot, bool make,
                                  bm_error *err)
{
    return put(place, 1 - slot, make ? O_CREAT | O_EXCL : 0, NULL, err);
}

bm_status bm_store_record_write(const bm_store_place *place, bm_store_record *record, bm_error *err)
{
    if (record->n_spans > SPANS_MOST)
        return bm_fail_at(err, BM_ERR_INPUT, place->path, 0, "the index is too large");
    record->magic = MAGIC;
    record->version = BM_STORE_VERSION;
    BM_TRY(put(place, 1 - record->slot, 0, record, err));
    record->slot = 1 - record->slot;
    return BM_OK;
}

/* --- sums --- */

bool bm_store_record_sum(bm_store_record *record, const uint8_t *bytes, size_t size)
{
    const uint64_t page = record->page_bytes, pages = page > 0 ? size / page : 0;
    XXH3_state_t state;
    if (pages < 2)
        return false;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < record->n_spans; i++) {
        const bm_page_span *span = &record->spans[i];
        if (span->first > pages || span->n > pages - span->first)
            return false;
        XXH3_64bits_update(&state, bytes + span->first * page, span->n * page);
    }
    record->tree = XXH3_64bits_digest(&state);
    record->first[0] = XXH3_64bits(bytes, page);
    record->first[1] = XXH3_64bits(bytes + page, page);
    return true;
}

bool bm_store_record_holds(const bm_store_record *record, const uint8_t *bytes, size_t size)
{
    bm_store_record now = *record; /* borrows the spans */
    const unsigned own = record->txn % 2;
    return bm_store_record_sum(&now, bytes, size) && now.tree == record->tree &&
           now.first[own] == record->first[own];
}
