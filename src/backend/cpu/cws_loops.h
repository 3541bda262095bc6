/* cws_loops.h -- the inner loops of the scheme cws: a row for each instruction set, in its own file
 * cws_<set>.c, which are all of cws_lanes.h. native_cws.c says how they go together.
 *
 * Each must give the very doubles of sketch/cws_draws.h. Pure functions: any number of threads. */
#ifndef BM_BACKEND_CPU_CWS_LOOPS_H
#define BM_BACKEND_CPU_CWS_LOOPS_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "sketch/cws_draws.h"
#include "sketch/scheme_row.h"

#define BM_CWS_BLOCK 512u /* elements: 24 KiB, which stay in a first-level cache */
#define BM_CWS_BATCH 256u /* candidates that are looked at together, or a few more */
#define BM_CWS_LANES 8u   /* of any row */

/* Some elements of a document; padded to whole vectors. */
typedef struct bm_cws_block {
    alignas(BM_ALIGNMENT) uint32_t mixed[BM_CWS_DRAWS][BM_CWS_BLOCK]; /* e_0 … e_4 */
    alignas(BM_ALIGNMENT) uint32_t four[BM_CWS_BLOCK][4];             /* e_0 … e_3 of each */
    alignas(BM_ALIGNMENT) float limit[BM_CWS_BLOCK];                  /* see `candidates` */
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BLOCK];
    uint32_t n, n_padded;
} bm_cws_block;

/* Candidates: elements of the block, each in one permutation. */
typedef struct bm_cws_batch {
    size_t n;
    /* permutation * 2^16 + element; whole registers are written */
    alignas(BM_ALIGNMENT) uint32_t pairs[BM_CWS_BATCH + BM_CWS_BLOCK + 2 * BM_CWS_LANES];
    /* Of the pairs that are looked at: w_0 and w_1 (the upper half), w_2 and w_3, w_4 */
    alignas(BM_ALIGNMENT) uint64_t words[3][BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double ln_weight[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double r[BM_CWS_BATCH], c[BM_CWS_BATCH];
    alignas(BM_ALIGNMENT) double value[BM_CWS_BATCH]; /* filled: ln a */
    uint32_t low[BM_CWS_BATCH + 2 * BM_CWS_LANES];    /* filled: those that are low enough */
} bm_cws_batch;

typedef struct bm_cws_loops {
    uint32_t lanes; /* doubles in a register; a block is padded to 2 * lanes elements */
    /* `mixed`, `four` and `ln_weight` of a block whose n and n_padded are set. */
    void (*prepare)(const uint64_t *hashes, const double *weights, bm_cws_block *block);
    /* The limit of each element is its weight / greatest * factor, in units of the row's own; and -1 of
     * what is behind n. */
    void (*set_limits)(const double *weights, double greatest, double factor, bm_cws_block *block);
    /* Append to the pairs of `batch` the elements of a block whose c exp(-r), in one of the n
     * permutations `perms`, may be as small as its limit: all of them, and some that are larger. Ends when there are BM_CWS_BATCH pairs; the permutations that were done. */
    size_t (*candidates)(const bm_cws_block *block, const bm_scheme_params *params,
                         const uint16_t *perms, size_t n, bm_cws_batch *batch);
    /* `words` and `ln_weight` of the BM_CWS_BATCH pairs from `first` on, or as many as there are, and
     * `value`; into `low` the numbers, counted from `first`, of those whose value is at most `most`.
     * How many these are. */
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

#endif
