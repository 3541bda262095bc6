/* pack_bz2.c -- bz2 by libbz2, blocks of 900,000 bytes, its default.
 *
 * Tests: tests/unit/output/test_out_file.c */
#include <bzlib.h>
#include <limits.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "output/pack.h"

#define LEVEL 9

#define FUNCTIONS(X) X(BZ2_bzCompressInit) X(BZ2_bzCompress) X(BZ2_bzCompressEnd)

typedef struct libbz2 {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libbz2;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct bz2 {
    libbz2 lib;
    bz_stream stream;
} bz2;

static bm_status bz2_open(void **state, bm_error *err)
{
    bz2 *b = *state = bm_alloc_zero(1, sizeof *b);
    if (b == NULL)
        return bm_fail_nomem(err, sizeof *b);
    BM_TRY(bm_shared_library_open(BM_SONAME_BZ2, names, &b->lib, err));
    if (b->lib.BZ2_bzCompressInit(&b->stream, LEVEL, 0, 0) != BZ_OK)
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

static bm_packed bz2_run(void *state, bm_compress_step *step)
{
    bz2 *b = state;
    bz_stream *s = &b->stream;
    const unsigned given = at_most(step->in.len), room = at_most(step->cap - step->len);
    const bool last = step->end && given == step->in.len;
    step->done = given == 0 && !last;
    if (step->done) /* to run on nothing is an error to it */
        return (bm_packed){NULL, false};
    s->next_in = (char *)(uintptr_t)step->in.data; /* it only reads */
    s->avail_in = given;
    s->next_out = step->out + step->len;
    s->avail_out = room;
    int code = b->lib.BZ2_bzCompress(s, last ? BZ_FINISH : BZ_RUN);
    step->len += room - s->avail_out;
    bm_pack_took(step, given - s->avail_in);
    if (code != BZ_RUN_OK && code != BZ_FINISH_OK && code != BZ_STREAM_END)
        return (bm_packed){"libbz2 refused it", code == BZ_MEM_ERROR};
    step->done = last ? code == BZ_STREAM_END : step->in.len == 0;
    return (bm_packed){NULL, false};
}

const bm_pack_ops bm_pack_bz2 = {
    .name = "bz2", .open = bz2_open, .run = bz2_run, .close = bz2_close};
