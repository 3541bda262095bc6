/* native_row.h -- how the native CPU signs by one scheme: a row in its own file native_NAME.c,
 * which puts together what the loops of an instruction set do for it (sign_loops_row.h).
 *
 *     hashes (64 bit) --mix--> block (32 bit, first-level cache) --fold--> words --finish--> words
 *
 * A scheme of weighted documents signs each as a whole, by `sign_weighted` alone.
 *
 * Pure functions: any number of threads. */
#ifndef BM_BACKEND_CPU_NATIVE_ROW_H
#define BM_BACKEND_CPU_NATIVE_ROW_H

#include "backend/cpu/sign_loops_row.h"
#include "sketch/scheme_row.h"

/* What was chosen when the backend was opened; borrowed. */
typedef struct bm_native_choice {
    const bm_sign_loops *loops;
    const bm_scheme_params *params; /* of the words in use, with their plan */
} bm_native_choice;

typedef struct bm_native_ops {
    const bm_scheme_ops *scheme;
    /* block[i]: what `fold` wants of hashes[i], for i < n <= BM_SIGN_BLOCK. */
    void (*mix)(const bm_native_choice *choice, const uint64_t *hashes, size_t n, uint32_t *block);
    /* n > 0 shingles of one document into its words; `begun`: with those of the blocks before.
     * `words` holds perms_padded, is aligned to 64 bytes, and may be overwritten with anything past
     * perms. */
    void (*fold)(const bm_native_choice *choice, const uint32_t *block, size_t n, bool begun,
                 uint32_t *words);
    /* After the last block of a document; NULL: nothing is left to do. */
    void (*finish)(const bm_native_choice *choice, uint32_t *words);
    /* n > 0 weighted shingles, all of one document, into its words, as above; the others are NULL. */
    void (*sign_weighted)(const bm_native_choice *choice, const uint64_t *hashes,
                          const double *weights, size_t n, uint32_t *words);
} bm_native_ops;

extern const bm_native_ops bm_native_affine32, bm_native_oph, bm_native_cws;

#endif
