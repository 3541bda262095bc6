/* pack_gz.c -- members of gz by libdeflate, level 6: zlib's sizes in .34 to .44 of its time (members of
 * 4 MiB of text). The header carries no name and no time.
 *
 * Tests: tests/unit/output/test_out_file.c */
#include <libdeflate.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "output/pack.h"

#define LEVEL 6

#define FUNCTIONS(X)                                                                               \
    X(libdeflate_alloc_compressor)                                                                 \
    X(libdeflate_gzip_compress)                                                                    \
    X(libdeflate_gzip_compress_bound)                                                              \
    X(libdeflate_free_compressor)

typedef struct libdeflate {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libdeflate;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct gz {
    libdeflate lib;
    struct libdeflate_compressor *compressor;
} gz;

static bm_status gz_open(void **state, bm_error *err)
{
    gz *g = *state = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    BM_TRY(bm_shared_library_open(BM_SONAME_DEFLATE, names, &g->lib, err));
    if ((g->compressor = g->lib.libdeflate_alloc_compressor(LEVEL)) == NULL)
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static void gz_close(void *state)
{
    gz *g = state;
    if (g != NULL && g->compressor != NULL)
        g->lib.libdeflate_free_compressor(g->compressor);
    bm_free(g);
}

static size_t gz_bound(void *state, size_t n)
{
    gz *g = state;
    return g->lib.libdeflate_gzip_compress_bound(g->compressor, n);
}

static bm_packed gz_block(void *state, bm_str in, char *out, size_t cap, size_t *len)
{
    gz *g = state;
    *len = g->lib.libdeflate_gzip_compress(g->compressor, in.data, in.len, out, cap);
    return (bm_packed){*len == 0 ? "a block did not fit its bound" : NULL, false};
}

const bm_pack_ops bm_pack_gz = {
    .name = "gz", .open = gz_open, .bound = gz_bound, .block = gz_block, .close = gz_close};
