/* sign_loops_row.h -- the inner loops of the native backend: a row for each instruction set, in its
 * own file sign_<set>.c.
 *
 * A document is signed in blocks of at most BM_SIGN_BLOCK hashes: `premix` narrows a block to 32
 * bits and applies fmix32, into a buffer that stays in the first-level cache; `minima` then runs
 * over the permutations in groups that fit the registers, and reads that buffer once a group.
 *
 *     hashes (64 bit) --premix--> block (32 bit, L1) --minima, a group a pass--> words
 *
 * That is affine32; the scheme oph goes by oph_bins.h, with its hash and one minimum from here, and
 * cws by cws_loops.h, those with wider coefficients by wide_loops.h. The files say what limits
 * each. Each must equal the scheme's `sign` word for word. Pure functions: any number of threads.
 *
 * A new instruction set is a file sign_<set>.c with a row, a line in sign_loops.c, a name in
 * base/system.c, and its flags in cmake/rooms.cmake. The tests walk every set that the processor
 * has; scripts/test-neon.sh runs the loops of a foreign one under qemu. */
#ifndef BM_BACKEND_CPU_SIGN_LOOPS_ROW_H
#define BM_BACKEND_CPU_SIGN_LOOPS_ROW_H

#include "cpu/cws_loops.h"
#include "cpu/key_loops.h"
#include "cpu/oph_bins.h"
#include "cpu/wide_loops.h"
#include "base/system.h"
#include "sketch/scheme_row.h"

#define BM_SIGN_BLOCK 1024u /* hashes; 4 KiB once premixed */

typedef struct bm_sign_loops {
    bm_isa isa;
    /* block[i] = fmix32(low half of hashes[i]) for i < n <= BM_SIGN_BLOCK. */
    void (*premix)(const uint64_t *hashes, size_t n, uint32_t *block);
    /* words[i] = minimum over the block of a[i]*h + b[i], and of words[i] if the document was begun
     * with an earlier block; all ones where that is no value. For i < perms; `words` holds
     * perms_padded, is aligned to 64 bytes, and may be overwritten with anything past perms. */
    void (*minima)(const bm_scheme_params *params, const uint32_t *block, size_t n, bool begun,
                   uint32_t *words);
    /* The arithmetic of `minima` for n shingles and nothing else: the same loop with a shingle that
     * stays in its register, though the compiler may not know that it stays the same. What a
     * benchmark takes as the limit of this instruction set. `words` as above, aligned. */
    void (*arithmetic)(const bm_scheme_params *params, size_t n, uint32_t *words);
    /* Band keys of a document with shingles. BM_KEY_LANES words past the last band are readable. */
    bm_key_fn band_keys;
    /* block[i] = bm_oph_hash(low half of hashes[i]) for i < n <= BM_SIGN_BLOCK. */
    void (*oph_hash)(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                     uint32_t *block);
    bm_oph_loops oph;
    const bm_cws_loops *cws;
    const bm_wide_loops *wide;
} bm_sign_loops;

/* One pass over a block: a group of permutations, of which each file takes as many as its registers
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

#endif
