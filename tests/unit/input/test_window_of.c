/* SPDX-License-Identifier: Apache-2.0 */
/* test_window_of.c -- window sizes of frames and streams that the libraries compressed with known
 * parameters. */
#include <criterion/criterion.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "input/unpack.h"
#include "tests/world/world_random.h"

enum { CAP = 1 << 16 };

Test(window_of, zstd_frames_say_their_window_or_their_size)
{
    static char text[3000], out[CAP];
    for (int log = 10; log <= 27; log++) {
        for (int pledged = 0; pledged < 2; pledged++) {
            ZSTD_CCtx *c = ZSTD_createCCtx();
            ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, log);
            if (pledged)
                ZSTD_CCtx_setPledgedSrcSize(c, sizeof text);
            ZSTD_inBuffer in = {text, sizeof text, 0};
            ZSTD_outBuffer to = {out, sizeof out, 0};
            /* not ended: the size is unknown, unless it was pledged before */
            cr_assert(!ZSTD_isError(ZSTD_compressStream2(c, &to, &in, ZSTD_e_flush)));
            const uint64_t window = bm_window_of(BM_COMPRESSION_ZST, out, to.pos);
            if (pledged) /* a single segment, or a smaller window chosen by the library */
                cr_expect(log < 12 ? window == UINT64_C(1) << log
                                   : window >= sizeof text && window <= 4096,
                          "%d: %u", log, (unsigned)window);
            else
                cr_expect_eq(window, UINT64_C(1) << log);
            for (size_t len = 0; len < to.pos && len < 5; len++)
                cr_expect_eq(bm_window_of(BM_COMPRESSION_ZST, out, len), 0);
            ZSTD_freeCCtx(c);
        }
    }
    /* a single segment's two-byte size counts from 256; a skippable frame has no window */
    cr_expect_eq(bm_window_of(BM_COMPRESSION_ZST, "\x28\xB5\x2F\xFD\x60\x01\x02", 7), 0x201 + 256);
    cr_expect_eq(bm_window_of(BM_COMPRESSION_ZST, "\x50\x2A\x4D\x18\x01\0\0\0", 8), 0);
    /* a power of 2 and 3/8 of it */
    cr_expect_eq(bm_window_of(BM_COMPRESSION_ZST, "\x28\xB5\x2F\xFD\0\x0B\0", 7), 2048 + 768);
}

Test(window_of, xz_blocks_say_their_dictionary)
{
    static const uint32_t sizes[] = {4096,    6144,     1 << 16,  3 << 20,
                                     8 << 20, 64 << 20, 96 << 20, 128 << 20};
    static uint8_t text[1000], out[CAP];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        lzma_options_lzma options;
        cr_assert(!lzma_lzma_preset(&options, 0));
        options.dict_size = sizes[i];
        lzma_filter filters[] = {
            {LZMA_FILTER_X86, NULL}, {LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
        for (size_t skip = 0; skip < 2; skip++) {
            size_t len = 0;
            cr_assert_eq(lzma_stream_buffer_encode(filters + skip, LZMA_CHECK_CRC32, NULL, text,
                                                   sizeof text, out, &len, sizeof out),
                         LZMA_OK);
            cr_expect_eq(bm_window_of(BM_COMPRESSION_XZ, (char *)out, len), sizes[i]);
            for (size_t cut = 0; cut < 14; cut++)
                cr_expect_eq(bm_window_of(BM_COMPRESSION_XZ, (char *)out, cut), 0);
        }
    }
}

/* For any bytes, nothing is read after them (AddressSanitizer checks). */
Test(window_of, any_bytes_have_an_answer)
{
    for (unsigned n = 0; n < 20000; n++) {
        const size_t len = n % 40;
        unsigned char *bytes = malloc(len + 1);
        world_fill(bytes, len, n, NULL);
        if (len > 4)
            memcpy(bytes, "\x28\xB5\x2F\xFD", 4);
        bytes = realloc(bytes, len > 0 ? len : 1);
        (void)bm_window_of(BM_COMPRESSION_ZST, (char *)bytes, len);
        (void)bm_window_of(BM_COMPRESSION_XZ, (char *)bytes, len);
        free(bytes);
    }
}
