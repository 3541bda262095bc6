/* SPDX-License-Identifier: Apache-2.0 */
/* store_snapshot.h -- a snapshot of an index. It consists of a read transaction, which keeps the
 * pages of a state from being overwritten, our map of the file, and the list of the state's pieces,
 * read once from the tree of keys.
 *
 * LMDB does not check its pages, so a changed byte can crash the process. Before LMDB reads a
 * transaction, the pages of its trees are compared with the record of the last commit
 * (store_record). A transaction may be newer than the record, because another process is just
 * writing, or was killed before it recorded its commit. In that case a child process reads
 * everything first. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "store/store_pages.h"
#include "store/store_view.h"

typedef struct bm_writer bm_writer; /* store_writer.h */

/* A map of the data file. When the file outgrows the map, a larger map is made. Views may still
 * read the smaller maps. */
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
    uint32_t users; /* how many calls of bm_store_open are not closed yet; 0: the file is being
                       opened or closed */
    bm_store *store;
    struct bm_store_open_file *next;
} bm_store_open_file;

struct bm_store {
    bm_store_cfg cfg;
    bm_store_place place;
    bm_store_open_file open_file;
    bm_store_env env;
    pthread_mutex_t mutex; /* guards read transactions and `map`; held while a snapshot is opened or
                            * closed */
    bm_store_map *map;     /* the newest map; all maps are unmapped when the store closes */
    bm_store_facts facts;  /* facts.settings is owned */
    uint32_t record_slot;  /* for a writer: the slot that has the record of the last commit */
    bm_writer *writer;     /* NULL: the store only reads */
};

/* Returns BM_ERR_CANCELLED if the caller wants to stop. */
bm_status bm_store_check_cancelled(const bm_store *store, bm_error *err);
void bm_store_unmap(bm_store *store);

typedef struct bm_snapshot {
    bm_store *store;
    MDB_txn *txn;
    const uint8_t *map;
    size_t file_bytes;     /* size of the file when the snapshot was opened */
    bm_store_record pages; /* describes the pages of the transaction; `first` and `tree` are not
                              set */
    bool recorded;         /* the snapshot shows the last recorded commit */
    bm_state state;
    bm_piece_refs pieces;                    /* pieces that the state names, in the order of their
                                              * keys */
    bm_piece_refs others;                    /* pieces that the state does not name (leftovers) */
    size_t postings, filters, after_filters; /* indexes in `pieces`: where postings begin, where
                                              * filters begin, and where the other pieces begin;
                                              * documents come first */
} bm_snapshot;

struct bm_store_view {
    bm_snapshot snapshot;
    const uint8_t *removed; /* one bit for each number: 1 if removed; NULL: none was removed */
    size_t removed_bytes;   /* bytes of `removed`; documents that have no bit in them were not
                               removed */
    uint8_t *bits;          /* a copy of the writer's bits, if they are not in the file yet */
    bm_buf notes[BM_STORE_NOTES];
    uint8_t *compared;      /* BM_POSTING_COMPARED bytes for each piece of postings or filter */
    uint8_t *docs_compared; /* one bit for each document: 1 if its sum was checked */
};

/* Was the document of this number (below next_number) removed? */
bool bm_store_view_removed(const bm_store_view *view, uint32_t number);

/* Check whether LMDB may open the file. Must be called before LMDB opens it. `slot`: a child may
 * take a slot in lock.mdb (bm_pages_read_in_child). BM_ERR_FORMAT: LMDB may not open the file. */
bm_status bm_snapshot_admit(bm_store *store, bool slot, bm_error *err);
/* Open a snapshot. `state`: the state of a writer that has flushed. NULL: the state is read from
 * the file, and its texts are borrowed from the map. *out must be {0}. */
bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err);
void bm_snapshot_close(bm_snapshot *snapshot); /* {0} is fine */

/* Return the piece with this key, or NULL. */
const bm_piece_ref *bm_snapshot_piece(const bm_snapshot *snapshot, const bm_piece_key *key);
/* Return the pieces of one table of state.runs[run]. *n becomes their number, 0 if the run does not
 * have the table. */
const bm_piece_ref *bm_snapshot_table(const bm_snapshot *snapshot, size_t run, uint32_t table,
                                      size_t *n);
/* Open piece i of documents, i < snapshot->postings, and check all its sums. If the piece has more
 * documents than the state counts, out->head.last becomes the last document that the state
 * counts. */
bm_status bm_snapshot_documents(const bm_snapshot *snapshot, size_t i, bm_document_piece *out,
                                bm_error *err);
/* Return the piece that would contain the document of this number, or NULL if no piece begins at
 * this number or before it. */
const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *snapshot, uint32_t number);
/* Advise the system that the whole piece will soon be read, so that it is not read page by page. */
void bm_snapshot_expect(const bm_piece_ref *piece);
/* Advise the system that the piece was read and will not be needed soon. */
void bm_snapshot_read(const bm_piece_ref *piece);
/* Return BM_ERR_FORMAT. The message is that the index is damaged, and then the text `what`. */
bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what);
