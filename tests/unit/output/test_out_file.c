/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_file.c -- a single output file: complete or not there at all, plain and compressed. */
#include <bzlib.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdint.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "output/out_dir.h"
#include "tests/world/scratch.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

typedef struct content {
    const void *data;
    size_t len;
    int compression;
} content;

/* recognised as an output of ours, so `force` replaces it */
#define OURS "id_a\tid_b\tjaccard\nx\ty\t1.000000\n"

static bm_status write_file(const char *target, bool force, content c, bm_error *err)
{
    bm_out_file *file = NULL;
    bm_status status = bm_out_file_open(target, bm_out_existing_of(force), &file, err);
    if (status != BM_OK)
        return status;
    status = bm_out_file_compress(file, c.compression, (bm_pack_lanes){.threads = 2}, err);
    if (status == BM_OK)
        status = bm_out_file_write(file, c.data, c.len, err);
    if (status != BM_OK) {
        bm_out_file_abort(file);
        return status;
    }
    return bm_out_file_close(file, err);
}

Test(out_file, a_file_appears_at_close_and_not_before)
{
    SCRATCH s = scratch_open();
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a.tsv"), BM_OUT_REFUSE);
    cr_assert_eq(bm_out_file_write(file, "hello\n", 6, NULL), BM_OK);
    cr_expect_eq(bm_out_file_bytes(file), 6u);
    cr_expect_not(scratch_has(&s, "a.tsv"));
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    cr_expect(scratch_holds(&s, "a.tsv", "hello\n"));
    cr_expect_eq(scratch_count(&s, "."), 1u, "nothing lies beside it");
}

Test(out_file, an_aborted_file_leaves_nothing)
{
    SCRATCH s = scratch_open();
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a.tsv"), BM_OUT_REFUSE);
    cr_assert_eq(bm_out_file_write(file, "hello\n", 6, NULL), BM_OK);
    bm_out_file_abort(file);
    bm_out_file_abort(NULL);
    cr_expect_eq(scratch_count(&s, "."), 0u);
}

Test(out_file, an_existing_file_is_replaced_only_by_force)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_put_text(&s, "a", OURS);
    world_refused(write_file(scratch_at(&s, "a"), false, (content){"new", 3, 0}, &err),
                  BM_ERR_USAGE, &err, "`force`");
    cr_expect(scratch_holds(&s, "a", OURS));
    cr_expect_eq(write_file(scratch_at(&s, "a"), true, (content){"new", 3, 0}, &err), BM_OK);
    cr_expect(scratch_holds(&s, "a", "new"));
    cr_expect_eq(write_file(scratch_at(&s, "a"), true, (content){"x", 1, 0}, &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "a", "new"), "it begins as none of ours");
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(out_file, a_file_that_appears_meanwhile_is_not_replaced)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REFUSE);
    scratch_put_text(&s, "a", "other");
    cr_expect_eq(bm_out_file_close(file, &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "a", "other"));
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(out_file, links_pipes_devices_and_directories_are_refused)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "real", "x");
    cr_assert_eq(symlink("real", scratch_at(&s, "link")), 0);
    cr_assert_eq(symlink("nowhere", scratch_at(&s, "dangling")), 0);
    cr_assert_eq(mkfifo(scratch_at(&s, "fifo"), 0600), 0);
    scratch_folder(&s, "folder");
    const char *targets[] = {scratch_at(&s, "link"),
                             scratch_at(&s, "dangling"),
                             scratch_at(&s, "fifo"),
                             scratch_at(&s, "folder"),
                             scratch_at(&s, "folder/"),
                             scratch_at(&s, "new/"),
                             "/dev/null",
                             "/dev/stdout",
                             "",
                             "/",
                             ".",
                             scratch_at(&s, "..")};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        bm_error err = {0};
        cr_expect_eq(write_file(targets[i], true, (content){"y", 1, 0}, &err), BM_ERR_USAGE, "%s",
                     targets[i]);
        cr_expect_neq(err.message[0], '\0');
    }
    cr_expect(scratch_holds(&s, "real", "x"));
    cr_expect_eq(scratch_count(&s, "."), 5u);
}

Test(out_file, dev_stdout_is_refused_with_what_to_do)
{
    bm_error err = {0};
    world_refused(write_file("/dev/stdout", false, (content){"y", 1, 0}, &err), BM_ERR_USAGE, &err,
                  "without `output`");
}

Test(out_file, a_file_in_place_of_a_folder_is_an_io_error)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_put_text(&s, "file", "mine");
    cr_expect_eq(write_file(scratch_at(&s, "file/a"), false, (content){"y", 1, 0}, &err),
                 BM_ERR_IO);
    cr_expect(strstr(err.file, "file/a") != NULL);
    cr_expect(scratch_holds(&s, "file", "mine"));
}

Test(out_file, folders_above_are_made_and_go_again_with_a_file_that_is_given_up)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_out_file *file = NULL;
    world_ok(bm_out_file_open(scratch_at(&s, "a/b/c"), BM_OUT_REFUSE, &file, &err), &err);
    bm_out_file_abort(file);
    cr_expect_eq(scratch_count(&s, "."), 0u);
    cr_expect_eq(write_file(scratch_at(&s, "a/b/c"), false, (content){"y", 1, 0}, &err), BM_OK);
    cr_expect(scratch_holds(&s, "a/b/c", "y"));
    cr_expect_eq(scratch_count(&s, "a/b"), 1u);
}

Test(out_file, any_sizes_of_writes_give_the_same_bytes)
{
    SCRATCH s = scratch_open();
    size_t len = (3u << 20) + 12345;
    unsigned char *data = world_filled(len, 1, NULL);
    static const size_t steps[] = {1000, 262143, 262144, 262145, 1 << 20, 1 << 30};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        scratch_put_text(&s, "a", "");
        bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REPLACE);
        for (size_t at = 0; at < len; at += steps[k])
            cr_assert_eq(
                bm_out_file_write(file, data + at, len - at < steps[k] ? len - at : steps[k], NULL),
                BM_OK);
        cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
        size_t got;
        char *bytes = scratch_get(&s, "a", &got);
        cr_expect(got == len && memcmp(bytes, data, len) == 0, "step %zu", steps[k]);
        free(bytes);
    }
    free(data);
}

Test(out_file, bytes_can_be_written_again_but_only_those_that_were_written)
{
    SCRATCH s = scratch_open();
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REFUSE);
    cr_assert_eq(bm_out_file_write(file, "0123456789", 10, NULL), BM_OK);
    cr_expect_eq(bm_out_file_rewrite(file, 2, "ab", 2, NULL), BM_OK);
    cr_expect_eq(bm_out_file_rewrite(file, 9, "xy", 2, NULL), BM_ERR_INTERNAL);
    cr_expect_eq(bm_out_file_rewrite(file, UINT64_MAX, "xy", 2, NULL), BM_ERR_INTERNAL);
    cr_assert_eq(bm_out_file_write(file, "!", 1, NULL), BM_OK, "writing goes on at the end");
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    cr_expect(scratch_holds(&s, "a", "01ab456789!"));
}

static size_t gunzip(const char *packed, size_t len, char *out, size_t cap)
{
    z_stream z = {0};
    z.next_in = (unsigned char *)packed;
    z.avail_in = (unsigned)len;
    z.next_out = (unsigned char *)out;
    z.avail_out = (unsigned)cap;
    cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    cr_assert_eq(z.avail_in, 0u);
    inflateEnd(&z);
    return cap - z.avail_out;
}

/* Decompresses with the library of the format. */
static size_t unpack(bm_compression kind, const char *packed, size_t len, char *out, size_t cap)
{
    size_t used = 0, n = 0;
    uint64_t limit = UINT64_MAX;
    unsigned n_bz2 = (unsigned)cap;
    LZ4F_dctx *lz4;
    switch (kind) {
    case BM_COMPRESSION_GZ:
        cr_expect_eq(memcmp(packed + 4, "\0\0\0\0", 4), 0, "no time in the header");
        return gunzip(packed, len, out, cap);
    case BM_COMPRESSION_ZST:
        n = ZSTD_decompress(out, cap, packed, len);
        cr_assert_not(ZSTD_isError(n));
        cr_expect(packed[4] & 4, "with a checksum");
        return n;
    case BM_COMPRESSION_XZ:
        cr_assert_eq(lzma_stream_buffer_decode(&limit, 0, NULL, (const uint8_t *)packed, &used, len,
                                               (uint8_t *)out, &n, cap),
                     LZMA_OK);
        cr_expect_eq(packed[7], LZMA_CHECK_CRC64);
        cr_expect_eq(used, len);
        return n;
    case BM_COMPRESSION_BZ2:
        cr_assert_eq(BZ2_bzBuffToBuffDecompress(out, &n_bz2, (char *)packed, (unsigned)len, 0, 0),
                     BZ_OK);
        return n_bz2;
    default:
        cr_assert_not(LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)));
        for (size_t left = 1; left > 0;) {
            size_t room = cap - n, in = len - used;
            left = LZ4F_decompress(lz4, out + n, &room, packed + used, &in, NULL);
            cr_assert_not(LZ4F_isError(left));
            used += in;
            n += room;
            cr_assert(left == 0 || in + room > 0, "cut short");
        }
        cr_expect_eq(used, len);
        cr_expect(packed[4] & 4, "with a checksum");
        LZ4F_freeDecompressionContext(lz4);
        return n;
    }
}

static char *compressible(size_t len)
{
    char *data = world_filled(len, 5, NULL);
    for (size_t i = 0; i < len; i++) /* half of the bytes do not compress */
        data[i] = i % 8192 < 4096 ? data[i] : (char)('a' + i % 7);
    return data;
}

Test(out_file, what_is_compressed_comes_back_for_any_size)
{
    SCRATCH s = scratch_open();
    static const size_t sizes[] = {0, 1, 1000, (256u << 10) - 1, 256u << 10, (1u << 20) + 7};
    size_t cap = (1u << 20) + 100;
    char *data = compressible(cap), *back = malloc(cap);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kind = 1; kind < (int)BM_COMPRESSIONS; kind++) {
            size_t len;
            scratch_put_text(&s, "a", "");
            cr_assert_eq(
                write_file(scratch_at(&s, "a"), true, (content){data, sizes[i], kind}, NULL),
                BM_OK);
            char *packed = scratch_get(&s, "a", &len);
            size_t got = unpack((bm_compression)kind, packed, len, back, cap);
            cr_expect(got == sizes[i] && memcmp(back, data, got) == 0, "kind %d, %zu bytes", kind,
                      sizes[i]);
            free(packed);
        }
    }
    free(data);
    free(back);
}

Test(out_file, compressed_bytes_do_not_depend_on_how_much_is_written_at_a_time)
{
    SCRATCH s = scratch_open();
    static const size_t steps[] = {1 << 30, 1 << 20, 262145, 4096, 999};
    char *data = compressible(1 << 20);
    for (int kind = 1; kind < (int)BM_COMPRESSIONS; kind++) {
        /* bzip2 needs more than one block, which is 900,000 bytes */
        const size_t len = (kind == BM_COMPRESSION_BZ2 ? sized(900000, 600000) : 600000) + 4321;
        char *first = NULL;
        size_t n_first = 0;
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            size_t got;
            scratch_put_text(&s, "a", "");
            bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REPLACE);
            cr_assert_eq(bm_out_file_compress(file, (bm_compression)kind,
                                              (bm_pack_lanes){.threads = 2}, NULL),
                         BM_OK);
            for (size_t at = 0; at < len; at += steps[k])
                cr_assert_eq(bm_out_file_write(file, data + at,
                                               len - at < steps[k] ? len - at : steps[k], NULL),
                             BM_OK);
            cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
            char *packed = scratch_get(&s, "a", &got);
            if (first == NULL) {
                first = packed;
                n_first = got;
                continue;
            }
            cr_expect(got == n_first && memcmp(packed, first, got) == 0, "kind %d, step %zu", kind,
                      steps[k]);
            free(packed);
        }
        free(first);
    }
    free(data);
}

/* Decompresses the first member of gz, or frame of zst; sets its compressed length. */
static size_t first_part(bm_compression kind, const char *packed, size_t len, char *out, size_t cap,
                         size_t *used)
{
    if (kind == BM_COMPRESSION_ZST) {
        *used = ZSTD_findFrameCompressedSize(packed, len);
        cr_assert_not(ZSTD_isError(*used));
        return ZSTD_decompress(out, cap, packed, *used);
    }
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)packed,
                  .avail_in = (unsigned)len,
                  .next_out = (unsigned char *)out,
                  .avail_out = (unsigned)cap};
    cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    *used = len - z.avail_in;
    return cap - z.avail_out;
}

Test(out_file, gz_and_zst_are_parts_of_4_MiB_for_any_threads_and_memory)
{
    enum { PART = 4 << 20 };
    SCRATCH s = scratch_open();
    static const bm_pack_lanes lanes[] = {{.threads = 1},
                                          {.memory = 1},
                                          {.threads = 2},
                                          {3, 64 << 20, NULL},
                                          {7, (uint64_t)1 << 40, NULL}};
    static const size_t sizes[] = {0, 1, PART - 1, PART, PART + 1, 5 * PART + 77};
    char *data = compressible(sizes[5]), *back = malloc(PART + 1);
    for (int k = 0; k < 2; k++) {
        const bm_compression kind = k == 0 ? BM_COMPRESSION_GZ : BM_COMPRESSION_ZST;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *first = NULL;
            size_t n_first = 0, at = 0, done = 0;
            for (size_t l = 0; l < sizeof lanes / sizeof lanes[0]; l++) {
                size_t n;
                scratch_put_text(&s, "a", "");
                bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REPLACE);
                cr_assert_eq(bm_out_file_compress(file, kind, lanes[l], NULL), BM_OK);
                for (size_t from = 0; from < sizes[i]; from += 1000003) {
                    const size_t left = sizes[i] - from;
                    cr_assert_eq(
                        bm_out_file_write(file, data + from, left < 1000003 ? left : 1000003, NULL),
                        BM_OK);
                }
                cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
                char *packed = scratch_get(&s, "a", &n);
                if (first == NULL) {
                    first = packed;
                    n_first = n;
                    continue;
                }
                cr_expect(n == n_first && memcmp(packed, first, n) == 0, "%zu bytes, lanes %zu",
                          sizes[i], l);
                free(packed);
            }
            do {
                size_t used;
                const size_t left = sizes[i] - done;
                const size_t n = first_part(kind, first + at, n_first - at, back, PART + 1, &used);
                cr_assert_eq(n, left < PART ? left : PART, "%zu bytes, at %zu", sizes[i], done);
                cr_assert(n == 0 || memcmp(back, data + done, n) == 0);
                at += used;
                done += n;
            } while (at < n_first);
            cr_expect_eq(done, sizes[i]);
            free(first);
        }
    }
    free(data);
    free(back);
}

static bm_out_file *begin_packed(scratch *s, const char *name, bm_compression kind,
                                 bm_pack_lanes lanes, const char *data, size_t len)
{
    scratch_put_text(s, name, "");
    bm_out_file *file = world_open(bm_out_file, scratch_at(s, name), BM_OUT_REPLACE);
    cr_assert_eq(bm_out_file_compress(file, kind, lanes, NULL), BM_OK);
    cr_assert_eq(bm_out_file_write(file, data, len, NULL), BM_OK);
    return file;
}

Test(out_file, files_of_one_pool_are_ended_and_closed_later_and_have_the_same_bytes)
{
    enum { FILES = 12, PART = 4 << 20 };
    static const bm_pack_lanes lanes[] = {{.threads = 0}, {.threads = 2}, {5, 80 << 20, NULL}};
    static const size_t sizes[] = {0, 3 * PART, 100, PART, 2 * PART + 5, PART - 1, 5 * PART, 1};
    SCRATCH s = scratch_open();
    char *data = compressible(5 * PART + FILES);
    char *alone[FILES];
    size_t n_alone[FILES], n_later = 0;
    for (size_t l = 0; l <= sizeof lanes / sizeof lanes[0]; l++) {
        bm_out_file *ended[FILES];
        size_t first = 0, n = 0;
        bm_pack_pool *pool = NULL;
        if (l > 0)
            cr_assert_eq(bm_pack_pool_open(lanes[l - 1], true, &pool, NULL), BM_OK);
        for (size_t i = 0; i < FILES; i++) {
            char name[16];
            snprintf(name, sizeof name, "%zu", i);
            /* one format that is a single stream among formats of blocks */
            const bm_compression kind = i == 5       ? BM_COMPRESSION_LZ4
                                        : i % 3 == 1 ? BM_COMPRESSION_ZST
                                                     : BM_COMPRESSION_GZ;
            ended[n++] =
                begin_packed(&s, name, kind, (bm_pack_lanes){.pool = pool}, data + i, sizes[i % 8]);
            const bool later = l > 0 && bm_out_file_end(ended[n - 1]);
            n_later += later;
            while (first < n && (!later || bm_pack_pool_is_crowded(pool)))
                cr_assert_eq(bm_out_file_close(ended[first++], NULL), BM_OK);
        }
        while (first < n)
            cr_assert_eq(bm_out_file_close(ended[first++], NULL), BM_OK);
        bm_pack_pool_close(pool);
        for (size_t i = 0; i < FILES; i++) {
            char name[16];
            size_t len;
            snprintf(name, sizeof name, "%zu", i);
            char *packed = scratch_get(&s, name, &len);
            if (l > 0)
                cr_expect(len == n_alone[i] && memcmp(packed, alone[i], len) == 0,
                          "file %zu, lanes %zu", i, l - 1);
            if (l > 0)
                free(packed);
            else
                alone[i] = packed;
            n_alone[i] = l > 0 ? n_alone[i] : len;
        }
    }
    cr_expect_gt(n_later, 0u);
    for (size_t i = 0; i < FILES; i++)
        free(alone[i]);
    free(data);
}

Test(out_file, files_of_one_pool_can_be_aborted)
{
    SCRATCH s = scratch_open();
    char *data = compressible(9 << 20);
    bm_out_file *files[3];
    bm_pack_pool *pool = world_open(bm_pack_pool, (bm_pack_lanes){.threads = 3}, true);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        files[i] = begin_packed(&s, names[i], BM_COMPRESSION_GZ, (bm_pack_lanes){.pool = pool},
                                data, 9 << 20);
        (void)bm_out_file_end(files[i]);
    }
    bm_out_file_abort(files[1]);
    cr_assert_eq(bm_out_file_close(files[0], NULL), BM_OK);
    bm_out_file_abort(files[2]);
    bm_pack_pool_close(pool);
    cr_expect_eq(scratch_count(&s, "."), 3u); /* the existing file is kept */
    free(data);
}

Test(out_file, a_compressed_file_of_many_parts_can_be_aborted)
{
    SCRATCH s = scratch_open();
    char *data = compressible(13 << 20);
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REFUSE);
    cr_assert_eq(bm_out_file_compress(file, BM_COMPRESSION_GZ, (bm_pack_lanes){.threads = 3}, NULL),
                 BM_OK);
    cr_assert_eq(bm_out_file_write(file, data, 13 << 20, NULL), BM_OK);
    bm_out_file_abort(file);
    cr_expect_eq(scratch_count(&s, "."), 0u);
    free(data);
}

Test(out_file, compression_is_chosen_before_the_first_write)
{
    SCRATCH s = scratch_open();
    bm_out_file *file = world_open(bm_out_file, scratch_at(&s, "a"), BM_OUT_REFUSE);
    cr_assert_eq(bm_out_file_write(file, "x", 1, NULL), BM_OK);
    cr_expect_eq(bm_out_file_compress(file, 1, (bm_pack_lanes){.threads = 2}, NULL),
                 BM_ERR_INTERNAL);
    bm_out_file_abort(file);
}

/* --- a stream --- */

typedef struct taken {
    char bytes[64];
    size_t len;
    bool full; /* every further write fails */
} taken;

static int take(void *ctx, const char *data, size_t len)
{
    taken *t = ctx;
    if (t->full || len > sizeof t->bytes - t->len)
        return 1;
    memcpy(t->bytes + t->len, data, len);
    t->len += len;
    return 0;
}

Test(out_file, a_stream_hands_on_what_is_written)
{
    taken t = {.len = 0};
    bm_out_file *file = NULL;
    cr_assert_eq(bm_out_file_stream(take, &t, &file, NULL), BM_OK);
    cr_assert_eq(bm_out_file_write(file, "two ", 4, NULL), BM_OK);
    cr_assert_eq(bm_out_file_write(file, "words\n", 6, NULL), BM_OK);
    cr_expect_eq(bm_out_file_bytes(file), 10u);
    cr_assert_eq(bm_out_file_close(file, NULL), BM_OK);
    cr_expect_eq(t.len, 10u);
    cr_expect_arr_eq(t.bytes, "two words\n", 10);
}

Test(out_file, a_stream_that_takes_no_more_is_a_closed_pipe)
{
    taken t = {.full = true};
    bm_out_file *file = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_out_file_stream(take, &t, &file, NULL), BM_OK);
    cr_assert_eq(bm_out_file_write(file, "two ", 4, NULL), BM_OK);
    cr_expect_eq(bm_out_file_close(file, &err), BM_ERR_PIPE);
    cr_assert_eq(bm_out_file_stream(take, &t, &file, NULL), BM_OK);
    bm_out_file_abort(file);
}
