/* SPDX-License-Identifier: Apache-2.0 */
/* test_special_texts.c -- bags and stop words in memory: similarities computed by hand, and equal
 * results from texts and from the hashes of their shingles. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bandmill/sketch.h>

#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

static const bm_str texts[] = {{"x y x x z y x w", 15}, {"w w y y y x x q", 15}, {"", 0}, {"x", 1}};
enum { N = sizeof texts / sizeof texts[0] };

/* The hashes of all words of the texts, with repeats, as the library hashes them: each word is
 * hashed as a text of its own. */
static size_t hash_words(uint64_t *hashes, uint64_t offsets[N + 1])
{
    bm_shingle_options options;
    size_t n = 0;
    bm_shingle_options_init(&options);
    options.text.shingle_k = 1;
    offsets[0] = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t at = 0; at < texts[i].len; at += 2) {
            bm_hash_sets *sets = NULL;
            const bm_str word = {texts[i].data + at, 1};
            cr_assert_eq(bm_shingle_texts(&options, &word, 1, &sets, NULL), BM_OK);
            hashes[n++] = bm_hash_sets_hashes(sets)[0];
            bm_hash_sets_free(sets);
        }
        offsets[i + 1] = n;
    }
    return n;
}

static void expect_pair(const bm_documents *docs, bool bag, double similarity)
{
    bm_find_options options;
    bm_pair_set *pairs = NULL;
    bm_error err = {0};
    bm_find_options_init(&options);
    options.text.shingle_k = 1;
    options.text.bag = bag;
    options.candidates = BM_CANDIDATES_ALL;
    options.bands.threshold = 0.3;
    options.resources.threads = 1;
    cr_assert_eq(bm_find_pairs(&options, docs, &pairs, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_pair_set_count(pairs), 1);
    const bm_pair *pair = bm_pair_set_data(pairs);
    cr_expect(pair->a == 0 && pair->b == 1);
    cr_expect_float_eq(pair->similarity, similarity, 1e-12);
    bm_pair_set_free(pairs);
}

/* {x4 y2 z w} and {w2 y3 x2 q}: as sets 3 / 5, as bags (2 + 2 + 1) / (4 + 3 + 1 + 2 + 1). */
Test(special_texts, bags_are_compared_by_their_counts)
{
    uint64_t hashes[64], offsets[N + 1];
    const bm_documents of_texts = bm_documents_of_texts(texts, N);
    hash_words(hashes, offsets);
    const bm_documents of_hashes = bm_documents_of_hashes(offsets, hashes, N);
    expect_pair(&of_texts, false, 3 / 5.);
    expect_pair(&of_hashes, false, 3 / 5.);
    expect_pair(&of_texts, true, 5 / 11.);
    expect_pair(&of_hashes, true, 5 / 11.);
}

/* The documents of a pair share 10 hashes, each 10 times, and one of them has 10 more: similarity
 * .5 as sets, 100 / 110 as bags. Bands for .8 miss such bags with probability below .01. */
Test(special_texts, bags_of_hashes_are_candidates_as_bags)
{
    enum { PAIRS = 40, SHARED = 10, TIMES = 10, OWN = 10 };
    static uint64_t hashes[PAIRS * (2 * SHARED * TIMES + OWN)], offsets[2 * PAIRS + 1];
    uint64_t hash = 1;
    size_t n = 0;
    for (size_t doc = 0; doc < 2 * PAIRS; doc++) {
        const uint64_t first = doc % 2 == 0 ? hash : hash - SHARED;
        for (size_t i = 0; i < (size_t)SHARED * TIMES; i++)
            hashes[n++] = (first + i / TIMES) * UINT64_C(0xD6E8FEB86659FD93);
        hash = first + SHARED;
        for (size_t i = 0; doc % 2 != 0 && i < OWN; i++)
            hashes[n++] = hash++ * UINT64_C(0xD6E8FEB86659FD93);
        offsets[doc + 1] = n;
    }
    const bm_documents docs = bm_documents_of_hashes(offsets, hashes, 2 * PAIRS);
    bm_find_options options;
    bm_pair_set *pairs = NULL;
    bm_find_options_init(&options);
    options.text.bag = true;
    options.bands.threshold = .8;
    cr_assert_eq(bm_find_pairs(&options, &docs, &pairs, NULL), BM_OK);
    cr_expect_geq(bm_pair_set_count(pairs), PAIRS - 2, "%zu", bm_pair_set_count(pairs));
    cr_expect_float_eq(bm_pair_set_data(pairs)[0].similarity, 100 / 110., 1e-12);
    bm_pair_set_free(pairs);
}

static void sign(bool bag, const bm_documents *docs, uint32_t *words, uint32_t *n_shingles)
{
    bm_signer_options options;
    bm_error err = {0};
    bm_signer_options_init(&options);
    options.text.shingle_k = 1;
    options.text.bag = bag;
    options.sketch.perms = 64;
    options.resources.threads = 2;
    options.resources.batch_docs = 3;
    bm_signer *signer = world_open(bm_signer, &options);
    const bm_signer_out out = {
        .struct_size = sizeof out, .signatures = words, .n_shingles = n_shingles};
    cr_assert_eq(bm_signer_sign(signer, docs, &out, &err), BM_OK, "%s", err.message);
    bm_signer_close(signer);
}

Test(special_texts, bags_are_signed_alike_from_texts_and_from_hashes)
{
    uint64_t hashes[64], offsets[N + 1];
    uint32_t hashes32[64], words[3][N * 64], counts[3][N], set[N * 64];
    const size_t n = hash_words(hashes, offsets);
    const bm_documents of_texts = bm_documents_of_texts(texts, N);
    const bm_documents of_hashes = bm_documents_of_hashes(offsets, hashes, N);
    sign(true, &of_texts, words[0], counts[0]);
    sign(true, &of_hashes, words[1], counts[1]);
    cr_expect_arr_eq(words[0], words[1], sizeof words[0]);
    const uint32_t expected[N] = {8, 8, 0, 1};
    cr_expect_arr_eq(counts[0], expected, sizeof expected);
    cr_expect_arr_eq(counts[1], expected, sizeof expected);
    /* 32-bit hashes give the same counts, but other elements */
    for (size_t i = 0; i < n; i++)
        hashes32[i] = (uint32_t)hashes[i];
    const bm_documents of_hashes32 = bm_documents_of_hashes32(offsets, hashes32, N);
    sign(true, &of_hashes32, words[2], counts[2]);
    cr_expect_arr_eq(counts[2], expected, sizeof expected);
    sign(false, &of_texts, set, NULL);
    cr_expect_arr_neq(words[0], set, 64 * sizeof *set);
    cr_expect_arr_eq(words[0] + 3 * 64, set + 3 * 64, 64 * sizeof *set, "nothing repeats there");
}

static size_t count_shingles(const bm_shingle_options *options, const char *text)
{
    bm_hash_sets *sets = NULL;
    bm_error err = {0};
    const bm_str one = {text, strlen(text)};
    cr_assert_eq(bm_shingle_texts(options, &one, 1, &sets, &err), BM_OK, "%s", err.message);
    const size_t n = (size_t)bm_hash_sets_offsets(sets)[1];
    bm_hash_sets_free(sets);
    return n;
}

Test(special_texts, stop_words_are_english_or_those_of_a_file)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_put_text(&s, "words", "Cat\n\nmat\r\n");
    bm_shingle_options options;
    bm_shingle_options_init(&options);
    options.text.shingle = BM_SHINGLE_STOPWORD;
    options.text.shingle_k = 2;
    static const char text[] = "the cat sat on the mat with a dog";
    cr_expect_eq(count_shingles(&options, text), 4,
                 "the cat sat, on the mat, the mat with, with a dog");
    options.text.stopwords = "en";
    cr_expect_eq(count_shingles(&options, text), 4);
    options.text.stopwords = path;
    cr_expect_eq(count_shingles(&options, text), 2, "cat sat on, mat with a");
    bm_find_options find;
    bm_pair_set *pairs = NULL;
    bm_find_options_init(&find);
    find.text = options.text;
    const bm_str two[] = {{"a cat sat on", 12}, {"the cat sat on", 14}};
    const bm_documents docs = bm_documents_of_texts(two, 2);
    cr_assert_eq(bm_find_pairs(&find, &docs, &pairs, NULL), BM_OK);
    cr_expect_eq(bm_pair_set_count(pairs), 1);
    bm_pair_set_free(pairs);
    bm_signer_options signing;
    bm_signer_options_init(&signing);
    signing.text = options.text;
    bm_signer *signer = world_open(bm_signer, &signing);
    unlink(path); /* the signer has read the stop words */
    uint32_t n[2];
    const bm_signer_out out = {.struct_size = sizeof out, .n_shingles = n};
    cr_assert_eq(bm_signer_sign(signer, &docs, &out, NULL), BM_OK);
    cr_expect(n[0] == 1 && n[1] == 1);
    bm_signer_close(signer);
    bm_error err = {0};
    cr_expect_eq(bm_signer_open(&signing, &signer, &err), BM_ERR_IO);
    cr_expect_str_eq(err.file, path);
    options.text.shingle = BM_SHINGLE_WORD;
    bm_hash_sets *sets = NULL;
    cr_expect_eq(bm_shingle_texts(&options, two, 2, &sets, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "stopwords");
}
