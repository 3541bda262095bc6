/* SPDX-License-Identifier: Apache-2.0 */
/* compress.c -- calls the compression libraries, and compresses in blocks on several threads.
 *
 * Tests: tests/fault/compression_memory.c, tests/race/race_pipeline.c,
 *        tests/unit/output/test_out_file.c, tests/unit/results/test_kept_writer.c */
#include "output/compress.h"

#include <bzlib.h>
#include <libdeflate.h>
#include <limits.h>
#include <lz4frame.h>
#include <lzma.h>
#include <pthread.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/threads.h"

/* === pack ===
 *
 * Each compression library is a table of functions. With the same version of a library, the same
 * input gives the same output, whatever the sizes of the steps. */

typedef struct pack_result {
    const char *why; /* NULL: success; else the message of the library */
    bool no_memory;  /* the failure was a lack of memory */
} pack_result;

typedef struct pack_ops {
    const char *name; /* "gz", for messages */
    /* Opens a state, and the shared library, which may be missing (base/system.h). BM_ERR_NOMEM,
     * BM_ERR_IO. `close` must be called also after a failure. */
    bm_status (*open)(void **state, bm_error *err);
    /* like bm_compressor_run; NULL: only blocks are compressed */
    pack_result (*run)(void *state, bm_compress_step *step);
    /* These are set if `run` is NULL. `block` compresses a whole block, complete in itself; `cap`
     * is at least bound(in.len). One thread at a time for each state. */
    size_t (*bound)(void *state, size_t n);
    pack_result (*block)(void *state, bm_str in, char *out, size_t cap, size_t *len);
    void (*close)(void *state); /* NULL is fine */
} pack_ops;

/* Advance step->in by n bytes. */
static void pack_consume(bm_compress_step *step, size_t n)
{
    if (n == 0)
        return;
    step->in.data += n;
    step->in.len -= n;
}

/* === pack gz ===
 *
 * Members of gz by libdeflate, level 6. They are as small as zlib's, and take .34 to .44 of zlib's
 * time (measured with members of 4 MiB of text). The header has no name and no time. */

#define LEVEL 6

#define FUNCTIONS(X)                                                                               \
    X(libdeflate_alloc_compressor)                                                                 \
    X(libdeflate_gzip_compress)                                                                    \
    X(libdeflate_gzip_compress_bound)                                                              \
    X(libdeflate_free_compressor)

typedef struct libdeflate {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libdeflate;

static const char *const pack_gz_names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct gz {
    libdeflate lib;
    struct libdeflate_compressor *compressor;
} gz;

static bm_status gz_open(void **state, bm_error *err)
{
    gz *g = *state = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    BM_TRY(bm_shared_library_open(BM_SONAME_DEFLATE, pack_gz_names, &g->lib, err));
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

static pack_result gz_block(void *state, bm_str in, char *out, size_t cap, size_t *len)
{
    gz *g = state;
    *len = g->lib.libdeflate_gzip_compress(g->compressor, in.data, in.len, out, cap);
    return (pack_result){*len == 0 ? "a block did not fit its bound" : NULL, false};
}

static const pack_ops pack_gz = {
    .name = "gz", .open = gz_open, .bound = gz_bound, .block = gz_block, .close = gz_close};

/* === pack zst ===
 *
 * zst frames by libzstd, level 3, with a checksum. */

#define PACK_ZST_LEVEL 3

#define PACK_ZST_FUNCTIONS(X)                                                                      \
    X(ZSTD_createCCtx)                                                                             \
    X(ZSTD_freeCCtx)                                                                               \
    X(ZSTD_CCtx_setParameter)                                                                      \
    X(ZSTD_compressBound)                                                                          \
    X(ZSTD_compress2)                                                                              \
    X(ZSTD_getErrorCode)                                                                           \
    X(ZSTD_isError)                                                                                \
    X(ZSTD_getErrorName)

typedef struct libzstd {
    PACK_ZST_FUNCTIONS(BM_LIBRARY_MEMBER)
} libzstd;

static const char *const pack_zst_names[] = {PACK_ZST_FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct zst {
    libzstd lib;
    ZSTD_CCtx *context;
} zst;

static bm_status zst_open(void **state, bm_error *err)
{
    zst *z = *state = bm_alloc_zero(1, sizeof *z);
    if (z == NULL)
        return bm_fail_nomem(err, sizeof *z);
    BM_TRY(bm_shared_library_open(BM_SONAME_ZSTD, pack_zst_names, &z->lib, err));
    ZSTD_CCtx *c = z->context = z->lib.ZSTD_createCCtx();
    if (c != NULL &&
        !z->lib.ZSTD_isError(
            z->lib.ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, PACK_ZST_LEVEL)) &&
        !z->lib.ZSTD_isError(z->lib.ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
        return BM_OK;
    return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
}

static void zst_close(void *state)
{
    zst *z = state;
    if (z != NULL && z->context != NULL)
        z->lib.ZSTD_freeCCtx(z->context);
    bm_free(z);
}

static size_t zst_bound(void *state, size_t n)
{
    zst *z = state;
    return z->lib.ZSTD_compressBound(n);
}

static pack_result zst_block(void *state, bm_str in, char *out, size_t cap, size_t *len)
{
    zst *z = state;
    const size_t n = z->lib.ZSTD_compress2(z->context, out, cap, in.data, in.len);
    if (z->lib.ZSTD_isError(n))
        return (pack_result){z->lib.ZSTD_getErrorName(n),
                             z->lib.ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation};
    *len = n;
    return (pack_result){NULL, false};
}

static const pack_ops pack_zst = {
    .name = "zst", .open = zst_open, .bound = zst_bound, .block = zst_block, .close = zst_close};

/* === pack xz ===
 *
 * xz by liblzma, preset 1, with a CRC64. Preset 1 takes 9 MB of memory, and a tenth of the time of
 * higher presets, which take up to 674 MB. */

#define PRESET 1

#define PACK_XZ_FUNCTIONS(X) X(lzma_easy_encoder) X(lzma_code) X(lzma_end)

typedef struct liblzma {
    PACK_XZ_FUNCTIONS(BM_LIBRARY_MEMBER)
} liblzma;

static const char *const pack_xz_names[] = {PACK_XZ_FUNCTIONS(BM_LIBRARY_NAME) NULL};

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
    BM_TRY(bm_shared_library_open(BM_SONAME_LZMA, pack_xz_names, &x->lib, err));
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

static pack_result xz_run(void *state, bm_compress_step *step)
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
    pack_consume(step, given - s->avail_in);
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR)
        return (pack_result){"liblzma refused it", code == LZMA_MEM_ERROR};
    step->done = step->end ? code == LZMA_STREAM_END : step->in.len == 0;
    return (pack_result){NULL, false};
}

static const pack_ops pack_xz = {.name = "xz", .open = xz_open, .run = xz_run, .close = xz_close};

/* === pack bz2 ===
 *
 * bz2 by libbz2, with blocks of 900,000 bytes, which is its default. */

#define PACK_BZ2_LEVEL 9

#define PACK_BZ2_FUNCTIONS(X) X(BZ2_bzCompressInit) X(BZ2_bzCompress) X(BZ2_bzCompressEnd)

typedef struct libbz2 {
    PACK_BZ2_FUNCTIONS(BM_LIBRARY_MEMBER)
} libbz2;

static const char *const pack_bz2_names[] = {PACK_BZ2_FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct bz2 {
    libbz2 lib;
    bz_stream stream;
} bz2;

static bm_status bz2_open(void **state, bm_error *err)
{
    bz2 *b = *state = bm_alloc_zero(1, sizeof *b);
    if (b == NULL)
        return bm_fail_nomem(err, sizeof *b);
    BM_TRY(bm_shared_library_open(BM_SONAME_BZ2, pack_bz2_names, &b->lib, err));
    if (b->lib.BZ2_bzCompressInit(&b->stream, PACK_BZ2_LEVEL, 0, 0) != BZ_OK)
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static void bz2_close(void *state)
{
    bz2 *b = state;
    if (b != NULL && b->stream.state != NULL)
        b->lib.BZ2_bzCompressEnd(&b->stream);
    bm_free(b);
}

static unsigned at_most(size_t n)
{
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

static pack_result bz2_run(void *state, bm_compress_step *step)
{
    bz2 *b = state;
    bz_stream *s = &b->stream;
    const unsigned given = at_most(step->in.len), room = at_most(step->cap - step->len);
    const bool last = step->end && given == step->in.len;
    step->done = given == 0 && !last;
    if (step->done) /* libbz2 reports an error when it has nothing to do */
        return (pack_result){NULL, false};
    s->next_in = (char *)(uintptr_t)step->in.data; /* libbz2 only reads from it */
    s->avail_in = given;
    s->next_out = step->out + step->len;
    s->avail_out = room;
    int code = b->lib.BZ2_bzCompress(s, last ? BZ_FINISH : BZ_RUN);
    step->len += room - s->avail_out;
    pack_consume(step, given - s->avail_in);
    if (code != BZ_RUN_OK && code != BZ_FINISH_OK && code != BZ_STREAM_END)
        return (pack_result){"libbz2 refused it", code == BZ_MEM_ERROR};
    step->done = last ? code == BZ_STREAM_END : step->in.len == 0;
    return (pack_result){NULL, false};
}

static const pack_ops pack_bz2 = {
    .name = "bz2", .open = bz2_open, .run = bz2_run, .close = bz2_close};

/* === pack lz4 ===
 *
 * lz4 by liblz4: frames of independent blocks of 1 MiB, with a checksum of the content.
 *
 * Each call of the library needs space for all output of the call. So input is gathered into whole
 * blocks, which are compressed into `packed`, a buffer of our own. Output is copied from this
 * buffer to step->out, as space allows:
 *
 *     in  ->  block (1 MiB)  ->  LZ4F  ->  packed  ->  out */

#define BLOCK_BYTES ((size_t)1 << 20)

#define PACK_LZ4_FUNCTIONS(X)                                                                      \
    X(LZ4F_createCompressionContext)                                                               \
    X(LZ4F_freeCompressionContext)                                                                 \
    X(LZ4F_compressBound)                                                                          \
    X(LZ4F_compressBegin)                                                                          \
    X(LZ4F_compressUpdate)                                                                         \
    X(LZ4F_compressEnd)                                                                            \
    X(LZ4F_isError)                                                                                \
    X(LZ4F_getErrorName)

typedef struct liblz4 {
    PACK_LZ4_FUNCTIONS(BM_LIBRARY_MEMBER)
} liblz4;

static const char *const pack_lz4_names[] = {PACK_LZ4_FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef enum lz4_stage { LZ4_BEGIN, LZ4_BLOCKS, LZ4_ENDED } lz4_stage;

typedef struct lz4 {
    liblz4 lib;
    LZ4F_cctx *context;
    LZ4F_preferences_t preferences;
    lz4_stage stage;
    char *block, *packed;
    size_t n_block; /* bytes gathered in `block` */
    size_t packed_pos, packed_len, packed_cap;
} lz4;

static void lz4_close(void *state)
{
    lz4 *l = state;
    if (l == NULL)
        return;
    if (l->context != NULL)
        l->lib.LZ4F_freeCompressionContext(l->context);
    bm_free_all(l->block, l->packed, l);
}

static bm_status lz4_open(void **state, bm_error *err)
{
    lz4 *l = *state = bm_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return bm_fail_nomem(err, sizeof *l);
    BM_TRY(bm_shared_library_open(BM_SONAME_LZ4, pack_lz4_names, &l->lib, err));
    l->preferences.frameInfo.blockSizeID = LZ4F_max1MB;
    l->preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    l->preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    l->preferences.autoFlush = 1;
    l->packed_cap = l->lib.LZ4F_compressBound(BLOCK_BYTES, &l->preferences);
    if (l->packed_cap < LZ4F_HEADER_SIZE_MAX)
        l->packed_cap = LZ4F_HEADER_SIZE_MAX;
    l->block = bm_alloc(BLOCK_BYTES, 1);
    l->packed = bm_alloc(l->packed_cap, 1);
    if (l->block != NULL && l->packed != NULL &&
        !l->lib.LZ4F_isError(l->lib.LZ4F_createCompressionContext(&l->context, LZ4F_VERSION)))
        return BM_OK;
    return bm_fail_nomem(err, l->packed_cap);
}

static void copy_packed(lz4 *l, bm_compress_step *step)
{
    size_t left = l->packed_len - l->packed_pos, room = step->cap - step->len;
    size_t n = left < room ? left : room;
    memcpy(step->out + step->len, l->packed + l->packed_pos, n);
    l->packed_pos += n;
    step->len += n;
}

static void gather(lz4 *l, bm_compress_step *step)
{
    size_t room = BLOCK_BYTES - l->n_block, n = step->in.len < room ? step->in.len : room;
    if (n > 0)
        memcpy(l->block + l->n_block, step->in.data, n);
    l->n_block += n;
    pack_consume(step, n);
}

/* Fill the empty buffer `packed` with the next part: the header, a block, or the end of the
 * frame. */
static size_t pack_next(lz4 *l)
{
    if (l->stage == LZ4_BEGIN) {
        l->stage = LZ4_BLOCKS;
        return l->lib.LZ4F_compressBegin(l->context, l->packed, l->packed_cap, &l->preferences);
    }
    if (l->n_block > 0) {
        size_t n = l->n_block;
        l->n_block = 0;
        return l->lib.LZ4F_compressUpdate(l->context, l->packed, l->packed_cap, l->block, n, NULL);
    }
    l->stage = LZ4_ENDED;
    return l->lib.LZ4F_compressEnd(l->context, l->packed, l->packed_cap, NULL);
}

static pack_result lz4_run(void *state, bm_compress_step *step)
{
    lz4 *l = state;
    step->done = false;
    for (;;) {
        copy_packed(l, step);
        if (l->packed_pos < l->packed_len)
            return (pack_result){NULL, false}; /* no space is left */
        gather(l, step);
        const bool block_is_full = l->n_block == BLOCK_BYTES;
        step->done = l->stage == LZ4_ENDED || (!step->end && !block_is_full);
        if (step->done)
            return (pack_result){NULL, false};
        size_t n = pack_next(l);
        if (l->lib.LZ4F_isError(n)) {
            const char *why = l->lib.LZ4F_getErrorName(n);
            return (pack_result){why, strcmp(why, "ERROR_allocation_failed") == 0};
        }
        l->packed_pos = 0;
        l->packed_len = n;
    }
}

static const pack_ops pack_lz4 = {
    .name = "lz4", .open = lz4_open, .run = lz4_run, .close = lz4_close};

/* === pack blocks ===
 *
 * Compresses in blocks of PACK_BLOCK_BYTES, on the threads of a pool. Each block is complete in
 * itself (a member of gz, a frame of zst). The output does not depend on the number of threads. The
 * threads start at the pool's second block, so a small file starts none.
 *
 * The blocks of a file form a ring. The caller fills the blocks and copies their output to
 * step->out, both in order. Meanwhile threads compress the blocks. Blocks of the file that was
 * opened first come first.
 *
 *     n_written          n_begun           n_filled
 *     | done, being      | being           | being
 *     | copied out       | compressed      | filled
 *
 * When the ring is full, or all memory of the pool is in use, the caller compresses the next block
 * itself. The caller waits only if threads have begun all blocks. A pool of one block without
 * threads runs the same code. */

#define PACK_BLOCK_BYTES ((size_t)4 << 20)
#define BLOCKS_SHARE     8u /* the blocks may take 1/8 of the memory */

typedef struct pack_buffers {
    char *in, *out;
    size_t cap_out;
} pack_buffers;

typedef struct pack_blocks_block {
    pack_buffers buffers; /* from the pool; returned when all output was copied out */
    size_t n_in, n_out;
    size_t handed_on; /* how many of the n_out bytes were copied out */
    bool done;        /* protected by the lock */
    pack_result packed;
} pack_blocks_block;

typedef struct pack_blocks {
    const pack_ops *ops;
    bm_compression kind;
    void *state; /* compressor state of the caller's thread */
    bm_pack_pool *pool;
    bool owns_pool;
    pack_blocks_block *ring;      /* pool->n_blocks entries */
    uint64_t n_filled, n_written; /* used by the caller's thread only */
    /* numbers of blocks that are ready, begun and compressed; protected by the lock */
    uint64_t n_ready, n_begun, n_ended;
    struct pack_blocks *next; /* the pool's next file; protected by the lock */
    bool ended;
} pack_blocks;

struct bm_pack_pool {
    size_t n_blocks, most_threads;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t work, finished;
    pack_blocks *first; /* files, in the order in which they were opened */
    bool stop;
    size_t n_used;       /* blocks that have buffers */
    pack_buffers *spare; /* n_blocks + 1 entries: allocated buffers that no block uses */
    size_t n_spare;
    bool is_busy; /* set when a second block was submitted */
    pthread_t *threads;
    size_t n_threads;
};

bm_status bm_pack_pool_open(bm_pack_lanes lanes, bool many, bm_pack_pool **out, bm_error *err)
{
    bm_pack_pool *pool = NULL;
    const size_t threads = lanes.threads, files = many ? 2 : 1;
    BM_TRY(bm_new_zero(&pool, 1, err));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pool->n_blocks = threads > 1 ? files * threads + 1 : 1;
    const uint64_t fit = lanes.memory / BLOCKS_SHARE / (2 * PACK_BLOCK_BYTES);
    if (lanes.memory != 0 && pool->n_blocks > fit)
        pool->n_blocks = fit > 2 ? (size_t)fit : 1;
    const size_t most = pool->n_blocks > 1 ? pool->n_blocks - 2 : 0;
    pool->most_threads = most > 0 && most >= threads ? threads - 1 : most;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&pool->spare, pool->n_blocks + 1, err));
    BM_TRY_OUT(bm_new_zero(&pool->threads, pool->most_threads, err));
    *out = pool;
    return BM_OK;
out:
    bm_pack_pool_close(pool);
    return status;
}

void bm_pack_pool_close(bm_pack_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    for (size_t i = 0; i < pool->n_spare; i++)
        bm_free_all(pool->spare[i].in, pool->spare[i].out);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    bm_free_all(pool->threads, pool->spare, pool);
}

bool bm_pack_pool_is_crowded(bm_pack_pool *pool)
{
    uint64_t n = 0;
    pthread_mutex_lock(&pool->lock);
    for (const pack_blocks *b = pool->first; b != NULL; b = b->next)
        n += b->ended ? b->n_filled - b->n_written : 0;
    pthread_mutex_unlock(&pool->lock);
    return n > pool->n_blocks / 2;
}

/* Get buffers for a block from the pool. Returns false if all buffers are in use. If allocation
 * failed, returns false and sets *no_memory. */
static bool take_buffers(pack_blocks *b, pack_blocks_block *one, bool *no_memory)
{
    bm_pack_pool *pool = b->pool;
    pthread_mutex_lock(&pool->lock);
    /* a file that has no block in use always gets one */
    const bool may = pool->n_used < pool->n_blocks || b->n_filled == b->n_written;
    if (may && pool->n_spare > 0)
        one->buffers = pool->spare[--pool->n_spare];
    pool->n_used += may;
    pthread_mutex_unlock(&pool->lock);
    *no_memory = false;
    if (!may || one->buffers.in != NULL)
        return may;
    one->buffers.in = bm_alloc(PACK_BLOCK_BYTES, 1);
    *no_memory = one->buffers.in == NULL;
    return !*no_memory;
}

/* Return the buffers of a block, if it has buffers, to the pool, or free them if the pool has
 * enough. The caller holds the lock. */
static void give_buffers_back(bm_pack_pool *pool, pack_blocks_block *one)
{
    if (one->buffers.in != NULL && pool->n_spare <= pool->n_blocks)
        pool->spare[pool->n_spare++] = one->buffers;
    else
        bm_free_all(one->buffers.in, one->buffers.out);
    pool->n_used -= one->buffers.in != NULL;
    one->buffers = (pack_buffers){0};
}

static void pack_blocks_close(pack_blocks *b)
{
    if (b == NULL)
        return;
    bm_pack_pool *pool = b->pool;
    if (pool != NULL) {
        pthread_mutex_lock(&pool->lock);
        b->n_ready = b->n_begun; /* so that no thread begins another block */
        while (b->n_ended < b->n_begun)
            pthread_cond_wait(&pool->finished, &pool->lock);
        for (size_t i = 0; b->ring != NULL && i < pool->n_blocks; i++)
            give_buffers_back(pool, &b->ring[i]);
        for (pack_blocks **at = &pool->first; *at != NULL; at = &(*at)->next)
            if (*at == b) {
                *at = b->next;
                break;
            }
        pthread_mutex_unlock(&pool->lock);
    }
    if (b->owns_pool)
        bm_pack_pool_close(pool);
    b->ops->close(b->state);
    bm_free_all(b->ring, b);
}

/* Begin to compress a file in blocks. BM_ERR_NOMEM, BM_ERR_IO. */
static bm_status pack_blocks_open(bm_compression kind, const pack_ops *ops, bm_pack_lanes lanes,
                                  pack_blocks **out, bm_error *err)
{
    pack_blocks *b = NULL;
    BM_TRY(bm_new_zero(&b, 1, err));
    b->ops = ops;
    b->kind = kind;
    b->pool = lanes.pool;
    b->owns_pool = lanes.pool == NULL;
    bm_status status = BM_OK;
    if (b->owns_pool)
        BM_TRY_OUT(bm_pack_pool_open(lanes, false, &b->pool, err));
    BM_TRY_OUT(bm_new_zero(&b->ring, b->pool->n_blocks, err));
    BM_TRY_OUT(ops->open(&b->state, err));
    pthread_mutex_lock(&b->pool->lock);
    pack_blocks **last = &b->pool->first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = b;
    pthread_mutex_unlock(&b->pool->lock);
    *out = b;
    return BM_OK;
out:
    pack_blocks_close(b);
    return status;
}

/* Compress a block. If its output buffer is smaller than the largest possible output, the buffer
 * grows first. */
static void compress_block(const pack_ops *ops, void *state, pack_blocks_block *one)
{
    pack_buffers *buffers = &one->buffers;
    const size_t most = ops->bound(state, one->n_in);
    if (most > buffers->cap_out) {
        bm_free(buffers->out);
        buffers->out = bm_alloc(most, 1);
        buffers->cap_out = buffers->out != NULL ? most : 0;
    }
    one->n_out = one->handed_on = 0;
    one->packed = (pack_result){NULL, buffers->out == NULL};
    if (buffers->out != NULL)
        one->packed = ops->block(state, (bm_str){buffers->in, one->n_in}, buffers->out,
                                 buffers->cap_out, &one->n_out);
}

/* Compress the next block that no thread has begun. Called with the lock held; the lock is released
 * while the block is compressed. */
static void compress_next(pack_blocks *b, void *state)
{
    bm_pack_pool *pool = b->pool;
    pack_blocks_block *one = &b->ring[b->n_begun++ % pool->n_blocks];
    pthread_mutex_unlock(&pool->lock);
    compress_block(b->ops, state, one);
    pthread_mutex_lock(&pool->lock);
    one->done = true;
    b->n_ended++;
    pthread_cond_broadcast(&pool->finished);
}

/* The first file with a block that is ready and that no thread has begun; NULL: there is none. */
static pack_blocks *find_work(const bm_pack_pool *pool)
{
    pack_blocks *b = pool->first;
    while (b != NULL && b->n_begun == b->n_ready)
        b = b->next;
    return b;
}

static void *run_thread(void *arg)
{
    bm_pack_pool *pool = arg;
    struct {
        const pack_ops *ops;
        void *state;
    } own[BM_COMPRESSIONS] = {{NULL, NULL}};
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        pack_blocks *b = find_work(pool);
        if (b == NULL) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        if (own[b->kind].ops == NULL) {
            own[b->kind].ops = b->ops;
            /* If a thread cannot open a compressor state of its own, it ends. */
            if (b->ops->open(&own[b->kind].state, NULL) != BM_OK)
                break;
        }
        compress_next(b, own[b->kind].state);
    }
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < BM_COMPRESSIONS; i++)
        if (own[i].ops != NULL)
            own[i].ops->close(own[i].state);
    return NULL;
}

/* Make the block that was being filled ready to compress. It must be complete. */
static void submit_block(pack_blocks *b)
{
    bm_pack_pool *pool = b->pool;
    if (pool->is_busy) /* from the second block on, threads are worthwhile */
        while (pool->n_threads < pool->most_threads &&
               bm_thread_start(&pool->threads[pool->n_threads], run_thread, pool) == 0)
            pool->n_threads++;
    pool->is_busy = true;
    pthread_mutex_lock(&pool->lock);
    b->ring[b->n_filled % pool->n_blocks].done = false;
    b->n_ready = ++b->n_filled;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_for(pack_blocks *b, const pack_blocks_block *one)
{
    pthread_mutex_lock(&b->pool->lock);
    while (!one->done) {
        if (b->n_begun < b->n_ready)
            compress_next(b, b->state);
        else
            pthread_cond_wait(&b->pool->finished, &b->pool->lock);
    }
    pthread_mutex_unlock(&b->pool->lock);
}

/* Copy output of the oldest block to step->out. Sets *whole if all output of the block has been
 * copied. */
static pack_result copy_oldest(pack_blocks *b, bm_compress_step *step, bool *whole)
{
    pack_blocks_block *oldest = &b->ring[b->n_written % b->pool->n_blocks];
    wait_for(b, oldest);
    *whole = false;
    if (oldest->packed.why != NULL || oldest->packed.no_memory)
        return oldest->packed;
    const size_t left = oldest->n_out - oldest->handed_on, room = step->cap - step->len;
    const size_t n = left < room ? left : room;
    memcpy(step->out + step->len, oldest->buffers.out + oldest->handed_on, n);
    step->len += n;
    oldest->handed_on += n;
    *whole = n == left;
    if (*whole) {
        pthread_mutex_lock(&b->pool->lock);
        give_buffers_back(b->pool, oldest);
        oldest->n_in = 0;
        b->n_written++;
        pthread_mutex_unlock(&b->pool->lock);
    }
    return (pack_result){NULL, false};
}

/* Fill the next block, which has buffers, from step->in. */
static void fill_block(pack_blocks *b, bm_compress_step *step)
{
    pack_blocks_block *one = &b->ring[b->n_filled % b->pool->n_blocks];
    const size_t room = PACK_BLOCK_BYTES - one->n_in;
    const size_t n = step->in.len < room ? step->in.len : room;
    if (n > 0)
        memcpy(one->buffers.in + one->n_in, step->in.data, n);
    one->n_in += n;
    pack_consume(step, n);
}

/* Is there a block to fill? If it needs buffers, gets them. *no_memory: as in take_buffers. */
static bool has_block(pack_blocks *b, bool *no_memory)
{
    pack_blocks_block *one = &b->ring[b->n_filled % b->pool->n_blocks];
    *no_memory = false;
    if (b->n_filled - b->n_written == b->pool->n_blocks)
        return false;
    return one->buffers.in != NULL || take_buffers(b, one, no_memory);
}

/* Number of bytes in the block that is being filled; 0 if the ring is full. */
static size_t filled_bytes(const pack_blocks *b)
{
    return b->n_filled - b->n_written == b->pool->n_blocks
               ? 0
               : b->ring[b->n_filled % b->pool->n_blocks].n_in;
}

/* Like bm_compressor_run, in blocks. */
static pack_result pack_blocks_run(pack_blocks *b, bm_compress_step *step)
{
    step->done = false;
    for (;;) {
        bool no_memory = false;
        if (b->ended ? b->n_written < b->n_filled : !has_block(b, &no_memory)) {
            bool whole;
            if (no_memory)
                return (pack_result){NULL, true};
            const pack_result packed = copy_oldest(b, step, &whole);
            if (packed.why != NULL || packed.no_memory || !whole)
                return packed;
            continue;
        }
        step->done = b->ended;
        if (b->ended)
            return (pack_result){NULL, false};
        fill_block(b, step);
        const size_t n_in = filled_bytes(b);
        b->ended = step->end && step->in.len == 0;
        /* An empty stream is one empty block. */
        if (n_in == PACK_BLOCK_BYTES || (step->part && step->in.len == 0 && n_in > 0) ||
            (b->ended && (n_in > 0 || b->n_filled == 0)))
            submit_block(b);
        else if (!b->ended) {
            step->done = true;
            return (pack_result){NULL, false};
        }
    }
}

struct bm_compressor {
    const char *shown;
    const pack_ops *ops;
    void *state;         /* compresses the file as one stream; used if `blocks` is NULL */
    pack_blocks *blocks; /* compresses the file in blocks; NULL: the file is one stream */
};

static const pack_ops *const rows[BM_COMPRESSIONS] = {
    [BM_COMPRESSION_GZ] = &pack_gz,   [BM_COMPRESSION_ZST] = &pack_zst,
    [BM_COMPRESSION_XZ] = &pack_xz,   [BM_COMPRESSION_BZ2] = &pack_bz2,
    [BM_COMPRESSION_LZ4] = &pack_lz4,
};

static bm_status no_memory(const pack_ops *ops, const char *shown, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_NOMEM, shown, 0, "no memory for %s compression", ops->name);
}

bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err)
{
    bm_compressor *compressor = NULL;
    BM_TRY(bm_new_zero(&compressor, 1, err));
    compressor->shown = shown;
    compressor->ops = rows[compression];
    bm_error why = {0};
    bm_status status =
        compressor->ops->block != NULL
            ? pack_blocks_open(compression, compressor->ops, lanes, &compressor->blocks, &why)
            : compressor->ops->open(&compressor->state, &why);
    if (status != BM_OK) {
        bm_compressor_close(compressor);
        return status == BM_ERR_NOMEM ? no_memory(rows[compression], shown, err)
                                      : bm_fail_at(err, status, shown, 0, "%s", why.message);
    }
    *out = compressor;
    return BM_OK;
}

void bm_compressor_close(bm_compressor *compressor)
{
    if (compressor == NULL)
        return;
    pack_blocks_close(compressor->blocks);
    compressor->ops->close(compressor->state);
    bm_free(compressor);
}

bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err)
{
    const pack_result packed = compressor->blocks != NULL
                                   ? pack_blocks_run(compressor->blocks, step)
                                   : compressor->ops->run(compressor->state, step);
    if (packed.no_memory)
        return no_memory(compressor->ops, compressor->shown, err);
    return packed.why == NULL
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INTERNAL, compressor->shown, 0, "%s compression failed: %s",
                            compressor->ops->name, packed.why);
}

bool bm_compressor_end(bm_compressor *compressor)
{
    pack_blocks *b = compressor->blocks;
    if (b == NULL || b->pool->most_threads == 0)
        return false;
    const bool last = !b->ended && filled_bytes(b) > 0;
    b->ended = b->ended || last || b->n_filled > 0;
    if (last)
        submit_block(b);
    return b->n_written < b->n_filled;
}
