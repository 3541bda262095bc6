/* SPDX-License-Identifier: Apache-2.0 */
/* test_bucket_join.c -- components of the candidates, compared with a union of all pairs that share
 * a key and pass a rule, for buckets of every size; and the work that large buckets cost, counted
 * in pairs. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lsh/candidates.h"
#include "tests/world/sized.h"
#include "tests/unit/lsh/labels.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"

/* A stand-in for verification: documents of one colour are alike if their heights differ by at most
 * `reach`. With reach 0 and distinct heights, no two documents are alike. */
typedef struct world {
    uint32_t bands;
    size_t n;
    uint64_t **keys;
    uint32_t *colour, *height, reach;
    bm_union_find groups;
    uint64_t n_pairs, chunks; /* chunks: a hash of all emitted chunks, in order */
} world;

static bool alike(const world *w, uint32_t a, uint32_t b)
{
    uint32_t x = w->height[a], y = w->height[b];
    return w->colour[a] == w->colour[b] && (x > y ? x - y : y - x) <= w->reach;
}

static bm_status verify(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    world *w = ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = pairs[i].a, b = pairs[i].b;
        bool share = false;
        for (uint32_t band = 0; band < w->bands && !share; band++)
            share = w->keys[band][a] == w->keys[band][b];
        /* Not cr_assert for each pair: Criterion counts every passed assertion, which takes longer
         * than the test itself. */
        if (a >= b || !share)
            cr_assert_fail("(%u, %u) is no candidate", a, b);
        w->chunks = (w->chunks ^ ((uint64_t)a << 32 | b)) * 0x9E3779B97F4A7C15u;
        if (alike(w, a, b))
            bm_union_find_link(&w->groups, a, b);
    }
    w->n_pairs += n;
    w->chunks = w->chunks * 31 + n;
    return BM_OK;
}

/* Documents are alike if they have the same of `colours` colours, and their heights (of `heights`
 * values; 0: the document's number) differ by at most `reach`. */
typedef struct likeness {
    uint32_t colours, heights, reach;
} likeness;

/* Each band has `distinct` different keys. */
static world make(uint32_t bands, size_t n, uint64_t distinct, likeness like)
{
    world w = {.bands = bands, .n = n, .reach = like.reach};
    w.keys = malloc(bands * sizeof *w.keys);
    w.colour = malloc((n + 1) * sizeof *w.colour);
    w.height = malloc((n + 1) * sizeof *w.height);
    for (uint32_t b = 0; b < bands; b++) {
        w.keys[b] = malloc((n + 1) * sizeof **w.keys);
        for (size_t i = 0; i < n; i++)
            w.keys[b][i] = world_draw() % distinct;
    }
    for (size_t i = 0; i < n; i++) {
        w.colour[i] = (uint32_t)(world_draw() % like.colours);
        w.height[i] = like.heights == 0 ? (uint32_t)i : (uint32_t)(world_draw() % like.heights);
    }
    return w;
}

static void drop(world *w)
{
    for (uint32_t b = 0; b < w->bands; b++)
        free(w->keys[b]);
    free(w->keys);
    free(w->colour);
    free(w->height);
}

/* The caller resets w->groups. */
static bm_join_stats run(world *w, uint32_t threads, size_t chunk)
{
    bm_pool *pool = NULL;
    bm_join_stats stats;
    if (threads != 0)
        cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
    cr_assert_eq(bm_union_find_init(&w->groups, w->n, NULL), BM_OK);
    w->n_pairs = w->chunks = 0;
    bm_band_keyset keys = {w->bands, w->n, (const uint64_t *const *)w->keys, NULL, NULL};
    bm_candidates_job job = {
        .keys = &keys, .pool = pool, .chunk = chunk, .fn = verify, .ctx = w, .groups = &w->groups};
    cr_assert_eq(bm_candidates_join(&job, &stats, NULL), BM_OK);
    bm_pool_close(pool);
    return stats;
}

/* `finer`: each group of w must be part of one group of the model; otherwise both must be equal. */
static void expect_components(world *w, bool finer)
{
    bm_union_find model;
    cr_assert_eq(bm_union_find_init(&model, w->n, NULL), BM_OK);
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++)
            for (uint32_t band = 0; band < w->bands; band++)
                if (w->keys[band][a] == w->keys[band][b] && alike(w, a, b))
                    bm_union_find_link(&model, a, b);
    for (uint32_t doc = 0; doc < w->n; doc++) {
        uint32_t root = bm_union_find_root(&w->groups, doc);
        cr_assert_eq(bm_union_find_root(&model, doc), bm_union_find_root(&model, root),
                     "document %u is in a group of document %u", doc, root);
        if (!finer)
            cr_assert_eq(root, bm_union_find_root(&model, doc), "document %u of %zu", doc, w->n);
    }
    bm_union_find_reset(&model);
}

Test(bucket_join, components_are_those_of_all_candidates_where_nothing_is_cut)
{
    static const uint64_t distinct[] = {1, 2, 5, 40};
    static const uint32_t colours[] = {1, 2, 9, 100}, heights[] = {1, 50, 400, 0};
    for (size_t round = 0; round < 4 * 4 * 4 * sized(3, 1); round++) {
        world w = make(1 + (uint32_t)(world_draw() % 4), world_draw() % 1000, distinct[round % 4],
                       (likeness){colours[round / 4 % 4], heights[round / 16 % 4],
                                  (uint32_t)(world_draw() % 4)});
        bm_join_stats stats = run(&w, (uint32_t)round % 3, round % 5 == 0 ? 7 : 0);
        cr_assert_eq(stats.n_cut, 0);
        cr_assert_eq(stats.n_not_compared, 0);
        expect_components(&w, false);
        bm_union_find_reset(&w.groups);
        drop(&w);
    }
}

Test(bucket_join, a_bucket_past_the_bound_joins_nothing_that_is_not_alike)
{
    for (int round = 0; round < 4; round++) {
        world w = make(3, 2500, round % 2 == 0 ? 1 : 2, (likeness){600, 0, 900});
        run(&w, 2, 0);
        expect_components(&w, true);
        bm_union_find_reset(&w.groups);
        drop(&w);
    }
}

Test(bucket_join, what_is_emitted_does_not_depend_on_threads)
{
    world w = make(4, 6000, 3, (likeness){700, 0, 500});
    bm_join_stats one = run(&w, 0, 0);
    uint64_t chunks = w.chunks, pairs = w.n_pairs;
    bm_union_find_reset(&w.groups);
    cr_assert_gt(one.n_cut, 0);
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        bm_join_stats other = run(&w, threads, 0);
        cr_assert(w.chunks == chunks && w.n_pairs == pairs && other.n_cut == one.n_cut &&
                  other.n_not_compared == one.n_not_compared);
        bm_union_find_reset(&w.groups);
    }
    drop(&w);
}

Test(bucket_join, copies_cost_one_comparison_each_in_the_first_band_and_none_after)
{
    world w = make(5, 100000, 1, (likeness){1, 1, 0});
    bm_join_stats stats = run(&w, 2, 0);
    cr_assert_eq(w.n_pairs, 99999);
    cr_assert_eq(stats.n_not_compared, 0);
    bm_union_find_reset(&w.groups);
    drop(&w);
}

Test(bucket_join, of_documents_that_share_one_band_every_pair_is_compared_or_counted)
{
    static const size_t sizes[] = {1000, 1025, 2000, 20000};
    for (size_t i = 0; i < 4; i++) {
        world w = make(1, sizes[i], 1, (likeness){1, 0, 0});
        bm_join_stats stats = run(&w, 0, 0);
        uint64_t all = (uint64_t)sizes[i] * (sizes[i] - 1) / 2;
        cr_assert_eq(w.n_pairs + stats.n_not_compared, all);
        cr_assert_eq(stats.n_cut, sizes[i] > 1025);
        bm_union_find_reset(&w.groups);
        drop(&w);
    }
}

/* Pairs that agree in a second band are found although the bucket of the first band is over its
 * bound. */
Test(bucket_join, sub_buckets_find_what_agrees_in_a_later_band)
{
    enum { N = 40000 };
    world w = make(3, N, 1, (likeness){N, 1, 0});
    for (uint32_t i = 0; i < N; i++) { /* pairs (i, i + N/2), far apart in order */
        w.colour[i] = i % (N / 2);
        w.keys[1][i] = world_draw();
        w.keys[2][i] = i % (N / 2);
    }
    bm_join_stats stats = run(&w, 2, 0);
    cr_assert_eq(stats.n_cut, 1);
    for (uint32_t i = 0; i < N / 2; i++)
        cr_assert_eq(bm_union_find_root(&w.groups, i + N / 2), i);
    bm_union_find_reset(&w.groups);
    drop(&w);
}

typedef void (*shape_fn)(world *w);

static void one_band(world *w)
{
    for (uint32_t b = 1; b < w->bands; b++)
        for (size_t i = 0; i < w->n; i++)
            w->keys[b][i] = world_draw();
}

static void all_bands(world *w)
{
    (void)w;
}

static void twenty_kinds(world *w) /* 20 clusters in one bucket */
{
    for (size_t i = 0; i < w->n; i++) {
        w->colour[i] = (uint32_t)(world_draw() % 20);
        w->height[i] = 0;
    }
}

static void half_met(world *w) /* band 1 is crowded with every other document */
{
    one_band(w);
    for (size_t i = 0; i < w->n; i += 2)
        w->keys[1][i] = 1;
}

/* How many pairs of a bucket of n documents are looked at: 64 a document, and at least all pairs of
 * 1,024 documents. */
static uint64_t budget_of(size_t n)
{
    const uint64_t least = 1024 * 1023 / 2;
    return 64 * n > least ? 64 * n : least;
}

Test(bucket_join, twice_the_documents_are_at_most_2_2_times_the_comparisons)
{
    static const shape_fn shapes[] = {one_band, all_bands, twenty_kinds, half_met};
    for (size_t s = 0; s < 4; s++) {
        uint64_t before = 0;
        for (size_t n = 2000; n <= sized(64000, 16000); n *= 2) {
            world w = make(4, n, 1, (likeness){1, 0, 0});
            shapes[s](&w);
            run(&w, 2, 0);
            cr_assert_leq(w.n_pairs, budget_of(n) * w.bands + n * 9);
            if (n > 2000)
                cr_assert_leq((double)w.n_pairs, 2.2 * (double)before, "shape %zu: %zu documents",
                              s, n);
            before = w.n_pairs;
            bm_union_find_reset(&w.groups);
            drop(&w);
        }
    }
}

Test(bucket_join, a_cancelled_job_ends_with_its_status)
{
    world w = make(2, 5000, 1, (likeness){1, 0, 0});
    for (int after = 0; after < 12; after++) {
        int left = after;
        bm_callbacks callbacks = {.ctx = &left, .cancelled = world_stop_after};
        bm_band_keyset keys = {w.bands, w.n, (const uint64_t *const *)w.keys, NULL, NULL};
        bm_candidates_job job = {.keys = &keys,
                                 .chunk = 1000,
                                 .fn = verify,
                                 .ctx = &w,
                                 .groups = &w.groups,
                                 .callbacks = &callbacks};
        cr_assert_eq(bm_union_find_init(&w.groups, w.n, NULL), BM_OK);
        cr_assert_eq(bm_candidates_join(&job, NULL, NULL), BM_ERR_CANCELLED);
        bm_union_find_reset(&w.groups);
    }
    drop(&w);
}

/* Labels made by a plain loop: the first document with the same key. */
static bm_band_labels *first_with_key(const world *w)
{
    bm_band_labels *labels = malloc(w->bands * sizeof *labels);
    uint32_t *first = malloc((w->n + 1) * sizeof *first);
    for (uint32_t b = 0; b < w->bands; b++) {
        for (uint32_t i = 0; i < w->n; i++) {
            first[i] = 0;
            while (w->keys[b][first[i]] != w->keys[b][i])
                first[i]++;
        }
        labels[b] = labels_of(first, w->n);
    }
    free(first);
    return labels;
}

Test(bucket_join, labels_instead_of_keys_change_nothing)
{
    for (size_t round = 0; round < sized(24, 6); round++) {
        world w = make(1 + (uint32_t)round % 5, 2000, 1 + world_draw() % 3,
                       (likeness){1 + world_draw() % 300, world_draw() % 90, (uint32_t)round % 3});
        bm_join_stats with_keys = run(&w, 0, 100), with_labels;
        size_t n_pairs = w.n_pairs, chunks = w.chunks;
        bm_union_find groups = w.groups;
        bm_band_labels *labels = first_with_key(&w);
        cr_assert_eq(bm_union_find_init(&w.groups, w.n, NULL), BM_OK);
        w.n_pairs = w.chunks = 0;
        bm_band_keyset keys = {.bands = w.bands, .n_docs = w.n, .labels = labels};
        bm_candidates_job job = {
            .keys = &keys, .chunk = 100, .fn = verify, .ctx = &w, .groups = &w.groups};
        cr_assert_eq(bm_candidates_join(&job, &with_labels, NULL), BM_OK);
        cr_assert(w.n_pairs == n_pairs && w.chunks == chunks, "round %zu", round);
        cr_assert(with_labels.n_cut == with_keys.n_cut &&
                  with_labels.n_not_compared == with_keys.n_not_compared);
        for (uint32_t doc = 0; doc < w.n; doc++)
            cr_assert_eq(bm_union_find_root(&groups, doc), bm_union_find_root(&w.groups, doc));
        for (uint32_t b = 0; b < w.bands; b++)
            bm_band_labels_reset(&labels[b]);
        free(labels);
        bm_union_find_reset(&groups);
        bm_union_find_reset(&w.groups);
        drop(&w);
    }
}
