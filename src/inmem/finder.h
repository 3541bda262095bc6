/* finder.h -- what the steps of bm_find_pairs share.
 *
 *     finder.c    the call: options, the steps in order, the result
 *     finder.c     texts or hashes to sorted sets, sets to band keys
 *     finder.c   candidates, verification, the pairs in order */
#ifndef BM_INMEM_FINDER_H
#define BM_INMEM_FINDER_H

#include <bandmill/sketch.h>

#include "base/meter.h"
#include "base/threads.h"
#include "model/backend.h"
#include "model/stream_hash.h"

/* hash_sets -- texts to sets of hashes on all threads, for the calls of this room. */

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

/* set_links -- the links of a few documents, found again among their sets as `dedup` found them:
 * what `dedup --pairs` would have
 * written, since whether two documents are a pair depends on them alone. Identical documents are
 * links from the first of them to
 * each other one, as there. */

typedef struct bm_linked_sets {
    uint64_t *offsets;          /* n + 1, into hashes */
    uint64_t *hashes;           /* distinct and ascending in each set */
    double *weights;            /* beside them; NULL: there are none */
    const bm_hash128 *contents; /* of each: equal for identical documents */
    size_t n;                   /* in input order */
} bm_linked_sets;

/* a before b, both below n; the similarity has six decimals. Anything but BM_OK ends the search. */
typedef bm_status (*bm_set_link_fn)(void *ctx, bm_pair link, bm_error *err);
/* Borrows the sets, whose hashes and weights are moved together: those of copies are lost. What
 * bm_find_pairs returns. */
bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err);

/* As our files have a similarity, which are read again; NAN stays. */
double bm_six_decimals(double similarity);

#endif
