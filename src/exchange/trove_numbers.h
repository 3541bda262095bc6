/* trove_numbers.h -- the documents as datatrove counts them: a rank is an input, and its documents have
 * the numbers 0, 1, 2 … in their order. Its readers pass over a document whose text is empty, so that
 * has no number. */
#ifndef BM_EXCHANGE_TROVE_NUMBERS_H
#define BM_EXCHANGE_TROVE_NUMBERS_H

#include "exchange/exporter.h"

#define BM_TROVE_NO_NUMBER UINT32_MAX

typedef struct bm_trove_numbers {
    bm_sign_dir *dir;
    uint64_t *documents; /* of each rank */
    size_t n_ranks;
    uint64_t most; /* documents of the largest rank */
    /* where the walk is */
    size_t rank;
    uint64_t left; /* documents of the rank */
    uint32_t next;
    uint64_t *bytes; /* of the texts of a block */
    size_t cap_bytes;
} bm_trove_numbers;

/* Good for close whatever the status. BM_ERR_FORMAT: sources.tsv is not what the manifest lists. */
bm_status bm_trove_numbers_open(bm_sign_dir *dir, bm_trove_numbers *out, bm_error *err);
void bm_trove_numbers_close(bm_trove_numbers *numbers);
/* A walk begins. */
void bm_trove_numbers_begin(bm_trove_numbers *numbers);
/* Fetch what numbering the block needs. */
bm_status bm_trove_numbers_load(bm_trove_numbers *numbers, const bm_export_block *block,
                                bm_error *err);
/* Is the rank at its end? Then the next one begins. */
bool bm_trove_numbers_rank_ends(bm_trove_numbers *numbers);
/* The number of document `i` of the block that was loaded, within numbers->rank; documents are asked
 * for in their order, where the rank is not at its end. */
uint32_t bm_trove_numbers_take(bm_trove_numbers *numbers, size_t i);

#endif
