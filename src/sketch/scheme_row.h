/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_row.h -- what a signature scheme is: one row, in its own file scheme_NAME.c.
 *
 * A row has everything that is particular to a scheme, for the host and for devices. Nobody asks
 * which scheme it is: whoever signs reads the row. It consists of data, and functions over plain
 * memory; of OpenCL it knows the names of files in kernels/ and no call. The loops of the native
 * CPU, which are compiled for instruction sets, are rows of their own (cpu/native_row.h).
 *
 * A new scheme: scheme_NAME.c with its row, the row in scheme.c, a kernel for each of the two
 * families of devices, cpu/native_NAME.c, its value in the public enum, and its word in
 * model/option_names.c. */
#pragma once

#include <stdint.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* The random numbers of one scheme, seed and number of words; read only once drawn. */
typedef struct bm_scheme_params {
    const struct bm_scheme_ops *ops; /* the row of the scheme that they were drawn for */
    uint32_t perms;                  /* words of a signature; may be lowered for a prefix scheme */
    uint32_t perms_padded;           /* `perms` as drawn, up to a multiple of BM_SCHEME_PADDING */
    uint32_t seed;
    uint32_t *a, *b;               /* coefficients, aligned to 64 bytes and padded with zeros */
    uint64_t *a64, *b64, *c64;     /* coefficients of 64 bits, the same; `a` and `b` are then
                                    * NULL */
    uint64_t donor_mul, donor_add; /* oph: of the hash that chooses donors */
    void *plan; /* what bm_scheme_plan worked out of all this; NULL: nothing, or not yet */
} bm_scheme_params;

#define BM_SCHEME_FILES 3u /* with the NULL after the last */

/* How devices sign by a scheme. Parts: a document that is too long for one work-group, or for one
 * batch, is signed in parts, and the words of its parts are merged: by atomic_min on the device
 * within a batch, by `merge` on the host from batch to batch. */
typedef struct bm_scheme_device {
    /* Files of kernels/, in their order after affine32.h and band_keys.cl; then the kernel bm_sign
     * of the device's family. */
    const char *files[BM_SCHEME_FILES], *sign_cpu, *sign_gpu;
    const char *options; /* further -D for the compiler; NULL: none */
    bool whole_hashes;   /* kernels of both families read 64 bits of each hash */
    bool alone; /* parts of a document do not meet on a device: one work-group signs it all */
    bool fills; /* bm_split_fill ends the words of documents that were signed in parts */
    /* Make the buffer that kernels read as `coef`: *out (bm_free) of *bytes. `padded`: coefficients
     * that a kernel reads, at least params->perms. `params` have their plan. */
    bm_status (*upload)(const bm_scheme_params *params, uint32_t padded, void **out, size_t *bytes,
                        bm_error *err);
    /* Take the words of another part into `words`, which begin as all one bits. NULL: they cannot
     * be merged, and a document that no batch can hold is signed by `sign`. */
    void (*merge)(const bm_scheme_params *params, const void *part, void *words);
    /* After the last part; NULL: nothing is left to do. */
    void (*finish)(const bm_scheme_params *params, void *words);
} bm_scheme_device;

typedef struct bm_scheme_ops {
    bm_scheme scheme; /* its word is in BM_OPTION_SCHEME (model/option_names.c) */
    bool prefix;      /* word i takes coefficients i alone, so that fewer words may be computed */
    bool weighted;    /* of shingles with weights, by `sign_weighted`; else without, by `sign` */
    bm_status (*draw)(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
    /* The scalar reference, which is the definition of the scheme: every backend must equal it word
     * for word. One document: n 64-bit hashes (only the low 32 bits count); `words` (perms,
     * filled). n = 0: all one bits. Needs no plan. */
    void (*sign)(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *words);
    /* The same where `weighted`, which has no `sign`: all 64 bits of a hash count, and its weight,
     * finite and more than 0. */
    void (*sign_weighted)(const bm_scheme_params *params, const uint64_t *hashes,
                          const double *weights, size_t n, void *words);
    /* Compute what many documents share, once; both NULL: nothing. */
    bm_status (*plan)(const bm_scheme_params *params, void **out, bm_error *err);
    void (*plan_free)(void *plan);
    bm_scheme_device device;    /* all NULL: by the native CPU alone */
    const uint32_t *test_perms; /* numbers of words that a device's self-test tries; 0 ends them */
} bm_scheme_ops;

extern const bm_scheme_ops bm_scheme_affine32, bm_scheme_oph, bm_scheme_cws;
extern const bm_scheme_ops bm_scheme_legacy, bm_scheme_text_dedup, bm_scheme_nemo, bm_scheme_lance;
extern const bm_scheme_ops bm_scheme_affine64, bm_scheme_datatrove;

/* minima -- what a word of a signature is: the least place that a permutation gives to an element
 * of the set.
 *
 * The scalar reference of affine32 takes its minima here, with the permutations of its scheme; a
 * test and examples/matrix do it with permutations written by hand, so that what they show is the
 * reference's own step. In a header, so that the caller's permutation becomes part of the loop. */

/* The place that permutation i of `permutations` gives to the element x. */
typedef uint32_t bm_permutation(const void *permutations, uint32_t i, uint32_t x);

/* Take one more element of a set into its k minima, which begin as BM_NO_SHINGLE32. */
static inline void bm_minima_update(bm_permutation *permutation, const void *permutations,
                                    uint32_t k, uint32_t x, uint32_t *minima)
{
    for (uint32_t i = 0; i < k; i++) {
        uint32_t place = permutation(permutations, i, x);
        if (place < minima[i])
            minima[i] = place;
    }
}

/* scheme_merge -- what rows of schemes of minima share: words merged from parts, coefficients as
 * devices read them. */

/* As `merge` of bm_scheme_device: the lesser of each two words. */
void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words);
void bm_words_merge64(const bm_scheme_params *params, const void *part, void *words);
/* As `upload` of it: a, then b, `padded` each. */
bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
/* The same of 64 bits; c after them where there are some. */
bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
