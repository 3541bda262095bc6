/* unpack_gz.c -- members of gzip, by zlib. inflate() goes symbol by symbol: what it gave before damage does
 * not depend on how much it was given at a time.
 *
 * Tests: tests/unit/io_bytes/test_decompress.c */
#include <limits.h>
#include <zlib.h>

#include "base/memory.h"
#include "io/bytes/unpack.h"

#define GZIP_ONLY (15 + 16) /* zlib's windowBits: the largest window, a gzip header */

static voidpf zlib_alloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return bm_alloc(n, size);
}

static void zlib_free(voidpf opaque, voidpf block)
{
    (void)opaque;
    bm_free(block);
}

static void gz_close(void *state)
{
    if (state == NULL)
        return;
    inflateEnd(state);
    bm_free(state);
}

static void *gz_open(void)
{
    z_stream *z = bm_alloc_zero(1, sizeof *z);
    if (z == NULL)
        return NULL;
    z->zalloc = zlib_alloc;
    z->zfree = zlib_free;
    if (inflateInit2(z, GZIP_ONLY) == Z_OK)
        return z;
    bm_free(z);
    return NULL;
}

static bool gz_reset(void *state)
{
    return inflateReset(state) == Z_OK;
}

static uInt at_most(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (uInt)n;
}

static bm_unpacked gz_run(void *state, bm_decompress_step *step)
{
    z_stream *z = state;
    z->next_in = (z_const Bytef *)(step->in.data + step->used);
    z->avail_in = at_most(step->in.len - step->used);
    z->next_out = (Bytef *)(step->out + step->n_out);
    z->avail_out = at_most(step->out_cap - step->n_out);
    int rc = inflate(z, Z_NO_FLUSH);
    step->used = (size_t)((const char *)z->next_in - step->in.data);
    step->n_out = (size_t)((char *)z->next_out - step->out);
    if (rc == Z_STREAM_END)
        return (bm_unpacked){BM_UNPACK_END, NULL};
    if (rc == Z_OK || rc == Z_BUF_ERROR)
        return (bm_unpacked){BM_UNPACK_MORE, NULL};
    if (rc == Z_MEM_ERROR)
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    return (bm_unpacked){BM_UNPACK_BROKEN, z->msg != NULL      ? z->msg
                                           : rc == Z_NEED_DICT ? "it needs a dictionary"
                                                               : zError(rc)};
}

const bm_unpack_ops bm_unpack_gz = {.members = "member",
                                    .first_byte = 0x1F,
                                    .padding = 1,
                                    .padding_ends = true,
                                    .open = gz_open,
                                    .reset = gz_reset,
                                    .run = gz_run,
                                    .close = gz_close};
