/* store_state.h -- what a commit makes visible: the piece of state, 'S'.
 *
 * It names every other piece: the runs of postings, the ranges of removed documents with their versions, and the
 * documents, of which only the last piece has several versions (it is written anew while it is small). What it does not
 * name is a leaving.
 *
 *     head; version, kind, bands, words (32 bits each); transaction; documents, removed, empty, shingles, text_bytes,
 *     next number; next version; tail (first number, version); pieces of documents; runs, ranges, notes (counts),
 *     bytes of settings (64 bits each)
 *     runs      number, first table, tables, entries, pieces     64 bits each
 *     ranges    range, removed, version                          64 bits each
 *     settings
 *
 * The transaction is that which wrote it: a file whose meta page is older is damaged. */
#ifndef BM_STORE_STORE_STATE_H
#define BM_STORE_STORE_STATE_H

#include "store/piece_key.h"
#include "store/store.h"

#define BM_STORE_RANGE (UINT64_C(1) << 20) /* document numbers of a piece of removed ones */

/* Postings that are sorted together: of each of its tables so many entries. */
typedef struct bm_store_run {
    uint64_t id;
    uint32_t first_table, n_tables;
    uint64_t entries; /* of each table */
    uint64_t pieces;  /* of all tables */
} bm_store_run;

typedef struct bm_store_range {
    uint64_t range, removed, version;
} bm_store_range;

/* The last piece of documents; version 0: there is none. */
typedef struct bm_store_tail {
    uint64_t first, version;
} bm_store_tail;

typedef struct bm_state {
    bm_store_facts facts; /* settings: taken */
    uint64_t txn;
    bm_store_counts counts; /* but for runs and bytes */
    uint64_t next_version;
    bm_store_tail tail;
    bm_store_tail gone; /* in memory only: a tail that is still in the file, no longer named */
    uint64_t doc_pieces, n_notes;
    bm_store_run *runs; /* ascending by id */
    size_t n_runs, cap_runs;
    bm_store_range *ranges; /* ascending */
    size_t n_ranges, cap_ranges;
} bm_state;

void bm_state_reset(bm_state *state); /* frees */
/* *out: {0} or a state, which is freed. */
bm_status bm_state_copy(const bm_state *state, bm_state *out, bm_error *err);
bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err);

size_t bm_state_size(const bm_state *state);           /* of its piece */
void bm_state_write(const bm_state *state, void *out); /* so many bytes */
/* *out: {0}. BM_ERR_FORMAT: damaged or of another version. */
bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err);

/* Does the state name this piece? Of notes: always. */
bool bm_state_names(const bm_state *state, const bm_piece_key *key);
/* Place of a run or a range in its list, or of the next one. */
size_t bm_state_run(const bm_state *state, uint64_t id);
size_t bm_state_range(const bm_state *state, uint64_t range);

#endif
