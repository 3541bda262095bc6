/* unpack_zst.c -- frames of Zstandard, by libzstd, with a window of at most 2^27 bytes: a hostile header
 * cannot ask for more.
 *
 * ZSTD_decompressStream() does not say, with an error, what it had written before it in the same call.
 * So it is given what it asked for less the header of the block that follows, which it asks for too:
 * a call decodes one block at most, or reads a header, never both. At the beginning of a frame it is
 * given single bytes, or it would decode a small frame whole. A block that is not compressed is handed
 * on in parts, as they come, and only then found to be too large: hence `pieces`.
 *
 * Tests: tests/unit/input/test_decompress.c */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "input/unpack.h"

#define HEADER_BYTES 3u /* of a block */

#define FUNCTIONS(X)                                                                               \
    X(ZSTD_createDCtx)                                                                             \
    X(ZSTD_freeDCtx)                                                                               \
    X(ZSTD_DCtx_setParameter)                                                                      \
    X(ZSTD_DCtx_reset)                                                                             \
    X(ZSTD_decompressStream)                                                                       \
    X(ZSTD_isError)                                                                                \
    X(ZSTD_getErrorCode)                                                                           \
    X(ZSTD_getErrorName)

typedef struct libzstd {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libzstd;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct zst {
    libzstd lib;
    ZSTD_DCtx *context;
    size_t wanted; /* what it asked for */
    bool full;     /* the room was used up: it may hold more */
} zst;

static void zst_close(void *state)
{
    zst *z = state;
    if (z == NULL)
        return;
    if (z->context != NULL)
        z->lib.ZSTD_freeDCtx(z->context);
    bm_free(z);
}

static bm_status zst_open(void **state, bm_error *err)
{
    zst *z = *state = bm_alloc_zero(1, sizeof *z);
    if (z == NULL)
        return bm_fail_nomem(err, sizeof *z);
    BM_TRY(bm_shared_library_open(BM_SONAME_ZSTD, names, &z->lib, err));
    z->context = z->lib.ZSTD_createDCtx();
    if (z->context != NULL && !z->lib.ZSTD_isError(z->lib.ZSTD_DCtx_setParameter(
                                  z->context, ZSTD_d_windowLogMax, BM_WINDOW_LOG_MAX)))
        return BM_OK;
    return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
}

static void zst_limit(void *state, unsigned window_log)
{
    zst *z = state;
    (void)z->lib.ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax, (int)window_log);
}

static bool zst_reset(void *state)
{
    zst *z = state;
    z->wanted = 0;
    z->full = false;
    return !z->lib.ZSTD_isError(z->lib.ZSTD_DCtx_reset(z->context, ZSTD_reset_session_only));
}

static bm_unpacked zst_run(void *state, bm_decompress_step *step)
{
    zst *z = state;
    size_t n = step->in.len - step->used;
    size_t one = z->wanted > HEADER_BYTES ? z->wanted - HEADER_BYTES : 1;
    if (z->full)
        n = 0;
    ZSTD_inBuffer in = {.src = step->in.data + step->used, .size = n < one ? n : one};
    ZSTD_outBuffer out = {.dst = step->out, .size = step->out_cap, .pos = step->n_out};
    size_t rc = z->lib.ZSTD_decompressStream(z->context, &out, &in);
    switch (z->lib.ZSTD_getErrorCode(rc)) {
    case ZSTD_error_no_error:
        break;
    case ZSTD_error_memory_allocation:
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    case ZSTD_error_frameParameter_windowTooLarge:
        return (bm_unpacked){BM_UNPACK_TOO_LARGE, NULL};
    default:
        return (bm_unpacked){BM_UNPACK_BROKEN, z->lib.ZSTD_getErrorName(rc)};
    }
    step->used += in.pos;
    step->n_out = out.pos;
    z->full = out.pos == out.size;
    z->wanted = rc;
    return (bm_unpacked){rc == 0 ? BM_UNPACK_END : BM_UNPACK_MORE, NULL};
}

const bm_unpack_ops bm_unpack_zst = {.members = "frame",
                                     .first_byte = -1,
                                     .pieces = true,
                                     .open = zst_open,
                                     .limit = zst_limit,
                                     .reset = zst_reset,
                                     .run = zst_run,
                                     .close = zst_close};
