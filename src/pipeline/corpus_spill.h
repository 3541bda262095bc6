/* corpus_spill.h -- the part of a corpus that lies in files. For corpus.c and corpus_compare.c. */
#ifndef BM_PIPELINE_CORPUS_SPILL_H
#define BM_PIPELINE_CORPUS_SPILL_H

#include "pipeline/corpus.h"

/* Before `more` documents with `set_bytes` of sets are added: move to files what would not fit.
 * BM_ERR_NOMEM where that is not enough. */
bm_status bm_corpus_make_room(bm_corpus *corpus, size_t more, uint64_t set_bytes,
                              uint64_t input_bytes_read, bm_error *err);
/* Append the record of the representative `row`. */
bm_status bm_corpus_spill_set(bm_corpus *corpus, size_t row, const void *data, size_t len,
                              bm_error *err);
/* Append the keys of n documents, bands of each side by side, as they come from the flow. */
bm_status bm_corpus_spill_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* Write what is buffered. */
bm_status bm_corpus_spill_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_spill_reset(bm_corpus *corpus);

/* Give freed pages back to the system, as far as the allocator can. */
void bm_corpus_trim(void);

/* Bytes of the job at its fullest, with `n` documents and `set_bytes` of sets in memory. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, size_t n, uint64_t set_bytes);
/* BM_ERR_NOMEM: `needed` bytes for n documents are more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);

#endif
