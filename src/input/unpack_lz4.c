/* unpack_lz4.c -- frames of LZ4, by liblz4. Its window is 64 KiB and a block at most 4 MiB, so nothing has
 * to be bounded here.
 *
 * As with Zstandard (unpack_zst.c), an error hides what the same call had written, and what is asked
 * for includes what follows the block: its checksum and the size of the next one.
 *
 * Tests: tests/unit/input/test_decompress.c */
#include <lz4frame.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "input/unpack.h"

#define FOLLOWING_BYTES 8u

#define FUNCTIONS(X)                                                                               \
    X(LZ4F_createDecompressionContext)                                                             \
    X(LZ4F_freeDecompressionContext)                                                               \
    X(LZ4F_resetDecompressionContext)                                                              \
    X(LZ4F_decompress)                                                                             \
    X(LZ4F_isError)                                                                                \
    X(LZ4F_getErrorName)

typedef struct liblz4 {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} liblz4;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct lz4 {
    liblz4 lib;
    LZ4F_dctx *context;
    size_t wanted; /* what it asked for */
    bool full;     /* the room was used up: it may hold more */
} lz4;

static void lz4_close(void *state)
{
    lz4 *l = state;
    if (l == NULL)
        return;
    if (l->context != NULL)
        l->lib.LZ4F_freeDecompressionContext(l->context);
    bm_free(l);
}

static bm_status lz4_open(void **state, bm_error *err)
{
    lz4 *l = *state = bm_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return bm_fail_nomem(err, sizeof *l);
    BM_TRY(bm_shared_library_open(BM_SONAME_LZ4, names, &l->lib, err));
    if (l->lib.LZ4F_isError(l->lib.LZ4F_createDecompressionContext(&l->context, LZ4F_VERSION)))
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static bool lz4_reset(void *state)
{
    lz4 *l = state;
    l->wanted = 0;
    l->full = false;
    l->lib.LZ4F_resetDecompressionContext(l->context);
    return true;
}

static bm_unpacked lz4_run(void *state, bm_decompress_step *step)
{
    lz4 *l = state;
    size_t n = step->in.len - step->used;
    size_t one = l->wanted > FOLLOWING_BYTES ? l->wanted - FOLLOWING_BYTES : 1;
    size_t n_in = l->full ? 0 : n < one ? n : one, n_out = step->out_cap - step->n_out;
    size_t room = n_out;
    size_t rc = l->lib.LZ4F_decompress(l->context, step->out + step->n_out, &n_out,
                                       step->in.data + step->used, &n_in, NULL);
    if (l->lib.LZ4F_isError(rc)) {
        const char *why = l->lib.LZ4F_getErrorName(rc);
        const bool no_memory = strcmp(why, "ERROR_allocation_failed") == 0;
        return (bm_unpacked){no_memory ? BM_UNPACK_NO_MEMORY : BM_UNPACK_BROKEN, why};
    }
    step->used += n_in;
    step->n_out += n_out;
    l->full = n_out == room;
    l->wanted = rc;
    return (bm_unpacked){rc == 0 ? BM_UNPACK_END : BM_UNPACK_MORE, NULL};
}

const bm_unpack_ops bm_unpack_lz4 = {.members = "frame",
                                     .first_byte = -1,
                                     .pieces = true,
                                     .open = lz4_open,
                                     .reset = lz4_reset,
                                     .run = lz4_run,
                                     .close = lz4_close};
