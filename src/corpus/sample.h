/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h -- a uniform sample of the documents that an ingest delivers, in one pass (--sample N).
 *
 * Document i of the input, counted from 0, gets the priority that SplitMix64, seeded with the
 * sample's seed, gives as its output number i; the N least are the sample (of equal ones, the
 * earlier document). Each document's place in the order of priorities is as good as random, so
 * every set of N is equally likely. A document is in it or not whatever the threads and batches. */
#pragma once

#include <bandmill/types.h>

#include "corpus/corpus.h"
#include "sign/ingest.h"

typedef struct bm_sampled {
    uint64_t priority, row;
    bm_hash128 content;
    size_t n_hashes;
    uint64_t *data; /* hashes, keys, words: as the corpus wants them; owned */
} bm_sampled;

typedef struct bm_sample {
    size_t wanted;
    uint64_t seed;
    bm_corpus *corpus;
    bm_sampled *docs; /* a heap: the greatest priority first */
    size_t n, cap;
    uint64_t bytes, n_seen;
} bm_sample;

/* Output number i of SplitMix64 (S. Vigna, public domain; Steele, Lea and Flood 2014). */
uint64_t bm_sample_priority(uint64_t seed, uint64_t i);

/* `corpus` is open and empty; borrowed. */
void bm_sample_init(bm_sample *sample, size_t wanted, uint64_t seed, bm_corpus *corpus);
/* A sink's `place`; ctx is the sample. BM_ERR_NOMEM over the corpus's memory. */
bm_status bm_sample_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Add the sampled documents to the corpus, in input order, and leave only them in `docs`, the table
 * of all that were seen. */
bm_status bm_sample_finish(bm_sample *sample, bm_doc_table *docs, bm_error *err);
void bm_sample_reset(bm_sample *sample);
