/* store_env.c -- see store_env.h.
 *
 * Tests: tests/fault/store_calls.c */
#include "store/store_env.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/whole_io.h"
#include "spill/spill_file.h"
#include "store/store_place.h"

#define TXN_BYTES   (UINT64_C(16) << 20)
#define MAP_STEP    (UINT64_C(64) << 20)
#define PROBE_BYTES (UINT64_C(1) << 20)
#define RESIZES     16   /* of one look: no writer makes it larger so often meanwhile */
#define MODE        0666 /* the umask takes its part */

static const char *const names[] = {BM_LMDB_FUNCTIONS(BM_LIBRARY_NAME) NULL};

bm_status bm_lmdb_library_open(bm_lmdb_library *lib, bm_error *err)
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

/* LMDB says EIO where the system wrote less than it was asked to, which it does on a disk that is full, at
 * a quota and at the limit of a file's size; it does not ask for the rest, which would tell the cause. That
 * is asked for here, by writing as far behind in a file without a name beside it. */
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

bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err)
{
    *out = (bm_store_env){.name = cfg->name};
    BM_TRY(bm_lmdb_library_open(&out->lib, err));
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

/* The map has room for a transaction of `bytes` values, its branches and leaves and its lists of free pages.
 * None is being written. */
static int make_room(bm_store_env *env, uint64_t bytes)
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
    int rc = make_room(env, bytes > TXN_BYTES ? bytes : TXN_BYTES);
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

/* A transaction that takes `more` bytes is open. */
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
    const uint64_t size = UINT64_C(256) << 10; /* few values a transaction */
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
        if (rc == MDB_MAP_RESIZED && resizes++ < RESIZES) { /* another process has made it larger */
            rc = env->lib.mdb_env_set_mapsize(env->env, 0);
        } else if (rc == MDB_READERS_FULL && !cleared) { /* of processes that were killed */
            rc = env->lib.mdb_reader_check(env->env, &dead);
            cleared = true;
        }
        if (rc != 0)
            return fail(env, rc, "cannot read the index", err);
    }
}
