/* SPDX-License-Identifier: Apache-2.0 */
/* weighted_world.h -- the random sets of all_pairs_world.h with weights, in a corpus. Header only.
 */
#pragma once

#include <string.h>

#include "all_pairs_world.h"
#include "lsh/similarity.h"

/* The weight of a hash in a document: the rarity of the hash, times a count that depends on hash
 * and document. Copies have equal weights. */
static inline double weight_of(const drawn *s, size_t doc, uint64_t hash)
{
    uint64_t state = hash, here = hash ^ s->same_as[doc];
    const double rare = 0.25 + (double)(world_random(&state) % 1000) / 100;
    return rare * (double)(1 + (world_random(&here) % 5 == 0) * (world_random(&here) % 7));
}

/* The set of a document, in the form a corpus holds. */
static inline bm_weighted_set set_of(const drawn *s, size_t doc, uint64_t *block)
{
    const size_t n = s->sizes[doc];
    memcpy(block, s->docs[doc], n * sizeof *block);
    for (size_t i = 0; i < n; i++) {
        const double weight = weight_of(s, doc, block[i]);
        memcpy(&block[n + i], &weight, sizeof weight);
    }
    return bm_weighted_set_at(block, n);
}

static inline void fill_weighted(const drawn *s, bool in_file, bm_corpus *corpus)
{
    const bm_corpus_cfg cfg = {.hashes = true,
                               .weighted = true,
                               .find_identical = true,
                               .edges = true,
                               .spill_now = in_file,
                               .temp_dir = s->temp.root,
                               .budget = {.arena = (uint64_t)64 << 10}};
    bm_corpus_init(corpus, &cfg);
    for (size_t first = 0; first < s->n; first += 100) {
        bm_ingest_batch batch = {0};
        bm_shingle_batch *b = &batch.shingles;
        for (size_t i = first; i < s->n && i < first + 100; i++) {
            const size_t n = s->sizes[i];
            cr_assert_eq(bm_shingle_batch_reserve(b, 1, n, NULL), BM_OK);
            const size_t at = (size_t)b->offsets[b->n_docs];
            cr_assert_eq(bm_grow_array(&b->weights, &b->cap_weights, at + n + 1, NULL), BM_OK);
            for (size_t k = 0; k < n; k++) {
                b->hashes[at + k] = s->docs[i][k];
                b->weights[at + k] = weight_of(s, i, s->docs[i][k]);
            }
            b->content[b->n_docs] = (bm_hash128){s->same_as[i] * UINT64_C(77), 5};
            b->offsets[++b->n_docs] = at + n;
        }
        cr_assert_eq(bm_corpus_add(corpus, &batch, first, NULL), BM_OK);
        bm_shingle_batch_reset(b);
    }
    cr_assert_eq(bm_corpus_end_adding(corpus, NULL), BM_OK);
}
