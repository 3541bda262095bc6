/* SPDX-License-Identifier: Apache-2.0 */
/* test_decompress.c -- members, padding, ends, windows and damage, for every kind of compression.
 * The tests compress their data with the libraries. */
#include <bzlib.h>
#include <criterion/criterion.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "input/decompress.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

static size_t gz(const char *data, size_t len, char *out, size_t cap)
{
    z_stream z = {0};
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = cap - z.avail_out;
    deflateEnd(&z);
    return n;
}

static size_t zst(const char *data, size_t len, char *out, size_t cap)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(c, out, cap, data, len);
    ZSTD_freeCCtx(c);
    cr_assert(!ZSTD_isError(n));
    return n;
}

static size_t xz(const char *data, size_t len, char *out, size_t cap)
{
    size_t n = 0;
    cr_assert_eq(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)data, len,
                                         (uint8_t *)out, &n, cap),
                 LZMA_OK);
    return n;
}

static size_t bz2(const char *data, size_t len, char *out, size_t cap)
{
    unsigned n = (unsigned)cap;
    cr_assert_eq(BZ2_bzBuffToBuffCompress(out, &n, (char *)data, (unsigned)len, 1, 0, 0), BZ_OK);
    return n;
}

static size_t lz4(const char *data, size_t len, char *out, size_t cap)
{
    LZ4F_preferences_t p = {.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled}};
    size_t n = LZ4F_compressFrame(out, cap, data, len, &p);
    cr_assert(!LZ4F_isError(n));
    return n;
}

static size_t pack(bm_compression kind, const char *data, size_t len, char *out, size_t cap)
{
    static size_t (*const packs[])(const char *, size_t, char *, size_t) = {NULL, gz,  zst,
                                                                            xz,   bz2, lz4};
    return packs[kind](data, len, out, cap);
}

/* Compressed data, to be decompressed with `step` bytes in and `room` bytes out at a time. */
typedef struct packed_bytes {
    bm_compression kind;
    const char *in;
    size_t len, step, room;
} packed_bytes;

typedef struct unpacked_bytes {
    char *data;
    size_t cap, n;
} unpacked_bytes;

static bm_status unpack(packed_bytes p, unpacked_bytes *out, bm_error *err)
{
    bm_decompress *d = world_open(bm_decompress, p.kind);
    bm_decompress_begin(d, "file.x");
    bm_status status = BM_OK;
    out->n = 0;
    bool end = false;
    for (size_t at = 0; !end && status == BM_OK;) {
        size_t n = p.len - at < p.step ? p.len - at : p.step;
        end = n == 0; /* passed with the step after the last bytes, as for a file */
        bm_decompress_step s = {.in = {p.in + at, n}, .end = end, .n_out = 1};
        while (status == BM_OK && s.n_out > 0) {
            s.out = out->data + out->n;
            s.out_cap = out->cap - out->n < p.room ? out->cap - out->n : p.room;
            cr_assert_gt(s.out_cap, 0);
            status = bm_decompress_run(d, &s, err);
            cr_assert_leq(s.n_out, s.out_cap);
            out->n += status == BM_OK ? s.n_out : 0;
            cr_assert(status == BM_OK || s.n_out == 0);
        }
        cr_assert(status != BM_OK || s.used == n);
        at += n;
    }
    if (status == BM_OK)
        status = bm_decompress_end(d, err);
    bm_decompress_close(d);
    return status;
}

enum { N_KINDS = 5 };
static const bm_compression kinds[N_KINDS] = {BM_COMPRESSION_GZ, BM_COMPRESSION_ZST,
                                              BM_COMPRESSION_XZ, BM_COMPRESSION_BZ2,
                                              BM_COMPRESSION_LZ4};

Test(decompress, members_and_frames_one_after_another_at_every_block_size)
{
    enum { LEN = 3000, CAP = 20000 };
    char *data = world_filled(LEN, 1, "the quick\n"), packed[CAP], out[CAP];
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], data, 1000, packed, CAP);
        n += pack(kinds[k], data, 0, packed + n, CAP - n); /* an empty member between */
        n += pack(kinds[k], data + 1000, LEN - 1000, packed + n, CAP - n);
        size_t steps[] = {1, 2, 3, 7, 64, 1000, n};
        for (size_t s = 0; s < 7; s++)
            for (size_t room = 1; room <= 4096; room = room * 3 + 1) {
                unpacked_bytes got = {out, CAP, 0};
                cr_assert_eq(
                    unpack((packed_bytes){kinds[k], packed, n, steps[s], room}, &got, NULL), BM_OK);
                cr_assert_eq(got.n, LEN);
                cr_assert_arr_eq(out, data, LEN);
            }
    }
    free(data);
}

Test(decompress, cut_anywhere_is_said_to_be_cut)
{
    enum { LEN = 500, CAP = 4000 };
    char *data = world_filled(LEN, 1, "the quick\n"), packed[CAP], out[CAP];
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], data, LEN, packed, CAP);
        for (size_t cut = 0; cut < n; cut++) {
            unpacked_bytes got = {out, CAP, 0};
            bm_error err = {0};
            cr_assert_eq(unpack((packed_bytes){kinds[k], packed, cut, 100, CAP}, &got, &err),
                         BM_ERR_INPUT);
            cr_assert_str_eq(err.file, "file.x");
            cr_assert(strstr(err.message, "cut short"), "%s", err.message);
        }
    }
    free(data);
}

Test(decompress, zeros_behind_a_gzip_member_are_padding_and_other_bytes_are_not)
{
    char packed[1000], out[1000];
    size_t n = gz("hello", 5, packed, sizeof packed);
    unpacked_bytes got = {out, 1000, 0};
    memset(packed + n, 0, 100);
    for (size_t step = 1; step < 10; step += 4)
        cr_assert_eq(
            unpack((packed_bytes){BM_COMPRESSION_GZ, packed, n + 100, step, 64}, &got, NULL),
            BM_OK);
    cr_assert_eq(got.n, 5);
    bm_error err = {0};
    packed[n + 50] = 'x';
    cr_assert_eq(unpack((packed_bytes){BM_COMPRESSION_GZ, packed, n + 100, 3, 64}, &got, &err),
                 BM_ERR_INPUT);
    cr_assert(strstr(err.message, "after the last gzip member"));
    packed[n] = 'x';
    cr_assert_eq(unpack((packed_bytes){BM_COMPRESSION_GZ, packed, n + 1, 300, 64}, &got, &err),
                 BM_ERR_INPUT);
}

Test(decompress, a_damaged_checksum_is_found)
{
    /* Where a checksum is, in bytes from the end: gzip's CRC32, before the size; the low half of
     * zstd's XXH64; within xz's index; bzip2's CRC32 of the stream; lz4's XXH32. */
    static const size_t behind[N_KINDS] = {6, 2, 14, 3, 2};
    char packed[1000], out[1000];
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], "hello hello hello", 17, packed, sizeof packed);
        unpacked_bytes got = {out, 1000, 0};
        bm_error err = {0};
        packed[n - behind[k]] ^= 8;
        cr_expect_eq(unpack((packed_bytes){kinds[k], packed, n, n, 64}, &got, &err), BM_ERR_INPUT);
        cr_expect(strstr(err.message, "broken"), "%s", err.message);
    }
}

Test(decompress, a_window_over_2_to_the_27_is_refused_and_2_to_the_27_is_not)
{
    for (int log = 27; log <= 28; log++) {
        ZSTD_CCtx *c = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, log);
        char packed[1000], out[1000];
        ZSTD_inBuffer in = {"hello", 5, 0};
        ZSTD_outBuffer to = {packed, sizeof packed, 0};
        /* without a known size, the header asks for the whole window */
        ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue);
        cr_assert_eq(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
        unpacked_bytes got = {out, 1000, 0};
        bm_error err = {0};
        bm_status status =
            unpack((packed_bytes){BM_COMPRESSION_ZST, packed, to.pos, to.pos, 64}, &got, &err);
        cr_assert_eq(status, log == 27 ? BM_OK : BM_ERR_INPUT);
        if (log == 28)
            cr_expect(strstr(err.message, "more than 2^27 bytes"), "%s", err.message);
        ZSTD_freeCCtx(c);
    }
}

/* The size of an xz dictionary is a byte of the block's header. The test writes this byte and the
 * header's CRC32 itself, so it needs no memory of that size to compress. */
Test(decompress, a_dictionary_over_2_to_the_27_is_refused_and_2_to_the_27_is_not)
{
    static const struct {
        unsigned char bits; /* 2 | (bits & 1) << (bits / 2 + 11) */
        bm_status status;
    } cases[] = {{30, BM_OK}, {31, BM_ERR_INPUT}, {40, BM_ERR_INPUT}}; /* 2^27, 1.5 * 2^27, 4 GiB */
    char packed[1000], out[1000];
    size_t n = xz("hello", 5, packed, sizeof packed);
    unsigned char *header = (unsigned char *)packed + 12; /* after the stream's header */
    const size_t len = (header[0] + 1u) * 4;
    size_t filter = 2; /* after the size and the flags; the flags tell which sizes follow */
    for (unsigned sizes = header[1] >> 6; sizes != 0; sizes &= sizes - 1)
        while (header[filter++] & 0x80)
            ;
    cr_assert_eq(header[filter], 0x21, "LZMA2"); /* then size and properties */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unpacked_bytes got = {out, 1000, 0};
        bm_error err = {0};
        header[filter + 2] = cases[i].bits;
        uint32_t crc = lzma_crc32(header, len - 4, 0);
        for (size_t j = 0; j < 4; j++)
            header[len - 4 + j] = (unsigned char)(crc >> (8 * j));
        cr_expect_eq(unpack((packed_bytes){BM_COMPRESSION_XZ, packed, n, n, 64}, &got, &err),
                     cases[i].status, "%s", err.message);
        if (cases[i].status != BM_OK)
            cr_expect(strstr(err.message, "more than 2^27 bytes"), "%s", err.message);
    }
}

Test(decompress, zeros_behind_a_stream_of_xz_come_in_fours_and_another_stream_may_follow)
{
    char packed[1000], out[1000];
    for (size_t zeros = 0; zeros <= 9; zeros++)
        for (int again = 0; again < 2; again++) {
            size_t n = xz("hello", 5, packed, sizeof packed);
            memset(packed + n, 0, zeros);
            n += zeros;
            if (again)
                n += xz(" world", 6, packed + n, sizeof packed - n);
            for (size_t step = 1; step < 100; step = step * 4 + 1) {
                unpacked_bytes got = {out, 1000, 0};
                bm_status status =
                    unpack((packed_bytes){BM_COMPRESSION_XZ, packed, n, step, 64}, &got, NULL);
                cr_assert_eq(status, zeros % 4 == 0 ? BM_OK : BM_ERR_INPUT, "%zu zeros", zeros);
                cr_assert_eq(got.n, again && status == BM_OK ? 11u : 5u);
            }
        }
}

Test(decompress, other_bytes_behind_the_last_member_are_an_error)
{
    char packed[1000], out[1000];
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], "hello", 5, packed, sizeof packed);
        memcpy(packed + n, "junk\n", 5);
        for (size_t step = 1; step < 500; step = step * 4 + 1) {
            unpacked_bytes got = {out, 1000, 0};
            cr_assert_eq(unpack((packed_bytes){kinds[k], packed, n + 5, step, 64}, &got, NULL),
                         BM_ERR_INPUT);
            cr_assert_eq(got.n, 5, "what came before is given");
        }
    }
}

Test(decompress, what_comes_before_damage_is_the_same_for_any_sizes_of_steps)
{
    enum { LEN = 400000, CAP = 1 << 20 };
    static const size_t steps[][2] = {
        {1 << 20, 1 << 20}, {1 << 20, 777}, {4096, 1 << 16}, {1009, 1 << 20}, {60000, 100000}};
    char *data = world_filled(LEN, 7, "etaoin shrdlu\n.,");
    char *packed = malloc(CAP), *first = malloc(CAP), *out = malloc(CAP);
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], data, LEN, packed, CAP), most = 0;
        for (size_t i = 1; i < 40; i += sized(1, 3)) {
            size_t wrong = n / 40 * i, n_first = 0, cut = i % 2 ? n : wrong; /* damaged, or cut */
            packed[wrong] ^= 0x55;
            for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
                unpacked_bytes got = {s == 0 ? first : out, CAP, 0};
                bm_status status = unpack(
                    (packed_bytes){kinds[k], packed, cut, steps[s][0], steps[s][1]}, &got, NULL);
                cr_assert_eq(status, BM_ERR_INPUT);
                if (s == 0)
                    n_first = got.n;
                cr_assert_eq(got.n, n_first, "kind %d, damage %zu, step %zu", k, i, s);
                cr_assert_arr_eq(got.data, first, n_first);
            }
            packed[wrong] ^= 0x55;
            most = n_first > most ? n_first : most;
        }
        cr_assert_geq(most, LEN / 2, "kind %d gives what it can: %zu", k, most);
    }
    free(data);
    free(packed);
    free(first);
    free(out);
}

Test(decompress, any_single_damaged_byte_ends_in_a_status_and_never_in_more_than_asked)
{
    enum { LEN = 400, CAP = 1 << 20 };
    char *data = world_filled(LEN, 1, "the quick\n"), packed[4000], *out = malloc(CAP);
    for (int k = 0; k < N_KINDS; k++) {
        size_t n = pack(kinds[k], data, LEN, packed, sizeof packed);
        unpacked_bytes got = {out, CAP, 0};
        for (size_t i = 0; i < n; i++) {
            packed[i] ^= 0x41;
            (void)unpack((packed_bytes){kinds[k], packed, n, 50, 300}, &got, NULL);
            packed[i] ^= 0x41;
        }
        cr_assert_eq(unpack((packed_bytes){kinds[k], packed, n, 50, 300}, &got, NULL), BM_OK);
    }
    free(data);
    free(out);
}

Test(decompress, one_handle_serves_many_files)
{
    for (int k = 0; k < N_KINDS; k++) {
        char packed[200], out[100];
        size_t n = pack(kinds[k], "abc", 3, packed, sizeof packed);
        bm_decompress *d = world_open(bm_decompress, kinds[k]);
        for (int i = 0; i < 3; i++) {
            size_t len = i == 1 ? n / 2 : n; /* the second is left in the middle */
            bm_decompress_step s = {.in = {packed, len}, .end = i != 1, .out = out, .out_cap = 100};
            bm_decompress_begin(d, "x");
            cr_assert_eq(bm_decompress_run(d, &s, NULL), BM_OK);
            if (i != 1) {
                cr_assert_eq(s.n_out, 3);
                cr_assert_eq(bm_decompress_end(d, NULL), BM_OK);
            }
        }
        bm_decompress_close(d);
    }
}
