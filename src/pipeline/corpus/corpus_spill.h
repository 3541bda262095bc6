/* corpus_spill.h -- the part of a corpus that lies in files, and the steps of adding that others
 * share. For corpus.c, corpus_compare.c and corpus_save.c. */
#ifndef BM_CORPUS_CORPUS_SPILL_H
#define BM_CORPUS_CORPUS_SPILL_H

#include "pipeline/corpus/corpus.h"

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets that are written at a time */

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
/* Move the sets to a file after all, nothing being added any more. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, bm_error *err);
void bm_corpus_spill_reset(bm_corpus *corpus);

/* corpus.c: room for `more` documents in every column. */
bm_status bm_corpus_grow(bm_corpus *corpus, size_t more, bm_error *err);
/* Which of n documents from `first` are copies, once their sizes and sequences are set. */
bm_status bm_corpus_find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
/* The keys of n documents from `first`, bands of each side by side. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n,
                             bm_error *err);
/* Bytes of the record that a document has in the file of sets; 0: it has none (a copy, empty). */
size_t bm_corpus_set_len(const bm_corpus *corpus, size_t row);

/* Give freed pages back to the system, as far as the allocator can. */
void bm_corpus_trim(void);

/* Bytes of the job at its fullest, with `n` documents and `set_bytes` of sets in memory. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, size_t n, uint64_t set_bytes);
/* BM_ERR_NOMEM: `needed` bytes for n documents are more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);

#endif
