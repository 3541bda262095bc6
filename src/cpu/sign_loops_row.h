/* SPDX-License-Identifier: Apache-2.0 */
/* sign_loops_row.h -- the inner loops of the native backend: a row of functions for each
 * instruction set, in a file sign_<set>.c.
 *
 * A document is signed in blocks of at most BM_SIGN_BLOCK hashes. `premix` narrows the hashes of a
 * block to 32 bits, applies fmix32, and stores them in a buffer that stays in the first-level
 * cache. `minima` then processes the permutations in groups that fit into the registers, and reads
 * the buffer once for each group.
 *
 *     hashes (64 bit) --premix--> block (32 bit, L1) --minima, a group a pass--> words
 *
 * These are the steps of affine32. The scheme oph fills bins (oph_bins.c); its hash and two small
 * loops are here. cws uses cws_loops.h. The comments at the top of the files explain the limit of
 * each loop. The words of every loop must be exactly those of the scheme's `sign`. Pure functions:
 * any number of threads.
 *
 * A new instruction set is a file sign_<set>.c with a row, a line in sign_loops.c, a name in
 * base/system.c, and its flags in cmake/rooms.cmake. The tests cover every set that the processor
 * has. scripts/test-neon.sh runs the loops of a foreign processor under qemu. */
#pragma once

#include "cpu/cws_loops.h"
#include "cpu/key_loops.h"
#include "base/system.h"
#include "sketch/oph_plan.h"
#include "sketch/scheme_row.h"

#define BM_SIGN_BLOCK 1024u /* most hashes of a block; 4 KiB once premixed */

/* oph_bins -- what the scheme oph needs in addition to its hash: it fills bins, and finds donors
 * for empty bins.
 *
 *     hashes (64 bit) --oph_hash--> block (32 bit, L1) --fill--> words, some empty
 *                                                      --densify--> words
 *
 * The hash and the two loops of an instruction set are in its sign_<set>.c; the rest is plain C,
 * because no set has a scatter with a minimum. */

typedef struct bm_oph_loops {
    /* Return a mask of 64 words: bit i is set if words[i] belongs to an empty bin. `words` is
     * aligned to 64 bytes. */
    uint64_t (*empty)(const uint32_t *words);
    /* For each of plan->row bins, set best[bin] to the least offer that any of n > 0 donors has for
     * the bin. `best` is aligned to 64 bytes. */
    void (*best)(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n, uint16_t *best);
} bm_oph_loops;
typedef void (*bm_oph_best_fn)(const bm_oph_plan *, const uint16_t *, uint32_t, uint16_t *);

/* Fill bins: for each of n hashes h of oph, words[bin of h] becomes the minimum of itself and h.
 * There are `bins` words. */
void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words);
/* Fill the empty bins. If all bins are empty, they stay empty. `words` has plan->row words, and is
 * aligned to 64 bytes. */
void bm_oph_densify(const bm_oph_plan *plan, const bm_oph_loops *loops, uint32_t *words);

/* wide_loops -- the inner loops of the schemes with coefficients of 64 bits (kernels/affine64.h): a
 * row of functions for each instruction set, in a file wide_<set>.c.
 *
 *     hashes (64 bit) --mix--> block (64 bit, L1) --minima, a group a pass--> least values
 *
 * The values are those before a scheme's last step: for legacy, only the low 32 bits of each are
 * used. */

/* For i < perms, set least[i] to the least value of permutation i over the block. If the document
 * was begun with an earlier block, the old least[i] takes part. `least` has room for perms_padded
 * values, is aligned to 64 bytes, and may be overwritten past perms. n <= BM_SIGN_BLOCK. */
typedef void bm_wide_minima_fn(const bm_scheme_params *params, const uint64_t *block, size_t n,
                               bool begun, uint64_t *least);

typedef struct bm_wide_loops {
    void (*fmix64)(const uint64_t *hashes, size_t n, uint64_t *block);
    bm_wide_minima_fn *affine; /* a*h + b mod 2^64 */
    bm_wide_minima_fn *prime;  /* the same mod 2^61 - 1 */
    bm_wide_minima_fn *low;    /* the low 32 bits of `prime`, for h < 2^32; upper halves are
                                * undefined */
} bm_wide_loops;

extern const bm_wide_loops bm_wide_loops_scalar;
#if defined(__x86_64__)
extern const bm_wide_loops bm_wide_loops_avx2;
extern const bm_wide_loops bm_wide_loops_avx512;
#endif

typedef struct bm_sign_loops {
    bm_isa isa;
    /* For i < n <= BM_SIGN_BLOCK, set block[i] to fmix32(low half of hashes[i]). */
    void (*premix)(const uint64_t *hashes, size_t n, uint32_t *block);
    /* For i < perms, set words[i] to the minimum of a[i]*h + b[i] over the block, or to all ones if
     * there is no hash. If the document was begun with an earlier block, the old words[i] takes
     * part in the minimum. `words` has room for perms_padded words, is aligned to 64 bytes, and may
     * be overwritten past perms. */
    void (*minima)(const bm_scheme_params *params, const uint32_t *block, size_t n, bool begun,
                   uint32_t *words);
    /* Do only the arithmetic of `minima`, for n shingles. The loop is the same, but it uses one
     * shingle, which stays in a register; the compiler cannot see that the shingle never changes.
     * Benchmarks use this to measure the limit of the instruction set. `words` is as above. */
    void (*arithmetic)(const bm_scheme_params *params, size_t n, uint32_t *words);
    /* Compute the band keys of a document that has shingles. BM_KEY_LANES words past the last band
     * must be readable. */
    bm_key_fn band_keys;
    /* For i < n <= BM_SIGN_BLOCK, set block[i] to bm_oph_hash(low half of hashes[i]). */
    void (*oph_hash)(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                     uint32_t *block);
    bm_oph_loops oph;
    const bm_cws_loops *cws;
    const bm_wide_loops *wide;
} bm_sign_loops;

/* One pass over a block, for as many permutations as fit into the registers of the instruction set.
 * `still`: the shingle stays in its register, and `block` is not read. */
typedef struct bm_sign_pass {
    const uint32_t *a, *b, *block;
    size_t n;
    uint32_t *words;
    bool still, begun;
} bm_sign_pass;

extern const bm_sign_loops bm_sign_loops_scalar;
#if defined(__x86_64__)
extern const bm_sign_loops bm_sign_loops_avx2;
extern const bm_sign_loops bm_sign_loops_avx512;
#elif defined(__aarch64__)
extern const bm_sign_loops bm_sign_loops_neon;
#endif
