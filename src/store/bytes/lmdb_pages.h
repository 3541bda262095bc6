/* lmdb_pages.h -- an environment of LMDB, read without trusting it.
 *
 * The library believes every page number and offset in its file, so that one damaged byte can end the
 * process. This walks the pages of the one tree that the store uses (the main database: keys of up to 511
 * bytes, values on pages of their own or in leaves, no duplicates, no named databases) with every number
 * compared against the file before it is used, and hands out each key with the place of its value. The
 * layout is that of LMDB 0.9 (MDB_DATA_VERSION 1): lmdb.h says that it will not change within it.
 *
 * Pure functions over the bytes of the file. */
#ifndef BM_STORE_BYTES_LMDB_PAGES_H
#define BM_STORE_BYTES_LMDB_PAGES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_lmdb_file {
    const uint8_t *bytes;
    size_t size;
} bm_lmdb_file; /* borrowed */

#define BM_LMDB_NO_PAGE UINT64_MAX /* the root of an empty tree */

/* What a meta page says of the tree of free pages. */
typedef struct bm_lmdb_free_tree {
    uint64_t branch_pages, leaf_pages, overflow_pages, entries;
    uint16_t depth;
} bm_lmdb_free_tree;

/* One of the two meta pages, in effect the state after its transaction. */
typedef struct bm_lmdb_meta {
    uint64_t txn, last_page, root /* BM_LMDB_NO_PAGE: an empty tree */, free_root, entries;
    uint64_t branch_pages, leaf_pages, overflow_pages;
    uint16_t depth;
    uint32_t page_bytes; /* of a page: 4,096, where that is the system's */
    bm_lmdb_free_tree free_tree;
} bm_lmdb_meta;

/* The state of transaction `txn`, or the newest (UINT64_MAX). Both meta pages must be sound; BM_ERR_FORMAT
 * says what is not. BM_NOT_FOUND: none of the two is of that transaction. Another process may be writing the
 * page of the next state meanwhile. */
bm_status bm_lmdb_meta_of(bm_lmdb_file file, uint64_t txn, bm_lmdb_meta *out, bm_error *err);

/* Every key in order, with its value where it lies in the file. What it returns ends the walk. */
typedef bm_status (*bm_lmdb_fn)(void *ctx, bm_str key, bm_str value, bm_error *err);
/* BM_ERR_FORMAT says what is wrong, and on which page; or what fn returned. */
bm_status bm_lmdb_walk(bm_lmdb_file file, const bm_lmdb_meta *meta, bm_lmdb_fn fn, void *ctx,
                       bm_error *err);
/* The tree of free pages too, and that no page has two owners: before anything is written to the
 * environment, and for `check`. *n_free receives the number of free pages. */
bm_status bm_lmdb_check_pages(bm_lmdb_file file, const bm_lmdb_meta *meta, uint64_t *n_free,
                              bm_error *err);

#endif
