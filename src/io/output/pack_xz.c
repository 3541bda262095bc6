/* pack_xz.c -- xz by liblzma, preset 1, with a CRC64. Higher presets take up to 674 MB of memory; this one
 * takes 9, and a tenth of their time.
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <lzma.h>

#include "base/memory.h"
#include "io/output/pack.h"

#define PRESET 1

static void *xz_open(void)
{
    lzma_stream *xz = bm_alloc_zero(1, sizeof *xz);
    if (xz == NULL)
        return NULL;
    *xz = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_easy_encoder(xz, PRESET, LZMA_CHECK_CRC64) == LZMA_OK)
        return xz;
    bm_free(xz);
    return NULL;
}

static void xz_close(void *state)
{
    if (state != NULL)
        lzma_end(state);
    bm_free(state);
}

static bm_packed xz_run(void *state, bm_compress_step *step)
{
    lzma_stream *xz = state;
    const size_t given = step->in.len;
    xz->next_in = (const uint8_t *)step->in.data;
    xz->avail_in = given;
    xz->next_out = (uint8_t *)step->out + step->len;
    xz->avail_out = step->cap - step->len;
    lzma_ret code = lzma_code(xz, step->end ? LZMA_FINISH : LZMA_RUN);
    step->len = step->cap - xz->avail_out;
    bm_pack_took(step, given - xz->avail_in);
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR)
        return (bm_packed){"liblzma refused it", code == LZMA_MEM_ERROR};
    step->done = step->end ? code == LZMA_STREAM_END : step->in.len == 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_xz = {.name = "xz", .open = xz_open, .run = xz_run, .close = xz_close};
