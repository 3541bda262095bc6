/* weigh.c -- frequencies of a whole batch are looked up at once; then each document is sorted by
 * its hashes and written over itself, without what weighs nothing.
 *
 * Hashes of n elements lie about as evenly as they can, so each is put where its upper half says,
 * among n places, and then has to pass a few neighbours at most. Where they do not, qsort sorts
 * them.
 *
 * Tests: tests/unit/corpus/test_weigh.c */
#include "corpus/weigh.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/portable_log.h"

#define KNOWN_IDF 64u /* small frequencies are most of them: their logarithms are taken once */

typedef struct element {
    uint64_t hash;
    double weight;
} element;

typedef struct weighing {
    uint32_t *df;               /* of all hashes of the batch */
    element *elements, *placed; /* of the longest document */
    uint32_t *ends;             /* of its places, n + 1 */
    double n_docs;
    double idf[KNOWN_IDF]; /* of 1 and more documents; [0] is not used */
} weighing;

static int by_hash(const void *x, const void *y)
{
    const element *a = x, *b = y;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

#define CROWDED 16u /* elements of a place that are too many for their neighbours to pass */

static size_t place_of(uint64_t hash, size_t n)
{
    return (size_t)((hash >> 32) * n >> 32);
}

/* The n elements by their places, in `placed`; false: a place is crowded. */
static bool put_into_places(weighing *w, size_t n)
{
    uint32_t most = 0, end = 0;
    memset(w->ends, 0, (n + 1) * sizeof *w->ends);
    for (size_t i = 0; i < n; i++)
        w->ends[place_of(w->elements[i].hash, n) + 1]++;
    for (size_t i = 0; i < n; i++) {
        most = w->ends[i + 1] > most ? w->ends[i + 1] : most;
        w->ends[i + 1] = end += w->ends[i + 1];
    }
    if (most > CROWDED)
        return false;
    for (size_t i = 0; i < n; i++)
        w->placed[w->ends[place_of(w->elements[i].hash, n)]++] = w->elements[i];
    return true;
}

/* Ascending. No hash stands twice. */
static const element *sort_elements(weighing *w, size_t n)
{
    if (n >> 32 != 0 || !put_into_places(w, n)) {
        qsort(w->elements, n, sizeof *w->elements, by_hash);
        return w->elements;
    }
    for (size_t i = 1; i < n; i++) {
        const element e = w->placed[i];
        size_t to = i;
        for (; to > 0 && w->placed[to - 1].hash > e.hash; to--)
            w->placed[to] = w->placed[to - 1];
        w->placed[to] = e;
    }
    return w->placed;
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

/* The elements of document i to the place `to` of the batch, which is not behind its own; how many.
 */
static size_t weigh_document(weighing *w, bm_shingle_batch *batch, size_t i, uint64_t begin,
                             size_t to)
{
    size_t n = 0;
    for (uint64_t at = begin; at < batch->offsets[i + 1]; at++) {
        const double weight = (double)batch->counts[at] * idf_of(w, w->df[at]);
        if (weight > 0)
            w->elements[n++] = (element){batch->hashes[at], weight};
    }
    const element *sorted = n > 1 ? sort_elements(w, n) : w->elements;
    for (size_t k = 0; k < n; k++) {
        batch->hashes[to + k] = sorted[k].hash;
        batch->weights[to + k] = sorted[k].weight;
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
    BM_TRY(bm_grow_array(&batch->weights, &batch->cap_weights, n + 1, err));
    w.df = bm_alloc(n, sizeof *w.df);
    w.elements = bm_alloc(most, sizeof *w.elements);
    w.placed = bm_alloc(most, sizeof *w.placed);
    w.ends = bm_alloc(most + 1, sizeof *w.ends);
    bm_status status = BM_OK;
    if (w.df == NULL || w.elements == NULL || w.placed == NULL || w.ends == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * sizeof *w.df + most * 2 * sizeof *w.elements));
    BM_TRY_OUT(bm_df_table_look_up(table, batch->hashes, n, w.df, err));
    weigh_all(&w, batch);
out:
    bm_free(w.df);
    bm_free(w.elements);
    bm_free(w.placed);
    bm_free(w.ends);
    return status;
}
