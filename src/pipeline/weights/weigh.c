/* weigh.c -- frequencies of a whole batch are looked up at once; then each document is sorted by its
 * hashes and written over itself, without what weighs nothing.
 *
 * Tests: tests/unit/weights/test_weigh.c */
#include "pipeline/weights/weigh.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/portable_log.h"

#define KNOWN_IDF 64u /* small frequencies are most of them: their logarithms are taken once */

typedef struct element {
    uint64_t hash;
    double weight;
} element;

typedef struct weighing {
    uint32_t *df; /* of all hashes of the batch */
    element *elements;
    double n_docs;
    double idf[KNOWN_IDF]; /* of 1 and more documents; [0] is not used */
} weighing;

static int by_hash(const void *x, const void *y)
{
    const element *a = x, *b = y;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static double idf_of(const weighing *w, uint32_t df)
{
    return df < KNOWN_IDF ? w->idf[df] : bm_portable_log(w->n_docs / (double)df);
}

static size_t longest(const bm_shingle_batch *batch)
{
    size_t most = 0;
    for (size_t i = 0; i < batch->n_docs; i++) {
        const size_t n = (size_t)(batch->offsets[i + 1] - batch->offsets[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* The elements of document i to the place `to` of the batch, which is not behind its own; how many. */
static size_t weigh_document(const weighing *w, bm_shingle_batch *batch, size_t i, uint64_t begin,
                             size_t to)
{
    size_t n = 0;
    for (uint64_t at = begin; at < batch->offsets[i + 1]; at++) {
        const double weight = (double)batch->counts[at] * idf_of(w, w->df[at]);
        if (weight > 0)
            w->elements[n++] = (element){batch->hashes[at], weight};
    }
    if (n > 1)
        qsort(w->elements, n, sizeof *w->elements, by_hash);
    for (size_t k = 0; k < n; k++) {
        batch->hashes[to + k] = w->elements[k].hash;
        batch->weights[to + k] = w->elements[k].weight;
    }
    return n;
}

static void weigh_all(weighing *w, bm_shingle_batch *batch)
{
    uint64_t begin = batch->offsets[0];
    size_t to = 0;
    for (uint32_t df = 1; df < KNOWN_IDF; df++)
        w->idf[df] = bm_portable_log(w->n_docs / (double)df);
    for (size_t i = 0; i < batch->n_docs; i++) {
        const uint64_t end = batch->offsets[i + 1];
        const size_t n = weigh_document(w, batch, i, begin, to);
        batch->n_weightless += n == 0 && end > begin;
        begin = end;
        to += n;
        batch->offsets[i + 1] = to;
    }
}

bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err)
{
    const size_t n = bm_shingle_batch_hashes(batch), most = longest(batch);
    weighing w = {.n_docs = (double)bm_df_table_facts(table)->n_docs};
    if (batch->n_docs == 0)
        return BM_OK;
    bm_status status = bm_grow_array(&batch->weights, &batch->cap_weights, n + 1, err);
    if (status != BM_OK)
        return status;
    w.df = bm_alloc(n, sizeof *w.df);
    w.elements = bm_alloc(most, sizeof *w.elements);
    if (w.df == NULL || w.elements == NULL)
        status = bm_fail_nomem(err, n * sizeof *w.df + most * sizeof *w.elements);
    if (status == BM_OK)
        status = bm_df_table_look_up(table, batch->hashes, n, w.df, err);
    if (status == BM_OK)
        weigh_all(&w, batch);
    bm_free(w.df);
    bm_free(w.elements);
    return status;
}
