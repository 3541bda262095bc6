/* SPDX-License-Identifier: Apache-2.0 */
/* store_snapshot.h -- where each piece of a state lies: a transaction that holds the pages, our map
 * of the file, and the keys of the tree, read once.
 *
 * LMDB does not check its pages, so a changed byte can crash the process. Before it reads a
 * transaction, the pages of its own are compared with the record of the last commit
 * (store_pages.h). Where the transaction is a later one (another process writes at this moment, or
 * was ended before its commit), there is no record of it: then a child reads it all first. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "store/store_pages.h"
#include "store/store_view.h"

typedef struct bm_writer bm_writer; /* store_writer.h */

/* The data file in memory. Where the file has outgrown it, another one follows; views may still
 * read the one before. */
typedef struct bm_store_map {
    uint8_t *bytes;
    size_t size; /* of the map; the file may be shorter */
    struct bm_store_map *before;
} bm_store_map;

/* A data file that this process has open (store_open.c). */
typedef struct bm_store_open_file {
    dev_t device;
    ino_t inode;
    pid_t process;  /* 0: it is not in the list */
    uint32_t users; /* who opened the store; 0: it is being opened, or closed */
    bm_store *store;
    struct bm_store_open_file *next;
} bm_store_open_file;

struct bm_store {
    bm_store_cfg cfg;
    bm_store_place place;
    bm_store_open_file open_file;
    bm_store_env env;
    pthread_mutex_t mutex; /* views begin and end: slots of readers, map */
    bm_store_map *map;     /* the last one; all end with the store */
    bm_store_facts facts;  /* settings: its own */
    uint32_t record_slot;  /* of a writer: the place of the record of the last commit */
    bm_writer *writer;     /* NULL: it reads */
};

/* BM_ERR_CANCELLED where the caller wants to stop. */
bm_status bm_store_check_cancelled(const bm_store *store, bm_error *err);
void bm_store_unmap(bm_store *store);

typedef struct bm_snapshot {
    bm_store *store;
    MDB_txn *txn;
    const uint8_t *map;
    size_t file_bytes;     /* when the snapshot was opened */
    bm_store_record pages; /* of the transaction; its sums are not filled in */
    bool recorded;         /* it is the state of the last commit */
    bm_state state;
    bm_piece_refs pieces;                    /* that the state names, in the order of their keys */
    bm_piece_refs others;                    /* leftovers */
    size_t postings, filters, after_filters; /* of `pieces`: documents are the first */
} bm_snapshot;

struct bm_store_view {
    bm_snapshot snapshot;
    const uint8_t *removed; /* a bit a number */
    size_t removed_bytes;   /* 0: no document was removed; numbers after them were not */
    uint8_t *bits;          /* the entries of a writer that are not in the file */
    bm_buf notes[BM_STORE_NOTES];
    uint8_t *compared;      /* of each piece of postings BM_POSTING_COMPARED bytes */
    uint8_t *docs_compared; /* of each document a bit */
};

/* Was this number removed, which is below next_number? */
bool bm_store_view_removed(const bm_store_view *view, uint32_t number);

/* May LMDB open the file? Before it has. `slot`: a child may take one in lock.mdb. */
bm_status bm_snapshot_admit(bm_store *store, bool slot, bm_error *err);
/* `state`: the state of a writer that has flushed; NULL: the state in the file, which is borrowed.
 * *out: {0}. */
bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err);
void bm_snapshot_close(bm_snapshot *snapshot); /* {0} is fine */

/* The piece of a key; NULL: there is none. */
const bm_piece_ref *bm_snapshot_piece(const bm_snapshot *snapshot, const bm_piece_key *key);
/* The pieces of a table of state.runs[run], where it has that table; else none. */
const bm_piece_ref *bm_snapshot_table(const bm_snapshot *snapshot, size_t run, uint32_t table,
                                      size_t *n);
/* Piece i of documents, i < snapshot->postings, with all its sums compared; out->head.last is the
 * last that the state knows. */
bm_status bm_snapshot_documents(const bm_snapshot *snapshot, size_t i, bm_document_piece *out,
                                bm_error *err);
/* The piece in which a document of this number would be; NULL: there are none before it. */
const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *snapshot, uint32_t number);
/* All of a piece is read soon: the system need not read it from the disk page by page. */
void bm_snapshot_expect(const bm_piece_ref *piece);
/* The memory of this piece may be freed: it was read, and is not soon read again. */
void bm_snapshot_read(const bm_piece_ref *piece);
/* BM_ERR_FORMAT: the index is damaged, and what. */
bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what);
