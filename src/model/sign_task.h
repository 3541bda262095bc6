/* sign_task.h -- one batch of hashes, or of texts, on its way through a backend.
 *
 * Document i has hashes[offsets[i]] … hashes[offsets[i+1]-1]; offsets[0] need not be 0. Of the 64
 * bits of a hash only the low 32 are used (the token hash x, not yet premixed), but for schemes of
 * weighted documents, which use all, and `weights`: finite, more than 0.
 *
 * With `text` there are no hashes: the backend cuts and hashes the documents itself, offsets are
 * text->slots, and it counts the distinct hashes of each document. Only a backend that was opened
 * for such texts takes them (bm_backend.takes_text). It may still answer BM_ERR_UNSUPPORTED, having
 * done nothing; then the task is to be given as hashes. Documents that are left to the host come
 * back as if they were empty. Everything is borrowed until the task is done. */
#ifndef BM_MODEL_SIGN_TASK_H
#define BM_MODEL_SIGN_TASK_H

#include <bandmill/types.h>

#include "model/content_sums.h"
#include "model/text_batch.h"

typedef struct bm_sign_task {
    const uint64_t *offsets; /* n_docs + 1 */
    const uint64_t *hashes;
    const double *weights;     /* of the hashes, beside them; NULL: the scheme wants none */
    const bm_text_batch *text; /* NULL: hashes */
    size_t n_docs;
    uint32_t *words;      /* filled: n_docs * perms, document after document; NULL: not wanted */
    uint64_t *keys;       /* filled: n_docs * bands, document after document; NULL: not wanted */
    uint32_t *n_shingles; /* filled where there is text: n_docs, distinct hashes */
    bm_hash128 *content;  /* filled where there is text: n_docs content hashes; NULL: not wanted */
} bm_sign_task;

#endif
