/* SPDX-License-Identifier: Apache-2.0 */
/* shingler.h -- from the text of a document to its distinct shingle hashes: normalise, cut into
 * words, join, hash (docs/text.md).
 *
 * A shingler holds the scratch memory of one thread. Text must be valid UTF-8 (see
 * bm_utf8_repair). */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"
#include "model/batches.h"

typedef struct bm_shingler bm_shingler;
struct bm_joined;
struct bm_shingle_ops;

/* Open a shingler. `cpu`: the name of the instruction set for the inner loops; NULL: the best. The
 * list of stop words must be loaded (stop_words.h), or NULL for English. BM_ERR_USAGE: options are
 * out of range. */
bm_status bm_shingler_open(const bm_text_options *options, const char *cpu, bm_shingler **out,
                           bm_error *err);
void bm_shingler_close(bm_shingler *shingler); /* NULL is fine */
/* Append one document to `batch`. No byte after the text is read. On failure the batch is
 * unchanged. */
bm_status bm_shingler_add(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                          bm_error *err);

/* *out: the joined text (shingle_ops.h) of a document, for callers that cut and hash it elsewhere;
 * borrowed until the shingler is used again. */
bm_status bm_shingler_join(bm_shingler *shingler, bm_str text, const struct bm_joined **out,
                           bm_error *err);
/* The part of content hashes that depends on the joined text (bm_content_with_second). The text has
 * shingles, which are not stop word shingles. */
uint64_t bm_shingler_second_hash(const bm_shingler *shingler);
/* Append the text last joined by bm_shingler_join as a document; the text itself may be gone. */
bm_status bm_shingler_add_last_joined(bm_shingler *shingler, bm_shingle_batch *batch,
                                      bm_error *err);

/* From now on a document may take at most `bytes` for joined text, table and hashes; 0: no limit.
 * One that needs more is BM_ERR_NOMEM, and bm_shingler_needed returns how many would suffice (at
 * least if normalising does not lengthen the text); 0: the limit was not the reason. */
void bm_shingler_limit(bm_shingler *shingler, uint64_t bytes);
uint64_t bm_shingler_needed(const bm_shingler *shingler);
/* The bytes that a document takes with `joined` bytes of joined text and `n_hashes` elements. */
uint64_t bm_shingler_bytes(const bm_text_options *options, uint64_t joined, uint64_t n_hashes);
/* The inner loops of the shingler's instruction set. */
const struct bm_shingle_ops *bm_shingler_ops(const bm_shingler *shingler);
/* Append the document whose joined text this is, as bm_shingler_add would from its text. */
bm_status bm_shingler_add_joined(bm_shingler *shingler, bm_str joined, bm_shingle_batch *batch,
                                 bm_error *err);

/* Consecutive shingles of a document, with repeats: at most BM_SHINGLE_RUN_MAX. */
#define BM_SHINGLE_RUN_MAX 4097u
typedef struct bm_shingle_run {
    const uint64_t *hashes;
    size_t n;
    uint64_t first;       /* the unit with which the first one begins */
    const size_t *starts; /* where each begins in the joined text; NULL: every byte is a unit */
    size_t first_byte;    /* if starts is NULL: where the first one begins */
} bm_shingle_run;

typedef bm_status bm_shingle_run_fn(void *ctx, const bm_shingle_run *run, bm_error *err);
/* Call back for all shingles of k units (at most the shingler's) of the text last joined by
 * bm_shingler_join; they are not stop word shingles. *n_units: the units of the text; with fewer
 * than k there is no shingle. */
bm_status bm_shingler_scan(bm_shingler *shingler, uint32_t k, bm_shingle_run_fn *fn, void *ctx,
                           uint64_t *n_units, bm_error *err);
/* The hash of a shingle, given as bytes of joined text. */
uint64_t bm_shingler_hash_one(const bm_shingler *shingler, const char *bytes, size_t len);
