/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h -- checks the documents of a call in memory, and divides them into ranges of about
 * equal work, which threads take.
 *
 * The work of a document is the bytes of its text, or BM_HASH_WORK per hash (with weights,
 * BM_WEIGHTED_WORK), plus a constant. Ranges become smaller towards the end, so that all threads
 * finish at about the same time. Long documents are handed out first, each in its own range. Ranges
 * depend on timing; results must not.
 *
 * Any number of threads may take ranges. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/sketch.h>

#include "base/memory.h"
#include "base/meter.h"
#include "model/backend.h"
#include "text/set_shingler.h"
#include "text/shingler.h"

#define BM_DOC_WORK      128u /* constant work of a document, in addition to its contents */
#define BM_HASH_WORK     4u
#define BM_WEIGHTED_WORK 64u /* work of a hash with a weight */

/* Check the caller's struct, and copy it. *work becomes the work of all documents. BM_ERR_USAGE:
 * `documents` is NULL, it has not exactly one kind of documents, or a pointer in it is NULL.
 * BM_ERR_INPUT: offsets decrease, a document has more than UINT32_MAX hashes, a weight is not
 * positive and finite, or the sum of weights overflows. The message names the row. */
bm_status bm_documents_accept(const bm_documents *documents, bm_documents *out, uint64_t *work,
                              bm_error *err);

/* Refuse documents with weights, for a call that does not use weights. BM_ERR_USAGE. */
bm_status bm_documents_no_weights(const bm_documents *docs, bm_error *err);

/* Are the documents 64-bit hashes, and does the scheme sign only the low halves of these hashes? */
bool bm_documents_sign_low_halves(const bm_documents *docs, bm_scheme scheme);
/* If only the low halves of the hashes are signed, check these halves. BM_ERR_INPUT: too many of
 * them are equal (model/low_halves.h). */
bm_status bm_documents_check_low_halves(const bm_documents *docs, bm_scheme scheme, bm_error *err);

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
    const bm_documents *docs; /* accepted by bm_documents_accept; borrowed */
    uint64_t left;            /* work of the documents that are not handed out yet */
    uint64_t most, least;     /* limits of the work of a range; not for a single long document */
    uint64_t takers;          /* number of threads */
    size_t next, next_long;
    bool any_long;
    pthread_mutex_t lock;
    bm_meter *meter; /* reports progress, and checks for cancellation; may be NULL */
    atomic_size_t n_done;
    atomic_bool stopped; /* a thread has failed */
} bm_doc_ranges;

typedef struct bm_range_size {
    uint32_t takers;      /* number of threads */
    uint64_t most, least; /* work of a range: at first, and at the end */
} bm_range_size;

void bm_doc_ranges_begin(bm_doc_ranges *ranges, const bm_documents *docs, uint64_t work,
                         const bm_range_size *size);
/* For a thread of the call: report the previous range, and take the next one. On entry, `range` is
 * the previous range of this thread (first 0, 0), and *status the result of the work on it. On
 * return, `range` is the next range. False: there is no further range; after a failure, no thread
 * gets one. Thread 0 is the caller's. Only thread 0 uses the meter; if the caller cancels, its
 * *status becomes BM_ERR_CANCELLED. */
bool bm_doc_ranges_next(bm_doc_ranges *ranges, uint32_t thread, size_t range[2], bm_status *status,
                        bm_error *err);
/* For a thread that takes no further range: report the result of its last range. After a failure,
 * no thread gets further ranges. */
void bm_doc_ranges_done(bm_doc_ranges *ranges, const size_t range[2], bm_status status);
void bm_doc_ranges_end(bm_doc_ranges *ranges);

/* doc_hasher -- makes the shingle hashes of the documents of a call. Invalid UTF-8 in texts is
 * repaired, and texts are cut into shingles. Repeated hashes are dropped, or, with a bag, become
 * distinct elements. Used by one thread at a time. */

typedef struct bm_doc_hasher {
    bm_shingler *shingler;
    bm_buf repaired;
    bm_set_shingler sets;
    uint64_t *wide; /* 32-bit hashes, widened */
    size_t cap_wide;
} bm_doc_hasher; /* {0} can be reset */

bm_status bm_doc_hasher_init(bm_doc_hasher *hasher, const bm_text_options *options, const char *cpu,
                             bm_error *err);
void bm_doc_hasher_reset(bm_doc_hasher *hasher);
/* Append document number `doc` to `batch`. */
bm_status bm_doc_hasher_add(bm_doc_hasher *hasher, const bm_documents *docs, size_t doc,
                            bm_shingle_batch *batch, bm_error *err);

/* doc_signer -- makes sorted sets, band keys and signatures of documents on one thread. It is for
 * calls with a few documents, for which waking other threads would cost more than the work.
 *
 * The native CPU signs the documents. Any number of signers may share its backend. */

/* The settings for cutting and signing documents; all are borrowed. */
typedef struct bm_doc_recipe {
    const bm_text_options *text;
    const bm_sketch_options *sketch;
    uint32_t bands, rows;
    bool words;      /* all words of signatures are needed, not only band keys */
    const char *cpu; /* instruction set; NULL: the best available */
} bm_doc_recipe;

/* Open a backend for signers with this recipe. Close it with bm_backend_close. */
bm_status bm_doc_backend_open(const bm_doc_recipe *recipe, bm_backend **out, bm_error *err);

typedef struct bm_doc_signer {
    bm_backend *backend;       /* borrowed */
    uint32_t bands, row_uints; /* row_uints: 32-bit words of a document's signature */
    bool wants_words;
    bm_doc_hasher hasher; /* adds documents to `batch` */
    bm_shingle_batch batch;
    uint64_t *scratch;
    size_t cap_scratch;
    /* Results of bm_doc_signer_sign for batch.n_docs documents. */
    const uint64_t **sets; /* the distinct hashes of each document, ascending */
    uint32_t *n_shingles;
    uint64_t *keys;  /* n_docs * bands */
    uint32_t *words; /* n_docs * row_uints; NULL: not needed */
    size_t cap_sets, cap_n_shingles, cap_keys, cap_words;
} bm_doc_signer; /* {0} can be reset */

bm_status bm_doc_signer_init(bm_doc_signer *signer, const bm_doc_recipe *recipe,
                             bm_backend *backend, bm_error *err);
void bm_doc_signer_reset(bm_doc_signer *signer);
/* Remove all documents. The memory is kept, unless it is large. */
void bm_doc_signer_clear(bm_doc_signer *signer);
/* Sign the documents added since the last clear. Their content hashes are in batch.content. */
bm_status bm_doc_signer_sign(bm_doc_signer *signer, bm_error *err);
