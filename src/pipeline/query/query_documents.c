/* query_documents.c -- the feed (index_feed.h) brings batches, whose documents are looked up as one.
 *
 * The more documents are asked for at once, the more of their keys lie in one piece of the index, and the
 * nearer to one another are the sets that are read. While a batch is looked up, on all threads, the next is
 * read and signed.
 *
 * Of the queries rows and ids stay in memory, as in other jobs: their ids must differ.
 *
 * Tests: tests/cli/cases/query.sh, tests/reference/test_query.py */
#include "pipeline/query/query_documents.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "io/input/batch_source.h"
#include "pipeline/index/index_feed.h"

#define FULL_INPUT ((uint64_t)64 << 20)

typedef struct asker {
    const bm_query_documents *query;
    bm_search_result found;
    uint32_t *n_shingles; /* of the batch */
    bm_str *ids;
    size_t cap_n_shingles, cap_ids;
} asker;

/* Ids differ, or get numbers: a batch of the feed has them as they were read. */
static bm_status settle_ids(asker *a, const bm_gathered *batch, bm_error *err)
{
    bm_job_context *job = a->query->job;
    bm_doc_table *docs = &job->docs;
    const size_t first = docs->n;
    bm_status status = bm_grow_array(&a->n_shingles, &a->cap_n_shingles, batch->n, err);
    if (status == BM_OK)
        status = bm_grow_array(&a->ids, &a->cap_ids, batch->n, err);
    for (size_t i = 0; status == BM_OK && i < batch->n; i++) {
        const bm_store_doc *doc = &batch->docs[i];
        const bm_doc_row row = {.line = doc->line,
                                .text_bytes = doc->text_bytes,
                                .file = doc->input,
                                .n_shingles = doc->n_shingles};
        const bm_doc_id id = {doc->id, XXH3_64bits(doc->id.data, doc->id.len)};
        status = bm_doc_table_add(docs, &row, id,
                                  bm_batch_source_file(job->inputs.source, doc->input), err);
        a->n_shingles[i] = doc->n_shingles;
    }
    for (size_t i = 0; status == BM_OK && i < batch->n; i++) /* the table lies still now */
        a->ids[i] = bm_doc_table_id(docs, first + i);
    return status;
}

/* The documents from `first` on, as many as fit into the memory of the search. */
static bm_status search_from(asker *a, const bm_gathered *batch, size_t first, bm_error *err)
{
    const bm_query_documents *q = a->query;
    const bm_store_facts *facts = q->search->facts;
    const bool sets = facts->kind == BM_STORE_SETS;
    const bm_search_batch asked = {.n = batch->n - first,
                                   .keys = batch->keys + first * facts->bands,
                                   .n_shingles = a->n_shingles + first,
                                   .sets = sets ? batch->sets + first : NULL,
                                   .words = sets ? NULL : batch->words + first * facts->words,
                                   .ids = a->ids + first};
    bm_status status = bm_search_run(q->search, &asked, &a->found, err);
    for (size_t i = 0; status == BM_OK && i < a->found.n; i++) {
        status = bm_answer_rows_add(q->rows, &a->found, i, a->ids[first + i], err);
        if (status == BM_OK)
            status = bm_rows_flush(q->rows->rows, false, err);
    }
    return status;
}

static bm_status take_batch(void *ctx, bm_gathered *batch, bm_error *err)
{
    asker *a = ctx;
    bm_status status = settle_ids(a, batch, err);
    for (size_t first = 0; status == BM_OK && first < batch->n; first += a->found.n)
        status = search_from(a, batch, first, err);
    return status;
}

bm_status bm_query_documents_run(const bm_query_documents *query, bm_error *err)
{
    bm_job_context *job = query->job;
    const bm_store_facts *facts = query->search->facts;
    asker a = {.query = query};
    bm_index_feed feed = {.job = job,
                          .shape = {.sets = facts->kind == BM_STORE_SETS,
                                    .bands = facts->bands,
                                    .words = facts->words},
                          .full_bytes = query->gather,
                          .full_input = FULL_INPUT,
                          .take = take_batch,
                          .take_ctx = &a};
    bm_status status = bm_answer_rows_begin(query->rows, err);
    if (status == BM_OK)
        status = bm_index_feed_run(&feed, err);
    job->counts.candidates = a.found.candidates;
    job->counts.verified = a.found.verified;
    bm_search_result_reset(&a.found);
    bm_free(a.n_shingles);
    bm_free(a.ids);
    return status == BM_OK ? bm_rows_flush(query->rows->rows, true, err) : status;
}
