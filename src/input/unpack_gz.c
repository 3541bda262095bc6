/* unpack_gz.c -- members of gzip, by zlib. inflate() goes symbol by symbol: what it gave before damage does
 * not depend on how much it was given at a time.
 *
 * Tests: tests/unit/input/test_decompress.c */
#include <limits.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "input/unpack.h"

#define FUNCTIONS(X) X(inflateInit2_) X(inflateReset) X(inflate) X(inflateEnd) X(zError)

#define GZIP_ONLY (15 + 16) /* zlib's windowBits: the largest window, a gzip header */

typedef struct zlib {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} zlib;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct gz {
    zlib lib;
    z_stream stream;
} gz;

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
    gz *g = state;
    if (g != NULL && g->stream.state != NULL)
        g->lib.inflateEnd(&g->stream);
    bm_free(g);
}

static bm_status gz_open(void **state, bm_error *err)
{
    gz *g = *state = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    g->stream = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free};
    BM_TRY(bm_shared_library_open(BM_SONAME_ZLIB, names, &g->lib, err));
    if (g->lib.inflateInit2_(&g->stream, GZIP_ONLY, ZLIB_VERSION, (int)sizeof g->stream) != Z_OK)
        return bm_fail_nomem(err, (size_t)1 << 15);
    return BM_OK;
}

static bool gz_reset(void *state)
{
    gz *g = state;
    return g->lib.inflateReset(&g->stream) == Z_OK;
}

static uInt at_most(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (uInt)n;
}

static bm_unpacked gz_run(void *state, bm_decompress_step *step)
{
    gz *g = state;
    z_stream *z = &g->stream;
    z->next_in = (z_const Bytef *)(step->in.data + step->used);
    z->avail_in = at_most(step->in.len - step->used);
    z->next_out = (Bytef *)(step->out + step->n_out);
    z->avail_out = at_most(step->out_cap - step->n_out);
    int rc = g->lib.inflate(z, Z_NO_FLUSH);
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
                                                               : g->lib.zError(rc)};
}

const bm_unpack_ops bm_unpack_gz = {.members = "member",
                                    .first_byte = 0x1F,
                                    .padding = 1,
                                    .padding_ends = true,
                                    .open = gz_open,
                                    .reset = gz_reset,
                                    .run = gz_run,
                                    .close = gz_close};
