/* pack_bz2.c -- bz2 by libbz2, blocks of 900,000 bytes, its default.
 *
 * Tests: tests/unit/io_output/test_out_file.c */
#include <bzlib.h>
#include <limits.h>

#include "base/memory.h"
#include "io/output/pack.h"

#define LEVEL 9

static void *bz2_open(void)
{
    bz_stream *bz2 = bm_alloc_zero(1, sizeof *bz2);
    if (bz2 == NULL || BZ2_bzCompressInit(bz2, LEVEL, 0, 0) == BZ_OK)
        return bz2;
    bm_free(bz2);
    return NULL;
}

static void bz2_close(void *state)
{
    if (state != NULL)
        BZ2_bzCompressEnd(state);
    bm_free(state);
}

static unsigned at_most(size_t n)
{
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

static bm_packed bz2_run(void *state, bm_compress_step *step)
{
    bz_stream *bz2 = state;
    const unsigned given = at_most(step->in.len), room = at_most(step->cap - step->len);
    const bool last = step->end && given == step->in.len;
    step->done = given == 0 && !last;
    if (step->done) /* to run on nothing is an error to it */
        return (bm_packed){NULL, false};
    bz2->next_in = (char *)(uintptr_t)step->in.data; /* it only reads */
    bz2->avail_in = given;
    bz2->next_out = step->out + step->len;
    bz2->avail_out = room;
    int code = BZ2_bzCompress(bz2, last ? BZ_FINISH : BZ_RUN);
    step->len += room - bz2->avail_out;
    bm_pack_took(step, given - bz2->avail_in);
    if (code != BZ_RUN_OK && code != BZ_FINISH_OK && code != BZ_STREAM_END)
        return (bm_packed){"libbz2 refused it", code == BZ_MEM_ERROR};
    step->done = last ? code == BZ_STREAM_END : step->in.len == 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_bz2 = {
    .name = "bz2", .open = bz2_open, .run = bz2_run, .close = bz2_close};
