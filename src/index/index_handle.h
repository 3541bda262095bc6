/* index_handle.h -- an index that a program keeps open (bm_index of index.h): what its files share.
 *
 *     index_handle.c    open, close, facts; which commit is seen
 *     index_handle.c     documents to sets, keys and words, on one thread or on all
 *     index_handle.c    queries, matches
 *     index_handle.c    add, remove, commit
 *
 * Queries run on a view that they hold while they last; the handle holds the newest. Signers are
 * lent out, each to one thread at a time. The threads of the pool serve one call at a time: who
 * finds them taken does the work itself. */
#ifndef BM_QUERY_INDEX_HANDLE_H
#define BM_QUERY_INDEX_HANDLE_H

#include <pthread.h>

#include <bandmill/index.h>

#include "base/threads.h"
#include "model/ids.h"
#include "job/settings.h"
#include "index/search.h"
#include "inmem/documents.h"
#include "store/store_write.h"

/* A store, open as long as views of it are. */
typedef struct bm_handle_store {
    bm_store *store;
    uint32_t users;
} bm_handle_store;

typedef struct bm_handle_view {
    bm_handle_store *from;
    bm_store_view *view;
    uint32_t users; /* queries, and the handle while it is the newest */
} bm_handle_view;

/* What one thread works with. */
typedef struct bm_handle_worker {
    bm_doc_signer signer;
    uint32_t *docs; /* of the documents that were added to it, their places in the chunk */
    size_t cap_docs;
    struct bm_handle_worker *next; /* of those that nobody has */
} bm_handle_worker;

/* Since the last commit: ids that are there now (with their numbers), or are not (BM_ID_NONE). */
typedef struct bm_handle_changes {
    bm_id_set ids;
    uint32_t *numbers;
    size_t cap_numbers;
    bool failed;  /* nothing but close is left */
    bool pending; /* the store has something that is not committed, */
    pthread_t by; /* which belongs to this thread, as the library of the store wants it */
} bm_handle_changes;

struct bm_index {
    char *path;
    bm_settings settings; /* what the index has fixed; callbacks are the program's */
    bool writes;
    pthread_mutex_t lock; /* of all below but the pool, the writer's and the recipe */
    bm_handle_view *newest;
    double looked; /* for commits of others */
    bm_handle_worker *idle;
    pthread_mutex_t pool_lock; /* held by whose call it serves */
    bm_pool *pool;             /* NULL: not started yet */
    pthread_mutex_t write_lock;
    bm_handle_changes changes;
    bm_doc_recipe recipe;
    bm_backend *backend;
};

/* --- index_handle.c --- */
/* The newest view, until it is left. */
bm_status bm_handle_enter(bm_index *index, bm_handle_view **out, bm_error *err);
void bm_handle_leave(bm_index *index, bm_handle_view *view);
/* A writer has committed: what it made is the newest. */
bm_status bm_handle_show_commit(bm_index *index, bm_error *err);
/* NULL: no memory. */
bm_handle_worker *bm_handle_worker_take(bm_index *index, bm_error *err);
void bm_handle_worker_give(bm_index *index, bm_handle_worker *worker);
bm_status bm_handle_check_documents(const bm_index *index, const bm_documents *documents,
                                    bm_documents *out, bm_error *err);

/* --- index_handle.c --- */
/* Documents of a chunk, signed; valid until it is left. */
typedef struct bm_handle_signed {
    size_t n;
    const uint64_t **sets;
    uint32_t *n_shingles, *words; /* words NULL: not kept */
    uint64_t *keys;
    bm_hash128 *content;
    bm_pool *pool; /* held; NULL: this thread alone */
    bm_handle_worker **workers;
    uint32_t n_workers;
} bm_handle_signed;

bm_status bm_handle_sign(bm_index *index, const bm_documents *documents, const size_t range[2],
                         bm_handle_signed *out, bm_error *err);
void bm_handle_signed_leave(bm_index *index, bm_handle_signed *chunk);

#endif
