/* search_hits.h -- what a search is given; and band keys of documents to the numbers that share one, its first half. */
#ifndef BM_INDEX_SEARCH_HITS_H
#define BM_INDEX_SEARCH_HITS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "store/store_view.h"

/* Documents to look up; borrowed. */
typedef struct bm_search_batch {
    size_t n;
    const uint64_t *keys;        /* n * facts.bands */
    const uint32_t *n_shingles;  /* of each; 0: it finds nothing */
    const uint64_t *const *sets; /* SETS: of each n_shingles hashes, ascending, distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words */
    const bm_str *ids;           /* of each, for skip_same_id; else NULL */
    /* What the sets lie in, where they are not in order yet: those that are compared are sorted there. NULL: they are. */
    uint64_t *unsorted;
    /* Of each the first of the batch with the same set (or words), itself where none is before it: that one alone is asked,
     * and answers for the others, which have no answers of their own. Not with skip_same_id. NULL: all differ. */
    const uint32_t *same;
} bm_search_batch;

/* Of the documents that share a band key with a query the first so many, by number, are candidates for that; the others are
 * counted. */
#define BM_SEARCH_FIRST 20000u

typedef struct bm_search_cfg {
    const bm_store_view *view;
    const bm_store_facts *facts;
    uint32_t word_bytes; /* of the words of signatures: 4 or 8 */
    bm_pool *pool;       /* NULL: this thread alone */
    double threshold;
    uint32_t top;      /* best answers of each document; 0: all */
    bool skip_same_id; /* a document is no answer to one of its own id */
    /* Of answers only the best of each document is wanted, each document of the index that is one, and who has one in
     * common: an answer that tells nothing more about these may be left out. Not with `top`. */
    bool joins;
    uint32_t first; /* BM_SEARCH_FIRST, or 0: no bound */
    /* Bytes that what is found may take; 0: no bound. Where a batch finds more, the first of its
     * documents are answered (bm_search_result.n), one at least, and the caller comes again with the
     * rest. */
    uint64_t memory;
} bm_search_cfg;

typedef struct bm_answer {
    uint32_t number; /* of the document in the index */
    double similarity;
} bm_answer;

/* A key that many documents of the index have and several of the batch ask for: their hits are not listed one by one. */
typedef struct bm_crowded_key {
    uint32_t *numbers; /* ascending; the documents that ask lie behind them, in the same block */
    uint32_t *docs;    /* ascending */
    uint32_t n_numbers, n_docs;
} bm_crowded_key;

/* So many documents of the index were left out for a document of the batch. */
typedef struct bm_hits_left {
    uint32_t doc, n;
} bm_hits_left;

/* A document of the index and one that was asked for, number << 32 | place in the batch: in ascending order
 * they are in the order of the file. */
typedef struct bm_hit_list {
    uint64_t *list;
    size_t n, cap;
    bm_crowded_key *crowded;
    size_t n_crowded, cap_crowded;
    bm_hits_left *left;
    size_t n_left, cap_left;
} bm_hit_list;

/* Hits of a batch in several lists, each ascending and without repeats; the same hit may stand in
 * several. */
typedef struct bm_search_hits {
    bm_hit_list *lists;
    size_t n_lists;
} bm_search_hits; /* {0} is empty */

#define BM_SEARCH_TOGETHER 4096u /* keys of a batch, or hits, that are worth waking threads for */

/* Documents to look up; borrowed. */
typedef struct bm_key_batch {
    const bm_store_view *view;
    bm_pool *pool; /* NULL: this thread alone */
    uint32_t bands;
    size_t n;
    const uint64_t *keys;       /* n * bands */
    const uint32_t *n_shingles; /* of each; 0: it finds nothing */
    const uint32_t *same;       /* as in bm_search_batch */
    size_t most;                /* hits */
    bool alone;                 /* one document is asked: there is no bound */
    uint32_t first;             /* of the documents of a key the first so many are found; 0: all */
    bool keep_crowded;          /* keys that several ask for and many have: see bm_crowded_key */
} bm_key_batch;

/* *many is set where there are more hits than `most`: nothing is filled then, and fewer documents must be
 * asked for at once. */
bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err);
void bm_search_hits_reset(bm_search_hits *hits);
/* Sort n hits, and drop repeats; what is left in *n. */
bm_status bm_hits_sort(uint64_t *list, size_t *n, bm_error *err);

#endif
