/* unpack_bz2.c -- streams of bzip2, by libbz2: blocks of at most 900,000 bytes, 3.7 MB of memory. The
 * bytes of a block are given before its checksum is looked at; and how many a damaged block gives depends
 * on the room for them, hence `pieces`.
 *
 * Tests: tests/unit/input/test_decompress.c */
#include <bzlib.h>
#include <limits.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "input/unpack.h"

#define FUNCTIONS(X) X(BZ2_bzDecompressInit) X(BZ2_bzDecompress) X(BZ2_bzDecompressEnd)

typedef struct libbz2 {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} libbz2;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct bz2 {
    libbz2 lib;
    bz_stream stream;
    bool open;
} bz2;

static void *bz2_alloc(void *opaque, int n, int size)
{
    (void)opaque;
    return n < 0 || size < 0 ? NULL : bm_alloc((size_t)n, (size_t)size);
}

static void bz2_free(void *opaque, void *block)
{
    (void)opaque;
    bm_free(block);
}

static void leave(bz2 *b)
{
    if (b->open)
        b->lib.BZ2_bzDecompressEnd(&b->stream);
    b->open = false;
}

static void bz2_close(void *state)
{
    if (state == NULL)
        return;
    leave(state);
    bm_free(state);
}

static bool bz2_reset(void *state)
{
    bz2 *b = state;
    leave(b);
    b->stream = (bz_stream){.bzalloc = bz2_alloc, .bzfree = bz2_free};
    b->open = b->lib.BZ2_bzDecompressInit(&b->stream, 0, 0) == BZ_OK;
    return b->open;
}

static bm_status bz2_open(void **state, bm_error *err)
{
    bz2 *b = *state = bm_alloc_zero(1, sizeof *b);
    return b == NULL ? bm_fail_nomem(err, sizeof *b)
                     : bm_shared_library_open(BM_SONAME_BZ2, names, &b->lib, err);
}

static const char *words_of(int rc)
{
    return rc == BZ_DATA_ERROR_MAGIC ? "no stream begins here" : "a checksum or a block is wrong";
}

static unsigned at_most(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

static bm_unpacked bz2_run(void *state, bm_decompress_step *step)
{
    bz2 *b = state;
    bz_stream *s = &b->stream;
    const unsigned n_in = at_most(step->in.len - step->used);
    const unsigned n_out = at_most(step->out_cap - step->n_out);
    s->next_in = (char *)(uintptr_t)(step->in.data + step->used); /* it only reads */
    s->avail_in = n_in;
    s->next_out = step->out + step->n_out;
    s->avail_out = n_out;
    int rc = b->lib.BZ2_bzDecompress(s);
    step->used += n_in - s->avail_in;
    step->n_out += n_out - s->avail_out;
    switch (rc) {
    case BZ_OK:
        return (bm_unpacked){BM_UNPACK_MORE, NULL};
    case BZ_STREAM_END:
        return (bm_unpacked){BM_UNPACK_END, NULL};
    case BZ_MEM_ERROR:
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    default:
        return (bm_unpacked){BM_UNPACK_BROKEN, words_of(rc)};
    }
}

const bm_unpack_ops bm_unpack_bz2 = {.members = "stream",
                                     .first_byte = 'B',
                                     .pieces = true,
                                     .open = bz2_open,
                                     .reset = bz2_reset,
                                     .run = bz2_run,
                                     .close = bz2_close};
