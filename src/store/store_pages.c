/* SPDX-License-Identifier: Apache-2.0 */
/* store_pages.c -- see store_pages.h.
 *
 * Tests: tests/fault/store_calls.c, tests/unit/store/test_store_damage.c,
 *        tests/unit/store/test_store_processes.c, tests/unit/store/test_store_record.c,
 *        tests/unit/store/test_store_state.c */
#include "store/store_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "model/ids.h"
#include "spill/spill_file.h"

/* === store env === */

#define TXN_BYTES   (UINT64_C(16) << 20)
#define MAP_STEP    (UINT64_C(64) << 20)
#define PROBE_BYTES (UINT64_C(1) << 20)
#define RESIZES     16   /* attempts to begin a read while writers enlarge the map */
#define MODE        0666 /* the umask applies */

static const char *const names[] = {BM_LMDB_FUNCTIONS(BM_LIBRARY_NAME) NULL};

/* BM_ERR_IO: liblmdb is not installed. BM_ERR_NOMEM. */
static bm_status open_library(bm_lmdb_library *lib, bm_error *err)
{
    return bm_shared_library_open(BM_SONAME_LMDB, names, lib, err);
}

bm_status bm_lmdb_fail(const bm_lmdb_library *lib, int code, const char *file, const char *what,
                       bm_error *err)
{
    if (code > 0)
        return bm_fail_errno(err, code, file, what);
    const bool damaged = code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND ||
                         code == MDB_INVALID || code == MDB_VERSION_MISMATCH ||
                         code == MDB_INCOMPATIBLE;
    const bm_status status = damaged ? BM_ERR_FORMAT : BM_ERR_IO;
    bm_fail_at(err, status, file, 0, "%s: %s", what, lib->mdb_strerror(code));
    if (err != NULL)
        err->code = code;
    return status;
}

/* If a write is short, as on a full disk, at a quota, or at the limit of a file's size, LMDB
 * returns EIO. Only a further write would show the cause, and LMDB does not try it. So this
 * function writes to an unnamed file in the same directory, at the offset at which the data file
 * ends. Returns the cause, or EIO if the write does not show it. */
static int cause_of(const bm_store_env *env)
{
    static const char block[64 << 10];
    char *path = NULL;
    bm_spill_file *file = NULL;
    struct stat data;
    bm_error err = {0};
    if (bm_string_format(&path, NULL, "%s/" BM_STORE_DATA, env->name) == BM_OK &&
        stat(path, &data) == 0)
        bm_spill_open(env->name, BM_SPILL_RUN, sizeof block, &file, &err);
    int code = (int)err.code;
    for (uint64_t at = 0; file != NULL && code == 0 && at < PROBE_BYTES; at += sizeof block)
        code = bm_pwrite_all(bm_spill_fd(file), block, sizeof block, (uint64_t)data.st_size + at);
    bm_spill_close(file);
    bm_free(path);
    return code == ENOSPC || code == EDQUOT || code == EFBIG ? code : EIO;
}

static bm_status fail(const bm_store_env *env, int rc, const char *what, bm_error *err)
{
    if (rc == EIO)
        rc = cause_of(env);
    return bm_lmdb_fail(&env->lib, rc, env->name, what, err);
}

#define NO_MAPS                                                                                    \
    "its file system has no shared maps or no locks of files, as 9p, vboxsf, some of FUSE and "    \
    "Lustre without flock have not: keep the index on a local disk"

static bool lacks_maps_or_locks(int code)
{
    return code == ENODEV || code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP ||
           code == EINVAL;
}

bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err)
{
    *out = (bm_store_env){.name = cfg->name};
    BM_TRY(open_library(&out->lib, err));
    int rc = out->lib.mdb_env_create(&out->env);
    if (rc == 0)
        rc = out->lib.mdb_env_set_maxreaders(out->env, BM_STORE_READERS);
    if (rc == 0)
        rc = out->lib.mdb_env_set_mapsize(out->env, (cfg->file_bytes / MAP_STEP + 2) * MAP_STEP);
    if (rc == 0)
        rc = out->lib.mdb_env_open(out->env, cfg->path, cfg->flags | MDB_NOTLS, MODE);
    if (rc == 0)
        return BM_OK;
    bm_status status = fail(out, rc, "cannot open the index", err);
    if (lacks_maps_or_locks(rc))
        bm_error_advise(err, NO_MAPS);
    bm_store_env_close(out);
    return status;
}

void bm_store_env_close(bm_store_env *env)
{
    if (env->txn != NULL)
        env->lib.mdb_txn_abort(env->txn);
    if (env->env != NULL)
        env->lib.mdb_env_close(env->env);
    *env = (bm_store_env){0};
}

/* Grow the map until it has room for a transaction: `bytes` of values, branch and leaf pages, and
 * the lists of free pages. No transaction may be open for writing. */
static int grow_map(bm_store_env *env, uint64_t bytes)
{
    MDB_envinfo info;
    MDB_stat stat;
    int rc = env->lib.mdb_env_info(env->env, &info);
    if (rc == 0)
        rc = env->lib.mdb_env_stat(env->env, &stat);
    if (rc != 0)
        return rc;
    const uint64_t used = ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
    const uint64_t need = used + used / 64 + bytes + bytes / 8 + MAP_STEP;
    if (need <= info.me_mapsize)
        return 0;
    return env->lib.mdb_env_set_mapsize(env->env,
                                        (need + need / 4) / MAP_STEP * MAP_STEP + MAP_STEP);
}

static bm_status begin(bm_store_env *env, uint64_t bytes, bm_error *err)
{
    int rc = grow_map(env, bytes > TXN_BYTES ? bytes : TXN_BYTES);
    if (rc == 0)
        rc = env->lib.mdb_txn_begin(env->env, NULL, 0, &env->txn);
    if (rc == 0)
        rc = env->lib.mdb_dbi_open(env->txn, NULL, 0, &env->table);
    env->bytes = 0;
    return rc == 0 ? BM_OK : fail(env, rc, "cannot write to the index", err);
}

static bm_status end(bm_store_env *env, bool synced, bm_error *err)
{
    env->together = false;
    if (env->txn == NULL)
        return BM_OK;
    MDB_txn *txn = env->txn;
    env->txn = NULL;
    int rc = env->lib.mdb_env_set_flags(env->env, MDB_NOMETASYNC, !synced);
    if (rc == 0)
        rc = env->lib.mdb_txn_commit(txn);
    else
        env->lib.mdb_txn_abort(txn);
    return rc == 0 ? BM_OK : fail(env, rc, "cannot write to the index", err);
}

bm_status bm_store_env_flush(bm_store_env *env, bm_error *err)
{
    return end(env, false, err);
}

bm_status bm_store_env_commit(bm_store_env *env, bm_error *err)
{
    return end(env, true, err);
}

/* Ensure that a transaction with room for `more` bytes is open. */
static bm_status open_for(bm_store_env *env, uint64_t more, bm_error *err)
{
    if (env->txn != NULL && !env->together && env->bytes + more > TXN_BYTES) {
        BM_TRY(bm_store_env_flush(env, err));
    }
    return env->txn != NULL ? BM_OK : begin(env, more, err);
}

bm_status bm_store_env_put(bm_store_env *env, const bm_piece_key *key, size_t size, void **value,
                           bm_error *err)
{
    char bytes[BM_PIECE_KEY_BYTES];
    BM_TRY(open_for(env, size, err));
    MDB_val k = {bm_piece_key_write(key, bytes).len, bytes}, v = {size, NULL};
    const int rc = env->lib.mdb_put(env->txn, env->table, &k, &v, MDB_RESERVE);
    if (rc != 0)
        return fail(env, rc, "cannot write to the index", err);
    env->bytes += size;
    *value = v.mv_data;
    return BM_OK;
}

bm_status bm_store_env_del(bm_store_env *env, const bm_piece_key *key, bm_error *err)
{
    char bytes[BM_PIECE_KEY_BYTES];
    /* A deletion is counted as this many bytes, so that a transaction contains few deletions. */
    const uint64_t size = UINT64_C(256) << 10;
    BM_TRY(open_for(env, size, err));
    MDB_val k = {bm_piece_key_write(key, bytes).len, bytes};
    const int rc = env->lib.mdb_del(env->txn, env->table, &k, NULL);
    env->bytes += size;
    return rc == 0 || rc == MDB_NOTFOUND ? BM_OK : fail(env, rc, "cannot write to the index", err);
}

bm_status bm_store_env_together(bm_store_env *env, uint64_t bytes, bm_error *err)
{
    BM_TRY(open_for(env, bytes, err));
    env->together = true;
    return BM_OK;
}

bm_status bm_store_env_read(bm_store_env *env, MDB_txn **out, bm_error *err)
{
    int resizes = 0;
    for (bool cleared = false;;) {
        int dead, rc = env->lib.mdb_txn_begin(env->env, NULL, MDB_RDONLY, out);
        if (rc == 0)
            return BM_OK;
        if (rc == MDB_MAP_RESIZED && resizes++ < RESIZES) { /* another process enlarged the map */
            rc = env->lib.mdb_env_set_mapsize(env->env, 0);
        } else if (rc == MDB_READERS_FULL && !cleared) { /* all slots are taken: free those of
                                                            killed processes */
            rc = env->lib.mdb_reader_check(env->env, &dead);
            cleared = true;
        }
        if (rc != 0)
            return fail(env, rc, "cannot read the index", err);
    }
}

/* === store record === */

#define MAGIC      UINT64_C(0x54494D4D4F434D42) /* "BMCOMMIT" */
#define FIXED      offsetof(bm_store_record, spans)
#define SUM_BYTES  sizeof(uint64_t)
#define SPANS_MOST ((BM_RECORD_SLOT - FIXED - SUM_BYTES) / sizeof(bm_page_span))
/* Bytes of each slot that are allocated in advance. Most records fit into these bytes, so few
 * commits can fail on a full disk. */
#define ALLOCATED ((size_t)16 << 10)

void bm_store_record_reset(bm_store_record *record)
{
    bm_free(record->spans);
    *record = (bm_store_record){0};
}

/* The sum of the bytes of a record in the file, except the sum itself. */
static uint64_t sum_of(const bm_store_record *record)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, record, FIXED);
    XXH3_64bits_update(&state, record->spans, (size_t)record->n_spans * sizeof *record->spans);
    return XXH3_64bits_digest(&state);
}

/* --- the file --- */

/* Read the record in a slot. BM_NOT_FOUND: the slot has no intact record. */
static bm_status read_slot(int fd, uint32_t slot, bm_store_record *out, bm_error *err)
{
    const uint64_t place = slot * BM_RECORD_SLOT;
    uint64_t sum;
    size_t got = 0;
    if (bm_pread_all(fd, out, FIXED, place, &got) != 0 || got < FIXED || out->magic != MAGIC ||
        out->n_spans > SPANS_MOST)
        return BM_NOT_FOUND;
    const size_t n = (size_t)out->n_spans, bytes = n * sizeof *out->spans;
    BM_TRY(bm_grow_array(&out->spans, &out->cap_spans, n + 1, err)); /* room for the spans and the
                                                                      * sum after them */
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

/* Does the data file belong to an index? It does if its first page is LMDB's. If it is not, that
 * page may be damaged. Then a record in the directory shows that there is an index. */
static bm_status is_index(const bm_store_place *place, bool *is, bm_error *err)
{
    uint8_t head[24];
    size_t got = 0;
    const int code = bm_pread_all(place->data, head, sizeof head, 0, &got);
    if (code != 0)
        return bm_fail_errno(err, code, place->path, "cannot read its " BM_STORE_DATA);
    *is = got == sizeof head && bm_le32_get(head + 16) == UINT32_C(0xBEEFC0DE);
    return *is ? BM_OK
               : bm_look_at(place->dir, BM_STORE_RECORD, AT_SYMLINK_NOFOLLOW, is, NULL, err);
}

bm_status bm_store_is(const char *dir, bool *is, bm_error *err)
{
    bm_store_place place = {.data = -1};
    *is = false;
    place.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place.dir < 0)
        return bm_errno_is_absence(errno) ? BM_OK
                                          : bm_fail_errno(err, errno, dir, "cannot look at");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_copy_text(dir, &place.path, err));
    status = bm_store_place_data(&place, err);
    if (status == BM_OK)
        status = is_index(&place, is, err);
    else if (status == BM_ERR_FORMAT) /* there is no record */
        status = BM_OK;
out:
    bm_store_place_close(&place);
    return status;
}

/* Write a record into a slot of the file, padded with zeros to at least ALLOCATED bytes. If
 * `record` is NULL, write only zeros. */
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

bool bm_store_record_matches(const bm_store_record *record, const uint8_t *bytes, size_t size)
{
    bm_store_record now = *record; /* a copy; it borrows the spans */
    const unsigned own = record->txn % 2;
    return bm_store_record_sum(&now, bytes, size) && now.tree == record->tree &&
           now.first[own] == record->first[own];
}

#define FREE_TABLE  0u /* the number that LMDB gives to the table of free pages */
#define FIRST_PAGE  2u /* the first page after the two that describe the last two transactions */
#define VALUE_AT    (BM_PIECE_PAGE - BM_PIECE_HEAD) /* offset of a value in pages of its own */
#define MAP_ALIGNED ((uint32_t)sysconf(_SC_PAGESIZE))

typedef struct reading {
    const bm_pages_of *of;
    bm_piece_refs *pieces;
    bm_store_record *out;
    uint64_t *owned; /* one bit for each page; 1: the page is known to be free, or to be part of a
                        value */
    size_t cap_owned;
    uint64_t n_owned, last_owned;
    size_t last_freed; /* the transaction that freed the pages of the list that was read last */
    bm_error *err;
} reading;

static bm_status pages_damaged(const reading *r, const char *what)
{
    return bm_fail(r->err, BM_ERR_FORMAT, "the index is damaged: %s", what);
}

static bool is_owned(const reading *r, uint64_t page)
{
    return page / 64 < r->cap_owned && (r->owned[page / 64] >> page % 64 & 1) != 0;
}

/* Mark the pages first … first+n-1 as owned. Pages after the end of the file are accepted,
 * because free pages at the end may never have been written. */
static bm_status own(reading *r, uint64_t first, uint64_t n)
{
    const uint64_t most = r->of->size / r->out->page_bytes + r->of->size / sizeof(size_t);
    const size_t cap = r->cap_owned;
    if (first < FIRST_PAGE || first > most || n == 0 || n > most - first + 1)
        return pages_damaged(r, "it names a page that is not there");
    const uint64_t last = first + n - 1;
    BM_TRY(bm_grow_array(&r->owned, &r->cap_owned, (size_t)(last / 64 + 1), r->err));
    memset(r->owned + cap, 0, (r->cap_owned - cap) * sizeof *r->owned);
    for (uint64_t page = first; page <= last; page++) {
        if (is_owned(r, page))
            return pages_damaged(r, "a page is used twice");
        r->owned[page / 64] |= UINT64_C(1) << page % 64;
    }
    r->n_owned += n;
    r->last_owned = last > r->last_owned ? last : r->last_owned;
    return BM_OK;
}

static bm_status visit_piece(reading *r, const MDB_val *key, const MDB_val *value)
{
    bm_piece_refs *to = r->pieces;
    BM_TRY(bm_grow_array(&to->list, &to->cap, to->n + 1, r->err));
    bm_piece_ref *ref = &to->list[to->n++];
    if (!bm_piece_key_read((bm_str){key->mv_data, key->mv_size}, &ref->key) ||
        value->mv_size > UINT32_MAX)
        return pages_damaged(r, "it has a key that none writes");
    if (to->n > 1 && bm_piece_key_order(&ref[-1].key, &ref->key) >= 0)
        return pages_damaged(r, "its keys are not in order");
    ref->size = (uint32_t)value->mv_size;
    ref->bytes = value->mv_data; /* so far an address in LMDB's map */
    return BM_OK;
}

/* Mark the pages that one transaction freed. The value is their count, followed by their
 * numbers. */
static bm_status visit_free(reading *r, const MDB_val *key, const MDB_val *value)
{
    const char *at = value->mv_data;
    size_t n = 0, page, txn = 0;
    if (key->mv_size == sizeof txn)
        memcpy(&txn, key->mv_data, sizeof txn);
    if (value->mv_size >= sizeof n)
        memcpy(&n, at, sizeof n);
    if (txn <= r->last_freed || value->mv_size < sizeof n || n > value->mv_size / sizeof n - 1)
        return pages_damaged(r, "a list of free pages");
    r->last_freed = txn;
    for (size_t i = 1; i <= n; i++) {
        memcpy(&page, at + i * sizeof page, sizeof page);
        BM_TRY(own(r, page, 1));
    }
    r->out->n_free += n;
    return BM_OK;
}

static bm_status walk(reading *r, MDB_dbi table,
                      bm_status (*fn)(reading *r, const MDB_val *key, const MDB_val *value))
{
    const bm_lmdb_library *lib = &r->of->env->lib;
    MDB_cursor *cursor;
    MDB_val key, value;
    bm_status status = BM_OK;
    int rc = lib->mdb_cursor_open(r->of->txn, table, &cursor);
    if (rc != 0)
        return bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
    while ((rc = lib->mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        BM_TRY_OUT(fn(r, &key, &value));
    if (rc != MDB_NOTFOUND)
        status = bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
out:
    lib->mdb_cursor_close(cursor);
    return status;
}

/* Set *base to the address of page 0 in LMDB's map. The value at the lowest address begins on some
 * page of LMDB's map. The number of this page is found by comparing bytes: it is the first page of
 * the file, after the first two, that is not free and has the same bytes. */
static bm_status find_base(const reading *r, const uint8_t **base)
{
    const size_t page_bytes = r->out->page_bytes;
    const uint8_t *low = r->pieces->n > 0 ? r->pieces->list[0].bytes : NULL;
    for (size_t i = 1; i < r->pieces->n; i++)
        low = r->pieces->list[i].bytes < low ? r->pieces->list[i].bytes : low;
    low -= (uintptr_t)low % page_bytes;
    const uint64_t pages = r->of->size / page_bytes;
    for (uint64_t page = FIRST_PAGE; page < pages; page++)
        if (!is_owned(r, page) && memcmp(r->of->bytes + page * page_bytes, low, page_bytes) == 0) {
            *base = low - page * page_bytes;
            return BM_OK;
        }
    return pages_damaged(r, "a value is not in the file");
}

/* Change the addresses of the pieces to addresses in our map. Mark the pages of the pieces that
 * have pages of their own. These pages must be n_pages in number. */
static bm_status place_pieces(reading *r, uint64_t n_pages)
{
    const size_t page_bytes = r->out->page_bytes;
    const uint8_t *base = NULL;
    XXH3_state_t heads;
    if (r->pieces->n > 0)
        BM_TRY(find_base(r, &base));
    XXH3_64bits_reset(&heads);
    for (size_t i = 0; i < r->pieces->n; i++) {
        bm_piece_ref *ref = &r->pieces->list[i];
        const uintptr_t at = (uintptr_t)ref->bytes - (uintptr_t)base;
        if (at > r->of->size || ref->size > r->of->size - at)
            return pages_damaged(r, "a value is not in the file");
        ref->bytes = r->of->bytes + at;
        if (at % page_bytes != VALUE_AT)
            continue;
        const uint64_t n = (VALUE_AT + (uint64_t)ref->size + page_bytes - 1) / page_bytes;
        BM_TRY(own(r, at / page_bytes, n));
        XXH3_64bits_update(&heads, ref->bytes - VALUE_AT, VALUE_AT);
        n_pages -= n;
    }
    r->out->heads = XXH3_64bits_digest(&heads);
    return n_pages == 0 ? BM_OK : pages_damaged(r, "a value has other pages than LMDB counts");
}

/* List the pages that are neither free nor part of a value. They are LMDB's own, n_pages in number.
 * The number of the last page follows from n_pages. */
static bm_status list_spans(reading *r, uint64_t n_pages)
{
    bm_store_record *out = r->out;
    out->last_page = FIRST_PAGE + r->n_owned + n_pages - 1;
    if (r->last_owned > out->last_page || n_pages > r->of->size / out->page_bytes)
        return pages_damaged(r, "a page is neither in use nor free");
    for (uint64_t page = FIRST_PAGE; page <= out->last_page; page++) {
        if (is_owned(r, page))
            continue;
        bm_page_span *last = out->n_spans > 0 ? &out->spans[out->n_spans - 1] : NULL;
        if (last != NULL && last->first + last->n == page) {
            last->n++;
            continue;
        }
        BM_TRY(bm_grow_array(&out->spans, &out->cap_spans, out->n_spans + 1, r->err));
        out->spans[out->n_spans++] = (bm_page_span){page, 1};
    }
    return BM_OK;
}

static bm_status read_all(reading *r)
{
    const bm_lmdb_library *lib = &r->of->env->lib;
    MDB_dbi table;
    MDB_stat keys, unused;
    int rc = lib->mdb_dbi_open(r->of->txn, NULL, 0, &table);
    if (rc == 0)
        rc = lib->mdb_stat(r->of->txn, table, &keys);
    if (rc == 0)
        rc = lib->mdb_stat(r->of->txn, FREE_TABLE, &unused);
    if (rc != 0)
        return bm_lmdb_fail(lib, rc, r->of->env->name, "cannot read the index", r->err);
    r->out->page_bytes = keys.ms_psize;
    r->out->txn = lib->mdb_txn_id(r->of->txn);
    if (keys.ms_psize == 0 || MAP_ALIGNED % keys.ms_psize != 0)
        return bm_fail(r->err, BM_ERR_FORMAT,
                       "an index of a machine with larger pages (or a damaged one)");
    BM_TRY(walk(r, table, visit_piece));
    BM_TRY(walk(r, FREE_TABLE, visit_free));
    BM_TRY(place_pieces(r, keys.ms_overflow_pages));
    return list_spans(r, keys.ms_branch_pages + keys.ms_leaf_pages + unused.ms_branch_pages +
                             unused.ms_leaf_pages + unused.ms_overflow_pages);
}

bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err)
{
    reading r = {.of = of, .pieces = pieces, .out = out, .err = err};
    pieces->n = out->n_spans = 0;
    out->n_free = 0;
    const bm_status status = read_all(&r);
    bm_free(r.owned);
    return status;
}

/* --- in a child process, which calls LMDB and exits: nothing in the parent changes --- */

static bm_status read_anew(const bm_store_place *place, bool slot, bm_error *err)
{
    bm_store_env env = {0};
    bm_piece_refs pieces = {NULL, 0, 0};
    bm_store_record record = {0};
    struct stat info;
    MDB_txn *txn = NULL;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    if (info.st_size == 0)
        return bm_fail(err, BM_ERR_FORMAT, "it is empty");
    const bm_store_env_cfg cfg = {bm_store_place_name(place), place->path,
                                  MDB_RDONLY | (slot ? 0 : MDB_NOLOCK), (uint64_t)info.st_size};
    BM_TRY(bm_store_env_open(&cfg, &env, err));
    BM_TRY(bm_store_env_read(&env, &txn, err));
    if (fstat(place->data, &info) != 0) /* the file may have grown meanwhile */
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    const bm_pages_of of = {&env, txn,
                            mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, place->data, 0),
                            (size_t)info.st_size};
    if (of.bytes == MAP_FAILED)
        return bm_fail_errno(err, errno, place->path, "cannot read the index");
    const bm_status status = bm_pages_read(&of, &pieces, &record, err);
    env.lib.mdb_txn_abort(txn); /* frees the child's slot in lock.mdb */
    bm_store_env_close(&env);
    return status;
}

/* Does the error mean that the file is damaged? True for an error of LMDB itself, and for a system
 * error that an impossible size causes. */
static bool is_damage(const bm_error *err)
{
    return err->code < 0 || err->code == EINVAL || err->code == ENOMEM || err->code == EOVERFLOW ||
           err->code == EFBIG;
}

/* The code of the child process: call read_anew, and write the status to `out` as one byte. The
 * child may crash anywhere. Its memory need not be freed. */
_Noreturn static void run_child(const bm_store_place *place, bool slot, int out)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct rlimit none = {0, 0};
    bm_error err = {0};
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        signal(ends[i], SIG_DFL);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (nothing >= 0)
        (void)dup2(nothing, STDERR_FILENO); /* discards the messages of assertions in LMDB */
    bm_status status = read_anew(place, slot, &err);
    if (status != BM_OK && is_damage(&err))
        status = BM_ERR_FORMAT;
    const uint8_t byte = (uint8_t)status;
    _exit(write(out, &byte, 1) == 1 ? 0 : 1);
}

bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err)
{
    const char *name = place->path;
    int ends[2];
    uint8_t byte = (uint8_t)BM_ERR_FORMAT; /* the status if the child crashes */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return bm_fail_errno(err, errno, name, "cannot look at the index");
    const pid_t child = fork();
    if (child == 0)
        run_child(place, slot, ends[1]);
    const int code = errno;
    close(ends[1]);
    while (child > 0 && read(ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        return bm_fail_errno(err, code, name, "cannot look at the index in a child");
    if (byte == BM_OK)
        return BM_OK;
    if (byte == BM_ERR_NOMEM || byte == BM_ERR_IO)
        return bm_fail_at(err, (bm_status)byte, name, 0, "a child cannot read the index");
    return bm_fail_at(err, BM_ERR_FORMAT, name, 0, "the index is damaged: LMDB cannot read it");
}

/* === store state === */

#define TEXTS       (1u + BM_STORE_NOTES)
#define NUMBERS     (11u + TEXTS) /* numbers of 64 bits in a state */
#define STATE_FIXED (BM_PIECE_HEAD_BYTES + 16u + 8u * NUMBERS)
#define RUN_WORDS   4u

_Static_assert(sizeof(bm_store_run) == 8 * RUN_WORDS, "a run is its words");

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err)
{
    if (state->n_runs == BM_STORE_RUNS)
        return bm_fail(err, BM_ERR_INTERNAL, "more runs than merging leaves");
    state->runs[state->n_runs++] = *run;
    return BM_OK;
}

/* --- as bytes --- */

static bm_str text_of(const bm_state *state, size_t i)
{
    return i == 0 ? state->facts.settings : state->notes[i - 1];
}

/* How many numbers a state of BM_STATE_VERSION has beyond NUMBERS. */
#define MORE 4u

static size_t n_more(uint32_t version)
{
    return version == BM_STORE_VERSION ? 0 : version == BM_STORE_VERSION + 1 ? 1 : MORE;
}

size_t bm_state_size(const bm_state *state)
{
    size_t size = STATE_FIXED + MORE * sizeof(uint64_t) + state->n_runs * sizeof state->runs[0];
    for (size_t i = 0; i < TEXTS; i++)
        size += text_of(state, i).len;
    return size;
}

static uint8_t *put_all(uint8_t *at, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++, at += 8)
        bm_le64_put(at, numbers[i]);
    return at;
}

static const uint8_t *get_all(const uint8_t *at, uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++, at += 8)
        numbers[i] = bm_le64_get(at);
    return at;
}

void bm_state_write(const bm_state *state, void *out)
{
    const bm_store_counts *c = &state->counts;
    const bm_piece_head head = {.kind = BM_PIECE_STATE, .n = (uint32_t)state->n_runs};
    const uint64_t numbers[NUMBERS] = {
        state->index,        state->commit,      c->documents,
        c->removed,          c->empty,           c->shingles,
        c->text_bytes,       c->next_number,     state->next_run,
        state->tail_first,   state->n_runs,      state->facts.settings.len,
        state->notes[0].len, state->notes[1].len};
    bm_piece_begin(out, &head);
    uint8_t *at = (uint8_t *)out + BM_PIECE_HEAD_BYTES;
    bm_le32_put(at, BM_STATE_VERSION);
    bm_le32_put(at + 4, (uint32_t)state->facts.kind);
    bm_le32_put(at + 8, state->facts.bands);
    bm_le32_put(at + 12, state->facts.words);
    at = put_all(at + 16, numbers, NUMBERS);
    at = put_all(at, (const uint64_t[]){c->unreadable, c->next_id, c->ids, c->short_docs}, MORE);
    for (size_t i = 0; i < state->n_runs; i++)
        at = put_all(at, &state->runs[i].id, RUN_WORDS);
    for (size_t i = 0; i < TEXTS; at += text_of(state, i++).len)
        if (text_of(state, i).len > 0)
            memcpy(at, text_of(state, i).data, text_of(state, i).len);
    bm_piece_seal(out, bm_state_size(state));
}

static bm_status state_damaged(bm_error *err, const char *what)
{
    return bm_fail(err, BM_ERR_FORMAT, "its state is damaged: %s", what);
}

static bool run_is_possible(const bm_state *state, size_t i)
{
    const bm_store_run *run = &state->runs[i];
    const uint64_t bands = state->facts.bands;
    const bool of_bands = run->first_table == 0 && run->n_tables == bands;
    const bool of_ids = run->first_table == bands && run->n_tables == 1;
    return (i == 0 || run->id > run[-1].id) && run->id < state->next_run && run->entries > 0 &&
           run->entries <= state->counts.next_number && (of_bands || of_ids);
}

static bool counts_are_possible(const bm_state *state)
{
    const bm_store_counts *c = &state->counts;
    const bool none = c->next_number == 0;
    return c->next_number <= BM_DOCS_MAX && c->documents <= c->next_number &&
           c->removed == c->next_number - c->documents && c->empty <= c->documents &&
           c->unreadable <= c->empty && c->short_docs <= c->empty - c->unreadable &&
           c->ids < BM_IDS_ROWS && (c->next_id <= INT64_MAX || c->next_id == BM_NEXT_ID_UNKNOWN) &&
           (none ? state->tail_first == 0 : state->tail_first < c->next_number) &&
           state->facts.kind <= BM_STORE_SIGNATURES && state->n_runs <= BM_STORE_RUNS;
}

bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err)
{
    const uint8_t *at = bytes;
    bm_piece_head head;
    if (!bm_piece_head_of(bytes, size, BM_PIECE_STATE, &head) || size < STATE_FIXED)
        return state_damaged(err, "it is no state");
    at += BM_PIECE_HEAD_BYTES;
    const uint32_t version = bm_le32_get(at);
    if (version < BM_STORE_VERSION || version > BM_STATE_VERSION)
        return bm_fail(err, BM_ERR_FORMAT,
                       "an index of version %" PRIu32
                       " (this is for %u): `index build` makes a new one",
                       version, BM_STATE_VERSION);
    if (!bm_piece_check(bytes, size, BM_PIECE_STATE))
        return state_damaged(err, "its sum is another");
    if (size - STATE_FIXED < n_more(version) * sizeof(uint64_t))
        return state_damaged(err, "its counts cannot be");
    uint64_t w[NUMBERS], more[MORE] = {0, BM_NEXT_ID_UNKNOWN, BM_IDS_UNTYPED, 0};
    *out = (bm_state){.facts = {.kind = (bm_store_kind)bm_le32_get(at + 4),
                                .bands = bm_le32_get(at + 8),
                                .words = bm_le32_get(at + 12)}};
    at = get_all(at + 16, w, NUMBERS);
    out->index = w[0];
    out->commit = w[1];
    out->counts = (bm_store_counts){.documents = w[2],
                                    .removed = w[3],
                                    .empty = w[4],
                                    .shingles = w[5],
                                    .text_bytes = w[6],
                                    .next_number = w[7]};
    at = get_all(at, more, n_more(version));
    out->counts.unreadable = more[0];
    out->counts.short_docs = more[3];
    out->counts.next_id = w[7] == 0 && version != BM_STATE_VERSION ? 0 : more[1];
    out->counts.ids = more[2] < BM_IDS_ROWS ? (bm_id_kind)more[2] : BM_IDS_ROWS;
    out->next_run = w[8];
    out->tail_first = w[9];
    out->n_runs = w[10];
    uint64_t left = size - STATE_FIXED - n_more(version) * sizeof(uint64_t);
    if (!counts_are_possible(out) || out->n_runs * sizeof out->runs[0] > left)
        return state_damaged(err, "its counts cannot be");
    left -= out->n_runs * sizeof out->runs[0];
    for (size_t i = 0; i < out->n_runs; i++) {
        at = get_all(at, &out->runs[i].id, RUN_WORDS);
        if (!run_is_possible(out, i))
            return state_damaged(err, "its lists cannot be");
    }
    for (size_t i = 0; i < TEXTS; i++) {
        const uint64_t len = w[11 + i];
        if (len > left || (i + 1 == TEXTS && len != left))
            return state_damaged(err, "its counts cannot be");
        *(i == 0 ? &out->facts.settings : &out->notes[i - 1]) = (bm_str){(const char *)at, len};
        at += len;
        left -= len;
    }
    return BM_OK;
}

bool bm_state_names(const bm_state *state, const bm_piece_key *key)
{
    size_t i = 0;
    if (key->kind == BM_PIECE_DOCUMENTS)
        return state->counts.next_number > 0 && key->number <= state->tail_first;
    if (key->kind == BM_PIECE_FILTER)
        return key->run < state->next_run;
    while (i < state->n_runs && state->runs[i].id != key->run)
        i++;
    return key->kind != BM_PIECE_POSTINGS || i < state->n_runs;
}

/* === store place === */

#define LOCK_BYTES ((off_t)64 << 10) /* bytes that LMDB needs for BM_STORE_READERS readers */

static int lock(int fd, int how)
{
    int rc;
    while ((rc = flock(fd, how | LOCK_NB)) != 0 && errno == EINTR)
        ;
    return rc == 0 ? 0 : errno;
}

static bm_status in_use(const bm_store_place *place, bm_error *err)
{
    return bm_fail_at(
        err, BM_ERR_LOCKED, place->path, 0,
        "the index is in use by another process that writes to it, or reads it without "
        "a place in its " BM_STORE_LOCK);
}

static bm_status lock_dir(const bm_store_place *place, bm_error *err)
{
    const int rc = lock(place->dir, LOCK_EX);
    if (rc == EWOULDBLOCK)
        return in_use(place, err);
    if (rc == 0)
        return BM_OK;
    const bm_status status = bm_fail_errno(err, rc, place->path, "cannot hold the index");
    if (lacks_maps_or_locks(rc))
        bm_error_advise(err, NO_MAPS);
    return status;
}

static bool is_same(int rc_a, const struct stat *a, int rc_b, const struct stat *b)
{
    return rc_a == 0 && rc_b == 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err)
{
    struct stat ours, theirs;
    BM_TRY(bm_copy_text(path, &out->path, err));
    out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->dir < 0)
        return bm_fail_errno(err, errno, path, "cannot open the index");
    if (alone)
        BM_TRY(lock_dir(out, err));
    const int rc = fstat(out->dir, &ours);
    if (alone && !is_same(rc, &ours, stat(path, &theirs), &theirs)) {
        bm_fail_at(err, BM_ERR_LOCKED, path, 0, "the index is being replaced");
        return BM_NOT_FOUND;
    }
    snprintf(out->name, sizeof out->name, "/proc/self/fd/%d", out->dir);
    if (!is_same(rc, &ours, stat(out->name, &theirs), &theirs))
        out->name[0] = '\0';
    return BM_OK;
}

const char *bm_store_place_name(const bm_store_place *place)
{
    return place->name[0] != '\0' ? place->name : place->path;
}

bm_status bm_store_place_data(bm_store_place *place, bm_error *err)
{
    place->data = openat(place->dir, BM_STORE_DATA, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (place->data < 0 && (errno == ENOENT || errno == ELOOP))
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "no index of bandmill (it has no " BM_STORE_DATA ")");
    if (place->data < 0)
        return bm_fail_errno(err, errno, place->path, "cannot open its " BM_STORE_DATA);
    struct stat info;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read its " BM_STORE_DATA);
    if (!S_ISREG(info.st_mode))
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0, "its " BM_STORE_DATA " is no file");
    return BM_OK;
}

bm_status bm_store_place_map(const bm_store_place *place, bm_error *err)
{
    struct stat info;
    void *first = fstat(place->data, &info) == 0 && info.st_size > 0
                      ? mmap(NULL, 1, PROT_READ, MAP_SHARED, place->data, 0)
                      : NULL;
    if (first == MAP_FAILED && errno != ENOMEM) {
        const bm_status status = bm_fail_errno(err, errno, place->path, "cannot map the index");
        bm_error_advise(err, NO_MAPS);
        return status;
    }
    if (first != NULL && first != MAP_FAILED)
        munmap(first, 1);
    return BM_OK;
}

bm_status bm_store_place_lock_data(const bm_store_place *place, bool alone, bm_error *err)
{
    struct stat info;
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read its " BM_STORE_DATA);
    if (alone && info.st_nlink > 1)
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "its " BM_STORE_DATA
                          " has another name too (a hard link), and would change there (write to a "
                          "copy: cp -a makes one, cp -al does not)");
    /* Other errors are ignored, because some network file systems have no such locks. On these no
     * other process has such a lock either, and the lock of the directory keeps other writers
     * out. */
    if (lock(place->data, alone ? LOCK_EX : LOCK_SH) != EWOULDBLOCK)
        return BM_OK;
    if (alone)
        return in_use(place, err);
    return bm_fail_at(err, BM_ERR_LOCKED, place->path, 0,
                      "the index is being written to, and without a place in its " BM_STORE_LOCK
                      ", which is not there or not this user's, nothing that is read could be "
                      "spared");
}

bool bm_store_place_is_linked(const bm_store_place *place)
{
    struct stat info;
    return fstat(place->data, &info) == 0 && info.st_nlink > 1;
}

bm_status bm_store_place_lock(const bm_store_place *place, bool writes, bool *has_slots,
                              bm_error *err)
{
    struct stat lock_file, data, dir;
    *has_slots = false;
    if (fstatat(place->dir, BM_STORE_LOCK, &lock_file, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT
                   ? BM_OK
                   : bm_fail_errno(err, errno, place->path, "cannot look at its " BM_STORE_LOCK);
    if (S_ISREG(lock_file.st_mode) && lock_file.st_nlink > 1 && !writes &&
        bm_store_place_is_linked(place)) /* a copy made of hard links does not use lock.mdb */
        return BM_OK;
    if (!S_ISREG(lock_file.st_mode) || lock_file.st_nlink != 1)
        return bm_fail_at(err, BM_ERR_FORMAT, place->path, 0,
                          "its " BM_STORE_LOCK
                          " is a link or no file, or has another name too (a hard link), where "
                          "writing would change what is not the index (remove it, or copy the "
                          "index: cp -a)");
    if (fstat(place->data, &data) != 0 || fstat(place->dir, &dir) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot look at the index");
    *has_slots = data.st_nlink == 1 && lock_file.st_uid == geteuid() && dir.st_uid == geteuid() &&
                 lock_file.st_size >= (off_t)BM_STORE_READERS * 64 &&
                 faccessat(place->dir, BM_STORE_LOCK, R_OK | W_OK, AT_EACCESS) == 0;
    return BM_OK;
}

bool bm_store_place_same(const bm_store_place *place, int fd)
{
    struct stat ours, theirs;
    return is_same(fstat(place->data, &ours), &ours, fstat(fd, &theirs), &theirs);
}

bool bm_store_place_is_replaced(const bm_store_place *place)
{
    struct stat ours, theirs;
    char *path = NULL;
    if (bm_string_format(&path, NULL, "%s/" BM_STORE_DATA, place->path) != BM_OK)
        return false;
    const int here = fstat(place->data, &ours), there = stat(path, &theirs);
    bm_free(path);
    return here == 0 && there == 0 && !is_same(here, &ours, there, &theirs);
}

bm_status bm_store_place_reserve_lock(const bm_store_place *place, bm_error *err)
{
    struct stat info;
    bool made = false;
    int fd = openat(place->dir, BM_STORE_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        fd = openat(place->dir, BM_STORE_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        made = fd >= 0;
    }
    if (fd < 0 && errno != ENOSPC && errno != EDQUOT)
        return BM_OK; /* LMDB will report the error */
    int code = fd < 0 ? errno : 0;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        const off_t size = info.st_size > LOCK_BYTES ? info.st_size : LOCK_BYTES;
        if (info.st_blocks < size / 512 && fallocate(fd, 0, 0, size) != 0 &&
            (errno == ENOSPC || errno == EDQUOT)) /* other errors are ignored, since not every file
                                                   * system supports fallocate */
            code = errno;
    }
    if (fd >= 0)
        close(fd);
    if (code != 0 && made)
        unlinkat(place->dir, BM_STORE_LOCK, 0);
    return code == 0 ? BM_OK
                     : bm_fail_errno(err, code, place->path, "no room for its " BM_STORE_LOCK);
}

void bm_store_place_close(bm_store_place *place)
{
    if (place->data >= 0)
        close(place->data);
    if (place->dir >= 0)
        close(place->dir);
    bm_free(place->path);
    *place = (bm_store_place){.dir = -1, .data = -1};
}
