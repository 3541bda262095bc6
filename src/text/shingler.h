/* SPDX-License-Identifier: Apache-2.0 */
/* shingler.h -- makes the distinct shingle hashes of a document from its text: normalises, cuts
 * into words, joins and hashes (docs/text.md).
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

/* Open a shingler. `cpu` names the instruction set of the inner loops; NULL: the best. In
 * `options`, the list of stop words must be loaded (stop_words.h); NULL means English.
 * BM_ERR_USAGE: an option is out of range. */
bm_status bm_shingler_open(const bm_text_options *options, const char *cpu, bm_shingler **out,
                           bm_error *err);
void bm_shingler_close(bm_shingler *shingler); /* may be NULL */
/* Append one document to `batch`. No byte after the text is read. On failure the batch is
 * unchanged. */
bm_status bm_shingler_add(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                          bm_error *err);

/* Join a text without hashing it. *out becomes the joined text (shingle_ops.h), which is borrowed
 * until the shingler is used again. For callers that cut and hash the joined text themselves. */
bm_status bm_shingler_join(bm_shingler *shingler, bm_str text, const struct bm_joined **out,
                           bm_error *err);
/* The part of a content hash that is made from the joined text (bm_content_with_second). Call this
 * only if the text has shingles, and these are not stop word shingles. */
uint64_t bm_shingler_second_hash(const bm_shingler *shingler);
/* Append the last text that bm_shingler_join joined as a document. The original text is not
 * read. */
bm_status bm_shingler_add_last_joined(bm_shingler *shingler, bm_shingle_batch *batch,
                                      bm_error *err);

/* Limit each later document to `bytes` bytes of joined text, table and hashes; 0: no limit. A
 * document that needs more fails with BM_ERR_NOMEM. bm_shingler_needed then returns how many bytes
 * would suffice, or 0 if the limit was not the reason for the failure. The number is exact, unless
 * normalising lengthens the text. */
void bm_shingler_limit(bm_shingler *shingler, uint64_t bytes);
uint64_t bm_shingler_needed(const bm_shingler *shingler);
/* The bytes that a document needs if it has `joined` bytes of joined text and `n_hashes`
 * elements. */
uint64_t bm_shingler_bytes(const bm_text_options *options, uint64_t joined, uint64_t n_hashes);
/* The inner loops of the shingler's instruction set. */
const struct bm_shingle_ops *bm_shingler_ops(const bm_shingler *shingler);
/* Append a document that is given as joined text, with the same result as bm_shingler_add. */
bm_status bm_shingler_add_joined(bm_shingler *shingler, bm_str joined, bm_shingle_batch *batch,
                                 bm_error *err);

/* Consecutive shingles of a document, with repeats, at most BM_SHINGLE_RUN_MAX. */
#define BM_SHINGLE_RUN_MAX 4097u
typedef struct bm_shingle_run {
    const uint64_t *hashes;
    size_t n;
    uint64_t first; /* number of the unit at which the first shingle begins */
    /* index in the joined text at which each shingle begins; NULL: every byte is a unit */
    const size_t *starts;
    size_t first_byte; /* if starts is NULL: index at which the first shingle begins */
} bm_shingle_run;

typedef bm_status bm_shingle_run_fn(void *ctx, const bm_shingle_run *run, bm_error *err);
/* Call `fn` for all shingles of k units in the last text that bm_shingler_join joined. k may be at
 * most the number of units in the shingler's shingles, which must not be stop word shingles.
 * *n_units becomes the number of units of the text. If this is less than k, there are no
 * shingles. */
bm_status bm_shingler_scan(bm_shingler *shingler, uint32_t k, bm_shingle_run_fn *fn, void *ctx,
                           uint64_t *n_units, bm_error *err);
/* The hash of a shingle, which is given as bytes of joined text. */
uint64_t bm_shingler_hash_one(const bm_shingler *shingler, const char *bytes, size_t len);
