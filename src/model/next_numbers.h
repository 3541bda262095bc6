/* next_numbers.h -- of each id that was repeated, the number at which the search for a free id#N goes
 * on.
 *
 * Ids are never taken back, so a number that was found taken stays taken. Each id X#N is walked over
 * for one X only, the text before its last '#', and once: all searches together take no more steps
 * than there are ids. */
#ifndef BM_MODEL_NEXT_NUMBERS_H
#define BM_MODEL_NEXT_NUMBERS_H

#include "base/hash_table.h"

typedef struct bm_next_number {
    uint32_t row;    /* of the id that was repeated */
    uint32_t number; /* to be tried next; 2 at first */
} bm_next_number;

typedef struct bm_next_numbers {
    bm_next_number *list; /* table.n, in the order in which they were repeated */
    size_t cap;
    bm_hash_table table;
} bm_next_numbers; /* {0} is empty */

void bm_next_numbers_reset(bm_next_numbers *numbers); /* frees */
uint64_t bm_next_numbers_bytes(const bm_next_numbers *numbers);
/* *out: that of the id of `row`, for reading and writing until the next call. BM_ERR_NOMEM. */
bm_status bm_next_numbers_of(bm_next_numbers *numbers, uint32_t row, uint32_t **out, bm_error *err);

#endif
