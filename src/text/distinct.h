/* SPDX-License-Identifier: Apache-2.0 */
/* distinct.h -- the distinct values of one document's hashes, in order of first occurrence. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Scratch of one thread; {0} is ready for use. distinct.c explains the members. */
typedef struct bm_distinct {
    uint32_t *near; /* owned; the table for small documents */
    uint32_t *far;  /* owned; the table for large documents */
    size_t cap_far; /* slots allocated */
    size_t n_slots; /* slots of the current table, a power of two; 0: the document has none yet */
    unsigned shift;
    uint32_t generation; /* the document's generation, in the upper 16 bits */
    bool is_near;        /* which table is in use */
    uint64_t factor;     /* multiplies values to get slots; odd */
} bm_distinct;

/* The distinct values of a document so far, in order of first occurrence. */
typedef struct bm_distinct_list {
    uint64_t *values; /* borrowed */
    size_t n;
    uint32_t
        *counts; /* borrowed; how often each value was added, at most 2^32-1; NULL: not wanted */
} bm_distinct_list;

/* Bytes of the table for n values. */
uint64_t bm_distinct_bytes(uint64_t n);
/* Begin a new document. */
void bm_distinct_begin(bm_distinct *set);
/* Append to the document's list the elements of run[0 … n-1] that are not in it yet. The list must
 * have space for n more values (and counts, if wanted); the caller may move both arrays between
 * calls. BM_ERR_NOMEM, or BM_ERR_INPUT beyond 2^32-2 distinct values; list->n is then unchanged. */
bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, bm_distinct_list *list,
                          bm_error *err);
void bm_distinct_reset(bm_distinct *set); /* frees */

/* repeats -- in a bag, the second and later occurrences of a shingle are elements with hashes of
 * their own (kernels/occurrence.h). */

/* How many repeats n shingles with these counts have. */
uint64_t bm_repeats_count(const uint32_t *counts, size_t n);
/* Append the elements of the repeats to the list, value by value: occurrences 2, 3, … The list must
 * have space for them, and contain the counted values. If it has counts, all become 1, since every
 * element occurs once. Fails like bm_distinct_add. */
bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err);
/* Replace n ascending hashes by their elements, in place. The elements do not ascend. */
void bm_repeats_replace(uint64_t *hashes, size_t n);
