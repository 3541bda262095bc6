/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_row.h -- a signature scheme: one row, in a file scheme_NAME.c that related schemes share.
 *
 * A row has everything that is particular to a scheme, for the host and for devices: code that
 * signs reads the row, and never tests which scheme it has. A row consists of data and of functions
 * over plain memory; it names OpenCL files in kernels/, but makes no OpenCL call. How the native
 * CPU signs by a scheme is in separate rows (cpu/native_row.h).
 *
 * A new scheme needs its row in a scheme_NAME.c, an entry in scheme.c, a kernel for each of the two
 * families of devices, a row in cpu/native.c, its value in the public enum, and its name in
 * model/option_names.c. */
#pragma once

#include <stdint.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* The random numbers for one scheme, seed and number of words; read-only once drawn. */
typedef struct bm_scheme_params {
    const struct bm_scheme_ops *ops; /* the row of the scheme */
    uint32_t perms;                  /* words of a signature; may be lowered for a prefix scheme */
    uint32_t perms_padded;           /* `perms` as drawn, rounded up to a multiple of
                                      * BM_SCHEME_PADDING */
    uint32_t seed;
    uint32_t *a, *b; /* coefficients, aligned to 64 bytes and padded with zeros */
    /* 64-bit coefficients, aligned and padded too; `a` and `b` are then NULL */
    uint64_t *a64, *b64, *c64;
    uint64_t donor_mul, donor_add; /* oph: coefficients of the hash that chooses donors */
    void *plan; /* what bm_scheme_plan computed from the other members; NULL: nothing */
} bm_scheme_params;

#define BM_SCHEME_FILES 3u /* including the NULL after the last */

/* How devices sign by a scheme. Parts: a document that is too long for one work-group, or for one
 * batch, is signed in parts, and the words of its parts are merged: by atomic_min on the device
 * within a batch, by `merge` on the host from batch to batch. */
typedef struct bm_scheme_device {
    /* Files in kernels/, compiled in this order after affine32.h and band_keys.cl, and before the
     * file with bm_sign for the device's family. */
    const char *files[BM_SCHEME_FILES], *sign_cpu, *sign_gpu;
    const char *options; /* further -D for the compiler; NULL: none */
    bool whole_hashes;   /* kernels of both families read 64 bits of each hash */
    bool alone; /* no merging of parts on a device: one work-group signs a whole document */
    bool fills; /* bm_split_fill completes the words of documents signed in parts */
    /* Make the buffer that kernels read as `coef`: *out, of *bytes, to be freed by bm_free.
     * `padded`: how many coefficients a kernel reads, at least params->perms. params->plan must
     * have been computed, if the scheme has one. */
    bm_status (*upload)(const bm_scheme_params *params, uint32_t padded, void **out, size_t *bytes,
                        bm_error *err);
    /* Merge the words of another part into `words`, which begin as all one bits. NULL: words cannot
     * be merged, and a document that is too large for any batch is signed by `sign`. */
    void (*merge)(const bm_scheme_params *params, const void *part, void *words);
    /* Called after the last part; NULL: there is nothing left to do. */
    void (*finish)(const bm_scheme_params *params, void *words);
} bm_scheme_device;

typedef struct bm_scheme_ops {
    bm_scheme scheme; /* its name is under BM_OPTION_SCHEME in model/option_names.c */
    bool prefix;      /* word i depends only on coefficients i, so fewer words may be computed */
    bool weighted;    /* signs shingles with weights, by `sign_weighted`; else without, by `sign` */
    bm_status (*draw)(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
    /* The scalar reference, which is the definition of the scheme: every backend must equal it word
     * for word. Sign one document of n 64-bit hashes (some schemes use only the low 32 bits): fill
     * `words`, perms of them. n = 0: all one bits. Needs no plan. */
    void (*sign)(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *words);
    /* Like `sign`, for a `weighted` scheme, which has no `sign`. All 64 bits of a hash are used;
     * weights are finite and more than 0. */
    void (*sign_weighted)(const bm_scheme_params *params, const uint64_t *hashes,
                          const double *weights, size_t n, void *words);
    /* plan: compute once what many documents share; plan_free: free it. Both are NULL if there is
     * nothing to share. */
    bm_status (*plan)(const bm_scheme_params *params, void **out, bm_error *err);
    void (*plan_free)(void *plan);
    bm_scheme_device device;    /* all NULL: only the native CPU signs */
    const uint32_t *test_perms; /* numbers of words that a device's self-test tries; 0 ends them */
} bm_scheme_ops;

extern const bm_scheme_ops bm_scheme_affine32, bm_scheme_oph, bm_scheme_cws;
extern const bm_scheme_ops bm_scheme_legacy, bm_scheme_text_dedup, bm_scheme_nemo, bm_scheme_lance;
extern const bm_scheme_ops bm_scheme_affine64, bm_scheme_datatrove;

/* minima -- a word of a signature: the least position that a permutation gives to any element of
 * the set.
 *
 * The scalar references of affine32 and nemo compute their minima by this function; a test and
 * examples/matrix call it with permutations written by hand. It is in a header so that the caller's
 * permutation is inlined into the loop. */

/* The position of the element x in the order that permutation i of `permutations` makes. */
typedef uint32_t bm_permutation(const void *permutations, uint32_t i, uint32_t x);

/* Update the k minima of a set, which begin as BM_NO_SHINGLE32, with one more element. */
static inline void bm_minima_update(bm_permutation *permutation, const void *permutations,
                                    uint32_t k, uint32_t x, uint32_t *minima)
{
    for (uint32_t i = 0; i < k; i++) {
        uint32_t place = permutation(permutations, i, x);
        if (place < minima[i])
            minima[i] = place;
    }
}

/* scheme_merge -- shared by the rows of schemes that take minima: words of parts merged, and
 * coefficients in the form that devices read. */

/* As `merge` of bm_scheme_device: the lesser of each two words. */
void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words);
void bm_words_merge64(const bm_scheme_params *params, const void *part, void *words);
/* As `upload` of bm_scheme_device: a, then b, `padded` each. */
bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
/* Like bm_coefficients_upload32, for 64-bit coefficients, with c after them if there is one. */
bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
