/* distinct.h -- the distinct values of one document's hashes, in order of first occurrence. */
#ifndef BM_TEXT_DISTINCT_H
#define BM_TEXT_DISTINCT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Scratch of one thread; {0} is ready for use. */
typedef struct bm_distinct {
    uint32_t *near; /* owned; of small documents */
    uint32_t *far;  /* owned; of large ones */
    size_t cap_far; /* allocated slots */
    size_t n_slots; /* in use by this document, a power of two; 0: none yet */
    unsigned shift;
    uint32_t generation; /* of this document, in the upper half */
    bool is_near;
    uint64_t factor; /* odd */
} bm_distinct;

/* Forget the last document. */
void bm_distinct_begin(bm_distinct *set);
/* Append to values[0 … *n_values-1] (what this document has so far, distinct) those of run[0 …
 * n-1] that are not there yet. `values` has room for *n_values + n. BM_ERR_NOMEM, or BM_ERR_INPUT
 * past 2^32-2 distinct values; *n_values then is as before. */
bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, uint64_t *values,
                          size_t *n_values, bm_error *err);
void bm_distinct_reset(bm_distinct *set); /* frees */

#endif
