/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of several batches, gathered one after another: each keeps its values, and its set is
 * sorted. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index_feed.c"

#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define BANDS 3u
#define WORDS 5u
#define N     40u /* documents of a batch */
#define ALL   (3 * N)

/* Values computed from the number of a document. */
static uint32_t size_of(size_t i)
{
    return (uint32_t)(i * 7 % 11); /* 0 too */
}

static uint64_t hash_of(size_t i, uint32_t k)
{
    return ((uint64_t)i << 32 | (uint64_t)(k + 1)) * UINT64_C(0x9E3779B97F4A7C15);
}

typedef struct made {
    bm_ingest_batch batch;
    bm_ingest_doc docs[N];
    uint64_t offsets[N + 1], hashes[N * 11], keys[N * BANDS];
    uint32_t words[N * WORDS];
    bm_hash128 content[N];
} made;

/* Makes a batch of documents first … first+N-1, whose sets are in no order. */
static void make_batch(made *m, size_t first)
{
    bm_buf ids = {0};
    memset(m, 0, sizeof *m);
    for (size_t k = 0; k < N; k++) {
        const size_t i = first + k, begin = ids.len;
        char id[16];
        cr_assert_eq(bm_buf_add(&ids, id, (size_t)snprintf(id, sizeof id, "id%zu", i), NULL),
                     BM_OK);
        m->docs[k] = (bm_ingest_doc){.row = {.line = i + 5,
                                             .text_bytes = 10 * i,
                                             .file = (uint32_t)(i % 3),
                                             .n_shingles = size_of(i)},
                                     .id_begin = begin,
                                     .id_len = ids.len - begin};
        uint64_t *set = m->hashes + m->offsets[k];
        for (uint32_t h = 0; h < size_of(i); h++)
            set[h] = hash_of(i, h);
        for (uint32_t h = size_of(i); h > 1; h--) {
            const uint32_t other = world_pick(h);
            const uint64_t swapped = set[h - 1];
            set[h - 1] = set[other];
            set[other] = swapped;
        }
        m->offsets[k + 1] = m->offsets[k] + size_of(i);
        m->content[k] = (bm_hash128){.lo = i, .hi = ~(uint64_t)i};
        for (uint32_t b = 0; b < BANDS; b++)
            m->keys[k * BANDS + b] = i * BANDS + b;
        for (uint32_t w = 0; w < WORDS; w++)
            m->words[k * WORDS + w] = (uint32_t)(i * WORDS + w);
    }
    m->batch = (bm_ingest_batch){.docs = m->docs,
                                 .n_docs = N,
                                 .ids = ids,
                                 .shingles = {.n_docs = N,
                                              .offsets = m->offsets,
                                              .content = m->content,
                                              .hashes = m->hashes},
                                 .words = m->words,
                                 .keys = m->keys,
                                 .turn = {.place = {.file = first, .known = true}}};
}

static void gather(bm_gathered *g, const bm_gather_shape *shape)
{
    made *m = malloc(sizeof *m);
    for (size_t first = 0; first < ALL; first += N) {
        make_batch(m, first);
        cr_assert_eq(gathered_add(g, shape, &m->batch, NULL), BM_OK);
        cr_assert_eq(g->place.file, first);
        bm_buf_reset(&m->batch.ids);
    }
    free(m);
}

static void expect_doc(const bm_gathered *g, const bm_gather_shape *shape, size_t at, size_t i)
{
    const bm_store_doc *doc = &g->docs[at];
    char id[16];
    cr_assert_eq(doc->id.len, (size_t)snprintf(id, sizeof id, "id%zu", i));
    cr_assert_arr_eq(doc->id.data, id, doc->id.len);
    cr_assert_eq(doc->content.lo, i);
    cr_assert_eq(doc->line, i + 5);
    cr_assert_eq(doc->text_bytes, 10 * i);
    cr_assert_eq(doc->input, shape->first_input == UINT32_MAX
                                 ? UINT32_MAX
                                 : shape->first_input + (uint32_t)(i % 3));
    cr_assert_eq(doc->n_shingles, size_of(i));
    for (uint32_t b = 0; b < BANDS; b++)
        cr_assert_eq(g->keys[at * BANDS + b], i * BANDS + b);
    for (uint32_t w = 0; !shape->sets && w < WORDS; w++)
        cr_assert_eq(g->words[at * WORDS + w], i * WORDS + w);
    for (uint32_t k = 0; shape->sets && k < size_of(i); k++) {
        bool has = false;
        cr_assert(shape->unsorted || k == 0 || g->sets[at][k - 1] < g->sets[at][k]);
        for (uint32_t h = 0; h < size_of(i); h++)
            has = has || g->sets[at][h] == hash_of(i, k);
        cr_assert(has);
    }
}

static void expect_all(bm_gather_shape shape)
{
    bm_gathered g = {0};
    bool stays[ALL];
    bm_pool *pool = world_open(bm_pool, 2);
    for (int round = 0; round < 2; round++) { /* in the same memory */
        bm_gathered_clear(&g);
        gather(&g, &shape);
        cr_assert_eq(bm_gathered_finish(&g, &shape, pool, NULL), BM_OK);
        cr_assert_eq(g.n, ALL);
        cr_assert_not(g.broken);
        cr_assert_eq(g.input_bytes, 10 * (uint64_t)ALL * (ALL - 1) / 2);
        for (size_t i = 0; i < ALL; i++)
            expect_doc(&g, &shape, i, i);
    }
    for (size_t i = 0; i < ALL; i++)
        stays[i] = i % 3 != 1;
    bm_gathered_drop(&g, &shape, stays);
    cr_assert_eq(g.n, ALL - ALL / 3);
    for (size_t i = 0, at = 0; i < ALL; i++)
        if (stays[i])
            expect_doc(&g, &shape, at++, i);
    cr_assert_gt(gathered_bytes(&g), ALL * sizeof *g.docs);
    bm_gathered_reset(&g);
    cr_assert_eq(gathered_bytes(&g), 0);
    bm_pool_close(pool);
}

Test(index_gather, sets_are_sorted_where_they_are_wanted_so)
{
    expect_all((bm_gather_shape){.sets = true, .bands = BANDS, .first_input = 4});
    expect_all((bm_gather_shape){.sets = true, .bands = BANDS, .unsorted = true});
}

Test(index_gather, words_and_keys_stay_with_their_documents)
{
    expect_all((bm_gather_shape){.bands = BANDS, .words = WORDS, .first_input = UINT32_MAX});
}

Test(index_gather, documents_of_a_batch_that_failed_have_only_what_was_read)
{
    const bm_gather_shape shape = {.sets = true, .bands = BANDS};
    made *m = malloc(sizeof *m);
    bm_gathered g = {0};
    make_batch(m, 0);
    m->batch.status = BM_ERR_INPUT;
    m->batch.keys = NULL;
    m->batch.shingles = (bm_shingle_batch){0};
    cr_assert_eq(gathered_add(&g, &shape, &m->batch, NULL), BM_OK);
    bm_pool *pool = world_open(bm_pool, 1);
    cr_assert_eq(bm_gathered_finish(&g, &shape, pool, NULL), BM_OK);
    bm_pool_close(pool);
    cr_assert(g.broken);
    cr_assert_eq(g.n, N);
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(g.docs[i].n_shingles, 0);
        cr_assert_eq(g.docs[i].line, i + 5);
    }
    bm_gathered_clear(&g);
    cr_assert_not(g.broken);
    bm_buf_reset(&m->batch.ids);
    free(m);
    bm_gathered_reset(&g);
}

/* Memory allocated for many documents is kept for later ones, and does not count as full. */
Test(index_gather, what_is_cleared_is_not_full)
{
    static const bm_gather_shape shape = {.sets = true, .bands = BANDS, .words = WORDS};
    made *m = malloc(sizeof *m);
    bm_gathered g = {0};
    size_t first = 0;
    for (size_t i = 0; i < 6; i++, first += N) {
        make_batch(m, first);
        cr_assert_eq(gathered_add(&g, &shape, &m->batch, NULL), BM_OK);
        bm_buf_reset(&m->batch.ids);
    }
    const uint64_t held = gathered_bytes(&g);
    cr_expect(gathered_is_full(&g, &shape, held));
    cr_expect(!gathered_is_full(&g, &shape, held + 1));
    bm_gathered_clear(&g);
    make_batch(m, 0);
    cr_assert_eq(gathered_add(&g, &shape, &m->batch, NULL), BM_OK);
    cr_expect_eq(gathered_bytes(&g), held);
    cr_expect(!gathered_is_full(&g, &shape, held));
    bm_gathered_reset(&g);
    bm_buf_reset(&m->batch.ids);
    free(m);
}
