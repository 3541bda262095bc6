/* SPDX-License-Identifier: Apache-2.0 */
/* The public signer against the reference vectors of the scheme and against a plain loop over the
 * scheme's formula: hashes of 32 and 64 bits, texts, band keys, batches, bad input. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>
#include <bandmill/schemes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sketch/scheme.h"

#include "tests/world/world_calls.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

static bm_signer *open(uint32_t perms, uint32_t bands, uint32_t rows)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = perms;
    options.bands.bands = bands;
    options.bands.rows = rows;
    options.band_keys = bands != 0;
    options.resources.threads = 2;
    return world_open(bm_signer, &options);
}

static bm_status sign32(bm_signer *signer, const uint64_t *offsets, const uint32_t *hashes,
                        size_t n, const bm_signer_out *out)
{
    bm_documents docs = bm_documents_of_hashes32(offsets, hashes, n);
    return bm_signer_sign(signer, &docs, out, NULL);
}

static bm_status sign64(bm_signer *signer, const uint64_t *offsets, const uint64_t *hashes,
                        size_t n, const bm_signer_out *out)
{
    bm_documents docs = bm_documents_of_hashes(offsets, hashes, n);
    return bm_signer_sign(signer, &docs, out, NULL);
}

static uint32_t fmix32(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* The scheme's formula, word by word. */
static void naive_words(const uint32_t *x, size_t n, uint32_t perms, uint32_t *words)
{
    uint32_t a[1024], b[1024];
    cr_assert_eq(bm_affine32_coefficients(1, perms, a, b, NULL), BM_OK);
    for (uint32_t i = 0; i < perms; i++) {
        words[i] = 0xFFFFFFFFu;
        for (size_t k = 0; k < n; k++) {
            uint32_t v = a[i] * fmix32(x[k]) + b[i];
            words[i] = v < words[i] ? v : words[i];
        }
    }
}

static void naive_keys(const uint32_t *words, bool empty, uint32_t bands, uint32_t rows,
                       uint64_t *keys)
{
    for (uint32_t band = 0; band < bands; band++) {
        uint64_t k = (uint64_t)band + 1;
        for (uint32_t i = 0; i < rows; i++)
            k = k * 0x9E3779B97F4A7C15u + words[band * rows + i];
        k = (k ^ k >> 33) * 0xFF51AFD7ED558CCDu;
        k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53u;
        keys[band] = empty ? UINT64_MAX : k ^ k >> 33;
    }
}

static uint32_t naive_distinct(const uint32_t *x, size_t n)
{
    uint32_t *copy = malloc(n * 4 + 4), distinct = n != 0;
    memcpy(copy, x, n * 4);
    qsort(copy, n, 4, world_ascending32);
    for (size_t i = 1; i < n; i++)
        distinct += copy[i] != copy[i - 1];
    free(copy);
    return distinct;
}

Test(signer, coefficients_are_the_published_golden_vector)
{
    /* seed 1, k = 4, from datasketch 2 */
    static const uint32_t wanted_a[] = {3582191691u, 4270784983u, 1892572953u, 3715639441u};
    static const uint32_t wanted_b[] = {491263u, 550290313u, 1298508491u, 4290846341u};
    uint32_t a[4], b[4];
    cr_assert_eq(bm_affine32_coefficients(1, 4, a, b, NULL), BM_OK);
    cr_assert(memcmp(a, wanted_a, 16) == 0 && memcmp(b, wanted_b, 16) == 0);
}

Test(signer, a_token_hash_is_signed_as_datasketch_2_does)
{
    /* "Hello" under SHA-1: the first 4 bytes, little-endian, of f7ff9e8b7bb2e09b70935a5d785e0cc5 */
    static const uint32_t hello = 0x8B9EFFF7u;
    static const uint32_t wanted[] = {3231258861u, 1388533999u, 831950533u, 1845606703u};
    static const uint64_t offsets[] = {0, 1};
    uint32_t words[4], n = 0;
    bm_signer *signer = open(4, 0, 0);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words, .n_shingles = &n};
    cr_assert_eq(sign32(signer, offsets, &hello, 1, &out), BM_OK);
    cr_assert(memcmp(words, wanted, 16) == 0);
    cr_assert_eq(n, 1);
    bm_signer_close(signer);
}

/* n documents of 0 … 59 hashes; every hundredth is longer than a task should be. One in sixteen low
 * halves is a repeat; with one in eight the documents would be refused. */
static size_t make(size_t n, uint64_t *offsets, uint32_t **out)
{
    size_t total = 0;
    uint32_t *x = malloc((n * 60 + n / 100 * 5000 + 5000) * 4);
    for (size_t i = 0; i < n; i++) {
        offsets[i] = total;
        size_t size = world_draw() % 7 == 0 ? 0 : i % 100 == 99 ? 5000 : world_draw() % 60;
        for (size_t k = 0; k < size; k++, total++)
            x[total] = k > 0 && world_draw() % 16 == 0 ? x[total - 1] : (uint32_t)world_draw();
    }
    offsets[n] = total;
    *out = x;
    return total;
}

Test(signer, words_keys_and_counts_equal_the_formula_for_hashes_of_both_widths)
{
    enum { N = 700, K = 20, B = 4, R = 5 };
    static uint64_t offsets[N + 1], keys[2][N * B], wanted_keys[B];
    static uint32_t words[2][N * K], counts[2][N];
    uint32_t *x;
    size_t total = make(N, offsets, &x);
    uint64_t *wide = malloc(total * 8);
    for (size_t i = 0; i < total; i++) /* the high half must not matter to words */
        wide[i] = world_draw() << 32 | x[i];
    bm_signer *signer = open(K, B, R);
    for (int round = 0; round < 2; round++) { /* nothing may be left over from the first round */
        bm_signer_out out32 = {.struct_size = sizeof out32,
                               .signatures = words[0],
                               .keys = keys[0],
                               .n_shingles = counts[0]},
                      out64 = {.struct_size = sizeof out64,
                               .signatures = words[1],
                               .keys = keys[1],
                               .n_shingles = counts[1]};
        memset(words, 0xAB, sizeof words);
        cr_assert_eq(sign32(signer, offsets, x, N, &out32), BM_OK);
        cr_assert_eq(sign64(signer, offsets, wide, N, &out64), BM_OK);
        cr_assert(memcmp(words[0], words[1], sizeof words[0]) == 0);
        cr_assert(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
        for (size_t i = 0; i < N; i++) {
            uint32_t wanted[K];
            size_t n = (size_t)(offsets[i + 1] - offsets[i]);
            naive_words(x + offsets[i], n, K, wanted);
            naive_keys(wanted, n == 0, B, R, wanted_keys);
            cr_assert(memcmp(words[0] + i * K, wanted, sizeof wanted) == 0, "document %zu", i);
            cr_assert(memcmp(keys[0] + i * B, wanted_keys, sizeof wanted_keys) == 0);
            cr_assert_eq(counts[0][i], naive_distinct(x + offsets[i], n));
            cr_assert_eq(counts[1][i], n); /* 64-bit hashes differ in the high half */
        }
    }
    bm_signer_close(signer);
    free(wide);
    free(x);
}

Test(signer, each_output_alone_is_what_it_is_with_the_others)
{
    enum { N = 300, K = 16, B = 2, R = 8 };
    static uint64_t offsets[N + 1], keys[2][N * B];
    static uint32_t words[2][N * K], counts[2][N];
    uint32_t *x;
    make(N, offsets, &x);
    bm_signer *signer = open(K, B, R);
    bm_signer_out all = {.struct_size = sizeof all,
                         .signatures = words[0],
                         .keys = keys[0],
                         .n_shingles = counts[0]},
                  none = {.struct_size = sizeof none};
    bm_signer_out only[] = {{sizeof all, .signatures = words[1]},
                            {sizeof all, .keys = keys[1]},
                            {sizeof all, .n_shingles = counts[1]}};
    cr_assert_eq(sign32(signer, offsets, x, N, &all), BM_OK);
    cr_assert_eq(sign32(signer, offsets, x, N, &none), BM_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(sign32(signer, offsets, x, N, &only[i]), BM_OK);
    cr_assert(memcmp(words[0], words[1], sizeof words[0]) == 0);
    cr_assert(memcmp(keys[0], keys[1], sizeof keys[0]) == 0);
    cr_assert(memcmp(counts[0], counts[1], sizeof counts[0]) == 0);
    bm_signer_close(signer);
    free(x);
}

Test(signer, texts_are_signed_by_the_xxh3_of_their_shingles)
{
    static const char *const shingles[] = {"the quick brown fox jumps",
                                           "quick brown fox jumps over"};
    static const char *const sources[] = {"The  quick, brown FOX jumps over", "", "word", "?!"};
    bm_str texts[4];
    uint32_t words[4 * 8], counts[4], x[2], wanted[8];
    for (int i = 0; i < 4; i++)
        texts[i] = world_str(sources[i]);
    bm_signer *signer = open(8, 0, 0);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words, .n_shingles = counts};
    cr_assert_eq(bm_signer_sign_texts(signer, texts, 4, &out, NULL), BM_OK);
    for (int i = 0; i < 2; i++)
        x[i] = (uint32_t)XXH3_64bits(shingles[i], strlen(shingles[i]));
    naive_words(x, 2, 8, wanted);
    cr_assert(memcmp(words, wanted, sizeof wanted) == 0);
    x[0] = (uint32_t)XXH3_64bits("word", 4);
    naive_words(x, 1, 8, wanted);
    cr_assert(memcmp(words + 16, wanted, sizeof wanted) == 0);
    naive_words(x, 0, 8, wanted);
    cr_assert(memcmp(words + 8, wanted, sizeof wanted) == 0);
    cr_assert(memcmp(words + 24, wanted, sizeof wanted) == 0);
    static const uint32_t wanted_counts[] = {2, 0, 1, 0};
    cr_assert(memcmp(counts, wanted_counts, sizeof counts) == 0);
    bm_signer_close(signer);
}

Test(signer, bytes_that_are_not_utf8_count_as_one_replacement_for_each_maximal_subpart)
{
    /* Unicode 3.9, table 3-8: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64 */
    bm_signer_options config;
    bm_signer_options_init(&config);
    config.text.shingle = BM_SHINGLE_CHAR;
    config.text.shingle_k = 3;
    config.sketch.perms = 16;
    bm_signer *signer = world_open(bm_signer, &config);
#define LETTERS                                                                                    \
    "efghijklmnopqrstuvwxyz0123456789zyxwvutsrqponmlkjihgfe" /* so that it is readable */
    bm_str texts[] = {world_str("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64" LETTERS),
                      world_str("a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd" LETTERS)};
    uint32_t words[32], counts[2];
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words, .n_shingles = counts};
    cr_assert_eq(bm_signer_sign_texts(signer, texts, 2, &out, NULL), BM_OK);
    cr_assert(memcmp(words, words + 16, 64) == 0);
    cr_assert_eq(counts[0], 62); /* 64 code points, no three in a row repeated */
    cr_assert_eq(counts[1], 62);
    bm_signer_close(signer);
}

Test(signer, offsets_that_fall_are_bad_input_that_names_the_row)
{
    static const uint64_t falling[] = {0, 3, 2, 5}, late[] = {2, 3};
    uint32_t x[8] = {0};
    uint64_t wide[8] = {0};
    bm_signer_out out = {.struct_size = sizeof out};
    bm_signer *signer = open(4, 0, 0);
    bm_documents bad[] = {bm_documents_of_hashes32(falling, x, 3),
                          bm_documents_of_hashes(falling, wide, 3),
                          bm_documents_of_hashes(late, wide, 1)};
    for (int i = 0; i < 3; i++) {
        bm_error err = {0};
        cr_assert_eq(bm_signer_sign(signer, &bad[i], &out, &err), BM_ERR_INPUT);
        cr_assert(strstr(err.message, i < 2 ? "row 1 " : "row 0 ") != NULL, "%s", err.message);
    }
    bm_signer_close(signer);
}

Test(signer, no_documents_and_documents_without_hashes_are_fine)
{
    static const uint64_t offsets[] = {0, 0, 0};
    uint32_t words[8], counts[2] = {9, 9};
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words, .n_shingles = counts};
    bm_signer *signer = open(4, 0, 0);
    cr_assert_eq(bm_signer_sign_texts(signer, NULL, 0, &out, NULL), BM_OK);
    cr_assert_eq(sign32(signer, NULL, NULL, 0, &out), BM_OK);
    cr_assert_eq(counts[0], 9);
    cr_assert_eq(sign64(signer, offsets, NULL, 2, &out), BM_OK);
    cr_assert_eq(sign32(signer, offsets, NULL, 2, &out), BM_OK);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(words[i], BM_NO_SHINGLE32);
    cr_assert(counts[0] == 0 && counts[1] == 0);
    bm_signer_close(signer);
    bm_signer_close(NULL);
}

Test(signer, perms_come_from_the_bands_where_they_are_not_given_and_all_is_told)
{
    bm_signer *signer = open(0, 12, 9);
    const bm_signer_info *info = bm_signer_describe(signer);
    cr_assert(info->perms == 108 && info->bands == 12 && info->rows == 9 && info->threads == 2);
    cr_assert_str_eq(info->device, "cpu");
    cr_assert_neq(info->device_name[0], 0);
    bm_signer_close(signer);
    signer = open(0, 0, 0);
    cr_assert_eq(bm_signer_describe(signer)->perms, 128);
    bm_signer_close(signer);
}

Test(signer, options_out_of_range_and_unknown_devices_are_refused)
{
    bm_signer_options good, bad;
    bm_signer *signer = NULL;
    bm_signer_options_init(&good);
    bad = good;
    bad.sketch.perms = 1025;
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad = good;
    bad.band_keys = true;
    bad.bands.bands = 4;
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad.bands.rows = 33;
    bad.sketch.perms = 128;
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad.sketch.perms = 0;
    bad.bands.bands = bad.bands.rows = 65536;
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad = good;
    bad.text.shingle_k = 0;
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad = good;
    bad.device.cpu = "no such set";
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_USAGE);
    bad = good;
    bad.device.device = "no such device";
    cr_assert_eq(bm_signer_open(&bad, &signer, NULL), BM_ERR_DEVICE);
    cr_assert_null(signer);
}

Test(signer, keys_of_a_signer_without_bands_are_a_usage_error)
{
    static const uint64_t offsets[] = {0, 1};
    uint64_t keys[4];
    uint32_t x = 1;
    bm_signer *signer = open(4, 0, 0);
    bm_signer_out out = {.struct_size = sizeof out, .keys = keys};
    cr_assert_eq(sign32(signer, offsets, &x, 1, &out), BM_ERR_USAGE);
    bm_signer_close(signer);
}

/* A 32-bit scheme signs the low halves of hashes. A signer counts hashes over all its calls. */
Test(signer, hashes_whose_low_halves_are_the_same_are_refused_in_any_number_of_calls)
{
    enum { N = 6000, EACH = 3 };
    static uint64_t hashes[(size_t)N * EACH], offsets[N + 1];
    static uint32_t words[(size_t)N * 16];
    for (size_t i = 0; i < (size_t)N * EACH; i++)
        hashes[i] = (uint64_t)(i + 1) << 32;
    for (size_t i = 0; i <= N; i++)
        offsets[i] = i * EACH;
    bm_signer *signer = open(16, 0, 0);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    const bm_documents docs = bm_documents_of_hashes(offsets, hashes, N);
    bm_error err = {0};
    cr_assert_eq(bm_signer_sign(signer, &docs, &out, &err), BM_ERR_INPUT);
    cr_expect_not_null(strstr(err.message, "distinct low halves"), "%s", err.message);
    uint64_t task;
    cr_assert_eq(bm_signer_submit(signer, &docs, &out, &task, NULL), BM_OK);
    cr_expect_eq(bm_signer_wait(signer, task, NULL), BM_ERR_INPUT);
    size_t doc = 0; /* one by one */
    while (doc < N && sign64(signer, offsets, hashes + EACH * doc, 1, &out) == BM_OK)
        doc++;
    cr_expect_lt(doc, N);
    for (size_t i = 0; i < (size_t)N * EACH; i++) /* refused hashes are not counted */
        hashes[i] = world_draw();
    cr_expect_eq(sign64(signer, offsets, hashes, N, &out), BM_OK);
    bm_signer_close(signer);
}

/* The signer writes 64-bit words, and 64-bit words are compared. */
Test(signer, a_scheme_of_64_bits_fills_words_of_64_bits_and_takes_no_hashes_of_32)
{
    enum { PERMS_64 = 30, DOCS_64 = 3 };
    const uint64_t offsets[] = {0, 2, 2, 4}, hashes[] = {UINT64_MAX, 5, 5, UINT64_MAX};
    const uint32_t halves[] = {1, 2, 3, 4};
    uint64_t words[DOCS_64 * PERMS_64], wanted[PERMS_64];
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.text.hash = bm_scheme_hash(BM_SCHEME_AFFINE64);
    options.sketch.perms = PERMS_64;
    options.sketch.scheme = BM_SCHEME_AFFINE64;
    bm_error err = {0};
    bm_signer *signer = world_open(bm_signer, &options);
    cr_expect_eq(bm_signer_describe(signer)->value_bytes, 8);
    const bm_signer_out out = {.struct_size = sizeof out, .signatures64 = words};
    const bm_documents documents = bm_documents_of_hashes(offsets, hashes, DOCS_64);
    cr_assert_eq(bm_signer_sign(signer, &documents, &out, &err), BM_OK, "%s", err.message);
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(&options.sketch, &params, NULL), BM_OK);
    params.ops->sign(&params, hashes, 2, wanted);
    cr_expect_arr_eq(words, wanted, sizeof wanted);
    cr_expect_arr_eq(words + 2 * PERMS_64, wanted, sizeof wanted);
    for (size_t i = 0; i < PERMS_64; i++)
        cr_expect_eq(words[PERMS_64 + i], BM_NO_SHINGLE64);
    const bm_documents narrow = bm_documents_of_hashes32(offsets, halves, DOCS_64);
    cr_expect_eq(bm_signer_sign(signer, &narrow, &out, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "hashes32");
    bm_signer_close(signer);
    bm_scheme_params_reset(&params);
    bm_find_options find;
    bm_pair_set *pairs = NULL;
    bm_find_options_init(&find);
    find.text.hash = options.text.hash;
    find.sketch = options.sketch;
    find.verify = BM_VERIFY_SIGNATURE;
    cr_assert_eq(bm_find_pairs(&find, &documents, &pairs, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_pair_set_count(pairs), 1);
    cr_expect_eq(bm_pair_set_data(pairs)[0].similarity, 1);
    bm_pair_set_free(pairs);
}
