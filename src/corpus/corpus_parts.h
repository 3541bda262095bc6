/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_parts.h -- what a corpus is made of: one struct for each part; one file fills it.
 *
 *     bm_corpus          rows of all documents                   corpus.c
 *       copies           which documents are identical           corpus.c
 *       sets             shingle hashes, or words                corpus_sets.c
 *       keys             band keys                               corpus_sets.c
 *
 * For the files of this room. Others read the fields of bm_corpus itself, and ask functions for the
 * rest. */
#pragma once

#include <bandmill/types.h>

#include "base/column.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/threads.h"
#include "lsh/candidates.h"
#include "lsh/similarity.h"
#include "model/batches.h"
#include "model/ids.h"
#include "sign/budget.h"
#include "sign/ingest.h"
#include "spill/spill_saved.h"

typedef struct bm_corpus_cfg {
    bool hashes;         /* hold shingle hashes */
    bool weighted;       /* and after the hashes of each document their weights */
    bool find_identical; /* by their content hashes */
    uint32_t bands;      /* of the keys to hold; 0: none */
    /* Keys made elsewhere: documents have no shingles, and BM_NO_BAND_KEY is in no bucket of its
     * band. */
    bool given_keys;
    bm_word_rows words;       /* of signatures to hold in place of hashes; no uints: none */
    uint64_t memory;          /* bytes at most, with the bytes of `docs`; 0: no limit */
    const bm_doc_table *docs; /* NULL: not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* for temp_dir: how `memory` is shared */
    bm_set_recipe again;      /* of hashes without weights; no source: sets cannot be made again */
    bool never_kept;          /* sets are made again; else where that is better than a file */
    bool edges;               /* leave room for edges too */
    bool spill_now;           /* to files from the start, whatever fits: for tests */
    uint64_t input_bytes;     /* of all inputs, to foresee the files' size; 0: not known */
    uint32_t beside;          /* bytes that others hold of each document from matching on */
} bm_corpus_cfg;

/* Content hashes, to find identical documents. Freed when adding ends. */
typedef struct bm_corpus_copies {
    bm_hash128 *content; /* of each document */
    bm_column content_column;
    bool given; /* by signatures: texts that are read again must have the same */
    bm_hash_table shards[BM_DOC_SHARDS]; /* of distinct documents, by row (bm_doc_shard) */
    size_t n;                            /* the hashes of the added documents */
} bm_corpus_copies;

/* Where the sets are. They leave memory once at most (corpus_sets.c). */
typedef enum bm_sets_state {
    BM_SETS_IN_MEMORY, /* the first `saved` of them also in a file, if there is one */
    BM_SETS_IN_FILE,
    BM_SETS_AGAIN /* nowhere: they are made again of their texts */
} bm_sets_state;

/* The first records of the file, side by side: what another process may go on from. */
typedef struct bm_saved_sets {
    size_t n_docs; /* documents that have these records; copies and empty ones have none */
    uint64_t bytes, records;
} bm_saved_sets;

typedef union bm_set_place {
    uint64_t *set;   /* in memory: hashes, or words; NULL: none yet */
    uint64_t record; /* in a file */
} bm_set_place;

/* AGAIN: the set of a document that is too long to be made again. */
typedef struct bm_stored_set {
    size_t doc;
    uint64_t record;
} bm_stored_set;

typedef struct bm_corpus_sets {
    bm_sets_state state;
    uint8_t *sorted;      /* of each document: its hashes are in ascending order */
    bm_set_place *places; /* of representatives' sets; until a batch is put, the place of its first
                           * row is where its sets begin */
    bm_column sorted_column, places_column;
    size_t n_placed; /* rows */
    /* In memory: */
    char **blocks; /* what places point into */
    size_t n_blocks, cap_blocks;
    char *free; /* the rest of a block */
    size_t n_free;
    uint64_t bytes; /* of the sets in them */
    /* In a file: */
    bm_spill_file *file; /* of each representative: a record of its hashes, or its words */
    bm_saved_sets saved;
    bool in_folder; /* the named file lies in `folder`, which is open; else where its path leads */
    int folder;     /* borrowed */
    uint64_t file_bytes; /* once adding has ended */
    char *arena;         /* of sets read back */
    size_t cap_arena;
    uint64_t bytes_back; /* read back */
    /* Where they can be made again: */
    uint64_t *texts; /* of each document: where its record begins in its file */
    bm_column texts_column;
    bm_stored_set *stored; /* ascending, of records in `file` */
    size_t n_stored, cap_stored;
    struct bm_corpus_made *made; /* since they were wanted; NULL: none yet */
} bm_corpus_sets;

/* Where the keys are: a later state never becomes an earlier one. */
typedef enum bm_keys_state {
    BM_KEYS_IN_MEMORY, /* columns; none where there are no bands */
    BM_KEYS_IN_FILE,   /* blocks, and columns of the documents after them until adding ends */
    BM_KEYS_AS_LABELS  /* read back, band by band; the file is gone */
} bm_keys_state;

typedef struct bm_corpus_keys {
    bm_keys_state state;
    uint64_t **columns;  /* bands arrays: of all documents, or going to a file of block_rows */
    bm_column *pages;    /* which hold these */
    size_t begin;        /* the document that they begin with */
    bm_spill_file *file; /* a record a band of block_rows documents, bands side by side */
    size_t block_rows;
    uint64_t file_bytes;    /* once adding has ended */
    bm_band_labels *labels; /* of each band; those that are made come first */
    uint32_t n_labels;      /* so many are made, and take ... */
    uint64_t label_bytes;
} bm_corpus_keys;

/* What a corpus holds, or will hold. */
typedef struct bm_corpus_sums {
    size_t n;                     /* documents */
    size_t n_contents;            /* content hashes that differ */
    uint64_t set_bytes;           /* in memory */
    uint64_t row_bytes, id_bytes; /* of cfg.docs: all but its shards, and these */
} bm_corpus_sums;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n;
    size_t n_left;   /* the first documents: their columns in files take no memory if nobody reads
                      * them */
    uint32_t *rep;   /* first document with the same content hash; itself: none before */
    uint8_t *skip;   /* copy or empty: no candidate */
    uint32_t *sizes; /* distinct shingles */
    bm_column rep_column, skip_column, sizes_column;
    uint64_t n_identical; /* copies */
    uint64_t longest;     /* bytes of the longest text, which will be read again to be copied */
    uint64_t batch_bytes; /* of hashes of the batch being added */
    bm_corpus_sums ahead; /* with batches that are claimed: at most so many */
    bm_corpus_copies copies;
    bm_corpus_sets sets;
    bm_corpus_keys keys;
} bm_corpus;

/* Are the texts of two documents known to be the same bytes? */
static inline bool bm_corpus_same_text(const bm_corpus *corpus, size_t a, size_t b)
{
    const bm_doc_table *docs = corpus->cfg.docs;
    return docs != NULL && docs->n == corpus->n &&
           bm_doc_same_text(bm_doc_table_row(docs, a), bm_doc_table_row(docs, b));
}

static inline bool bm_corpus_sets_in_file(const bm_corpus *corpus)
{
    return corpus->sets.state == BM_SETS_IN_FILE;
}

/* Bytes of a set for each of its elements. */
static inline size_t bm_corpus_element_bytes(const bm_corpus *corpus)
{
    return sizeof(uint64_t) + (corpus->cfg.weighted ? sizeof(double) : 0);
}

/* Does a file that has a name hold sets of the corpus? */
static inline bool bm_corpus_sets_have_name(const bm_corpus *corpus)
{
    return bm_spill_has_name(corpus->sets.file);
}

/* Columns of the documents that are read in order lie in memory up to this part of it; later
 * elements lie in files. No more than the same part of these is in memory, as long as readers leave
 * the maps after BM_DOC_LEAVE_ROWS documents. Columns of matching and grouping lie in files too,
 * then. */
#define BM_COLUMNS_PART 64u
#define BM_COLUMNS_DOC  40u /* bytes of them, at most */

static inline uint64_t bm_corpus_columns_part(const bm_corpus *corpus)
{
    return corpus->cfg.memory / BM_COLUMNS_PART;
}

/* Are columns of the corpus in files? */
static inline bool bm_corpus_is_apart(const bm_corpus *corpus)
{
    return bm_column_has_file(&corpus->rep_column);
}

void bm_corpus_leave(const bm_corpus *corpus);
/* Make the empty column so large, with zeros: in a file where columns of the corpus are. */
bm_status bm_corpus_new_column(const bm_corpus *corpus, size_t bytes, bm_column *out,
                               bm_error *err);
/* The same for what grouping needs beside what docs/memory.md counts: in a file also where
 * cfg.memory has not so much left. */
bm_status bm_corpus_new_column_beside(const bm_corpus *corpus, size_t bytes, bm_column *out,
                                      bm_error *err);

/* corpus_sets -- the sets of a corpus: shingle hashes, or words, in memory or in a file.
 *
 * A file has the record of each representative in input order. It may have a name and outlive the
 * process, so that another one goes on from it.
 *
 *     state        save                     move          restore
 *     IN_MEMORY    copies what is new       -> IN_FILE    -> IN_FILE (of an empty corpus)
 *     IN_FILE      counts what is new
 *     AGAIN        nothing                  nothing
 *
 * A corpus begins with AGAIN, or goes there from IN_MEMORY, where cfg.again allows that: in place
 * of a move. A restored one is as it was saved. The file of a saved corpus has a name, and that is
 * no state: saving names the file that there is, or a new one, to which sets in memory are copied.
 *
 * The state changes no result. Threads: one at a time, but for bm_corpus_put_sets and readers. */

/* Rows first … first+n-1 have sizes, rep and skip, but no sets yet. */
void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n);
/* Sets side by side. */
typedef struct bm_set_sums {
    uint64_t bytes, n; /* with the bytes between them; copies have none */
} bm_set_sums;

/* Of rows first … end-1, where sets are now: in memory or in a file. */
bm_set_sums bm_corpus_sum_sets(const bm_corpus *corpus, size_t first, size_t end);
/* A place for the sets of n rows from `first`, which these are the sums of, in memory or in the
 * file: bm_corpus_put_sets fills it. */
bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, const bm_set_sums *sums,
                               bm_error *err);
/* Put the hashes of a batch, or its words (cfg.words.uints each), to the place of the rows from
 * `first`. Any thread. */
bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err);
/* Move the sets in memory to a file; `bytes` of sets, the next batch included, are expected. BM_OK
 * if they are in a file already. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err);
/* Sets in memory are freed, to be made again. */
void bm_corpus_drop_sets(bm_corpus *corpus);
/* Adding has ended: write the buffered bytes. A second call is fine. */
bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_sets_reset(bm_corpus_sets *sets);

/* Sets of representatives one after another, wherever they lie; one thread each. {.corpus = …} is
 * the beginning. */
typedef struct bm_set_reader {
    const bm_corpus *corpus; /* borrowed */
    bm_spill_get get;
    void *own; /* of a set that is read back */
    size_t cap_own;
    bm_sorter sorter; /* for whoever sorts the sets that were copied */
} bm_set_reader;

void bm_set_reader_reset(bm_set_reader *reader);
/* The set of `row`, in the form that the corpus holds. If sets are in a file, *out is good until
 * the next call. */
bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err);
/* Copy it, `len` bytes, to `to`. */
bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len,
                             bm_error *err);

/* From now on the file that sets are saved to, or restored from, lies in this open folder
 * (bm_name_in), which is borrowed. */
void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder);
/* Bring the sets of all documents into the file `path`, where they stay; sets.saved is how much of
 * the file they fill. The same path every time. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* Bytes of sets that bm_corpus_save_sets would write now, about. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* An empty corpus takes over the file that was saved, of so many bytes and records. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);
/* Rows first … first+n-1 have their records after the rows that were placed before. */
void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n);

/* corpus_again -- sets made again of their texts; state AGAIN alone. */

/* Would making the set of so long a text need more memory than there is for that? Such sets go to a
 * file, though the state is AGAIN: `place` in the order of documents, `put` by any thread; or all
 * those that are in memory, before it becomes AGAIN. */
bool bm_corpus_too_long_to_make(const bm_corpus *corpus, uint64_t text_bytes);
bm_status bm_corpus_store_long(bm_corpus *corpus, bm_error *err);
bm_status bm_corpus_place_long(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
bm_status bm_corpus_put_long(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             size_t first, bm_error *err);
/* While documents are added, `read` bytes of the inputs so far: will so few of them be candidates
 * that making their sets again costs less than a file of all sets? */
bm_status bm_corpus_few_candidates(const bm_corpus *corpus, uint64_t read, bool *few,
                                   bm_error *err);
/* Have the sets of the first *n_made of n pairs at hand, of one pair at least, sorted. Those that
 * were made before may be gone then. BM_ERR_INPUT names a record that has changed. */
bm_status bm_corpus_make_sets(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                              size_t *n_made, bm_error *err);
/* The set of a representative, which is in memory. */
const uint64_t *bm_corpus_made_set(const bm_corpus *corpus, uint32_t doc);
void bm_corpus_made_close(struct bm_corpus_made *made); /* NULL is fine */

/* corpus_keys -- the band keys of a corpus: columns in memory, or blocks in a file that come back
 * as labels.
 *
 *     state        changed by
 *     IN_MEMORY
 *     IN_FILE      bm_corpus_move_keys   columns become blocks of the file; bm_corpus_keys_end
 *                                        writes the last one
 *     AS_LABELS    bm_corpus_keyset      bands are read back, one by one; the file is gone
 *
 * Each state follows the one above it, or the job ends before; keys that were made elsewhere go
 * from the first to the last where they are in memory. Which of them changes no result. Threads:
 * one at a time, but for bm_corpus_put_keys. */

/* Room for the keys of n documents in all, where keys are in memory. */
bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t n, bm_error *err);
/* Append the keys of n documents, those of one document side by side, to the file of keys. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* The same for keys in memory, at document `first`. Any thread. */
void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n);
/* Move the keys from memory to a file. BM_OK also where there are none, or they are in one. */
bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err);
/* Adding has ended: write the buffered bytes. A second call is fine. */
bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_keys_reset(bm_corpus *corpus);

/* All keys, for the search for candidates; as labels where they are in a file. Adding has ended. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);

/* The keys of n documents from `first`, bands of each side by side: n * bands. In memory, or going
 * to a file. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

/* corpus_memory -- memory for more documents: columns grow, sets and keys move to files. */

typedef struct bm_corpus_more {
    size_t docs;
    uint64_t set_bytes;        /* of their sets, at most */
    uint64_t batch_bytes;      /* of the hashes that come, copies too, which stay for that long */
    uint64_t longest;          /* bytes of their longest text */
    uint64_t input_bytes_read; /* so far, to foresee the files' size */
} bm_corpus_more;

/* The `reclaim` of an ingest (ingest_cfg.h); ctx is the corpus: sets go to a file where the bytes
 * that are wanted are not free. */
bm_status bm_corpus_reclaim(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);

/* corpus_budget -- does the job fit into --memory, and its files onto the disk? */

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets that are written at a time */
#define BM_KEYS_BUFFER ((size_t)1 << 20) /* bytes of a block of keys, about */

bm_corpus_sums bm_corpus_sums_now(const bm_corpus *corpus);
/* Bytes of the job at its fullest. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, const bm_corpus_sums *sums);
/* Bytes of cfg.memory that nothing holds while documents are added, but for batches. */
uint64_t bm_corpus_free_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM when the held bytes and `more` exceed cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* The same for the time of matching alone, which needs no room for grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Bytes that cfg.memory leaves for matching, 1 at least; 0: there is no bound. */
uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM: `needed` bytes for n documents are more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);
