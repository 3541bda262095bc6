/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_row.h -- a signature scheme is a row. Its file scheme_NAME.c may have the rows of related
 * schemes too.
 *
 * A row has everything that is particular to a scheme, for the host and for devices. Code that
 * signs reads the row, and never tests which scheme it has. A row consists of data, and of
 * functions that work on plain memory. It names OpenCL files of kernels/, but makes no OpenCL call.
 * Separate rows (cpu/native_row.h) define how the native CPU signs.
 *
 * A new scheme needs its row in a scheme_NAME.c, an entry in scheme.c, a kernel for each of the two
 * families of devices, a row in cpu/native.c, its value in the public enum, and its name in
 * model/option_names.c. */
#pragma once

#include <stdint.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* The random numbers that were drawn for a scheme, a seed and a number of words. They do not change
 * afterwards. */
typedef struct bm_scheme_params {
    const struct bm_scheme_ops *ops; /* the row of the scheme */
    uint32_t perms;                  /* words of a signature; may be lowered if the scheme has
                                      * `prefix` */
    uint32_t perms_padded;           /* `perms` when coefficients were drawn, rounded up to a
                                      * multiple of BM_SCHEME_PADDING */
    uint32_t seed;
    uint32_t *a, *b; /* coefficients; aligned to 64 bytes, and padded with zeros */
    /* 64-bit coefficients, aligned and padded in the same way; if used, `a` and `b` are NULL */
    uint64_t *a64, *b64, *c64;
    uint64_t donor_mul, donor_add; /* oph only: coefficients of the hash that chooses donors */
    void *plan; /* made from the other members by bm_scheme_plan; NULL: no plan */
} bm_scheme_params;

#define BM_SCHEME_FILES 3u /* including the NULL at the end */

/* How devices sign by a scheme. A document that is too long for one work-group or for one batch is
 * signed in parts, whose words are merged. Within a batch, the device merges them by atomic_min;
 * from batch to batch, the host merges them by `merge`. */
typedef struct bm_scheme_device {
    /* Files in kernels/. They are compiled in this order, after affine32.h and band_keys.cl. The
     * last file is sign_cpu or sign_gpu, which has bm_sign for the family of the device. */
    const char *files[BM_SCHEME_FILES], *sign_cpu, *sign_gpu;
    const char *options; /* further -D options for the compiler; NULL: none */
    bool whole_hashes;   /* in both families, kernels read 64 bits of each hash */
    bool alone;          /* devices cannot merge parts, so one work-group signs a whole document */
    bool fills; /* bm_split_fill completes the words of documents that are signed in parts */
    /* Make the buffer that kernels read as `coef`. *out becomes the buffer, which the caller frees
     * with bm_free, and *bytes its size. `padded`: number of coefficients that a kernel reads, at
     * least params->perms. If the scheme has a plan, params->plan must have been computed. */
    bm_status (*upload)(const bm_scheme_params *params, uint32_t padded, void **out, size_t *bytes,
                        bm_error *err);
    /* Merge the words of a further part into `words`, which at first have all bits set. NULL: words
     * cannot be merged. A document that is too large for any batch is then signed by `sign`. */
    void (*merge)(const bm_scheme_params *params, const void *part, void *words);
    /* Called after the last part was merged. NULL: nothing remains to be done. */
    void (*finish)(const bm_scheme_params *params, void *words);
} bm_scheme_device;

typedef struct bm_scheme_ops {
    bm_scheme scheme; /* model/option_names.c has its name, under BM_OPTION_SCHEME */
    bool prefix;      /* word i depends only on the i-th coefficients, so the first words can be
                       * computed without the others */
    bool weighted;    /* shingles have weights, and `sign_weighted` signs; otherwise `sign` does */
    bm_status (*draw)(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
    /* The scalar reference, which is the definition of the scheme: every backend must make exactly
     * these words. Signs one document of n 64-bit hashes, of which some schemes use only the low 32
     * bits. Fills `words`, which has perms words. If n is 0, all bits are set. A plan is not
     * needed. */
    void (*sign)(const bm_scheme_params *params, const uint64_t *hashes, size_t n, void *words);
    /* Like `sign`, for a `weighted` scheme, whose `sign` is NULL. All 64 bits of a hash are used.
     * Weights must be finite and above 0. */
    void (*sign_weighted)(const bm_scheme_params *params, const uint64_t *hashes,
                          const double *weights, size_t n, void *words);
    /* `plan` computes once what signing uses for many documents; plan_free frees it. Both are NULL
     * if the scheme has no plan. */
    bm_status (*plan)(const bm_scheme_params *params, void **out, bm_error *err);
    void (*plan_free)(void *plan);
    bm_scheme_device device;    /* all members NULL: only the native CPU signs */
    const uint32_t *test_perms; /* numbers of words with which devices are tested (self-test); 0
                                 * ends the list */
} bm_scheme_ops;

extern const bm_scheme_ops bm_scheme_affine32, bm_scheme_oph, bm_scheme_cws;
extern const bm_scheme_ops bm_scheme_legacy, bm_scheme_text_dedup, bm_scheme_nemo, bm_scheme_lance;
extern const bm_scheme_ops bm_scheme_affine64, bm_scheme_datatrove;

/* minima -- a word of a signature is the smallest position that a permutation gives to any element
 * of the set.
 *
 * The scalar references of affine32 and nemo compute their minima with this function. A test and
 * examples/matrix call it with permutations written by hand. It is defined in a header so that the
 * caller's permutation is inlined into the loop. */

/* The position of element x in permutation i of `permutations`. */
typedef uint32_t bm_permutation(const void *permutations, uint32_t i, uint32_t x);

/* Update the k minima of a set with one more element. At first the minima are BM_NO_SHINGLE32. */
static inline void bm_minima_update(bm_permutation *permutation, const void *permutations,
                                    uint32_t k, uint32_t x, uint32_t *minima)
{
    for (uint32_t i = 0; i < k; i++) {
        uint32_t place = permutation(permutations, i, x);
        if (place < minima[i])
            minima[i] = place;
    }
}

/* scheme_merge -- shared by the rows of schemes that compute minima: merges the words of parts, and
 * makes buffers of coefficients in the form that devices read. */

/* `merge` functions of bm_scheme_device: of each pair of words, the smaller one is kept. */
void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words);
void bm_words_merge64(const bm_scheme_params *params, const void *part, void *words);
/* An `upload` function of bm_scheme_device: all a, then all b, `padded` coefficients each. */
bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
/* Like bm_coefficients_upload32, for 64-bit coefficients. If the scheme has c, they follow b. */
bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err);
