/* finder.h -- what the steps of bm_find_pairs share.
 *
 *     find_pairs.c    the call: options, the steps in order, the result
 *     find_sets.c     texts or hashes to sorted sets, sets to band keys
 *     find_search.c   candidates, verification, the pairs in order
 */
#ifndef BM_INMEM_FINDER_H
#define BM_INMEM_FINDER_H

#include <bandmill/sketch.h>

#include "model/backend.h"
#include "base/meter.h"
#include "base/pool.h"
#include "inmem/hash_sets.h"

struct bm_pair_set {
    bm_pair *pairs;
    size_t n;
    bm_find_stats stats;
    bm_band_plan plan;
};

typedef struct bm_finder {
    const bm_find_options *options; /* checked, perms and verify settled */
    bm_documents input;
    uint64_t work; /* of all documents of it */
    bm_pool *pool;
    bm_meter meter;
    bm_backend *backend;
    bm_hash_sets sets;     /* the hashes, each document's in ascending order; repeats may follow */
    const uint64_t **docs; /* into sets.hashes */
    double *weights;       /* beside sets.hashes; NULL: without */
    uint32_t *sizes;       /* distinct */
    uint8_t *skip;         /* no hashes */
    uint64_t **keys;       /* plan.bands arrays */
    uint32_t *words;       /* under SIGNATURE: bm_scheme_row_uints a document */
    uint64_t bytes;        /* of all these */
    bm_pair *chunk;        /* being verified */
    size_t cap_pairs;
    bm_pair_set *out;
} bm_finder;

bm_status bm_finder_prepare(bm_finder *finder, bm_error *err);
bm_status bm_finder_sign(bm_finder *finder, bm_error *err);
bm_status bm_finder_search(bm_finder *finder, bm_error *err);
bm_status bm_finder_order(bm_finder *finder, bm_error *err);
/* Before so many bytes are allocated: BM_ERR_NOMEM where `memory` does not allow them. */
bm_status bm_finder_reserve(bm_finder *finder, uint64_t bytes, bm_error *err);

#endif
