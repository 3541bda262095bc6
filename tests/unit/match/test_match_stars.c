/* SPDX-License-Identifier: Apache-2.0 */
/* test_match_stars.c -- stars whose crowded buckets are searched turn by turn, compared with a
 * model that compares all pairs and takes turns; and the work that large buckets cost, counted in
 * pairs. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match/edges.h"
#include "match/match.h"
#include "tests/unit/match/ranked.h"
#include "tests/world/world_random.h"

#define SET       10u /* hashes per document */
#define THRESHOLD 0.6

typedef struct world {
    size_t n;
    uint32_t bands;
    uint64_t *sets, *keys; /* SET hashes and `bands` keys per document */
    bool *empty;
    bm_corpus corpus;
    bm_doc_table docs;
    bm_match match;
    bm_keep_rank rank;
    bm_meter meter;
    bm_pool *pool;
} world;

static world *new_world(size_t n, uint32_t bands)
{
    world *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    *w = (world){.n = n, .bands = bands};
    w->sets = calloc(n * SET, sizeof *w->sets);
    w->keys = calloc(n * bands, sizeof *w->keys);
    w->empty = calloc(n, sizeof *w->empty);
    return w;
}

/* Documents of a few colours that share up to nine of ten hashes; few of their keys are rare. */
static world *random_world(size_t n, uint64_t seed)
{
    world *w = new_world(n, 5);
    uint64_t state = seed;
    for (size_t i = 0; i < n; i++) {
        const uint64_t colour = world_random(&state) % 9;
        w->empty[i] = world_random(&state) % 40 == 0;
        for (uint64_t j = 0; j < SET; j++)
            w->sets[i * SET + j] = (colour * SET + j) * 104729 + 1;
        /* hashes that only this document has */
        for (uint64_t k = 1 + world_random(&state) % 3; k > 0; k--)
            w->sets[i * SET + world_random(&state) % SET] = ((uint64_t)(i + 1) << 20) + k;
        for (uint32_t band = 0; band < w->bands; band++)
            w->keys[i * w->bands + band] = world_random(&state) % 3 == 0 ? world_random(&state) % 3
                                           : world_random(&state) % 3 == 0
                                               ? 100 + colour
                                               : 1000 + world_random(&state) % (n / 8);
    }
    return w;
}

static void fill_corpus(world *w, bool in_files)
{
    bm_corpus_cfg cfg = {.hashes = true,
                         .find_identical = true,
                         .bands = w->bands,
                         .temp_dir = in_files ? "/tmp" : NULL,
                         .budget = {.arena = 1 << 20},
                         .edges = true,
                         .spill_now = in_files};
    bm_corpus_init(&w->corpus, &cfg);
    bm_ingest_batch batch = {.keys = w->keys};
    bm_shingle_batch *s = &batch.shingles;
    for (size_t i = 0; i < w->n; i++) {
        const size_t size = w->empty[i] ? 0 : SET;
        cr_assert_eq(bm_shingle_batch_reserve(s, 1, SET, NULL), BM_OK);
        memcpy(s->hashes + s->offsets[i], w->sets + i * SET, size * sizeof(uint64_t));
        s->content[i] = (bm_hash128){i + 1, 5};
        s->offsets[i + 1] = s->offsets[i] + size;
        s->n_docs++;
        char id[24];
        const int len = snprintf(id, sizeof id, "%zu", i);
        const bm_doc_row row = {.line = i + 1, .text_bytes = (i * 37u) % 50u};
        cr_assert_eq(bm_doc_table_add(&w->docs, &row, (bm_doc_id){{id, (size_t)len}, i}, "f", NULL),
                     BM_OK);
    }
    cr_assert_eq(bm_corpus_add(&w->corpus, &batch, 0, NULL), BM_OK);
    bm_shingle_batch_reset(s);
}

static void run(world *w, bm_keep keep, uint32_t threads, bool in_files)
{
    fill_corpus(w, in_files);
    bm_meter_init(&w->meter, NULL);
    cr_assert_eq(bm_pool_open(threads, &w->pool, NULL), BM_OK);
    w->rank = ranked(&w->docs, keep);
    w->match = (bm_match){.settings = {.corpus = &w->corpus,
                                       .pool = w->pool,
                                       .meter = &w->meter,
                                       .verify = BM_VERIFY_EXACT,
                                       .threshold = THRESHOLD,
                                       .stars = &w->rank}};
    cr_assert_eq(bm_match_run(&w->match, NULL), BM_OK);
}

static void end_run(world *w)
{
    bm_match_reset(&w->match);
    bm_corpus_reset(&w->corpus);
    bm_doc_table_reset(&w->docs);
    bm_keep_rank_reset(&w->rank);
    bm_pool_close(w->pool);
    bm_meter_reset(&w->meter);
}

static void free_world(world *w)
{
    free(w->sets);
    free(w->keys);
    free(w->empty);
    free(w);
}

/* --- the model --- */

static bool is_edge(const world *w, size_t a, size_t b)
{
    size_t common = 0;
    bool candidate = false;
    if (w->empty[a] || w->empty[b])
        return false;
    for (uint32_t band = 0; band < w->bands; band++)
        candidate = candidate || w->keys[a * w->bands + band] == w->keys[b * w->bands + band];
    for (size_t i = 0; candidate && i < SET; i++)
        for (size_t j = 0; j < SET; j++)
            common += w->sets[a * SET + i] == w->sets[b * SET + j];
    return candidate && (double)common / (double)(2 * SET - common) >= THRESHOLD;
}

static bool comes_before(const world *w, bm_keep keep, size_t x, size_t y)
{
    const uint64_t p = w->docs.rows[x].text_bytes, q = w->docs.rows[y].text_bytes;
    if (keep == BM_KEEP_FIRST || keep == BM_KEEP_LAST || p == q)
        return keep == BM_KEEP_LAST ? x > y : x < y;
    return keep == BM_KEEP_LONGEST ? p > q : p < q;
}

/* Each turn goes to the document first in order of preference that had no turn yet. */
static void model_stars(const world *w, bm_keep keep, uint32_t *kept)
{
    bool *had = calloc(w->n, sizeof *had);
    for (size_t i = 0; i < w->n; i++)
        kept[i] = UINT32_MAX;
    for (size_t turn = 0; turn < w->n; turn++) {
        size_t now = SIZE_MAX;
        for (size_t i = 0; i < w->n; i++)
            if (!had[i] && (now == SIZE_MAX || comes_before(w, keep, i, now)))
                now = i;
        had[now] = true;
        if (kept[now] != UINT32_MAX)
            continue;
        kept[now] = (uint32_t)now;
        for (size_t i = 0; i < w->n; i++)
            if (kept[i] == UINT32_MAX && is_edge(w, now, i))
                kept[i] = (uint32_t)now;
    }
    free(had);
}

Test(match_stars, kept_documents_are_those_of_a_model_that_compares_all_pairs)
{
    enum { N = 500 };
    uint32_t kept[N];
    for (uint64_t seed = 1; seed <= 12; seed++) {
        world *w = random_world(N, seed);
        const bm_keep keep = (bm_keep)(seed % 4);
        run(w, keep, 1 + (uint32_t)seed % 3, seed % 2 == 0);
        model_stars(w, keep, kept);
        bm_grouping g;
        const bm_grouping_options options = {.rank = &w->rank, .cluster = BM_CLUSTER_STAR};
        cr_assert_eq(bm_grouping_make(&w->match, &options, &g, NULL), BM_OK);
        for (uint32_t i = 0; i < N; i++)
            cr_assert_eq(g.kept[i], kept[i], "seed %d: %u is kept for %u, not %u", (int)seed,
                         g.kept[i], i, kept[i]);
        cr_assert_eq(w->match.result.counts.not_compared, 0, "small enough for every pair");
        cr_assert_eq(g.n_chained, 0);
        bm_grouping_reset(&g);
        end_run(w);
        free_world(w);
    }
}

/* The pairs that are compared depend neither on the number of threads nor on whether sets and edges
 * are in memory or in files. */
Test(match_stars, counts_are_the_same_for_any_threads_and_memory)
{
    world *w = random_world(3000, 77);
    bm_match_counts first = {0};
    for (int i = 0; i < 4; i++) {
        run(w, BM_KEEP_LONGEST, i % 2 == 0 ? 1 : 3, i / 2 == 0);
        const bm_match_counts now = w->match.result.counts;
        first = i == 0 ? now : first;
        cr_expect_eq(now.candidates, first.candidates);
        cr_expect_eq(now.edges, first.edges);
        cr_expect_eq(now.not_compared, first.not_compared);
        end_run(w);
    }
    free_world(w);
}

/* All documents share one bucket in each band; each has `own` hashes that no other has. */
static world *one_bucket(size_t n, uint32_t bands, uint64_t own)
{
    world *w = new_world(n, bands);
    for (size_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < SET; j++)
            w->sets[i * SET + j] = j < own ? ((uint64_t)i + 1) * SET + j : UINT64_MAX - j;
    return w;
}

Test(match_stars, near_copies_cost_a_pair_each)
{
    for (size_t n = 10000; n <= 20000; n *= 2) {
        world *w = one_bucket(n, 3, 1); /* 9 shared of 11 hashes in all */
        run(w, BM_KEEP_FIRST, 2, false);
        cr_expect_eq(w->match.result.counts.candidates, n - 1);
        cr_expect_eq(w->match.result.counts.edges, n - 1);
        cr_expect_eq(w->match.result.counts.not_compared, 0);
        end_run(w);
        free_world(w);
    }
}

Test(match_stars, of_a_bucket_of_strangers_so_much_a_document_is_compared_and_the_rest_counted)
{
    for (size_t n = 10000; n <= 20000; n *= 2) {
        world *w = one_bucket(n, 1, SET);
        run(w, BM_KEEP_FIRST, 2, false);
        const bm_match_counts *counts = &w->match.result.counts;
        cr_expect_eq(counts->edges, 0);
        cr_expect_leq(counts->candidates, 65 * n);
        cr_expect_geq(counts->candidates, 60 * n);
        cr_expect_eq(counts->candidates + counts->not_compared, (uint64_t)n * (n - 1) / 2);
        end_run(w);
        free_world(w);
    }
}
