/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c -- has one set of functions per compression, and finds the size of the window in a
 * file's first bytes.
 *
 * Tests: tests/unit/input/test_decompress.c, tests/unit/input/test_window_of.c */
#include "input/unpack.h"

#include <bzlib.h>
#include <limits.h>
#include <lz4frame.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

/* === window of ===
 *
 * Parses headers of RFC 8878 and of the xz file format as far as the size of the window.
 *
 *     Zstandard   28 B5 2F FD | descriptor | window, unless it is a single segment |
 *                 dictionary id | size of the content, which is the window of a single segment
 *     xz          stream header (12 bytes) | size of the block header | flags | sizes, if the flags
 *                 announce them | filters: id, size of properties, properties (one byte for LZMA2,
 *                 id 21 hex) */

#define STREAM_HEADER 12u
#define LZMA2_ID      0x21u
#define LZMA2_MOST    40u /* means a dictionary of 4 GiB - 1 byte */

/* A little-endian number. */
static uint64_t number_of(const unsigned char *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}

/* The header of a frame of Zstandard. */
typedef struct zst_header {
    size_t len; /* length of the whole header; 0: unknown, since bytes are missing */
                /* window, content: 0 if these bytes do not reach it; content: UINT64_MAX if the
                 * header does not state it */
    uint64_t window, content;
} zst_header;

static zst_header zst_header_of(const unsigned char *head, size_t len)
{
    static const size_t id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
    if (len < 5 || number_of(head, 4) != 0xFD2FB528)
        return (zst_header){0};
    const unsigned descriptor = head[4];
    const bool single = (descriptor & 0x20) != 0;
    const size_t n = single && descriptor >> 6 == 0 ? 1 : size_bytes[descriptor >> 6],
                 at = (single ? 5 : 6) + id_bytes[descriptor & 3];
    zst_header header = {.len = at + n};
    if (!single && len > 5) {
        const uint64_t base = UINT64_C(1) << (10 + (head[5] >> 3));
        header.window = base + base / 8 * (head[5] & 7);
    }
    if (len >= header.len)
        header.content = n == 0 ? UINT64_MAX : number_of(head + at, n) + (n == 2 ? 256 : 0);
    if (single)
        header.window = header.content;
    return header;
}

/* Read a number of seven bits per byte at head[*at], and advance *at past it. False: the bytes end
 * inside the number, or it has more than 63 bits. */
static bool read_number(const unsigned char *head, size_t end, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
        const unsigned byte = head[(*at)++];
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static uint64_t xz_window(const unsigned char *head, size_t len)
{
    uint64_t id, size;
    size_t at = STREAM_HEADER + 2;
    if (len < at || head[STREAM_HEADER] == 0) /* 0: no block, only the index */
        return 0;
    size_t end = STREAM_HEADER + (head[STREAM_HEADER] + 1u) * 4;
    end = end < len ? end : len;
    const unsigned flags = head[STREAM_HEADER + 1];
    for (unsigned bit = 0x40; bit <= 0x80; bit <<= 1) /* skip both sizes */
        if ((flags & bit) != 0 && !read_number(head, end, &at, &size))
            return 0;
    for (unsigned i = 0; i <= (flags & 3); i++) {
        if (!read_number(head, end, &at, &id) || !read_number(head, end, &at, &size) ||
            size > end - at)
            return 0;
        if (id == LZMA2_ID && size == 1 && head[at] <= LZMA2_MOST)
            return head[at] == LZMA2_MOST ? UINT32_MAX
                                          : (UINT64_C(2) | (head[at] & 1)) << (head[at] / 2 + 11);
        at += (size_t)size;
    }
    return 0;
}

uint64_t bm_window_of(bm_compression kind, const char *head, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)head;
    return kind == BM_COMPRESSION_ZST  ? zst_header_of(bytes, len).window
           : kind == BM_COMPRESSION_XZ ? xz_window(bytes, len)
                                       : 0;
}

bool bm_has_windows(bm_compression kind)
{
    return kind == BM_COMPRESSION_ZST || kind == BM_COMPRESSION_XZ;
}

/* === unpack gz ===
 *
 * Unpacks members of gzip with zlib. inflate() decodes symbol by symbol. So what it delivers before
 * damage does not depend on how many bytes it gets at a time. */

#define FUNCTIONS(X) X(inflateInit2_) X(inflateReset) X(inflate) X(inflateEnd) X(zError)

#define GZIP_ONLY (15 + 16) /* zlib's windowBits: the largest window, a gzip header */

typedef struct zlib {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} zlib;

static const char *const gz_names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct gz {
    zlib lib;
    z_stream stream;
} gz;

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

static void gz_close(void *state)
{
    gz *g = state;
    if (g != NULL && g->stream.state != NULL)
        g->lib.inflateEnd(&g->stream);
    bm_free(g);
}

static bm_status gz_open(void **state, bm_error *err)
{
    gz *g = *state = bm_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return bm_fail_nomem(err, sizeof *g);
    g->stream = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free};
    BM_TRY(bm_shared_library_open(BM_SONAME_ZLIB, gz_names, &g->lib, err));
    if (g->lib.inflateInit2_(&g->stream, GZIP_ONLY, ZLIB_VERSION, (int)sizeof g->stream) != Z_OK)
        return bm_fail_nomem(err, (size_t)1 << 15);
    return BM_OK;
}

static bool gz_reset(void *state)
{
    gz *g = state;
    return g->lib.inflateReset(&g->stream) == Z_OK;
}

static uInt at_most(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (uInt)n;
}

static bm_unpacked gz_run(void *state, bm_decompress_step *step)
{
    gz *g = state;
    z_stream *z = &g->stream;
    z->next_in = (z_const Bytef *)(step->in.data + step->used);
    z->avail_in = at_most(step->in.len - step->used);
    z->next_out = (Bytef *)(step->out + step->n_out);
    z->avail_out = at_most(step->out_cap - step->n_out);
    int rc = g->lib.inflate(z, Z_NO_FLUSH);
    step->used = (size_t)((const char *)z->next_in - step->in.data);
    step->n_out = (size_t)((char *)z->next_out - step->out);
    if (rc == Z_STREAM_END)
        return (bm_unpacked){BM_UNPACK_END, NULL};
    if (rc == Z_OK || rc == Z_BUF_ERROR)
        return (bm_unpacked){BM_UNPACK_MORE, NULL};
    if (rc == Z_MEM_ERROR)
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    return (bm_unpacked){BM_UNPACK_BROKEN, z->msg != NULL      ? z->msg
                                           : rc == Z_NEED_DICT ? "it needs a dictionary"
                                                               : g->lib.zError(rc)};
}

const bm_unpack_ops bm_unpack_gz = {.members = "member",
                                    .first_byte = 0x1F,
                                    .padding = 1,
                                    .padding_ends = true,
                                    .open = gz_open,
                                    .reset = gz_reset,
                                    .run = gz_run,
                                    .close = gz_close};

/* === unpack zst ===
 *
 * Unpacks frames of Zstandard with libzstd, with a window of at most 2^27 bytes, so a hostile
 * header cannot cause a larger allocation.
 *
 * On an error, ZSTD_decompressStream() does not report the bytes that it wrote earlier in the same
 * call. The library's request for bytes includes the header of the following block. So each call
 * gets the requested number of bytes less that header. A call then decodes at most one block, or
 * reads a header, never both. The first byte of a frame is passed alone. Otherwise the library
 * would decode a small frame as a whole, by other rules. The library delivers the parts of an
 * uncompressed block as they arrive, and only later finds that the block is too large. So this
 * compression needs `pieces`.
 *
 * The library accepts a match anywhere in its buffer, which is larger than the window if an earlier
 * frame needed a larger buffer. So after such a frame, a frame longer than its window gets a new
 * context. Thus earlier frames have no effect on whether a frame is accepted. */

#define HEADER_BYTES 3u /* size of the header of a block */
#define FRAME_LEAST  5u /* bytes that determine the length of a frame's header */
#define FRAME_MOST   18u
#define BLOCK_MOST   (UINT64_C(128) << 10)

#define ZST_FUNCTIONS(X)                                                                           \
    X(ZSTD_createDCtx)                                                                             \
    X(ZSTD_freeDCtx)                                                                               \
    X(ZSTD_DCtx_setParameter)                                                                      \
    X(ZSTD_DCtx_reset)                                                                             \
    X(ZSTD_decompressStream)                                                                       \
    X(ZSTD_isError)                                                                                \
    X(ZSTD_getErrorCode)                                                                           \
    X(ZSTD_getErrorName)

typedef struct libzstd {
    ZST_FUNCTIONS(BM_LIBRARY_MEMBER)
} libzstd;

static const char *const zst_names[] = {ZST_FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct zst {
    libzstd lib;
    ZSTD_DCtx *context;
    unsigned window_log; /* log2 of the largest window allowed */
    uint64_t buffer;     /* upper bound of the present size of the context's buffer, in bytes */
    unsigned char head[FRAME_MOST]; /* the first bytes of a frame, until its header is complete */
    size_t n_head;
    bool inside;   /* the header has been read */
    size_t wanted; /* how many bytes the library requested */
    bool full;     /* the output space was used up: there may be more output */
} zst;

static void zst_close(void *state)
{
    zst *z = state;
    if (z == NULL)
        return;
    if (z->context != NULL)
        z->lib.ZSTD_freeDCtx(z->context);
    bm_free(z);
}

/* Create a context that has seen no frame. */
static bool zst_renew(zst *z)
{
    if (z->context != NULL)
        z->lib.ZSTD_freeDCtx(z->context);
    z->context = z->lib.ZSTD_createDCtx();
    z->buffer = 0;
    return z->context != NULL && !z->lib.ZSTD_isError(z->lib.ZSTD_DCtx_setParameter(
                                     z->context, ZSTD_d_windowLogMax, (int)z->window_log));
}

static bm_status zst_open(void **state, bm_error *err)
{
    zst *z = *state = bm_alloc_zero(1, sizeof *z);
    if (z == NULL)
        return bm_fail_nomem(err, sizeof *z);
    BM_TRY(bm_shared_library_open(BM_SONAME_ZSTD, zst_names, &z->lib, err));
    z->window_log = BM_WINDOW_LOG_MAX;
    return zst_renew(z) ? BM_OK : bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
}

static void zst_limit(void *state, unsigned window_log)
{
    zst *z = state;
    z->window_log = window_log;
    (void)z->lib.ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax, (int)window_log);
}

static bool zst_reset(void *state)
{
    zst *z = state;
    z->n_head = z->wanted = 0;
    z->inside = z->full = false;
    return z->context != NULL &&
           !z->lib.ZSTD_isError(z->lib.ZSTD_DCtx_reset(z->context, ZSTD_reset_session_only));
}

/* Pass the bytes of `in` to the library. */
static bm_unpacked zst_give(zst *z, ZSTD_inBuffer *in, bm_decompress_step *step)
{
    ZSTD_outBuffer out = {.dst = step->out, .size = step->out_cap, .pos = step->n_out};
    const size_t rc = z->lib.ZSTD_decompressStream(z->context, &out, in);
    switch (z->lib.ZSTD_getErrorCode(rc)) {
    case ZSTD_error_no_error:
        break;
    case ZSTD_error_memory_allocation:
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    case ZSTD_error_frameParameter_windowTooLarge:
        return (bm_unpacked){BM_UNPACK_TOO_LARGE, NULL};
    default:
        return (bm_unpacked){BM_UNPACK_BROKEN, z->lib.ZSTD_getErrorName(rc)};
    }
    z->full = out.pos == out.size && out.pos > step->n_out;
    step->n_out = out.pos;
    z->wanted = rc;
    return (bm_unpacked){rc == 0 ? BM_UNPACK_END : BM_UNPACK_MORE, NULL};
}

/* Renew the context if its buffer is larger than this frame may have (see above). Called when the
 * header of the frame is complete. False: there is no memory. */
static bool zst_fit_buffer(zst *z)
{
    const zst_header h = zst_header_of(z->head, z->n_head);
    const uint64_t block = h.window < BLOCK_MOST ? h.window : BLOCK_MOST;
    const uint64_t most = h.window + block, needed = h.content < most ? h.content : most;
    if (h.content > h.window && z->buffer > needed && !zst_renew(z))
        return false;
    z->buffer = z->buffer > needed ? z->buffer : needed;
    return true;
}

/* Gather the header of the frame. Pass it to the library when it is complete, or when the input
 * ends. */
static bm_unpacked zst_begin(zst *z, bm_decompress_step *step)
{
    for (; step->used < step->in.len; step->used++) {
        const size_t len = zst_header_of(z->head, z->n_head).len;
        if (z->n_head >= FRAME_LEAST && z->n_head >= len)
            break;
        z->head[z->n_head++] = (unsigned char)step->in.data[step->used];
    }
    const size_t len = zst_header_of(z->head, z->n_head).len;
    if ((z->n_head < FRAME_LEAST || z->n_head < len) && !step->end)
        return (bm_unpacked){BM_UNPACK_MORE, NULL};
    if (!zst_fit_buffer(z))
        return (bm_unpacked){BM_UNPACK_NO_MEMORY, NULL};
    ZSTD_inBuffer in = {.src = z->head, .size = 1};
    bm_unpacked unpacked = zst_give(z, &in, step);
    in.size = z->n_head;
    if (unpacked.got == BM_UNPACK_MORE && in.pos < in.size)
        unpacked = zst_give(z, &in, step);
    z->inside = true;
    return unpacked;
}

static bm_unpacked zst_run(void *state, bm_decompress_step *step)
{
    zst *z = state;
    if (!z->inside)
        return zst_begin(z, step);
    const size_t left = z->full ? 0 : step->in.len - step->used,
                 one = z->wanted > HEADER_BYTES ? z->wanted - HEADER_BYTES : 1;
    ZSTD_inBuffer in = {.src = step->in.data + step->used, .size = left < one ? left : one};
    const bm_unpacked unpacked = zst_give(z, &in, step);
    if (unpacked.got == BM_UNPACK_MORE || unpacked.got == BM_UNPACK_END)
        step->used += in.pos;
    return unpacked;
}

const bm_unpack_ops bm_unpack_zst = {.members = "frame",
                                     .first_byte = -1,
                                     .pieces = true,
                                     .open = zst_open,
                                     .limit = zst_limit,
                                     .reset = zst_reset,
                                     .run = zst_run,
                                     .close = zst_close};

/* === unpack xz ===
 *
 * Streams of xz, by liblzma, with bounded memory: a dictionary of at most 2^27 bytes, and 1 MiB for
 * everything else. If liblzma does not know a stream's kind of check, the stream is refused, since
 * damage could not be detected.
 *
 * The decoder of LZMA2 reads beyond the end of a damaged chunk while it has input and output space.
 * Only then does it compare the bytes read with the header of the chunk. So this compression needs
 * `pieces`. */

#define OTHER_BYTES (UINT64_C(1) << 20) /* memory in addition to the dictionary */

#define XZ_FUNCTIONS(X) X(lzma_stream_decoder) X(lzma_code) X(lzma_end)

typedef struct liblzma {
    XZ_FUNCTIONS(BM_LIBRARY_MEMBER)
} liblzma;

static const char *const xz_names[] = {XZ_FUNCTIONS(BM_LIBRARY_NAME) NULL};

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
    return bm_shared_library_open(BM_SONAME_LZMA, xz_names, &x->lib, err);
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
    case LZMA_BUF_ERROR: /* no input or no output space */
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

/* === unpack bz2 ===
 *
 * Unpacks streams of bzip2 with libbz2: blocks of at most 900,000 bytes, 3.7 MB of memory. The
 * library delivers the bytes of a block before it verifies the checksum. How many bytes of a
 * damaged block it delivers depends on the output space. So this compression needs `pieces`. */

#define BZ2_FUNCTIONS(X) X(BZ2_bzDecompressInit) X(BZ2_bzDecompress) X(BZ2_bzDecompressEnd)

typedef struct libbz2 {
    BZ2_FUNCTIONS(BM_LIBRARY_MEMBER)
} libbz2;

static const char *const bz2_names[] = {BZ2_FUNCTIONS(BM_LIBRARY_NAME) NULL};

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

static void end_stream(bz2 *b)
{
    if (b->open)
        b->lib.BZ2_bzDecompressEnd(&b->stream);
    b->open = false;
}

static void bz2_close(void *state)
{
    if (state == NULL)
        return;
    end_stream(state);
    bm_free(state);
}

static bool bz2_reset(void *state)
{
    bz2 *b = state;
    end_stream(b);
    b->stream = (bz_stream){.bzalloc = bz2_alloc, .bzfree = bz2_free};
    b->open = b->lib.BZ2_bzDecompressInit(&b->stream, 0, 0) == BZ_OK;
    return b->open;
}

static bm_status bz2_open(void **state, bm_error *err)
{
    bz2 *b = *state = bm_alloc_zero(1, sizeof *b);
    return b == NULL ? bm_fail_nomem(err, sizeof *b)
                     : bm_shared_library_open(BM_SONAME_BZ2, bz2_names, &b->lib, err);
}

static const char *bz2_words_of(int rc)
{
    return rc == BZ_DATA_ERROR_MAGIC ? "no stream begins here" : "a checksum or a block is wrong";
}

static unsigned bz2_at_most(size_t n)
{
    return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

static bm_unpacked bz2_run(void *state, bm_decompress_step *step)
{
    bz2 *b = state;
    bz_stream *s = &b->stream;
    const unsigned n_in = bz2_at_most(step->in.len - step->used);
    const unsigned n_out = bz2_at_most(step->out_cap - step->n_out);
    s->next_in = (char *)(uintptr_t)(step->in.data + step->used); /* only read */
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
        return (bm_unpacked){BM_UNPACK_BROKEN, bz2_words_of(rc)};
    }
}

const bm_unpack_ops bm_unpack_bz2 = {.members = "stream",
                                     .first_byte = 'B',
                                     .pieces = true,
                                     .open = bz2_open,
                                     .reset = bz2_reset,
                                     .run = bz2_run,
                                     .close = bz2_close};

/* === unpack lz4 ===
 *
 * Unpacks frames of LZ4 with liblz4. The window is 64 KiB and a block at most 4 MiB, so nothing has
 * to be bounded here.
 *
 * As with Zstandard, a failed call does not report its output. The library's request includes bytes
 * after the block: the checksum, and the size of the next block. */

#define FOLLOWING_BYTES 8u

#define LZ4_FUNCTIONS(X)                                                                           \
    X(LZ4F_createDecompressionContext)                                                             \
    X(LZ4F_freeDecompressionContext)                                                               \
    X(LZ4F_resetDecompressionContext)                                                              \
    X(LZ4F_decompress)                                                                             \
    X(LZ4F_isError)                                                                                \
    X(LZ4F_getErrorName)

typedef struct liblz4 {
    LZ4_FUNCTIONS(BM_LIBRARY_MEMBER)
} liblz4;

static const char *const lz4_names[] = {LZ4_FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct lz4 {
    liblz4 lib;
    LZ4F_dctx *context;
    size_t wanted; /* how many bytes the library requested */
    bool full;     /* the output space was used up: there may be more output */
} lz4;

static void lz4_close(void *state)
{
    lz4 *l = state;
    if (l == NULL)
        return;
    if (l->context != NULL)
        l->lib.LZ4F_freeDecompressionContext(l->context);
    bm_free(l);
}

static bm_status lz4_open(void **state, bm_error *err)
{
    lz4 *l = *state = bm_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return bm_fail_nomem(err, sizeof *l);
    BM_TRY(bm_shared_library_open(BM_SONAME_LZ4, lz4_names, &l->lib, err));
    if (l->lib.LZ4F_isError(l->lib.LZ4F_createDecompressionContext(&l->context, LZ4F_VERSION)))
        return bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
    return BM_OK;
}

static bool lz4_reset(void *state)
{
    lz4 *l = state;
    l->wanted = 0;
    l->full = false;
    l->lib.LZ4F_resetDecompressionContext(l->context);
    return true;
}

static bm_unpacked lz4_run(void *state, bm_decompress_step *step)
{
    lz4 *l = state;
    size_t n = step->in.len - step->used;
    size_t one = l->wanted > FOLLOWING_BYTES ? l->wanted - FOLLOWING_BYTES : 1;
    size_t n_in = l->full ? 0 : n < one ? n : one, n_out = step->out_cap - step->n_out;
    size_t room = n_out;
    size_t rc = l->lib.LZ4F_decompress(l->context, step->out + step->n_out, &n_out,
                                       step->in.data + step->used, &n_in, NULL);
    if (l->lib.LZ4F_isError(rc)) {
        const char *why = l->lib.LZ4F_getErrorName(rc);
        const bool no_memory = strcmp(why, "ERROR_allocation_failed") == 0;
        return (bm_unpacked){no_memory ? BM_UNPACK_NO_MEMORY : BM_UNPACK_BROKEN, why};
    }
    step->used += n_in;
    step->n_out += n_out;
    l->full = n_out == room;
    l->wanted = rc;
    return (bm_unpacked){rc == 0 ? BM_UNPACK_END : BM_UNPACK_MORE, NULL};
}

const bm_unpack_ops bm_unpack_lz4 = {.members = "frame",
                                     .first_byte = -1,
                                     .pieces = true,
                                     .open = lz4_open,
                                     .reset = lz4_reset,
                                     .run = lz4_run,
                                     .close = lz4_close};
