/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.h -- the documents of a pairing job: shingle sets, band keys, words and copies.
 *
 * Documents are added batch by batch in input order (bm_corpus_add), and then read by many threads.
 * Of identical documents, only the first one's set is stored. Sets are kept in memory; each is
 * sorted when it is first needed, since most documents are never candidates. If the job would
 * exceed its memory, sets are moved to a file under temp_dir, or dropped and made again. If that
 * does not suffice, band keys are moved to a file too (corpus_parts.h). This changes no result of
 * bm_corpus_compare and bm_corpus_keyset. */
#pragma once

#include "base/threads.h"
#include "corpus/corpus_parts.h"
#include "lsh/verify.h"
#include "sign/ingest.h"

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg);
void bm_corpus_reset(bm_corpus *corpus);

/* --- adding --- */

/* Add the documents of a batch with all their data. BM_ERR_NOMEM: cfg.memory is too little.
 * BM_ERR_IO. */
bm_status bm_corpus_add(bm_corpus *corpus, const bm_ingest_batch *batch, size_t first_row,
                        bm_error *err);

/* The same for an ingest: documents are counted and placed in order, keys and sets are stored on
 * any thread, and sizes and copies are handled before a batch's turn. */
bm_ingest_sink bm_corpus_sink(bm_corpus *corpus);
bm_ingest_early bm_corpus_early(bm_corpus *corpus);

/* Documents that were signed before, with words but without text. */
typedef struct bm_signed_docs {
    size_t n;
    const uint32_t *words;      /* cfg.words.uints of each document */
    const uint64_t *keys;       /* cfg.bands of each document, side by side */
    const uint32_t *n_shingles; /* number of shingles of each document */
    /* content hash of each document; NULL: unknown, and no documents count as identical */
    const bm_hash128 *content;
} bm_signed_docs;

bm_status bm_corpus_add_words(bm_corpus *corpus, const bm_signed_docs *docs, bm_error *err);
/* A sink of hashes for documents that were signed before, whose texts are read again in the same
 * order. BM_ERR_FORMAT: the texts differ. */
bm_ingest_sink bm_corpus_hash_sink(bm_corpus *corpus);
/* End adding, and free the memory that only adding needs. A second call does nothing. */
bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err);
/* Move columns that are read in random order into memory. Call this after adding has ended and keys
 * were read back. A second call does nothing. */
bm_status bm_corpus_begin_matching(bm_corpus *corpus, bm_error *err);
/* Move the sets to a file. Call this after adding has ended. */
bm_status bm_corpus_sets_to_file(bm_corpus *corpus, bm_error *err);

/* --- comparing --- */

/* Sort all unsorted sets on all threads. Sets must be in memory. */
bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err);

/* How to compare: `weighted` and `words` of the rule are taken from the corpus instead. */
typedef struct bm_comparison {
    bm_similarity_rule rule;
    bm_pool *pool;
} bm_comparison;
bm_status bm_corpus_compare(bm_corpus *corpus, const bm_comparison *how, bm_pair *pairs, size_t n,
                            bm_error *err);

/* --- bytes written to files --- */

typedef struct bm_corpus_spilled {
    uint64_t set_bytes, key_bytes; /* sizes of the files, after adding has ended; 0: no file */
    uint64_t bytes_back;           /* bytes of sets that were read back */
} bm_corpus_spilled;

bm_corpus_spilled bm_corpus_spilled_bytes(const bm_corpus *corpus);

/* corpus_range -- reads the documents of a corpus one range at a time, with their keys and sorted
 * sets, to compare them with documents outside the corpus.
 *
 * Ranges must be read before bm_corpus_end_adding. Copies and documents without shingles are
 * omitted. */

/* A range is made from at most BM_RANGE_ROWS documents, or from more if their keys and words take
 * at most 1 / BM_RANGE_PART of the memory. */
#define BM_RANGE_ROWS 8192u
#define BM_RANGE_PART 4u

/* {0} before the first range; each range reuses the memory of the previous one. */
typedef struct bm_corpus_range {
    size_t next;           /* the first document of the next range */
    size_t n;              /* documents in this range */
    uint32_t *docs;        /* numbers of these documents, ascending */
    uint32_t *sizes;       /* number of distinct shingles of each */
    uint64_t *keys;        /* n * bands */
    const uint64_t **sets; /* if the corpus stores hashes: those of each document, ascending */
    uint32_t *words;       /* if it stores words: n * cfg.words.uints */
    size_t cap, cap_keys, cap_words, cap_arena;
    uint64_t *arena; /* memory for sets that are read back from a file */
} bm_corpus_range;

/* Read the next range: documents from range->next on whose sets fit into `most` bytes, at least
 * one. BM_NOT_FOUND (and no error): none is left. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err);
void bm_corpus_range_reset(bm_corpus_range *range);
/* Copy the set of a representative to `to`: sizes[row] hashes, ascending, or cfg.words.uints
 * words. */
bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err);

/* corpus_save -- saves a corpus in one process and restores it in another.
 *
 * Sets are in a file of records (corpus_parts.h), to which bm_corpus_save_sets adds those that it
 * does not have. The caller (checkpoint_state.h) saves and restores all other columns, a block of
 * documents at a time.
 *
 * A restored corpus has its sets in the file, even if --memory would allow them in memory; no
 * result depends on that. One thread at a time, as for adding. */

/* False once band keys are being read back from a file for matching: then they become labels, and
 * the keys themselves are lost. */
static inline bool bm_corpus_can_save(const bm_corpus *corpus)
{
    return corpus->keys.state == BM_KEYS_IN_MEMORY ||
           (corpus->keys.state == BM_KEYS_IN_FILE && corpus->keys.file_bytes == 0);
}

/* The next n documents of a corpus that is restored. */
typedef struct bm_corpus_rows {
    size_t n;
    const bm_doc_row *docs;    /* for their sizes */
    const bm_hash128 *content; /* content hash of each document; NULL if `rep` is given */
    /* representative of each, if no documents will be added any more; else NULL */
    const uint32_t *rep;
    const uint64_t *keys;  /* all bands of a document side by side; NULL: no bands */
    const uint64_t *texts; /* offsets of the texts, if sets are made again; else NULL */
} bm_corpus_rows;

/* Restore rows, after bm_corpus_restore_sets. BM_ERR_FORMAT: they contradict earlier rows. */
bm_status bm_corpus_restore_rows(bm_corpus *corpus, const bm_corpus_rows *rows, bm_error *err);
/* End restoring, after all documents. BM_ERR_FORMAT: the file of sets belongs to other
 * documents. */
bm_status bm_corpus_restore_end(bm_corpus *corpus, bm_error *err);
