/* all_pairs_prefixes.h -- prefixes of all documents in a file, for --candidates all where the sets
 * lie in one (lsh/prefix_index.h has what they are for). */
#ifndef BM_MATCH_ALL_PAIRS_PREFIXES_H
#define BM_MATCH_ALL_PAIRS_PREFIXES_H

#include "lsh/prefix_index.h"
#include "corpus/corpus.h"
#include "base/meter.h"

typedef struct bm_set_prefixes {
    bm_prefix_store store;
    uint32_t *order; /* n documents by size */
    size_t n;
    bm_spill_file *file;
    uint64_t *places;       /* in the file, of the record of each range */
    uint32_t *n_keys;       /* of each range */
    uint64_t bytes_held;    /* in memory, from now on */
    uint64_t bytes_written; /* to temporary files, some of which are gone again */
    unsigned part_bits;     /* counters were made in 2^part_bits parts */
} bm_set_prefixes;

typedef struct bm_set_prefixes_job {
    bm_corpus *corpus; /* whose sets are in a file */
    bm_join_rule rule;
    uint64_t memory; /* bytes that may be used; 0: no bound */
    bm_pool *pool;
    bm_meter *meter;
} bm_set_prefixes_job;

/* `out` stays where it is as long as it is used. The same prefixes for any memory and pool.
 * BM_ERR_NOMEM: `memory` is too little, and the message names the least. BM_ERR_IO, BM_ERR_FORMAT,
 * BM_ERR_CANCELLED. Stages "count" and "prefixes", unit "documents". */
bm_status bm_set_prefixes_make(const bm_set_prefixes_job *job, bm_set_prefixes *out, bm_error *err);
void bm_set_prefixes_reset(bm_set_prefixes *prefixes);

#endif
