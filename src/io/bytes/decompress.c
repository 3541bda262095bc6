/* decompress.c -- zlib and libzstd behind one small interface. */
#include "io/bytes/decompress.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"

#define GZIP_ONLY      (15 + 16) /* zlib's windowBits: the largest window, a gzip header */
#define WINDOW_LOG_MAX 27

struct bm_decompress {
    bm_compression kind;
    const char *name;
    z_stream gz;
    ZSTD_DCtx *zst;
    bool inside;  /* a member or frame has begun and not ended */
    bool begun;   /* at least one of this file has begun */
    bool padding; /* gzip: zeros were seen behind a member */
};

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

bm_status bm_decompress_open(bm_compression kind, bm_decompress **out, bm_error *err)
{
    bm_decompress *d = bm_alloc_zero(1, sizeof *d);
    if (d == NULL)
        return bm_fail_nomem(err, sizeof *d);
    d->kind = kind;
    bool ok;
    if (kind == BM_COMPRESSION_GZ) {
        d->gz.zalloc = zlib_alloc;
        d->gz.zfree = zlib_free;
        ok = inflateInit2(&d->gz, GZIP_ONLY) == Z_OK;
    } else {
        d->zst = ZSTD_createDCtx();
        ok = d->zst != NULL &&
             !ZSTD_isError(ZSTD_DCtx_setParameter(d->zst, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
    }
    if (!ok) {
        ZSTD_freeDCtx(d->zst);
        bm_free(d);
        return bm_fail_nomem(err, (size_t)1 << 15);
    }
    *out = d;
    return BM_OK;
}

bm_status bm_decompress_begin(bm_decompress *d, const char *name, bm_error *err)
{
    d->name = name;
    d->inside = d->begun = d->padding = false;
    if (d->kind == BM_COMPRESSION_GZ
            ? inflateReset2(&d->gz, GZIP_ONLY) != Z_OK
            : ZSTD_isError(ZSTD_DCtx_reset(d->zst, ZSTD_reset_session_only)))
        return bm_fail(err, BM_ERR_INTERNAL, "a decompressor could not be reset");
    return BM_OK;
}

/* Between members: zeros are padding, and nothing but zeros may follow them. */
static bm_status skip_padding(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    const bm_str in = step->in;
    while (step->used < in.len && in.data[step->used] == 0) {
        d->padding = true;
        step->used++;
    }
    if (step->used < in.len && (d->padding || in.data[step->used] != 0x1F))
        return bm_fail_at(err, BM_ERR_INPUT, d->name, 0,
                          "bytes behind the last gzip member that are none (a member or zeros)");
    return BM_OK;
}

static bm_status run_gz(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    if (!d->inside && d->begun) {
        bm_status status = skip_padding(d, step, err);
        if (status != BM_OK)
            return status;
    }
    size_t n_in = step->in.len - step->used;
    if (n_in == 0)
        return BM_OK;
    d->gz.next_in = (z_const Bytef *)(step->in.data + step->used);
    d->gz.avail_in = n_in > UINT_MAX ? UINT_MAX : (uInt)n_in;
    d->gz.next_out = (Bytef *)step->out;
    d->gz.avail_out = step->out_cap > UINT_MAX ? UINT_MAX : (uInt)step->out_cap;
    d->inside = d->begun = true;
    int rc = inflate(&d->gz, Z_NO_FLUSH);
    step->used = (size_t)((const char *)d->gz.next_in - step->in.data);
    step->n_out = (size_t)((char *)d->gz.next_out - step->out);
    if (rc == Z_STREAM_END) {
        d->inside = false;
        rc = inflateReset(&d->gz);
    }
    if (rc == Z_MEM_ERROR)
        return bm_fail_nomem(err, (size_t)1 << 15);
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return bm_fail_at(err, BM_ERR_INPUT, d->name, 0, "broken gzip data (%s)",
                          d->gz.msg != NULL   ? d->gz.msg
                          : rc == Z_NEED_DICT ? "it needs a dictionary"
                                              : zError(rc));
    return BM_OK;
}

static bm_status run_zst(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    /* With no input left, a frame may still have output to give. */
    if (step->used == step->in.len && !d->inside)
        return BM_OK;
    ZSTD_inBuffer in = {.src = step->in.data, .size = step->in.len, .pos = step->used};
    ZSTD_outBuffer out = {.dst = step->out, .size = step->out_cap, .pos = 0};
    size_t rc = ZSTD_decompressStream(d->zst, &out, &in);
    if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
        return bm_fail_nomem(err, (size_t)1 << WINDOW_LOG_MAX);
    if (ZSTD_isError(rc))
        return bm_fail_at(err, BM_ERR_INPUT, d->name, 0, "broken Zstandard data (%s)",
                          ZSTD_getErrorName(rc));
    step->used = in.pos;
    step->n_out = out.pos;
    d->inside = rc != 0;
    d->begun = true;
    return BM_OK;
}

bm_status bm_decompress_run(bm_decompress *d, bm_decompress_step *step, bm_error *err)
{
    step->n_out = 0;
    bm_status status = BM_OK;
    /* Again while it takes input and gives nothing: headers, ends of members, empty members. */
    for (size_t before = SIZE_MAX; status == BM_OK && step->n_out == 0 && before != step->used;) {
        before = step->used;
        status = d->kind == BM_COMPRESSION_GZ ? run_gz(d, step, err) : run_zst(d, step, err);
    }
    return status;
}

bm_status bm_decompress_end(const bm_decompress *d, bm_error *err)
{
    if (d->begun && !d->inside)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_INPUT, d->name, 0, "the %s data is cut short",
                      bm_compression_name(d->kind));
}

void bm_decompress_close(bm_decompress *d)
{
    if (d == NULL)
        return;
    if (d->kind == BM_COMPRESSION_GZ)
        inflateEnd(&d->gz);
    ZSTD_freeDCtx(d->zst);
    bm_free(d);
}
