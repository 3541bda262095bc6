/* SPDX-License-Identifier: Apache-2.0 */
/* store_snapshot.h -- a snapshot: a read transaction that keeps the pages of a state from being
 * overwritten, our map of the file, and the list of the state's pieces, read once from the tree of
 * keys.
 *
 * LMDB does not check its pages, so a changed byte can crash the process. Before LMDB reads a
 * transaction, the pages of LMDB's trees are compared with the record of the last commit
 * (store_record). If the transaction is newer than the record (another process is writing just now,
 * or was killed before it recorded its commit), a child process first reads everything. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "store/store_pages.h"
#include "store/store_view.h"

typedef struct bm_writer bm_writer; /* store_writer.h */

/* A map of the data file. When the file outgrows the map, a larger one is made; views may still
 * read the smaller ones. */
typedef struct bm_store_map {
    uint8_t *bytes;
    size_t size; /* length of the map; the file may be shorter */
    struct bm_store_map *before;
} bm_store_map;

/* An entry in the list of data files that this process has open (store_open.c). */
typedef struct bm_store_open_file {
    dev_t device;
    ino_t inode;
    pid_t process;  /* 0: not in the list */
    uint32_t users; /* calls of bm_store_open not yet closed; 0: it is being opened or closed */
    bm_store *store;
    struct bm_store_open_file *next;
} bm_store_open_file;

struct bm_store {
    bm_store_cfg cfg;
    bm_store_place place;
    bm_store_open_file open_file;
    bm_store_env env;
    pthread_mutex_t mutex; /* held while a snapshot is opened or closed: guards the transactions for
                            * reading and `map` */
    bm_store_map *map;     /* the newest map; all maps are unmapped when the store closes */
    bm_store_facts facts;  /* facts.settings is owned */
    uint32_t record_slot;  /* for a writer: the slot that has the record of the last commit */
    bm_writer *writer;     /* NULL: the store only reads */
};

/* BM_ERR_CANCELLED: the caller wants to stop. */
bm_status bm_store_check_cancelled(const bm_store *store, bm_error *err);
void bm_store_unmap(bm_store *store);

typedef struct bm_snapshot {
    bm_store *store;
    MDB_txn *txn;
    const uint8_t *map;
    size_t file_bytes;     /* size of the file when the snapshot was opened */
    bm_store_record pages; /* pages of the transaction; `first` and `tree` are not set */
    bool recorded;         /* the snapshot is of the last recorded commit */
    bm_state state;
    bm_piece_refs pieces;                    /* pieces that the state names, in the order of their
                                              * keys */
    bm_piece_refs others;                    /* pieces that the state does not name (leftovers) */
    size_t postings, filters, after_filters; /* indexes in `pieces` at which the postings, the
                                              * filters and the other pieces begin; documents come
                                              * first */
} bm_snapshot;

struct bm_store_view {
    bm_snapshot snapshot;
    const uint8_t *removed; /* one bit for each number: 1 if removed */
    size_t removed_bytes;   /* documents without a bit in these bytes were not removed */
    uint8_t *bits;          /* the copy of a writer's bits, if they are not in the file yet */
    bm_buf notes[BM_STORE_NOTES];
    uint8_t *compared;      /* BM_POSTING_COMPARED bytes for each piece of postings or filter */
    uint8_t *docs_compared; /* one bit for each document: 1 if its sum was checked */
};

/* Was the document of this number (below next_number) removed? */
bool bm_store_view_removed(const bm_store_view *view, uint32_t number);

/* Check that LMDB may open the file; call this before LMDB does. `slot`: a child may take a slot in
 * lock.mdb (bm_pages_read_in_child). BM_ERR_FORMAT: it may not. */
bm_status bm_snapshot_admit(bm_store *store, bool slot, bm_error *err);
/* Open a snapshot. `state`: the state of a writer that has flushed; NULL: read the state from the
 * file; its texts are then borrowed from the map. *out must be {0}. */
bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err);
void bm_snapshot_close(bm_snapshot *snapshot); /* {0} is fine */

/* The piece with this key; NULL: there is none. */
const bm_piece_ref *bm_snapshot_piece(const bm_snapshot *snapshot, const bm_piece_key *key);
/* The pieces of one table of state.runs[run]; *n is 0 if the run does not have the table. */
const bm_piece_ref *bm_snapshot_table(const bm_snapshot *snapshot, size_t run, uint32_t table,
                                      size_t *n);
/* Open piece i of documents, i < snapshot->postings, and check all its sums. out->head.last becomes
 * at most the last document that the state counts. */
bm_status bm_snapshot_documents(const bm_snapshot *snapshot, size_t i, bm_document_piece *out,
                                bm_error *err);
/* The piece that would contain the document of this number; NULL: no piece begins at or before
 * it. */
const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *snapshot, uint32_t number);
/* Advise the system that all of the piece will soon be read, so that it is not read page by
 * page. */
void bm_snapshot_expect(const bm_piece_ref *piece);
/* Advise the system that the piece was read and will not be needed soon. */
void bm_snapshot_read(const bm_piece_ref *piece);
/* Return BM_ERR_FORMAT with a message: the index is damaged, and `what`. */
bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what);
