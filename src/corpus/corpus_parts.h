/* corpus_parts.h -- what a corpus is made of: one struct a part, each of which one file fills.
 *
 *     bm_corpus          rows of all documents                   corpus.c
 *       copies           which documents are identical           corpus_copies.c
 *       sets             shingle hashes, or words                corpus_sets.c
 *       keys             band keys                               corpus_keys.c
 *
 * For the files of this room. Others read the fields of bm_corpus itself, and ask functions for the
 * rest. */
#ifndef BM_CORPUS_CORPUS_PARTS_H
#define BM_CORPUS_CORPUS_PARTS_H

#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/memory.h"
#include "base/pool.h"
#include "model/doc_table.h"
#include "model/shingle_batch.h"
#include "sign/budget.h"
#include "sketch/scheme.h"
#include "spill/spill_file.h"

typedef struct bm_corpus_cfg {
    bool hashes;         /* hold shingle hashes */
    bool weighted;       /* and behind those of each document their weights */
    bool find_identical; /* by their content hashes */
    uint32_t bands;      /* of the keys to hold; 0: none */
    /* Keys made elsewhere: documents have no shingles, and BM_NO_BAND_KEY is in no bucket of its
     * band. */
    bool given_keys;
    bm_word_rows words;       /* of signatures to hold in place of hashes; no uints: none */
    uint64_t memory;          /* bytes at most, with those of `docs`; 0: no limit */
    const bm_doc_table *docs; /* NULL: not counted */
    const char *temp_dir;     /* borrowed; NULL: everything stays in memory */
    bm_budget budget;         /* for temp_dir: how `memory` is shared */
    bool edges;               /* leave room for edges too */
    bool spill_now;           /* to files from the start, whatever fits: for tests */
    uint64_t input_bytes;     /* of all inputs, to foresee the files' size; 0: not known */
    uint32_t beside;          /* bytes that others hold of each document from matching on */
} bm_corpus_cfg;

/* Content hashes, to find identical documents. Freed when adding ends. */
typedef struct bm_corpus_copies {
    bm_hash128 *content; /* of each document */
    bool given;          /* by signatures: texts that are read again must have the same */
    bm_hash_table table; /* of those that differ, by row */
} bm_corpus_copies;

/* Where the sets are. corpus_sets.h has the table of transitions. */
typedef enum bm_sets_state {
    BM_SETS_IN_MEMORY,
    BM_SETS_COPIED,       /* in memory; and in a file that has a name, as far as `saved` says */
    BM_SETS_IN_FILE,      /* in a file without a name, which ends with the process */
    BM_SETS_IN_NAMED_FILE /* in a file that outlives the process */
} bm_sets_state;

/* The first records of the file, side by side: what another process may go on from. */
typedef struct bm_saved_sets {
    size_t n_docs; /* documents whose records these are; copies and empty ones have none */
    uint64_t bytes, records;
} bm_saved_sets;

typedef struct bm_corpus_sets {
    bm_sets_state state;
    uint8_t *sorted; /* of each document: its hashes are in ascending order */
    /* In memory: */
    uint64_t **hashes; /* of representatives; of copies those of `rep`; NULL: none */
    uint32_t **words;  /* likewise, cfg.words.uints each; NULL: not held */
    char **blocks;     /* what hashes and words point into */
    size_t n_blocks, cap_blocks;
    char *free; /* the rest of a block */
    size_t n_free;
    uint64_t bytes; /* of the sets in them */
    /* In a file: */
    bm_spill_file *file; /* of each representative: a record of its hashes, or its words */
    uint64_t *places;    /* of these records; of copies those of `rep`; NULL while in memory */
    bm_saved_sets saved;
    bool in_folder; /* the named file lies in `folder`, which is open; else where its path leads */
    int folder;     /* borrowed */
    uint64_t file_bytes; /* once adding has ended */
    char *arena;         /* of sets read back */
    size_t cap_arena;
    uint64_t bytes_back; /* read back */
} bm_corpus_sets;

/* Where the keys are: each state follows the one before, on the way to a file. */
typedef enum bm_keys_state {
    BM_KEYS_IN_MEMORY,     /* columns; none where there are no bands */
    BM_KEYS_GOING_TO_FILE, /* blocks in the file, the last one at hand */
    BM_KEYS_IN_FILE,       /* all of them: adding has ended */
    BM_KEYS_AS_LABELS      /* read back, band by band; the file is gone */
} bm_keys_state;

typedef struct bm_corpus_keys {
    bm_keys_state state;
    uint64_t **columns;  /* in memory: bands arrays of corpus.cap */
    bm_spill_file *file; /* a record a band of block_rows documents, bands side by side */
    uint64_t *block;     /* going to a file: of block_rows documents, band after band */
    size_t block_rows, n_in_block;
    uint64_t file_bytes; /* once adding has ended */
    uint32_t **labels;   /* bands arrays of n (lsh/band_keyset.h) */
} bm_corpus_keys;

typedef struct bm_corpus {
    bm_corpus_cfg cfg;
    size_t n, cap;
    uint32_t *rep;        /* first document with the same content hash; itself: none before */
    uint8_t *skip;        /* copy or empty: no candidate */
    uint32_t *sizes;      /* distinct shingles */
    uint64_t n_identical; /* copies */
    uint64_t longest;     /* bytes of the longest text, which will be read again to be copied */
    uint64_t batch_bytes; /* of hashes of the batch being added */
    bm_corpus_copies copies;
    bm_corpus_sets sets;
    bm_corpus_keys keys;
} bm_corpus;

static inline bool bm_corpus_sets_in_file(const bm_corpus *corpus)
{
    return corpus->sets.state >= BM_SETS_IN_FILE;
}

/* Bytes of a set for each of its elements. */
static inline size_t bm_corpus_element_bytes(const bm_corpus *corpus)
{
    return sizeof(uint64_t) + (corpus->cfg.weighted ? sizeof(double) : 0);
}

/* Does a file that has a name hold sets of the corpus? */
static inline bool bm_corpus_sets_have_name(const bm_corpus *corpus)
{
    return corpus->sets.state == BM_SETS_COPIED || corpus->sets.state == BM_SETS_IN_NAMED_FILE;
}

/* Make a column hold `cap` documents; `column` is the address of the pointer to it. */
static inline bm_status bm_corpus_column(void *column, size_t cap, size_t size, bm_error *err)
{
    size_t had = 0;
    return bm_grow(column, &had, cap, size, err);
}

#endif
