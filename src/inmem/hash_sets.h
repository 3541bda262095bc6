/* hash_sets.h -- texts to sets of hashes on all threads, for the calls of this room. */
#ifndef BM_INMEM_HASH_SETS_H
#define BM_INMEM_HASH_SETS_H

#include <bandmill/sketch.h>

#include "base/meter.h"
#include "base/pool.h"

struct bm_hash_sets {
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1 */
    uint64_t *hashes;  /* offsets[n_docs] */
    uint64_t *content; /* n_docs * 2, lo and hi; NULL: not wanted */
};

typedef struct bm_hash_sets_job {
    const bm_documents *docs; /* texts, taken as in documents.h */
    uint64_t work;            /* of all */
    const bm_text_options *text;
    const char *cpu;
    bool sorted, content;
    uint64_t memory; /* of the result; 0: no bound */
    bm_pool *pool;
    bm_meter *meter; /* asked on the caller's thread */
} bm_hash_sets_job;

/* BM_ERR_NOMEM, BM_ERR_CANCELLED, and `out` is empty. */
bm_status bm_hash_sets_make(const bm_hash_sets_job *job, bm_hash_sets *out, bm_error *err);
void bm_hash_sets_reset(bm_hash_sets *sets);

#endif
