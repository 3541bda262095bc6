/* search_crowds.h -- what documents find in crowded buckets: many against many, without comparing each with each.
 *
 * Queries that share a crowded key, directly or by others, are a crowd, with all documents of the index that such a key
 * names. Of these a block at a time is read, as many as fit into memory, once for all queries:
 *
 *     shingles of the block    in most documents       core, listed where it is missing
 *                              in some                 listed by kinds of documents
 *                              in very few             listed by documents
 *     kind                     documents of the same size that lack the same of the core and have the same of the second
 *     who has a key            a bit a document, in the order of the kinds
 *
 * A query counts what it shares with each kind, from the lists of the shingles that it has and of those of the core that it
 * lacks, then with the few documents that share a rare shingle with it. What is counted is exact, so the similarity is
 * that of two sets which are merged. n documents that differ in one word are a few hundred kinds, however large n is.
 *
 * Which pairs are candidates is as ever: who shares a key. */
#ifndef BM_INDEX_SEARCH_CROWDS_H
#define BM_INDEX_SEARCH_CROWDS_H

#include "index/search_hits.h"

typedef struct bm_found {
    uint32_t doc;
    bm_answer answer;
} bm_found;

/* What a part of a search found, in any order. */
typedef struct bm_found_list {
    bm_found *list;
    size_t n, cap;
    uint64_t candidates, verified, steps; /* as in bm_search_result */
} bm_found_list;

bm_status bm_found_add(bm_found_list *found, bm_found one, bm_error *err);
/* Add one to a list of which only the best `top` are wanted, 0: all. The first of a full one is the last in order. */
bm_status bm_found_keep(bm_found_list *found, uint32_t top, bm_found one, bm_error *err);
/* Before the other in a row of answers? */
static inline bool bm_answer_before(const bm_answer *a, const bm_answer *b)
{
    return a->similarity != b->similarity ? a->similarity > b->similarity : a->number < b->number;
}

typedef struct bm_crowd_search {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* of the batch, that are asked */
    const uint32_t *weights; /* NULL: 1 each */
    bm_search_hits *hits;    /* those that crowds answer are taken out */
    size_t most;             /* answers; SIZE_MAX: no bound */
    bool many;               /* there are more: what was found is not whole */
    bm_found_list *found;
    size_t n_found, cap_found;
} bm_crowd_search;

/* Answer for the crowded keys among the hits; `found` is the caller's to free, list by list. */
bm_status bm_search_crowds(bm_crowd_search *search, bm_error *err);

/* --- by containment: without bands (search_scan.c) --- */

typedef struct bm_scan {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* of the batch, that are asked */
    const uint32_t *weights; /* of each, for how many it answers; NULL: 1 */
    size_t most;             /* answers; SIZE_MAX: no bound */
    bool alone;              /* one document is asked: there is no bound */
    bool many;               /* there are more: what was found is not whole */
    bool read_all;           /* no filter left out a document */
    bm_found_list
        *found; /* a list a part of the index, in order; the caller's to free, one by one */
    size_t n_found;
} bm_scan;

/* Find the documents that hold a share of cfg->threshold at least of a query's shingles: exact. BM_ERR_NOMEM,
 * BM_ERR_FORMAT (damaged). */
bm_status bm_search_scan(bm_scan *scan, bm_error *err);

#endif
