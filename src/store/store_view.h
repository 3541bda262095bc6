/* SPDX-License-Identifier: Apache-2.0 */
/* store_view.h -- a view of an index: looks up keys, and reads documents by number.
 *
 * A view shows the last commit at the time when the view was opened. Later commits do not change
 * it. A view of a writing store also shows everything that this store had added and removed by
 * then. Such a view must be opened by the writing thread. Any number of threads may read a view.
 * The texts and bodies that it returns point into the map of the file, and are valid until the view
 * is closed. */
#pragma once

#include "store/piece.h"
#include "store/store.h"

typedef struct bm_store_view bm_store_view;

bm_status bm_store_view_open(bm_store *store, bm_store_view **out, bm_error *err);
void bm_store_view_close(bm_store_view *view); /* NULL is fine */
bm_store_counts bm_store_view_counts(const bm_store_view *view);
/* Does the view still show the last commit of the index? This is cheap: only the record of the last
 * commit is read. Also true if that cannot be read, or if the index is an unnamed file. */
bool bm_store_view_is_last(const bm_store_view *view);
/* Has another file taken the path of the index, after compact or a new build? Views of this store
 * keep showing the old file; bm_store_open opens the new one. */
bool bm_store_is_replaced(const bm_store *store);

/* A document of the index that has the key keys[asked]. */
typedef struct bm_store_hit {
    uint32_t asked, number;
} bm_store_hit;

/* `n` further documents that have the key keys[asked], but are not among the hits. */
typedef struct bm_store_rest {
    uint32_t asked, n;
} bm_store_rest;

typedef struct bm_store_hits {
    bm_store_hit *list;
    size_t n, cap;
    size_t most_of_a_key; /* over all calls: the most documents that one run had for one key */
    bm_store_rest *rest;  /* used only if bm_store_ask.most is not 0 */
    size_t n_rest, cap_rest;
} bm_store_hits; /* {0} is empty; bm_free(list), bm_free(rest) */

/* Keys to look up in one table: 0 … bands-1, or `bands` for ids. */
typedef struct bm_store_ask {
    uint32_t table;
    const uint64_t *keys; /* n keys, ascending, so that pages are read in order; repeats are fine */
    size_t n;
    uint32_t most; /* return at most this many documents for each key and run, and only count the
                      rest (hits->rest); 0: return all */
} bm_store_ask;

/* For each key, append the documents that have it to `hits`, run by run, except removed documents.
 * Several threads may call this, each with hits of its own. BM_ERR_NOMEM, BM_ERR_FORMAT. */
bm_status bm_store_view_find(const bm_store_view *view, const bm_store_ask *ask,
                             bm_store_hits *hits, bm_error *err);
/* Read the document of this number. BM_NOT_FOUND, without setting *err: no document has this
 * number, or it was removed. */
bm_status bm_store_view_doc(const bm_store_view *view, uint32_t number, bm_store_doc *out,
                            bm_error *err);
/* Prefetch part of a document that will soon be read: its offset, or if `there`, its first bytes.
 * With `there`, the offset itself is read, so prefetch it some time before. */
void bm_store_view_expect(const bm_store_view *view, uint32_t number, bool there);
/* Find the number of the document with this id. BM_NOT_FOUND, without setting *err: no document has
 * this id. */
bm_status bm_store_view_id(const bm_store_view *view, bm_str id, uint32_t *number, bm_error *err);
/* Decode a document's body: its n_shingles hashes, ascending (SETS), or the n words of its
 * signature (SIGNATURES). BM_ERR_FORMAT: damaged. */
bm_status bm_store_doc_set(const bm_store_doc *doc, uint64_t *hashes, bm_error *err);
bm_status bm_store_doc_words(const bm_store_doc *doc, uint32_t *words, uint32_t n, bm_error *err);

/* --- filters: documents that may have most of some hashes (store/piece.h) --- */

/* The number of filters; 0 for signatures, for an unnamed index, or for few documents. */
size_t bm_store_view_filters(const bm_store_view *view);
/* In `bits`, which has one bit for each number, set the bit of each document that no filter covers,
 * even if the document was removed. */
void bm_store_view_unfiltered(const bm_store_view *view, uint8_t *bits);
/* In `bits`, set the bit of each document of one filter that may match one of the n_asks queries.
 * `filter` is less than bm_store_view_filters(view). Several threads may call this for different
 * filters at the same time. BM_ERR_FORMAT. */
bm_status bm_store_view_filter(const bm_store_view *view, size_t filter, const bm_filter_ask *asks,
                               size_t n_asks, uint8_t *bits, bm_error *err);

/* Return a note. Its len is 0 if there is no such note. */
bm_str bm_store_view_note(const bm_store_view *view, bm_store_note_kind note);

/* For bm_store_check, which checks everything: pages, sums, orders and counts; that each document
 * is found under its id; and that each posting names a document that exists or was removed.
 * `report` is called with one line for each defect, at most 100 times; it may be NULL.
 * BM_ERR_FORMAT: there was at least one defect. */
typedef struct bm_store_check_cfg {
    bm_pool *pool; /* NULL: only the calling thread */
    void (*report)(void *ctx, const char *what);
    void *ctx;
    bool *linked; /* set to whether the data file has another hard link; NULL: not wanted */
} bm_store_check_cfg;
bm_status bm_store_check(const char *dir, const bm_store_check_cfg *cfg, bm_error *err);
