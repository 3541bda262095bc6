/* store_env.h -- the environment of LMDB: transactions, and a map that grows before it is full.
 *
 * What is put goes into a transaction that is open until its values are 16 MiB; then it is committed and the next
 * begun. None of these is waited for in the order of the disk, but each is whole: only bm_store_env_commit
 * makes sure. The room that a transaction may take is added to the map before it begins, so that MDB_MAP_FULL
 * cannot come in the midst of one. */
#ifndef BM_STORE_STORE_ENV_H
#define BM_STORE_STORE_ENV_H

#include <lmdb.h>

#include "base/shared_library.h"
#include "store/piece.h"

/* The functions of liblmdb that the store calls; the library is opened with an index. */
#define BM_LMDB_FUNCTIONS(X)                                                                       \
    X(mdb_env_create)                                                                              \
    X(mdb_env_open)                                                                                \
    X(mdb_env_close)                                                                               \
    X(mdb_env_set_mapsize)                                                                         \
    X(mdb_env_set_maxreaders)                                                                      \
    X(mdb_env_set_flags)                                                                           \
    X(mdb_env_sync)                                                                                \
    X(mdb_env_info)                                                                                \
    X(mdb_env_stat)                                                                                \
    X(mdb_env_get_fd)                                                                              \
    X(mdb_reader_check)                                                                            \
    X(mdb_txn_begin)                                                                               \
    X(mdb_txn_commit)                                                                              \
    X(mdb_txn_abort)                                                                               \
    X(mdb_txn_id)                                                                                  \
    X(mdb_dbi_open)                                                                                \
    X(mdb_stat)                                                                                    \
    X(mdb_cursor_open)                                                                             \
    X(mdb_cursor_get)                                                                              \
    X(mdb_cursor_close)                                                                            \
    X(mdb_put)                                                                                     \
    X(mdb_del)                                                                                     \
    X(mdb_strerror)

typedef struct bm_lmdb_library {
    BM_LMDB_FUNCTIONS(BM_LIBRARY_MEMBER)
} bm_lmdb_library;

/* BM_ERR_IO: it is not installed. BM_ERR_NOMEM. */
bm_status bm_lmdb_library_open(bm_lmdb_library *lib, bm_error *err);
/* "`what`: " and what the code means, of `file`. Damage is BM_ERR_FORMAT, what the system says as in
 * bm_fail_errno, the rest BM_ERR_IO. */
bm_status bm_lmdb_fail(const bm_lmdb_library *lib, int code, const char *file, const char *what,
                       bm_error *err);

typedef struct bm_store_env {
    bm_lmdb_library lib;
    MDB_env *env;     /* NULL: none */
    const char *name; /* for messages; borrowed */
    MDB_txn *txn;     /* that is being written; NULL: none */
    MDB_dbi table;    /* of keys, in txn */
    uint64_t bytes;   /* that were put into it */
    bool together;    /* until the commit all goes into one transaction */
} bm_store_env;

typedef struct bm_store_env_cfg {
    const char *path;    /* of the directory, or with MDB_NOSUBDIR of the file */
    const char *name;    /* for messages */
    unsigned flags;      /* MDB_NOTLS is added */
    uint64_t file_bytes; /* that it has now */
} bm_store_env_cfg;

/* *out: {0} before. */
bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err);
void bm_store_env_close(bm_store_env *env); /* {0} is fine; what was not committed is gone */

/* A value of `size` bytes, to be filled before the next call for this environment. */
bm_status bm_store_env_put(bm_store_env *env, const bm_piece_key *key, size_t size, void **value,
                           bm_error *err);
/* BM_OK also where there is none. */
bm_status bm_store_env_del(bm_store_env *env, const bm_piece_key *key, bm_error *err);
/* Make readable what was put. */
bm_status bm_store_env_flush(bm_store_env *env, bm_error *err);
/* From here to the commit all of `bytes` goes into one transaction. */
bm_status bm_store_env_together(bm_store_env *env, uint64_t bytes, bm_error *err);
/* All that was put is on the disk. */
bm_status bm_store_env_commit(bm_store_env *env, bm_error *err);

/* A transaction that reads: while it is open, nothing that it sees is written over. */
bm_status bm_store_env_read(bm_store_env *env, MDB_txn **out, bm_error *err);

#endif
