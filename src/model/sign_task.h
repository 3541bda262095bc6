/* sign_task.h -- one batch of hashes on its way through a backend.
 *
 * offsets[0] need not be 0: document i has hashes[offsets[i]] … hashes[offsets[i+1]-1]. `hashes`
 * are 64-bit; only the low 32 bits (the token hash x, not yet premixed) are used. Everything is
 * borrowed until the task is done. */
#ifndef BM_MODEL_SIGN_TASK_H
#define BM_MODEL_SIGN_TASK_H

#include <bandmill/types.h>

typedef struct bm_sign_task {
    const uint64_t *offsets; /* n_docs + 1 */
    const uint64_t *hashes;
    size_t n_docs;
    uint32_t *words; /* filled: n_docs * perms, document after document; NULL: not wanted */
    uint64_t *keys;  /* filled: n_docs * bands, document after document; NULL: not wanted */
} bm_sign_task;

#endif
