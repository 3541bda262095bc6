/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_parts.h -- the parts of a corpus: each part is a struct that one file fills.
 *
 *     bm_corpus          rows of all documents                   corpus.c
 *       copies           which documents are identical           sign/doc_copies.c
 *       sets             shingle hashes, or words                corpus_sets.c
 *       keys             band keys                               corpus_sets.c
 *
 * This header is for the files of src/corpus. Other code reads only direct members of bm_corpus,
 * and calls functions for everything else. */
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
#include "sign/doc_copies.h"
#include "sign/ingest.h"
#include "spill/spill_saved.h"

typedef struct bm_corpus_cfg {
    bool hashes;         /* store shingle hashes */
    bool weighted;       /* store the weights of each document too, after its hashes */
    bool find_identical; /* find identical documents by their content hashes */
    uint32_t bands;      /* number of bands whose keys are stored; 0: no keys */
    /* Another program made the band keys, and documents have no shingles. If a document's key in a
     * band is BM_NO_BAND_KEY, the document is in no bucket of that band. */
    bool given_keys;
    /* form of signatures, if they are stored instead of hashes; uints 0: they are not */
    bm_word_rows words;
    uint64_t memory;          /* limit for the bytes of the whole job, including `docs`; 0: no
                               * limit */
    const bm_doc_table *docs; /* rows and ids of the documents; NULL: their memory is not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* how `memory` is divided; used only with temp_dir */
    /* for hashes without weights: how to make sets again; source NULL: sets cannot be made again */
    bm_set_recipe again;
    /* true: sets are never stored, but always made again; false: sets are made again only if that
     * is cheaper than a file */
    bool never_kept;
    bool edges;           /* reserve memory for edges */
    bool spill_now;       /* for tests: use files from the start, even if memory suffices */
    uint64_t input_bytes; /* bytes of all inputs, to estimate the size of files; 0: unknown */
    /* bytes for each document that other code uses during matching and grouping */
    uint32_t beside;
} bm_corpus_cfg;

/* Where the sets are. This changes at most once, when sets are moved out of memory
 * (corpus_sets.c). */
typedef enum bm_sets_state {
    BM_SETS_IN_MEMORY, /* if a named file exists, it has copies of the first `saved` sets */
    BM_SETS_IN_FILE,
    BM_SETS_AGAIN /* sets are not stored, but made again from the texts */
} bm_sets_state;

/* The records without gaps at the beginning of the file. Another process can continue from them. */
typedef struct bm_saved_sets {
    /* number of documents that the records cover; copies and empty documents have no record */
    size_t n_docs;
    uint64_t bytes, records;
} bm_saved_sets;

typedef union bm_set_place {
    uint64_t *set;   /* sets in memory: the hashes or words; NULL: not stored yet */
    uint64_t record; /* sets in a file: offset of the record */
} bm_set_place;

/* A set that is stored even in state AGAIN, because its document is too long for making the set
 * again. */
typedef struct bm_stored_set {
    size_t doc;
    uint64_t record;
} bm_stored_set;

typedef struct bm_corpus_sets {
    bm_sets_state state;
    uint8_t *sorted; /* for each document: whether its hashes are in ascending order */
    /* the place of each representative's set. Until bm_corpus_put_sets is called for a batch, the
     * place of its first row is where the sets of the batch begin */
    bm_set_place *places;
    bm_column sorted_column, places_column;
    size_t n_placed; /* number of rows that have places */
    /* Used while sets are in memory: */
    bm_column column; /* the sets, one after another; `places` point to them */
    uint64_t bytes;   /* bytes of the sets in `column` */
    /* Used while sets are in a file: */
    bm_spill_file *file; /* one record for each representative: its hashes or words */
    bm_saved_sets saved;
    bool in_folder;      /* true: the file's name is relative to `folder`; false: the name is a
                          * path */
    int folder;          /* borrowed: an open folder */
    uint64_t file_bytes; /* size of the file; set when adding ends */
    char *arena;         /* memory for sets that are read back */
    size_t cap_arena;
    uint64_t bytes_back; /* bytes of sets that were read back */
    /* Used if sets can be made again: */
    uint64_t *texts; /* for each document: offset of its record in the input file */
    bm_column texts_column;
    bm_stored_set *stored; /* ascending by document; `file` has the records */
    size_t n_stored, cap_stored;
    struct bm_corpus_made *made; /* sets that were made again; NULL: none yet */
} bm_corpus_sets;

/* Where the keys are. The state never goes back to an earlier one. */
typedef enum bm_keys_state {
    BM_KEYS_IN_MEMORY, /* in columns; without bands there are no columns */
    BM_KEYS_IN_FILE,   /* in blocks of a file; until adding ends, the columns have the keys of the
                        * last documents */
    BM_KEYS_AS_LABELS  /* labels instead of keys; the file is closed */
} bm_keys_state;

typedef struct bm_corpus_keys {
    bm_keys_state state;
    /* one array for each band: the keys of all documents; if keys are in a file, those of at most
     * block_rows documents */
    uint64_t **columns;
    bm_column *pages;    /* memory of the arrays `columns` */
    size_t begin;        /* the first document whose keys are in `columns` */
    bm_spill_file *file; /* for each block of block_rows documents: one record for each band */
    size_t block_rows;
    uint64_t file_bytes;    /* size of the file; set when adding ends */
    bm_band_labels *labels; /* one for each band; the first n_labels of them are finished */
    uint32_t n_labels;
    uint64_t label_bytes;
} bm_corpus_keys;

/* Sizes of what a corpus stores now, or would store after more documents. */
typedef struct bm_corpus_sums {
    size_t n;                     /* number of documents */
    size_t n_contents;            /* number of distinct content hashes */
    uint64_t set_bytes;           /* sets in memory */
    uint64_t row_bytes, id_bytes; /* memory of cfg.docs: the rows, and the shards of ids */
} bm_corpus_sums;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n;
    /* number of documents when file pages of columns were last removed from memory */
    size_t n_left;
    uint32_t *rep; /* for each document: the first document with the same content hash, which may be
                    * itself */
    /* for each document: non-zero if it is a copy or empty, so it is never a candidate */
    uint8_t *skip;
    uint32_t *sizes; /* for each document: number of distinct shingles */
    bm_column rep_column, skip_column, sizes_column;
    bool was_apart;       /* rep_column was in a file before matching began */
    uint64_t n_identical; /* number of copies */
    uint64_t longest;     /* bytes of the longest text; used because texts may be read again */
    uint64_t batch_bytes; /* bytes of hashes in the batch that is being added */
    bm_corpus_sums ahead; /* upper bounds that include batches which are claimed, but not added
                           * yet */
    bm_doc_copies copies; /* freed when adding ends */
    bm_corpus_sets sets;
    bm_corpus_keys keys;
} bm_corpus;

/* Is it known that the two documents have the same text? */
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

/* Bytes of one element of a set: the hash and, in weighted sets, the weight. */
static inline size_t bm_corpus_element_bytes(const bm_corpus *corpus)
{
    return sizeof(uint64_t) + (corpus->cfg.weighted ? sizeof(double) : 0);
}

/* Do the sets have a named file? */
static inline bool bm_corpus_sets_have_name(const bm_corpus *corpus)
{
    return bm_spill_has_name(corpus->sets.file);
}

/* Columns of documents that are read in order may take 1 / BM_COLUMNS_PART of the memory. If they
 * need more, their elements are stored in files. Pages of these files take at most the same part,
 * if readers call bm_corpus_leave every BM_DOC_LEAVE_ROWS documents. If these columns are in files,
 * the columns of matching and grouping are too. */
#define BM_COLUMNS_PART 64u
#define BM_COLUMNS_DOC  40u /* most bytes of these columns for one document */

static inline uint64_t bm_corpus_columns_part(const bm_corpus *corpus)
{
    return corpus->cfg.memory / BM_COLUMNS_PART;
}

/* Are columns of the corpus in files? If they were before matching began, those of matching and
 * grouping are, although `rep` and `sizes` are in memory by then. */
static inline bool bm_corpus_is_apart(const bm_corpus *corpus)
{
    return bm_column_has_file(&corpus->rep_column) || corpus->was_apart;
}

void bm_corpus_leave(const bm_corpus *corpus);
/* Make a column `out` of `bytes` zero bytes. It is in a file if columns of the corpus are. */
bm_status bm_corpus_new_column(const bm_corpus *corpus, size_t bytes, bm_column *out,
                               bm_error *err);
/* Like bm_corpus_new_column, for memory of grouping that docs/memory.md does not count. If
 * cfg.memory leaves too little, the column is in a file in that case too. */
bm_status bm_corpus_new_column_beside(const bm_corpus *corpus, size_t bytes, bm_column *out,
                                      bm_error *err);

/* corpus_sets -- the sets of a corpus: shingle hashes or words, in memory or in a file.
 *
 * The file has a record for each representative, in input order. A file that has a name outlives
 * the process, so that another process can continue with it.
 *
 *     state        save                     move          restore
 *     IN_MEMORY    copies new sets          -> IN_FILE    -> IN_FILE (of an empty corpus)
 *     IN_FILE      counts new records
 *     AGAIN        nothing                  nothing
 *
 * If cfg.again allows it, a corpus begins in state AGAIN, or changes to it instead of moving sets
 * to a file. A corpus that was saved in state AGAIN is restored in state AGAIN. If a file exists,
 * saving gives it a name. If sets are in memory, saving makes a named file and copies them to it.
 * The state does not show whether a file has a name.
 *
 * No result depends on the state. One thread at a time, except for bm_corpus_put_sets and
 * readers. */

/* Mark rows first … first+n-1 as rows without sets. In state AGAIN this does nothing. */
void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n);
/* Size of sets that are stored one after another. */
typedef struct bm_set_sums {
    /* bytes of the sets, with the gaps or record headers between them; number of sets. Copies have
     * no sets */
    uint64_t bytes, n;
} bm_set_sums;

/* The size of a batch's sets in the current form of storage. Copies in the batch must have been
 * found. */
bm_set_sums bm_corpus_sum_batch(const bm_corpus *corpus, const bm_ingest_batch *batch);
/* The size of the sets of rows first … end-1 in the current form of storage: in memory or in a
 * file. */
bm_set_sums bm_corpus_sum_sets(const bm_corpus *corpus, size_t first, size_t end);
/* Reserve memory, or space in the file, for the sets of n rows from `first`. `sums` is their size.
 * bm_corpus_put_sets stores the sets there. */
bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, const bm_set_sums *sums,
                               bm_error *err);
/* Copy a batch's hashes, or its words (cfg.words.uints for each document), to the space reserved
 * for the rows from `first`. Copies and empty documents are passed over. Any thread. */
bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err);
/* Move the sets from memory to a file. `bytes`: expected bytes of all sets, including the next
 * batch. If sets are in a file already, or are not stored at all, this does nothing. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err);
/* Free the sets in memory, and change the state to AGAIN. */
void bm_corpus_drop_sets(bm_corpus *corpus);
/* Write buffered bytes, after adding has ended. A second call does nothing. */
bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_sets_reset(bm_corpus_sets *sets);

/* Reads sets of representatives one after another from where they are stored. A reader belongs to
 * one thread. Start with {.corpus = …}. */
typedef struct bm_set_reader {
    const bm_corpus *corpus; /* borrowed */
    bm_spill_get get;
    void *own; /* memory for a set that is read back */
    size_t cap_own;
    bm_sorter sorter; /* for callers that sort the sets that they copied */
    size_t left_for;  /* 1 + the row at which pages were last removed from memory; 0: never */
} bm_set_reader;

void bm_set_reader_reset(bm_set_reader *reader);
/* Set *out to the set of `row`, in the form in which the corpus stores it. If sets are in a file,
 * *out is valid until the next call with this reader. */
bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err);
/* Copy the set of `row`, which has `len` bytes, to `to`. */
bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len,
                             bm_error *err);

/* From now on, the names of saved files are relative to this open folder (bm_name_in). The
 * descriptor is borrowed. */
void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder);
/* Store the sets of all documents in the file `path`, which the process does not delete. sets.saved
 * then describes the records in the file. Pass the same path every time. If the corpus stores no
 * sets, this does nothing. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* Approximate bytes of sets that bm_corpus_save_sets would write now. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* Make an empty corpus use the saved file `path`, which must have at least `bytes` bytes and
 * `records` records. If there are no records and sets can be made again, the state becomes AGAIN
 * instead. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);
/* If sets are in a file, set the places of rows first … first+n-1. Their records follow the records
 * of earlier rows. */
void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n);

/* corpus_again -- makes sets again from their texts, in state AGAIN. */

/* Is the state AGAIN, and would making the set of a text of this length need too much memory? Such
 * a set is stored in a file even in state AGAIN. bm_corpus_place_long, called in document order,
 * reserves the space. bm_corpus_put_long, on any thread, stores the sets there.
 * bm_corpus_store_long, called before the state becomes AGAIN, stores those sets that are in
 * memory. */
bool bm_corpus_too_long_to_make(const bm_corpus *corpus, uint64_t text_bytes);
bm_status bm_corpus_store_long(bm_corpus *corpus, bm_error *err);
bm_status bm_corpus_place_long(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
bm_status bm_corpus_put_long(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             size_t first, bm_error *err);
/* Set *few to whether so few candidates are expected that making their sets again costs less than a
 * file of all sets. Called while documents are added, when `read` bytes of the inputs were read. If
 * keys are not in memory, *few becomes false. */
bm_status bm_corpus_few_candidates(const bm_corpus *corpus, uint64_t read, bool *few,
                                   bm_error *err);
/* Make and sort the sets of the first pairs. Sets *n_made to the number of these pairs, which is
 * between 1 and n. Sets that were made earlier may be dropped. BM_ERR_INPUT: a record has changed;
 * the message names it. */
bm_status bm_corpus_make_sets(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                              size_t *n_made, bm_error *err);
/* The set of a representative, which must be in a pair for which the last bm_corpus_make_sets made
 * sets. */
const uint64_t *bm_corpus_made_set(const bm_corpus *corpus, uint32_t doc);
void bm_corpus_made_close(struct bm_corpus_made *made); /* may be NULL */

/* corpus_keys -- the band keys of a corpus: columns in memory, or blocks in a file that are read
 * back as labels.
 *
 *     state        reached by
 *     IN_MEMORY
 *     IN_FILE      bm_corpus_move_keys   columns become blocks of the file; bm_corpus_keys_end
 *                                        writes the last block
 *     AS_LABELS    bm_corpus_keyset      bands are read back, one by one; the file is closed
 *
 * The states follow each other in this order, and the job may end in any of them. If another
 * program made the keys (cfg.given_keys) and they are in memory, IN_FILE is skipped. No result
 * depends on the state. One thread at a time, except for bm_corpus_put_keys. */

/* If keys are in memory, make room for the keys of n documents in total. */
bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t n, bm_error *err);
/* If keys are in a file, append the keys of n documents. In `keys`, all keys of a document are side
 * by side. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* If keys are in memory, store the keys of n documents from `first`. Any thread. */
void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n);
/* Move the keys from memory to a file. If there are no keys, or if they are in a file already, this
 * does nothing. */
bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err);
/* Write buffered keys, after adding has ended. A second call does nothing. */
bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_keys_reset(bm_corpus *corpus);

/* Fill `out` for the search for candidates, with keys or labels. Keys in a file become labels, and
 * so do the keys of another program (cfg.given_keys). Adding must have ended. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);

/* Copy the keys of n documents, beginning with document number `first`, into `to`: n * bands keys,
 * those of a document side by side. The keys may be in memory or in a file. Call this before
 * bm_corpus_keyset makes labels of them. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

/* corpus_memory -- makes space for more documents: columns grow, and sets and keys are moved to
 * files. */

typedef struct bm_corpus_more {
    size_t docs;
    uint64_t set_bytes; /* most bytes that the sets of these documents can have */
    /* bytes of hashes in the batch, including those of copies, which are in memory while it is
     * added */
    uint64_t batch_bytes;
    uint64_t longest;          /* bytes of the longest text */
    uint64_t input_bytes_read; /* bytes of the inputs read so far, to estimate the size of files */
} bm_corpus_more;

/* The `reclaim` of an ingest (ingest_cfg.h); ctx is the corpus. If fewer than `wanted` bytes are
 * free, sets are moved to a file or dropped, if there is a temp_dir and they are large enough. Sets
 * *free to the number of bytes that are free then. */
bm_status bm_corpus_reclaim(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);

/* corpus_budget -- does the job fit into --memory, and do its files fit onto the disk? */

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets written at a time */
#define BM_KEYS_BUFFER ((size_t)1 << 20) /* approximate bytes of a block of keys */

bm_corpus_sums bm_corpus_sums_now(const bm_corpus *corpus);
/* The most bytes of memory that a job needs if its corpus has these sums. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, const bm_corpus_sums *sums);
/* Bytes of cfg.memory that are free while documents are added, if no batch is in memory. */
uint64_t bm_corpus_free_bytes(const bm_corpus *corpus);
/* Fail with BM_ERR_NOMEM if the peak memory of the job plus `more` bytes exceeds cfg.memory (0: no
 * limit). */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Like bm_corpus_check_memory, but considers only the memory of matching, not of reading or
 * grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Bytes of cfg.memory that are left for matching, at least 1; 0: cfg.memory sets no limit. */
uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus);
/* Fill *err with BM_ERR_NOMEM, and return it: n documents need `needed` bytes, more than
 * cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);
