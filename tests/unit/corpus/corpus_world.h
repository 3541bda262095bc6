/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_world.h -- random documents with their sets, keys, words and copies: the model that a
 * corpus is compared with. Header only. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/scratch.h"
#include "tests/world/world_random.h"
#include "corpus/corpus.h"
#include "match/edges.h"
#include "match/match.h"

#define N     9000u /* more than two blocks of keys */
#define BANDS 5u
#define PERMS 24u
#define MOST  40u

typedef struct world {
    uint64_t sets[N][MOST], keys[N][BANDS];
    uint32_t sizes[N], identity[N], words[N][PERMS];
    bm_doc_table docs;
    bm_meter meter;
    bm_pool *pool;
    scratch temp;
} world;

static inline uint64_t random_next(uint64_t *state)
{
    return world_random(state);
}

/* Draws a document: one with a set of its own, a copy of an earlier document, or an earlier
 * document with a few hashes changed. */
static inline void draw_document(world *w, uint32_t i, uint64_t *state)
{
    uint32_t kind = (uint32_t)(random_next(state) % 4), from = 0;
    w->identity[i] = i;
    w->sizes[i] = random_next(state) % 50 == 0 ? 0 : 10 + (uint32_t)(random_next(state) % 30);
    for (uint32_t j = 0; j < MOST; j++)
        w->sets[i][j] = random_next(state) << 32 | random_next(state) << 1;
    if (kind < 2 && i > 20) {
        from = (uint32_t)(random_next(state) % i);
        w->sizes[i] = w->sizes[from];
        memcpy(w->sets[i], w->sets[from], sizeof w->sets[i]);
        if (kind == 0)
            w->identity[i] = w->identity[from];
        for (uint32_t j = 0; kind == 1 && j < w->sizes[i] / 8; j++)
            w->sets[i][random_next(state) % w->sizes[i]] = random_next(state) << 32 | (j * 2 + 1);
    }
    for (uint32_t b = 0; b < BANDS; b++) {
        w->keys[i][b] = random_next(state) << 20;
        if (kind == 0 && i > 20)
            w->keys[i][b] = w->keys[w->identity[i]][b];
        else if (kind == 1 && i > 20 && random_next(state) % 2 == 0)
            w->keys[i][b] = w->keys[from][b];
    }
    for (uint32_t k = 0; k < PERMS; k++)
        w->words[i][k] =
            kind == 0 && i > 20 ? w->words[w->identity[i]][k] : (uint32_t)(random_next(state) % 3);
}

static inline world *open_world(uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    for (uint32_t i = 0; i < N; i++) {
        draw_document(w, i, &seed);
        bm_doc_row row = {.line = i + 1, .text_bytes = (i * 37u) % 50u, .n_shingles = w->sizes[i]};
        char id[8];
        int len = snprintf(id, sizeof id, "%u", i);
        const bm_doc_id hashed = {{id, (size_t)len}, i * UINT64_C(0x9E3779B97F4A7C15)};
        cr_assert_eq(bm_doc_table_add(&w->docs, &row, hashed, "f", NULL), BM_OK);
    }
    bm_meter_init(&w->meter, NULL);
    cr_assert_eq(bm_pool_open(2, &w->pool, NULL), BM_OK);
    w->temp = scratch_open();
    return w;
}

static inline void close_world(world *w)
{
    bm_doc_table_reset(&w->docs);
    bm_pool_close(w->pool);
    bm_meter_reset(&w->meter);
    scratch_close(&w->temp);
    free(w);
}

/* Adds documents first … first+n-1 to the corpus, as a batch of the ingest. */
static inline bm_status add_batch(world *w, bm_corpus *corpus, uint32_t first, uint32_t n,
                                  bm_error *err)
{
    bm_ingest_batch batch = {.keys = w->keys[first], .words = w->words[first]};
    bm_shingle_batch *s = &batch.shingles;
    for (uint32_t i = first; i < first + n; i++) {
        cr_assert_eq(bm_shingle_batch_reserve(s, 1, w->sizes[i], NULL), BM_OK);
        if (w->sizes[i] > 0) /* `hashes` may be NULL still */
            memcpy(s->hashes + s->offsets[s->n_docs], w->sets[i], w->sizes[i] * sizeof(uint64_t));
        s->content[s->n_docs] = (bm_hash128){w->identity[i] * 77u, 5};
        s->offsets[s->n_docs + 1] = s->offsets[s->n_docs] + w->sizes[i];
        s->n_docs++;
    }
    bm_status status = bm_corpus_add(corpus, &batch, first, err);
    bm_shingle_batch_reset(s);
    return status;
}

static inline bm_status fill(world *w, const bm_corpus_cfg *cfg, bm_corpus *corpus, bm_error *err)
{
    bm_status status = BM_OK;
    bm_corpus_init(corpus, cfg);
    for (uint32_t i = 0; status == BM_OK && i < N; i += 250)
        status = add_batch(w, corpus, i, 250, err);
    return status == BM_OK ? bm_corpus_end_adding(corpus, err) : status;
}

static inline bm_corpus_cfg in_memory(void)
{
    return (bm_corpus_cfg){.hashes = true, .find_identical = true, .bands = BANDS};
}

static inline bm_corpus_cfg in_files(world *w, uint64_t arena)
{
    bm_corpus_cfg cfg = in_memory();
    cfg.temp_dir = w->temp.root;
    cfg.spill_now = true;
    cfg.budget.arena = arena;
    return cfg;
}

static inline double jaccard(const world *w, uint32_t a, uint32_t b)
{
    size_t common = 0;
    for (size_t i = 0; i < w->sizes[a]; i++)
        for (size_t j = 0; j < w->sizes[b]; j++)
            common += w->sets[a][i] == w->sets[b][j];
    size_t all = w->sizes[a] + w->sizes[b] - common;
    return (double)common / (double)all;
}

static inline bm_pair *some_pairs(const world *w, size_t n)
{
    uint64_t state = 99;
    bm_pair *pairs = malloc(n * sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        do {
            pairs[i] = (bm_pair){(uint32_t)(random_next(&state) % N),
                                 (uint32_t)(random_next(&state) % N), 7};
        } while (w->sizes[pairs[i].a] == 0 || w->sizes[pairs[i].b] == 0);
        if (i % 3 == 0 && w->sizes[w->identity[pairs[i].a]] > 0)
            pairs[i].b = w->identity[pairs[i].a];
    }
    return pairs;
}

static inline void run_match(world *w, bm_corpus *corpus, bool only_groups, bm_match *match)
{
    *match = (bm_match){.settings = {.corpus = corpus,
                                     .pool = w->pool,
                                     .meter = &w->meter,
                                     .verify = BM_VERIFY_EXACT,
                                     .threshold = 0.6,
                                     .only_groups = only_groups}};
    cr_assert_eq(bm_match_run(match, NULL), BM_OK);
}

static inline void expect_same_groups(const bm_grouping *x, const bm_grouping *y)
{
    cr_assert_eq(x->n_groups, y->n_groups);
    cr_assert(x->n_removed == y->n_removed && x->n_chained == y->n_chained);
    for (size_t i = 0; i < N; i++)
        cr_assert(x->label[i] == y->label[i] && x->kept[i] == y->kept[i] &&
                  x->reason[i] == y->reason[i] && x->similarity[i] == y->similarity[i]);
}
