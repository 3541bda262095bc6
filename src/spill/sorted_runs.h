/* SPDX-License-Identifier: Apache-2.0 */
/* sorted_runs.h -- sorts any number of records by ascending key in bounded memory. A key has 64
 * bits, or is a string of bytes of any length.
 *
 *     open         (key, value)         open_bytes   (bytes, number)
 *     add                               add_bytes
 *               begin: after adding, and again after adding more
 *     next                              next_bytes
 *
 * Records are collected in memory. When the memory for records is full, they are sorted and written
 * as a run. At the end all runs are merged while they are read. If all records fit into memory,
 * they are sorted there, and no file is made. The result does not depend on the given memory.
 *
 * One thread at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

struct bm_spill_file;
struct bm_spill_saved;

typedef struct bm_run_record {
    uint64_t key, value;
} bm_run_record;

typedef struct bm_bytes_record {
    bm_str bytes; /* valid until the next call */
    uint32_t number;
} bm_bytes_record;

typedef struct bm_sorted_runs bm_sorted_runs;

/* The least `memory`; a smaller value is raised to it. */
#define BM_SORTED_RUNS_LEAST ((size_t)256 << 10)

/* Open a sorter for 64-bit keys. Records with equal keys keep the order in which they were added.
 * `dir` is the directory for runs. If it is NULL, no files are made, and adding fails with
 * BM_ERR_NOMEM when `memory` bytes are full. Memory is allocated as records are added. */
bm_status bm_sorted_runs_open(const char *dir, size_t memory, bm_sorted_runs **out, bm_error *err);
/* Open a sorter for byte keys. Records with equal keys are ordered by ascending number. A key comes
 * before longer keys that begin with it. One record always fits, however long it is. If `dir` is
 * NULL, memory grows without limit. If `memory` is too small, it is raised to a least amount. */
bm_status bm_sorted_runs_open_bytes(const char *dir, size_t memory, bm_sorted_runs **out,
                                    bm_error *err);
void bm_sorted_runs_close(bm_sorted_runs *runs); /* NULL is fine */

bm_status bm_sorted_runs_add(bm_sorted_runs *runs, uint64_t key, uint64_t value, bm_error *err);
bm_status bm_sorted_runs_add_bytes(bm_sorted_runs *runs, bm_str bytes, uint32_t number,
                                   bm_error *err);
/* Begin to read at the first record. Call this again to start over, or after adding more
 * records. */
bm_status bm_sorted_runs_begin(bm_sorted_runs *runs, bm_error *err);
/* Read the next record. At the end, returns BM_NOT_FOUND, and *err does not change. */
bm_status bm_sorted_runs_next(bm_sorted_runs *runs, bm_run_record *out, bm_error *err);
bm_status bm_sorted_runs_next_bytes(bm_sorted_runs *runs, bm_bytes_record *out, bm_error *err);

uint64_t bm_sorted_runs_spilled(const bm_sorted_runs *runs); /* bytes written to files */

/* saved runs -- saves a sorter, so that another process can continue to use it.
 *
 * All runs are in one file, which has a name from the first save on (spill_saved.h). Merged runs
 * are appended to the file, so the offsets of saved runs stay valid. Space in the file is not
 * reused. */

/* Prepare an empty sorter for saving: all its runs go to one file. */
void bm_sorted_runs_in_one_file(bm_sorted_runs *runs);

/* A run of the file; `place` is the offset of its first block. */
typedef struct bm_saved_run {
    uint64_t place, bytes, level;
} bm_saved_run;

/* Approximate number of bytes that saving would write now. */
uint64_t bm_sorted_runs_unsaved_bytes(const bm_sorted_runs *runs);
/* Save the sorter. Records in memory are written as a run. The file gets the name `path` in an open
 * folder; pass the same name every time. A bm_saved_run for each run is appended to `list`. If the
 * sorter has no records, there is no file. */
bm_status bm_sorted_runs_save_in(bm_sorted_runs *runs, int folder, const char *path, bm_buf *list,
                                 bm_error *err);
/* The file of the runs; NULL: no file was needed. */
const struct bm_spill_file *bm_sorted_runs_file(const bm_sorted_runs *runs);
/* Let an empty sorter use a saved file. Call bm_sorted_runs_restore afterwards to set its runs. */
bm_status bm_sorted_runs_reopen_in(bm_sorted_runs *runs, int folder,
                                   const struct bm_spill_saved *saved, bm_error *err);
/* Replace the runs of the sorter by those in `list`. BM_ERR_FORMAT: they do not fit into the
 * file. */
bm_status bm_sorted_runs_restore(bm_sorted_runs *runs, const bm_saved_run *list, size_t n,
                                 bm_error *err);
