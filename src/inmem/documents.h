/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h -- what a call in memory reads, checked, and handed out in ranges of about the same
 * work.
 *
 * The work of a document is its bytes of text, or four for each of its hashes (more with weights),
 * and a little more for the document itself. Ranges become smaller towards the end, so that all
 * threads end at about the same time; documents that are long enough to be a range of their own
 * come first. Ranges depend on timing; results must not.
 *
 * Any number of threads may take. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/sketch.h>

#include "base/memory.h"
#include "base/meter.h"
#include "model/backend.h"
#include "text/set_shingler.h"
#include "text/shingler.h"

#define BM_DOC_WORK      128u /* of a document beside its contents */
#define BM_HASH_WORK     4u
#define BM_WEIGHTED_WORK 64u /* of a hash with a weight */

/* Check the caller's struct and copy it. BM_ERR_USAGE: none, or not one kind of documents, or a
 * pointer that is NULL. BM_ERR_INPUT: offsets that fall, a document of more hashes than a uint32_t
 * counts, a weight that is not finite and more than 0, or weights with a sum that overflows; the
 * row is named. *work: of all documents. */
bm_status bm_documents_accept(const bm_documents *documents, bm_documents *out, uint64_t *work,
                              bm_error *err);

/* BM_ERR_USAGE: they have weights, which the call does not read. */
bm_status bm_documents_no_weights(const bm_documents *docs, bm_error *err);

/* Have the documents 64-bit hashes, and does the scheme sign only the low halves of these? */
bool bm_documents_sign_low_halves(const bm_documents *docs, bm_scheme scheme);
/* BM_ERR_INPUT: it does, and they are too much alike (model/low_halves.h). */
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
    const bm_documents *docs; /* borrowed, taken as above */
    uint64_t left;            /* work not handed out */
    uint64_t most, least;     /* of a range, but for one document */
    uint64_t takers;          /* threads */
    size_t next, next_long;
    bool any_long;
    pthread_mutex_t lock;
    bm_meter *meter; /* told how far the call is, and asked whether it goes on; NULL: neither */
    atomic_size_t n_done;
    atomic_bool stopped; /* a thread has failed */
} bm_doc_ranges;

typedef struct bm_range_size {
    uint32_t takers;
    uint64_t most, least; /* work of a range: of most of them, and of the last */
} bm_range_size;

void bm_doc_ranges_begin(bm_doc_ranges *ranges, const bm_documents *docs, uint64_t work,
                         const bm_range_size *size);
/* The next range for one of the threads of a call; false: there are no more. `range` is the range that it got before (0, 0 at
 * first), and *status the result of its work on it: after a failure of one thread no thread gets
 * more. Thread 0 is the caller's, which alone asks the meter: then *status tells it to stop. */
bool bm_doc_ranges_next(bm_doc_ranges *ranges, uint32_t thread, size_t range[2], bm_status *status,
                        bm_error *err);
/* How a range went that was handed out: for a thread that asks for no more of them. After a failure
 * no thread gets more. */
void bm_doc_ranges_done(bm_doc_ranges *ranges, const size_t range[2], bm_status status);
void bm_doc_ranges_end(bm_doc_ranges *ranges);

/* doc_hasher -- a thread's way from a document of a call to shingle hashes. A text is cut, and
 * repaired where it is not UTF-8; repeated hashes are dropped, or made elements of a bag. One thread
 * at a time. */

typedef struct bm_doc_hasher {
    bm_shingler *shingler;
    bm_buf repaired;
    bm_set_shingler sets;
    uint64_t *wide; /* hashes of 32 bits */
    size_t cap_wide;
} bm_doc_hasher; /* {0} is good for reset */

bm_status bm_doc_hasher_init(bm_doc_hasher *hasher, const bm_text_options *options, const char *cpu,
                             bm_error *err);
void bm_doc_hasher_reset(bm_doc_hasher *hasher);
/* Append document number `doc` to `batch`. */
bm_status bm_doc_hasher_add(bm_doc_hasher *hasher, const bm_documents *docs, size_t doc,
                            bm_shingle_batch *batch, bm_error *err);

/* doc_signer -- one thread's way from documents to sets or signatures: sorted sets, band keys,
 * words. For a few documents at a time, where to wake other threads would cost more than the work.
 *
 * Signed by the native CPU with a backend that any number of signers share. */

/* How documents are cut and signed; borrowed. */
typedef struct bm_doc_recipe {
    const bm_text_options *text;
    const bm_sketch_options *sketch;
    uint32_t bands, rows;
    bool words;      /* all words of a signature are wanted, not only keys */
    const char *cpu; /* NULL: the best here */
} bm_doc_recipe;

/* Closed with bm_backend_close. */
bm_status bm_doc_backend_open(const bm_doc_recipe *recipe, bm_backend **out, bm_error *err);

typedef struct bm_doc_signer {
    bm_backend *backend;       /* borrowed */
    uint32_t bands, row_uints; /* of the words of a document */
    bool wants_words;
    bm_doc_hasher hasher; /* documents are added by it, to ... */
    bm_shingle_batch batch;
    uint64_t *scratch;
    size_t cap_scratch;
    /* filled by sign, of batch.n_docs documents */
    const uint64_t **sets; /* each document's distinct hashes, ascending */
    uint32_t *n_shingles;
    uint64_t *keys;  /* n_docs * bands */
    uint32_t *words; /* n_docs * row_uints; NULL: not wanted */
    size_t cap_sets, cap_n_shingles, cap_keys, cap_words;
} bm_doc_signer; /* {0} is good for reset */

bm_status bm_doc_signer_init(bm_doc_signer *signer, const bm_doc_recipe *recipe,
                             bm_backend *backend, bm_error *err);
void bm_doc_signer_reset(bm_doc_signer *signer);
/* No documents, in the same memory, or in none where it was much. */
void bm_doc_signer_clear(bm_doc_signer *signer);
/* Sign the documents added since clear; content hashes are in batch.content. */
bm_status bm_doc_signer_sign(bm_doc_signer *signer, bm_error *err);
