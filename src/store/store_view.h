/* SPDX-License-Identifier: Apache-2.0 */
/* store_view.h -- a snapshot of an index: look-ups by key, documents by number.
 *
 * A view sees the last commit (a writer's own: all that it has added and removed) as it was when
 * the view was opened, whatever others write later. Where a store writes, its view is opened by the
 * thread that does. Any number of threads may read one; pointers that it returns lead into the map
 * of the file and are valid until the view is closed. */
#pragma once

#include "store/piece.h"
#include "store/store.h"

typedef struct bm_store_view bm_store_view;

bm_status bm_store_view_open(bm_store *store, bm_store_view **out, bm_error *err);
void bm_store_view_close(bm_store_view *view); /* NULL is fine */
bm_store_counts bm_store_view_counts(const bm_store_view *view);
/* Does it still show the last commit of its store? Cheap: the head of the file is read. */
bool bm_store_view_is_last(const bm_store_view *view);
/* Is another file now at the path of the index (compact, a build that replaced it)? Views of this
 * store keep the old one; another bm_store_open sees the new. */
bool bm_store_is_replaced(const bm_store *store);

/* A document found by the key at that place of the array of keys. */
typedef struct bm_store_hit {
    uint32_t asked, number;
} bm_store_hit;

/* Documents of the key at that place that are not among the hits. */
typedef struct bm_store_rest {
    uint32_t asked, n;
} bm_store_rest;

typedef struct bm_store_hits {
    bm_store_hit *list;
    size_t n, cap;
    size_t most_of_a_key; /* that one run had for one key, in any call */
    bm_store_rest *rest;  /* only of asks with a bound */
    size_t n_rest, cap_rest;
} bm_store_hits; /* {0} is empty; bm_free(list), bm_free(rest) */

/* One table (0 … bands-1; `bands`: ids) and keys to look up in it. */
typedef struct bm_store_ask {
    uint32_t table;
    const uint64_t
        *keys; /* n, ascending, so that pages are read in their order; repeats are fine */
    size_t n;
    uint32_t most; /* of a key and run the first so many, and how many more there are; 0: all */
} bm_store_ask;

/* Append the documents of each key that are there (none that was removed), run by run. Any thread,
 * with hits of its own. BM_ERR_NOMEM, BM_ERR_FORMAT. */
bm_status bm_store_view_find(const bm_store_view *view, const bm_store_ask *ask,
                             bm_store_hits *hits, bm_error *err);
/* BM_NOT_FOUND (and no error): there is none of this number, or it was removed. */
bm_status bm_store_view_doc(const bm_store_view *view, uint32_t number, bm_store_doc *out,
                            bm_error *err);
/* It is asked for soon: fetch the place where it lies; `there`: that was fetched, now its first
 * bytes. */
void bm_store_view_expect(const bm_store_view *view, uint32_t number, bool there);
/* The number of the document with this id. BM_NOT_FOUND. */
bm_status bm_store_view_id(const bm_store_view *view, bm_str id, uint32_t *number, bm_error *err);
/* Its hashes, n_shingles, ascending (SETS); its words (SIGNATURES). BM_ERR_FORMAT: damaged. */
bm_status bm_store_doc_set(const bm_store_doc *doc, uint64_t *hashes, bm_error *err);
bm_status bm_store_doc_words(const bm_store_doc *doc, uint32_t *words, uint32_t n, bm_error *err);

/* --- documents that may hold most of some hashes (bytes/filter_piece.h) --- */

/* How many filters it has; none of signatures, of an unnamed index, or of few documents. */
size_t bm_store_view_filters(const bm_store_view *view);
/* Set the bit of each document that no filter is about, removed ones too; `bits` has one for each
 * number. */
void bm_store_view_unfiltered(const bm_store_view *view, uint8_t *bits);
/* Set the bits of the documents of one filter, 0 to bm_store_view_filters(view) - 1, that may hold
 * one of n_asks. Any thread, another filter each. BM_ERR_FORMAT. */
bm_status bm_store_view_filter(const bm_store_view *view, size_t filter, const bm_filter_ask *asks,
                               size_t n_asks, uint8_t *bits, bm_error *err);

/* A note; len 0 where there is none. */
bm_str bm_store_view_note(const bm_store_view *view, bm_store_note_kind note);

/* Everything compared: pages, sums, orders, counts; that each document is found under its id, and
 * each posting names a document that is there or was removed. `report` is called with each thing
 * that is wrong, a line each; the first ones, 100 at most. BM_ERR_FORMAT where there was one. */
typedef struct bm_store_check_cfg {
    bm_pool *pool; /* NULL: this thread alone */
    void (*report)(void *ctx, const char *what);
    void *ctx;
    bool *linked; /* filled: its data file has another name too (a hard link); NULL: not asked */
} bm_store_check_cfg;
bm_status bm_store_check(const char *dir, const bm_store_check_cfg *cfg, bm_error *err);
