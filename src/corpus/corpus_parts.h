/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_parts.h -- the parts of a corpus: one struct for each part, filled by one file.
 *
 *     bm_corpus          rows of all documents                   corpus.c
 *       copies           which documents are identical           sign/doc_copies.c
 *       sets             shingle hashes, or words                corpus_sets.c
 *       keys             band keys                               corpus_sets.c
 *
 * For the files of src/corpus. Other code reads only the direct members of bm_corpus, and calls
 * functions for the rest. */
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
    bool weighted;       /* store each document's weights too, after its hashes */
    bool find_identical; /* find identical documents by their content hashes */
    uint32_t bands;      /* bands of the keys to store; 0: no keys */
    /* Keys were made elsewhere: documents have no shingles, and a document whose key is
     * BM_NO_BAND_KEY is in no bucket of that band. */
    bool given_keys;
    /* form of the signatures that are stored instead of hashes; uints 0: none are */
    bm_word_rows words;
    uint64_t memory;          /* most bytes of the job, including those of `docs`; 0: no limit */
    const bm_doc_table *docs; /* the documents' rows and ids; NULL: their memory is not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* how `memory` is divided; used only with temp_dir */
    /* how to make sets again, for hashes without weights; source NULL: they cannot be made again */
    bm_set_recipe again;
    /* sets are never stored, but always made again; else only if that is cheaper than a file */
    bool never_kept;
    bool edges;           /* reserve memory for edges too */
    bool spill_now;       /* use files from the start, even if memory suffices: for tests */
    uint64_t input_bytes; /* bytes of all inputs, to estimate the size of files; 0: unknown */
    /* bytes for each document that other code allocates from matching on */
    uint32_t beside;
} bm_corpus_cfg;

/* Where the sets are. They are moved out of memory at most once (corpus_sets.c). */
typedef enum bm_sets_state {
    BM_SETS_IN_MEMORY, /* if there is a file, it has the first `saved` sets too */
    BM_SETS_IN_FILE,
    BM_SETS_AGAIN /* nowhere: made again from the texts */
} bm_sets_state;

/* The contiguous records at the beginning of the file, from which another process may continue. */
typedef struct bm_saved_sets {
    /* documents that these records cover; copies and empty documents have no record */
    size_t n_docs;
    uint64_t bytes, records;
} bm_saved_sets;

typedef union bm_set_place {
    uint64_t *set;   /* in memory: hashes, or words; NULL: none yet */
    uint64_t record; /* in a file: offset of the record */
} bm_set_place;

/* In state AGAIN: the stored set of a document that is too long for making its set again. */
typedef struct bm_stored_set {
    size_t doc;
    uint64_t record;
} bm_stored_set;

typedef struct bm_corpus_sets {
    bm_sets_state state;
    uint8_t *sorted; /* of each document: whether its hashes are in ascending order */
    /* where the set of each representative is. Until bm_corpus_put_sets, the place of a batch's
     * first row is where all sets of the batch begin */
    bm_set_place *places;
    bm_column sorted_column, places_column;
    size_t n_placed; /* rows whose sets have places */
    /* In memory: */
    bm_column column; /* sets one after another; places point into it */
    uint64_t bytes;   /* bytes of these sets */
    /* In a file: */
    bm_spill_file *file; /* a record for each representative, with its hashes or words */
    bm_saved_sets saved;
    bool in_folder;      /* the file's name is relative to the open `folder`; else it is a path */
    int folder;          /* borrowed */
    uint64_t file_bytes; /* size of the file, after adding has ended */
    char *arena;         /* memory for sets that are read back */
    size_t cap_arena;
    uint64_t bytes_back; /* bytes of sets that were read back */
    /* If sets can be made again: */
    uint64_t *texts; /* of each document: offset of its record in the input file */
    bm_column texts_column;
    bm_stored_set *stored; /* ascending by document; the records are in `file` */
    size_t n_stored, cap_stored;
    struct bm_corpus_made *made; /* sets that were made again; NULL: none were */
} bm_corpus_sets;

/* Where the keys are. The state only changes to a later one. */
typedef enum bm_keys_state {
    BM_KEYS_IN_MEMORY, /* columns; none if there are no bands */
    BM_KEYS_IN_FILE,   /* in blocks; until adding ends, the last documents' keys are in columns */
    BM_KEYS_AS_LABELS  /* read back band by band and made into labels; the file is closed */
} bm_keys_state;

typedef struct bm_corpus_keys {
    bm_keys_state state;
    /* an array for each band: the keys of all documents or, with a file, of at most block_rows
     * documents */
    uint64_t **columns;
    bm_column *pages;    /* the memory of `columns` */
    size_t begin;        /* the first document in `columns` */
    bm_spill_file *file; /* a record for each band of each block of block_rows documents */
    size_t block_rows;
    uint64_t file_bytes;    /* size of the file, after adding has ended */
    bm_band_labels *labels; /* of each band; the first n_labels are finished */
    uint32_t n_labels;      /* number of finished labels */
    uint64_t label_bytes;
} bm_corpus_keys;

/* Sums of what a corpus stores, or will store. */
typedef struct bm_corpus_sums {
    size_t n;                     /* documents */
    size_t n_contents;            /* distinct content hashes */
    uint64_t set_bytes;           /* bytes of the sets in memory */
    uint64_t row_bytes, id_bytes; /* bytes of cfg.docs: of the rows, and of the shards of ids */
} bm_corpus_sums;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n;
    /* documents added before the file pages of columns were last removed from memory */
    size_t n_left;
    uint32_t *rep; /* of each document: the first one with the same content hash, maybe itself */
    /* of each document: non-zero if it is a copy or empty, and so never a candidate */
    uint8_t *skip;
    uint32_t *sizes; /* of each document: number of distinct shingles */
    bm_column rep_column, skip_column, sizes_column;
    bool was_apart; /* rep_column was in a file before matching began */
    uint64_t n_identical; /* number of copies */
    uint64_t longest;     /* bytes of the longest text, since texts may be read again */
    uint64_t batch_bytes; /* bytes of the hashes of the batch being added */
    bm_corpus_sums ahead; /* upper bounds, including batches that are claimed but not added yet */
    bm_doc_copies copies; /* freed when adding ends */
    bm_corpus_sets sets;
    bm_corpus_keys keys;
} bm_corpus;

/* Are the texts of two documents known to be identical? */
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

/* Bytes of an element of a set. */
static inline size_t bm_corpus_element_bytes(const bm_corpus *corpus)
{
    return sizeof(uint64_t) + (corpus->cfg.weighted ? sizeof(double) : 0);
}

/* Is there a named file with sets of the corpus? */
static inline bool bm_corpus_sets_have_name(const bm_corpus *corpus)
{
    return bm_spill_has_name(corpus->sets.file);
}

/* Columns of documents that are read in order may take 1 / BM_COLUMNS_PART of the memory; beyond
 * that, elements are stored in files. Pages of these files take at most the same part, if readers
 * call bm_corpus_leave every BM_DOC_LEAVE_ROWS documents. If columns are in files, those of
 * matching and grouping are too. */
#define BM_COLUMNS_PART 64u
#define BM_COLUMNS_DOC  40u /* most bytes of these columns for a document */

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
/* Make the empty column `out` of `bytes` bytes, filled with zeros. It is in a file if columns of
 * the corpus are. */
bm_status bm_corpus_new_column(const bm_corpus *corpus, size_t bytes, bm_column *out,
                               bm_error *err);
/* The same for memory of grouping that docs/memory.md does not count: the column is also in a file
 * if cfg.memory has too little left. */
bm_status bm_corpus_new_column_beside(const bm_corpus *corpus, size_t bytes, bm_column *out,
                                      bm_error *err);

/* corpus_sets -- the sets of a corpus: shingle hashes, or words, in memory or in a file.
 *
 * A file has the record of each representative, in input order. It may have a name and outlive the
 * process, so that another process can continue with it.
 *
 *     state        save                     move          restore
 *     IN_MEMORY    copies new sets          -> IN_FILE    -> IN_FILE (of an empty corpus)
 *     IN_FILE      counts new records
 *     AGAIN        nothing                  nothing
 *
 * If cfg.again allows it, a corpus begins as AGAIN, or changes from IN_MEMORY to AGAIN instead of
 * moving sets to a file. A restored AGAIN corpus is AGAIN. Saving gives the existing file a name,
 * or makes a named file and copies sets in memory to it; the state does not tell whether a file has
 * a name.
 *
 * The state changes no result. One thread at a time, except for bm_corpus_put_sets and readers. */

/* Mark rows first … first+n-1 as having no sets yet. Their sizes, rep and skip must be set. */
void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n);
/* Sums over sets that are stored one after another. */
typedef struct bm_set_sums {
    /* bytes of the sets and of the gaps or record headers between them; number of sets. Copies have
     * none */
    uint64_t bytes, n;
} bm_set_sums;

/* The sums of a batch's sets, as sets are stored now, once its copies are found. */
bm_set_sums bm_corpus_sum_batch(const bm_corpus *corpus, const bm_ingest_batch *batch);
/* The sums of rows first … end-1, as the sets are stored now: in memory or in a file. */
bm_set_sums bm_corpus_sum_sets(const bm_corpus *corpus, size_t first, size_t end);
/* Reserve memory, or space in the file, for the sets of n rows from `first`, which have these sums.
 * bm_corpus_put_sets fills it. */
bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, const bm_set_sums *sums,
                               bm_error *err);
/* Copy the hashes of a batch, or its words (cfg.words.uints of each), to the space reserved for the
 * rows from `first`. Any thread. */
bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err);
/* Move the sets from memory to a file. `bytes`: expected bytes of sets, including the next batch.
 * BM_OK also if sets are in a file already. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err);
/* Free the sets in memory; the state becomes AGAIN. */
void bm_corpus_drop_sets(bm_corpus *corpus);
/* Write buffered bytes, after adding has ended. A second call does nothing. */
bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_sets_reset(bm_corpus_sets *sets);

/* Reads sets of representatives one after another, wherever they are stored. One thread for each
 * reader. Start with {.corpus = …}. */
typedef struct bm_set_reader {
    const bm_corpus *corpus; /* borrowed */
    bm_spill_get get;
    void *own; /* memory for a set that is read back */
    size_t cap_own;
    bm_sorter sorter; /* for callers that sort copied sets */
    size_t left_for;  /* 1 + the last row for which pages were removed from memory; 0: none */
} bm_set_reader;

void bm_set_reader_reset(bm_set_reader *reader);
/* Set *out to the set of `row`, in the form in which the corpus stores it. If sets are in a file,
 * *out is valid until the next call. */
bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err);
/* Copy the set of `row`, which has `len` bytes, to `to`. */
bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len,
                             bm_error *err);

/* From now on, names of saved files are relative to this open folder (bm_name_in), which is
 * borrowed. */
void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder);
/* Store the sets of all documents in the file `path`, which is not deleted later. sets.saved
 * becomes the part of the file with these sets. Pass the same path every time. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* About how many bytes of sets bm_corpus_save_sets would write now. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* Let an empty corpus use the saved file, which must have at least `bytes` bytes and `records`
 * records. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);
/* Set the places of rows first … first+n-1, whose records follow those of earlier rows. */
void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n);

/* corpus_again -- sets made again from their texts; only in state AGAIN. */

/* Would making the set of a text of this length need too much memory? Such sets are stored in a
 * file even in state AGAIN. place_long, in document order, reserves the space, and put_long, on any
 * thread, fills it. store_long stores all such sets that are in memory, before the state becomes
 * AGAIN. */
bool bm_corpus_too_long_to_make(const bm_corpus *corpus, uint64_t text_bytes);
bm_status bm_corpus_store_long(bm_corpus *corpus, bm_error *err);
bm_status bm_corpus_place_long(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
bm_status bm_corpus_put_long(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             size_t first, bm_error *err);
/* Set *few: will there be so few candidates that making their sets again costs less than a file of
 * all sets? Called while documents are added, after `read` bytes of the inputs were read. */
bm_status bm_corpus_few_candidates(const bm_corpus *corpus, uint64_t read, bool *few,
                                   bm_error *err);
/* Make and sort the sets of the first *n_made of n pairs, at least of one pair. Sets that were made
 * earlier may be dropped. BM_ERR_INPUT: a record has changed; the message names it. */
bm_status bm_corpus_make_sets(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                              size_t *n_made, bm_error *err);
/* The set of a representative, which bm_corpus_make_sets must have made for the current pairs. */
const uint64_t *bm_corpus_made_set(const bm_corpus *corpus, uint32_t doc);
void bm_corpus_made_close(struct bm_corpus_made *made); /* NULL is fine */

/* corpus_keys -- the band keys of a corpus: columns in memory, or blocks in a file that are read
 * back as labels.
 *
 *     state        reached by
 *     IN_MEMORY
 *     IN_FILE      bm_corpus_move_keys   columns become blocks of the file; bm_corpus_keys_end
 *                                        writes the last block
 *     AS_LABELS    bm_corpus_keyset      bands are read back, one by one; the file is closed
 *
 * The states are reached in this order, and the job may end in any of them. Keys that were made
 * elsewhere and are in memory go from the first state to the last. The state changes no result. One
 * thread at a time, except for bm_corpus_put_keys. */

/* Make room for the keys of n documents in total, if keys are in memory. */
bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t n, bm_error *err);
/* If keys are in a file, append those of n documents. `keys` has all keys of a document side by
 * side. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* If keys are in memory, store those of n documents from `first`. Any thread. */
void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n);
/* Move the keys from memory to a file. BM_OK also if there are no keys, or if they are in a file
 * already. */
bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err);
/* Write buffered keys, after adding has ended. A second call does nothing. */
bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_keys_reset(bm_corpus *corpus);

/* Get all keys for the search for candidates; as labels if they are in a file or were made
 * elsewhere. Adding must have ended. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);

/* Copy the keys of n documents from `first`, all bands of a document side by side: n * bands. Keys
 * may be in memory or in a file, but not labels. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

/* corpus_memory -- makes space for more documents: columns grow, and sets and keys are moved to
 * files. */

typedef struct bm_corpus_more {
    size_t docs;
    uint64_t set_bytes; /* most bytes of their sets */
    /* bytes of the batch's hashes, including copies, which are in memory while it is added */
    uint64_t batch_bytes;
    uint64_t longest;          /* bytes of the longest text */
    uint64_t input_bytes_read; /* bytes of the inputs read so far, to estimate the size of files */
} bm_corpus_more;

/* The `reclaim` of an ingest (ingest_cfg.h); ctx is the corpus. Moves sets to a file if fewer than
 * `wanted` bytes are free, and sets *free to the free bytes. */
bm_status bm_corpus_reclaim(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);

/* corpus_budget -- does the job fit into --memory, and do its files fit onto the disk? */

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets written at a time */
#define BM_KEYS_BUFFER ((size_t)1 << 20) /* bytes of a block of keys, about */

bm_corpus_sums bm_corpus_sums_now(const bm_corpus *corpus);
/* The peak memory of the job, in bytes. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, const bm_corpus_sums *sums);
/* Bytes of cfg.memory that are free while documents are added, not counting batches. */
uint64_t bm_corpus_free_bytes(const bm_corpus *corpus);
/* Fail with BM_ERR_NOMEM if the bytes in use plus `more` exceed cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* The same for the memory of matching, not of reading or grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Bytes that cfg.memory leaves for matching, at least 1; 0: there is no limit. */
uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus);
/* Fail with BM_ERR_NOMEM: n documents need `needed` bytes, more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);
