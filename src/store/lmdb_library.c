/* lmdb_library.c -- see lmdb_library.h.
 *
 * Tests: tests/unit/store/test_store_errors.c */
#include "store/lmdb_library.h"

#include "base/error.h"

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
