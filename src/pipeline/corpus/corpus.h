/* corpus.h -- the documents of a pairing job: shingle sets, band keys, words, and which are copies
 * of which.
 *
 * Filled batch by batch in input order (bm_corpus_add), read by many threads afterwards. Sets are
 * kept for the first of identical documents only. They stay in memory, one block a batch, each
 * sorted when somebody first needs it, since most documents are never a candidate; or, where the
 * job would pass its budget, they go to a file under temp_dir, and so do band keys if that is not
 * enough (corpus_spill.h). Which of the two changes no result: bm_corpus_compare and
 * bm_corpus_keyset answer the same. What reads `hashes`, `words` or `keys` itself needs a corpus
 * without temp_dir. */
#ifndef BM_CORPUS_CORPUS_H
#define BM_CORPUS_CORPUS_H

#include <bandmill/types.h>

#include "base/memory.h"
#include "base/pool.h"
#include "lsh/candidates.h"
#include "pipeline/ingest/budget.h"
#include "pipeline/ingest/ingest.h"
#include "spill/spill_file.h"

typedef struct bm_corpus_cfg {
    bool hashes;              /* keep shingle hashes */
    bool find_identical;      /* by the hash of the shingle sequence */
    uint32_t bands;           /* of the keys to keep; 0: none */
    uint32_t perms;           /* of the words to keep; 0: none */
    uint64_t memory;          /* bytes at most, with those of `docs`; 0: no limit */
    const bm_doc_table *docs; /* NULL: not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* for temp_dir: how `memory` is shared */
    bool edges;               /* leave room for edges too */
    bool spill_now;           /* to files from the start, whatever fits: for tests */
    uint64_t input_bytes;     /* of all inputs, to foresee the files' size; 0: not known */
} bm_corpus_cfg;

/* Where sets and keys lie that are not in memory. */
typedef struct bm_corpus_files {
    bm_spill_file *sets;  /* of each representative: a record of its hashes, or its words */
    uint64_t *places;     /* of these records; of copies those of `rep` */
    bm_spill_file *saved; /* while sets are in memory: the same records, of documents that were
                             saved (corpus_save.h); becomes `sets` when they go to a file */
    size_t n_saved;       /* documents whose records are in the file and were counted: */
    uint64_t saved_bytes, saved_records;
    bool kept;           /* that file has a name */
    bm_spill_file *keys; /* a record a band of key_rows documents, bands side by side */
    uint64_t *block;     /* of key_rows documents, the last one at hand: band after band */
    size_t key_rows, n_keys;
    uint32_t **labels; /* bands arrays of n instead of keys, once they are asked for */
    char *arena;       /* of sets read back */
    size_t cap_arena;
    uint64_t set_bytes, key_bytes; /* of the files, once whole */
    uint64_t bytes_back;           /* of sets, read back */
} bm_corpus_files;

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
    uint64_t n_identical, set_bytes; /* set_bytes: of the blocks */
    bm_corpus_files files;
} bm_corpus;

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg);
void bm_corpus_reset(bm_corpus *corpus);
/* BM_ERR_NOMEM when what is held and `more` bytes pass cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* The same for the time of matching alone, which needs no room for grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* A bm_ingest_sink; ctx is the corpus. BM_ERR_NOMEM over cfg.memory; BM_ERR_IO. */
bm_status bm_corpus_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
/* Documents with words but without text (from signatures): n rows of cfg.perms words, n_shingles
 * each, keys likewise. */
bm_status bm_corpus_add_words(bm_corpus *corpus, const uint32_t *words, const uint64_t *keys,
                              const uint32_t *n_shingles, size_t n, bm_error *err);
/* Nothing more is added: frees what only adding needs. Again is fine. */
bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err);
/* Sort the sets of the pairs' documents that are not sorted yet, on all threads. */
bm_status bm_corpus_sort(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                         bm_error *err);
bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err);
/* Fill in the similarity of each pair, on all threads, reading sets back where they are in a file.
 * `threshold`: a pair that does not reach it may get a negative number instead; 0: never. VERIFY
 * exact compares hashes, signature words, none gives NAN. */
bm_status bm_corpus_compare(bm_corpus *corpus, bm_verify verify, double threshold, bm_pair *pairs,
                            size_t n, bm_pool *pool, bm_error *err);
/* Reads keys back, as labels, where they are in a file. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);
/* Hashes for documents that came from signatures: the flow reads their texts again, in the same
 * order. */
bm_status bm_corpus_fill_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                                bm_error *err);

#endif
