/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c -- keeps a heap of the N documents with the lowest priorities so far, with the data that
 * the corpus needs.
 *
 * If the priority of a document is among the N lowest so far, the document is copied, and the
 * document that it replaces is freed. Of M documents, about N (1 + ln(M/N)) are copied, so sampling
 * a long input costs little more than reading it. The ids of all documents stay in the table until
 * the end, because a repeated id is an error even outside the sample.
 *
 * The sample needs memory for the sets of N documents, and for the table. The sink is called in
 * input order, by one thread at a time. */
#include "corpus/sample.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/random.h"

#define BATCH_DOCS 1024u

uint64_t bm_sample_priority(uint64_t seed, uint64_t i)
{
    uint64_t state = seed + i * UINT64_C(0x9E3779B97F4A7C15); /* the state of SplitMix64 before its
                                                               * output i */
    return bm_splitmix64(&state);
}

void bm_sample_init(bm_sample *sample, size_t wanted, uint64_t seed, bm_corpus *corpus)
{
    *sample = (bm_sample){.wanted = wanted, .seed = seed, .corpus = corpus};
}

void bm_sample_reset(bm_sample *sample)
{
    for (size_t i = 0; i < sample->n; i++)
        bm_free(sample->docs[i].data);
    bm_free(sample->docs);
    *sample = (bm_sample){0};
}

/* --- the heap --- */

/* The document with the greatest priority comes first; of equal priorities, the last row. */
static bool goes_first(const void *ctx, const void *x, const void *y)
{
    (void)ctx;
    const bm_sampled *a = x, *b = y;
    return a->priority != b->priority ? a->priority > b->priority : a->row > b->row;
}

static bm_heap heap_of(const bm_sample *sample)
{
    return (bm_heap){sample->docs, sample->n, sizeof *sample->docs, goes_first, NULL};
}

/* --- adding --- */

/* Number of 64-bit words in a document's set: its hashes and, if there are any, its weights. */
static size_t set_words64(const bm_sample *sample, size_t n_hashes)
{
    return n_hashes * bm_corpus_element_bytes(sample->corpus) / sizeof(uint64_t);
}

static size_t n_words64(const bm_sample *sample, size_t n_hashes)
{
    const bm_corpus_cfg *cfg = &sample->corpus->cfg;
    return set_words64(sample, n_hashes) + cfg->bands + (cfg->words.uints + 1) / 2;
}

static bm_status copy(const bm_sample *sample, const bm_ingest_batch *batch, size_t i,
                      bm_sampled *out, bm_error *err)
{
    const bm_corpus_cfg *cfg = &sample->corpus->cfg;
    const bm_shingle_batch *shingles = &batch->shingles;
    size_t n = (size_t)(shingles->offsets[i + 1] - shingles->offsets[i]);
    out->n_hashes = n;
    out->content = shingles->content[i];
    BM_TRY(bm_new(&out->data, n_words64(sample, n), err));
    if (n > 0)
        memcpy(out->data, shingles->hashes + shingles->offsets[i], n * sizeof *out->data);
    if (n > 0 && cfg->weighted)
        memcpy(out->data + n, shingles->weights + shingles->offsets[i],
               n * sizeof *shingles->weights);
    n = set_words64(sample, n);
    if (cfg->bands > 0)
        memcpy(out->data + n, batch->keys + i * cfg->bands, cfg->bands * sizeof *batch->keys);
    if (cfg->words.uints > 0)
        memcpy(out->data + n + cfg->bands, batch->words + i * cfg->words.uints,
               cfg->words.uints * sizeof *batch->words);
    return BM_OK;
}

static uint64_t bytes_of(const bm_sample *sample, const bm_sampled *doc)
{
    return n_words64(sample, doc->n_hashes) * sizeof *doc->data;
}

bm_status bm_sample_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    bm_sample *sample = ctx;
    bm_status status = BM_OK;
    sample->n_seen += batch->shingles.n_docs;
    for (size_t i = 0; status == BM_OK && i < batch->shingles.n_docs; i++) {
        bm_sampled doc = {.row = first_row + i};
        doc.priority = bm_sample_priority(sample->seed, doc.row);
        bool full = sample->n == sample->wanted;
        if (full && (sample->n == 0 || !goes_first(NULL, &sample->docs[0], &doc)))
            continue;
        if (!full)
            status = bm_grow(&sample->docs, &sample->cap, sample->n + 1, sizeof *sample->docs, err);
        if (status == BM_OK)
            status = copy(sample, batch, i, &doc, err);
        if (status != BM_OK)
            return status;
        sample->bytes += bytes_of(sample, &doc);
        if (full) {
            sample->bytes -= bytes_of(sample, &sample->docs[0]);
            bm_free(sample->docs[0].data);
            sample->docs[0] = doc;
            const bm_heap heap = heap_of(sample);
            bm_heap_sink(&heap, 0);
        } else {
            sample->docs[sample->n++] = doc;
            const bm_heap heap = heap_of(sample);
            bm_heap_rise(&heap, heap.n - 1);
        }
    }
    return bm_corpus_check_memory(sample->corpus,
                                  sample->bytes + sample->cap * sizeof *sample->docs, err);
}

/* --- to the corpus --- */

static int by_row(const void *x, const void *y)
{
    uint64_t a = ((const bm_sampled *)x)->row, b = ((const bm_sampled *)y)->row;
    return a < b ? -1 : a > b;
}

/* Remove from `docs` all rows that are not in the sample. */
static bm_status select_rows(const bm_sample *sample, bm_doc_table *docs, bm_error *err)
{
    bm_doc_table selected = {.number_duplicates = docs->number_duplicates};
    bm_status status = BM_OK;
    for (size_t i = 0; i < sample->n; i++) {
        size_t row = (size_t)sample->docs[i].row;
        bm_str id = bm_doc_table_id(docs, row);
        BM_TRY_OUT(bm_doc_table_add(&selected, bm_doc_table_row(docs, row),
                                    (bm_doc_id){id, XXH3_64bits(id.data, id.len)}, "", err));
    }
out:
    if (status != BM_OK) {
        bm_doc_table_reset(&selected);
        return status;
    }
    selected.skipped = docs->skipped;
    selected.n_skipped = docs->n_skipped;
    selected.cap_skipped = docs->cap_skipped;
    docs->skipped = NULL;
    docs->n_skipped = docs->cap_skipped = 0;
    bm_doc_table_reset(docs);
    *docs = selected;
    return BM_OK;
}

/* Make room in `batch` for documents first … end-1 of the sample. */
static bm_status make_batch(const bm_sample *sample, size_t first, size_t end,
                            bm_ingest_batch *batch, bm_error *err)
{
    const bm_corpus_cfg *cfg = &sample->corpus->cfg;
    size_t n_hashes = 0, n = end - first;
    for (size_t i = first; i < end; i++)
        n_hashes += sample->docs[i].n_hashes;
    bm_shingle_batch_clear(&batch->shingles);
    BM_TRY(bm_shingle_batch_reserve(&batch->shingles, n, n_hashes, err));
    if (cfg->weighted)
        BM_TRY(
            bm_grow_array(&batch->shingles.weights, &batch->shingles.cap_weights, n_hashes, err));
    BM_TRY(bm_grow(&batch->keys, &batch->capacity.keys, n * cfg->bands, sizeof *batch->keys, err));
    return bm_grow(&batch->words, &batch->capacity.words, n * cfg->words.uints,
                   sizeof *batch->words, err);
}

static void fill_batch(bm_sample *sample, size_t first, size_t end, bm_ingest_batch *batch)
{
    const bm_corpus_cfg *cfg = &sample->corpus->cfg;
    bm_shingle_batch *shingles = &batch->shingles;
    shingles->offsets[0] = 0;
    for (size_t i = first; i < end; i++) {
        bm_sampled *doc = &sample->docs[i];
        size_t at = i - first, n = doc->n_hashes;
        if (n > 0)
            memcpy(shingles->hashes + shingles->offsets[at], doc->data, n * sizeof *doc->data);
        if (n > 0 && cfg->weighted)
            memcpy(shingles->weights + shingles->offsets[at], doc->data + n,
                   n * sizeof *shingles->weights);
        shingles->offsets[at + 1] = shingles->offsets[at] + n;
        shingles->content[at] = doc->content;
        n = set_words64(sample, n);
        if (cfg->bands > 0)
            memcpy(batch->keys + at * cfg->bands, doc->data + n, cfg->bands * sizeof *batch->keys);
        if (cfg->words.uints > 0)
            memcpy(batch->words + at * cfg->words.uints, doc->data + n + cfg->bands,
                   cfg->words.uints * sizeof *batch->words);
        bm_free(doc->data);
        doc->data = NULL;
    }
    shingles->n_docs = batch->n_docs = end - first;
}

bm_status bm_sample_finish(bm_sample *sample, bm_doc_table *docs, bm_error *err)
{
    bm_ingest_batch batch = {0};
    if (sample->n > 1)
        qsort(sample->docs, sample->n, sizeof *sample->docs, by_row);
    bm_status status = BM_OK;
    BM_TRY_OUT(select_rows(sample, docs, err));
    for (size_t i = 0; i < sample->n; i += BATCH_DOCS) {
        size_t end = sample->n - i < BATCH_DOCS ? sample->n : i + BATCH_DOCS;
        BM_TRY_OUT(make_batch(sample, i, end, &batch, err));
        fill_batch(sample, i, end, &batch);
        BM_TRY_OUT(bm_corpus_add(sample->corpus, &batch, i, err));
    }
out:
    bm_shingle_batch_reset(&batch.shingles);
    bm_free_all(batch.keys, batch.words);
    return status;
}
