/* query_documents.c -- the feed (index_feed.h) brings batches, whose documents are looked up as one.
 *
 * The more documents are asked for at once, the more of their keys lie in one piece of the index, and the
 * nearer to one another are the sets that are read. While a batch is looked up, on all threads, the next is
 * read and signed.
 *
 * Of queries that are identical the first is looked up, and answers for all.
 *
 * Of the queries rows and ids stay in memory, as in other jobs: their ids must differ.
 *
 * Tests: tests/cli/cases/query.sh, tests/reference/test_query.py */
#include "index/query_documents.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "input/batch_source.h"
#include "index/index_feed.h"

#define FULL_INPUT ((uint64_t)64 << 20)

typedef struct asker {
    const bm_query_documents *query;
    bm_search_result found;
    uint32_t *n_shingles; /* of the batch */
    bm_str *ids;
    uint32_t *same;      /* of what is asked at once: bm_search_batch.same */
    bm_hash_table table; /* of what is asked at once, by content */
    size_t cap_n_shingles, cap_ids, cap_same;
} asker;

/* Ids differ, or get numbers: a batch of the feed has them as they were read. */
static bm_status settle_ids(asker *a, const bm_gathered *batch, bm_error *err)
{
    bm_job_context *job = a->query->job;
    bm_doc_table *docs = &job->docs;
    const size_t first = docs->n;
    BM_TRY(bm_grow_array(&a->n_shingles, &a->cap_n_shingles, batch->n, err));
    BM_TRY(bm_grow_array(&a->ids, &a->cap_ids, batch->n, err));
    for (size_t i = 0; i < batch->n; i++) {
        const bm_store_doc *doc = &batch->docs[i];
        const bm_doc_row row = {.line = doc->line,
                                .text_bytes = doc->text_bytes,
                                .file = doc->input,
                                .n_shingles = doc->n_shingles};
        const bm_doc_id id = {doc->id, XXH3_64bits(doc->id.data, doc->id.len)};
        BM_TRY(bm_doc_table_add(docs, &row, id,
                                bm_batch_source_file(job->inputs.source, doc->input), err));
        a->n_shingles[i] = doc->n_shingles;
    }
    for (size_t i = 0; i < batch->n; i++) /* the table lies still now */
        a->ids[i] = bm_doc_table_id(docs, first + i);
    return BM_OK;
}

static uint64_t hash_of(const bm_store_doc *doc, uint64_t seed)
{
    return seed == 0 ? doc->content.lo : bm_hash_seeded(doc->content.lo, doc->content.hi, seed);
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return hash_of((const bm_store_doc *)owner + number, seed);
}

static bool is_identical(const void *owner, uint32_t number, const void *key)
{
    const bm_store_doc *other = (const bm_store_doc *)owner + number, *doc = key;
    return doc->content.lo == other->content.lo && doc->content.hi == other->content.hi &&
           doc->n_shingles == other->n_shingles;
}

/* Of n documents the first that is identical to each. *any: there is one that is not itself the first. */
static bm_status find_same(asker *a, const bm_store_doc *docs, size_t n, bool *any, bm_error *err)
{
    *any = false;
    BM_TRY(bm_grow_array(&a->same, &a->cap_same, n, err));
    BM_TRY(bm_hash_table_clear(&a->table, n, err));
    for (uint32_t i = 0; i < n; i++) {
        BM_TRY(bm_hash_table_reserve(&a->table, hash_again, docs, err));
        const uint64_t hash = hash_of(&docs[i], a->table.seed);
        const size_t at = bm_hash_table_find(&a->table, hash, is_identical, docs, &docs[i]);
        if (bm_hash_table_is_free(&a->table, at))
            bm_hash_table_put(&a->table, at, hash, i);
        a->same[i] = bm_hash_table_number(&a->table, at);
        *any = *any || a->same[i] != i;
    }
    return BM_OK;
}

/* The documents from `first` on, as many as fit into the memory of the search. */
static bm_status search_from(asker *a, const bm_gathered *batch, size_t first, bm_error *err)
{
    const bm_query_documents *q = a->query;
    const bm_store_facts *facts = q->search->facts;
    const bool sets = facts->kind == BM_STORE_SETS;
    bool any = false;
    bm_search_batch asked = {.n = batch->n - first,
                             .keys = batch->keys + first * facts->bands,
                             .n_shingles = a->n_shingles + first,
                             .sets = sets ? batch->sets + first : NULL,
                             .words = sets ? NULL : batch->words + first * facts->words,
                             .ids = a->ids + first,
                             .unsorted = sets ? batch->hashes : NULL};
    bm_status status = BM_OK;
    if (!q->search->skip_same_id)
        status = find_same(a, batch->docs + first, asked.n, &any, err);
    asked.same = any ? a->same : NULL;
    if (status == BM_OK)
        status = bm_search_run(q->search, &asked, &a->found, err);
    for (size_t i = 0; status == BM_OK && i < a->found.n; i++) {
        status =
            bm_answer_rows_add(q->rows, &a->found, any ? a->same[i] : i, a->ids[first + i], err);
        if (status == BM_OK)
            status = bm_rows_flush(q->rows->rows, false, err);
    }
    return status;
}

static bm_status take_batch(void *ctx, bm_gathered *batch, bm_error *err)
{
    asker *a = ctx;
    BM_TRY(settle_ids(a, batch, err));
    for (size_t first = 0; first < batch->n; first += a->found.n)
        BM_TRY(search_from(a, batch, first, err));
    return BM_OK;
}

bm_status bm_query_documents_run(const bm_query_documents *query, bm_error *err)
{
    bm_job_context *job = query->job;
    const bm_store_facts *facts = query->search->facts;
    asker a = {.query = query};
    bm_index_feed feed = {.job = job,
                          .shape = {.sets = facts->kind == BM_STORE_SETS,
                                    .bands = facts->bands,
                                    .words = facts->words,
                                    .unsorted = true},
                          .full_bytes = query->gather,
                          .full_input = FULL_INPUT,
                          .take = take_batch,
                          .take_ctx = &a};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_answer_rows_begin(query->rows, err));
    status = bm_index_feed_run(&feed, err);
out:
    job->counts.candidates = a.found.candidates;
    job->counts.verified = a.found.verified;
    job->counts.not_compared = a.found.not_compared;
    bm_meter_log(&job->meter, BM_LOG_DEBUG, "comparing took %llu steps",
                 (unsigned long long)a.found.steps);
    bm_answer_rows_end(query->rows, &a.found);
    bm_search_result_reset(&a.found);
    bm_free(a.n_shingles);
    bm_free(a.ids);
    bm_free(a.same);
    bm_hash_table_reset(&a.table);
    return status == BM_OK ? bm_rows_flush(query->rows->rows, true, err) : status;
}
