/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample.c -- SplitMix64 against published numbers; the sample against a sort of all
 * priorities, for any batches; equal chances for all documents and pairs; and what the corpus
 * receives. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/sample.h"
#include "tests/world/world_order.h"

Test(sample, priorities_are_the_outputs_of_splitmix64)
{
    /* The first five outputs for the seed 1234567, published with ports of the generator. */
    static const uint64_t wanted[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                      UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                      UINT64_C(16408922859458223821)};
    for (uint64_t i = 0; i < 5; i++)
        cr_assert_eq(bm_sample_priority(1234567, i), wanted[i]);
}

enum { MOST = 600, BANDS = 3, PERMS = 5 };

/* Document i has i % 7 shingles, 1000 i + k. If i % 10 == 9, it is a copy of document i - 9. */
static size_t shingles_of(size_t i)
{
    return (i % 10 == 9 ? i - 9 : i) % 7;
}

static uint64_t shingle_of(size_t i, size_t k)
{
    return 1000 * (i % 10 == 9 ? i - 9 : i) + k;
}

typedef struct input {
    bm_doc_table docs;
    bm_ingest_batch batch;
} input;

static void add_documents(input *in, bm_sample *sample, size_t first, size_t end)
{
    bm_ingest_batch *b = &in->batch;
    size_t at = 0;
    bm_shingle_batch_clear(&b->shingles);
    cr_assert_eq(bm_shingle_batch_reserve(&b->shingles, end - first, (end - first) * 7, NULL),
                 BM_OK);
    b->shingles.offsets[0] = 0;
    for (size_t i = first; i < end; i++) {
        char id[32];
        bm_doc_row row = {.line = i + 1, .n_shingles = (uint32_t)shingles_of(i)};
        int len = snprintf(id, sizeof id, "doc-%zu", i);
        const bm_doc_id hashed = {{id, (size_t)len}, i * 977};
        cr_assert_eq(bm_doc_table_add(&in->docs, &row, hashed, "f", NULL), BM_OK);
        for (size_t k = 0; k < shingles_of(i); k++)
            b->shingles.hashes[at++] = shingle_of(i, k);
        b->shingles.offsets[i - first + 1] = at;
        b->shingles.content[i - first] = (bm_hash128){i % 10 == 9 ? i - 9 : i, 5};
        for (size_t k = 0; k < BANDS; k++)
            b->keys[(i - first) * BANDS + k] = i * 100 + k;
        for (size_t k = 0; k < PERMS; k++)
            b->words[(i - first) * PERMS + k] = (uint32_t)(i * 10 + k);
    }
    b->shingles.n_docs = b->n_docs = end - first;
    cr_assert_eq(bm_sample_add(sample, b, first, NULL), BM_OK);
}

/* Sets in[i] if the priority of document i is among the `wanted` least of n. */
static void naive(uint64_t seed, size_t n, size_t wanted, bool in[MOST])
{
    uint64_t sorted[MOST];
    for (size_t i = 0; i < n; i++)
        sorted[i] = bm_sample_priority(seed, i);
    qsort(sorted, n, sizeof *sorted, world_ascending);
    for (size_t i = 0; i < n; i++)
        in[i] = wanted >= n || bm_sample_priority(seed, i) < sorted[wanted];
}

/* Draws a sample and checks the corpus it fills. With an odd seed the corpus has words of
 * signatures instead of sets. */
static void check(uint64_t seed, size_t n, size_t wanted, size_t batch_docs)
{
    bm_corpus corpus;
    bm_sample sample;
    input in = {0};
    in.batch.keys = calloc(MOST * BANDS, sizeof *in.batch.keys);
    in.batch.words = calloc(MOST * PERMS, sizeof *in.batch.words);
    const bool words = seed % 2 == 1;
    bm_corpus_cfg cfg = {.hashes = !words,
                         .find_identical = true,
                         .bands = BANDS,
                         .words = {words ? PERMS : 0, 4},
                         .docs = &in.docs};
    bm_corpus_init(&corpus, &cfg);
    bm_sample_init(&sample, wanted, seed, &corpus);
    for (size_t i = 0; i < n; i += batch_docs)
        add_documents(&in, &sample, i, i + batch_docs < n ? i + batch_docs : n);
    cr_assert_eq(sample.n_seen, n);
    cr_assert_eq(bm_sample_finish(&sample, &in.docs, NULL), BM_OK);
    bool chosen[MOST];
    naive(seed, n, wanted, chosen);
    size_t row = 0;
    uint32_t row_of[MOST];
    for (size_t i = 0; i < n; i++) {
        if (!chosen[i])
            continue;
        char id[32];
        bm_str got = bm_doc_table_id(&in.docs, row);
        snprintf(id, sizeof id, "doc-%zu", i);
        cr_assert(got.len == strlen(id) && memcmp(got.data, id, got.len) == 0);
        cr_assert_eq(in.docs.rows[row].line, i + 1);
        cr_assert_eq(corpus.sizes[row], shingles_of(i));
        const bool copy = i % 10 == 9 && shingles_of(i) > 0 && chosen[i - 9];
        for (size_t k = 0; !words && k < shingles_of(i); k++)
            cr_assert_eq(corpus.sets.places[corpus.rep[row]].set[k], shingle_of(i, k));
        for (size_t k = 0; k < BANDS; k++)
            cr_assert_eq(corpus.keys.columns[k][row], i * 100 + k);
        for (size_t k = 0; words && k < PERMS; k++)
            cr_assert_eq(((const uint32_t *)corpus.sets.places[corpus.rep[row]].set)[k],
                         (copy ? i - 9 : i) * 10 + k);
        cr_assert_eq(corpus.rep[row], copy ? row_of[i - 9] : row,
                     "a copy of what is not in it is none");
        row_of[i] = (uint32_t)row++;
    }
    cr_assert_eq(row, in.docs.n);
    cr_assert_eq(row, corpus.n);
    cr_assert_eq(row, wanted < n ? wanted : n);
    bm_sample_reset(&sample);
    bm_corpus_reset(&corpus);
    bm_doc_table_reset(&in.docs);
    bm_shingle_batch_reset(&in.batch.shingles);
    free(in.batch.keys);
    free(in.batch.words);
}

Test(sample, it_is_the_least_priorities_in_input_order_whatever_the_batches)
{
    static const size_t batches[] = {1, 7, 64, MOST};
    for (int b = 0; b < 4; b++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            check(seed, MOST, 50, batches[b]);
            check(seed, MOST, 1, batches[b]);
            check(seed, MOST, MOST - 1, batches[b]);
            check(seed, MOST, MOST, batches[b]);
            check(seed, MOST, 100000, batches[b]);
            check(seed, 1, 3, batches[b]);
        }
    }
    check(1, 0, 5, 1);
}

Test(sample, every_document_and_every_two_are_as_likely_as_any_other)
{
    enum { N = 40, K = 10, SEEDS = 20000 };
    static uint32_t alone[N], both[N][N];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        bool in[MOST];
        naive(seed, N, K, in);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; in[i] && j <= i; j++)
                *(i == j ? &alone[i] : &both[i][j]) += in[j];
    }
    /* Chi-squared over documents and over pairs, each within 5 standard deviations of its mean. */
    double p = (double)K / N, q = p * (K - 1) / (N - 1), of_docs = 0, of_pairs = 0;
    for (size_t i = 0; i < N; i++) {
        of_docs += pow(alone[i] - SEEDS * p, 2) / (SEEDS * p * (1 - p));
        for (size_t j = 0; j < i; j++)
            of_pairs += pow(both[i][j] - SEEDS * q, 2) / (SEEDS * q * (1 - q));
    }
    double pairs = N * (N - 1) / 2.0;
    cr_assert_float_eq(of_docs, N, 5 * sqrt(2 * N), "%g", of_docs);
    cr_assert_float_eq(of_pairs, pairs, 5 * sqrt(2 * pairs), "%g", of_pairs);
}

Test(sample, more_than_the_corpus_may_hold_is_an_error)
{
    bm_corpus corpus;
    bm_sample sample;
    bm_shingle_batch shingles = {0};
    bm_corpus_cfg cfg = {.hashes = true, .find_identical = true, .memory = 16 << 20};
    bm_corpus_init(&corpus, &cfg);
    bm_sample_init(&sample, 1000, 1, &corpus);
    enum { LONG = 100000 }; /* 800 KB a document */
    cr_assert_eq(bm_shingle_batch_reserve(&shingles, 1, LONG, NULL), BM_OK);
    for (uint64_t k = 0; k < LONG; k++)
        shingles.hashes[k] = k;
    shingles.offsets[0] = 0;
    shingles.offsets[1] = LONG;
    shingles.content[0] = (bm_hash128){1, 2};
    shingles.n_docs = 1;
    bm_ingest_batch batch = {.shingles = shingles, .n_docs = 1};
    bm_error err = {0};
    bm_status status = BM_OK;
    size_t n = 0;
    while (status == BM_OK && n < 1000)
        status = bm_sample_add(&sample, &batch, n++, &err);
    cr_assert_eq(status, BM_ERR_NOMEM);
    cr_assert(n <= 22, "%zu documents", n);
    cr_assert(strstr(err.message, "`memory`") != NULL, "%s", err.message);
    bm_sample_reset(&sample);
    bm_corpus_reset(&corpus);
    bm_shingle_batch_reset(&shingles);
}
