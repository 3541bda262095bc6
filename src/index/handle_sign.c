/* handle_sign.c -- documents of a call, signed.
 *
 * What is little is done by the thread of the call, with one signer. Else the threads of the pool share the
 * documents, each with a signer of its own: sets stay where they were made, keys and words are copied to
 * their documents' places.
 *
 * Tests: tests/unit/index/test_index_handle.c */
#include "index/index_handle.h"

#include <stdatomic.h>
#include <string.h>

#include "model/scheme_facts.h"
#include "base/error.h"
#include "base/memory.h"
#include "inmem/documents.h"

#define LITTLE (UINT64_C(256) << 10) /* work, as bm_document_work counts it */
#define GRAIN  16u                   /* documents that a thread takes at a time */

typedef struct sign_job {
    const bm_documents *docs;
    size_t begin;
    bm_handle_signed *out;
    atomic_size_t next;
} sign_job;

static bm_status add(const sign_job *job, bm_handle_worker *worker, size_t i, bm_error *err)
{
    const bm_documents *docs = job->docs;
    const size_t doc = job->begin + i, n = worker->signer.batch.n_docs;
    BM_TRY(bm_grow_array(&worker->docs, &worker->cap_docs, n + 1, err));
    worker->docs[n] = (uint32_t)i;
    if (docs->texts != NULL)
        return bm_doc_signer_add(&worker->signer, docs->texts[doc], err);
    return bm_doc_signer_add_hashes(&worker->signer, docs->hashes + docs->offsets[doc],
                                    (size_t)(docs->offsets[doc + 1] - docs->offsets[doc]), err);
}

static bm_status sign_some(void *ctx, uint32_t thread, bm_error *err)
{
    sign_job *job = ctx;
    bm_handle_signed *out = job->out;
    bm_handle_worker *worker = out->workers[thread];
    bm_doc_signer *signer = &worker->signer;
    size_t begin;
    while ((begin = atomic_fetch_add(&job->next, GRAIN)) < out->n) {
        for (size_t i = begin; i < begin + GRAIN && i < out->n; i++)
            BM_TRY(add(job, worker, i, err));
    }
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
        if ((out->workers[i] = bm_handle_worker_take(index, err)) == NULL)
            return err != NULL ? err->status : BM_ERR_NOMEM;
    return BM_OK;
}

/* The pool, where nobody has it; it is started when it is wanted first. */
static bm_pool *take_pool(bm_index *index)
{
    if (index->settings.threads < 2 || pthread_mutex_trylock(&index->pool_lock) != 0)
        return NULL;
    if (index->pool == NULL && bm_pool_open(index->settings.threads, &index->pool, NULL) != BM_OK)
        pthread_mutex_unlock(&index->pool_lock);
    return index->pool;
}

bm_status bm_handle_sign(bm_index *index, const bm_documents *documents, const size_t range[2],
                         bm_handle_signed *out, bm_error *err)
{
    sign_job job = {.docs = documents, .begin = range[0], .out = out};
    uint64_t work = 0;
    *out = (bm_handle_signed){.n = range[1] - range[0], .n_workers = 1};
    for (size_t i = range[0]; i < range[1]; i++)
        work += bm_document_work(documents, i);
    if (work > LITTLE && out->n > 1)
        out->pool = take_pool(index);
    if (out->pool != NULL)
        out->n_workers = bm_pool_size(out->pool);
    bm_status status = BM_OK;
    BM_TRY_OUT(make_room(index, out, err));
    status =
        out->pool != NULL ? bm_pool_run(out->pool, sign_some, &job, err) : sign_some(&job, 0, err);
out:
    if (status != BM_OK)
        bm_handle_signed_leave(index, out);
    return status;
}

void bm_handle_signed_leave(bm_index *index, bm_handle_signed *chunk)
{
    for (uint32_t i = 0; chunk->workers != NULL && i < chunk->n_workers; i++)
        if (chunk->workers[i] != NULL)
            bm_handle_worker_give(index, chunk->workers[i]);
    if (chunk->pool != NULL)
        pthread_mutex_unlock(&index->pool_lock);
    bm_free(chunk->workers);
    bm_free(chunk->sets);
    bm_free(chunk->n_shingles);
    bm_free(chunk->content);
    bm_free(chunk->keys);
    bm_free(chunk->words);
    *chunk = (bm_handle_signed){0};
}
