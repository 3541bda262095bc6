/* corpus.h -- the documents of a pairing job: shingle sets, band keys, words, and which are copies
 * of which.
 *
 * Filled batch by batch in input order (bm_corpus_add), read by many threads afterwards. Hashes are
 * kept for the first of identical documents only, in one block a batch; each set is sorted when
 * somebody first needs it (bm_corpus_sort), since most documents are never a candidate. */
#ifndef BM_PIPELINE_CORPUS_H
#define BM_PIPELINE_CORPUS_H

#include <bandmill/types.h>

#include "base/memory.h"
#include "base/pool.h"
#include "lsh/candidates.h"
#include "pipeline/flow.h"

typedef struct bm_corpus_cfg {
    bool hashes;              /* keep shingle hashes */
    bool find_identical;      /* by the hash of the shingle sequence */
    uint32_t bands;           /* of the keys to keep; 0: none */
    uint32_t perms;           /* of the words to keep; 0: none */
    uint64_t memory;          /* bytes at most, with those of `docs`; 0: no limit */
    const bm_doc_table *docs; /* NULL: not counted */
} bm_corpus_cfg;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n, cap;
    uint32_t
        *rep; /* first document with the same shingle sequence; itself where there is none before */
    uint8_t *skip;     /* copy or empty: no candidate */
    uint8_t *sorted;   /* its hashes are in ascending order */
    uint32_t *sizes;   /* distinct shingles */
    uint64_t **hashes; /* of representatives; of copies those of `rep`; NULL where there are none */
    bm_hash128 *sequence;   /* while adding */
    const uint32_t **words; /* perms each; NULL: not kept */
    uint64_t **keys;        /* bands arrays of cap */
    uint32_t *slots;        /* of the table of sequences: row + 1; 0: free */
    size_t n_slots;
    void **blocks; /* what hashes and words point into */
    size_t n_blocks, cap_blocks;
    uint64_t n_identical, bytes;
} bm_corpus;

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg);
void bm_corpus_reset(bm_corpus *corpus);
/* BM_ERR_NOMEM when what is held and `more` bytes pass cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* A bm_flow_sink; ctx is the corpus. BM_ERR_NOMEM over cfg.memory. */
bm_status bm_corpus_add(void *ctx, const bm_flow_batch *batch, size_t first_row, bm_error *err);
/* Documents with words but without text (from signatures): n rows of cfg.perms words, n_shingles
 * each, keys likewise. */
bm_status bm_corpus_add_words(bm_corpus *corpus, const uint32_t *words, const uint64_t *keys,
                              const uint32_t *n_shingles, size_t n, bm_error *err);
/* Sort the sets of the pairs' documents that are not sorted yet, on all threads. */
bm_status bm_corpus_sort(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                         bm_error *err);
bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err);
/* Jaccard similarity of two documents, whose sets are sorted. */
double bm_corpus_jaccard(const bm_corpus *corpus, uint32_t a, uint32_t b);
/* Their agreement on the words kept. */
double bm_corpus_agreement(const bm_corpus *corpus, uint32_t a, uint32_t b);
bm_band_keyset bm_corpus_keyset(const bm_corpus *corpus);
/* Hashes for documents that came from signatures: the flow reads their texts again, in the same
 * order. */
bm_status bm_corpus_fill_hashes(void *ctx, const bm_flow_batch *batch, size_t first_row,
                                bm_error *err);

#endif
