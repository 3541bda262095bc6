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
    size_t n_slots; /* slots in use for this document, a power of two; 0: none yet */
    unsigned shift;
    uint32_t generation; /* generation of this document, in the upper 16 bits */
    bool is_near;        /* which table is in use */
    uint64_t factor;     /* odd */
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
/* Append to the document's list the elements of run[0 … n-1] that are not in it yet. The list has
 * space for n more values (and counts, if wanted); both arrays may be moved between calls.
 * BM_ERR_NOMEM, or BM_ERR_INPUT past 2^32-2 distinct values: list->n is then unchanged. */
bm_status bm_distinct_add(bm_distinct *set, const uint64_t *run, size_t n, bm_distinct_list *list,
                          bm_error *err);
void bm_distinct_reset(bm_distinct *set); /* frees */

/* repeats -- the elements of the second and later occurrences of shingles in a bag
 * (kernels/occurrence.h). */

/* The number of such elements, for n shingles with these counts. */
uint64_t bm_repeats_count(const uint32_t *counts, size_t n);
/* Append these elements to the list, which has space for them and holds the counted values: for
 * each shingle in turn, its occurrences 2, 3, … If the list has counts, all are 1 afterwards, since
 * every element occurs once. Fails like bm_distinct_add. */
bm_status bm_repeats_add(bm_distinct *set, const uint32_t *counts, bm_distinct_list *list,
                         bm_error *err);
/* Replace n ascending hashes by their elements, in place; afterwards they do not ascend. */
void bm_repeats_replace(uint64_t *hashes, size_t n);
