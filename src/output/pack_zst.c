/* pack_zst.c -- frames of zst by libzstd, level 3, with a checksum.
 *
 * Tests: tests/unit/output/test_out_file.c */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "output/pack.h"

#define LEVEL 3

#define FUNCTIONS(X)                                                                               \
    X(ZSTD_createCCtx)                                                                             \
    X(ZSTD_freeCCtx)                                                                               \
    X(ZSTD_CCtx_setParameter)                                                                      \
    X(ZSTD_compressBound)                                                                          \
    X(ZSTD_compress2)                                                                              \
    X(ZSTD_getErrorCode)                                                                           \
    X(ZSTD_isError)                                                                                \
    X(ZSTD_getErrorName)

typedef struct libzstd {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libzstd;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct zst {
    libzstd lib;
    ZSTD_CCtx *context;
} zst;

static bm_status zst_open(void **state, bm_error *err)
{
    zst *z = *state = bm_alloc_zero(1, sizeof *z);
    if (z == NULL)
        return bm_fail_nomem(err, sizeof *z);
    BM_TRY(bm_shared_library_open(BM_SONAME_ZSTD, names, &z->lib, err));
    ZSTD_CCtx *c = z->context = z->lib.ZSTD_createCCtx();
    if (c != NULL &&
        !z->lib.ZSTD_isError(z->lib.ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL)) &&
        !z->lib.ZSTD_isError(z->lib.ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
        return BM_OK;
    return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
}

static void zst_close(void *state)
{
    zst *z = state;
    if (z != NULL && z->context != NULL)
        z->lib.ZSTD_freeCCtx(z->context);
    bm_free(z);
}

static size_t zst_bound(void *state, size_t n)
{
    zst *z = state;
    return z->lib.ZSTD_compressBound(n);
}

static bm_packed zst_block(void *state, bm_str in, char *out, size_t cap, size_t *len)
{
    zst *z = state;
    const size_t n = z->lib.ZSTD_compress2(z->context, out, cap, in.data, in.len);
    if (z->lib.ZSTD_isError(n))
        return (bm_packed){z->lib.ZSTD_getErrorName(n),
                           z->lib.ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation};
    *len = n;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_zst = {
    .name = "zst", .open = zst_open, .bound = zst_bound, .block = zst_block, .close = zst_close};
