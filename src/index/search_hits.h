/* SPDX-License-Identifier: Apache-2.0 */
/* search_hits.h -- the input of a search, and the parts of a search: look-up of band keys
 * (search_hits.c), blocks of documents (search_block.c), crowded buckets (search_crowds.c). */
#pragma once

#include <string.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/orders.h"
#include "base/threads.h"
#include "store/store_view.h"

/* Documents to search for; borrowed. */
typedef struct bm_search_batch {
    size_t n;
    const uint64_t *keys;        /* n * facts.bands */
    const uint32_t *n_shingles;  /* for each document; 0: it finds nothing */
    const uint64_t *const *sets; /* SETS: for each document, its n_shingles hashes, ascending and
                                  * distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words */
    const bm_str *ids;           /* for each document, for skip_same_id; else NULL */
    /* The buffer that contains the sets, if they are not sorted yet. The search sorts the sets that
     * it compares, in place. NULL: all sets are sorted. */
    uint64_t *unsorted;
    /* For each document, the first document of the batch with the same set (or words), possibly
     * itself. Only these first documents are searched for. The other documents get no answers of
     * their own, because the answers of the first are theirs too. Must be NULL with skip_same_id.
     * NULL: all documents differ. */
    const uint32_t *same;
} bm_search_batch;

/* The most candidates of a query. If more documents share a band key with the query, those with the
 * smallest numbers are candidates, and the rest are only counted. */
#define BM_SEARCH_FIRST 20000u

typedef struct bm_search_cfg {
    const bm_store_view *view;
    const bm_store_facts *facts;
    uint32_t word_bytes; /* bytes of a value of a signature: 4, or 8 (two words) */
    bm_pool *pool;       /* NULL: only the calling thread */
    bm_measure measure;  /* CONTAINMENT needs SETS; it reads every document that no filter
                            excludes */
    double threshold;
    uint32_t top;      /* how many of the best answers each document gets; 0: all */
    bool skip_same_id; /* an answer must not have the id of the query */
    /* The caller wants only the best answer of each query, each document of the index that is an
     * answer, and which queries have an answer in common. Answers that add nothing to this may be
     * omitted. Cannot be combined with `top`. */
    bool joins;
    uint32_t first; /* BM_SEARCH_FIRST; 0: no bound */
    /* Bytes that hits may take; 0: no bound. If the hits of a batch need more, only its first
     * documents are answered: bm_search_result.n of them, at least one. The caller must call again
     * with the rest. */
    uint64_t memory;
} bm_search_cfg;

/* Does the rule skip_same_id exclude a document of the index from the answers of document `doc` of
 * the batch? `id` is the id of the document of the index. */
static inline bool bm_search_skips(const bm_search_cfg *cfg, const bm_search_batch *batch,
                                   uint32_t doc, bm_str id)
{
    return cfg->skip_same_id && batch->ids[doc].len == id.len &&
           memcmp(batch->ids[doc].data, id.data, id.len) == 0;
}

typedef struct bm_answer {
    uint32_t number; /* number of the document in the index */
    double similarity;
} bm_answer;

/* A crowded key: many documents of the index have it. It is kept as two lists, not hit by hit. */
typedef struct bm_crowded_key {
    /* documents of the index that have the key and are candidates of at least one query, ascending;
     * `docs` follows in the same allocation */
    uint32_t *numbers;
    uint32_t *docs; /* documents of the batch that have the key, ascending */
    uint32_t n_numbers, n_docs;
    uint64_t rest; /* how many further documents of the index have the key */
    bool listed;   /* the key is turned into hits once all bands are looked up */
} bm_crowded_key;

/* A hit is (number in the index) << 32 | (index in the batch). Ascending order is file order. */
typedef struct bm_hit_list {
    uint64_t *list;
    size_t n, cap;
    bm_crowded_key *crowded;
    size_t n_crowded, cap_crowded;
} bm_hit_list;

/* Hits of a batch in several lists, each ascending and without repeats. The same hit may be in
 * several lists. */
typedef struct bm_search_hits {
    bm_hit_list *lists;
    size_t n_lists;
    /* for each document of the batch: the largest number among its candidates, or UINT32_MAX if all
     * its hits are candidates; NULL: all hits of all documents are candidates */
    uint32_t *last;
    /* for each document of the batch: how many hits are above `last`. A hit counts once for each
     * crowded key, and once for all other keys together. NULL: no hit is above `last` */
    uint64_t *left;
} bm_search_hits; /* {0} is empty */

#define BM_SEARCH_TOGETHER 4096u /* from so many keys or hits on, several threads are worthwhile */

/* Documents whose band keys are looked up; borrowed. */
typedef struct bm_key_batch {
    const bm_store_view *view;
    bm_pool *pool; /* NULL: only the calling thread */
    uint32_t bands;
    size_t n;
    const uint64_t *keys;       /* n * bands */
    const uint32_t *n_shingles; /* for each document; 0: it finds nothing */
    const uint32_t *same;       /* see bm_search_batch */
    size_t most;                /* the most hits; SIZE_MAX: no bound */
    bool alone;                 /* a single document is searched for: `most` does not limit it */
    uint32_t first;             /* the most candidates of a document, those with the smallest
                                   numbers; 0: all */
    /* true: a crowded key stays a bm_crowded_key if many documents of the batch have it, or if it
     * makes many hits (ASKERS and LISTED in search_hits.c). False, or with `alone`: all crowded
     * keys are turned into hits once all bands are looked up. */
    bool keep_crowded;
} bm_key_batch;

/* Look up all bands. *many: there are more hits than batch->most. In this case *out is empty, and
 * the caller must retry with fewer documents. */
bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err);
void bm_search_hits_reset(bm_search_hits *hits);
/* All crowded keys, list by list. The caller frees the array, also after a failure. */
bm_status bm_crowded_keys(const bm_search_hits *hits, const bm_crowded_key ***keys, size_t *n,
                          bm_error *err);
/* List the crowded keys of each of n_docs documents. Those of document i are
 * (*doc_keys)[(*begin)[i]] to (*doc_keys)[(*begin)[i + 1] - 1]. *begin has n_docs + 2 entries. The
 * caller frees both arrays, also after a failure. */
bm_status bm_crowded_doc_keys(const bm_crowded_key *const *keys, size_t n_keys, size_t n_docs,
                              size_t **begin, uint32_t **doc_keys, bm_error *err);
/* OR n words at `from` into the n words at `to`. */
static inline void bm_bits_add(uint64_t *restrict to, const uint64_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] |= from[i];
}
/* Count the bits set in n words. Compilers vectorize this code without a popcount instruction. */
static inline size_t bm_bits_count(const uint64_t *words, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = words[i];
        x -= x >> 1 & UINT64_C(0x5555555555555555);
        x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
        x += x >> 8;
        x += x >> 16;
        x += x >> 32;
        all += x & 0x7F;
    }
    return (size_t)all;
}
/* How many of n ascending numbers are less than `number`. */
size_t bm_numbers_below(const uint32_t *list, size_t n, uint64_t number);
/* Sort n hits, and drop repeats; *n becomes the number that remains. */
bm_status bm_hits_sort(uint64_t *list, size_t *n, bm_error *err);

/* search_block -- documents of an index to compare queries with: a single document, or a block of
 * documents for many queries.
 *
 *     shingles of a block    in more than half of its documents    CORE, lists kinds that lack it
 *                            in few                                RARE, lists places that have it
 *                            others                                SOME, lists kinds that have it
 *     kind                   documents of one size that lack the same CORE shingles and have the
 *                            same SOME shingles
 *     place                  rank of a document in the block, by kind, then by number
 *
 * For signatures, a shingle is a word together with its position. */

/* --- one document --- */

typedef struct bm_search_target {
    uint32_t number;
    bm_store_doc doc;
    bool read; /* `set` or `words` has been read */
    uint64_t *set;
    uint32_t *words;
    size_t cap_set, cap_words;
} bm_search_target; /* must be {0} before bm_search_target_find */

/* Set *target to the document `number`. BM_ERR_FORMAT: a posting names the document, but the index
 * does not have it. */
bm_status bm_search_target_find(const bm_search_cfg *cfg, uint32_t number, bm_search_target *target,
                                bm_error *err);
/* Read the set or the words of the document, unless they were read before. */
bm_status bm_search_target_read(const bm_search_cfg *cfg, bm_search_target *target, bm_error *err);
void bm_search_target_reset(bm_search_target *target);

/* --- a block --- */

/* The distinct shingles of a block, numbered in order of appearance. */
typedef struct bm_block_shingles {
    bm_hash_table table;
    uint64_t *values; /* by shingle number */
    size_t cap_values;
} bm_block_shingles;

typedef struct bm_search_block {
    size_t n;
    const uint32_t *numbers; /* numbers of the documents, ascending; borrowed */
    uint32_t *place;         /* for each document, its place */
    uint32_t *number_at;     /* for each place, the number of its document */
    uint32_t *kind_of;       /* for each place, its kind */
    size_t n_kinds, n_sizes, n_core;
    uint32_t *kind_begin;   /* for each kind, its first place; n_kinds + 1 */
    uint32_t *kind_missing; /* for each kind, how many core shingles it lacks */
    uint32_t *kind_size;    /* for each kind, its size as an index in `sizes` */
    uint32_t *sizes;        /* the different sizes, ascending */
    bm_block_shingles shingles;
    uint8_t *roles;       /* for each shingle: CORE, SOME or RARE */
    uint32_t *core;       /* the core shingles */
    uint32_t *core_at;    /* for each core shingle, its index in `core` */
    uint64_t *list_begin; /* for each shingle, where its list begins in `lists`; n + 1 entries */
    uint32_t *lists;
} bm_search_block; /* must be {0} before bm_search_block_make */

/* Count how many of the n documents, from the first on, have at most `most` shingles together.
 * *reach becomes this count, but at least 1. */
bm_status bm_search_block_reach(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                                uint64_t most, size_t *reach, bm_error *err);
bm_status bm_search_block_make(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                               bm_search_block *out, bm_error *err);
void bm_search_block_reset(bm_search_block *block);

/* Counts of shingles that a query shares with a block. */
typedef struct bm_block_counts {
    uint32_t *shared;  /* for each kind: shared shingles that are not rare */
    uint32_t *rare;    /* for each place: shared rare shingles; 0 unless the place is in
                          `touched` */
    uint32_t *touched; /* places with shared rare shingles */
    uint32_t *seen;    /* for each core shingle: the value of `question` when a query last had it */
    size_t n_touched;
    uint32_t question; /* counts the calls of bm_search_block_count */
    uint64_t steps;    /* see bm_search_result; summed over all calls */
} bm_block_counts;

bm_status bm_block_counts_init(bm_block_counts *counts, const bm_search_block *block,
                               bm_error *err);
void bm_block_counts_reset(bm_block_counts *counts);
/* Count the shingles that document `doc` of the batch shares with each kind and place. */
void bm_search_block_count(const bm_search_block *block, const bm_search_cfg *cfg,
                           const bm_search_batch *batch, uint32_t doc, bm_block_counts *counts);

/* search_crowds -- finds the answers from crowded buckets: compares many queries with many
 * documents at once.
 *
 * Queries that share a crowded key, directly or through other queries, form a crowd. All documents
 * of the index that have one of the crowd's keys belong to it too. They are read in blocks that fit
 * into memory, once for all queries of the crowd:
 *
 *     shingles of the block    in most documents       core, listed where it is missing
 *                              in some                 listed by kinds of documents
 *                              in very few             listed by documents
 *     kind                     documents of the same size that lack the same core shingles and
 *                              have the same shingles of the second group
 *     documents with a key     one bit for each document, in the order of the kinds
 *
 * To count the shingles that a query shares with each kind, the lists of the query's shingles are
 * read, and the lists of the core shingles that it lacks. Then the rare shingles that it shares
 * with single documents are added. The counts are exact, so the similarity is the same as from
 * merging two sets. However many documents differ in one word, they form only a few hundred kinds.
 *
 * The candidates are the pairs that share a key, as without crowds. */

typedef struct bm_found {
    uint32_t doc; /* document of the batch */
    bm_answer answer;
} bm_found;

/* Answers found by a part of a search, in no particular order. */
typedef struct bm_found_list {
    bm_found *list;
    size_t n, cap;
    uint64_t candidates, verified, steps; /* see bm_search_result */
} bm_found_list;

/* Add an answer to a list. With `top`, the list keeps only the best `top` answers, and its first
 * entry is the worst of them. `top` 0: all answers are kept. */
bm_status bm_found_keep(bm_found_list *found, uint32_t top, bm_found one, bm_error *err);
/* Does `a` come before `b` among the answers of a query? */
static inline bool bm_answer_before(const bm_answer *a, const bm_answer *b)
{
    return a->similarity != b->similarity ? a->similarity > b->similarity : a->number < b->number;
}

typedef struct bm_crowd_search {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* documents of the batch that are searched for */
    const uint32_t *weights; /* for each document, how many documents get its answers; NULL: each
                              * 1 */
    bm_search_hits *hits;    /* the search removes from hits->lists the hits that crowds answer */
    size_t most;             /* the most answers; SIZE_MAX: no bound */
    bool many;               /* there are more answers than `most`: `found` is incomplete */
    bm_found_list *found;
    size_t n_found, cap_found;
} bm_crowd_search;

/* Compare all pairs of a query and a document that share a crowded key, unless this finds more than
 * `most` answers. The caller frees the list of each entry of `found`, and `found`, also after a
 * failure. */
bm_status bm_search_crowds(bm_crowd_search *search, bm_error *err);

/* --- containment: a scan without bands (search.c) --- */

typedef struct bm_scan {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* documents of the batch that are searched for */
    const uint32_t *weights; /* for each document, how many documents get its answers; NULL:
                              * 1 */
    size_t most;             /* the most answers; SIZE_MAX: no bound */
    bool alone;              /* a single document is searched for: `most` does not limit it */
    bool many;               /* there are more answers than `most`: `found` is incomplete */
    bool read_all;           /* all documents were read, because no filters were used */
    /* A list for each part of the index, in order. The caller frees each list, and `found`. */
    bm_found_list *found;
    size_t n_found;
} bm_scan;
