/* SPDX-License-Identifier: Apache-2.0 */
/* test_input_digest.c -- digests of whole files: published values, sizes around a piece, files that
 * cannot be read. */
#include <criterion/criterion.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "input/input_digest.h"
#include "tests/world/scratch.h"
#include "tests/world/world_stop.h"

static bm_status digest_text(scratch *s, const char *data, size_t len, char hex[33])
{
    bm_hash128 digest;
    bm_error err = {0};
    scratch_put(s, "file", data, len);
    bm_status status =
        bm_input_digest_file(&BM_DIGEST_OF_FILE(scratch_at(s, "file")), NULL, &digest, &err);
    bm_hash128_hex(digest, hex);
    return status;
}

/* Expected: the output of xxhsum -H2 and of Python's xxhash. */
Test(input_digest, is_xxh3_128)
{
    SCRATCH s = scratch_open();
    char hex[BM_HASH128_HEX];
    cr_assert_eq(digest_text(&s, "", 0, hex), BM_OK);
    cr_expect_str_eq(hex, "99aa06d3014798d86001c324468d497f");
    cr_assert_eq(digest_text(&s, "abc", 3, hex), BM_OK);
    cr_expect_str_eq(hex, "06b05ab6733a618578af5f94892f3950");
}

Test(input_digest, of_files_round_the_size_of_a_block)
{
    const size_t block = (size_t)1 << 20, sizes[] = {block - 1, block, block + 1, 3 * block + 7};
    char *data = malloc(4 * block);
    SCRATCH s = scratch_open();
    for (size_t i = 0; i < 4 * block; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < 4; i++) {
        char hex[BM_HASH128_HEX], expected[40];
        const XXH128_hash_t sum = XXH3_128bits(data, sizes[i]); /* in one call */
        snprintf(expected, sizeof expected, "%016llx%016llx", (unsigned long long)sum.high64,
                 (unsigned long long)sum.low64);
        cr_assert_eq(digest_text(&s, data, sizes[i], hex), BM_OK);
        cr_expect_str_eq(hex, expected);
    }
    free(data);
}

static bm_hash128 sum_of(const void *data, size_t len)
{
    const XXH128_hash_t sum = XXH3_128bits(data, len);
    return (bm_hash128){.lo = sum.low64, .hi = sum.high64};
}

/* The rule of reports: up to 64 MiB, the digest of the bytes; beyond, the digest of the pieces'
 * digests (16 bytes each, most significant first). */
Test(input_digest, of_files_round_the_size_of_a_piece)
{
    const size_t piece = (size_t)64 << 20, sizes[] = {piece - 1, piece, piece + 1, 2 * piece + 1};
    char *data = malloc(2 * piece + 1);
    SCRATCH s = scratch_open();
    cr_assert(data);
    for (size_t i = 0; i < 2 * piece + 1; i += 8)
        memcpy(data + i, &(uint64_t){i * UINT64_C(0x9E3779B97F4A7C15)}, i + 8 <= 2 * piece ? 8 : 1);
    for (size_t i = 0; i < 4; i++) {
        char hex[BM_HASH128_HEX], expected[BM_HASH128_HEX];
        bm_hash128 sum = sum_of(data, sizes[i]);
        if (sizes[i] > piece) {
            unsigned char list[3][16];
            size_t n = 0;
            for (size_t at = 0; at < sizes[i]; at += piece, n++) {
                const bm_hash128 of =
                    sum_of(data + at, sizes[i] - at < piece ? sizes[i] - at : piece);
                for (unsigned k = 0; k < 16; k++)
                    list[n][k] = (unsigned char)((k < 8 ? of.hi : of.lo) >> (56 - 8 * (k % 8)));
            }
            sum = sum_of(list, n * 16);
        }
        bm_hash128_hex(sum, expected);
        cr_assert_eq(digest_text(&s, data, sizes[i], hex), BM_OK);
        cr_expect_str_eq(hex, expected, "%zu", sizes[i]);
    }
    free(data);
}

Test(input_digest, what_cannot_be_read_is_named)
{
    SCRATCH s = scratch_open();
    bm_hash128 digest;
    bm_error err = {0};
    cr_expect_eq(
        bm_input_digest_file(&BM_DIGEST_OF_FILE(scratch_at(&s, "none")), NULL, &digest, &err),
        BM_ERR_IO);
    cr_expect_str_eq(err.file, scratch_at(&s, "none"));
    cr_expect_eq(bm_input_digest_file(&BM_DIGEST_OF_FILE(s.root), NULL, &digest, &err), BM_ERR_IO);
    scratch_put_text(&s, "file", "x");
    const bm_callbacks stop = {.cancelled = world_stop};
    cr_expect_eq(
        bm_input_digest_file(&BM_DIGEST_OF_FILE(scratch_at(&s, "file")), &stop, &digest, &err),
        BM_ERR_CANCELLED);
}
