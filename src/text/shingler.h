/* shingler.h -- from the text of a document to its distinct shingle hashes (cli.md 3: normalise,
 * cut into words, join, hash).
 *
 * A shingler holds the scratch memory of one thread. Text must be valid UTF-8 (bm_utf8_repair makes
 * it so). */
#ifndef BM_TEXT_SHINGLER_H
#define BM_TEXT_SHINGLER_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/shingle_batch.h"
#include "text/distinct.h"

typedef struct bm_shingler bm_shingler;
struct bm_joined;
struct bm_shingle_ops;

/* `cpu`: instruction set of the fast paths; NULL: the best. BM_ERR_USAGE: options out of range. */
bm_status bm_shingler_open(const bm_text_options *options, const char *cpu, bm_shingler **out,
                           bm_error *err);
void bm_shingler_close(bm_shingler *shingler); /* NULL is fine */
/* Append one document to `batch`. At least 64 bytes after text+len need NOT be readable. On failure
 * the batch is as before. */
bm_status bm_shingler_add(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                          bm_error *err);

/* Joined text (shingle_ops.h) of a document, for those who cut and hash it elsewhere. *out is
 * borrowed until the shingler is used again. */
bm_status bm_shingler_join(bm_shingler *shingler, bm_str text, const struct bm_joined **out,
                           bm_error *err);
/* The inner loops of the shingler's instruction set. */
const struct bm_shingle_ops *bm_shingler_ops(const bm_shingler *shingler);
/* Append the document that `joined` was made of: the same as bm_shingler_add of its text. */
bm_status bm_shingler_add_joined(bm_shingler *shingler, bm_str joined, bm_shingle_batch *batch,
                                 bm_error *err);

/* Append a document given by its hashes: drops repeats, fills `sequence`, counts. `scratch` ({0} at
 * first; bm_distinct_reset frees it) serves one document after another. */
bm_status bm_shingle_set_add(bm_distinct *scratch, const uint64_t *hashes, size_t n,
                             bm_shingle_batch *batch, bm_error *err);

/* The exact path alone, for tests: the same result as bm_shingler_add by the slow way (no ASCII
 * fast path, no SIMD). */
bm_status bm_shingler_add_exact(bm_shingler *shingler, bm_str text, bm_shingle_batch *batch,
                                bm_error *err);

/* The words BM_NORM_* of a list such as "nfc,lower" or "none"; BM_ERR_USAGE names the bad one. */
bm_status bm_normalize_parse(const char *list, uint32_t *out, bm_error *err);

/* Unicode version of our tables, "15.0.0". */
const char *bm_unicode_version(void);

#endif
