/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h -- how --memory is divided.
 *
 *     total = batches of the ingest + arena (sets read back) + fixed + what grows with documents
 *
 * The process stays within `total` plus 64 MB for the program itself, its libraries, and the
 * overhead of the allocator. Nothing here changes a result. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_budget {
    uint64_t total;   /* 0: no limit */
    uint64_t batches; /* for batches of the ingest that are read and not yet delivered, which
                       * includes ... */
    uint64_t ahead;   /* ... this, for inputs that are unpacked ahead (input/input_ahead.h) */
    uint64_t arena;   /* for sets that are read back from a file, and for other scratch memory of a
                     * step */
    uint64_t fixed;   /* stacks, tables of the steps, write buffers */
} bm_budget;

/* Divide `total` for these numbers of threads and devices. BM_ERR_NOMEM: too little; the message
 * names the least that suffices. */
bm_status bm_budget_make(uint64_t total, uint32_t threads, uint32_t devices, bm_budget *out,
                         bm_error *err);
/* The part of `batches` left without `ahead`, and the bytes that `threads` threads may unpack
 * ahead. */
uint64_t bm_budget_batches(const bm_budget *budget);
uint64_t bm_budget_ahead(const bm_budget *budget, uint32_t threads);
/* Bytes that rows and ids of documents may take while batches are in flight. */
uint64_t bm_budget_rows(const bm_budget *budget);
/* The least `total` that leaves `rows` bytes for rows. Call it when budget->total is too small for
 * that. */
uint64_t bm_budget_least(const bm_budget *budget, uint64_t rows);
/* Bytes of computed draws of weighted elements that each thread may keep; all threads together get
 * a 32nd of `total`. */
size_t bm_budget_kept(uint64_t total, uint32_t threads);
/* Places in the ring of the ingest: batches that may exist at once. */
uint64_t bm_budget_window(uint32_t threads, uint32_t devices);
/* The most bytes of text in a batch. */
size_t bm_budget_batch_bytes(const bm_budget *budget, uint64_t window);
/* The most documents in a batch of `batch_bytes`, if each takes `doc_bytes` besides its text and
 * hashes. They may use what text and hashes leave of the batch's share, but at least a quarter of
 * it. */
uint32_t bm_budget_batch_docs(const bm_budget *budget, uint64_t window, size_t batch_bytes,
                              uint64_t doc_bytes);
