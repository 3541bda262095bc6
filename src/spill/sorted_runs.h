/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.h -- sorts any number of records by ascending key in bounded memory. A key has 64
 * bits, or is a string of bytes of any length.
 *
 *     open         (key, value)         open_bytes   (bytes, number)
 *     add                               add_bytes
 *               begin: after adding, and again after adding more
 *     next                              next_bytes
 *
 * Records are collected in memory. When their share of memory is full, they are sorted and written
 * as a run; at the end all runs are merged while they are read. If all records fit into memory,
 * they are sorted there, and no file is made. The result does not depend on the given memory.
 *
 * One thread at a time. */
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

/* least bytes of memory; a smaller `memory` is raised to this */
#define BM_SORTED_RUNS_LEAST ((size_t)256 << 10)

/* For 64-bit keys. Records with equal keys keep the order in which they were added. `dir` is the
 * directory for runs; NULL: no files are made, and adding fails with BM_ERR_NOMEM when `memory`
 * bytes are full. Memory is allocated as records are added. */
bm_status bm_sorted_runs_open(const char *dir, size_t memory, bm_sorted_runs **out, bm_error *err);
/* For byte keys. Records with equal bytes are ordered by ascending number, and a key precedes
 * longer keys that begin with it. One record always fits, however long it is. `dir` NULL: memory
 * grows without limit. A small `memory` is raised to a least amount. */
bm_status bm_sorted_runs_open_bytes(const char *dir, size_t memory, bm_sorted_runs **out,
                                    bm_error *err);
void bm_sorted_runs_close(bm_sorted_runs *runs); /* NULL is fine */

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err);
bm_status bm_sorted_runs_add_bytes(bm_sorted_runs *runs, bm_str bytes, uint32_t number,
                                   bm_error *err);
/* Begin reading at the first record. Call this again to start over, and after adding more
 * records. */
bm_status bm_sorted_runs_begin(bm_sorted_runs *runs, bm_error *err);
/* Read the next record; BM_NOT_FOUND (and no error) at the end. */
bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err);
bm_status bm_sorted_runs_next_bytes(bm_sorted_runs *runs, bm_bytes_record *out, bm_error *err);

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs); /* bytes written to files */
