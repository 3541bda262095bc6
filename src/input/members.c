/* members.c -- see the header.
 *
 * Members that a stream decoder would refuse are not cut: headers of gzip with other flags than
 * that of BGZF, since libdeflate does not compare their checksum, and frames that need a
 * dictionary, or a window that is larger than what may be cut.
 *
 * Tests: tests/unit/input/test_members.c */
#include "input/members.h"

#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"
#include "input/unpack.h"

#define GZ_HEADER  10u
#define GZ_LEAST   18u                 /* with the end of a member, and no data */
#define GZ_TRAILER 4u                  /* the length, at the end */
#define GZ_EXTRA   (UINT64_C(4) << 24) /* the flag of a field that BGZF has */
#define ZST_MAGIC  0xFD2FB528u
#define ZST_BLOCK  3u /* its header */
#define ZST_LEAST  9u /* an empty frame */
#define ZST_SKIP   8u /* the header of a frame that is skipped */
#define SKIP_MAGIC 0x184D2A50u

static uint64_t number_at(bm_str in, size_t at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | (unsigned char)in.data[at + i - 1];
    return value;
}

/* --- where they end --- */

typedef struct member {
    size_t end; /* 0: not in these bytes */
    uint64_t plain;
    bool never; /* it cannot be cut */
} member;

static member gz_member(bm_str in, size_t at, bool end, size_t seen)
{
    const bm_str left = {in.data + at, in.len - at};
    if (left.len >= GZ_HEADER && (number_at(left, 0, 4) & ~GZ_EXTRA) != 0x00088B1F) /* deflate */
        return (member){.never = true};
    if (left.len < GZ_LEAST)
        return (member){.never = end};
    const size_t from = seen > at + GZ_HEADER + GZ_LEAST ? seen - GZ_HEADER - at : GZ_LEAST;
    const char *next = memmem(left.data + from, left.len - from, left.data, GZ_HEADER);
    if (next == NULL && !end)
        return (member){0};
    const size_t len = next != NULL ? (size_t)(next - left.data) : left.len;
    return (member){.end = at + len, .plain = number_at(left, len - GZ_TRAILER, GZ_TRAILER)};
}

/* A frame, or one that is to be skipped. */
static member zst_member(bm_str in, size_t at, bool end, size_t most)
{
    static const size_t id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
    const bm_str left = {in.data + at, in.len - at};
    member m = {0};
    if (left.len < ZST_LEAST)
        return (member){.never = end};
    if ((number_at(left, 0, 4) & ~UINT64_C(15)) == SKIP_MAGIC) {
        const uint64_t bytes = ZST_SKIP + number_at(left, 4, 4);
        return bytes <= left.len ? (member){.end = at + (size_t)bytes} : (member){.never = end};
    }
    const unsigned descriptor = (unsigned char)left.data[4];
    const bool single = (descriptor & 0x20) != 0;
    const size_t n = single && descriptor >> 6 == 0 ? 1 : size_bytes[descriptor >> 6];
    size_t len = (single ? 5 : 6) + n;
    if (number_at(left, 0, 4) != ZST_MAGIC || (descriptor & 8) != 0 || n == 0 ||
        id_bytes[descriptor & 3] != 0)
        return (member){.never = true};
    if (left.len < len)
        return (member){.never = end};
    if (bm_window_of(BM_COMPRESSION_ZST, left.data, left.len) > most)
        return (member){.never = true};
    m.plain = number_at(left, len - n, n) + (n == 2 ? 256 : 0);
    for (bool last = false; !last;) {
        if (left.len - len < ZST_BLOCK)
            return (member){.never = end};
        const uint64_t block = number_at(left, len, ZST_BLOCK), type = block >> 1 & 3;
        last = (block & 1) != 0;
        len += ZST_BLOCK;
        const uint64_t bytes = type == 1 ? 1 : block >> 3;
        if (type == 3 || bytes > left.len - len)
            return (member){.never = type == 3 || end};
        len += (size_t)bytes;
    }
    const size_t sum = ((unsigned char)left.data[4] & 4) != 0 ? 4 : 0;
    if (left.len - len < sum)
        return (member){.never = end};
    m.end = at + len + sum;
    return m;
}

bm_members_found bm_members_cut_off(bm_compression kind, bm_str in, bool end, size_t most,
                                    bm_members_cut *cut)
{
    const size_t seen = cut->seen;
    *cut = (bm_members_cut){0};
    while (cut->stored < in.len) {
        const member m = kind == BM_COMPRESSION_GZ    ? gz_member(in, cut->stored, end, seen)
                         : kind == BM_COMPRESSION_ZST ? zst_member(in, cut->stored, end, most)
                                                      : (member){.never = true};
        const bool fits = m.end <= most && m.plain <= most - cut->plain;
        if (m.end == 0 || !fits) {
            if (cut->stored > 0) /* what comes behind is another matter */
                break;
            cut->seen = in.len;
            return m.never || (m.end != 0 && !fits) || in.len >= most ? BM_MEMBERS_NONE
                                                                      : BM_MEMBERS_MORE;
        }
        cut->stored = m.end;
        cut->plain += (size_t)m.plain;
    }
    return cut->stored > 0 ? BM_MEMBERS_CUT : BM_MEMBERS_MORE;
}

/* --- unpacking --- */

#define GZ_FUNCTIONS(X)                                                                            \
    X(libdeflate_alloc_decompressor)                                                               \
    X(libdeflate_gzip_decompress_ex)                                                               \
    X(libdeflate_free_decompressor)
#define ZST_FUNCTIONS(X) X(ZSTD_createDCtx) X(ZSTD_freeDCtx) X(ZSTD_decompressDCtx)

typedef struct libdeflate {
    GZ_FUNCTIONS(BM_LIBRARY_MEMBER)
} libdeflate;

typedef struct libzstd {
    ZST_FUNCTIONS(BM_LIBRARY_MEMBER)
} libzstd;

static const char *const gz_names[] = {GZ_FUNCTIONS(BM_LIBRARY_NAME) NULL};
static const char *const zst_names[] = {ZST_FUNCTIONS(BM_LIBRARY_NAME) NULL};

struct bm_members {
    libdeflate deflate;
    libzstd zstd;
    struct libdeflate_decompressor *gz;
    ZSTD_DCtx *zst;
};

bm_status bm_members_open(bm_compression kind, bm_members **out, bm_error *err)
{
    bm_members *m = NULL;
    BM_TRY(bm_new_zero(&m, 1, err));
    bm_status status = BM_OK;
    if (kind == BM_COMPRESSION_GZ) {
        BM_TRY_OUT(bm_shared_library_open(BM_SONAME_DEFLATE, gz_names, &m->deflate, err));
        m->gz = m->deflate.libdeflate_alloc_decompressor();
    } else {
        BM_TRY_OUT(bm_shared_library_open(BM_SONAME_ZSTD, zst_names, &m->zstd, err));
        m->zst = m->zstd.ZSTD_createDCtx();
    }
    if (m->gz == NULL && m->zst == NULL)
        status = bm_fail(err, BM_ERR_NOMEM, "the library found no memory");
out:
    if (status != BM_OK) {
        bm_members_close(m);
        return status;
    }
    *out = m;
    return BM_OK;
}

void bm_members_close(bm_members *members)
{
    if (members == NULL)
        return;
    if (members->gz != NULL)
        members->deflate.libdeflate_free_decompressor(members->gz);
    if (members->zst != NULL)
        members->zstd.ZSTD_freeDCtx(members->zst);
    bm_free(members);
}

bool bm_members_run(bm_members *members, bm_str in, char *out, size_t n)
{
    if (members->zst != NULL)
        return members->zstd.ZSTD_decompressDCtx(members->zst, out, n, in.data, in.len) == n;
    size_t used = 0, given = 0;
    while (used < in.len) {
        size_t in_n, out_n;
        if (members->deflate.libdeflate_gzip_decompress_ex(members->gz, in.data + used,
                                                           in.len - used, out + given, n - given,
                                                           &in_n, &out_n) != LIBDEFLATE_SUCCESS)
            return false;
        used += in_n;
        given += out_n;
    }
    return given == n;
}
