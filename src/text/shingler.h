/* SPDX-License-Identifier: Apache-2.0 */
/* shingler.h -- from the text of a document to its distinct shingle hashes: normalise, cut into
 * words, join, hash (docs/text.md).
 *
 * A shingler holds the scratch memory of one thread. Text must be valid UTF-8 (bm_utf8_repair makes
 * it so). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"
#include "model/batches.h"

typedef struct bm_shingler bm_shingler;
struct bm_joined;
struct bm_shingle_ops;

/* `cpu`: the name of the instruction set of the inner loops; NULL: the best. The stop words are
 * loaded (stop_words.h), or NULL: English. BM_ERR_USAGE: options out of range. */
bm_status bm_shingler_open(const bm_text_options *options, const char *cpu, bm_shingler **out,
                           bm_error *err);
void bm_shingler_close(bm_shingler *shingler); /* NULL is fine */
/* Append one document to `batch`. Nothing after the text is read. On failure the batch is as
 * before. */
bm_status bm_shingler_add(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                          bm_error *err);

/* *out: the joined text (shingle_ops.h) of a document, for who cuts and hashes it elsewhere;
 * borrowed until the shingler is used again. */
bm_status bm_shingler_join(bm_shingler *shingler, bm_str text, const struct bm_joined **out,
                           bm_error *err);
/* What content hashes have of the joined text (bm_content_with_second); it has shingles, which are
 * not of stop words. */
uint64_t bm_shingler_second_hash(const bm_shingler *shingler);
/* Append as a document what bm_shingler_join has joined last; the text itself may be gone. */
bm_status bm_shingler_add_last_joined(bm_shingler *shingler, bm_shingle_batch *batch,
                                      bm_error *err);

/* From now on a document takes so many bytes at most, as joined text, table and hashes; 0: any
 * number. One that needs more is BM_ERR_NOMEM, and bm_shingler_needed returns how many would
 * suffice, at least if text does not become longer by normalising; 0: that was not the reason. */
void bm_shingler_limit(bm_shingler *shingler, uint64_t bytes);
uint64_t bm_shingler_needed(const bm_shingler *shingler);
/* Bytes that a document takes: of so much joined text, with so many elements. */
uint64_t bm_shingler_bytes(const bm_text_options *options, uint64_t joined, uint64_t n_hashes);
/* The inner loops of the shingler's instruction set. */
const struct bm_shingle_ops *bm_shingler_ops(const bm_shingler *shingler);
/* Append the document that `joined` was made of, as bm_shingler_add would from its text. */
bm_status bm_shingler_add_joined(bm_shingler *shingler, bm_str joined, bm_shingle_batch *batch,
                                 bm_error *err);

/* A stretch of a document's shingles, one after another, with repeats: at most so many. */
#define BM_SHINGLE_RUN_MAX 4097u
typedef struct bm_shingle_run {
    const uint64_t *hashes;
    size_t n;
    uint64_t first;       /* the unit with which the first of them begins */
    const size_t *starts; /* where each begins in the joined text; NULL: every byte is a unit */
    size_t first_byte;    /* where the first one begins then */
} bm_shingle_run;

typedef bm_status bm_shingle_run_fn(void *ctx, const bm_shingle_run *run, bm_error *err);
/* Call back for all shingles of k units, at most as many as the shingler's, of what
 * bm_shingler_join has joined last; none is of a stop word. *n_units: the units of the text; of
 * fewer than k there is no shingle. */
bm_status bm_shingler_scan(bm_shingler *shingler, uint32_t k, bm_shingle_run_fn *fn, void *ctx,
                           uint64_t *n_units, bm_error *err);
/* The hash of bytes of joined text that are a shingle. */
uint64_t bm_shingler_hash_one(const bm_shingler *shingler, const char *bytes, size_t len);
