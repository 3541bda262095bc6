/* pack_gz.c -- gz by zlib, level 6. The header carries no name and no time.
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "io/pack/pack.h"

#define LEVEL   6
#define IN_MAX  ((size_t)1 << 30) /* bytes given in one call */
#define WRAPPED (15 + 16)         /* the largest window, within a gzip header and trailer */

#define FUNCTIONS(X) X(deflateInit2_) X(deflate) X(deflateEnd) X(zError)

typedef struct zlib {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} zlib;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct gz {
    zlib lib;
    z_stream stream;
} gz;

static bm_status gz_open(void **state, bm_error *err)
{
    gz *g = *state = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    BM_TRY(bm_shared_library_open(BM_SONAME_ZLIB, names, &g->lib, err));
    if (g->lib.deflateInit2_(&g->stream, LEVEL, Z_DEFLATED, WRAPPED, 8, Z_DEFAULT_STRATEGY,
                             ZLIB_VERSION, (int)sizeof g->stream) != Z_OK)
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static void gz_close(void *state)
{
    gz *g = state;
    if (g != NULL && g->stream.state != NULL)
        g->lib.deflateEnd(&g->stream);
    bm_free(g);
}

static bm_packed gz_run(void *state, bm_compress_step *step)
{
    gz *g = state;
    z_stream *z = &g->stream;
    const size_t given = step->in.len < IN_MAX ? step->in.len : IN_MAX;
    const bool last = step->end && given == step->in.len;
    z->next_in = (unsigned char *)(uintptr_t)step->in.data; /* it only reads */
    z->avail_in = (unsigned)given;
    z->next_out = (unsigned char *)step->out + step->len;
    z->avail_out = (unsigned)(step->cap - step->len);
    int code = g->lib.deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
    step->len = step->cap - z->avail_out;
    bm_pack_took(step, given - z->avail_in);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return (bm_packed){g->lib.zError(code), code == Z_MEM_ERROR};
    step->done = last ? code == Z_STREAM_END : step->in.len == 0 && z->avail_out > 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_gz = {.name = "gz", .open = gz_open, .run = gz_run, .close = gz_close};
