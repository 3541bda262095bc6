/* pack_gz.c -- gz by zlib, level 6. The header carries no name and no time.
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <zlib.h>

#include "base/memory.h"
#include "io/output/pack.h"

#define LEVEL   6
#define IN_MAX  ((size_t)1 << 30) /* bytes given in one call */
#define WRAPPED (15 + 16)         /* the largest window, within a gzip header and trailer */

static void *gz_open(void)
{
    z_stream *gz = bm_alloc_zero(1, sizeof *gz);
    if (gz == NULL || deflateInit2(gz, LEVEL, Z_DEFLATED, WRAPPED, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return gz;
    bm_free(gz);
    return NULL;
}

static void gz_close(void *state)
{
    if (state != NULL)
        deflateEnd(state);
    bm_free(state);
}

static bm_packed gz_run(void *state, bm_compress_step *step)
{
    z_stream *gz = state;
    const size_t given = step->in.len < IN_MAX ? step->in.len : IN_MAX;
    const bool last = step->end && given == step->in.len;
    gz->next_in = (unsigned char *)(uintptr_t)step->in.data; /* it only reads */
    gz->avail_in = (unsigned)given;
    gz->next_out = (unsigned char *)step->out + step->len;
    gz->avail_out = (unsigned)(step->cap - step->len);
    int code = deflate(gz, last ? Z_FINISH : Z_NO_FLUSH);
    step->len = step->cap - gz->avail_out;
    bm_pack_took(step, given - gz->avail_in);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return (bm_packed){zError(code), code == Z_MEM_ERROR};
    step->done = last ? code == Z_STREAM_END : step->in.len == 0 && gz->avail_out > 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_gz = {.name = "gz", .open = gz_open, .run = gz_run, .close = gz_close};
