/* SPDX-License-Identifier: Apache-2.0 */
/* low_halves.h -- checks that the low halves of 64-bit hashes are about as distinct as the hashes.
 *
 * A 32-bit scheme signs the low half of a given hash. If the caller's "hashes" are not hashes but,
 * say, numbers shifted by 32 bits, documents that share nothing have equal low halves, and so equal
 * signatures. Two HyperLogLog counters (Flajolet et al. 2007; linear counting below 2.5 distinct
 * values for each register) estimate how many distinct hashes and how many distinct low halves
 * there are, within 1 %, in any order.
 *
 * Counting costs 5 ns a hash: a fifth of the processor time of `sign --format hashes` (20 million
 * hashes, 128 permutations, AVX-512). So the first BM_LOW_HALVES_ALL hashes are counted, 5 ms in
 * all, and after them every 64th document, .3 ns a hash: 1.8 % of that run. The result depends on
 * the order of the documents, but not on how calls divide them. One thread at a time. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_LOW_HALVES_BITS  14u
#define BM_LOW_HALVES_FIRST 4096u /* hashes before the first check by bm_low_halves_add */
#define BM_LOW_HALVES_ALL   (UINT64_C(1) << 20)
#define BM_LOW_HALVES_EVERY 64u

typedef struct bm_low_halves {
    const char *of;                        /* names the hashes in an error; borrowed */
    bm_scheme scheme;                      /* the scheme that signs the low halves */
    uint64_t n_docs, n_hashes, next_check; /* n_docs, n_hashes: added so far; next_check: n_hashes
                                            * at the next check */
    uint8_t whole[1u << BM_LOW_HALVES_BITS];
    uint8_t low[1u << BM_LOW_HALVES_BITS];
} bm_low_halves;

/* Begin to count. `of` is a file or a field. */
void bm_low_halves_begin(bm_low_halves *seen, const char *of, bm_scheme scheme);
/* Count the hashes of documents: document i has hashes[offsets[i]] … hashes[offsets[i + 1] - 1].
 * They are checked (bm_low_halves_check) after the document with hash number BM_LOW_HALVES_FIRST,
 * and each time the number of hashes has doubled, so a caller that stores documents at once has not
 * stored many before the first check. */
bm_status bm_low_halves_add(bm_low_halves *seen, const uint64_t *offsets, const uint64_t *hashes,
                            size_t n_docs, bm_error *err);
/* BM_ERR_INPUT: there are at least an eighth fewer distinct low halves than for the same number of
 * random hashes. The message names the hashes, both numbers and the remedy. */
bm_status bm_low_halves_check(const bm_low_halves *seen, bm_error *err);
