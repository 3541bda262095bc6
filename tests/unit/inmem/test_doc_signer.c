/* SPDX-License-Identifier: Apache-2.0 */
/* A few documents signed by one thread, against the public calls, which share only the shingler and
 * the backend with it. */
#include <criterion/criterion.h>

#include <string.h>

#include <bandmill/sketch.h>

#include "model/option_words.h"
#include "inmem/documents.h"
#include "tests/world/world_text.h"

#define N     4u
#define BANDS 5u
#define ROWS  3u
#define PERMS 20u

static const bm_text_options text_options = BM_TEXT_DEFAULTS;
static const bm_sketch_options sketch = {.perms = PERMS, .seed = 7};
static bm_str texts[N];

static void make_texts(void)
{
    static const char *const words[N] = {
        "the quick brown fox jumps over the lazy dog and the quick brown fox jumps over it", "",
        "\xFF one two three four five six", "short"};
    for (size_t i = 0; i < N; i++)
        texts[i] = world_str(words[i]);
}

static bm_doc_recipe recipe_of(bool words)
{
    return (bm_doc_recipe){
        .text = &text_options, .sketch = &sketch, .bands = BANDS, .rows = ROWS, .words = words};
}

/* Sets, keys and words are the same as from the public calls. */
static void expect_as_public(const bm_doc_signer *signer)
{
    bm_signer_options options;
    bm_shingle_options shingle;
    bm_signer *other = NULL;
    bm_hash_sets *sets = NULL;
    uint64_t keys[N * BANDS];
    uint32_t words[N * PERMS], n_shingles[N];
    const bm_signer_out out = {
        .struct_size = sizeof out, .signatures = words, .keys = keys, .n_shingles = n_shingles};
    bm_signer_options_init(&options);
    options.sketch = sketch;
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = true;
    options.resources.threads = 1;
    cr_assert_eq(bm_signer_open(&options, &other, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign_texts(other, texts, N, &out, NULL), BM_OK);
    bm_signer_close(other);
    bm_shingle_options_init(&shingle);
    shingle.sorted = true;
    shingle.resources.threads = 1;
    cr_assert_eq(bm_shingle_texts(&shingle, texts, N, &sets, NULL), BM_OK);
    cr_assert_eq(signer->batch.n_docs, N);
    cr_expect(memcmp(signer->keys, keys, sizeof keys) == 0);
    cr_expect(memcmp(signer->n_shingles, n_shingles, sizeof n_shingles) == 0);
    if (signer->wants_words)
        cr_expect(memcmp(signer->words, words, sizeof words) == 0);
    for (size_t i = 0; i < N; i++) {
        const uint64_t *set = bm_hash_sets_hashes(sets) + bm_hash_sets_offsets(sets)[i];
        cr_expect(memcmp(signer->sets[i], set, n_shingles[i] * sizeof *set) == 0);
        cr_expect_eq(signer->batch.content[i].lo, bm_hash_sets_content(sets)[2 * i]);
    }
    bm_hash_sets_free(sets);
}

Test(doc_signer, texts_as_the_public_calls_sign_them)
{
    make_texts();
    for (int words = 0; words < 2; words++) {
        const bm_doc_recipe recipe = recipe_of(words != 0);
        bm_backend *backend = NULL;
        bm_doc_signer signer = {0};
        cr_assert_eq(bm_doc_backend_open(&recipe, &backend, NULL), BM_OK);
        cr_assert_eq(bm_doc_signer_init(&signer, &recipe, backend, NULL), BM_OK);
        for (int again = 0; again < 2; again++) { /* in the same memory */
            bm_doc_signer_clear(&signer);
            cr_assert_eq(bm_doc_signer_sign(&signer, NULL), BM_OK); /* nothing */
            const bm_documents docs = bm_documents_of_texts(texts, N);
            for (size_t i = 0; i < N; i++)
                cr_assert_eq(bm_doc_hasher_add(&signer.hasher, &docs, i, &signer.batch, NULL),
                             BM_OK);
            cr_assert_eq(bm_doc_signer_sign(&signer, NULL), BM_OK);
            expect_as_public(&signer);
        }
        bm_doc_signer_reset(&signer);
        bm_backend_close(backend);
    }
}

Test(doc_signer, hashes_made_elsewhere_lose_their_repeats)
{
    const bm_doc_recipe recipe = recipe_of(false);
    static const uint64_t given[] = {9, 3, 9, 1, 3}, offsets[] = {0, 5, 5}, wanted[] = {1, 3, 9};
    const bm_documents docs = bm_documents_of_hashes(offsets, given, 2);
    bm_backend *backend = NULL;
    bm_doc_signer signer = {0};
    cr_assert_eq(bm_doc_backend_open(&recipe, &backend, NULL), BM_OK);
    cr_assert_eq(bm_doc_signer_init(&signer, &recipe, backend, NULL), BM_OK);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(bm_doc_hasher_add(&signer.hasher, &docs, i, &signer.batch, NULL), BM_OK);
    cr_assert_eq(bm_doc_signer_sign(&signer, NULL), BM_OK);
    cr_expect_eq(signer.n_shingles[0], 3);
    cr_expect_eq(signer.n_shingles[1], 0);
    cr_expect(memcmp(signer.sets[0], wanted, sizeof wanted) == 0);
    cr_expect_eq(signer.keys[BANDS], BM_NO_BAND_KEY);
    bm_doc_signer_reset(&signer);
    bm_backend_close(backend);
}
