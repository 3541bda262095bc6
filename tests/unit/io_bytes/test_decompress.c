/* gzip and Zstandard: members, frames, ends, windows, damage. What is decompressed was compressed
 * by the libraries themselves, here. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "io/bytes/decompress.h"

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

static size_t pack(bm_compression kind, const char *data, size_t len, char *out, size_t cap)
{
    if (kind == BM_COMPRESSION_GZ)
        return gz(data, len, out, cap);
    size_t n = ZSTD_compress(out, cap, data, len, 3);
    cr_assert(!ZSTD_isError(n));
    return n;
}

/* What is decompressed: `step` bytes in and `room` bytes out at a time. */
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
    bm_decompress *d;
    cr_assert_eq(bm_decompress_open(p.kind, &d, NULL), BM_OK);
    cr_assert_eq(bm_decompress_begin(d, "file.x", NULL), BM_OK);
    bm_status status = BM_OK;
    out->n = 0;
    for (size_t at = 0; at < p.len && status == BM_OK;) {
        size_t n = p.len - at < p.step ? p.len - at : p.step;
        bm_decompress_step s = {.in = {p.in + at, n}, .n_out = 1};
        while (status == BM_OK && s.n_out > 0) {
            s.out = out->data + out->n;
            s.out_cap = out->cap - out->n < p.room ? out->cap - out->n : p.room;
            cr_assert_gt(s.out_cap, 0);
            status = bm_decompress_run(d, &s, err);
            cr_assert_leq(s.n_out, s.out_cap);
            out->n += status == BM_OK ? s.n_out : 0;
        }
        cr_assert(status != BM_OK || s.used == n);
        at += n;
    }
    if (status == BM_OK)
        status = bm_decompress_end(d, err);
    bm_decompress_close(d);
    return status;
}

static const bm_compression kinds[] = {BM_COMPRESSION_GZ, BM_COMPRESSION_ZST};

static char *sample(size_t len)
{
    char *data = malloc(len);
    uint32_t x = 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        data[i] = (char)("the quick\n"[(x >> 24) % 10]);
    }
    return data;
}

Test(decompress, members_and_frames_one_after_another_at_every_block_size)
{
    enum { LEN = 3000, CAP = 20000 };
    char *data = sample(LEN), packed[CAP], out[CAP];
    for (int k = 0; k < 2; k++) {
        size_t n = pack(kinds[k], data, 1000, packed, CAP);
        n += pack(kinds[k], data, 0, packed + n, CAP - n); /* an empty one between */
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
    char *data = sample(LEN), packed[CAP], out[CAP];
    for (int k = 0; k < 2; k++) {
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
    cr_assert(strstr(err.message, "behind the last gzip member"));
    packed[n] = 'x';
    cr_assert_eq(unpack((packed_bytes){BM_COMPRESSION_GZ, packed, n + 1, 300, 64}, &got, &err),
                 BM_ERR_INPUT);
}

Test(decompress, a_damaged_checksum_is_found)
{
    char packed[1000], out[1000];
    size_t n = gz("hello hello hello", 17, packed, sizeof packed);
    unpacked_bytes got = {out, 1000, 0};
    bm_error err = {0};
    packed[n - 6] ^= 1; /* CRC32 */
    cr_assert_eq(unpack((packed_bytes){BM_COMPRESSION_GZ, packed, n, n, 64}, &got, &err),
                 BM_ERR_INPUT);
    cr_assert(strstr(err.message, "broken gzip data"), "%s", err.message);
}

Test(decompress, a_window_over_2_to_the_27_is_refused_and_2_to_the_27_is_not)
{
    for (int log = 27; log <= 28; log++) {
        ZSTD_CCtx *c = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, log);
        char packed[1000], out[1000];
        ZSTD_inBuffer in = {"hello", 5, 0};
        ZSTD_outBuffer to = {packed, sizeof packed, 0};
        /* streamed with no size known, the header asks for the whole window */
        ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue);
        cr_assert_eq(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
        unpacked_bytes got = {out, 1000, 0};
        bm_error err = {0};
        bm_status status =
            unpack((packed_bytes){BM_COMPRESSION_ZST, packed, to.pos, to.pos, 64}, &got, &err);
        cr_assert_eq(status, log == 27 ? BM_OK : BM_ERR_INPUT);
        ZSTD_freeCCtx(c);
    }
}

Test(decompress, any_single_damaged_byte_ends_in_a_status_and_never_in_more_than_asked)
{
    enum { LEN = 400, CAP = 1 << 20 };
    char *data = sample(LEN), packed[4000], *out = malloc(CAP);
    for (int k = 0; k < 2; k++) {
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
    for (int k = 0; k < 2; k++) {
        bm_decompress *d;
        char packed[200], out[100];
        size_t n = pack(kinds[k], "abc", 3, packed, sizeof packed);
        cr_assert_eq(bm_decompress_open(kinds[k], &d, NULL), BM_OK);
        for (int i = 0; i < 3; i++) {
            size_t len = i == 1 ? n / 2 : n; /* the second is left in the middle */
            bm_decompress_step s = {.in = {packed, len}, .out = out, .out_cap = 100};
            cr_assert_eq(bm_decompress_begin(d, "x", NULL), BM_OK);
            cr_assert_eq(bm_decompress_run(d, &s, NULL), BM_OK);
            if (i != 1) {
                cr_assert_eq(s.n_out, 3);
                cr_assert_eq(bm_decompress_end(d, NULL), BM_OK);
            }
        }
        bm_decompress_close(d);
    }
}
