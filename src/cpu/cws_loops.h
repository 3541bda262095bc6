/* SPDX-License-Identifier: Apache-2.0 */
/* cws_loops.h -- the inner loops of the scheme cws: a row for each instruction set, in its own file
 * cws_<set>.c; all are made of cws_lanes.h. native_cws.c shows how they work together.
 *
 * Each must give exactly the doubles of sketch/cws_draws.h. Pure functions: any number of
 * threads. */
#pragma once

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "sketch/cws_draws.h"
#include "sketch/scheme_row.h"

#define BM_CWS_BLOCK 512u /* elements: 25 KiB, which stay in a first-level cache */
#define BM_CWS_BATCH 256u /* candidates that are computed together */
#define BM_CWS_LANES 8u   /* doubles in a register of any row, at most */
#define BM_CWS_MASK  64u  /* permutations in a mask; rows of bounds are padded to this */
#define BM_CWS_MASKS 128u /* masks of one round of a scan */
#define BM_CWS_COEFS 8u   /* rows of coefficients of the bounds */

/* Some elements of a document. */
typedef struct bm_cws_block {
    alignas(BM_ALIGNMENT) uint32_t mixed[BM_CWS_BLOCK][8]; /* e_0 … e_4 of each, and padding */
    alignas(BM_ALIGNMENT) float limit[BM_CWS_BLOCK];       /* see `set_limits` */
    alignas(BM_ALIGNMENT) uint8_t limit_byte[BM_CWS_BLOCK];
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BLOCK];
    uint32_t n;
} bm_cws_block;

/* The state of a scan of a block for bounds that are within their limits. */
typedef struct bm_cws_scan {
    const uint8_t *bytes; /* rows of `stride` */
    uint32_t stride;
    uint32_t row[BM_CWS_BLOCK]; /* the row of each element */
    uint32_t next;              /* the first element that was not scanned */
    uint32_t at, n;             /* masks already turned into pairs; masks in `bits` */
    uint64_t bits[BM_CWS_MASKS];
    uint32_t first[BM_CWS_MASKS]; /* of each mask: the pair that bit 0 stands for */
} bm_cws_scan;

/* Candidates: elements of the block, each in one permutation. */
typedef struct bm_cws_batch {
    size_t n;
    /* permutation * 2^16 + element; whole registers are written */
    alignas(BM_ALIGNMENT) uint32_t pairs[BM_CWS_BATCH + BM_CWS_MASK + 2 * BM_CWS_LANES];
    /* the words of the pairs being computed: w_0 and w_1 (the upper half), w_2 and w_3, w_4 */
    alignas(BM_ALIGNMENT) uint64_t words[3][BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double r[BM_CWS_BATCH], c[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double value[BM_CWS_BATCH]; /* filled: ln a */
    uint32_t low[BM_CWS_BATCH + 2 * BM_CWS_LANES];    /* filled: indexes of the pairs with a low
                                                       * enough value */
} bm_cws_batch;

/* A set of permutations, a bit each. */
typedef struct bm_cws_open {
    uint32_t n_masks;
    uint64_t masks[(BM_PERMS_MAX + BM_CWS_MASK - 1) / BM_CWS_MASK];
} bm_cws_open;

typedef struct bm_cws_loops {
    /* out[i] = the byte of a lower bound of c exp(-r) in permutation i < n, for the element with
     * e_0 … e_3 in `mixed`. n is a multiple of 2 * BM_CWS_LANES. `coefs`: BM_CWS_COEFS rows of
     * `stride`, for w_0, w_1, and the complements of w_2 and w_3: first a, then b. */
    void (*bounds)(const uint32_t *coefs, uint32_t stride, uint32_t n, const uint32_t *mixed,
                   uint8_t *out);
    /* Fill `ln_weight` of a block whose n is set. */
    void (*log_weights)(const double *weights, bm_cws_block *block);
    /* Fill the limit of each element, weight / greatest * factor in units that the row chooses, and
     * its byte. */
    void (*set_limits)(const double *weights, double greatest, double factor, bm_cws_block *block);
    /* Append pairs to `batch`: each element of the block, from scan->next on, with each open
     * permutation in which its bound is within its limit, and with some others. Stops at
     * BM_CWS_BATCH pairs or more. False: there are no more. */
    bool (*candidates)(const bm_cws_block *block, const bm_cws_open *open, bm_cws_scan *scan,
                       bm_cws_batch *batch);
    /* Fill `words`, `ln_weight` and `value` for the pairs from `first` on, at most BM_CWS_BATCH,
     * and `low` with the indexes, counted from `first`, of pairs with a value of at most `most`.
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
