/* out_file_compress.c -- gz (zlib, level 6) and zst (libzstd, level 3, with checksum) for output files.
 *
 * The compressor writes straight into the file's buffer. A gz header carries no name and no time,
 * so the same bytes in give the same bytes out (for one version of the library). */
#include "io/output/out_file.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"

#define GZ_LEVEL  6
#define ZST_LEVEL 3

struct bm_out_compressor {
    z_stream gz;
    bool gz_open;
    ZSTD_CCtx *zst; /* NULL: gz */
};

bm_status bm_out_compressor_open(int compression, const char *shown, bm_out_compressor **out,
                                 bm_error *err)
{
    bm_out_compressor *compressor = bm_alloc_zero(1, sizeof *compressor);
    if (compressor == NULL)
        return bm_fail_nomem(err, sizeof *compressor);
    if (compression == 1) {
        if (deflateInit2(&compressor->gz, GZ_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
            bm_free(compressor);
            return bm_fail_at(err, BM_ERR_NOMEM, shown, 0, "no memory for gz compression");
        }
        compressor->gz_open = true;
    } else {
        compressor->zst = ZSTD_createCCtx();
        if (compressor->zst == NULL ||
            ZSTD_isError(
                ZSTD_CCtx_setParameter(compressor->zst, ZSTD_c_compressionLevel, ZST_LEVEL)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(compressor->zst, ZSTD_c_checksumFlag, 1))) {
            bm_out_compressor_close(compressor);
            return bm_fail_at(err, BM_ERR_NOMEM, shown, 0, "no memory for zst compression");
        }
    }
    *out = compressor;
    return BM_OK;
}

static bm_status run_gz(bm_out_file *file, const void *data, size_t len, bool end, bm_error *err)
{
    z_stream *gz = &file->compressor->gz;
    const unsigned char *from = data;
    size_t left = len;
    int code = Z_OK;
    do {
        size_t step = left < ((size_t)1 << 30) ? left : (size_t)1 << 30;
        bool last = end && step == left;
        gz->next_in = (unsigned char *)(uintptr_t)from; /* zlib only reads it */
        gz->avail_in = (unsigned)step;
        do {
            if (file->len == BM_OUT_BUFFER_BYTES) {
                bm_status status = bm_out_file_drain(file, err);
                if (status != BM_OK)
                    return status;
            }
            gz->next_out = (unsigned char *)file->buf + file->len;
            gz->avail_out = (unsigned)(BM_OUT_BUFFER_BYTES - file->len);
            code = deflate(gz, last ? Z_FINISH : Z_NO_FLUSH);
            file->len = BM_OUT_BUFFER_BYTES - gz->avail_out;
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
                return bm_fail_at(err, BM_ERR_INTERNAL, bm_out_file_shown(file), 0,
                                  "gz compression failed (%d)", code);
        } while (last ? code != Z_STREAM_END : gz->avail_in > 0 || gz->avail_out == 0);
        from += step;
        left -= step;
    } while (left > 0);
    return BM_OK;
}

static bm_status run_zst(bm_out_file *file, const void *data, size_t len, bool end, bm_error *err)
{
    ZSTD_inBuffer in = {data, len, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {file->buf, BM_OUT_BUFFER_BYTES, file->len};
        left = ZSTD_compressStream2(file->compressor->zst, &out, &in,
                                    end ? ZSTD_e_end : ZSTD_e_continue);
        file->len = out.pos;
        if (ZSTD_isError(left))
            return bm_fail_at(err, BM_ERR_INTERNAL, bm_out_file_shown(file), 0,
                              "zst compression failed: %s", ZSTD_getErrorName(left));
        if (file->len == BM_OUT_BUFFER_BYTES) {
            bm_status status = bm_out_file_drain(file, err);
            if (status != BM_OK)
                return status;
        }
    } while (end ? left > 0 : in.pos < in.size);
    return BM_OK;
}

bm_status bm_out_compressor_run(bm_out_file *file, const void *data, size_t len, bool end,
                                bm_error *err)
{
    return file->compressor->gz_open ? run_gz(file, data, len, end, err)
                                     : run_zst(file, data, len, end, err);
}

void bm_out_compressor_close(bm_out_compressor *compressor)
{
    if (compressor == NULL)
        return;
    if (compressor->gz_open)
        deflateEnd(&compressor->gz);
    ZSTD_freeCCtx(compressor->zst);
    bm_free(compressor);
}
