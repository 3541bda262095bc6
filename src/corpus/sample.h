/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h -- a uniform sample of the documents that an ingest delivers, in one pass (--sample N).
 *
 * Documents of the input are counted from 0. The priority of document i is output number i of
 * SplitMix64 with the sample's seed. The N documents with the least priorities are the sample (of
 * equal ones, the earlier). The order of priorities is pseudo-random, so every set of N documents
 * is equally likely. The sample does not depend on threads and batches. */
#pragma once

#include <bandmill/types.h>

#include "corpus/corpus.h"
#include "sign/ingest.h"

typedef struct bm_sampled {
    uint64_t priority, row;
    bm_hash128 content;
    size_t n_hashes;
    uint64_t *data; /* owned; the set, keys and words of the document, as the corpus needs them */
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

/* `corpus` must be open and empty; it is borrowed. */
void bm_sample_init(bm_sample *sample, size_t wanted, uint64_t seed, bm_corpus *corpus);
/* A sink's `place`; ctx is the sample. BM_ERR_NOMEM: the sample exceeds the corpus's memory. */
bm_status bm_sample_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Add the sampled documents to the corpus, in input order. `docs` has all documents seen; only the
 * sampled ones are kept in it. */
bm_status bm_sample_finish(bm_sample *sample, bm_doc_table *docs, bm_error *err);
void bm_sample_reset(bm_sample *sample);
