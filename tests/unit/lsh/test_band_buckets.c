/* SPDX-License-Identifier: Apache-2.0 */
/* test_band_buckets.c -- the chains of a band, compared with a linear search for the next equal
 * key. */
#include "lsh/candidates.c"

#include <criterion/criterion.h>

#include <stdlib.h>

#include "tests/world/sized.h"
#include "tests/world/world_random.h"

static void expect_chains(const uint64_t *keys, const uint8_t *skip, size_t n,
                          const bm_band_buckets *b)
{
    for (size_t i = 0; i < n; i++) {
        bool left_out = skip != NULL && skip[i], before = false;
        size_t next = i + 1;
        while (next < n && (keys[next] != keys[i] || (skip != NULL && skip[next])))
            next++;
        for (size_t k = 0; k < i; k++)
            before = before || (keys[k] == keys[i] && (skip == NULL || !skip[k]));
        cr_assert_eq(b->next[i], left_out || next == n ? BM_NO_DOC : next);
        cr_assert_eq(b->inner[i] != 0, !left_out && before);
    }
}

Test(band_buckets, chains_equal_looking_for_the_next_equal_key)
{
    static const uint64_t distinct[] = {1, 3, 50, 2000, 0};
    for (int round = 0; round < 60; round++) {
        size_t n = world_draw() % 500;
        uint64_t keys[512];
        uint8_t skip[512];
        for (size_t i = 0; i < n; i++)
            skip[i] = world_draw() % 4 == 0;
        bm_band_buckets b;
        const uint8_t *skipped = round % 2 == 0 ? NULL : skip;
        cr_assert_eq(bm_band_buckets_init(&b, n, skipped, NULL, NULL), BM_OK);
        /* the buckets are reused: nothing may remain of the previous band */
        for (int band = 0; band < 3; band++) {
            uint64_t range = distinct[(round + band) % 5];
            for (size_t i = 0; i < n; i++)
                keys[i] = range == 0 ? world_draw() : world_draw() % range;
            cr_assert_eq(bm_band_buckets_fill(&b, keys, NULL), BM_OK);
            expect_chains(keys, skipped, n, &b);
            bm_band_labels labels;
            cr_assert_eq(bm_band_buckets_label(&b, &labels, NULL), BM_OK);
            for (size_t i = 0; i < n; i++) {
                const uint32_t label = bm_band_label(&labels, (uint32_t)i);
                cr_assert(b.inner[i] != 0 ? label < i && keys[label] == keys[i] && !b.inner[label]
                                          : label == i);
            }
            fill_by_labels(&b, &labels);
            expect_chains(keys, skipped, n, &b);
            bm_band_labels_reset(&labels);
        }
        bm_band_buckets_reset(&b);
    }
}

/* The key that candidates.c turns into `product` before it folds the two halves. */
static uint64_t unmix(uint64_t product)
{
    uint64_t inverse = 1; /* Newton's iteration: each round doubles the number of correct bits */
    for (int i = 0; i < 6; i++)
        inverse *= 2 - 0x9E3779B97F4A7C15u * inverse;
    cr_assert_eq(inverse * 0x9E3779B97F4A7C15u, 1);
    return product * inverse;
}

Test(band_buckets, different_keys_with_equal_tags_are_in_no_chain)
{
    enum { N = 3000 };
    static uint64_t keys[N];
    /* XOR of both halves is the same for all products, so all tags are equal */
    for (uint64_t i = 0; i < N; i++)
        keys[i] = unmix(i % (N - 5) << 32 | (i % (N - 5) ^ 0xABCDEF));
    bm_band_buckets b;
    cr_assert_eq(bm_band_buckets_init(&b, N, NULL, NULL, NULL), BM_OK);
    cr_assert_eq(bm_band_buckets_fill(&b, keys, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) /* only the last five keys are repeats: of the first five */
        cr_assert_eq(b.next[i], i < 5 ? i + N - 5 : BM_NO_DOC);
    bm_band_buckets_reset(&b);
}

/* The products are small numbers, so all documents fall into one part and its table must grow. */
Test(band_buckets, keys_that_fall_into_one_part_are_chained_right)
{
    enum { N = 200000 };
    uint64_t *keys = malloc(N * sizeof *keys);
    for (size_t i = 0; i < N; i++) /* the second half repeats the first */
        keys[i] = unmix(i % (N / 2));
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        bm_pool *pool;
        bm_band_buckets b;
        cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
        cr_assert_eq(bm_band_buckets_init(&b, N, NULL, pool, NULL), BM_OK);
        cr_assert_eq(bm_band_buckets_fill(&b, keys, NULL), BM_OK);
        for (size_t i = 0; i < N; i++) {
            cr_assert_eq(b.next[i], i < N / 2 ? i + N / 2 : BM_NO_DOC);
            cr_assert_eq(b.inner[i] != 0, i >= N / 2);
        }
        bm_band_buckets_reset(&b);
        bm_pool_close(pool);
    }
    free(keys);
}

/* Many keys with one tag, as above: a table without protection takes n * n / 2 steps for them. */
Test(band_buckets, keys_of_one_tag_take_no_more_than_a_factor)
{
    for (size_t n = 5000; n <= sized(80000, 10000); n *= 2) {
        uint64_t *keys = malloc(n * sizeof *keys);
        for (uint64_t i = 0; i < n; i++)
            keys[i] = unmix(i << 32 | (i ^ 0xABCDEF));
        bm_band_buckets b;
        cr_assert_eq(bm_band_buckets_init(&b, n, NULL, NULL, NULL), BM_OK);
        cr_assert_eq(bm_band_buckets_fill(&b, keys, NULL), BM_OK);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(b.next[i], BM_NO_DOC);
        cr_expect_leq(b.tables[0].n_steps, 24 * n + b.n_parts * BM_HASH_PATIENCE,
                      "%zu steps for %zu keys", (size_t)b.tables[0].n_steps, n);
        bm_band_buckets_reset(&b);
        free(keys);
    }
}

Test(band_buckets, a_million_equal_keys_are_one_chain)
{
    enum { N = 1000000 };
    uint64_t *keys = calloc(N, sizeof *keys);
    bm_band_buckets b;
    cr_assert_eq(bm_band_buckets_init(&b, N, NULL, NULL, NULL), BM_OK);
    cr_assert_eq(bm_band_buckets_fill(&b, keys, NULL), BM_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert(b.next[i] == (i + 1 < N ? i + 1 : BM_NO_DOC) && (b.inner[i] != 0) == (i != 0));
    bm_band_buckets_reset(&b);
    free(keys);
}
