/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h -- a uniform sample of the documents that an ingest delivers, in one pass (--sample N).
 *
 * Documents of the input are counted from 0. The priority of document i is output number i of
 * SplitMix64 with the sample's seed. The sample consists of the N documents with the lowest
 * priorities; of two documents with equal priorities, the earlier one is preferred. The order of
 * priorities is pseudo-random, so every set of N documents is equally likely. The sample does not
 * depend on the number of threads or the size of batches. */
#pragma once

#include <bandmill/types.h>

#include "corpus/corpus.h"
#include "sign/ingest.h"

typedef struct bm_sampled {
    uint64_t priority, row;
    bm_hash128 content;
    size_t n_hashes;
    uint64_t *data; /* owned: the set, the keys and the words of the document, in the form that the
                     * corpus needs */
} bm_sampled;

typedef struct bm_sample {
    size_t wanted;
    uint64_t seed;
    bm_corpus *corpus;
    bm_sampled *docs; /* a heap with the greatest priority first */
    size_t n, cap;
    uint64_t bytes, n_seen;
} bm_sample;

/* Output number i of SplitMix64 (S. Vigna, public domain; Steele, Lea and Flood 2014). */
uint64_t bm_sample_priority(uint64_t seed, uint64_t i);

/* Start a sample of `wanted` documents. `corpus` must be open and empty; it is borrowed. */
void bm_sample_init(bm_sample *sample, size_t wanted, uint64_t seed, bm_corpus *corpus);
/* The `place` of a sink; ctx is the sample. BM_ERR_NOMEM: the sample exceeds the corpus's
 * memory. */
bm_status bm_sample_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Add the sampled documents to the corpus, in input order. `docs` has the rows of all documents;
 * rows outside the sample are removed from it. */
bm_status bm_sample_finish(bm_sample *sample, bm_doc_table *docs, bm_error *err);
void bm_sample_reset(bm_sample *sample);
