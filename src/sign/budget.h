/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h -- what --memory is shared among.
 *
 *     total = batches of the ingest + arena (sets read back) + fixed + what grows with documents
 *
 * The process stays within `total` and 64 MB: those are for the program itself, its libraries, and
 * what the allocator loses. Nothing here changes a result. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_budget {
    uint64_t total;   /* 0: no limit */
    uint64_t batches; /* of the ingest, read and not yet delivered; of these ... */
    uint64_t ahead;   /* ... so many are of inputs that are unpacked ahead (input/input_ahead.h) */
    uint64_t arena; /* for sets that are read back from a file; also for other scratch of a step */
    uint64_t fixed; /* stacks, tables of the steps, write buffers */
} bm_budget;

/* Share `total` for so many threads and devices. BM_ERR_NOMEM names the least that would do. */
bm_status bm_budget_make(uint64_t total, uint32_t threads, uint32_t devices, bm_budget *out,
                         bm_error *err);
/* The bytes of `batches` left for batches, and the bytes that so many threads may unpack ahead. */
uint64_t bm_budget_batches(const bm_budget *budget);
uint64_t bm_budget_ahead(const bm_budget *budget, uint32_t threads);
/* Bytes that rows and ids of documents may take while batches are in flight. */
uint64_t bm_budget_rows(const bm_budget *budget);
/* The `total` that would leave so many bytes for rows, which this one does not. */
uint64_t bm_budget_least(const bm_budget *budget, uint64_t rows);
/* Bytes of computed draws of weighted elements that each thread may keep, out of `total`: all
 * threads together get a 32nd. */
size_t bm_budget_kept(uint64_t total, uint32_t threads);
/* Places in the ring of the ingest: batches that may exist at once. */
uint64_t bm_budget_window(uint32_t threads, uint32_t devices);
/* Bytes of text in a batch at most. */
size_t bm_budget_batch_bytes(const bm_budget *budget, uint64_t window);
/* Documents in a batch of so many bytes at most, where one takes `doc_bytes` beside its text and
 * hashes: what that fold leaves of the batch's share, a quarter of it at least. */
uint32_t bm_budget_batch_docs(const bm_budget *budget, uint64_t window, size_t batch_bytes,
                              uint64_t doc_bytes);
