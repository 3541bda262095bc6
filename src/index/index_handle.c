/* index_handle.c -- open, close, facts, and which commit a query sees.
 *
 * Tests: tests/unit/index/test_index_handle.c, tests/unit/jobs/test_public_api_query.c */
#include "index/index_handle.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "index/index_place.h"
#include "index/index_settings.h"
#include "inmem/documents.h"
#include "text/stop_words.h"

#define LOOK_SECONDS 0.25

static const bm_index_options index_defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_index_options_init_sized(bm_index_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &index_defaults, sizeof index_defaults);
}

/* --- views --- */

/* Under the lock, or while nobody else has the handle. */
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

/* A view of the last commit becomes the newest. */
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

/* Another file stands at the path. */
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

/* What cannot be opened leaves the view that there is: who asks will ask again. */
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

bm_status bm_handle_enter(bm_index *index, bm_handle_view **out, bm_error *err)
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

void bm_handle_leave(bm_index *index, bm_handle_view *view)
{
    pthread_mutex_lock(&index->lock);
    leave(view);
    pthread_mutex_unlock(&index->lock);
}

bm_status bm_handle_show_commit(bm_index *index, bm_error *err)
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
    bm_free(worker->docs);
    bm_free(worker);
}

bm_handle_worker *bm_handle_worker_take(bm_index *index, bm_error *err)
{
    pthread_mutex_lock(&index->lock);
    bm_handle_worker *worker = index->idle;
    if (worker != NULL)
        index->idle = worker->next;
    pthread_mutex_unlock(&index->lock);
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

void bm_handle_worker_give(bm_index *index, bm_handle_worker *worker)
{
    bm_doc_signer_clear(&worker->signer);
    pthread_mutex_lock(&index->lock);
    worker->next = index->idle;
    index->idle = worker;
    pthread_mutex_unlock(&index->lock);
}

/* --- documents --- */

bm_status bm_handle_check_documents(const bm_index *index, const bm_documents *documents,
                                    bm_documents *out, bm_error *err)
{
    uint64_t work;
    BM_TRY(bm_documents_take(documents, out, &work, err));
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
        BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_options, callbacks), out, err));
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
    s->callbacks = options->callbacks;
    s->threads = options->resources.threads != 0 ? options->resources.threads : bm_cpu_count();
    BM_TRY(open_store(index, options->resources.memory, &from, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_settings_take(bm_store_facts_of(from->store), index->path, s, err));
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
    pthread_mutex_init(&index->lock, NULL);
    pthread_mutex_init(&index->pool_lock, NULL);
    pthread_mutex_init(&index->write_lock, NULL);
    index->writes = used.write;
    index->looked = bm_clock_seconds();
    index->path = bm_strdup(real);
    bm_status status =
        index->path == NULL ? bm_fail_nomem(err, sizeof real) : open_index(index, &used, err);
    if (status == BM_OK)
        *out = index;
    else
        bm_index_close(index);
    return status;
}

void bm_index_close(bm_index *index)
{
    if (index == NULL)
        return;
    leave(index->newest);
    while (index->idle != NULL) {
        bm_handle_worker *worker = index->idle;
        index->idle = worker->next;
        worker_free(worker);
    }
    bm_pool_close(index->pool);
    bm_backend_close(index->backend);
    bm_id_set_reset(&index->changes.ids);
    bm_free(index->changes.numbers);
    pthread_mutex_destroy(&index->lock);
    pthread_mutex_destroy(&index->pool_lock);
    pthread_mutex_destroy(&index->write_lock);
    bm_settings_reset(&index->settings);
    bm_free(index->path);
    bm_free(index);
}

/* --- statistics --- */

bm_status bm_index_stats(bm_index *index, bm_index_statistics *out, bm_error *err)
{
    const bm_sized_type type = BM_SIZED_TYPE(bm_index_statistics, free_bytes);
    bm_handle_view *view = NULL;
    if (index == NULL)
        return bm_fail_field(err, "index", "no index given");
    BM_TRY(out == NULL ? bm_fail_field(err, "out", "no place for the facts given")
                       : bm_sized_check(out, type, err));
    BM_TRY(bm_handle_enter(index, &view, err));
    const bm_store_counts counts = bm_store_view_counts(view->view);
    bm_handle_leave(index, view);
    const bm_settings *s = &index->settings;
    const bm_index_statistics facts = {.store = s->index.store,
                                       .text = bm_stop_words_shown(&s->text),
                                       .sketch = s->sketch,
                                       .plan = s->plan,
                                       .documents = counts.documents,
                                       .empty = counts.empty,
                                       .removed = counts.removed,
                                       .shingles = counts.shingles,
                                       .text_bytes = counts.text_bytes,
                                       .file_bytes = counts.file_bytes,
                                       .free_bytes = counts.free_bytes};
    return bm_sized_give(&facts, type, out, err);
}
