/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_parts.h -- the parts of a corpus: one struct for each part, filled by one file.
 *
 *     bm_corpus          rows of all documents                   corpus.c
 *       copies           which documents are identical           corpus.c
 *       sets             shingle hashes, or words                corpus_sets.c
 *       keys             band keys                               corpus_sets.c
 *
 * For the files of src/corpus. Other code reads only the direct fields of bm_corpus, and calls
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
#include "sign/ingest.h"
#include "spill/spill_saved.h"

typedef struct bm_corpus_cfg {
    bool hashes;         /* store shingle hashes */
    bool weighted;       /* and after the hashes of each document its weights */
    bool find_identical; /* find identical documents by their content hashes */
    uint32_t bands;      /* bands of the keys to store; 0: no keys */
    /* Keys made elsewhere: documents have no shingles, and a document whose key is BM_NO_BAND_KEY
     * is in no bucket of that band. */
    bool given_keys;
    bm_word_rows words;       /* form of the signatures stored instead of hashes; 0 uints: none */
    uint64_t memory;          /* most bytes, including the bytes of `docs`; 0: no limit */
    const bm_doc_table *docs; /* NULL: its memory is not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* for temp_dir: how `memory` is shared */
    bm_set_recipe again;      /* for hashes without weights; source NULL: sets cannot be made
                               * again */
    bool never_kept;          /* always make sets again; else only if that is cheaper than a file */
    bool edges;               /* reserve memory for edges too */
    bool spill_now;           /* use files from the start, even if memory suffices: for tests */
    uint64_t input_bytes;     /* bytes of all inputs, to estimate the size of files; 0: unknown */
    uint32_t beside;          /* bytes for each document that other code allocates from matching
                               * on */
} bm_corpus_cfg;

/* Content hashes, to find identical documents. Freed when adding ends. */
typedef struct bm_corpus_copies {
    bm_hash128 *content; /* content hash of each document */
    bm_column content_column;
    bool given; /* content hashes came with signatures: texts read again must have the same */
    bm_hash_table shards[BM_DOC_SHARDS]; /* rows of distinct documents (bm_doc_shard) */
    size_t n;                            /* content hashes of added documents */
} bm_corpus_copies;

/* Where the sets are. They leave memory at most once (corpus_sets.c). */
typedef enum bm_sets_state {
    BM_SETS_IN_MEMORY, /* the first `saved` of them also in a file, if there is one */
    BM_SETS_IN_FILE,
    BM_SETS_AGAIN /* nowhere: they are made again from their texts */
} bm_sets_state;

/* The contiguous records at the beginning of the file from which another process may continue. */
typedef struct bm_saved_sets {
    size_t n_docs; /* documents that these records cover; copies and empty ones have no record */
    uint64_t bytes, records;
} bm_saved_sets;

typedef union bm_set_place {
    uint64_t *set;   /* in memory: hashes, or words; NULL: none yet */
    uint64_t record; /* in a file */
} bm_set_place;

/* AGAIN: the stored set of a document that is too long for making it again. */
typedef struct bm_stored_set {
    size_t doc;
    uint64_t record;
} bm_stored_set;

typedef struct bm_corpus_sets {
    bm_sets_state state;
    uint8_t *sorted;      /* of each document: its hashes are in ascending order */
    bm_set_place *places; /* where the sets of representatives are; until a batch is put, the place
                           * of its first row is where all its sets begin */
    bm_column sorted_column, places_column;
    size_t n_placed; /* rows whose sets have places */
    /* In memory: */
    char **blocks; /* places point into these */
    size_t n_blocks, cap_blocks;
    char *free; /* the rest of a block */
    size_t n_free;
    uint64_t bytes; /* bytes of the sets in the blocks */
    /* In a file: */
    bm_spill_file *file; /* a record for each representative with its hashes or words */
    bm_saved_sets saved;
    bool in_folder;      /* the named file is in the open `folder`; else it is found by its path */
    int folder;          /* borrowed */
    uint64_t file_bytes; /* size of the file, once adding has ended */
    char *arena;         /* memory of sets that were read back */
    size_t cap_arena;
    uint64_t bytes_back; /* bytes of sets that were read back */
    /* If they can be made again: */
    uint64_t *texts; /* of each document: where its record begins in the input file */
    bm_column texts_column;
    bm_stored_set *stored; /* ascending; their records are in `file` */
    size_t n_stored, cap_stored;
    struct bm_corpus_made *made; /* sets that were made again; NULL: none yet */
} bm_corpus_sets;

/* Where the keys are. The state only moves forward. */
typedef enum bm_keys_state {
    BM_KEYS_IN_MEMORY, /* columns; none if there are no bands */
    BM_KEYS_IN_FILE,   /* blocks; until adding ends, later documents are in columns */
    BM_KEYS_AS_LABELS  /* read back, band by band; the file is gone */
} bm_keys_state;

typedef struct bm_corpus_keys {
    bm_keys_state state;
    uint64_t **columns;  /* an array for each band: the keys of all documents or, with a file, of at
                          * most block_rows documents */
    bm_column *pages;    /* they hold `columns` */
    size_t begin;        /* the first document in `columns` */
    bm_spill_file *file; /* a record for each band of each block of block_rows documents */
    size_t block_rows;
    uint64_t file_bytes;    /* size of the file, once adding has ended */
    bm_band_labels *labels; /* of each band; finished ones come first */
    uint32_t n_labels;      /* labels that are finished, and ... */
    uint64_t label_bytes;
} bm_corpus_keys;

/* Sums of what a corpus stores, or will store. */
typedef struct bm_corpus_sums {
    size_t n;                     /* documents */
    size_t n_contents;            /* distinct content hashes */
    uint64_t set_bytes;           /* bytes of sets in memory */
    uint64_t row_bytes, id_bytes; /* bytes of cfg.docs: rows without shards, and its shards */
} bm_corpus_sums;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n;
    size_t n_left;   /* documents at the beginning whose columns' file pages were removed from
                      * memory */
    uint32_t *rep;   /* the first document with the same content hash, possibly itself */
    uint8_t *skip;   /* a copy or empty: never a candidate */
    uint32_t *sizes; /* distinct shingles */
    bm_column rep_column, skip_column, sizes_column;
    uint64_t n_identical; /* copies */
    uint64_t longest;     /* bytes of the longest text, which may have to be read again */
    uint64_t batch_bytes; /* bytes of the hashes of the batch being added */
    bm_corpus_sums ahead; /* upper bounds, including claimed batches */
    bm_corpus_copies copies;
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

/* Bytes of a set for each of its elements. */
static inline size_t bm_corpus_element_bytes(const bm_corpus *corpus)
{
    return sizeof(uint64_t) + (corpus->cfg.weighted ? sizeof(double) : 0);
}

/* Does a named file have sets of the corpus? */
static inline bool bm_corpus_sets_have_name(const bm_corpus *corpus)
{
    return bm_spill_has_name(corpus->sets.file);
}

/* Columns of documents that are read in order may take 1 / BM_COLUMNS_PART of the memory; later
 * elements are stored in files. Pages of these files take at most the same part, if readers call
 * bm_corpus_leave after BM_DOC_LEAVE_ROWS documents. Then columns of matching and grouping are in
 * files too. */
#define BM_COLUMNS_PART 64u
#define BM_COLUMNS_DOC  40u /* most bytes of these columns for a document */

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
/* Make the empty column `bytes` large, filled with zeros; in a file if columns of the corpus
 * are. */
bm_status bm_corpus_new_column(const bm_corpus *corpus, size_t bytes, bm_column *out,
                               bm_error *err);
/* The same for memory of grouping that docs/memory.md does not count: also in a file if cfg.memory
 * has fewer bytes left. */
bm_status bm_corpus_new_column_beside(const bm_corpus *corpus, size_t bytes, bm_column *out,
                                      bm_error *err);

/* corpus_sets -- the sets of a corpus: shingle hashes, or words, in memory or in a file.
 *
 * A file has the record of each representative in input order. It may have a name and outlive the
 * process, so that another process can continue with it.
 *
 *     state        save                     move          restore
 *     IN_MEMORY    copies new sets          -> IN_FILE    -> IN_FILE (of an empty corpus)
 *     IN_FILE      counts new records
 *     AGAIN        nothing                  nothing
 *
 * If cfg.again allows it, a corpus begins as AGAIN, or changes from IN_MEMORY to AGAIN instead of
 * moving to a file. A restored AGAIN corpus stays AGAIN. Saving gives the existing file a name, or
 * makes a named file and copies sets in memory to it; having a name is not a state.
 *
 * The state changes no result. Threads: one at a time, except for bm_corpus_put_sets and
 * readers. */

/* Mark rows first … first+n-1 as having no sets yet; sizes, rep and skip are set. */
void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n);
/* Sums over sets stored side by side. */
typedef struct bm_set_sums {
    uint64_t bytes, n; /* including the bytes between sets; copies have no sets */
} bm_set_sums;

/* The sums of rows first … end-1, for storage where sets are now: in memory or in a file. */
bm_set_sums bm_corpus_sum_sets(const bm_corpus *corpus, size_t first, size_t end);
/* Reserve a place for the sets of n rows from `first`, whose sums are given, in memory or in the
 * file. bm_corpus_put_sets fills it. */
bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, const bm_set_sums *sums,
                               bm_error *err);
/* Copy the hashes of a batch, or its words (cfg.words.uints each), to the place reserved for the
 * rows from `first`. Any thread. */
bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err);
/* Move the sets in memory to a file; `bytes` of sets are expected, including the next batch. BM_OK
 * if they are in a file already. */
bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err);
/* Free the sets in memory; they will be made again. */
void bm_corpus_drop_sets(bm_corpus *corpus);
/* Adding has ended: write the buffered bytes. A second call is fine. */
bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_sets_reset(bm_corpus_sets *sets);

/* Reads sets of representatives one after another, wherever they are stored; one thread for each.
 * Start with {.corpus = …}. */
typedef struct bm_set_reader {
    const bm_corpus *corpus; /* borrowed */
    bm_spill_get get;
    void *own; /* memory for a set that is read back */
    size_t cap_own;
    bm_sorter sorter; /* for callers that sort copied sets */
} bm_set_reader;

void bm_set_reader_reset(bm_set_reader *reader);
/* The set of `row`, in the form stored by the corpus. If sets are in a file, *out is valid until
 * the next call. */
bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err);
/* Copy the set of `row`, which has `len` bytes, to `to`. */
bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len,
                             bm_error *err);

/* Save sets to, and restore them from, a file in this open folder (bm_name_in), which is
 * borrowed. */
void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder);
/* Store the sets of all documents in the file `path`, which remains; sets.saved is the part of the
 * file that they fill. Pass the same path every time. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err);
/* About how many bytes of sets bm_corpus_save_sets would write now. */
uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus);
/* Let an empty corpus use the saved file, which must have at least `bytes` and `records`. */
bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err);
/* Set the places of rows first … first+n-1, whose records follow the records of the rows before. */
void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n);

/* corpus_again -- sets made again from their texts; only in state AGAIN. */

/* Would making the set of a text of this length need too much memory? Such sets are stored in a
 * file even in state AGAIN: by place_long, in document order, and put_long, on any thread; or by
 * store_long, which stores all such sets that are in memory, before the state becomes AGAIN. */
bool bm_corpus_too_long_to_make(const bm_corpus *corpus, uint64_t text_bytes);
bm_status bm_corpus_store_long(bm_corpus *corpus, bm_error *err);
bm_status bm_corpus_place_long(bm_corpus *corpus, size_t first, size_t n, bm_error *err);
bm_status bm_corpus_put_long(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             size_t first, bm_error *err);
/* While documents are added, after `read` bytes of the inputs. *few: will there be so few
 * candidates that making their sets again costs less than a file of all sets? */
bm_status bm_corpus_few_candidates(const bm_corpus *corpus, uint64_t read, bool *few,
                                   bm_error *err);
/* Make and sort the sets of the first *n_made of n pairs, at least one pair. Sets that were made
 * before may be dropped. BM_ERR_INPUT: a record has changed; the message names it. */
bm_status bm_corpus_make_sets(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                              size_t *n_made, bm_error *err);
/* The set of a representative that is in the arena. */
const uint64_t *bm_corpus_made_set(const bm_corpus *corpus, uint32_t doc);
void bm_corpus_made_close(struct bm_corpus_made *made); /* NULL is fine */

/* corpus_keys -- the band keys of a corpus: columns in memory, or blocks in a file that are read
 * back as labels.
 *
 *     state        changed by
 *     IN_MEMORY
 *     IN_FILE      bm_corpus_move_keys   columns become blocks of the file; bm_corpus_keys_end
 *                                        writes the last one
 *     AS_LABELS    bm_corpus_keyset      bands are read back, one by one; the file is gone
 *
 * States are passed in this order, and the job may end in any of them; keys that were made
 * elsewhere and are in memory go from the first state to the last. The state changes no result.
 * Threads: one at a time, except for bm_corpus_put_keys. */

/* Make room for the keys of n documents in all, if keys are in memory. */
bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t n, bm_error *err);
/* Append the keys of n documents to the file of keys; `keys` has all keys of a document side by
 * side. */
bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t n, bm_error *err);
/* The same for keys in memory, at document `first`. Any thread. */
void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n);
/* Move the keys from memory to a file. BM_OK also if there are no keys, or they are in a file
 * already. */
bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err);
/* Adding has ended: write the buffered bytes. A second call is fine. */
bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err);
void bm_corpus_keys_reset(bm_corpus *corpus);

/* All keys, for the search for candidates; as labels if they are in a file. Adding must have
 * ended. */
bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err);

/* Copy the keys of n documents from `first`, all bands of a document side by side: n * bands. Keys
 * may be in memory or in a file, but not labels. */
bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err);

/* corpus_memory -- memory for more documents: columns grow, sets and keys move to files. */

typedef struct bm_corpus_more {
    size_t docs;
    uint64_t set_bytes;        /* most bytes of their sets */
    uint64_t batch_bytes;      /* bytes of the batch's hashes, including copies, held while it is
                                * added */
    uint64_t longest;          /* bytes of their longest text */
    uint64_t input_bytes_read; /* bytes of the inputs read so far, to estimate the size of files */
} bm_corpus_more;

/* The `reclaim` of an ingest (ingest_cfg.h); ctx is the corpus: sets are moved to a file if fewer
 * than `wanted` bytes are free. */
bm_status bm_corpus_reclaim(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);

/* corpus_budget -- does the job fit into --memory, and do its files fit onto the disk? */

#define BM_SETS_BUFFER ((size_t)1 << 20) /* bytes of sets written at a time */
#define BM_KEYS_BUFFER ((size_t)1 << 20) /* bytes of a block of keys, about */

bm_corpus_sums bm_corpus_sums_now(const bm_corpus *corpus);
/* The peak memory of the job, in bytes. */
uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, const bm_corpus_sums *sums);
/* Bytes of cfg.memory that are free while documents are added, apart from batches. */
uint64_t bm_corpus_free_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM if the bytes in use plus `more` exceed cfg.memory. */
bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* The same for matching only, without memory for grouping. */
bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err);
/* Bytes that cfg.memory leaves for matching, at least 1; 0: no limit. */
uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus);
/* BM_ERR_NOMEM: n documents need `needed` bytes, more than cfg.memory. */
bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err);
