/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs_world.h -- random sets, some of them edited copies of others, in a corpus whose sets
 * may be in a file; and the true pairs, found by counting the shingles that every two documents
 * share. Header only. */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/scratch.h"
#include "tests/world/shared_counts.h"
#include "tests/world/world_random.h"
#include "lsh/verify.h"
#include "match/match.h"

typedef struct drawn {
    size_t n;
    uint64_t **docs; /* sorted, distinct */
    uint32_t *sizes, *same_as;
    bm_meter meter;
    bm_pool *pool;
    scratch temp;
} drawn;

/* Draws n documents of up to `longest` shingles: about one in eight is a copy of an earlier one,
 * half are edited copies. In each of the others, frequent shingles and random ones alternate. */
static inline drawn *make_sets(size_t n, size_t longest, uint64_t seed, uint32_t threads)
{
    drawn *s = calloc(1, sizeof *s);
    uint64_t state = seed, *other = malloc(longest * 8 + 8);
    s->n = n;
    s->docs = calloc(n, sizeof *s->docs);
    s->sizes = calloc(n, sizeof *s->sizes);
    s->same_as = calloc(n, sizeof *s->same_as);
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = world_random(&state) % 8, *doc = malloc(longest * 8 + 8);
        size_t size = world_random(&state) % (longest + 1),
               from = i > 0 ? world_random(&state) % i : 0;
        s->same_as[i] = (uint32_t)i;
        if (kind < 5 && i > 0) {
            size = s->sizes[from];
            memcpy(doc, s->docs[from], size * 8);
            if (kind == 0)
                s->same_as[i] = s->same_as[from];
            for (size_t edits = world_random(&state) % (size / 3 + 1); kind > 0 && edits > 0;
                 edits--)
                doc[world_random(&state) % size] = world_random(&state) % 20000;
        } else {
            for (size_t k = 0; k < size; k++)
                doc[k] = k % 2 == 0 ? world_random(&state) % 150 * (world_random(&state) % 150)
                                    : world_random(&state);
        }
        bm_hashes_sort(doc, size, other);
        s->sizes[i] = (uint32_t)bm_hashes_distinct(doc, size);
        s->docs[i] = doc;
    }
    free(other);
    bm_meter_init(&s->meter, NULL);
    cr_assert_eq(bm_pool_open(threads, &s->pool, NULL), BM_OK);
    s->temp = scratch_open();
    return s;
}

static inline void drop_sets(drawn *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->docs[i]);
    free(s->docs);
    free(s->sizes);
    free(s->same_as);
    bm_pool_close(s->pool);
    bm_meter_reset(&s->meter);
    scratch_close(&s->temp);
    free(s);
}

/* Sets may reach a corpus in any order: here, backwards. */
static inline bm_status put(const drawn *s, bm_corpus *corpus, size_t first, size_t end,
                            bm_error *err)
{
    bm_ingest_batch batch = {0};
    bm_shingle_batch *b = &batch.shingles;
    for (size_t i = first; i < end; i++) {
        size_t n = s->sizes[i];
        cr_assert_eq(bm_shingle_batch_reserve(b, 1, n, NULL), BM_OK);
        for (size_t k = 0; k < n; k++)
            b->hashes[b->offsets[b->n_docs] + k] = s->docs[i][n - 1 - k];
        b->content[b->n_docs] = (bm_hash128){s->same_as[i] * UINT64_C(77), 5};
        b->offsets[b->n_docs + 1] = b->offsets[b->n_docs] + n;
        b->n_docs++;
    }
    bm_status status = bm_corpus_add(corpus, &batch, first, err);
    bm_shingle_batch_reset(b);
    return status;
}

static inline bm_status fill(const drawn *s, bool in_file, bm_corpus *corpus, bm_error *err)
{
    bm_corpus_cfg cfg = {.hashes = true,
                         .find_identical = true,
                         .edges = true,
                         .spill_now = in_file,
                         .temp_dir = s->temp.root,
                         .budget = {.arena = (uint64_t)256 << 10}};
    bm_status status = BM_OK;
    bm_corpus_init(corpus, &cfg);
    for (size_t i = 0; status == BM_OK && i < s->n; i += 100)
        status = put(s, corpus, i, s->n - i < 100 ? s->n : i + 100, err);
    return status == BM_OK ? bm_corpus_end_adding(corpus, err) : status;
}

/* Limits the memory of the corpus so that matching has `left` bytes. */
static inline void leave_memory(bm_corpus *corpus, uint64_t left)
{
    /* bisection for the smallest limit that leaves `left` bytes */
    uint64_t low = 1, high = (uint64_t)1 << 40;
    while (low < high) {
        corpus->cfg.memory = low + (high - low) / 2;
        if (bm_corpus_check_matching(corpus, left, NULL) == BM_OK)
            high = corpus->cfg.memory;
        else
            low = corpus->cfg.memory + 1;
    }
    corpus->cfg.memory = high;
}

/* All pairs with a shared shingle and at least `threshold` similarity, in ascending order; *n
 * pairs. Copies are left out. */
static inline bm_pair *every_two(const drawn *s, double threshold, size_t *n)
{
    size_t cap = 1024;
    bm_pair *pairs = malloc(cap * sizeof *pairs);
    uint16_t *counts = shared_counts((const uint64_t *const *)s->docs, s->sizes, s->n);
    *n = 0;
    for (uint32_t a = 0; a < s->n; a++) {
        for (uint32_t b = a + 1; b < s->n; b++) {
            if (s->same_as[a] != a || s->same_as[b] != b)
                continue;
            size_t common = counts[a * s->n + b];
            double all = (double)(s->sizes[a] + s->sizes[b] - common);
            if (common == 0 || (double)common / all < threshold)
                continue;
            if (*n == cap)
                pairs = realloc(pairs, (cap *= 2) * sizeof *pairs);
            pairs[(*n)++] = (bm_pair){a, b, (double)common / all};
        }
    }
    free(counts);
    return pairs;
}
