/* pack_lz4.c -- lz4 by liblz4: frames of independent blocks of 1 MiB, with a checksum of the content.
 *
 * The library needs room for all that a call may give, so whole blocks are gathered here, compressed,
 * and what comes out is handed on as there is room:
 *
 *     in  ->  block (1 MiB)  ->  LZ4F  ->  packed  ->  out
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <lz4frame.h>
#include <string.h>

#include "base/memory.h"
#include "io/output/pack.h"

#define BLOCK_BYTES ((size_t)1 << 20)

typedef enum lz4_stage { LZ4_BEGIN, LZ4_BLOCKS, LZ4_ENDED } lz4_stage;

typedef struct lz4 {
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
    LZ4F_freeCompressionContext(l->context);
    bm_free(l->block);
    bm_free(l->packed);
    bm_free(l);
}

static void *lz4_open(void)
{
    lz4 *l = bm_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->preferences.frameInfo.blockSizeID = LZ4F_max1MB;
    l->preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    l->preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    l->preferences.autoFlush = 1;
    l->packed_cap = LZ4F_compressBound(BLOCK_BYTES, &l->preferences);
    if (l->packed_cap < LZ4F_HEADER_SIZE_MAX)
        l->packed_cap = LZ4F_HEADER_SIZE_MAX;
    l->block = bm_alloc(BLOCK_BYTES, 1);
    l->packed = bm_alloc(l->packed_cap, 1);
    if (l->block != NULL && l->packed != NULL &&
        !LZ4F_isError(LZ4F_createCompressionContext(&l->context, LZ4F_VERSION)))
        return l;
    lz4_close(l);
    return NULL;
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
        return LZ4F_compressBegin(l->context, l->packed, l->packed_cap, &l->preferences);
    }
    if (l->n_block > 0) {
        size_t n = l->n_block;
        l->n_block = 0;
        return LZ4F_compressUpdate(l->context, l->packed, l->packed_cap, l->block, n, NULL);
    }
    l->stage = LZ4_ENDED;
    return LZ4F_compressEnd(l->context, l->packed, l->packed_cap, NULL);
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
        if (LZ4F_isError(n)) {
            const char *why = LZ4F_getErrorName(n);
            return (bm_packed){why, strcmp(why, "ERROR_allocation_failed") == 0};
        }
        l->packed_pos = 0;
        l->packed_len = n;
    }
}

const bm_pack_ops bm_pack_lz4 = {
    .name = "lz4", .open = lz4_open, .run = lz4_run, .close = lz4_close};
