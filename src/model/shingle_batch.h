/* shingle_batch.h -- the distinct shingle hashes of the documents of one batch, in CSR form.
 *
 *     offsets   0        3    3          7          n_docs + 1 of them, never falling
 *     hashes    h h h    |    h h h h               document 1 has no shingles
 *
 * A hash is 64 bits: XXH3_64bits(shingle bytes, seed 0), or what an input of hashes brought. Its
 * low 32 bits are the token hash x of the scheme affine32. Each hash stands once in a document, in
 * order of first occurrence; in a bag, the elements of its repeats follow (text/repeats.h). The content hash of a document (model/content_sums.h) is one of all its
 * shingle hashes as they follow each other, with repeats: it is equal for identical documents.
 *
 * A batch that is `counted` also has, beside each hash, how often it stands in its document. Whoever
 * makes the batch sets that while it is empty; nothing is counted where nobody asks.
 *
 * A batch that was weighed (corpus/weigh.h) has weights beside its hashes, which are in
 * ascending order then; elements of weight 0 are none any more.
 *
 * A batch belongs to one thread at a time. */
#ifndef BM_MODEL_SHINGLE_BATCH_H
#define BM_MODEL_SHINGLE_BATCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/content_sums.h"

/* Are shingles of this kind made of words? */
static inline bool bm_shingle_is_of_words(bm_shingle_kind kind)
{
    return kind == BM_SHINGLE_WORD || kind == BM_SHINGLE_STOPWORD;
}

/* Units of a shingle, words or characters or bytes: K, and the stop word before K words. */
static inline uint32_t bm_shingle_units(const bm_text_options *text)
{
    return text->shingle_k + (text->shingle == BM_SHINGLE_STOPWORD);
}

typedef struct bm_shingle_batch {
    size_t n_docs, cap_docs;
    uint64_t *offsets;   /* n_docs + 1; NULL while nothing was reserved */
    bm_hash128 *content; /* n_docs content hashes */
    uint64_t *hashes;    /* offsets[n_docs] */
    uint32_t
        *counts; /* beside `hashes`, where `counted`: its occurrences in the document; else NULL */
    double *weights; /* beside `hashes`, once it was weighed, all above 0; else NULL */
    size_t cap_hashes, cap_counts, cap_weights;
    uint64_t n_weightless; /* documents with shingles, all of which weigh nothing */
    uint64_t n_empty;      /* documents without shingles, but for short ones */
    uint64_t n_short;      /* documents of at least one unit, and fewer than a shingle has */
    bool counted;
} bm_shingle_batch; /* {0} is an empty batch */

/* Room for so many more documents and hashes. */
bm_status bm_shingle_batch_reserve(bm_shingle_batch *batch, size_t more_docs, size_t more_hashes,
                                   bm_error *err);
/* Empty, in the same memory. */
void bm_shingle_batch_clear(bm_shingle_batch *batch);
void bm_shingle_batch_reset(bm_shingle_batch *batch); /* frees */

/* A document is complete: its n hashes stand behind those of the others. Room for it is there. */
static inline void bm_shingle_batch_commit(bm_shingle_batch *batch, size_t n, bm_hash128 content)
{
    batch->offsets[batch->n_docs + 1] = batch->offsets[batch->n_docs] + n;
    batch->content[batch->n_docs] = content;
    batch->n_docs++;
}

/* Number of distinct shingles of the last document; there must be one. */
static inline uint32_t bm_shingle_batch_last(const bm_shingle_batch *batch)
{
    return (uint32_t)(batch->offsets[batch->n_docs] - batch->offsets[batch->n_docs - 1]);
}

/* Number of hashes of all documents. */
static inline size_t bm_shingle_batch_hashes(const bm_shingle_batch *batch)
{
    return batch->n_docs == 0 ? 0 : (size_t)batch->offsets[batch->n_docs];
}

#endif
