/* SPDX-License-Identifier: Apache-2.0 */
/* test_weigh.c -- weights of small documents, against the formula. */

#include <criterion/criterion.h>
#include <math.h>

#include "sign/df_table.h"
#include "tests/world/world_calls.h"

#define N 5u

/* Documents of hashes that may repeat; 0 ends one. */
static const uint64_t documents[N][6] = {
    {9, 7, 7, 3, 1, 0}, {9, 7, 1, 0}, {1, 9, 0}, {0}, {1, 5, 9, 5, 5, 0}};

static void make_batch(bm_shingle_batch *batch, size_t first, size_t n)
{
    *batch = (bm_shingle_batch){.counted = true};
    cr_assert_eq(bm_shingle_batch_reserve(batch, n, 6 * n, NULL), BM_OK);
    for (size_t d = 0; d < n; d++) {
        const uint64_t begin = batch->offsets[d];
        uint64_t end = begin;
        for (const uint64_t *hash = documents[first + d]; *hash != 0; hash++) {
            uint64_t at = begin;
            while (at < end && batch->hashes[at] != *hash)
                at++;
            if (at == end) {
                batch->hashes[at] = *hash;
                batch->counts[at] = 0;
                end++;
            }
            batch->counts[at]++;
        }
        batch->offsets[d + 1] = end;
        batch->n_docs++;
    }
}

/* The weight of a hash in document d: tf * ln(N / df). */
static double weight_of(size_t d, uint64_t hash)
{
    double tf = 0, df = 0;
    for (size_t e = 0; e < N; e++) {
        double n = 0;
        for (const uint64_t *h = documents[e]; *h != 0; h++)
            n += *h == hash;
        tf = e == d ? n : tf;
        df += n > 0;
    }
    return tf * log((double)N / df);
}

Test(weigh, is_the_number_of_occurrences_times_the_logarithm_of_n_over_df)
{
    bm_df_table *table = NULL;
    bm_shingle_batch batch;
    bm_df_count *count = world_open(bm_df_count, &(bm_df_cfg){0});
    make_batch(&batch, 0, N);
    cr_assert_eq(bm_df_count_add(count, &batch, NULL), BM_OK);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    bm_shingle_batch_reset(&batch);

    for (size_t first = 0; first < N; first += 2) { /* other batches than those counted */
        const size_t n = N - first < 2 ? N - first : 2;
        make_batch(&batch, first, n);
        cr_assert_eq(bm_weigh_batch(table, &batch, NULL), BM_OK);
        for (size_t d = 0; d < n; d++)
            for (uint64_t at = batch.offsets[d]; at < batch.offsets[d + 1]; at++) {
                const double wanted = weight_of(first + d, batch.hashes[at]);
                cr_assert_float_eq(batch.weights[at], wanted, 1e-14);
                cr_assert_gt(batch.weights[at], 0);
                cr_assert(at == batch.offsets[d] || batch.hashes[at - 1] < batch.hashes[at]);
            }
        bm_shingle_batch_reset(&batch);
    }
    bm_df_table_close(table);
    bm_df_count_close(count);
}

Test(weigh, what_stands_in_every_document_is_no_element)
{
    bm_df_table *table = NULL;
    bm_shingle_batch batch;
    bm_df_count *count = world_open(bm_df_count, &(bm_df_cfg){0});
    make_batch(&batch, 0, 3); /* 9 and 1 are in all of them */
    cr_assert_eq(bm_df_count_add(count, &batch, NULL), BM_OK);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    cr_assert_eq(bm_weigh_batch(table, &batch, NULL), BM_OK);
    cr_assert_eq(batch.offsets[1], 2);
    cr_assert_eq(batch.hashes[0], 3);
    cr_assert_eq(batch.hashes[1], 7);
    cr_assert_eq(batch.offsets[2], 3);
    cr_assert_eq(batch.hashes[2], 7);
    cr_assert_eq(batch.offsets[3], 3);
    cr_assert_eq(batch.n_weightless, 1);
    bm_shingle_batch_reset(&batch);
    bm_df_table_close(table);
    bm_df_count_close(count);
}

/* Hashes by kind, 0: evenly spread; 1: all in the lower half; 2: crowded in three ranges. */
static uint64_t hash_of(uint32_t kind, uint32_t i)
{
    const uint64_t even = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return kind == 0 ? even : kind == 1 ? even >> 33 : even >> 8 | (uint64_t)(i % 3) << 62;
}

static void make_long_batch(bm_shingle_batch *batch, uint32_t kind, uint32_t n)
{
    *batch = (bm_shingle_batch){.counted = true};
    cr_assert_eq(bm_shingle_batch_reserve(batch, 2, n + 1, NULL), BM_OK);
    for (uint32_t i = 0; i < n; i++) {
        batch->hashes[i] = hash_of(kind, i);
        batch->counts[i] = i + 1;
    }
    batch->hashes[n] = UINT64_MAX;
    batch->counts[n] = 1;
    batch->offsets[1] = n;
    batch->offsets[2] = n + 1;
    batch->n_docs = 2;
}

/* No element of the first document is in the other, so the weight of each tells its number. */
static void expect_sorted(uint32_t kind, uint32_t n)
{
    bm_df_table *table = NULL;
    bm_shingle_batch batch;
    bm_df_count *count = world_open(bm_df_count, &(bm_df_cfg){0});
    make_long_batch(&batch, kind, n);
    cr_assert_eq(bm_df_count_add(count, &batch, NULL), BM_OK);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    bm_shingle_batch_reset(&batch);
    make_long_batch(&batch, kind, n);
    cr_assert_eq(bm_weigh_batch(table, &batch, NULL), BM_OK);
    cr_assert_eq(batch.offsets[1], n);
    for (uint32_t at = 0; at < n; at++) {
        const double number = batch.weights[at] / log(2);
        cr_assert_float_eq(number, round(number), 1e-9);
        cr_assert_eq(batch.hashes[at], hash_of(kind, (uint32_t)lround(number) - 1));
        cr_assert(at == 0 || batch.hashes[at - 1] < batch.hashes[at], "%u: %u of %u", kind, at, n);
    }
    bm_shingle_batch_reset(&batch);
    bm_df_table_close(table);
    bm_df_count_close(count);
}

Test(weigh, elements_ascend_wherever_their_hashes_lie)
{
    static const uint32_t sizes[] = {1, 2, 3, 17, 300, 2000};
    for (uint32_t kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            expect_sorted(kind, sizes[i]);
}
