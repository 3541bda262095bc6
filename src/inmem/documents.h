/* documents.h -- what a call in memory reads, checked, and handed out in ranges of about the same
 * work.
 *
 * The work of a document is its bytes of text, or four for each of its hashes (more with weights), and
 * a little more for the document itself. Ranges become smaller towards the end, so that all threads end at about the
 * same time; documents that are long enough to be a range of their own come first. What is handed
 * out depends on timing, what is made of it must not.
 *
 * Any number of threads may take. */
#ifndef BM_INMEM_DOCUMENTS_H
#define BM_INMEM_DOCUMENTS_H

#include <pthread.h>

#include <bandmill/sketch.h>

#define BM_DOC_WORK      128u /* of a document beside what is in it */
#define BM_HASH_WORK     4u
#define BM_WEIGHTED_WORK 64u /* of a hash with a weight */

/* Take the caller's struct. BM_ERR_USAGE: none, or not one kind of documents, or a pointer that is
 * NULL. BM_ERR_INPUT: offsets that fall, a document of more hashes than a uint32_t counts, or a
 * weight that is not finite and more than 0; the row is named. *work: of all documents. */
bm_status bm_documents_take(const bm_documents *documents, bm_documents *out, uint64_t *work,
                            bm_error *err);

/* BM_ERR_USAGE: they have weights, which the call does not read. */
bm_status bm_documents_no_weights(const bm_documents *docs, bm_error *err);

static inline uint64_t bm_hash_work(const bm_documents *docs)
{
    return docs->weights != NULL ? BM_WEIGHTED_WORK : BM_HASH_WORK;
}

static inline uint64_t bm_document_work(const bm_documents *docs, size_t doc)
{
    if (docs->texts != NULL)
        return BM_DOC_WORK + (uint64_t)docs->texts[doc].len;
    return BM_DOC_WORK + (docs->offsets[doc + 1] - docs->offsets[doc]) * bm_hash_work(docs);
}

typedef struct bm_doc_ranges {
    const bm_documents *docs; /* borrowed, taken as above */
    uint64_t left;            /* work not handed out */
    uint64_t most, least;     /* of a range, but for one document */
    uint64_t takers;          /* threads */
    size_t next, next_long;
    bool any_long;
    pthread_mutex_t lock;
} bm_doc_ranges;

typedef struct bm_range_size {
    uint32_t takers;
    uint64_t most, least; /* work of a range: of most of them, and of the last */
} bm_range_size;

void bm_doc_ranges_begin(bm_doc_ranges *ranges, const bm_documents *docs, uint64_t work,
                         const bm_range_size *size);
/* The next range; false: there are no more. */
bool bm_doc_ranges_take(bm_doc_ranges *ranges, size_t *begin, size_t *end);
void bm_doc_ranges_end(bm_doc_ranges *ranges);

#endif
