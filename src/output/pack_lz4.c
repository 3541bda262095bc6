/* pack_lz4.c -- lz4 by liblz4: frames of independent blocks of 1 MiB, with a checksum of the content.
 *
 * The library needs room for all that a call may give, so whole blocks are gathered here, compressed,
 * and what comes out is handed on as there is room:
 *
 *     in  ->  block (1 MiB)  ->  LZ4F  ->  packed  ->  out
 *
 * Tests: tests/unit/output/test_out_file.c */
#include <lz4frame.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "output/pack.h"

#define BLOCK_BYTES ((size_t)1 << 20)

#define FUNCTIONS(X)                                                                               \
    X(LZ4F_createCompressionContext)                                                               \
    X(LZ4F_freeCompressionContext)                                                                 \
    X(LZ4F_compressBound)                                                                          \
    X(LZ4F_compressBegin)                                                                          \
    X(LZ4F_compressUpdate)                                                                         \
    X(LZ4F_compressEnd)                                                                            \
    X(LZ4F_isError)                                                                                \
    X(LZ4F_getErrorName)

typedef struct liblz4 {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} liblz4;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef enum lz4_stage { LZ4_BEGIN, LZ4_BLOCKS, LZ4_ENDED } lz4_stage;

typedef struct lz4 {
    liblz4 lib;
    LZ4F_cctx *context;
    LZ4F_preferences_t preferences;
    lz4_stage stage;
    char *block, *packed;
    size_t n_block; /* bytes gathered */
    size_t packed_pos, packed_len, packed_cap;
} lz4;

static void lz4_close(void *state)
{
    lz4 *l = state;
    if (l == NULL)
        return;
    if (l->context != NULL)
        l->lib.LZ4F_freeCompressionContext(l->context);
    bm_free(l->block);
    bm_free(l->packed);
    bm_free(l);
}

static bm_status lz4_open(void **state, bm_error *err)
{
    lz4 *l = *state = bm_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return bm_fail_nomem(err, sizeof *l);
    BM_TRY(bm_shared_library_open(BM_SONAME_LZ4, names, &l->lib, err));
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

static void hand_on(lz4 *l, bm_compress_step *step)
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
    bm_pack_took(step, n);
}

/* Fill `packed`, which is empty, with what comes next: the header, a block, the end. */
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

static bm_packed lz4_run(void *state, bm_compress_step *step)
{
    lz4 *l = state;
    step->done = false;
    for (;;) {
        hand_on(l, step);
        if (l->packed_pos < l->packed_len)
            return (bm_packed){NULL, false}; /* no room */
        gather(l, step);
        const bool block_is_full = l->n_block == BLOCK_BYTES;
        step->done = l->stage == LZ4_ENDED || (!step->end && !block_is_full);
        if (step->done)
            return (bm_packed){NULL, false};
        size_t n = pack_next(l);
        if (l->lib.LZ4F_isError(n)) {
            const char *why = l->lib.LZ4F_getErrorName(n);
            return (bm_packed){why, strcmp(why, "ERROR_allocation_failed") == 0};
        }
        l->packed_pos = 0;
        l->packed_len = n;
    }
}

const bm_pack_ops bm_pack_lz4 = {
    .name = "lz4", .open = lz4_open, .run = lz4_run, .close = lz4_close};
