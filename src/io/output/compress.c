/* compress.c -- gz by zlib (level 6), zst by libzstd (level 3, with a checksum).
 *
 * A gz header carries no name and no time, so the same bytes in give the same bytes out (for one
 * version of the library).
 *
 * Tests: tests/unit/io_output/test_out_file.c, tests/unit/io_results/test_kept_writer.c */
#include "io/output/compress.h"

#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"

#define GZ_LEVEL   6
#define GZ_IN_MAX  ((size_t)1 << 30) /* bytes given to zlib in one call */
#define GZ_WRAPPED (15 + 16)         /* the largest window, within a gzip header and trailer */
#define ZST_LEVEL  3

struct bm_compressor {
    const char *shown;
    z_stream gz;
    bool gz_open;
    ZSTD_CCtx *zst; /* NULL: gz */
};

static bool open_zst(bm_compressor *compressor)
{
    ZSTD_CCtx *zst = compressor->zst = ZSTD_createCCtx();
    return zst != NULL &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zst, ZSTD_c_compressionLevel, ZST_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zst, ZSTD_c_checksumFlag, 1));
}

bm_status bm_compressor_open(bm_compression compression, const char *shown, bm_compressor **out,
                             bm_error *err)
{
    bm_compressor *compressor = bm_alloc_zero(1, sizeof *compressor);
    if (compressor == NULL)
        return bm_fail_nomem(err, sizeof *compressor);
    bool is_gz = compression == BM_COMPRESSION_GZ, opened;
    compressor->shown = shown;
    if (is_gz)
        opened = compressor->gz_open = deflateInit2(&compressor->gz, GZ_LEVEL, Z_DEFLATED,
                                                    GZ_WRAPPED, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    else
        opened = open_zst(compressor);
    if (!opened) {
        bm_compressor_close(compressor);
        return bm_fail_at(err, BM_ERR_NOMEM, shown, 0, "no memory for %s compression",
                          is_gz ? "gz" : "zst");
    }
    *out = compressor;
    return BM_OK;
}

void bm_compressor_close(bm_compressor *compressor)
{
    if (compressor == NULL)
        return;
    if (compressor->gz_open)
        deflateEnd(&compressor->gz);
    ZSTD_freeCCtx(compressor->zst);
    bm_free(compressor);
}

static void take_in(bm_compress_step *step, size_t n)
{
    if (n == 0)
        return;
    step->in.data += n;
    step->in.len -= n;
}

static bm_status run_gz(bm_compressor *compressor, bm_compress_step *step, bm_error *err)
{
    z_stream *gz = &compressor->gz;
    const size_t given = step->in.len < GZ_IN_MAX ? step->in.len : GZ_IN_MAX;
    const bool last = step->end && given == step->in.len;
    gz->next_in = (unsigned char *)(uintptr_t)step->in.data; /* zlib only reads it */
    gz->avail_in = (unsigned)given;
    gz->next_out = (unsigned char *)step->out + step->len;
    gz->avail_out = (unsigned)(step->cap - step->len);
    int code = deflate(gz, last ? Z_FINISH : Z_NO_FLUSH);
    step->len = step->cap - gz->avail_out;
    take_in(step, given - gz->avail_in);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return bm_fail_at(err, BM_ERR_INTERNAL, compressor->shown, 0, "gz compression failed (%d)",
                          code);
    step->done = last ? code == Z_STREAM_END : step->in.len == 0 && gz->avail_out > 0;
    return BM_OK;
}

static bm_status run_zst(bm_compressor *compressor, bm_compress_step *step, bm_error *err)
{
    ZSTD_inBuffer in = {step->in.data, step->in.len, 0};
    ZSTD_outBuffer out = {step->out, step->cap, step->len};
    size_t left =
        ZSTD_compressStream2(compressor->zst, &out, &in, step->end ? ZSTD_e_end : ZSTD_e_continue);
    step->len = out.pos;
    take_in(step, in.pos);
    if (ZSTD_isError(left))
        return bm_fail_at(err, BM_ERR_INTERNAL, compressor->shown, 0, "zst compression failed: %s",
                          ZSTD_getErrorName(left));
    step->done = step->end ? left == 0 : step->in.len == 0;
    return BM_OK;
}

bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err)
{
    return compressor->gz_open ? run_gz(compressor, step, err) : run_zst(compressor, step, err);
}
