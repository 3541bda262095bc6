/* unpack_lz4.c -- frames of LZ4, by liblz4. Its window is 64 KiB and a block at most 4 MiB, so nothing has
 * to be bounded here.
 *
 * As with Zstandard (unpack_zst.c), an error hides what the same call had written, and what is asked
 * for includes what follows the block: its checksum and the size of the next one.
 *
 * Tests: tests/unit/io_bytes/test_decompress.c */
#include <lz4frame.h>
#include <string.h>

#include "base/memory.h"
#include "io/bytes/unpack.h"

#define FOLLOWING_BYTES 8u

typedef struct lz4 {
    LZ4F_dctx *context;
    size_t wanted; /* what it asked for */
    bool full;     /* the room was used up: it may hold more */
} lz4;

static void lz4_close(void *state)
{
    lz4 *l = state;
    if (l == NULL)
        return;
    LZ4F_freeDecompressionContext(l->context);
    bm_free(l);
}

static void *lz4_open(void)
{
    lz4 *l = bm_alloc_zero(1, sizeof *l);
    if (l != NULL && LZ4F_isError(LZ4F_createDecompressionContext(&l->context, LZ4F_VERSION))) {
        bm_free(l);
        l = NULL;
    }
    return l;
}

static bool lz4_reset(void *state)
{
    lz4 *l = state;
    l->wanted = 0;
    l->full = false;
    LZ4F_resetDecompressionContext(l->context);
    return true;
}

static bm_unpacked lz4_run(void *state, bm_decompress_step *step)
{
    lz4 *l = state;
    size_t n = step->in.len - step->used;
    size_t one = l->wanted > FOLLOWING_BYTES ? l->wanted - FOLLOWING_BYTES : 1;
    size_t n_in = l->full ? 0 : n < one ? n : one, n_out = step->out_cap - step->n_out;
    size_t room = n_out;
    size_t rc = LZ4F_decompress(l->context, step->out + step->n_out, &n_out,
                                step->in.data + step->used, &n_in, NULL);
    if (LZ4F_isError(rc)) {
        const char *why = LZ4F_getErrorName(rc);
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
