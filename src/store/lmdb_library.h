/* lmdb_library.h -- what the store calls of liblmdb, which is opened when an index is. */
#ifndef BM_STORE_LMDB_LIBRARY_H
#define BM_STORE_LMDB_LIBRARY_H

#include <lmdb.h>

#include <bandmill/status.h>

#include "base/shared_library.h"

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

#endif
