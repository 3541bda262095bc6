/* pack_xz.c -- xz by liblzma, preset 1, with a CRC64. Higher presets take up to 674 MB of memory; this one
 * takes 9, and a tenth of their time.
 *
 * Tests: tests/unit/output/test_out_file.c */
#include <lzma.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "output/pack.h"

#define PRESET 1

#define FUNCTIONS(X) X(lzma_easy_encoder) X(lzma_code) X(lzma_end)

typedef struct liblzma {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} liblzma;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct xz {
    liblzma lib;
    lzma_stream stream;
} xz;

static bm_status xz_open(void **state, bm_error *err)
{
    xz *x = *state = bm_alloc_zero(1, sizeof *x);
    if (x == NULL)
        return bm_fail_nomem(err, sizeof *x);
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    BM_TRY(bm_shared_library_open(BM_SONAME_LZMA, names, &x->lib, err));
    if (x->lib.lzma_easy_encoder(&x->stream, PRESET, LZMA_CHECK_CRC64) != LZMA_OK)
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static void xz_close(void *state)
{
    xz *x = state;
    if (x != NULL && x->lib.lzma_end != NULL)
        x->lib.lzma_end(&x->stream);
    bm_free(x);
}

static bm_packed xz_run(void *state, bm_compress_step *step)
{
    xz *x = state;
    lzma_stream *s = &x->stream;
    const size_t given = step->in.len;
    s->next_in = (const uint8_t *)step->in.data;
    s->avail_in = given;
    s->next_out = (uint8_t *)step->out + step->len;
    s->avail_out = step->cap - step->len;
    lzma_ret code = x->lib.lzma_code(s, step->end ? LZMA_FINISH : LZMA_RUN);
    step->len = step->cap - s->avail_out;
    bm_pack_took(step, given - s->avail_in);
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR)
        return (bm_packed){"liblzma refused it", code == LZMA_MEM_ERROR};
    step->done = step->end ? code == LZMA_STREAM_END : step->in.len == 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_xz = {.name = "xz", .open = xz_open, .run = xz_run, .close = xz_close};
