/* unpack_xz.c -- streams of xz, by liblzma, whose memory is bounded: a dictionary of at most 2^27 bytes and
 * 1 MiB for all else. A check that liblzma does not know is refused, since nothing would tell damage.
 *
 * The decoder of LZMA2 reads on behind the end of a damaged chunk, as far as it has input and room, and
 * only then compares what it has read with what the chunk's header says: hence `pieces`.
 *
 * Tests: tests/unit/input/test_decompress.c */
#include <lzma.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "input/unpack.h"

#define OTHER_BYTES (UINT64_C(1) << 20) /* beside the dictionary */

#define FUNCTIONS(X) X(lzma_stream_decoder) X(lzma_code) X(lzma_end)

typedef struct liblzma {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} liblzma;

static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct xz {
    liblzma lib;
    lzma_stream stream;
    lzma_allocator allocator;
    uint64_t memory_max;
} xz;

static void *xz_alloc(void *opaque, size_t n, size_t size)
{
    (void)opaque;
    return bm_alloc(n, size);
}

static void xz_free(void *opaque, void *block)
{
    (void)opaque;
    bm_free(block);
}

static void xz_close(void *state)
{
    xz *x = state;
    if (x == NULL)
        return;
    if (x->lib.lzma_end != NULL)
        x->lib.lzma_end(&x->stream);
    bm_free(x);
}

static bm_status xz_open(void **state, bm_error *err)
{
    xz *x = *state = bm_alloc_zero(1, sizeof *x);
    if (x == NULL)
        return bm_fail_nomem(err, sizeof *x);
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    x->memory_max = (UINT64_C(1) << BM_WINDOW_LOG_MAX) + OTHER_BYTES;
    x->allocator = (lzma_allocator){.alloc = xz_alloc, .free = xz_free};
    x->stream.allocator = &x->allocator;
    return bm_shared_library_open(BM_SONAME_LZMA, names, &x->lib, err);
}

static void xz_limit(void *state, unsigned window_log)
{
    ((xz *)state)->memory_max = (UINT64_C(1) << window_log) + OTHER_BYTES;
}

static bool xz_reset(void *state)
{
    xz *x = state;
    return x->lib.lzma_stream_decoder(&x->stream, x->memory_max, LZMA_TELL_UNSUPPORTED_CHECK) ==
           LZMA_OK;
}

static const char *words_of(lzma_ret rc)
{
    switch (rc) {
    case LZMA_FORMAT_ERROR:
        return "no stream begins here";
    case LZMA_OPTIONS_ERROR:
        return "it was made with options that are not known";
    case LZMA_UNSUPPORTED_CHECK:
        return "its checksum is of a kind that is not known";
    default:
        return "a checksum or a block is wrong";
    }
}

static bm_unpacked xz_run(void *state, bm_decompress_step *step)
{
    xz *x = state;
    lzma_stream *s = &x->stream;
    s->next_in = (const uint8_t *)step->in.data + step->used;
    s->avail_in = step->in.len - step->used;
    s->next_out = (uint8_t *)step->out + step->n_out;
    s->avail_out = step->out_cap - step->n_out;
    lzma_ret rc = x->lib.lzma_code(s, LZMA_RUN);
    step->used = step->in.len - s->avail_in;
    step->n_out = step->out_cap - s->avail_out;
    switch (rc) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: /* neither input nor room */
        return (bm_unpacked){BM_UNPACK_MORE, NULL};
    case LZMA_STREAM_END:
        return (bm_unpacked){BM_UNPACK_END, NULL};
    case LZMA_MEM_ERROR:
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    case LZMA_MEMLIMIT_ERROR:
        return (bm_unpacked){BM_UNPACK_TOO_LARGE, NULL};
    default:
        return (bm_unpacked){BM_UNPACK_BROKEN, words_of(rc)};
    }
}

const bm_unpack_ops bm_unpack_xz = {.members = "stream",
                                    .first_byte = 0xFD,
                                    .padding = 4,
                                    .pieces = true,
                                    .open = xz_open,
                                    .limit = xz_limit,
                                    .reset = xz_reset,
                                    .run = xz_run,
                                    .close = xz_close};
