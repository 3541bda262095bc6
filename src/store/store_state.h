/* store_state.h -- what a commit makes visible: the piece of state, 'S'.
 *
 * It names the runs of postings, and of the pieces of documents the last one, which may hold more documents than there are: those of a
 * writer that was interrupted. What it does not name is a leaving. What was removed ('R') is put in the transaction of the state, and needs no name.
 *
 *     head; version, kind, bands, words (32 bits each); index, commit; documents, removed, empty, shingles, text_bytes,
 *     next number; next run; first number of the last documents; runs (count), bytes of each text (64 bits each)
 *     runs      number, first table, tables, entries     64 bits each
 *     texts     settings, inputs, adds
 *
 * Index and commit are what the record of the last commit says too (store_record.h). */
#ifndef BM_STORE_STORE_STATE_H
#define BM_STORE_STORE_STATE_H

#include "store/store.h"

/* Runs of one state: three of each power of four that numbers of documents can be, of bands and of ids; and those that a
 * merge is about to replace. */
#define BM_STORE_RUNS 128u

/* Postings that are sorted together: of each of its tables so many entries. */
typedef struct bm_store_run {
    uint64_t id, first_table, n_tables;
    uint64_t entries; /* of each table */
} bm_store_run;

typedef struct bm_state {
    bm_store_facts facts;
    uint64_t index;         /* of the documents that it was built of, so that no other has it */
    uint64_t commit;        /* how many there were */
    bm_store_counts counts; /* but for runs and bytes */
    uint64_t next_run;
    uint64_t tail_first; /* of the last piece of documents */
    uint64_t n_runs;
    bm_str notes[BM_STORE_NOTES];
    bm_store_run runs[BM_STORE_RUNS]; /* ascending by id */
} bm_state;                           /* borrows its texts */

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err);

size_t bm_state_size(const bm_state *state);           /* of its piece */
void bm_state_write(const bm_state *state, void *out); /* so many bytes */
/* *out borrows the bytes. BM_ERR_FORMAT: damaged or of another version. */
bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err);

/* Does the state name this piece? */
bool bm_state_names(const bm_state *state, const bm_piece_key *key);

#endif
