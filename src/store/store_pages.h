/* store_pages.h -- what LMDB's own calls tell of its file: each key with the place of its value, the lists of free pages, and
 * so which pages hold LMDB's trees: those that are neither free nor a value's.
 *
 * Nothing here knows what stands in a page of LMDB's. It hands out addresses in a map of its own: which page of the file such
 * an address is of follows from comparing that page with those of our map. */
#ifndef BM_STORE_STORE_PAGES_H
#define BM_STORE_STORE_PAGES_H

#include "store/store_env.h"
#include "store/store_record.h"

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

/* A transaction that reads, and our map of the file. */
typedef struct bm_pages_of {
    const bm_store_env *env;
    MDB_txn *txn;
    const uint8_t *bytes;
    size_t size;
} bm_pages_of;

/* All pieces, in the order of their keys, as they lie in our map; and of `out` all but index, commit and the sums of pages.
 * BM_ERR_FORMAT: LMDB cannot read it, or a page has two owners, or none. */
bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err);

/* The same in a child of this process, of which LMDB may make an end. BM_OK where it came to its end; that the child came to
 * another is BM_ERR_FORMAT. `slot`: it takes one in lock.mdb, so that no writer writes over what it reads (else somebody holds
 * that for it). */
bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err);

#endif
