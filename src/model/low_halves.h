/* SPDX-License-Identifier: Apache-2.0 */
/* low_halves.h -- checks that the low halves of 64-bit hashes are about as distinct as the hashes.
 *
 * A 32-bit scheme signs the low half of a given hash. The caller's "hashes" may really be something
 * else, for example numbers shifted by 32 bits. Then documents that share nothing have equal low
 * halves, and so equal signatures. Two HyperLogLog counters (Flajolet et al. 2007; linear counting
 * below 2.5 distinct values for each register) estimate the number of distinct hashes and the
 * number of distinct low halves. The errors are within 1 %, whatever the order of the hashes.
 *
 * Counting takes 5 ns per hash. This would be a fifth of the processor time of `sign --format
 * hashes` (20 million hashes, 128 permutations, AVX-512). So only the first BM_LOW_HALVES_ALL
 * hashes are all counted, which takes 5 ms. After them every 64th document is counted, which takes
 * .3 ns per hash, 1.8 % of that run. The result depends on the order of the documents, but not on
 * their division into calls. One thread at a time. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_LOW_HALVES_BITS  14u
#define BM_LOW_HALVES_FIRST 4096u /* number of hashes before the first check by bm_low_halves_add */
#define BM_LOW_HALVES_ALL   (UINT64_C(1) << 20)
#define BM_LOW_HALVES_EVERY 64u

typedef struct bm_low_halves {
    const char *of;   /* how an error names the hashes; borrowed */
    bm_scheme scheme; /* the scheme that signs the low halves */
    /* n_docs, n_hashes: numbers added so far; next_check: value of n_hashes at the next check */
    uint64_t n_docs, n_hashes, next_check;
    uint8_t whole[1u << BM_LOW_HALVES_BITS];
    uint8_t low[1u << BM_LOW_HALVES_BITS];
} bm_low_halves;

/* Begin to count. `of` is the name of a file or a field. */
void bm_low_halves_begin(bm_low_halves *seen, const char *of, bm_scheme scheme);
/* Count the hashes of documents: document i has hashes[offsets[i]] … hashes[offsets[i + 1] - 1].
 * They are checked (bm_low_halves_check) after the document that has hash number
 * BM_LOW_HALVES_FIRST, and then each time the number of hashes has doubled. So a caller that stores
 * each document immediately has stored only few documents before the first check. */
bm_status bm_low_halves_add(bm_low_halves *seen, const uint64_t *offsets, const uint64_t *hashes,
                            size_t n_docs, bm_error *err);
/* Check the hashes counted so far. BM_ERR_INPUT: the number of distinct low halves is more than an
 * eighth lower than with random hashes. The message names the hashes, both numbers and the
 * remedy. */
bm_status bm_low_halves_check(const bm_low_halves *seen, bm_error *err);
