/* SPDX-License-Identifier: Apache-2.0 */
/* sign_loops_row.h -- the inner loops of the native backend: a row for each instruction set, in its
 * own file sign_<set>.c.
 *
 * A document is signed in blocks of at most BM_SIGN_BLOCK hashes: `premix` narrows a block to 32
 * bits and applies fmix32, into a buffer that stays in the first-level cache; `minima` then runs
 * over the permutations in groups that fit the registers, and reads that buffer once a group.
 *
 *     hashes (64 bit) --premix--> block (32 bit, L1) --minima, a group a pass--> words
 *
 * These are the steps of affine32. The scheme oph fills bins (oph_bins.c), and has its hash and two
 * small loops here; cws uses cws_loops.h. The heads of the files explain the limit of each loop.
 * Every loop must equal the scheme's `sign` word for word. Pure functions: any number of threads.
 *
 * A new instruction set is a file sign_<set>.c with a row, a line in sign_loops.c, a name in
 * base/system.c, and its flags in cmake/rooms.cmake. The tests walk every set that the processor
 * has; scripts/test-neon.sh runs the loops of a foreign one under qemu. */
#pragma once

#include "cpu/cws_loops.h"
#include "cpu/key_loops.h"
#include "base/system.h"
#include "sketch/oph_plan.h"
#include "sketch/scheme_row.h"

#define BM_SIGN_BLOCK 1024u /* hashes; 4 KiB once premixed */

/* oph_bins -- what the scheme oph needs beside its hash: filling bins, and donors for empty ones.
 *
 *     hashes (64 bit) --oph_hash--> block (32 bit, L1) --fill--> words, some empty
 *                                                      --densify--> words
 *
 * The hash and the two loops of an instruction set are in its sign_<set>.c; the rest is plain C,
 * since no set has a scatter with a minimum. */

typedef struct bm_oph_loops {
    /* Bit i: words[i] belongs to an empty bin, for i < 64; aligned to 64 bytes. */
    uint64_t (*empty)(const uint32_t *words);
    /* best[bin] = least offer to `bin` of n > 0 donors, for all plan->row bins; aligned to
     * 64 bytes. */
    void (*best)(const bm_oph_plan *plan, const uint16_t *donors, uint32_t n, uint16_t *best);
} bm_oph_loops;
typedef void (*bm_oph_best_fn)(const bm_oph_plan *, const uint16_t *, uint32_t, uint16_t *);

/* words[bin of h] = min(itself, h) for each of n hashes of oph; `bins` words. */
void bm_oph_fill(uint32_t bins, const uint32_t *block, size_t n, uint32_t *words);
/* Fill the empty bins; no effect where all are empty. `words` holds plan->row of them, aligned to
 * 64 bytes. */
void bm_oph_densify(const bm_oph_plan *plan, const bm_oph_loops *loops, uint32_t *words);

/* wide_loops -- the inner loops of the schemes with coefficients of 64 bits (kernels/affine64.h):
 * a row for each instruction set, in its own file wide_<set>.c.
 *
 *     hashes (64 bit) --mix--> block (64 bit, L1) --minima, a group a pass--> least values
 *
 * The values are those before a scheme's last step: for legacy, only the low 32 bits of each are
 * used. */

/* For i < perms: least[i] = the least value of permutation i over the block, and over least[i]
 * itself if the document was begun with an earlier block. `least` holds perms_padded, is aligned to
 * 64 bytes, and may be overwritten past perms. n <= BM_SIGN_BLOCK. */
typedef void bm_wide_minima_fn(const bm_scheme_params *params, const uint64_t *block, size_t n,
                               bool begun, uint64_t *least);

typedef struct bm_wide_loops {
    void (*fmix64)(const uint64_t *hashes, size_t n, uint64_t *block);
    bm_wide_minima_fn *affine; /* a*h + b mod 2^64 */
    bm_wide_minima_fn *prime;  /* the same mod 2^61 - 1 */
    bm_wide_minima_fn *low;    /* the low 32 bits of that, for h < 2^32; upper halves are
                                * undefined */
} bm_wide_loops;

extern const bm_wide_loops bm_wide_loops_scalar;
#if defined(__x86_64__)
extern const bm_wide_loops bm_wide_loops_avx2;
extern const bm_wide_loops bm_wide_loops_avx512;
#endif

typedef struct bm_sign_loops {
    bm_isa isa;
    /* block[i] = fmix32(low half of hashes[i]) for i < n <= BM_SIGN_BLOCK. */
    void (*premix)(const uint64_t *hashes, size_t n, uint32_t *block);
    /* For i < perms: words[i] = minimum over the block of a[i]*h + b[i], and of words[i] if the
     * document was begun with an earlier block; all ones if there is no value. `words` holds
     * perms_padded, is aligned to 64 bytes, and may be overwritten past perms. */
    void (*minima)(const bm_scheme_params *params, const uint32_t *block, size_t n, bool begun,
                   uint32_t *words);
    /* Only the arithmetic of `minima` for n shingles: the same loop, in which one shingle stays in
     * its register without the compiler's knowledge. Benchmarks take it as the limit of the
     * instruction set. `words` as above, aligned. */
    void (*arithmetic)(const bm_scheme_params *params, size_t n, uint32_t *words);
    /* Band keys of a document with shingles. BM_KEY_LANES words past the last band must be
     * readable. */
    bm_key_fn band_keys;
    /* block[i] = bm_oph_hash(low half of hashes[i]) for i < n <= BM_SIGN_BLOCK. */
    void (*oph_hash)(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                     uint32_t *block);
    bm_oph_loops oph;
    const bm_cws_loops *cws;
    const bm_wide_loops *wide;
} bm_sign_loops;

/* One pass over a block: a group of permutations, as many as the registers of the instruction set
 * hold. `still`: the shingle stays in its register, `block` is not read. */
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
