/* SPDX-License-Identifier: Apache-2.0 */
/* Members in memory: cuts are at ends of packed members, and unpacking gives the packed data. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "input/decompress.h"
#include "input/members.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define N_MEMBERS 7u
#define MOST      ((size_t)1 << 16)

/* Writes `n` bytes of text, different for each seed. */
static void fill(char *out, size_t n, uint64_t seed)
{
    world_fill(out, n, seed, "etaoin shrdlu");
}

static size_t pack(bm_compression kind, int level, const char *data, size_t n, char *out,
                   size_t cap)
{
    if (kind == BM_COMPRESSION_ZST)
        return ZSTD_compress(out, cap, data, n, level);
    z_stream z = {.next_in = (Bytef *)data,
                  .avail_in = (uInt)n,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)cap};
    cr_assert_eq(deflateInit2(&z, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return cap - z.avail_out;
}

typedef struct packed {
    char plain[8 * MOST], data[9 * MOST];
    size_t n_plain, n, ends[N_MEMBERS], plain_ends[N_MEMBERS];
} packed;

static packed *make(bm_compression kind)
{
    static const size_t sizes[N_MEMBERS] = {3000, 1, 0, 20000, 65536, 255, 300};
    packed *p = calloc(1, sizeof *p);
    cr_assert_not_null(p);
    for (size_t i = 0; i < N_MEMBERS; i++) {
        fill(p->plain + p->n_plain, sizes[i], (unsigned)i + 1);
        p->n +=
            pack(kind, 1, p->plain + p->n_plain, sizes[i], p->data + p->n, sizeof p->data - p->n);
        p->n_plain += sizes[i];
        p->ends[i] = p->n;
        p->plain_ends[i] = p->n_plain;
    }
    return p;
}

static bool is_end(const packed *p, size_t stored, size_t plain)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (p->ends[i] == stored && p->plain_ends[i] == plain)
            return true;
    return false;
}

static const bm_compression kinds[] = {BM_COMPRESSION_GZ, BM_COMPRESSION_ZST};

Test(members, what_is_cut_off_any_beginning_of_a_file_ends_where_a_member_ends)
{
    for (size_t k = 0; k < 2; k++) {
        packed *p = make(kinds[k]);
        for (size_t n = 0; n <= p->n; n++) {
            char *begin = malloc(n + 1); /* a sanitizer reports reads after the data */
            memcpy(begin, p->data, n);
            bm_members_cut cut = {0};
            const bm_members_found found =
                bm_members_cut_off(kinds[k], (bm_str){begin, n}, false, MOST, &cut);
            const bool first = n >= p->ends[0] + (kinds[k] == BM_COMPRESSION_GZ ? 10 : 0);
            cr_assert_eq(found, first ? BM_MEMBERS_CUT : BM_MEMBERS_MORE, "%zu bytes of kind %zu",
                         n, k);
            cr_assert(!first || is_end(p, cut.stored, cut.plain), "%zu of %zu bytes", cut.stored,
                      n);
            free(begin);
        }
        free(p);
    }
}

Test(members, a_file_is_cut_and_unpacked_piece_by_piece_however_it_comes)
{
    static const size_t steps[] = {1, 97, 5000, 1 << 20};
    for (size_t k = 0; k < 2; k++)
        for (size_t s = 0; s < 4; s++) {
            packed *p = make(kinds[k]);
            bm_members_cut cut = {0};
            char *out = malloc(MOST);
            size_t at = 0, read = 0, plain = 0;
            bm_members *members = world_open(bm_members, kinds[k]);
            while (at < p->n) {
                const bm_str in = {p->data + at, read - at};
                const bm_members_found found =
                    bm_members_cut_off(kinds[k], in, read == p->n, MOST, &cut);
                if (found == BM_MEMBERS_CUT) {
                    cr_assert_leq(cut.plain, MOST);
                    cr_assert(
                        bm_members_run(members, (bm_str){in.data, cut.stored}, out, cut.plain));
                    cr_assert_eq(memcmp(out, p->plain + plain, cut.plain), 0);
                    at += cut.stored;
                    plain += cut.plain;
                    cut = (bm_members_cut){0};
                    continue;
                }
                cr_assert_eq(found, BM_MEMBERS_MORE);
                cr_assert_lt(read, p->n);
                read = read + steps[s] < p->n ? read + steps[s] : p->n;
            }
            cr_assert_eq(plain, p->n_plain);
            bm_members_close(members);
            free(out);
            free(p);
        }
}

Test(members, damage_and_ends_by_chance_are_found_when_they_are_unpacked)
{
    for (size_t k = 0; k < 2; k++) {
        packed *p = make(kinds[k]);
        bm_members_cut cut = {0};
        char *out = malloc(MOST);
        bm_members *members = world_open(bm_members, kinds[k]);
        cr_assert_eq(bm_members_cut_off(
                         kinds[k],
                         (bm_str){p->data, p->ends[0] + (kinds[k] == BM_COMPRESSION_GZ ? 10 : 0)},
                         false, MOST, &cut),
                     BM_MEMBERS_CUT);
        cr_assert_eq(cut.stored, p->ends[0]);
        cr_assert(bm_members_run(members, (bm_str){p->data, cut.stored}, out, cut.plain));
        cr_assert_not(bm_members_run(members, (bm_str){p->data, cut.stored}, out, cut.plain - 1));
        cr_assert_not(bm_members_run(members, (bm_str){p->data, cut.stored}, out, cut.plain + 1));
        cr_assert_not(bm_members_run(members, (bm_str){p->data, cut.stored - 1}, out, cut.plain));
        p->data[cut.stored / 2] ^= 4;
        cr_assert(!bm_members_run(members, (bm_str){p->data, cut.stored}, out, cut.plain) ||
                  kinds[k] == BM_COMPRESSION_ZST);
        bm_members_close(members);
        free(out);
        free(p);
    }
    /* A member stored without compression contains the ten bytes of a header. */
    char plain[2000], data[4000], out[MOST];
    bm_members_cut cut = {0};
    fill(plain, sizeof plain, 1);
    memcpy(plain + 1000, "\x1F\x8B\x08\0\0\0\0\0\4\3", 10);
    const size_t n = pack(BM_COMPRESSION_GZ, 0, plain, sizeof plain, data, sizeof data);
    data[8] = 4;
    bm_members *members = world_open(bm_members, BM_COMPRESSION_GZ);
    const bm_members_found found =
        bm_members_cut_off(BM_COMPRESSION_GZ, (bm_str){data, n}, true, MOST, &cut);
    cr_assert(found != BM_MEMBERS_CUT ||
              !bm_members_run(members, (bm_str){data, cut.stored}, out, cut.plain));
    bm_members_close(members);
}

Test(members, what_a_stream_decoder_may_refuse_or_what_is_larger_is_not_cut)
{
    static char plain[3 * MOST], data[4 * MOST];
    bm_members_cut cut = {0};
    fill(plain, sizeof plain, 5);
    for (size_t k = 0; k < 2; k++) { /* members larger than MOST */
        size_t n = pack(kinds[k], 1, plain, MOST + 1, data, sizeof data);
        n += pack(kinds[k], 1, plain, 100, data + n, sizeof data - n);
        cr_assert_eq(bm_members_cut_off(kinds[k], (bm_str){data, n}, true, MOST, &cut),
                     BM_MEMBERS_NONE);
        n = pack(kinds[k], 1, plain, 100, data, sizeof data); /* a small member first */
        const size_t first = n;
        n += pack(kinds[k], 1, plain, MOST, data + n, sizeof data - n);
        n += pack(kinds[k], 1, plain, 100, data + n, sizeof data - n);
        cut = (bm_members_cut){0};
        cr_assert_eq(bm_members_cut_off(kinds[k], (bm_str){data, n}, true, MOST, &cut),
                     BM_MEMBERS_CUT);
        cr_assert(cut.stored == first && cut.plain == 100);
    }
    size_t n = pack(BM_COMPRESSION_GZ, 1, plain, 1000, data, sizeof data);
    for (int flags = 1; flags < 256; flags *= 2) {
        if (flags == 4) /* an extra field is allowed: BGZF has one */
            continue;
        data[3] = (char)flags;
        cr_assert_eq(bm_members_cut_off(BM_COMPRESSION_GZ, (bm_str){data, n}, true, MOST, &cut),
                     BM_MEMBERS_NONE);
    }
    ZSTD_CCtx *c = ZSTD_createCCtx(); /* a frame without its content size */
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    n = ZSTD_compress2(c, data, sizeof data, plain, 1000);
    ZSTD_freeCCtx(c);
    cr_assert_eq(bm_members_cut_off(BM_COMPRESSION_ZST, (bm_str){data, n}, true, MOST, &cut),
                 BM_MEMBERS_NONE);
    cr_assert_eq(bm_members_cut_off(BM_COMPRESSION_XZ, (bm_str){data, n}, true, MOST, &cut),
                 BM_MEMBERS_NONE);
}

Test(members, frames_that_are_to_be_skipped_are_empty)
{
    char plain[1000], data[3000] = "\x55\x2A\x4D\x18\5\0\0\0abcde", out[1000];
    bm_members_cut cut = {0};
    fill(plain, sizeof plain, 3);
    size_t n = 13 + pack(BM_COMPRESSION_ZST, 1, plain, sizeof plain, data + 13, sizeof data - 13);
    memcpy(data + n, data, 13);
    n += 13;
    bm_members *members = world_open(bm_members, BM_COMPRESSION_ZST);
    cr_assert_eq(bm_members_cut_off(BM_COMPRESSION_ZST, (bm_str){data, n}, true, MOST, &cut),
                 BM_MEMBERS_CUT);
    cr_assert(cut.stored == n && cut.plain == sizeof plain);
    cr_assert(bm_members_run(members, (bm_str){data, n}, out, cut.plain) &&
              memcmp(out, plain, sizeof plain) == 0);
    bm_members_close(members);
}

Test(members, any_bytes_can_be_looked_at)
{
    for (int round = 0; round < 20000; round++) {
        static const char *const begins[] = {"\x1F\x8B\x08\0\0\0\0\0\0\3", "\x28\xB5\x2F\xFD",
                                             "\x50\x2A\x4D\x18"};
        const size_t n = (size_t)round % 61;
        char *data = malloc(n + 1);
        world_fill(data, n, (uint64_t)round, NULL);
        const size_t k = (size_t)round % 3, len = k == 0 ? 10 : 4;
        memcpy(data, begins[k], n < len ? n : len);
        bm_members_cut cut = {0};
        if (bm_members_cut_off(k == 0 ? BM_COMPRESSION_GZ : BM_COMPRESSION_ZST, (bm_str){data, n},
                               round % 2 == 0, MOST, &cut) == BM_MEMBERS_CUT)
            cr_assert(cut.stored > 0 && cut.stored <= n && cut.plain <= MOST);
        free(data);
    }
}

/* --- frames that a stream refuses --- */

#define APART  ((size_t)400000) /* beyond a window of 128 KiB and the slack of its buffer */
#define FRAMES ((size_t)1 << 20)

static bool stream_is_whole(bm_compression kind, bm_str in)
{
    static char out[1 << 16];
    bm_decompress *d = world_open(bm_decompress, kind);
    bm_decompress_begin(d, "frames");
    bm_decompress_step step = {
        .in = in, .end = true, .out = out, .out_cap = sizeof out, .n_out = 1};
    bm_status status = BM_OK;
    while (status == BM_OK && step.n_out > 0)
        status = bm_decompress_run(d, &step, NULL);
    status = status == BM_OK ? bm_decompress_end(d, NULL) : status;
    bm_decompress_close(d);
    return status == BM_OK;
}

/* Cuts the bytes into members and unpacks these with one decoder. Returns whether all unpack. */
static bool members_are_whole(bm_compression kind, bm_str in)
{
    char *out = malloc(FRAMES);
    bm_members_cut cut = {0};
    bool whole = true;
    bm_members *members = world_open(bm_members, kind);
    while (whole && in.len > 0) {
        cr_assert_eq(bm_members_cut_off(kind, in, true, FRAMES, &cut), BM_MEMBERS_CUT);
        whole = bm_members_run(members, (bm_str){in.data, cut.stored}, out, cut.plain);
        in.data += cut.stored;
        in.len -= cut.stored;
        cut = (bm_members_cut){0};
    }
    bm_members_close(members);
    free(out);
    return whole;
}

static size_t put_number(char *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(value >> 8 * i);
    return n;
}

/* Writes a frame with a window of 2^window_log bytes and one block of n equal bytes, either as a
 * run of one byte or with each byte written out. */
static size_t put_frame(char *out, unsigned window_log, size_t n, bool repeated)
{
    size_t at = put_number(out, 0xFD2FB528, 4);
    at += put_number(out + at, 0x80 | (uint64_t)(window_log - 10) << 11, 2);
    at += put_number(out + at, n, 4);
    at += put_number(out + at, 1 | (repeated ? 1 : 0) << 1 | n << 3, 3);
    memset(out + at, 'a', repeated ? 1 : n);
    return at + (repeated ? 1 : n);
}

/* Writes a frame of `apart` bytes of text, twice. It is packed with a window for all of it, but its
 * header claims a window of 128 KiB. */
static size_t put_far_matches(char *out, size_t apart)
{
    char *text = malloc(2 * apart);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    fill(text, apart, 9);
    memcpy(text + apart, text, apart);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 20);
    size_t n = ZSTD_compress2(context, out, FRAMES, text, 2 * apart);
    cr_assert_not(ZSTD_isError(n));
    cr_assert_lt(n, apart);            /* the second half is matches */
    cr_assert_eq(out[4] & 0x27, 0x20); /* a single segment, no dictionary, no checksum */
    cr_assert_eq(out[4] & 0xC0, 0x80); /* four bytes of length */
    memmove(out + 6, out + 5, n - 5);
    out[4] = (char)(out[4] & ~0x20);
    out[5] = (17 - 10) << 3;
    ZSTD_freeCCtx(context);
    free(text);
    return n + 1;
}

Test(members, frames_are_whole_where_a_stream_finds_them_whole)
{
    char *data = malloc(2 * FRAMES);
    struct {
        unsigned window_log;
        size_t n;
        bool repeated, whole;
    } const blocks[] = {
        {10, 1024, false, true},      {10, 1025, false, false},
        {10, 1024, true, true},       {10, 1025, true, false},
        {16, 65536, false, true},     {16, 65537, false, false},
        {18, 128 << 10, false, true}, {18, (128 << 10) + 1, false, false},
        {18, 128 << 10, true, true},  {18, (128 << 10) + 1, true, false},
        {20, 200000, true, false},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const bm_str frame = {
            data, put_frame(data, blocks[i].window_log, blocks[i].n, blocks[i].repeated)};
        cr_assert_eq(stream_is_whole(BM_COMPRESSION_ZST, frame), blocks[i].whole, "%zu", i);
        cr_assert_eq(members_are_whole(BM_COMPRESSION_ZST, frame), blocks[i].whole, "%zu", i);
    }
    free(data);
}

Test(members, matches_beyond_the_window_are_refused_whatever_frame_came_before)
{
    char *data = malloc(4 * FRAMES), *text = malloc(FRAMES);
    const size_t far = put_far_matches(data, APART);
    cr_assert_not(stream_is_whole(BM_COMPRESSION_ZST, (bm_str){data, far}));
    cr_assert_not(members_are_whole(BM_COMPRESSION_ZST, (bm_str){data, far}));
    const size_t near = put_far_matches(data, (size_t)80 << 10);
    cr_assert(stream_is_whole(BM_COMPRESSION_ZST, (bm_str){data, near}));
    cr_assert(members_are_whole(BM_COMPRESSION_ZST, (bm_str){data, near}));
    fill(text, FRAMES, 3); /* a frame with a larger window */
    size_t n = pack(BM_COMPRESSION_ZST, 3, text, FRAMES, data, 2 * FRAMES);
    cr_assert(members_are_whole(BM_COMPRESSION_ZST, (bm_str){data, n}));
    n += put_far_matches(data + n, APART);
    cr_assert_not(stream_is_whole(BM_COMPRESSION_ZST, (bm_str){data, n}));
    cr_assert_not(members_are_whole(BM_COMPRESSION_ZST, (bm_str){data, n}));
    free(text);
    free(data);
}
