/* SPDX-License-Identifier: Apache-2.0 */
/* cws_loops.h -- the inner loops of the scheme cws: a row of functions for each instruction set, in
 * a file cws_<set>.c. All rows come from cws_lanes.h. native_cws.c shows how the functions work
 * together.
 *
 * Each row must give exactly the doubles of sketch/cws_draws.h. Pure functions: any number of
 * threads. */
#pragma once

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "sketch/cws_draws.h"
#include "sketch/scheme_row.h"

#define BM_CWS_BLOCK 512u /* most elements of a block: 25 KiB, which stay in a first-level cache */
#define BM_CWS_BATCH 256u /* candidates that are computed together */
#define BM_CWS_LANES 8u   /* most doubles in a register, over all rows */
#define BM_CWS_MASK  64u  /* permutations in a mask; rows of bounds are padded to this */
#define BM_CWS_MASKS 128u /* masks of one round of a scan */
#define BM_CWS_COEFS 8u   /* rows of coefficients from which bounds are computed */

/* A block: some elements of a document. */
typedef struct bm_cws_block {
    alignas(BM_ALIGNMENT) uint32_t mixed[BM_CWS_BLOCK][8]; /* e_0 … e_4 of each element, and
                                                              padding */
    alignas(BM_ALIGNMENT) float limit[BM_CWS_BLOCK];       /* see `set_limits` */
    alignas(BM_ALIGNMENT) uint8_t limit_byte[BM_CWS_BLOCK];
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BLOCK];
    uint32_t n;
} bm_cws_block;

/* The state of a scan. A scan searches a block for bounds that are within their limits. */
typedef struct bm_cws_scan {
    const uint8_t *bytes; /* rows of `stride` */
    uint32_t stride;
    uint32_t row[BM_CWS_BLOCK]; /* the row of each element */
    uint32_t next;              /* the first element that was not scanned */
    uint32_t at, n;             /* at: masks already turned into pairs; n: masks in `bits` */
    uint64_t bits[BM_CWS_MASKS];
    uint32_t first[BM_CWS_MASKS]; /* for each mask: the pair to which its bit 0 belongs */
} bm_cws_scan;

/* Candidate pairs: an element of the block and a permutation. */
typedef struct bm_cws_batch {
    size_t n;
    /* permutation * 2^16 + element; there is room for writing whole registers */
    alignas(BM_ALIGNMENT) uint32_t pairs[BM_CWS_BATCH + BM_CWS_MASK + 2 * BM_CWS_LANES];
    /* the words of the pairs that are being computed: w_0 and w_1 (the upper half), w_2 and w_3,
     * w_4 */
    alignas(BM_ALIGNMENT) uint64_t words[3][BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double r[BM_CWS_BATCH], c[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double value[BM_CWS_BATCH]; /* result: ln a */
    uint32_t low[BM_CWS_BATCH + 2 * BM_CWS_LANES];    /* result: indexes of the pairs whose value is
                                                       * low enough */
} bm_cws_batch;

/* A set of permutations, as one bit for each. */
typedef struct bm_cws_open {
    uint32_t n_masks;
    uint64_t masks[(BM_PERMS_MAX + BM_CWS_MASK - 1) / BM_CWS_MASK];
} bm_cws_open;

typedef struct bm_cws_loops {
    /* For each permutation i < n, set out[i] to the byte of a lower bound of c exp(-r), for the
     * element with e_0 … e_3 in `mixed`. n is a multiple of 2 * BM_CWS_LANES. `coefs` has
     * BM_CWS_COEFS rows of `stride`: first a, then b, of w_0, w_1, and the complements of w_2 and
     * w_3. */
    void (*bounds)(const uint32_t *coefs, uint32_t stride, uint32_t n, const uint32_t *mixed,
                   uint8_t *out);
    /* Fill `ln_weight` of a block. The n of the block must be set. */
    void (*log_weights)(const double *weights, bm_cws_block *block);
    /* Fill the limit of each element, and the byte of the limit. The limit is weight / greatest *
     * factor, in units that the row chooses. */
    void (*set_limits)(const double *weights, double greatest, double factor, bm_cws_block *block);
    /* Append pairs to `batch`. From scan->next on, each element of the block is paired with each
     * open permutation in which its bound is within its limit. Some other pairs are appended too.
     * Stops at BM_CWS_BATCH pairs or a few more. Returns false if no more pairs follow. */
    bool (*candidates)(const bm_cws_block *block, const bm_cws_open *open, bm_cws_scan *scan,
                       bm_cws_batch *batch);
    /* Fill `words`, `ln_weight` and `value` for at most BM_CWS_BATCH pairs, from `first` on. Fill
     * `low` with the indexes, counted from `first`, of the pairs with a value of at most `most`.
     * Returns how many are in `low`. */
    size_t (*values)(const bm_cws_block *block, const bm_scheme_params *params, size_t first,
                     double most, bm_cws_batch *batch);
} bm_cws_loops;

extern const bm_cws_loops bm_cws_loops_scalar;
#if defined(__x86_64__)
extern const bm_cws_loops bm_cws_loops_avx2;
extern const bm_cws_loops bm_cws_loops_avx512;
#elif defined(__aarch64__)
extern const bm_cws_loops bm_cws_loops_neon;
#endif
