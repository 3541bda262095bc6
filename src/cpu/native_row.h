/* SPDX-License-Identifier: Apache-2.0 */
/* native_row.h -- how the native CPU signs by one scheme. Each scheme has a row of functions in
 * native.c (cws in native_cws.c). The functions use the loops of an instruction set
 * (sign_loops_row.h).
 *
 *     hashes (64 bit) --mix--> block (first-level cache) --fold--> words --finish--> words
 *
 * A scheme for weighted documents signs each document as a whole, by `sign_weighted`.
 *
 * Pure functions: any number of threads. */
#pragma once

#include "cpu/sign_loops_row.h"
#include "sketch/scheme_row.h"

/* The loops and parameters chosen when the backend was opened; borrowed. */
typedef struct bm_native_choice {
    const bm_sign_loops *loops;
    const bm_scheme_params *params; /* parameters for the words in use, with their plan */
    void *kept;                     /* what the row's `open` made; NULL: the row has no `open` */
    void *borrowed;                 /* what the row's `borrow` gave to this thread */
} bm_native_choice;

typedef struct bm_native_ops {
    const bm_scheme_ops *scheme;
    size_t block_bytes; /* bytes that a hash takes in a block: 4 or 8 */
    /* For i < n <= BM_SIGN_BLOCK, set block[i] to hashes[i] in the form that `fold` reads. */
    void (*mix)(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block);
    /* Fold n > 0 shingles of one document into its words. `begun`: continue with the words of the
     * earlier blocks. `words` is aligned to 64 bytes, has room for perms_padded words of 8 bytes,
     * and may be overwritten past perms. Between two blocks, the row may keep data there. */
    void (*fold)(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                 void *words);
    /* Called after the last block of a document: turn the result of `fold` into words. NULL: the
     * result of `fold` already is the words. */
    void (*finish)(const bm_native_choice *choice, void *words);
    /* Sign the n > 0 weighted shingles of one document into its words, which are as above. A row
     * with this function has no mix, fold and finish (NULL). */
    void (*sign_weighted)(const bm_native_choice *choice, const uint64_t *hashes,
                          const double *weights, size_t n, uint32_t *words);
    /* State that is kept from one document to the next. It takes about `kept_bytes` for each
     * thread; 0: the row decides. While a thread signs, it borrows its part. The state changes no
     * word. If all four functions are NULL, there is no state. `params` are borrowed. */
    bm_status (*open)(const bm_scheme_params *params, size_t kept_bytes, void **kept,
                      bm_error *err);
    void (*close)(void *kept); /* NULL is fine */
    bm_status (*borrow)(void *kept, void **borrowed, bm_error *err);
    void (*release)(void *kept, void *borrowed);
} bm_native_ops;

extern const bm_native_ops bm_native_affine32, bm_native_oph, bm_native_cws;
extern const bm_native_ops bm_native_legacy, bm_native_text_dedup, bm_native_nemo, bm_native_lance;
extern const bm_native_ops bm_native_affine64, bm_native_datatrove;

/* native_table -- the schemes by which the native CPU can sign. */

/* Find the row of a scheme. NULL: the native CPU has no loops for this scheme. */
const bm_native_ops *bm_native_find(const bm_scheme_ops *scheme);
