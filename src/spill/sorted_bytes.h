/* sorted_bytes.h -- many (bytes, number) records in, the same in ascending order of the bytes out, then of the number, with a
 * bounded amount of memory. What sorted_runs.h is for keys of 64 bits, for keys of any length.
 *
 * Of two keys of which one begins with the other the shorter comes first. What comes does not depend on the memory given. One
 * record always fits, however long it is.
 *
 * Threads: one at a time. */
#ifndef BM_SPILL_SORTED_BYTES_H
#define BM_SPILL_SORTED_BYTES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_bytes_record {
    bm_str bytes; /* valid until the next call */
    uint32_t number;
} bm_bytes_record;

typedef struct bm_sorted_bytes bm_sorted_bytes;

/* `dir`: where runs go; NULL: nowhere, and memory grows as it must. `memory` is raised to a least amount. */
bm_status bm_sorted_bytes_open(const char *dir, size_t memory, bm_sorted_bytes **out,
                               bm_error *err);
void bm_sorted_bytes_close(bm_sorted_bytes *sorter); /* NULL is fine */
bm_status bm_sorted_bytes_add(bm_sorted_bytes *sorter, bm_str bytes, uint32_t number,
                              bm_error *err);
/* No more are added: reading begins at the first, once. */
bm_status bm_sorted_bytes_begin(bm_sorted_bytes *sorter, bm_error *err);
/* The next record; BM_NOT_FOUND (and no error) at the end. */
bm_status bm_sorted_bytes_next(bm_sorted_bytes *sorter, bm_bytes_record *out, bm_error *err);

uint64_t bm_sorted_bytes_spilled(const bm_sorted_bytes *sorter); /* bytes written to files */

#endif
