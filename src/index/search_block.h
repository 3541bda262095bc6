/* search_block.h -- documents of an index that are compared: one, or a block of them that many queries are compared with.
 *
 *     shingles of a block    in more than half of its documents    core: kinds that lack it
 *                            in few                                rare: documents that have it
 *                            others                                kinds that have it
 *     kind                   documents of one size that lack the same of the core, and have the same of the others
 *     place                  documents in the order of their kinds, then of their numbers
 *
 * Of signatures a shingle is a word at its place. */
#ifndef BM_INDEX_SEARCH_BLOCK_H
#define BM_INDEX_SEARCH_BLOCK_H

#include "base/hash_table.h"
#include "index/search_hits.h"

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

/* What a query shares with a block. */
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

#endif
