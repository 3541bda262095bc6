/* SPDX-License-Identifier: Apache-2.0 */
/* search_hits.h -- the input of a search, and its parts: look-up of band keys (search_hits.c),
 * blocks of documents (search_block.c), crowded buckets (search_crowds.c). */
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
    /* The buffer that contains the sets, if they are not sorted yet: sets that are compared are
     * sorted in it. NULL: all sets are sorted. */
    uint64_t *unsorted;
    /* For each document, the first document of the batch with the same set (or words), possibly
     * itself. Only first documents are searched for; the others get no answers of their own,
     * because the answers of the first also hold for them. Must be NULL with skip_same_id. NULL:
     * all documents differ. */
    const uint32_t *same;
} bm_search_batch;

/* The candidates of a query are, over all its keys, at most this many documents that share a band
 * key with it: those with the smallest numbers. The others are only counted. */
#define BM_SEARCH_FIRST 20000u

typedef struct bm_search_cfg {
    const bm_store_view *view;
    const bm_store_facts *facts;
    uint32_t word_bytes; /* bytes of a word of signatures: 4 or 8 */
    bm_pool *pool;       /* NULL: only the calling thread */
    bm_measure measure;  /* CONTAINMENT: with SETS only; every document is read, unless filters
                            exclude it */
    double threshold;
    uint32_t top;      /* best answers for each document; 0: all */
    bool skip_same_id; /* an answer must not have the id of the query */
    /* The caller wants only the best answer of each query, each document of the index that is an
     * answer, and which queries have an answer in common. Answers that add nothing to these may be
     * omitted. Cannot be combined with `top`. */
    bool joins;
    uint32_t first; /* BM_SEARCH_FIRST; 0: no bound */
    /* Bytes that hits may take; 0: no bound. If a batch finds more, only its first documents are
     * answered (bm_search_result.n of them, at least one), and the caller must call again with the
     * others. */
    uint64_t memory;
} bm_search_cfg;

/* Is this document of the index, by its id, to be skipped for document `doc` of the batch? */
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

/* A crowded key: many documents of the index have it, and several of the batch look it up. Its hits
 * are not listed one by one. Numbers that are a candidate of none of these queries are omitted. */
typedef struct bm_crowded_key {
    uint32_t *numbers; /* ascending; `docs` follow in the same allocation */
    uint32_t *docs;    /* ascending */
    uint32_t n_numbers, n_docs;
    uint64_t rest; /* further documents of the index with this key */
    bool listed;   /* few queries and few documents have it, so it is finally turned into hits */
} bm_crowded_key;

/* Hits: number in the index << 32 | place in the batch. Ascending order is file order. */
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
    uint32_t *last; /* for each document of the batch: the largest number of a candidate; NULL:
                       there is no bound */
    uint64_t *left; /* for each document of the batch: hits above `last`, once for each crowded key
                     * and once for all other keys together; NULL: there are no such hits */
} bm_search_hits;   /* {0} is empty */

#define BM_SEARCH_TOGETHER 4096u /* keys or hits that are worth several threads */

/* Documents whose band keys are looked up; borrowed. */
typedef struct bm_key_batch {
    const bm_store_view *view;
    bm_pool *pool; /* NULL: only the calling thread */
    uint32_t bands;
    size_t n;
    const uint64_t *keys;       /* n * bands */
    const uint32_t *n_shingles; /* for each document; 0: it finds nothing */
    const uint32_t *same;       /* see bm_search_batch */
    size_t most;                /* most hits */
    bool alone;                 /* a single document is searched for: `most` does not limit it */
    uint32_t first;             /* the most candidates of a document, those with the smallest
                                   numbers; 0: all */
    bool keep_crowded;          /* keep crowded keys (looked up by several documents, and found in
                                 * many) as bm_crowded_key */
} bm_key_batch;

/* Look up all bands. *many: there are more hits than `most`. Then nothing is filled in, and the
 * caller must retry with fewer documents. */
bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err);
void bm_search_hits_reset(bm_search_hits *hits);
/* All crowded keys, list by list. The caller frees the array, also after a failure. */
bm_status bm_crowded_keys(const bm_search_hits *hits, const bm_crowded_key ***keys, size_t *n,
                          bm_error *err);
/* List the crowded keys of each of n_docs documents: those of document i are
 * (*doc_keys)[(*begin)[i]] to [(*begin)[i + 1] - 1]. *begin has n_docs + 2 entries. The caller
 * frees both, also after a failure. */
bm_status bm_crowded_doc_keys(const bm_crowded_key *const *keys, size_t n_keys, size_t n_docs,
                              size_t **begin, uint32_t **doc_keys, bm_error *err);
/* OR n words into the words at `to`. */
static inline void bm_bits_add(uint64_t *restrict to, const uint64_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] |= from[i];
}
/* Count the bits set in n words; written so that compilers vectorize it without a popcount
 * instruction. */
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

/* search_block -- documents of an index to compare with: a single one, or a block that many queries
 * are compared with.
 *
 *     shingles of a block    in more than half of its documents    core: kinds that lack it
 *                            in few                                rare: documents that have it
 *                            others                                kinds that have it
 *     kind                   documents of one size that lack the same core shingles, and have
 *                            the same of the others
 *     place                  rank of a document, by kind, then by number
 *
 * For signatures, a shingle is a word together with its position. */

/* --- one document --- */

typedef struct bm_search_target {
    uint32_t number;
    bm_store_doc doc;
    bool read; /* its set, or words, were read */
    uint64_t *set;
    uint32_t *words;
    size_t cap_set, cap_words;
} bm_search_target; /* must be {0} before bm_search_target_find */

/* Find the document. BM_ERR_FORMAT: it is missing, although a posting names it. */
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

/* Set *reach to how many of the documents, from the first on, have at most `most` shingles in
 * total; at least 1. */
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
    uint32_t *seen;    /* for each core shingle: number of the last question that has it */
    size_t n_touched;
    uint32_t question;
    uint64_t steps;
} bm_block_counts;

bm_status bm_block_counts_init(bm_block_counts *counts, const bm_search_block *block,
                               bm_error *err);
void bm_block_counts_reset(bm_block_counts *counts);
/* Count the shingles that document `doc` of the batch shares. */
void bm_search_block_count(const bm_search_block *block, const bm_search_cfg *cfg,
                           const bm_search_batch *batch, uint32_t doc, bm_block_counts *counts);

/* search_crowds -- answers from crowded buckets: compares many queries with many documents, without
 * comparing each pair by itself.
 *
 * Queries that share a crowded key, directly or through others, form a crowd, together with all
 * documents of the index that have such a key. These documents are read a block at a time, as many
 * as fit into memory, once for all queries:
 *
 *     shingles of the block    in most documents       core, listed where it is missing
 *                              in some                 listed by kinds of documents
 *                              in very few             listed by documents
 *     kind                     documents of the same size that lack the same core shingles and
 *                              have the same shingles of the second group
 *     owners of a key          one bit for each document, in the order of the kinds
 *
 * A query counts the shingles that it shares with each kind, from the lists of its own shingles and
 * of the core shingles that it lacks. Then it adds the rare shingles that it shares with a few
 * single documents. The counts are exact, so the similarity is the same as that of merging the two
 * sets. Documents that differ in one word form a few hundred kinds, however many they are.
 *
 * As without crowds, the candidates are the pairs that share a key. */

typedef struct bm_found {
    uint32_t doc;
    bm_answer answer;
} bm_found;

/* Answers found by a part of a search, in any order. */
typedef struct bm_found_list {
    bm_found *list;
    size_t n, cap;
    uint64_t candidates, verified, steps; /* see bm_search_result */
} bm_found_list;

/* Add an answer to a list that keeps only the best `top`; 0: all. In a full list the first entry is
 * the worst. */
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
    const uint32_t *weights; /* NULL: 1 each */
    bm_search_hits *hits;    /* hits that crowds answer are removed from them */
    size_t most;             /* the most answers; SIZE_MAX: no bound */
    bool many;               /* there are more answers: the list is incomplete */
    bm_found_list *found;
    size_t n_found, cap_found;
} bm_crowd_search;

/* Answer the crowded keys among the hits. The caller frees `found`, list by list. */
bm_status bm_search_crowds(bm_crowd_search *search, bm_error *err);

/* --- containment: a scan without bands (search.c) --- */

typedef struct bm_scan {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* documents of the batch that are searched for */
    const uint32_t *weights; /* for each document, how many documents its answers are for; NULL:
                              * 1 */
    size_t most;             /* the most answers; SIZE_MAX: no bound */
    bool alone;              /* a single document is searched for: `most` does not limit it */
    bool many;               /* there are more answers: the list is incomplete */
    bool read_all;           /* filters excluded no document */
    bm_found_list
        *found; /* a list for each part of the index, in order; the caller frees them one by one */
    size_t n_found;
} bm_scan;
