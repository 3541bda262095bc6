/* test_grouping.c -- groups of random small sets, against a model that looks at all pairs and walks
 * the graph breadth first. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/threads.h"
#include "match/edges.h"
#include "match/match.h"
#include "sketch/scheme.h"
#include "tests/unit/match/ranked.h"

#define N     120u
#define BANDS 16u
#define ROWS  2u

typedef struct world {
    bm_corpus corpus;
    bm_doc_table docs;
    bm_match match;
    bm_meter meter;
    bm_pool *pool;
    uint64_t sets[N][64];
    size_t sizes[N];
    uint32_t identity[N]; /* which base document it copies */
} world;

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* Families of documents that differ in a few shingles, exact copies, and some without shingles. */
static void make_sets(world *w, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < N; i++) {
        w->identity[i] = i;
        w->sizes[i] = random_next(&state) % 12 == 0 ? 0 : 20 + random_next(&state) % 20;
        uint64_t family = random_next(&state) % 25 * 1000;
        for (size_t j = 0; j < w->sizes[i]; j++)
            w->sets[i][j] = (random_next(&state) % 7 == 0 ? UINT64_C(1) << 40 : 0) + family * 7919 +
                            j * 104729 + (random_next(&state) % 9 == 0 ? (uint64_t)i << 20 : 0);
        if (i > 10 && random_next(&state) % 6 == 0) {
            uint32_t from = (uint32_t)(random_next(&state) % i);
            w->identity[i] = w->identity[from];
            w->sizes[i] = w->sizes[from];
            memcpy(w->sets[i], w->sets[from], sizeof w->sets[i]);
        }
    }
}

static void fill_corpus(world *w)
{
    bm_scheme_params params = {0};
    bm_sketch_options sketch = {.perms = BANDS * ROWS, .seed = 7};
    cr_assert_eq(bm_scheme_affine32.draw(&sketch, &params, NULL), BM_OK);
    bm_corpus_cfg cfg = {.hashes = true, .find_identical = true, .bands = BANDS};
    bm_corpus_init(&w->corpus, &cfg);
    bm_ingest_batch batch = {0};
    uint64_t keys[N * BANDS];
    uint32_t words[BANDS * ROWS];
    batch.keys = keys;
    for (uint32_t i = 0; i < N; i++) {
        bm_shingle_batch *s = &batch.shingles;
        cr_assert_eq(bm_shingle_batch_reserve(s, 1, w->sizes[i], NULL), BM_OK);
        memcpy(s->hashes + s->offsets[s->n_docs], w->sets[i], w->sizes[i] * sizeof(uint64_t));
        s->content[s->n_docs] = (bm_hash128){w->identity[i] * 77u, 5};
        s->offsets[s->n_docs + 1] = s->offsets[s->n_docs] + w->sizes[i];
        s->n_docs++;
        bm_scheme_affine32.sign(&params, w->sets[i], w->sizes[i], words);
        bm_band_keys_scalar(words, BANDS, ROWS, w->sizes[i] == 0, keys + i * BANDS);
        bm_doc_row row = {.line = i + 1, .text_bytes = (i * 37u) % 50u};
        char id[8];
        int len = snprintf(id, sizeof id, "%u", i);
        const bm_doc_id hashed = {{id, (size_t)len}, i};
        cr_assert_eq(bm_doc_table_add(&w->docs, &row, hashed, "f", NULL), BM_OK);
    }
    cr_assert_eq(bm_corpus_add(&w->corpus, &batch, 0, NULL), BM_OK);
    bm_shingle_batch_reset(&batch.shingles);
    bm_scheme_params_reset(&params);
}

static void open_world(world *w, uint64_t seed, bool only_groups)
{
    memset(w, 0, sizeof *w);
    make_sets(w, seed);
    fill_corpus(w);
    bm_meter_init(&w->meter, NULL);
    cr_assert_eq(bm_pool_open(2, &w->pool, NULL), BM_OK);
    w->match = (bm_match){.settings = {.corpus = &w->corpus,
                                       .pool = w->pool,
                                       .meter = &w->meter,
                                       .verify = BM_VERIFY_EXACT,
                                       .threshold = 0.6,
                                       .only_groups = only_groups}};
    cr_assert_eq(bm_match_run(&w->match, NULL), BM_OK);
}

static void close_world(world *w)
{
    bm_match_reset(&w->match);
    bm_corpus_reset(&w->corpus);
    bm_doc_table_reset(&w->docs);
    bm_pool_close(w->pool);
    bm_meter_reset(&w->meter);
}

/* --- the model --- */

static double jaccard(const world *w, uint32_t a, uint32_t b)
{
    size_t common = 0;
    for (size_t i = 0; i < w->sizes[a]; i++)
        for (size_t j = 0; j < w->sizes[b]; j++)
            common += w->sets[a][i] == w->sets[b][j];
    size_t all = w->sizes[a] + w->sizes[b] - common;
    return all == 0 ? 0.0 : (double)common / (double)all;
}

/* Pairs that share a band key and reach the threshold; documents without shingles never. */
static bool is_edge(const world *w, uint32_t a, uint32_t b)
{
    if (w->sizes[a] == 0 || w->sizes[b] == 0)
        return false;
    if (w->identity[a] == w->identity[b])
        return true;
    bool candidate = false;
    uint32_t x = w->corpus.rep[a], y = w->corpus.rep[b];
    for (uint32_t band = 0; band < BANDS; band++)
        candidate = candidate || w->corpus.keys.columns[band][x] == w->corpus.keys.columns[band][y];
    return candidate && jaccard(w, a, b) >= 0.6;
}

static void model_labels(const world *w, uint32_t *label)
{
    for (uint32_t i = 0; i < N; i++)
        label[i] = i;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t a = 0; a < N; a++) {
            for (uint32_t b = 0; b < N; b++) {
                if (a != b && label[b] < label[a] && is_edge(w, a, b)) {
                    label[a] = label[b];
                    moved = true;
                }
            }
        }
    }
}

static bool model_prefers(const world *w, bm_keep keep, uint32_t x, uint32_t y)
{
    uint64_t p = w->docs.rows[x].text_bytes, q = w->docs.rows[y].text_bytes;
    switch (keep) {
    case BM_KEEP_FIRST:
        return x < y;
    case BM_KEEP_LAST:
        return x > y;
    case BM_KEEP_LONGEST:
        return p > q || (p == q && x < y);
    case BM_KEEP_SHORTEST:
        return p < q || (p == q && x < y);
    case BM_KEEP_NONE:
        break;
    }
    return false;
}

Test(grouping, components_and_the_kept_one_are_those_of_the_model)
{
    world *w = malloc(sizeof *w);
    uint32_t label[N];
    for (uint64_t seed = 1; seed <= 12; seed++) {
        open_world(w, seed, seed % 2 == 0);
        model_labels(w, label);
        for (bm_keep keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
            bm_grouping g;
            bm_keep_rank rank = ranked(&w->docs, keep);
            cr_assert_eq(bm_grouping_make(&w->match,
                                          &(bm_grouping_options){.rank = &rank,
                                                                 .cluster = BM_CLUSTER_COMPONENTS},
                                          &g, NULL),
                         BM_OK);
            bm_keep_rank_reset(&rank);
            for (uint32_t i = 0; i < N; i++) {
                uint32_t best = i;
                for (uint32_t j = 0; j < N; j++)
                    if (label[j] == label[i] && model_prefers(w, keep, j, best))
                        best = j;
                cr_assert_eq(g.label[i], label[i], "seed %d doc %u", (int)seed, i);
                cr_assert_eq(g.kept[i], best, "seed %d doc %u", (int)seed, i);
                if (best == i)
                    cr_assert_eq(g.reason[i], BM_REASON_KEPT);
                else if (w->identity[i] == w->identity[best])
                    cr_assert_eq(g.reason[i], BM_REASON_IDENTICAL);
                else
                    cr_assert_eq(g.reason[i],
                                 jaccard(w, i, best) >= 0.6 ? BM_REASON_NEAR : BM_REASON_CHAINED);
                if (best != i)
                    cr_assert_eq(g.similarity[i], jaccard(w, i, best));
            }
            bm_grouping_reset(&g);
        }
        close_world(w);
    }
    free(w);
}

Test(grouping, each_document_that_a_star_removes_is_at_the_threshold_to_the_kept_one)
{
    world *w = malloc(sizeof *w);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        open_world(w, seed, false);
        for (bm_keep keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
            bm_grouping g;
            bm_keep_rank rank = ranked(&w->docs, keep);
            cr_assert_eq(
                bm_grouping_make(&w->match,
                                 &(bm_grouping_options){.rank = &rank, .cluster = BM_CLUSTER_STAR},
                                 &g, NULL),
                BM_OK);
            bm_keep_rank_reset(&rank);
            cr_assert_eq(g.n_chained, 0);
            for (uint32_t i = 0; i < N; i++) {
                uint32_t kept = g.kept[i];
                cr_assert_eq(g.kept[kept], kept, "the kept document is kept itself");
                cr_assert(kept == i || is_edge(w, i, kept));
                for (uint32_t j = 0; kept == i && j < i;
                     j++) /* two kept ones are no edge, but for what another took */
                    cr_assert_not(g.kept[j] == j && w->identity[i] == w->identity[j] &&
                                  w->sizes[i] > 0);
            }
            bm_grouping_reset(&g);
        }
        close_world(w);
    }
    free(w);
}

Test(grouping, members_are_in_input_order_and_groups_by_their_first)
{
    world *w = malloc(sizeof *w);
    open_world(w, 3, false);
    bm_grouping g;
    cr_assert_eq(bm_grouping_make(&w->match,
                                  &(bm_grouping_options){.rank = &(bm_keep_rank){0},
                                                         .cluster = BM_CLUSTER_COMPONENTS},
                                  &g, NULL),
                 BM_OK);
    uint64_t in_groups = 0;
    cr_assert_gt(g.n_groups, 3);
    for (size_t i = 0; i < g.n_groups; i++) {
        cr_assert_geq(g.begin[i + 1] - g.begin[i], 2);
        for (uint64_t j = g.begin[i]; j < g.begin[i + 1]; j++, in_groups++) {
            cr_assert_eq(g.label[g.members[j]], g.members[g.begin[i]]);
            cr_assert(j == g.begin[i] || g.members[j - 1] < g.members[j]);
        }
        cr_assert(i == 0 || g.members[g.begin[i - 1]] < g.members[g.begin[i]]);
    }
    cr_assert_eq(in_groups - g.n_groups, g.n_removed);
    bm_grouping_reset(&g);
    close_world(w);
    free(w);
}
