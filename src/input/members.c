/* SPDX-License-Identifier: Apache-2.0 */
/* members.c -- see the header.
 *
 * These functions refuse all data that a stream decoder (unpack.h) would refuse. So the number of
 * threads and the memory have no effect on whether a file is refused. Frames are unpacked by the
 * same functions as a stream, although this costs a copy, because ZSTD_decompressDCtx() would
 * accept matches beyond the window and blocks of any size. The deflate data of gzip has its own
 * decoder (inflate.h). Members with header flags other than BGZF's are not cut. Frames are not cut
 * if they do not state the size of their content, if they need a dictionary, or if they need a
 * window larger than the largest cut.
 *
 * Tests: tests/unit/input/test_members.c */
#include "input/members.h"

#include <libdeflate.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"
#include "input/inflate.h"
#include "input/unpack.h"

#define GZ_HEADER  10u
#define GZ_LEAST   18u                 /* an empty member with its header and trailer */
#define GZ_TRAILER 8u                  /* a checksum, and the length in four bytes */
#define GZ_EXTRA   (UINT64_C(4) << 24) /* flag of the extra field, which BGZF has */
#define ZST_MAGIC  0xFD2FB528u
#define ZST_BLOCK  3u /* header of a block */
#define ZST_LEAST  9u /* an empty frame */
#define ZST_SKIP   8u /* header of a skippable frame */
#define SKIP_MAGIC 0x184D2A50u

static uint64_t number_at(bm_str in, size_t at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | (unsigned char)in.data[at + i - 1];
    return value;
}

/* --- ends of members and frames --- */

typedef struct member {
    size_t end; /* 0: the bytes at hand do not contain the end */
    uint64_t plain;
    bool never; /* the member cannot be cut */
} member;

/* Do these ten bytes begin a member with a header that has no optional fields, except BGZF's? */
static bool is_plain_gz(bm_str header)
{
    return (number_at(header, 0, 4) & ~GZ_EXTRA) == 0x00088B1F;
}

static member gz_member(bm_str in, size_t at, bool end, size_t seen)
{
    const bm_str left = {in.data + at, in.len - at};
    if (left.len >= GZ_HEADER && !is_plain_gz(left))
        return (member){.never = true};
    if (left.len < GZ_LEAST)
        return (member){.never = end};
    const size_t from = seen > at + GZ_HEADER + GZ_LEAST ? seen - GZ_HEADER - at : GZ_LEAST;
    const char *next = memmem(left.data + from, left.len - from, left.data, GZ_HEADER);
    if (next == NULL && !end)
        return (member){0};
    const size_t len = next != NULL ? (size_t)(next - left.data) : left.len;
    return (member){.end = at + len, .plain = number_at(left, len - 4, 4)};
}

/* Find the end of a frame, which may be skippable. m.never becomes true if the frame is of a kind
 * that is not cut, or if the input ends (`end`) inside it. */
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
            if (cut->stored > 0) /* leave the rest to the next call */
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

#define GZ_FUNCTIONS(X) X(libdeflate_crc32)

typedef struct libdeflate {
    GZ_FUNCTIONS(BM_LIBRARY_MEMBER)
} libdeflate;

static const char *const gz_names[] = {GZ_FUNCTIONS(BM_LIBRARY_NAME) NULL};

struct bm_members {
    libdeflate lib; /* its CRC-32 takes a tenth of the time of zlib's */
    bm_inflate *gz;
    void *zst; /* state of bm_unpack_zst */
};

bm_status bm_members_open(bm_compression kind, bm_members **out, bm_error *err)
{
    bm_members *m = NULL;
    BM_TRY(bm_new_zero(&m, 1, err));
    bm_status status = BM_OK;
    if (kind == BM_COMPRESSION_GZ) {
        BM_TRY_OUT(bm_shared_library_open(BM_SONAME_DEFLATE, gz_names, &m->lib, err));
        status = bm_inflate_open(&m->gz, err);
    } else {
        status = bm_unpack_zst.open(&m->zst, err);
    }
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
    bm_inflate_close(members->gz);
    bm_unpack_zst.close(members->zst);
    bm_free(members);
}

/* The length of a member's header. 0: the header is incomplete, or has flags other than the extra
 * field's, and such members are not cut. */
static size_t gz_header(bm_str in)
{
    if (in.len < GZ_HEADER || !is_plain_gz(in))
        return 0;
    if ((number_at(in, 0, 4) & GZ_EXTRA) == 0)
        return GZ_HEADER;
    const size_t extra =
        in.len < GZ_HEADER + 2 ? in.len : GZ_HEADER + 2 + (size_t)number_at(in, GZ_HEADER, 2);
    return extra < in.len ? extra : 0;
}

static bool run_gz(bm_members *members, bm_str in, char *out, size_t n)
{
    size_t used = 0, given = 0, stored, plain;
    while (used < in.len) {
        const bm_str left = {in.data + used, in.len - used};
        const size_t header = gz_header(left);
        if (header == 0 || left.len - header < GZ_TRAILER)
            return false;
        const bm_str data = {left.data + header, left.len - header - GZ_TRAILER};
        if (!bm_inflate_run(members->gz, data, out + given, n - given, &stored, &plain))
            return false;
        const size_t end = header + stored;
        if (number_at(left, end, 4) != members->lib.libdeflate_crc32(0, out + given, plain) ||
            number_at(left, end + 4, 4) != (uint32_t)plain)
            return false;
        used += end + GZ_TRAILER;
        given += plain;
    }
    return given == n;
}

/* Unpack one frame from its beginning. Returns true if the whole frame was unpacked. */
static bool run_frame(void *zst, bm_decompress_step *step)
{
    bm_unpacked unpacked = {BM_UNPACK_MORE, NULL};
    if (!bm_unpack_zst.reset(zst))
        return false;
    for (unsigned idle = 0; unpacked.got == BM_UNPACK_MORE && idle < 2;) {
        const size_t used = step->used, n_out = step->n_out;
        unpacked = bm_unpack_zst.run(zst, step);
        idle = step->used == used && step->n_out == n_out ? idle + 1 : 0;
    }
    return unpacked.got == BM_UNPACK_END;
}

static bool run_zst(void *zst, bm_str in, char *out, size_t n)
{
    bm_decompress_step step = {.in = in, .end = true, .out = out, .out_cap = n};
    while (step.used < in.len)
        if (!run_frame(zst, &step))
            return false;
    return step.n_out == n;
}

bool bm_members_run(bm_members *members, bm_str in, char *out, size_t n)
{
    return members->gz != NULL ? run_gz(members, in, out, n) : run_zst(members->zst, in, out, n);
}
