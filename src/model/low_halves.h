/* low_halves.h -- are the low halves of 64-bit hashes as different as the hashes?
 *
 * A scheme of 32 bits signs the low half of a hash that was made elsewhere. Where these are no hash
 * but, say, a shifted number, documents that share nothing share them, and so they share a
 * signature. Two HyperLogLog counters (Flajolet et al. 2007; linear counting below 2.5 registers'
 * worth) estimate how many distinct hashes and low halves there are, within 1 %, whatever their
 * order. One thread at a time. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_LOW_HALVES_BITS 14u

typedef struct bm_low_halves {
    uint8_t whole[1u << BM_LOW_HALVES_BITS];
    uint8_t low[1u << BM_LOW_HALVES_BITS];
} bm_low_halves; /* {0} has seen none */

void bm_low_halves_add(bm_low_halves *seen, const uint64_t *hashes, size_t n);
/* BM_ERR_INPUT names the file, or whatever has them, both numbers and the way out: an eighth of the distinct hashes or
 * more have a low half that another one has, beyond what chance gives 32 bits. */
bm_status bm_low_halves_check(const bm_low_halves *seen, const char *file, bm_scheme scheme,
                              bm_error *err);
