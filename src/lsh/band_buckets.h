/* band_buckets.h -- the documents of one band, threaded into chains of equal keys.
 *
 * next[doc] is the next document with the same key, BM_NO_DOC at the end of a chain and for a
 * document whose key nobody shares; inner[doc] is non-zero for all of a chain but its first. So
 * doc begins a bucket of two or more exactly where !inner[doc] && next[doc] != BM_NO_DOC, and a
 * chain names its documents in ascending order. */
#ifndef BM_LSH_BAND_BUCKETS_H
#define BM_LSH_BAND_BUCKETS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/pool.h"

#define BM_NO_DOC UINT32_C(0xFFFFFFFF)

typedef struct bm_band_buckets {
    size_t n_docs;
    uint32_t *next;       /* n_docs */
    uint8_t *inner;       /* n_docs */
    const uint8_t *skip;  /* borrowed; n_docs or NULL */
    const uint64_t *keys; /* borrowed; of the band at hand */
    uint64_t *entries;    /* scratch, n_docs: the band, partitioned */
    size_t *ends;         /* scratch, n_blocks * n_parts */
    size_t n_parts, n_blocks;
    unsigned part_shift;
    bm_pool *pool;         /* borrowed; NULL where the caller alone works */
    bm_hash_table *tables; /* one a thread */
} bm_band_buckets;

/* 13 bytes a document, and one small table a thread. `skip` and `pool` (each may be NULL) stay
 * borrowed until reset. n_docs <= BM_DOCS_MAX. */
bm_status bm_band_buckets_init(bm_band_buckets *buckets, size_t n_docs, const uint8_t *skip,
                               bm_pool *pool, bm_error *err);
/* Thread the chains of a band: fills next and inner. BM_OK or BM_ERR_NOMEM. */
bm_status bm_band_buckets_fill(bm_band_buckets *buckets, const uint64_t *keys, bm_error *err);
/* labels[doc] = the first document of its chain, itself where it is in none: n_docs, filled. */
void bm_band_buckets_label(const bm_band_buckets *buckets, uint32_t *labels);
/* The same chains as fill makes from the keys that the labels stand for. */
void bm_band_buckets_fill_labels(bm_band_buckets *buckets, const uint32_t *labels);
void bm_band_buckets_reset(bm_band_buckets *buckets);

#endif
