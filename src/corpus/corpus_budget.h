/* corpus_budget.h -- does the job fit into --memory, and its files onto the disk? */
#ifndef BM_CORPUS_CORPUS_BUDGET_H
#define BM_CORPUS_CORPUS_BUDGET_H

#include "corpus/corpus_parts.h"

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets that are written at a time */
#define BM_KEYS_BUFFER ((size_t)1 << 20) /* bytes of a block of keys, about */

/* Bytes of the job at its fullest, with `n` documents and `set_bytes` of sets in memory. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, size_t n, uint64_t set_bytes);
/* Bytes of cfg.memory that nothing holds while documents are added, but for batches. */
uint64_t bm_corpus_free_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM when what is held and `more` bytes pass cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* The same for the time of matching alone, which needs no room for grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Bytes that cfg.memory leaves for matching, 1 at least; 0: there is no bound. */
uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM: `needed` bytes for n documents are more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);

/* BM_ERR_IO where temp_dir cannot hold a file that now has `bytes`, as large as it will be in the
 * end: as far as the share of the input that was read tells. */
bm_status bm_corpus_check_disk(const bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                               bm_error *err);

#endif
