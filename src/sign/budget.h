/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h -- divides --memory:
 *
 *     total = batches of the ingest + arena (sets read back) + fixed + data per document
 *
 * The process stays within `total` plus 64 MB for the program itself, its libraries, and the
 * overhead of the allocator. The division does not change results. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_budget {
    uint64_t total;   /* 0: no limit */
    uint64_t batches; /* for batches of the ingest that are read and not yet delivered; includes
                       * `ahead` */
    uint64_t ahead;   /* for data of inputs that are decompressed ahead (input/input_ahead.h) */
    uint64_t arena;   /* for sets that are read back from a file, and for other scratch memory */
    uint64_t fixed;   /* for stacks, tables of the steps, write buffers */
} bm_budget;

/* Divide `total` for these numbers of threads and devices. BM_ERR_NOMEM: `total` is too small;
 * the message names a sufficient one. */
bm_status bm_budget_make(uint64_t total, uint32_t threads, uint32_t devices, bm_budget *out,
                         bm_error *err);
/* The bytes of `batches` without `ahead`. */
uint64_t bm_budget_batches(const bm_budget *budget);
/* The bytes for data that this number of threads may decompress ahead. */
uint64_t bm_budget_ahead(const bm_budget *budget, uint32_t threads);
/* Bytes that rows and ids of documents may take while batches are in flight. */
uint64_t bm_budget_rows(const bm_budget *budget);
/* The least `total` that leaves `rows` bytes for rows. Meant for a budget that leaves less. */
uint64_t bm_budget_least(const bm_budget *budget, uint64_t rows);
/* The most bytes of computed draws for weighted elements that each thread may keep. All threads
 * together may keep a 32nd of `total`, and each thread at most a fixed amount, which it also gets
 * if `total` is 0. */
size_t bm_budget_kept(uint64_t total, uint32_t threads);
/* The number of places in the ring of the ingest: the most batches that may exist at once. */
uint64_t bm_budget_window(uint32_t threads, uint32_t devices);
/* The most bytes of text in a batch. */
size_t bm_budget_batch_bytes(const bm_budget *budget, uint64_t window);
/* The most documents in a batch with batch_bytes of text. `doc_bytes`: memory per document besides
 * its text and hashes. Together, documents may use the rest of the batch's share of the memory that
 * texts and hashes leave, but at least a quarter of the share. */
uint32_t bm_budget_batch_docs(const bm_budget *budget, uint64_t window, size_t batch_bytes,
                              uint64_t doc_bytes);
