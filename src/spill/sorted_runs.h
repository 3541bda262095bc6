/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.h -- many records in, the same in ascending order of their keys out, with a bounded
 * amount of memory. A key has 64 bits, or it is a string of bytes of any length.
 *
 *     open         (key, value)         open_bytes   (bytes, number)
 *     add                               add_bytes
 *               begin: no more are added, or only until it is called again
 *     next                              next_bytes
 *
 * Records gather in memory. Where they fill their share, they are sorted and written as a run; at
 * the end all runs are merged while they are read. What fits is sorted in memory, and no file is
 * made. What comes does not depend on the memory given.
 *
 * Threads: one at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_run_record {
    uint64_t key, value;
} bm_run_record;

typedef struct bm_bytes_record {
    bm_str bytes; /* valid until the next call */
    uint32_t number;
} bm_bytes_record;

typedef struct bm_sorted_runs bm_sorted_runs;

#define BM_SORTED_RUNS_LEAST ((size_t)256 << 10) /* bytes of memory; less is taken as this */

/* Records with keys of 64 bits: records of equal keys come in the order in which they were added.
 * `dir`: where runs go; NULL: nowhere, and BM_ERR_NOMEM when `memory` bytes are full. Allocates as
 * records come. */
bm_status bm_sorted_runs_open(const char *dir, size_t memory, bm_sorted_runs **out, bm_error *err);
/* Records with bytes as keys: records of equal bytes come in ascending order of their numbers, and
 * if one key begins with another, the shorter comes first. One record always fits, however long it
 * is. `dir` NULL: memory grows as it must. `memory` is raised to a least amount. */
bm_status bm_sorted_runs_open_bytes(const char *dir, size_t memory, bm_sorted_runs **out,
                                    bm_error *err);
void bm_sorted_runs_close(bm_sorted_runs *runs); /* NULL is fine */

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err);
bm_status bm_sorted_runs_add_bytes(bm_sorted_runs *runs, bm_str bytes, uint32_t number,
                                   bm_error *err);
/* Reading begins at the first. Calling it again begins anew, which it must where more were added.
 */
bm_status bm_sorted_runs_begin(bm_sorted_runs *runs, bm_error *err);
/* The next record; BM_NOT_FOUND (and no error) at the end. */
bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err);
bm_status bm_sorted_runs_next_bytes(bm_sorted_runs *runs, bm_bytes_record *out, bm_error *err);

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs); /* bytes written to files */
