/* SPDX-License-Identifier: Apache-2.0 */
/* index_handle.c -- an index that a program keeps open: bm_index of bandmill/index.h.
 *
 * A view counts its users: the queries that run on it, and the handle if the view is the newest.
 * Each signer is used by one thread at a time. The thread pool serves one call at a time; a call
 * that finds the pool busy does its work on the calling thread.
 *
 * A forked child shares LMDB's files and its table of readers with the process that opened them, so
 * the child must call no function of LMDB, not even to close the environment.
 *
 * Tests: tests/unit/index/test_index_handle.c, tests/unit/jobs/test_public_api_query.c */
#include <bandmill/index.h>

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/handle.h"
#include "base/idle.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "base/threads.h"
#include "index/index_place.h"
#include "index/search.h"
#include "inmem/documents.h"
#include "job/settings.h"
#include "model/ids.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "store/store_write.h"
#include "text/stop_words.h"

#define LOOK_SECONDS 0.25

/* A store, which is open as long as it has views. */
typedef struct bm_handle_store {
    bm_store *store;
    uint32_t users;
} bm_handle_store;

typedef struct bm_handle_view {
    bm_handle_store *from;
    bm_store_view *view;
    uint32_t users; /* number of queries that use the view, plus 1 for the handle if the view is the
                     * newest */
} bm_handle_view;

/* Work memory of one thread. */
typedef struct bm_handle_worker {
    bm_doc_signer signer;
    uint32_t *docs; /* for each document in the signer's batch, its index in the chunk */
    size_t cap_docs;
} bm_handle_worker;

/* The changes since the last commit. */
typedef struct bm_handle_changes {
    bm_id_set ids;     /* ids that were added or removed */
    uint32_t *numbers; /* for each id: the number of its document; BM_ID_NONE: it was removed */
    size_t cap_numbers;
    bool failed;  /* a change failed: the index can only be closed */
    bool pending; /* the store has uncommitted changes */
    pthread_t by; /* the thread that made the pending changes. No other thread may change more or
                   * commit, because LMDB ties a transaction to a thread */
} bm_handle_changes;

struct bm_index {
    bm_handle handle;
    char *path;
    bm_settings settings; /* the fixed settings of the index, with the callbacks of the program */
    bool writes;
    pthread_mutex_t lock; /* guards `newest`, `looked`, and the users of all views and stores */
    bm_handle_view *newest;
    double looked;              /* time of the last check for a newer commit */
    bm_idle workers;            /* workers not in use */
    pthread_mutex_t pool_lock;  /* held by the call that uses the pool */
    bm_pool *pool;              /* NULL: not started yet */
    pthread_mutex_t write_lock; /* held by a call that adds, removes or commits */
    bm_handle_changes changes;  /* guarded by write_lock */
    bm_doc_recipe recipe;
    bm_backend *backend;
};

BM_OPTIONS_INIT(index, .resources = BM_RESOURCE_DEFAULTS)

/* --- views --- */

/* End one use of a view, and close the view after its last use. NULL: does nothing. The caller
 * holds index->lock, or no other thread uses the handle. */
static void leave(bm_handle_view *view)
{
    if (view == NULL || --view->users > 0)
        return;
    bm_store_view_close(view->view);
    if (--view->from->users == 0) {
        bm_store_close(view->from->store);
        bm_free(view->from);
    }
    bm_free(view);
}

/* Open a view of the last commit of store `from`, and make it the newest. Like leave(), this needs
 * index->lock, or that no other thread uses the handle. */
static bm_status show(bm_index *index, bm_handle_store *from, bm_error *err)
{
    bm_handle_view *view = NULL;
    BM_TRY(bm_new_zero(&view, 1, err));
    bm_status status = bm_store_view_open(from->store, &view->view, err);
    if (status != BM_OK) {
        bm_free(view);
        return status;
    }
    view->from = from;
    view->users = 1;
    from->users++;
    leave(index->newest);
    index->newest = view;
    return BM_OK;
}

static bm_status open_store(bm_index *index, uint64_t memory, bm_handle_store **out, bm_error *err)
{
    const bm_store_cfg cfg = {.mode = index->writes ? BM_STORE_WRITE : BM_STORE_READ,
                              .memory = memory,
                              .look_ups = !index->writes};
    bm_handle_store *from = NULL;
    BM_TRY(bm_new_zero(&from, 1, err));
    bm_status status = bm_store_open(index->path, &cfg, &from->store, err);
    if (status == BM_OK)
        *out = from;
    else
        bm_free(from);
    return status;
}

/* Open the index that has replaced the old one at index->path. A view of it becomes index->newest.
 * BM_ERR_FORMAT: its settings differ from those of the old one. */
static bm_status open_again(bm_index *index, bm_error *err)
{
    bm_handle_store *from = NULL;
    const bm_str now = bm_store_facts_of(index->newest->from->store)->settings;
    BM_TRY(open_store(index, 0, &from, err));
    const bm_str then = bm_store_facts_of(from->store)->settings;
    bm_status status = BM_OK;
    if (then.len != now.len || memcmp(then.data, now.data, now.len) != 0)
        status = bm_fail_at(err, BM_ERR_FORMAT, index->path, 0,
                            "another index has taken its place, with other settings");
    else
        status = show(index, from, err);
    if (from->users == 0) {
        bm_store_close(from->store);
        bm_free(from);
    }
    return status;
}

/* Unless the handle writes, check for a newer commit or index, at most once in LOOK_SECONDS. If the
 * newer one cannot be opened, the old view remains the newest, and a later call tries again. Only
 * BM_ERR_NOMEM is returned as an error. */
static bm_status refresh(bm_index *index, bm_error *err)
{
    const double now = bm_clock_seconds();
    bm_error why = {0};
    bm_status status = BM_OK;
    if (index->writes || now - index->looked < LOOK_SECONDS)
        return BM_OK;
    index->looked = now;
    if (bm_store_is_replaced(index->newest->from->store))
        status = open_again(index, &why);
    else if (!bm_store_view_is_last(index->newest->view))
        status = show(index, index->newest->from, &why);
    if (status != BM_ERR_NOMEM)
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}

static bm_status enter_view(bm_index *index, bm_handle_view **out, bm_error *err)
{
    pthread_mutex_lock(&index->lock);
    bm_status status = BM_OK;
    BM_TRY_OUT(refresh(index, err));
    *out = index->newest;
    index->newest->users++;
out:
    pthread_mutex_unlock(&index->lock);
    return status;
}

static void leave_view(bm_index *index, bm_handle_view *view)
{
    pthread_mutex_lock(&index->lock);
    leave(view);
    pthread_mutex_unlock(&index->lock);
}

static bm_status show_commit(bm_index *index, bm_error *err)
{
    pthread_mutex_lock(&index->lock);
    bm_status status = show(index, index->newest->from, err);
    pthread_mutex_unlock(&index->lock);
    return status;
}

/* --- workers --- */

static void worker_free(bm_handle_worker *worker)
{
    bm_doc_signer_reset(&worker->signer);
    bm_free_all(worker->docs, worker);
}

static bm_handle_worker *worker_take(bm_index *index, bm_error *err)
{
    bm_handle_worker *worker = bm_idle_take(&index->workers);
    if (worker != NULL)
        return worker;
    worker = bm_alloc_zero(1, sizeof *worker);
    if (worker == NULL) {
        bm_fail_nomem(err, sizeof *worker);
    } else if (bm_doc_signer_init(&worker->signer, &index->recipe, index->backend, err) != BM_OK) {
        worker_free(worker);
        worker = NULL;
    }
    return worker;
}

static void worker_give(bm_index *index, bm_handle_worker *worker)
{
    bm_doc_signer_clear(&worker->signer);
    if (!bm_idle_give(&index->workers, worker))
        worker_free(worker);
}

/* --- documents --- */

static bm_status check_documents(const bm_index *index, const bm_documents *documents,
                                 bm_documents *out, bm_error *err)
{
    uint64_t work;
    BM_TRY(bm_documents_accept(documents, out, &work, err));
    BM_TRY(bm_documents_no_weights(out, err));
    if (out->n_docs == 0)
        return BM_OK;
    if (out->hashes32 != NULL)
        return bm_fail_field(err, "hashes32", "`hashes32` cannot be compared (64-bit `hashes`)");
    if (out->texts != NULL && strcmp(index->settings.hash_name, "given") == 0)
        return bm_fail_field(err, "texts",
                             "the index %s holds hashes that were made elsewhere (`hashes`)",
                             index->path);
    return out->n_docs > BM_DOCS_MAX
               ? bm_fail_field(err, "n_docs", "more documents than a call takes")
               : BM_OK;
}

/* --- open and close --- */

static bm_status take_options(const bm_index_options *options, bm_index_options *out, bm_error *err)
{
    bm_isa isa;
    *out = index_defaults;
    if (options != NULL)
        BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_options, callbacks), out, err));
    BM_TRY(bm_option_parts_check(
        &(bm_option_parts){.resources = &out->resources, .callbacks = &out->callbacks}, err));
    return bm_isa_choose(out->cpu, &isa, err);
}

static bm_status open_index(bm_index *index, const bm_index_options *options, bm_error *err)
{
    bm_handle_store *from = NULL;
    bm_settings *s = &index->settings;
    s->kind = BM_JOB_QUERY;
    s->text = (bm_text_options)BM_TEXT_DEFAULTS;
    s->sketch = (bm_sketch_options)BM_SKETCH_DEFAULTS;
    s->bands = (bm_band_options)BM_BAND_DEFAULTS;
    s->callbacks = bm_handle_callbacks(&index->handle);
    s->threads = options->resources.threads != 0 ? options->resources.threads : bm_cpu_count();
    BM_TRY(open_store(index, options->resources.memory, &from, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_settings_load(bm_store_facts_of(from->store), index->path, s, err));
    status = show(index, from, err);
out:
    if (from->users == 0) {
        bm_store_close(from->store);
        bm_free(from);
    }
    if (status != BM_OK)
        return status;
    index->recipe = (bm_doc_recipe){.text = &s->text,
                                    .sketch = &s->sketch,
                                    .bands = s->plan.bands,
                                    .rows = s->plan.rows,
                                    .words = s->index.store == BM_INDEX_SIGNATURES,
                                    .cpu = options->cpu};
    return bm_doc_backend_open(&index->recipe, &index->backend, err);
}

bm_status bm_index_open(const char *path, const bm_index_options *options, bm_index **out,
                        bm_error *err)
{
    bm_index_options used;
    char real[PATH_MAX];
    BM_TRY(take_options(options, &used, err));
    if (path == NULL)
        return bm_fail_field(err, "path", "no index given");
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the index given");
    BM_TRY(bm_index_find(path, real, sizeof real, err));
    bm_index *index = NULL;
    BM_TRY(bm_new_zero(&index, 1, err));
    bm_status status = bm_handle_init(&index->handle, "index", &used.callbacks, err);
    if (status != BM_OK) {
        bm_free(index);
        return status;
    }
    pthread_mutex_init(&index->lock, NULL);
    pthread_mutex_init(&index->pool_lock, NULL);
    pthread_mutex_init(&index->write_lock, NULL);
    index->writes = used.write;
    index->looked = bm_clock_seconds();
    index->path = bm_strdup(real);
    status = index->path == NULL ? bm_fail_nomem(err, sizeof real) : open_index(index, &used, err);
    if (status == BM_OK)
        *out = index;
    else
        bm_index_close(index);
    return status;
}

/* Free the memory of the handle itself. LMDB's memory, the pool, and workers in use by a call are
 * not freed. */
static void free_memory(bm_index *index)
{
    bm_handle_worker *worker;
    while ((worker = bm_idle_take(&index->workers)) != NULL)
        worker_free(worker);
    bm_backend_close(index->backend);
    bm_settings_reset(&index->settings);
    bm_free_all(index->path, index);
}

static void close_here(bm_index *index)
{
    bm_handle_await(&index->handle);
    leave(index->newest);
    bm_id_set_reset(&index->changes.ids);
    bm_free(index->changes.numbers);
    bm_pool_close(index->pool);
    pthread_mutex_destroy(&index->lock);
    pthread_mutex_destroy(&index->pool_lock);
    pthread_mutex_destroy(&index->write_lock);
    bm_handle_reset(&index->handle);
    free_memory(index);
}

void bm_index_close(bm_index *index)
{
    if (index == NULL)
        return;
    switch (bm_handle_close(&index->handle)) {
    case BM_CLOSING:
        close_here(index);
        break;
    case BM_CLOSING_FORKED:
        bm_pool_forget(index->pool);
        free_memory(index);
        break;
    case BM_CLOSING_REFUSED:
        break;
    }
}

static bm_status enter(bm_index *index, unsigned *gate, bm_error *err)
{
    return index != NULL ? bm_handle_enter(&index->handle, gate, err)
                         : bm_fail_field(err, "index", "no index given");
}

static bm_status enter_to_write(bm_index *index, unsigned *gate, bm_error *err)
{
    BM_TRY(enter(index, gate, err));
    if (index->writes)
        return BM_OK;
    bm_handle_leave(&index->handle, *gate);
    return bm_fail_field(err, "index", "the index was opened without `write`");
}

/* --- statistics --- */

bm_status bm_index_describe(bm_index *index, bm_index_info *out, bm_error *err)
{
    const bm_sized_type type = BM_SIZED_TYPE(bm_index_info, free_bytes);
    bm_handle_view *view = NULL;
    unsigned gate = 0;
    BM_TRY(enter(index, &gate, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(out == NULL ? bm_fail_field(err, "out", "no place for the facts given")
                           : bm_sized_check(out, type, err));
    BM_TRY_OUT(enter_view(index, &view, err));
    const bm_store_counts counts = bm_store_view_counts(view->view);
    leave_view(index, view);
    const bm_settings *s = &index->settings;
    const bm_index_info facts = {.store = s->index.store,
                                 .text = bm_stop_words_shown(&s->text),
                                 .sketch = s->sketch,
                                 .plan = s->plan,
                                 .documents = counts.documents,
                                 .empty = counts.empty - counts.unreadable - counts.short_docs,
                                 .removed = counts.removed,
                                 .shingles = counts.shingles,
                                 .text_bytes = counts.text_bytes,
                                 .file_bytes = counts.file_bytes,
                                 .free_bytes = counts.free_bytes,
                                 .unreadable = counts.unreadable,
                                 .short_docs = counts.short_docs,
                                 .ids = counts.ids,
                                 .next_id = counts.next_id};
    status = bm_sized_write(&facts, type, out, err);
out:
    bm_handle_leave(&index->handle, gate);
    return status;
}

/* === handle sign ===
 *
 * Signs the documents of a call.
 *
 * A small call is signed on the calling thread, with one signer. In a larger call the threads of
 * the pool share the documents, each thread with its own signer. The sets remain in the signers.
 * The keys and words of document i are copied to entry i of arrays that all threads share. */

#define LITTLE (UINT64_C(256) << 10) /* most work of a small call (bm_document_work) */
#define RANGE  (UINT64_C(64) << 10)  /* work that a thread takes at a time */
#define LAST   (UINT64_C(4) << 10)   /* work that a thread takes at a time near the end */

/* The signed documents of a chunk. They are valid until leave_signed. */
typedef struct bm_handle_signed {
    size_t n;
    const uint64_t **sets;
    uint32_t *n_shingles, *words; /* words: NULL if signatures are not needed */
    uint64_t *keys;
    bm_hash128 *content;
    bm_pool *pool; /* the pool, locked for this call; NULL: only the calling thread works */
    bm_handle_worker **workers;
    uint32_t n_workers;
} bm_handle_signed;

typedef struct sign_job {
    bm_documents docs; /* the documents of the chunk */
    bm_handle_signed *out;
    bm_doc_ranges ranges;
} sign_job;

static bm_status add(const sign_job *job, bm_handle_worker *worker, size_t i, bm_error *err)
{
    bm_doc_signer *signer = &worker->signer;
    const size_t n = signer->batch.n_docs;
    BM_TRY(bm_grow_array(&worker->docs, &worker->cap_docs, n + 1, err));
    worker->docs[n] = (uint32_t)i;
    return bm_doc_hasher_add(&signer->hasher, &job->docs, i, &signer->batch, err);
}

static bm_status sign_some(void *ctx, uint32_t thread, bm_error *err)
{
    sign_job *job = ctx;
    bm_handle_signed *out = job->out;
    bm_handle_worker *worker = out->workers[thread];
    bm_doc_signer *signer = &worker->signer;
    size_t range[2] = {0, 0};
    bm_status status = BM_OK;
    while (bm_doc_ranges_next(&job->ranges, thread, range, &status, err))
        for (size_t i = range[0]; i < range[1] && status == BM_OK; i++)
            status = add(job, worker, i, err);
    BM_TRY(status);
    BM_TRY(bm_doc_signer_sign(signer, err));
    for (size_t k = 0; k < signer->batch.n_docs; k++) {
        const size_t i = worker->docs[k];
        out->sets[i] = signer->sets[k];
        out->n_shingles[i] = signer->n_shingles[k];
        out->content[i] = signer->batch.content[k];
        memcpy(out->keys + i * signer->bands, signer->keys + k * signer->bands,
               signer->bands * sizeof *out->keys);
        if (out->words != NULL)
            memcpy(out->words + i * signer->row_uints, signer->words + k * signer->row_uints,
                   signer->row_uints * sizeof *out->words);
    }
    return BM_OK;
}

static bm_status make_room(bm_index *index, bm_handle_signed *out, bm_error *err)
{
    const bm_doc_recipe *recipe = &index->recipe;
    const size_t n = out->n, a_doc = sizeof *out->sets + sizeof *out->n_shingles +
                                     sizeof *out->content + recipe->bands * sizeof *out->keys;
    out->sets = bm_alloc(n, sizeof *out->sets);
    out->n_shingles = bm_alloc(n, sizeof *out->n_shingles);
    out->content = bm_alloc(n, sizeof *out->content);
    out->keys = bm_alloc(n, recipe->bands * sizeof *out->keys);
    if (recipe->words)
        out->words =
            bm_alloc(n, bm_scheme_row_uints(recipe->sketch->scheme, recipe->sketch->perms) *
                            sizeof *out->words);
    out->workers = bm_alloc_zero(out->n_workers, sizeof(bm_handle_worker *));
    if (out->sets == NULL || out->n_shingles == NULL || out->content == NULL || out->keys == NULL ||
        out->workers == NULL || (recipe->words && out->words == NULL))
        return bm_fail_nomem(err, n * a_doc);
    for (uint32_t i = 0; i < out->n_workers; i++)
        if ((out->workers[i] = worker_take(index, err)) == NULL)
            return err != NULL ? err->status : BM_ERR_NOMEM;
    return BM_OK;
}

/* Lock and return the pool, which the first call starts. Return NULL if another call uses the pool,
 * if there is only one thread, or if the pool cannot be started. */
static bm_pool *take_pool(bm_index *index)
{
    if (index->settings.threads < 2 || pthread_mutex_trylock(&index->pool_lock) != 0)
        return NULL;
    if (index->pool == NULL && bm_pool_open(index->settings.threads, &index->pool, NULL) != BM_OK)
        pthread_mutex_unlock(&index->pool_lock);
    return index->pool;
}

static void leave_signed(bm_index *index, bm_handle_signed *chunk)
{
    for (uint32_t i = 0; chunk->workers != NULL && i < chunk->n_workers; i++)
        if (chunk->workers[i] != NULL)
            worker_give(index, chunk->workers[i]);
    if (chunk->pool != NULL)
        pthread_mutex_unlock(&index->pool_lock);
    bm_free_all(chunk->workers, chunk->sets, chunk->n_shingles, chunk->content, chunk->keys,
                chunk->words);
    *chunk = (bm_handle_signed){0};
}

static bm_status sign(bm_index *index, const bm_documents *documents, const size_t range[2],
                      bm_handle_signed *out, bm_error *err)
{
    sign_job job = {.docs = *documents, .out = out};
    uint64_t work = 0;
    *out = (bm_handle_signed){.n = range[1] - range[0], .n_workers = 1};
    for (size_t i = range[0]; i < range[1]; i++)
        work += bm_document_work(documents, i);
    if (work > LITTLE && out->n > 1)
        out->pool = take_pool(index);
    if (out->pool != NULL)
        out->n_workers = bm_pool_size(out->pool);
    job.docs.n_docs = out->n;
    if (job.docs.texts != NULL)
        job.docs.texts += range[0];
    else
        job.docs.offsets += range[0];
    const bm_range_size size = {out->n_workers, RANGE, LAST};
    bm_doc_ranges_begin(&job.ranges, &job.docs, work, &size);
    bm_status status = BM_OK;
    BM_TRY_OUT(make_room(index, out, err));
    status =
        out->pool != NULL ? bm_pool_run(out->pool, sign_some, &job, err) : sign_some(&job, 0, err);
out:
    bm_doc_ranges_end(&job.ranges);
    if (status != BM_OK)
        leave_signed(index, out);
    return status;
}

/* === handle query ===
 *
 * Looks up the documents of a call in the newest view; the caller owns the answers. */

#define CHUNK 8192u /* documents that are signed and looked up together */

struct bm_matches {
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1 entries */
    double *similarities;
    uint64_t *id_ends; /* ends of the ids, as offsets in `ids` */
    bm_buf ids;
    size_t cap_similarities, cap_id_ends;
};

BM_OPTIONS_INIT(match, 0)

/* --- matches --- */

static bm_status take_answers(bm_matches *m, const bm_store_view *view,
                              const bm_search_result *found, size_t first, bm_error *err)
{
    uint64_t n = m->offsets[first];
    for (size_t i = 0; i < found->n; i++) {
        for (uint64_t k = found->begin[i]; k < found->begin[i + 1]; k++) {
            bm_store_doc doc;
            BM_TRY(bm_store_view_doc(view, found->list[k].number, &doc, err));
            BM_TRY(bm_grow_array(&m->similarities, &m->cap_similarities, (size_t)n + 1, err));
            BM_TRY(bm_grow_array(&m->id_ends, &m->cap_id_ends, (size_t)n + 1, err));
            BM_TRY(bm_buf_add(&m->ids, doc.id.data, doc.id.len, err));
            m->similarities[n] = found->list[k].similarity;
            m->id_ends[n++] = m->ids.len;
        }
        m->offsets[first + i + 1] = n;
    }
    return BM_OK;
}

size_t bm_matches_count(const bm_matches *matches)
{
    return matches != NULL ? matches->n_docs : 0;
}

const uint64_t *bm_matches_offsets(const bm_matches *matches)
{
    return matches != NULL ? matches->offsets : NULL;
}

const double *bm_matches_similarities(const bm_matches *matches)
{
    return matches != NULL ? matches->similarities : NULL;
}

bm_str bm_matches_id(const bm_matches *matches, uint64_t match)
{
    if (matches == NULL || match >= matches->offsets[matches->n_docs])
        return (bm_str){NULL, 0};
    const uint64_t begin = match == 0 ? 0 : matches->id_ends[match - 1];
    return (bm_str){matches->ids.data + begin, (size_t)(matches->id_ends[match] - begin)};
}

void bm_matches_free(bm_matches *matches)
{
    if (matches == NULL)
        return;
    bm_free_all(matches->offsets, matches->similarities, matches->id_ends);
    bm_buf_reset(&matches->ids);
    bm_free(matches);
}

/* --- the query --- */

typedef struct asked {
    bm_index *index;
    bm_documents docs;
    bm_match_options options;
    bm_search_cfg search;
    bm_search_result found;
    bm_matches *matches;
} asked;

static bm_status query_chunk(asked *a, size_t begin, size_t end, bm_error *err)
{
    bm_handle_signed chunk;
    BM_TRY(bm_check_cancelled(&a->index->settings.callbacks, err));
    BM_TRY(sign(a->index, &a->docs, (const size_t[]){begin, end}, &chunk, err));
    const bm_search_batch batch = {.n = chunk.n,
                                   .keys = chunk.keys,
                                   .n_shingles = chunk.n_shingles,
                                   .sets = chunk.sets,
                                   .words = chunk.words,
                                   .ids = a->options.ids != NULL ? a->options.ids + begin : NULL};
    a->search.pool = chunk.pool;
    bm_status status = bm_search_run(&a->search, &batch, &a->found, err);
    leave_signed(a->index, &chunk);
    return status == BM_OK ? take_answers(a->matches, a->search.view, &a->found, begin, err)
                           : status;
}

static bm_status query(asked *a, bm_error *err)
{
    const size_t n = a->docs.n_docs;
    const bm_answer_rule *rule = &a->options.answers;
    bm_handle_view *view = NULL;
    a->matches->n_docs = n;
    BM_TRY(bm_new(&a->matches->offsets, n + 1, err));
    a->matches->offsets[0] = 0;
    BM_TRY(enter_view(a->index, &view, err));
    a->search = (bm_search_cfg){
        .word_bytes = bm_scheme_value_bytes(a->index->settings.sketch.scheme),
        .view = view->view,
        .facts = bm_store_facts_of(view->from->store),
        .measure = rule->measure,
        .threshold = rule->threshold > 0 ? rule->threshold : a->index->settings.bands.threshold,
        .top = rule->top,
        .skip_same_id = rule->skip_same_id,
        .first = BM_SEARCH_FIRST};
    bm_status status = BM_OK;
    if (rule->measure == BM_MEASURE_CONTAINMENT && a->search.facts->kind != BM_STORE_SETS)
        BM_TRY_OUT(bm_fail_field(err, "measure",
                                 "`measure` containment needs sets, the index keeps signatures"));
    for (size_t i = 0; i < n; i += CHUNK)
        BM_TRY_OUT(query_chunk(a, i, n - i < CHUNK ? n : i + CHUNK, err));
out:
    leave_view(a->index, view);
    bm_search_result_reset(&a->found);
    return status;
}

static bm_status query_take_options(asked *a, const bm_match_options *options, bm_error *err)
{
    a->options = match_defaults;
    if (options != NULL)
        BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_match_options, ids), &a->options, err));
    BM_TRY(bm_answer_rule_check(&a->options.answers, err));
    if (a->options.answers.skip_same_id && a->options.ids == NULL && a->docs.n_docs > 0)
        return bm_fail_field(err, "ids", "`skip_same_id` without `ids`");
    for (size_t i = 0; a->options.ids != NULL && i < a->docs.n_docs; i++) {
        if (a->options.ids[i].data == NULL && a->options.ids[i].len != 0)
            return bm_fail_field(err, "ids", "`ids`: %zu is NULL and has a length", i);
    }
    return BM_OK;
}

bm_status bm_index_query(bm_index *index, const bm_match_options *options,
                         const bm_documents *documents, bm_matches **out, bm_error *err)
{
    bm_error why = {0};
    unsigned gate = 0;
    asked a = {.index = index};
    BM_TRY(enter(index, &gate, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(out == NULL ? bm_fail_field(&why, "out", "no place for the matches given") : BM_OK);
    BM_TRY_OUT(check_documents(index, documents, &a.docs, &why));
    BM_TRY_OUT(query_take_options(&a, options, &why));
    BM_TRY_OUT(bm_new_zero(&a.matches, 1, &why));
    BM_TRY_OUT(query(&a, &why));
    *out = a.matches;
    a.matches = NULL;
out:
    bm_matches_free(a.matches);
    bm_handle_leave(&index->handle, gate);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* === handle write ===
 *
 * Add, remove and commit; one call at a time.
 *
 * Which ids are in the index? Those of the last commit, which the newest view shows, plus the
 * changes since then. The changes are kept until the next commit. */

#define SHOWN    200
#define NO_INPUT UINT32_MAX /* marks documents that do not come from a named input */

/* --- ids --- */

/* May this thread change the index now? Called with write_lock held. */
static bm_status check_works(const bm_index *index, bm_error *err)
{
    const bm_handle_changes *changes = &index->changes;
    if (changes->failed)
        return bm_fail_at(err, BM_ERR_IO, index->path, 0,
                          "an earlier call failed: the index can only be closed");
    if (changes->pending && pthread_equal(changes->by, pthread_self()) == 0)
        return bm_fail_at(err, BM_ERR_BUSY, index->path, 0,
                          "another thread has added or removed, and not committed yet");
    return BM_OK;
}

static bm_status check_ids(const bm_str *ids, size_t n, bool named, bm_error *err)
{
    if (ids == NULL && n != 0)
        return bm_fail_field(err, "ids", "`ids` is NULL and has %zu entries", n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i].data == NULL && ids[i].len != 0)
            return bm_fail_field(err, "ids", "`ids`: %zu is NULL and has a length", i);
        if (named && ids[i].len == 0)
            return bm_fail(err, BM_ERR_INPUT, "id %zu is empty (documents of an index have one)",
                           i);
    }
    return BM_OK;
}

/* Set *number to the document that has this id now, or to BM_ID_NONE if no document has it. */
static bm_status find_id(const bm_index *index, bm_str id, uint32_t *number, bm_error *err)
{
    const bm_handle_changes *changes = &index->changes;
    const uint32_t changed = changes->ids.n > 0 ? bm_id_set_find(&changes->ids, id) : BM_ID_NONE;
    *number = BM_ID_NONE;
    if (changed != BM_ID_NONE) {
        *number = changes->numbers[changed];
        return BM_OK;
    }
    /* `newest` is read without `lock`. That is safe in an index opened for writing: only a commit
     * replaces `newest`, and a commit needs write_lock, which this call holds. */
    bm_status status = bm_store_view_id(index->newest->view, id, number, err);
    if (status == BM_NOT_FOUND)
        *number = BM_ID_NONE;
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* Record the number that the id now has. BM_ID_NONE: the document was removed. */
static bm_status note_id(bm_index *index, bm_str id, uint32_t number, bm_error *err)
{
    bm_handle_changes *changes = &index->changes;
    uint32_t at;
    BM_TRY(bm_grow_array(&changes->numbers, &changes->cap_numbers, changes->ids.n + 1, err));
    BM_TRY(bm_id_set_add(&changes->ids, id, &at, err));
    changes->numbers[at] = number;
    return BM_OK;
}

/* Record that the store is about to have uncommitted changes. */
static void begin_changes(bm_index *index)
{
    index->changes.pending = true;
    index->changes.by = pthread_self();
}

/* --- add --- */

static bm_status check_new(const bm_index *index, const bm_str *ids, size_t n, bm_error *err)
{
    bm_id_set here = {0};
    const bm_id_kind wanted = bm_store_view_counts(index->newest->view).ids;
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        if (!bm_id_is_of(ids[i], wanted))
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, index->path, 0,
                                  "the id '%.*s' is no %s, as those of the index are",
                                  (int)(ids[i].len < SHOWN ? ids[i].len : SHOWN), ids[i].data,
                                  bm_id_kind_word(wanted)));
        bool repeated = bm_id_set_find(&here, ids[i]) != BM_ID_NONE;
        BM_TRY_OUT(bm_id_set_add(&here, ids[i], &number, err));
        if (!repeated) {
            BM_TRY_OUT(find_id(index, ids[i], &number, err));
            repeated = number != BM_ID_NONE;
        }
        if (repeated)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, index->path, 0,
                                  "the id '%.*s' is there already (ids must differ)",
                                  (int)(ids[i].len < SHOWN ? ids[i].len : SHOWN), ids[i].data));
    }
out:
    bm_id_set_reset(&here);
    return status;
}

static bm_status store_chunk(bm_index *index, const bm_str *ids, const bm_documents *docs,
                             const bm_handle_signed *chunk, bm_error *err)
{
    uint32_t first;
    bm_store_doc *stored = NULL;
    BM_TRY(bm_new(&stored, chunk->n, err));
    for (size_t i = 0; i < chunk->n; i++)
        stored[i] = (bm_store_doc){.id = ids[i],
                                   .content = chunk->content[i],
                                   .text_bytes = docs->texts != NULL ? docs->texts[i].len : 0,
                                   .input = NO_INPUT,
                                   .n_shingles = chunk->n_shingles[i]};
    const bm_store_batch batch = {.n = chunk->n,
                                  .docs = stored,
                                  .sets = chunk->sets,
                                  .words = chunk->words,
                                  .keys = chunk->keys};
    const bm_store_counts counts = bm_store_view_counts(index->newest->view);
    bm_store *store = index->newest->from->store;
    begin_changes(index);
    bm_status status = BM_OK;
    if (counts.ids == BM_IDS_UNTYPED && counts.next_number == 0)
        BM_TRY_OUT(bm_store_set_ids(store, BM_IDS_TEXT, err));
    status = bm_store_add(store, &batch, &first, err);
out:
    bm_free(stored);
    for (size_t i = 0; status == BM_OK && i < chunk->n; i++)
        status = note_id(index, ids[i], first + (uint32_t)i, err);
    index->changes.failed = status != BM_OK; /* after a failure, the contents of the store are
                                                unknown */
    return status;
}

static bm_status write_add(bm_index *index, const bm_str *ids, const bm_documents *docs,
                           bm_error *err)
{
    bm_handle_signed chunk;
    BM_TRY(check_works(index, err));
    BM_TRY(bm_check_cancelled(&index->settings.callbacks, err));
    BM_TRY(check_new(index, ids, docs->n_docs, err));
    BM_TRY(sign(index, docs, (const size_t[]){0, docs->n_docs}, &chunk, err));
    bm_status status = store_chunk(index, ids, docs, &chunk, err);
    leave_signed(index, &chunk);
    return status;
}

bm_status bm_index_add(bm_index *index, const bm_str *ids, const bm_documents *documents,
                       bm_error *err)
{
    bm_documents docs;
    bm_error why = {0};
    unsigned gate = 0;
    BM_TRY(enter_to_write(index, &gate, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(check_documents(index, documents, &docs, &why));
    BM_TRY_OUT(check_ids(ids, docs.n_docs, true, &why));
    BM_TRY_OUT(bm_documents_check_low_halves(&docs, index->settings.sketch.scheme, &why));
    if (docs.n_docs == 0)
        goto out;
    pthread_mutex_lock(&index->write_lock);
    status = write_add(index, ids, &docs, &why);
    pthread_mutex_unlock(&index->write_lock);
out:
    bm_handle_leave(&index->handle, gate);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* --- remove --- */

static bm_status remove_ids(bm_index *index, const bm_str *ids, size_t n, size_t *missing,
                            bm_error *err)
{
    uint32_t *numbers = NULL;
    size_t n_found = 0;
    bm_status status = BM_OK;
    *missing = 0;
    BM_TRY(check_works(index, err));
    BM_TRY(bm_new(&numbers, n, err));
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        BM_TRY_OUT(find_id(index, ids[i], &number, err));
        if (number == BM_ID_NONE) {
            ++*missing;
            continue;
        }
        numbers[n_found++] = number;
        BM_TRY_OUT(note_id(index, ids[i], BM_ID_NONE, err));
    }
    if (n_found > 0) {
        begin_changes(index);
        status = bm_store_remove(index->newest->from->store, numbers, n_found, err);
    }
out: /* Some ids may be noted as removed although their documents are still in the store. So after a
      * failure the handle only allows closing. */
    index->changes.failed = index->changes.failed || (status != BM_OK && n_found > 0);
    bm_free(numbers);
    return status;
}

bm_status bm_index_remove(bm_index *index, const bm_str *ids, size_t n_ids, bm_error *err)
{
    size_t missing = 0;
    unsigned gate = 0;
    BM_TRY(enter_to_write(index, &gate, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(check_ids(ids, n_ids, false, err));
    if (n_ids == 0)
        goto out;
    pthread_mutex_lock(&index->write_lock);
    status = remove_ids(index, ids, n_ids, &missing, err);
    pthread_mutex_unlock(&index->write_lock);
    if (status == BM_OK && missing > 0)
        status = bm_fail(err, BM_NOT_FOUND, "%zu of %zu ids are not there", missing, n_ids);
out:
    bm_handle_leave(&index->handle, gate);
    return status;
}

/* --- commit --- */

static bm_status commit(bm_index *index, bm_error *err)
{
    bm_handle_changes *changes = &index->changes;
    BM_TRY(check_works(index, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_commit(index->newest->from->store, err));
    status = show_commit(index, err);
out:
    if (status != BM_OK) {
        changes->failed = true;
        return status;
    }
    changes->pending = false;
    bm_id_set_reset(&changes->ids);
    return BM_OK;
}

bm_status bm_index_commit(bm_index *index, bm_error *err)
{
    unsigned gate = 0;
    BM_TRY(enter_to_write(index, &gate, err));
    pthread_mutex_lock(&index->write_lock);
    bm_status status = commit(index, err);
    pthread_mutex_unlock(&index->write_lock);
    bm_handle_leave(&index->handle, gate);
    return status;
}
