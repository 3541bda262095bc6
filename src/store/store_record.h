/* store_record.h -- the record of the last commit: `last_commit`, a file of ours beside LMDB's two.
 *
 * It says which transaction the last commit was, which pages are LMDB's own then (its trees, its lists of free pages) and
 * the sums of those pages as bytes. So nothing has to be known of what stands in them: where the sums are right, the
 * pages are those that LMDB has written, and LMDB may read them. And where LMDB, misled by a damaged first page, goes back to the
 * commit before, its transaction is older than the record's.
 *
 * The file has two slots of BM_RECORD_SLOT bytes, which are written in turn, each with a sum of its own: a record that was torn
 * leaves the one before. docs/formats.md has each byte. */
#ifndef BM_STORE_STORE_RECORD_H
#define BM_STORE_STORE_RECORD_H

#include "store/store_place.h"

#define BM_RECORD_SLOT ((size_t)256 << 10)

/* Pages that follow each other. */
typedef struct bm_page_span {
    uint64_t first, n;
} bm_page_span;

/* Up to `spans` as it stands in the file, in the order of bytes that LMDB's pages have: that of the machine. */
typedef struct bm_store_record {
    uint64_t magic;
    uint32_t version, page_bytes;
    uint64_t index, commit; /* which index; how many commits there were */
    uint64_t txn, last_page, n_free;
    uint64_t first[2];   /* XXH3_64bits of each of LMDB's two first pages */
    uint64_t tree;       /* of its other pages, in the order of `spans` */
    uint64_t heads;      /* of the bytes that it keeps before each value on pages of its own */
    uint64_t n_spans;    /* which follow, and the XXH3_64bits of all that */
    bm_page_span *spans; /* ascending */
    size_t cap_spans;
    uint32_t slot; /* where it stands */
} bm_store_record; /* {0}; reset */

/* The newest that is whole. BM_ERR_FORMAT: there is none, or it is one of another version. */
bm_status bm_store_record_read(const bm_store_place *place, bm_store_record *out, bm_error *err);
/* The slot that is not `slot` is empty, and has its blocks: a disk that is full says so before the commit. `make`: the file is
 * new. */
bm_status bm_store_record_prepare(const bm_store_place *place, uint32_t slot, bool make,
                                  bm_error *err);
/* On the disk before it returns, in the slot that is not record->slot, which it then is. */
bm_status bm_store_record_write(const bm_store_place *place, bm_store_record *record,
                                bm_error *err);
void bm_store_record_reset(bm_store_record *record); /* frees */

/* Fill in `first` and `tree` of the file as it is. false: a page is not in it. */
bool bm_store_record_sum(bm_store_record *record, const uint8_t *bytes, size_t size);
/* Are these pages as they were recorded? Of the two first ones that of the transaction: LMDB writes them in turn, and the other one
 * may be half of a commit that did not come to its end. */
bool bm_store_record_holds(const bm_store_record *record, const uint8_t *bytes, size_t size);

#endif
