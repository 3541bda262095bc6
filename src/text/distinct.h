/* SPDX-License-Identifier: Apache-2.0 */
/* distinct.h -- the distinct values of one document's hashes, in order of first occurrence. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Scratch memory of one thread. Start with {0}. distinct.c explains the members. */
typedef struct bm_distinct {
    uint32_t *near; /* owned: the table for small documents */
    uint32_t *far;  /* owned: the table for large documents */
    size_t cap_far; /* number of allocated slots in `far` */
    size_t n_slots; /* slots of the current table, a power of two; 0: the document has no table
                     * yet */
    unsigned shift;
    uint32_t generation; /* the generation of the document, in the upper 16 bits */
    bool is_near;        /* whether the current table is `near` */
    uint64_t factor;     /* odd; value * factor determines the slot */
} bm_distinct;

/* The distinct values of a document so far, in order of first occurrence. */
typedef struct bm_distinct_list {
    uint64_t *values; /* borrowed */
    size_t n;
    uint32_t
        *counts; /* borrowed: how often each value was added, at most 2^32-1; NULL: not wanted */
} bm_distinct_list;

/* Bytes of the table of a document with n distinct values. */
uint64_t bm_distinct_bytes(uint64_t n);
/* Begin a new document. */
void bm_distinct_begin(bm_distinct *set);
/* Append to the document's list the values of run[0 … n-1] that it does not have yet. The list
 * must have space for n more values and, if wanted, counts. The caller may move both arrays between
 * calls. Fails with BM_ERR_NOMEM, or with BM_ERR_INPUT beyond 2^32-2 distinct values; list->n is
 * then unchanged. */
bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, bm_distinct_list *list,
                          bm_error *err);
void bm_distinct_reset(bm_distinct *set);

/* repeats -- in a bag, each occurrence of a shingle after the first is an element with its own hash
 * (kernels/occurrence.h). */

/* How many repeats n shingles with these counts have. */
uint64_t bm_repeats_count(const uint32_t *counts, size_t n);
/* For each value of the list, append its repeats: occurrences 2, 3, … The list must contain the
 * values that were counted, and have space for the repeats. If it has counts, all of them become 1,
 * because each element occurs once. Fails like bm_distinct_add. */
bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err);
/* Replace the hashes of a bag, n hashes in ascending order, by its elements, in place. The elements
 * are not in ascending order. */
void bm_repeats_replace(uint64_t *hashes, size_t n);
