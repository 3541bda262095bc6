/* pack_zst.c -- zst by libzstd, level 3, with a checksum.
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <zstd.h>
#include <zstd_errors.h>

#include "io/output/pack.h"

#define LEVEL 3

static void *zst_open(void)
{
    ZSTD_CCtx *zst = ZSTD_createCCtx();
    if (zst != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(zst, ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(zst, ZSTD_c_checksumFlag, 1)))
        return zst;
    ZSTD_freeCCtx(zst);
    return NULL;
}

static void zst_close(void *state)
{
    ZSTD_freeCCtx(state);
}

static bm_packed zst_run(void *state, bm_compress_step *step)
{
    ZSTD_inBuffer in = {step->in.data, step->in.len, 0};
    ZSTD_outBuffer out = {step->out, step->cap, step->len};
    size_t left = ZSTD_compressStream2(state, &out, &in, step->end ? ZSTD_e_end : ZSTD_e_continue);
    step->len = out.pos;
    bm_pack_took(step, in.pos);
    if (ZSTD_isError(left))
        return (bm_packed){ZSTD_getErrorName(left),
                           ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation};
    step->done = step->end ? left == 0 : step->in.len == 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_zst = {
    .name = "zst", .open = zst_open, .run = zst_run, .close = zst_close};
