/* doc_signer.h -- one thread's way from texts, or hashes made elsewhere, to what is compared: sorted sets,
 * band keys, words. For a few documents at a time, where to wake other threads would cost more than
 * the work.
 *
 * Signed by the native CPU with a backend that any number of signers share. */
#ifndef BM_INMEM_DOC_SIGNER_H
#define BM_INMEM_DOC_SIGNER_H

#include "model/backend.h"
#include "inmem/text_hasher.h"
#include "text/set_shingler.h"

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
    bm_text_hasher hasher;
    bm_set_shingler sets_given;
    bm_shingle_batch batch; /* of the documents added */
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
/* From now on a text takes so many bytes at most while it is cut; 0: any number. One that needs more is BM_ERR_NOMEM, and
 * bm_doc_signer_needed says how many would do; 0: that was not the reason. */
void bm_doc_signer_limit(bm_doc_signer *signer, uint64_t bytes);
uint64_t bm_doc_signer_needed(const bm_doc_signer *signer);
/* Append a document: a text, or n hashes in order, repeats and all. */
bm_status bm_doc_signer_add(bm_doc_signer *signer, bm_str text, bm_error *err);
bm_status bm_doc_signer_add_hashes(bm_doc_signer *signer, const uint64_t *hashes, size_t n,
                                   bm_error *err);
/* Sign what was added since clear; content hashes are in batch.content. */
bm_status bm_doc_signer_sign(bm_doc_signer *signer, bm_error *err);

#endif
