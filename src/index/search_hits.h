/* SPDX-License-Identifier: Apache-2.0 */
/* search_hits.h -- what a search is given; and band keys of documents to the numbers that share
 * one, its first half. */
#pragma once

#include <string.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/orders.h"
#include "base/threads.h"
#include "store/store_view.h"

/* Documents to look up; borrowed. */
typedef struct bm_search_batch {
    size_t n;
    const uint64_t *keys;        /* n * facts.bands */
    const uint32_t *n_shingles;  /* of each; 0: it finds nothing */
    const uint64_t *const *sets; /* SETS: of each n_shingles hashes, ascending, distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words */
    const bm_str *ids;           /* of each, for skip_same_id; else NULL */
    /* The buffer in which the sets lie where they are not in order yet: those that are compared are
     * sorted there. NULL: they are. */
    uint64_t *unsorted;
    /* For each document the first of the batch with the same set (or words), itself where none is
     * before it: that one alone is asked and answers for the others, which have no answers of their
     * own. Not with skip_same_id. NULL: all differ. */
    const uint32_t *same;
} bm_search_batch;

/* A query's candidates are the first so many documents, by number, that share a band key with it,
 * over all of its keys. The others are counted. */
#define BM_SEARCH_FIRST 20000u

typedef struct bm_search_cfg {
    const bm_store_view *view;
    const bm_store_facts *facts;
    uint32_t word_bytes; /* of the words of signatures: 4 or 8 */
    bm_pool *pool;       /* NULL: this thread alone */
    bm_measure measure;  /* CONTAINMENT, of SETS alone: every document is read */
    double threshold;
    uint32_t top;      /* best answers of each document; 0: all */
    bool skip_same_id; /* a document is no answer to one of its own id */
    /* Only the best answer of each query, each document of the index that is an answer, and who has
     * one in common are wanted: an answer that adds nothing to these may be left out. Not with
     * `top`. */
    bool joins;
    uint32_t first; /* BM_SEARCH_FIRST, or 0: no bound */
    /* Bytes that hits may take; 0: no bound. If a batch finds more, only the first of its documents
     * are answered (bm_search_result.n), at least one, and the caller calls again with the rest. */
    uint64_t memory;
} bm_search_cfg;

/* Is a document of the index, by its id, none that document `doc` of the batch asks for? */
static inline bool bm_search_skips(const bm_search_cfg *cfg, const bm_search_batch *batch,
                                   uint32_t doc, bm_str id)
{
    return cfg->skip_same_id && batch->ids[doc].len == id.len &&
           memcmp(batch->ids[doc].data, id.data, id.len) == 0;
}

typedef struct bm_answer {
    uint32_t number; /* of the document in the index */
    double similarity;
} bm_answer;

/* A key that many documents of the index have and several of the batch ask for: their hits are not
 * listed one by one. Numbers that are no candidate of any asking document are left out. */
typedef struct bm_crowded_key {
    uint32_t *numbers; /* ascending; the documents that ask lie after them, in the same block */
    uint32_t *docs;    /* ascending */
    uint32_t n_numbers, n_docs;
    uint64_t rest; /* documents of the key after these */
    bool listed;   /* in the end: few ask for it, and few have it */
} bm_crowded_key;

/* A document of the index and one that was asked for, number << 32 | place in the batch: in
 * ascending order they are in the order of the file. */
typedef struct bm_hit_list {
    uint64_t *list;
    size_t n, cap;
    bm_crowded_key *crowded;
    size_t n_crowded, cap_crowded;
} bm_hit_list;

/* Hits of a batch in several lists, each ascending and without repeats; the same hit may be in
 * several. */
typedef struct bm_search_hits {
    bm_hit_list *lists;
    size_t n_lists;
    uint32_t *last; /* of each document of the batch: no candidate has a number above; NULL: there
                       is no bound */
    uint64_t *left; /* of each: documents above, once for each key that many have, once for all
                       others; NULL: none */
} bm_search_hits;   /* {0} is empty */

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
    uint32_t first;             /* of what a document finds the first so many; 0: all */
    bool keep_crowded;          /* keys that several ask for and many have: see bm_crowded_key */
} bm_key_batch;

/* *many is set where there are more hits than `most`: nothing is filled then, and fewer documents
 * must be asked for at once. */
bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err);
void bm_search_hits_reset(bm_search_hits *hits);
/* All crowded keys, list by list. Both arrays are the caller's to free, also after a failure. */
bm_status bm_crowded_keys(const bm_search_hits *hits, const bm_crowded_key ***keys, size_t *n,
                          bm_error *err);
/* The keys of n_docs documents: the keys of document i are (*doc_keys)[(*begin)[i]] to [(*begin)[i
 * + 1] - 1]; n_docs + 2 places. */
bm_status bm_crowded_doc_keys(const bm_crowded_key *const *keys, size_t n_keys, size_t n_docs,
                              size_t **begin, uint32_t **doc_keys, bm_error *err);
/* Add the bits of n words. */
static inline void bm_bits_add(uint64_t *restrict to, const uint64_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] |= from[i];
}
/* Bits that are set in n words; in lanes, where the machine counts none by itself. */
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
/* How many of n ascending numbers are below `number`. */
size_t bm_numbers_below(const uint32_t *list, size_t n, uint64_t number);
/* Sort n hits, and drop repeats; *n becomes the number that is left. */
bm_status bm_hits_sort(uint64_t *list, size_t *n, bm_error *err);

/* search_block -- documents of an index that are compared: one, or a block of them that many
 * queries are compared with.
 *
 *     shingles of a block    in more than half of its documents    core: kinds that lack it
 *                            in few                                rare: documents that have it
 *                            others                                kinds that have it
 *     kind                   documents of one size that lack the same of the core, and have the
 *                            same of the others
 *     place                  documents in the order of their kinds, then of their numbers
 *
 * The shingles of signatures are words at their places. */

/* --- one document --- */

typedef struct bm_search_target {
    uint32_t number;
    bm_store_doc doc;
    bool read; /* its set, or words */
    uint64_t *set;
    uint32_t *words;
    size_t cap_set, cap_words;
} bm_search_target; /* {0} before */

/* BM_ERR_FORMAT where it is not there, for bands name it. */
bm_status bm_search_target_find(const bm_search_cfg *cfg, uint32_t number, bm_search_target *target,
                                bm_error *err);
/* Its set, or words; once, if it is called again. */
bm_status bm_search_target_read(const bm_search_cfg *cfg, bm_search_target *target, bm_error *err);
void bm_search_target_reset(bm_search_target *target);

/* --- a block --- */

/* The shingles of a block, numbered as they come. */
typedef struct bm_block_shingles {
    bm_hash_table table;
    uint64_t *values; /* by number */
    size_t cap_values;
} bm_block_shingles;

typedef struct bm_search_block {
    size_t n;
    const uint32_t *numbers; /* ascending; borrowed */
    uint32_t *place;         /* of each */
    uint32_t *number_at;     /* of each place */
    uint32_t *kind_of;       /* of each place */
    size_t n_kinds, n_sizes, n_core;
    uint32_t *kind_begin;   /* places; n_kinds + 1 */
    uint32_t *kind_missing; /* of the core */
    uint32_t *kind_size;    /* which of the sizes */
    uint32_t *sizes;        /* ascending */
    bm_block_shingles shingles;
    uint8_t *roles;       /* of each shingle */
    uint32_t *core;       /* shingles */
    uint32_t *core_at;    /* of each shingle of the core, where in `core` */
    uint64_t *list_begin; /* of each shingle; n + 1 */
    uint32_t *lists;
} bm_search_block; /* {0} before */

/* How many of the documents, one at least, have `most` shingles or less together. */
bm_status bm_search_block_reach(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                                uint64_t most, size_t *reach, bm_error *err);
bm_status bm_search_block_make(const bm_search_cfg *cfg, const uint32_t *numbers, size_t n,
                               bm_search_block *out, bm_error *err);
void bm_search_block_reset(bm_search_block *block);

/* The counts of what a query shares with a block. */
typedef struct bm_block_counts {
    uint32_t *shared;  /* with each kind, but for rare shingles */
    uint32_t *rare;    /* of each place: rare ones; 0 where it is not among the touched */
    uint32_t *touched; /* places */
    uint32_t *seen;    /* of each of the core: the last question in which it was met */
    size_t n_touched;
    uint32_t question;
    uint64_t steps;
} bm_block_counts;

bm_status bm_block_counts_init(bm_block_counts *counts, const bm_search_block *block,
                               bm_error *err);
void bm_block_counts_reset(bm_block_counts *counts);
/* Count what document `doc` of the batch shares. */
void bm_search_block_count(const bm_search_block *block, const bm_search_cfg *cfg,
                           const bm_search_batch *batch, uint32_t doc, bm_block_counts *counts);

/* search_crowds -- what documents find in crowded buckets: many against many, without comparing
 * each with each.
 *
 * Queries that share a crowded key, directly or by others, are a crowd, with all documents of the
 * index that such a key names. Of these a block at a time is read, as many as fit into memory, once
 * for all queries:
 *
 *     shingles of the block    in most documents       core, listed where it is missing
 *                              in some                 listed by kinds of documents
 *                              in very few             listed by documents
 *     kind                     documents of the same size that lack the same of the core and have
 *                              the same of the second
 *     who has a key            a bit a document, in the order of the kinds
 *
 * A query counts the shingles that it shares with each kind, from the lists of its own shingles and
 * of the core shingles that it lacks. Then it does so with the few documents that share a rare
 * shingle with it.
 * The counts are exact, so the similarity equals that of a merge of the two sets. n documents that
 * differ in one word are a few hundred kinds, however large n is.
 *
 * Candidates are as ever the pairs that share a key. */

typedef struct bm_found {
    uint32_t doc;
    bm_answer answer;
} bm_found;

/* The answers that a part of a search found, in any order. */
typedef struct bm_found_list {
    bm_found *list;
    size_t n, cap;
    uint64_t candidates, verified, steps; /* as in bm_search_result */
} bm_found_list;

/* Add one to a list that keeps the best `top`; 0: all. In a full list the first entry is the
 * worst. */
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
    bm_search_hits *hits;    /* those that crowds answer are removed from them */
    size_t most;             /* answers; SIZE_MAX: no bound */
    bool many;               /* there are more: the list is not complete */
    bm_found_list *found;
    size_t n_found, cap_found;
} bm_crowd_search;

/* Answer for the crowded keys among the hits; `found` is the caller's to free, list by list. */
bm_status bm_search_crowds(bm_crowd_search *search, bm_error *err);

/* --- by containment: without bands (search.c) --- */

typedef struct bm_scan {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n;                /* of the batch, that are asked */
    const uint32_t *weights; /* of each, for how many it answers; NULL: 1 */
    size_t most;             /* answers; SIZE_MAX: no bound */
    bool alone;              /* one document is asked: there is no bound */
    bool many;               /* there are more: the list is not complete */
    bool read_all;           /* no filter left out a document */
    bm_found_list
        *found; /* a list a part of the index, in order; the caller's to free, one by one */
    size_t n_found;
} bm_scan;
