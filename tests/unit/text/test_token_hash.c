/* SPDX-License-Identifier: Apache-2.0 */
/* test_token_hash.c -- each hash of a shingle, compared with known answers: of RFC 3174 and FIPS
 * 180 for SHA-1, and of xxHash's and MurmurHash3's own tests; and the loops over slices, compared
 * with single calls. */
#include <criterion/criterion.h>

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/scheme_facts.h"
#include "text/token_hash.h"

static bm_token_hasher hasher_of(bm_token_hash hash)
{
    bm_token_hasher hasher;
    bm_error err = {0};
    const bm_text_options text = {.hash = hash};
    cr_assert_eq(bm_token_hasher_open(&text, &bm_shingle_ops_scalar, &hasher, &err), BM_OK, "%s",
                 err.message);
    return hasher;
}

static uint64_t of_bytes(bm_token_hash hash, const char *bytes, size_t len)
{
    const bm_token_hasher hasher = hasher_of(hash);
    return bm_token_hash_one(&hasher, bytes, len);
}

static uint64_t of(bm_token_hash hash, const char *text)
{
    return of_bytes(hash, text, strlen(text));
}

/* The first 8 bytes of the digests that the standards print. */
Test(token_hash, sha1_gives_the_first_bytes_of_the_digest)
{
    static const struct {
        const char *text;
        uint64_t first; /* big-endian, as printed */
    } rows[] = {
        {"", 0xDA39A3EE5E6B4B0D},
        {"abc", 0xA9993E364706816A},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x84983E441C3BD26E},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         0xA49B2446A02C645B},
        {"The quick brown fox jumps over the lazy dog", 0x2FD4E1C67A2D28FC}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(of(BM_TOKEN_SHA1, rows[i].text), __builtin_bswap64(rows[i].first), "%s",
                     rows[i].text);
    char many[1000]; /* RFC 3174 has a million letters a; here 1,000, by Python's hashlib */
    memset(many, 'a', sizeof many);
    cr_expect_eq(of_bytes(BM_TOKEN_SHA1, many, sizeof many), __builtin_bswap64(0x291E9A6C66994949));
}

Test(token_hash, xxh64_and_xxh3_are_those_of_the_library)
{
    cr_expect_eq(of(BM_TOKEN_XXH64, ""), 0xEF46DB3751D8E999);
    cr_expect_eq(of(BM_TOKEN_XXH64, "a"), 0xD24EC4F1A98C6E5B);
    cr_expect_eq(of(BM_TOKEN_XXH64, "abc"), 0x44BC2CF5AD770999);
    cr_expect_eq(of(BM_TOKEN_XXH3, "abc"), XXH3_64bits("abc", 3));
}

Test(token_hash, murmur3_has_its_32_bits_below_and_those_of_xxh3_above)
{
    static const struct {
        const char *text;
        uint32_t hash;
    } rows[] = {{"", 0},
                {"a", 0x3C2569B2},
                {"test", 0xBA6BD213},
                {"hello", 0x248BFA47},
                {"hello, world", 0x149BBB7F},
                {"Hello, world!", 0xC0363E43},
                {"The quick brown fox jumps over the lazy dog", 0x2E4FF723}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t got = of(BM_TOKEN_MURMUR3, rows[i].text);
        cr_expect_eq((uint32_t)got, rows[i].hash, "%s", rows[i].text);
        cr_expect_eq(got >> 32, of(BM_TOKEN_XXH3, rows[i].text) >> 32);
    }
}

Test(token_hash, slices_and_windows_are_hashed_one_by_one)
{
    static const char text[] = "one two three four five";
    static const size_t starts[] = {0, 4, 8, 14, 19, 24};
    static const char *const shingles[] = {"one two", "two three", "three four", "four five"};
    for (int hash = BM_TOKEN_XXH3; hash <= BM_TOKEN_MURMUR3; hash++) {
        const bm_token_hasher hasher = hasher_of((bm_token_hash)hash);
        uint64_t hashes[32];
        bm_slices slices = {.joined = text, .starts = starts, .k = 2, .gap = 1, .hashes = hashes};
        bm_token_hash_slices(&hasher, &slices, 4);
        for (size_t i = 0; i < 4; i++)
            cr_expect_eq(hashes[i], bm_token_hash_one(&hasher, shingles[i], strlen(shingles[i])));
        slices.k = 9;
        bm_token_hash_windows(&hasher, &slices, 15);
        for (size_t i = 0; i < 15; i++)
            cr_expect_eq(hashes[i], bm_token_hash_one(&hasher, text + i, 9));
    }
}

/* With nemo, the seed of MurmurHash3 is the scheme's first multiplier. The values are from its
 * author's code and others for these seeds. */
Test(token_hash, murmur3_has_the_seed_that_a_scheme_notes)
{
    static const struct {
        const char *text;
        uint32_t seed, hash;
    } rows[] = {{"", 1, 0x514E28B7},
                {"", 0xFFFFFFFF, 0x81F16F39},
                {"test", 0x9747B28C, 0x704B81DC},
                {"Hello, world!", 0x9747B28C, 0x24884CBA}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bm_token_hasher hasher;
        const bm_text_options text = {.hash = BM_TOKEN_MURMUR3, .of_scheme = rows[i].seed};
        cr_assert_eq(bm_token_hasher_open(&text, &bm_shingle_ops_scalar, &hasher, NULL), BM_OK);
        cr_expect_eq((uint32_t)bm_token_hash_one(&hasher, rows[i].text, strlen(rows[i].text)),
                     rows[i].hash, "%s", rows[i].text);
    }
    bm_text_options nemo = {.hash = BM_TOKEN_MURMUR3};
    bm_scheme_set_hashing(&(bm_sketch_options){.scheme = BM_SCHEME_NEMO, .seed = 42}, &nemo);
    cr_expect_eq(nemo.of_scheme, 1608637543, "the golden first multiplier");
}

/* The golden hashes of Lance's own test. */
Test(token_hash, words_of_lance_are_joined_by_0x1f_and_hashed_from_its_seed)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = {{"the quick", 0x4C0B0D36203CE55F},
                {"quick brown", 0x09C7AE895D82B184},
                {"brown fox", 0x68E7F4B1BE7B4C1F}};
    bm_token_hasher hasher;
    bm_text_options text = {.hash = BM_TOKEN_XXH64, .shingle_k = 2};
    bm_scheme_set_hashing(&(bm_sketch_options){.scheme = BM_SCHEME_LANCE, .seed = 42}, &text);
    cr_assert_eq(bm_token_hasher_open(&text, &bm_shingle_ops_scalar, &hasher, NULL), BM_OK);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(bm_token_hash_one(&hasher, rows[i].text, strlen(rows[i].text)), rows[i].hash);
    text.shingle = BM_SHINGLE_CHAR; /* a space is then part of a shingle */
    cr_assert_eq(bm_token_hasher_open(&text, &bm_shingle_ops_scalar, &hasher, NULL), BM_OK);
    cr_expect_neq(bm_token_hash_one(&hasher, "the quick", 9), rows[0].hash);
    bm_scheme_set_hashing(&(bm_sketch_options){.scheme = BM_SCHEME_AFFINE32, .seed = 42}, &text);
    cr_expect_eq(text.of_scheme, 0);
}
