/* store_snapshot.h -- where each piece of a state lies: a transaction that holds the pages, the map of the file, and
 * the keys of the tree, read once and checked (bytes/lmdb_pages.h). */
#ifndef BM_STORE_STORE_SNAPSHOT_H
#define BM_STORE_STORE_SNAPSHOT_H

#include "store/bytes/lmdb_pages.h"
#include "store/store_inside.h"

/* A piece as it lies in the map; nothing in it was looked at. */
typedef struct bm_piece_ref {
    bm_piece_key key;
    uint32_t size;
    const uint8_t *bytes;
} bm_piece_ref;

typedef struct bm_piece_refs {
    bm_piece_ref *list;
    size_t n, cap;
} bm_piece_refs;

typedef struct bm_snapshot {
    bm_store *store;
    MDB_txn *txn;
    bm_store_map *map;
    bm_lmdb_file file; /* as long as it was when the snapshot was opened */
    bm_lmdb_meta meta;
    bm_state state;
    bm_piece_refs pieces;                 /* that the state names, in the order of their keys */
    bm_piece_refs others;                 /* leavings */
    size_t docs, notes, postings, ranges; /* of `pieces`: where these begin */
    size_t *tables; /* of run i its tables' first pieces, and the last one's end: from */
    size_t *of_run; /* tables[of_run[i]] on */
} bm_snapshot;

/* `state`: of a writer, which has flushed; NULL: as the file says. *out: {0}. */
bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err);
void bm_snapshot_close(bm_snapshot *snapshot); /* {0} is fine */

/* The pieces of a table of state.runs[run], where it has that table; else none. */
const bm_piece_ref *bm_snapshot_table(const bm_snapshot *snapshot, size_t run, uint32_t table,
                                      size_t *n);
/* The piece in which a document of this number would be; NULL: there are none before it. */
const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *snapshot, uint32_t number);
/* The memory that a piece took is free for others: it was read, and is not soon read again. */
void bm_snapshot_read(const bm_snapshot *snapshot, const bm_piece_ref *piece);
/* BM_ERR_FORMAT: the index is damaged, and what. */
bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what);

#endif
