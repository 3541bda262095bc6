/* SPDX-License-Identifier: Apache-2.0 */
/* key_loops.h -- computes band keys right after the minima.
 *
 * The key of a band is a polynomial in the multiplier: k = (band+1)*M^r + w0*M^(r-1) + … + w(r-1)
 * mod 2^64. With precomputed powers the terms are independent, and may be added in any order. So
 * eight words are processed at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_KEY_LANES 8u /* words taken at once; as many may be read past the last band */

typedef struct bm_key_plan {
    uint32_t bands, rows;
    uint64_t *powers; /* M^(rows-1) … M^0, then zeros up to a multiple of BM_KEY_LANES; aligned */
    uint64_t start;   /* M^rows */
} bm_key_plan;

/* Fill the plan->bands keys of a document with shingles. */
typedef void (*bm_key_fn)(const bm_key_plan *plan, const uint32_t *words, uint64_t *keys);

bm_status bm_key_plan_init(uint32_t bands, uint32_t rows, bm_key_plan *out, bm_error *err);
void bm_key_plan_reset(bm_key_plan *plan);

void bm_band_keys_plain(const bm_key_plan *plan, const uint32_t *words, uint64_t *keys);
#if defined(__x86_64__)
void bm_band_keys_avx512(const bm_key_plan *plan, const uint32_t *words, uint64_t *keys);
#endif
