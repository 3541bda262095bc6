/* store_state.h -- what a commit makes visible: the piece of state, 'S'.
 *
 * It names every other piece: the runs of postings, the ranges of removed documents with their versions, and of the
 * documents those whose version is below the next one. What it does not name is a leaving.
 *
 *     head; version, kind, bands, words (32 bits each); index, commit; documents, removed, empty, shingles, text_bytes,
 *     next number; next version; first number of the last documents; runs, ranges (counts), bytes of settings (64 bits each)
 *     runs      number, first table, tables, entries     64 bits each
 *     ranges    range, removed, version                  64 bits each
 *     settings
 *
 * Index and commit are what the record of the last commit says too (store_record.h). */
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
} bm_store_run;

typedef struct bm_store_range {
    uint64_t range, removed, version;
} bm_store_range;

typedef struct bm_state {
    bm_store_facts facts;   /* settings: taken */
    uint64_t index;         /* of the documents that it was built of, so that no other has it */
    uint64_t commit;        /* how many there were */
    bm_store_counts counts; /* but for runs and bytes */
    uint64_t next_version;
    uint64_t tail_first; /* of the last piece of documents */
    bm_store_run *runs;  /* ascending by id */
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
/* Place of a range in its list, or of the next one. */
size_t bm_state_range(const bm_state *state, uint64_t range);

#endif
